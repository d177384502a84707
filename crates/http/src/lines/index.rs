//! A sparse index: for each block of bytes, how many requests begin before it. The i-th request is found by a
//! binary search for its block and a walk inside that block.
//!
//! ```text
//! block      0        1        2        3
//!          │ab⏎cd⏎ef│gh⏎#x⏎⏎i│jklmnopq│rs⏎tu⏎  │
//! before    0        3        5        6            (a line belongs to the block of its first byte)
//! ```

use super::scan::{is_request, next_line};
use memchr::memchr_iter;
use std::thread;

/// At most this many entries of eight bytes: 2 MiB.
const MOST_BLOCKS: usize = 262_144;
const SMALLEST_BLOCK: usize = 512;
/// Below this, one thread is done before another has started.
const WORTH_A_THREAD: usize = 16 << 20;
const MOST_THREADS: usize = 4;

#[derive(Debug)]
pub(super) struct Index {
    /// A block has 2^shift bytes.
    shift: u32,
    /// Requests that begin before each block.
    before: Vec<u64>,
    requests: u64,
}

impl Index {
    /// Reads all bytes once, with several threads if that is worth it.
    pub fn build(bytes: &[u8]) -> Self {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        Self::build_with(bytes, (bytes.len() / WORTH_A_THREAD).clamp(1, cpus.min(MOST_THREADS)), MOST_BLOCKS)
    }

    fn build_with(bytes: &[u8], threads: usize, most_blocks: usize) -> Self {
        let block = bytes.len().div_ceil(most_blocks).next_power_of_two().max(SMALLEST_BLOCK);
        let shift = block.trailing_zeros();
        let mut before = vec![0u64; bytes.len().div_ceil(block)];
        let share = before.len().div_ceil(threads).max(1);
        thread::scope(|scope| {
            let mut shares = before.chunks_mut(share).enumerate();
            let own = shares.next();
            for (number, counts) in shares {
                scope.spawn(move || count_blocks(bytes, number * share, shift, counts));
            }
            own.into_iter().for_each(|(number, counts)| count_blocks(bytes, number * share, shift, counts));
        });
        let mut requests = 0;
        for count in &mut before {
            requests += std::mem::replace(count, requests);
        }
        Self { shift, before, requests }
    }

    pub const fn requests(&self) -> u64 {
        self.requests
    }

    /// Offset of the i-th request's line; `None` if the bytes no longer are what was indexed.
    pub fn find(&self, bytes: &[u8], i: u64) -> Option<usize> {
        let block = self.before.partition_point(|before| *before <= i).checked_sub(1)?;
        let mut at = first_line_in(bytes, block << self.shift);
        let mut left = i - self.before[block];
        while at < bytes.len() {
            if is_request(bytes, at) {
                if left == 0 {
                    return Some(at);
                }
                left -= 1;
            }
            at = next_line(bytes, at);
        }
        None
    }
}

/// Beginning of the first line that begins at `at` or later.
fn first_line_in(bytes: &[u8], at: usize) -> usize {
    if at == 0 { 0 } else { next_line(bytes, at - 1) }
}

/// Counts the requests that begin in each block of `counts`, the first of which is block `first`.
fn count_blocks(bytes: &[u8], first: usize, shift: u32, counts: &mut [u64]) {
    let base = first << shift;
    let end = (base + (counts.len() << shift)).min(bytes.len());
    let start = first_line_in(bytes, base);
    if start >= end {
        return;
    }
    let mut count = |at: usize| counts[(at - base) >> shift] += u64::from(is_request(bytes, at));
    count(start);
    // A newline at the last byte of these blocks begins a line of the next.
    for newline in memchr_iter(b'\n', &bytes[start..end - 1]) {
        count(start + newline + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The plain reading of the definition is the independent one.
        #[test]
        fn finds_every_request(
            lines in prop::collection::vec("(#|)[ a\r]{0,3}|a{0,900}", 0..60),
            ends_with_newline in any::<bool>(),
            threads in 1usize..4,
            most_blocks in 1usize..40,
        ) {
            let mut text = lines.join("\n");
            if ends_with_newline {
                text.push('\n');
            }
            let mut offset = 0;
            let mut expected = Vec::new();
            for line in text.split('\n') {
                let inside = line.trim_matches([' ', '\r', '\t']);
                if !inside.is_empty() && !inside.starts_with('#') {
                    expected.push(offset);
                }
                offset += line.len() + 1;
            }
            let index = Index::build_with(text.as_bytes(), threads, most_blocks);
            prop_assert_eq!(index.requests(), expected.len() as u64);
            let found: Vec<usize> = (0..index.requests()).filter_map(|i| index.find(text.as_bytes(), i)).collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(index.find(text.as_bytes(), index.requests()), None);
        }
    }
}
