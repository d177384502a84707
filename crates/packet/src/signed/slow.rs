//! The frames that took longest, so that a single late one is told by its number.

use super::incidents::time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Frames that are remembered.
const KEPT: usize = 64;
/// Groups of frames that are told.
const TOLD: usize = 4;
/// Frames whose numbers are this near were late together.
const TOGETHER: u64 = 64;
/// Late is what took this many times the median, and this much longer, in ns.
const TIMES: i64 = 10;
const LONGER: i64 = 1_000_000;

/// (time in ns, number, stream).
type Slow = (i64, u64, u16);

#[derive(Clone, Debug, Default)]
pub(super) struct Slowest {
    heap: BinaryHeap<Reverse<Slow>>,
    /// What the next must take longer than, once [`KEPT`] are there.
    least: i64,
}

impl Slowest {
    #[inline]
    pub fn add(&mut self, took: i64, number: u64, stream: u16) {
        if took > self.least || self.heap.len() < KEPT {
            self.keep((took, number, stream));
        }
    }

    #[cold]
    fn keep(&mut self, slow: Slow) {
        self.heap.push(Reverse(slow));
        if self.heap.len() > KEPT {
            self.heap.pop();
        }
        self.least = self.heap.peek().map_or(0, |Reverse((took, ..))| *took);
    }

    /// Sentences on those that were late, without those that `known` tells of.
    pub fn words(&self, median: i64, known: impl Fn(u64) -> bool) -> Vec<String> {
        let late = |took: i64| took > median.saturating_mul(TIMES) && took > median.saturating_add(LONGER);
        let mut slow: Vec<Slow> = self.heap.iter().map(|Reverse(slow)| *slow).collect();
        slow.retain(|(took, number, _)| late(*took) && !known(*number));
        slow.sort_by_key(|(_, number, _)| *number);
        let mut groups: Vec<Vec<Slow>> = Vec::new();
        for one in slow {
            match groups.last_mut() {
                Some(group) if group.last().is_some_and(|last| one.1 - last.1 <= TOGETHER) => group.push(one),
                _ => groups.push(vec![one]),
            }
        }
        let worst = |group: &Vec<Slow>| group.iter().map(|(took, ..)| *took).max();
        groups.sort_by_key(|group| Reverse(worst(group)));
        groups.truncate(TOLD);
        groups.iter().map(|group| words(group, median)).collect()
    }
}

fn words(group: &[Slow], median: i64) -> String {
    let Some((took, number, stream)) = group.iter().max() else { return String::new() };
    let median = time(median);
    match group {
        [_] => format!("stream {stream}: frame {number} took {}; the median is {median}", time(*took)),
        [(_, first, _), .., (_, last, _)] => format!(
            "frames {first} to {last}: {} of them took up to {}; the median is {median}",
            group.len(),
            time(*took)
        ),
        [] => String::new(),
    }
}
