//! Who is at which MAC address, as far as we asked or were asked.
//!
//! ```text
//!  route ─► asking ─ reply ─► known ─ 30 s ─► asking again, still known ─ reply ─► known
//!             │ 3 questions, 1 s apart                │ 3 questions without a reply
//!             └──────────────► silent ◄───────────────┘
//!                                └ 3 s later the next route asks again
//! ```

use crate::counters::Counters;
use std::collections::HashMap;
use std::net::IpAddr;
use units::{Instant, Picos};
use wire::ethernet::Mac;

/// Questions for one address, and the time between them.
const TRIES: u8 = 3;
const APART: Picos = Picos::from_secs(1);
/// How long a reply holds, as Linux's base reachable time.
const FRESH: Picos = Picos::from_secs(30);
/// How long an address is left in peace that did not answer.
const SILENT: Picos = Picos::from_secs(3);
/// Most neighbours, and most of those that asked us and that we never asked.
const MOST: usize = 1_024;
const MOST_UNASKED: usize = 512;

/// The way to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Frames go to this MAC address.
    Ready(Mac),
    /// Somebody was asked: ask again later, at the latest when [`Station::tick`](crate::Station::tick) says.
    Asking,
    Unreachable(Unreachable),
}

/// Why there is no way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unreachable {
    /// Nobody said to have the address, or the gateway's.
    NoReply,
    /// It is in another subnet, and there is no gateway.
    Outside,
    /// There is no own address of its family.
    Family,
    /// It is an own address, or no address of a host.
    NoHost,
    /// There are too many neighbours already.
    Crowded,
}

impl Unreachable {
    /// Whether it will be so whatever others do.
    pub const fn is_lasting(self) -> bool {
        matches!(self, Self::Outside | Self::Family | Self::NoHost)
    }
}

impl std::fmt::Display for Unreachable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoReply => "no host answers for it (ARP, neighbour discovery)",
            Self::Outside => "it is not in the subnet of the own addresses; give a gateway with gw=ADDRESS",
            Self::Family => "there is no own address of its family; add one with ip=ADDRESS/PREFIX",
            Self::NoHost => "it cannot be the address of another host",
            Self::Crowded => "there are too many neighbours already",
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    mac: Option<Mac>,
    state: State,
    /// Somebody wanted a way to it.
    is_wanted: bool,
    /// It had a MAC address once.
    was_there: bool,
}

/// A neighbour that frames should go to and that does not say where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silent {
    pub at: IpAddr,
    /// It did before.
    pub was_there: bool,
    /// It is the way to other subnets.
    pub is_gateway: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Known { since: Instant },
    Asking { asked: u8, next: Instant },
    Silent { until: Instant },
}

/// The table.
#[derive(Debug)]
pub(crate) struct Neighbours {
    entries: HashMap<IpAddr, Entry>,
    /// Nothing is due before.
    next: Instant,
    /// Grows with each MAC address that is new or another.
    pub changes: u64,
}

/// A question to be asked: by unicast where somebody was there before.
pub(crate) type Ask<'a> = &'a mut dyn FnMut(IpAddr, Option<Mac>);

impl Neighbours {
    pub fn new() -> Self {
        Self { entries: HashMap::new(), next: Instant::FAR, changes: 0 }
    }

    /// The way to a neighbour; asks for it if it is not known.
    pub fn route(&mut self, to: IpAddr, now: Instant, ask: Ask<'_>) -> Route {
        if self.entries.len() >= MOST && !self.entries.contains_key(&to) {
            return Route::Unreachable(Unreachable::Crowded);
        }
        let state = State::Silent { until: Instant::EPOCH };
        let begin = Entry { mac: None, state, is_wanted: true, was_there: false };
        let entry = self.entries.entry(to).or_insert(begin);
        if !entry.is_wanted {
            entry.is_wanted = true;
            self.next = now;
        }
        match (entry.mac, entry.state) {
            (_, State::Silent { until }) if now < until => Route::Unreachable(Unreachable::NoReply),
            (_, State::Silent { .. }) => {
                entry.state = State::Asking { asked: 1, next: now + APART };
                entry.mac = None;
                self.next = self.next.min(now + APART);
                ask(to, None);
                Route::Asking
            }
            (Some(mac), _) => Route::Ready(mac),
            (None, _) => Route::Asking,
        }
    }

    /// A neighbour said where it is. `is_answer`: it may be a reply; otherwise it asked us.
    pub fn heard(&mut self, from: IpAddr, mac: Mac, is_answer: bool, now: Instant, counters: &mut Counters) {
        let room = self.entries.len() < MOST_UNASKED;
        match self.entries.get_mut(&from) {
            Some(entry) => {
                // A reply to a question that nobody asked is none.
                if is_answer && !matches!(entry.state, State::Asking { .. }) {
                    return;
                }
                if entry.mac != Some(mac) {
                    counters.moved += u64::from(entry.mac.is_some());
                    self.changes += 1;
                }
                (entry.mac, entry.state, entry.was_there) = (Some(mac), State::Known { since: now }, true);
                self.next = self.next.min(now + FRESH);
            }
            None if is_answer => {}
            None if room => self.put(from, mac, now),
            None => counters.crowded += 1,
        }
    }

    /// Puts a neighbour in that somebody else found.
    pub fn put(&mut self, at: IpAddr, mac: Mac, now: Instant) {
        let state = State::Known { since: now };
        let is_wanted = self.entries.get(&at).is_some_and(|entry| entry.is_wanted);
        self.entries.insert(at, Entry { mac: Some(mac), state, is_wanted, was_there: true });
        self.changes += 1;
        self.next = self.next.min(now + FRESH);
    }

    /// Who was asked for, and has not answered since, by address.
    pub fn silent(&self) -> Vec<Silent> {
        let asked = self.entries.iter().filter(|(_, entry)| entry.is_wanted && entry.mac.is_none());
        let one = |(at, entry): (&IpAddr, &Entry)| Silent {
            at: *at,
            was_there: entry.was_there,
            is_gateway: false,
        };
        let mut silent: Vec<Silent> = asked.map(one).collect();
        silent.sort_unstable_by_key(|one| one.at);
        silent
    }

    /// Asks what is due, and says when the next will be.
    pub fn tick(&mut self, now: Instant, ask: Ask<'_>, counters: &mut Counters) -> Instant {
        if now < self.next {
            return self.next;
        }
        let mut soonest = Instant::FAR;
        self.entries.retain(|at, entry| {
            match entry.state {
                State::Asking { asked, next } if next <= now && asked >= TRIES => {
                    counters.unanswered += 1;
                    entry.state = State::Silent { until: now + SILENT };
                    entry.mac = None;
                }
                State::Asking { asked, next } if next <= now => {
                    entry.state = State::Asking { asked: asked + 1, next: now + APART };
                    ask(*at, None);
                }
                State::Known { since } if since + FRESH <= now => {
                    if !entry.is_wanted {
                        return false;
                    }
                    entry.state = State::Asking { asked: 1, next: now + APART };
                    ask(*at, entry.mac);
                }
                // Who was silent and is not asked for again is forgotten.
                State::Silent { until } if until + FRESH <= now => return false,
                _ => {}
            }
            soonest = soonest.min(match entry.state {
                State::Known { since } => since + FRESH,
                State::Asking { next, .. } => next,
                State::Silent { until } => until + FRESH,
            });
            true
        });
        self.next = soonest;
        soonest
    }
}

#[cfg(test)]
mod tests;
