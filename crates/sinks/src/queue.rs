//! What lies between those who produce and one sink's thread: a bounded queue, and the count of what became of
//! it.
//!
//! Every row and event that was offered is exactly one of: arrived, lost, waiting, in the thread's hand.
//! Once the queue is frozen, what is not there yet counts as lost, and the thread's further news are not heard.
//!
//! Times here are deadlines for others, not measurements: std's clock is good enough for them.

use crate::exporter::{Gone, SinkError, SinkRow};
use clock::Deadline;
use measure::Batch;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;
use store::RunResult;
use store::schema::SinkStatus;

/// Rows that may wait: a minute.
pub const ROWS: usize = 64;
/// Batches of events that may wait: half of those there are, half a million events.
pub const BATCHES: usize = 128;

/// Something to be delivered.
#[derive(Clone, Debug)]
pub enum Item {
    Row(Arc<SinkRow>),
    Events(Arc<Batch>),
}

/// So many of each.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    rows: u64,
    events: u64,
}

impl Item {
    fn size(&self) -> Size {
        match self {
            Self::Row(_) => Size { rows: 1, events: 0 },
            Self::Events(batch) => Size { rows: 0, events: batch.len() as u64 },
        }
    }
}

/// What the thread does next.
#[derive(Debug)]
pub enum Next {
    Deliver(Item),
    /// Nothing more will come.
    Flush,
    /// Nobody is interested any more.
    Leave,
}

/// How far a sink is with `begin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    NotYet,
    Yes,
    /// The first attempt failed.
    Failed(SinkError),
}

#[derive(Debug)]
struct State {
    rows: VecDeque<Arc<SinkRow>>,
    batches: VecDeque<Arc<Batch>>,
    /// Size of the item that is being delivered.
    in_hand: Size,
    status: SinkStatus,
    begun: Begun,
    origin_unix_ns: Option<u64>,
    /// Nothing more comes; what is not delivered by then is lost.
    until: Option<Deadline>,
    flushed: bool,
    result: Option<Arc<RunResult>>,
    ended: bool,
    /// The counts are final.
    frozen: bool,
    /// The thread shall leave.
    left: bool,
}

/// Shared by the hub and one sink's thread. Only the sink's thread ever waits for the sink.
#[derive(Debug)]
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

impl Queue {
    pub fn new(url: &str) -> Self {
        let status = SinkStatus { url: url.to_owned(), ..SinkStatus::default() };
        let state = State {
            rows: VecDeque::with_capacity(ROWS),
            batches: VecDeque::with_capacity(BATCHES),
            in_hand: Size::default(),
            status,
            begun: Begun::NotYet,
            origin_unix_ns: None,
            until: None,
            flushed: false,
            result: None,
            ended: false,
            frozen: false,
            left: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves counts that are still counts.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Changes the state and wakes whoever waits for it.
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits until `is_so` or so long; says whether it is so.
    fn wait(&self, patience: Duration, mut is_so: impl FnMut(&State) -> bool) -> bool {
        let state = self.lock();
        let waited = self.changed.wait_timeout_while(state, patience, |state| !is_so(state));
        let (state, _) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        is_so(&state)
    }
}

/// The hub's side: none of these waits for the sink, but those that say so.
impl Queue {
    /// Puts it at the end, or counts it as lost.
    pub fn offer(&self, item: Item) {
        self.change(|state| {
            let full = match &item {
                Item::Row(_) => state.rows.len() >= ROWS,
                Item::Events(_) => state.batches.len() >= BATCHES,
            };
            match item {
                _ if full || state.until.is_some() || state.left => state.lose_as_too_slow(item.size()),
                Item::Row(row) => state.rows.push_back(row),
                Item::Events(batch) => state.batches.push_back(batch),
            }
        });
    }

    /// Events that never came here.
    pub fn lose_events(&self, count: u64, why: &str) {
        self.change(|state| {
            state.status.events_lost += count;
            state.trouble(why);
        });
    }

    pub fn start(&self, origin_unix_ns: u64) {
        self.change(|state| state.origin_unix_ns = Some(origin_unix_ns));
    }

    /// How `begin` went; waits so long for it.
    pub fn begun(&self, patience: Duration) -> Begun {
        self.wait(patience, |state| state.begun != Begun::NotYet);
        self.lock().begun.clone()
    }

    /// Nothing more will be offered.
    pub fn close(&self, until: Deadline) {
        self.change(|state| state.until = Some(until));
    }

    /// Waits for the flush; then the counts are final. A sink that did not come to it is left to itself.
    pub fn freeze(&self, patience: Duration) -> SinkStatus {
        self.wait(patience, |state| state.flushed || state.left);
        let mut state = self.lock();
        if !state.flushed && !state.left {
            state.trouble(
                "it was too slow at the end: data that it had not accepted yet is lost, and so is the result",
            );
            state.left = true;
        }
        state.lose_what_waits();
        state.frozen = true;
        state.status.clone()
    }

    /// Gives the result to a sink that was flushed.
    pub fn end(&self, result: Arc<RunResult>) {
        self.change(|state| state.result = Some(result));
    }

    /// Waits for the end; the thread is not heard after this.
    pub fn ended(&self, patience: Duration) -> SinkStatus {
        self.wait(patience, |state| state.ended || state.left);
        let mut state = self.lock();
        if !state.ended && !state.left {
            state.trouble("it did not accept the result in time");
        }
        state.left = true;
        drop(state);
        self.changed.notify_all();
        self.lock().status.clone()
    }

    /// The thread shall end as soon as it can.
    pub fn leave(&self) {
        self.change(|state| state.left = true);
    }
}

/// The side of the sink's thread.
impl Queue {
    pub fn begin_succeeded(&self) {
        self.change(|state| state.begun = Begun::Yes);
    }

    /// Told as soon as it happens; later failures are not told again.
    pub fn begin_failed(&self, why: &SinkError) {
        self.change(|state| {
            state.trouble(&why.problem());
            if state.begun == Begun::NotYet {
                state.begun = Begun::Failed(why.clone());
            }
        });
    }

    /// Waits for the start of the load; `None` if there will be none.
    pub fn started(&self) -> Option<u64> {
        let ready =
            |state: &mut State| state.origin_unix_ns.is_none() && !state.left && state.until.is_none();
        let state = self.changed.wait_while(self.lock(), ready);
        state.unwrap_or_else(std::sync::PoisonError::into_inner).origin_unix_ns
    }

    /// Waits for something to do. Rows go before events: there are fewer, and they say more.
    pub fn next(&self) -> Next {
        let idle = |state: &mut State| {
            state.rows.is_empty() && state.batches.is_empty() && state.until.is_none() && !state.left
        };
        let waited = self.changed.wait_while(self.lock(), idle);
        let mut state = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        if state.left {
            return Next::Leave;
        }
        if state.until.is_some_and(Deadline::is_over) {
            state.lose_what_waits();
            return Next::Flush;
        }
        match state.take() {
            Some(item) => {
                state.in_hand = item.size();
                Next::Deliver(item)
            }
            None => Next::Flush,
        }
    }

    /// What was in hand arrived.
    pub fn arrived(&self) {
        self.change(|state| {
            let size = std::mem::take(&mut state.in_hand);
            if !state.frozen {
                state.status.rows += size.rows;
                state.status.events += size.events;
            }
        });
    }

    /// What was in hand did not arrive, and will not.
    pub fn lost(&self, why: &SinkError) {
        self.change(|state| {
            let size = std::mem::take(&mut state.in_hand);
            state.lose(size);
            state.trouble(&why.problem());
        });
    }

    /// What was counted as arrived is not there.
    pub fn gone(&self, gone: &Gone) {
        self.change(|state| {
            state.take_back(Size { rows: gone.rows, events: gone.events });
            if !gone.why.is_empty() {
                state.status.trouble.clear();
            }
            state.trouble(&gone.why);
        });
    }

    /// The first failure is kept.
    pub fn trouble(&self, why: &SinkError) {
        self.change(|state| state.trouble(&why.problem()));
    }

    /// Waits before the same is tried again; `false`: there is no time left, or nobody is interested.
    pub fn nap(&self, length: Duration) -> bool {
        let end = Deadline::after(length);
        let over = |state: &State| state.left || state.until.is_some_and(Deadline::is_over);
        if self.wait(Duration::ZERO, over) {
            return false;
        }
        let mut closes = None;
        self.wait(length, |state| {
            closes = state.until;
            state.left || state.until.is_some_and(|until| until < end)
        });
        let left = end.min(closes.unwrap_or(end)).left();
        self.wait(left, |state| state.left);
        let state = self.lock();
        !state.left && state.until.is_none_or(|until| !until.is_over())
    }

    /// All that waits, and all that will come, is lost: the sink refuses.
    pub fn give_up(&self) {
        loop {
            match self.next() {
                Next::Leave => return,
                Next::Flush => break,
                Next::Deliver(_) => self.change(|state| {
                    let size = std::mem::take(&mut state.in_hand);
                    state.lose(size);
                }),
            }
        }
        self.change(|state| (state.flushed, state.ended) = (true, true));
    }

    /// `Err`: nothing that was delivered can be relied on.
    pub fn flushed(&self, outcome: Result<(), SinkError>) {
        self.change(|state| {
            if let Err(why) = outcome {
                let all = Size { rows: state.status.rows, events: state.status.events };
                state.take_back(all);
                state.trouble(&why.problem());
            }
            state.flushed = true;
        });
    }

    /// Waits for the result; `None` if there will be none.
    pub fn result(&self) -> Option<Arc<RunResult>> {
        let state = self.changed.wait_while(self.lock(), |state| state.result.is_none() && !state.left);
        state.unwrap_or_else(std::sync::PoisonError::into_inner).result.take()
    }

    pub fn end_done(&self, outcome: Result<(), SinkError>) {
        self.change(|state| {
            if let Err(why) = outcome {
                state.trouble(&why.problem());
            }
            state.ended = true;
        });
    }
}

impl State {
    fn take(&mut self) -> Option<Item> {
        let row = self.rows.pop_front().map(Item::Row);
        row.or_else(|| self.batches.pop_front().map(Item::Events))
    }

    fn lose(&mut self, size: Size) {
        if !self.frozen {
            self.status.rows_lost += size.rows;
            self.status.events_lost += size.events;
        }
    }

    fn take_back(&mut self, size: Size) {
        if self.frozen {
            return;
        }
        let size =
            Size { rows: size.rows.min(self.status.rows), events: size.events.min(self.status.events) };
        self.status.rows -= size.rows;
        self.status.events -= size.events;
        self.lose(size);
    }

    fn lose_as_too_slow(&mut self, size: Size) {
        self.lose(size);
        self.trouble("it was too slow: its queue was full, and the excess is lost");
    }

    fn lose_what_waits(&mut self) {
        let in_hand = std::mem::take(&mut self.in_hand);
        self.lose(in_hand);
        while let Some(item) = self.take() {
            self.lose(item.size());
        }
    }

    fn trouble(&mut self, why: &str) {
        if self.status.trouble.is_empty() {
            self.status.trouble = why.to_owned();
        }
    }
}
