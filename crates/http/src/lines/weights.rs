//! Weighted choice among lines: sums of weights up to each line or, in a long file, up to each block of some
//! lines.
//!
//! ```text
//! weight     1   3   1   1   2   5 …
//! sum        0   1   4   5   6   8      of all lines before
//! entries    0       4       6          every second line: twice as many lines as there may be entries
//! ```
//!
//! A number below the total stands for the one line whose sums enclose it, whatever the length of a block: the
//! choice is the same as with a sum for each line.

use super::scan::{first_request, line_end, next_line, trimmed};

/// 1 MiB.
const MOST_ENTRIES: usize = 1 << 16;

/// See the module.
#[derive(Debug)]
pub(super) struct Weights {
    /// Lines of a block.
    stride: u64,
    /// For each block, the weight before it and where its first line begins.
    entries: Vec<(u64, u64)>,
    lines: u64,
    total: u64,
    weigh: fn(&[u8]) -> u64,
}

impl Weights {
    /// Reads all lines once. `weigh` gives the weight of a line, above zero.
    pub fn build(bytes: &[u8], weigh: fn(&[u8]) -> u64) -> Self {
        Self::build_with(bytes, weigh, MOST_ENTRIES)
    }

    fn build_with(bytes: &[u8], weigh: fn(&[u8]) -> u64, most_entries: usize) -> Self {
        let mut weights = Self { stride: 1, entries: Vec::new(), lines: 0, total: 0, weigh };
        let mut at = 0;
        while let Some(start) = first_request(bytes, at) {
            weights.push(start, weigh(text(bytes, start)), most_entries);
            at = next_line(bytes, start);
        }
        weights
    }

    fn push(&mut self, start: usize, weight: u64, most_entries: usize) {
        if self.lines.is_multiple_of(self.stride) {
            if self.entries.len() == most_entries {
                let mut index = 0;
                self.entries.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.stride *= 2;
            }
            if self.lines.is_multiple_of(self.stride) {
                self.entries.push((self.total, start as u64));
            }
        }
        self.lines += 1;
        self.total += weight;
    }

    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Where the line begins for which the number `at`, below the total, stands; `None` if the bytes no longer
    /// are what was weighed.
    pub fn find(&self, bytes: &[u8], at: u64) -> Option<usize> {
        let block = self.entries.partition_point(|(before, _)| *before <= at).checked_sub(1)?;
        let (before, start) = self.entries[block];
        let mut left = at - before;
        let mut start = usize::try_from(start).ok()?;
        for _ in 1..self.stride {
            let weight = (self.weigh)(text(bytes, start));
            if left < weight {
                break;
            }
            left -= weight;
            start = first_request(bytes, next_line(bytes, start))?;
        }
        Some(start)
    }
}

fn text(bytes: &[u8], start: usize) -> &[u8] {
    trimmed(&bytes[start..line_end(bytes, start)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A line is its weight.
    fn weigh(line: &[u8]) -> u64 {
        std::str::from_utf8(line).unwrap().parse().unwrap()
    }

    proptest! {
        /// Against a list with an element for each unit of weight.
        #[test]
        fn the_choice_is_that_of_a_sum_for_each_line(
            weights in proptest::collection::vec(1u64..9, 1..60),
            most in 1usize..80,
        ) {
            let mut file = String::from("# weights\n\n");
            let mut expected = Vec::new();
            for weight in &weights {
                expected.extend(std::iter::repeat_n(file.len(), *weight as usize));
                file.push_str(&format!("{weight}\n#\n"));
            }
            let built = Weights::build_with(file.as_bytes(), weigh, most);
            prop_assert!(built.entries.len() <= most);
            prop_assert_eq!(built.total(), expected.len() as u64);
            let found: Vec<_> = (0..built.total()).map(|at| built.find(file.as_bytes(), at).unwrap()).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
