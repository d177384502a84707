//! What holds for every shape, with and without jitter: shares, order, limits, skipping, repeatability.

use plan::{Arrivals, Shape, Stage};
use proptest::prelude::*;
use schedule::{Limits, Schedule, Share, share};
use std::io::Write;
use units::{Count, Departure, Fraction, Instant, Picos, Rate};

const ORIGIN: Instant = Instant::from_picos(123_456_789_012_345);
/// Enough of any schedule, and never more than a test can hold.
const MOST: usize = 2_000;

fn rates() -> impl Strategy<Value = Rate> {
    prop_oneof![
        (1u64..200_000).prop_map(|n| Rate::per_second(n).unwrap()),
        (1u64..1_000, 1u64..50).prop_map(|(n, secs)| Rate::new(n, Picos::from_secs(secs)).unwrap()),
        Just(Rate::per_second(148_809_523).unwrap()),
    ]
}

fn times() -> impl Strategy<Value = Picos> {
    prop_oneof![
        (1u64..5_000).prop_map(Picos::from_millis),
        (1u64..10_000_000_000_000).prop_map(Picos::from_picos)
    ]
}

fn stage() -> impl Strategy<Value = Stage> {
    (prop::option::of(rates()), times()).prop_map(|(to, over)| Stage { to, over })
}

fn steps() -> impl Strategy<Value = Shape> {
    let parts = (1u64..5_000, 1u64..700, times(), 0u64..50_000);
    parts.prop_map(|(from, by, every, more)| {
        let rate = |n| Rate::per_second(n).unwrap();
        Shape::Step { from: rate(from), by: rate(by), every, to: rate(from + more) }
    })
}

fn sines() -> impl Strategy<Value = Shape> {
    (1u64..100_000, 1u64..=100, times()).prop_map(|(mean, percent, period)| Shape::Sine {
        mean: Rate::new(mean * 100, Picos::from_secs(100)).unwrap(),
        amplitude: Rate::new(mean * percent, Picos::from_secs(100)).unwrap(),
        period,
    })
}

/// Every shape but recorded times, which need a file.
fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![
        rates().prop_map(Shape::Constant),
        rates().prop_map(Shape::Poisson),
        (rates(), rates(), times()).prop_map(|(from, to, over)| Shape::Ramp { from, to, over }),
        steps(),
        // The plateau first, so that not all of them are zero.
        (rates(), times(), prop::collection::vec(stage(), 0..5)).prop_map(|(rate, over, rest)| {
            Shape::Stages(std::iter::once(Stage { to: Some(rate), over }).chain(rest).collect())
        }),
        sines(),
        (1u64..300, times()).prop_map(|(size, every)| Shape::Burst { size: Count::new(size), every }),
    ]
}

fn loads() -> impl Strategy<Value = Arrivals> {
    let jitters = prop::sample::select(vec![0, 1, 100_000, 500_000, 500_001, 900_000, 1_000_000]);
    (shapes(), jitters).prop_map(|(shape, millionths)| Arrivals {
        shape,
        jitter: Fraction::from_millionths(millionths).unwrap(),
    })
}

fn part(load: &Arrivals, limits: Limits, seed: u64, index: u32, of: u32) -> Box<dyn Schedule> {
    share(load, limits, seed, ORIGIN, Share::new(index, of).unwrap()).unwrap()
}

fn take(mut schedule: Box<dyn Schedule>, most: usize) -> Vec<Departure> {
    std::iter::from_fn(|| schedule.next()).take(most).collect()
}

fn requests(count: usize) -> Limits {
    Limits { requests: Some(Count::new(count as u64)), ..Limits::default() }
}

/// The k shares, merged by number, are the whole.
fn union_is_the_whole(load: &Arrivals, seed: u64, of: u32) -> Result<(), TestCaseError> {
    let limits = requests(MOST);
    let whole = take(part(load, limits, seed, 0, 1), usize::MAX);
    let mut union = Vec::new();
    for index in 0..of {
        let share = take(part(load, limits, seed, index, of), usize::MAX);
        prop_assert!(share.iter().all(|d| d.seq % u64::from(of) == u64::from(index)));
        union.extend(share);
    }
    union.sort_by_key(|d| d.seq);
    prop_assert_eq!(union, whole);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn shares_are_the_whole(load in loads(), seed: u64, of in 1u32..=7) {
        union_is_the_whole(&load, seed, of)?;
    }

    #[test]
    fn numbers_follow_and_due_times_never_descend(load in loads(), seed: u64) {
        let all = take(part(&load, requests(MOST), seed, 0, 1), usize::MAX);
        prop_assert!(all.iter().enumerate().all(|(n, d)| d.seq == n as u64));
        prop_assert!(all.is_sorted_by_key(|d| d.due));
        prop_assert!(all.iter().all(|d| d.due >= ORIGIN && d.due < Instant::FAR));
    }

    #[test]
    fn same_seed_same_times(load in loads(), seed: u64) {
        let twice = [(); 2].map(|()| take(part(&load, requests(200), seed, 0, 1), usize::MAX));
        prop_assert_eq!(&twice[0], &twice[1]);
    }

    /// The end cuts the same sequence, strictly before it. (Jitter moves nothing over it.)
    #[test]
    fn the_end_is_exclusive(load in loads(), seed: u64, cut in 0usize..MOST, off in -1i64..=1) {
        let load = Arrivals { jitter: Fraction::ZERO, ..load };
        let all = take(part(&load, requests(MOST), seed, 0, 1), usize::MAX);
        let Some(at) = all.get(cut) else { return Ok(()) };
        let end = Picos::from_picos(at.due.since(ORIGIN).as_picos().saturating_add_signed(off));
        let limits = Limits { end: Some(end), requests: Some(Count::new(MOST as u64)), warmup: Picos::ZERO };
        let before: Vec<Departure> = all.iter().copied().filter(|d| d.due.since(ORIGIN) < end).collect();
        prop_assert_eq!(take(part(&load, limits, seed, 0, 1), usize::MAX), before);
    }

    /// Skipping drops what taking one by one would have dropped, from any place, and goes on behind it.
    #[test]
    fn skipping_is_taking_without_looking(
        load in loads(), seed: u64, index in 0u32..3,
        taken in 0usize..100, cut in 0usize..MOST, off in -1i64..=1,
    ) {
        let limits = requests(MOST);
        let all = take(part(&load, limits, seed, index, 3), usize::MAX);
        let rest = &all[taken.min(all.len())..];
        let Some(at) = rest.get(cut) else { return Ok(()) };
        let end = Instant::from_picos(at.due.since_epoch().as_picos().saturating_add_signed(off));
        let mut skipped = part(&load, limits, seed, index, 3);
        for _ in 0..taken {
            skipped.next();
        }
        let expected = rest.iter().filter(|d| d.due < end).count();
        prop_assert_eq!(skipped.skip_before(end), expected as u64);
        prop_assert_eq!(skipped.skip_before(end), 0);
        prop_assert_eq!(&take(skipped, usize::MAX)[..], &rest[expected..]);
    }

    /// Jitter moves each time by less than a gap, so any number of departures takes as long as without.
    #[test]
    fn jitter_keeps_the_rate(load in loads(), seed: u64) {
        // A burst moves as a whole, by a share of the time between bursts.
        prop_assume!(!matches!(load.shape, Shape::Burst { .. }));
        let plain = Arrivals { jitter: Fraction::ZERO, ..load.clone() };
        let all = |load| take(part(load, requests(MOST + 2), seed, 0, 1), usize::MAX);
        let (even, moved) = (all(&plain), all(&load));
        // With more than half a gap, neighbours may change places: two gaps.
        for (n, departure) in moved.iter().enumerate().take(even.len().saturating_sub(2)) {
            let earliest = if n < 2 { ORIGIN } else { even[n - 2].due };
            prop_assert!(departure.due >= earliest && departure.due <= even[n + 2].due, "{}", n);
        }
    }
}

#[test]
fn recorded_times_are_shared_skipped_and_jittered_like_any_other() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    // 0, 0.001, 0.001, 0.002, 0.003, 0.003 …: 1 500 times.
    for n in 0..1_500u64 {
        writeln!(file, "0.{:03}", n * 2 / 3).unwrap();
    }
    file.flush().unwrap();
    for millionths in [0, 100_000, 1_000_000] {
        let jitter = Fraction::from_millionths(millionths).unwrap();
        let load = Arrivals { shape: Shape::At(file.path().into()), jitter };
        for of in 1..=7 {
            union_is_the_whole(&load, 1, of).unwrap();
        }
        let whole = take(part(&load, Limits::default(), 1, 0, 1), usize::MAX);
        assert_eq!(whole.len(), 1_500);
        assert!(whole.is_sorted_by_key(|d| d.due));
        let mut skipped = part(&load, Limits::default(), 1, 1, 2);
        let half = ORIGIN + Picos::from_micros(500_500);
        let expected = whole.iter().filter(|d| d.seq % 2 == 1 && d.due < half).count();
        assert_eq!(skipped.skip_before(half), expected as u64);
        assert!(skipped.next().unwrap().due >= half);
    }
    let plain = Arrivals { shape: Shape::At(file.path().into()), jitter: Fraction::ZERO };
    let due = |n: usize| take(part(&plain, Limits::default(), 1, 0, 1), usize::MAX)[n].due.since(ORIGIN);
    assert_eq!((due(0), due(4), due(1_499)), (Picos::ZERO, Picos::from_millis(2), Picos::from_millis(999)));
}

#[test]
fn a_file_that_goes_bad_ends_the_schedule_and_says_why() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"0\n1\nsoon\n2\n").unwrap();
    for jitter in [Fraction::ZERO, Fraction::ONE] {
        let load = Arrivals { shape: Shape::At(file.path().into()), jitter };
        let mut schedule = part(&load, Limits::default(), 1, 0, 1);
        assert!(schedule.failure().is_none());
        assert_eq!(std::iter::from_fn(|| schedule.next()).count(), 2);
        assert!(schedule.failure().unwrap().to_string().contains("line 3: 'soon'"));
        assert!(schedule.next().is_none());
    }
}

#[test]
fn poisson_times_are_those_of_an_independent_program() {
    // Python 3, with 50-digit decimals; 1 000/s, seed 42:
    //   M=2**64-1
    //   def mix(z): z=(z^z>>30)*0xbf58476d1ce4e5b9&M; z=(z^z>>27)*0x94d049bb133111eb&M; return z^z>>31
    //   s=mix(42^mix(1)); t=0
    //   for n in range(5):
    //     u=Decimal((mix(s+(n+1)*0x9e3779b97f4a7c15&M)>>11)+1)/2**53; t-=u.ln(); print(int(t*10**9))
    let load = Arrivals { shape: Shape::Poisson(Rate::per_second(1_000).unwrap()), jitter: Fraction::ZERO };
    let due: Vec<u64> = take(part(&load, requests(5), 42, 0, 1), usize::MAX)
        .iter()
        .map(|d| d.due.since(ORIGIN).as_picos())
        .collect();
    assert_eq!(due, [1_645_297_703, 2_694_891_961, 4_741_617_629, 5_472_320_323, 6_848_182_609]);
}

/// All that is said above of the whole of a schedule is also true of an empty one.
#[test]
fn every_shape_departs_when_it_says() {
    let rate = |per_second: u64| Rate::per_second(per_second).unwrap();
    let (second, millis) = (Picos::from_secs(1), Picos::from_millis);
    // Number and milliseconds, by hand. 4/s is one each 250 ms. From 2/s to 6/s in a second are 4, then 6 each
    // second. The sine has its mean in each period, and so has 4 and 8.
    for (shape, expected) in [
        (Shape::Constant(rate(4)), [(0, 0), (1, 250), (4, 1_000)]),
        (Shape::Ramp { from: rate(2), to: rate(6), over: second }, [(0, 0), (4, 1_000), (10, 2_000)]),
        (
            Shape::Step { from: rate(2), by: rate(2), every: second, to: rate(4) },
            [(1, 500), (2, 1_000), (3, 1_250)],
        ),
        (
            Shape::Stages(vec![
                Stage { to: Some(rate(2)), over: second },
                Stage { to: Some(rate(6)), over: second },
            ]),
            [(0, 0), (1, 500), (2, 1_000)],
        ),
        (Shape::Sine { mean: rate(4), amplitude: rate(1), period: second }, [(0, 0), (4, 1_000), (8, 2_000)]),
        (Shape::Burst { size: Count::new(3), every: millis(10) }, [(2, 0), (3, 10), (8, 20)]),
    ] {
        let load = Arrivals { shape, jitter: Fraction::ZERO };
        for of in [1, 3] {
            for (n, at) in expected {
                let share = take(part(&load, requests(11), 1, n % of, of), usize::MAX);
                let due = share.iter().find(|d| d.seq == u64::from(n)).map(|d| d.due);
                assert_eq!(due, Some(ORIGIN + millis(at)), "departure {n} of {:?}", load.shape);
            }
        }
    }
}

#[test]
fn the_rest_of_a_huge_schedule_is_skipped_at_once() {
    let rate = |text: &str| text.parse::<Rate>().unwrap();
    let hour = Picos::from_secs(3_600);
    let (high, low) = (rate("10M"), rate("5M"));
    // In an hour: 10 M/s · 3 600 s; (5 + 10)/2 M/s · 3 600 s; and for 2.5 M steps of 1.44 ms
    // 1.44 ms · (k · 5 M/s + k(k − 1)/2 · 1/s) with k = 2 500 000, by Python's Fraction.
    for (shape, expected) in [
        (Shape::Constant(high), 36_000_000_000u64),
        (Shape::Ramp { from: low, to: high, over: hour }, 27_000_000_000),
        (
            Shape::Step { from: low, by: rate("1"), every: Picos::from_micros(1_440), to: high },
            22_499_998_200,
        ),
        (Shape::Sine { mean: high, amplitude: low, period: Picos::from_secs(60) }, 36_000_000_000),
        (Shape::Burst { size: Count::new(10_000), every: Picos::from_millis(1) }, 36_000_000_000),
        (Shape::Stages(vec![Stage { to: Some(high), over: hour }]), 36_000_000_000),
    ] {
        let load = Arrivals { shape, jitter: Fraction::ZERO };
        let limits = Limits { end: Some(hour), ..Limits::default() };
        let counts = [0, 1, 2].map(|index| {
            let mut schedule = part(&load, limits, 3, index, 3);
            u64::from(schedule.next().is_some()) + schedule.skip_before(Instant::FAR)
        });
        assert_eq!(counts.iter().sum::<u64>(), expected, "{:?}", load.shape);
    }
}

#[test]
fn shares_that_do_not_exist_are_refused() {
    assert!(Share::new(0, 0).is_err());
    assert_eq!(
        Share::new(3, 3).unwrap_err().to_string(),
        "share 3 of 3 does not exist; shares are 0 to one less than their number"
    );
    assert_eq!(Share::new(0, 1).unwrap(), Share::WHOLE);
}
