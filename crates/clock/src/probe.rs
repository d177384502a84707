//! Whether the time-stamp counter may be trusted on this machine, and the reason when it may not.
//!
//! ```text
//! x86_64? ─► invariant? ─► rejected by the kernel? ─► one rate in both halves of the calibration? ─► use it
//!                                  └─ it uses another clock: compare the counters of all CPUs first
//! ```

use crate::calibration::{Moment, Scale};
use crate::raw;
use os::cpus::{self, Affinity};
use std::time::Duration;

const CLOCK_SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";
/// Half of a calibration. Sleeping and reading take 2 · 10 ms and 0.1 ms in all.
const HALF: Duration = Duration::from_millis(10);
/// The two halves agree within 0.5 ppm on a quiet machine; the counter of a machine that changes its rate
/// differs by thousands.
const DRIFT_PPM: f64 = 50.0;
/// A bracket wider than this (2 µs) cannot tell the rate to 100 ppm over 20 ms.
const WIDEST_PICOS: u64 = 2_000_000;
/// CPUs that are visited when the kernel does not vouch for the counter.
const MOST_CPUS: usize = 64;

/// The clock that the kernel itself uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelClock {
    Tsc,
    KvmClock,
    HyperV,
    Xen,
    Hpet,
    AcpiPm,
    /// Another one, or `/sys` could not be read.
    Unknown,
}

/// Why the time-stamp counter is not used, and CLOCK_MONOTONIC is.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    #[error("this CPU is not x86-64, so there is no time-stamp counter to read")]
    NotX86,
    #[error(
        "the CPU does not say that its time-stamp counter keeps one rate in every power state (CPUID 80000007h)"
    )]
    NotInvariant,
    #[error("the kernel found the time-stamp counter unstable; it uses {current} instead")]
    KernelRefusesIt { current: KernelClock },
    #[error("the time-stamp counter changed its rate by {ppm:.0} ppm within 20 ms")]
    Drifts { ppm: f64 },
    #[error("the time-stamp counter went backwards, on one CPU or from one CPU to the next")]
    GoesBackwards,
    #[error(
        "reading CLOCK_MONOTONIC takes {bracket_ns} ns, too long to measure the time-stamp counter's rate with \
         it"
    )]
    Imprecise { bracket_ns: u64 },
    #[error("the time-stamp counter stands still or ticks slower than once in 65 ns")]
    Stopped,
    #[error("CLOCK_MONOTONIC was asked for")]
    NotWanted,
}

impl std::fmt::Display for KernelClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Tsc => "tsc",
            Self::KvmClock => "kvm-clock",
            Self::HyperV => "hyperv_clocksource_tsc_page",
            Self::Xen => "xen",
            Self::Hpet => "hpet",
            Self::AcpiPm => "acpi_pm",
            Self::Unknown => "another clock",
        })
    }
}

impl KernelClock {
    /// From the text of `current_clocksource`.
    fn named(name: &str) -> Self {
        match name.trim() {
            "tsc" | "tsc-early" => Self::Tsc,
            "kvm-clock" => Self::KvmClock,
            "hyperv_clocksource_tsc_page" => Self::HyperV,
            "xen" => Self::Xen,
            "hpet" => Self::Hpet,
            "acpi_pm" => Self::AcpiPm,
            _ => Self::Unknown,
        }
    }

    pub fn current() -> Self {
        read("current_clocksource").map_or(Self::Unknown, |name| Self::named(&name))
    }
}

fn read(name: &str) -> Option<String> {
    std::fs::read_to_string(format!("{CLOCK_SOURCES}/{name}")).ok()
}

/// What the kernel thinks of the counter.
#[derive(Debug, PartialEq)]
enum Opinion {
    /// It is the kernel's own clock, watched by it all the time.
    Uses,
    /// It could be, but a clock of the hypervisor's ranks higher, or `/sys` cannot be read: measure.
    Allows,
    Refuses(KernelClock),
}

/// A counter that the kernel found unstable is no longer listed as available.
fn opinion(current: Option<&str>, available: Option<&str>) -> Opinion {
    let current = current.map_or(KernelClock::Unknown, KernelClock::named);
    match available {
        _ if current == KernelClock::Tsc => Opinion::Uses,
        Some(list) if !list.split_whitespace().any(|name| name == "tsc") => Opinion::Refuses(current),
        _ => Opinion::Allows,
    }
}

/// A counter that was accepted: its rate, and both clocks at the start.
#[derive(Clone, Copy, Debug)]
pub struct Accepted {
    pub start: Moment,
    pub scale: Scale,
}

/// Decides in about 20 ms.
pub fn probe_tsc() -> Result<Accepted, Refused> {
    match raw::ticks_are_invariant() {
        None => return Err(Refused::NotX86),
        Some(false) => return Err(Refused::NotInvariant),
        Some(true) => {}
    }
    match opinion(read("current_clocksource").as_deref(), read("available_clocksource").as_deref()) {
        Opinion::Refuses(current) => return Err(Refused::KernelRefusesIt { current }),
        Opinion::Allows if !cpus_agree() => return Err(Refused::GoesBackwards),
        Opinion::Allows | Opinion::Uses => {}
    }
    let start = Moment::take();
    std::thread::sleep(HALF);
    let middle = Moment::take();
    std::thread::sleep(HALF);
    judge(start, middle, Moment::take())
}

/// The rate from start to end, if its two halves agree.
fn judge(start: Moment, middle: Moment, end: Moment) -> Result<Accepted, Refused> {
    if [start, middle, end].iter().any(|moment| moment.went_back) {
        return Err(Refused::GoesBackwards);
    }
    let rate = |from: &Moment, to: &Moment| Scale::between(from, to).ok_or(Refused::Stopped);
    let scale = rate(&start, &end)?;
    let widest = scale.picos([start, middle, end].iter().map(|m| m.width_ticks).max().unwrap_or(0));
    if widest > WIDEST_PICOS {
        return Err(Refused::Imprecise { bracket_ns: widest / 1_000 });
    }
    let ppm = rate(&middle, &end)?.ppm_from(rate(&start, &middle)?).abs();
    if ppm > DRIFT_PPM {
        return Err(Refused::Drifts { ppm });
    }
    Ok(Accepted { start, scale })
}

/// Visits each CPU that this thread may use, twice, and wants the counter to go up from one to the next.
/// Moving takes some microseconds, so a counter that is behind by more than that is found.
fn cpus_agree() -> bool {
    let Ok(allowed) = Affinity::now() else { return true };
    let cpus = allowed.cpus().take(MOST_CPUS);
    let mut last = 0;
    let mut agree = true;
    for cpu in cpus.clone().chain(cpus) {
        if cpus::pin(cpu).is_ok() {
            let ticks = raw::ticks_ordered();
            agree &= ticks >= last;
            last = ticks;
        }
    }
    // A set that was just read is valid; should it fail all the same, the thread stays on its last CPU.
    let _ = allowed.apply();
    agree
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_refuses_by_delisting() {
        assert_eq!(opinion(Some("tsc\n"), Some("tsc kvm-clock \n")), Opinion::Uses);
        assert_eq!(opinion(Some("kvm-clock\n"), Some("kvm-clock tsc \n")), Opinion::Allows);
        assert_eq!(opinion(Some("hpet\n"), Some("hpet acpi_pm \n")), Opinion::Refuses(KernelClock::Hpet));
        assert_eq!(opinion(None, None), Opinion::Allows);
    }

    /// A counter of 2 GHz: two ticks a nanosecond, read at 0, 10 and 20 ms.
    fn halves(middle_ticks: u64, end_ticks: u64, width_ticks: u64) -> Result<u64, Refused> {
        let moment =
            |ticks: u64, millis: u64| Moment::fake(7_000 + ticks, 99 + millis * 1_000_000, width_ticks);
        let judged = judge(moment(0, 0), moment(middle_ticks, 10), moment(end_ticks, 20));
        judged.map(|accepted| accepted.scale.hertz())
    }

    #[test]
    fn a_steady_counter_is_accepted_and_others_are_told_apart() {
        assert_eq!(halves(20_000_000, 40_000_000, 100), Ok(2_000_000_000));
        // 40 ppm apart pass; second half 100 ppm shorter ticks do not: 20 002 000 ticks instead of 20 000 000.
        assert!(halves(20_000_000, 40_000_800, 100).is_ok());
        let Err(Refused::Drifts { ppm }) = halves(20_000_000, 40_002_000, 100) else {
            panic!("drift passed")
        };
        assert!((ppm - 100.0).abs() < 0.1, "{ppm}");
        // 4 400 ticks of 0.5 ns around each reading.
        assert_eq!(halves(20_000_000, 40_000_000, 4_400), Err(Refused::Imprecise { bracket_ns: 2_200 }));
        assert_eq!(halves(0, 0, 100), Err(Refused::Stopped));
        let mut back = Moment::fake(1, 1, 1);
        back.went_back = true;
        assert_eq!(judge(back, back, back).err(), Some(Refused::GoesBackwards));
    }

    #[test]
    fn visiting_all_cpus_leaves_the_affinity_as_it_was() {
        let before = Affinity::now().unwrap();
        cpus_agree();
        assert_eq!(Affinity::now().unwrap(), before);
    }

    #[test]
    fn each_reason_is_a_sentence_with_its_value() {
        assert!(Refused::Drifts { ppm: 812.4 }.to_string().contains("812 ppm"));
        assert!(Refused::Imprecise { bracket_ns: 2_500 }.to_string().contains("2500 ns"));
        let refused = Refused::KernelRefusesIt { current: KernelClock::AcpiPm }.to_string();
        assert!(refused.ends_with("acpi_pm instead"), "{refused}");
    }
}
