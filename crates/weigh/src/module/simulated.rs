//! A simulation that is driven, and everything that was on its wire.

use super::wire::{OUT, Wire};
use crate::WeighError;
use port::fpga::{self, Module};
use port::pcap::Captured;
use port::{Address, Stamp};
use wire::Signature;

/// A frame on the wire, by the simulation's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When its preamble began.
    pub at_ns: u64,
    /// When it was due, of those that leave.
    pub due: Option<Stamp>,
}

impl Seen {
    fn of(frame: &Captured<'_>) -> Self {
        let signature = Some(frame.data).filter(|_| frame.interface == OUT).and_then(Signature::find);
        let due = signature.map(|signature| Stamp(signature.due_unix_ns));
        Self { at_ns: frame.stamp.as_unix_nanos(), due }
    }
}

/// Drives a simulation with this traffic coming in (or a cable to itself), and returns what was on its wire
/// until it ended. `seed`: what its memories hold at first, unless the address says so.
///
/// # Errors
/// It cannot be started, it fails, or `drive` does.
pub fn simulate<T>(
    address: &Address,
    traffic: Option<&[u8]>,
    seed: usize,
    drive: impl FnOnce(&Module) -> Result<T, WeighError>,
) -> Result<(T, Vec<Seen>), WeighError> {
    let wire = Wire::new(traffic, Vec::new(), |all: &mut Vec<Seen>, frame| all.push(Seen::of(frame)))?;
    let mut there = wire.address(address);
    if there.option("seed").is_none() {
        there = there.with("seed", &seed.to_string());
    }
    // The simulation ends, and the wire with it, when the module is given back.
    let driven = fpga::connect(&there).map_err(WeighError::from).and_then(|module| drive(&module));
    let seen = wire.seen()?;
    Ok((driven?, seen))
}
