//! How text may look where it goes to.

use crate::status::Failure;
use report::Style;
use report::chart_text::Letters;
use rustix::termios::isatty;
use std::ffi::OsStr;
use std::io::{ErrorKind, Write};

/// Colour and width for standard output or standard error.
pub fn style(is_terminal: bool) -> Style {
    let (no_color, term) = (std::env::var_os("NO_COLOR"), std::env::var_os("TERM"));
    let style =
        Style::choose(is_terminal, no_color.as_deref(), term.as_deref(), false).with_letters(letters());
    columns().map_or(style, |columns| style.with_width(columns))
}

/// Of the terminal at standard error, now; `None` if there is none or it does not know.
pub fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Braille and blocks, unless the locale says that there is only ASCII.
pub fn letters() -> Letters {
    let named =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(std::env::var_os).find(|name| !name.is_empty());
    let is_narrow = named.is_some_and(|name| {
        let name = name.to_string_lossy().to_ascii_uppercase();
        !name.contains("UTF-8") && !name.contains("UTF8")
    });
    if is_narrow { Letters::Ascii } else { Letters::Unicode }
}

/// Whether colour is wanted where there is a terminal.
pub fn has_color() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Whether such a terminal moves its cursor when it is told to.
pub fn has_cursor(term: Option<&OsStr>) -> bool {
    term.is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// Whether a view may fill the terminal: it is ours from all sides, it can be steered, and we are in front (a
/// program in the background that touches the terminal is stopped).
pub fn has_screen() -> bool {
    let in_front =
        rustix::termios::tcgetpgrp(std::io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp());
    let all = isatty(std::io::stdin()) && isatty(std::io::stdout()) && isatty(std::io::stderr());
    all && in_front && has_cursor(std::env::var_os("TERM").as_deref())
}

/// Prints text that somebody asked for: that it could not be printed is a failure. A reader that has gone away
/// (`| head`) is no reason to complain.
pub fn print_all(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::wrong(anyhow::anyhow!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
