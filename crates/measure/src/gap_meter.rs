//! Gaps between frames that follow each other, from their stamps, and how far they are from those that were
//! asked for.
//!
//! ```text
//! stamp(n−1) ─────────── gap ───────────► stamp(n)        error = |gap − requested gap|
//!
//! requested: nothing · one for all · a list, again and again · due(n) − due(n−1) of signatures
//! ```
//!
//! Gaps are whole nanoseconds (stamps are), kept to four digits: exact to 32 µs. Errors are kept in picoseconds
//! to three digits. Mean and variance are exact. Memory does not grow with the number of frames, and parts add
//! up to the whole.
//!
//! A list is followed: after a frame that is missing, or one too many, it is taken up where the gaps fit again
//! ([`list`]).

mod list;

use crate::moments::Moments;
use crate::packets::{GapError, GapReport};
use crate::series::Histogram;
use list::{Follower, GapPair};
use std::sync::Arc;
use units::Picos;

/// Most bins of a report's histogram.
pub const GAP_BINS: usize = 400;

/// A gap further from zero is kept as this: a hundred days.
const FARTHEST_NS: i64 = 8_640_000_000_000_000;

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Requested {
    #[default]
    Nothing,
    /// The same gap between all.
    Even(Picos),
    /// The gap between frames n and n + 1 is number n of the list, which begins again at its end. An empty list
    /// asks for nothing.
    Cycle(Arc<[Picos]>),
    /// Each frame brings its due time.
    Due,
}

/// Who stamped, where, and how wrong the stamps themselves are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stamping {
    /// `packet:veth1`, `capture.pcapng`.
    pub measured_at: String,
    /// Stamped when a frame was handed to the port, not where it arrived.
    pub handed_over: bool,
    /// `hardware`, `driver`, `software`; empty where nobody knows.
    pub by: String,
    pub error_ns: f64,
    /// How `error_ns` is known.
    pub error_from: String,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct GapMeter {
    requested: Requested,
    /// The last frame: its stamp and its due time.
    last: Option<(u64, u64)>,
    /// Where the frames are in a list.
    follower: Follower,
    /// Gaps below zero: the stamps run backwards there.
    backward: u64,
    /// Gaps further from zero than [`FARTHEST_NS`].
    beyond: u64,
    /// In ns.
    gaps: Moments,
    gap_values: Histogram<u64>,
    /// In ps.
    errors: Moments,
    error_values: Histogram<u64>,
}

impl GapMeter {
    pub fn new(requested: Requested) -> Self {
        Self {
            requested,
            last: None,
            follower: Follower::default(),
            backward: 0,
            beyond: 0,
            gaps: Moments::default(),
            gap_values: values(4, 1_000_000),
            errors: Moments::default(),
            error_values: values(3, 1_000_000_000),
        }
    }

    /// The next frame was stamped with this time, in nanoseconds of any epoch. Returns how far a gap is from
    /// the one that was asked for: this frame's, or, of a list, that of some frames ago ([`Self::settle`] has
    /// the last ones).
    #[inline]
    pub fn arrived(&mut self, stamp_ns: u64) -> Option<Picos> {
        let (before, _) = self.last.replace((stamp_ns, 0))?;
        let gap = self.gap(before, stamp_ns);
        match &self.requested {
            Requested::Even(requested) => {
                let requested = i64::try_from(requested.as_picos()).unwrap_or(i64::MAX);
                Some(self.error((gap.saturating_mul(1_000), requested)))
            }
            Requested::Cycle(list) if !list.is_empty() => {
                let judged = self.follower.push(gap.saturating_mul(1_000), list)?;
                Some(self.error(judged))
            }
            _ => None,
        }
    }

    /// Errors of the last gaps of a list, which wait for those that follow: none will.
    pub fn settle(&mut self) -> Vec<Picos> {
        let Requested::Cycle(list) = &self.requested else { return Vec::new() };
        let list = list.clone();
        std::iter::from_fn(|| self.follower.next(&list).map(|judged| self.error(judged))).collect()
    }

    /// Times that a list was taken up elsewhere, as frames were missing, or others were among them.
    pub const fn slips(&self) -> u64 {
        self.follower.slips
    }

    /// The same of a frame that was due at that time (nanoseconds; the two may have different epochs).
    #[inline]
    pub fn arrived_due(&mut self, stamp_ns: u64, due_ns: u64) -> Option<Picos> {
        if self.requested != Requested::Due {
            return self.arrived(stamp_ns);
        }
        let (before, due_before) = self.last.replace((stamp_ns, due_ns))?;
        let gap = self.gap(before, stamp_ns);
        let requested = difference(due_before, due_ns).saturating_mul(1_000);
        Some(self.error((gap.saturating_mul(1_000), requested)))
    }

    /// Forgets the last frame: there is no gap between it and the next (another file, another interface).
    pub fn pause(&mut self) {
        self.settle();
        self.last = None;
    }

    /// Gaps so far.
    pub fn count(&self) -> u64 {
        self.gaps.count()
    }

    /// What was asked for.
    pub const fn requested(&self) -> &Requested {
        &self.requested
    }

    #[inline]
    fn gap(&mut self, before: u64, now: u64) -> i64 {
        let gap = difference(before, now);
        self.backward += u64::from(gap < 0);
        self.beyond += u64::from(gap.abs() == FARTHEST_NS);
        self.gaps.add(gap);
        record(&mut self.gap_values, gap.max(0) as u64);
        gap
    }

    #[inline]
    fn error(&mut self, (gap_ps, requested_ps): GapPair) -> Picos {
        let error = gap_ps.saturating_sub(requested_ps).saturating_abs();
        self.errors.add(error);
        record(&mut self.error_values, error as u64);
        Picos::from_picos(error as u64)
    }

    /// Adds what another meter saw; there is no gap between the two.
    pub fn merge(&mut self, other: &Self) {
        if other.follower.is_waiting() {
            return self.merge(&other.settled());
        }
        self.follower.slips += other.follower.slips;
        self.backward += other.backward;
        self.beyond += other.beyond;
        self.gaps.merge(&other.gaps);
        self.errors.merge(&other.errors);
        add(&mut self.gap_values, &other.gap_values);
        add(&mut self.error_values, &other.error_values);
    }

    /// With all gaps judged.
    fn settled(&self) -> Self {
        let mut settled = self.clone();
        settled.settle();
        settled
    }

    pub fn report(&self, stamping: &Stamping) -> GapReport {
        if self.follower.is_waiting() {
            return self.settled().report(stamping);
        }
        let at = |quantile| whole(&self.gap_values, quantile, 1);
        GapReport {
            measured_at: stamping.measured_at.clone(),
            handed_over: stamping.handed_over,
            stamps: stamping.by.clone(),
            stamp_error_ns: stamping.error_ns,
            stamp_error_from: stamping.error_from.clone(),
            count: self.gaps.count(),
            backward: self.backward,
            beyond: self.beyond,
            requested_ns: match &self.requested {
                Requested::Even(gap) => Some(gap.as_picos() as f64 / 1e3),
                _ => None,
            },
            mean_ns: self.gaps.mean(),
            variance_ns2: self.gaps.variance(),
            min_ns: self.gaps.min() as f64,
            p50_ns: at(0.5),
            p95_ns: at(0.95),
            p99_ns: at(0.99),
            max_ns: self.gaps.max() as f64,
            error: (self.errors.count() > 0).then(|| self.error_report()),
            histogram: bins(&self.gap_values, 1.0),
            error_histogram: bins(&self.error_values, 1e3),
        }
    }

    fn error_report(&self) -> GapError {
        // A bin's value may be above the greatest that is in it.
        let max_ns = self.errors.max() as f64 / 1e3;
        let at = |quantile| (whole(&self.error_values, quantile, 1_000) / 1e3).min(max_ns);
        GapError {
            count: self.errors.count(),
            mean_ns: self.errors.mean() / 1e3,
            variance_ns2: self.errors.variance() / 1e6,
            p50_ns: at(0.5),
            p95_ns: at(0.95),
            p99_ns: at(0.99),
            max_ns,
        }
    }
}

impl GapReport {
    /// The line that Caliper's tools print: mean of the gaps, mean square of (measured − requested), mean of
    /// |measured − requested|. Where nothing was requested, the variance is that of the gaps and there is no
    /// mean error.
    pub fn caliper_line(&self) -> String {
        match &self.error {
            Some(error) => {
                let square = error.variance_ns2 + error.mean_ns * error.mean_ns;
                format!("mean {:.2} var {square:.2} avgerr {:.2}", self.mean_ns, error.mean_ns)
            }
            None => format!("mean {:.2} var {:.2} avgerr -", self.mean_ns, self.variance_ns2),
        }
    }
}

#[inline]
fn difference(before: u64, now: u64) -> i64 {
    (now.wrapping_sub(before) as i64).clamp(-FARTHEST_NS, FARTHEST_NS)
}

/// An empty histogram with room up to `usual`, which grows when it must.
fn values(digits: u8, usual: u64) -> Histogram<u64> {
    let mut values = Histogram::new_with_bounds(1, usual, digits).expect("1 ≤ low, 2·low ≤ high, digits ≤ 5");
    values.auto(true);
    values
}

#[inline]
fn record(values: &mut Histogram<u64>, value: u64) {
    values.record(value).expect("a hundred days fit in a histogram that may grow");
}

fn add(into: &mut Histogram<u64>, from: &Histogram<u64>) {
    into.add(from).expect("a hundred days fit in a histogram that may grow");
}

/// The value at a quantile (nearest rank): the multiple of `unit` in its bucket, if there is one; otherwise its
/// middle.
fn whole(values: &Histogram<u64>, quantile: f64, unit: u64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let value = values.value_at_quantile(quantile);
    let (low, high) = (values.lowest_equivalent(value), values.highest_equivalent(value));
    let multiple = low.div_ceil(unit) * unit;
    match unit > 1 && multiple <= high || low == high {
        true => multiple as f64,
        false => values.median_equivalent(value) as f64,
    }
}

/// The histogram in at most [`GAP_BINS`] bins: buckets are joined, the same share of a value wide everywhere.
fn bins(values: &Histogram<u64>, unit: f64) -> Vec<(f64, u64)> {
    let mut bits = 16;
    loop {
        let mut bins: Vec<(u64, u64)> = Vec::new();
        for bucket in values.iter_recorded() {
            let low = floor_to(values.lowest_equivalent(bucket.value_iterated_to()), bits);
            match bins.last_mut() {
                Some((at, count)) if *at == low => *count += bucket.count_at_value(),
                _ => bins.push((low, bucket.count_at_value())),
            }
        }
        if bins.len() <= GAP_BINS || bits == 1 {
            return bins.into_iter().map(|(low, count)| (low as f64 / unit, count)).collect();
        }
        bits -= 1;
    }
}

/// Keeps the highest `bits` significant bits.
fn floor_to(value: u64, bits: u32) -> u64 {
    let drop = (u64::BITS - value.leading_zeros()).saturating_sub(bits);
    (value >> drop) << drop
}

#[cfg(test)]
mod tests;
