//! What arrived of a trial: each frame once, known by its signature, and how long it took.

use hdrhistogram::Histogram;
use measure::packets::Spread;
use port::Frame;
use wire::Signature;

/// Frames of an earlier trial were due at least this long before.
const APART_NS: u64 = 3_000_000;
/// One-way times up to a minute, to three digits.
const LONGEST_NS: u64 = 60_000_000_000;

/// Arrivals of one trial.
#[derive(Debug)]
pub struct Arrivals {
    /// Due times of this trial begin here, in nanoseconds since 1970.
    from_unix_ns: u64,
    /// A bit for each frame that may come.
    seen: Vec<u64>,
    pub unique: u64,
    pub duplicated: u64,
    /// Frames that are not of this trial.
    pub others: u64,
    one_way: Histogram<u64>,
}

impl Arrivals {
    /// Of a trial of `offered` frames, the first of which is due at `origin_unix_ns`.
    pub fn new(offered: u64, origin_unix_ns: u64) -> Self {
        Self {
            from_unix_ns: origin_unix_ns.saturating_sub(APART_NS),
            seen: vec![0; usize::try_from(offered.div_ceil(64)).unwrap_or_default()],
            unique: 0,
            duplicated: 0,
            others: 0,
            one_way: Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("bounds that the histogram takes"),
        }
    }

    /// A frame came, at `now_unix_ns` unless it was stamped.
    #[inline]
    pub fn frame(&mut self, frame: &Frame<'_>, now_unix_ns: u64) {
        let signature = Signature::find(frame.data).filter(|signed| signed.due_unix_ns >= self.from_unix_ns);
        let Some(signature) = signature else { return self.others += 1 };
        let (word, bit) = ((signature.seq / 64) as usize, 1 << (signature.seq % 64));
        match self.seen.get_mut(word) {
            None => self.others += 1,
            Some(known) if *known & bit != 0 => self.duplicated += 1,
            Some(known) => {
                *known |= bit;
                self.unique += 1;
                let stamp = if frame.stamp.0 == 0 { now_unix_ns } else { frame.stamp.0 };
                self.one_way.saturating_record(stamp.saturating_sub(signature.sent_unix_ns));
            }
        }
    }

    /// One-way times in nanoseconds.
    pub fn spread(&self) -> Spread {
        if self.one_way.is_empty() {
            return Spread::default();
        }
        let at = |quantile| self.one_way.value_at_quantile(quantile) as f64;
        Spread {
            count: self.one_way.len(),
            mean: self.one_way.mean(),
            min: self.one_way.min() as f64,
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            max: self.one_way.max() as f64,
        }
    }
}
