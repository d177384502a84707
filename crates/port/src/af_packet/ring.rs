//! Sending by PACKET_TX_RING: frames are written into memory that the kernel reads, and one call sends all that
//! lies ready.
//!
//! ```text
//!        kernel's side                 ours
//!   ├ sending ┬ pending ┬ pending ┤ free ┬ free ┬ … ┤
//!             └ next to hand over └ next to write
//! ```
//!
//! The kernel copies nothing: the frame that travels consists of the slot's own bytes. A veth says "sent"
//! before the far side has read them, so the ring has more slots than lie on the way: 256 in a veth's queue, 1
//! 000 in a CPU's backlog.

use super::layout::{SEND_OFFSET, Slots, at};
use super::memory::Memory;
use super::outlet::{Outlet, Written, too_long};
use super::socket::Socket;
use crate::{Slot, Stamp};
use libc::{TP_STATUS_AVAILABLE, TP_STATUS_SEND_REQUEST, TP_STATUS_WRONG_FORMAT};
use std::io;

/// See the module.
pub const SLOTS: usize = 4_096;
/// Frames of one call.
const BATCH: usize = 256;

pub struct Ring {
    memory: Memory,
    slots: Slots,
    marks: Box<[u64]>,
    /// The first that is not handed over; the kernel looks here next.
    first: usize,
    /// The next to be written.
    next: usize,
    pending: usize,
}

impl Ring {
    /// Gives the socket a ring for frames of up to `longest` bytes.
    pub fn new(socket: &Socket, slots: usize, longest: usize) -> io::Result<Self> {
        let slots = Slots::sending(slots, longest);
        socket.set_packet(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as i32)?;
        socket.set_packet(libc::PACKET_TX_RING, slots.request())?;
        let memory = Memory::map(socket.fd(), slots.bytes())?;
        Ok(Self { memory, slots, marks: vec![0; slots.count()].into(), first: 0, next: 0, pending: 0 })
    }

    fn length(&self, slot: usize) -> u32 {
        self.memory.u32_at(self.slots.offset(slot) + at::V2_LENGTH)
    }

    fn status(&self, slot: usize) -> u32 {
        self.memory.status(self.slots.offset(slot))
    }

    fn set_status(&self, slot: usize, status: u32) {
        self.memory.set_status(self.slots.offset(slot), status);
    }

    /// Steps over slots that the kernel has taken.
    fn advance(&mut self) -> (u64, u64) {
        let (mut frames, mut bytes) = (0, 0);
        while self.pending > 0 {
            let status = self.status(self.first);
            if status & (TP_STATUS_SEND_REQUEST | TP_STATUS_WRONG_FORMAT) != 0 {
                break;
            }
            frames += 1;
            bytes += u64::from(self.length(self.first));
            self.first = self.slots.after(self.first);
            self.pending -= 1;
        }
        (frames, bytes)
    }
}

impl Outlet for Ring {
    fn write(&mut self, most: usize, longest: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Written {
        let mut written = Written::default();
        let room = self.slots.send_room();
        while written.taken < most.min(BATCH) && self.pending < self.slots.count() {
            let offset = self.slots.offset(self.next);
            if self.memory.status(offset) != TP_STATUS_AVAILABLE {
                break;
            }
            let data = self.memory.bytes(offset + SEND_OFFSET..offset + SEND_OFFSET + room);
            let mark = &mut self.marks[self.next];
            let mut slot = Slot { data, length: 0, launch: Stamp::NONE, mark };
            write(&mut slot);
            let length = slot.length;
            if too_long(slot.data, length, longest) {
                written.too_long = Some(length);
                break;
            }
            written.taken += 1;
            if length == 0 {
                continue;
            }
            self.memory.set_u32(offset + at::V2_LENGTH, length as u32);
            self.memory.set_status(offset, TP_STATUS_SEND_REQUEST);
            self.next = self.slots.after(self.next);
            self.pending += 1;
        }
        written
    }

    fn pending(&self) -> usize {
        self.pending
    }

    fn hand_over(&mut self, socket: &Socket) -> io::Result<(u64, u64)> {
        // It was the first of a call that sent others before it: the kernel has said what it thinks of it, and
        // waits.
        if self.status(self.first) & TP_STATUS_WRONG_FORMAT != 0 {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let called = socket.kick();
        // Some may have left before the one that failed.
        match (self.advance(), called) {
            ((0, _), Err(error)) => Err(error),
            // The kernel has sent nothing and complains of nothing: it waits for a driver without room.
            ((0, _), Ok(())) => Err(io::Error::from(io::ErrorKind::WouldBlock)),
            (sent, _) => Ok(sent),
        }
    }

    /// The kernel goes on where it stopped: frames behind the one given up move up by a slot.
    fn skip(&mut self) {
        let mut slot = self.first;
        for _ in 1..self.pending {
            let after = self.slots.after(slot);
            let (from, to) = (self.slots.offset(after), self.slots.offset(slot));
            let length = self.length(after);
            let end = SEND_OFFSET + length as usize;
            let frame = self.memory.bytes(from + SEND_OFFSET..from + end).to_vec();
            self.memory.bytes(to + SEND_OFFSET..to + end).copy_from_slice(&frame);
            self.memory.set_u32(to + at::V2_LENGTH, length);
            self.marks[slot] = 0;
            self.set_status(slot, TP_STATUS_SEND_REQUEST);
            slot = after;
        }
        self.marks[slot] = 0;
        self.set_status(slot, TP_STATUS_AVAILABLE);
        self.next = slot;
        self.pending -= 1;
    }

    fn discard(&mut self) -> usize {
        let left = self.pending;
        let mut slot = self.first;
        for _ in 0..left {
            self.set_status(slot, TP_STATUS_AVAILABLE);
            slot = self.slots.after(slot);
        }
        self.next = self.first;
        self.pending = 0;
        left
    }

    fn in_flight(&mut self, socket: &Socket) -> io::Result<bool> {
        Ok(socket.unsent()? > 0)
    }

    fn batch(&self) -> usize {
        BATCH
    }
}
