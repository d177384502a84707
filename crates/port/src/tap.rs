//! `tap`: a network device of this host whose cable ends in this program. What is sent here arrives at the
//! host's own stack, and what the host sends through the device is received here. It goes when the port is
//! closed.
//!
//! ```text
//!   host's stack ◄── device ◄── write(2) ── transmit
//!                ──►        ──► read(2) ──► receive
//! ```
//!
//! One system call for each frame: the kernel has no other way here.

mod device;

use crate::about::{Abilities, About};
use crate::interface::{Interface, Link, Statistics};
use crate::{Address, CardWork, Counters, DropPlace, For, Frame, Port, PortError, Slot, Stamp, Wish};
use device::DeviceSetup;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use units::Picos;

/// Most frames of one call.
const BATCH: usize = 64;
/// Of a new device.
const MTU: u32 = 1_500;
/// Ethernet's header, and a tag that the kernel allows on top of the MTU.
const HEADER: usize = 14 + 4;

struct Tap {
    about: About,
    file: File,
    interface: Interface,
    room: Vec<u8>,
    mark: u64,
    arrived: Vec<u8>,
    counters: Counters,
    /// The device's own counts when this was opened.
    before: Statistics,
    /// Frames that the device did not take, which it counts as dropped.
    refused: u64,
}

/// Makes the device, or another queue of it, as the options of the address want it.
pub(crate) fn make(address: &Address, name: &str, is_one_of_several: bool) -> Result<File, PortError> {
    let wanted = wanted(address, name)?;
    let file = device::create(name, is_one_of_several).map_err(|error| refused(name, error))?;
    wanted.give(name).map_err(|error| refused(name, error))?;
    Ok(file)
}

fn wanted(address: &Address, name: &str) -> Result<Wanted, PortError> {
    if name.len() > 15 || name.contains('/') || name.contains(char::is_whitespace) {
        return Err(address.wrong("is not a device name", "up to 15 letters without '/' and spaces"));
    }
    Wanted::read(address)
}

/// See [`crate::check`]. A device that is there already keeps its MTU, unless the address has one.
pub(crate) fn check(address: &Address, wish: &Wish) -> Result<About, PortError> {
    let wanted = wanted(address, address.place())?;
    let there = Interface::find(address.place()).ok().map(|interface| interface.mtu);
    let longest = wanted.mtu.or(there).unwrap_or(MTU) as usize + HEADER;
    let name = address.to_string();
    if wish.frame > longest && wish.direction.transmits() {
        return Err(PortError::TooLong { port: name, length: wish.frame, longest });
    }
    let can = Abilities { transmit: true, receive: true, batch: BATCH, ..Abilities::default() };
    Ok(About { name, kind: "tap", longest, can, queues: wish.queues.max(1), ..About::default() })
}

pub(crate) fn open(address: &Address, wish: &Wish) -> Result<Box<dyn Port>, PortError> {
    let name = address.place();
    let file = make(address, name, wish.queues > 1)?;
    let interface = Interface::find(name)?;
    let before = interface.statistics()?;
    let longest = interface.longest(true);
    let about = About {
        name: address.to_string(),
        kind: "tap",
        interface: Some(name.to_owned()),
        mac: interface.mac.map(other_end),
        longest,
        can: Abilities { transmit: true, receive: true, batch: BATCH, ..Abilities::default() },
        queue: wish.queue,
        queues: wish.queues.max(1),
        ..About::default()
    };
    if wish.frame > longest && wish.direction.transmits() {
        return Err(PortError::TooLong { port: about.name, length: wish.frame, longest });
    }
    Ok(Box::new(Tap {
        about,
        file,
        interface,
        room: vec![0; longest],
        mark: 0,
        arrived: vec![0; longest.max(65_536)],
        counters: Counters::default(),
        before,
        refused: 0,
    }))
}

/// The device's MAC is the host's; whoever speaks for this end has another.
fn other_end(mut mac: [u8; 6]) -> [u8; 6] {
    mac[5] ^= 1;
    mac
}

/// What the options ask for.
struct Wanted {
    mtu: Option<u32>,
    mac: Option<[u8; 6]>,
    address: Option<(IpAddr, u32)>,
}

impl Wanted {
    fn read(address: &Address) -> Result<Self, PortError> {
        let mac = address.option("mac").map(|text| {
            read_mac(text).ok_or_else(|| address.wrong("mac cannot be read", r"mac=02\:18\:00\:00\:00\:09"))
        });
        let own = address.option("address").map(|text| {
            let expected = r"address=198.18.0.1/24 or address=[fd00::1]/64";
            read_prefix(text).ok_or_else(|| address.wrong("address cannot be read", expected))
        });
        Ok(Self { mtu: address.read("mtu", "1500")?, mac: mac.transpose()?, address: own.transpose()? })
    }

    fn give(&self, name: &str) -> io::Result<()> {
        let setup = DeviceSetup::new(matches!(self.address, Some((IpAddr::V6(_), _))))?;
        if let Some(mac) = self.mac {
            setup.mac(name, mac)?;
        }
        if let Some(mtu) = self.mtu {
            setup.mtu(name, mtu)?;
        }
        setup.up(name)?;
        if let Some((address, prefix)) = self.address {
            let index = rustix::net::netdevice::name_to_index(setup.socket(), name)?;
            match setup.address(name, index, address, prefix) {
                // Another queue was here first.
                Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {}
                other => other?,
            }
        }
        Ok(())
    }
}

fn read_mac(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut mac {
        *byte = u8::from_str_radix(parts.next()?, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

fn read_prefix(text: &str) -> Option<(IpAddr, u32)> {
    let (address, prefix) = text.split_once('/')?;
    let address: IpAddr = address.trim_matches(['[', ']']).parse().ok()?;
    let prefix = prefix.parse().ok()?;
    (prefix <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, prefix))
}

fn refused(name: &str, error: io::Error) -> PortError {
    let what = format!("the tap device '{name}'");
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => PortError::Privilege { what, capability: "CAP_NET_ADMIN" },
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => {
            PortError::Unavailable { what, why: "this kernel has no /dev/net/tun (modprobe tun)".to_owned() }
        }
        Some(libc::EBUSY) => PortError::Unavailable { what, why: "another program has it".to_owned() },
        Some(libc::EINVAL) => {
            let why =
                "the name is that of an interface of another kind, or an option is impossible".to_owned();
            PortError::Unavailable { what, why }
        }
        _ => PortError::System { what, error },
    }
}

impl Tap {
    /// An error of read or write as what it means.
    fn meaning(&self, error: Errno) -> PortError {
        let interface = self.about.interface.clone().unwrap_or_default();
        match (error, self.interface.state()) {
            (Errno::BADFD, _) | (_, Link::Gone) => PortError::Gone { interface },
            (Errno::IO, _) | (_, Link::Down) => PortError::Down { interface },
            _ => PortError::System { what: self.about.name.clone(), error: error.into() },
        }
    }

    /// One frame; whether the kernel took it.
    fn send(&mut self, length: usize) -> Result<bool, PortError> {
        self.counters.calls += 1;
        match rustix::io::write(&self.file, &self.room[..length]) {
            Ok(_) => {
                self.counters.sent += 1;
                self.counters.sent_bytes += length as u64;
                Ok(true)
            }
            Err(error) => {
                // It was taken from the caller, and is lost.
                self.refused += 1;
                if matches!(error, Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) {
                    self.counters.drop(DropPlace::TransmitKernel, 1);
                    return Ok(false);
                }
                self.counters.drop(DropPlace::TransmitDown, 1);
                Err(self.meaning(error))
            }
        }
    }
}

impl Port for Tap {
    fn about(&self) -> &About {
        &self.about
    }

    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        for taken in 0..most.min(BATCH) {
            let mut slot =
                Slot { data: &mut self.room, length: 0, launch: Stamp::NONE, mark: &mut self.mark };
            write(&mut slot);
            let length = slot.length;
            if length > self.room.len() {
                let (port, longest) = (self.about.name.clone(), self.room.len());
                return Err(PortError::TooLong { port, length, longest });
            }
            if length > 0 && !self.send(length)? {
                self.counters.full += 1;
                return Ok(taken + 1);
            }
        }
        Ok(most.min(BATCH))
    }

    fn receive(&mut self, most: usize, read: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        for count in 0..most.min(BATCH) {
            self.counters.calls += 1;
            match rustix::io::read(&self.file, &mut self.arrived[..]) {
                Ok(length) => {
                    self.counters.received += 1;
                    self.counters.received_bytes += length as u64;
                    let data = &self.arrived[..length];
                    read(&Frame {
                        data,
                        length,
                        stamp: Stamp::NONE,
                        lost_before: 0,
                        card_work: CardWork::NONE,
                    });
                }
                Err(Errno::AGAIN | Errno::INTR) => return Ok(count),
                Err(_) if count > 0 => return Ok(count),
                Err(error) => return Err(self.meaning(error)),
            }
        }
        Ok(most.min(BATCH))
    }

    /// What was written is in the host's stack.
    fn flush(&mut self, _patience: Picos) -> Result<bool, PortError> {
        Ok(true)
    }

    fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
        let flags = if what == For::Receive { PollFlags::IN } else { PollFlags::OUT };
        wait_on(self.file.as_fd(), flags, patience)
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        // Of a device that is gone, the last figures stay. They are those of all queues: the first one tells
        // them.
        if self.about.queue == 0
            && let Ok(now) = self.interface.statistics()
        {
            let unread = now.tx_dropped.saturating_sub(self.before.tx_dropped);
            let unheard = now.rx_dropped.saturating_sub(self.before.rx_dropped).saturating_sub(self.refused);
            for (place, total) in [(DropPlace::ReceiveRing, unread), (DropPlace::Peer, unheard)] {
                self.counters.drop(place, total.saturating_sub(self.counters.dropped(place)));
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
        Some(self.file.as_fd())
    }
}

/// Waits for a descriptor; whether it is ready, or has an error that the next call will tell.
pub(crate) fn wait_on(fd: BorrowedFd<'_>, flags: PollFlags, patience: Picos) -> Result<bool, PortError> {
    Ok(!found_on(fd, flags, patience)?.is_empty())
}

/// The same, and what was found.
pub(crate) fn found_on(
    fd: BorrowedFd<'_>,
    flags: PollFlags,
    patience: Picos,
) -> Result<PollFlags, PortError> {
    let nanos = patience.as_nanos();
    let time = Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as _ };
    let mut polled = [PollFd::from_borrowed_fd(fd, flags)];
    match poll(&mut polled, Some(&time)) {
        Ok(_) => Ok(polled[0].revents()),
        Err(Errno::INTR) => Ok(PollFlags::empty()),
        Err(error) => Err(PortError::System { what: "waiting for a port".to_owned(), error: error.into() }),
    }
}
