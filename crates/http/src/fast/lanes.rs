//! Connections of the fast path.
//!
//! ```text
//!   lane (32 bytes, one for each connection) ── flight (only while a request is on its way) ── Http1
//!   idle lanes of each endpoint               flights in the order in which they were sent
//! ```

use session::Id;
use std::collections::VecDeque;
use units::{Instant, Picos};

use crate::http1::Http1;
use crate::io::ports::{RoomWait, Unacked};

pub(super) const NONE: u32 = u32::MAX;

/// One connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    pub id: Option<Id>,
    /// Its request that is on its way; of an idle lane, the one that has been idle for less long.
    link: u32,
    /// Of an idle lane, the one that has been idle for longer.
    before: u32,
    /// When it last became free for a request.
    pub idle_since: Instant,
    /// By how much earlier it may have been free, in nanoseconds: where no stamp tells when its answer came.
    pub doubt_ns: u32,
    /// Requests begun on it, as far as they fit.
    pub served: u16,
    pub endpoint: u16,
    /// The request that is on its way, or the last.
    pub request: u16,
    stage: Stage,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Opening,
    /// A request is on its way, or about to go.
    Busy,
    Idle,
    /// Its only request has ended, and the target is to close it until `idle_since`.
    Spent,
    /// It carries nothing more, and is about to go; whether it was made.
    Closing {
        was_up: bool,
    },
}

impl Lane {
    /// It carries nothing more, and is about to go.
    pub const fn is_closing(&self) -> bool {
        matches!(self.stage, Stage::Closing { .. })
    }

    /// Its connection was made.
    pub const fn is_up(&self) -> bool {
        matches!(self.stage, Stage::Busy | Stage::Idle | Stage::Spent | Stage::Closing { was_up: true })
    }

    /// The target is to close it.
    pub const fn is_spent(&self) -> bool {
        matches!(self.stage, Stage::Spent)
    }

    pub const fn is_idle(&self) -> bool {
        matches!(self.stage, Stage::Idle)
    }

    /// Its request that is on its way.
    pub const fn flight(&self) -> Option<u32> {
        if self.is_idle() || self.link == NONE { None } else { Some(self.link) }
    }
}

/// A list of idle lanes, the longest idle first.
#[derive(Clone, Copy, Debug)]
struct Idle {
    first: u32,
    last: u32,
}

/// A request on its way.
#[derive(Debug)]
pub(super) struct Flight {
    pub lane: u32,
    pub http1: Http1,
    /// When its connection was asked for, until it is up.
    pub asked: Instant,
    pub asked_ns: u64,
    /// Since when its connection is ready, if it was opened for it.
    pub ready_since: Option<Instant>,
    /// The peer has acknowledged it.
    pub acknowledged: bool,
    /// The session was given the request.
    pub given: bool,
    /// What came last of its response.
    pub unacked: Unacked,
    pub room_wait: RoomWait,
    deadline: Instant,
    before: u32,
    after: u32,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Lanes {
    all: Vec<Lane>,
    free: Vec<u32>,
    idle: Vec<Idle>,
    flights: Vec<Flight>,
    landed: Vec<u32>,
    first: u32,
    last: u32,
    /// Lanes that the target is to close, and until when; some are closed by now.
    spent: VecDeque<(Instant, u32)>,
    open: usize,
}

impl Lanes {
    pub fn new(endpoints: usize) -> Self {
        Self {
            all: Vec::new(),
            free: Vec::new(),
            idle: vec![Idle { first: NONE, last: NONE }; endpoints],
            flights: Vec::new(),
            landed: Vec::new(),
            first: NONE,
            last: NONE,
            spent: VecDeque::new(),
            open: 0,
        }
    }

    /// How many there are, those that are being opened among them.
    pub const fn open(&self) -> usize {
        self.open
    }

    pub fn add(&mut self, endpoint: u16) -> u32 {
        let lane = Lane {
            id: None,
            link: NONE,
            before: NONE,
            idle_since: Instant::EPOCH,
            doubt_ns: 0,
            served: 0,
            endpoint,
            request: 0,
            stage: Stage::Opening,
        };
        self.open += 1;
        match self.free.pop() {
            Some(at) => {
                self.all[at as usize] = lane;
                at
            }
            None => {
                self.all.push(lane);
                self.all.len() as u32 - 1
            }
        }
    }

    /// Forgets a lane that has neither a session nor a flight.
    pub fn remove(&mut self, at: u32) {
        debug_assert!(self.all[at as usize].flight().is_none(), "a lane goes after its flight");
        self.unlist(at);
        let lane = &mut self.all[at as usize];
        (lane.id, lane.stage) = (None, Stage::Closing { was_up: lane.is_up() });
        self.open -= 1;
        self.free.push(at);
    }

    /// A lane without a flight waits until then for the target to close it.
    pub fn spend(&mut self, at: u32, until: Instant) {
        let lane = &mut self.all[at as usize];
        (lane.stage, lane.idle_since) = (Stage::Spent, until);
        self.spent.push_back((until, at));
    }

    /// Until when the lane is waited for whose target was asked to close it first.
    pub fn next_spent(&mut self) -> Option<(u32, Instant)> {
        while let Some((until, at)) = self.spent.front().copied() {
            let lane = &self.all[at as usize];
            if lane.is_spent() && lane.idle_since == until {
                return Some((at, until));
            }
            self.spent.pop_front();
        }
        None
    }

    /// A lane without a flight takes no further one.
    pub fn close(&mut self, at: u32) {
        self.unlist(at);
        let lane = &mut self.all[at as usize];
        lane.stage = Stage::Closing { was_up: lane.is_up() };
    }

    /// The connection of a lane is up.
    pub fn is_made(&mut self, at: u32) {
        self.all[at as usize].stage = Stage::Busy;
    }

    #[inline]
    pub fn get(&mut self, at: u32) -> &mut Lane {
        &mut self.all[at as usize]
    }
    pub fn peek(&self, at: u32) -> &Lane {
        &self.all[at as usize]
    }

    /// Lists a lane as free.
    pub fn list(&mut self, at: u32) {
        let lane = &mut self.all[at as usize];
        debug_assert!(lane.flight().is_none(), "a lane with a request on its way is not idle");
        if std::mem::replace(&mut lane.stage, Stage::Idle) == Stage::Idle {
            return;
        }
        let idle = &mut self.idle[usize::from(lane.endpoint)];
        (lane.link, lane.before) = (NONE, idle.last);
        match std::mem::replace(&mut idle.last, at) {
            NONE => idle.first = at,
            last => self.all[last as usize].link = at,
        }
    }

    fn unlist(&mut self, at: u32) {
        let lane = &mut self.all[at as usize];
        if !lane.is_idle() {
            return;
        }
        lane.stage = Stage::Busy;
        let (before, after) =
            (std::mem::replace(&mut lane.before, NONE), std::mem::replace(&mut lane.link, NONE));
        let idle = &mut self.idle[usize::from(lane.endpoint)];
        match before {
            NONE => idle.first = after,
            _ => self.all[before as usize].link = after,
        }
        match after {
            NONE => idle.last = before,
            _ => self.all[after as usize].before = before,
        }
    }

    /// An idle lane of an endpoint: the longest idle, or the last used.
    pub fn take_idle(&mut self, endpoint: u16, longest: bool) -> Option<u32> {
        let idle = self.idle[usize::from(endpoint)];
        let at = if longest { idle.first } else { idle.last };
        if at == NONE {
            return None;
        }
        self.unlist(at);
        Some(at)
    }

    /// An idle lane of any other endpoint.
    pub fn take_other(&mut self, wanted: u16) -> Option<u32> {
        let has = |at: &usize| *at != usize::from(wanted) && self.idle[*at].first != NONE;
        let other = (0..self.idle.len()).find(has)?;
        self.take_idle(other as u16, true)
    }

    /// Begins a flight on a lane. It is put in order of its deadline when that is set.
    pub fn depart(&mut self, lane: u32, asked: Instant, asked_ns: u64) -> u32 {
        let flight = match self.landed.pop() {
            Some(flight) => flight,
            None => {
                self.flights.push(Flight {
                    lane,
                    http1: Http1::default(),
                    asked,
                    asked_ns,
                    ready_since: None,
                    acknowledged: false,
                    given: false,
                    unacked: Unacked::default(),
                    room_wait: RoomWait::default(),
                    deadline: Instant::FAR,
                    before: NONE,
                    after: NONE,
                });
                self.flights.len() as u32 - 1
            }
        };
        let made = &mut self.flights[flight as usize];
        (made.lane, made.asked, made.asked_ns, made.ready_since) = (lane, asked, asked_ns, None);
        (made.acknowledged, made.given, made.deadline) = (false, false, Instant::FAR);
        (made.unacked, made.room_wait) = (Unacked::default(), RoomWait::default());
        made.http1.resume(u32::from(self.all[lane as usize].served));
        self.all[lane as usize].link = flight;
        flight
    }

    #[inline]
    pub fn flight(&mut self, flight: u32) -> &mut Flight {
        &mut self.flights[flight as usize]
    }

    /// The flight ends at this time, if nothing else ends it. Nearly all deadlines are set in the order in
    /// which they come: the place is looked for from the last one.
    pub fn set_deadline(&mut self, flight: u32, deadline: Instant) {
        debug_assert!(self.flights[flight as usize].deadline == Instant::FAR, "a deadline is set once");
        let (mut before, mut after) = (self.last, NONE);
        while before != NONE && self.flights[before as usize].deadline > deadline {
            (before, after) = (self.flights[before as usize].before, before);
        }
        let made = &mut self.flights[flight as usize];
        (made.deadline, made.before, made.after) = (deadline, before, after);
        match before {
            NONE => self.first = flight,
            _ => self.flights[before as usize].after = flight,
        }
        match after {
            NONE => self.last = flight,
            _ => self.flights[after as usize].before = flight,
        }
    }

    /// The next deadline, and whose it is.
    pub fn next_deadline(&self) -> Option<(u32, Instant)> {
        (self.first != NONE).then(|| (self.first, self.flights[self.first as usize].deadline))
    }

    /// Whether any request is on its way.
    pub fn any_in_flight(&self) -> bool {
        self.flights.len() > self.landed.len()
    }

    /// Flights that have not landed.
    pub fn in_flight(&self) -> Vec<u32> {
        self.all.iter().filter_map(Lane::flight).collect()
    }

    /// Ends a flight; its lane stays.
    pub fn land(&mut self, flight: u32) {
        let Flight { lane, deadline, before, after, .. } = self.flights[flight as usize];
        if deadline != Instant::FAR {
            match before {
                NONE => self.first = after,
                _ => self.flights[before as usize].after = after,
            }
            match after {
                NONE => self.last = before,
                _ => self.flights[after as usize].before = before,
            }
        }
        self.all[lane as usize].link = NONE;
        self.landed.push(flight);
    }

    /// Of all lanes that have one: their sessions.
    pub fn sessions(&self) -> impl Iterator<Item = Id> {
        self.all.iter().filter_map(|lane| lane.id)
    }
}

/// Nanoseconds, as far as they fit.
pub(super) fn short(time: Picos) -> u32 {
    u32::try_from(time.as_nanos()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::EPOCH + Picos::from_millis(ms)
    }

    #[test]
    fn a_connection_that_waits_takes_32_bytes() {
        assert_eq!(size_of::<Lane>(), 32);
    }

    #[test]
    fn flights_time_out_in_the_order_in_which_they_were_sent() {
        let mut lanes = Lanes::new(1);
        let flights: Vec<u32> = (0..4)
            .map(|n| {
                let lane = lanes.add(0);
                let flight = lanes.depart(lane, at(0), 0);
                lanes.set_deadline(flight, at(100 + n));
                flight
            })
            .collect();
        // One in the middle, the first and the last land; the next takes a place that is free.
        lanes.land(flights[1]);
        assert_eq!(lanes.next_deadline(), Some((flights[0], at(100))));
        lanes.land(flights[0]);
        lanes.land(flights[3]);
        assert_eq!(lanes.next_deadline(), Some((flights[2], at(102))));
        let lane = lanes.add(0);
        let again = lanes.depart(lane, at(5), 0);
        lanes.set_deadline(again, at(200));
        lanes.land(flights[2]);
        assert_eq!(lanes.next_deadline(), Some((again, at(200))));
        assert_eq!(lanes.in_flight(), [again]);
        // One that was sent again has an earlier deadline than those that left meanwhile.
        let [early, earliest] = [150, 120].map(|ms| {
            let lane = lanes.add(0);
            let flight = lanes.depart(lane, at(6), 0);
            lanes.set_deadline(flight, at(ms));
            flight
        });
        for flight in [earliest, early] {
            assert_eq!(lanes.next_deadline().map(|(next, _)| next), Some(flight));
            lanes.land(flight);
        }
        lanes.land(again);
        assert!(lanes.next_deadline().is_none() && !lanes.any_in_flight());
    }

    #[test]
    fn idle_lanes_are_taken_from_either_end_and_from_other_endpoints() {
        let mut lanes = Lanes::new(2);
        let all: Vec<u32> = (0..3).map(|_| lanes.add(0)).collect();
        all.iter().for_each(|lane| lanes.list(*lane));
        lanes.list(all[0]);
        assert_eq!(lanes.take_idle(0, true), Some(all[0]));
        assert_eq!(lanes.take_idle(0, false), Some(all[2]));
        assert_eq!(lanes.take_idle(1, false), None);
        assert_eq!(lanes.take_other(0), None);
        assert_eq!(lanes.take_other(1), Some(all[1]));
        lanes.list(all[1]);
        lanes.remove(all[1]);
        assert_eq!((lanes.take_idle(0, true), lanes.open()), (None, 2));
    }
}
