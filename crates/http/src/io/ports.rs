//! Connections over a port: a TCP of our own instead of the kernel's sockets (`--via`).
//!
//! ```text
//!   loop ─ send ─► Flow::out ─► Sessions ─► frames ─► port
//!   loop ◄─ next ─ Flow::inbox ◄─ Sessions ◄─ frames ◄─ port
//! ```
//!
//! What was sent is kept until the peer has acknowledged it. Acknowledgments leave when the next wait begins,
//! so that a request takes the one for the response before it along.

mod flow;
mod room_wait;
mod sleep;
mod unacked;

use clock::{Clock, HostClock};
use port::PortError;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use session::{Account, Began, Id, Inward, OpenError, Owner, Sessions};
use std::collections::VecDeque;
use std::num::NonZeroU64;
use tcp::{Cause, Event, Flags, Notice, Payload, Record};
use units::{Instant, Picos};

use super::{Address, Chunk, Destination, Driver, InSocket, Opening, Ready, Wait};
use flow::Flow;
pub(crate) use room_wait::RoomWait;
use sleep::errno_of;
pub(crate) use sleep::sleep;
pub(crate) use unacked::Unacked;

/// Bytes that lie unread on a connection from which the target may have had to wait: a quarter of the window.
const CROWDED: usize = (65_535 << 7) / 4;
/// Frames of a batch, and batches that are taken in one wait.
const FRAMES: usize = 256;
const BATCHES: usize = 4;

/// See the module.
pub struct Ports {
    sessions: Sessions,
    flows: Flows,
    clock: HostClock,
    waker: OwnedFd,
    not_before: Instant,
    /// When the port was looked at last and had nothing. What leaves after that may be answered before the wait
    /// returns.
    empty_at: Instant,
    /// The last wait took as many frames as it could.
    full: bool,
}

/// What belongs to the sessions: the owner that they tell.
struct Flows {
    all: Vec<Flow>,
    free: Vec<u32>,
    /// The flow of each slot.
    of_slot: Vec<u32>,
    /// Flows that have something to tell, in order.
    ready: VecDeque<u32>,
    /// Flows whose bytes were acknowledged: there may be more of them to send.
    relieved: Vec<u32>,
    /// Flows whose data is not acknowledged.
    owed: Vec<u32>,
    now: Instant,
}

const NO_FLOW: u32 = u32::MAX;

impl Ports {
    pub fn new(sessions: Sessions, waker: OwnedFd, clock: HostClock) -> Self {
        let flows = Flows {
            all: Vec::new(),
            free: Vec::new(),
            of_slot: Vec::new(),
            ready: VecDeque::new(),
            relieved: Vec::new(),
            owed: Vec::new(),
            now: clock.now(),
        };
        let (not_before, empty_at) = (Instant::EPOCH, Instant::EPOCH);
        Self { sessions, flows, clock, waker, not_before, empty_at, full: false }
    }

    /// Gives sessions what there is to send on their connections.
    fn push(&mut self, flow: u32, now: Instant) {
        let Some(id) = self.flows.all[flow as usize].id else { return };
        let mss = self.sessions.record(id).map_or(0, |record| usize::from(record.mss));
        let Some(len) = self.flows.all[flow as usize].ask(mss, now) else { return };
        // The last request is over as far as the session is concerned: what comes belongs to a stream here.
        if self.sessions.record(id).is_some_and(|record| record.has(Flags::ASKED)) {
            self.sessions.act(id, Event::Answered, now, &mut self.flows);
        }
        self.sessions.act(id, Event::Send { len, close: false, patience_ms: 0 }, now, &mut self.flows);
        self.sessions.flush(id, now, &mut self.flows);
    }

    fn push_relieved(&mut self, now: Instant) {
        while let Some(flow) = self.flows.relieved.pop() {
            self.push(flow, now);
        }
    }

    fn transmit(&mut self) -> Result<(), Errno> {
        let clock = self.clock;
        match self.sessions.transmit(&|| clock.now(), &mut self.flows) {
            // It may come up again; until then nothing arrives, and requests time out.
            Err(PortError::Down { .. }) | Ok(()) => Ok(()),
            Err(error) => Err(errno_of(&error)),
        }
    }

    fn receive(&mut self) -> Result<(), Errno> {
        for batch in 1..=BATCHES {
            let now = self.clock.now();
            self.flows.now = now;
            let count = match self.sessions.receive(FRAMES, now, &mut self.flows) {
                Ok(count) => count,
                Err(PortError::Down { .. }) => 0,
                Err(error) => return Err(errno_of(&error)),
            };
            self.full = count > 0 && batch == BATCHES;
            if count == 0 {
                self.empty_at = now;
                break;
            }
        }
        Ok(())
    }

    fn flow_of(&self, slot: u32) -> Option<u32> {
        self.flows.of_slot.get(slot as usize).copied().filter(|flow| *flow != NO_FLOW)
    }

    fn peek(&self, slot: u32) -> Option<&Flow> {
        self.flow_of(slot).map(|flow| &self.flows.all[flow as usize])
    }

    /// The next thing that a flow has to tell.
    fn tell(&mut self, flow: u32, buffer: &mut [u8]) -> Option<Ready> {
        let not_before = self.not_before;
        let told = &mut self.flows.all[flow as usize];
        if std::mem::take(&mut told.connected) {
            return Some(Ready::Connected);
        }
        if std::mem::take(&mut told.writable) {
            return Some(Ready::Writable);
        }
        if !told.paused && told.unread() > 0 {
            let crowded = told.unread() >= CROWDED;
            let read = told.read(buffer);
            let chunk = Chunk {
                length: read.length,
                stamp_ns: read.stamp_ns,
                not_before,
                more: read.more,
                crowded,
                in_socket: InSocket::UntilRead,
            };
            return Some(Ready::Data(chunk));
        }
        if !told.paused && std::mem::take(&mut told.ended) {
            return Some(Ready::Eof);
        }
        told.failed.take().map(Ready::Failed)
    }
}

impl Flows {
    fn add(&mut self, slot: u32, flow: Flow) -> u32 {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.all.push(Flow::default());
                self.all.len() as u32 - 1
            }
        };
        self.all[index as usize] = flow;
        if self.of_slot.len() <= slot as usize {
            self.of_slot.resize(slot as usize + 1, NO_FLOW);
        }
        self.of_slot[slot as usize] = index;
        index
    }

    /// Acknowledgments have left.
    fn have_left(&mut self) {
        let now_ns = if self.owed.is_empty() { 0 } else { clock::unix_ns() };
        self.owed.drain(..).for_each(|index| self.all[index as usize].unacked.left(now_ns));
    }

    /// Forgets a flow that neither the loop nor a session has any more.
    fn drop_if_over(&mut self, index: u32) {
        let flow = &mut self.all[index as usize];
        if flow.slot.is_none() && flow.id.is_none() && !flow.listed {
            *flow = Flow::default();
            self.free.push(index);
        }
    }

    fn list(&mut self, index: u32) {
        let flow = &mut self.all[index as usize];
        if !flow.listed && flow.slot.is_some() && flow.has_news() {
            flow.listed = true;
            self.ready.push_back(index);
        }
    }

    fn fail(&mut self, index: u32, errno: Errno) {
        let flow = &mut self.all[index as usize];
        (flow.is_open, flow.failed) = (false, Some(errno));
    }
}

impl Owner for Flows {
    fn text(&self, tag: u32, payload: Payload) -> &[u8] {
        payload.of(self.all[tag as usize].text()).unwrap_or_default()
    }

    fn hear(&mut self, _: Id, tag: u32, notice: Notice, inward: &Inward<'_>) {
        let (now, index) = (self.now, tag);
        let flow = &mut self.all[tag as usize];
        let stamp_ns = NonZeroU64::new(inward.stamp.as_unix_nanos());
        let part = |skip: u32, len: u32| &inward.payload[skip as usize..][..len as usize];
        if let Notice::Data { .. } | Notice::Early { .. } = notice
            && !flow.found(stamp_ns)
        {
            self.owed.push(index);
        }
        match notice {
            Notice::Connected { .. } => {
                (flow.is_open, flow.connected) = (true, true);
                flow.round_trip = flow.since_asked(stamp_ns).or(flow.round_trip);
            }
            // The handshake's is the first.
            Notice::Rtt { micros } if !flow.is_open && flow.round_trip.is_none() => {
                flow.round_trip = Some(Picos::from_micros(u64::from(micros)));
            }
            Notice::Data { skip, len } => flow.follow(part(skip, len), stamp_ns),
            Notice::Early { skip, len } => flow.keep(part(skip, len), inward.seq.wrapping_add(skip)),
            Notice::Filled { .. } => flow.fill(stamp_ns),
            Notice::Acked => {
                flow.acked(now);
                self.relieved.push(index);
            }
            Notice::Ended => (flow.ended, flow.is_open) = (true, false),
            Notice::Closed(cause) => {
                flow.id = None;
                match cause {
                    Cause::Refused => self.fail(index, Errno::CONNREFUSED),
                    Cause::Reset => self.fail(index, Errno::CONNRESET),
                    Cause::TimedOut => self.fail(index, Errno::TIMEDOUT),
                    Cause::Unreachable => self.fail(index, Errno::HOSTUNREACH),
                    Cause::Aborted | Cause::Finished => flow.is_open = false,
                }
                self.drop_if_over(index);
            }
            _ => return,
        }
        self.list(index);
    }

    fn stepped(&mut self, tag: u32, record: &Record) {
        let flow = &mut self.all[tag as usize];
        if flow.is_sending() {
            flow.shut(record.is_shut(), self.now);
        }
    }

    fn waited(&mut self, tag: u32, since: Instant, left: Instant) {
        self.all[tag as usize].waited(since, left);
    }

    fn no_way(&mut self, _: Id, tag: u32) {
        self.all[tag as usize].id = None;
        self.fail(tag, Errno::HOSTUNREACH);
        self.drop_if_over(tag);
        self.list(tag);
    }
}

impl Driver for Ports {
    fn name(&self) -> &'static str {
        "port"
    }

    fn open(
        &mut self,
        slot: u32,
        destination: &Destination<'_>,
        clock: &HostClock,
    ) -> Result<(Opening, Instant), Errno> {
        let Address::Tcp(to) = destination.to else { return Err(Errno::AFNOSUPPORT) };
        let asked = clock.now();
        self.flows.now = asked;
        let flow = self.flows.add(slot, Flow::to(slot, clock::unix_ns()));
        match self.sessions.open(to, destination.from, flow, asked, &mut self.flows) {
            Ok(Began::Asked(id) | Began::Seeks(id)) => self.flows.all[flow as usize].id = Some(id),
            Err(error) => {
                self.flows.of_slot[slot as usize] = NO_FLOW;
                self.flows.all[flow as usize].slot = None;
                self.flows.drop_if_over(flow);
                return Err(match error {
                    OpenError::NoSource => Errno::AFNOSUPPORT,
                    OpenError::NoPort => Errno::ADDRNOTAVAIL,
                    OpenError::NoWay => Errno::HOSTUNREACH,
                });
            }
        }
        self.transmit()?;
        Ok((Opening::Started, asked))
    }

    fn send(&mut self, slot: u32, bytes: &[u8]) -> Result<usize, Errno> {
        let Some(index) = self.flow_of(slot) else { return Err(Errno::BADF) };
        let now = self.clock.now();
        self.flows.now = now;
        let flow = &mut self.flows.all[index as usize];
        if !flow.is_open {
            if let Some(errno) = flow.failed {
                return Err(errno);
            }
            if flow.id.is_none() || flow.round_trip.is_some() || flow.ended {
                return Err(Errno::PIPE);
            }
            // `Connected` will come.
            return Err(Errno::AGAIN);
        }
        let taken = flow.put(bytes, now);
        if taken == 0 { Err(Errno::AGAIN) } else { Ok(taken) }
    }

    fn release(&mut self, slot: u32) -> Result<(), Errno> {
        let Some(index) = self.flow_of(slot) else { return Ok(()) };
        if !self.flows.all[index as usize].may_ask() {
            return Ok(());
        }
        let now = self.clock.now();
        self.flows.now = now;
        self.push(index, now);
        self.transmit()
    }

    /// The response's acknowledgment waits no longer than for a request that follows at once. (That of a part
    /// of one waits as the kernel's does: a target that holds the rest back until it comes is as slow to us.)
    fn answered(&mut self, slot: u32) {
        let Some(id) = self.peek(slot).and_then(|flow| flow.id) else { return };
        let waits =
            |record: &tcp::Record| record.has(Flags::ASKED) && record.has(Flags::ACK_DUE) && record.left == 0;
        if self.sessions.record(id).is_some_and(waits) {
            let now = self.clock.now();
            self.flows.now = now;
            self.sessions.act(id, Event::Answered, now, &mut self.flows);
        }
    }

    fn watch(&mut self, _: u32) -> Result<(), Errno> {
        Ok(())
    }

    fn acknowledged(&self, slot: u32) -> Option<u64> {
        self.peek(slot).map(Flow::acknowledged)
    }

    fn busy(&self, slot: u32) -> Option<Picos> {
        self.peek(slot).map(|flow| flow.busy(self.clock.now()))
    }

    fn held(&mut self, slot: u32) -> Picos {
        let Some(index) = self.flow_of(slot) else { return Picos::ZERO };
        self.flows.all[index as usize].take_held(self.clock.now())
    }

    fn unacked(&mut self, slot: u32) -> Picos {
        let flow = self.flow_of(slot);
        flow.map_or(Picos::ZERO, |flow| std::mem::take(&mut self.flows.all[flow as usize].unacked_for))
    }

    fn pause(&mut self, slot: u32, paused: bool) {
        let Some(index) = self.flow_of(slot) else { return };
        let flow = &mut self.flows.all[index as usize];
        if flow.paused == paused {
            return;
        }
        flow.paused = paused;
        if let Some(id) = flow.id.filter(|_| flow.is_open) {
            let now = self.clock.now();
            self.flows.now = now;
            self.sessions.act(id, Event::Window { open: !paused }, now, &mut self.flows);
        }
        self.flows.list(index);
    }

    fn close(&mut self, slot: u32, abort: bool) {
        let Some(index) = self.flow_of(slot) else { return };
        let now = self.clock.now();
        self.flows.now = now;
        self.flows.of_slot[slot as usize] = NO_FLOW;
        let flow = &mut self.flows.all[index as usize];
        flow.slot = None;
        match flow.id {
            Some(id) if !self.sessions.forget(id) => {
                // If that ends the session, the flow is dropped as it hears of it.
                let event = if abort { Event::Abort } else { Event::Close };
                self.sessions.act(id, event, now, &mut self.flows);
            }
            _ => {
                self.flows.all[index as usize].id = None;
                self.flows.drop_if_over(index);
            }
        }
        // What the port does not take now leaves with what comes next.
        let _ = self.transmit();
    }

    fn round_trip(&self, slot: u32) -> Option<Picos> {
        self.peek(slot).and_then(|flow| flow.round_trip)
    }

    fn wait(&mut self, wait: Wait, _: Instant) -> Result<usize, Errno> {
        // What lies here since an earlier look could have been read then.
        if self.is_drained() {
            self.not_before = self.empty_at;
        }
        let now = self.clock.now();
        self.flows.now = now;
        self.sessions.settle(now, &mut self.flows);
        self.sessions.expire(now, &mut self.flows);
        self.push_relieved(now);
        self.transmit()?;
        self.flows.have_left();
        let most = match wait {
            Wait::Poll => Some(Picos::ZERO),
            _ if !self.is_drained() => Some(Picos::ZERO),
            Wait::AtMost(most) => Some(most),
            Wait::Forever => None,
        };
        let next = self.sessions.next_deadline(now);
        sleep(&mut self.sessions, &self.waker, most.into_iter().chain([next]).min())?;
        self.receive()?;
        self.push_relieved(self.clock.now());
        self.transmit()?;
        Ok(self.flows.ready.len())
    }

    fn is_drained(&self) -> bool {
        !self.full && self.flows.ready.iter().all(|flow| !self.flows.all[*flow as usize].has_news())
    }

    fn next(&mut self, buffer: &mut [u8], choose: impl Fn(u32) -> bool) -> Option<(u32, Ready)> {
        for _ in 0..self.flows.ready.len() {
            let index = self.flows.ready.pop_front()?;
            let flow = &mut self.flows.all[index as usize];
            let Some(slot) = flow.slot.filter(|_| flow.has_news()) else {
                flow.listed = false;
                self.flows.drop_if_over(index);
                continue;
            };
            if !choose(slot) {
                self.flows.ready.push_back(index);
                continue;
            }
            let told = self.tell(index, buffer);
            let flow = &mut self.flows.all[index as usize];
            flow.listed = false;
            self.flows.list(index);
            if let Some(ready) = told {
                return Some((slot, ready));
            }
        }
        None
    }

    fn finish(&mut self) -> Option<Account> {
        let clock = self.clock;
        self.flows.now = clock.now();
        self.sessions.let_close(&|| clock.now(), &mut self.flows);
        self.sessions.reset_all(clock.now(), &mut self.flows);
        Some(self.sessions.account())
    }
}

/// Whoever ends without a word leaves no connection behind either.
impl Drop for Ports {
    fn drop(&mut self) {
        let now = self.clock.now();
        self.sessions.reset_all(now, &mut self.flows);
    }
}
