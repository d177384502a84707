//! A run by the FPGA module: one thread reads what its simulation reports.

use schedule::Control;
use session::SessionError;
use std::sync::Arc;
use units::{Instant, Record};

use super::thread::{Place, spawn_module};
use super::{Engine, EngineError, Running};
use crate::module::{Drive, Fit};

impl Engine {
    /// The run's name, of which the module makes the key of what it writes to Redis itself.
    pub fn name_run(&mut self, run: &str) {
        if let Some(fit) = &mut self.module {
            fit.load.key = format!("tare:{run}:module");
        }
    }

    /// Its time begins with its simulation.
    pub(super) fn start_module<R: Record + Send + 'static>(
        self,
        fit: Fit,
        control: Arc<Control>,
        recorders: impl FnOnce(Instant) -> Vec<R>,
    ) -> Result<Running, EngineError> {
        let sim = fit.port.start(&fit.load).map_err(SessionError::from)?;
        let origin = clock::Clock::now(&self.clock);
        let place =
            Place { plan: &self.plan, priority: &self.priority, own_descriptors: self.own_descriptors };
        let mut threads = Vec::new();
        if let Some(recorder) = recorders(origin).into_iter().next() {
            let drive = Drive::new(fit, sim, control.clone(), origin, recorder);
            threads.push(spawn_module(&place, drive).map_err(EngineError::Thread)?);
        }
        Ok(Running { threads, requests: self.requests, control })
    }
}
