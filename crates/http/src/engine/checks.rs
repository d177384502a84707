//! What this host must have for a plan, looked at before anything is sent.

use crate::source::Requests;
use crate::tls;
use plan::{Body, Load, Plan, Shape};
use schedule::Share;
use std::fs::File;
use std::path::Path;
use units::{Instant, Picos};

use super::{EngineError, limits};

/// Bytes that a connection takes at least.
const EACH_CONNECTION: usize = 1024;
/// Of a file that is longer, a look at a plan reads the beginning.
const SHORT: u64 = 64 << 20;

/// Whether the files that a plan names would do: what [`super::Engine::prepare`] would say of them, as far as
/// that is known without reading a long one to its end.
///
/// # Errors
/// What the run would say, and not start.
pub fn check_inputs(plan: &Plan) -> Result<(), EngineError> {
    let is_short = |path: &Path| std::fs::metadata(path).is_ok_and(|file| file.len() <= SHORT);
    Requests::check(plan, is_short)?;
    if let Body::Streamed(path) = &plan.request.body {
        open_body(path).map_err(|error| EngineError::Body { path: path.clone(), error })?;
    }
    if plan.tls.ca.is_some() || plan.tls.client.is_some() {
        tls::configure(&plan.tls)?;
    }
    if let Load::Open { arrivals, .. } = &plan.load
        && let Shape::At(path) = &arrivals.shape
    {
        match std::fs::metadata(path) {
            Ok(file) if file.len() > SHORT => {}
            _ => schedule::check_recorded(path).map(drop).map_err(EngineError::At)?,
        }
    }
    Ok(())
}

/// A file of recorded times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recorded {
    /// Its departures within the plan's limits.
    pub departures: u64,
    /// Its last time.
    pub until: Picos,
}

/// Whether there is such a schedule. A file of recorded times is read through once, so that a bad line is found
/// before the start, and so that it is known how many departures it has.
pub(super) fn check_schedule(plan: &Plan) -> Result<Option<Recorded>, EngineError> {
    let Load::Open { arrivals, .. } = &plan.load else { return Ok(None) };
    let Shape::At(path) = &arrivals.shape else {
        schedule::share(arrivals, limits(plan, arrivals)?, plan.seed, Instant::EPOCH, Share::WHOLE)?;
        return Ok(None);
    };
    let limits = limits(plan, arrivals).map_err(EngineError::At)?;
    let end = limits.end.unwrap_or(Picos::MAX);
    let (found, before) = schedule::check_recorded_before(path, end).map_err(EngineError::At)?;
    let departures = limits.requests.map_or(before, |most| before.min(most.get()));
    Ok(Some(Recorded { departures, until: found.last }))
}

/// Asks for the memory that a closed loop's connections will need, which are all opened at once, and gives it
/// back.
pub(super) fn check_memory(plan: &Plan, connections: u32) -> Result<(), EngineError> {
    let Load::Closed { .. } = plan.load else { return Ok(()) };
    let places = connections as usize * plan.connection.pipeline as usize * size_of::<Instant>();
    let bytes = places.saturating_add(connections as usize * EACH_CONNECTION);
    let asked = Vec::<u8>::new().try_reserve_exact(bytes);
    asked.map_err(|_| EngineError::Memory { connections })
}

pub(super) fn check_cpus(plan: &Plan) -> Result<(), EngineError> {
    let allowed =
        os::cpus::Affinity::now().map_err(|error| EngineError::Cpu { cpu: 0, problem: error.to_string() })?;
    for cpu in &plan.engine.cpus {
        if !allowed.has(*cpu) {
            let have = allowed.cpus().map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(", ");
            let problem = format!("this process may not use that CPU; it may use {have}");
            return Err(EngineError::Cpu { cpu: *cpu, problem });
        }
    }
    Ok(())
}

/// A body is read once for each request, from its beginning: a pipe or a folder will not do.
pub(super) fn open_body(path: &Path) -> std::io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("is not a regular file"));
    }
    File::open(path)
}
