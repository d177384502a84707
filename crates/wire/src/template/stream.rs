//! A stream as it is written: base bytes, the shapes of its sizes, and its variations as data, so that a port
//! can make the same frames by a program of its own.

use super::modulus::{Modulus, span_value, spread};
use super::spec::Spoiled;
use alloc::vec::Vec;

/// Frames of one kind.
#[derive(Clone, Debug)]
pub struct Stream {
    pub(super) base: Vec<u8>,
    pub(super) shapes: Vec<Shape>,
    pub(super) order: Selection,
    pub(super) variations: Vec<Variation>,
    pub(super) network_length: Option<u16>,
    pub(super) transport_length: Option<u16>,
    pub(super) network_checksum: Option<u16>,
    pub(super) transport_checksum: Option<u16>,
    pub(super) is_udp: bool,
    pub(super) signature: Option<u16>,
    /// Offsets of 16-bit words in headers around the packet that differ between shapes, and their values: of
    /// the first shape, then of the second, and so on.
    pub(super) around: Vec<u16>,
    pub(super) around_values: Vec<u16>,
    pub(super) spoiled: Spoiled,
}

impl Stream {
    /// Whether all that changes is told by shapes and variations, as a port needs it that makes frames itself:
    /// no lengths of a tunnel, no checksum that is made wrong for each frame.
    pub const fn is_plain(&self) -> bool {
        let spoils = self.spoiled.network && self.network_checksum.is_some()
            || self.spoiled.transport && self.transport_checksum.is_some();
        self.around.is_empty() && !spoils
    }

    /// The bytes of the stream's longest frame; a shorter one is its beginning, with other lengths and
    /// checksums.
    pub fn base(&self) -> &[u8] {
        &self.base
    }

    /// One for each length that occurs, ascending.
    pub fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// Which shape the stream's frame i has.
    pub fn order(&self) -> &Selection {
        &self.order
    }

    /// Words around the packet, for a shape.
    #[inline]
    pub(super) fn around(&self, shape: usize) -> impl Iterator<Item = (u16, u16)> {
        let first = shape * self.around.len();
        (0..self.around.len()).map(move |at| (self.around[at], self.around_values[first + at]))
    }

    /// The shape of the stream's frame i.
    #[inline]
    pub fn shape(&self, i: u64) -> &Shape {
        &self.shapes[self.order.at(i)]
    }

    /// Whether all frames are the same, so that a room which has one has the next.
    #[inline]
    pub(super) fn is_constant(&self) -> bool {
        self.shapes.len() == 1 && self.variations.is_empty() && self.signature.is_none()
    }

    /// Fields that change, to be written in this order.
    pub fn variations(&self) -> &[Variation] {
        &self.variations
    }

    /// Offset of IPv4's total length or IPv6's payload length, if it differs between shapes.
    pub const fn network_length_at(&self) -> Option<u16> {
        self.network_length
    }

    /// Offset of UDP's length, if it differs between shapes.
    pub const fn transport_length_at(&self) -> Option<u16> {
        self.transport_length
    }

    /// Offset of IPv4's header checksum, if it is not the same in all frames.
    pub const fn network_checksum_at(&self) -> Option<u16> {
        self.network_checksum
    }

    /// Offset of the checksum of UDP, TCP or ICMP, if it is not the same in all frames.
    pub const fn transport_checksum_at(&self) -> Option<u16> {
        self.transport_checksum
    }

    /// Whether a transport checksum that comes out as 0 is written as 0xffff.
    pub const fn is_udp(&self) -> bool {
        self.is_udp
    }

    /// Offset of the signature, if the stream is signed.
    pub const fn signature_at(&self) -> Option<u16> {
        self.signature
    }
}

/// What frames of one length have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Of the frame, without FCS.
    pub length: u16,
    /// For IPv4's total length or IPv6's payload length.
    pub network_length: u16,
    /// For UDP's length.
    pub transport_length: u16,
    /// Sum of 16-bit words (RFC 1071) of the IPv4 header, varying bits as zeros: add the contributions of the
    /// variations, fold to 16 bits, complement.
    pub network_sum: u32,
    /// The same of pseudo-header, transport header and payload; the signature's bytes as zeros.
    pub transport_sum: u32,
}

/// Which of a few things has number i.
#[derive(Clone, Debug)]
pub enum Selection {
    /// Always the first.
    Only,
    /// Entry i mod length.
    Cycle { pattern: Vec<u16>, modulus: Modulus },
    /// Entry `random(seed, i)` of `0..count`.
    Random { seed: u64, count: u64 },
}

impl Selection {
    #[inline]
    pub fn at(&self, i: u64) -> usize {
        match self {
            Self::Only => 0,
            Self::Cycle { pattern, modulus } => usize::from(pattern[modulus.of(i) as usize]),
            Self::Random { seed, count } => span_value(spread(*seed, i), *count) as usize,
        }
    }
}

/// A run of bits that changes: `value(i) << shift`, put into the bits `mask` of the big-endian word of `width`
/// bytes at `offset`.
#[derive(Clone, Debug)]
pub struct Variation {
    /// Even.
    pub offset: u16,
    /// Bytes of the word: 2, 4 or 8.
    pub width: u8,
    pub shift: u8,
    /// Bits of the word that change; the others stay as they are in the room.
    pub mask: u64,
    /// Whether it counts for IPv4's header checksum.
    pub in_network: bool,
    /// Whether it counts for the checksum of UDP, TCP or ICMP (also by the pseudo-header).
    pub in_transport: bool,
    /// The value has number `(i mod flows) / every`, where i is the stream's frame.
    pub flows: Option<Modulus>,
    pub every: Modulus,
    pub source: ValueSource,
    /// The field it is of, for messages.
    pub field: &'static str,
}

/// How a variation's values come about.
#[derive(Clone, Debug)]
pub enum ValueSource {
    /// `start + step · (number mod count)`, modulo 2⁶⁴.
    Increment {
        start: u64,
        step: u64,
        count: Modulus,
    },
    List {
        values: Vec<u64>,
        modulus: Modulus,
    },
    /// `first + span_value(spread(seed, number), count)`; count 0 is 2⁶⁴.
    Random {
        first: u64,
        count: u64,
        seed: u64,
    },
}

impl Variation {
    /// The value of the stream's frame i.
    #[inline]
    pub fn value(&self, i: u64) -> u64 {
        let number = self.every.quotient(self.flows.as_ref().map_or(i, |flows| flows.of(i)));
        match &self.source {
            ValueSource::Increment { start, step, count } => {
                start.wrapping_add(step.wrapping_mul(count.of(number)))
            }
            ValueSource::List { values, modulus } => values[modulus.of(number) as usize],
            ValueSource::Random { first, count, seed } => {
                first.wrapping_add(span_value(spread(*seed, number), *count))
            }
        }
    }

    /// The word's changing bits for the stream's frame i.
    #[inline]
    pub fn bits(&self, i: u64) -> u64 {
        (self.value(i) << self.shift) & self.mask
    }
}
