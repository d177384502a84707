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
    fn what_is_missing_at_the_generator_is_its_own_fault() {
        let own: Vec<_> =
            Miss::ALL.iter().filter(|miss| miss.is_generators()).map(|miss| miss.key()).collect();
        let expected = ["no_port", "no_descriptor", "no_memory", "not_reached", "port_full", "receiver_full"];
        assert_eq!(own, expected.map(|key| format!("missed.{key}")));
    }
}
