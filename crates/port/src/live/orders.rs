//! What a leg is told: until which frame, at which rate, in which groups, and with which numbers it begins.

use super::state::{Orders, Pace};
use crate::Order;
use units::{Picos, Rate};

/// Frames flushed at once when nothing has a due time.
const BATCH: u32 = 64;
/// Above this rate, frames with due times are handed over in groups: a flush each would be too slow.
const GROUPED_GAP: Picos = Picos::from_nanos(400);
const GROUP: u32 = 8;

pub fn orders(
    order: &Order<'_>,
    next: u64,
    end: u64,
    rate: Option<Rate>,
    origin_monotonic_ns: u64,
) -> Orders {
    let pace = rate.map(|rate| Pace::new(rate, origin_monotonic_ns));
    // What is due after the end of time is not made, however punctual the program is.
    let within = match (rate, order.until_monotonic_ns) {
        (Some(rate), Some(until)) => rate
            .events_before(Picos::from_nanos(until.saturating_sub(origin_monotonic_ns)))
            .saturating_add(next),
        _ => u64::MAX,
    };
    Orders { end: end.min(within), pace }
}

pub fn batch(rate: Option<Rate>) -> u32 {
    match rate {
        None => BATCH,
        Some(rate) if rate.gap() < GROUPED_GAP => GROUP,
        Some(_) => 1,
    }
}

/// The number of each stream's next frame, when the schedule is at `position`.
pub fn next_numbers(template: &wire::Template, position: u64) -> Vec<u64> {
    use wire::template::Turns;
    let count = template.streams().len();
    match template.turns() {
        Turns::Only => vec![position; count],
        Turns::Round(modulus) => {
            let (round, turn) = modulus.split(position);
            (0..count as u64).map(|stream| round + u64::from(stream < turn)).collect()
        }
        Turns::Pattern { entries, modulus, weights } => {
            let (round, place) = modulus.split(position);
            let before = |stream: usize| {
                entries[..place as usize].iter().filter(|(of, _)| *of as usize == stream).count()
            };
            (0..count).map(|stream| round * u64::from(weights[stream]) + before(stream) as u64).collect()
        }
    }
}
