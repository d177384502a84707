//! Records passed between crates, and the `Record` trait.
//!
//! ```text
//! schedule ── Departure ──► engine ── Event ──► measure
//!
//!   due ──► (blocked) ──► (own lateness) ──► sent ──► first_byte ──► (readable) ──► done
//!    └──────────── lateness ─────────────────┘└─────────────── service ──────────────┘
//!    └──────────────────────────── latency (gross) ──────────────────────────────────┘
//!                                                                      └── unread ───┘
//!   tare = own lateness + unread          net = gross − tare
//! ```

use crate::bytes::Bytes;
use crate::engine_counters::EngineCounters;
use crate::picos::{Instant, Picos};

/// One thing that shall leave at one time. Made by `schedule`, carried out by an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Position in the whole schedule, from 0; unique over all shares.
    pub seq: u64,
    /// When it shall leave.
    pub due: Instant,
}

/// What became of one departure. Fixed size, `Copy`, no strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub seq: u64,
    /// When it should have left: from the schedule (open loop), or when its connection became free (closed
    /// loop).
    pub due: Instant,
    /// When the generator first acted on the wire for it: `connect()` if a connection had to be opened,
    /// otherwise the first write. `Instant::FAR` if it never left.
    pub sent: Instant,
    /// When the first byte of the answer was read; `Instant::FAR` if none was.
    pub first_byte: Instant,
    /// When the outcome was known.
    pub done: Instant,
    /// Bytes of HTTP (before TLS) written and read for it, heads included.
    pub bytes_out: Bytes,
    pub bytes_in: Bytes,
    pub outcome: Outcome,
    /// The part of `sent − due` in which the plan's own limit on connections held it back: the target's
    /// slowness, not the generator's lateness.
    pub blocked: Picos,
    /// How long the last byte of the answer lay unread in this machine, by the kernel's receive stamp: the
    /// generator's own delay after the target was done. Delays in reading what a new connection needed first
    /// (proxy, handshake) are added.
    pub unread: Picos,
    /// How much longer the generator may have delayed the answer, where no stamp tells: at worst this, perhaps
    /// nothing.
    pub unread_bound: Picos,
    /// Which name or URL group it counts for.
    pub group: Group,
}

impl Event {
    /// `done − due`: the gross time.
    #[inline]
    pub fn latency(&self) -> Picos {
        self.done.since(self.due)
    }
    /// `done − sent`.
    #[inline]
    pub fn service(&self) -> Picos {
        self.done.since(self.sent)
    }
    /// `sent − due`; `None` if it never left.
    #[inline]
    pub fn lateness(&self) -> Option<Picos> {
        (self.sent != Instant::FAR).then(|| self.sent.since(self.due))
    }
    /// The part of the lateness that is the generator's own: `sent − due − blocked`.
    #[inline]
    pub fn own_lateness(&self) -> Option<Picos> {
        self.lateness().map(|lateness| lateness - self.blocked)
    }
    /// What the generator itself took of the gross time: its own lateness and the time that the answer lay
    /// unread. What is merely bounded is no part of it.
    #[inline]
    pub fn tare(&self) -> Picos {
        (self.own_lateness().unwrap_or(Picos::ZERO) + self.unread).min(self.latency())
    }
    /// `gross − tare`: what the target and the network took.
    #[inline]
    pub fn net(&self) -> Picos {
        self.latency() - self.tare()
    }
}

/// Index of a name or URL group; the last of a table stands for "other".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Group(pub u16);

impl Group {
    /// Names that figures are kept for; where there are more, the last group is [`Group::OTHER`].
    pub const MOST_NAMES: usize = 63;
    /// The name of the group that has the requests of all further names.
    pub const OTHER: &'static str = "other";

    /// Whether the last of these groups has the requests of further names.
    pub fn are_folded<'a>(mut names: impl ExactSizeIterator<Item = &'a str>) -> bool {
        names.len() == Self::MOST_NAMES + 1 && names.nth(Self::MOST_NAMES) == Some(Self::OTHER)
    }
}

/// How a departure ended. Every departure ends as exactly one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// A complete answer with this status code (100–999), whatever the code.
    Status(u16),
    /// A frame came to the end that was meant for it.
    Frame(Fate),
    /// It left, and no acceptable answer came.
    Failed(Cause),
    /// It never left.
    Missed(Miss),
    /// It was on its way when the run ended.
    CutOff,
}

/// Where in its life a request was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    Lookup,
    Connect,
    Tls,
    /// From the first act of connecting until a request may be sent: connect, proxy and handshake together.
    Ready,
    Send,
    FirstByte,
    Body,
}

macro_rules! keyed {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $key:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $variant,)+ }

        impl $name {
            /// Every value, in the order of their indices.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The key in `result.json`.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$variant => $key,)+ }
            }
            /// Position in `ALL`.
            pub const fn index(self) -> usize {
                self as usize
            }
        }
    };
}

keyed! {
    /// Why a request that left has no acceptable answer.
    Cause {
        /// The name could not be resolved.
        Lookup = "lookup.failed",
        LookupTimeout = "lookup.timeout",
        ConnectRefused = "connect.refused",
        ConnectReset = "connect.reset",
        ConnectUnreachable = "connect.unreachable",
        ConnectTimeout = "connect.timeout",
        ConnectOther = "connect.other",
        /// The proxy answered CONNECT with something other than 2xx.
        ProxyRefused = "connect.proxy",
        /// A TLS alert was received.
        TlsAlert = "tls.alert",
        /// The target's certificate is not trusted, has expired or has another name.
        TlsCertificate = "tls.certificate",
        TlsProtocol = "tls.protocol",
        TlsClosed = "tls.closed",
        TlsTimeout = "tls.timeout",
        SendReset = "send.reset",
        SendTimeout = "send.timeout",
        FirstByteReset = "first_byte.reset",
        FirstByteClosed = "first_byte.closed",
        FirstByteTimeout = "first_byte.timeout",
        BodyReset = "body.reset",
        /// The connection closed before the body was complete.
        BodyClosed = "body.closed",
        BodyTimeout = "body.timeout",
        FramingHead = "framing.head",
        FramingHeadTooLarge = "framing.head_too_large",
        FramingLength = "framing.length",
        FramingChunk = "framing.chunk",
        /// Bytes came that no request asked for.
        FramingUnasked = "framing.unasked",
        /// TLS ended without a word before a body that only its end delimits.
        BodyTruncated = "body.truncated",
        /// It was pipelined behind another request with which the target closed the connection, and may not be
        /// sent twice.
        PipelineClosed = "pipeline.closed",
        /// The target had closed the idle connection before the request came, which may not be sent twice.
        ReuseClosed = "reuse.closed",
        ExpectStatus = "expect.status",
        ExpectBody = "expect.body",
        ExpectChecksum = "expect.checksum",
        RedirectLimit = "redirect.limit",
        RedirectBad = "redirect.bad",
        /// A redirect led to https where TLS could not be made ready.
        RedirectTls = "redirect.tls",
        SocketOther = "socket.other",
        /// The interface was down or gone.
        LinkDown = "link.down",
        /// The port took the frame and the kernel or driver then refused it.
        PortRefused = "port.refused",
        /// Longer than the interface takes.
        FrameTooLong = "frame.too_long",
    }
}

keyed! {
    /// Why a departure never left.
    Miss {
        /// Every connection that the plan allows was busy for too long.
        NoConnection = "missed.no_connection",
        /// No local port was free (EADDRNOTAVAIL).
        NoPort = "missed.no_port",
        /// No descriptor was free (EMFILE, ENFILE).
        NoDescriptor = "missed.no_descriptor",
        /// No memory for a socket (ENOBUFS, ENOMEM).
        NoMemory = "missed.no_memory",
        /// The generator did not get to it before the run ended.
        NotReached = "missed.not_reached",
        /// The line of the URL file is not a request; the numbers of the first are in the result.
        BadLine = "missed.bad_line",
        /// The URL file shrank under the run.
        SourceLost = "missed.source_lost",
        /// The port had no room for the frame until the run ended.
        PortFull = "missed.port_full",
        /// A frame that arrived and was lost before the program saw it: the receiver was too slow.
        ReceiverFull = "missed.receiver_full",
    }
}

keyed! {
    /// How a frame ended well.
    Fate {
        /// Handed over to the port, which is all that is known of it.
        Sent = "sent",
        Received = "received",
        Forwarded = "forwarded",
        /// A rule of the firewall let it go no further.
        Filtered = "filtered",
    }
}

impl Cause {
    /// Whether the request was given up because it took too long.
    #[inline]
    pub const fn is_time_out(self) -> bool {
        matches!(
            self,
            Self::LookupTimeout
                | Self::ConnectTimeout
                | Self::TlsTimeout
                | Self::SendTimeout
                | Self::FirstByteTimeout
                | Self::BodyTimeout
        )
    }
}

impl Miss {
    /// Whether there was no request to send at all.
    #[inline]
    pub const fn is_no_request(self) -> bool {
        matches!(self, Self::BadLine | Self::SourceLost)
    }
    /// Whether the generator's own limits were the reason, not the plan's or the target's.
    #[inline]
    pub const fn is_generators(self) -> bool {
        matches!(
            self,
            Self::NoPort
                | Self::NoDescriptor
                | Self::NoMemory
                | Self::NotReached
                | Self::PortFull
                | Self::ReceiverFull
        )
    }
}

/// Where an engine thread puts what it learns. One per thread; nothing here locks or allocates.
pub trait Record {
    /// A departure ended.
    fn event(&mut self, event: &Event);
    /// `count` departures never left for the same reason; for the rest of a schedule that ends early.
    fn missed(&mut self, why: Miss, count: u64);
    /// The same of requests that had been due for `had` at least: their answers would have taken longer.
    fn given_up(&mut self, why: Miss, count: u64, _had: Picos) {
        self.missed(why, count);
    }
    /// `count` frames ended like this at once, in the same call: for loads without due times, where there is
    /// nothing to be said of each. They count in the interval that is open.
    fn frames(&mut self, fate: Fate, count: u64, bytes: Bytes);
    /// A phase of a connection's life took this long (`Lookup`, `Connect`, `Tls` and `Ready`
    /// are kept, and `FirstByte` of a connection's first request: from `Ready` until the first byte).
    fn phase(&mut self, phase: Phase, took: Picos);
    /// The gap before a frame that arrived was so far from the one that was asked for. Of frames that leave,
    /// gaps are known from their events.
    fn gap_error(&mut self, _error: Picos) {}
    /// The engine's loop stood still for this long from `at` on, though it had neither work for it nor meant to
    /// wait.
    fn pause(&mut self, _at: Instant, _length: Picos) {}
    /// Called once a round: hands the interval over when it is over.
    fn tick(&mut self, now: Instant, counters: &EngineCounters);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_splits_into_blocked_and_own() {
        let at = |nanos| Instant::EPOCH + Picos::from_nanos(nanos);
        let event = Event {
            seq: 0,
            due: at(100),
            sent: at(350),
            first_byte: at(500),
            done: at(700),
            bytes_out: Bytes::ZERO,
            bytes_in: Bytes::ZERO,
            outcome: Outcome::Status(200),
            blocked: Picos::from_nanos(200),
            unread: Picos::from_nanos(30),
            unread_bound: Picos::ZERO,
            group: Group(0),
        };
        assert_eq!(event.latency().as_nanos(), 600);
        assert_eq!(event.service().as_nanos(), 350);
        assert_eq!(event.lateness().unwrap().as_nanos(), 250);
        assert_eq!(event.own_lateness().unwrap().as_nanos(), 50);
        assert_eq!((event.tare().as_nanos(), event.net().as_nanos()), (80, 520));
        let never = Event { sent: Instant::FAR, ..event };
        assert_eq!(never.lateness(), None);
    }

    #[test]
    fn keys_are_unique_and_indices_match() {
        let keys: std::collections::HashSet<_> =
            Cause::ALL.iter().map(|c| c.key()).chain(Miss::ALL.iter().map(|m| m.key())).collect();
        assert_eq!(keys.len(), Cause::ALL.len() + Miss::ALL.len());
        assert!(Cause::ALL.iter().enumerate().all(|(i, c)| c.index() == i));
        assert!(Miss::ALL.iter().enumerate().all(|(i, m)| m.index() == i));
    }

    #[test]
    fn names_are_folded_if_the_last_of_one_too_many_is_other() {
        let names = |count: usize, last: &'static str| {
            let names = std::iter::repeat_n("name", count - 1).chain([last]).collect::<Vec<_>>();
            Group::are_folded(names.into_iter())
        };
        assert!(names(64, "other"));
        assert!(!names(64, "name") && !names(63, "other") && !names(65, "other"));
        assert!(!Group::are_folded(std::iter::empty()));
    }

    #[test]
    fn what_is_missing_at_the_generator_is_its_own_fault() {
        let own: Vec<_> =
            Miss::ALL.iter().filter(|miss| miss.is_generators()).map(|miss| miss.key()).collect();
        let expected = ["no_port", "no_descriptor", "no_memory", "not_reached", "port_full", "receiver_full"];
        assert_eq!(own, expected.map(|key| format!("missed.{key}")));
    }
}
