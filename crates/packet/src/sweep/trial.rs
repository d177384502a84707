//! One trial: so many frames at one load, and what became of them.

use super::load::Load;
use units::Picos;

/// What shall be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialOrder {
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
    /// Whether the generator kept up, though it may have been held up: frames of the last quarter left on time,
    /// or half of all did, or nearly all left before the trial's end.
    pub kept_up: bool,
    /// How long was waited, if that was too short for frames that may still have been on their way.
    pub undrained: Option<Picos>,
    /// Directions that it is of, each at the load; the numbers are of all together.
    pub ways: u32,
    /// Why it does not count, if that is known already.
    pub spoilt: Option<Void>,
}

/// Which end of this machine was the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Generator,
    Receiver,
}

impl Side {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Generator => "the generator",
            Self::Receiver => "the receiver",
        }
    }
}

/// Whether a trial counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Judged {
    Counts,
    /// Its frames left in bursts, but hardly a trial was any better.
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
    /// Frames had left late and close together, whatever became of them.
    Uneven,
    /// Frames may still have been on their way when waiting ended.
    Undrained { waited: Picos },
    /// Frames of this trial came when it was over.
    Stragglers,
}

impl Void {
    /// The end of this machine that was the limit.
    pub const fn side(self) -> Side {
        match self {
            Self::NotSent { .. } | Self::Slow { .. } | Self::Uneven => Side::Generator,
            Self::Receiver { .. } | Self::Undrained { .. } | Self::Stragglers => Side::Receiver,
        }
    }
}

impl Judged {
    /// Whether anything is said of the target by it.
    pub const fn is_of_use(self) -> bool {
        !matches!(self, Self::Not(_))
    }

    /// In words, for a table.
    pub fn words(self) -> String {
        match self {
            Self::Counts => "yes".to_owned(),
            Self::AllTheSame => "yes, though frames left in bursts".to_owned(),
            Self::Not(Void::NotSent { sent, offered }) => format!("no: {sent} of {offered} frames left"),
            Self::Not(Void::Slow { reached }) => format!("no: the generator sent {reached:.0}/s"),
            Self::Not(Void::Receiver { missed }) => format!("no: the receiver lost {missed} frames"),
            Self::Not(Void::Uneven) => "no: frames left in bursts".to_owned(),
            Self::Not(Void::Undrained { waited }) => {
                format!("no: after {waited:#}, frames may still have been in transit")
            }
            Self::Not(Void::Stragglers) => "no: frames arrived after it had ended".to_owned(),
        }
    }
}

/// A frame that is later than this makes a burst that a target may lose, though it takes the load.
pub const UNEVEN: Picos = Picos::from_millis(1);

/// The share of its load that a generator may fall short of, in a trial that still counts.
pub const TOLERANCE: f64 = 0.005;

impl Trial {
    /// Several directions at once as one trial. What keeps one of them from counting keeps all.
    pub fn together(ways: &[Self]) -> Self {
        let first = ways[0];
        if ways.len() == 1 {
            return first;
        }
        let sum = |of: fn(&Self) -> u64| ways.iter().map(of).sum();
        Self {
            offered: sum(|way| way.offered),
            sent: sum(|way| way.sent),
            took: ways.iter().map(|way| way.took).max().unwrap_or(first.took),
            received: sum(|way| way.received),
            // What was missed of others in a direction that lost nothing is no doubt of another.
            missed: sum(|way| way.losses().1),
            latest: ways.iter().map(|way| way.latest).max().unwrap_or(first.latest),
            kept_up: ways.iter().all(|way| way.kept_up),
            undrained: ways.iter().filter(|way| way.is_lossy()).filter_map(|way| way.undrained).max(),
            ways: ways.iter().map(|way| way.ways).sum(),
            spoilt: ways.iter().find_map(Self::void),
            ..first
        }
    }

    /// Share of the frames that left and did not arrive.
    pub fn loss(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.sent.saturating_sub(self.received) as f64 / self.sent as f64 }
    }

    /// Frames per second that really left, and could be counted, in each direction.
    pub fn reached(&self) -> f64 {
        let took = self.took.max(self.length).as_secs_f64();
        if took > 0.0 { self.handled() as f64 / took / f64::from(self.ways) } else { 0.0 }
    }

    /// Frames that both ends of this machine kept up with.
    fn handled(&self) -> u64 {
        if self.missed == 0 { self.sent } else { self.sent.saturating_sub(self.missed) }
    }

    /// Whether the generator made the load that it should. Where it did not, the trial says nothing of the
    /// target.
    pub fn is_valid(&self) -> bool {
        self.void().is_none()
    }

    /// Why the trial does not count, as far as it alone tells.
    pub fn void(&self) -> Option<Void> {
        if self.spoilt.is_some() {
            return self.spoilt;
        }
        let short = self.offered.saturating_sub(self.sent) as f64;
        if self.sent == 0 || short > self.offered as f64 * TOLERANCE {
            return Some(Void::NotSent { sent: self.sent, offered: self.offered });
        }
        if !self.kept_up && self.took.as_secs_f64() > self.length.as_secs_f64() * (1.0 + TOLERANCE) {
            return Some(Void::Slow { reached: self.reached() });
        }
        // A loss of which part is ours says nothing of the target.
        if self.missed > 0 && self.is_lossy() {
            return Some(Void::Receiver { missed: self.missed });
        }
        self.undrained.filter(|_| self.is_lossy()).map(|waited| Void::Undrained { waited })
    }

    /// Whether frames that left did not arrive.
    pub const fn is_lossy(&self) -> bool {
        self.received < self.sent
    }

    /// Whether frames did not leave evenly: what was lost may be a burst's loss. It is asked of each trial,
    /// lossy or not: who threw out only those that lost frames would keep the lucky ones, and find too high a
    /// load.
    pub fn is_uneven(&self) -> bool {
        self.latest > UNEVEN
    }

    /// Frames that did not arrive and that this machine did not lose itself, and those that it did, at most.
    pub fn losses(&self) -> (u64, u64) {
        let lost = self.sent.saturating_sub(self.received);
        let ours = self.missed.min(lost);
        (lost - ours, ours)
    }

    /// Frames per second that arrived, in each direction.
    pub fn forwarded(&self) -> f64 {
        self.received as f64 / self.length.as_secs_f64() / f64::from(self.ways)
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
            undrained: None,
            ways: 1,
            spoilt: None,
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
        assert_eq!(slow.losses(), (10, 10));
        assert_eq!(slow.void().map(Void::side), Some(Side::Receiver));
    }

    #[test]
    fn what_may_still_have_come_is_no_loss_of_the_targets() {
        let waited = Picos::from_millis(200);
        let short = Trial { undrained: Some(waited), ..trial(1_000, 1_000, 980, 1_000) };
        assert_eq!(short.void(), Some(Void::Undrained { waited }));
        assert!(Trial { received: 1_000, ..short }.is_valid(), "all of them came");
    }

    #[test]
    fn a_trial_is_uneven_whether_it_lost_frames_or_not() {
        let uneven =
            |received| Trial { latest: Picos::from_millis(5), ..trial(1_000, 1_000, received, 1_000) };
        assert!(uneven(1_000).is_uneven() && uneven(999).is_uneven());
    }

    #[test]
    fn directions_together_are_at_the_load_of_each_and_one_that_does_not_count_spoils_both() {
        let (forth, back) = (trial(1_000, 1_000, 990, 1_000), trial(1_000, 1_000, 1_000, 1_000));
        let both = Trial::together(&[forth, back]);
        assert_eq!((both.sent, both.received, both.loss(), both.void()), (2_000, 1_990, 0.005, None));
        assert_eq!((both.forwarded(), both.reached(), both.losses()), (995.0, 1_000.0, (10, 0)));
        // 0.9 % of one direction never left: of both together, that would be within the tolerance.
        let short = Trial::together(&[forth, trial(1_000, 991, 991, 1_000)]);
        assert_eq!(short.void(), Some(Void::NotSent { sent: 991, offered: 1_000 }));
        // Frames of others that the receiver missed in a direction without loss say nothing of the other.
        let missed = Trial::together(&[forth, Trial { missed: 50, ..back }]);
        assert_eq!((missed.void(), missed.losses()), (None, (10, 0)));
        let missed = Trial::together(&[Trial { missed: 3, ..forth }, back]);
        assert_eq!((missed.void(), missed.losses()), (Some(Void::Receiver { missed: 3 }), (7, 3)));
    }
}
