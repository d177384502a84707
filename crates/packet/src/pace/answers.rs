//! From the wire to the host: what arrives at OUT goes into IN as it is, at once.
//!
//! Answers are no departures: they are counted in the notes and at the ports, not in the run's rate.

use crate::control::JobControl;
use clock::{Clock, HostClock};
use port::{For, Port, PortError};
use std::sync::Arc;
use units::{Instant, Picos};

/// Frames handed over in one go.
const BATCH: usize = 64;
/// Sleep while nothing arrives.
const IDLE: Picos = Picos::from_millis(5);
/// How often a frame is tried that IN has no room for, and the sleep between.
const TRIES: u32 = 200;
const NAP: Picos = Picos::from_micros(50);

/// What the thread leaves behind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answered {
    pub frames: u64,
    pub bytes: u64,
    /// IN had no room for so long that the frame was given up, or was down.
    pub dropped: u64,
    /// Held several.
    pub merged: u64,
}

/// The thread's state.
pub struct Answers {
    pub clock: HostClock,
    pub control: Arc<JobControl>,
    pub from: Box<dyn Port>,
    pub to: Box<dyn Port>,
    pub until: Instant,
}

impl Answers {
    /// Goes on until it is told to stop; gives the ports back for their counters.
    pub fn run(mut self) -> (Answered, Box<dyn Port>, Box<dyn Port>) {
        let mut answered = Answered::default();
        // One batch, copied once: the ports' own rooms are not lent across both.
        let mut batch: Vec<Vec<u8>> = (0..BATCH).map(|_| Vec::with_capacity(2_048)).collect();
        while !self.control.stops() && self.clock.now() < self.until {
            match self.round(&mut batch, &mut answered) {
                Ok(()) => {}
                Err(PortError::Down { .. }) => std::thread::sleep(IDLE.as_std()),
                Err(error) => self.control.fail(error.to_string()),
            }
        }
        (answered, self.from, self.to)
    }

    fn round(&mut self, batch: &mut [Vec<u8>], answered: &mut Answered) -> Result<(), PortError> {
        let mut count = 0;
        let mut bytes = 0;
        let (mut cut, mut merged) = (0, 0);
        self.from.receive(BATCH, &mut |frame| {
            merged += u64::from(frame.card_work.split);
            if frame.data.len() < frame.length {
                cut += 1;
                return;
            }
            batch[count].clear();
            batch[count].extend_from_slice(frame.data);
            if frame.card_work.checksum {
                wire::finish(&mut batch[count], false);
            }
            bytes += frame.data.len() as u64;
            count += 1;
        })?;
        answered.dropped += cut;
        answered.merged += merged;
        if count == 0 {
            return self.from.wait(For::Receive, IDLE).map(|_| ());
        }
        let given = self.give(&batch[..count])?;
        answered.dropped += (count - given) as u64;
        answered.frames += given as u64;
        answered.bytes += bytes;
        Ok(())
    }

    /// Hands frames to IN in their order; returns how many it took.
    fn give(&mut self, frames: &[Vec<u8>]) -> Result<usize, PortError> {
        let (mut given, mut skipped) = (0, 0);
        for _ in 0..TRIES {
            let mut next = given + skipped;
            let sent = self.to.transmit(frames.len() - next, &mut |slot| {
                let frame = &frames[next];
                slot.data[..frame.len()].copy_from_slice(frame);
                slot.length = frame.len();
                next += 1;
            });
            match sent {
                Ok(sent) => given += sent,
                Err(PortError::TooLong { .. }) => skipped += 1,
                Err(PortError::Down { .. }) => return Ok(given),
                Err(error) => return Err(error),
            }
            if given + skipped == frames.len() || self.control.stops() {
                break;
            }
            if matches!(sent, Ok(0)) {
                std::thread::sleep(NAP.as_std());
            }
        }
        Ok(given)
    }
}
