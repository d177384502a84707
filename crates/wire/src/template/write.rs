//! The hot path: frame n into a room.
//!
//! ```text
//! base bytes (only if the room does not have them) ─► varying words ─► lengths ─► signature ─► checksums
//!
//! checksum = ~fold(sum of the shape + words)
//! ```
//!
//! Nothing is read back but words of which only some bits vary; checksums follow from sums that were made
//! ready.

use super::spoil::wrong;
use super::stream::Stream;
use super::{Template, Times};
use crate::checksum;
use crate::signature::{self, Signature};

/// A mark's parts: template (24 bits), stream (24), bytes of its base in the room (16).
const FILLED_BITS: u32 = 16;
const STREAM_BITS: u32 = 24;

impl Template {
    /// Writes frame `seq` into `room` and returns its length; 0, and nothing is written, if the room is shorter
    /// than the frame. `mark` tells what the room has from before (see `port::Slot`).
    #[inline]
    pub fn write(&self, seq: u64, times: Times, room: &mut [u8], mark: &mut u64) -> usize {
        let (stream, i) = self.locate(seq);
        self.write_of(stream, i, seq, times, room, mark)
    }

    /// The same where not its number says whose frame it is: frame `i` of stream `number`.
    #[inline]
    pub fn write_of(
        &self,
        number: usize,
        i: u64,
        seq: u64,
        times: Times,
        room: &mut [u8],
        mark: &mut u64,
    ) -> usize {
        let Some(stream) = self.streams.get(number) else { return 0 };
        let which = stream.order.at(i);
        let shape = &stream.shapes[which];
        let length = usize::from(shape.length);
        let Some(frame) = room.get_mut(..length) else { return 0 };
        let owner = u64::from(self.id) << STREAM_BITS | number as u64;
        if *mark >> FILLED_BITS == owner && stream.is_constant() {
            return length;
        }
        if *mark >> FILLED_BITS != owner || ((*mark & 0xffff) as usize) < length {
            frame.copy_from_slice(&stream.base[..length]);
            *mark = owner << FILLED_BITS | u64::from(shape.length);
        }
        let mut network = u64::from(shape.network_sum);
        let mut transport = u64::from(shape.transport_sum);
        for variation in &stream.variations {
            let bits = variation.bits(i);
            put_bits(frame, variation.offset, variation.width, variation.mask, bits);
            let part = (bits >> 32) + (bits & 0xffff_ffff);
            network += if variation.in_network { part } else { 0 };
            transport += if variation.in_transport { part } else { 0 };
        }
        for (at, value) in stream.around(which) {
            put_half(frame, at, value);
        }
        if let Some(at) = stream.network_length {
            put_half(frame, at, shape.network_length);
        }
        if let Some(at) = stream.transport_length {
            put_half(frame, at, shape.transport_length);
        }
        if let Some(at) = stream.signature {
            transport += sign(frame, usize::from(at), usize::from(self.first) + number, seq, times);
        }
        put_checksums(stream, frame, network, transport);
        length
    }
}

#[inline]
fn put_checksums(stream: &Stream, frame: &mut [u8], network: u64, transport: u64) {
    if let Some(at) = stream.network_checksum {
        let sum = checksum::finish(network);
        put_half(frame, at, if stream.spoiled.network { wrong(sum) } else { sum });
    }
    if let Some(at) = stream.transport_checksum {
        let sum = if stream.is_udp { checksum::finish_udp(transport) } else { checksum::finish(transport) };
        put_half(frame, at, if stream.spoiled.transport { wrong(sum) } else { sum });
    }
}

/// Writes the signature and returns its part of the transport's sum.
#[inline]
fn sign(frame: &mut [u8], at: usize, stream: usize, seq: u64, times: Times) -> u64 {
    let Times { due_unix_ns, sent_unix_ns } = times;
    let signature = Signature { stream: stream as u16, seq, due_unix_ns, sent_unix_ns };
    let (a, b) = signature.words();
    let check = signature::check(a, b);
    if let Some(room) = frame.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<{ signature::LENGTH }>) {
        room[..8].copy_from_slice(&a.to_be_bytes());
        room[8..16].copy_from_slice(&b.to_be_bytes());
        room[16..].copy_from_slice(&check.to_be_bytes());
    }
    u64::from(check) + (a >> 32) + (a & 0xffff_ffff) + (b >> 32) + (b & 0xffff_ffff)
}

#[inline]
fn put_half(frame: &mut [u8], at: u16, value: u16) {
    if let Some(room) = frame.get_mut(usize::from(at)..).and_then(<[u8]>::first_chunk_mut::<2>) {
        *room = value.to_be_bytes();
    }
}

/// Writes a word; bits outside of the mask stay as they are.
#[inline]
fn put_bits(frame: &mut [u8], at: u16, width: u8, mask: u64, bits: u64) {
    let Some(room) = frame.get_mut(usize::from(at)..) else { return };
    macro_rules! put {
        ($kind:ty, $bytes:literal) => {
            if let Some(word) = room.first_chunk_mut::<$bytes>() {
                let old = if mask as $kind == <$kind>::MAX {
                    0
                } else {
                    <$kind>::from_be_bytes(*word) & !(mask as $kind)
                };
                *word = (old | bits as $kind).to_be_bytes();
            }
        };
    }
    match width {
        2 => put!(u16, 2),
        4 => put!(u32, 4),
        _ => put!(u64, 8),
    }
}
