//! What a `fault` port and its thread share, and the thread: it lets frames go whose time has come while nobody
//! calls.
//!
//! ```text
//!   the port's owner ── transmit, receive, wait, flush ──┐
//!                                                        ├─ lock ─► mills ─► port behind
//!   releaser ── sleeps until the next frame's time ──────┘
//! ```

use super::mill::{Item, Mill};
use super::{BATCH, LOOK};
use crate::{For, Port, PortError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use units::Picos;

/// Between two tries while the port behind has no room, or is down.
const AGAIN: Duration = Duration::from_millis(1);

/// The port behind and the frames on their way to and from it.
pub(super) struct State {
    pub inner: Box<dyn Port>,
    /// Frames that leave, and frames that have come; `None` where nothing is done to them.
    pub outward: Option<Mill>,
    pub inward: Option<Mill>,
    /// Nothing will come any more from behind.
    is_over: bool,
    is_closing: bool,
}

impl State {
    pub fn new(inner: Box<dyn Port>, outward: Option<Mill>, inward: Option<Mill>) -> Self {
        Self { inner, outward, inward, is_over: false, is_closing: false }
    }

    /// Hands over what may leave now, as far as there is room.
    pub fn push(&mut self) -> Result<(), PortError> {
        let Some(mill) = &mut self.outward else { return Ok(()) };
        mill.ripen(clock::monotonic_ns());
        while !mill.ready().is_empty() {
            let mut next = mill.ready().iter();
            let taken = self.inner.transmit(mill.ready().len(), &mut |slot| {
                let Some(item) = next.next() else { return };
                slot.data[..item.data.len()].copy_from_slice(&item.data);
                (slot.length, slot.launch) = (item.data.len(), item.stamp);
                // The room's bytes are not what another writer left.
                *slot.mark = 0;
            })?;
            if taken == 0 {
                break;
            }
            mill.release(taken);
        }
        Ok(())
    }

    /// Brings frames from behind into the mill.
    pub fn pull(&mut self, most: usize) -> Result<(), PortError> {
        let Some(mill) = &mut self.inward else { return Ok(()) };
        let now_ns = clock::monotonic_ns();
        mill.ripen(now_ns);
        let wanted = most.saturating_sub(mill.ready().len()).min(BATCH);
        let got = self.inner.receive(wanted, &mut |frame| {
            let (length, stamp, lost_before) = (frame.length, frame.stamp, frame.lost_before);
            let card_work = frame.card_work;
            mill.put(&Item { data: frame.data, length, stamp, lost_before, card_work }, now_ns);
        });
        match got {
            // What is held back is still to come, at its time.
            Err(error) if error.is_end() => {
                self.is_over = true;
                mill.let_reordered_go();
                if mill.has_any() { Ok(()) } else { Err(error) }
            }
            other => other.map(drop),
        }
    }

    /// Waits for the port behind; not where it is at its end and what is held back here is all that will come.
    pub fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
        if what == For::Receive && self.is_over && self.inward.as_ref().is_some_and(Mill::holds) {
            std::thread::sleep(patience.as_std());
            return Ok(false);
        }
        self.inner.wait(what, patience)
    }

    /// Nanoseconds for which nothing that is held back here wants to go on; many if nothing is.
    pub fn pause(&self, now_ns: u64) -> u64 {
        let mills = [&self.outward, &self.inward];
        let next = mills.into_iter().flatten().filter_map(Mill::next_due_ns).min();
        next.map_or(u64::MAX, |due| due.saturating_sub(now_ns).max(LOOK.as_nanos()))
    }

    /// Frames wait for room behind.
    pub fn is_stuck(&self) -> bool {
        self.outward.as_ref().is_some_and(|mill| !mill.ready().is_empty())
    }
}

/// The same, for the port's owner and its thread.
pub(super) struct Core {
    state: Mutex<State>,
    changed: Condvar,
}

impl Core {
    pub fn new(state: State) -> Self {
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a frame that leaves.
    pub fn put(&self, item: &Item<'_>) {
        let mut state = self.lock();
        let Some(mill) = &mut state.outward else { return };
        let had_none = mill.next_due_ns().is_none();
        mill.put(item, clock::monotonic_ns());
        if had_none && mill.next_due_ns().is_some() {
            self.changed.notify_all();
        }
    }

    /// Lets frames go at their times until the port is closed.
    fn keep_times(&self) {
        let mut state = self.lock();
        while !state.is_closing {
            // A port that fails now fails for its owner with the next call.
            let pushed = state.push();
            let now = clock::monotonic_ns();
            let next = state.outward.as_ref().and_then(Mill::next_due_ns);
            let next = next.map(|due| Duration::from_nanos(due.saturating_sub(now)));
            let again = (pushed.is_err() || state.is_stuck()).then_some(AGAIN);
            state = match next.into_iter().chain(again).min() {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(pause) => {
                    let waited = self.changed.wait_timeout(state, pause);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

/// The thread; it ends when this is dropped.
pub(super) struct Releaser {
    core: Arc<Core>,
    thread: Option<JoinHandle<()>>,
}

impl Releaser {
    /// # Errors
    /// The process may have no more threads.
    pub fn start(core: Arc<Core>) -> Result<Self, PortError> {
        let shared = core.clone();
        let thread = std::thread::Builder::new().name("fault".to_owned()).spawn(move || shared.keep_times());
        let system =
            |error| PortError::System { what: "starting a thread for held frames".to_owned(), error };
        Ok(Self { core, thread: Some(thread.map_err(system)?) })
    }
}

impl Drop for Releaser {
    fn drop(&mut self) {
        self.core.lock().is_closing = true;
        self.core.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It panics only where a port behind it does, and that is the owner's to tell.
            let _ = thread.join();
        }
    }
}
