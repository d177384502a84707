//! One trial: so many frames at one load, and what became of them.

use super::load::Load;
use units::Picos;

/// What shall be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    pub load: Load,
    pub length: Picos,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    pub load: Load,
    pub length: Picos,
    /// Frames that were due.
    pub offered: u64,
    /// Frames that left.
    pub sent: u64,
    /// From the first departure to the last, and one gap more: what the frames that left really took.
    pub took: Picos,
    /// Of those that left, how many arrived (each counted once).
    pub received: u64,
    /// Frames that this machine lost before they could be counted: its receiver was too slow.
    pub missed: u64,
    /// How late the latest left. What is late leaves at once: a burst that nobody asked for.
    pub latest: Picos,
    /// Whether the generator kept up, though it may have been held up: frames of the last quarter left on time, or half of
    /// all did, or nearly all left before the trial's end.
    pub kept_up: bool,
}

/// Whether a trial counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Judged {
    Counts,
    /// Its loss may be that of a burst of ours, but no trial was any better.
    AllTheSame,
    Not(Void),
}

/// Why a trial does not count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Void {
    /// The port did not take all frames.
    NotSent { sent: u64, offered: u64 },
    /// All left, but more slowly than they should.
    Slow { reached: f64 },
    /// This machine's receiver lost frames that had arrived.
    Receiver { missed: u64 },
    /// Frames were lost, and some of them had left late and close together.
    Uneven,
}

impl Judged {
    /// In words, for a table.
    pub fn words(self) -> String {
        match self {
            Self::Counts => "yes".to_owned(),
            Self::AllTheSame => "yes, though frames left in bursts".to_owned(),
            Self::Not(Void::NotSent { sent, offered }) => format!("no: {sent} of {offered} frames left"),
            Self::Not(Void::Slow { reached }) => format!("no: the generator made {reached:.0}/s"),
            Self::Not(Void::Receiver { missed }) => format!("no: the receiver lost {missed} frames"),
            Self::Not(Void::Uneven) => "no: frames left in bursts, and some were lost".to_owned(),
        }
    }
}

/// A frame that is later than this makes a burst that a target may lose, though it takes the load.
pub const UNEVEN: Picos = Picos::from_millis(1);

/// The share of its load that a generator may fall short of, in a trial that still counts.
pub const TOLERANCE: f64 = 0.005;

impl Trial {
    /// Share of the frames that left and did not arrive.
    pub fn loss(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.sent.saturating_sub(self.received) as f64 / self.sent as f64 }
    }

    /// Frames per second that really left, and could be counted.
    pub fn reached(&self) -> f64 {
        let took = self.took.max(self.length).as_secs_f64();
        if took > 0.0 { self.handled() as f64 / took } else { 0.0 }
    }

    /// Frames that both ends of this machine kept up with.
    fn handled(&self) -> u64 {
        if self.missed == 0 { self.sent } else { self.sent.saturating_sub(self.missed) }
    }

    /// Whether the generator made the load that it should. Where it did not, the trial says nothing of the target.
    pub fn is_valid(&self) -> bool {
        self.void().is_none()
    }

    /// Why the trial does not count, as far as it alone tells.
    pub fn void(&self) -> Option<Void> {
        let short = self.offered.saturating_sub(self.sent) as f64;
        if self.sent == 0 || short > self.offered as f64 * TOLERANCE {
            return Some(Void::NotSent { sent: self.sent, offered: self.offered });
        }
        if !self.kept_up && self.took.as_secs_f64() > self.length.as_secs_f64() * (1.0 + TOLERANCE) {
            return Some(Void::Slow { reached: self.reached() });
        }
        // A loss of which part is ours says nothing of the target.
        (self.missed > 0 && self.received < self.sent).then_some(Void::Receiver { missed: self.missed })
    }

    /// Whether something was lost in a trial whose frames did not leave evenly: the loss may be the burst's.
    pub fn is_doubtful(&self) -> bool {
        self.received < self.sent && self.latest > UNEVEN
    }

    /// Frames per second that arrived.
    pub fn forwarded(&self) -> f64 {
        self.received as f64 / self.length.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(offered: u64, sent: u64, received: u64, took_ms: u64) -> Trial {
        let (load, length) = (Load::per_second(offered as f64), Picos::from_secs(1));
        Trial {
            load,
            length,
            offered,
            sent,
            took: Picos::from_millis(took_ms),
            received,
            missed: 0,
            latest: Picos::ZERO,
            kept_up: false,
        }
    }

    #[test]
    fn loss_is_of_what_left() {
        assert_eq!(trial(1_000, 1_000, 995, 1_000).loss(), 0.005);
        assert_eq!(trial(1_000, 500, 500, 1_000).loss(), 0.0);
    }

    #[test]
    fn a_generator_that_falls_short_makes_the_trial_invalid() {
        assert!(trial(1_000, 1_000, 0, 1_000).is_valid(), "the target's loss is no fault of the generator");
        assert!(!trial(1_000, 990, 990, 1_000).is_valid(), "1 % never left");
        assert!(!trial(1_000, 1_000, 1_000, 1_100).is_valid(), "all left, but 10 % too slowly");
        assert!(!trial(1_000, 0, 0, 1_000).is_valid());
        let held_up = Trial { kept_up: true, ..trial(1_000, 1_000, 1_000, 1_020) };
        assert!(held_up.is_valid(), "20 ms late once, and on time before");
    }

    #[test]
    fn a_receiver_that_falls_short_makes_a_loss_invalid() {
        let slow = Trial { missed: 10, ..trial(1_000, 1_000, 980, 1_000) };
        assert!(!slow.is_valid() && slow.reached() == 990.0);
        assert!(
            Trial { missed: 10, ..trial(1_000, 1_000, 1_000, 1_000) }.is_valid(),
            "others' frames were lost"
        );
    }
}
