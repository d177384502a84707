//! What a capture file says of the interfaces that its frames were captured at.

use super::source::ByteOrder;

/// What kind of header frames begin with (LINKTYPE_ values of tcpdump.org).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    pub const ETHERNET: Self = Self(1);
}

impl std::fmt::Display for LinkType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self.0 {
            0 => "BSD loopback",
            1 => "Ethernet",
            9 => "PPP",
            101 => "raw IP",
            105 => "IEEE 802.11",
            113 => "Linux cooked",
            127 => "IEEE 802.11 with radiotap",
            276 => "Linux cooked v2",
            other => return write!(f, "{other}"),
        };
        write!(f, "{} ({name})", self.0)
    }
}

/// One interface of a file; a pcap file has one without a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub link: LinkType,
    pub name: String,
    /// Bytes kept of each frame; 0 is all.
    pub snap: u32,
    /// Frames that were lost while the file was written, if it says so: by the interface, by the kernel.
    pub dropped: Option<u64>,
    pub(super) ticks: Ticks,
    /// Bytes of the frame check sequence at the end of each frame.
    pub(super) fcs: usize,
}

/// Seconds that stamps may be moved by: with more, all would be the same, the last one that there is.
const MOST_OFFSET_S: u64 = 290 * 365 * 86_400;

/// Stamps as a file has them, and how nanoseconds since 1970 are made of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticks {
    resolution: Resolution,
    offset_s: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resolution {
    Nanos,
    Micros,
    /// Ticks in a second.
    PerSecond(u128),
}

impl Ticks {
    pub const MICROS: Self = Self { resolution: Resolution::Micros, offset_s: 0 };
    pub const NANOS: Self = Self { resolution: Resolution::Nanos, offset_s: 0 };

    /// Of `if_tsresol`: a negative power of 10, or of 2 if the highest bit is set. `None` if it is finer than
    /// can be counted with.
    fn new(tsresol: u8) -> Option<Self> {
        let resolution = match (tsresol & 0x80 != 0, u32::from(tsresol & 0x7f)) {
            (false, 9) => Resolution::Nanos,
            (false, 6) => Resolution::Micros,
            (false, power) => Resolution::PerSecond(10_u128.checked_pow(power)?),
            (true, power) => Resolution::PerSecond(1_u128.checked_shl(power).filter(|_| power < 127)?),
        };
        Some(Self { resolution, offset_s: 0 })
    }

    /// Nanoseconds since 1970, rounded down, and held within what a stamp can say.
    #[inline]
    pub fn unix_ns(self, ticks: u64) -> u64 {
        let nanos = match self.resolution {
            Resolution::Nanos => u128::from(ticks),
            Resolution::Micros => u128::from(ticks) * 1_000,
            Resolution::PerSecond(per_second) => u128::from(ticks) * 1_000_000_000 / per_second,
        };
        let shifted = (nanos as i128).saturating_add(i128::from(self.offset_s) * 1_000_000_000);
        u64::try_from(shifted.max(0)).unwrap_or(u64::MAX)
    }

    /// The step of these stamps, in nanoseconds.
    pub fn step_ns(self) -> f64 {
        match self.resolution {
            Resolution::Nanos => 1.0,
            Resolution::Micros => 1e3,
            Resolution::PerSecond(per_second) => 1e9 / per_second as f64,
        }
    }
}

impl Interface {
    /// The one of a pcap file, from the last field of its header: link type, and how long the FCS is, if it
    /// says so.
    pub(super) fn of_pcap(snap: u32, link: u32, ticks: Ticks) -> Self {
        let fcs = if link & 1 << 26 != 0 { (link >> 28) as usize * 2 } else { 0 };
        Self { link: LinkType(link as u16), name: String::new(), snap, dropped: None, ticks, fcs }
    }

    /// Of the body of an interface description block. `Err` says what is wrong with it.
    pub(super) fn of_block(body: &[u8], order: ByteOrder) -> Result<Self, &'static str> {
        if body.len() < 8 {
            return Err("the description of an interface is too short");
        }
        let link = LinkType(order.u16(body, 0));
        let snap = order.u32(body, 4);
        let mut interface =
            Self { link, name: String::new(), snap, dropped: None, ticks: Ticks::MICROS, fcs: 0 };
        let mut offset_s = 0;
        for (code, value) in options(&body[8..], order) {
            match (code, value.len()) {
                (2, 1..=256) => interface.name = String::from_utf8_lossy(value).into_owned(),
                (9, 1) => {
                    interface.ticks = Ticks::new(value[0]).ok_or("timestamps are finer than can be read")?;
                }
                // In bits, but written in bytes by some.
                (13, 1) => interface.fcs = usize::from(if value[0] >= 16 { value[0] / 8 } else { value[0] }),
                (14, 8) => offset_s = order.u64(value, 0) as i64,
                _ => {}
            }
        }
        if offset_s.unsigned_abs() > MOST_OFFSET_S {
            return Err("timestamps are moved by more than 290 years (if_tsoffset)");
        }
        interface.ticks.offset_s = offset_s;
        Ok(interface)
    }

    /// The step of its stamps, in nanoseconds.
    pub fn stamp_step_ns(&self) -> f64 {
        self.ticks.step_ns()
    }
}

/// The options of a block: code and value. Ends where they are damaged.
pub(super) fn options(bytes: &[u8], order: ByteOrder) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.len() < 4 {
            return None;
        }
        let (code, length) = (order.u16(rest, 0), usize::from(order.u16(rest, 2)));
        let value = rest.get(4..4 + length).filter(|_| code != 0)?;
        rest = rest.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resolution_becomes_nanoseconds() {
        // ticks · 10⁹ / ticks in a second, by hand.
        for (tsresol, ticks, expected) in [
            (9, 1_234_567_890_123_456_789, 1_234_567_890_123_456_789),
            (6, 1_500_000, 1_500_000_000),
            (0, 3, 3_000_000_000),
            (3, 7, 7_000_000),
            (12, 1_999, 1),
            (0x80, 2, 2_000_000_000),
            (0x81, 3, 1_500_000_000),
            (0x80 | 10, 1024, 1_000_000_000),
            (0x80 | 32, 1 << 31, 500_000_000),
        ] {
            assert_eq!(Ticks::new(tsresol).unwrap().unix_ns(ticks), expected, "{tsresol:#x}");
        }
        assert_eq!(Ticks::new(0x7f), None);
        assert_eq!(Ticks::new(0xff), None);
    }

    #[test]
    fn an_offset_may_be_negative_and_never_wraps() {
        let shifted = |offset_s| Ticks { offset_s, ..Ticks::NANOS };
        assert_eq!(shifted(-1).unix_ns(2_500_000_000), 1_500_000_000);
        assert_eq!(shifted(-9).unix_ns(5), 0);
        assert_eq!(shifted(i64::MAX).unix_ns(u64::MAX), u64::MAX);
    }
}
