//! The module's own generator: the words that make it send signed UDP frames of one size at even gaps
//! (hdl/rtl/generator_pkg.sv).
//!
//! The first 64 bytes of a frame are stored; what follows is zeros. Lengths and checksums are the module's to
//! fill in: it is given the sums of what does not vary.

use super::device::Module;
use super::register::{Memory, Register};
use super::registers::{
    BEATS, COMMAND, COMMAND_CLEAR, COMMAND_GAP_SET, CONTROL, CONTROL_FROM, CONTROL_RUN, FIELDS, FIGURE_GAPS,
    FRAMES, FROM_AFTER_DUE, GAP_DENOMINATOR, GAP_NUMERATOR, GAP_REFERENCE, GAP_WHOLE, LAST_ENTRY, LISTEN,
    LISTEN_SIGNATURE_AT, LISTEN_SIGNED, MEMORY, MEMORY_ADDRESS, MEMORY_DATA, READ, READ_ASK, READ_AT,
    READ_DATA, READ_STATE, READ_WHAT, SIZES, STATUS, STATUS_IDLE, STREAMS, TABLE, TABLE_CHECKS_IP,
    TABLE_CHECKS_IP_AT, TABLE_CHECKS_L4, TABLE_CHECKS_L4_AT, TABLE_IP_LENGTH_AT, TABLE_IP_LENGTH_ENABLE,
    TABLE_IP_LENGTH_UNCOUNTED, TABLE_L4_LENGTH_AT, TABLE_L4_LENGTH_ENABLE, TABLE_L4_LENGTH_PSEUDO,
    TABLE_L4_LENGTH_UNCOUNTED, TABLE_LENGTH_BYTES, TABLE_START_SIGNATURE_AT, TABLE_START_SIGNED,
    TABLE_STORED_BEATS, TABLE_SUMS_IP, TABLE_SUMS_L4,
};
use super::rules::Rules;
use crate::{FCS, PortError};
use wire::checksum;
use wire::signature::MODULE_SUM;

/// Where a signature is: behind the headers of Ethernet, IPv4 and UDP.
const SIGNATURE: usize = 42;
const STORED: usize = 64;
const BEAT: usize = 8;
/// Words of all its fields that vary.
const FIELD_WORDS: usize = (FIELDS.items * FIELDS.stride) as usize;
/// Words of one frame of the link, less those that say where they go.
const MOST: usize = 160;
/// Clearing takes a cycle for each bin.
const CLEARING_TICKS: u64 = 1_100;
/// Bins of a histogram.
const BINS: u64 = 1_024;

/// Even frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Even {
    /// With FCS.
    pub size: usize,
    pub frames: u32,
    pub gap: Gap,
}

/// A gap in ticks, `whole + numerator / denominator`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub whole: u32,
    pub numerator: u32,
    pub denominator: u32,
}

impl Gap {
    /// `ticks / per`, if it fits.
    pub fn of(ticks: u64, per: u64) -> Option<Self> {
        let (whole, rest) = (ticks.checked_div(per)?, ticks % per);
        let denominator = u32::try_from(per).ok()?;
        Some(Self { whole: u32::try_from(whole).ok()?, numerator: u32::try_from(rest).ok()?, denominator })
    }

    /// When the n-th frame is due, in ticks after the first: floor(n · gap).
    pub fn due(&self, n: u64) -> u64 {
        let whole = u128::from(n) * u128::from(self.whole);
        (whole + u128::from(n) * u128::from(self.numerator) / u128::from(self.denominator)) as u64
    }

    pub fn as_ticks(&self) -> f64 {
        f64::from(self.whole) + f64::from(self.numerator) / f64::from(self.denominator)
    }
}

/// The stored bytes of a frame, with zeros for lengths and checksums.
fn stored() -> [u8; STORED] {
    let mut bytes = [0; STORED];
    bytes[..12].copy_from_slice(&[2, 0x18, 0, 0, 0, 2, 2, 0x18, 0, 0, 0, 1]);
    bytes[12..14].copy_from_slice(&[8, 0]);
    bytes[14..24].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17]);
    bytes[26..34].copy_from_slice(&[198, 18, 0, 1, 198, 18, 0, 2]);
    bytes[34..38].copy_from_slice(&[4, 0, 0, 9]);
    bytes
}

/// The template's words of the table.
fn table(stored: &[u8; STORED], size: usize) -> [u32; 7] {
    let pseudo = checksum::sum(&stored[26..34]) + 17;
    let udp = checksum::fold(pseudo + checksum::sum(&stored[34..]) + u64::from(MODULE_SUM));
    let ip = checksum::fold(checksum::sum(&stored[14..34]));
    let half = |bytes: usize| bytes as u64 / 2;
    let words = [
        TABLE_SUMS_L4.place(udp.into()) | TABLE_SUMS_IP.place(ip.into()),
        // Not `place`, which would cut a size that is too large into one that is allowed.
        (size.saturating_sub(FCS) as u64) << TABLE_LENGTH_BYTES.low,
        TABLE_START_SIGNED.place(1) | TABLE_START_SIGNATURE_AT.place(half(SIGNATURE)),
        TABLE_IP_LENGTH_ENABLE.place(1)
            | TABLE_IP_LENGTH_AT.place(half(16))
            | TABLE_IP_LENGTH_UNCOUNTED.place(14),
        TABLE_L4_LENGTH_ENABLE.place(1)
            | TABLE_L4_LENGTH_AT.place(half(38))
            | TABLE_L4_LENGTH_PSEUDO.place(1)
            | TABLE_L4_LENGTH_UNCOUNTED.place(34),
        TABLE_CHECKS_IP.place(1)
            | TABLE_CHECKS_IP_AT.place(half(24))
            | TABLE_CHECKS_L4.place(1)
            | TABLE_CHECKS_L4_AT.place(half(40)),
        TABLE_STORED_BEATS.place((STORED / BEAT) as u64),
    ];
    words.map(|word| word as u32)
}

impl Even {
    /// Has the module send them, and listen for them with histograms from 0. It must be idle.
    ///
    /// # Errors
    /// They cannot be, or it does not answer.
    pub fn begin(&self, module: &Module) -> Result<(), PortError> {
        let (before, start) =
            (self.writes(), [(&CONTROL, CONTROL_RUN.place(1) | CONTROL_FROM.place(FROM_AFTER_DUE))]);
        let all = before.iter().flatten().chain(&start);
        Rules::unknown().check(all.map(|(register, value)| (*register, *value)))?;
        before.iter().try_for_each(|some| module.write(some))?;
        let cleared = module.exchange()?.captured.tick + CLEARING_TICKS;
        while module.exchange()?.captured.tick < cleared {}
        module.write(&start)
    }

    /// What is written before it begins, in pieces of one frame of the link.
    pub(super) fn writes(&self) -> Vec<Vec<Write>> {
        let stored = stored();
        let words: Vec<u32> =
            stored.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let mut all = fill(&BEATS, &words);
        all.extend(fill(&TABLE, &table(&stored, self.size)));
        all.extend(
            [(FIELDS, &[0; FIELD_WORDS][..]), (SIZES, &[0]), (STREAMS, &[0])]
                .map(|(memory, words)| fill(&memory, words))
                .concat(),
        );
        all.push(vec![
            (&LAST_ENTRY, 0),
            (&FRAMES, self.frames.into()),
            (&GAP_WHOLE, self.gap.whole.into()),
            (&GAP_NUMERATOR, self.gap.numerator.into()),
            (&GAP_DENOMINATOR, self.gap.denominator.into()),
            (&GAP_REFERENCE, self.gap.whole.into()),
            (&LISTEN, LISTEN_SIGNED.place(1) | LISTEN_SIGNATURE_AT.place(SIGNATURE as u64 / 2)),
            (&COMMAND, COMMAND_GAP_SET.place(1) | COMMAND_CLEAR.place(1)),
        ]);
        all
    }
}

/// A register, and what is written to it.
pub(super) type Write = (&'static Register, u64);

/// Writes the words of a memory, from its first on.
fn fill(memory: &Memory, words: &[u32]) -> Vec<Vec<Write>> {
    let piece = |(n, some): (usize, &[u32])| {
        let mut writes: Vec<Write> = vec![(&MEMORY, memory.number), (&MEMORY_ADDRESS, (n * MOST) as u64)];
        writes.extend(some.iter().map(|word| (&MEMORY_DATA, u64::from(*word))));
        writes
    };
    words.chunks(MOST).enumerate().map(piece).collect()
}

/// Whether the generator has made what it should, and all of it has left.
///
/// # Errors
/// It does not answer.
pub fn is_done(module: &Module) -> Result<bool, PortError> {
    Ok(STATUS_IDLE.of(module.read(&STATUS)?) == 1)
}

/// One bin of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The values that it counts.
    pub least: u64,
    pub greatest: u64,
    pub count: u64,
}

/// How far the gaps between received frames were from [`GAP_REFERENCE`], in ticks: each bin that is not empty.
/// Reads until `total` were found.
///
/// # Errors
/// It does not answer.
pub fn gap_histogram(module: &Module, total: u64) -> Result<Vec<Bin>, PortError> {
    let (mut found, mut bins) = (0, Vec::new());
    for at in 0..BINS {
        let count = bin(module, at)?;
        if count > 0 {
            bins.push(Bin { least: least_of(at), greatest: least_of(at + 1) - 1, count });
        }
        found += count;
        if found >= total {
            break;
        }
    }
    Ok(bins)
}

/// One bin of the histogram of gaps.
fn bin(module: &Module, at: u64) -> Result<u64, PortError> {
    module.write(&[(&READ, READ_AT.place(at) | READ_WHAT.place(FIGURE_GAPS) | READ_ASK.place(1))])?;
    loop {
        let values = module.read_all(&[&READ_STATE, &READ_DATA])?;
        if values[0] == 1 {
            // The answer that was there before the state was read.
            return Ok(values[1]);
        }
    }
}

/// The least value of a bin: 32 bins from each power of two on (hdl/rtl/histogram.sv).
fn least_of(bin: u64) -> u64 {
    match bin {
        0..64 => bin,
        _ => (32 + bin % 32) << (bin / 32 - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_exact() {
        // 1538 ticks at 90 % of the line: 15380 / 9 = 1708 + 8/9.
        let gap = Gap::of(15_380, 9).unwrap();
        assert_eq!(gap, Gap { whole: 1_708, numerator: 8, denominator: 9 });
        assert_eq!(
            [0, 1, 2, 9, 9_000_000_000].map(|n| gap.due(n)),
            [0, 1_708, 3_417, 15_380, 15_380_000_000_000]
        );
        assert_eq!(Gap::of(1, 0), None);
        assert_eq!(Gap::of(u64::MAX, 1), None);
        assert!((gap.as_ticks() - 1_708.888_888_9).abs() < 1e-6);
    }

    #[test]
    fn the_words_are_those_of_the_sources() {
        // hdl/model/generator.py for a frame of 1518: places in halfwords, what lengths do not count, and 8
        // beats.
        let words = table(&stored(), 1_518);
        assert_eq!(words[1], 1_514);
        assert_eq!(words[2], 1 << 31 | 21 << 23);
        assert_eq!(words[3], 1 << 31 | 8 << 23 | 14);
        assert_eq!(words[4], 1 << 31 | 19 << 23 | 1 << 22 | 34);
        assert_eq!(words[5], 1 << 31 | 12 << 23 | 1 << 15 | 20 << 7);
        assert_eq!(words[6], 8);
        // 4500 + 4000 + 4011 + c612 + 0001 + c612 + 0002 = 2_5138: 513a.
        assert_eq!(words[0] & 0xffff, 0x513a);
        // c612 + 1 + c612 + 2 (addresses) + 11 (UDP) + 400 + 9 (ports) + 5aa5 (signature) = 1_eae6: eae7.
        assert_eq!(words[0] >> 16, 0xeae7);
    }

    #[test]
    fn bins_begin_where_the_module_says() {
        for (bin, least) in
            [(0, 0), (31, 31), (32, 32), (63, 63), (64, 64), (65, 66), (96, 128), (864, 1 << 31)]
        {
            // 2^31 is in bin (31 − 4) · 32 = 864.
            assert_eq!(least_of(bin), least, "{bin}");
        }
    }
}
