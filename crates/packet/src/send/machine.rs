//! What the machine grants a sending thread: a CPU of its own, memory that stays, a priority. What was refused is told.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// CPUs that this process may use.
pub fn usable_cpus() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect()
}

/// Binds this thread to a CPU.
fn pin(cpu: u32) -> Result<(), String> {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    sched_setaffinity(None, &set).map_err(|errno| format!("CPU {cpu}: {errno}"))
}

/// Keeps this process's memory from being swapped out: a page that must be fetched costs more than any gap.
fn keep_memory() -> Result<(), String> {
    // SAFETY: mlockall takes flags alone and changes no memory of this program.
    let result = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_ONFAULT) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error().to_string()) }
}

/// Asks for the highest ordinary priority for this thread.
fn go_first() -> Result<(), String> {
    rustix::process::setpriority_process(None, -20).map_err(|errno| errno.to_string())
}

/// Readies the thread that calls; what was refused, in words. One thread of a run does it for all where it is for the process.
pub fn settle(cpu: Option<u32>, is_first: bool) -> Vec<String> {
    let mut refused = Vec::new();
    let mut note = |what: &str, result: Result<(), String>| {
        if let Err(why) = result {
            refused.push(format!("{what}: {why}"));
        }
    };
    if let Some(cpu) = cpu {
        note("a thread is not bound to its CPU", pin(cpu));
    }
    if is_first {
        note("memory may be swapped out", keep_memory());
    }
    note("a sending thread has the usual priority", go_first());
    note("the timer slack stays", clock::set_timer_slack_ns(1).map(drop).map_err(|error| error.to_string()));
    if is_first { refused } else { Vec::new() }
}
