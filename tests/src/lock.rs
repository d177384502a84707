//! Turns of the tests: those that measure time run alone, the others beside each other.
//!
//! ```text
//! test ─► Turns (this process) ─► gate ─► lock (files, between processes)
//! ```
//!
//! - Within a process, tests that run beside others go first, [`BESIDE`] at a time, and those that run alone
//!   follow one by one. So the machine is not drained for each of them. This needs a thread for each test that
//!   waits: `scripts/test.sh` sets `RUST_TEST_THREADS`.
//! - Between processes, two files are locked. Everyone takes the gate alone, then the lock (shared or alone),
//!   and frees the gate as soon as the lock is held. A process that waits to be alone holds the gate, so nobody
//!   overtakes it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Tests that run beside each other in one process. Most of them sleep: more would make those wait that do not.
const BESIDE: usize = 4;

static TURNS: Turns = Turns::new(BESIDE);

/// Held until it is dropped.
#[must_use = "the next turn begins as soon as this is dropped"]
pub struct Guard {
    // Freed in this order.
    _taken: Taken,
    _lock: File,
    _turn: Turn<'static>,
}

/// How long a turn takes, for whoever wants the tests to be faster: a line `seconds alone|beside test` at the
/// end of the file that `TARE_TEST_TIMES` names.
struct Taken {
    since: Instant,
    how: &'static str,
}

impl Taken {
    fn now(how: &'static str) -> Self {
        Self { since: Instant::now(), how }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let Some(path) = std::env::var_os("TARE_TEST_TIMES") else { return };
        let thread = std::thread::current();
        let line = format!(
            "{:.2} {} {}\n",
            self.since.elapsed().as_secs_f64(),
            self.how,
            thread.name().unwrap_or("?")
        );
        let file = File::options().create(true).append(true).open(path);
        if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
            eprintln!("cannot write the time of a test: {error}");
        }
    }
}

/// For a test that measures time: no other test of this package runs meanwhile.
pub fn alone() -> Guard {
    let turn = TURNS.alone();
    let lock = lock(&folder(), File::lock);
    Guard { _taken: Taken::now("alone"), _lock: lock, _turn: turn }
}

/// For every other test.
pub fn beside_others() -> Guard {
    let turn = TURNS.beside_others();
    let lock = lock(&folder(), File::lock_shared);
    Guard { _taken: Taken::now("beside"), _lock: lock, _turn: turn }
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

/// Who runs in this process, and who waits to run beside others.
struct Turns {
    places: usize,
    now: Mutex<Now>,
    changed: Condvar,
}

struct Now {
    alone: bool,
    beside: usize,
    waiting_beside: usize,
}

impl Turns {
    const fn new(places: usize) -> Self {
        let now = Now { alone: false, beside: 0, waiting_beside: 0 };
        Self { places, now: Mutex::new(now), changed: Condvar::new() }
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn alone(&self) -> Turn<'_> {
        let waits = |now: &mut Now| now.alone || now.beside > 0 || now.waiting_beside > 0;
        let mut now = self.changed.wait_while(self.now(), waits).unwrap_or_else(PoisonError::into_inner);
        now.alone = true;
        Turn(self)
    }

    fn beside_others(&self) -> Turn<'_> {
        let mut now = self.now();
        now.waiting_beside += 1;
        let waits = |now: &mut Now| now.alone || now.beside == self.places;
        now = self.changed.wait_while(now, waits).unwrap_or_else(PoisonError::into_inner);
        now.waiting_beside -= 1;
        now.beside += 1;
        Turn(self)
    }
}

/// Ends when it is dropped.
struct Turn<'a>(&'a Turns);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut now = self.0.now();
        match now.alone {
            true => now.alone = false,
            false => now.beside -= 1,
        }
        drop(now);
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
    use std::thread;
    use std::time::Duration;

    #[test]
    fn one_alone_or_some_beside_each_other_and_those_first() {
        let turns = Turns::new(3);
        let (running, most, done) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let first = turns.alone();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let _turn = turns.alone();
                    assert_eq!(running.fetch_add(1, SeqCst), 0, "one that is alone");
                    assert_eq!(done.load(SeqCst), 20, "those beside others come first");
                    thread::sleep(Duration::from_millis(2));
                    running.fetch_sub(1, SeqCst);
                });
            }
            for _ in 0..20 {
                scope.spawn(|| {
                    let _turn = turns.beside_others();
                    most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                    thread::sleep(Duration::from_millis(2));
                    running.fetch_sub(1, SeqCst);
                    done.fetch_add(1, SeqCst);
                });
            }
            while turns.now().waiting_beside < 20 {
                thread::yield_now();
            }
            drop(first);
        });
        assert_eq!(most.load(SeqCst), 3);
    }

    #[test]
    fn a_turn_ends_with_a_test_that_fails() {
        let turns = Turns::new(1);
        let failed = thread::scope(|scope| {
            let failing = scope.spawn(|| {
                let _turn = turns.alone();
                panic!("as a failing test does");
            });
            failing.join()
        });
        assert!(failed.is_err());
        let _turn = turns.alone();
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
