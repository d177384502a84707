//! `packet`: AF_PACKET, which every Linux has on every interface.
//!
//! ```text
//!             ┌ transmitter ── batch (sendmmsg) or ring (TX_RING) ──► driver, past the queueing discipline
//!  PacketPort ┤             └ timed (sendmmsg with launch times) ──► etf or fq ──► driver
//!             └ receiver ◄──── ring_v3 (blocks) or ring_v2 (slots) ◄─ kernel: stamp, filter, fanout
//! ```
//!
//! Each half has a socket of its own, so that what is sent is not received and nothing is received that nobody
//! reads. Both are tied to the interface by its number.

mod batch;
mod errors;
mod inlet;
mod launch;
mod layout;
mod memory;
mod merged;
mod outlet;
mod receiver;
mod ring;
mod ring_v2;
mod ring_v3;
mod setting;
pub(crate) mod socket;
mod timed;
mod timing;
mod transmitter;

use crate::interface::{Interface, Link};
use crate::{
    Abilities, About, Address, Counters, Departed, For, Frame, Instruction, OwnTime, Port, PortError,
};
use crate::{Slot, Stamp, StampClock, StampedBy, Wish};
use receiver::Receiver;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use setting::Setting;
use std::os::fd::BorrowedFd;
use std::time::Duration;
use transmitter::Transmitter;
use units::Picos;

/// Most frames of one call that receives.
const BATCH: usize = 1_024;
/// Between two tries to hand frames over while the driver has no room.
const NAP: Duration = Duration::from_micros(20);
/// Between two looks at a link that is down.
const NAP_WHILE_DOWN: Duration = Duration::from_millis(1);

/// One queue of one interface. (How many share the interface is of no account to the kernel when frames are
/// sent: it picks the driver's queue by the CPU that calls.)
pub struct PacketPort {
    about: About,
    interface: Interface,
    transmitter: Option<Transmitter>,
    receiver: Option<Receiver>,
    counters: Counters,
}

/// Opens one queue of `packet:INTERFACE`.
///
/// # Errors
/// No such interface, no privilege, or frames that are longer than the interface takes.
pub(crate) fn open(address: &Address, wish: &Wish) -> Result<Box<dyn Port>, PortError> {
    Ok(Box::new(PacketPort::open(address, wish)?))
}

/// See [`crate::check`].
pub(crate) fn check(address: &Address, wish: &Wish) -> Result<About, PortError> {
    let (interface, setting) = usable(address, wish)?;
    if setting.launch != "no" {
        launch::Launch::find(&interface, &setting).map(drop)?;
    }
    let can = Abilities {
        transmit: wish.direction.transmits(),
        receive: wish.direction.receives(),
        ..Abilities::default()
    };
    Ok(about(&interface, setting.name, can, wish))
}

/// The interface and what is asked of it, where nothing is wrong with either.
fn usable(address: &Address, wish: &Wish) -> Result<(Interface, Setting), PortError> {
    let interface = Interface::find(address.place())?;
    if !interface.is_ethernet {
        let why = "its frames have no Ethernet header".to_owned();
        return Err(PortError::Unavailable { what: address.to_string(), why });
    }
    let setting = Setting::read(address, wish, &interface)?;
    // A tag makes four bytes more possible: that is seen when the frame is there.
    if wish.direction.transmits() && wish.frame > interface.longest(true) {
        let longest = interface.longest(false);
        return Err(PortError::TooLong { port: setting.name, length: wish.frame, longest });
    }
    Ok((interface, setting))
}

fn about(interface: &Interface, name: String, can: Abilities, wish: &Wish) -> About {
    About {
        name,
        kind: "packet",
        interface: Some(interface.name.clone()),
        mac: interface.mac,
        longest: interface.longest(false),
        speed_bps: interface.speed_bps,
        can: Abilities { tag_over_mtu: true, ..can },
        queue: wish.queue,
        queues: wish.queues.max(1),
        choices: Vec::new(),
    }
}

impl PacketPort {
    fn open(address: &Address, wish: &Wish) -> Result<Self, PortError> {
        let (interface, setting) = usable(address, wish)?;
        let mut choices = Vec::new();
        let transmitter = wish
            .direction
            .transmits()
            .then(|| Transmitter::open(&interface, &setting, &mut choices))
            .transpose()?;
        let receiver = wish
            .direction
            .receives()
            .then(|| Receiver::open(&interface, &setting, &mut choices))
            .transpose()?;
        let can = Abilities {
            transmit: transmitter.is_some(),
            receive: receiver.is_some(),
            batch: transmitter.as_ref().map_or(BATCH, Transmitter::batch),
            stamps: receiver.as_ref().map(Receiver::stamps),
            launch_time: transmitter.as_ref().is_some_and(Transmitter::keeps_time),
            ..Abilities::default()
        };
        let about = About { choices, ..about(&interface, setting.name, can, wish) };
        Ok(Self { about, interface, transmitter, receiver, counters: Counters::default() })
    }

    fn unable(&self, what: &'static str) -> PortError {
        PortError::Unable { port: self.about.name.clone(), what }
    }

    /// Whether the link is there again after it was down.
    fn look_again(&mut self) -> Result<(), PortError> {
        if let Some(trouble) = self.interface.trouble() {
            return Err(trouble);
        }
        if let Some(transmitter) = &mut self.transmitter {
            transmitter.is_down = false;
        }
        Ok(())
    }

    /// Refusals may mean that the link has no carrier.
    #[inline]
    fn look_at_refusals(&mut self) {
        if let Some(transmitter) = &mut self.transmitter
            && transmitter.wants_look()
            && self.interface.state() != Link::Up
        {
            transmitter.give_up(&mut self.counters);
        }
    }

    /// After a long silence: an interface that is gone is told, one that is down may come back.
    #[cold]
    fn check_silence(&mut self) -> Result<(), PortError> {
        self.counters.calls += 1;
        match self.interface.state() {
            Link::Gone => Err(PortError::Gone { interface: self.interface.name.clone() }),
            Link::Up | Link::Down => Ok(()),
        }
    }

    /// Waits for `flags` on one of the sockets; whether they came.
    fn poll(&mut self, what: For, patience: Duration) -> Result<bool, PortError> {
        let (fd, flags) = match (what, &self.receiver, &self.transmitter) {
            (For::Receive, Some(receiver), _) => (receiver.fd(), PollFlags::IN),
            (For::Transmit, _, Some(transmitter)) => (transmitter.fd(), PollFlags::OUT),
            (For::Receive, None, _) => return Err(self.unable("receive")),
            (For::Transmit, _, None) => return Err(self.unable("transmit")),
        };
        let mut polled = [PollFd::from_borrowed_fd(fd, flags)];
        let patience =
            Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
        self.counters.calls += 1;
        match poll(&mut polled, Some(&patience)) {
            Ok(_) => (),
            Err(rustix::io::Errno::INTR) => return Ok(false),
            Err(error) => {
                let what = format!("waiting on {}", self.about.name);
                return Err(PortError::System { what, error: error.into() });
            }
        }
        let came = polled[0].revents();
        if came.intersects(PollFlags::ERR) {
            // The link went down, or the interface away. Taken, the error does not wake the next call.
            if let Some(receiver) = &self.receiver {
                receiver.take_error();
            }
            self.check_silence()?;
        }
        Ok(came.intersects(flags))
    }
}

impl Port for PacketPort {
    fn about(&self) -> &About {
        &self.about
    }

    #[inline]
    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        self.look_at_refusals();
        if self.transmitter.as_ref().is_some_and(|transmitter| transmitter.is_down) {
            self.look_again()?;
        }
        match &mut self.transmitter {
            Some(transmitter) => transmitter.transmit(most, write, &mut self.counters),
            None => Err(self.unable("transmit")),
        }
    }

    #[inline]
    fn receive(&mut self, most: usize, read: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        let Some(receiver) = &mut self.receiver else { return Err(self.unable("receive")) };
        let frames = receiver.read(most.min(BATCH), read, &mut self.counters);
        if frames == 0 && receiver.is_idle_for_long() {
            self.check_silence()?;
        }
        Ok(frames)
    }

    fn flush(&mut self, patience: Picos) -> Result<bool, PortError> {
        let until = clock::monotonic_ns().saturating_add(patience.as_nanos());
        loop {
            self.look_at_refusals();
            let Some(transmitter) = &mut self.transmitter else { return Ok(true) };
            transmitter.push(&mut self.counters)?;
            if !transmitter.has_pending() && !transmitter.is_in_flight(&mut self.counters) {
                return Ok(true);
            }
            if clock::monotonic_ns() >= until {
                return Ok(false);
            }
            std::thread::sleep(NAP);
        }
    }

    fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
        if what == For::Receive {
            return self.poll(what, patience.as_std());
        }
        // The socket has room even when the driver has none: only trying tells.
        let until = clock::monotonic_ns().saturating_add(patience.as_nanos());
        loop {
            self.look_at_refusals();
            let Some(transmitter) = &mut self.transmitter else { return Err(self.unable("transmit")) };
            transmitter.push(&mut self.counters)?;
            let is_down = transmitter.is_down && self.interface.state() != Link::Up;
            let mut nap = NAP;
            if is_down {
                self.check_silence()?;
                nap = NAP_WHILE_DOWN;
            } else if self.transmitter.as_ref().is_some_and(|one| !one.has_pending()) {
                return self.poll(what, remaining(until));
            } else if let Some(due_in) = self.transmitter.as_ref().and_then(Transmitter::due_in) {
                nap = nap.max(due_in);
            }
            if remaining(until).is_zero() {
                return Ok(false);
            }
            std::thread::sleep(nap.min(remaining(until)));
        }
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        if let Some(receiver) = &mut self.receiver {
            receiver.count_drops(&mut self.counters);
        }
        if let Some(transmitter) = &mut self.transmitter {
            transmitter.settle(&mut self.counters);
        }
        // What is not known of an interface that is gone stays as it was.
        if self.about.queue == 0
            && let Ok(now) = self.interface.statistics()
        {
            if let Some(receiver) = &self.receiver {
                receiver.count_interface(&now, &mut self.counters);
            }
            if let Some(transmitter) = &self.transmitter {
                transmitter.count_interface(&now, &mut self.counters);
            }
        }
        Ok(&self.counters)
    }

    fn is_up(&mut self) -> bool {
        self.interface.state() == Link::Up
    }

    fn trouble(&mut self) -> Option<PortError> {
        self.interface.trouble()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.receiver.as_ref().map(|receiver| receiver.fd())
    }

    fn outlet(&self) -> Option<BorrowedFd<'_>> {
        self.transmitter.as_ref().map(|transmitter| transmitter.fd())
    }

    /// With launch times it is the wall clock, by which the kernel stamps what leaves.
    fn own_time(&mut self) -> Result<Option<OwnTime>, PortError> {
        let Some(transmitter) = self.transmitter.as_mut().filter(|one| one.keeps_time()) else {
            return Ok(None);
        };
        let bound = transmitter.card().map(|card| card.bound_ns());
        let stamped = if bound.is_some() { StampedBy::Hardware } else { StampedBy::Driver };
        Ok(Some(OwnTime {
            simulated: false,
            simulation: 0,
            tick: Picos::from_nanos(1),
            is_exact: false,
            stamped,
            now: Stamp(clock::unix_ns()),
            bound: Picos::from_nanos(bound.unwrap_or(0)),
        }))
    }

    fn departed(&mut self, most: usize, read: &mut dyn FnMut(&Departed)) -> Result<usize, PortError> {
        match &mut self.transmitter {
            Some(transmitter) => transmitter.departed(most, read, &mut self.counters),
            None => Ok(0),
        }
    }

    fn stamp_clock(&mut self) -> Option<StampClock> {
        let received = self.receiver.as_mut().and_then(Receiver::stamp_clock);
        received.or_else(|| self.transmitter.as_mut()?.card().map(|card| card.report()))
    }

    fn filter(&mut self, program: &[Instruction]) -> Result<(), PortError> {
        let Some(receiver) = &mut self.receiver else {
            return Err(self.unable("filter what it does not receive"));
        };
        let attached = receiver.filter(program, &mut self.counters);
        attached
            .map_err(|error| PortError::System { what: format!("the filter of {}", self.about.name), error })
    }
}

fn remaining(until_ns: u64) -> Duration {
    Duration::from_nanos(until_ns.saturating_sub(clock::monotonic_ns()))
}
