//! A bitstream into a board, once it is known to be whole, by openFPGALoader.

use super::bitstream::{self, Checked};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

/// What speaks with cables and boards.
const LOADER: &str = "openFPGALoader";
/// More than the largest part's.
const MOST_BYTES: u64 = 16 << 20;

/// Parts of boards by the names that openFPGALoader has for them.
const BOARDS: &[(&str, &[&str])] = &[
    ("colorlight", &["LFE5U-25F"]),
    ("ecpix5", &["LFE5UM5G-45F", "LFE5UM5G-85F"]),
    ("ecpix5_r03", &["LFE5UM5G-45F", "LFE5UM5G-85F"]),
];

/// Why it cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(String);

macro_rules! wrong {
    ($($text:tt)*) => { LoadError(format!($($text)*)) };
}

/// What is to be loaded, and how.
pub struct Loading {
    pub file: PathBuf,
    /// openFPGALoader's names of the board and of the cable to it.
    pub board: Option<String>,
    pub cable: Option<String>,
    /// Into flash memory.
    pub flash: bool,
}

impl Loading {
    /// Reads the file.
    ///
    /// # Errors
    /// It is no whole bitstream, or not one for this board.
    pub fn look(&self) -> Result<Checked, LoadError> {
        let name = self.file.display();
        let size = std::fs::metadata(&self.file).map_err(|error| wrong!("{name}: {error}"))?.len();
        if size > MOST_BYTES {
            return Err(wrong!("{name}: {size} bytes are more than any bitstream for an ECP5 has"));
        }
        let bytes = std::fs::read(&self.file).map_err(|error| wrong!("{name}: {error}"))?;
        let checked = bitstream::check(&bytes).map_err(|broken| {
            wrong!("{name}: {broken}; nothing was loaded; give a file made by 'make bitstream'")
        })?;
        self.fits(checked.part.name).map(|()| checked)
    }

    /// Whether the board has this part, as far as is known of it.
    fn fits(&self, part: &str) -> Result<(), LoadError> {
        let parts = BOARDS.iter().find(|(name, _)| self.board.as_deref() == Some(*name));
        match parts {
            Some((board, parts)) if !parts.contains(&part) => Err(wrong!(
                "{}: it is for {part}, but the board {board} has {}; nothing was loaded; \
                 give a bitstream for this board",
                self.file.display(),
                parts.join(" or ")
            )),
            _ => Ok(()),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(LOADER);
        if let Some(board) = &self.board {
            command.args(["--board", board]);
        }
        if let Some(cable) = &self.cable {
            command.args(["--cable", cable]);
        }
        if self.flash {
            command.arg("--write-flash");
        }
        command.arg(&self.file);
        command
    }

    /// The command as one would type it.
    pub fn shown(&self) -> String {
        let command = self.command();
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    /// # Errors
    /// The program that loads it is not there, or failed.
    pub fn load(&self) -> Result<(), LoadError> {
        let shown = self.shown();
        match self.command().status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(wrong!("'{shown}' failed ({status}); its output is above")),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(wrong!(
                "{LOADER} is not installed, so nothing was loaded; run apt-get install openfpgaloader and \
                 try again"
            )),
            Err(error) => Err(wrong!("'{shown}': {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(board: Option<&str>) -> Loading {
        let board = board.map(str::to_owned);
        Loading { file: "some.bit".into(), board, cable: None, flash: false }
    }

    #[test]
    fn a_file_for_another_part_than_the_boards_is_refused() {
        args(Some("colorlight")).fits("LFE5U-25F").unwrap();
        args(Some("ecpix5")).fits("LFE5UM5G-85F").unwrap();
        let error = args(Some("ecpix5")).fits("LFE5U-25F").unwrap_err().to_string();
        assert!(
            error.contains("for LFE5U-25F, but the board ecpix5 has LFE5UM5G-45F or LFE5UM5G-85F"),
            "{error}"
        );
        // Nothing is known of these.
        args(Some("ulx3s")).fits("LFE5U-25F").unwrap();
        args(None).fits("LFE5U-25F").unwrap();
    }
}
