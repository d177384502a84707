//! Made from spec/tcp.toml by spec/tcp.py; changes belong there.

/// The state of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum State {
    /// No connection; the record keeps only the last sequence number.
    #[default]
    Closed = 0,
    /// SYN sent, waiting for SYN+ACK.
    SynSent = 1,
    /// Open in both directions.
    Established = 2,
    /// This side closed first; its FIN is not acknowledged.
    FinWait1 = 3,
    /// FIN acknowledged, waiting for the peer's.
    FinWait2 = 4,
    /// Both sides closed; this side's FIN is not acknowledged.
    Closing = 5,
    /// The peer closed first; this side's FIN follows at once and is not acknowledged.
    LastAck = 6,
    /// Both sides closed; repeated FINs are acknowledged.
    TimeWait = 7,
}

/// Bits of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u16);

impl Flags {
    /// Had a life before: snd_una is its last number.
    pub const LIVED: Self = Self(1 << 0);
    /// Deadline is set.
    pub const TIMED: Self = Self(1 << 1);
    /// It is for a window probe.
    pub const PERSIST: Self = Self(1 << 2);
    /// Limit is set.
    pub const LIMITED: Self = Self(1 << 3);
    /// A request waits for its response.
    pub const ASKED: Self = Self(1 << 4);
    /// FIN follows the request.
    pub const FIN_DUE: Self = Self(1 << 5);
    /// FIN was sent and is not acknowledged.
    pub const FIN_OUT: Self = Self(1 << 6);
    /// What is in flight was sent twice: no round-trip time from it (Karn).
    pub const RETRANSMITTED: Self = Self(1 << 7);
    /// The SYN was sent twice, and no round-trip time is known yet.
    pub const SYN_REPEATED: Self = Self(1 << 8);
    /// An acknowledgment is owed by ack_by.
    pub const ACK_DUE: Self = Self(1 << 9);
    /// It is owed at the end of the batch.
    pub const ACK_NOW: Self = Self(1 << 10);
    /// The out-of-order interval ends with FIN.
    pub const OOO_FIN: Self = Self(1 << 11);
    /// Timestamps are in use.
    pub const STAMPED: Self = Self(1 << 12);
    /// Selective acknowledgments are in use.
    pub const SACK: Self = Self(1 << 13);
    /// Window scaling is in use.
    pub const SCALED: Self = Self(1 << 14);
    /// Challenged is set.
    pub const CHALLENGE: Self = Self(1 << 15);

    /// All of them, by bit, with the names that the specification gives.
    pub const ALL: [(&'static str, Self); 16] = [
        ("lived", Self::LIVED),
        ("timed", Self::TIMED),
        ("persist", Self::PERSIST),
        ("limited", Self::LIMITED),
        ("asked", Self::ASKED),
        ("fin_due", Self::FIN_DUE),
        ("fin_out", Self::FIN_OUT),
        ("retransmitted", Self::RETRANSMITTED),
        ("syn_repeated", Self::SYN_REPEATED),
        ("ack_due", Self::ACK_DUE),
        ("ack_now", Self::ACK_NOW),
        ("ooo_fin", Self::OOO_FIN),
        ("stamped", Self::STAMPED),
        ("sack", Self::SACK),
        ("scaled", Self::SCALED),
        ("challenge", Self::CHALLENGE),
    ];

    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// Times in milliseconds.
pub mod timer {
    /// Retransmission timeout without a round-trip time (RFC 6298, 2.1).
    pub const RTO_FIRST: u32 = 1000;
    /// The same after a repeated SYN (RFC 6298, 5.7).
    pub const RTO_AFTER_SYN: u32 = 3000;
    /// Least variance term: RTO = SRTT + max(200 ms, 4 RTTVAR), as Linux.
    pub const RTO_LEAST: u32 = 200;
    /// Greatest retransmission timeout, as Linux.
    pub const RTO_MOST: u32 = 120_000;
    /// Most that an acknowledgment waits for more data (RFC 9293: less than 500).
    pub const ACK_DELAY: u32 = 40;
    /// Most that it waits for the next request after a whole response.
    pub const ACK_ANSWERED: u32 = 1;
    /// Least time between challenge ACKs of a connection, as Linux.
    pub const CHALLENGE_GAP: u32 = 500;
    /// TIME_WAIT keeps the record; after it the port is in quarantine (deviates: 2 MSL).
    pub const TIME_WAIT: u32 = 1000;
    /// Patience for the peer's part of closing, as Linux.
    pub const FIN_TIMEOUT: u32 = 60_000;
}

/// Numbers that bound what is believed and sent.
pub mod limit {
    /// Doublings: 200 ms becomes more than rto_most.
    pub const BACKOFF_MOST: u32 = 10;
    /// R1: the owner is told after this many retransmissions (RFC 9293: at least 3).
    pub const SLOW_RETRIES: u32 = 3;
    /// Smaller MSS options count as this, as Linux.
    pub const LEAST_PEER_MSS: u32 = 48;
    /// ICMP cannot lower the MSS below this, as Linux (552 bytes of IPv4).
    pub const LEAST_PATH_MSS: u32 = 512;
    /// Greatest window scale (RFC 7323, 2.3).
    pub const GREATEST_SHIFT: u32 = 14;
    /// Bytes of the timestamp option, padded.
    pub const STAMP_ROOM: u32 = 12;
    /// Bytes of one SACK block, padded.
    pub const SACK_ROOM: u32 = 12;
    /// Longer patience counts as this (ms; 11 days): times are compared modulo 2^32.
    pub const PATIENCE_MOST: u32 = 1_000_000_000;
    /// Least distance of a new life's ISN from the last life's numbers, if the clock gives none.
    pub const ISN_STEP: u32 = 65_536;
}
