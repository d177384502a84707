//! What the machine grants a sending thread: a CPU of its own, memory that stays, a priority. What was refused is told.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// CPUs that this process may use.
pub fn usable_cpus() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect()
}

/// Binds this thread to a CPU.
pub fn pin(cpu: u32) -> Result<(), String> {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    sched_setaffinity(None, &set).map_err(|errno| format!("CPU {cpu}: {errno}"))
}

/// Keeps this process's memory from being swapped out: a page that must be fetched costs more than any gap.
pub fn keep_memory() -> Result<(), String> {
    // SAFETY: mlockall takes flags alone and changes no memory of this program.
    let result = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_ONFAULT) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error().to_string()) }
}

/// Asks for the highest ordinary priority for this thread.
pub fn go_first() -> Result<(), String> {
    rustix::process::setpriority_process(None, -20).map_err(|errno| errno.to_string())
}
