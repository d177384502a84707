//! Receiving by TPACKET_V2: a slot for each frame, seen as soon as the kernel has filled it.

use super::inlet::{Header, Inlet, Show};
use super::layout::{RESERVE, Slots, at};
use super::memory::Memory;
use super::socket::Socket;
use libc::{TP_STATUS_KERNEL, TP_STATUS_USER};
use std::io;

pub struct RingV2 {
    memory: Memory,
    slots: Slots,
    next: usize,
}

impl RingV2 {
    /// Gives the socket a ring of `slots` frames, of each up to `longest` bytes.
    pub fn new(socket: &Socket, slots: usize, longest: usize) -> io::Result<Self> {
        let slots = Slots::receiving(slots, longest);
        socket.set_packet(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as i32)?;
        socket.set_packet(libc::PACKET_RESERVE, RESERVE as u32)?;
        socket.set_packet(libc::PACKET_RX_RING, slots.request())?;
        let memory = Memory::map(socket.fd(), slots.bytes())?;
        Ok(Self { memory, slots, next: 0 })
    }
}

impl Inlet for RingV2 {
    fn read(&mut self, most: usize, show: &mut Show<'_>) {
        for _ in 0..most {
            let start = self.slots.offset(self.next);
            let status = self.memory.status(start);
            if status & TP_STATUS_USER == 0 {
                return;
            }
            let mac = usize::from(self.memory.u16_at(start + at::V2_MAC));
            let captured = self.memory.u32_at(start + at::V2_SNAP) as usize;
            let header = Header {
                status,
                length: self.memory.u32_at(start + at::V2_LENGTH),
                sec: self.memory.u32_at(start + at::V2_SEC),
                nsec: self.memory.u32_at(start + at::V2_NSEC),
                tci: self.memory.u16_at(start + at::V2_TCI),
                tpid: self.memory.u16_at(start + at::V2_TPID),
            };
            let range = self.slots.frame(self.next, mac, captured);
            let range = range.expect("the kernel keeps frames within their slots");
            show.frame(&mut self.memory, range, header);
            self.memory.set_status(start, TP_STATUS_KERNEL);
            self.next = self.slots.after(self.next);
        }
    }
}
