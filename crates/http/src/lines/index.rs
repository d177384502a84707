//! A sparse index: for each block of bytes, how many requests begin before it. The i-th request is found by two
//! binary searches and a walk over a few lines.
//!
//! ```text
//! stripe     0                          1                  (128 KiB; counts from the top of the file, 8 bytes)
//! block      0        1        2        3                  (512 bytes or more; counts in the stripe, 2 bytes)
//!          │ab⏎cd⏎ef│gh⏎#x⏎⏎i│jklmnopq│rs⏎tu⏎  │
//! before    0        3        5        6                   (a line belongs to the block of its first byte)
//! ```
//!
//! A stripe is as long as counts of 16 bits allow, as no request takes less than two bytes. What an access
//! costs is the memory that it touches: the stripes stay in the cache, and each block is a few lines.

use super::scan::{is_request, next_line};
use memchr::memchr_iter;
use std::thread;

/// At most this many blocks for files up to 64 GiB: 2 MiB. Stripes take 1/16 384 of the file.
const MOST_BLOCKS: usize = 1 << 20;
const SMALLEST_BLOCK: usize = 512;
const LARGEST_BLOCK: usize = 64 << 10;
const STRIPE: usize = 128 << 10;
/// Below this, one thread is done before another has started.
const WORTH_A_THREAD: usize = 16 << 20;
const MOST_THREADS: usize = 4;

#[derive(Debug)]
pub(super) struct Index {
    /// A block has 2^shift bytes.
    shift: u32,
    /// Requests that begin before each block in its stripe.
    in_stripe: Vec<u16>,
    /// Requests that begin before each stripe.
    before: Vec<u64>,
    requests: u64,
}

impl Index {
    /// Reads all bytes once, with several threads if that is worth it.
    pub fn build(bytes: &[u8]) -> Self {
        let cpus = os::cpus::parallelism();
        Self::build_with(bytes, (bytes.len() / WORTH_A_THREAD).clamp(1, cpus.min(MOST_THREADS)), MOST_BLOCKS)
    }

    fn build_with(bytes: &[u8], threads: usize, most_blocks: usize) -> Self {
        let block =
            bytes.len().div_ceil(most_blocks).next_power_of_two().clamp(SMALLEST_BLOCK, LARGEST_BLOCK);
        let shift = block.trailing_zeros();
        let mut counts = vec![0u16; bytes.len().div_ceil(block)];
        let share = counts.len().div_ceil(threads).max(1);
        thread::scope(|scope| {
            let mut shares = counts.chunks_mut(share).enumerate();
            let own = shares.next();
            for (number, counts) in shares {
                scope.spawn(move || count_blocks(bytes, number * share, shift, counts));
            }
            own.into_iter().for_each(|(number, counts)| count_blocks(bytes, number * share, shift, counts));
        });
        let (before, requests) = add_up(&mut counts, STRIPE >> shift);
        Self { shift, in_stripe: counts, before, requests }
    }

    pub const fn requests(&self) -> u64 {
        self.requests
    }

    /// Offset of the i-th request's line; `None` if the bytes no longer are what was indexed.
    pub fn find(&self, bytes: &[u8], i: u64) -> Option<usize> {
        let stripe = self.before.partition_point(|before| *before <= i).checked_sub(1)?;
        let mut left = i - self.before[stripe];
        let first = stripe * (STRIPE >> self.shift);
        let blocks = &self.in_stripe[first..self.in_stripe.len().min(first + (STRIPE >> self.shift))];
        let block = blocks.partition_point(|before| u64::from(*before) <= left).checked_sub(1)?;
        left -= u64::from(blocks[block]);
        let mut at = first_line_in(bytes, (first + block) << self.shift);
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

/// Turns the counts of blocks into sums from the beginning of each stripe; returns the sums before each stripe
/// and the whole.
fn add_up(counts: &mut [u16], blocks_in_stripe: usize) -> (Vec<u64>, u64) {
    let mut before = Vec::with_capacity(counts.len().div_ceil(blocks_in_stripe));
    let mut total = 0;
    for stripe in counts.chunks_mut(blocks_in_stripe) {
        before.push(total);
        let mut sum = 0u32;
        for count in stripe {
            let here = u32::from(*count);
            *count =
                u16::try_from(sum).expect("a stripe has at most 65 536 requests, the last block one or more");
            sum += here;
        }
        total += u64::from(sum);
    }
    (before, total)
}

/// Beginning of the first line that begins at `at` or later.
fn first_line_in(bytes: &[u8], at: usize) -> usize {
    if at == 0 { 0 } else { next_line(bytes, at - 1) }
}

/// Counts the requests that begin in each block of `counts`, the first of which is block `first`.
fn count_blocks(bytes: &[u8], first: usize, shift: u32, counts: &mut [u16]) {
    let base = first << shift;
    let end = (base + (counts.len() << shift)).min(bytes.len());
    let start = first_line_in(bytes, base);
    if start >= end {
        return;
    }
    let mut count = |at: usize| counts[(at - base) >> shift] += u16::from(is_request(bytes, at));
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
            let found = (0..index.requests()).filter_map(|i| index.find(text.as_bytes(), i));
            prop_assert_eq!(found.collect::<Vec<usize>>(), expected);
            prop_assert_eq!(index.find(text.as_bytes(), index.requests()), None);
        }
    }

    /// Requests of two bytes each are as many as there can be: every count must still fit.
    #[test]
    fn the_densest_file_fits() {
        let text = b"x\n".repeat(300_000);
        for most_blocks in [1, 3, MOST_BLOCKS] {
            let index = Index::build_with(&text, 1, most_blocks);
            assert_eq!(index.requests(), 300_000);
            let sample = (0..300_000u64).step_by(997).chain([65_535, 65_536, 65_537, 299_999]);
            sample.for_each(|i| assert_eq!(index.find(&text, i), Some(2 * i as usize)));
        }
    }
}
