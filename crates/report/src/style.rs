//! How the terminal's text may look: with colour or without, and how wide.

use crate::chart::Tone;
use crate::chart_text::Letters;
use std::ffi::OsStr;

/// Passed to every renderer of text, so that rendering itself asks nothing of its surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    color: bool,
    width: usize,
    letters: Letters,
}

/// What a piece of text is, rather than which colour it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    Good,
    Doubtful,
    Bad,
    /// Labels and asides.
    Quiet,
    Strong,
}

const NARROWEST: usize = 80;
const WIDEST: usize = 100;

impl Style {
    /// No colour, 100 columns: for files, pipes and tests.
    pub const PLAIN: Self = Self { color: false, width: WIDEST, letters: Letters::Unicode };

    /// Colour only on a terminal, and not if `NO_COLOR` is set to anything but the empty string
    /// (no-color.org), nor with `--no-color`, nor if `TERM` is `dumb`.
    pub fn choose(
        is_terminal: bool,
        no_color: Option<&OsStr>,
        term: Option<&OsStr>,
        no_color_flag: bool,
    ) -> Self {
        let refused = no_color_flag
            || no_color.is_some_and(|value| !value.is_empty())
            || term.is_some_and(|value| value == "dumb");
        Self { color: is_terminal && !refused, ..Self::PLAIN }
    }

    /// Uses this many columns, but no fewer than 80 and no more than 100.
    pub fn with_width(self, columns: usize) -> Self {
        Self { width: columns.clamp(NARROWEST, WIDEST), ..self }
    }

    pub const fn width(self) -> usize {
        self.width
    }

    /// Draws charts of these letters.
    pub const fn with_letters(self, letters: Letters) -> Self {
        Self { letters, ..self }
    }

    pub const fn letters(self) -> Letters {
        self.letters
    }

    /// `text` in the colour of a series.
    pub fn paint_tone(self, tone: Tone, text: &str) -> String {
        const CODES: [&str; 8] = ["36", "35", "33", "31", "32", "34", "95", "93"];
        match tone {
            Tone::Quiet => self.paint(Ink::Quiet, text),
            Tone::Color(_) if !self.color || text.is_empty() => text.to_owned(),
            Tone::Color(number) => {
                format!("\x1b[{}m{text}\x1b[0m", CODES[(number.max(1) - 1) % CODES.len()])
            }
        }
    }

    /// `text` in the colour of `ink`.
    pub fn paint(self, ink: Ink, text: &str) -> String {
        if !self.color || text.is_empty() {
            return text.to_owned();
        }
        let code = match ink {
            Ink::Good => "1;32",
            Ink::Doubtful => "1;33",
            Ink::Bad => "1;31",
            Ink::Quiet => "2",
            Ink::Strong => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_only_where_it_is_wanted() {
        let set = |value| Some(OsStr::new(value));
        assert!(Style::choose(true, None, set("xterm"), false).color);
        assert!(Style::choose(true, set(""), None, false).color);
        assert!(!Style::choose(false, None, None, false).color);
        assert!(!Style::choose(true, set("1"), None, false).color);
        assert!(!Style::choose(true, None, set("dumb"), false).color);
        assert!(!Style::choose(true, None, None, true).color);
    }

    #[test]
    fn plain_text_stays_as_it_is() {
        assert_eq!(Style::PLAIN.paint(Ink::Bad, "x"), "x");
        let colored = Style::choose(true, None, None, false);
        assert_eq!(colored.paint(Ink::Bad, "x"), "\x1b[1;31mx\x1b[0m");
    }
}
