//! The mark that Tare leaves in the last bytes of a frame's payload, by which the receiver knows it again.

/// Bytes of a signature: it fits the payload of an untagged 64-byte frame of IPv4 and UDP (60 − 14 − 20 − 8).
pub const LENGTH: usize = 18;

/// Who a frame is, and when it should have left and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    pub stream: u16,
    /// Position in the whole schedule.
    pub seq: u64,
    /// Nanoseconds since 1970 (CLOCK_REALTIME).
    pub due_unix_ns: u64,
    pub sent_unix_ns: u64,
}
