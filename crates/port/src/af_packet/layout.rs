//! Where things are in the memory that a packet socket shares with the kernel (linux/if_packet.h; the kernel's
//! document networking/packet_mmap): pure arithmetic, tested without a kernel.
//!
//! ```text
//!   block 0                         block 1
//!   ├ slot 0 ┬ slot 1 ┬ … ┬ rest ┤  ├ slot k ┬ …         versions 1 and 2: slots of one size, none across two
//!                                                        blocks
//!   ├ descriptor ┬ frame ┬ frame …┤  ├ descriptor ┬ …    version 3: frames one behind another, each says where
//!                                                        the next is
//! ```

use super::merged::VNET;
use libc::{TPACKET_ALIGNMENT, tpacket_block_desc, tpacket_req, tpacket_req3, tpacket2_hdr, tpacket3_hdr};
use std::mem::{offset_of, size_of};
use std::ops::Range;

/// Bytes that the kernel leaves before each received frame's Ethernet header: room to put a VLAN tag back.
pub const RESERVE: usize = 16;
/// Between the slot's beginning and the frame that is to be sent (the kernel's `tp_hdrlen − sizeof(struct
/// sockaddr_ll)`).
pub const SEND_OFFSET: usize = size_of::<tpacket2_hdr>().next_multiple_of(TPACKET_ALIGNMENT);
/// Most that the kernel puts between a slot's beginning and the received Ethernet header, for versions 2 and 3
/// alike: header, `struct sockaddr_ll`, alignment of the network header, [`RESERVE`], and the header of virtio.
const RECEIVE_OVERHEAD: usize = 48 + 20 + 16 + 16 + RESERVE + VNET;
/// Blocks of a ring with slots have at least this: fewer, larger blocks cost less to map.
const SLOT_BLOCK: usize = 64 * 1024;
/// Blocks of version 3: the kernel hands over one at a time.
pub const V3_BLOCK: usize = 256 * 1024;
/// Bytes of a ring at most, so that all fit what the kernel counts in.
const MOST_BYTES: usize = 1 << 30;

/// Offsets within the headers.
pub mod at {
    use super::*;
    pub const V2_LENGTH: usize = offset_of!(tpacket2_hdr, tp_len);
    pub const V2_SNAP: usize = offset_of!(tpacket2_hdr, tp_snaplen);
    pub const V2_MAC: usize = offset_of!(tpacket2_hdr, tp_mac);
    pub const V2_SEC: usize = offset_of!(tpacket2_hdr, tp_sec);
    pub const V2_NSEC: usize = offset_of!(tpacket2_hdr, tp_nsec);
    pub const V2_TCI: usize = offset_of!(tpacket2_hdr, tp_vlan_tci);
    pub const V2_TPID: usize = offset_of!(tpacket2_hdr, tp_vlan_tpid);
    pub const V3_NEXT: usize = offset_of!(tpacket3_hdr, tp_next_offset);
    pub const V3_SEC: usize = offset_of!(tpacket3_hdr, tp_sec);
    pub const V3_NSEC: usize = offset_of!(tpacket3_hdr, tp_nsec);
    pub const V3_SNAP: usize = offset_of!(tpacket3_hdr, tp_snaplen);
    pub const V3_LENGTH: usize = offset_of!(tpacket3_hdr, tp_len);
    pub const V3_STATUS: usize = offset_of!(tpacket3_hdr, tp_status);
    pub const V3_MAC: usize = offset_of!(tpacket3_hdr, tp_mac);
    /// In `hv1`: the hash comes first, then the tag.
    pub const V3_TCI: usize = offset_of!(tpacket3_hdr, hv1) + 4;
    pub const V3_TPID: usize = offset_of!(tpacket3_hdr, hv1) + 8;
    pub const BLOCK_STATUS: usize = offset_of!(tpacket_block_desc, hdr);
    pub const BLOCK_FRAMES: usize = BLOCK_STATUS + 4;
    pub const BLOCK_FIRST: usize = BLOCK_STATUS + 8;
}

/// A ring of slots of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    slot_bytes: usize,
    block_bytes: usize,
    per_block: usize,
    blocks: usize,
}

impl Slots {
    /// At least `slots` slots for frames that are sent, of up to `longest` bytes.
    pub fn sending(slots: usize, longest: usize) -> Self {
        Self::of(slots, SEND_OFFSET + longest)
    }

    /// At least `slots` slots for frames that are received, of which up to `longest` bytes are kept.
    pub fn receiving(slots: usize, longest: usize) -> Self {
        Self::of(slots, RECEIVE_OVERHEAD + longest)
    }

    fn of(slots: usize, bytes: usize) -> Self {
        // Slots begin where cache lines do.
        let slot_bytes = bytes.next_multiple_of(64);
        let block_bytes = slot_bytes.max(SLOT_BLOCK).next_power_of_two();
        let per_block = block_bytes / slot_bytes;
        let blocks = slots.div_ceil(per_block).clamp(1, (MOST_BYTES / block_bytes).max(1));
        Self { slot_bytes, block_bytes, per_block, blocks }
    }

    pub const fn count(self) -> usize {
        self.per_block * self.blocks
    }

    pub const fn bytes(self) -> usize {
        self.block_bytes * self.blocks
    }

    /// Bytes in a slot behind the header of a frame to be sent.
    pub const fn send_room(self) -> usize {
        self.slot_bytes - SEND_OFFSET
    }

    /// Where slot `index` begins.
    #[inline]
    pub const fn offset(self, index: usize) -> usize {
        index / self.per_block * self.block_bytes + index % self.per_block * self.slot_bytes
    }

    /// The slot after `index`.
    #[inline]
    pub const fn after(self, index: usize) -> usize {
        if index + 1 == self.count() { 0 } else { index + 1 }
    }

    /// The bytes of a received frame in slot `index`, if that slot can hold them.
    #[inline]
    pub fn frame(self, index: usize, mac: usize, captured: usize) -> Option<Range<usize>> {
        within(self.offset(index), self.slot_bytes, 0, mac, captured)
    }

    pub fn request(self) -> tpacket_req {
        tpacket_req {
            tp_block_size: self.block_bytes as u32,
            tp_block_nr: self.blocks as u32,
            tp_frame_size: self.slot_bytes as u32,
            tp_frame_nr: self.count() as u32,
        }
    }
}

/// A ring of blocks of which each holds as many frames as fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    block_bytes: usize,
    blocks: usize,
}

impl Blocks {
    /// About `bytes` in blocks that hold a frame of `longest` bytes.
    pub fn receiving(bytes: usize, longest: usize) -> Self {
        // A frame must fit behind the block's own header.
        let least = longest + RECEIVE_OVERHEAD + size_of::<tpacket_block_desc>();
        let block_bytes = V3_BLOCK.max(least.next_power_of_two());
        // One is being filled while another is read.
        let blocks = (bytes / block_bytes).clamp(2, MOST_BYTES / block_bytes);
        Self { block_bytes, blocks }
    }

    pub const fn bytes(self) -> usize {
        self.block_bytes * self.blocks
    }

    #[inline]
    pub const fn offset(self, block: usize) -> usize {
        block * self.block_bytes
    }

    #[inline]
    pub const fn after(self, block: usize) -> usize {
        if block + 1 == self.blocks { 0 } else { block + 1 }
    }

    /// Where the header is that is `distance` behind `from`, if that is still in `block`.
    #[inline]
    pub fn header(self, block: usize, from: usize, distance: usize) -> Option<usize> {
        let start = self.offset(block);
        within(start, self.block_bytes, from.checked_sub(start)?, distance, size_of::<tpacket3_hdr>())
            .map(|range| range.start)
    }

    /// The bytes of the frame whose header is at `header`, if they are in `block`.
    #[inline]
    pub fn frame(self, block: usize, header: usize, mac: usize, captured: usize) -> Option<Range<usize>> {
        let start = self.offset(block);
        within(start, self.block_bytes, header.checked_sub(start)?, mac, captured)
    }

    pub fn request(self, retire_ms: u32) -> tpacket_req3 {
        // The kernel wants slots that divide blocks here too, though it does not use them.
        let frame = 2_048;
        tpacket_req3 {
            tp_block_size: self.block_bytes as u32,
            tp_block_nr: self.blocks as u32,
            tp_frame_size: frame,
            tp_frame_nr: (self.block_bytes / frame as usize * self.blocks) as u32,
            tp_retire_blk_tov: retire_ms,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        }
    }
}

/// `length` bytes at `part + skip` of the room of `room` bytes at `start`; `None` if they are not within.
#[inline]
fn within(start: usize, room: usize, part: usize, skip: usize, length: usize) -> Option<Range<usize>> {
    let first = part.checked_add(skip)?;
    let end = first.checked_add(length)?;
    (end <= room).then(|| start + first..start + end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn offsets_are_those_of_the_kernels_header() {
        // Counted by hand in linux/if_packet.h.
        assert_eq!([at::V2_LENGTH, at::V2_SNAP, at::V2_MAC, at::V2_SEC, at::V2_NSEC], [4, 8, 12, 16, 20]);
        assert_eq!([at::V2_TCI, at::V2_TPID, SEND_OFFSET], [24, 26, 32]);
        assert_eq!([at::V3_NEXT, at::V3_SEC, at::V3_NSEC, at::V3_SNAP, at::V3_LENGTH], [0, 4, 8, 12, 16]);
        assert_eq!([at::V3_STATUS, at::V3_MAC, at::V3_TCI, at::V3_TPID], [20, 24, 32, 36]);
        assert_eq!([at::BLOCK_STATUS, at::BLOCK_FRAMES, at::BLOCK_FIRST], [8, 12, 16]);
    }

    proptest! {
        #[test]
        fn slots_do_not_touch_and_none_lies_across_two_blocks(
            wanted in 1_usize..5_000, longest in 60_usize..70_000, pick in any::<proptest::sample::Index>(),
        ) {
            let slots = Slots::sending(wanted, longest);
            let request = slots.request();
            // What the kernel demands (packet_set_ring).
            prop_assert_eq!(request.tp_block_size % 4_096, 0);
            prop_assert_eq!(request.tp_frame_size as usize % TPACKET_ALIGNMENT, 0);
            prop_assert_eq!(request.tp_block_size / request.tp_frame_size * request.tp_block_nr,
                request.tp_frame_nr);
            prop_assert!(slots.send_room() >= longest);
            prop_assert!(slots.count() >= wanted || slots.bytes() + slots.block_bytes > MOST_BYTES);

            let index = pick.index(slots.count());
            let (start, block) = (slots.offset(index), request.tp_block_size as usize);
            prop_assert!(start + slots.slot_bytes <= slots.bytes());
            prop_assert_eq!(start / block, (start + slots.slot_bytes - 1) / block);
            let next = slots.after(index);
            if next != 0 {
                prop_assert!(slots.offset(next) >= start + slots.slot_bytes);
            } else {
                prop_assert_eq!(index + 1, slots.count());
            }
        }

        #[test]
        fn a_frame_is_given_only_if_its_slot_holds_it(
            longest in 60_usize..9_000, mac in 0_usize..20_000,
            captured in 0_usize..20_000, index in 0_usize..64,
        ) {
            let slots = Slots::receiving(64, longest);
            let end = slots.offset(index) + slots.slot_bytes;
            let frame = slots.frame(index, mac, captured);
            prop_assert_eq!(frame.is_some(), mac + captured <= slots.slot_bytes);
            if let Some(frame) = frame {
                prop_assert!(frame.end <= end && frame.len() == captured
                    && frame.start == slots.offset(index) + mac);
            }
            // The most that the kernel puts before a frame leaves room for all of it.
            prop_assert!(slots.frame(index, RECEIVE_OVERHEAD, longest).is_some());
        }

        #[test]
        fn frames_of_a_block_never_leave_it(
            bytes in 0_usize..200_000_000, longest in 60_usize..1_000_000, block in 0_usize..2,
            from in 0_usize..3_000_000,
            distance in 0_usize..u32::MAX as usize, captured in 0_usize..u32::MAX as usize,
        ) {
            let blocks = Blocks::receiving(bytes, longest);
            prop_assert!(blocks.bytes() <= MOST_BYTES && blocks.blocks >= 2);
            let range = blocks.offset(block)..blocks.offset(block) + blocks.block_bytes;
            for part in [blocks.header(block, from, distance).map(|at| at..at + size_of::<tpacket3_hdr>()),
                         blocks.frame(block, from, distance, captured)].into_iter().flatten() {
                prop_assert!(part.start >= range.start && part.end <= range.end);
            }
            let request = blocks.request(5);
            prop_assert_eq!(request.tp_block_size / request.tp_frame_size * request.tp_block_nr,
                request.tp_frame_nr);
        }
    }
}
