//! Receiving by TPACKET_V2: a slot for each frame, seen as soon as the kernel has filled it.
//!
//! A frame that a host on the way merged (GRO, TSO) has up to 64 KiB, and a slot as much as the MTU. For who
//! can use such a frame, the kernel keeps all of it beside the ring (`PACKET_COPY_THRESH`), and marks its
//! slot.

use super::inlet::{Header, Inlet, Show, TAG};
use super::layout::{RESERVE, Slots, at};
use super::memory::Memory;
use super::merged::Merged;
use super::socket::Socket;
use libc::{TP_STATUS_COPY, TP_STATUS_KERNEL, TP_STATUS_USER};
use rustix::net::{self, RecvFlags};
use std::io;
use std::os::fd::OwnedFd;

/// The longest merged frame: 64 KiB behind an Ethernet header and two tags.
const LONGEST: usize = 65_536 + 14 + 2 * TAG;
/// Bytes of merged frames that the kernel keeps until they are read.
const KEPT: i32 = 16 * 1024 * 1024;

pub struct RingV2 {
    memory: Memory,
    slots: Slots,
    next: usize,
    merged: Merged,
    /// For merged frames that do not fit: the socket, and room for one.
    kept: Option<(OwnedFd, Vec<u8>)>,
}

impl RingV2 {
    /// Gives the socket a ring of `slots` frames, of each up to `longest` bytes; of merged ones all, with
    /// `keeps_all`.
    pub fn new(
        socket: &Socket,
        slots: usize,
        longest: usize,
        merged: Merged,
        keeps_all: bool,
    ) -> io::Result<Self> {
        let slots = Slots::receiving(slots, longest);
        socket.set_packet(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as i32)?;
        socket.set_packet(libc::PACKET_RESERVE, RESERVE as u32)?;
        socket.set_packet(libc::PACKET_RX_RING, slots.request())?;
        let memory = Memory::map(socket.fd(), slots.bytes())?;
        let kept = match keeps_all {
            true => Some((keep_merged(socket)?, vec![0; TAG + LONGEST])),
            false => None,
        };
        Ok(Self { memory, slots, next: 0, merged, kept })
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
            let range = self.slots.frame(self.next, mac, captured);
            let range = range.expect("the kernel keeps frames within their slots");
            let header = Header {
                status,
                length: self.memory.u32_at(start + at::V2_LENGTH),
                sec: self.memory.u32_at(start + at::V2_SEC),
                nsec: self.memory.u32_at(start + at::V2_NSEC),
                tci: self.memory.u16_at(start + at::V2_TCI),
                tpid: self.memory.u16_at(start + at::V2_TPID),
                is_merged: self.merged.has(&self.memory, range.start, status),
            };
            match &mut self.kept {
                Some((socket, room)) if status & TP_STATUS_COPY != 0 => {
                    // It stands first in the queue; the kernel put it there before it filled the slot.
                    let mut read = || net::recv(&*socket, &mut room[TAG..], RecvFlags::DONTWAIT);
                    // The first may tell of an error of the link's.
                    match read().or_else(|_| read()) {
                        Ok((bytes, _)) => show.frame(&mut room[..TAG + bytes.min(LONGEST)], header),
                        Err(_) => show.frame(self.memory.bytes(range.start - TAG..range.end), header),
                    }
                }
                _ => show.frame(self.memory.bytes(range.start - TAG..range.end), header),
            }
            self.memory.set_status(start, TP_STATUS_KERNEL);
            self.next = self.slots.after(self.next);
        }
    }
}

/// Has the kernel keep merged frames, and returns the socket that has them.
fn keep_merged(socket: &Socket) -> io::Result<OwnedFd> {
    socket.set_packet(libc::PACKET_COPY_THRESH, 1)?;
    // Without privilege it is as much as the system's limit allows.
    if socket.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, KEPT).is_err() {
        socket.set(libc::SOL_SOCKET, libc::SO_RCVBUF, KEPT)?;
    }
    socket.fd().try_clone_to_owned()
}
