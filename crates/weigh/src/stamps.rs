//! Who says when a packet left.
//!
//! | method | who | for |
//! |---|---|---|
//! | tx | the driver, into the socket's error queue (SO_TIMESTAMPING) | udp, packet |
//! | capture | a capture on the same interface, as the study's | udp; packet through the queueing discipline |
//! | peer | a capture at the other end of the veth pair | packet, xdp, live: no capture sees what they send |
//! | port | the port itself | mem |
//!
//! A stamp comes with the packet, which carries when it was handed over: nothing has to be kept until it comes.

mod capture;
mod gate;
mod queue;
mod tracepoint;

pub use capture::Capture;
pub use gate::Gate;
pub use queue::ErrorQueue;
pub use tracepoint::Tracepoint;

use crate::WeighError;
use crate::sender::Schedule;
use port::Port;
use std::sync::{Arc, Mutex, PoisonError};
use wire::Signature;

/// One way to learn of stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Tx,
    Capture,
    Peer,
    Port,
}

impl Method {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tx => "tx",
            Self::Capture => "capture",
            Self::Peer => "peer",
            Self::Port => "port",
        }
    }
}

/// Where stamps are read; used by one thread.
pub trait Reader: Send {
    /// Shows what is there, as (handed over, stamped), both in ns since 1970; `None` for a stamp of something
    /// else. Never waits.
    ///
    /// # Errors
    /// Nothing will come any more.
    fn read(&mut self, found: &mut dyn FnMut(Option<(u64, u64)>)) -> Result<usize, WeighError>;

    /// Has frames of `length` bytes sent back by a schedule, where this is an end of a pair; how many by step.
    fn send_back_by(&mut self, schedule: &Schedule, length: usize) -> Option<Arc<Mutex<Vec<u64>>>> {
        let _ = (schedule, length);
        None
    }
}

/// The other end of a pair within this process; it may send, too.
pub struct OtherEnd {
    port: Box<dyn Port>,
    back: Option<Back>,
}

/// What it sends back: frames at a rate that follows a schedule.
struct Back {
    schedule: Schedule,
    length: usize,
    sent: Arc<Mutex<Vec<u64>>>,
    /// The step that goes on, its begin, and what was sent in it.
    step: usize,
    begin: u64,
    in_step: u64,
}

/// Frames that are sent back by one call at most.
const BACK: u64 = 64;

impl OtherEnd {
    pub fn new(port: Box<dyn Port>) -> Self {
        Self { port, back: None }
    }

    fn send_back(&mut self) -> Result<(), WeighError> {
        let Some(back) = &mut self.back else { return Ok(()) };
        let now = clock::monotonic_ns();
        while back.schedule.steps.get(back.step).is_some_and(|step| now >= back.begin + step.length_ns) {
            back.begin += back.schedule.steps[back.step].length_ns;
            (back.step, back.in_step) = (back.step + 1, 0);
        }
        let Some(step) = back.schedule.steps.get(back.step) else { return Ok(()) };
        let due = match step.pace.rate() {
            None => u64::MAX,
            Some(rate) => (rate * now.saturating_sub(back.begin) as f64 / 1e9) as u64,
        };
        let most = due.saturating_sub(back.in_step).min(BACK);
        if most == 0 {
            return Ok(());
        }
        let length = back.length;
        let taken = self.port.transmit(most as usize, &mut |slot| slot.length = length)? as u64;
        // What found no room is not made up for.
        back.in_step += most;
        let mut sent = back.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sent) = sent.get_mut(back.step) {
            *sent += taken;
        }
        Ok(())
    }
}

impl Reader for OtherEnd {
    fn read(&mut self, found: &mut dyn FnMut(Option<(u64, u64)>)) -> Result<usize, WeighError> {
        self.send_back()?;
        let read = self.port.receive(256, &mut |frame| {
            let signature = Signature::find(frame.data);
            found(signature.map(|signature| (signature.sent_unix_ns, frame.stamp.as_unix_nanos())));
        });
        match read {
            Err(error) if error.is_end() => Ok(0),
            other => Ok(other?),
        }
    }

    fn send_back_by(&mut self, schedule: &Schedule, length: usize) -> Option<Arc<Mutex<Vec<u64>>>> {
        let sent = Arc::new(Mutex::new(vec![0; schedule.steps.len()]));
        let begin = schedule.origin_monotonic_ns;
        let (schedule, step, in_step) = (schedule.clone(), 0, 0);
        self.back = Some(Back { schedule, length, sent: sent.clone(), step, begin, in_step });
        Some(sent)
    }
}
