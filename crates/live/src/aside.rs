//! Stepping aside: whatever draws must not take time from what is measured.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// As much lower as leaves a busy machine some drawing.
const NICE: i32 = 5;

/// Gives the calling thread a lower priority and keeps it off `cpus`, where engine threads are pinned, if that
/// leaves it any. Both are a courtesy: where the kernel refuses, the thread goes on as it is.
pub fn step_aside(cpus: &[u32]) {
    let _ = rustix::process::nice(NICE);
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let mut left = allowed;
    for cpu in cpus.iter().map(|cpu| *cpu as usize).filter(|cpu| *cpu < CpuSet::MAX_CPU) {
        left.unset(cpu);
    }
    if left.count() > 0 && left.count() < allowed.count() {
        let _ = sched_setaffinity(None, &left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_thread_steps_aside() {
        let before = sched_getaffinity(None).unwrap();
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let own = nice();
        let first = (0..CpuSet::MAX_CPU).find(|cpu| before.is_set(*cpu)).unwrap();
        let (there, lower) = std::thread::spawn(move || {
            step_aside(&[first as u32]);
            (sched_getaffinity(None).unwrap(), rustix::process::getpriority_process(None).unwrap())
        })
        .join()
        .unwrap();
        assert_eq!(there.is_set(first), before.count() == 1);
        assert_eq!(lower, (own + NICE).min(19));
        assert_eq!((sched_getaffinity(None).unwrap(), nice()), (before, own));
    }
}
