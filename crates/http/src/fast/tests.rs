//! The fast path in this process, against a target without connections on the other end of `mem`: what a
//! request takes of the allocator. Each thread counts for itself, so that other tests and the target may take
//! what they like.

use clock::HostClock;
use plan::PlanFile;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use target::over::{OverConfig, RunningOver, Settings, spawn};
use units::{Bytes, EngineCounters, Event, Fate, Instant, Miss, Outcome, Phase, Picos, Record};

use crate::engine::Engine;

thread_local! {
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which counts how often this thread asks it for memory.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

fn count() {
    TAKEN.with(|taken| taken.set(taken.get() + 1));
}

// SAFETY: all is the system's allocator's doing. Counting takes no memory: the cell is made with the thread,
// and nothing drops it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are those that the system's allocator wants.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above; the place is one that it gave.
        unsafe { System.realloc(place, layout, size) }
    }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above; the place is one that it gave.
        unsafe { System.dealloc(place, layout) }
    }
}

/// Notes what the engine's thread has taken when this many requests have ended.
struct Watch {
    from: u64,
    until: u64,
    ended: u64,
    good: u64,
    taken_before: u64,
    told: Arc<[AtomicU64; 2]>,
}

impl Record for Watch {
    fn event(&mut self, event: &Event) {
        self.ended += 1;
        self.good += u64::from(matches!(event.outcome, Outcome::Status(200)));
        let taken = TAKEN.with(Cell::get);
        if self.ended == self.from {
            self.taken_before = taken;
        }
        if self.ended == self.until {
            self.told[0].store(taken - self.taken_before, Ordering::SeqCst);
            self.told[1].store(self.good, Ordering::SeqCst);
        }
    }
    fn missed(&mut self, _: Miss, _: u64) {}
    fn frames(&mut self, _: Fate, _: u64, _: Bytes) {}
    fn phase(&mut self, _: Phase, _: Picos) {}
    fn tick(&mut self, _: Instant, _: &EngineCounters) {}
}

/// A target at 198.18.0.40 on the other end of a port; it is on its way.
fn target_over(port: &str) -> JoinHandle<RunningOver> {
    let config = OverConfig {
        via: format!("{port},ip=198.18.0.40/24").parse().unwrap(),
        settings: Settings { ports: vec![80], status: 200, size: Bytes::new(100), body: None, seed: 1 },
        workers: 1,
        cpus: Vec::new(),
        spin: false,
        duration: None,
        port_file: None,
        summary: None,
    };
    std::thread::spawn(move || spawn(&config).unwrap())
}

/// How often the last third of these requests asked for memory.
#[track_caller]
fn taken(name: &str, requests: u64, connection: &str) -> u64 {
    let target = target_over(&format!("mem:{name}"));
    let text = format!(
        "url = \"http://198.18.0.40/\"\n[load]\nparallel = 16\n[stop]\nrequests = {requests}\n[engine]\n\
         spin = \"never\"\n[connection]\nvia = \"mem:{name},ip=198.18.0.10/24\"\nvia_path = \"fast\"\n{connection}"
    );
    let plan = PlanFile::from_toml(&text, "a test").unwrap().resolve().unwrap();
    let engine = Engine::prepare(plan, HostClock::calibrate()).unwrap();
    assert!(engine.facts().path.is_some_and(|(path, _)| path == "fast"));
    let told: Arc<[AtomicU64; 2]> = Arc::default();
    let watch = Watch {
        from: requests / 3 * 2,
        until: requests,
        ended: 0,
        good: 0,
        taken_before: 0,
        told: told.clone(),
    };
    let running = engine.start(Arc::new(crate::engine::control()), |_| vec![watch]).unwrap();
    let (notes, _) = running.join();
    assert!(notes.details.is_empty(), "{:?}", notes.details);
    drop(target.join().unwrap());
    let [taken, good] = [0, 1].map(|at: usize| told[at].load(Ordering::SeqCst));
    assert_eq!(good, requests, "all had their response");
    taken
}

/// The lists of timers may still grow, if more of them than ever before come together.
#[test]
fn a_request_on_a_connection_that_is_kept_allocates_nothing() {
    let taken = taken("kept", 60_000, "");
    assert!(taken <= 400, "{taken} allocations in 20 000 requests");
}

/// Records of sessions come in pages of 1024 ports, and lists of ports and of those that wait grow.
#[test]
fn a_connection_for_each_request_allocates_next_to_nothing() {
    let taken = taken("each", 60_000, "keep_alive = false\n");
    assert!(taken <= 2_000, "{taken} allocations in 20 000 requests");
}

/// Notes for how long requests were held.
struct Held(Arc<AtomicU64>);

impl Record for Held {
    fn event(&mut self, event: &Event) {
        assert!(matches!(event.outcome, Outcome::Status(200)), "{event:?}");
    }
    fn missed(&mut self, _: Miss, _: u64) {}
    fn frames(&mut self, _: Fate, _: u64, _: Bytes) {}
    fn phase(&mut self, _: Phase, _: Picos) {}
    fn tick(&mut self, _: Instant, counters: &EngineCounters) {
        self.0.store(counters.held.as_nanos(), Ordering::SeqCst);
    }
}

/// For how long requests were held on a port that takes so many frames at once, in nanoseconds.
fn held_ns(path: &str, slots: usize) -> u64 {
    let port = format!("mem,slots={slots}:held-{path}-{slots}");
    let target = target_over(&port);
    let text = format!(
        "url = \"http://198.18.0.40/\"\n[load]\nparallel = 32\n[stop]\nrequests = 2000\n[engine]\n\
         spin = \"never\"\n[connection]\nvia = \"{port},ip=198.18.0.10/24\"\nvia_path = \"{path}\"\n"
    );
    let plan = PlanFile::from_toml(&text, "a test").unwrap().resolve().unwrap();
    let engine = Engine::prepare(plan, HostClock::calibrate()).unwrap();
    let told: Arc<AtomicU64> = Arc::default();
    let held = Held(told.clone());
    engine.start(Arc::new(crate::engine::control()), |_| vec![held]).unwrap().join();
    drop(target.join().unwrap());
    told.load(Ordering::SeqCst)
}

#[test]
fn what_waits_for_room_in_the_port_is_held_by_the_generator() {
    for path in ["fast", "general"] {
        assert_eq!(held_ns(path, 1_024), 0, "{path}");
        assert!(held_ns(path, 4) > 0, "{path}");
    }
}
