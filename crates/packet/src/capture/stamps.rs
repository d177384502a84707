//! How wrong the stamps themselves are.
//!
//! Their resolution is seen in the stamps: the largest number of nanoseconds that divides them all. Stamps that
//! this machine's kernel takes are readings of its clock, and what a reading costs, and how much that varies,
//! can be measured here.

use measure::gap_meter::Stamping;
use port::fpga::time::TICK;
use port::{About, Port, PortKind, Stamp, StampedBy};

/// Readings of the clock.
const READINGS: usize = 2_001;

/// Learns the resolution.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Resolution {
    /// Greatest common divisor so far; 0 as long as there is none.
    ticks_ns: u64,
    /// Stamps that are all the same say nothing of it.
    varies: bool,
}

impl Resolution {
    #[inline]
    pub(crate) fn see(&mut self, stamp: Stamp) {
        if self.ticks_ns != 1 && stamp != Stamp::NONE {
            let before = self.ticks_ns;
            self.ticks_ns = divisor(before, stamp.0);
            // As long as it stays the first stamp itself, the others are that or multiples of it.
            self.varies |= before != 0 && stamp.0 != before;
        }
    }
}

fn divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Where stamps come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Origin {
    /// This run's port.
    Port(Option<StampedBy>),
    /// This run's port, by a clock of its own.
    OwnClock,
    /// A file, which does not say who stamped, but in which steps.
    File { step_ns: f64 },
}

impl Origin {
    /// Of frames that were received through such a port.
    pub(crate) fn of(about: &About) -> Self {
        if about.kind == PortKind::Fpga.word() { Self::OwnClock } else { Self::Port(about.can.stamps) }
    }

    /// The same at the end: a card that left frames out is as good as who stamped those.
    pub(crate) fn of_port(port: &mut dyn Port) -> Self {
        let is_part = port.stamp_clock().is_some_and(|clock| clock.unstamped > 0);
        if is_part { Self::Port(Some(StampedBy::Driver)) } else { Self::of(port.about()) }
    }
}

/// 95th percentile of the difference between two readings of the kernel's wall clock, one right after the
/// other.
pub(crate) fn reading_ns() -> f64 {
    let readings: Vec<u64> = (0..READINGS).map(|_| clock::unix_ns()).collect();
    let mut gaps: Vec<u64> = readings.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    gaps.sort_unstable();
    gaps[gaps.len() * 95 / 100] as f64
}

/// What is known of the stamps of a capture that was measured at this place.
pub(crate) fn stamping(place: &str, origin: Origin, resolution: Resolution, reading_ns: f64) -> Stamping {
    let ticks_ns = if resolution.varies { resolution.ticks_ns } else { 0 };
    let ticks = ticks_ns.max(1) as f64;
    let whole = match ticks_ns {
        0 if resolution.ticks_ns > 1 => "all timestamps are the same".to_owned(),
        0 | 1 => "timestamps are whole nanoseconds".to_owned(),
        ticks => format!("all timestamps are multiples of {}", units::Picos::from_nanos(ticks)),
    };
    let (by, error_ns, from) = match origin {
        // Steps that are no whole nanoseconds are rounded to some.
        Origin::File { step_ns } if step_ns > ticks => (
            "unknown".to_owned(),
            step_ns,
            format!(
                "timestamps of the file are multiples of {}; it does not say where they were taken",
                units::Picos::from_picos((step_ns * 1e3) as u64)
            ),
        ),
        Origin::File { .. } => {
            ("unknown".to_owned(), ticks, format!("{whole}; the file does not say where they were taken"))
        }
        Origin::OwnClock => (
            StampedBy::Hardware.to_string(),
            TICK.as_nanos() as f64,
            format!("the port itself reports in which step of its clock ({TICK}) the preamble began"),
        ),
        Origin::Port(Some(StampedBy::Hardware)) => {
            (StampedBy::Hardware.to_string(), ticks, format!("{whole}; taken by the network card"))
        }
        Origin::Port(Some(by)) => {
            let who = match by {
                StampedBy::Driver => {
                    "by the kernel, in the context that delivers the frame (on a veth the sender's)"
                }
                _ => "by a program, when it processed the frame",
            };
            let from = format!(
                "{whole}; taken {who}; two consecutive readings of its clock are {reading_ns:.0} ns apart (p95)"
            );
            (by.to_string(), ticks.max(reading_ns), from)
        }
        Origin::Port(None) => (String::new(), 0.0, "nobody stamped".to_owned()),
    };
    Stamping { measured_at: place.to_owned(), handed_over: false, by, error_ns, error_from: from }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(stamps: &[u64]) -> Resolution {
        let mut resolution = Resolution::default();
        stamps.iter().for_each(|stamp| resolution.see(Stamp(*stamp)));
        resolution
    }

    #[test]
    fn the_resolution_is_what_divides_all_stamps() {
        assert_eq!(of(&[3_000, 5_000, 8_000]).ticks_ns, 1_000);
        assert_eq!(of(&[16, 24, 40]).ticks_ns, 8);
        assert_eq!(of(&[16, 24, 41, 48]).ticks_ns, 1);
        let file = |step_ns| Origin::File { step_ns };
        let micros = stamping("a.pcap", file(1_000.0), of(&[3_000, 5_000]), 20.0);
        assert_eq!((micros.error_ns, micros.by.as_str()), (1_000.0, "unknown"));
        assert!(micros.error_from.contains("multiples of 1us"), "{}", micros.error_from);
        // Two that are the same are multiples of anything.
        for stamps in [&[1_700_000_000_000_000_000][..], &[1_700_000_000_000_000_000; 3]] {
            let same = stamping("a.pcapng", file(1.0), of(stamps), 20.0);
            assert_eq!(same.error_ns, 1.0);
            assert!(same.error_from.starts_with("all timestamps are the same"), "{}", same.error_from);
        }
        // 2^-10 s is no whole number of nanoseconds.
        let binary = stamping("a.pcapng", file(976_562.5), of(&[976_562, 1_953_125]), 20.0);
        assert_eq!(binary.error_ns, 976_562.5);
    }

    #[test]
    fn a_clock_that_takes_time_to_read_cannot_tell_less_apart() {
        let reading = reading_ns();
        assert!((1.0..1e6).contains(&reading), "{reading}");
        let kernel = stamping("packet:veth0", Origin::Port(Some(StampedBy::Driver)), of(&[1, 2]), 40.0);
        assert_eq!((kernel.error_ns, kernel.by.as_str()), (40.0, "driver"));
        let card = stamping("packet:eth0", Origin::Port(Some(StampedBy::Hardware)), of(&[8, 24]), 40.0);
        assert_eq!(card.error_ns, 8.0);
    }
}
