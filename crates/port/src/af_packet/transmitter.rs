//! The sending half: a socket that receives nothing, the way in which frames leave it, and what becomes of
//! those that the kernel does not take.

use super::batch::Batch;
use super::outlet::Outlet;
use super::ring::Ring;
use super::setting::{Setting, denied, failed};
use super::socket::{NOTHING, Socket};
use crate::interface::{Interface, Statistics};
use crate::{Choice, Counters, DropPlace, PortError, Slot};
use std::io;
use std::os::fd::BorrowedFd;

/// Refusals for want of room, or as long, between two questions whether the link is there.
const MOST_REFUSALS: u32 = 1_000;
const LOOK_NS: u64 = 10_000_000;

pub struct Transmitter {
    socket: Socket,
    outlet: Box<dyn Outlet>,
    longest: usize,
    name: String,
    /// The kernel said that the link is down; the interface is asked before anything more is written.
    pub is_down: bool,
    /// Refusals for want of room since the interface was last asked, and when that was.
    refusals: u32,
    asked_ns: u64,
    before: Option<Statistics>,
}

impl Transmitter {
    pub fn open(
        interface: &Interface,
        setting: &Setting,
        choices: &mut Vec<Choice>,
    ) -> Result<Self, PortError> {
        let socket = Socket::open().map_err(|error| denied(setting, error))?;
        pass_by_qdisc(&socket, setting, choices)?;
        // As much as may wait in the driver; the kernel allows what it allows.
        let _ = socket.set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, 16 << 20);
        let longest = interface.longest(false);
        let outlet: Box<dyn Outlet> = match setting.mode {
            "ring" => {
                let why = "as asked: frames lie in memory that the kernel reads".to_owned();
                choices.push(Choice { what: "mode", chosen: "ring".into(), why });
                let ring = Ring::new(&socket, super::ring::SLOTS, longest + 4);
                Box::new(ring.map_err(|error| failed(setting, "making the transmit ring", error))?)
            }
            _ => {
                let why = "a copy costs less than the transmit ring's bookkeeping for each frame".to_owned();
                choices.push(Choice { what: "mode", chosen: "mmsg".into(), why });
                Box::new(Batch::new(longest + 4))
            }
        };
        socket.bind(interface, NOTHING).map_err(|error| failed(setting, "binding", error))?;
        let before = if setting.queue == 0 { interface.statistics().ok() } else { None };
        let name = setting.name.clone();
        Ok(Self { socket, outlet, longest, name, is_down: false, refusals: 0, asked_ns: 0, before })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.fd()
    }

    pub fn batch(&self) -> usize {
        self.outlet.batch()
    }

    pub fn has_pending(&self) -> bool {
        self.outlet.pending() > 0
    }

    pub fn is_in_flight(&self) -> bool {
        self.outlet.in_flight(&self.socket).unwrap_or(false)
    }

    /// Has up to `most` frames written and hands them over, after what is still pending.
    #[inline]
    pub fn transmit(
        &mut self,
        most: usize,
        write: &mut dyn FnMut(&mut Slot<'_>),
        counters: &mut Counters,
    ) -> Result<usize, PortError> {
        if self.has_pending() {
            self.push(counters)?;
            if self.has_pending() {
                return Ok(0);
            }
        }
        let written = self.outlet.write(most, self.longest, write);
        self.push(counters)?;
        match written.too_long {
            Some(length) => {
                Err(PortError::TooLong { port: self.name.clone(), length, longest: self.longest })
            }
            None => Ok(written.taken),
        }
    }

    /// Hands over what is pending, as far as there is room.
    ///
    /// # Errors
    /// The kernel refuses for a reason that has no place of its own; what was pending is counted as dropped
    /// there.
    #[inline]
    pub fn push(&mut self, counters: &mut Counters) -> Result<(), PortError> {
        while self.has_pending() {
            counters.calls += 1;
            match self.outlet.hand_over(&self.socket) {
                Ok((frames, bytes)) => {
                    counters.sent += frames;
                    counters.sent_bytes += bytes;
                }
                Err(error) => {
                    if self.refused(error, counters)? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// What to do about the first pending frame; whether to leave it at that for now.
    #[cold]
    fn refused(&mut self, error: io::Error, counters: &mut Counters) -> Result<bool, PortError> {
        match error.raw_os_error().unwrap_or(libc::EAGAIN) {
            // No room in the driver, or too much of this socket's under way. The frame stays.
            libc::ENOBUFS | libc::EAGAIN => {
                counters.full += 1;
                self.refusals += 1;
            }
            libc::EINTR => return Ok(false),
            libc::EMSGSIZE => {
                self.outlet.skip();
                counters.drop(DropPlace::TransmitTooLong, 1);
                return Ok(false);
            }
            // Shorter than an Ethernet header.
            libc::EINVAL => {
                self.outlet.skip();
                counters.drop(DropPlace::TransmitKernel, 1);
                return Ok(false);
            }
            libc::ENETDOWN | libc::ENXIO | libc::ENODEV => self.give_up(counters),
            _ => {
                counters.drop(DropPlace::TransmitKernel, self.outlet.discard() as u64);
                return Err(PortError::System { what: format!("sending on {}", self.name), error });
            }
        }
        Ok(true)
    }

    /// Whether frames are refused and it is time to ask if the link is there: one without a carrier refuses as
    /// a full one does.
    #[inline]
    pub fn wants_look(&mut self) -> bool {
        self.refusals > 0 && self.is_time_to_look()
    }

    #[cold]
    fn is_time_to_look(&mut self) -> bool {
        let now = clock::monotonic_ns();
        let is_time = self.refusals >= MOST_REFUSALS || now.saturating_sub(self.asked_ns) >= LOOK_NS;
        if is_time {
            (self.refusals, self.asked_ns) = (0, now);
        }
        is_time
    }

    /// The link is down: what is pending is lost there.
    #[cold]
    pub fn give_up(&mut self, counters: &mut Counters) {
        self.is_down = true;
        counters.drop(DropPlace::TransmitDown, self.outlet.discard() as u64);
    }

    /// Frames that the driver took and could not send, since this was opened. (What it refused outright came
    /// back, and is no loss, although the kernel counts it as dropped.)
    pub fn count_interface(&self, now: &Statistics, counters: &mut Counters) {
        let Some(before) = &self.before else { return };
        let total = now.tx_errors.saturating_sub(before.tx_errors);
        let known = counters.dropped(DropPlace::TransmitDriver);
        counters.drop(DropPlace::TransmitDriver, total.saturating_sub(known));
    }
}

fn pass_by_qdisc(socket: &Socket, setting: &Setting, choices: &mut Vec<Choice>) -> Result<(), PortError> {
    if setting.qdisc == "keep" {
        let why = "as asked: frames pass the queueing discipline".to_owned();
        choices.push(Choice { what: "qdisc", chosen: "keep".into(), why });
        return Ok(());
    }
    let set = socket.set_packet(libc::PACKET_QDISC_BYPASS, 1);
    set.map_err(|error| failed(setting, "passing by the queueing discipline", error))?;
    let why = "frames go straight to the driver".to_owned();
    choices.push(Choice { what: "qdisc", chosen: "bypass".into(), why });
    Ok(())
}
