//! Whether requests left at the rate that was asked for, and whether the plan's own ramp of connections kept
//! them from it. docs/verdict.md has the limits.

use super::machine::Machine;
use crate::criterion::CriterionId;
use crate::series::Series;
use crate::totals::RunTotals;
use crate::verdict::Criterion;

/// What to do where connections open too slowly.
pub(super) const RAMP: &str = "connections open no faster than --ramp-connections lets them: raise it, keep connections alive, or \
                    let --warmup last until all are open";

/// Whether most of this lateness is that of requests that waited for the plan's ramp of connections.
pub(super) fn waits_for_ramp(totals: &RunTotals, lateness: Series) -> bool {
    let late = totals.series.of(lateness);
    let ramped = totals.counters.ramped.as_nanos() as f64;
    ramped > 0.0 && 2.0 * ramped > late.mean() * late.len() as f64
}

/// Shares of the schedule by which it may take longer.
const LIMIT: f64 = 0.99;
const INVALID: f64 = 0.95;
/// If fewer requests than this were so late, a pause of the machine met the last ones.
const ENOUGH: u64 = 10;

/// How long the schedule was, against how long it took until its last request had left. What requests waited
/// because all connections that the plan allows were busy is the target's.
pub(super) fn kept(totals: &RunTotals, machine: &Machine<'_>) -> Criterion {
    let (due, left) = (totals.until_last_due.as_secs_f64(), totals.until_last_left.as_secs_f64());
    let late_ns = due * (1.0 / LIMIT - 1.0) * 1e9;
    let enough = totals.series.of(Series::OwnLateness).count_between(late_ns as u64, u64::MAX) >= ENOUGH;
    let kept = if enough && due > 0.0 && left > due { due / left } else { 1.0 };
    let by_ramp = waits_for_ramp(totals, Series::OwnLateness);
    Criterion::new(CriterionId::RateKept, kept, LIMIT).invalid_beyond((!by_ramp).then_some(INVALID)).advise(
        || {
            let advice = if by_ramp { RAMP.to_owned() } else { machine.more_room() };
            format!("requests left at {:.1} % of the requested rate: {advice}", kept * 100.0)
        },
    )
}

#[cfg(test)]
mod tests {
    use crate::criterion::CriterionId as Id;
    use crate::health::HealthSummary;
    use crate::interval::IntervalData;
    use crate::judge::tests::conditions;
    use crate::judge::{Conditions, Loop, judge};
    use crate::testing::answer;
    use crate::totals::RunTotals;
    use crate::verdict::Word;
    use units::{Event, Instant, Picos};

    const MS: u64 = 1_000_000;

    /// So many requests, due 1 ms apart and answered 1.5 s later, each of which leaves when `left` says, in ms;
    /// and for how long it was blocked.
    fn totals(n: u64, left: impl Fn(u64) -> (u64, u64)) -> RunTotals {
        let mut data = IntervalData::new(1);
        for i in 0..n {
            let (sent, blocked) = left(i);
            let event = answer(i, i * MS, sent * MS, (sent + 1_500) * MS);
            data.event(&Event { blocked: Picos::from_millis(blocked), ..event });
        }
        let mut totals = RunTotals::new(1);
        totals.merge(&data, Instant::EPOCH);
        totals.counters.offered = n;
        totals
    }

    fn found(totals: &RunTotals) -> (f64, Word, String) {
        let conditions = Conditions { load: Loop::Open { gap: None }, ..conditions() };
        let verdict = judge(totals, &HealthSummary::default(), &conditions);
        let kept = verdict.criteria().iter().find(|criterion| criterion.id == Id::RateKept).unwrap();
        (kept.value, if kept.holds { Word::Valid } else { kept.severity }, kept.advice.clone())
    }

    #[test]
    fn a_schedule_that_takes_longer_than_it_is_was_not_kept() {
        // Twice as long: half of the rate.
        let (value, word, advice) = found(&totals(1_001, |i| (2 * i, 0)));
        assert_eq!((value, word), (0.5, Word::Invalid));
        assert!(advice.starts_with("requests left at 50.0 % of the requested rate"), "{advice}");
        assert_eq!(found(&totals(1_001, |i| (i + i / 30, 0))).1, Word::Degraded);
        assert_eq!(found(&totals(1_001, |i| (i + i / 200, 0))), (1.0, Word::Valid, String::new()));
    }

    #[test]
    fn a_target_that_keeps_its_connections_busy_does_not_slow_the_generator() {
        assert_eq!(found(&totals(1_001, |i| (2 * i, i))).1, Word::Valid);
    }

    #[test]
    fn late_requests_that_the_schedule_has_caught_up_with_do_not_slow_it() {
        assert_eq!(found(&totals(1_001, |i| (i.max(800.min(i + 200)), 0))).1, Word::Valid);
    }

    #[test]
    fn a_pause_that_meets_the_last_of_few_requests_decides_nothing() {
        for n in [1, 2, 9] {
            assert_eq!(found(&totals(n, |i| (i + 5, 0))).1, Word::Valid);
        }
        assert_eq!(found(&totals(11, |i| (i + 5, 0))).1, Word::Invalid);
        assert_eq!(found(&totals(1_001, |i| (if i < 995 { i } else { i + 100 }, 0))).1, Word::Valid);
    }

    #[test]
    fn the_plans_own_ramp_is_a_doubt_and_is_named() {
        let mut totals = totals(1_001, |i| (2 * i, 0));
        totals.counters.ramped = Picos::from_secs(400);
        let (_, word, advice) = found(&totals);
        assert_eq!(word, Word::Degraded);
        assert!(advice.contains("--ramp-connections"), "{advice}");
    }
}
