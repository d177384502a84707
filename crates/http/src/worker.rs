//! One thread's loop: its own connections, clock, share of the schedule and recorder; nothing is shared.
//!
//! ```text
//! ┌─► end what took too long ─► launch what is due ─► hand over the interval ─► wait ─► handle what is ready┐
//! └─────────────────────────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! The parts keep their own books and know nothing of each other. What takes several of them is a method of the
//! loop, in a file of its own:
//!
//! | part | what it knows |
//! |---|---|
//! | `pacer` | what leaves next, and how to wait for it |
//! | `composer`, `upload` | the bytes of requests; of bodies that come from a file |
//! | `limit`, `backoff` | when a connection may be opened; when to try again |
//! | `targets` | endpoints, names, addresses |
//! | `slots`, `timers` | open connections, their deadlines |
//! | `sockets` | the driver, and which socket is served next |
//! | `turns` | when the loop looked, and whether it stood still |
//! | `checker` | what answers must be |
//! | `accounts` | events, phases, counters, notes |
//!
//! What the loop of the fast path books as well is in `books`.
//!
//! A departure goes through `launch`, `open` and `send`; an answer through `receive` and `settle`, and `again`
//! if its request is sent once more; a body that waits for a 100 (Continue), through `hold`; a connection that
//! the target is to close, through `closes`. `deadlines` ends what takes too long, `wind_up` all that is left.

pub(crate) mod accounts;
mod again;
pub(crate) mod backoff;
pub(crate) mod books;
pub(crate) mod checker;
pub(crate) mod closes;
pub(crate) mod composer;
mod deadlines;
pub(crate) mod dial;
pub(crate) mod feed;
pub(crate) mod full;
pub(crate) mod gather;
mod hold;
mod launch;

pub(crate) mod limit;
mod open;
pub(crate) mod pacer;
pub(crate) mod pulse;
pub(crate) mod reading;
mod receive;
mod send;
mod settle;
mod slots;
mod sockets;
pub(crate) mod targets;
mod timers;
pub(crate) mod turns;
pub(crate) mod upload;
mod wind_up;

use clock::{Clock, HostClock};
use plan::Plan;
use std::collections::VecDeque;
use std::sync::Arc;
use units::{Instant, Picos, Record};

use crate::io::{Driver, Wait};
use crate::notes::Notes;
use crate::protocol::Finished;
use accounts::Accounts;
use again::Again;
use backoff::Backoff;
use checker::Checker;
use composer::Composer;
use limit::Limit;
use pacer::Pacer;
use schedule::{Control, Halt};
use slots::Slots;
use sockets::Sockets;
use targets::Targets;
use timers::Timers;
use turns::Turns;
use upload::Upload;

/// Departures launched before the sockets are looked at again, and how long that may take: where ports are
/// nearly used up, the kernel looks for one for milliseconds.
const LAUNCHES: usize = 64;
const LAUNCHING: Picos = Picos::from_millis(2);
/// The longest wait, so that intervals are handed over in time.
pub const LONGEST_WAIT: Picos = Picos::from_millis(20);

/// What a thread is made with.
pub(crate) struct Parts {
    pub plan: Arc<Plan>,
    pub clock: HostClock,
    pub control: Arc<Control>,
    pub pacer: Pacer,
    pub composer: Composer,
    pub upload: Upload,
    pub checker: Checker,
    pub limit: Limit,
    pub targets: Targets,
    /// Whether a closed loop may sleep while answers gather.
    pub gather: bool,
}

/// See the module.
pub(crate) struct Worker<D, R> {
    plan: Arc<Plan>,
    clock: HostClock,
    control: Arc<Control>,
    pacer: Pacer,
    composer: Composer,
    upload: Upload,
    checker: Checker,
    limit: Limit,
    backoff: Backoff,
    targets: Targets,
    slots: Slots,
    timers: Timers,
    sockets: Sockets<D>,
    turns: Turns,
    /// More departures were due than could be launched in the time for that.
    is_behind: bool,
    accounts: Accounts<R>,
    /// What is to be sent once more, the oldest first.
    again: VecDeque<Again>,
    /// Exchanges that ended on a connection and are about to be settled.
    finished: Vec<Finished>,
}

impl<D: Driver, R: Record> Worker<D, R> {
    pub(crate) fn new(parts: Parts, driver: D, recorder: R) -> Self {
        let Parts { plan, clock, control, pacer, composer, upload, checker, limit, targets, gather } = parts;
        Self {
            sockets: Sockets::new(driver, plan.connection.throttle.map(|limit| limit.get())),
            turns: Turns::new(&clock, gather),
            is_behind: false,
            accounts: Accounts::new(recorder),
            backoff: Backoff::default(),
            slots: Slots::default(),
            timers: Timers::default(),
            again: VecDeque::new(),
            finished: Vec::new(),
            plan,
            clock,
            control,
            pacer,
            composer,
            upload,
            checker,
            limit,
            targets,
        }
    }

    /// Runs to the end. What is worth telling besides the events is in the notes.
    pub(crate) fn run(mut self) -> Notes {
        loop {
            let now = self.now();
            // First, so that a request whose timeout and grace end together has timed out.
            self.expire(now);
            if let Some(lost) = self.pacer.lost() {
                self.control.lose_source(lost);
            }
            if self.control.halt() != Halt::No || self.is_over(now) {
                break;
            }
            self.pacer.follow(&self.control);
            self.expire_again(now);
            self.launch_again(now);
            self.launch_due(now);
            self.take_answers(now);
            self.report(now);
            self.wait(now);
        }
        self.wind_up();
        self.accounts.notes
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    fn is_over(&mut self, now: Instant) -> bool {
        let waits = self.slots.next_deadline().is_some();
        let read = if waits { self.turns.read_until() } else { now };
        self.pacer.is_over(now, read, waits || !self.again.is_empty())
    }

    fn report(&mut self, now: Instant) {
        self.accounts.counters.due = self.pacer.due_before(now, self.accounts.counters.offered);
        self.accounts.counters.ramped = self.limit.ramped();
        self.accounts.tick(now);
    }

    /// Launches departures whose time has come, a bounded number of them and for a bounded time.
    pub(crate) fn launch_due(&mut self, from: Instant) {
        self.is_behind = false;
        if self.limit.still_holds(self.slots.open(), from) {
            return;
        }
        let mut now = from;
        for _ in 0..LAUNCHES {
            let Some(departure) = self.pacer.next_due(now) else { return };
            if !self.launch(departure, now) {
                return;
            }
            now = self.now();
            if now.since(from) > LAUNCHING {
                self.is_behind = true;
                return;
            }
        }
    }

    /// Waits until something is to be done, and handles what is ready. The turn began at `from`.
    fn wait(&mut self, from: Instant) {
        let wait = self.nap(from);
        let waited = self.sockets.driver.wait(wait, self.turns.looked());
        let pause = self.turns.woken(from, self.clock.now(), wait);
        if let Some(pause) = pause {
            self.accounts.paused(pause);
        }
        match waited {
            Ok(ready) => {
                self.accounts.counters.waits += 1;
                self.accounts.counters.ready += ready as u64;
                self.turns.found(ready, from);
                if ready > 0 {
                    self.handle_ready();
                } else if wait == Wait::Poll {
                    self.accounts.spun(from, self.clock.now());
                }
                self.turns.has_read(from, self.sockets.driver.is_drained());
            }
            Err(errno) => self.control.fail(format!("waiting for sockets failed: {errno}")),
        }
    }

    /// How to wait, after the nap that comes before it where answers gather.
    fn nap(&mut self, now: Instant) -> Wait {
        let wait = self.next_wait(now);
        match (wait, self.turns.nap(self.accounts.counters.open)) {
            (Wait::AtMost(most), Some(nap)) if nap < most => {
                self.clock.sleep_until(now + nap);
                self.accounts.counters.naps += 1;
                self.accounts.counters.napped += self.now().since(now);
                Wait::AtMost(Picos::ZERO)
            }
            _ => wait,
        }
    }

    fn next_wait(&mut self, now: Instant) -> Wait {
        if self.sockets.may_have_more() {
            return Wait::Poll;
        }
        let wake = self.next_wake();
        if let Some(due) = wake
            && !self.limit.holds()
            && self.pacer.is_near(due, now)
        {
            // The sockets wait.
            let now = self.spin_until(due, now);
            self.launch_due(now);
            return Wait::Poll;
        }
        let deadline = self.slots.next_deadline().map(|(_, deadline)| deadline);
        let until =
            [deadline, self.timers.next()].into_iter().flatten().fold(now + LONGEST_WAIT, Instant::min);
        self.pacer.wait(now, until, wake)
    }

    /// When the next departure is to be looked at.
    fn next_wake(&mut self) -> Option<Instant> {
        let due = self.pacer.next()?.due;
        if !self.limit.holds() && !self.pacer.has_pending() {
            return Some(due);
        }
        Some(self.limit.wake(self.slots.open(), due + self.plan.request.timeout))
    }

    /// If a departure is due, or nearly so, it goes before the next socket is handled: a batch of answers makes
    /// no departure late. Those that are late anyway wait for the turn's reading.
    pub(crate) fn keep_time(&mut self) {
        if self.limit.holds() || self.is_behind {
            return;
        }
        let Some(next) = self.pacer.next() else { return };
        let mut now = self.now();
        if self.pacer.is_near(next.due, now) {
            now = self.spin_until(next.due, now);
        }
        if next.due <= now {
            self.launch_due(now);
        }
    }

    fn spin_until(&mut self, due: Instant, from: Instant) -> Instant {
        let now = self.pacer.spin_until(due, &self.clock, from);
        self.accounts.spun(from, now);
        now
    }
}
