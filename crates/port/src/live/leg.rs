//! A thread that stays in the kernel while frames are made, and the way to get it out of there.
//!
//! ```text
//!   watcher             ─ every 5 ms: totals ─► go on? ─ no ─► halt the program + signal ─► the call returns
//!   worker (the caller) ─ BPF_PROG_RUN … BPF_PROG_RUN (again after any other signal)
//! ```
//!
//! The call makes millions of frames, so a signal to the worker (EINTR) ends it; the signal's handler does
//! nothing. The worker is the thread that called: whoever reads that thread's CPU time reads what the frames
//! cost.

use super::state::{END, NEXT, State};
use bpf::{LiveRun, Program};
use std::io;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};
use std::time::Duration;

/// Between two looks at the totals.
pub const LOOK: Duration = Duration::from_millis(5);
/// Between two signals to a worker that has been told to end.
const NUDGE: Duration = Duration::from_micros(200);

/// One stretch of frames made in the same way.
#[derive(Clone, Copy, Debug)]
pub struct Leg<'a> {
    pub program: &'a Program,
    pub frame: &'a [u8],
    pub state: &'a State,
    /// Frames between two flushes to the driver.
    pub batch: u32,
    /// Runs in one call; the worker calls again until the state says that it is over.
    pub repeat: u32,
}

/// What the watcher wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Look again after this long, or when the worker has ended.
    Again(Duration),
    End,
}

impl Leg<'_> {
    /// Makes frames on this thread, on that CPU, until everything was made or `watch`, which another thread
    /// calls, says `End`. Nothing is made any more when this returns.
    pub fn run(&self, cpu: u32, watch: &mut (dyn FnMut() -> Watch + Send)) -> io::Result<()> {
        let (over, ending) = (AtomicBool::new(false), AtomicBool::new(false));
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        take_signal()?;
        std::thread::scope(|scope| {
            // A watcher that panics must not leave a worker behind that nobody ends.
            let guard = Ender { state: self.state, ending: &ending, over: &over, thread };
            let watching = || {
                let guard = guard;
                while !over.load(Acquire) {
                    match watch() {
                        Watch::Again(after) => std::thread::park_timeout(after),
                        Watch::End => break,
                    }
                }
                drop(guard);
            };
            // It begins where this thread may be, before that stays on one CPU.
            let watcher =
                std::thread::Builder::new().name("tare-watch".to_owned()).spawn_scoped(scope, watching)?;
            let result = os::cpus::on(cpu, || self.work(&ending));
            over.store(true, Release);
            watcher.thread().unpark();
            watcher.join().map_err(|_| io::Error::other("the thread that watches the frames panicked"))?;
            result
        })
    }

    fn work(&self, ending: &AtomicBool) -> io::Result<()> {
        let run = LiveRun { frame: self.frame, repeat: self.repeat, batch: self.batch };
        while !ending.load(Acquire) {
            match self.program.run_live(&run) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if self.state.is_heard() && self.state.read(NEXT) >= self.state.read(END) {
                break;
            }
        }
        Ok(())
    }
}

/// Ends the worker when dropped, and waits for that.
struct Ender<'a> {
    state: &'a State,
    ending: &'a AtomicBool,
    over: &'a AtomicBool,
    /// The worker.
    thread: i32,
}

impl Drop for Ender<'_> {
    fn drop(&mut self) {
        self.ending.store(true, Release);
        while !self.over.load(Acquire) {
            // Again and again: a signal before the call began ends nothing, and orders just taken undo a halt.
            self.state.halt();
            // SAFETY: the signal has a handler, and goes to a thread of this process or to none.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), self.thread, signal()) };
            std::thread::park_timeout(NUDGE);
        }
    }
}

/// A real-time signal that nothing else uses by default.
fn signal() -> i32 {
    libc::SIGRTMIN() + 7
}

/// Installs a handler that does nothing: the signal only interrupts (no SA_RESTART).
fn take_signal() -> io::Result<()> {
    extern "C" fn nothing(_: libc::c_int) {}
    static ONCE: Once = Once::new();
    let mut result = Ok(());
    ONCE.call_once(|| {
        // SAFETY: all zero is a sigaction without flags.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
        // SAFETY: the handler does nothing, which is safe in a signal; the structure outlives the call.
        if unsafe { libc::sigaction(signal(), &raw const action, std::ptr::null_mut()) } != 0 {
            result = Err(io::Error::last_os_error());
        }
    });
    result
}

/// A CPU for the worker of this queue: of those that this thread may use, the queue-th; for the first queue,
/// the one it is on.
pub fn cpu_for(queue: u32) -> u32 {
    let (current, cpus) = (os::cpus::current(), os::cpus::usable());
    let from = cpus.iter().position(|cpu| *cpu == current).unwrap_or(0);
    cpus[(from + queue as usize) % cpus.len()]
}
