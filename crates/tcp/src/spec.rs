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
pub struct Flags([u8; 3]);

impl Flags {
    /// Had a life before: snd_una is its last number.
    pub const LIVED: Self = Self::of(1 << 0);
    /// Deadline is set.
    pub const TIMED: Self = Self::of(1 << 1);
    /// It is for a window probe.
    pub const PERSIST: Self = Self::of(1 << 2);
    /// Limit is set.
    pub const LIMITED: Self = Self::of(1 << 3);
    /// A request waits for its response.
    pub const ASKED: Self = Self::of(1 << 4);
    /// FIN follows the request.
    pub const FIN_DUE: Self = Self::of(1 << 5);
    /// FIN was sent and is not acknowledged.
    pub const FIN_OUT: Self = Self::of(1 << 6);
    /// What is in flight was sent twice: no round-trip time from it (Karn).
    pub const RETRANSMITTED: Self = Self::of(1 << 7);
    /// The SYN was sent twice, and no round-trip time is known yet.
    pub const SYN_REPEATED: Self = Self::of(1 << 8);
    /// An acknowledgment is owed by ack_by.
    pub const ACK_DUE: Self = Self::of(1 << 9);
    /// It is owed at the end of the batch.
    pub const ACK_NOW: Self = Self::of(1 << 10);
    /// The out-of-order interval, of several the last one, ends with FIN.
    pub const OOO_FIN: Self = Self::of(1 << 11);
    /// Timestamps are in use.
    pub const STAMPED: Self = Self::of(1 << 12);
    /// Selective acknowledgments are in use.
    pub const SACK: Self = Self::of(1 << 13);
    /// Window scaling is in use.
    pub const SCALED: Self = Self::of(1 << 14);
    /// Challenged is set.
    pub const CHALLENGE: Self = Self::of(1 << 15);
    /// Of several segments in flight, the first is acknowledged: no round-trip time from the others.
    pub const UNTIMED: Self = Self::of(1 << 16);
    /// The owner takes nothing: the window that is announced is 0.
    pub const SHUT: Self = Self::of(1 << 17);
    /// Another segment may leave at the end of the batch.
    pub const MORE: Self = Self::of(1 << 18);
    /// The first response is not whole, and the path is quick: text is acknowledged at the end of its batch.
    pub const QUICK: Self = Self::of(1 << 19);

    /// All of them, by bit, with the names that the specification gives.
    pub const ALL: [(&'static str, Self); 20] = [
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
        ("untimed", Self::UNTIMED),
        ("shut", Self::SHUT),
        ("more", Self::MORE),
        ("quick", Self::QUICK),
    ];

    pub const fn contains(self, other: Self) -> bool {
        self.bits() & other.bits() == other.bits()
    }

    pub const fn with(self, other: Self) -> Self {
        Self::of(self.bits() | other.bits())
    }

    pub const fn without(self, other: Self) -> Self {
        Self::of(self.bits() & !other.bits())
    }

    const fn of(bits: u32) -> Self {
        let [a, b, c, _] = bits.to_le_bytes();
        Self([a, b, c])
    }

    const fn bits(self) -> u32 {
        u32::from_le_bytes([self.0[0], self.0[1], self.0[2], 0])
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
    /// Longest that an acknowledgment waits for more data (RFC 9293: less than 500).
    pub const ACK_DELAY: u32 = 40;
    /// Longest that it waits for the next request after a complete response.
    pub const ACK_ANSWERED: u32 = 1;
    /// Least time between challenge ACKs of a connection, as Linux.
    pub const CHALLENGE_GAP: u32 = 500;
    /// TIME_WAIT; then the port is in quarantine (RFC 9293: 2 MSL).
    pub const TIME_WAIT: u32 = 1000;
    /// Patience for the peer's part of closing, as Linux.
    pub const FIN_TIMEOUT: u32 = 60_000;
}

/// Numbers that bound what is believed and sent.
pub mod limit {
    /// Most doublings of the timeout: 200 ms becomes more than rto_most.
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
    /// Bytes of each further block; with timestamps three fit, else four.
    pub const SACK_BLOCK: u32 = 8;
    /// Most out-of-order intervals of a connection whose owner keeps those beyond the first.
    pub const INTERVALS: u32 = 32;
    /// Most intervals that the text of one segment joins or fills; what is behind the last of them is dropped.
    pub const REACHED: u32 = 4;
    /// Longer patience counts as this (ms; 11 days): times are compared modulo 2^32.
    pub const PATIENCE_MOST: u32 = 1_000_000_000;
    /// After this many duplicate ACKs the first segment in flight counts as lost (RFC 5681, 3.2).
    pub const DUPLICATES: u32 = 3;
    /// Least distance of a new life's ISN from the last life's numbers, if the clock gives none.
    pub const ISN_STEP: u32 = 65_536;
}
