//! What the keys mean.

use super::Wish;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Nothing,
    Pause,
    Help,
    /// Out of help and pause.
    Back,
    Stop,
    Wish(Wish),
}

/// Keys and what they do, for help.
pub const HELP: [(&str, &str); 5] = [
    ("space p", "pause and resume the display"),
    ("+ -", "10 % faster, 10 % slower; also arrow up and arrow down"),
    ("q", "end the run, as Ctrl-C does: its result is complete and marked as partial"),
    ("? h", "this help"),
    ("Esc", "back"),
];

pub fn action(key: KeyEvent) -> Action {
    if key.kind == KeyEventKind::Release {
        return Action::Nothing;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return if key.code == KeyCode::Char('c') { Action::Stop } else { Action::Nothing };
    }
    match key.code {
        KeyCode::Char(' ' | 'p') => Action::Pause,
        KeyCode::Char('?' | 'h') => Action::Help,
        KeyCode::Char('q') => Action::Stop,
        KeyCode::Char('+' | '=') | KeyCode::Up => Action::Wish(Wish::Faster),
        KeyCode::Char('-' | '_') | KeyCode::Down => Action::Wish(Wish::Slower),
        KeyCode::Esc => Action::Back,
        _ => Action::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_do_what_help_says() {
        let plain = |letter| action(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE));
        assert_eq!([plain(' '), plain('p')], [Action::Pause; 2]);
        assert_eq!([plain('+'), plain('=')], [Action::Wish(Wish::Faster); 2]);
        assert_eq!(plain('-'), Action::Wish(Wish::Slower));
        assert_eq!([plain('q'), plain('?'), plain('x')], [Action::Stop, Action::Help, Action::Nothing]);
        let control = |letter| action(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL));
        // Ctrl-Z does nothing: a generator that sleeps would only make its figures worthless.
        assert_eq!([control('c'), control('z')], [Action::Stop, Action::Nothing]);
    }
}
