//! Reading `latency.hlog` back, whatever became of it.
//!
//! ```text
//! Tag=latency,3.000,1.000,81919.999,HISTFAAAAB…     tag, start and length in seconds, largest value, histogram
//!                                   └ base64 ► zlib ► header (40 bytes) + LEB128 counts, zeros as negatives
//! ```
//!
//! A line that is not whole or not sound is passed over and counted; nothing that a line claims is believed
//! beyond what a histogram of times up to one hour can hold, so a damaged file costs neither memory nor time.
//! (HdrHistogram's own parser takes the length and range that a line claims, up to 4 GiB.)

use crate::buckets::{Counts, SLOTS, highest_at, index_of};
use crate::error::StoreError;
use crate::hlog::group_of_tag;
use crate::regular;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Decompress, FlushDecompress, Status};
use hdrhistogram::Histogram;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use units::Picos;

/// Longest line that is read: all buckets full, in nine bytes each, do not need as much.
const LONGEST_LINE: u64 = 1 << 20;
/// Bytes of the header, and of a whole inflated histogram at most.
const HEADER: usize = 40;
const LONGEST_HISTOGRAM: usize = HEADER + SLOTS * 9;
/// "V2" and "V2, compressed", in the encoding HdrHistogram calls LEB128-64b9B.
const COOKIE: u32 = 0x1c84_9313;
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
/// Significant digits of the histograms that are handed out; those of this program's files have no more.
const DIGITS: u8 = 3;

/// One line of the log.
#[derive(Clone, Debug)]
pub struct HlogEntry {
    /// A series' key: `latency`.
    pub series: String,
    /// The name that it is of; `None` for all requests.
    pub group: Option<String>,
    /// From the origin of the run.
    pub start: Picos,
    pub length: Picos,
    /// Nanoseconds; of at most three significant digits. Values over an hour count as one.
    pub histogram: Histogram<u64>,
}

/// The lines of a log, one after another; what cannot be read is passed over.
pub struct HlogReader<R> {
    lines: Lines<R>,
    decoder: Decoder,
    damaged: u64,
}

/// Opens a log for reading.
pub fn read_hlog(path: &Path) -> Result<HlogReader<BufReader<File>>, StoreError> {
    let file = regular::open(path).map_err(|why| StoreError::Read { path: path.to_owned(), why })?;
    Ok(HlogReader::new(BufReader::with_capacity(1 << 16, file)))
}

impl<R: BufRead> HlogReader<R> {
    pub fn new(from: R) -> Self {
        Self { lines: Lines::new(from), decoder: Decoder::new(), damaged: 0 }
    }

    /// Lines so far that were no histogram and no comment.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }
}

impl<R: BufRead> Iterator for HlogReader<R> {
    type Item = HlogEntry;

    fn next(&mut self) -> Option<HlogEntry> {
        loop {
            let read = match self.lines.advance()? {
                Ok(line) => entry(&line, &mut self.decoder),
                Err(Damaged) => None,
            };
            match read {
                Some(entry) => return Some(entry),
                None => self.damaged += 1,
            }
        }
    }
}

fn entry(line: &Line<'_>, decoder: &mut Decoder) -> Option<HlogEntry> {
    let digits = decoder.open(line.encoded)?.digits.min(DIGITS);
    let mut histogram = Histogram::new_with_bounds(1, 2, digits).expect("2·low ≤ high, digits ≤ 5");
    histogram.auto(true);
    let mut fits = true;
    let whole = decoder.buckets(&mut |index, count| {
        fits &= histogram.record_n(highest_at(index.min(SLOTS - 1)), count).is_ok();
    });
    (whole && fits).then(|| HlogEntry {
        series: line.tag.split_once('@').map_or(line.tag, |(series, _)| series).to_owned(),
        group: group_of_tag(line.tag).map(|(_, name)| name),
        start: Picos::from_millis(line.start_ms),
        length: Picos::from_millis(line.length_ms),
        histogram,
    })
}

/// A line, or the rest of one, that makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// One line in its parts, the histogram still encoded.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    pub tag: &'a str,
    pub start_ms: u64,
    length_ms: u64,
    encoded: &'a [u8],
}

/// Splits a log into lines, in bounded memory.
pub struct Lines<R> {
    from: R,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub fn new(from: R) -> Self {
        Self { from, line: Vec::new() }
    }

    /// The next line that is not a comment or a legend; `None` at the end, or when the file can no longer be
    /// read.
    pub fn advance(&mut self) -> Option<Result<Line<'_>, Damaged>> {
        loop {
            self.line.clear();
            let read = (&mut self.from).take(LONGEST_LINE).read_until(b'\n', &mut self.line).ok()?;
            match self.line.first()? {
                b'#' | b'"' | b'\n' if read < LONGEST_LINE as usize => continue,
                _ => break,
            }
        }
        self.current()
    }

    /// The line that `advance` came to.
    pub fn current(&self) -> Option<Result<Line<'_>, Damaged>> {
        // A line without its end was being written when the program was killed; or it is endless.
        let whole = self.line.strip_suffix(b"\n");
        Some(whole.and_then(Line::parse).ok_or(Damaged))
    }

    /// Whether the line that `advance` came to lacks its end, as the last one of a run that was killed may.
    pub fn is_cut_off(&self) -> bool {
        !self.line.ends_with(b"\n") && self.line.len() < LONGEST_LINE as usize
    }
}

impl<'a> Line<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let mut columns = line.splitn(5, |byte| *byte == b',');
        let mut text = || std::str::from_utf8(columns.next()?).ok();
        let first = text()?;
        let (tag, start) = match first.strip_prefix("Tag=") {
            Some(tag) => (tag, text()?),
            None => ("", first),
        };
        let (length, _largest) = (text()?, text()?);
        Some(Self { tag, start_ms: millis(start)?, length_ms: millis(length)?, encoded: columns.next()? })
    }
}

/// Whole milliseconds of `3.000` seconds: the log has no finer ones.
fn millis(text: &str) -> Option<u64> {
    let seconds: f64 = text.parse().ok()?;
    (0.0..1e7).contains(&seconds).then(|| (seconds * 1e3).round() as u64)
}

/// How a histogram lays out its buckets.
#[derive(Clone, Copy, Debug)]
struct Layout {
    digits: u8,
    /// log₂ of the smallest distance between values, and of half the sub-buckets.
    unit_bits: u32,
    half_bits: u32,
}

impl Layout {
    fn parse(header: &[u8]) -> Option<Self> {
        let (word, long) = (|at: usize| be32(header, at), |at: usize| be64(header, at));
        let digits = u8::try_from(word(12)?).ok().filter(|digits| (1..=5).contains(digits))?;
        let low = long(16).filter(|low| (1..1 << 40).contains(low))?;
        let sound = word(0)? == COOKIE && word(8)? == 0 && f64::from_bits(long(32)?) == 1.0;
        // Values up to 2·10^digits are told apart one by one, with sub-buckets a power of two.
        let half_bits = (2 * 10u64.pow(u32::from(digits)) - 1).ilog2();
        sound.then_some(Self { digits, unit_bits: low.ilog2(), half_bits })
    }

    /// Index among our own buckets of the largest value of this bucket.
    fn ours(&self, index: usize) -> Option<usize> {
        if self.unit_bits == 0 && self.digits == DIGITS {
            return Some(index);
        }
        let shift = (index >> self.half_bits).saturating_sub(1);
        let sub = (index - (shift << self.half_bits)) as u64;
        let bits = u32::try_from(shift).ok()?.checked_add(self.unit_bits).filter(|bits| *bits < 50)?;
        let next = sub.checked_add(1)?.checked_mul(1 << bits)?;
        Some(index_of(next - 1))
    }
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn be64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Unpacks histograms; keeps its buffers.
pub struct Decoder {
    compressed: Vec<u8>,
    /// The inflated histogram is the first `length` bytes; the room never grows.
    plain: Box<[u8]>,
    length: usize,
    inflate: Decompress,
    layout: Option<Layout>,
    /// Index and count of the buckets of one line.
    read: Vec<(usize, u64)>,
}

impl Decoder {
    pub fn new() -> Self {
        Self {
            compressed: Vec::new(),
            plain: vec![0; LONGEST_HISTOGRAM].into_boxed_slice(),
            length: 0,
            inflate: Decompress::new(true),
            layout: None,
            read: Vec::new(),
        }
    }

    /// Adds a line's buckets; nothing if the line is damaged before the end of its counts.
    pub fn add_to(&mut self, line: &Line<'_>, counts: &mut Counts) -> Result<(), Damaged> {
        self.open(line.encoded).ok_or(Damaged)?;
        let mut buckets = std::mem::take(&mut self.read);
        buckets.clear();
        let whole = self.buckets(&mut |index, count| buckets.push((index, count)));
        if whole {
            buckets.iter().for_each(|(index, count)| counts.add(*index, *count));
        }
        self.read = buckets;
        if whole { Ok(()) } else { Err(Damaged) }
    }

    fn open(&mut self, encoded: &[u8]) -> Option<Layout> {
        self.compressed.clear();
        self.length = 0;
        STANDARD.decode_vec(encoded, &mut self.compressed).ok()?;
        self.length = match be32(&self.compressed, 0)? {
            COOKIE => {
                let plain = self.plain.get_mut(..self.compressed.len())?;
                plain.copy_from_slice(&self.compressed);
                plain.len()
            }
            COMPRESSED_COOKIE => {
                self.inflate.reset(true);
                let deflated = self.compressed.get(8..)?;
                let ended = self.inflate.decompress(deflated, &mut self.plain, FlushDecompress::Finish);
                ended.ok().filter(|status| *status == Status::StreamEnd)?;
                usize::try_from(self.inflate.total_out()).ok()?
            }
            _ => return None,
        };
        let plain = self.plain.get(..self.length)?;
        self.layout = Layout::parse(plain);
        let promised = be32(plain, 4)? as usize;
        self.layout.filter(|_| promised == plain.len() - HEADER)
    }

    /// Calls `each` with our own index and the count of each bucket that is not empty; whether all were sound.
    fn buckets(&self, each: &mut impl FnMut(usize, u64)) -> bool {
        let Some(layout) = self.layout else { return false };
        let mut rest = self.plain.get(HEADER..self.length).unwrap_or_default();
        let mut index = 0usize;
        while !rest.is_empty() {
            let Some(number) = zigzag(&mut rest) else { return false };
            if number <= 0 {
                // −n: n empty buckets; 0: one.
                index = index.saturating_add(number.unsigned_abs().max(1) as usize);
                continue;
            }
            let Some(ours) = layout.ours(index).filter(|ours| *ours < SLOTS) else { return false };
            each(ours, number.unsigned_abs());
            index += 1;
        }
        true
    }
}

/// LEB128 of at most nine bytes, the ninth of which has eight bits; the lowest bit is the sign.
#[inline]
fn zigzag(rest: &mut &[u8]) -> Option<i64> {
    // Most counts are small.
    if let [byte @ ..=0x7f, after @ ..] = rest {
        let value = u64::from(*byte);
        *rest = after;
        return Some((value >> 1) as i64 ^ -((value & 1) as i64));
    }
    let mut value = 0u64;
    for place in 0..9 {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        let bits = if place == 8 { *byte } else { byte & 0x7f };
        value |= u64::from(bits) << (7 * place);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}
