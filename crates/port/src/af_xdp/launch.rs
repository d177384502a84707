//! Launch times: when the card shall let a frame go, written before the frame where its driver keeps them.
//!
//! ```text
//!   chunk ─┬ 24 bytes of metadata: flags │ (checksum) │ launch time by the card's clock
//!          └ frame                                     ▲
//!   Slot::launch, by the wall clock ── + (card − wall) ┘   both clocks are compared again every second
//! ```
//!
//! The layout is that of struct xsk_tx_metadata in linux/if_xdp.h (Linux 6.8, launch times since 6.15). A queue
//! keeps its frames in the order in which they came: one that waits holds up those behind it.

use crate::error::Why;
use crate::interface::{Interface, features};
use crate::{Choice, Stamp};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Bytes kept free before each frame that is sent.
pub const METADATA: usize = 24;
/// XDP_TX_METADATA of a descriptor's options: there is metadata before this frame.
pub const HAS_METADATA: u32 = 1 << 1;
/// XDP_TXMD_FLAGS_LAUNCH_TIME.
const LAUNCH_TIME: u64 = 1 << 2;
/// How often the clocks are compared, and how many readings each time.
const COMPARE_NS: u64 = 1_000_000_000;
const READINGS: usize = 5;

/// The clock by which a card lets frames go.
#[derive(Debug)]
pub struct Launch {
    card: CardClock,
    /// What it shows more than the wall clock.
    ahead_ns: i64,
    compared_ns: u64,
}

impl Launch {
    /// # Errors
    /// Why frames cannot be given launch times here.
    pub fn of(interface: &Interface) -> Result<Self, Why> {
        let driver = interface.driver.as_deref().unwrap_or("this interface");
        match features::of_sockets(interface.index) {
            Err(_) => return Err(format!("{driver}: the kernel does not report its launch-time support")),
            Ok(features) if !features.launch_time() => {
                return Err(format!("{driver}: the driver offers no launch time"));
            }
            Ok(_) => {}
        }
        let Some(number) = interface.stamping.clock else {
            return Err(format!("{driver}: the card has no clock for launch times"));
        };
        let card = CardClock::open(number).map_err(|error| format!("/dev/ptp{number}: {error}"))?;
        Self::by(card).map_err(|error| format!("/dev/ptp{number}: {error}"))
    }

    fn by(card: CardClock) -> io::Result<Self> {
        let ahead_ns = ahead(|| card.beside_wall())?;
        Ok(Self { card, ahead_ns, compared_ns: clock::monotonic_ns() })
    }

    /// Writes a frame's launch time into the metadata before it; the descriptor's options.
    pub fn write(&mut self, metadata: &mut [u8], launch: Stamp) -> u32 {
        if launch == Stamp::NONE {
            return 0;
        }
        self.compare();
        let by_card = launch.as_unix_nanos().saturating_add_signed(self.ahead_ns);
        lay_out(metadata, by_card);
        HAS_METADATA
    }

    /// The clocks drift apart; one that cannot be read any more is taken to go on as it did.
    fn compare(&mut self) {
        let now = clock::monotonic_ns();
        if now.saturating_sub(self.compared_ns) < COMPARE_NS {
            return;
        }
        self.compared_ns = now;
        if let Ok(ahead_ns) = ahead(|| self.card.beside_wall()) {
            self.ahead_ns = ahead_ns;
        }
    }
}

/// The row of the result.
pub fn choice(launch: &Result<Launch, Why>) -> Choice {
    let (chosen, why) = match launch {
        Ok(_) => (
            "driver",
            "frames with a launch time leave at that time by the card's clock, if launch times are on for the \
             queue ('tc qdisc … etf offload')"
                .to_owned(),
        ),
        Err(why) => ("no", why.clone()),
    };
    Choice { what: "launch time", chosen: chosen.to_owned(), why }
}

/// struct xsk_tx_metadata: flags (8 bytes), where a checksum starts and stands (2 + 2, and 4 of padding),
/// launch time (8).
pub fn lay_out(metadata: &mut [u8], launch_ns: u64) {
    metadata[..8].copy_from_slice(&LAUNCH_TIME.to_ne_bytes());
    metadata[8..16].fill(0);
    metadata[16..24].copy_from_slice(&launch_ns.to_ne_bytes());
}

/// A clock of the kernel, by its number.
#[derive(Debug)]
struct CardClock {
    id: libc::clockid_t,
    /// Keeps the device open.
    _device: Option<File>,
}

impl CardClock {
    fn open(number: u32) -> io::Result<Self> {
        let device = File::open(format!("/dev/ptp{number}"))?;
        // FD_TO_CLOCKID of linux/posix-timers.h.
        Ok(Self { id: (!device.as_raw_fd() << 3) | 3, _device: Some(device) })
    }

    /// The wall clock before, this clock, the wall clock after.
    fn beside_wall(&self) -> io::Result<[u64; 3]> {
        let before = clock::unix_ns();
        let here = read(self.id)?;
        Ok([before, here, clock::unix_ns()])
    }
}

fn read(id: libc::clockid_t) -> io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec.
    let status = unsafe { libc::clock_gettime(id, &raw mut time) };
    if status < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64))
}

/// How far the middle value is ahead of the outer two, by the reading that took the shortest.
fn ahead(mut reading: impl FnMut() -> io::Result<[u64; 3]>) -> io::Result<i64> {
    let mut best: Option<(u64, i64)> = None;
    for _ in 0..READINGS {
        let [before, here, after] = reading()?;
        let took = after.saturating_sub(before);
        let ahead = here.wrapping_sub(before + took / 2) as i64;
        if best.is_none_or(|(least, _)| took < least) {
            best = Some((took, ahead));
        }
    }
    Ok(best.map_or(0, |(_, ahead)| ahead))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn metadata_is_laid_out_as_the_kernels_header_has_it() {
        // pahole of struct xsk_tx_metadata: flags at 0, csum_start 8, csum_offset 10, launch_time 16, 24 bytes
        // in all.
        let mut bytes = [0xff; METADATA];
        lay_out(&mut bytes, 0x1122_3344_5566_7788);
        let flags = [4, 0, 0, 0, 0, 0, 0, 0];
        let checksum = [0; 8];
        let launch = [0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11];
        assert_eq!(bytes[..], [flags, checksum, launch].concat());
        assert!(METADATA.is_multiple_of(8) && METADATA < 256, "as the kernel wants it");
    }

    #[test]
    fn the_quickest_reading_says_how_far_the_clocks_are_apart() {
        // 37 s ahead; a reading during which the thread was away for 1 ms is 0.4 ms off.
        let tai = 37_000_000_000;
        let mut readings = [
            [1_000_000, tai + 1_900_000, 2_000_000],
            [3_000_000, tai + 3_000_010, 3_000_020],
            [4_000_000, tai + 4_000_100, 4_000_300],
            [5_000_000, tai + 5_000_100, 5_000_300],
            [6_000_000, tai + 6_000_100, 6_000_300],
        ]
        .into_iter();
        assert_eq!(ahead(|| Ok(readings.next().unwrap())).unwrap(), 37_000_000_000);
    }

    #[test]
    fn a_launch_time_is_told_by_the_cards_clock_and_none_is_none() {
        // CLOCK_TAI stands in for a card's clock: the kernel itself says how far it is ahead.
        let card = CardClock { id: libc::CLOCK_TAI, _device: None };
        let mut launch = Launch::by(card).unwrap();
        let mut bytes = [0; METADATA];
        assert_eq!(launch.write(&mut bytes, Stamp::NONE), 0);
        assert_eq!(bytes, [0; METADATA]);
        assert_eq!(launch.write(&mut bytes, Stamp(1_800_000_000_000_000_000)), 2);
        let written = u64::from_ne_bytes(bytes[16..].try_into().unwrap());
        let expected = 1_800_000_000_000_000_000 + clock::tai_minus_unix_ns();
        // Both readings lie within one call of each other.
        assert!(written.abs_diff(expected) < 10_000_000, "{written} {expected}");
    }
}
