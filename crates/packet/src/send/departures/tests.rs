use super::*;
use proptest::prelude::*;

const ORIGIN: Instant = Instant::from_picos(123_456_789_012_345);

fn per_second(n: u64) -> Rate {
    Rate::per_second(n).unwrap()
}

fn at(millis: u64) -> Instant {
    ORIGIN + Picos::from_millis(millis)
}

fn nanos(list: &[u64]) -> Vec<Picos> {
    list.iter().map(|ns| Picos::from_nanos(*ns)).collect()
}

fn whole(pattern: Pattern, ends: Ends) -> Departures {
    Departures::new(pattern, ends, ORIGIN, Share::WHOLE)
}

fn dues(mut departures: Departures, count: usize) -> Vec<u64> {
    std::iter::from_fn(|| departures.next()).take(count).map(|d| d.due.since(ORIGIN).as_picos()).collect()
}

#[test]
fn the_nth_due_time_is_exact_for_awkward_rates() {
    // floor(n · 10¹² / rate) for n = 10⁶ and 10⁷ − 1, by Python: n * 10**12 // rate.
    for (rate, n, expected) in [
        (3, 1_000_000, 333_333_333_333_333_333),
        (7, 1_000_000, 142_857_142_857_142_857),
        (600_000, 9_999_999, 16_666_665_000_000),
        (14_880_952, 9_999_999, 671_999_950_003),
        (148_809_523, 9_999_999, 67_199_993_645),
    ] {
        let ends = Ends { after: None, frames: Some(n + 1) };
        let departures = whole(Pattern::Even(per_second(rate)), ends);
        assert_eq!(departures.last_due(), Some(ORIGIN + Picos::from_picos(expected)), "{rate}/s");
        if n < 2_000_000 || rate > 100_000 {
            let mut drawn = departures.clone();
            let last = std::iter::from_fn(|| drawn.next()).last().unwrap();
            assert_eq!((last.seq, last.due.since(ORIGIN).as_picos()), (n, expected), "{rate}/s, drawn");
        }
    }
}

#[test]
fn bursts_leave_together_and_keep_the_rate() {
    // 4 at once at 1 000/s: at 0, 4 ms, 8 ms.
    let pattern = Pattern::Bursts { rate: per_second(1_000), size: 4 };
    let departures = whole(pattern, Ends { after: Some(Picos::from_millis(9)), frames: None });
    assert_eq!(departures.total(), 12);
    let ms = |n: u64| n * 1_000_000_000;
    assert_eq!(dues(departures, 20), [[ms(0); 4], [ms(4); 4], [ms(8); 4]].concat());
}

#[test]
fn a_length_has_the_gap_behind_the_last_departure() {
    // 23 frames, one each 2 ms, in bursts of 5: the last burst begins at 40 ms, and all take 46 ms.
    let rate = Rate::per_second(500).unwrap();
    assert_eq!(Pattern::Bursts { rate, size: 5 }.length(23), Some(Picos::from_millis(46)));
    assert_eq!(Pattern::Even(rate).length(23), Some(Picos::from_millis(46)));
    // A single frame of a recording has no gap.
    let alone = Cycle::of_times(vec![Picos::ZERO], Picos::from_picos(1)).unwrap();
    assert_eq!(Pattern::Cycle(alone).length(1), None);
}

#[test]
fn gap_lists_cycle() {
    // Gaps 10, 20, 30 ns: at 0, 10, 30, then 60, 70, 90, then 120.
    let cycle = Cycle::of_gaps(&nanos(&[10, 20, 30])).unwrap();
    let departures = whole(Pattern::Cycle(cycle.clone()), Ends { after: None, frames: Some(7) });
    assert_eq!(dues(departures, 9), [0, 10, 30, 60, 70, 90, 120].map(|ns| ns * 1_000));
    for (end_ns, count) in [(0, 0), (1, 1), (10, 1), (11, 2), (30, 2), (31, 3), (60, 3), (61, 4), (120, 6)] {
        assert_eq!(cycle.before(Picos::from_nanos(end_ns)), count, "before {end_ns} ns");
    }
    assert_eq!(Cycle::of_gaps(&nanos(&[0, 0])), None);
    assert_eq!(Cycle::of_gaps(&[]), None);
    // A gap of 0 at the end: the next round's first leaves with the last.
    let zero_last = Cycle::of_gaps(&nanos(&[5, 0])).unwrap();
    assert_eq!((0..4).map(|n| zero_last.due(n).as_nanos()).collect::<Vec<_>>(), [0, 5, 5, 10]);
    assert_eq!(zero_last.before(Picos::from_nanos(5)), 1);
    assert_eq!(zero_last.before(Picos::from_nanos(6)), 3);
}

#[test]
fn recorded_times_are_kept_and_begin_again() {
    let cycle = Cycle::of_times(nanos(&[0, 7, 7, 20]), Picos::from_nanos(25)).unwrap();
    let departures = whole(Pattern::Cycle(cycle), Ends { after: None, frames: Some(6) });
    assert_eq!(dues(departures, 9), [0, 7, 7, 20, 25, 32].map(|ns| ns * 1_000));
    assert_eq!(Cycle::of_times(nanos(&[0, 7, 6]), Picos::from_nanos(25)), None);
}

#[test]
fn a_rate_changes_at_its_time() {
    // 3/s for a second: 0, 333.3, 666.6 ms; from 1 s on 2/s: 1 s and 1.5 s.
    let mut departures =
        whole(Pattern::Even(per_second(3)), Ends { after: Some(Picos::from_secs(2)), frames: None });
    departures.set_rate(at(1_000), per_second(2)).unwrap();
    let expected = [0, 333_333_333_333, 666_666_666_666, 1_000_000_000_000, 1_500_000_000_000];
    assert_eq!(dues(departures, 9), expected);
}

#[test]
fn a_pause_moves_what_follows() {
    // 10/s, paused from 150 ms to 450 ms: 0, 100, then 450, 550, …; a pause does not lengthen the run.
    let mut departures =
        whole(Pattern::Even(per_second(10)), Ends { after: Some(Picos::from_millis(700)), frames: None });
    departures.pause(at(150));
    assert!(departures.is_paused() && departures.total() == 2);
    departures.resume(at(450));
    let ms = |n: u64| n * 1_000_000_000;
    assert_eq!(dues(departures, 9), [0, 100, 450, 550, 650].map(ms));
    // A list goes on where it was: gaps 100, 200 ms: 0, 100, 300, 400, …; paused from 150 to 1 150 ms.
    let list = Cycle::of_gaps(&[Picos::from_millis(100), Picos::from_millis(200)]).unwrap();
    let mut departures = whole(Pattern::Cycle(list), Ends { after: None, frames: Some(5) });
    departures.pause(at(150));
    departures.resume(at(1_150));
    assert_eq!(dues(departures, 9), [0, 100, 1_150, 1_250, 1_450].map(ms));
    let list = Cycle::of_gaps(&nanos(&[10])).unwrap();
    assert_eq!(whole(Pattern::Cycle(list), Ends::default()).set_rate(at(1), per_second(1)), Err(NoRate));
}

fn patterns() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        (1u64..3_000).prop_map(|n| Pattern::Even(per_second(n))),
        (1u64..3_000, 1u64..9).prop_map(|(n, size)| Pattern::Bursts { rate: per_second(n), size }),
        prop::collection::vec(0u64..9_000_000, 1..9).prop_filter_map("all gaps are zero", |gaps| {
            Cycle::of_gaps(&nanos(&gaps)).map(Pattern::Cycle)
        }),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Do {
    Rate(u64),
    Pause,
    Resume,
}

fn turns() -> impl Strategy<Value = Vec<(u64, Do)>> {
    let what = prop_oneof![(1u64..3_000).prop_map(Do::Rate), Just(Do::Pause), Just(Do::Resume)];
    prop::collection::vec((0u64..300_000_000_000, what), 0..6)
}

fn apply(departures: &mut Departures, at: Instant, what: Do) {
    match what {
        Do::Rate(rate) => drop(departures.set_rate(at, per_second(rate))),
        Do::Pause => departures.pause(at),
        Do::Resume => departures.resume(at),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Each share learns of each change when it has taken what is due before it; together they are the
    /// single-thread schedule.
    #[test]
    fn the_union_of_the_shares_is_the_whole(pattern in patterns(), turns in turns(), of in 1u32..6) {
        let ends = Ends { after: Some(Picos::from_millis(900)), frames: None };
        let run = |share| {
            let mut departures = Departures::new(pattern.clone(), ends, ORIGIN, share);
            let (mut taken, mut from) = (Vec::new(), ORIGIN);
            for (after, what) in &turns {
                from = from + Picos::from_picos(*after);
                while departures.peek().is_some_and(|due| due < from) {
                    taken.extend(departures.next());
                }
                apply(&mut departures, from, *what);
            }
            taken.extend(std::iter::from_fn(|| departures.next()));
            taken
        };
        let single = run(Share::WHOLE);
        prop_assert!(single.iter().enumerate().all(|(n, departure)| departure.seq == n as u64));
        prop_assert!(single.windows(2).all(|pair| pair[0].due <= pair[1].due));
        let mut union: Vec<Departure> =
            (0..of).flat_map(|index| run(Share::new(index, of).unwrap())).collect();
        union.sort_by_key(|departure| departure.seq);
        prop_assert_eq!(union, single);
    }

    /// What was skipped and what was drawn are all there is.
    #[test]
    fn skipping_counts_what_drawing_would_give(pattern in patterns(), of in 1u32..4, taken in 0usize..50) {
        let ends = Ends { after: Some(Picos::from_millis(200)), frames: None };
        for index in 0..of {
            let mut drawn = Departures::new(pattern.clone(), ends, ORIGIN, Share::new(index, of).unwrap());
            let mut skipped = drawn.clone();
            prop_assert_eq!(drawn.due_before(Instant::FAR), skipped.clone().skip_before(Instant::FAR));
            for _ in 0..taken {
                prop_assert_eq!(drawn.peek(), drawn.clone().next().map(|departure| departure.due));
                prop_assert_eq!(drawn.next(), skipped.next());
            }
            let rest = std::iter::from_fn(|| drawn.next()).count() as u64;
            prop_assert_eq!(skipped.skip_before(Instant::FAR), rest);
        }
    }
}
