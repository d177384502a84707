//! What incoming traffic takes away, by port, frame size and kind of traffic.

use super::Session;
use crate::backload::{Options, Traffic, weigh as weigh_one};
use crate::{Way, WeighError};

/// What is to be weighed.
pub struct BackloadPlan {
    pub options: Options,
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
            low: 0.0,
            high: None,
            steps: 2,
            step_ns: 400_000_000,
            trials: 3,
            batch: 1,
        };
        Self { options, is_quick: true }
    }
}

impl Session {
    /// Weighs each port, frame size and kind of traffic.
    ///
    /// # Errors
    /// There is no place to send to.
    pub fn weigh_backload(&mut self, plan: &BackloadPlan) -> Result<(), WeighError> {
        let stage = self.stage()?;
        let mut tell = self.tell();
        for way in &plan.options.ways {
            // Nothing of a network is in the ring: there is one kind of frames.
            let kinds: &[Traffic] = if *way == Way::Mem { &[Traffic::Answers] } else { &plan.options.kinds };
            if *way == Way::Mem && !plan.options.kinds.contains(&Traffic::Answers) {
                let note =
                    "mem: ignores --kind: the other thread returns the frames through the ring (answers)";
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
        if plan.is_quick {
            self.weighing.notes.push(
                "this is a short backload test; tare weigh backload tests all ports, sizes and kinds".into(),
            );
        }
        Ok(())
    }
}
