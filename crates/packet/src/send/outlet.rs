//! What a sending thread writes into frames, and when it was: templates by frame number, clock and wall clock.
//!
//! ```text
//!   number of a frame ─► Looks ─► template ─► slot of the port
//!                          └ set size: another template from a number on
//! ```

use clock::{Clock, HostClock};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use units::{Instant, Picos};
use wire::{Template, Times};

/// A clock that one can sleep by.
pub trait Timer: Clock {
    fn sleep_until(&self, due: Instant);
}

impl Timer for HostClock {
    fn sleep_until(&self, due: Instant) {
        Self::sleep_until(self, due);
    }
}

/// The wall clock's time of instants. Steps of the wall clock are followed when it is set again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wall {
    /// Nanoseconds since 1970 at the epoch of the clock.
    epoch_unix_ns: u64,
}

impl Wall {
    pub fn read(clock: &impl Clock) -> Self {
        let before = clock.now();
        let unix_ns = clock::unix_ns();
        let middle = Picos::from_picos(clock.now().since(before).as_picos() / 2);
        Self { epoch_unix_ns: unix_ns.saturating_sub((before + middle).since_epoch().as_nanos()) }
    }

    #[inline]
    pub fn times(&self, due: Instant, sent: Instant) -> Times {
        let unix = |at: Instant| self.epoch_unix_ns + at.since_epoch().as_nanos();
        Times { due_unix_ns: unix(due), sent_unix_ns: unix(sent) }
    }
}

/// Templates by frame size, for sizes that were asked for while the run goes on.
#[derive(Default)]
pub struct Sizes(Mutex<HashMap<usize, Arc<Template>>>);

impl Sizes {
    pub fn keep(&self, size: usize, template: Arc<Template>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(size, template);
    }

    pub fn find(&self, size: usize) -> Option<Arc<Template>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&size).cloned()
    }
}

/// Which template has which frames.
pub struct Looks {
    /// From which frame on; the first is from 0.
    all: Vec<(u64, Arc<Template>)>,
    is_signed: bool,
}

impl Looks {
    pub fn new(template: Arc<Template>) -> Self {
        Self { is_signed: template.is_signed(), all: vec![(0, template)] }
    }

    /// From frame `first` on there is another.
    pub fn change(&mut self, first: u64, template: Arc<Template>) {
        self.is_signed |= template.is_signed();
        self.all.push((first, template));
    }

    pub const fn is_signed(&self) -> bool {
        self.is_signed
    }

    #[inline]
    pub fn of(&self, seq: u64) -> &Template {
        let (first, last) = &self.all[self.all.len() - 1];
        if seq >= *first {
            return last;
        }
        let found = self.all.iter().rev().find(|(first, _)| *first <= seq);
        &found.unwrap_or(&self.all[0]).1
    }
}
