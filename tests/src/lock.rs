//! Turns of the tests: those that measure time run alone, or some together if they leave the CPUs idle; the
//! others run beside each other.
//!
//! ```text
//! test ─► Turns (this process) ─► gate ─► lock (files, between processes)
//! ```
//!
//! - Within a process, tests that run beside others go first, [`BESIDE`] at a time. Light ones follow,
//!   [`LIGHT`] at a time, and at last those that run alone, one by one. So the machine is not drained for each
//!   of them. This needs a thread for each test that waits: `scripts/test.sh` sets `RUST_TEST_THREADS`.
//! - Between processes, two files are locked. Everyone takes the gate alone, then the lock (shared or alone),
//!   and frees the gate as soon as the lock is held. A process that waits to be alone holds the gate, so nobody
//!   overtakes it. Light tests hold the lock alone, all of a process together.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

/// Tests that run beside each other in one process. They sleep for more than half of their time.
const BESIDE: usize = 6;
/// Light tests at a time: together they leave a CPU idle more often than not.
const LIGHT: usize = 2;

static TURNS: Turns = Turns::new(BESIDE, LIGHT);
/// What the light tests of this process hold together.
static LIGHT_LOCK: Mutex<Weak<File>> = Mutex::new(Weak::new());

/// Held until it is dropped.
#[must_use = "the next turn begins as soon as this is dropped"]
pub struct Guard {
    // Freed in this order.
    _taken: Taken,
    _lock: Arc<File>,
    _turn: Turn<'static>,
}

/// How long a turn takes, for whoever wants the tests to be faster: a line `seconds CPU-seconds
/// alone|light|beside test` at the end of the file that `TARE_TEST_TIMES` names. The CPU time is that of the
/// whole process, of other tests that ran as well.
struct Taken {
    since: Instant,
    cpu_s: f64,
    how: How,
}

impl Taken {
    fn now(how: How) -> Self {
        Self { since: Instant::now(), cpu_s: cpu_s(), how }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let Some(path) = std::env::var_os("TARE_TEST_TIMES") else { return };
        let thread = std::thread::current();
        let line = format!(
            "{:.2} {:.2} {:?} {}\n",
            self.since.elapsed().as_secs_f64(),
            cpu_s() - self.cpu_s,
            self.how,
            thread.name().unwrap_or("?")
        );
        let file = File::options().create(true).append(true).open(path);
        if let Err(error) = file.and_then(|mut file| file.write_all(line.to_lowercase().as_bytes())) {
            eprintln!("cannot write the time of a test: {error}");
        }
    }
}

/// What this process and its ended children had of the CPUs until now (proc_pid_stat(5), in hundredths).
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let times = after_name.split_whitespace().skip(11).take(4);
    times.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// For a test that measures time: no other test of this package runs meanwhile.
pub fn alone() -> Guard {
    take(How::Alone, || Arc::new(lock(&folder(), File::lock)))
}

/// For a test that measures time, but in milliseconds, and takes less than half of a CPU: a few of its kind run
/// meanwhile.
pub fn light() -> Guard {
    take(How::Light, || {
        let mut shared = LIGHT_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let held = shared.upgrade().unwrap_or_else(|| Arc::new(lock(&folder(), File::lock)));
        *shared = Arc::downgrade(&held);
        held
    })
}

/// For every other test.
pub fn beside_others() -> Guard {
    take(How::Beside, || Arc::new(lock(&folder(), File::lock_shared)))
}

fn take(how: How, lock: impl FnOnce() -> Arc<File>) -> Guard {
    let turn = TURNS.take(how);
    let lock = lock();
    Guard { _taken: Taken::now(how), _lock: lock, _turn: turn }
}

fn folder() -> PathBuf {
    crate::binary().parent().map(PathBuf::from).unwrap_or_default()
}

/// Locks through the gate.
fn lock(folder: &Path, how: impl Fn(&File) -> std::io::Result<()>) -> File {
    let file = |name| File::create(folder.join(name)).expect("a lock file can be made in the target folder");
    let gate = file("system-tests.gate");
    gate.lock().expect("a local file can be locked");
    let lock = file("system-tests.lock");
    how(&lock).expect("a local file can be locked");
    lock
}

/// In the order in which they have their turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Beside,
    Light,
    Alone,
}

/// Who runs in this process, and who waits.
struct Turns {
    /// How many of a kind may run at once.
    places: [usize; 3],
    now: Mutex<Now>,
    changed: Condvar,
}

/// Of each kind.
struct Now {
    running: [usize; 3],
    waiting: [usize; 3],
}

impl Now {
    /// A place is free, no other kind runs, and none that goes first waits.
    fn is_turn_of(&self, how: How, places: &[usize; 3]) -> bool {
        let kind = how as usize;
        let others = (0..3).filter(|other| *other != kind).map(|other| self.running[other]);
        self.running[kind] < places[kind]
            && others.sum::<usize>() == 0
            && self.waiting[..kind].iter().sum::<usize>() == 0
    }
}

impl Turns {
    const fn new(beside: usize, light: usize) -> Self {
        let now = Now { running: [0; 3], waiting: [0; 3] };
        Self { places: [beside, light, 1], now: Mutex::new(now), changed: Condvar::new() }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, how: How) -> Turn<'_> {
        let mut now = self.now();
        now.waiting[how as usize] += 1;
        let waits = |now: &mut Now| !now.is_turn_of(how, &self.places);
        now = self.changed.wait_while(now, waits).unwrap_or_else(PoisonError::into_inner);
        now.waiting[how as usize] -= 1;
        now.running[how as usize] += 1;
        drop(now);
        // Of several that waited for this one, more may go on.
        self.changed.notify_all();
        Turn { turns: self, how }
    }
}

/// Ends when it is dropped.
struct Turn<'a> {
    turns: &'a Turns,
    how: How,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.now().running[self.how as usize] -= 1;
        self.turns.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
    use std::thread;
    use std::time::Duration;

    #[test]
    fn some_beside_each_other_then_light_ones_then_one_alone() {
        let turns = Turns::new(3, 2);
        let (running, done) = ([const { AtomicUsize::new(0) }; 3], AtomicUsize::new(0));
        let most = [const { AtomicUsize::new(0) }; 3];
        let run = |how: How, before: usize, until: usize| {
            let _turn = turns.take(how);
            let others = (0..3).filter(|kind| *kind != how as usize);
            assert_eq!(others.map(|kind| running[kind].load(SeqCst)).sum::<usize>(), 0, "{how:?}");
            most[how as usize].fetch_max(running[how as usize].fetch_add(1, SeqCst) + 1, SeqCst);
            assert!((before..until).contains(&done.load(SeqCst)), "{how:?} has its turn");
            thread::sleep(Duration::from_millis(2));
            running[how as usize].fetch_sub(1, SeqCst);
            done.fetch_add(1, SeqCst);
        };
        let first = turns.take(How::Alone);
        thread::scope(|scope| {
            let run = &run;
            for (how, count, before) in [(How::Alone, 4, 30), (How::Light, 10, 20), (How::Beside, 20, 0)] {
                for _ in 0..count {
                    scope.spawn(move || run(how, before, before + count));
                }
            }
            while turns.now().waiting != [20, 10, 4] {
                thread::yield_now();
            }
            drop(first);
        });
        assert_eq!(most.map(AtomicUsize::into_inner), [3, 2, 1]);
    }

    #[test]
    fn a_turn_ends_with_a_test_that_fails() {
        let turns = Turns::new(1, 1);
        let failed = thread::scope(|scope| {
            let failing = scope.spawn(|| {
                let _turn = turns.take(How::Alone);
                panic!("as a failing test does");
            });
            failing.join()
        });
        assert!(failed.is_err());
        let _turn = turns.take(How::Beside);
    }

    /// Each lock opens its file, so threads stand for processes here. Without the gate, one of the four would
    /// hold the lock at any time.
    #[test]
    fn a_process_that_waits_to_be_alone_is_not_overtaken() {
        let folder = crate::scratch();
        let is_over = AtomicBool::new(false);
        let held = AtomicUsize::new(0);
        thread::scope(|scope| {
            for delay in 0..4 {
                let (folder, held, is_over) = (folder.path(), &held, &is_over);
                scope.spawn(move || {
                    thread::sleep(Duration::from_millis(delay));
                    while !is_over.load(SeqCst) {
                        let shared = lock(folder, File::lock_shared);
                        held.fetch_add(1, SeqCst);
                        thread::sleep(Duration::from_millis(4));
                        held.fetch_sub(1, SeqCst);
                        drop(shared);
                    }
                });
            }
            for _ in 0..20 {
                let alone = lock(folder.path(), File::lock);
                assert_eq!(held.load(SeqCst), 0);
                drop(alone);
            }
            is_over.store(true, SeqCst);
        });
    }
}
