//! The time that the system takes for a packet, and the rates that runs keep, by port and frame size.

use super::Session;
use crate::packets::{Options, weigh as weigh_one};
use crate::{Mac, Stage, Way, WeighError, module, send};
use std::net::SocketAddrV4;

/// Of a module's frames.
const NO_VERDICT: &str = "; it has no highest rate with a VALID verdict, because a verdict judges this host's \
                          clock and threads, and the module's generator uses neither";

/// What is to be weighed.
pub struct PacketsPlan {
    pub options: Options,
    pub place: Place,
    /// Whether the rates are weighed as well that runs keep.
    pub has_rates: bool,
    pub is_quick: bool,
}

/// Where it is weighed.
pub enum Place {
    Bed,
    Named { interface: String, to: SocketAddrV4, to_mac: Option<Mac> },
}

impl PacketsPlan {
    /// A few seconds for each of the ports that matter most.
    pub fn quick() -> Self {
        let options = Options {
            ways: vec![Way::Udp, Way::Packet, Way::Mem],
            sizes: vec![64],
            trials: 3,
            packets: 200_000,
            longest_ns: 1_000_000_000,
            ..Options::default()
        };
        Self { options, place: Place::Bed, has_rates: true, is_quick: true }
    }
}

impl Session {
    /// Weighs each port with each frame size.
    ///
    /// # Errors
    /// There is no place to send to.
    pub fn weigh_packets(&mut self, plan: &PacketsPlan) -> Result<(), WeighError> {
        // Modules need no place to send to.
        if !plan.options.ways.is_empty() {
            self.weigh_ways(plan)?;
        }
        self.weigh_modules(&plan.options, plan.has_rates);
        Ok(())
    }

    fn weigh_ways(&mut self, plan: &PacketsPlan) -> Result<(), WeighError> {
        let stage = match &plan.place {
            Place::Bed => self.stage()?,
            Place::Named { interface, to, to_mac } => Stage::named(interface, *to, *to_mac)?,
        };
        let mut tell = self.tell();
        for way in &plan.options.ways {
            for size in &plan.options.sizes {
                if self.is_stopped() {
                    return Ok(());
                }
                let stop = self.stop.clone();
                match weigh_one(&stage, &plan.options, *way, *size, &stop, &mut tell) {
                    // Stopped before the first trial: nothing is known of it.
                    Ok(found) if found.trials.is_empty() => return Ok(()),
                    Ok(found) => self.weighing.packets.push(found),
                    Err(error) => {
                        self.skip(format!("{way}, {size} B"), &error);
                        break;
                    }
                }
            }
        }
        if plan.has_rates {
            for way in &plan.options.ways {
                for size in &plan.options.sizes {
                    self.rate(&stage, *way, *size, plan.is_quick);
                }
            }
        }
        Ok(())
    }

    /// FPGA modules, which have their own generator, wire and time.
    fn weigh_modules(&mut self, options: &Options, has_rates: bool) {
        let mut tell = self.tell();
        for address in &options.modules {
            for size in &options.sizes {
                if self.is_stopped() {
                    return;
                }
                let stop = self.stop.clone();
                match module::packets::weigh(address, options, *size, &stop, &mut tell) {
                    Ok(found) if found.trials.is_empty() => return,
                    Ok(found) => self.weighing.packets.push(found),
                    Err(_) if self.is_stopped() => return,
                    Err(error) => {
                        self.skip(format!("{address}, {size} B"), &error);
                        break;
                    }
                }
            }
            let rates = if has_rates { NO_VERDICT } else { "" };
            self.note_module(address, rates);
        }
    }

    /// The rates that `tare send` keeps, where this port works at all.
    fn rate(&mut self, stage: &Stage, way: Way, size: usize, is_quick: bool) {
        let is_weighed = self.weighing.packets.iter().any(|found| found.port == way.name());
        if !is_weighed || self.is_stopped() {
            return;
        }
        let stop = self.stop.clone();
        match send::weigh(stage, way, size, is_quick, &stop, &mut self.tell()) {
            Ok(Some(capability)) => self.keep_rate(capability),
            Ok(None) => {}
            Err(why) => self.weighing.notes.push(format!("rates of {way}, {size} B: {why}")),
        }
    }
}
