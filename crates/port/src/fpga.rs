//! `fpga`: the FPGA module, on a board or simulated (docs/fpga.md). Frames leave in the exact cycle requested.
//!
//! ```text
//!   port ─┐                  ┌ sign   signatures as the module writes them
//!   port ─┴─► device ─► session ─► transport ─► fpga:IF   raw frames to a board's link side
//!             registers  state                └► fpga:sim  a socket to a simulator (process), whose wire side
//!             time       link (the language)               is an interface, a tap, or a cable to itself
//! ```
//!
//! All ports of one address in one process share one module: a simulation is one program, and a board has one
//! host.

pub mod access;
pub mod bitstream;
mod claim;
mod device;
#[cfg(any(test, feature = "fuzzed"))]
pub mod fuzzed;
pub mod generator;
pub mod link;
pub mod loader;
mod port;
mod process;
pub mod register;
#[rustfmt::skip]
pub mod registers;
pub mod rules;
mod session;
pub mod sessions;
mod sign;
mod state;
pub mod status;
pub mod time;
mod transport;
mod writes;

pub use device::Module;
pub use session::Hello;

use crate::about::{Abilities, About, LONGEST_OF_ALL};
use crate::af_packet::socket::{EVERYTHING, Socket};
use crate::interface::Interface;
use crate::namespace::Home;
use crate::{Address, Port, PortError, PortKind, Wish};
use process::SimulatorSetup;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use transport::Transport;

/// The place that is no interface.
pub const SIMULATION: &str = "sim";

/// Modules that are open, by address.
static OPEN: Mutex<Option<HashMap<String, Weak<Module>>>> = Mutex::new(None);

/// Opens one of the ports to the module at `address`.
pub(crate) fn open(address: &Address, wish: &Wish) -> Result<Box<dyn Port>, PortError> {
    wish.one_queue(address)?;
    Ok(Box::new(port::ModulePort::new(address, wish, find(address)?)?))
}

/// See [`crate::check`]. What the module takes, only the module tells.
pub(crate) fn check(address: &Address, wish: &Wish) -> Result<About, PortError> {
    wish.one_queue(address)?;
    address.word("carrier", &["yes", "no"])?;
    has_fitting_options(address)?;
    if address.place() != SIMULATION {
        Interface::find(address.place())?;
    }
    let can = Abilities { transmit: true, receive: true, ..Abilities::default() };
    Ok(About {
        name: address.to_string(),
        kind: "fpga",
        longest: LONGEST_OF_ALL,
        can,
        queues: 1,
        ..About::default()
    })
}

/// The module at `address`, which ports of this process may use already. Nothing is changed on it.
///
/// # Errors
/// The address is no module's, there is none, or it is of another release.
pub fn connect(address: &Address) -> Result<Arc<Module>, PortError> {
    if address.kind() != PortKind::Fpga {
        return Err(address.wrong("is not a module", &PortKind::Fpga.form()));
    }
    crate::namespace::within(address, || find(address))
}

fn find(address: &Address) -> Result<Arc<Module>, PortError> {
    let key = key(address);
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let open = open.get_or_insert_with(HashMap::new);
    if let Some(module) = open.get(&key).and_then(Weak::upgrade) {
        return Ok(module);
    }
    let trusts_wire = address.word("carrier", &["yes", "no"])? == "no";
    let module = Arc::new(begin(address)?);
    if trusts_wire {
        module.trust_wire();
    }
    open.retain(|_, module| module.strong_count() > 0);
    open.insert(key, Arc::downgrade(&module));
    Ok(module)
}

/// The same for addresses that mean the same module, in whatever order their options are. Interfaces of one
/// name are others in each network namespace, and this thread is in that of the address.
fn key(address: &Address) -> String {
    let options = PortKind::Fpga.options().iter();
    let values = options.map(|(name, _)| address.option(name).map(|value| format!("{name}={value}")));
    let namespace = Home::here().map(|home| home.inode()).ok();
    format!("{:?} {} {namespace:?}", values.collect::<Vec<_>>(), address.place())
}

/// Options of simulations, and of sessions, are of nothing else.
fn has_fitting_options(address: &Address) -> Result<(), PortError> {
    if let Some(option) = sessions::own_option(address) {
        return Err(
            address.wrong(&format!("{option} is for sessions"), "it with tare http --via fpga,…:sim alone")
        );
    }
    if address.place() == SIMULATION {
        return Ok(());
    }
    let simulations = ["wire", "tap", "traffic", "pcap", "program", "seed"];
    if let Some(option) = simulations.iter().find(|option| address.option(option).is_some()) {
        return Err(address.wrong(&format!("{option} is for a simulation"), "fpga:INTERFACE or fpga,…:sim"));
    }
    Ok(())
}

fn begin(address: &Address) -> Result<Module, PortError> {
    let name = address.to_string();
    has_fitting_options(address)?;
    if address.place() == SIMULATION {
        return Module::simulate(&name, simulation(address)?);
    }
    Module::greet(&name, Transport::on(address.place())?, None)
}

/// What the options of `fpga:sim` ask for.
fn simulation(address: &Address) -> Result<SimulatorSetup, PortError> {
    let wire = match (address.option("wire").filter(|wire| *wire != "loop"), address.option("tap")) {
        (Some(_), Some(_)) => {
            return Err(address.wrong("has both a wire and a tap", "wire=INTERFACE or tap=NAME"));
        }
        (Some(interface), None) => Some(cable(address, interface)?),
        (None, Some(name)) => Some(tap(address, name)?),
        (None, None) => None,
    };
    if wire.is_some() && address.option("traffic").is_some() {
        return Err(address.wrong("has both traffic and a wire", "traffic=FILE without wire and tap"));
    }
    Ok(SimulatorSetup {
        traffic: address.option("traffic").map(PathBuf::from),
        program: address.option("program").map(PathBuf::from),
        wire,
        pcap: address.option("pcap").map(PathBuf::from),
        seed: address.read("seed", "7")?,
    })
}

/// All frames of an interface, as the wire of a simulation.
fn cable(address: &Address, name: &str) -> Result<OwnedFd, PortError> {
    let interface = Interface::find(name)?;
    let what = || format!("the wire of {address}");
    if !interface.is_ethernet {
        let why = format!("frames of {name} have no Ethernet header");
        return Err(PortError::Unavailable { what: what(), why });
    }
    let socket = Socket::open().and_then(|socket| {
        socket.set_packet(libc::PACKET_IGNORE_OUTGOING, 1)?;
        let everything = libc::packet_mreq {
            mr_ifindex: interface.index as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        socket.bind(&interface, EVERYTHING)?;
        socket.set_packet(libc::PACKET_ADD_MEMBERSHIP, everything)?;
        Ok(socket.into_fd())
    });
    let socket = socket.map_err(|error| match error.raw_os_error() {
        Some(libc::EPERM) => PortError::Privilege { what: what(), capability: "CAP_NET_RAW" },
        _ => PortError::System { what: what(), error },
    })?;
    rustix::io::ioctl_fionbio(&socket, true)
        .map_err(|error| PortError::System { what: what(), error: error.into() })?;
    Ok(socket)
}

/// A device of this host, as the wire of a simulation: what the host sends through it arrives at the module.
fn tap(address: &Address, name: &str) -> Result<OwnedFd, PortError> {
    Ok(crate::tap::make(address, name, false)?.into())
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;
