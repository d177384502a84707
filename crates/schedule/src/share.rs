//! From a plan to one thread's part of its schedule.

use crate::burst::Burst;
use crate::constant::Constant;
use crate::curve::{Curve, Indexed};
use crate::drawn::Drawn;
use crate::jitter::{Ends, Jitter, Moved, Ordered};
use crate::poisson::Poisson;
use crate::recorded::RecordedTimes;
use crate::sine::Sine;
use crate::steered::Steered;
use crate::step::Step;
use crate::stream::{Offset, Streamed};
use crate::{Schedule, ScheduleError, ramp, stages};
use plan::{Arrivals, Shape};
use units::{Count, Fraction, Instant, Picos, Rate};

/// Every `of`-th departure from the `index`-th on: threads now, machines later. The shares 0 to `of − 1`
/// together are the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    index: u32,
    of: u32,
}

impl Share {
    /// All of it.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    pub fn new(index: u32, of: u32) -> Result<Self, ScheduleError> {
        if index < of { Ok(Self { index, of }) } else { Err(ScheduleError::NoSuchShare { index, of }) }
    }
    pub fn index(self) -> u32 {
        self.index
    }
    pub fn of(self) -> u32 {
        self.of
    }
}

/// Where a schedule stops: at the first that holds. Both count the whole schedule, not the share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Departures are due strictly before `origin + end` (warm-up and duration together).
    pub end: Option<Picos>,
    /// No more departures than this.
    pub requests: Option<Count>,
    /// Where the warm-up ends: jitter moves nothing into it or out of it, nor over `end`.
    pub warmup: Picos,
}

/// One share of what `load` asks for, with the first departures due at or after `origin`.
///
/// ```
/// use schedule::{Limits, Share, share};
/// use units::{Fraction, Instant, Picos, Rate};
///
/// let shape = plan::Shape::Constant(Rate::per_second(400).unwrap());
/// let load = plan::Arrivals { shape, jitter: Fraction::ZERO };
/// let limits = Limits { end: Some(Picos::from_secs(1)), ..Limits::default() };
/// let mut second_of_two = share(&load, limits, 0, Instant::EPOCH, Share::new(1, 2).unwrap()).unwrap();
/// let first = second_of_two.next().unwrap();
/// assert_eq!((first.seq, first.due.since_epoch()), (1, Picos::from_micros(2_500)));
/// assert_eq!(second_of_two.skip_before(Instant::FAR), 199);
/// ```
pub fn share(
    load: &Arrivals,
    limits: Limits,
    seed: u64,
    origin: Instant,
    share: Share,
) -> Result<Box<dyn Schedule>, ScheduleError> {
    let cut = Cut {
        // Nothing is due at `Instant::FAR`: that means never.
        end: limits.end.unwrap_or(Picos::MAX).min(Instant::FAR.since(origin)),
        requests: limits.requests.map_or(u64::MAX, Count::get),
        warmup: limits.warmup,
        jitter: load.jitter,
        seed,
        origin,
        share,
    };
    Ok(match &load.shape {
        Shape::Constant(rate) if cut.jitter == Fraction::ZERO => Box::new(cut.steered(*rate)),
        Shape::Constant(rate) => cut.curve(Constant(*rate)),
        Shape::Ramp { from, to, over } => cut.curve(ramp::ramp(*from, *to, *over)?),
        Shape::Step { from, by, every, to } => cut.curve(Step::new(*from, *by, *every, *to)?),
        Shape::Stages(list) => cut.curve(stages::stages(list)?),
        Shape::Sine { mean, amplitude, period } => cut.curve(Sine::new(*mean, *amplitude, *period)?),
        Shape::Burst { size, every } => cut.burst(*size, *every)?,
        Shape::Poisson(rate) => cut.stream(Poisson::new(*rate, seed)),
        Shape::At(path) => cut.stream(RecordedTimes::open(path)?),
    })
}

/// The whole of a shape by number, for loads that are steered by hand or merged. Recorded times have no such
/// form.
///
/// # Errors
/// A shape that cannot be, or recorded times.
pub fn curve(shape: &Shape, seed: u64) -> Result<Box<dyn Curve>, ScheduleError> {
    Ok(match shape {
        Shape::Constant(rate) => Box::new(Constant(*rate)),
        Shape::Ramp { from, to, over } => Box::new(ramp::ramp(*from, *to, *over)?),
        Shape::Step { from, by, every, to } => Box::new(Step::new(*from, *by, *every, *to)?),
        Shape::Stages(list) => Box::new(stages::stages(list)?),
        Shape::Sine { mean, amplitude, period } => Box::new(Sine::new(*mean, *amplitude, *period)?),
        Shape::Burst { size, every } => {
            let starts =
                Constant::every(*every).ok_or(ScheduleError::Zero { what: "the time between bursts" })?;
            Box::new(Burst { starts, size: size.get().max(1) })
        }
        Shape::Poisson(rate) => Box::new(Drawn::new(*rate, seed)),
        Shape::At(_) => return Err(ScheduleError::NotByNumber),
    })
}

/// What is the same for every shape.
struct Cut {
    end: Picos,
    requests: u64,
    warmup: Picos,
    jitter: Fraction,
    seed: u64,
    origin: Instant,
    share: Share,
}

impl Cut {
    fn ends(&self) -> Ends {
        [self.warmup, self.end]
    }

    fn curve<C: Curve + 'static>(self, curve: C) -> Box<dyn Schedule> {
        if self.jitter == Fraction::ZERO {
            return self.indexed(curve);
        }
        let jittered = Jitter::new(curve, self.jitter, self.seed, self.ends());
        self.indexed(jittered)
    }

    fn steered(self, rate: Rate) -> Steered {
        Steered::new(rate, self.end, self.requests, self.origin, self.share)
    }

    /// A burst moves as a whole: the gap that jitter is a share of is the one between bursts.
    fn burst(self, size: Count, every: Picos) -> Result<Box<dyn Schedule>, ScheduleError> {
        let starts = Constant::every(every).ok_or(ScheduleError::Zero { what: "the time between bursts" })?;
        if size.get() == 0 {
            return Err(ScheduleError::Zero { what: "the size of a burst" });
        }
        if self.jitter == Fraction::ZERO {
            return Ok(self.indexed(Burst { starts, size: size.get() }));
        }
        let starts = Jitter::new(starts, self.jitter, self.seed, self.ends());
        Ok(self.indexed(Burst { starts, size: size.get() }))
    }

    fn indexed<C: Curve + 'static>(self, curve: C) -> Box<dyn Schedule> {
        Box::new(Indexed::new(curve, self.end, self.requests, self.origin, self.share))
    }

    fn stream<I>(self, offsets: I) -> Box<dyn Schedule>
    where
        I: Iterator<Item = Offset> + Send + 'static,
    {
        if self.jitter == Fraction::ZERO {
            return self.streamed(offsets);
        }
        let jittered = Ordered::new(Moved::new(offsets, self.jitter, self.seed, self.ends()));
        self.streamed(jittered)
    }

    fn streamed<I>(self, offsets: I) -> Box<dyn Schedule>
    where
        I: Iterator<Item = Offset> + Send + 'static,
    {
        Box::new(Streamed::new(offsets, self.end, self.requests, self.origin, self.share))
    }
}
