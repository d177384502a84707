//! One thread's loop: its own connections, clock, share of the schedule and recorder; nothing is shared.
//!
//! ```text
//!   ┌─► launch what is due ─► end what took too long ─► hand the interval over ─► wait ─► handle what is ready ─┐
//!   └──────────────────────────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Between two ready sockets the loop looks at the clock, so that a batch of answers does not make a departure
//! late. Sockets in a TLS handshake come last and one at a time: their arithmetic takes longer than all the
//! rest.

use clock::{Clock, HostClock};
use plan::Plan;
use rustls::ClientConfig;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fs::File;
use std::sync::Arc;
use units::{EngineCounters, Event, Group, Instant, Miss, Outcome, Picos, Record};

use crate::again::Again;
use crate::connection::Finished;
use crate::control::{Control, Halt};
use crate::dial::Dialer;
use crate::endpoint::Endpoints;
use crate::exchange::BodyCheck;
use crate::feed::Feed;
use crate::gather::Gather;
use crate::io::{Driver, Wait};
use crate::notes::Notes;
use crate::pulse::Pulse;
use crate::reading::Reading;
use crate::resolver::Asker;
use crate::same::SameBodies;
use crate::slots::Slots;
use crate::source::{Chooser, Staged};

/// Bytes read at once.
const READ: usize = 64 * 1024;
/// Departures launched before the sockets are looked at again.
const LAUNCHES: usize = 64;
/// No socket is handled when the next departure is closer than this: about the cost of handling one.
const GUARD: Picos = Picos::from_micros(4);
/// Before a due time, this long is spun; waking from sleep is later than that only rarely (FACTS: p99 187 µs).
const SPIN: Picos = Picos::from_micros(250);
/// No round of looking for work takes longer, unless something else had the CPU.
const ROUND: Picos = Picos::from_micros(5);
/// The longest wait, so that intervals are handed over in time.
const LONGEST_WAIT: Picos = Picos::from_millis(20);
/// Own lateness above this is counted as late.
const LATE: Picos = Picos::from_millis(1);

/// When the run begins and ends.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub origin: Instant,
    /// Nothing is due from then on; `FAR` if only the number of requests ends the run.
    pub end: Instant,
    pub grace: Picos,
}

/// What a thread is made with.
pub struct Setup {
    pub plan: Arc<Plan>,
    pub clock: HostClock,
    pub times: Times,
    pub feed: Feed,
    pub chooser: Chooser,
    pub endpoints: Endpoints,
    pub tls: Option<Arc<ClientConfig>>,
    pub dialer: Dialer,
    pub asker: Asker,
    pub control: Arc<Control>,
    pub body_file: Option<Arc<File>>,
    pub same: Option<Arc<SameBodies>>,
    /// The most connections that may be open on this thread.
    pub most_open: usize,
    /// Least time between two openings on this thread.
    pub open_gap: Picos,
    pub spin: bool,
    /// Whether a closed loop may sleep while answers gather.
    pub gather: bool,
}

impl Setup {
    pub(crate) fn clock_now(&self) -> Instant {
        self.clock.now()
    }
}

/// A departure that has been taken and waits for a connection.
pub(crate) struct Pending {
    pub departure: units::Departure,
    pub staged: Staged,
    /// When its request was written.
    pub written_at: Instant,
}

/// What shall be looked at again at a certain time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Later {
    /// The 100 (Continue) has not come: send the body without it.
    Continue,
    /// Reading may go on.
    Read,
    /// Writing may go on: it was interrupted so that others have their turn.
    Write,
    /// So many addresses were tried; the last has not answered.
    Address(usize),
}

/// See the module.
pub struct Worker<D, R> {
    pub(crate) setup: Setup,
    pub(crate) driver: D,
    pub(crate) recorder: R,
    pub(crate) counters: EngineCounters,
    pub(crate) slots: Slots,
    pub(crate) staged: Vec<u8>,
    pub(crate) pending: Option<Pending>,
    /// What is to be sent once more, the oldest first.
    pub(crate) again: VecDeque<Again>,
    pub(crate) later: BinaryHeap<Reverse<(Instant, u32, u32, Later)>>,
    pub(crate) finished: Vec<Finished>,
    #[expect(clippy::vec_box, reason = "exchanges have them boxed; here they wait to be used again")]
    pub(crate) checks: Vec<Box<BodyCheck>>,
    /// The last time until which the plan's limits held departures back.
    pub(crate) blocked_until: Instant,
    pub(crate) blocked: bool,
    /// When a place under the limit became free last.
    pub(crate) freed_at: Instant,
    /// By how much earlier that may have been, where no stamp tells.
    pub(crate) freed_doubt: Picos,
    pub(crate) next_open: Instant,
    /// Failures in a row, for the closed loop's pause.
    pub(crate) failures: u32,
    pub(crate) notes: Notes,
    pub(crate) buffer: Box<[u8]>,
    /// When the last departure of the schedule was taken.
    drained_at: Option<Instant>,
    pub(crate) slow: usize,
    gather: Gather,
    /// Changes of the rate that were taken.
    pub(crate) steered: usize,
    pub(crate) reading: Reading,
    pub(crate) pulse: Pulse,
    /// When the last wait returned.
    pub(crate) looked: Instant,
    /// When the wait before that returned: what is ready now was not ready then, but for what a turn left over.
    pub(crate) looked_before: Instant,
    /// The last wait was one in which the thread slept, and nothing that it brought has been looked at.
    pub(crate) woke: bool,
}

impl<D: Driver, R: Record> Worker<D, R> {
    pub fn new(setup: Setup, driver: D, recorder: R) -> Self {
        let throttle = setup.plan.connection.throttle;
        let read = throttle.map_or(READ, |limit| (limit.get() as usize / 10).clamp(64, READ));
        Self {
            driver,
            recorder,
            counters: EngineCounters::default(),
            slots: Slots::default(),
            staged: Vec::new(),
            pending: None,
            again: VecDeque::new(),
            later: BinaryHeap::new(),
            finished: Vec::new(),
            checks: Vec::new(),
            blocked_until: Instant::EPOCH,
            blocked: false,
            freed_at: setup.times.origin,
            freed_doubt: Picos::ZERO,
            next_open: setup.times.origin,
            failures: 0,
            notes: Notes::default(),
            buffer: vec![0; read].into(),
            drained_at: None,
            slow: 0,
            gather: Gather::new(setup.gather),
            steered: 0,
            reading: Reading::new(&setup.clock),
            pulse: Pulse::new(setup.clock_now(), clock::thread_cpu_ns()),
            looked: setup.clock_now(),
            looked_before: setup.clock_now(),
            woke: false,
            setup,
        }
    }

    /// Runs to the end. What is worth telling besides the events is in the notes.
    pub fn run(mut self) -> Notes {
        loop {
            let now = self.now();
            // First, so that a request whose time-out and grace end together has timed out.
            self.expire(now);
            if self.setup.control.halt() != Halt::No || self.is_done(now) {
                break;
            }
            self.take_changes();
            self.expire_again(now);
            self.launch_again(now);
            self.launch_due(now);
            self.take_answers(now);
            self.counters.due = self.setup.feed.due_before(now, self.counters.offered);
            self.recorder.tick(now, &self.counters);
            let wait = self.nap(now);
            let waiting = self.driver.wait(wait, self.looked);
            self.woken(now, wait);
            match waiting {
                Ok(ready) => {
                    self.counters.waits += 1;
                    self.counters.ready += ready as u64;
                    self.gather.saw(ready as u64, now);
                    if ready > 0 {
                        self.handle_ready();
                    } else if wait == Wait::Poll {
                        self.count_spun(now, self.now());
                    }
                }
                Err(errno) => {
                    self.setup.control.fail(format!("waiting for sockets failed: {errno}"));
                }
            }
        }
        self.wind_up();
        self.notes
    }

    /// Takes changes of the rate that were asked for since.
    fn take_changes(&mut self) {
        while let Some(change) = self.setup.control.change(self.steered) {
            self.setup.feed.steer(change);
            self.steered += 1;
        }
    }

    pub(crate) fn now(&self) -> Instant {
        self.setup.clock.now()
    }

    /// After a wait that began at `from`: how long it took, and whether the loop stood still.
    fn woken(&mut self, from: Instant, wait: Wait) {
        let now = self.now();
        if let Wait::AtMost(meant) = wait {
            self.pulse.waited(meant, now.since(from));
            self.woke = !meant.is_zero();
        }
        self.looked_before = std::mem::replace(&mut self.looked, now);
        if let Some(pause) = self.pulse.turn(now, clock::thread_cpu_ns) {
            // Told once: that answers came meanwhile is the same pause.
            self.woke = false;
            self.paused(pause.until.saturating_sub(pause.length), pause.length);
        }
    }

    pub(crate) fn paused(&mut self, at: Instant, length: Picos) {
        self.counters.pauses += 1;
        self.counters.paused += length;
        self.recorder.pause(at, length);
    }

    /// If a departure is due, or nearly so, it goes before the next socket is handled.
    pub(crate) fn keep_time(&mut self) {
        if self.blocked {
            return;
        }
        let Some(next) = self.waiting() else { return };
        let mut now = self.now();
        if self.setup.spin && next.due > now && next.due.since(now) <= GUARD {
            now = self.spin_until(next.due, now);
        }
        if next.due <= now {
            self.launch_due(now);
        }
    }

    fn spin_until(&mut self, due: Instant, from: Instant) -> Instant {
        let mut now = from;
        while now < due {
            std::hint::spin_loop();
            now = self.now();
        }
        self.count_spun(from, now);
        now
    }

    /// Time spent waiting on the CPU. A round that took far longer was not spinning but preempted.
    fn count_spun(&mut self, from: Instant, to: Instant) {
        self.counters.spun += to.since(from).min(ROUND);
    }

    /// Launches departures whose time has come, a bounded number of them.
    pub(crate) fn launch_due(&mut self, mut now: Instant) {
        if self.blocked && (now < self.next_open || self.slots.open() >= self.setup.most_open) {
            return;
        }
        for _ in 0..LAUNCHES {
            let departure = match self.waiting() {
                Some(departure) if departure.due <= now => departure,
                _ => return,
            };
            if !self.launch(departure, now) {
                return;
            }
            now = self.now();
        }
    }

    /// How to wait, after the nap that comes before it where answers gather.
    fn nap(&mut self, now: Instant) -> Wait {
        let wait = self.next_wait(now);
        match (wait, self.gather.nap(self.counters.open)) {
            (Wait::AtMost(most), Some(nap)) if nap < most => {
                self.setup.clock.sleep_until(now + nap);
                self.counters.naps += 1;
                self.counters.napped += self.now().since(now);
                Wait::AtMost(Picos::ZERO)
            }
            _ => wait,
        }
    }

    fn next_wait(&mut self, now: Instant) -> Wait {
        if self.slow > 0 {
            return Wait::Poll;
        }
        let mut until = now + LONGEST_WAIT;
        if let Some((_, deadline)) = self.slots.next_deadline() {
            until = until.min(deadline);
        }
        if let Some(Reverse((at, ..))) = self.later.peek() {
            until = until.min(*at);
        }
        if self.setup.times.end > now {
            until = until.min(self.setup.times.end);
        }
        let held = self.blocked || self.pending.is_some();
        let due = self.waiting().map(|next| if held { self.pending_wake(next.due) } else { next.due });
        match due {
            Some(due) if due <= now => Wait::Poll,
            Some(due) if self.setup.spin && due.since(now) <= SPIN => {
                self.near(due, now);
                Wait::Poll
            }
            Some(due) if self.setup.spin => Wait::AtMost(until.min(due.saturating_sub(SPIN)).since(now)),
            Some(due) => Wait::AtMost(until.min(due).since(now)),
            None if self.setup.spin && self.setup.feed.is_closed() => Wait::Poll,
            None => Wait::AtMost(until.since(now)),
        }
    }

    /// When a departure that is held back is to be looked at: when it may open a connection, or is given up.
    fn pending_wake(&self, due: Instant) -> Instant {
        let given_up = due + self.setup.plan.request.timeout;
        if self.next_open > self.freed_at && self.slots.open() < self.setup.most_open {
            given_up.min(self.next_open)
        } else {
            given_up
        }
    }

    /// Very close to a due time, the sockets wait.
    fn near(&mut self, due: Instant, now: Instant) {
        if due.since(now) <= GUARD && !self.blocked {
            let now = self.spin_until(due, now);
            self.launch_due(now);
        }
    }

    fn is_done(&mut self, now: Instant) -> bool {
        let times = self.setup.times;
        if times.end != Instant::FAR && now >= times.end + times.grace {
            return true;
        }
        if self.pending.is_some() || !self.setup.feed.is_over(now) {
            return false;
        }
        let drained_at = *self.drained_at.get_or_insert(now);
        let busy = self.slots.next_deadline().is_some() || !self.again.is_empty();
        // A run of a certain length has all of it, the gap after its last departure included.
        let by_time_alone = times.end != Instant::FAR && self.setup.plan.stop.requests.is_none();
        if by_time_alone && now < times.end && !self.setup.plan.load.ends_by_itself() {
            return false;
        }
        !busy || (!by_time_alone && now >= drained_at + times.grace)
    }

    /// A departure that never left.
    pub(crate) fn miss(&mut self, departure: units::Departure, why: Miss, now: Instant) {
        self.recorder.event(&Event {
            seq: departure.seq,
            due: departure.due,
            sent: Instant::FAR,
            first_byte: Instant::FAR,
            done: now,
            bytes_out: units::Bytes::ZERO,
            bytes_in: units::Bytes::ZERO,
            outcome: Outcome::Missed(why),
            blocked: Picos::ZERO,
            unread: Picos::ZERO,
            unread_bound: Picos::ZERO,
            group: Group(0),
        });
    }

    pub(crate) fn count_late(&mut self, own_lateness: Picos) {
        self.counters.late += u64::from(own_lateness > LATE);
    }

    /// The departure whose turn is next: one that has been taken and could not leave, or the feed's.
    pub(crate) fn waiting(&mut self) -> Option<units::Departure> {
        let pending = self.pending.as_ref().map(|pending| pending.departure);
        pending.or_else(|| self.setup.feed.head())
    }
}
