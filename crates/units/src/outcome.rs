//! How departures end: outcomes, and the causes, reasons and fates in them.

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
            /// The one that has this key.
            pub fn of_key(key: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.key() == key)
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
        /// The TLS session broke, or was ended by an alert, after its handshake.
        FirstByteTls = "first_byte.tls",
        BodyReset = "body.reset",
        /// The connection closed before the body was complete.
        BodyClosed = "body.closed",
        BodyTimeout = "body.timeout",
        BodyTls = "body.tls",
        FramingHead = "framing.head",
        FramingHeadTooLarge = "framing.head_too_large",
        FramingLength = "framing.length",
        FramingChunk = "framing.chunk",
        /// Bytes came that no request asked for.
        FramingUnasked = "framing.unasked",
        /// The FPGA module received a part of the response's head ahead of what comes before it.
        FramingHole = "framing.hole",
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
        /// The port was to let the frame go at a time that was over when its turn came.
        PortLate = "port.late",
        /// Longer than the interface takes.
        FrameTooLong = "frame.too_long",
    }
}

keyed! {
    /// The part of its life in which a request failed: what the keys of causes begin with.
    CausePart {
        Lookup = "lookup",
        Connect = "connect",
        Tls = "tls",
        Send = "send",
        FirstByte = "first_byte",
        Body = "body",
        Framing = "framing",
        Pipeline = "pipeline",
        Reuse = "reuse",
        Expect = "expect",
        Redirect = "redirect",
        Socket = "socket",
        Link = "link",
        Port = "port",
        Frame = "frame",
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

keyed! {
    /// The ways in which departures end, as results name them.
    OutcomeClass {
        Status = "status",
        Frame = "frame",
        Error = "error",
        Missed = "missed",
        CutOff = "cut_off",
    }
}

impl Outcome {
    pub const fn class(self) -> OutcomeClass {
        match self {
            Self::Status(_) => OutcomeClass::Status,
            Self::Frame(_) => OutcomeClass::Frame,
            Self::Failed(_) => OutcomeClass::Error,
            Self::Missed(_) => OutcomeClass::Missed,
            Self::CutOff => OutcomeClass::CutOff,
        }
    }

    /// The status code, fate, cause or reason, as results have it.
    pub const fn key(self) -> OutcomeKey {
        OutcomeKey(self)
    }

    /// What a result means by a class and a key; `None` if this version does not know it.
    pub fn of_key(class: OutcomeClass, key: &str) -> Option<Self> {
        match class {
            OutcomeClass::Status => key.parse().ok().map(Self::Status),
            OutcomeClass::Frame => Fate::of_key(key).map(Self::Frame),
            OutcomeClass::Error => Cause::of_key(key).map(Self::Failed),
            OutcomeClass::Missed => Miss::of_key(key).map(Self::Missed),
            OutcomeClass::CutOff => Some(Self::CutOff),
        }
    }
}

/// The key of an outcome: `200`, `sent`, `connect.refused`, `missed.no_port`, `cut_off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutcomeKey(Outcome);

impl std::fmt::Display for OutcomeKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Outcome::Status(code) => write!(f, "{code}"),
            Outcome::Frame(fate) => f.write_str(fate.key()),
            Outcome::Failed(cause) => f.write_str(cause.key()),
            Outcome::Missed(why) => f.write_str(why.key()),
            Outcome::CutOff => f.write_str(OutcomeClass::CutOff.key()),
        }
    }
}

impl Cause {
    /// The part of a request's life in which it failed.
    #[inline]
    pub const fn part(self) -> CausePart {
        match self {
            Self::Lookup | Self::LookupTimeout => CausePart::Lookup,
            Self::ConnectRefused
            | Self::ConnectReset
            | Self::ConnectUnreachable
            | Self::ConnectTimeout
            | Self::ConnectOther
            | Self::ProxyRefused => CausePart::Connect,
            Self::TlsAlert
            | Self::TlsCertificate
            | Self::TlsProtocol
            | Self::TlsClosed
            | Self::TlsTimeout => CausePart::Tls,
            Self::SendReset | Self::SendTimeout => CausePart::Send,
            Self::FirstByteReset | Self::FirstByteClosed | Self::FirstByteTimeout | Self::FirstByteTls => {
                CausePart::FirstByte
            }
            Self::BodyReset | Self::BodyClosed | Self::BodyTimeout | Self::BodyTls | Self::BodyTruncated => {
                CausePart::Body
            }
            Self::FramingHead
            | Self::FramingHeadTooLarge
            | Self::FramingLength
            | Self::FramingChunk
            | Self::FramingUnasked
            | Self::FramingHole => CausePart::Framing,
            Self::PipelineClosed => CausePart::Pipeline,
            Self::ReuseClosed => CausePart::Reuse,
            Self::ExpectStatus | Self::ExpectBody | Self::ExpectChecksum => CausePart::Expect,
            Self::RedirectLimit | Self::RedirectBad | Self::RedirectTls => CausePart::Redirect,
            Self::SocketOther => CausePart::Socket,
            Self::LinkDown => CausePart::Link,
            Self::PortRefused | Self::PortLate => CausePart::Port,
            Self::FrameTooLong => CausePart::Frame,
        }
    }

    /// Whether a name was looked up, a connection opened or a handshake made: no request could be sent yet.
    #[inline]
    pub const fn is_before_a_request(self) -> bool {
        matches!(self.part(), CausePart::Lookup | CausePart::Connect | CausePart::Tls)
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_indices_match() {
        let keys: std::collections::HashSet<_> =
            Cause::ALL.iter().map(|c| c.key()).chain(Miss::ALL.iter().map(|m| m.key())).collect();
        assert_eq!(keys.len(), Cause::ALL.len() + Miss::ALL.len());
        assert!(Cause::ALL.iter().enumerate().all(|(i, c)| c.index() == i));
        assert!(Miss::ALL.iter().enumerate().all(|(i, m)| m.index() == i));
    }

    #[test]
    fn every_key_is_read_as_what_it_was_written_for() {
        assert!(Cause::ALL.iter().all(|cause| Cause::of_key(cause.key()) == Some(*cause)));
        assert!(Miss::ALL.iter().all(|miss| Miss::of_key(miss.key()) == Some(*miss)));
        assert!(Fate::ALL.iter().all(|fate| Fate::of_key(fate.key()) == Some(*fate)));
        assert!(CausePart::ALL.iter().all(|part| CausePart::of_key(part.key()) == Some(*part)));
        assert!(OutcomeClass::ALL.iter().all(|class| OutcomeClass::of_key(class.key()) == Some(*class)));
        let causes = Cause::ALL.iter().map(|cause| Outcome::Failed(*cause));
        let misses = Miss::ALL.iter().map(|miss| Outcome::Missed(*miss));
        let fates = Fate::ALL.iter().map(|fate| Outcome::Frame(*fate));
        let codes = [100, 200, 999].map(Outcome::Status);
        for outcome in causes.chain(misses).chain(fates).chain(codes).chain([Outcome::CutOff]) {
            assert_eq!(Outcome::of_key(outcome.class(), &outcome.key().to_string()), Some(outcome));
        }
        for (class, key) in [
            (OutcomeClass::Status, ""),
            (OutcomeClass::Error, "connect"),
            (OutcomeClass::Error, "missed.no_port"),
            (OutcomeClass::Missed, ""),
        ] {
            assert_eq!(Outcome::of_key(class, key), None, "{key}");
        }
    }

    #[test]
    fn a_causes_key_begins_with_its_part_and_a_timeouts_ends_so() {
        for cause in Cause::ALL {
            let (part, how) = cause.key().split_once('.').unwrap();
            assert_eq!((part, how == "timeout"), (cause.part().key(), cause.is_time_out()), "{cause:?}");
        }
        assert!(CausePart::ALL.iter().all(|part| Cause::ALL.iter().any(|cause| cause.part() == *part)));
    }

    #[test]
    fn what_is_missing_at_the_generator_is_its_own_fault() {
        let own: Vec<_> =
            Miss::ALL.iter().filter(|miss| miss.is_generators()).map(|miss| miss.key()).collect();
        let expected = ["no_port", "no_descriptor", "no_memory", "not_reached", "port_full", "receiver_full"];
        assert_eq!(own, expected.map(|key| format!("missed.{key}")));
    }
}
