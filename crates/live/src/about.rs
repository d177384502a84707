//! What the view on the terminal is told, and what it answers.

use report::chart_text::Letters;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use units::Picos;

/// What does not change while the run goes on.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Length of the whole run, where it is known.
    pub whole: Option<Picos>,
    pub warmup: Picos,
    /// Address of the live page.
    pub page: Option<String>,
    /// Why the rate cannot be changed; `None` if it can.
    pub fixed_rate: Option<String>,
    pub letters: Letters,
    pub has_color: bool,
}

/// What the keys ask for besides stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Faster,
    Slower,
}

/// Flags that the view shares with those who handle signals.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// The run shall end: set by a signal or by `q`. The view leaves the screen.
    pub stop: Arc<AtomicBool>,
    /// Set once the terminal is as it was after a stop: from then on a signal may end the process at once.
    pub restored: Arc<AtomicBool>,
}
