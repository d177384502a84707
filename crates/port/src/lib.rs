//! Frames in and out: one small trait, one file for each way.
//!
//! ```text
//!                       ┌ mem     ring pairs in this process            ┐
//!                       │ pcap    files                                 │
//!   engine ─ transmit ─►│ packet  AF_PACKET                             │─► wire
//!          ◄─ receive ──│ xdp     AF_XDP                                │◄─
//!                       │ live    frames made by an XDP program         │
//!                       │ dpdk    drivers of the system's libdpdk       │
//!                       │ udp     sockets, the host's stack and all     │
//!                       └ tap     this host's own stack                 ┘
//!   fault, trace, record wrap any of them and are ports themselves
//! ```
//!
//! A frame runs from the Ethernet header to the end of the payload: the FCS is the card's. A *frame size*, as
//! users write it, counts the FCS: a frame of 64 has 60 bytes here.

mod about;
mod address;
mod af_packet;
mod af_xdp;
mod auto;
mod card_clock;
mod claims;
mod counters;
mod dpdk;
mod error;
mod fault;
pub mod fpga;
mod host;
pub mod interface;
mod kinds;
mod live;
pub mod mem;
mod namespace;
mod open;
mod ours;
mod own_time;
pub mod pcap;
mod record;
mod reserved;
mod tap;
mod trace;
mod udp;
mod witness;

pub use about::{Abilities, About, Choice, StampedBy};
pub use address::Address;
pub use card_clock::StampClock;
pub use claims::Claims;
pub use counters::{Counters, Drop, DropPlace, Faults};
pub use error::{PortError, Why};
pub use host::Host;
pub use kinds::PortKind;
pub use open::{Direction, Wish, check, open};
pub use ours::Match;
pub use own_time::{Departed, OwnTime};
pub use reserved::Reserved;

use std::os::fd::BorrowedFd;
use units::Picos;

/// Bytes of the frame check sequence, which are part of a frame's size and not of its bytes here.
pub const FCS: usize = 4;

/// A point in time by the wall clock, in nanoseconds since 1970 (CLOCK_REALTIME): what the kernel, network
/// cards and pcap files stamp frames with; of a port with a time of its own ([`OwnTime`]), by that. 0 means
/// that there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

impl Stamp {
    pub const NONE: Self = Self(0);

    pub const fn as_unix_nanos(self) -> u64 {
        self.0
    }
}

/// A received frame, as long as the reader looks at it.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// What was captured of it.
    pub data: &'a [u8],
    /// Its length on the wire (without FCS), which is more where it was cut off.
    pub length: usize,
    pub stamp: Stamp,
    /// How many frames before this one the port knows to be lost since the last (0 where it does not know).
    pub lost_before: u32,
    pub card_work: CardWork,
}

/// What a host left for a card to do, which the frame has not passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CardWork {
    /// The transport checksum: what stands there is none yet, and says nothing of damage.
    pub checksum: bool,
    /// To split it: it holds several segments or datagrams (TSO, UDP_SEGMENT), or frames that this host merged
    /// (GRO).
    pub split: bool,
}

impl CardWork {
    pub const NONE: Self = Self { checksum: false, split: false };
    pub const CHECKSUM: Self = Self { checksum: true, split: false };
    pub const SPLIT: Self = Self { checksum: false, split: true };
}

/// Room for one frame, lent while it is written.
#[derive(Debug)]
pub struct Slot<'a> {
    /// The whole room; at least [`About::longest`] bytes.
    pub data: &'a mut [u8],
    /// How many bytes the frame has; the writer sets it. 0 sends nothing.
    pub length: usize,
    /// When it shall leave, for ports that can ([`Abilities::launch_time`]); `Stamp::NONE` is at once.
    pub launch: Stamp,
    /// What the writer left here the last time this same room was lent, 0 at first and whenever the room's
    /// bytes are not what they were: whoever finds its own mark need only write what changes.
    pub mark: &'a mut u64,
}

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    Receive,
    Transmit,
}

/// Frames in and out of one queue of one place. Used by one thread at a time; object safe, so that wrappers
/// stack.
pub trait Port: Send {
    fn about(&self) -> &About;

    /// Lends up to `most` rooms, one after another, to `write`, and hands what was written over, to leave at
    /// once in that order. Returns how many frames were taken: fewer than `most` (also 0) if there is no room
    /// for more now. That is back-pressure: nothing was lost, and `write` was called only for those taken. A
    /// frame of length 0 is taken and is none: no counter has it.
    ///
    /// # Errors
    /// `Gone`, `Down`, `TooLong` (that frame and those after it were not taken), `Unable`, `System`.
    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError>;

    /// Shows up to `most` frames that have arrived, in order, and forgets them. Returns how many; never waits.
    ///
    /// # Errors
    /// `Over` when no frame will ever come again ([`PortError::is_end`]), `Gone`, `Down`, `Unable`, `System`.
    fn receive(&mut self, most: usize, read: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError>;

    /// Sees to it that everything taken has left (or is counted as dropped), for at most `patience`. Returns
    /// whether it has.
    fn flush(&mut self, patience: Picos) -> Result<bool, PortError>;

    /// Waits until there is something to receive or room to transmit, for at most `patience`. Returns whether
    /// there is.
    fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError>;

    /// Brings the totals up to date (this may ask the kernel) and shows them.
    fn counters(&mut self) -> Result<&Counters, PortError>;

    /// Whether the link is up; ports without one are always up.
    fn is_up(&mut self) -> bool {
        true
    }

    /// What is wrong with the link, asked anew: `Down` or `Gone`. Whoever hears nothing for long asks this, for
    /// not every port is woken up when its interface is removed.
    fn trouble(&mut self) -> Option<PortError> {
        None
    }

    /// What can be polled for arrivals.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// The socket through which frames leave, for who asks the kernel when each of them left (SO_TIMESTAMPING).
    /// A wrapper has none.
    fn outlet(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Attaches a classic BPF program (the kernel's struct sock_filter: code, jt, jf, k): only frames for which
    /// it returns more than 0 are received. Where the port cannot do it in the kernel, the caller filters by
    /// itself.
    ///
    /// # Errors
    /// `Unable` if this port has no such filter.
    fn filter(&mut self, program: &[Instruction]) -> Result<(), PortError> {
        let _ = program;
        Err(PortError::Unable { port: self.about().name.clone(), what: "filter in the kernel" })
    }

    /// What the port's own clock shows now, if it has one by which frames leave and are stamped. This may ask
    /// the device, and take as long as an answer does.
    ///
    /// # Errors
    /// `Gone`, `System`.
    fn own_time(&mut self) -> Result<Option<OwnTime>, PortError> {
        Ok(None)
    }

    /// Shows up to `most` reports of frames that have left, in the order in which they did, and forgets them.
    /// Returns how many; never waits. Only of a port with a time of its own that was opened for it
    /// ([`Wish::departures`]); after a flush all are there.
    ///
    /// # Errors
    /// `Gone`, `System`.
    fn departed(&mut self, most: usize, read: &mut dyn FnMut(&Departed)) -> Result<usize, PortError> {
        let _ = (most, read);
        Ok(0)
    }

    /// The clock of the network card whose stamps are shown here, told by the wall clock, and how far they may
    /// be off until now. This compares the two once more.
    fn stamp_clock(&mut self) -> Option<StampClock> {
        None
    }

    /// The coarsest step of the stamps so far, in ns, where a file says it; 0 where nothing does.
    fn stamp_step_ns(&mut self) -> f64 {
        0.0
    }

    /// Receives up to `most` frames and has `to` send them without a copy, where both ports have buffers that
    /// either can send; `None` where they have not, and whoever asks copies. What `to` has no room for waits
    /// there, and nothing more is received until it has left.
    ///
    /// # Errors
    /// As of `receive` and `transmit`.
    fn pass_on(&mut self, to: &mut dyn Port, most: usize) -> Option<Result<Passed, PortError>> {
        let _ = (to, most);
        None
    }

    /// This port itself, for a port of the same kind that hands buffers over to it ([`Self::pass_on`]).
    fn as_any(&mut self) -> Option<&mut dyn std::any::Any> {
        None
    }

    /// The way of making frames inside the port, if it has one (`live`).
    fn offload(&mut self) -> Option<&mut dyn Offload> {
        None
    }
}

/// What became of frames that a port passed on to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    pub arrived: u64,
    pub forwarded: u64,
    pub forwarded_bytes: u64,
    /// Longer than the other port takes.
    pub too_long: u64,
    /// The other port had no link.
    pub down: u64,
}

/// One instruction of classic BPF, as the kernel and libpcap lay it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    pub code: u16,
    pub jt: u8,
    pub jf: u8,
    pub k: u32,
}

/// Frames made where they leave: the engine says what and when, and the port does the rest. A call takes as
/// long as the load: the engine's thread watches it, and hears its exact totals while it goes on.
pub trait Offload: Send {
    /// Takes the frames that are to be made. In signatures, number n of queue i of k is n · k + i: of all
    /// queues together there are no holes.
    ///
    /// # Errors
    /// `Unavailable` names the field that cannot be varied in the port.
    fn prepare(&mut self, template: &wire::Template) -> Result<(), PortError>;

    /// Makes frames `first..first + most` of the template's sequence. Returns when they have left, or `until`
    /// is over, or `stop` was set, or `watch` said `Next::Stop`, whichever is first; nothing leaves after it
    /// has returned. A call has a cost of its own (tens of milliseconds), so ask for everything at once.
    ///
    /// `watch` is called about every five milliseconds with the totals of this call so far. Another thread
    /// calls it: the one that called `make` does the work, so that its CPU time is what the frames cost.
    ///
    /// # Errors
    /// `Gone`, `Down`, `System`, and `Unavailable` if the driver refuses every frame. `watch` hears the last
    /// totals before.
    fn make(
        &mut self,
        order: &Order<'_>,
        watch: &mut (dyn FnMut(&Made) -> Next + Send),
    ) -> Result<Made, PortError>;
}

/// What an offload shall make.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    pub first: u64,
    pub most: u64,
    /// Frame `first + n` is due `n · per / events` after the origin; `None` is as fast as it goes.
    pub rate: Option<units::Rate>,
    /// CLOCK_MONOTONIC nanoseconds at which frame `first` is due (with a rate).
    pub origin_monotonic_ns: u64,
    /// CLOCK_MONOTONIC nanoseconds at which nothing more shall leave.
    pub until_monotonic_ns: Option<u64>,
    /// Set by another thread: ends the call promptly.
    pub stop: &'a std::sync::atomic::AtomicBool,
}

/// What shall become of a call that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Go,
    Stop,
    /// From now on at this rate: the first frame after the change is due at `origin_monotonic_ns`, those after
    /// it at even gaps.
    Rate {
        rate: Option<units::Rate>,
        origin_monotonic_ns: u64,
    },
}

/// What an offload made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Frames handed to the driver, which are `first..first + frames`.
    pub frames: u64,
    pub bytes: u64,
    /// Of these, how many the driver refused.
    pub refused: u64,
    /// Frames since the last change of the rate (of this call, if there was none).
    pub since_change: u64,
    /// Nanoseconds in which nothing was made, because a change of the rate put frames into other groups.
    pub stood_ns: u64,
    /// Lateness of frames where there is a rate: bucket 0 counts those less than 2 ns late, bucket i those in
    /// [2^i, 2^(i+1)) ns.
    pub lateness_log2_ns: Vec<u64>,
    /// How far the gaps between these frames were from those that were asked for, when they were made.
    pub gap_errors: GapErrors,
}

/// |gap − requested gap| of frames with due times, one after another. (The first after a change of the rate has
/// no gap.)
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GapErrors {
    /// Bucket 0 counts those below 2 ns, bucket i those in [2^i, 2^(i+1)) ns.
    pub log2_ns: Vec<u64>,
    pub sum_ns: u64,
    pub max_ns: u64,
}

impl GapErrors {
    pub fn count(&self) -> u64 {
        self.log2_ns.iter().sum()
    }

    /// Adds those of another stretch.
    pub fn add(&mut self, other: &Self) {
        self.log2_ns.resize(self.log2_ns.len().max(other.log2_ns.len()), 0);
        self.log2_ns.iter_mut().zip(&other.log2_ns).for_each(|(into, from)| *into += from);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Not more than this in so many millionths of all: the upper end of a power of two, or the greatest there
    /// was.
    pub fn at_most_ns(&self, millionths: u64) -> u64 {
        let wanted = (u128::from(self.count()) * u128::from(millionths)).div_ceil(1_000_000);
        let mut sum = 0;
        let reaches = |count: &u64| {
            sum += u128::from(*count);
            sum >= wanted
        };
        let bucket = self.log2_ns.iter().position(reaches).unwrap_or(0);
        (2u64 << bucket.min(62)).min(self.max_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::GapErrors;

    #[test]
    fn percentiles_of_gap_errors_are_never_less_than_they_were() {
        // 0, 1, 3, 3, 5, 9, 9, 9, 9 and 700 ns: the fifth of ten is 5 (below 8), the ninth 9 (below 16), the
        // last 700.
        let mut errors = GapErrors { log2_ns: vec![2, 2, 1], sum_ns: 12, max_ns: 5 };
        let mut others = vec![0; 10];
        (others[3], others[9]) = (4, 1);
        errors.add(&GapErrors { log2_ns: others, sum_ns: 736, max_ns: 700 });
        assert_eq!((errors.count(), errors.sum_ns, errors.max_ns), (10, 748, 700));
        assert_eq!([200_000, 500_000, 900_000, 990_000].map(|m| errors.at_most_ns(m)), [2, 8, 16, 700]);
        assert_eq!(GapErrors::default().at_most_ns(500_000), 0);
    }
}
