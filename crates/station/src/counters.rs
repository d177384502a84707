//! What a station counted.

macro_rules! bad {
    ($($(#[$doc:meta])* $name:ident = $key:literal,)+) => {
        /// Why a frame to an address of ours was not used.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Bad { $($(#[$doc])* $name,)+ }

        impl Bad {
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The key in results.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$name => $key,)+ }
            }
        }
    };
}

bad! {
    /// The frame was cut off when it was captured.
    CutOff = "cut_off",
    /// A version, a header's length or a length that contradicts the rest.
    Header = "header",
    /// The lengths in the headers exceed the bytes, or say nothing (a merged frame of more than 64 KiB).
    Length = "length",
    /// A part of a packet.
    Fragment = "fragment",
    /// IPv6 extension headers that are not skipped.
    Extension = "extension",
    IpChecksum = "ip_checksum",
    TcpChecksum = "tcp_checksum",
    IcmpChecksum = "icmp_checksum",
    /// An ICMP error that quotes no segment of ours.
    Quote = "quote",
    /// ARP or neighbour discovery that contradicts its standard.
    Neighbour = "neighbour",
}

const CAUSES: usize = Bad::ALL.len();

/// Totals since the station began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// TCP segments to addresses of ours.
    pub segments: u64,
    /// Of these: without verification, as the sending host left the checksum to its card.
    pub unfinished: u64,
    /// Of these: longer than the MTU, as a host on the way merged them.
    pub merged: u64,
    /// ICMP errors about segments of ours.
    pub errors: u64,
    /// ARP and NDP requests to us, and replies to our questions.
    pub asked: u64,
    pub told: u64,
    /// Echo requests that were answered.
    pub echoes: u64,
    /// Requests without a reply, as there were too many in a second.
    pub limited: u64,
    /// Questions of ours that went out.
    pub questions: u64,
    /// Addresses that did not answer.
    pub unanswered: u64,
    /// Neighbours whose MAC address changed.
    pub moved: u64,
    /// Frames from others that say to have an address of ours.
    pub conflicts: u64,
    /// Neighbours that were not learned as there are too many.
    pub crowded: u64,
    /// Frames to others.
    pub others: u64,
    bad: [u64; CAUSES],
}

impl Counters {
    /// Frames that were not used for that reason.
    pub const fn bad(&self, cause: Bad) -> u64 {
        self.bad[cause as usize]
    }

    /// All but bad frames, by their names in results.
    pub fn named(&self) -> [(&'static str, u64); 14] {
        [
            ("segments", self.segments),
            ("unfinished", self.unfinished),
            ("merged", self.merged),
            ("errors", self.errors),
            ("asked", self.asked),
            ("told", self.told),
            ("echoes", self.echoes),
            ("limited", self.limited),
            ("questions", self.questions),
            ("unanswered", self.unanswered),
            ("moved", self.moved),
            ("conflicts", self.conflicts),
            ("crowded", self.crowded),
            ("others", self.others),
        ]
    }

    /// All causes that there were, with their counts.
    pub fn all_bad(&self) -> impl Iterator<Item = (Bad, u64)> + '_ {
        Bad::ALL.iter().map(|cause| (*cause, self.bad(*cause))).filter(|(_, count)| *count > 0)
    }

    /// One more frame that was not used.
    pub fn count_bad(&mut self, cause: Bad) {
        self.bad[cause as usize] += 1;
    }
}
