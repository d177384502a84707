//! A weighing of several things that goes on: what was found so far, and what of it goes into the profile.

mod backload;
mod packets;

pub use backload::BackloadPlan;
pub use packets::{PacketsPlan, Place};

use crate::{Stage, WeighError, module};
use profile::{Capability, Machine, Profile, Refused};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::weighing::{Rated, SCHEMA, Skipped, Weighing};

/// See the module.
pub struct Session {
    pub weighing: Weighing,
    pub stop: Arc<AtomicBool>,
    /// What goes into the profile.
    pub capabilities: Vec<Capability>,
    progress: Option<fn(&str)>,
}

impl Session {
    /// `command`: as it was typed. `stop` ends it early; `progress` hears what goes on.
    pub fn begin(command: String, stop: Arc<AtomicBool>, progress: Option<fn(&str)>) -> Self {
        let weighing = Weighing {
            schema: SCHEMA.to_owned(),
            made_unix_s: unix_s(),
            tare: env!("CARGO_PKG_VERSION").to_owned(),
            command,
            machine: Machine::read().facts,
            ..Weighing::default()
        };
        Self { weighing, stop, capabilities: Vec::new(), progress }
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A line about what goes on.
    pub fn tell(&self) -> impl FnMut(&str) + use<> {
        let progress = self.progress;
        move |line: &str| {
            if let Some(progress) = progress {
                progress(line);
            }
        }
    }

    /// A bed, or what works without privilege; the reason is noted.
    fn stage(&mut self) -> Result<Stage, WeighError> {
        match Stage::bed() {
            Ok(stage) => Ok(stage),
            Err(error) => {
                let note = format!(
                    "cannot make network namespaces ({error}), so UDP goes over the loopback interface"
                );
                self.tell()(&note);
                self.weighing.notes.push(note);
                Stage::loopback()
            }
        }
    }

    fn skip(&mut self, what: String, why: &WeighError) {
        let why = why.to_string();
        self.tell()(&format!("skipping {what}: {why}"));
        self.weighing.skipped.push(Skipped { what, why });
    }

    /// Says of a simulated module that its figures are none of this machine's. `more`: what else is to be said.
    fn note_module(&mut self, address: &port::Address, more: &str) {
        let weighing = &self.weighing;
        let name = address.to_string();
        let has_figures = weighing.packets.iter().any(|one| one.port == name)
            || weighing.backload.iter().any(|one| one.port == name);
        if !has_figures {
            return;
        }
        let whose = if module::is_simulated(address) {
            "rates and times are simulated"
        } else {
            "rates and times are the module's"
        };
        self.weighing.notes.push(format!(
            "{name}: {whose}; nothing of them is in this machine's profile or a forecast{more}"
        ));
    }

    pub fn keep_rate(&mut self, capability: Capability) {
        let point = capability
            .points
            .iter()
            .filter(|point| point.user_ns + point.system_ns > 0.0)
            .max_by(|a, b| a.achieved_per_s.total_cmp(&b.achieved_per_s));
        self.weighing.rates.push(Rated {
            key: capability.key.clone(),
            against: capability.against.clone(),
            threads: capability.threads,
            peak_per_s: capability.peak_per_s,
            low_per_s: capability.low_per_s,
            high_per_s: capability.high_per_s,
            saturated_per_s: capability.saturated_per_s,
            user_ns: point.map_or(0.0, |point| point.user_ns),
            system_ns: point.map_or(0.0, |point| point.system_ns),
            softirq_ns: point.and_then(|point| point.softirq_ns),
        });
        self.capabilities.push(capability);
    }

    /// Whether something was weighed, but no trial of it counts.
    pub fn has_no_figures(&self) -> bool {
        let weighing = &self.weighing;
        let has_trials = weighing
            .packets
            .iter()
            .map(|found| found.overall.trials)
            .chain(weighing.backload.iter().map(|found| found.trials));
        weighing.rates.is_empty() && has_trials.sum::<usize>() == 0
    }

    /// Says that nothing more is weighed.
    ///
    /// # Errors
    /// Nothing was weighed at all, and nobody stopped it: why.
    pub fn end(&mut self) -> Result<(), WeighError> {
        let is_partial = self.is_stopped();
        let weighing = &mut self.weighing;
        weighing.partial = is_partial;
        let is_empty =
            weighing.packets.is_empty() && weighing.backload.is_empty() && weighing.rates.is_empty();
        if !is_empty || is_partial {
            return Ok(());
        }
        let why: Vec<String> =
            weighing.skipped.iter().map(|skipped| format!("{}: {}", skipped.what, skipped.why)).collect();
        Err(WeighError::Wrong(format!("nothing could be weighed on this machine: {}", why.join("; "))))
    }
}

/// Puts rates into this machine's profile. `aside` hears why the profile that was there is not one any more.
///
/// # Errors
/// It cannot be written.
pub fn keep_profile(capabilities: &[Capability], aside: &mut dyn FnMut(&Refused)) -> Result<(), WeighError> {
    // No rate that was kept is nothing to go by: an earlier weighing's figure is better.
    let known: Vec<&Capability> = capabilities.iter().filter(|one| one.peak_per_s > 0.0).collect();
    if known.is_empty() {
        return Ok(());
    }
    let (machine, home) = (Machine::read(), store::state_dir()?.join("tare"));
    let mut profile = Profile::of(&machine, &home).unwrap_or_else(|refused| {
        if refused != Refused::None {
            aside(&refused);
        }
        Profile::new(machine, env!("CARGO_PKG_VERSION"))
    });
    known.into_iter().for_each(|capability| profile.put(capability.clone()));
    profile.made_unix_s = unix_s();
    profile.tare = env!("CARGO_PKG_VERSION").to_owned();
    Ok(profile.save(&home)?)
}

fn unix_s() -> u64 {
    clock::unix_ns() / 1_000_000_000
}
