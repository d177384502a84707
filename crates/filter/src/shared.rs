//! Rules that change while threads use them: the new ones are made ready aside and swapped in as a whole.
//!
//! ```text
//! control ── replace(rules) ──► Shared ◄── refresh (one relaxed load a batch) ── View of each thread
//!                                  ▲                                                │ its own Hits
//!                                  └──────── hits of the rules that are gone ◄──────┘
//! ```
//!
//! No thread ever waits for a compilation, and each batch is decided by one set of rules.

use crate::error::CompileError;
use crate::firewall::Firewall;
use crate::hits::{Hit, Hits};
use crate::rule::Rules;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The rules that hold now, and what was counted by threads that have handed over.
pub struct Shared {
    /// Number of the rules that hold now, from 1.
    generation: AtomicU64,
    state: Mutex<State>,
}

struct State {
    firewall: Arc<Firewall>,
    /// Counted for the rules that hold now.
    hits: Hits,
    /// Counted for rules that are no more.
    gone: Hit,
    /// The sets before this one whose views have not all handed over yet, oldest first.
    former: Vec<(u64, Arc<Firewall>)>,
    /// Of every view: the generation it uses.
    views: Vec<u64>,
}

impl Shared {
    pub fn new(firewall: Firewall) -> Arc<Self> {
        let hits = Hits::new(firewall.rules().rules.len());
        let state = State {
            firewall: Arc::new(firewall),
            hits,
            gone: Hit::default(),
            former: Vec::new(),
            views: Vec::new(),
        };
        Arc::new(Self { generation: AtomicU64::new(1), state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often the rules were replaced.
    pub fn replaced(&self) -> u64 {
        self.generation.load(Ordering::Relaxed) - 1
    }

    pub fn firewall(&self) -> Arc<Firewall> {
        self.state().firewall.clone()
    }

    /// Compiles aside and swaps. Until the threads' next batch the old rules hold.
    ///
    /// # Errors
    /// Those of [`Firewall::compile`]; then nothing changes.
    pub fn replace(&self, rules: &Rules) -> Result<(), CompileError> {
        let next = Arc::new(Firewall::compile(rules)?);
        let mut state = self.state();
        let generation = self.generation.load(Ordering::Relaxed);
        let (hits, gone) = state.hits.carried(state.firewall.rules(), next.rules());
        let last = std::mem::replace(&mut state.firewall, next);
        state.hits = hits;
        state.gone = sum(state.gone, gone);
        state.former.push((generation, last));
        state.forget();
        self.generation.store(generation + 1, Ordering::Release);
        Ok(())
    }

    /// A thread's own view.
    pub fn view(self: &Arc<Self>) -> View {
        let mut state = self.state();
        let generation = self.generation.load(Ordering::Relaxed);
        state.views.push(generation);
        let firewall = state.firewall.clone();
        let hits = Hits::new(firewall.rules().rules.len());
        View { number: state.views.len() - 1, generation, firewall, hits, shared: self.clone() }
    }

    /// What all views have handed over, and what was counted for rules that are gone.
    pub fn hits(&self) -> (Hits, Hit) {
        let state = self.state();
        (state.hits.clone(), state.gone)
    }
}

const fn sum(a: Hit, b: Hit) -> Hit {
    Hit { frames: a.frames + b.frames, bytes: a.bytes + b.bytes }
}

impl State {
    /// Takes a view's counters, which belong to `generation`, forward to the rules that hold now.
    fn take(&mut self, view: usize, generation: u64, hits: &mut Hits, now: u64) {
        let mut carried = std::mem::take(hits);
        let mut path: Vec<Arc<Firewall>> =
            self.former.iter().filter(|(of, _)| *of >= generation).map(|(_, f)| f.clone()).collect();
        path.push(self.firewall.clone());
        for pair in path.windows(2) {
            let (next, gone) = carried.carried(pair[0].rules(), pair[1].rules());
            carried = next;
            self.gone = sum(self.gone, gone);
        }
        self.hits.add(&carried);
        self.views[view] = now;
        self.forget();
    }

    /// Drops sets that no view uses any more.
    fn forget(&mut self) {
        let oldest = self.views.iter().min().copied().unwrap_or(u64::MAX);
        self.former.retain(|(generation, _)| *generation >= oldest);
    }
}

/// The rules as one thread sees them, with its own counters.
pub struct View {
    number: usize,
    generation: u64,
    firewall: Arc<Firewall>,
    hits: Hits,
    shared: Arc<Shared>,
}

impl View {
    /// Takes over new rules, if there are any. Once a batch.
    #[inline]
    pub fn refresh(&mut self) {
        if self.shared.generation.load(Ordering::Relaxed) != self.generation {
            self.hand_over();
        }
    }

    /// The rules, and where to count.
    #[inline]
    pub fn parts(&mut self) -> (&Firewall, &mut Hits) {
        (&self.firewall, &mut self.hits)
    }

    /// Hands the counters over and takes the rules that hold now.
    #[cold]
    pub fn hand_over(&mut self) {
        let shared = self.shared.clone();
        let mut state = shared.state();
        let now = shared.generation.load(Ordering::Relaxed);
        state.take(self.number, self.generation, &mut self.hits, now);
        self.generation = now;
        self.firewall = state.firewall.clone();
        self.hits = Hits::new(self.firewall.rules().rules.len());
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let shared = self.shared.clone();
        let mut state = shared.state();
        state.take(self.number, self.generation, &mut self.hits, u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Rules {
        Rules::parse(text, "r").unwrap()
    }

    /// An IPv4 frame from 10.0.0.1.
    fn frame() -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14] = 0x45;
        frame[26..30].copy_from_slice(&[10, 0, 0, 1]);
        frame
    }

    fn judge(view: &mut View) -> bool {
        let (firewall, hits) = view.parts();
        let decision = firewall.decide(&frame());
        hits.count(decision, 60);
        decision.action().is_drop()
    }

    #[test]
    fn views_change_at_their_next_refresh_and_no_count_is_lost() {
        let shared = Shared::new(Firewall::compile(&rules("drop from 10.0.0.0/8")).unwrap());
        let (mut quick, mut slow) = (shared.view(), shared.view());
        assert!(judge(&mut quick) && judge(&mut slow));
        shared.replace(&rules("pass from 10.0.0.1\ndrop from 10.0.0.0/8")).unwrap();
        assert!(judge(&mut slow), "not before its refresh");
        quick.refresh();
        assert!(!judge(&mut quick));
        shared.replace(&rules("drop from 10.0.0.0/8")).unwrap();
        quick.refresh();
        assert!(judge(&mut quick));
        assert_eq!(shared.replaced(), 2);
        drop((quick, slow));
        let (hits, gone) = shared.hits();
        assert_eq!(hits.rules(), [Hit { frames: 4, bytes: 240 }]);
        assert_eq!(gone, Hit { frames: 1, bytes: 60 });
        assert!(shared.state().former.is_empty());
    }
}
