//! A terminal of its own (tmux on a private socket), in which programs run that fill it.

use crate::process::wait_until;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// A terminal with a shell; ended when dropped.
pub struct Tmux {
    socket: PathBuf,
    folder: TempDir,
}

impl Tmux {
    pub fn start(columns: u16, rows: u16) -> Self {
        crate::need("tmux");
        let folder = crate::scratch();
        let tmux = Self { socket: folder.path().join("socket"), folder };
        let size = [columns.to_string(), rows.to_string()];
        tmux.call(&[
            "-f",
            "/dev/null",
            "-u",
            "new-session",
            "-d",
            "-x",
            &size[0],
            "-y",
            &size[1],
            "env -u NO_COLOR LC_ALL=C.UTF-8 PS1='ready> ' sh",
        ]);
        tmux.wait_for("ready>");
        tmux
    }

    /// A folder of its own, gone afterwards.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    fn call(&self, arguments: &[&str]) -> String {
        let out =
            Command::new("tmux").arg("-S").arg(&self.socket).args(arguments).output().expect("tmux runs");
        assert!(out.status.success(), "tmux {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    /// Types text, or a key by its name (`Enter`, `C-c`).
    pub fn keys(&self, keys: &[&str]) {
        self.call(&[&["send-keys"], keys].concat());
    }

    /// A command line for the shell.
    pub fn run(&self, line: &str) {
        self.keys(&["-l", line]);
        self.keys(&["Enter"]);
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        self.call(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// What the terminal shows.
    pub fn screen(&self) -> String {
        self.call(&["capture-pane", "-p"])
    }

    /// Whether a program uses the other screen.
    pub fn is_filled(&self) -> bool {
        self.call(&["display-message", "-p", "#{alternate_on}"]).trim() == "1"
    }

    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        wait_until(&format!("{text:?} on the terminal"), || self.screen().contains(text));
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = Command::new("tmux").arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}
