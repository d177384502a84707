//! The largest flows and the sizes of frames, in memory that does not grow.
//!
//! ```text
//! flow ─ hash ─► one of SETS sets of WAYS counters: found, counted up
//!                                                   not found: the least of the set is taken over, its
//!                                                   count becomes the newcomer's, and is remembered as
//!                                                   the newcomer's error
//! ```
//!
//! This is the space-saving algorithm (Metwally, Agrawal, El Abbadi 2005) in sets: a count is never too low,
//! and too high by at most its `error`; a flow that is not there had at most as many frames as the least
//! counter of its set has.

use measure::packets::{FlowRow, SizeRow};
use port::FCS;
use std::net::IpAddr;
use wire::Tuple;
use wire::parse;

const SETS: usize = 256;
const WAYS: usize = 8;
/// Flows that are told.
const TOLD: usize = 20;

/// Who speaks to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    addresses: [u64; 4],
    /// Ports, protocol and whether it is IPv6.
    rest: u64,
}

#[derive(Clone, Copy, Debug)]
struct Counter {
    key: Key,
    frames: u64,
    bytes: u64,
    error: u64,
}

/// Counts flows.
#[derive(Clone, Debug)]
pub struct Flows {
    sets: Vec<[Option<Counter>; WAYS]>,
    /// Where the last frame's flow is: the next one's is often the same.
    last: (usize, usize),
    /// Frames with no flow: not IP.
    others: u64,
    frames: u64,
}

impl Default for Flows {
    fn default() -> Self {
        Self { sets: vec![[None; WAYS]; SETS], last: (0, 0), others: 0, frames: 0 }
    }
}

impl Flows {
    /// Counts a frame of `length` bytes (without FCS).
    #[inline]
    pub fn frame(&mut self, data: &[u8], length: usize) {
        self.frames += 1;
        match common_key(data).or_else(|| parse::summary(data).as_ref().and_then(key_of)) {
            Some(key) => self.count(key, 1, (length + FCS) as u64, 0),
            None => self.others += 1,
        }
    }

    #[inline]
    fn count(&mut self, key: Key, frames: u64, bytes: u64, error: u64) {
        let (set, way) = self.last;
        if let Some(counter) = &mut self.sets[set][way]
            && counter.key == key
        {
            counter.frames += frames;
            counter.bytes += bytes;
            counter.error += error;
            return;
        }
        let set = key.hash() % SETS;
        let way = place(&mut self.sets[set], key);
        self.last = (set, way);
        if let Some(counter) = &mut self.sets[set][way] {
            counter.frames += frames;
            counter.bytes += bytes;
            counter.error += error;
        }
    }

    /// Adds what another table counted: errors add up as well.
    pub fn merge(&mut self, other: &Self) {
        self.others += other.others;
        self.frames += other.frames;
        for counter in other.sets.iter().flatten().flatten() {
            self.count(counter.key, counter.frames, counter.bytes, counter.error);
        }
    }

    /// The largest, and how many frames all others have.
    pub fn rows(&self) -> (Vec<FlowRow>, u64) {
        let mut all: Vec<&Counter> = self.sets.iter().flatten().flatten().collect();
        all.sort_by(|a, b| b.frames.cmp(&a.frames).then_with(|| a.key.words().cmp(&b.key.words())));
        all.truncate(TOLD);
        let row = |counter: &&Counter| FlowRow {
            flow: counter.key.text(),
            frames: counter.frames,
            bytes: counter.bytes,
            error: counter.error,
        };
        let told: u64 = all.iter().map(|counter| counter.frames - counter.error).sum();
        (all.iter().map(row).collect(), self.frames.saturating_sub(told))
    }
}

/// The place of a flow in its set; the least makes room for a new one.
#[inline]
fn place(set: &mut [Option<Counter>; WAYS], key: Key) -> usize {
    let (mut least, mut fewest) = (0, u64::MAX);
    for (way, counter) in set.iter().enumerate() {
        match counter {
            Some(counter) if counter.key == key => return way,
            Some(counter) if counter.frames < fewest => (least, fewest) = (way, counter.frames),
            Some(_) => {}
            None if fewest > 0 => (least, fewest) = (way, 0),
            None => {}
        }
    }
    let (frames, bytes) = set[least].map_or((0, 0), |counter| (counter.frames, counter.bytes));
    set[least] = Some(Counter { key, frames, bytes, error: frames });
    least
}

/// The key of the most common frame, IPv4 without options with UDP or TCP and no tags, without a parse.
#[inline]
fn common_key(data: &[u8]) -> Option<Key> {
    let head: &[u8; 38] = data.first_chunk()?;
    let is_common = head[12..15] == [8, 0, 0x45]
        && matches!(head[23], parse::UDP | parse::TCP)
        && head[20] & 0x3f == 0
        && head[21] == 0;
    if !is_common {
        return None;
    }
    let word =
        |at: usize| u64::from(u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
    let addresses = [word(26), 0, word(30), 0];
    Some(Key { addresses, rest: word(34) << 16 | u64::from(head[23]) << 8 })
}

/// The key of a frame of IP.
fn key_of(tuple: &Tuple) -> Option<Key> {
    if !tuple.is_ip() {
        return None;
    }
    let halves = |address: IpAddr| match address {
        IpAddr::V4(address) => (u64::from(u32::from(address)), 0),
        IpAddr::V6(address) => {
            let bits = u128::from(address);
            ((bits >> 64) as u64, bits as u64)
        }
    };
    let ((a, b), (c, d)) = (halves(tuple.source), halves(tuple.destination));
    let ports = u64::from(tuple.source_port) << 16 | u64::from(tuple.destination_port);
    let is_v6 = u64::from(tuple.ethertype == parse::ETHERTYPE_IPV6);
    let rest = ports << 16 | u64::from(tuple.protocol) << 8 | is_v6;
    Some(Key { addresses: [a, b, c, d], rest })
}

impl Key {
    /// Multiply and shift: spreads over the sets, and is the same on every machine.
    #[inline]
    fn hash(&self) -> usize {
        let [a, b, c, d] = self.addresses;
        let mixed = (a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b)
            .wrapping_add(c.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ d)
            .wrapping_add(self.rest.wrapping_mul(0xa076_1d64_78bd_642f));
        ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as usize
    }

    fn words(&self) -> ([u64; 4], u64) {
        (self.addresses, self.rest)
    }

    /// `198.18.0.1:1024 > 198.18.0.2:9 udp`
    fn text(&self) -> String {
        let protocol = (self.rest >> 8) as u8;
        let (source_port, port) = ((self.rest >> 32) as u16, (self.rest >> 16) as u16);
        let address = |high: u64, low: u64| match self.rest & 1 {
            1 => IpAddr::from((u128::from(high) << 64 | u128::from(low)).to_be_bytes()),
            _ => IpAddr::from((high as u32).to_be_bytes()),
        };
        let [a, b, c, d] = self.addresses;
        let (from, to) = (address(a, b), address(c, d));
        let end = |address: IpAddr, port: u16| std::net::SocketAddr::new(address, port).to_string();
        match protocol {
            parse::UDP => format!("{} > {} udp", end(from, source_port), end(to, port)),
            parse::TCP => format!("{} > {} tcp", end(from, source_port), end(to, port)),
            parse::SCTP => format!("{} > {} sctp", end(from, source_port), end(to, port)),
            parse::ICMP => format!("{from} > {to} icmp type {} code {}", port >> 8, port & 0xff),
            parse::ICMPV6 => format!("{from} > {to} icmpv6 type {} code {}", port >> 8, port & 0xff),
            other => format!("{from} > {to} protocol {other}"),
        }
    }
}

/// Longest frame that is told apart; longer ones count as this.
const LONGEST: usize = 9_216;
/// Most rows; more sizes than that are told in bins.
const ROWS: usize = 64;
/// Lower bounds of bins, with FCS: what RFC 2544 measures with, and what lies between.
const BINS: [u32; 13] = [0, 64, 65, 128, 256, 512, 1_024, 1_280, 1_518, 1_519, 2_048, 4_096, 9_216];

/// Counts frames by size.
#[derive(Clone, Debug)]
pub struct Sizes {
    counts: Vec<u64>,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { counts: vec![0; LONGEST + 1] }
    }
}

impl Sizes {
    /// Counts a frame of `length` bytes (without FCS).
    #[inline]
    pub fn frame(&mut self, length: usize) {
        self.counts[(length + FCS).min(LONGEST)] += 1;
    }

    pub fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(into, from)| *into += from);
    }

    /// Each size that there was, or bins if there were many.
    pub fn rows(&self) -> Vec<SizeRow> {
        let there = || self.counts.iter().enumerate().filter(|(_, frames)| **frames > 0);
        if there().count() <= ROWS {
            return there().map(|(size, frames)| SizeRow { size: size as u32, frames: *frames }).collect();
        }
        let mut rows: Vec<SizeRow> = BINS.iter().map(|size| SizeRow { size: *size, frames: 0 }).collect();
        for (size, frames) in there() {
            let bin = BINS.partition_point(|low| *low as usize <= size).saturating_sub(1);
            rows[bin].frames += frames;
        }
        rows.retain(|row| row.frames > 0);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn frame(flow: u32) -> [u8; 60] {
        let mut frame = [0; 60];
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        frame[16..18].copy_from_slice(&[0, 46]);
        frame[23] = parse::UDP;
        frame[26..30].copy_from_slice(&(0xc612_0000 + flow).to_be_bytes());
        frame[30..34].copy_from_slice(&[198, 19, 0, 1]);
        frame[34..38].copy_from_slice(&[4, 0, 0, 9]);
        frame[38..40].copy_from_slice(&[0, 26]);
        frame
    }

    #[test]
    fn flows_are_told_with_their_ends_the_largest_first() {
        let mut flows = Flows::default();
        (0..3).for_each(|_| flows.frame(&frame(1), 60));
        flows.frame(&frame(2), 60);
        flows.frame(&[0; 60], 60);
        let (rows, others) = flows.rows();
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].flow.as_str(), rows[0].frames), ("198.18.0.1:1024 > 198.19.0.1:9 udp", 3));
        assert_eq!((rows[0].bytes, rows[0].error, others), (192, 0, 1));
    }

    #[test]
    fn ipv6_and_icmp_have_flows_too() {
        let mut frame = vec![0; 62];
        frame[12..15].copy_from_slice(&[0x86, 0xdd, 0x60]);
        frame[18..22].copy_from_slice(&[0, 8, parse::ICMPV6, 64]);
        frame[22] = 0xfd;
        frame[37] = 1;
        frame[38] = 0xfd;
        frame[53] = 2;
        frame[54] = 128;
        let mut flows = Flows::default();
        flows.frame(&frame, 62);
        assert_eq!(flows.rows().0[0].flow, "fd00::1 > fd00::2 icmpv6 type 128 code 0");
    }

    #[test]
    fn the_short_way_to_a_key_is_the_same_as_the_long_one() {
        let frame = frame(77);
        let long = key_of(&parse::summary(&frame).unwrap());
        assert_eq!(common_key(&frame), long);
        assert!(long.is_some());
    }

    #[test]
    fn each_size_is_told_and_many_sizes_in_bins() {
        let mut sizes = Sizes::default();
        (0..5).for_each(|_| sizes.frame(60));
        sizes.frame(1_514);
        sizes.frame(100_000);
        let row = |size, frames| SizeRow { size, frames };
        assert_eq!(sizes.rows(), [row(64, 5), row(1_518, 1), row(9_216, 1)]);
        (61..=200).for_each(|length| sizes.frame(length));
        // 65 … 127 are 63 sizes; 128 … 204 are 77.
        assert_eq!(sizes.rows(), [row(64, 5), row(65, 63), row(128, 77), row(1_518, 1), row(9_216, 1)]);
    }

    proptest! {
        /// With more flows than there is room for: no count is too low, none too high by more than it says, and
        /// large ones stay.
        #[test]
        fn counts_are_right_within_what_they_say(small in prop::collection::vec(0_u32..20_000, 0..6_000)) {
            let mut flows = Flows::default();
            let mut truth: HashMap<u32, u64> = HashMap::new();
            for (n, flow) in small.iter().enumerate() {
                let flow = if n % 3 == 0 { 50_000 } else { *flow };
                flows.frame(&frame(flow), 60);
                *truth.entry(flow).or_default() += 1;
            }
            let (rows, others) = flows.rows();
            for row in &rows {
                let address: std::net::Ipv4Addr = row.flow.split(':').next().unwrap().parse().unwrap();
                let real = truth[&(u32::from(address) - 0xc612_0000)];
                prop_assert!(row.frames >= real && row.frames - row.error <= real, "{row:?} {real}");
            }
            if small.len() > 100 {
                prop_assert!(rows[0].flow.starts_with("198.18.195.80:"), "{:?}", rows[0]);
            }
            let surely: u64 = rows.iter().map(|row| row.frames - row.error).sum();
            prop_assert_eq!(surely + others, small.len() as u64);
        }
    }
}
