//! The bytes of one connection over a port: what is on its way out, and what came in.
//!
//! ```text
//!   send ─► out [ asked: not acknowledged │ next ]          inbox [ in order ] ─► next
//!                                                            early  [ ahead of a hole ]
//! ```

use rustix::io::Errno;
use session::Id;
use std::collections::VecDeque;
use std::num::NonZeroU64;
use units::{Instant, Picos};

/// Bytes that `send` takes before what it took has been acknowledged.
pub const OUT: usize = 256 * 1024;

/// A read: how many bytes, the stamp of the last of them, and whether there are more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    pub length: usize,
    pub stamp_ns: Option<NonZeroU64>,
    pub more: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Flow {
    /// `None` once the session has ended.
    pub id: Option<Id>,
    /// `None` once the loop has closed it.
    pub slot: Option<u32>,
    /// It was connected, and is not closed in this direction.
    pub is_open: bool,
    /// What the loop has not been told yet.
    pub connected: bool,
    pub ended: bool,
    pub failed: Option<Errno>,
    pub writable: bool,
    /// It stands in the list of those that are ready.
    pub listed: bool,
    /// `send` took less than it was given.
    pub wants_write: bool,
    pub paused: bool,
    /// When the SYN left, in nanoseconds of CLOCK_REALTIME, and how long its answer took to reach this host.
    pub asked_ns: u64,
    pub round_trip: Option<Picos>,
    out: Vec<u8>,
    /// Bytes at the beginning of `out` that the session was given.
    asked: usize,
    acknowledged: u64,
    busy: Picos,
    busy_since: Instant,
    inbox: VecDeque<u8>,
    /// Segments in the inbox: bytes, and stamp.
    segments: VecDeque<(usize, Option<NonZeroU64>)>,
    early: Vec<u8>,
    /// Number of its first byte.
    early_from: u32,
}

impl Flow {
    pub fn to(slot: u32, asked_ns: u64) -> Self {
        Self { slot: Some(slot), asked_ns, ..Self::default() }
    }

    /// Takes what fits of `bytes`.
    pub fn put(&mut self, bytes: &[u8], now: Instant) -> usize {
        let taken = bytes.len().min(OUT.saturating_sub(self.out.len()));
        if self.out.is_empty() && taken > 0 {
            self.busy_since = now;
        }
        self.out.extend_from_slice(&bytes[..taken]);
        self.wants_write = taken < bytes.len();
        taken
    }

    /// How long after the first SYN something was stamped, also if the SYN had to be sent again.
    pub fn since_asked(&self, stamp_ns: Option<NonZeroU64>) -> Option<Picos> {
        stamp_ns?.get().checked_sub(self.asked_ns).map(Picos::from_nanos)
    }

    /// How many bytes the session shall be given next, if it has none.
    pub fn ask(&mut self) -> Option<u16> {
        if self.asked > 0 || self.out.is_empty() || !self.is_open {
            return None;
        }
        self.asked = self.out.len().min(usize::from(u16::MAX));
        Some(self.asked as u16)
    }

    /// What the session has to send.
    pub fn text(&self) -> &[u8] {
        &self.out[..self.asked]
    }

    /// The peer has all of it.
    pub fn acked(&mut self, now: Instant) {
        self.acknowledged += self.asked as u64;
        self.out.drain(..self.asked);
        self.asked = 0;
        if self.out.is_empty() {
            self.busy += now.since(self.busy_since);
        }
        if self.wants_write && self.out.len() < OUT / 2 {
            (self.wants_write, self.writable) = (false, true);
        }
    }

    /// Bytes that the peer has acknowledged, the one for SYN among them.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged + u64::from(self.is_open || self.acknowledged > 0)
    }

    /// For how long something was on its way.
    pub fn busy(&self, now: Instant) -> Picos {
        let running = if self.out.is_empty() { Picos::ZERO } else { now.since(self.busy_since) };
        self.busy + running
    }

    /// Bytes that follow what is in order.
    pub fn follow(&mut self, bytes: &[u8], stamp_ns: Option<NonZeroU64>) {
        self.inbox.extend(bytes);
        self.segments.push_back((bytes.len(), stamp_ns));
    }

    /// Bytes ahead of a hole: they stand at either end of those that are kept.
    pub fn keep(&mut self, bytes: &[u8], from: u32) {
        if self.early.is_empty() {
            self.early_from = from;
            self.early.extend_from_slice(bytes);
        } else if from == self.early_from.wrapping_add(self.early.len() as u32) {
            self.early.extend_from_slice(bytes);
        } else {
            self.early.splice(..0, bytes.iter().copied());
            self.early_from = from;
        }
    }

    /// The hole is filled: so many of the kept bytes follow what is in order.
    pub fn fill(&mut self, length: usize, stamp_ns: Option<NonZeroU64>) {
        let length = length.min(self.early.len());
        self.inbox.extend(&self.early[..length]);
        self.segments.push_back((length, stamp_ns));
        self.early.clear();
    }

    /// Bytes that came and were not read.
    pub fn unread(&self) -> usize {
        self.inbox.len()
    }

    /// Moves bytes into `buffer`.
    pub fn read(&mut self, buffer: &mut [u8]) -> Read {
        let length = buffer.len().min(self.inbox.len());
        let (first, second) = self.inbox.as_slices();
        let split = first.len().min(length);
        buffer[..split].copy_from_slice(&first[..split]);
        buffer[split..length].copy_from_slice(&second[..length - split]);
        self.inbox.drain(..length);
        let (mut left, mut stamp_ns) = (length, None);
        while left > 0 {
            let Some((size, stamp)) = self.segments.front_mut() else { break };
            stamp_ns = *stamp;
            let taken = left.min(*size);
            *size -= taken;
            left -= taken;
            if *size == 0 {
                self.segments.pop_front();
            }
        }
        Read { length, stamp_ns, more: !self.inbox.is_empty() }
    }

    /// Whether there is something to tell the loop.
    pub fn has_news(&self) -> bool {
        let reads = !self.paused && (!self.inbox.is_empty() || self.ended);
        self.connected || self.writable || self.failed.is_some() || reads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(nanos: u64) -> Option<NonZeroU64> {
        NonZeroU64::new(nanos)
    }

    #[test]
    fn bytes_come_out_in_order_with_the_stamp_of_the_last() {
        let mut flow = Flow::to(3, 0);
        flow.follow(b"abc", stamp(10));
        // The hole is "de"; what is ahead of it comes in three pieces, at both ends.
        flow.keep(b"hi", 7);
        flow.keep(b"fg", 5);
        flow.keep(b"j", 9);
        let mut buffer = [0; 4];
        assert_eq!(flow.read(&mut buffer), Read { length: 3, stamp_ns: stamp(10), more: false });
        flow.follow(b"de", stamp(40));
        flow.fill(5, stamp(40));
        flow.follow(b"k", stamp(50));
        assert_eq!(flow.read(&mut buffer), Read { length: 4, stamp_ns: stamp(40), more: true });
        assert_eq!(&buffer, b"defg");
        assert_eq!(flow.read(&mut buffer), Read { length: 4, stamp_ns: stamp(50), more: false });
        assert_eq!(&buffer, b"hijk");
    }

    #[test]
    fn what_was_taken_is_kept_until_it_is_acknowledged() {
        let at = |ms| Instant::EPOCH + Picos::from_millis(ms);
        let mut flow = Flow { is_open: true, ..Flow::to(3, 0) };
        let much = vec![7; OUT + 5];
        assert_eq!(flow.put(&much, at(0)), OUT);
        assert!(flow.wants_write);
        assert_eq!((flow.ask(), flow.text().len()), (Some(65_535), 65_535));
        assert_eq!(flow.ask(), None);
        flow.acked(at(3));
        // The last 65 535 bytes are less than half, so that it may be written again.
        for _ in 0..2 {
            assert_eq!((flow.ask(), flow.writable), (Some(65_535), false));
            flow.acked(at(4));
        }
        assert!(flow.writable && !flow.wants_write);
        assert_eq!(flow.ask(), Some(65_535));
        flow.acked(at(5));
        assert_eq!(flow.ask(), Some(4));
        assert_eq!(flow.busy(at(7)), Picos::from_millis(7));
        flow.acked(at(8));
        assert_eq!((flow.busy(at(20)), flow.acknowledged()), (Picos::from_millis(8), OUT as u64 + 1));
    }
}
