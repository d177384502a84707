//! The program that makes frames: written for one template, run once for each frame.
//!
//! ```text
//!   next < end? ──no──► new orders? ─► take them; drop this run's frame
//!      │yes
//!   paced? ──► due yet? ──no──► look at the clock for a while; drop this run's frame
//!      │yes
//!   which stream? ─► headers ─► lengths ─► varying fields ─► signature ─► checksums ─► length
//!      │
//!   next += 1, redirect to the interface
//! ```
//!
//! A page comes back as its last receiver left it, so headers are written whole each time. A frame is counted
//! in the run that hands it over.

mod fits;

use super::emit::{self, FRAME, NETWORK, POSITION, STATE, TRANSPORT};
use super::fields::{self, Context, Number, Numbering, Places, Tables, Turns};
use super::state::{self, State};
use bpf::{
    Action, Alu, Assembler, BpfError, Condition, Helper, Instruction, Label, Map, MapSpec, Register::*, Size,
    context,
};
use std::os::fd::{AsFd, BorrowedFd};
use wire::Template;
use wire::template::{Modulus, Selection, Stream, Turns as Rota, ValueSource, Variation};

/// Streams that one program makes at most.
pub const MOST_STREAMS: usize = 64;
/// Bytes from the start of a frame that a program writes at most, when streams have different bytes there;
/// those behind are copied out of a table.
const MOST_WRITTEN: usize = 256;
/// Headers are written anew for each frame up to here.
const HEADERS: usize = 60;
/// Readings of the clock in one run, some 25 ns each; then the kernel gets its turn.
const LOOKS: usize = 64;
/// A frame that is due later than this is not waited for in the program.
const NEAR_NS: i32 = 20_000;
/// Frames without due times share a reading of the clock, as many as the kernel hands to the driver at once.
const SHARE_CLOCK: i32 = 16;
/// Words of a shape in the tables: length, two lengths, two sums.
const SHAPE_WORDS: usize = 5;
const SHAPE: i16 = -8;

/// A program, with what must be known to run it.
#[derive(Debug)]
pub struct Making {
    pub code: Vec<Instruction>,
    /// What a page has at first: the longest frame.
    pub frame: Vec<u8>,
    pub places: Places,
    /// All frames have the same length.
    pub length: Option<usize>,
    /// Keeps the tables until the program is loaded.
    _tables: Map,
}

/// Why a template cannot be made in the kernel.
#[derive(Debug, thiserror::Error)]
pub enum Obstacle {
    #[error("{0}")]
    Template(String),
    #[error(transparent)]
    Bpf(#[from] BpfError),
}

fn cannot(why: impl Into<String>) -> Obstacle {
    Obstacle::Template(why.into())
}

/// What is known before a line is written.
struct Plan<'a> {
    template: &'a Template,
    interface: u32,
    state: BorrowedFd<'a>,
    tables: BorrowedFd<'a>,
    /// By stream: where its lists lie (by variation), and its shapes.
    lists: Vec<Vec<usize>>,
    shapes: Vec<usize>,
    rota: usize,
    /// Bytes that each frame is given from its base.
    written: usize,
    /// By stream: where the bytes lie that it has behind those, and differ from another's; and how many.
    payloads: Vec<(usize, usize)>,
    longest: usize,
    length: Option<usize>,
    numbering: Numbering,
}

/// Writes the program for a template.
///
/// # Errors
/// The template has something that cannot be made in the kernel.
pub fn write(
    template: &Template,
    interface: u32,
    state: &State,
    numbering: Numbering,
) -> Result<Making, Obstacle> {
    let streams = template.streams();
    fits::check(streams)?;
    let mut tables = Tables::default();
    let lists = streams.iter().map(|stream| lists_of(stream, &mut tables)).collect();
    let shapes = streams.iter().map(|stream| shapes_of(stream, &mut tables)).collect();
    let rota = rota_of(template.turns(), &mut tables);
    let longest_stream = streams.iter().max_by_key(|stream| stream.base().len());
    let frame = longest_stream.map_or_else(Vec::new, |stream| stream.base().to_vec());
    let (written, differing) = written(streams, &frame);
    let payloads = streams.iter().map(|stream| payload_of(stream, written..differing, &mut tables)).collect();
    let map = Map::create(&MapSpec::array("tare_tables", (tables.words.len().max(1) * 8) as u32, 1))?;
    if !tables.words.is_empty() {
        let bytes: Vec<u8> = tables.words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        map.update(&0u32.to_ne_bytes(), &bytes)?;
    }
    let one =
        |stream: &Stream| matches!(stream.shapes(), [shape] if usize::from(shape.length) == frame.len());
    let plan = Plan {
        template,
        interface,
        state: state.map(),
        tables: map.as_fd(),
        lists,
        shapes,
        rota,
        written,
        payloads,
        longest: frame.len(),
        length: streams.iter().all(one).then_some(frame.len()),
        numbering,
    };
    let mut places = Places::default();
    let code = plan.write(&mut places)?;
    let length = plan.length;
    Ok(Making { code, frame, places, length, _tables: map })
}

/// How far from its start each frame is written: over all that varies, the headers, and wherever streams
/// differ; and as far as that is, where it is more than the program writes by itself.
fn written(streams: &[Stream], frame: &[u8]) -> (usize, usize) {
    let touched = streams.iter().flat_map(ends_of).max().unwrap_or(0);
    let differs = |at: &usize| {
        streams.iter().any(|stream| stream.base().get(*at).is_some_and(|byte| *byte != frame[*at]))
    };
    let differing = (0..frame.len()).rev().find(differs).map_or(0, |at| at + 1);
    let by_itself = if differing > MOST_WRITTEN { 0 } else { differing };
    // Also for frames that end before: they are cut to their length at the end.
    let written = touched.max(by_itself).max(HEADERS.min(frame.len()));
    (written, differing.max(written))
}

/// A stream's bytes in that range, in a table: where, and how many.
fn payload_of(stream: &Stream, range: std::ops::Range<usize>, tables: &mut Tables) -> (usize, usize) {
    let base = stream.base();
    let bytes = &base[range.start.min(base.len())..range.end.min(base.len())];
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(word)
    };
    match bytes.len() {
        0 => (0, 0),
        length => (tables.add(bytes.chunks(8).map(word)), length),
    }
}

/// Where each thing that is written into a stream's frames ends.
fn ends_of(stream: &Stream) -> Vec<usize> {
    let half = |at: Option<u16>| at.map_or(0, |at| usize::from(at) + 2);
    let varying = stream.variations().iter().map(|v| usize::from(v.offset) + usize::from(v.width));
    let signed = stream.signature_at().map_or(0, |at| usize::from(at) + wire::signature::LENGTH);
    let halves = [
        stream.network_length_at(),
        stream.transport_length_at(),
        stream.network_checksum_at(),
        stream.transport_checksum_at(),
    ];
    varying.chain(halves.map(half)).chain([signed]).collect()
}

fn lists_of(stream: &Stream, tables: &mut Tables) -> Vec<usize> {
    let list = |variation: &Variation| match &variation.source {
        ValueSource::List { values, .. } => tables.add(values.iter().copied()),
        _ => 0,
    };
    stream.variations().iter().map(list).collect()
}

/// Shapes in the order in which they take turns.
fn shapes_of(stream: &Stream, tables: &mut Tables) -> usize {
    let shapes = stream.shapes();
    let words = |index: usize| {
        let shape = &shapes[index];
        [
            shape.length.into(),
            shape.network_length.into(),
            shape.transport_length.into(),
            shape.network_sum.into(),
            shape.transport_sum.into(),
        ]
    };
    match stream.order() {
        Selection::Only => 0,
        Selection::Cycle { pattern, .. } => {
            tables.add(pattern.iter().flat_map(|index| words(usize::from(*index))))
        }
        Selection::Random { .. } => tables.add((0..shapes.len()).flat_map(words)),
    }
}

fn rota_of(rota: &Rota, tables: &mut Tables) -> usize {
    match rota {
        Rota::Pattern { entries, .. } => tables.add(entries.iter().map(|(stream, _)| u64::from(*stream))),
        _ => 0,
    }
}

impl Plan<'_> {
    fn write(&self, places: &mut Places) -> Result<Vec<Instruction>, Obstacle> {
        let mut a = Assembler::new();
        let (slow, pace, go, broken, drop_it) = (a.label(), a.label(), a.label(), a.label(), a.label());
        a.mov(R6, R1).load_map_value(STATE, self.state, 0);
        a.load(Size::Double, POSITION, STATE, state::NEXT).load(Size::Double, R1, STATE, state::END);
        a.jump_if(Condition::GreaterOrEqual, POSITION, R1, slow);
        a.load(Size::Double, R1, STATE, state::PACED).jump_if(Condition::NotEqual, R1, 0, pace);
        if self.template.is_signed() {
            // Frames leave together; so do they share the time.
            a.mov(R1, POSITION).and(R1, SHARE_CLOCK - 1).jump_if(Condition::NotEqual, R1, 0, go);
            a.call(Helper::KtimeNs).store(Size::Double, STATE, state::NOW, R0);
        }
        a.bind(go);
        a.load(Size::Word, FRAME, R6, context::DATA).load(Size::Word, R2, R6, context::DATA_END);
        a.mov(R1, FRAME).add(R1, self.longest as i32).jump_if(Condition::Greater, R1, R2, broken);
        self.streams(&mut a, places, broken)?;
        a.bind(broken).load(Size::Double, R1, STATE, state::BROKEN).add(R1, 1);
        a.store(Size::Double, STATE, state::BROKEN, R1).jump(drop_it);
        self.pace(&mut a, pace, go, drop_it);
        self.slow(&mut a, slow);
        a.bind(drop_it).mov(R0, Action::Drop as i32).exit();
        Ok(a.assemble()?)
    }

    /// New orders, if there are any; the frame of this run is dropped.
    fn slow(&self, a: &mut Assembler, slow: Label) {
        let nothing = a.label();
        a.bind(slow);
        a.load(Size::Double, R6, STATE, state::CHANGE).load(Size::Double, R2, STATE, state::CHANGE_SEEN);
        a.jump_if(Condition::Equal, R6, R2, nothing);
        for (from, to) in [
            (state::NEW_DUE, state::DUE),
            (state::NEW_GAP, state::GAP),
            (state::NEW_GAP_PART, state::GAP_PART),
            (state::NEW_DIVISOR, state::DIVISOR),
            (state::NEW_PACED, state::PACED),
            (state::NEW_END, state::END),
        ] {
            a.load(Size::Double, R1, STATE, from).store(Size::Double, STATE, to, R1);
        }
        a.store(Size::Double, STATE, state::PART, 0).store(Size::Double, STATE, state::LATE_CODE, 0);
        a.store(Size::Double, STATE, state::CHANGED_AT, POSITION).store(
            Size::Double,
            STATE,
            state::LAST_LATE,
            0,
        );
        a.call(Helper::KtimeNs).store(Size::Double, STATE, state::NOW, R0);
        a.store(Size::Double, STATE, state::CHANGE_SEEN, R6);
        a.bind(nothing).mov(R0, Action::Drop as i32).exit();
    }

    /// Waits for the frame's due time, notes its lateness, and sets the next one's due time.
    fn pace(&self, a: &mut Assembler, pace: Label, go: Label, drop_it: Label) {
        let due = a.label();
        a.bind(pace).load(Size::Double, R7, STATE, state::DUE);
        a.call(Helper::KtimeNs).jump_if(Condition::GreaterOrEqual, R0, R7, due);
        a.mov(R1, R7).sub(R1, R0).jump_if(Condition::Greater, R1, NEAR_NS, drop_it);
        for _ in 1..LOOKS {
            a.call(Helper::KtimeNs).jump_if(Condition::GreaterOrEqual, R0, R7, due);
        }
        a.jump(drop_it);
        a.bind(due).store(Size::Double, STATE, state::NOW, R0).mov(R1, R0).sub(R1, R7);
        gap_error(a);
        lateness(a, self.template.is_signed());
        let whole = a.label();
        a.load(Size::Double, R1, STATE, state::GAP).add(R7, R1);
        a.load(Size::Double, R1, STATE, state::PART)
            .load(Size::Double, R2, STATE, state::GAP_PART)
            .add(R1, R2);
        a.load(Size::Double, R2, STATE, state::DIVISOR).jump_if(Condition::Less, R1, R2, whole);
        a.sub(R1, R2).add(R7, 1);
        a.bind(whole).store(Size::Double, STATE, state::PART, R1).store(Size::Double, STATE, state::DUE, R7);
        a.jump(go);
    }

    /// Goes to the stream whose turn it is.
    fn streams(&self, a: &mut Assembler, places: &mut Places, broken: Label) -> Result<(), Obstacle> {
        let streams = self.template.streams();
        let full = || cannot("more varying fields than fit into the program's memory");
        if streams.len() == 1 {
            return self.stream(a, places, 0, Number::Position, broken).ok_or_else(full);
        }
        let count = match self.template.turns() {
            Rota::Pattern { modulus, .. } => *modulus,
            _ => Modulus::new(streams.len() as u64),
        };
        let turns = Turns {
            stream: 0,
            number: Number::Position,
            flows: None,
            every: Modulus::new(1),
            count: Some(count),
        };
        // The rota's turn is that of the position, whatever the stream's own number is.
        self.turn_of_position(a, places, &turns).ok_or_else(full)?;
        if matches!(self.template.turns(), Rota::Pattern { .. }) {
            emit::address(a, R1, self.tables, self.rota);
            a.shl(R2, 3).add(R1, R2).load(Size::Double, R2, R1, 0);
        }
        let labels: Vec<Label> = streams.iter().map(|_| a.label()).collect();
        for (index, label) in labels.iter().enumerate() {
            a.jump_if(Condition::Equal, R2, index as i32, *label);
        }
        a.jump(broken);
        for (index, label) in labels.iter().enumerate() {
            a.bind(*label);
            let at = places.number(index).ok_or_else(full)?;
            self.stream(a, places, index, Number::At(at), broken).ok_or_else(full)?;
        }
        Ok(())
    }

    fn turn_of_position(&self, a: &mut Assembler, places: &mut Places, turns: &Turns) -> Option<()> {
        let count = turns.count.as_ref()?;
        if count.divisor().is_power_of_two() {
            return turns.emit(a, places);
        }
        // Streams may be many and their numbers differ from the position, so this one turn is a division.
        a.mov(R2, POSITION);
        emit::alu(a, Alu::Remainder, R2, count.divisor(), R1);
        // True already, but the verifier does not know remainders.
        let inside = a.label();
        emit::jump_if(a, Condition::Less, R2, count.divisor(), R1, inside);
        a.mov(R2, 0).bind(inside);
        Some(())
    }

    /// One stream's frame, to the end.
    fn stream(
        &self,
        a: &mut Assembler,
        places: &mut Places,
        index: usize,
        number: Number,
        broken: Label,
    ) -> Option<()> {
        let stream = &self.template.streams()[index];
        self.payload(a, index, broken);
        self.headers(a, stream);
        self.shape(a, places, index, number)?;
        let shared = |variation: &Variation| is_shared(stream, variation);
        let context =
            Context { stream: index, number, tables: self.tables, base: stream.base(), shared: &shared };
        for (variation, list_at) in stream.variations().iter().zip(&self.lists[index]) {
            fields::vary(a, places, variation, *list_at, &context)?;
        }
        if let Some(at) = stream.signature_at() {
            fields::sign(a, at as i16, index, self.numbering);
        }
        if let Some(at) = stream.network_checksum_at() {
            emit::finish(a, NETWORK, R1, false);
            emit::store_word(a, at as i16, 2, NETWORK);
        }
        if let Some(at) = stream.transport_checksum_at() {
            emit::finish(a, TRANSPORT, R1, stream.is_udp());
            emit::store_word(a, at as i16, 2, TRANSPORT);
        }
        if let Number::At(at) = number {
            a.load(Size::Double, R1, STATE, at).add(R1, 1).store(Size::Double, STATE, at, R1);
        }
        self.leave(a, stream, broken);
        Some(())
    }

    /// What the stream has behind the bytes that are written one by one.
    fn payload(&self, a: &mut Assembler, index: usize, broken: Label) {
        let (at, length) = self.payloads[index];
        if length == 0 {
            return;
        }
        emit::address(a, R3, self.tables, at);
        a.mov(R1, R6).mov(R2, self.written as i32).mov(R4, length as i32).call(Helper::XdpStoreBytes);
        a.jump_if(Condition::NotEqual, R0, 0, broken);
        // Whether addresses outlive the call is the kernel's to change.
        a.load(Size::Word, FRAME, R6, context::DATA).load(Size::Word, R2, R6, context::DATA_END);
        a.mov(R1, FRAME).add(R1, self.longest as i32).jump_if(Condition::Greater, R1, R2, broken);
    }

    /// The base's first bytes.
    fn headers(&self, a: &mut Assembler, stream: &Stream) {
        let base = &stream.base()[..self.written.min(stream.base().len())];
        let mut at = 0;
        for (bytes, size) in [(8, Size::Double), (4, Size::Word), (2, Size::Half), (1, Size::Byte)] {
            while base.len() - at >= bytes {
                let mut word = [0; 8];
                word[..bytes].copy_from_slice(&base[at..at + bytes]);
                emit::load(a, R1, u64::from_le_bytes(word));
                a.store(size, FRAME, at as i16, R1);
                at += bytes;
            }
        }
    }

    /// The sums to begin with, the lengths in the headers, and the frame's own (on the stack).
    fn shape(&self, a: &mut Assembler, places: &mut Places, index: usize, number: Number) -> Option<()> {
        let stream = &self.template.streams()[index];
        let has_sums = (stream.network_checksum_at().is_some(), stream.transport_checksum_at().is_some());
        let [shape] = stream.shapes() else {
            return self.one_of_shapes(a, places, index, number);
        };
        if has_sums.0 {
            emit::load(a, NETWORK, shape.network_sum.into());
        }
        if has_sums.1 || stream.signature_at().is_some() {
            emit::load(a, TRANSPORT, shape.transport_sum.into());
        }
        for (at, value) in [
            (stream.network_length_at(), shape.network_length),
            (stream.transport_length_at(), shape.transport_length),
        ] {
            if let Some(at) = at {
                a.mov(R1, i32::from(value));
                emit::store_word(a, at as i16, 2, R1);
            }
        }
        Some(())
    }

    fn one_of_shapes(
        &self,
        a: &mut Assembler,
        places: &mut Places,
        index: usize,
        number: Number,
    ) -> Option<()> {
        let stream = &self.template.streams()[index];
        let turns = |count| Turns { stream: index, number, flows: None, every: Modulus::new(1), count };
        match stream.order() {
            Selection::Only => _ = a.mov(R2, 0),
            Selection::Cycle { modulus, .. } => {
                turns(Some(*modulus)).emit(a, places)?;
            }
            Selection::Random { seed, count } => {
                turns(None).emit(a, places)?;
                emit::spread(a, R2, R1, *seed);
                emit::span(a, *count);
                // True already, but the verifier cannot know.
                let inside = a.label();
                emit::jump_if(a, Condition::Less, R2, *count, R1, inside);
                a.mov(R2, 0).bind(inside);
            }
        };
        emit::address(a, R4, self.tables, self.shapes[index]);
        a.mul(R2, (SHAPE_WORDS * 8) as i32).add(R4, R2);
        a.load(Size::Double, R1, R4, 0).store(Size::Double, R10, SHAPE, R1);
        for (at, word) in [(stream.network_length_at(), 8), (stream.transport_length_at(), 16)] {
            if let Some(at) = at {
                a.load(Size::Double, R1, R4, word);
                emit::store_word(a, at as i16, 2, R1);
            }
        }
        a.load(Size::Double, NETWORK, R4, 24).load(Size::Double, TRANSPORT, R4, 32);
        Some(())
    }

    /// Cuts the frame to its length, counts it and hands it over.
    fn leave(&self, a: &mut Assembler, stream: &Stream, broken: Label) {
        match stream.shapes() {
            [shape] if usize::from(shape.length) == self.longest => {}
            [shape] => {
                a.mov(R1, R6).mov(R2, i32::from(shape.length) - self.longest as i32);
                a.call(Helper::XdpAdjustTail).jump_if(Condition::NotEqual, R0, 0, broken);
            }
            _ => {
                let whole = a.label();
                a.load(Size::Double, R2, R10, SHAPE).sub(R2, self.longest as i32);
                a.jump_if(Condition::Equal, R2, 0, whole).mov(R1, R6);
                a.call(Helper::XdpAdjustTail).jump_if(Condition::NotEqual, R0, 0, broken);
                a.bind(whole);
            }
        }
        if self.length.is_none() {
            a.load(Size::Double, R1, STATE, state::BYTES);
            match stream.shapes() {
                [shape] => a.add(R1, i32::from(shape.length)),
                _ => a.load(Size::Double, R2, R10, SHAPE).add(R1, R2),
            };
            a.store(Size::Double, STATE, state::BYTES, R1);
        }
        a.add(POSITION, 1).store(Size::Double, STATE, state::NEXT, POSITION);
        a.mov(R1, self.interface as i32).mov(R2, 0).call(Helper::Redirect).exit();
    }
}

/// Whether another variation has bytes of the same word.
fn is_shared(stream: &Stream, variation: &Variation) -> bool {
    let run = |v: &Variation| (usize::from(v.offset), usize::from(v.offset) + usize::from(v.width));
    let (from, to) = run(variation);
    let overlaps = |other: &&Variation| run(other).0 < to && from < run(other).1;
    stream.variations().iter().filter(overlaps).count() > 1
}

/// R1 = nanoseconds late: how far the gap to the frame before was from the one that was asked for is the
/// difference of both latenesses. R1 stays.
fn gap_error(a: &mut Assembler) {
    let (ahead, first, small) = (a.label(), a.label(), a.label());
    a.load(Size::Double, R2, STATE, state::LAST_LATE).mov(R5, R1).mov(R4, R1).add(R4, 1);
    a.store(Size::Double, STATE, state::LAST_LATE, R4).jump_if(Condition::Equal, R2, 0, first);
    a.sub(R4, R2).mov(R1, R4).jump_if(Condition::SignedGreaterOrEqual, R1, 0, ahead).negate(R1).bind(ahead);
    a.load(Size::Double, R2, STATE, state::GAP_ERROR_SUM).add(R2, R1);
    a.store(Size::Double, STATE, state::GAP_ERROR_SUM, R2).load(
        Size::Double,
        R2,
        STATE,
        state::GAP_ERROR_MAX,
    );
    a.jump_if(Condition::LessOrEqual, R1, R2, small).store(Size::Double, STATE, state::GAP_ERROR_MAX, R1);
    a.bind(small);
    count_log2(a, state::GAP_ERRORS);
    a.bind(first).mov(R1, R5);
}

/// Counts R1 in the bucket of its power of two, which R3 then has. R2 and R4 are lost.
fn count_log2(a: &mut Assembler, buckets: i16) {
    a.mov(R2, R1).mov(R3, 0);
    for bits in [32, 16, 8, 4, 2, 1] {
        let small = a.label();
        a.mov(R4, R2).shr(R4, bits).jump_if(Condition::Equal, R4, 0, small);
        a.add(R3, bits).mov(R2, R4).bind(small);
    }
    a.mov(R4, R3).and(R4, 63).shl(R4, 3).mov(R2, STATE).add(R2, R4);
    a.load(Size::Double, R4, R2, buckets).add(R4, 1).store(Size::Double, R2, buckets, R4);
}

/// R1 = nanoseconds late: counts them, and makes the code of a signature.
fn lateness(a: &mut Assembler, is_signed: bool) {
    count_log2(a, state::LATENESS);
    if !is_signed {
        return;
    }
    // As `wire::signature::lateness_code`.
    let (done, most) = (a.label(), a.label());
    a.mov(R2, R1).jump_if(Condition::Less, R1, 2048, done);
    a.mov(R2, 0xffff).sub(R3, 10).jump_if(Condition::Greater, R3, 31, most);
    a.mov(R2, R3).sub(R2, 1).mov(R4, R1).shr(R4, R2).and(R4, 0x7ff).mov(R2, R3).shl(R2, 11).or(R2, R4);
    a.bind(most).bind(done).store(Size::Double, STATE, state::LATE_CODE, R2);
}
