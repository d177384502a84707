//! Expected figures are derived by hand, beside each test.

use super::*;
use proptest::prelude::*;

fn ns(nanos: u64) -> Picos {
    Picos::from_nanos(nanos)
}

fn metered(requested: Requested, stamps: &[u64]) -> GapReport {
    let mut meter = GapMeter::new(requested);
    for stamp in stamps {
        meter.arrived(*stamp);
    }
    meter.report(&Stamping::default())
}

#[test]
fn figures_of_four_gaps_are_those_made_by_hand() {
    // Gaps 100 90 110 100 of requested 100: errors 0 10 10 0.
    let report = metered(Requested::Even(ns(100)), &[1_000, 1_100, 1_190, 1_300, 1_400]);
    assert_eq!((report.count, report.backward, report.requested_ns), (4, 0, Some(100.0)));
    assert_eq!((report.mean_ns, report.variance_ns2), (100.0, 50.0));
    assert_eq!(
        (report.min_ns, report.p50_ns, report.p95_ns, report.p99_ns, report.max_ns),
        (90.0, 100.0, 110.0, 110.0, 110.0)
    );
    let error = report.error.unwrap();
    // Mean 20 / 4, squares of the differences from it 4 · 25 / 4.
    assert_eq!((error.count, error.mean_ns, error.variance_ns2), (4, 5.0, 25.0));
    assert_eq!((error.p50_ns, error.p95_ns, error.p99_ns, error.max_ns), (0.0, 10.0, 10.0, 10.0));
    assert_eq!(report.histogram, [(90.0, 1), (100.0, 2), (110.0, 1)]);
    assert_eq!(report.caliper_line(), "mean 100.00 var 50.00 avgerr 5.00");
}

#[test]
fn calipers_own_example_comes_out_as_it_is_printed_there() {
    // 13 560 ns asked for; of 25 000 gaps 50 are 90 ns short and 50 as much long:
    // mean error 100 · 90 / 25 000 = 0.36, mean square 100 · 8 100 / 25 000 = 32.40.
    let mut meter = GapMeter::new(Requested::Even(ns(13_560)));
    let mut at = 1_700_000_000_000_000_000;
    meter.arrived(at);
    for n in 0..25_000_u64 {
        at += match n % 500 {
            100 => 13_470,
            300 => 13_650,
            _ => 13_560,
        };
        meter.arrived(at);
    }
    let report = meter.report(&Stamping::default());
    assert_eq!(report.caliper_line(), "mean 13560.00 var 32.40 avgerr 0.36");
    assert_eq!(report.error.unwrap().p99_ns, 0.0);
}

#[test]
fn gaps_of_hours_and_days_are_what_they_are_and_those_of_a_clock_that_was_set_are_counted() {
    const DAY: u64 = 86_400_000_000_000;
    let report = metered(Requested::Nothing, &[DAY, 3 * DAY, 5 * DAY]);
    assert_eq!((report.mean_ns, report.max_ns, report.beyond), (2.0 * DAY as f64, 2.0 * DAY as f64, 0));
    assert!((report.p50_ns / DAY as f64 - 2.0).abs() < 2e-4, "{report:?}");
    // From 1970 to now, and back.
    let set = metered(Requested::Even(ns(1_000)), &[5_000, 6_000, 20_000 * DAY, 7_000]);
    assert_eq!((set.count, set.beyond, set.backward), (3, 2, 1));
    assert_eq!((set.max_ns, set.error.unwrap().max_ns), (100.0 * DAY as f64, 100.0 * DAY as f64 + 1_000.0));
}

#[test]
fn a_list_of_gaps_begins_again_at_its_end() {
    // 10, 20, 30, then 10, 20 again, each 1 too long but the fourth.
    let report = metered(Requested::Cycle([ns(10), ns(20), ns(30)].into()), &[0, 11, 32, 63, 73, 94]);
    let error = report.error.unwrap();
    assert_eq!((error.count, error.mean_ns, error.max_ns), (5, 0.8, 1.0));
    assert_eq!(report.requested_ns, None);
}

#[test]
fn a_lost_frame_is_no_gap_error_where_frames_bring_their_due_times() {
    // Due every 100; the third is lost, the fourth comes 3 late: the gap is 203 where 200 was asked for.
    let mut meter = GapMeter::new(Requested::Due);
    for (stamp, due) in [(5_000, 100), (5_100, 200), (5_303, 400)] {
        meter.arrived_due(stamp, due);
    }
    let report = meter.report(&Stamping::default());
    let error = report.error.unwrap();
    assert_eq!((report.max_ns, error.max_ns, error.mean_ns), (203.0, 3.0, 1.5));
}

#[test]
fn a_gap_that_is_no_whole_nanosecond_is_asked_for_exactly() {
    // 14 880 952/s: 67.2 ns. Gaps of 67 and 68 are 0.2 and 0.8 off.
    let report = metered(Requested::Even(Picos::from_picos(67_200)), &[0, 67, 135]);
    let error = report.error.unwrap();
    assert!((error.mean_ns - 0.5).abs() < 1e-9 && (error.max_ns - 0.8).abs() < 1e-9, "{error:?}");
    assert_eq!(report.requested_ns, Some(67.2));
}

#[test]
fn stamps_that_run_backwards_are_counted() {
    let report = metered(Requested::Even(ns(10)), &[100, 95, 105]);
    assert_eq!((report.count, report.backward, report.min_ns, report.max_ns), (2, 1, -5.0, 10.0));
    assert_eq!(report.error.unwrap().max_ns, 15.0);
}

#[test]
fn without_a_request_there_is_no_error_and_without_gaps_nothing() {
    let report = metered(Requested::Nothing, &[0, 10, 30]);
    assert_eq!((report.error, report.mean_ns), (None, 15.0));
    assert_eq!(report.caliper_line(), "mean 15.00 var 25.00 avgerr -");
    assert_eq!(metered(Requested::Even(ns(1)), &[7]).count, 0);
    assert_eq!(metered(Requested::Cycle([].into()), &[7, 8]).error, None);
}

#[test]
fn a_pause_has_no_gap() {
    let mut meter = GapMeter::new(Requested::Nothing);
    meter.arrived(1);
    meter.pause();
    meter.arrived(1_000_000);
    meter.arrived(1_000_010);
    assert_eq!(meter.report(&Stamping::default()).max_ns, 10.0);
}

#[test]
fn absurd_stamps_do_no_harm() {
    let report = metered(Requested::Even(Picos::MAX), &[0, u64::MAX, 0, u64::MAX / 2, 3]);
    assert_eq!(report.count, 4);
    assert!(report.histogram.len() <= GAP_BINS && report.variance_ns2.is_finite());
}

proptest! {
    #[test]
    fn bins_are_few_ascending_and_complete(gaps in prop::collection::vec(0_u64..10_000_000_000, 1..3_000)) {
        let mut at = 0;
        let stamps: Vec<u64> = std::iter::once(0).chain(gaps.iter().map(|gap| { at += gap; at })).collect();
        let report = metered(Requested::Even(ns(5_000_000)), &stamps);
        for bins in [&report.histogram, &report.error_histogram] {
            prop_assert!(bins.len() <= GAP_BINS);
            prop_assert!(bins.windows(2).all(|pair| pair[0].0 < pair[1].0));
            prop_assert_eq!(bins.iter().map(|(_, count)| count).sum::<u64>(), gaps.len() as u64);
        }
        let mut sorted = gaps.clone();
        sorted.sort_unstable();
        let p95 = sorted[(gaps.len() * 95).div_ceil(100) - 1] as f64;
        prop_assert!((report.p95_ns - p95).abs() <= p95 * 1e-4 + 0.5, "{} {}", report.p95_ns, p95);
    }

    #[test]
    fn parts_add_up_to_the_whole(left in prop::collection::vec(1_u64..1_000_000, 1..200),
        right in prop::collection::vec(1_u64..1_000_000, 1..200)) {
        let fill = |meter: &mut GapMeter, gaps: &[u64]| {
            meter.pause();
            let mut at = 1;
            meter.arrived(at);
            for gap in gaps {
                at += gap;
                meter.arrived(at);
            }
        };
        let requested = || GapMeter::new(Requested::Even(ns(500_000)));
        let (mut one, mut other, mut whole) = (requested(), requested(), requested());
        fill(&mut one, &left);
        fill(&mut other, &right);
        fill(&mut whole, &left);
        fill(&mut whole, &right);
        one.merge(&other);
        prop_assert_eq!(one.report(&Stamping::default()), whole.report(&Stamping::default()));
    }
}

/// Stamps of frames whose gaps are these, in nanoseconds.
fn stamps(gaps: &[u64]) -> Vec<u64> {
    let mut at = 1_000_000;
    std::iter::once(at)
        .chain(gaps.iter().map(|gap| {
            at += gap;
            at
        }))
        .collect()
}

fn cycle(gaps: &[u64]) -> Requested {
    Requested::Cycle(gaps.iter().map(|gap| ns(*gap)).collect())
}

#[test]
fn a_list_is_found_again_after_a_frame_that_is_missing_or_one_too_many() {
    let list = [100, 250, 400, 150, 700, 320, 90, 510];
    let sent = stamps(&list.repeat(50));
    // No, one, three and eleven frames lost in a row, at the start of the list, in its middle and at its end.
    for lost in [0, 1, 3, 11] {
        for at in [80, 83, 87] {
            let mut seen = sent.clone();
            seen.drain(at..at + lost);
            let mut meter = GapMeter::new(cycle(&list));
            seen.iter().for_each(|stamp| _ = meter.arrived(*stamp));
            let error = meter.report(&Stamping::default()).error.unwrap();
            assert_eq!((error.count, error.max_ns), (400 - lost as u64, 0.0), "{lost} at {at}");
            assert_eq!(meter.slips(), u64::from(lost > 0), "{lost} at {at}");
        }
    }
    // A frame of somebody else's between two.
    let mut seen = sent.clone();
    seen.insert(101, seen[100] + 30);
    let mut meter = GapMeter::new(cycle(&list));
    let mut errors: Vec<Picos> = seen.iter().filter_map(|stamp| meter.arrived(*stamp)).collect();
    errors.extend(meter.settle());
    let told = meter.report(&Stamping::default()).error.unwrap();
    assert_eq!((errors.len(), told.count, told.max_ns, meter.slips()), (400, 400, 0.0, 1));
    // The list begins elsewhere than the capture.
    let mut meter = GapMeter::new(cycle(&list));
    sent[3..].iter().for_each(|stamp| _ = meter.arrived(*stamp));
    assert_eq!(meter.report(&Stamping::default()).error.unwrap().max_ns, 0.0);
}

#[test]
fn a_stall_is_an_error_and_no_loss() {
    // A thousand times late, and the list goes on where it was: that is what was asked about.
    let list = [100, 250, 400, 150, 700, 320, 90, 510];
    let mut gaps = list.repeat(50);
    gaps[100] += 100_000;
    let report = metered(cycle(&list), &stamps(&gaps));
    assert_eq!(report.error.unwrap().max_ns, 100_000.0);
    // Equal gaps: nothing says that a frame is missing rather than late, so the error stands.
    let mut gaps = [100_u64].repeat(50);
    gaps[20] = 200;
    let error = metered(cycle(&[100]), &stamps(&gaps)).error.unwrap();
    assert_eq!((error.count, error.max_ns), (50, 100.0));
    // One late frame, with the next in time again.
    let mut gaps = list.repeat(50);
    gaps[100] += 80;
    gaps[101] -= 80;
    let mut meter = GapMeter::new(cycle(&list));
    stamps(&gaps).iter().for_each(|stamp| _ = meter.arrived(*stamp));
    let error = meter.report(&Stamping::default()).error.unwrap();
    assert_eq!((error.max_ns, meter.slips()), (80.0, 0));
}
