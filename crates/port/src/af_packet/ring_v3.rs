//! Receiving by TPACKET_V3: blocks of frames packed one behind another, handed over when they are full or some
//! time is over. Cheaper for each frame than slots, and later.

use super::inlet::{Header, Inlet, Show, TAG};
use super::layout::{Blocks, RESERVE, at};
use super::memory::Memory;
use super::merged::Merged;
use super::socket::Socket;
use libc::{TP_STATUS_KERNEL, TP_STATUS_USER};
use std::io;

/// A block is handed over after this, full or not.
pub const RETIRE_MS: u32 = 4;

pub struct RingV3 {
    memory: Memory,
    blocks: Blocks,
    merged: Merged,
    block: usize,
    /// Frames of this block that are still to be read, and where the next one's header is.
    left: u32,
    header: usize,
}

impl RingV3 {
    /// Gives the socket a ring of about `bytes`, for frames of which up to `longest` bytes are kept.
    pub fn new(socket: &Socket, bytes: usize, longest: usize, merged: Merged) -> io::Result<Self> {
        let blocks = Blocks::receiving(bytes, longest);
        socket.set_packet(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V3 as i32)?;
        socket.set_packet(libc::PACKET_RESERVE, RESERVE as u32)?;
        socket.set_packet(libc::PACKET_RX_RING, blocks.request(RETIRE_MS))?;
        let memory = Memory::map(socket.fd(), blocks.bytes())?;
        Ok(Self { memory, blocks, merged, block: 0, left: 0, header: 0 })
    }

    /// Takes the next block, if it is ours. It may be empty.
    fn take_block(&mut self) -> bool {
        let start = self.blocks.offset(self.block);
        if self.memory.status(start + at::BLOCK_STATUS) & TP_STATUS_USER == 0 {
            return false;
        }
        self.left = self.memory.u32_at(start + at::BLOCK_FRAMES);
        let first = self.memory.u32_at(start + at::BLOCK_FIRST) as usize;
        if self.left > 0 {
            self.step(start, first);
        } else {
            self.give_block_back();
        }
        true
    }

    fn step(&mut self, from: usize, distance: usize) {
        let header = self.blocks.header(self.block, from, distance);
        self.header = header.expect("the kernel keeps frames within their block");
    }

    fn give_block_back(&mut self) {
        self.memory.set_status(self.blocks.offset(self.block) + at::BLOCK_STATUS, TP_STATUS_KERNEL);
        self.block = self.blocks.after(self.block);
    }

    #[inline]
    fn show_one(&mut self, show: &mut Show<'_>) {
        let start = self.header;
        let memory = &self.memory;
        let mac = usize::from(memory.u16_at(start + at::V3_MAC));
        let captured = memory.u32_at(start + at::V3_SNAP) as usize;
        let distance = memory.u32_at(start + at::V3_NEXT) as usize;
        let status = memory.u32_at(start + at::V3_STATUS);
        let range = self.blocks.frame(self.block, start, mac, captured);
        let range = range.expect("the kernel keeps frames within their block");
        let header = Header {
            status,
            length: memory.u32_at(start + at::V3_LENGTH),
            sec: memory.u32_at(start + at::V3_SEC),
            nsec: memory.u32_at(start + at::V3_NSEC),
            tci: memory.u32_at(start + at::V3_TCI) as u16,
            tpid: memory.u16_at(start + at::V3_TPID),
            is_merged: self.merged.has(memory, range.start, status),
        };
        show.frame(self.memory.bytes(range.start - TAG..range.end), header);
        self.left -= 1;
        if self.left == 0 {
            self.give_block_back();
        } else {
            self.step(start, distance);
        }
    }
}

impl Inlet for RingV3 {
    fn read(&mut self, most: usize, show: &mut Show<'_>) {
        for _ in 0..most {
            // An empty block is given back, and the next one is looked at.
            while self.left == 0 {
                if !self.take_block() {
                    return;
                }
            }
            self.show_one(show);
        }
    }
}
