//! What incoming traffic takes away, by port, frame size and kind of traffic.

use super::{Place, Session};
use crate::backload::{Options, Traffic, requests, weigh as weigh_one};
use crate::packets::Tell;
use crate::{Stage, Way, WeighError, module};

/// What is to be weighed.
pub struct BackloadPlan {
    pub options: Options,
    pub place: Place,
    /// Whether ports were named, so that none may be missing silently.
    pub is_quick: bool,
}

impl BackloadPlan {
    /// One port and the null case, in a few seconds.
    pub fn quick() -> Self {
        let options = Options {
            ways: vec![Way::Udp, Way::Mem],
            sizes: vec![64],
            kinds: vec![Traffic::UdpClosed],
            steps: 2,
            step_ns: 400_000_000,
            trials: 3,
            batch: 1,
            ..Options::default()
        };
        Self { options, place: Place::Bed, is_quick: true }
    }
}

impl Session {
    /// Weighs each port, frame size and kind of traffic.
    ///
    /// # Errors
    /// There is no place to send to.
    pub fn weigh_backload(&mut self, plan: &BackloadPlan) -> Result<(), WeighError> {
        // Modules need no place to send to.
        if !plan.options.ways.is_empty() || !plan.options.stacks.is_empty() {
            self.weigh_here(plan)?;
        }
        self.weigh_modules_backload(&plan.options);
        Ok(())
    }

    fn weigh_here(&mut self, plan: &BackloadPlan) -> Result<(), WeighError> {
        let stage = match &plan.place {
            Place::Bed => self.stage()?,
            Place::Named { interface, to, to_mac } => Stage::named(interface, *to, *to_mac)?,
        };
        let mut tell = self.tell();
        for way in &plan.options.ways {
            // Nothing of a network is in the ring: there is one kind of frames.
            let kinds: &[Traffic] = if *way == Way::Mem { &[Traffic::Answers] } else { &plan.options.kinds };
            if *way == Way::Mem && !plan.options.kinds.contains(&Traffic::Answers) {
                let note =
                    "mem ignores --kind: the other thread returns the frames through the ring (answers)";
                self.weighing.notes.push(note.into());
            }
            for size in &plan.options.sizes {
                for kind in kinds {
                    if self.is_stopped() {
                        return Ok(());
                    }
                    let stop = self.stop.clone();
                    match weigh_one(&stage, &plan.options, (*way, *size, *kind), &stop, &mut tell) {
                        Ok(found) => self.weighing.backload.push(found),
                        Err(_) if self.is_stopped() => return Ok(()),
                        Err(error) => {
                            self.skip(format!("backload of {way}, {size} B, {}", kind.name()), &error)
                        }
                    }
                }
            }
        }
        self.weigh_requests(&stage, &plan.options, &mut tell);
        if plan.is_quick {
            self.weighing.notes.push(
                "this is a short backload test; tare weigh backload tests all ports, sizes and kinds".into(),
            );
        }
        Ok(())
    }

    /// The same for FPGA modules, which have their own wire and time.
    fn weigh_modules_backload(&mut self, options: &Options) {
        let mut tell = self.tell();
        for address in &options.modules {
            for size in &options.sizes {
                for kind in &options.kinds {
                    if self.is_stopped() {
                        return;
                    }
                    let stop = self.stop.clone();
                    match module::backload::weigh(address, options, (*size, *kind), &stop, &mut tell) {
                        Ok(found) => self.weighing.backload.push(found),
                        Err(_) if self.is_stopped() => return,
                        Err(error) => {
                            self.skip(format!("backload of {address}, {size} B, {}", kind.name()), &error);
                        }
                    }
                }
            }
            self.note_module(address, "");
        }
    }

    /// The same for requests, by way of each stack.
    fn weigh_requests(&mut self, stage: &Stage, options: &Options, tell: Tell<'_>) {
        let can = |kind: &&Traffic| **kind != Traffic::Answers;
        for stack in &options.stacks {
            if options.kinds.contains(&Traffic::Answers) {
                let note = format!("{stack}: ignores --kind answers: the answers to requests are its own");
                self.weighing.notes.push(note);
            }
            for size in &options.sizes {
                for kind in options.kinds.iter().filter(can) {
                    if self.is_stopped() {
                        return;
                    }
                    let stop = self.stop.clone();
                    match requests::weigh(stage, options, (*stack, *size, *kind), &stop, tell) {
                        Ok(found) => self.weighing.backload.push(found),
                        Err(_) if self.is_stopped() => return,
                        Err(error) => {
                            self.skip(format!("backload of {stack}, {size} B, {}", kind.name()), &error);
                        }
                    }
                }
            }
        }
    }
}
