//! Every criterion of a verdict: its name, what it is about, and how grave it can be. docs/verdict.md has a
//! section for each, in this order.
//!
//! ```text
//! CriterionId ── about() ──► About   unit, side of the limit, worst word, when it is known, what it looks at
//!      │
//!      └─ judge: value and limits ──► Criterion ──► Verdict
//! ```

use crate::verdict::{Sense, Word};

/// The part of docs/verdict.md in which a criterion stands: the question that it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Was the load sent?
    Sent,
    /// Did it leave in time?
    InTime,
    /// Is the net known?
    Net,
    /// Could the generator have done more?
    Capacity,
    /// Are the figures right?
    Figures,
    Warnings,
    OtherPlaces,
    Weighed,
    /// Loads of frames, of which only these are judged by it.
    Frames,
    /// Runs without a judgement: what stands in its place.
    NoJudgement,
}

impl Section {
    /// Its heading in docs/verdict.md.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Sent => "Was the load sent?",
            Self::InTime => "Did it leave in time?",
            Self::Net => "Is the net known?",
            Self::Capacity => "Could the generator have done more?",
            Self::Figures => "Are the figures right?",
            Self::Warnings => "Warnings",
            Self::OtherPlaces => "Other places",
            Self::Weighed => "What was weighed",
            Self::Frames => "Loads of frames",
            Self::NoJudgement => "Runs without a judgement",
        }
    }
}

/// Unit of a value and its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Nanoseconds,
    /// 0 to 1.
    Share,
    Count,
}

impl Unit {
    /// As `result.json` has it.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Share => "share",
            Self::Count => "count",
        }
    }
}

/// When a criterion can be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Throughout,
    /// Only of a finished run: before, something is always under way.
    AtTheEnd,
}

/// What a criterion looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    TheRun,
    /// This machine's clock, CPUs and threads, which times of a simulation have nothing to do with.
    ThisMachine,
}

/// What is fixed of a criterion, whatever the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    pub section: Section,
    pub unit: Unit,
    /// The side of its limit on which the value should be.
    pub sense: Sense,
    /// The worst word that this criterion alone gives a run: INVALID beyond a second limit, VALID if it only
    /// warns.
    pub worst: Word,
    pub known: Known,
    pub of: Of,
}

macro_rules! criteria {
    ($(
        $id:ident = $name:literal:
            $section:ident, $unit:ident $sense:ident, $worst:ident, $known:ident, $of:ident;
    )+) => {
        /// One criterion of all that a verdict may have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum CriterionId { $($id,)+ }

        impl CriterionId {
            /// Every criterion, in the order of docs/verdict.md.
            pub const ALL: &'static [Self] = &[$(Self::$id,)+];

            /// As in docs/verdict.md and `result.json`, e.g. `lateness.p99`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$id => $name,)+ }
            }

            pub const fn about(self) -> About {
                match self {
                    $(Self::$id => About {
                        section: Section::$section,
                        unit: Unit::$unit,
                        sense: Sense::$sense,
                        worst: Word::$worst,
                        known: Known::$known,
                        of: Of::$of,
                    },)+
                }
            }
        }
    };
}

criteria! {
    Departures = "departures": Sent, Count AtLeast, Invalid, AtTheEnd, TheRun;
    DeparturesMade = "departures.made": Sent, Share AtLeast, Invalid, Throughout, TheRun;
    AchievedShare = "achieved.share": Sent, Share AtLeast, Valid, AtTheEnd, TheRun;
    MissedByGenerator = "missed.generator": Sent, Count AtMost, Invalid, Throughout, TheRun;

    RateKept = "rate.kept": InTime, Share AtLeast, Invalid, AtTheEnd, TheRun;
    LatenessP50 = "lateness.p50": InTime, Nanoseconds AtMost, Invalid, Throughout, TheRun;
    LatenessP90 = "lateness.p90": InTime, Nanoseconds AtMost, Invalid, Throughout, TheRun;
    LatenessP99 = "lateness.p99": InTime, Nanoseconds AtMost, Invalid, Throughout, TheRun;
    LatenessP999 = "lateness.p99_9": InTime, Nanoseconds AtMost, Degraded, Throughout, TheRun;
    LatenessGap = "lateness.gap": InTime, Nanoseconds AtMost, Degraded, Throughout, TheRun;
    Fidelity = "fidelity": InTime, Share AtMost, Degraded, Throughout, TheRun;
    Pauses = "pauses": InTime, Share AtMost, Invalid, Throughout, TheRun;

    UnreadP50 = "unread.p50": Net, Nanoseconds AtMost, Degraded, Throughout, TheRun;
    UnreadP90 = "unread.p90": Net, Nanoseconds AtMost, Degraded, Throughout, TheRun;
    UnreadP99 = "unread.p99": Net, Nanoseconds AtMost, Degraded, Throughout, TheRun;
    UnreadP999 = "unread.p99_9": Net, Nanoseconds AtMost, Degraded, Throughout, TheRun;
    StampsContradicted = "stamps.contradicted": Net, Share AtMost, Degraded, Throughout, TheRun;
    TargetDelayed = "target.delayed": Net, Nanoseconds AtMost, Degraded, Throughout, ThisMachine;
    TargetCrowded = "target.crowded": Net, Nanoseconds AtMost, Degraded, Throughout, ThisMachine;

    CpuThread = "cpu.thread": Capacity, Share AtMost, Invalid, Throughout, ThisMachine;
    Runqueue = "runqueue": Capacity, Share AtMost, Invalid, Throughout, ThisMachine;
    SameCore = "same_core": Capacity, Share AtMost, Degraded, Throughout, ThisMachine;
    TargetWaited = "target.waited": Capacity, Share AtMost, Invalid, Throughout, ThisMachine;
    TargetUnseen = "target.unseen": Capacity, Share AtMost, Degraded, Throughout, ThisMachine;
    OthersWaited = "others.waited": Capacity, Share AtMost, Invalid, Throughout, ThisMachine;
    Steal = "steal": Capacity, Share AtMost, Invalid, Throughout, ThisMachine;
    Throttled = "throttled": Capacity, Share AtMost, Invalid, Throughout, ThisMachine;
    Dropped = "dropped": Capacity, Share AtMost, Degraded, Throughout, TheRun;
    LinksLost = "links.lost": Capacity, Count AtMost, Degraded, Throughout, TheRun;
    TcpRetransmitted = "tcp.retransmitted": Capacity, Share AtMost, Degraded, AtTheEnd, TheRun;
    TcpUnsent = "tcp.unsent": Capacity, Share AtMost, Invalid, AtTheEnd, TheRun;

    Clock = "clock": Figures, Nanoseconds AtMost, Invalid, Throughout, ThisMachine;
    ClockPrecision = "clock.precision": Figures, Nanoseconds AtMost, Degraded, Throughout, ThisMachine;
    Conservation = "conservation": Figures, Count AtMost, Invalid, AtTheEnd, TheRun;
    ThreadsLost = "threads.lost": Figures, Count AtMost, Invalid, Throughout, TheRun;
    IntervalsStarved = "intervals.starved": Figures, Count AtMost, Degraded, Throughout, TheRun;
    SourceLost = "source.lost": Figures, Count AtMost, Degraded, Throughout, TheRun;
    HealthSamples = "health.samples": Figures, Count AtLeast, Degraded, Throughout, ThisMachine;
    TimeSimulated = "time.simulated": Figures, Count AtMost, Invalid, Throughout, TheRun;

    PortsLeft = "ports.left": Warnings, Count AtLeast, Valid, Throughout, TheRun;
    DescriptorsLeft = "descriptors.left": Warnings, Count AtLeast, Valid, Throughout, TheRun;
    Samples = "samples": Warnings, Count AtLeast, Valid, AtTheEnd, TheRun;

    SinksLost = "sinks.lost": OtherPlaces, Count AtMost, Degraded, Throughout, TheRun;

    CapabilityShare = "capability.share": Weighed, Share AtMost, Valid, Throughout, TheRun;

    Arrivals = "arrivals": Frames, Count AtLeast, Degraded, AtTheEnd, TheRun;
    GapsMeasured = "gaps.measured": Frames, Count AtLeast, Invalid, AtTheEnd, TheRun;
    GapsImpossible = "gaps.impossible": Frames, Count AtMost, Degraded, AtTheEnd, TheRun;
    LateShare = "late.share": Frames, Share AtMost, Degraded, Throughout, TheRun;
    ScriptLate = "script.late": Frames, Share AtMost, Degraded, Throughout, TheRun;
    ScriptFailed = "script.failed": Frames, Count AtMost, Invalid, Throughout, TheRun;
    GapErrorP95 = "gap_error.p95": Frames, Nanoseconds AtMost, Degraded, Throughout, TheRun;
    StampsError = "stamps.error": Frames, Nanoseconds AtMost, Degraded, Throughout, TheRun;
    StampsClock = "stamps.clock": Frames, Nanoseconds AtMost, Invalid, Throughout, TheRun;
    ReceiverDrops = "receiver.drops": Frames, Count AtMost, Invalid, Throughout, TheRun;
    ReceiverOutstanding = "receiver.outstanding": Frames, Count AtMost, Degraded, Throughout, TheRun;
    ReceiverMixed = "receiver.mixed": Frames, Count AtMost, Degraded, Throughout, TheRun;
    ReceiverMerged = "receiver.merged": Frames, Count AtMost, Invalid, Throughout, TheRun;
    TransmitDrops = "transmit.drops": Frames, Count AtMost, Invalid, Throughout, TheRun;
    LinksDown = "links.down": Frames, Count AtMost, Invalid, Throughout, TheRun;
    PortsFailed = "ports.failed": Frames, Count AtMost, Invalid, Throughout, TheRun;
    TrialsInvalid = "trials.invalid": Frames, Share AtMost, Invalid, Throughout, TheRun;

    Finished = "finished": NoJudgement, Count AtLeast, Invalid, AtTheEnd, TheRun;
    ResultReadable = "result.readable": NoJudgement, Count AtLeast, Invalid, AtTheEnd, TheRun;
}

impl CriterionId {
    /// The one that has this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|id| id.name() == name)
    }
}

impl std::fmt::Display for CriterionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../docs/verdict.md");

    /// The criteria of the page in its order, each with the heading of its part and the text of its section.
    /// Headings that follow each other share the text below the last of them.
    fn of_page() -> Vec<(&'static str, &'static str, String)> {
        let (mut found, mut heading, mut is_open) = (Vec::<(&str, &str, String)>::new(), "", false);
        let mut from = 0;
        for line in PAGE.lines() {
            let of_criterion = line.strip_prefix("### `").or_else(|| line.strip_prefix("#### `"));
            if let Some(name) = of_criterion.and_then(|rest| rest.strip_suffix('`')) {
                from = if is_open { from } else { found.len() };
                found.push((name, heading, String::new()));
                is_open = true;
            } else if let Some(next) = line.strip_prefix("## ") {
                (heading, is_open, from) = (next, false, found.len());
            } else if heading == Section::NoJudgement.heading() {
                if let Some((name, text)) = line.strip_prefix("- `").and_then(|rest| rest.split_once("`:")) {
                    found.push((name, heading, text.to_owned()));
                }
            } else if !line.is_empty() {
                is_open = false;
                found[from..].iter_mut().for_each(|(.., text)| *text += line);
            }
        }
        found
    }

    #[test]
    fn the_page_has_a_section_for_every_criterion_and_no_other() {
        let of_page: Vec<_> = of_page().into_iter().map(|(name, heading, _)| (name, heading)).collect();
        let of_table: Vec<_> =
            CriterionId::ALL.iter().map(|id| (id.name(), id.about().section.heading())).collect();
        assert_eq!(of_page, of_table);
    }

    #[test]
    fn the_page_says_how_grave_each_can_be() {
        for (name, _, text) in of_page() {
            let id = CriterionId::of_name(name).unwrap();
            // The section of four percentiles excepts one of them.
            let is_grave = text.contains("INVALID") && id != CriterionId::LatenessP999;
            let worst = match (is_grave, text.contains("nly warns")) {
                (_, true) => Word::Valid,
                (true, false) => Word::Invalid,
                (false, false) => Word::Degraded,
            };
            let worst = if id.about().section == Section::NoJudgement { Word::Invalid } else { worst };
            assert_eq!(worst, id.about().worst, "{name}: {text}");
        }
    }

    #[test]
    fn every_name_is_read_as_what_it_was_written_for() {
        for id in CriterionId::ALL {
            assert_eq!(CriterionId::of_name(id.name()), Some(*id));
            assert_eq!(id.to_string(), id.name());
        }
        let names: std::collections::HashSet<_> = CriterionId::ALL.iter().map(|id| id.name()).collect();
        assert_eq!(names.len(), CriterionId::ALL.len());
        assert_eq!(CriterionId::of_name("rate.achieved"), None, "a name of older results");
    }
}
