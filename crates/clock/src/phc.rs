//! Clocks of network cards (PTP hardware clocks): their names, how far each is from the wall clock, and how
//! that changes while a run goes on.
//!
//! ```text
//!   wall ──┬───────────┬──► t     read before and after the card's: what it shows more than the middle is
//!   card ──┴─── × ─────┴──► t     `ahead`, known to within half the time between the two (`bound`)
//! ```
//!
//! Kernels and drivers offer up to four ways (linux/ptp_clock.h); the best that answers is used. Those of Linux
//! 5.0 and later read the wall clock right beside the access to the card.

mod follow;

pub use follow::{Compare, Followed, Follower};

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Readings of one comparison; the shortest counts. The kernel takes 25 at most.
const READINGS: usize = 10;
const MOST_READINGS: usize = 25;

/// `_IOWR('=', 8, struct ptp_sys_offset_precise)`: 64 bytes.
const PRECISE: u32 = 0xc040_3d08;
/// `_IOWR('=', 9, struct ptp_sys_offset_extended)`: 16 + 25 · 3 · 16 bytes.
const EXTENDED: u32 = 0xc4c0_3d09;
/// `_IOW('=', 5, struct ptp_sys_offset)`: 16 + 51 · 16 bytes.
const BASIC: u32 = 0x4340_3d05;

/// A card's clock, as the kernel names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phc {
    /// N of `/dev/ptpN`.
    pub number: u32,
    /// What the driver calls it: `ice-0000:01:00.0-clk`; empty if the kernel does not tell.
    pub name: String,
}

impl Phc {
    /// All of this machine, by number.
    pub fn all() -> Vec<Self> {
        let entries = fs::read_dir("/sys/class/ptp").into_iter().flatten().flatten();
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_prefix("ptp")?.parse().ok();
        let mut all: Vec<Self> = entries.filter_map(number).map(Self::of).collect();
        all.sort_by_key(|phc| phc.number);
        all
    }

    /// The one of this number, whether it is there or not.
    pub fn of(number: u32) -> Self {
        let name = fs::read_to_string(format!("/sys/class/ptp/ptp{number}/clock_name")).unwrap_or_default();
        Self { number, name: name.trim().to_owned() }
    }

    /// # Errors
    /// There is no such device, or it may not be opened.
    pub fn open(&self) -> io::Result<PhcDevice> {
        Ok(PhcDevice { device: File::open(format!("/dev/ptp{}", self.number))?, way: None })
    }
}

/// How two clocks were compared, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// The hardware reads both at one moment (PTP_SYS_OFFSET_PRECISE), within a bracket of `Extended`.
    Precise,
    /// The driver reads the wall clock right before and after (PTP_SYS_OFFSET_EXTENDED).
    Extended,
    /// The kernel reads it before and after it calls the driver (PTP_SYS_OFFSET).
    Basic,
    /// This process does (clock_gettime).
    Readings,
}

impl Way {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Precise => "PTP_SYS_OFFSET_PRECISE",
            Self::Extended => "PTP_SYS_OFFSET_EXTENDED",
            Self::Basic => "PTP_SYS_OFFSET",
            Self::Readings => "clock_gettime",
        }
    }
}

/// A card's clock beside the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// When, by the wall clock.
    pub unix_ns: u64,
    /// What the card's clock shows more than the wall clock.
    pub ahead_ns: i64,
    /// `ahead_ns` is off by this at most.
    pub bound_ns: u64,
    pub way: Way,
}

impl Comparison {
    /// Of readings (wall clock before, card, wall clock after): by the one that took the shortest.
    pub fn of(readings: &[[u64; 3]], way: Way) -> Option<Self> {
        let width = |reading: &&[u64; 3]| reading[2].saturating_sub(reading[0]);
        // Where the wall clock was set back in between, nothing is known.
        let [before, card, after] = *readings.iter().filter(|[a, _, b]| a <= b).min_by_key(width)?;
        let unix_ns = before + (after - before) / 2;
        let ahead_ns = card.wrapping_sub(unix_ns) as i64;
        // Whole nanoseconds on either side of the middle.
        Some(Self { unix_ns, ahead_ns, bound_ns: (after - before).div_ceil(2).max(1), way })
    }

    /// The same with a pair that the hardware read at one moment: the bracket says how far that can be off.
    fn with_pair(self, card_ns: u64, unix_ns: u64) -> Self {
        let ahead_ns = card_ns.wrapping_sub(unix_ns) as i64;
        let off = ahead_ns.abs_diff(self.ahead_ns);
        // The two were not read at the same time: between them the clocks drift, by far less than a bracket.
        if off > self.bound_ns {
            return self;
        }
        Self { unix_ns, ahead_ns, bound_ns: self.bound_ns + off, way: Way::Precise }
    }
}

/// An open card's clock.
#[derive(Debug)]
pub struct PhcDevice {
    device: File,
    /// The way that answered last.
    way: Option<Way>,
}

impl PhcDevice {
    /// The number by which the kernel's calls know this clock (FD_TO_CLOCKID of linux/posix-timers.h).
    pub fn id(&self) -> libc::clockid_t {
        (!self.device.as_raw_fd() << 3) | 3
    }

    fn extended(&self) -> io::Result<Comparison> {
        let mut words = vec![0u32; (16 + MOST_READINGS * 3 * 16) / 4];
        words[0] = READINGS as u32;
        self.ask(EXTENDED, &mut words)?;
        let readings: Vec<[u64; 3]> =
            (0..READINGS).map(|n| [0, 1, 2].map(|place| time(&words, n * 3 + place))).collect();
        Comparison::of(&readings, Way::Extended).ok_or_else(nothing)
    }

    fn precise(&self, within: Comparison) -> io::Result<Comparison> {
        let mut words = [0u32; 16];
        self.ask(PRECISE, &mut words)?;
        // Device, wall clock, raw monotonic clock; nothing stands before them.
        Ok(within.with_pair(time_at(&words, 0), time_at(&words, 4)))
    }

    fn basic(&self) -> io::Result<Comparison> {
        let mut words = vec![0u32; (16 + (2 * MOST_READINGS + 1) * 16) / 4];
        words[0] = READINGS as u32;
        self.ask(BASIC, &mut words)?;
        let readings: Vec<[u64; 3]> =
            (0..READINGS).map(|n| [0, 1, 2].map(|place| time(&words, n * 2 + place))).collect();
        Comparison::of(&readings, Way::Basic).ok_or_else(nothing)
    }

    fn readings(&self) -> io::Result<Comparison> {
        let reading = || Ok([crate::unix_ns(), crate::raw::clock_ns(self.id())?, crate::unix_ns()]);
        let readings: io::Result<Vec<[u64; 3]>> = (0..READINGS).map(|_| reading()).collect();
        Comparison::of(&readings?, Way::Readings).ok_or_else(nothing)
    }

    fn ask(&self, command: u32, words: &mut [u32]) -> io::Result<()> {
        crate::raw::ask_device(self.device.as_fd(), command, words)
    }

    fn by(&self, way: Way) -> io::Result<Comparison> {
        match way {
            Way::Precise => self.extended().and_then(|within| self.precise(within)),
            Way::Extended => self.extended(),
            Way::Basic => self.basic(),
            Way::Readings => self.readings(),
        }
    }
}

impl Compare for PhcDevice {
    /// # Errors
    /// The clock cannot be read, in none of the ways: its card is gone.
    fn compare(&mut self) -> io::Result<Comparison> {
        if let Some(way) = self.way {
            return self.by(way);
        }
        let mut last = nothing();
        for way in [Way::Precise, Way::Extended, Way::Basic, Way::Readings] {
            match self.by(way) {
                Ok(found) => {
                    self.way = Some(way);
                    return Ok(found);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

fn nothing() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the clocks could not be compared")
}

/// Number `index` of the times behind the head of 16 bytes.
fn time(words: &[u32], index: usize) -> u64 {
    time_at(words, 4 + index * 4)
}

/// struct ptp_clock_time: seconds (64 bits), nanoseconds (32 bits), nothing (32 bits).
fn time_at(words: &[u32], at: usize) -> u64 {
    let (one, two) = (words[at].to_ne_bytes(), words[at + 1].to_ne_bytes());
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&one);
    bytes[4..].copy_from_slice(&two);
    let seconds = i64::from_ne_bytes(bytes);
    u64::try_from(seconds).unwrap_or(0).saturating_mul(1_000_000_000).saturating_add(words[at + 2].into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAI: u64 = 37_000_000_000;

    #[test]
    fn the_shortest_bracket_says_how_far_the_clocks_are_apart_and_how_sure_that_is() {
        // 37 s ahead. The first reading was interrupted for 1 ms and is 0.4 ms off; the second took 20 ns.
        let readings =
            [[1_000_000, TAI + 1_900_000, 2_000_000], [3_000_000, TAI + 3_000_013, 3_000_020], [9, TAI, 8]];
        let found = Comparison::of(&readings, Way::Extended).unwrap();
        assert_eq!((found.unix_ns, found.ahead_ns, found.bound_ns), (3_000_010, TAI as i64 + 3, 10));
        assert_eq!(Comparison::of(&[[9, TAI, 8]], Way::Basic), None, "the wall clock was set back");
        assert_eq!(Comparison::of(&[], Way::Basic), None);
        // A clock that was never set shows the time since it was switched on.
        let never = Comparison::of(&[[1_800_000_000_000_000_000, 5, 1_800_000_000_000_000_002]], Way::Basic);
        assert_eq!(never.unwrap().ahead_ns, 5 - 1_800_000_000_000_000_001);
    }

    #[test]
    fn a_pair_of_one_moment_counts_within_the_bracket_only() {
        let within = Comparison { unix_ns: 1_000, ahead_ns: 50, bound_ns: 40, way: Way::Extended };
        let better = within.with_pair(2_080, 2_000);
        assert_eq!((better.ahead_ns, better.bound_ns, better.way), (80, 70, Way::Precise));
        // One that contradicts it is not believed.
        assert_eq!(within.with_pair(2_091, 2_000), within);
    }

    #[test]
    fn times_are_read_as_the_kernels_header_has_them() {
        let mut words = [0u32; 12];
        let seconds = 5_000_000_000u64.to_ne_bytes();
        words[4] = u32::from_ne_bytes(seconds[..4].try_into().unwrap());
        words[5] = u32::from_ne_bytes(seconds[4..].try_into().unwrap());
        words[6] = 7;
        assert_eq!(time(&words, 0), 5_000_000_000_000_000_007);
        assert_eq!(time(&words, 1), 0);
    }

    #[test]
    fn a_clock_of_the_kernel_stands_in_for_a_cards_and_one_that_is_none_says_so() {
        // Every clock that this machine has is read; where there is none, that is so for number 4095 at least.
        for phc in Phc::all() {
            let found = phc.open().and_then(|mut device| device.compare());
            assert!(found.is_ok_and(|found| found.bound_ns < 1_000_000_000), "{phc:?}");
        }
        assert_eq!(Phc::of(4_095), Phc { number: 4_095, name: String::new() });
        assert!(Phc::of(4_095).open().is_err());
        // No card's clock: none of the ways answers.
        let mut none = PhcDevice { device: File::open("/dev/null").unwrap(), way: None };
        assert!(none.compare().is_err());
    }
}
