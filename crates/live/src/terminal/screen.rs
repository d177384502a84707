//! The terminal's other screen: taken, and given back on every way out.

use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use std::io::{self, BufWriter, Stderr};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the terminal is in our hands; there is only one.
static TAKEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// See the module.
pub struct Screen(ratatui::Terminal<CrosstermBackend<BufWriter<Stderr>>>);

impl Screen {
    pub fn enter() -> io::Result<Self> {
        HOOK.call_once(|| {
            // A panic of any thread is told on a terminal that shows it.
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                restore();
                before(info);
            }));
        });
        TAKEN.store(true, Ordering::SeqCst);
        let entered = Self::take();
        if entered.is_err() {
            restore();
        }
        entered
    }

    fn take() -> io::Result<Self> {
        enable_raw_mode()?;
        execute!(io::stderr(), EnterAlternateScreen)?;
        let mut terminal = ratatui::Terminal::new(CrosstermBackend::new(BufWriter::new(io::stderr())))?;
        terminal.clear()?;
        terminal.hide_cursor()?;
        Ok(Self(terminal))
    }

    /// Nothing is drawn any more once the terminal was given back, by whatever way.
    pub fn draw(&mut self, picture: impl FnOnce(&mut Frame)) -> io::Result<()> {
        if !TAKEN.load(Ordering::SeqCst) {
            return Err(io::Error::other("the terminal was given back"));
        }
        self.0.draw(picture).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back, once. That it has gone is no reason to complain.
fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(io::stderr(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}
