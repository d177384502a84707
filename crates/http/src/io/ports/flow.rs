//! The bytes of one connection over a port: what is on its way out, and what came in.
//!
//! ```text
//!   send ─► out [ asked: not acknowledged │ next ]          inbox [ in order ] ─► next
//!                                                            early  [ ahead of holes ]
//! ```

use super::room_wait::RoomWait;
use super::unacked::Unacked;
use rustix::io::Errno;
use session::{Ahead, Id};
use std::collections::VecDeque;
use std::num::NonZeroU64;
use units::{Instant, Picos};

/// Bytes that `send` takes before what it took has been acknowledged.
pub const OUT: usize = 256 * 1024;

/// Bytes in a full segment on Ethernet, with TCP's timestamps.
const ETHERNET_MSS: usize = 1_448;

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
    /// What a segment carries, if anything was asked for yet.
    mss: usize,
    /// For how long bytes waited here that a kernel's TCP would have sent, and since when some do.
    held: Picos,
    held_since: Option<Instant>,
    /// It is the peer's window that lets no more leave.
    is_shut: bool,
    room_wait: RoomWait,
    inbox: VecDeque<u8>,
    /// Segments in the inbox: bytes, and stamp.
    segments: VecDeque<(usize, Option<NonZeroU64>)>,
    early: Ahead,
    /// What came last of a response, and for how long the target may have waited for acknowledgments of ours.
    pub unacked: Unacked,
    pub unacked_for: Picos,
}

impl Flow {
    pub fn to(slot: u32, asked_ns: u64) -> Self {
        Self { slot: Some(slot), asked_ns, ..Self::default() }
    }

    /// Data of a response arrived. Whether an acknowledgment was owed before.
    pub fn found(&mut self, stamp_ns: Option<NonZeroU64>) -> bool {
        let was_owed = self.unacked.is_owed();
        self.unacked_for += self.unacked.found(stamp_ns);
        was_owed
    }

    /// Takes what fits of `bytes`.
    pub fn put(&mut self, bytes: &[u8], now: Instant) -> usize {
        // What follows is not late before the target has them.
        self.unacked = Unacked::default();
        let taken = bytes.len().min(OUT.saturating_sub(self.out.len()));
        if self.out.is_empty() && taken > 0 {
            self.busy_since = now;
        }
        self.out.extend_from_slice(&bytes[..taken]);
        self.wants_write = taken < bytes.len();
        if self.asked > 0 || self.is_held() {
            self.held_since.get_or_insert(now);
        }
        taken
    }

    /// How long after the first SYN something was stamped, also if the SYN had to be sent again.
    pub fn since_asked(&self, stamp_ns: Option<NonZeroU64>) -> Option<Picos> {
        stamp_ns?.get().checked_sub(self.asked_ns).map(Picos::from_nanos)
    }

    /// Whether there is something to give to the session, and it has nothing.
    pub fn may_ask(&self) -> bool {
        self.asked == 0 && !self.out.is_empty() && self.is_open
    }

    /// Whether there is more to send than the session surely sends without an acknowledgment: its window may be
    /// at its least.
    fn is_held(&self) -> bool {
        let mss = if self.mss == 0 { ETHERNET_MSS } else { self.mss };
        self.out.len() > usize::from(session::BURST) * mss
    }

    /// For how long, since the last call, bytes may have waited for a turn. The kernel's TCP would have sent
    /// them earlier: its congestion window grows, and it has no pieces.
    pub fn take_held(&mut self, now: Instant) -> Picos {
        self.count_held(now);
        std::mem::take(&mut self.held)
    }

    /// A segment has left that had waited for room in the port.
    pub fn waited(&mut self, since: Instant, left: Instant) {
        let since = self.room_wait.uncounted(since, left);
        // What is held anyway counts once.
        if self.held_since.is_none() || self.is_shut {
            self.held += left.since(since);
        }
    }

    /// Whether the peer's window lets more leave. What waits for that would wait in a kernel, too.
    pub fn shut(&mut self, is_shut: bool, now: Instant) {
        if self.is_shut != is_shut {
            self.count_held(now);
            self.is_shut = is_shut;
        }
    }

    fn count_held(&mut self, now: Instant) {
        if let Some(since) = &mut self.held_since {
            let waited = now.since(std::mem::replace(since, now));
            self.held += if self.is_shut { Picos::ZERO } else { waited };
        }
    }

    /// Whether the session has something to send.
    pub fn is_sending(&self) -> bool {
        self.asked > 0
    }

    /// How many bytes the session shall be given next, if it has none. Its segments carry `mss` of them. A peer
    /// acknowledges two full segments at once, and may leave anything less alone for 40 ms: so only the last of
    /// what there is to send may be less.
    pub fn ask(&mut self, mss: usize, now: Instant) -> Option<u16> {
        if !self.may_ask() {
            return None;
        }
        self.mss = mss;
        // The peer's segments may be shorter than was thought.
        if self.is_held() {
            self.held_since.get_or_insert(now);
        }
        self.asked = self.out.len().min(usize::from(u16::MAX));
        if self.asked < self.out.len() && mss > 0 && self.asked >= 2 * mss {
            self.asked -= self.asked % (2 * mss);
        }
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
        if !self.is_held() {
            self.count_held(now);
            self.held_since = None;
        }
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

    /// Bytes ahead of a hole.
    pub fn keep(&mut self, bytes: &[u8], from: u32) {
        self.early.keep(from, bytes);
    }

    /// The first hole is filled: what was kept behind it follows what is in order.
    pub fn fill(&mut self, stamp_ns: Option<NonZeroU64>) {
        let bytes = self.early.fill().unwrap_or_default();
        self.segments.push_back((bytes.len(), stamp_ns));
        self.inbox.extend(bytes);
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

    #[test]
    fn what_is_more_than_a_burst_is_held_until_little_is_left() {
        let at = |ms| Instant::EPOCH + Picos::from_millis(ms);
        let mut flow = Flow { is_open: true, ..Flow::to(3, 0) };
        flow.put(&[7; 14_480], at(0));
        assert_eq!(flow.take_held(at(5)), Picos::ZERO);
        flow.put(&[7; 100_000 - 14_480], at(5));
        assert_eq!(flow.ask(1_448, at(5)), Some(63_712));
        assert_eq!(flow.take_held(at(7)), Picos::from_millis(2));
        flow.acked(at(8));
        assert_eq!(flow.ask(1_448, at(8)), Some(36_288));
        flow.acked(at(12));
        assert_eq!(flow.take_held(at(20)), Picos::from_millis(5));
        assert_eq!(flow.take_held(at(21)), Picos::ZERO);
        // Ten short segments carry less than it seemed.
        flow.put(&[7; 1_000], at(30));
        assert_eq!(flow.ask(88, at(31)), Some(1_000));
        assert_eq!(flow.take_held(at(33)), Picos::from_millis(2));
        flow.acked(at(34));
        // A request waits until the one before it has been acknowledged.
        flow.put(&[7; 100], at(40));
        assert_eq!(flow.ask(88, at(40)), Some(100));
        flow.put(&[7; 100], at(41));
        flow.acked(at(45));
        assert_eq!(flow.ask(88, at(45)), Some(100));
        assert_eq!(flow.take_held(at(50)), Picos::from_millis(1 + 4));
    }

    #[test]
    fn what_waits_for_the_peers_window_is_not_held() {
        let at = |ms| Instant::EPOCH + Picos::from_millis(ms);
        let mut flow = Flow { is_open: true, ..Flow::to(3, 0) };
        flow.put(&[7; 100_000], at(0));
        flow.ask(1_448, at(0));
        // Open for 2 ms, shut for 10, open for 3, shut again.
        flow.shut(true, at(2));
        flow.shut(true, at(5));
        assert_eq!(flow.take_held(at(7)), Picos::from_millis(2));
        flow.shut(false, at(12));
        flow.shut(true, at(15));
        flow.acked(at(19));
        assert_eq!(flow.take_held(at(20)), Picos::from_millis(3));
    }

    #[test]
    fn segments_that_wait_for_room_at_the_same_time_count_once() {
        let at = |ms| Instant::EPOCH + Picos::from_millis(ms);
        let mut flow = Flow { is_open: true, ..Flow::to(3, 0) };
        flow.put(&[7; 5_000], at(0));
        flow.ask(1_448, at(0));
        for (since, left) in [(0, 2), (0, 2), (1, 4), (7, 8)] {
            flow.waited(at(since), at(left));
        }
        assert_eq!(flow.take_held(at(9)), Picos::from_millis(4 + 1));
        // More than a burst is held by itself.
        flow.put(&[7; 100_000], at(10));
        flow.waited(at(11), at(14));
        assert_eq!(flow.take_held(at(15)), Picos::from_millis(5));
    }

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
        flow.fill(stamp(40));
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
        // 22 times two segments of 1 448 bytes.
        assert_eq!((flow.ask(1_448, at(0)), flow.text().len()), (Some(63_712), 63_712));
        assert_eq!(flow.ask(1_448, at(0)), None);
        flow.acked(at(3));
        for _ in 0..2 {
            assert_eq!((flow.ask(1_448, at(0)), flow.writable), (Some(63_712), false));
            flow.acked(at(4));
        }
        // What is left is less than half, so that it may be written again.
        assert!(flow.writable && !flow.wants_write);
        assert_eq!(flow.ask(1_448, at(0)), Some(63_712));
        flow.acked(at(5));
        assert_eq!(flow.ask(1_448, at(0)), Some((OUT - 4 * 63_712) as u16));
        assert_eq!(flow.busy(at(7)), Picos::from_millis(7));
        flow.acked(at(8));
        assert_eq!((flow.busy(at(20)), flow.acknowledged()), (Picos::from_millis(8), OUT as u64 + 1));
    }
}
