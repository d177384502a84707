use super::*;
use crate::criterion::CriterionId as Id;
use crate::health::HealthSummary;
use crate::judge::{Conditions, judge};
use crate::verdict::Word;
use units::{Bytes, Fate, Instant, Picos};

fn conditions(load: Loop, frames: FrameConditions) -> Conditions {
    Conditions {
        load,
        clock: None,
        clock_precision: Picos::ZERO,
        clock_refused: None,
        spins: true,
        cpus: 2,
        pinned: false,
        parallel: None,
        sinks: None,
        weighed: None,
        own_tcp: false,
        unix: false,
        port_failed: false,
        simulated: None,
        frames: Some(frames),
    }
}

fn sent(frames: u64) -> RunTotals {
    let mut totals = RunTotals::new(0);
    totals.counters.offered = frames;
    totals.counters.due = frames;
    let mut data = crate::IntervalData::new(0);
    data.frames(Fate::Sent, frames, Bytes::new(64 * frames), Instant::EPOCH);
    totals.tally += data.tally;
    totals
}

fn failing(totals: &RunTotals, load: Loop, frames: FrameConditions) -> Vec<(Id, Word)> {
    let health = HealthSummary { samples: 1, ..HealthSummary::default() };
    let verdict = judge(totals, &health, &conditions(load, frames));
    let broken = verdict.criteria().iter().filter(|criterion| !criterion.holds);
    broken.map(|criterion| (criterion.id, criterion.severity)).collect()
}

#[test]
fn each_criterion_fails_alone_and_as_badly_as_the_page_says() {
    let even = Loop::Open { gap: None };
    let of = |frames| failing(&sent(1_000), even, frames);
    let none = FrameConditions::default;
    assert_eq!(of(none()), []);
    let gaps = |requested, error, stamps| FrameConditions {
        requested_gap_ns: Some(requested),
        gap_error_p95_ns: Some(error),
        stamp_error_ns: Some(stamps),
        ..none()
    };
    assert_eq!(of(gaps(13_560.0, 6_700.0, 1_300.0)), []);
    assert_eq!(of(gaps(13_560.0, 6_900.0, 1.0)), [(Id::GapErrorP95, Word::Degraded)]);
    let left = |own| FrameConditions { own_gap_error_p95_ns: Some(own), ..gaps(13_560.0, 90_000.0, 1.0) };
    assert_eq!(of(left(100.0)), [], "what the way does to gaps is not the generator's");
    assert_eq!(of(left(6_900.0)), [(Id::GapErrorP95, Word::Degraded)]);
    let late = FrameConditions { outstanding: 1, ..none() };
    assert_eq!(of(late), [(Id::ReceiverOutstanding, Word::Degraded)]);
    let measured = |gaps| FrameConditions { gaps: Some(gaps), ..none() };
    assert_eq!(of(measured(1)), []);
    assert_eq!(of(measured(0)), [(Id::GapsMeasured, Word::Invalid)]);
    let impossible = FrameConditions { gaps_impossible: 1, ..measured(9) };
    assert_eq!(of(impossible), [(Id::GapsImpossible, Word::Degraded)]);
    let mixed = FrameConditions { mixed: 1, ..none() };
    assert_eq!(of(mixed), [(Id::ReceiverMixed, Word::Degraded)]);
    let merged = |merged| of(FrameConditions { merged, merged_misleads: true, received: 1_000, ..none() });
    assert_eq!(merged(1), [(Id::ReceiverMerged, Word::Degraded)]);
    assert_eq!(merged(11), [(Id::ReceiverMerged, Word::Invalid)]);
    assert_eq!(of(gaps(13_560.0, 1.0, 1_400.0)), [(Id::StampsError, Word::Degraded)]);
    // A way of 50 µs by clocks that are 5 µs, 6 µs and 60 µs apart: the last says nothing of it.
    let clocks = |ns| FrameConditions { card_clocks_ns: Some(ns), one_way_p50_ns: Some(50_000.0), ..none() };
    assert_eq!(of(clocks(5_000.0)), []);
    assert_eq!(of(clocks(6_000.0)), [(Id::StampsClock, Word::Degraded)]);
    assert_eq!(of(clocks(60_000.0)), [(Id::StampsClock, Word::Invalid)]);
    let short = |ns| FrameConditions { one_way_p50_ns: Some(300.0), ..clocks(ns) };
    assert_eq!(of(short(900.0)), [], "no wire is so short that a microsecond matters less");
    assert_eq!(of(short(1_100.0)), [(Id::StampsClock, Word::Invalid)]);
    let came = |frames| failing(&sent(1_000), Loop::Passive, frames);
    // A capture has all bytes of what was merged.
    let merged = FrameConditions { merged: 900, received: 1_000, ..none() };
    assert_eq!(came(merged), [(Id::ReceiverMerged, Word::Degraded)]);
    assert_eq!(came(gaps(13_560.0, 6_900.0, 1.0)), [], "others sent them");
    assert_eq!(came(gaps(13_560.0, 1.0, 1_400.0)), [(Id::StampsError, Word::Degraded)], "our own ruler");
    let drops = |receiver_drops| FrameConditions { received: 1_000, receiver_drops, ..none() };
    assert_eq!(of(drops(1)), [(Id::ReceiverDrops, Word::Degraded)]);
    assert_eq!(of(drops(60)), [(Id::ReceiverDrops, Word::Invalid)]);
    let lost = |transmit_drops| FrameConditions { transmit_drops, ..none() };
    assert_eq!(of(lost(10)), [(Id::TransmitDrops, Word::Degraded)]);
    assert_eq!(of(lost(11)), [(Id::TransmitDrops, Word::Invalid)]);
    let held = |transmit_held| FrameConditions { transmit_held, ..none() };
    assert_eq!(of(held(10)), [(Id::TransmitDrops, Word::Degraded)]);
    assert_eq!(of(held(11)), [(Id::TransmitDrops, Word::Invalid)]);
    let unsent = |cause, frames| {
        let mut totals = sent(1_000 - frames);
        (totals.counters.offered, totals.counters.due) = (1_000, 1_000);
        totals.tally.failed = frames;
        totals.outcomes.add(Outcome::Failed(cause), frames);
        failing(&totals, even, none())
    };
    let down = |frames| unsent(Cause::LinkDown, frames);
    assert_eq!(down(10), [(Id::LinksDown, Word::Degraded)]);
    assert_eq!(down(11), [(Id::LinksDown, Word::Invalid)]);
    assert_eq!(down(1_000), [(Id::LinksDown, Word::Invalid)]);
    // As a forwarder finds them, which gives them to no port.
    let too_long = |frames| unsent(Cause::FrameTooLong, frames);
    assert_eq!(too_long(10), [(Id::TransmitDrops, Word::Degraded)]);
    assert_eq!(too_long(11), [(Id::TransmitDrops, Word::Invalid)]);
    let failed = FrameConditions { port_failed: true, ..none() };
    assert_eq!(of(failed), [(Id::PortsFailed, Word::Invalid)]);
    let trials = |invalid| FrameConditions { invalid_trials: Some((invalid, 10)), ..none() };
    assert_eq!(of(trials(5)), [(Id::TrialsInvalid, Word::Degraded)]);
    assert_eq!(of(trials(6)), [(Id::TrialsInvalid, Word::Invalid)]);
    let resets = |failed_resets| FrameConditions { failed_resets, ..trials(0) };
    assert_eq!(of(resets(0)), []);
    assert_eq!(of(resets(1)), [(Id::TrialsInvalid, Word::Degraded)]);
    assert_eq!(of(resets(6)), [(Id::TrialsInvalid, Word::Invalid)]);
    assert_eq!(failing(&sent(0), Loop::Passive, none()), [(Id::Arrivals, Word::Degraded)]);
}

#[test]
fn a_rate_beyond_the_port_is_invalid_and_says_what_was_reached() {
    let mut totals = sent(1_000);
    (totals.until_last_due, totals.until_last_done) = (Picos::from_secs(1), Picos::from_secs(2));
    totals.counters.late = 500;
    let found = failing(&totals, Loop::Open { gap: None }, FrameConditions::default());
    assert_eq!(found, [(Id::RateKept, Word::Invalid), (Id::LateShare, Word::Degraded)]);
}
