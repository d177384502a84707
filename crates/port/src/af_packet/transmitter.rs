//! The sending half: a socket that receives nothing, the way in which frames leave it, and what becomes of
//! those that the kernel does not take.

use super::batch::Batch;
use super::outlet::Outlet;
use super::ring::Ring;
use super::setting::{Setting, denied, failed};
use super::socket::{NOTHING, Socket};
use super::timing;
use crate::card_clock::CardClock;
use crate::interface::{Interface, StampGuard, Statistics};
use crate::{Choice, Counters, Departed, DropPlace, PortError, Slot};
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

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
    keeps_time: bool,
    /// The card stamps what leaves for as long.
    _guard: Option<StampGuard>,
}

impl Transmitter {
    pub fn open(
        interface: &Interface,
        setting: &Setting,
        choices: &mut Vec<Choice>,
    ) -> Result<Self, PortError> {
        let socket = Socket::open().map_err(|error| denied(setting, error))?;
        // As much as may wait in the driver; the kernel allows what it allows.
        let _ = socket.set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, 16 << 20);
        let longest = interface.longest(false);
        let timed = match setting.launch {
            "no" => None,
            _ => Some(timing::outlet(&socket, interface, setting, choices)?),
        };
        let keeps_time = timed.is_some();
        let (outlet, guard): (Box<dyn Outlet>, _) = match timed {
            Some((timed, guard)) => (Box::new(timed), guard),
            None => (at_once(&socket, setting, longest, choices)?, None),
        };
        if let Some(priority) = setting.priority {
            let set = socket.set(libc::SOL_SOCKET, libc::SO_PRIORITY, priority);
            set.map_err(|error| failed(setting, "the priority", error))?;
        }
        socket.bind(interface, NOTHING).map_err(|error| failed(setting, "binding", error))?;
        let before = if setting.queue == 0 { interface.statistics().ok() } else { None };
        let name = setting.name.clone();
        Ok(Self {
            socket,
            outlet,
            keeps_time,
            longest,
            name,
            is_down: false,
            refusals: 0,
            asked_ns: 0,
            before,
            _guard: guard,
        })
    }

    /// Frames leave at the times given with them.
    pub const fn keeps_time(&self) -> bool {
        self.keeps_time
    }

    /// How long the first frame pending waits for its time.
    pub fn due_in(&self) -> Option<Duration> {
        self.outlet.due_in()
    }

    /// As [`crate::Port::departed`].
    pub fn departed(
        &mut self,
        most: usize,
        read: &mut dyn FnMut(&Departed),
        counters: &mut Counters,
    ) -> Result<usize, PortError> {
        let told = self.outlet.departed(&self.socket, most, read);
        self.settle(counters);
        told.map_err(|error| match error.raw_os_error() {
            Some(_) => PortError::System { what: format!("asking when frames left {}", self.name), error },
            None => PortError::Device { port: self.name.clone(), problem: error.to_string() },
        })
    }

    /// The clock of the card that stamps what leaves.
    pub fn card(&mut self) -> Option<&mut CardClock> {
        self.outlet.card()
    }

    /// Takes over what the kernel has told since.
    pub fn settle(&mut self, counters: &mut Counters) {
        let settled = self.outlet.settled();
        counters.calls += settled.calls;
        counters.sent -= settled.missed + settled.down;
        counters.sent_bytes -= settled.missed_bytes + settled.down_bytes;
        counters.drop(DropPlace::TransmitLate, settled.missed + settled.refused);
        counters.drop(DropPlace::TransmitDown, settled.down);
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

    pub fn is_in_flight(&mut self, counters: &mut Counters) -> bool {
        let is_in_flight = self.outlet.in_flight(&self.socket).unwrap_or(false);
        self.settle(counters);
        is_in_flight
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
            let before = self.outlet.pending();
            let handed = self.outlet.hand_over(&self.socket);
            if self.keeps_time {
                self.settle(counters);
            }
            match handed {
                Ok((frames, bytes)) => {
                    counters.sent += frames;
                    counters.sent_bytes += bytes;
                    if self.outlet.pending() == before {
                        break;
                    }
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

fn at_once(
    socket: &Socket,
    setting: &Setting,
    longest: usize,
    choices: &mut Vec<Choice>,
) -> Result<Box<dyn Outlet>, PortError> {
    pass_by_qdisc(socket, setting, choices)?;
    if setting.mode == "ring" {
        let why = "as requested: frames are in memory that the kernel reads".to_owned();
        choices.push(Choice { what: "mode", chosen: "ring".into(), why });
        let ring = Ring::new(socket, super::ring::SLOTS, longest + 4);
        return Ok(Box::new(ring.map_err(|error| failed(setting, "making the transmit ring", error))?));
    }
    let why = "copying a frame costs less than the transmit ring's bookkeeping".to_owned();
    choices.push(Choice { what: "mode", chosen: "mmsg".into(), why });
    Ok(Box::new(Batch::new(longest + 4)))
}

fn pass_by_qdisc(socket: &Socket, setting: &Setting, choices: &mut Vec<Choice>) -> Result<(), PortError> {
    if setting.qdisc == "keep" {
        let why = "as requested: frames pass through the queueing discipline".to_owned();
        choices.push(Choice { what: "qdisc", chosen: "keep".into(), why });
        return Ok(());
    }
    let set = socket.set_packet(libc::PACKET_QDISC_BYPASS, 1);
    set.map_err(|error| failed(setting, "bypassing the queueing discipline", error))?;
    let why = "frames go straight to the driver".to_owned();
    choices.push(Choice { what: "qdisc", chosen: "bypass".into(), why });
    Ok(())
}
