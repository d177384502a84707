//! From what the plan says of frames to templates, and to the shape of the load.

use super::departures::{Cycle, Ends, Pattern};
use super::shaped::Shaped;
use super::streams::StreamPattern;
use super::tape::{BESIDE, MOST, Odd, Offsets, TOO_LONG};
use crate::on_the_wire::SHORTEST;
use crate::{PacketError, lists};
use plan::Shape;
use plan::packets::frames::{FrameSource, Frames};
use plan::packets::send::{Lengths, Pace, SendPlan, Speed};
use port::{About, FCS};
use std::path::Path;
use units::{Bytes, Picos, Rate};
use wire::Template;
use wire::template::{Changes, Mac, Sizes, Spec};

/// Frames of a file that several threads share are all in memory: together so many bytes, and so many of them.
const MOST_BYTES: usize = 1 << 30;
const MOST_FRAMES: usize = 8 << 20;
/// What one thread sends is read while it is sent, where it is more than this.
const READ_AHEAD: u64 = 256 << 20;
/// Of a file that is read while it is sent, so many frames tell what frames look like.
const HEAD: usize = 65_536;
/// Interfaces of a file that are told apart.
const MOST_INTERFACES: usize = 64;
/// Frames from which the mean length is taken, where lengths differ.
const SAMPLE: u64 = 65_536;
/// Preamble, start delimiter and the gap after a frame, in bytes.
const AROUND: u64 = 20;

/// Frames of a capture file.
pub struct Recording {
    pub frames: Vec<Vec<u8>>,
    /// Nanoseconds since the first frame; never descending.
    pub offsets: Vec<u64>,
    /// What is odd about their stamps.
    pub odd: Odd,
    /// Frames that were not kept whole: they leave as they were kept.
    pub cut: u64,
    /// Interfaces that they were captured at.
    pub interfaces: usize,
    /// Whether these are all: if not, they are read again while they are sent.
    pub is_whole: bool,
}

/// How much of a file is held in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// All of it, or it is refused.
    Whole,
    /// All of it if it fits, with what is kept beside each frame.
    Bytes(u64),
}

impl Room {
    /// Threads that share a recording do not read it at once.
    pub fn of(plan: &SendPlan) -> Self {
        match plan.read_ahead {
            None if plan.queues > 1 => Self::Whole,
            ahead => Self::Bytes(ahead.map_or(READ_AHEAD, Bytes::get)),
        }
    }

    pub fn bytes(self) -> u64 {
        match self {
            Self::Whole => MOST_BYTES as u64,
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl Recording {
    /// Reads a whole capture file, or its beginning where it is larger than there is room.
    ///
    /// # Errors
    /// It is no capture file, is damaged, or is too large.
    pub fn read(path: &Path, room: Room) -> Result<Self, PacketError> {
        let wrong = |problem: String| PacketError::Wrong(format!("{}: {problem}", path.display()));
        let mut reader = port::pcap::Reader::open(path)?;
        let mut all = Self {
            frames: Vec::new(),
            offsets: Vec::new(),
            odd: Odd::default(),
            cut: 0,
            interfaces: 0,
            is_whole: true,
        };
        let (mut offsets, mut bytes) = (Offsets::default(), 0);
        let mut interfaces: Vec<(u32, String)> = Vec::new();
        while let Some(frame) = reader.next_ethernet()? {
            let (offset, odd) = offsets.next(frame.stamp.as_unix_nanos());
            all.odd += odd;
            let is_known = |(number, name): &(u32, String)| *number == frame.interface && name == frame.name;
            if !interfaces.iter().any(is_known) && interfaces.len() < MOST_INTERFACES {
                interfaces.push((frame.interface, frame.name.to_owned()));
            }
            all.cut += u64::from(frame.data.len() < frame.length);
            bytes += frame.data.len();
            match room {
                Room::Whole if bytes > MOST_BYTES || all.frames.len() == MOST_FRAMES => {
                    return Err(wrong(format!(
                        "is too large to be kept in memory (at most {} MiB or {MOST_FRAMES} frames), and only one thread can read it while \
                         sending: leave out --queues",
                        MOST_BYTES >> 20
                    )));
                }
                Room::Bytes(most) if (bytes + all.frames.len() * BESIDE) as u64 > most => {
                    if !std::fs::metadata(path).is_ok_and(|file| file.is_file()) {
                        let mib = most >> 20;
                        return Err(wrong(format!(
                            "has more than {mib} MiB and is not a regular file, so it cannot be read twice; \
                             save it as a file, or give a larger --read-ahead"
                        )));
                    }
                    all.keep_head(most);
                    break;
                }
                _ => {}
            }
            all.frames.push(frame.data.to_vec());
            all.offsets.push(offset);
        }
        if all.frames.is_empty() {
            return Err(wrong("holds no frame".to_owned()));
        }
        all.interfaces = interfaces.len();
        Ok(all)
    }

    /// Of `most` bytes only the first quarter is kept; the rest of the room is for what is read ahead.
    fn keep_head(&mut self, most: u64) {
        self.is_whole = false;
        let mut bytes = 0;
        let fits = |frame: &&Vec<u8>| {
            bytes += (frame.len() + BESIDE) as u64;
            bytes <= most / 4
        };
        let kept = self.frames.iter().take(HEAD).take_while(fits).count();
        self.frames.truncate(kept.max(1));
        self.frames.shrink_to_fit();
        self.offsets = Vec::new();
    }

    /// Whether there is any time between its frames: without, nobody knows when it begins again.
    fn has_length(&self) -> bool {
        self.offsets.last().is_some_and(|last| *last > 0)
    }

    /// Its own times, `speed` faster; after the last frame comes the mean gap, and it begins again.
    pub fn times(&self, speed: Speed) -> Option<Cycle> {
        let starts: Vec<Picos> = self.offsets.iter().map(|ns| speed.faster(*ns)).collect();
        let last = *starts.last()?;
        let gaps = (starts.len() as u64 - 1).max(1);
        let mean = Picos::from_picos((last.as_picos() / gaps).max(1));
        Cycle::of_times(starts, last + mean)
    }
}

/// Whether a recording is to be played more than once.
fn repeats(plan: &SendPlan, recording: &Recording) -> bool {
    let more = |frames: u64| frames > recording.frames.len() as u64;
    plan.loops.is_some_and(|loops| loops > 1) || plan.frames.is_some_and(more) || plan.duration.is_some()
}

/// Whether a recording that is replayed ends within the time that there is.
///
/// # Errors
/// It does not.
pub fn check_times(plan: &SendPlan, recording: &Recording) -> Result<(), PacketError> {
    let Pace::Replay { file, speed } = &plan.pace else { return Ok(()) };
    match recording.offsets.last().is_some_and(|last| speed.faster(*last) > MOST) {
        true => Err(PacketError::Wrong(format!("{}: {TOO_LONG}", file.display()))),
        false => Ok(()),
    }
}

/// Frames of a file, which it has no longer, with what is changed of them.
///
/// # Errors
/// A frame does not have a field that is to vary.
pub fn taken(plan: &SendPlan, recording: &mut Recording) -> Result<Template, PacketError> {
    Template::from_frames_with(std::mem::take(&mut recording.frames), &changes(plan)).map_err(wrong)
}

/// What is changed of frames of a file.
pub fn changes(plan: &SendPlan) -> Changes {
    match plan.look.source() {
        FrameSource::Taken { changes, .. } => changes.clone(),
        FrameSource::Made { .. } => Changes::default(),
    }
}

/// Frames that are made, with the addresses of Ethernet that were not typed.
///
/// # Errors
/// Frames that cannot be, or a file of lengths that cannot be read.
pub fn made(
    plan: &SendPlan,
    macs: impl FnMut(usize) -> (Option<Mac>, Option<Mac>),
) -> Result<Option<(Template, Spec)>, PacketError> {
    let mut frames: Frames = plan.look.clone();
    frames.fill_macs(macs);
    let FrameSource::Made { spec, .. } = frames.source() else { return Ok(None) };
    let mut spec = spec.clone();
    set_lengths(&mut spec, &plan.lengths, |_| true)?;
    Ok(Some((Template::build(&spec).map_err(wrong)?, spec)))
}

pub fn wrong(error: wire::WireError) -> PacketError {
    PacketError::Wrong(format!("frames: {error}"))
}

/// The same frames at another size.
///
/// # Errors
/// The headers do not fit, or it is longer than the port takes.
pub fn resized(spec: &Spec, size: usize, about: &About) -> Result<Template, String> {
    let mut spec = spec.clone();
    for stream in &mut spec.streams {
        stream.sizes = Sizes::Fixed(size);
    }
    let template = Template::build(&spec).map_err(|error| error.to_string())?;
    match too_long_for(&template, about) {
        None => Ok(template),
        Some(problem) => Err(problem),
    }
}

/// A sentence where a frame of these is longer than the port takes.
pub fn too_long_for(template: &Template, about: &About) -> Option<String> {
    too_long(template, about).map(|(length, longest)| {
        let (size, most) = (length + FCS, longest + FCS);
        format!("a frame size of {size} is more than the {most} that the port accepts")
    })
}

/// A frame of these that the port does not take: its length, and the longest that would be right for one that
/// begins like it. (A VLAN tag makes four bytes more possible on some ports.)
pub fn too_long(template: &Template, about: &About) -> Option<(usize, usize)> {
    let bases = template.streams().iter().map(|stream| stream.base());
    let mut lengths = bases.map(|base| (base.len(), about.longest_like(base)));
    lengths.find(|(length, longest)| length > longest)
}

/// Lengths of payloads are frame sizes less the headers. Frames below the least of Ethernet are filled up
/// behind the packet. Streams that `has_length` says nothing of keep their sizes.
pub fn set_lengths(
    spec: &mut Spec,
    lengths: &Lengths,
    has_length: impl Fn(usize) -> bool,
) -> Result<(), PacketError> {
    let payloads = match lengths {
        Lengths::Frames => return Ok(()),
        Lengths::Payload(bytes) => vec![*bytes as usize],
        Lengths::File(file) => lists::lengths(file)?,
    };
    for (_, stream) in spec.streams.iter_mut().enumerate().filter(|(number, _)| has_length(*number)) {
        let around = stream.header_length() + FCS;
        let sizes: Vec<usize> = payloads.iter().map(|payload| payload + around).collect();
        stream.pads = true;
        stream.sizes = if let [size] = sizes[..] { Sizes::Fixed(size) } else { Sizes::List(sizes) };
    }
    Ok(())
}

/// Bits that the mean frame takes, as `(bits, frames)`: exact where all have one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeanBits {
    pub bits: u64,
    pub frames: u64,
}

impl MeanBits {
    /// `on_wire`: with preamble and the gap behind; the FCS counts in any case.
    pub fn of(template: &Template, on_wire: bool) -> Self {
        let around = FCS as u64 + if on_wire { AROUND } else { 0 };
        // A card pads what is shorter.
        let bits = |seq| (template.length(seq).max(SHORTEST) as u64 + around) * 8;
        let first = bits(0);
        if (1..SAMPLE).all(|seq| bits(seq) == first) {
            return Self { bits: first, frames: 1 };
        }
        Self { bits: (0..SAMPLE).map(bits).sum(), frames: SAMPLE }
    }

    /// Frames a second that are so many bits a second.
    pub fn rate(self, bits_per_second: u64) -> Option<Rate> {
        let mut events = u128::from(bits_per_second) * u128::from(self.frames);
        let mut per = u128::from(self.bits) * 1_000_000_000_000;
        let shrink = common(events, per).max(1);
        (events, per) = (events / shrink, per / shrink);
        // Where lengths differ the mean is of a sample anyway: what is beyond 64 bits is less than that.
        while events > u128::from(u64::MAX) || per > u128::from(u64::MAX) {
            (events, per) = (events >> 1, per >> 1);
        }
        Rate::new(events as u64, Picos::from_picos(per as u64))
    }
}

fn common(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Frames a second of a pace that has such a rate; `None` for gaps one by one, and as fast as it goes.
///
/// # Errors
/// A share of a line whose speed is not known.
pub fn rate(pace: &Pace, template: &Template, line_bps: Option<u64>) -> Result<Option<Rate>, String> {
    let too_fast = || "the rate is more than one frame per picosecond".to_owned();
    match pace {
        Pace::Frames(rate) => Ok(Some(*rate)),
        Pace::Gap(gap) => Ok(Rate::new(1, *gap)),
        Pace::Bits { per_second, on_wire } => {
            MeanBits::of(template, *on_wire).rate(*per_second).ok_or_else(too_fast).map(Some)
        }
        Pace::Line { millionths } => {
            let line = line_bps
                .ok_or("the driver does not report the link speed: give it by --line, e.g. --line 10G")?;
            let bits = u128::from(line) * u128::from(*millionths) / 1_000_000;
            let bits = u64::try_from(bits).map_err(|_| too_fast())?;
            MeanBits::of(template, true).rate(bits).ok_or_else(too_fast).map(Some)
        }
        Pace::Max | Pace::Gaps(_) | Pace::Replay { .. } | Pace::Shape(_) | Pace::Streams => Ok(None),
    }
}

/// Whether a rate is of bits: it is worked out from the lengths of the plan's frames.
pub fn counts_bits(plan: &SendPlan) -> bool {
    let of_streams = plan.look.loads().iter().map(|load| &load.pace);
    std::iter::once(&plan.pace)
        .chain(of_streams)
        .any(|pace| matches!(pace, Pace::Bits { .. } | Pace::Line { .. }))
}

/// The shape of the load; `None` is as fast as it goes.
pub fn pattern(
    plan: &SendPlan,
    rate: Option<Rate>,
    recording: Option<&Recording>,
) -> Result<Option<Pattern>, PacketError> {
    let wrong = |path: &Path, problem: &str| PacketError::Wrong(format!("{}: {problem}", path.display()));
    Ok(match (&plan.pace, rate) {
        (Pace::Gaps(file), _) => {
            let cycle = Cycle::of_gaps(&lists::gaps(file)?);
            let problem = "all gaps together are 0 or over 213 days; give some that are above 0";
            Some(Pattern::Cycle(cycle.ok_or_else(|| wrong(file, problem))?))
        }
        // Its times are read while it is sent.
        (Pace::Replay { .. }, _) if recording.is_some_and(|recording| !recording.is_whole) => None,
        (Pace::Replay { file, speed }, _) => {
            let recording = recording.filter(|recording| recording.has_length() || !repeats(plan, recording));
            let times = recording.and_then(|recording| recording.times(*speed));
            let problem = "its timestamps give no times to replay; send its frames with --pcap and --rate";
            Some(Pattern::Cycle(times.ok_or_else(|| wrong(file, problem))?))
        }
        (pace, rate) => of_rate(pace, rate, plan.poisson, plan.burst, plan.look.seed())?,
    })
}

/// The shape of a load that has a rate, or rates; `None` of one that has neither.
fn of_rate(
    pace: &Pace,
    rate: Option<Rate>,
    poisson: bool,
    burst: u64,
    seed: u64,
) -> Result<Option<Pattern>, PacketError> {
    let shaped = |shape| {
        let shaped = Shaped::new(shape, seed).map_err(|error| PacketError::Wrong(error.to_string()))?;
        Ok(Some(Pattern::Shaped(shaped)))
    };
    match (pace, rate) {
        (Pace::Shape(shape), _) => shaped(shape.clone()),
        (_, Some(rate)) if poisson => shaped(Shape::Poisson(rate)),
        (_, Some(rate)) if burst > 1 => Ok(Some(Pattern::Bursts { rate, size: burst })),
        (_, rate) => Ok(rate.map(Pattern::Even)),
    }
}

/// The loads of streams that have their own; none where there is one load.
///
/// # Errors
/// A share of a line whose speed is not known, or a shape that cannot be.
pub fn streams(
    plan: &SendPlan,
    spec: &Spec,
    line_bps: Option<u64>,
) -> Result<Vec<StreamPattern>, PacketError> {
    let loads = plan.look.loads().iter().zip(&spec.streams).zip(0..);
    loads
        .map(|((load, look), number)| {
            let wrong = |problem: String| PacketError::Wrong(format!("stream {}: {problem}", load.name));
            let alone = Spec { streams: vec![look.clone()], seed: spec.seed };
            let template = Template::build(&alone).map_err(|error| wrong(error.to_string()))?;
            let rate = rate(&load.pace, &template, line_bps).map_err(wrong)?;
            // Streams with the same mean know nothing of each other.
            let seed = spec.seed.wrapping_add(number);
            let pattern = of_rate(&load.pace, rate, load.poisson, load.burst, seed)?;
            Ok(StreamPattern {
                name: load.name.clone(),
                pattern: pattern.ok_or_else(|| wrong("has no rate".to_owned()))?,
                start: load.start,
                ends: Ends { after: load.duration, frames: load.frames },
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_a_second_are_frames_a_second() {
        // 10 Gbit/s of 64-byte frames with 20 bytes around them: 10¹⁰ / (84 · 8) = 14 880 952.38…/s, exactly
        // 312 500 000/21.
        let mean = MeanBits { bits: 84 * 8, frames: 1 };
        let rate = mean.rate(10_000_000_000).unwrap();
        assert_eq!(rate, Rate::new(312_500_000, Picos::from_secs(21)).unwrap());
        // 1 Gbit/s of 1518-byte frames, without: 10⁹ / 12 144.
        let mean = MeanBits { bits: 1_518 * 8, frames: 1 };
        assert!((mean.rate(1_000_000_000).unwrap().as_per_second_f64() - 1e9 / 12_144.0).abs() < 1e-6);
        // A sample of 65 536 frames does not fit in 64 bits and is rounded.
        let mean = MeanBits { bits: 65_536 * 1_001, frames: 65_536 };
        let rate = mean.rate(99_999_999_977).unwrap().as_per_second_f64();
        assert!((rate / (99_999_999_977.0 / 1_001.0) - 1.0).abs() < 1e-9, "{rate}");
    }

    #[test]
    fn a_recording_is_played_at_its_own_times_or_faster() {
        let recording = Recording {
            frames: vec![vec![0; 60]; 3],
            offsets: vec![0, 1_000, 3_000],
            odd: Odd::default(),
            cut: 0,
            interfaces: 1,
            is_whole: true,
        };
        let cycle = recording.times(Speed { up: 2, down: 1 }).unwrap();
        let due = |n| Pattern::Cycle(cycle.clone()).due(n).as_nanos();
        // Twice as fast: 0, 500, 1 500 ns; then the mean gap of 750, and again.
        assert_eq!([due(0), due(1), due(2), due(3), due(4)], [0, 500, 1_500, 2_250, 2_750]);
        let slower = recording.times(Speed { up: 5, down: 10 }).unwrap();
        assert_eq!(Pattern::Cycle(slower).due(2).as_nanos(), 6_000);
        // All at once: the stamps are the same.
        let at_once = Recording {
            frames: vec![vec![0; 60]; 2],
            offsets: vec![0, 0],
            odd: Odd::default(),
            cut: 0,
            interfaces: 1,
            is_whole: true,
        };
        let cycle = at_once.times(Speed { up: 1, down: 1 }).unwrap();
        assert_eq!(Pattern::Cycle(cycle).due(1), Picos::ZERO);
    }

    #[test]
    fn stamps_before_the_first_and_frames_of_other_interfaces_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pcap");
        let mut writer = port::pcap::Writer::create(&path, port::pcap::Style::of_name(&path)).unwrap();
        for seconds in [5, 4, 6, 5, 5, 7] {
            writer.frame(port::Stamp(seconds * 1_000_000_000), 100, &[0; 60], 0).unwrap();
        }
        writer.finish(&port::pcap::Statistics::default()).unwrap();
        let read = Recording::read(&path, Room::Whole).unwrap();
        // 4 s is before the first, 5 s before the third, and the second 5 s before none in front: the clock was
        // set back twice, and gaps go on from there. All six were cut from 100 bytes to 60.
        assert_eq!((read.odd.backward, read.cut, read.interfaces), (2, 6, 1));
        assert_eq!(read.offsets, [0, 0, 2, 2, 2, 4].map(|seconds| seconds * 1_000_000_000));
    }
}
