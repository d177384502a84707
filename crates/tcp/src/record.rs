//! The state of one session: 64 bytes, one line of the cache.

use crate::spec::State;
use crate::time::{Micros, Millis};

pub use crate::spec::Flags;

/// All that is known of a connection. The fields are those of `spec/tcp.toml`, which says how many bits each
/// needs.
///
/// Between steps `in_flight ≤ left`, and `snd_una ≤ snd_nxt`.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Oldest sequence number that is not acknowledged; in CLOSED, the next one of the last life.
    pub snd_una: u32,
    /// The peer's window in bytes.
    pub snd_wnd: u32,
    /// Sequence number of the segment that last set `snd_wnd`. SND.WL2 is not needed: it is never above
    /// `snd_una`, and older acknowledgments do not set the window.
    pub snd_wl1: u32,
    /// Next sequence number expected.
    pub rcv_nxt: u32,
    /// The out-of-order interval: where it starts, and its bytes.
    pub ooo_start: u32,
    pub ooo_len: u32,
    /// Timestamp to echo.
    pub ts_recent: u32,
    /// When the segment whose round trip is measured was first sent: the first of those in flight.
    pub sent: Micros,
    /// Of retransmission, window probe or TIME_WAIT.
    pub deadline: Millis,
    /// When patience ends.
    pub limit: Millis,
    /// When an owed acknowledgment is sent at the latest.
    pub ack_by: Millis,
    /// When the last challenge ACK was owed.
    pub challenged: Millis,
    /// Bytes of the request that are not acknowledged.
    pub left: u16,
    /// Bytes of it that were sent.
    pub in_flight: u16,
    /// Most bytes of payload in a segment, timestamps counted off.
    pub mss: u16,
    /// `rcv_nxt` less the last acknowledgment sent; stays at its maximum.
    pub unacked: u16,
    pub flags: Flags,
    pub state: State,
    /// Counts the lives of this port pair; marks timers of earlier lives.
    pub incarnation: u8,
    /// Retransmissions of the first segment in flight; stays at its maximum. Before the first of them,
    /// duplicate ACKs in a row.
    pub retries: u8,
    pub exponents: Exponents,
    /// The largest window of the peer was at most 2 to this.
    pub wnd_log: u8,
}

/// Two powers of two in a byte: doublings of the retransmission timeout, and the peer's window scale.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Exponents(u8);

impl Exponents {
    /// Neither is more than 15.
    pub const fn new(backoff: u8, shift: u8) -> Self {
        Self(backoff & 15 | shift << 4)
    }
}

impl core::fmt::Debug for Exponents {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{{ backoff: {}, shift: {} }}", self.0 & 15, self.0 >> 4)
    }
}

const _: () = assert!(size_of::<Record>() == 64);

impl Record {
    /// The next sequence number to send.
    pub fn snd_nxt(&self) -> u32 {
        let control = u32::from(self.has(Flags::FIN_OUT)) + u32::from(self.state == State::SynSent);
        self.snd_una.wrapping_add(u32::from(self.in_flight)).wrapping_add(control)
    }

    /// The earliest time for which this record wants an [`Event::Timer`](crate::Event::Timer).
    pub fn next_deadline(&self) -> Option<Millis> {
        let own = self.has(Flags::ACK_DUE).then_some(self.ack_by);
        earlier(self.next_timeout(), own)
    }

    /// The same without the acknowledgment that is owed: what a segment of the peer may put off.
    pub fn next_timeout(&self) -> Option<Millis> {
        let timed = self.has(Flags::TIMED).then_some(self.deadline);
        earlier(timed, self.has(Flags::LIMITED).then_some(self.limit))
    }

    /// Whether an [`Event::Flush`](crate::Event::Flush) at the end of the batch would send something: the next
    /// segment of the request, or an acknowledgment that is owed now.
    pub fn wants_flush(&self) -> bool {
        self.has(Flags::ACK_NOW) || self.has(Flags::MORE)
    }

    /// Whether the peer's window takes no further segment now, of this request or behind it.
    pub fn is_shut(&self) -> bool {
        let unsent = self.left.saturating_sub(self.in_flight);
        let next = if unsent == 0 { self.mss } else { unsent.min(self.mss) };
        let waits = self.in_flight > 0 && self.snd_wnd < u32::from(self.in_flight) + u32::from(next);
        self.has(Flags::PERSIST) || waits
    }

    /// Doublings of the retransmission timeout.
    pub fn backoff(&self) -> u8 {
        self.exponents.0 & 15
    }

    pub(crate) fn set_backoff(&mut self, backoff: u8) {
        self.exponents = Exponents::new(backoff, self.shift());
    }

    /// The peer's window scale.
    pub fn shift(&self) -> u8 {
        self.exponents.0 >> 4
    }

    #[inline]
    pub fn has(&self, flag: Flags) -> bool {
        self.flags.contains(flag)
    }

    #[inline]
    pub(crate) fn put(&mut self, flag: Flags, on: bool) {
        self.flags = if on { self.flags.with(flag) } else { self.flags.without(flag) };
    }

    #[inline]
    pub(crate) fn set(&mut self, flag: Flags) {
        self.put(flag, true);
    }

    #[inline]
    pub(crate) fn clear(&mut self, flag: Flags) {
        self.put(flag, false);
    }
}

fn earlier(one: Option<Millis>, other: Option<Millis>) -> Option<Millis> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.is_before(one) { other } else { one }),
        (one, other) => one.or(other),
    }
}
