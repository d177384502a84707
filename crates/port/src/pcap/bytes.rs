//! The bytes of capture files as they are written here: little endian, nanoseconds.
//!
//! One enhanced packet block: type, length, interface, time (high, low), bytes kept, length on the wire, the
//! frame padded to four, the queue as an option if there are several, and the length again.

use super::Format;
use crate::Stamp;

/// Bytes around a frame in a pcapng file, without padding and options.
const AROUND: usize = 32;
/// Bytes of the option `epb_queue` and of the end of options.
const QUEUE: usize = 12;

/// What is known of an interface when the file begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// `veth0`.
    pub name: String,
    /// The filter by which frames were chosen, as it was typed.
    pub filter: String,
    /// Bytes kept of each frame; 0 is all.
    pub snap: u32,
}

/// What is known of a capture when its file ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Frames that arrived, kept or not.
    pub received: u64,
    /// Lost by the driver or the card.
    pub dropped_by_interface: u64,
    /// Lost between the driver and the file.
    pub dropped_by_kernel: u64,
}

/// The start of a file.
pub fn head(format: Format, described: &Described) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    match format {
        Format::PcapNg => {
            block(&mut out, 0x0a0d_0d0a, |out| {
                put32(out, 0x1a2b_3c4d);
                put16(out, 1);
                put16(out, 0);
                // The length of the section is not known.
                put64(out, u64::MAX);
                option(out, 4, concat!("Tare ", env!("CARGO_PKG_VERSION")).as_bytes());
                put32(out, 0);
            });
            block(&mut out, 1, |out| {
                put16(out, 1);
                put16(out, 0);
                put32(out, described.snap);
                if !described.name.is_empty() {
                    option(out, 2, described.name.as_bytes());
                }
                option(out, 9, &[9]);
                if !described.filter.is_empty() {
                    // Kind 0: as it was typed.
                    option(out, 11, &[&[0], described.filter.as_bytes()].concat());
                }
                put32(out, 0);
            });
        }
        Format::PcapMicros | Format::PcapNanos => {
            let is_nanos = format == Format::PcapNanos;
            put32(&mut out, if is_nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 });
            put16(&mut out, 2);
            put16(&mut out, 4);
            put64(&mut out, 0);
            put32(&mut out, if described.snap == 0 { 262_144 } else { described.snap });
            put32(&mut out, 1);
        }
    }
    out
}

/// What a frame of this many kept bytes needs in the file.
#[inline]
pub fn frame_size(format: Format, kept: usize, has_queue: bool) -> usize {
    match format {
        Format::PcapNg => AROUND + kept.next_multiple_of(4) + if has_queue { QUEUE } else { 0 },
        Format::PcapMicros | Format::PcapNanos => 16 + kept,
    }
}

/// A frame and what is told of it.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    pub stamp: Stamp,
    pub length: usize,
    pub kept: &'a [u8],
    pub queue: Option<u32>,
}

/// Writes a frame into room of exactly `frame_size` bytes.
#[inline]
pub fn frame(format: Format, entry: &Entry<'_>, room: &mut [u8]) {
    match format {
        Format::PcapNg => frame_ng(entry, room),
        Format::PcapNanos => record(entry, 1_000_000_000, 1, room),
        Format::PcapMicros => record(entry, 1_000_000, 1_000, room),
    }
}

#[inline]
fn frame_ng(entry: &Entry<'_>, room: &mut [u8]) {
    let (total, kept) = (room.len() as u32, entry.kept.len());
    let stamp = entry.stamp.as_unix_nanos();
    let (head, rest) = room.split_at_mut(28);
    let fields = [6, total, 0, (stamp >> 32) as u32, stamp as u32, kept as u32, entry.length as u32];
    for (place, field) in head.chunks_exact_mut(4).zip(fields) {
        place.copy_from_slice(&field.to_le_bytes());
    }
    let (data, rest) = rest.split_at_mut(kept.next_multiple_of(4));
    // The last word first, padding and all: one store, where filling the padding would be a call for each
    // frame.
    if let Some(last) = data.last_chunk_mut::<4>() {
        *last = [0; 4];
    }
    data[..kept].copy_from_slice(entry.kept);
    let (options, end) = rest.split_at_mut(rest.len() - 4);
    end.copy_from_slice(&total.to_le_bytes());
    if let Some(queue) = entry.queue {
        options.fill(0);
        options[..4].copy_from_slice(&[6, 0, 4, 0]);
        options[4..8].copy_from_slice(&queue.to_le_bytes());
    }
}

#[inline]
fn record(entry: &Entry<'_>, per_second: u64, step_ns: u64, room: &mut [u8]) {
    let ticks = entry.stamp.as_unix_nanos() / step_ns;
    let fields = [
        (ticks / per_second) as u32,
        (ticks % per_second) as u32,
        entry.kept.len() as u32,
        entry.length as u32,
    ];
    let (head, data) = room.split_at_mut(16);
    for (place, field) in head.chunks_exact_mut(4).zip(fields) {
        place.copy_from_slice(&field.to_le_bytes());
    }
    data.copy_from_slice(entry.kept);
}

/// The end of a file: what was lost between its first frame and its last.
pub fn tail(format: Format, statistics: &Statistics, first: Stamp, last: Stamp) -> Vec<u8> {
    let mut out = Vec::new();
    if format != Format::PcapNg {
        return out;
    }
    let time = |out: &mut Vec<u8>, stamp: Stamp| {
        put32(out, (stamp.as_unix_nanos() >> 32) as u32);
        put32(out, stamp.as_unix_nanos() as u32);
    };
    block(&mut out, 5, |out| {
        put32(out, 0);
        time(out, last);
        for (code, stamp) in [(2, first), (3, last)] {
            put16(out, code);
            put16(out, 8);
            time(out, stamp);
        }
        for (code, count) in [
            (4, statistics.received),
            (5, statistics.dropped_by_interface),
            (7, statistics.dropped_by_kernel),
        ] {
            option(out, code, &count.to_le_bytes());
        }
        put32(out, 0);
    });
    out
}

/// A block with its length before and after.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    put32(out, kind);
    put32(out, 0);
    body(out);
    let length = (out.len() - start + 4) as u32;
    out[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    put32(out, length);
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(4_096)];
    put16(out, code);
    put16(out, value.len() as u16);
    out.extend_from_slice(value);
    out.resize(out.len().next_multiple_of(4), 0);
}

fn put16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}
