//! When the module's requests are due: what `schedule` says, in ticks.
//!
//! ```text
//! due(n) = floor(schedule's due(n) / 8 ns)         the n-th departure's tick, from the schedule's origin
//!
//! even, ramp, step, stages    pieces of a rate: the module computes each due time itself
//! all else                    a list, drawn here and fed to the module
//! ```
//!
//! schedule's due time is itself rounded down, to a picosecond, from the last time t at which no more than n
//! departures were reached, N(t) ≤ n. So `due(n)` is the tick k with N(k) ≤ n < N(k + 1), which needs no root:
//! the module counts N(k) in each tick, as a whole number of 1 / modulus. On a line of T ticks, from a to b
//! departures a tick over the denominator D, the modulus is 2·D·T:
//!
//! ```text
//! each(k) = 2·a·T + (b − a)·(2·k + 1)              D·2·T·(N(k + 1) − N(k))
//! ```

use plan::{Arrivals, Shape};
use port::fpga::sessions::{Due, Gap, MOST_MODULUS, MOST_PIECES, Piece, TICK};
use schedule::{Curve, Limits, ScheduleError, Share};
use std::sync::Arc;
use units::{Fraction, Instant, Picos, Rate};

/// Due times that are listed: 32 MiB.
pub(super) const MOST_LISTED: usize = 1 << 22;
/// Ticks for ever: registers of 48 bits.
const ENDLESS: u64 = (1 << 48) - 1;

/// Due times, before anything is started.
#[derive(Clone, Debug)]
pub(crate) enum Dues {
    Even(Gap),
    /// By `schedule`'s closed form.
    Shaped(Shape, Vec<Piece>),
    /// Ticks after the origin.
    Listed(Arc<[u64]>),
}

/// What the host knows of due times by number; all ticks are after the first departure's origin.
pub(crate) enum Numbers {
    Even(Gap),
    Curve(Box<dyn Curve>),
    Listed(Arc<[u64]>),
}

pub(super) fn ticks(time: Picos) -> u64 {
    time.as_picos() / TICK.as_picos()
}

/// The whole number of ticks, if it is one.
fn whole_ticks(time: Picos) -> Option<u64> {
    time.as_picos().is_multiple_of(TICK.as_picos()).then(|| ticks(time))
}

impl Dues {
    /// What has pieces, without its end.
    pub fn shaped(arrivals: &Arrivals) -> Option<Self> {
        if arrivals.jitter != Fraction::ZERO {
            return None;
        }
        Some(Self::Shaped(arrivals.shape.clone(), pieces(&arrivals.shape)?))
    }

    /// All due times, one by one; `None` if there are more than the list has room for.
    pub fn listed(arrivals: &Arrivals, limits: Limits, seed: u64) -> Result<Option<Self>, ScheduleError> {
        let mut schedule = schedule::share(arrivals, limits, seed, Instant::EPOCH, Share::WHOLE)?;
        let mut list = Vec::new();
        while let Some(departure) = schedule.next() {
            if list.len() == MOST_LISTED {
                return Ok(None);
            }
            list.push(ticks(departure.due.since_epoch()));
        }
        Ok(Some(Self::Listed(list.into())))
    }

    /// For the module, whose first departure is due no earlier than at tick `first`.
    pub fn due(&self, first: u64) -> Option<Due> {
        Some(match self {
            Self::Even(gap) => Due::Pieces(vec![gap.piece()?]),
            Self::Shaped(_, pieces) => Due::Pieces(pieces.clone()),
            Self::Listed(ticks) => Due::Listed(ticks.iter().map(|tick| first + tick).collect()),
        })
    }

    pub fn numbers(&self) -> Result<Numbers, ScheduleError> {
        Ok(match self {
            Self::Even(gap) => Numbers::Even(*gap),
            Self::Shaped(shape, _) => Numbers::Curve(schedule::curve(shape, 0)?),
            Self::Listed(ticks) => Numbers::Listed(ticks.clone()),
        })
    }
}

impl Numbers {
    /// `u64::MAX` is never.
    pub fn due(&self, n: u64) -> u64 {
        match self {
            Self::Even(gap) => gap.due(n),
            Self::Curve(curve) => match curve.due(n) {
                Picos::MAX => u64::MAX,
                due => ticks(due),
            },
            Self::Listed(list) => {
                usize::try_from(n).ok().and_then(|n| list.get(n)).copied().unwrap_or(u64::MAX)
            }
        }
    }

    /// How many are due before that tick.
    pub fn before(&self, end: u64) -> u64 {
        match self {
            Self::Even(gap) => gap.before(end),
            Self::Curve(curve) => curve.before(TICK.saturating_mul(end), u64::MAX),
            Self::Listed(list) => list.partition_point(|tick| *tick < end) as u64,
        }
    }

    /// The departures that are due in that tick, in order.
    pub fn at(&self, tick: u64) -> impl Iterator<Item = u64> + '_ {
        (self.before(tick)..).take_while(move |n| self.due(*n) == tick)
    }
}

/// The pieces of a rate that is even, or changes evenly; `None` if it is another, or its numbers do not fit the
/// module's.
fn pieces(shape: &Shape) -> Option<Vec<Piece>> {
    match shape {
        Shape::Ramp { from, to, over } => {
            let (mut made, rates) = Pieces::of(&[Some(*from), Some(*to)])?;
            made.line(rates[0], rates[1], whole_ticks(*over)?)?;
            made.line(rates[1], rates[1], ENDLESS)?;
            made.done()
        }
        Shape::Stages(stages) => {
            let (mut made, rates) = Pieces::of(&stages.iter().map(|stage| stage.to).collect::<Vec<_>>())?;
            let mut from = *rates.first()?;
            for (stage, to) in stages.iter().zip(rates) {
                made.line(from, to, whole_ticks(stage.over)?)?;
                from = to;
            }
            made.done()
        }
        Shape::Step { from, by, every, to } => {
            let (mut made, rates) = Pieces::of(&[Some(*from), Some(*by), Some(*to)])?;
            made.staircase(rates[0], rates[1], rates[2], whole_ticks(*every)?)?;
            made.line(rates[2], rates[2], ENDLESS)?;
            made.done()
        }
        _ => None,
    }
}

/// Pieces one behind the other.
struct Pieces {
    /// 2·D.
    twice: u128,
    /// 2·D·N at the end of all so far, modulo 2·D. It is whole.
    reached: u128,
    made: Vec<Piece>,
}

impl Pieces {
    /// None yet, and rates as departures a tick, over one denominator D. None may have more than one in a tick.
    fn of(rates: &[Option<Rate>]) -> Option<(Self, Vec<u128>)> {
        let per_tick = |rate: &Option<Rate>| {
            let (events, per) = rate.map_or((0, 1), |rate| (rate.ratio().0, rate.ratio().1.as_picos()));
            let (events, per) = (u128::from(events) * u128::from(TICK.as_picos()), u128::from(per));
            let common = greatest_divisor(events, per);
            (events / common, per / common)
        };
        let rates: Vec<(u128, u128)> = rates.iter().map(per_tick).collect();
        let denominator = rates.iter().try_fold(1u128, |common, (_, per)| {
            (common / greatest_divisor(common, *per)).checked_mul(*per)
        })?;
        let numerator = |(events, per): &(u128, u128)| events.checked_mul(denominator / per);
        let rates: Vec<u128> = rates.iter().map(numerator).collect::<Option<_>>()?;
        let fits = denominator <= u128::from(MOST_MODULUS) && rates.iter().all(|rate| *rate <= denominator);
        fits.then_some((Self { twice: 2 * denominator, reached: 0, made: Vec::new() }, rates))
    }

    /// 2·D·(departures until the next one).
    fn slack(&self) -> u128 {
        (self.twice - self.reached) % self.twice
    }

    fn line(&mut self, from: u128, to: u128, ticks: u64) -> Option<()> {
        let over = u128::from(ticks);
        if from == to {
            self.add(ticks, [self.twice, self.slack(), 2 * from, 0, 0], false, 0)?;
        } else {
            let (down, change) = (to < from, from.abs_diff(to));
            let even = (2 * from).checked_mul(over)?;
            let each = if down { even.checked_sub(change)? } else { even + change };
            let parts = [self.twice.checked_mul(over)?, self.slack().checked_mul(over)?, each, 2 * change, 0];
            self.add(ticks, parts, down, 0)?;
        }
        self.reached = (self.reached + (from + to).checked_mul(over)? % self.twice) % self.twice;
        Some(())
    }

    /// Up from `from` by `by` after each `ticks`, as long as that is below `to`.
    fn staircase(&mut self, from: u128, by: u128, to: u128, ticks: u64) -> Option<()> {
        let steps = to.checked_sub(from)?.div_ceil(by);
        let repeats = u32::try_from(steps).ok()?.checked_sub(1)?;
        self.add(ticks, [self.twice, self.slack(), 2 * from, 0, 2 * by], false, repeats)?;
        let pairs = steps * (steps - 1) / 2;
        let sum = (steps.checked_mul(from)? + pairs.checked_mul(by)?) % self.twice;
        self.reached = (self.reached + (2 * sum).checked_mul(ticks.into())? % self.twice) % self.twice;
        Some(())
    }

    /// `parts`: modulus, slack, each, change and rise, in lowest terms from here on.
    fn add(&mut self, ticks: u64, parts: [u128; 5], falls: bool, repeats: u32) -> Option<()> {
        let common = parts.into_iter().fold(0, greatest_divisor);
        let [modulus, slack, each, change, rise] = parts.map(|part| part / common);
        let small = |part: u128| u64::try_from(part).ok();
        let modulus = small(modulus).filter(|modulus| *modulus <= MOST_MODULUS)?;
        let change = i64::try_from(change).ok()?;
        let change = if falls { -change } else { change };
        self.made.push(Piece {
            ticks,
            modulus,
            slack: small(slack)?,
            each: small(each)?,
            change,
            rise: small(rise)?,
            repeats,
        });
        (self.made.len() <= MOST_PIECES && (1..=ENDLESS).contains(&ticks)).then_some(())
    }

    fn done(self) -> Option<Vec<Piece>> {
        Some(self.made)
    }
}

fn greatest_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Stage;
    use proptest::prelude::*;

    fn rate(text: &str) -> Rate {
        text.parse().expect("a rate")
    }

    fn time(text: &str) -> Picos {
        text.parse().expect("a time")
    }

    fn ramp(from: &str, to: &str, over: &str) -> Shape {
        Shape::Ramp { from: rate(from), to: rate(to), over: time(over) }
    }

    fn step(from: &str, by: &str, every: &str, to: &str) -> Shape {
        Shape::Step { from: rate(from), by: rate(by), every: time(every), to: rate(to) }
    }

    fn stages(list: &[(&str, &str)]) -> Shape {
        let stage =
            |(to, over): &(&str, &str)| Stage { to: (*to != "0").then(|| rate(to)), over: time(over) };
        Shape::Stages(list.iter().map(stage).collect())
    }

    /// What the module makes of pieces, tick by tick, in numbers without limits.
    fn played(pieces: &[Piece], most: usize) -> Vec<u64> {
        let mut due = Vec::new();
        let mut tick = 0;
        for piece in pieces {
            let modulus = i128::from(piece.modulus);
            let (mut slack, mut each) = (i128::from(piece.slack), i128::from(piece.each));
            for _ in 0..=piece.repeats {
                for _ in 0..piece.ticks {
                    if due.len() == most {
                        return due;
                    }
                    assert!((0..modulus).contains(&slack) && (0..=modulus).contains(&each), "{piece:?}");
                    slack -= each;
                    if slack < 0 {
                        slack += modulus;
                        due.push(tick);
                    }
                    each += i128::from(piece.change);
                    tick += 1;
                }
                each += i128::from(piece.rise);
            }
        }
        due
    }

    #[track_caller]
    fn agrees(shape: &Shape, most: usize) {
        let pieces = pieces(shape).unwrap_or_else(|| panic!("{shape:?} has no pieces"));
        let dues = Dues::Shaped(shape.clone(), pieces.clone());
        let numbers = dues.numbers().expect("due times");
        let found = played(&pieces, most);
        assert!(!found.is_empty());
        for (n, tick) in found.iter().enumerate() {
            assert_eq!(numbers.due(n as u64), *tick, "the {n}-th of {shape:?}");
            assert_eq!(numbers.at(*tick).collect::<Vec<_>>(), [n as u64]);
            if let Some(next) = found.get(n + 1) {
                assert_eq!(numbers.at(tick + 1).count(), usize::from(*next == tick + 1));
            }
        }
        if found.len() < most {
            assert_eq!(numbers.due(found.len() as u64), u64::MAX, "{shape:?}");
        }
    }

    #[test]
    fn pieces_have_the_due_times_of_the_schedule() {
        for shape in [
            ramp("10k", "2M", "1ms"),
            ramp("2M", "10k", "1ms"),
            ramp("99999", "1234567", "777us"),
            ramp("1", "125M", "80us"),
            ramp("125M", "125M", "8us"),
            stages(&[("100k", "100us"), ("1M", "300us"), ("0", "50us")]),
            stages(&[("0", "20us"), ("1M", "20us"), ("0", "100us"), ("0", "30us"), ("99991", "1ms")]),
            // A rate that is reached within a tick; one of which nothing comes before the end.
            stages(&[("1M", "8ns"), ("3M", "8ns"), ("777777", "800ns"), ("1", "8us")]),
            step("100k", "50k", "100us", "270k"),
            step("1k", "99999", "104ns", "5M"),
        ] {
            agrees(&shape, 20_000);
        }
    }

    proptest! {
        #[test]
        fn any_pieces_do(
            list in prop::collection::vec((0u64..3_000_000, 1u64..4_000), 1..8),
            per in prop::sample::select(vec!["s", "70ms", "13s", "min"]),
        ) {
            let stage = |(to, ticks): &(u64, u64)| Stage {
                to: format!("{to}/{per}").parse().ok(),
                over: TICK.saturating_mul(*ticks),
            };
            let shape = Shape::Stages(list.iter().map(stage).collect());
            if schedule::curve(&shape, 0).is_ok_and(|curve| curve.due(0) != Picos::MAX) {
                agrees(&shape, 5_000);
            }
        }

        #[test]
        fn any_staircase_does(
            from in 1u64..2_000_000,
            by in 1u64..900_000,
            more in 1u64..6_000_000,
            ticks in 1u64..900,
        ) {
            let [from, by, to] = [from, by, from + more].map(|rate| Rate::per_second(rate).expect("a rate"));
            agrees(&Shape::Step { from, by, every: TICK.saturating_mul(ticks), to }, 300);
        }
    }

    #[test]
    fn what_does_not_fit_has_no_pieces() {
        // Half a tick; more than one departure in a tick; a modulus over 2^60; 33 pieces; another kind of rate.
        let many: Vec<_> = (0..33).map(|_| ("1k", "1us")).collect();
        for shape in [
            ramp("1k", "2k", "1004ns"),
            ramp("1k", "126M", "1us"),
            ramp("1/7s", "99991", "1d"),
            stages(&many),
            Shape::Poisson(rate("1k")),
        ] {
            assert_eq!(pieces(&shape), None, "{shape:?}");
        }
        assert!(pieces(&ramp("1k", "1M", "1h")).is_some());
    }

    #[test]
    fn lists_have_several_in_a_tick() {
        let shape = Shape::Burst { size: units::Count::new(3), every: time("12ns") };
        let arrivals = Arrivals { shape, jitter: Fraction::ZERO };
        let limits = Limits { requests: Some(units::Count::new(8)), ..Limits::default() };
        let dues = Dues::listed(&arrivals, limits, 0).expect("a schedule").expect("room");
        let Some(Due::Listed(list)) = dues.due(100) else { panic!("{dues:?}") };
        assert_eq!(*list, [100, 100, 100, 101, 101, 101, 103, 103]);
        let numbers = dues.numbers().expect("due times");
        assert_eq!(numbers.at(1).collect::<Vec<_>>(), [3, 4, 5]);
        assert_eq!((numbers.at(2).count(), numbers.before(3), numbers.due(8)), (0, 6, u64::MAX));
        let even = Arrivals { shape: Shape::Constant(rate("1k")), jitter: Fraction::ZERO };
        assert!(Dues::listed(&even, Limits::default(), 0).expect("a schedule").is_none());
    }
}
