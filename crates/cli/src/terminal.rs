//! How text may look where it goes to.

use report::Style;

/// Colour and width for standard output or standard error.
pub fn style(is_terminal: bool) -> Style {
    let (no_color, term) = (std::env::var_os("NO_COLOR"), std::env::var_os("TERM"));
    let style = Style::choose(is_terminal, no_color.as_deref(), term.as_deref(), false);
    match rustix::termios::tcgetwinsize(std::io::stderr()) {
        Ok(size) if size.ws_col > 0 => style.with_width(usize::from(size.ws_col)),
        _ => style,
    }
}
