//! Stepping aside: whatever collects or draws must not take time from what is measured.

use crate::cpus::Affinity;
use crate::scheduling;

/// As much lower as leaves a busy machine some drawing.
const LOWER: i8 = 5;
const LOWEST: i8 = 19;

/// Gives the calling thread a lower priority and keeps it off `cpus`, where engine threads are pinned, if that
/// leaves it any. Both are a courtesy: where the kernel refuses, the thread goes on as it is.
///
/// A thread that is given a real-time priority (`chrt`) keeps one, just below that of the others.
pub fn step_aside(cpus: &[u32]) {
    let _ = scheduling::lower_real_time();
    if let Ok(nice) = scheduling::nice() {
        let _ = scheduling::set_nice((nice as i8 + LOWER).min(LOWEST));
    }
    let Ok(allowed) = Affinity::now() else { return };
    if let Some(left) = allowed.without(cpus).filter(|left| *left != allowed) {
        let _ = left.apply();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_thread_steps_aside() {
        let (before, own) = (Affinity::now().unwrap(), scheduling::nice().unwrap());
        let cpus: Vec<u32> = before.cpus().collect();
        let (there, lower) = std::thread::spawn(move || {
            step_aside(&cpus[..1]);
            (Affinity::now().unwrap(), scheduling::nice().unwrap())
        })
        .join()
        .unwrap();
        let first = before.cpus().next().unwrap();
        assert_eq!(there.has(first), before.cpus().count() == 1);
        assert_eq!(lower, (own + i32::from(LOWER)).min(19));
        assert_eq!((Affinity::now().unwrap(), scheduling::nice().unwrap()), (before, own));
    }
}
