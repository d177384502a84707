//! CPUs: which there are, which this process may use, and where a thread runs.
//!
//! ```text
//!   possible ⊇ online ⊇ usable (of this thread)         parallelism: usable, less what a cgroup's quota takes
//! ```

use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::io;

/// CPUs in one list, at most: a larger number is a mistake.
const MOST: u32 = 8_192;

/// CPUs that a thread may run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affinity(CpuSet);

impl Affinity {
    /// Of the thread that calls.
    ///
    /// # Errors
    /// The machine has more CPUs than a set has room for.
    pub fn now() -> io::Result<Self> {
        Ok(Self(sched_getaffinity(None)?))
    }

    /// In ascending order.
    pub fn cpus(&self) -> impl Iterator<Item = u32> + Clone + '_ {
        (0..CpuSet::MAX_CPU).filter(|cpu| self.0.is_set(*cpu)).map(|cpu| cpu as u32)
    }

    pub fn has(&self, cpu: u32) -> bool {
        index(cpu).is_some_and(|cpu| self.0.is_set(cpu))
    }

    /// `None` if nothing is left.
    pub fn without(&self, cpus: &[u32]) -> Option<Self> {
        let mut left = self.0;
        cpus.iter().filter_map(|cpu| index(*cpu)).for_each(|cpu| left.unset(cpu));
        (left.count() > 0).then_some(Self(left))
    }

    /// Lets the calling thread run on these CPUs, and on no others.
    ///
    /// # Errors
    /// The process may use none of them.
    pub fn apply(&self) -> io::Result<()> {
        Ok(sched_setaffinity(None, &self.0)?)
    }
}

fn index(cpu: u32) -> Option<usize> {
    usize::try_from(cpu).ok().filter(|cpu| *cpu < CpuSet::MAX_CPU)
}

/// CPUs that the calling thread may use, in ascending order; where the kernel does not tell, the one that it
/// is on.
pub fn usable() -> Vec<u32> {
    Affinity::now().map_or_else(|_| vec![current()], |affinity| affinity.cpus().collect())
}

/// How many threads can run at once: usable CPUs, or fewer where a cgroup has a quota. At least 1.
pub fn parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// CPUs of the machine that are switched on; what this process may use is another question.
pub fn online() -> u32 {
    let listed = std::fs::read_to_string("/sys/devices/system/cpu/online").ok();
    let listed = listed.and_then(|text| parse_list(&text)).filter(|cpus| !cpus.is_empty());
    listed.map_or_else(parallelism, |cpus| cpus.len()) as u32
}

/// CPUs that may ever be there: the kernel counts per-CPU values by them.
///
/// # Errors
/// `/sys` cannot be read.
pub fn possible() -> io::Result<usize> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible")?;
    let last = parse_list(&text).and_then(|cpus| cpus.last().copied());
    Ok(last.unwrap_or(0) as usize + 1)
}

/// The CPU that the calling thread is on.
pub fn current() -> u32 {
    sched_getcpu() as u32
}

/// Keeps the calling thread on one CPU.
///
/// # Errors
/// There is no such CPU, or this process may not use it.
pub fn pin(cpu: u32) -> io::Result<()> {
    let mut one = CpuSet::new();
    one.set(index(cpu).ok_or(Errno::INVAL)?);
    Ok(sched_setaffinity(None, &one)?)
}

/// Does something on one CPU, and goes back to those that this thread had.
///
/// # Errors
/// What went wrong, or why this CPU cannot be had.
pub fn on<T>(cpu: u32, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let before = Affinity::now().ok();
    let done = pin(cpu).and_then(|()| work());
    if let Some(before) = before {
        // It was valid a moment ago; where the kernel refuses all the same, the thread stays on that CPU.
        let _ = before.apply();
    }
    done
}

/// CPUs of a list as the kernel writes them, such as `0-3,8`; `None` if it is none.
pub fn parse_list(text: &str) -> Option<Vec<u32>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(Vec::new());
    }
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?);
        (first <= last && last < MOST).then(|| cpus.extend(first..=last))?;
    }
    Some(cpus)
}

/// The shortest such list of CPUs, which are in ascending order.
pub fn as_list(cpus: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => runs.push((*cpu, *cpu)),
        }
    }
    let said = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.iter().map(said).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_of_cpus() {
        let counted = |text| parse_list(text).map(|cpus| cpus.len());
        assert_eq!(parse_list("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(["0\n", "0-1\n", "0-3,6", "0,2-3", ""].map(counted), [1, 2, 5, 3, 0].map(Some));
        for wrong in ["3-1", "0,", "a", "0-4000000000", "-1"] {
            assert_eq!(parse_list(wrong), None, "{wrong}");
        }
        assert_eq!(as_list(&[0, 1, 2, 5]), "0-2,5");
    }

    #[test]
    fn a_thread_goes_where_it_is_told_and_back() {
        let before = Affinity::now().unwrap();
        let last = usable().pop().unwrap();
        assert_eq!(on(last, || Ok((current(), usable()))).unwrap(), (last, vec![last]));
        assert_eq!(Affinity::now().unwrap(), before);
        assert!(on(last, || -> io::Result<()> { Err(io::Error::other("it went wrong")) }).is_err());
        assert_eq!(Affinity::now().unwrap(), before);
        assert!(pin(u32::MAX).is_err() && !before.has(u32::MAX) && before.has(last));
        assert_eq!(before.without(&usable()), None);
        assert_eq!(before.without(&[u32::MAX]), Some(before));
    }

    #[test]
    fn what_is_usable_is_online_and_what_is_online_is_possible() {
        let usable = usable().len();
        assert!(usable >= 1 && parallelism() <= usable);
        assert!(usable <= online() as usize && online() as usize <= possible().unwrap());
    }

    proptest! {
        #[test]
        fn a_list_reads_back(mut cpus in proptest::collection::vec(0_u32..200, 0..40)) {
            cpus.sort_unstable();
            cpus.dedup();
            prop_assert_eq!(parse_list(&as_list(&cpus)), Some(cpus));
        }
    }
}
