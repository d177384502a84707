//! Waiting for a quiet machine, and repeating runs that something else disturbed.
//!
//! A run counts as disturbed by what *others* took of the cores, never by its own result, so that repeating
//! favours no tool. All waiting and repeating together is bounded (`--patience`); when that is spent, runs are
//! taken as they come, and the column "other CPU" tells.

use std::cell::Cell;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::proc::Cores;
use crate::runs::Run;

/// Cores that others may take, on average over a run. On a machine left alone it is 0.00–0.05.
pub const OTHERS_AT_MOST: f64 = 0.15;

/// The machine is looked at for so long before a run.
const LOOK: Duration = Duration::from_millis(200);

/// How long may still be waited.
pub struct Patience {
    left: Cell<Duration>,
    /// Looks at the machine for a while: cores that are busy.
    look: fn() -> f64,
}

impl Patience {
    pub fn new(whole: Duration) -> Self {
        Self { left: Cell::new(whole), look: busy_cores }
    }

    /// Makes a run on a quiet machine, again if it was disturbed, while patience lasts.
    pub fn undisturbed(&self, mut make: impl FnMut() -> Result<Run>) -> Result<Run> {
        let mut repeated = 0;
        loop {
            self.wait_for_quiet();
            let begun = Instant::now();
            let mut run = make()?;
            if !run.undisturbed() && self.spend(begun.elapsed()) {
                repeated += 1;
                continue;
            }
            run.figures.insert("repeated", f64::from(repeated));
            return Ok(run);
        }
    }

    fn wait_for_quiet(&self) {
        while (self.look)() > OTHERS_AT_MOST && self.spend(LOOK) {}
    }

    /// Takes `time` from what is left; false when there is not so much.
    fn spend(&self, time: Duration) -> bool {
        let left = self.left.get().checked_sub(time);
        self.left.set(left.unwrap_or_default());
        left.is_some()
    }
}

fn busy_cores() -> f64 {
    let (before, begun) = (Cores::now(), Instant::now());
    std::thread::sleep(LOOK);
    Cores::now().since(before).busy_s / begun.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patience(whole: Duration, look: fn() -> f64) -> Patience {
        Patience { left: Cell::new(whole), look }
    }

    #[test]
    fn a_disturbed_run_is_made_again_and_a_quiet_one_is_not() {
        let patience = patience(Duration::from_secs(3600), || 0.0);
        let mut others = [0.4, 0.2, 0.1, 0.0].into_iter();
        let make =
            || Ok(Run::new("io", "tare", 0).with("other_cpu", others.next().expect("three are enough")));
        let run = patience.undisturbed(make).expect("the run is made");
        assert_eq!((run.figure("other_cpu"), run.figure("repeated")), (Some(0.1), Some(2.0)));
    }

    #[test]
    fn without_patience_a_run_is_taken_as_it_comes() {
        let patience = patience(Duration::ZERO, || 2.0);
        let run = patience
            .undisturbed(|| Ok(Run::new("io", "tare", 0).with("other_cpu", 1.5)))
            .expect("the run is made");
        assert_eq!((run.figure("other_cpu"), run.figure("repeated")), (Some(1.5), Some(0.0)));
    }

    #[test]
    fn waiting_is_bounded() {
        // Looks of 0.2 s each: four fit into 0.8 s, the fifth finds nothing left.
        let patience = patience(Duration::from_millis(800), || 2.0);
        patience.wait_for_quiet();
        assert_eq!(patience.left.get(), Duration::ZERO);
    }
}
