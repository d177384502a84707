//! Ports with bursts in rows.

use crate::errors::{PortError, UsageError, of_burst};
use crate::memory::Memory;
use bursts::{BurstError, BurstPort, Opening, Rows};
use port::{Direction, For};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use units::Picos;

/// A port, or what stays of it for views that Python still has.
pub enum State {
    Open(BurstPort),
    Closed((Rows, Rows)),
}

/// See `tare.Port`.
#[pyclass(frozen, module = "tare._tare")]
pub struct Port {
    state: Arc<Mutex<State>>,
}

/// The rows of one way: their data, lengths, lengths on the wire and times; then how many, and how far apart.
type Way = (Memory, Memory, Memory, Memory, usize, usize);

impl Port {
    /// Does something with the port while other threads of Python go on.
    pub fn alone<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut BurstPort) -> Result<R, BurstError> + Send,
    ) -> PyResult<R> {
        py.detach(|| {
            let mut state = match self.state.try_lock() {
                Ok(state) => state,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    return Err(UsageError::new_err("this port is in use by another thread"));
                }
            };
            match &mut *state {
                State::Open(port) => work(port).map_err(of_burst),
                State::Closed(_) => Err(UsageError::new_err("this port is closed")),
            }
        })
    }

    fn way(&self, rows: &Rows) -> Way {
        let count = rows.rows();
        (
            Memory::new(self.state.clone(), rows.data(), count * rows.stride()),
            Memory::new(self.state.clone(), rows.lengths(), count),
            Memory::new(self.state.clone(), rows.wire_lengths(), count),
            Memory::new(self.state.clone(), rows.times_unix_ns(), count),
            count,
            rows.stride(),
        )
    }
}

#[pymethods]
impl Port {
    #[new]
    #[pyo3(signature = (address, *, direction, longest, burst, queue, queues, stamps, busy))]
    #[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
    fn new(
        py: Python<'_>,
        address: &str,
        direction: &str,
        longest: u32,
        burst: u32,
        queue: u32,
        queues: u32,
        stamps: bool,
        busy: bool,
    ) -> PyResult<Self> {
        let direction = match direction {
            "both" => Direction::Both,
            "transmit" => Direction::Transmit,
            "receive" => Direction::Receive,
            other => {
                let said = format!("direction is '{other}': it must be 'both', 'transmit' or 'receive'");
                return Err(UsageError::new_err(said));
            }
        };
        let opening = Opening { direction, longest, burst, queue, queues, stamps, busy };
        let port = py.detach(|| BurstPort::open(address, &opening)).map_err(of_burst)?;
        Ok(Self { state: Arc::new(Mutex::new(State::Open(port))) })
    }

    /// Rows to be sent, and those that were received.
    fn memory(&self, py: Python<'_>) -> PyResult<(Way, Way)> {
        self.alone(py, |port| {
            let (out, came) = port.rows();
            Ok((self.way(out), self.way(came)))
        })
    }

    fn lend(&self, py: Python<'_>, most: usize) -> PyResult<usize> {
        self.alone(py, |port| port.lend(most))
    }

    fn send(&self, py: Python<'_>, first: usize, count: usize) -> PyResult<usize> {
        self.alone(py, |port| port.send(first, count))
    }

    fn give_back(&self, py: Python<'_>) -> PyResult<()> {
        self.alone(py, BurstPort::give_back)
    }

    fn receive(&self, py: Python<'_>, most: usize) -> PyResult<usize> {
        self.alone(py, |port| port.receive(most))
    }

    fn release(&self, py: Python<'_>) -> PyResult<()> {
        self.alone(py, BurstPort::release)
    }

    fn wait(&self, py: Python<'_>, receives: bool, patience_ns: u64) -> PyResult<bool> {
        let what = if receives { For::Receive } else { For::Transmit };
        self.alone(py, |port| port.wait(what, Picos::from_nanos(patience_ns)))
    }

    fn flush(&self, py: Python<'_>, patience_ns: u64) -> PyResult<bool> {
        self.alone(py, |port| port.flush(Picos::from_nanos(patience_ns)))
    }

    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counted = self.alone(py, |port| port.counters().cloned())?;
        let figures = PyDict::new(py);
        figures.set_item("sent", counted.sent)?;
        figures.set_item("sent_bytes", counted.sent_bytes)?;
        figures.set_item("received", counted.received)?;
        figures.set_item("received_bytes", counted.received_bytes)?;
        figures.set_item("lost", counted.lost())?;
        figures.set_item("unsent", counted.unsent())?;
        figures.set_item("full", counted.full)?;
        figures.set_item("calls", counted.calls)?;
        Ok(figures)
    }

    fn about<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let about = self.alone(py, |port| Ok(port.about().clone()))?;
        let facts = PyDict::new(py);
        facts.set_item("name", &about.name)?;
        facts.set_item("kind", about.kind)?;
        facts.set_item("longest", about.longest)?;
        facts.set_item("batch", about.can.batch)?;
        facts.set_item("mac", about.mac.map(|mac| mac.map(|byte| format!("{byte:02x}")).join(":")))?;
        facts.set_item("speed_bps", about.speed_bps)?;
        facts.set_item("stamped_by", about.can.stamps.map(|by| by.name()))?;
        facts.set_item("launch_times", about.can.launch_time)?;
        Ok(facts)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let mut state = match self.state.try_lock() {
                Ok(state) => state,
                Err(TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
                Err(TryLockError::WouldBlock) => {
                    return Err(PortError::new_err("this port is in use by another thread"));
                }
            };
            let nothing = State::Closed((Rows::none(), Rows::none()));
            *state = match std::mem::replace(&mut *state, nothing) {
                State::Open(port) => State::Closed(port.close()),
                closed => closed,
            };
            Ok(())
        })
    }
}
