//! What changes from frame to frame, as program: where each varying field stands, its value, its place in the
//! frame.
//!
//! Frames are made one after another, so no field needs a division: each keeps its turn in the state and moves
//! on by one.

use super::emit::{self, FRAME, NETWORK, POSITION, STATE, TRANSPORT};
use super::state::{MOST_PLACES, PLACES};
use bpf::{Alu, Assembler, Condition, Register, Register::*, Size};
use wire::signature;
use wire::template::{Modulus, ValueSource, Variation};

use super::state::{CLOCK_OFFSET, LATE_CODE, NOW};

/// Words of the state that fields use, and how each begins.
#[derive(Debug, Default)]
pub struct Places {
    begins: Vec<Begin>,
}

/// What a word is at the stream's frame i.
#[derive(Clone, Copy, Debug)]
struct Begin {
    stream: usize,
    what: Word,
}

#[derive(Clone, Copy, Debug)]
enum Word {
    /// i itself.
    Number,
    /// i mod flows.
    Flow(Modulus),
    /// Frames since the value's number last moved.
    Held { flows: Option<Modulus>, every: Modulus },
    /// The value's number, modulo `count` where there is one.
    Turn { flows: Option<Modulus>, every: Modulus, count: Option<Modulus> },
}

impl Places {
    /// `None` if there are too many.
    fn take(&mut self, stream: usize, what: Word) -> Option<i16> {
        if self.begins.len() >= MOST_PLACES {
            return None;
        }
        self.begins.push(Begin { stream, what });
        Some(PLACES + (self.begins.len() as i16 - 1) * 8)
    }

    /// A word that counts the stream's frames.
    pub fn number(&mut self, stream: usize) -> Option<i16> {
        self.take(stream, Word::Number)
    }

    /// What each word is when the stream's next frame is `number(stream)`.
    pub fn at<'a>(&'a self, number: impl Fn(usize) -> u64 + 'a) -> impl Iterator<Item = (i16, u64)> + 'a {
        self.begins.iter().enumerate().map(move |(index, begin)| {
            let i = number(begin.stream);
            let turn = |flows: &Option<Modulus>| flows.as_ref().map_or(i, |flows| flows.of(i));
            let value = match &begin.what {
                Word::Number => i,
                Word::Flow(flows) => flows.of(i),
                Word::Held { flows, every } => every.of(turn(flows)),
                Word::Turn { flows, every, count } => {
                    let number = every.quotient(turn(flows));
                    count.as_ref().map_or(number, |count| count.of(number))
                }
            };
            (PLACES + index as i16 * 8, value)
        })
    }
}

/// Where a stream's number i is while its frame is made.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// There is one stream: the position itself.
    Position,
    /// In this word of the state.
    At(i16),
}

impl Number {
    fn load(self, a: &mut Assembler, dst: Register) {
        match self {
            Self::Position => a.mov(dst, POSITION),
            Self::At(at) => a.load(Size::Double, dst, STATE, at),
        };
    }
}

/// What is asked of a turn.
pub struct Turns {
    pub stream: usize,
    pub number: Number,
    pub flows: Option<Modulus>,
    pub every: Modulus,
    /// The turn is modulo this.
    pub count: Option<Modulus>,
}

impl Turns {
    /// R2 = this frame's turn, below `count` also by the verifier's word; moves on. Uses R1 and R3. `None` if
    /// there is no room.
    pub fn emit(&self, a: &mut Assembler, places: &mut Places) -> Option<()> {
        let every = self.every.divisor();
        let count = self.count.as_ref().map(Modulus::divisor);
        if count == Some(1) {
            a.mov(R2, 0);
            return Some(());
        }
        let is_plain = self.flows.is_none() && every == 1;
        match count {
            None if is_plain => {
                self.number.load(a, R2);
                return Some(());
            }
            Some(count) if is_plain && count.is_power_of_two() => {
                self.number.load(a, R2);
                emit::alu(a, Alu::And, R2, count - 1, R1);
                return Some(());
            }
            _ => {}
        }
        let what = Word::Turn { flows: self.flows, every: self.every, count: self.count };
        let at = places.take(self.stream, what)?;
        a.load(Size::Double, R2, STATE, at);
        if let Some(count) = count {
            let inside = a.label();
            emit::jump_if(a, Condition::Less, R2, count, R1, inside);
            a.mov(R2, 0).bind(inside);
        }
        self.advance(a, places, at, count)
    }

    /// Moves the turn on, of which R2 has this frame's.
    fn advance(&self, a: &mut Assembler, places: &mut Places, at: i16, count: Option<u64>) -> Option<()> {
        let every = self.every.divisor();
        let held = match every {
            1 => None,
            _ => Some(places.take(self.stream, Word::Held { flows: self.flows, every: self.every })?),
        };
        let done = a.label();
        if let Some(flows) = self.flows {
            let flow = places.take(self.stream, Word::Flow(flows))?;
            let on = a.label();
            a.load(Size::Double, R1, STATE, flow).add(R1, 1);
            emit::jump_if(a, Condition::Less, R1, flows.divisor(), R3, on);
            // The last flow: all begins again.
            a.mov(R1, 0).store(Size::Double, STATE, flow, R1).store(Size::Double, STATE, at, R1);
            if let Some(held) = held {
                a.store(Size::Double, STATE, held, R1);
            }
            a.jump(done).bind(on).store(Size::Double, STATE, flow, R1);
        }
        if let Some(held) = held {
            let on = a.label();
            a.load(Size::Double, R1, STATE, held).add(R1, 1);
            emit::jump_if(a, Condition::GreaterOrEqual, R1, every, R3, on);
            a.store(Size::Double, STATE, held, R1).jump(done);
            a.bind(on).mov(R1, 0).store(Size::Double, STATE, held, R1);
        }
        a.mov(R1, R2).add(R1, 1);
        if let Some(count) = count {
            let inside = a.label();
            emit::jump_if(a, Condition::Less, R1, count, R3, inside);
            a.mov(R1, 0).bind(inside);
        }
        a.store(Size::Double, STATE, at, R1).bind(done);
        Some(())
    }
}

/// Tables that programs look values up in: 64-bit words in one map.
#[derive(Debug, Default)]
pub struct Tables {
    pub words: Vec<u64>,
}

impl Tables {
    /// Offset in bytes of words that are added.
    pub fn add(&mut self, words: impl IntoIterator<Item = u64>) -> usize {
        let at = self.words.len() * 8;
        self.words.extend(words);
        at
    }
}

/// Where the tables are, while a program is written: the map is made before, since a program names it.
pub type TableMap<'a> = std::os::fd::BorrowedFd<'a>;

/// Writes one varying field: value, place in the frame, part of the checksums.
pub fn vary(
    a: &mut Assembler,
    places: &mut Places,
    variation: &Variation,
    list_at: usize,
    context: &Context<'_>,
) -> Option<()> {
    let count = match &variation.source {
        ValueSource::Increment { count, .. } => Some(*count),
        ValueSource::List { modulus, .. } => Some(*modulus),
        ValueSource::Random { .. } => None,
    };
    let turns = Turns {
        stream: context.stream,
        number: context.number,
        flows: variation.flows,
        every: variation.every,
        count,
    };
    turns.emit(a, places)?;
    match &variation.source {
        ValueSource::Increment { start, step, .. } => {
            if *step != 1 {
                emit::alu(a, Alu::Multiply, R2, *step, R1);
            }
            if *start != 0 {
                emit::alu(a, Alu::Add, R2, *start, R1);
            }
        }
        ValueSource::List { .. } => {
            emit::address(a, R1, context.tables, list_at);
            a.shl(R2, 3).add(R1, R2).load(Size::Double, R2, R1, 0);
        }
        ValueSource::Random { first, count, seed } => {
            emit::spread(a, R2, R1, *seed);
            emit::span(a, *count);
            if *first != 0 {
                emit::alu(a, Alu::Add, R2, *first, R1);
            }
        }
    }
    place(a, variation, context);
    Some(())
}

/// What fields of one stream have in common.
pub struct Context<'a> {
    pub stream: usize,
    pub number: Number,
    pub tables: TableMap<'a>,
    pub base: &'a [u8],
    /// Runs of other variations, by which this one's word may be shared.
    pub shared: &'a dyn Fn(&Variation) -> bool,
}

/// R2 = value: shifted, masked, added to the sums, put into the frame.
fn place(a: &mut Assembler, variation: &Variation, context: &Context<'_>) {
    let (at, bytes, mask) = (variation.offset as i16, variation.width, variation.mask);
    if variation.shift > 0 {
        a.shl(R2, i32::from(variation.shift));
    }
    emit::alu(a, Alu::And, R2, mask, R1);
    for (counts, sum) in [(variation.in_network, NETWORK), (variation.in_transport, TRANSPORT)] {
        if counts {
            emit::add_word(a, sum, R2, bytes, R3);
        }
    }
    let others = !mask & (u64::MAX >> (64 - u32::from(bytes) * 8));
    if others != 0 && (context.shared)(variation) {
        a.load(emit::size_of_word(bytes), R3, FRAME, at).to_big_endian(R3, emit::size_of_word(bytes));
        emit::alu(a, Alu::And, R3, others, R1);
        a.or(R2, R3);
    } else if others != 0 {
        let word = context.base[variation.offset as usize..][..usize::from(bytes)]
            .iter()
            .fold(0u64, |word, byte| word << 8 | u64::from(*byte));
        if word & others != 0 {
            emit::alu(a, Alu::Or, R2, word & others, R1);
        }
    }
    emit::store_word(a, at, bytes, R2);
}

/// Numbers in signatures: those of queue i of k are i, i + k, i + 2k, …, so that together they have no holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbering {
    pub queue: u32,
    pub queues: u32,
}

impl Numbering {
    pub const WHOLE: Self = Self { queue: 0, queues: 1 };
}

/// Writes the signature at `at` and adds it to the transport's sum.
pub fn sign(a: &mut Assembler, at: i16, stream: usize, numbering: Numbering) {
    // A: the number modulo 2⁴⁰, the stream, the lateness.
    a.mov(R1, POSITION);
    if numbering != Numbering::WHOLE {
        a.mul(R1, numbering.queues as i32).add(R1, numbering.queue as i32);
    }
    a.shl(R1, 24).load(Size::Double, R2, STATE, LATE_CODE).or(R1, R2);
    if stream > 0 {
        a.or(R1, (stream as i32 & 0xff) << 16);
    }
    // B: the version in the upper four bits, and the time.
    a.load(Size::Double, R2, STATE, NOW).load(Size::Double, R3, STATE, CLOCK_OFFSET).add(R2, R3);
    a.shl(R2, 4).shr(R2, 4).load_u64(R3, signature::VERSION << 60).or(R2, R3);
    for word in [R1, R2] {
        emit::add_word(a, TRANSPORT, word, 8, R3);
    }
    a.mov(R3, R1).load_u64(R4, signature::K1).xor(R3, R4).load_u64(R4, signature::K2).mul(R3, R4);
    a.xor(R3, R2).load_u64(R4, signature::K3).mul(R3, R4).shr(R3, 48).add(TRANSPORT, R3);
    emit::store_word(a, at, 8, R1);
    emit::store_word(a, at + 8, 8, R2);
    emit::store_word(a, at + 16, 2, R3);
}
