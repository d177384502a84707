//! Criteria of loads that are made of frames. docs/verdict.md has every limit.

use super::machine::Machine;
use super::{Loop, own_lateness, share};
use crate::criterion::CriterionId;
use crate::series::Series;
use crate::totals::RunTotals;
use crate::verdict::Criterion;
use units::{Cause, Miss, Outcome};

/// Flags of a command that advice may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags {
    /// For more threads.
    pub threads: Option<&'static str>,
    /// `--cpus`, which binds the threads that send.
    pub cpus: bool,
    /// `--spin`.
    pub spin: bool,
}

impl Flags {
    pub(super) const OF_REQUESTS: Self = Self { threads: Some("--threads"), cpus: true, spin: true };
}

impl Default for Flags {
    /// Those of `tare send`.
    fn default() -> Self {
        Self { threads: Some("--queues"), cpus: true, spin: true }
    }
}

/// What the verdict needs to know of a load of frames besides its figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameConditions {
    /// Gaps that were measured, where that is all that the command is for.
    pub gaps: Option<u64>,
    /// Of these, such as no two frames have: below zero, or of a clock that was set.
    pub gaps_impossible: u64,
    /// The one gap that was asked for, if it was one.
    pub requested_gap_ns: Option<f64>,
    /// 95th percentile of |measured − requested gap|; `None` if no port measured it.
    pub gap_error_p95_ns: Option<f64>,
    /// It was measured where frames were handed over, not where they arrived.
    pub gaps_are_handed_over: bool,
    /// The same where frames left, if `gap_error_p95_ns` is where they arrived: what of it is the sender's own.
    pub own_gap_error_p95_ns: Option<f64>,
    /// Frames that had not come when waiting for them ended, and may still come.
    pub outstanding: u64,
    /// Frames that had numbers of others: those of two runs were received as one.
    pub mixed: u64,
    /// Frames that held several.
    pub merged: u64,
    /// More than counts is wrong by that: gaps, losses, or what was sent on.
    pub merged_misleads: bool,
    /// Frames were sent as fast as possible, so that only pauses tell whether the generator stood still.
    pub is_flood: bool,
    /// Error of the stamps that gaps were measured with.
    pub stamp_error_ns: Option<f64>,
    /// How far times of cards' clocks, told by the wall clock, may be off: of those who sent and received
    /// together. `None` if no card stamped.
    pub card_clocks_ns: Option<f64>,
    /// Median of the one-way times.
    pub one_way_p50_ns: Option<f64>,
    /// Frames that our own receiver lost, and those that it had.
    pub receiver_drops: u64,
    pub received: u64,
    /// Frames that our ports had taken and that then did not leave.
    pub transmit_drops: u64,
    /// Where most of them went.
    pub transmit_place: TransmitPlace,
    /// Frames that this host still held at the end.
    pub transmit_held: u64,
    /// Why the figures of the machine cannot be trusted ("17 of 20 trials: the generator was the limit"); a
    /// share of trials.
    pub invalid_trials: Option<(u64, u64)>,
    /// Of the same trials, resets whose command failed.
    pub failed_resets: u64,
    /// Frames that left late because of a script, if there was one, and whether it failed.
    pub script_late: Option<u64>,
    pub script_failed: bool,
    /// A port failed before the end.
    pub port_failed: bool,
    /// Flags that the command has.
    pub flags: Flags,
    /// What lets threads spin that have too few CPUs for it.
    pub no_spin: Option<String>,
    /// All times are a simulation's: this machine's clock, CPUs and threads have no part in them.
    pub simulated: bool,
    /// All times are those of a file: neither have they a part in these.
    pub of_file: bool,
}

/// Gaps are judged against at least this: a CPU that is interrupted costs as much at any time.
const GAP_FLOOR_NS: f64 = 1_000.0;
/// Where neither a gap nor a way was measured, cards' clocks are to be known this well.
const CLOCKS_NS: f64 = 1e6;

pub(super) fn criteria(
    totals: &RunTotals,
    machine: &Machine<'_>,
    load: Loop,
    frames: &FrameConditions,
) -> Vec<Criterion> {
    let own = own_lateness(machine, load != Loop::Closed);
    let mut criteria = match load {
        Loop::Passive => vec![arrivals(totals)],
        Loop::Closed => vec![super::departures(totals)],
        Loop::Open { .. } => {
            vec![
                super::departures(totals),
                super::made(totals, machine),
                rate_kept(totals, machine),
                late(totals, frames, machine),
            ]
        }
    };
    if let Loop::Open { gap: Some(gap) } = load {
        criteria.push(super::lateness_gap(totals, own, gap, machine, "frames"));
    }
    criteria.extend(super::fidelity(totals, machine));
    // Elsewhere they are counted where nothing else tells of them.
    let has_pauses = frames.is_flood || totals.counters.pauses > 0;
    criteria.extend(has_pauses.then(|| super::pauses(totals, machine)));
    criteria.extend(frames.gaps.map(gaps_measured));
    criteria.extend(frames.gaps.map(|_| gaps_impossible(frames.gaps_impossible)));
    criteria.extend(script(totals, frames));
    // Of frames that others sent, how even they came says nothing of this generator.
    if load != Loop::Passive {
        criteria.extend(gap_error(totals, frames, machine));
    }
    criteria.extend(stamps(frames));
    criteria.extend(card_clocks(frames));
    criteria.extend([
        receiver_drops(totals, frames, load),
        outstanding(frames),
        mixed(frames),
        merged(frames),
        transmit_drops(totals, frames),
    ]);
    criteria.extend([links_kept(totals), links_heard(machine), ports_kept(frames.port_failed)]);
    criteria.extend(trials(frames));
    criteria
}

fn arrivals(totals: &RunTotals) -> Criterion {
    Criterion::new(CriterionId::Arrivals, totals.offered() as f64, 1.0).advise(|| {
        "nothing arrived: check that the link is up, that frames are sent, and that the filter passes them".into()
    })
}

/// Without a gap there is no figure that a verdict could be about.
fn gaps_measured(gaps: u64) -> Criterion {
    Criterion::new(CriterionId::GapsMeasured, gaps as f64, 1.0)
        .invalid_beyond(Some(1.0))
        .advise(|| "check the file or port, the filter and --signed; a note says what is missing".into())
}

/// What mean, variance and extremes are of, where timestamps go back or a clock was set.
fn gaps_impossible(gaps: u64) -> Criterion {
    Criterion::new(CriterionId::GapsImpossible, gaps as f64, 0.0).advise(|| {
        "the timestamps go backwards, or a clock was set: sort the file by time (reordercap), or cut it there"
            .into()
    })
}

/// How long the schedule was, against how long it took: below 1 the port or the CPU could not keep the rate.
fn rate_kept(totals: &RunTotals, machine: &Machine<'_>) -> Criterion {
    let (due, done) = (totals.until_last_due.as_secs_f64(), totals.until_last_done.as_secs_f64());
    let kept = if due > 0.0 && done > due { due / done } else { 1.0 };
    Criterion::new(CriterionId::RateKept, kept, 0.99).invalid_beyond(Some(0.95)).advise(|| {
        format!(
            "the rate is more than this port and CPU can sustain: {:.1} % of it was reached; {}, or use a \
             faster port",
            kept * 100.0,
            machine.more_room()
        )
    })
}

/// Departures whose time had passed by more than the plan's tolerance when they left.
fn late(totals: &RunTotals, frames: &FrameConditions, machine: &Machine<'_>) -> Criterion {
    let late = share(totals.counters.late, totals.offered());
    Criterion::new(CriterionId::LateShare, late, 0.01).advise(|| {
        let advice = match frames.simulated {
            true => "this process had no CPU while the simulation went on: stop other work on this machine, or lower the rate"
                .to_owned(),
            false => machine.in_time(),
        };
        format!("{} of {} frames left late: {advice}", totals.counters.late, totals.offered())
    })
}

/// Of what was late, that which the script made so; and whether it went on to the end.
fn script(totals: &RunTotals, frames: &FrameConditions) -> Vec<Criterion> {
    let Some(late) = frames.script_late else { return Vec::new() };
    let failed = f64::from(u8::from(frames.script_failed));
    vec![
        Criterion::new(CriterionId::ScriptLate, share(late, totals.offered()), 0.01).advise(|| {
            format!(
                "{late} of {} frames left late because the script takes longer than the gaps between them: shorten it, \
                 or lower the rate",
                totals.offered()
            )
        }),
        Criterion::new(CriterionId::ScriptFailed, failed, 0.0)
            .invalid_beyond(Some(0.0))
            .advise(|| "the script ended the run: the label has its line".into()),
    ]
}

/// Where frames left, if that is known: what becomes of gaps behind that is the way's. Else where they arrived.
fn gap_error(totals: &RunTotals, frames: &FrameConditions, machine: &Machine<'_>) -> Option<Criterion> {
    let requested = frames.requested_gap_ns?;
    let handed_over = totals.series.of(Series::GapError);
    let (p95, place) = match (frames.own_gap_error_p95_ns, frames.gap_error_p95_ns) {
        (Some(own), _) => (own, "where they leave"),
        (None, Some(measured)) if frames.gaps_are_handed_over => (measured, "where they are handed over"),
        (None, Some(measured)) => (measured, "where they arrive"),
        (None, None) if handed_over.is_empty() => return None,
        (None, None) => (handed_over.value_at_quantile(0.95) as f64, "where they are handed over"),
    };
    let limit = (requested / 2.0).max(GAP_FLOOR_NS);
    Some(Criterion::new(CriterionId::GapErrorP95, p95, limit).advise(|| {
        format!(
            "frames do not keep their gaps {place}: {}; docs/packets-reference.md compares the precision of \
             ports",
            machine.in_time()
        )
    }))
}

/// A ruler whose marks are further apart than a tenth of what it measures.
fn stamps(frames: &FrameConditions) -> Option<Criterion> {
    let (error, requested) = (frames.stamp_error_ns?, frames.requested_gap_ns?);
    let limit = (requested / 10.0).max(GAP_FLOOR_NS);
    Some(Criterion::new(CriterionId::StampsError, error, limit).advise(|| {
        "the timestamps are too coarse for these gaps: use hardware timestamps, or a port whose driver makes \
         them"
            .into()
    }))
}

/// Times of two clocks that are no further apart than what is measured with them.
fn card_clocks(frames: &FrameConditions) -> Option<Criterion> {
    let bound = frames.card_clocks_ns?;
    let measured = frames.one_way_p50_ns.or(frames.requested_gap_ns).unwrap_or(CLOCKS_NS);
    let limit = (measured / 10.0).max(GAP_FLOOR_NS);
    let criterion = Criterion::new(CriterionId::StampsClock, bound, limit);
    Some(criterion.invalid_beyond(Some(measured.max(limit))).advise(|| {
        "the offset of the cards' clocks from the wall clock is not known well enough: synchronise them \
         (ptp4l, phc2sys), do not set them during a run, or use the kernel's timestamps (stamps=driver)"
            .into()
    }))
}

fn receiver_drops(totals: &RunTotals, frames: &FrameConditions, load: Loop) -> Criterion {
    let missed = totals.outcomes.of(Outcome::Missed(Miss::ReceiverFull));
    let lost = frames.receiver_drops.max(missed);
    let five_percent = (frames.received + lost) as f64 / 20.0;
    Criterion::new(CriterionId::ReceiverDrops, lost as f64, 0.0)
        .invalid_beyond(Some(five_percent.max(1.0)))
        .advise(|| {
            if frames.of_file {
                return "the program that captured the file lost frames (the file says how many), so the \
                        network did not lose them: capture again with more memory (tcpdump -B), a filter, or \
                        less of each frame (-s)"
                    .to_owned();
            }
            // Where a command sends, those are the sender's threads, and would take CPUs from the receiver.
            let receives = load == Loop::Passive;
            let flag = frames.flags.threads.filter(|_| receives);
            let threads = flag.map_or_else(String::new, |flag| format!(", more threads ({flag})"));
            format!(
                "this machine lost frames after they had arrived, so the target did not lose them: give the \
                 receiver its own CPU{threads} or more room (slots=…), or set a filter"
            )
        })
}

/// Whoever stops waiting too early takes what is late for what is lost.
fn outstanding(frames: &FrameConditions) -> Criterion {
    Criterion::new(CriterionId::ReceiverOutstanding, frames.outstanding as f64, 0.0).advise(|| {
        format!(
            "{} frames may still arrive: the wait after the last departure was shorter than the slowest \
             frame's time; wait longer (--drain)",
            frames.outstanding
        )
    })
}

/// Numbers of two runs fill each other's gaps.
fn mixed(frames: &FrameConditions) -> Criterion {
    Criterion::new(CriterionId::ReceiverMixed, frames.mixed as f64, 0.0).advise(|| {
        format!(
            "at least {} frames have numbers of others that were sent at another time: more than one run was \
             received, so what is lost or came twice is not known; receive each run alone: by a filter \
             ('udp dst port 9'), or in a capture of its own",
            frames.mixed
        )
    })
}

/// Several in one are one to whoever counts frames, measures gaps or sends them on.
fn merged(frames: &FrameConditions) -> Criterion {
    let percent = frames.received as f64 / 100.0;
    Criterion::new(CriterionId::ReceiverMerged, frames.merged as f64, 0.0)
        .invalid_beyond(frames.merged_misleads.then_some(percent.max(1.0)))
        .advise(|| {
            format!(
                "{} frames held several each, merged where they arrived (GRO) or left for a card to split \
                 (TSO, UDP_SEGMENT), so counts, sizes, gaps and losses are not those of frames: use \
                 'ethtool -K INTERFACE gro off' where they arrive, or 'ethtool -K INTERFACE tx off' where a \
                 host sends them; send with udp,gso=no",
                frames.merged
            )
        })
}

/// Where frames were lost that a port had taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransmitPlace {
    /// In the kernel, the driver or a queue.
    #[default]
    OnTheWay,
    /// There was no link.
    NoLink,
    /// They were longer than the way takes.
    TooLong,
}

impl TransmitPlace {
    const fn remedy(self) -> &'static str {
        match self {
            Self::OnTheWay => {
                "lower the rate, or use another port; over udp:, see whether the next hop answers (ip neigh)"
            }
            Self::NoLink => "check the cable, the interface and the other end",
            Self::TooLong => {
                "make them shorter (--size), or raise the MTU of the interface and the route; so that none are \
                 merged, use 'ethtool -K INTERFACE tso off gso off' where they are sent, and 'gro off' where \
                 they arrive"
            }
        }
    }
}

fn transmit_drops(totals: &RunTotals, frames: &FrameConditions) -> Criterion {
    let percent = totals.offered() as f64 / 100.0;
    let held = frames.transmit_held;
    // Some are refused before a port has them.
    let too_long = totals.outcomes.of(Outcome::Failed(Cause::FrameTooLong));
    let place = match too_long > frames.transmit_drops {
        true => TransmitPlace::TooLong,
        false => frames.transmit_place,
    };
    Criterion::new(CriterionId::TransmitDrops, (frames.transmit_drops.max(too_long) + held) as f64, 0.0)
        .invalid_beyond(Some(percent.max(1.0)))
        .advise(|| {
            let fate = match held {
                0 => "did not leave".to_owned(),
                held => format!("did not leave ({held} were still in this host's queues at the end)"),
            };
            let what = if too_long > 0 { "there were frames" } else { "the port accepted frames" };
            format!("{what} that {fate}: {}", place.remedy())
        })
}

/// What was due while there was no link did not leave, however well it was made.
fn links_kept(totals: &RunTotals) -> Criterion {
    let lost = totals.outcomes.of(Outcome::Failed(Cause::LinkDown));
    let percent = totals.offered() as f64 / 100.0;
    Criterion::new(CriterionId::LinksDown, lost as f64, 0.0)
        .invalid_beyond(Some(percent.max(1.0)))
        .advise(|| {
            format!(
                "{lost} of {} frames were due while the link was down or gone: check the cable, the interface \
                 and the other end; if an FPGA module's PHY does not report its link, carrier=no \
                 (docs/fpga.md)",
                totals.offered()
            )
        })
}

/// What came to an interface that had no link, or was switched off, nobody saw.
fn links_heard(machine: &Machine<'_>) -> Criterion {
    Criterion::new(CriterionId::LinksLost, machine.health.links_lost as f64, 0.0).advise(|| {
        "an interface that received was down, or lost its link: what was sent to it meanwhile was not seen, and \
         gaps and rates have that pause; check the cable, the interface and the other end"
            .to_owned()
    })
}

/// A run whose port went away is no run of what was asked for.
pub(super) fn ports_kept(failed: bool) -> Criterion {
    Criterion::new(CriterionId::PortsFailed, f64::from(u8::from(failed)), 0.0)
        .invalid_beyond(Some(0.0))
        .advise(|| {
            "a port failed before the end, so this is not the requested run: the label says which and why"
                .into()
        })
}

fn trials(frames: &FrameConditions) -> Option<Criterion> {
    let (invalid, all) = frames.invalid_trials?;
    let failed = frames.failed_resets;
    let criterion = Criterion::new(CriterionId::TrialsInvalid, share(invalid + failed, all), 0.0);
    Some(criterion.invalid_beyond(Some(0.5)).advise(|| {
        let limited = (invalid > 0).then(|| {
            format!(
                "{invalid} of {all} searches and trials were limited by this machine, its generator or its \
                 receiver, so their results are lower bounds: use faster ports, more room to receive, or a \
                 lower --max-rate"
            )
        });
        let resets = (failed > 0).then(|| {
            format!(
                "--reset-command failed in {failed} of {all} searches and trials, or still ran at the end and was \
                 killed, so those have no reset time: run the command by itself to see why"
            )
        });
        limited.into_iter().chain(resets).collect::<Vec<_>>().join("; ")
    }))
}

#[cfg(test)]
mod tests;
