//! What can happen to a session.

use crate::options::{OptionError, Options};
use wire::tcp::{View, flag};

/// One thing that happens to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Start a connection. `isn` is what [`isn()`](crate::isn()) gives; a record that lived before moves it
    /// above the last life's numbers. `patience_ms`, 0 for none, limits the handshake.
    Open { isn: u32, patience_ms: u32 },
    /// A segment whose checksum is right.
    Segment(Arrived),
    /// [`Record::next_deadline`](crate::Record::next_deadline) may have come. Too early is harmless.
    Timer,
    /// Send a request of `len` bytes, and FIN with it if `close`. `patience_ms`, 0 for none, limits the wait
    /// for the response.
    Send { len: u16, close: bool, patience_ms: u32 },
    /// The owner has the whole response.
    Answered,
    /// The batch is over: the next segment of the request that may leave, or the ACK that is owed. To be
    /// repeated for as long as [`Record::wants_flush`](crate::Record::wants_flush).
    Flush,
    /// The owner takes nothing now (a window of zero is announced), or it does again (the window is announced
    /// at once). What the peer had in flight when the window closed is still announced.
    Window { open: bool },
    /// Send FIN after the request.
    Close,
    /// End at once.
    Abort,
    /// ICMP: destination unreachable, time exceeded, parameter problem. Hard: protocol or port unreachable.
    /// `seq` is the sequence number that the message quotes.
    Unreachable { hard: bool, seq: u32 },
    /// ICMP: fragmentation needed. `mss`: the reported MTU less the fixed headers of IP and TCP.
    Mtu { mss: u16, seq: u32 },
}

/// What the header of a segment says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    pub seq: u32,
    pub ack: u32,
    /// Bits of [`wire::tcp::flag`].
    pub flags: u8,
    pub window: u16,
    /// Bytes of payload.
    pub len: u32,
    pub options: Options,
}

impl Arrived {
    /// # Errors
    /// Options that contradict themselves: the segment must be dropped.
    pub fn read(view: &View<'_>) -> Result<Self, OptionError> {
        Ok(Self {
            seq: view.sequence(),
            ack: view.acknowledgment(),
            flags: view.flags(),
            window: view.window(),
            len: view.payload().len() as u32,
            options: Options::parse(view.options())?,
        })
    }

    pub(crate) const fn is(&self, bit: u8) -> bool {
        self.flags & bit != 0
    }

    /// SEG.LEN: the payload, and one each for SYN and FIN.
    pub(crate) fn seg_len(&self) -> u32 {
        self.len.wrapping_add(u32::from(self.is(flag::SYN))).wrapping_add(u32::from(self.is(flag::FIN)))
    }

    /// The number after its last octet.
    pub(crate) fn end(&self) -> u32 {
        self.seq.wrapping_add(self.seg_len())
    }
}
