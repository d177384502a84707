//! Offloads off: with them, checksums of the host's own stack are left to a card that is not there, and
//! segments travel glued together, so that frames on a veth are not what would be on a wire.
//!
//! By the one ioctl of ethtool, because `ethtool` itself is not installed everywhere.

#![allow(unsafe_code)]

use crate::BedError;
use rustix::net::{AddressFamily, SocketType, socket};
use std::io;
use std::os::fd::AsRawFd;

/// `ETHTOOL_SGRO`.
const SET_GRO: u32 = 0x2c;
/// `ETHTOOL_S*` of linux/ethtool.h, each with a value of 0 or 1: receive and transmit checksums, segmentation
/// of TCP, of anything, receive offload. Scatter-gather stays.
const SWITCHES: [(u32, &str); 5] = [
    (0x15, "switching receive checksums off on"),
    (0x17, "switching transmit checksums off on"),
    (0x1f, "switching TCP segmentation off on"),
    (0x24, "switching generic segmentation off on"),
    (SET_GRO, "switching generic receive offload off on"),
];

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Switches the offloads of `interface` off, in the namespace that this thread is in.
pub fn off(interface: &str) -> Result<(), BedError> {
    switch(interface, &SWITCHES, 0)
}

/// Switches generic receive offload on there: a veth then polls (NAPI), and takes what XDP programs redirect to
/// its other end.
pub fn gro_on(interface: &str) -> Result<(), BedError> {
    switch(interface, &[(SET_GRO, "switching generic receive offload on at")], 1)
}

fn switch(interface: &str, switches: &[(u32, &'static str)], data: u32) -> Result<(), BedError> {
    let failed = |what, error| BedError::Interface { what, interface: interface.into(), error };
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)
        .map_err(|error| failed("opening a socket for", error.into()))?;
    for (command, what) in switches {
        let mut value = Value { command: *command, data };
        set(&socket, interface, &mut value).map_err(|error| failed(what, error))?;
    }
    Ok(())
}

fn set(socket: &impl AsRawFd, interface: &str, value: &mut Value) -> io::Result<()> {
    // SAFETY: `ifreq` is plain integers and a union of them; all zeroes is a value of it.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // One is left for the terminating zero.
    let room = request.ifr_name.len() - 1;
    for (place, byte) in request.ifr_name[..room].iter_mut().zip(interface.bytes()) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_data = std::ptr::from_mut(value).cast();
    // SAFETY: `request` names an interface and points to an `ethtool_value`, which is what these commands read;
    // both outlive the call.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &mut request) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
