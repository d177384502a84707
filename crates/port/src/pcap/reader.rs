//! Reads pcap (microseconds and nanoseconds) and pcapng, of both byte orders, frame by frame.
//!
//! ```text
//! pcap    header │ record header, frame │ record header, frame │ …
//! pcapng  SHB │ IDB │ IDB │ EPB (frame) │ EPB │ SPB │ ISB │ …     SHB: another section may follow
//! ```
//!
//! Formats: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng. No library: what there is hides how much of a
//! cut-off file was whole, and that is what its reader must be told.

use super::interface::{Interface, LinkType, Ticks, options};
use super::packed;
use super::source::{ByteOrder, FileBytes};
use crate::{PortError, Stamp};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Longest block or record that is taken for one; more is a damaged file.
const LONGEST: usize = 16 << 20;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// pcap with microseconds.
    PcapMicros,
    /// pcap with nanoseconds.
    PcapNanos,
    PcapNg,
}

/// A frame of a file, as long as the reader looks at it.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// What was kept of it, without FCS.
    pub data: &'a [u8],
    /// Its length on the wire, without FCS.
    pub length: usize,
    /// `NONE` where the file has none (simple packet blocks).
    pub stamp: Stamp,
    pub link: LinkType,
    /// Which of the interfaces of its section, and that one's name.
    pub interface: u32,
    pub name: &'a str,
}

impl Captured<'_> {
    /// # Errors
    /// It, frame `number` of this file, is of another link.
    pub fn must_be_ethernet(&self, number: u64, file: &str) -> Result<(), PortError> {
        match self.link {
            LinkType::ETHERNET => Ok(()),
            link => Err(PortError::File {
                file: file.to_owned(),
                problem: format!("frame {number} is of link type {link}, not 1 (Ethernet)"),
            }),
        }
    }
}

/// A capture file that is read.
pub struct Reader {
    name: String,
    source: FileBytes,
    format: Format,
    order: ByteOrder,
    interfaces: Vec<Interface>,
    /// Those of sections that are over, each with its number, if frames of it were lost when it was captured.
    lossy: Vec<(u32, Interface)>,
    /// The coarsest of all that were described.
    step_ns: f64,
    /// Frames read.
    frames: u64,
    /// The piece that the last frame is in, which is behind us when the next is asked for.
    behind: usize,
    is_over: bool,
}

/// Where a frame is, from the start of its piece on.
struct PlacedFrame {
    from: usize,
    kept: usize,
    length: usize,
    stamp: Stamp,
    interface: u32,
}

impl Reader {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// If it cannot be opened or is no capture file.
    pub fn open(path: &Path) -> Result<Self, PortError> {
        let name = path.display().to_string();
        let (name, file): (_, Box<dyn Read + Send>) = match name.as_str() {
            "-" => ("standard input".to_owned(), Box::new(std::io::stdin())),
            _ => {
                let wrong =
                    |error: io::Error| PortError::File { file: name.clone(), problem: error.to_string() };
                let file = File::open(path).map_err(wrong)?;
                (name, Box::new(file))
            }
        };
        let unpacked = packed::unpack(file)
            .map_err(|error| PortError::File { file: name.clone(), problem: error.to_string() })?;
        Self::new(&name, unpacked)
    }

    /// Reads from anything; `name` is for messages.
    ///
    /// # Errors
    /// If it is no capture file.
    pub fn new(name: &str, file: Box<dyn Read + Send>) -> Result<Self, PortError> {
        let mut reader = Self {
            name: name.to_owned(),
            source: FileBytes::new(file),
            format: Format::PcapNg,
            order: ByteOrder::Little,
            interfaces: Vec::new(),
            lossy: Vec::new(),
            step_ns: 0.0,
            frames: 0,
            behind: 0,
            is_over: false,
        };
        reader.begin()?;
        Ok(reader)
    }

    pub fn format(&self) -> Format {
        self.format
    }

    /// Those that were described so far.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Frames that whoever captured the file lost, as far as the file has told, of interfaces that are `wanted`
    /// (by number and name).
    pub fn lost_before(&self, wanted: impl Fn(u32, &str) -> bool) -> u64 {
        let here = self.interfaces.iter().zip(0..).map(|(interface, number)| (number, interface));
        let ended = self.lossy.iter().map(|(number, interface)| (*number, interface));
        let meant = here.chain(ended).filter(|(number, interface)| wanted(*number, &interface.name));
        meant.filter_map(|(_, interface)| interface.dropped).fold(0, u64::saturating_add)
    }

    fn end_section(&mut self) {
        let ended = std::mem::take(&mut self.interfaces);
        self.lossy.extend((0..).zip(ended).filter(|(_, interface)| interface.dropped > Some(0)));
    }

    fn add(&mut self, interface: Interface) {
        self.step_ns = self.step_ns.max(interface.stamp_step_ns());
        self.interfaces.push(interface);
    }

    /// The coarsest step of timestamps so far, in ns.
    pub fn step_ns(&self) -> f64 {
        self.step_ns
    }

    /// Frames read so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// The next frame; `None` at the end.
    ///
    /// # Errors
    /// `Truncated` if the file ends within something, `File` if it is damaged. There is nothing to read after
    /// that.
    #[allow(clippy::should_implement_trait)] // It lends.
    pub fn next(&mut self) -> Result<Option<Captured<'_>>, PortError> {
        if self.is_over {
            return Ok(None);
        }
        self.source.consume(std::mem::take(&mut self.behind));
        let found = match self.format {
            Format::PcapNg => self.next_block(),
            Format::PcapMicros | Format::PcapNanos => self.next_record(),
        };
        self.is_over = !matches!(found, Ok(Some(_)));
        let Some(found) = found? else { return Ok(None) };
        self.frames += 1;
        let interface = &self.interfaces[found.interface as usize];
        // A frame that was kept whole ends with its FCS; one that was cut off may have lost it already.
        let length = found.length.saturating_sub(interface.fcs);
        let data = self.source.part(found.from, found.from + found.kept.min(length));
        let link = interface.link;
        let name = interface.name.as_str();
        Ok(Some(Captured { data, length, stamp: found.stamp, link, interface: found.interface, name }))
    }

    /// The next frame, which must be an Ethernet frame.
    ///
    /// # Errors
    /// As [`Reader::next`]; `File` if frames are of another link type.
    pub fn next_ethernet(&mut self) -> Result<Option<Captured<'_>>, PortError> {
        let (name, number) = (self.name.clone(), self.frames + 1);
        match self.next()? {
            Some(frame) => frame.must_be_ethernet(number, &name).map(|()| Some(frame)),
            None => Ok(None),
        }
    }

    fn begin(&mut self) -> Result<(), PortError> {
        let there = self.need(4)?;
        if there == 0 {
            return Err(self.damaged("is empty"));
        }
        if there < 4 {
            return Err(self.strange());
        }
        let (format, order) = match ByteOrder::Big.u32(self.source.peek(4), 0) {
            SECTION => return Ok(()),
            0xa1b2_c3d4 => (Format::PcapMicros, ByteOrder::Big),
            0xd4c3_b2a1 => (Format::PcapMicros, ByteOrder::Little),
            0xa1b2_3c4d => (Format::PcapNanos, ByteOrder::Big),
            0x4d3c_b2a1 => (Format::PcapNanos, ByteOrder::Little),
            _ => return Err(self.strange()),
        };
        (self.format, self.order) = (format, order);
        if self.need(24)? < 24 {
            return Err(self.cut_off());
        }
        let header = self.source.peek(24);
        let ticks = if format == Format::PcapNanos { Ticks::NANOS } else { Ticks::MICROS };
        let interface = Interface::of_pcap(order.u32(header, 16), order.u32(header, 20), ticks);
        self.add(interface);
        self.source.consume(24);
        Ok(())
    }

    /// What it is instead of a capture file.
    fn strange(&mut self) -> PortError {
        let count = self.source.need(4).unwrap_or(0);
        let start: Vec<String> = self.source.peek(count).iter().map(|byte| format!("{byte:02x}")).collect();
        let start = start.join(" ");
        self.damaged(&format!("is not a capture file: it begins with {start}, unlike pcap and pcapng"))
    }

    fn next_record(&mut self) -> Result<Option<PlacedFrame>, PortError> {
        let there = self.need(16)?;
        if there < 16 {
            return if there == 0 { Ok(None) } else { Err(self.cut_off()) };
        }
        let (order, header) = (self.order, self.source.peek(16));
        let (seconds, part) = (order.u32(header, 0), order.u32(header, 4));
        let (kept, length) = (order.u32(header, 8) as usize, order.u32(header, 12) as usize);
        if kept > LONGEST {
            return Err(self.damaged_frame(&format!("says that it has {kept} bytes")));
        }
        if self.need(16 + kept)? < 16 + kept {
            return Err(self.cut_off());
        }
        self.behind = 16 + kept;
        let per_second = if self.format == Format::PcapNanos { 1_000_000_000 } else { 1_000_000 };
        let ticks = u64::from(seconds) * per_second + u64::from(part);
        let stamp = Stamp(self.interfaces[0].ticks.unix_ns(ticks));
        Ok(Some(PlacedFrame { from: 16, kept, length: length.max(kept), stamp, interface: 0 }))
    }

    /// Reads blocks up to the next one with a frame.
    fn next_block(&mut self) -> Result<Option<PlacedFrame>, PortError> {
        loop {
            let Some((kind, length)) = self.block()? else { return Ok(None) };
            let found = match kind {
                SECTION => {
                    self.end_section();
                    None
                }
                INTERFACE => {
                    let interface = Interface::of_block(self.source.part(8, length - 4), self.order);
                    let interface = interface.map_err(|problem| self.damaged(problem))?;
                    self.add(interface);
                    None
                }
                ENHANCED_PACKET | OLD_PACKET => Some(self.packet(kind, length)?),
                SIMPLE_PACKET => Some(self.simple(length)?),
                STATISTICS => {
                    self.statistics(length);
                    None
                }
                _ => None,
            };
            if found.is_some() {
                self.behind = length;
                return Ok(found);
            }
            self.source.consume(length);
        }
    }

    /// Has the whole next block read; its kind and its length with all that belongs to it.
    fn block(&mut self) -> Result<Option<(u32, usize)>, PortError> {
        let there = self.need(12)?;
        if there < 12 {
            return if there == 0 { Ok(None) } else { Err(self.cut_off()) };
        }
        let head = self.source.peek(12);
        let mut kind = self.order.u32(head, 0);
        if ByteOrder::Big.u32(head, 0) == SECTION {
            kind = SECTION;
            self.order = match ByteOrder::Big.u32(head, 8) {
                0x1a2b_3c4d => ByteOrder::Big,
                0x4d3c_2b1a => ByteOrder::Little,
                _ => return Err(self.damaged("has a section without byte order")),
            };
        }
        let length = self.order.u32(self.source.peek(12), 4) as usize;
        if !(12..=LONGEST).contains(&length) || !length.is_multiple_of(4) {
            let problem = format!("is damaged: a block of {length} bytes at byte {}", self.source.offset());
            return Err(self.damaged(&self.so_far(&problem)));
        }
        if self.need(length)? < length {
            return Err(self.cut_off());
        }
        if kind == SECTION && (length < 28 || self.order.u16(self.source.peek(length), 12) != 1) {
            return Err(self.damaged("is of a version of pcapng that is not 1"));
        }
        Ok(Some((kind, length)))
    }

    /// An enhanced packet block, or its forerunner, which has a count of drops beside the interface.
    fn packet(&mut self, kind: u32, block: usize) -> Result<PlacedFrame, PortError> {
        if block < 32 {
            return Err(self.damaged_frame("is in a block that is too short"));
        }
        let (order, head) = (self.order, self.source.peek(28));
        let interface = match kind {
            ENHANCED_PACKET => order.u32(head, 8),
            _ => u32::from(order.u16(head, 8)),
        };
        let ticks = u64::from(order.u32(head, 12)) << 32 | u64::from(order.u32(head, 16));
        let (kept, length) = (order.u32(head, 20) as usize, order.u32(head, 24) as usize);
        if kept > block - 32 {
            return Err(self.damaged_frame(&format!("says that it has {kept} bytes, in a block of {block}")));
        }
        let Some(at) = self.interfaces.get(interface as usize) else {
            return Err(self.damaged_frame(&format!("is of interface {interface}, which is not described")));
        };
        let stamp = Stamp(at.ticks.unix_ns(ticks));
        Ok(PlacedFrame { from: 28, kept, length: length.max(kept), stamp, interface })
    }

    fn simple(&mut self, block: usize) -> Result<PlacedFrame, PortError> {
        if block < 16 {
            return Err(self.damaged_frame("is in a block that is too short"));
        }
        let length = self.order.u32(self.source.peek(12), 8) as usize;
        let Some(at) = self.interfaces.first() else {
            return Err(self.damaged_frame("is of an interface that is not described"));
        };
        let snap = if at.snap == 0 { usize::MAX } else { at.snap as usize };
        let kept = length.min(snap).min(block - 16);
        Ok(PlacedFrame { from: 12, kept, length, stamp: Stamp::NONE, interface: 0 })
    }

    /// What the writer knows to be lost.
    fn statistics(&mut self, block: usize) {
        if block < 24 {
            return;
        }
        let (order, body) = (self.order, self.source.part(8, block - 4));
        let which = order.u32(body, 0) as usize;
        let lost = options(&body[12..], order)
            .filter(|(code, value)| matches!(code, 5 | 7) && value.len() == 8)
            .map(|(_, value)| order.u64(value, 0))
            .reduce(u64::saturating_add);
        if let Some(interface) = self.interfaces.get_mut(which) {
            interface.dropped = lost.or(interface.dropped);
        }
    }

    fn need(&mut self, count: usize) -> Result<usize, PortError> {
        self.source.need(count).map_err(|error| self.damaged(&format!("cannot be read: {error}")))
    }

    fn cut_off(&self) -> PortError {
        PortError::Truncated { file: self.name.clone(), frames: self.frames }
    }

    fn damaged_frame(&self, problem: &str) -> PortError {
        self.damaged(&self.so_far(&format!("is damaged: frame {} {problem}", self.frames + 1)))
    }

    fn so_far(&self, problem: &str) -> String {
        format!("{problem}; {} whole frames were read", self.frames)
    }

    fn damaged(&self, problem: &str) -> PortError {
        PortError::File { file: self.name.clone(), problem: problem.to_owned() }
    }
}
