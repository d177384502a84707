//! One thread: what it is given before its loop begins.

use clock::priority::Grant;
use plan::Plan;
use std::thread::JoinHandle;
use units::Record;

use super::EngineError;
use crate::fast::{Fast, FastParts};
use crate::io::Driver;
use crate::module::Drive;
use crate::notes::Notes;
use crate::worker::{Parts, Worker};

pub(super) fn spawn<D: Driver, R: Record + Send + 'static>(
    index: usize,
    place: &Place<'_>,
    parts: Parts,
    driver: impl FnOnce() -> Result<D, rustix::io::Errno> + Send + 'static,
    recorder: R,
) -> std::io::Result<JoinHandle<Notes>> {
    let (control, thread) = (parts.control.clone(), Thread::new(index, place));
    thread.start(move |notes| match driver() {
        Ok(driver) => notes.merge(Worker::new(parts, driver, recorder).run()),
        Err(errno) => control.fail(EngineError::Driver(errno).to_string()),
    })
}

/// The same for the fast path.
pub(super) fn spawn_fast<R: Record + Send + 'static>(
    place: &Place<'_>,
    parts: FastParts,
    recorder: R,
) -> std::io::Result<JoinHandle<Notes>> {
    Thread::new(0, place).start(move |notes| notes.merge(Fast::new(parts, recorder).run()))
}

/// The same for the FPGA module's load, which needs no more than to be read.
pub(super) fn spawn_module<R: Record + Send + 'static>(
    place: &Place<'_>,
    drive: Drive<R>,
) -> std::io::Result<JoinHandle<Notes>> {
    Thread::new(0, place).start(move |notes| notes.merge(drive.run()))
}

/// What all threads have in common.
pub(super) struct Place<'a> {
    pub plan: &'a Plan,
    pub priority: &'a Grant,
    /// Whether a thread has a table of descriptors of its own.
    pub own_descriptors: bool,
}

/// Where a thread runs, and before whom.
struct Thread {
    index: usize,
    cpu: Option<u32>,
    priority: Grant,
    own_descriptors: bool,
}

impl Thread {
    fn new(index: usize, place: &Place<'_>) -> Self {
        let cpus = &place.plan.engine.cpus;
        let cpu = (!cpus.is_empty()).then(|| cpus[index % cpus.len()]);
        Self { index, cpu, priority: place.priority.clone(), own_descriptors: place.own_descriptors }
    }

    fn start(self, work: impl FnOnce(&mut Notes) + Send + 'static) -> std::io::Result<JoinHandle<Notes>> {
        let Self { index, cpu, priority, own_descriptors: owns } = self;
        std::thread::Builder::new().name(format!("tare-http-{index}")).spawn(move || {
            let mut notes = Notes::default();
            if let Some(cpu) = cpu
                && let Err(error) = os::cpus::pin(cpu)
            {
                notes.detail(&format!("thread {index} could not be pinned to CPU {cpu}: {error}"));
            }
            // Before this thread has descriptors of its own: whoever watches over it must not share those.
            if let Err(error) = priority.take() {
                notes.detail(&format!("thread {index} did not get the granted priority: {error}"));
            }
            if owns && let Err(errno) = own_descriptors() {
                notes.detail(&format!("thread {index} shares its descriptors with the others: {errno}"));
            }
            if let Err(error) = clock::set_timer_slack_ns(1) {
                notes.detail(&format!("the timer slack could not be lowered: {error}"));
            }
            work(&mut notes);
            // Each thread that ends tells what is known by then, in the same words or newer ones.
            if let Some(lost) = priority.lost() {
                notes.detail(&lost);
            }
            notes
        })
    }
}

/// Gives this thread a table of descriptors of its own: the limit on open files then is for each thread, and
/// the kernel needs no atomic count for each use of a table that nobody shares. What was open before stays open
/// in the other table, too, until the process ends.
pub(crate) fn own_descriptors() -> Result<(), rustix::io::Errno> {
    // SAFETY: this thread uses descriptors that it makes itself, and such as were made before this call and are
    // in both tables; none that another thread makes later ever reaches it.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::FILES) }
}
