//! What loops over `mem` have in common: a port whose other end takes each batch at once, a recorder that keeps
//! nothing, and this process's CPU time.

#![allow(dead_code, reason = "no loop needs all of it")]

use port::{About, Counters, For, Frame, Port, PortError, Slot};
use units::{Bytes, EngineCounters, Event, Fate, Instant, Miss, Phase, Picos, Record};

/// Both ends of a pair: what was handed over is received, and shown to `take`, in the same call.
pub struct Loop<F> {
    out: port::mem::End,
    back: port::mem::End,
    take: F,
}

impl<F: FnMut(&Frame<'_>) + Send> Loop<F> {
    pub fn new(take: F) -> Self {
        let (out, back) = port::mem::pair(1_024, 1_514);
        Self { out, back, take }
    }
}

impl<F: FnMut(&Frame<'_>) + Send> Port for Loop<F> {
    fn about(&self) -> &About {
        self.out.about()
    }

    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        let taken = self.out.transmit(most, write)?;
        self.back.receive(taken, &mut self.take)?;
        Ok(taken)
    }

    fn receive(&mut self, _: usize, _: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        Ok(0)
    }

    fn flush(&mut self, patience: Picos) -> Result<bool, PortError> {
        self.out.flush(patience)
    }

    fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
        self.out.wait(what, patience)
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        self.out.counters()
    }
}

/// Nobody watches.
pub struct Silence;

impl Record for Silence {
    fn event(&mut self, _: &Event) {}
    fn missed(&mut self, _: Miss, _: u64) {}
    fn frames(&mut self, _: Fate, _: u64, _: Bytes) {}
    fn phase(&mut self, _: Phase, _: Picos) {}
    fn tick(&mut self, _: Instant, _: &EngineCounters) {}
}

/// CPU time of this process so far, in seconds.
pub fn cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
