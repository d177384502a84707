//! What a step has to say to its owner.

use crate::further::REACHED;

/// The most notices of one step: an acknowledgment says two things, the window one, text one for each interval
/// that it reaches and one for each hole, FIN one, and what is sent in return at most two.
pub const MOST_NOTICES: usize = 7 + 2 * REACHED + 1;

/// One thing that happened. Lengths are bytes; `skip` counts from the first byte of the segment's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The handshake is complete; a segment to this peer holds at most `mss` bytes of payload.
    Connected { mss: u16 },
    /// A round-trip time; the owner gives it to the path.
    Rtt { micros: u32 },
    /// The whole request is acknowledged.
    Acked,
    /// Bytes of this segment that follow what was in order.
    Data { skip: u32, len: u32 },
    /// New bytes of this segment ahead of a hole. An owner that wants them in order keeps them now.
    Early { skip: u32, len: u32 },
    /// The first hole is filled: so many bytes that were announced as `Early` follow what was in order, up to
    /// the next hole.
    Filled { len: u32 },
    /// The peer will send no more. An owner that now has the whole response says `answered` before it gives
    /// this record another segment: the ACK of our FIN ends the connection, and a request that still waits
    /// fails.
    Ended,
    /// The request ended: its response is whole.
    Done,
    /// The request ended: its connection did, before a response was whole.
    Failed(Cause),
    /// The request ended because the owner closed or aborted.
    CutOff,
    /// The connection ended. The record is free.
    Closed(Cause),
    /// The port must stay out of use for so long.
    Quarantine { ms: u32 },
    /// A segment, or a part of it, was not used.
    Dropped(Dropped),
    /// What was asked cannot be done; the record is as before.
    Refused(Refusal),
    /// Something was sent again.
    Retransmitted,
    /// The third retransmission of a segment was due (R1).
    Slow,
    /// The window is too small for the request.
    Blocked,
    /// The window is large enough again.
    Unblocked,
    /// The window was probed.
    Probed,
    /// A challenge ACK is owed (RFC 5961).
    Challenged,
    /// It would be, but the last one is too recent.
    ChallengeLimited,
    /// ICMP reported an error that may pass.
    SoftError,
    /// The path takes smaller segments only.
    MssLowered { mss: u16 },
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// RST in answer to the SYN.
    Refused,
    /// RST of an open connection.
    Reset,
    /// Patience ended.
    TimedOut,
    /// ICMP: the target's protocol or port is unreachable.
    Unreachable,
    /// The owner ended it.
    Aborted,
    /// Both sides closed.
    Finished,
}

/// Why a segment was not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dropped {
    /// No connection has this port.
    Stray,
    /// Nothing that completes a handshake.
    Handshake,
    /// An old timestamp (PAWS).
    Paws,
    /// No timestamp where there must be one.
    Unstamped,
    /// Outside the window.
    Outside,
    /// RST inside the window, but not exactly at its start.
    Reset,
    /// SYN on a connection.
    Syn,
    /// Without ACK.
    NoAck,
    /// Acknowledges what was not sent.
    UnsentAck,
    /// Acknowledges what is older than any window.
    OldAck,
    /// Ahead of one hole more than intervals are kept.
    Hole,
    /// FIN ahead of a hole.
    EarlyFin,
    /// Text after FIN.
    Late,
    /// A single byte at the next number while the window is closed: a probe of it.
    Probe,
    /// An ICMP message that quotes nothing in flight.
    Icmp,
}

/// Why a call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// `open` of a record that has a connection.
    InUse,
    /// The state does not allow it.
    NotOpen,
    /// `send` before the last request was acknowledged and answered.
    Busy,
    /// `send` of nothing.
    Empty,
    /// `answered` without a request.
    NothingAsked,
}

/// The notices of one step, in the order in which they happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notices {
    all: [Notice; MOST_NOTICES],
    count: usize,
}

impl Notices {
    pub(crate) const fn new() -> Self {
        Self { all: [Notice::Acked; MOST_NOTICES], count: 0 }
    }

    pub(crate) fn push(&mut self, notice: Notice) {
        debug_assert!(self.count < MOST_NOTICES, "more notices than MOST_NOTICES");
        if let Some(place) = self.all.get_mut(self.count) {
            *place = notice;
            self.count += 1;
        }
    }
}

impl core::ops::Deref for Notices {
    type Target = [Notice];

    fn deref(&self) -> &[Notice] {
        &self.all[..self.count]
    }
}
