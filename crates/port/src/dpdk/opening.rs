//! What a port is: as far as that is known before its device runs, and once it does.

use super::device::Lease;
use super::eal::Asked;
use super::layout::{Burst, FastOps, PORTS};
use super::losses::AF_XDP;
use super::place::{DEVICES, Place};
use super::{BATCH, Fast, library};
use crate::about::LONGEST_OF_ALL;
use crate::interface::Interface;
use crate::{Abilities, About, Address, Choice, PortError, Wish};
use std::ffi::c_void;
use std::path::Path;
use std::ptr;
use units::Picos;

/// See [`crate::check`]. How long a frame may be, only the device tells.
pub(crate) fn check(address: &Address, wish: &Wish) -> Result<About, PortError> {
    let Usable { interface, .. } = Usable::find(address)?;
    Ok(About {
        name: address.to_string(),
        kind: "dpdk",
        interface: interface.map(|interface| interface.name),
        longest: LONGEST_OF_ALL,
        can: Abilities { transmit: true, receive: true, ..Abilities::default() },
        queue: wish.queue,
        queues: wish.queues.max(1),
        ..About::default()
    })
}

/// What an address means, where nothing is wrong with it.
pub struct Usable {
    pub place: Place,
    pub asked: Asked,
    pub interface: Option<Interface>,
}

impl Usable {
    pub fn find(address: &Address) -> Result<Self, PortError> {
        let (place, asked) = (Place::read(address)?, Asked::read(address)?);
        place.check_card(Path::new(DEVICES))?;
        let interface = place.interface().map(Interface::find).transpose()?;
        Ok(Self { place, asked, interface })
    }
}

/// The driver's functions for this queue.
pub fn fast(lease: &Lease) -> Result<(Option<Fast>, Option<Fast>), PortError> {
    let (eal, number) = (lease.device.eal, lease.device.number);
    if number >= PORTS {
        let why = format!("it has more than {PORTS} devices");
        return Err(library::unavailable(why));
    }
    let table: *const FastOps = eal.dpdk.call.fast.as_ptr();
    // SAFETY: the library has an entry for each of so many ports, filled when a device is started.
    let ops = unsafe { &*table.add(usize::from(number)) };
    let of = |burst: Option<Burst>, queues: *const *mut c_void| {
        let place = queues.wrapping_add(usize::from(lease.queue));
        // SAFETY: the driver has an entry for each queue that was set up.
        let queue = if queues.is_null() { ptr::null_mut() } else { unsafe { *place } };
        burst.filter(|_| !queue.is_null()).map(|burst| Fast { burst, queue })
    };
    let both = (of(ops.transmit, ops.transmit_queues), of(ops.receive, ops.receive_queues));
    match both {
        (Some(_), Some(_)) => Ok(both),
        _ => Err(library::unavailable(format!("{} has no queue {}", lease.device.driver, lease.queue))),
    }
}

/// Frames must fit into the slots of the driver's rings.
pub fn check_slots(lease: &Lease, interface: Option<&Interface>) -> Result<(), PortError> {
    let kept = lease.device.kept;
    match interface.map(|interface| interface.mtu as usize) {
        Some(mtu) if kept < usize::MAX && mtu + 18 >= kept => Err(library::unavailable(format!(
            "{} keeps less than {kept} bytes of a frame, and the MTU of {mtu} allows more: add \
             ,blocksz=65536,framesz=16384 to the device, or lower the MTU",
            lease.device.driver
        ))),
        _ => Ok(()),
    }
}

/// The name of a network interface of this thread's namespace.
pub fn named(index: u32) -> Option<String> {
    let mut name = [0u8; libc::IF_NAMESIZE];
    // SAFETY: there is room for a name of the longest kind.
    let found = (index > 0).then(|| unsafe { libc::if_indextoname(index, name.as_mut_ptr().cast()) })?;
    if found.is_null() {
        return None;
    }
    let name = std::ffi::CStr::from_bytes_until_nul(&name).ok()?;
    name.to_str().ok().map(str::to_owned)
}

pub fn about(address: &Address, wish: &Wish, lease: &Lease, interface: Option<&Interface>) -> About {
    let device = &lease.device;
    let mtu = interface.map_or(usize::from(device.mtu), |interface| interface.mtu as usize);
    let choice =
        |what, chosen: &str, why: &str| Choice { what, chosen: chosen.to_owned(), why: why.to_owned() };
    let mut choices = vec![
        choice("driver", &device.driver, &device.eal.dpdk.version),
        choice("memory", device.eal.memory.0, device.eal.memory.1),
    ];
    choices.extend(device.choices.iter().chain(&device.clocks.choices).cloned());
    if device.driver == AF_XDP {
        let why = "the driver does not count frames that the kernel drops on sending; the interface does";
        choices.push(choice("losses", "the interface's", why));
    }
    let speed = || u64::from(device.link().speed_mbps).checked_mul(1_000_000).filter(|bps| *bps > 0);
    About {
        name: address.to_string(),
        kind: "dpdk",
        interface: interface.map(|interface| interface.name.clone()),
        mac: interface.and_then(|interface| interface.mac).or(device.mac),
        longest: (mtu + 14).min(device.room),
        // Virtual devices say 10 Gb/s, whatever they do.
        speed_bps: match interface {
            Some(interface) => interface.speed_bps,
            None => address.place().contains(':').then(speed).flatten(),
        },
        can: Abilities {
            transmit: wish.direction.transmits(),
            receive: wish.direction.receives(),
            batch: BATCH,
            stamps: device.clocks.arrival.map(|(_, by)| by),
            launch_time: device.clocks.launch.is_some(),
            zero_copy: false,
            tag_over_mtu: false,
            holds: Picos::ZERO,
        },
        queue: wish.queue,
        queues: u32::from(device.queues),
        choices,
    }
}
