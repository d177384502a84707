//! How text may look where it goes to.

use report::Style;

/// Colour and width for standard output or standard error.
pub fn style(is_terminal: bool) -> Style {
    let (no_color, term) = (std::env::var_os("NO_COLOR"), std::env::var_os("TERM"));
    let style = Style::choose(is_terminal, no_color.as_deref(), term.as_deref(), false);
    columns().map_or(style, |columns| style.with_width(columns))
}

/// Of the terminal at standard error, now; `None` if there is none or it does not know.
pub fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}
