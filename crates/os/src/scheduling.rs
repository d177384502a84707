//! Which thread goes first: scheduling class, niceness, and length of slices.
//!
//! rustix has no scheduling policies, so these calls are made here.

use crate::limits;
use std::io;

/// The highest ordinary priority.
const LEAST_NICE: i8 = -20;

/// `SCHED_FIFO` for the calling thread, with a priority from 1 (the lowest) to 99. Threads that it makes are
/// ordinary ones.
///
/// # Errors
/// The kernel does not allow it.
pub fn real_time(level: i32) -> io::Result<()> {
    set_policy(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, level)
}

/// An ordinary thread again; 0 is the one that calls.
///
/// # Errors
/// The thread has ended.
pub fn ordinary(tid: i32) -> io::Result<()> {
    set_policy(tid, libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0)
}

/// While it lives, the thread that made it never interrupts a thread of the same priority: it runs when that
/// gives way. It is an ordinary thread of the class `SCHED_BATCH`, or one of a real-time priority lower by one.
#[derive(Debug)]
pub struct Patient {
    policy: i32,
    level: i32,
}

impl Patient {
    /// For the calling thread. Where the kernel refuses, it goes on as it is.
    pub fn begin() -> Self {
        let (policy, level) = policy();
        let _ = match level {
            0 => set_policy(0, libc::SCHED_BATCH, 0),
            1 => Ok(()),
            _ => set_policy(0, policy, level - 1),
        };
        Self { policy, level }
    }
}

impl Drop for Patient {
    fn drop(&mut self) {
        let _ = set_policy(0, self.policy, self.level);
    }
}

/// The calling thread's policy and real-time priority; 0 for an ordinary one.
fn policy() -> (i32, i32) {
    let mut parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel writes the parameters during the call, and they live until it is over.
    let policy = unsafe {
        libc::sched_getparam(0, &raw mut parameters);
        libc::sched_getscheduler(0)
    };
    (policy, parameters.sched_priority)
}

/// Takes one from the calling thread's real-time priority, if it has one that is not the lowest.
///
/// # Errors
/// The kernel does not allow it.
pub fn lower_real_time() -> io::Result<()> {
    match policy() {
        (_, ..=1) => Ok(()),
        (policy, level) => set_policy(0, policy, level - 1),
    }
}

/// Whether the calling thread runs in real time.
pub fn is_real_time() -> bool {
    // SAFETY: the call takes a thread's number alone and changes nothing.
    let policy = unsafe { libc::sched_getscheduler(0) };
    [libc::SCHED_FIFO, libc::SCHED_RR].contains(&(policy & !libc::SCHED_RESET_ON_FORK))
}

fn set_policy(tid: i32, policy: i32, level: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: level };
    // SAFETY: the kernel reads the parameters during the call, and they live until it is over.
    let result = unsafe { libc::sched_setscheduler(tid, policy, &raw const parameters) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Gives the calling thread, an ordinary one, slices of the CPU of this length: it has no larger share, but
/// once woken it goes before threads with longer ones (sched_setattr(2); since Linux 6.12, earlier kernels
/// take no notice).
///
/// # Errors
/// The kernel does not allow it.
pub fn set_slice(nanos: u64) -> io::Result<()> {
    // SAFETY: zeroes are a valid sched_attr.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    attributes.size = size_of::<libc::sched_attr>() as u32;
    attributes.sched_policy = libc::SCHED_OTHER as u32;
    attributes.sched_nice = nice()?;
    attributes.sched_runtime = nanos;
    // SAFETY: the kernel reads as many bytes as `size` says, all of which live until the call is over.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Niceness of the calling thread.
///
/// # Errors
/// None on Linux.
pub fn nice() -> io::Result<i32> {
    Ok(rustix::process::getpriority_process(None)?)
}

/// Sets the niceness of the calling thread.
///
/// # Errors
/// The kernel does not allow one that low.
pub fn set_nice(nice: i8) -> io::Result<()> {
    Ok(rustix::process::setpriority_process(None, nice.into())?)
}

/// The lowest niceness that the calling thread may take, by trying; it has it then. 0 if none is below the
/// usual one.
pub fn take_lowest_nice() -> i8 {
    let allowed = [LEAST_NICE, limits::lowest_nice()];
    let taken = allowed.into_iter().find(|nice| *nice < 0 && set_nice(*nice).is_ok());
    taken.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_thread_takes_no_other_has() {
        let before = nice().unwrap();
        let lower = std::thread::spawn(|| {
            set_nice(19).unwrap();
            (nice().unwrap(), is_real_time())
        });
        assert_eq!(lower.join().unwrap(), (19, false));
        assert_eq!(nice().unwrap(), before);
    }

    #[test]
    fn patience_ends() {
        std::thread::spawn(|| {
            let before = policy();
            let patient = Patient::begin();
            assert_eq!(policy(), (libc::SCHED_BATCH, 0));
            drop(patient);
            assert_eq!(policy(), before);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn real_time_is_taken_and_given_back() {
        let thread = std::thread::spawn(|| {
            real_time(1)?;
            let there = is_real_time();
            lower_real_time()?;
            let lowest = is_real_time();
            ordinary(0)?;
            lower_real_time()?;
            Ok::<_, io::Error>((there, lowest, is_real_time()))
        });
        match thread.join().unwrap() {
            Ok(seen) => assert_eq!(seen, (true, true, false)),
            Err(error) => eprintln!("SKIPPED: real-time threads are not allowed here: {error}"),
        }
    }
}
