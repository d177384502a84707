//! Rules for what is written to the module. The module has no room to check its settings, so values that it
//! would handle wrongly are refused here, before anything is written (docs/fpga-reference.md).
//!
//! ```text
//!   write ─► does it fit its fields, and its own rule? ─► what is known ─┬─► the generator begins: all that it rests on is known, and fits together
//!                                                                       └─► the last write: what is known fits together
//! ```
//!
//! Settings and memories cannot be read back. What other programs wrote is therefore unknown, and the generator
//! is not started on it.

use super::register::{Field, Register};
use super::registers::{
    COMMAND, COMMAND_GAP_SET, CONTROL, CONTROL_FIRST_FROM, CONTROL_FROM, CONTROL_GAPS_FROM_LIST, CONTROL_RUN,
    FIRST_TIME, FRAMES, GAP_DENOMINATOR, GAP_NUMERATOR, GAP_WHOLE, LAST_ENTRY, LISTEN, LISTEN_SIGNATURE_AT,
    LISTEN_SIGNED, MEMORY, MEMORY_ADDRESS, MEMORY_DATA, MEMORY_WHICH, READ, READ_AT, READ_WHAT,
};
use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use wire::signature::LENGTH as SIGNATURE;

/// Memories of the generator, and what is in them (hdl/rtl/generator_pkg.sv).
pub const BEATS: u64 = 0;
pub const TABLE: u64 = 1;
pub const FIELDS: u64 = 2;
pub const GAPS: u64 = 3;
pub const SIZES: u64 = 4;
pub const VALUES: u64 = 5;
pub const STREAMS: u64 = 6;
/// What each is called, and its words.
const MEMORIES: [(&str, u64); 7] = [
    ("beats", 2 * STORED_BEATS),
    ("table", 8 * TEMPLATES),
    ("fields", 8 * VARYING),
    ("gaps", 4_096),
    ("sizes", 4_096),
    ("values", 256),
    ("streams", 32),
];
const STORED_BEATS: u64 = 4_096;
const TEMPLATES: u64 = 32;
const VARYING: u64 = 4;
/// Bytes of a frame without FCS: the shortest of Ethernet, and what the generator can count.
const LENGTHS: RangeInclusive<u64> = 60..=8_191;
/// Halfwords from the start of a frame: behind the addresses' first eight bytes, and no farther than eight bits
/// tell.
const SIGNATURES: RangeInclusive<u64> = 4..=255;
/// Ticks that are asked for are below 2⁶².
const LAST_TICK: u64 = (1 << 62) - 1;
/// Words of a template in the table.
const LENGTH: u64 = 1;
const START: u64 = 2;
const IP_LENGTH: u64 = 3;
const L4_LENGTH: u64 = 4;
const CHECKS: u64 = 5;
const STORED: u64 = 6;
/// Bits of these words that mean something.
const TABLE_BITS: [u32; 8] = [u32::MAX, 0x1fff, 0xffbe_1fff, 0xff80_00ff, 0xffc0_00ff, 0xff80_ff80, 0xff, 0];
/// Words of a field that varies.
const USED_BY: u64 = 0;
const FLAGS: u64 = 1;
const FIRST: u64 = 2;
const LAST: u64 = 3;
const STEP: u64 = 4;
const BEGIN: u64 = 5;
const FLAG_BITS: u32 = 0x1fff;
/// Modes of a field.
const LIST: u64 = 1;
const RANDOM: u64 = 2;
/// What gaps may be reckoned from: the start of the frame before, or the time at which it was due.
const FROM: RangeInclusive<u64> = 2..=3;

/// Fields that cannot have all values that fit them.
const RANGES: [(&Register, &Field, RangeInclusive<u64>); 6] = [
    (&GAP_DENOMINATOR, &GAP_DENOMINATOR.fields[0], 1..=u32::MAX as u64),
    (&FIRST_TIME, &FIRST_TIME.fields[0], 0..=LAST_TICK),
    (&MEMORY, &MEMORY_WHICH, 0..=STREAMS),
    (&MEMORY_ADDRESS, &MEMORY_ADDRESS.fields[0], 0..=2 * STORED_BEATS - 1),
    (&CONTROL, &CONTROL_FIRST_FROM, 0..=1),
    (&READ, &READ_WHAT, 0..=2),
];
/// What they are after reset, as far as rules need it (hdl/regs/module.rdl).
const RESET: [(&Register, u64); 9] = [
    (&CONTROL, 2 << 3),
    (&FIRST_TIME, 0),
    (&LAST_ENTRY, 0),
    (&FRAMES, 0),
    (&GAP_WHOLE, 84),
    (&GAP_NUMERATOR, 0),
    (&GAP_DENOMINATOR, 1),
    (&MEMORY, 0),
    (&MEMORY_ADDRESS, 0),
];

/// Something that must not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} = {value}: {why}")]
pub struct Refused {
    /// `gap_numerator`, `control.from`, `table, template 3, word 1`.
    pub what: String,
    pub value: u64,
    pub why: String,
}

fn refused(what: impl Into<String>, value: u64, why: impl Into<String>) -> Refused {
    Refused { what: what.into(), value, why: why.into() }
}

/// A value that is not among those allowed.
fn within(what: impl Into<String>, value: u64, range: &RangeInclusive<u64>, of: &str) -> Result<(), Refused> {
    if range.contains(&value) {
        return Ok(());
    }
    let because = if of.is_empty() { String::new() } else { format!(", {of}") };
    Err(refused(what, value, format!("allowed are {} to {}{because}", range.start(), range.end())))
}

/// What is known of a module's settings and memories, and whether it may be.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    settings: HashMap<u32, u64>,
    /// By memory and address.
    words: HashMap<(u64, u64), u32>,
}

impl Rules {
    /// Of a module that others may have set before.
    pub fn unknown() -> Self {
        Self::default()
    }

    /// Of one that was just reset: its memories hold anything.
    pub fn after_reset() -> Self {
        let settings = RESET.iter().map(|(register, value)| (register.address, *value));
        Self { settings: settings.collect(), words: HashMap::new() }
    }

    /// Whether these may be written, one after the other, and leave nothing behind that does not fit together.
    ///
    /// # Errors
    /// The first that may not.
    pub fn check<'a>(mut self, writes: impl IntoIterator<Item = (&'a Register, u64)>) -> Result<(), Refused> {
        writes.into_iter().try_for_each(|(register, value)| self.write(register, value))?;
        self.gap(false)?;
        if self.is_running() {
            return Ok(());
        }
        (0..TEMPLATES).try_for_each(|template| self.template(template, None))?;
        (0..VARYING).try_for_each(|field| self.field(field, None))
    }

    fn write(&mut self, register: &Register, value: u64) -> Result<(), Refused> {
        single(register, value)?;
        if *register == MEMORY_DATA {
            return self.word(value as u32);
        }
        if *register == COMMAND && COMMAND_GAP_SET.of(value) == 1 {
            self.gap(true)?;
        }
        self.settings.insert(register.address, value);
        if *register == CONTROL && CONTROL_RUN.of(value) == 1 {
            self.begins(value)?;
        }
        Ok(())
    }

    fn is_running(&self) -> bool {
        self.setting(&CONTROL).is_some_and(|control| CONTROL_RUN.of(control) == 1)
    }

    fn setting(&self, register: &Register) -> Option<u64> {
        self.settings.get(&register.address).copied()
    }

    /// A setting that something rests on.
    fn needed(&self, register: &Register) -> Result<u64, Refused> {
        self.setting(register).ok_or_else(|| unknown(register.name))
    }

    fn known(&self, memory: u64, at: u64) -> Option<u64> {
        self.words.get(&(memory, at)).map(|word| u64::from(*word))
    }

    fn needed_word(&self, memory: u64, at: u64) -> Result<u64, Refused> {
        self.known(memory, at).ok_or_else(|| unknown(&name(memory, at)))
    }

    /// One word into the memory and at the address that were written last.
    fn word(&mut self, value: u32) -> Result<(), Refused> {
        let place = (self.setting(&MEMORY), self.setting(&MEMORY_ADDRESS));
        let (Some(memory), Some(at)) = place else {
            let why =
                "where it goes is not known: write memory and memory_address before it, in the same command";
            return Err(refused("memory_data", value.into(), why));
        };
        let (called, words) = MEMORIES[memory as usize];
        within("memory_address", at, &(0..=words - 1), &format!("the words of memory {memory} ({called})"))?;
        if self.is_running() {
            let why = "the generator runs, and its memories are written before";
            return Err(refused(name(memory, at), value.into(), why));
        }
        check_word(memory, at, value)?;
        self.words.insert((memory, at), value);
        self.settings.insert(MEMORY_ADDRESS.address, at + 1);
        Ok(())
    }

    /// The gap registers beside each other.
    fn gap(&self, needed: bool) -> Result<(), Refused> {
        let all = [&GAP_WHOLE, &GAP_NUMERATOR, &GAP_DENOMINATOR];
        if needed {
            all.iter().try_for_each(|register| self.needed(register).map(drop))?;
        }
        let [whole, numerator, denominator] = all.map(|register| self.setting(register));
        if let (Some(numerator), Some(denominator)) = (numerator, denominator) {
            let of = format!("below gap_denominator, which is {denominator}");
            within("gap_numerator", numerator, &(0..=denominator - 1), &of)?;
        }
        match (whole, numerator) {
            (Some(whole), Some(1..)) => {
                let of = "as some gaps of a fraction are one tick longer";
                within("gap_whole", whole, &(0..=u64::from(u32::MAX) - 1), of)
            }
            _ => Ok(()),
        }
    }

    /// The generator begins: everything that it will look at.
    fn begins(&self, control: u64) -> Result<(), Refused> {
        within("control.from", CONTROL_FROM.of(control), &FROM, "what gaps are reckoned from")?;
        let has_list = CONTROL_GAPS_FROM_LIST.of(control) == 1;
        if CONTROL_FIRST_FROM.of(control) == 1 {
            self.needed(&FIRST_TIME)?;
        }
        if !has_list {
            self.gap(true)?;
        }
        self.needed(&FRAMES)?;
        // The shortest frame of each template.
        let mut used: BTreeMap<u64, u64> = BTreeMap::new();
        for entry in 0..=self.needed(&LAST_ENTRY)? {
            let size = self.needed_word(SIZES, entry)?;
            if has_list {
                self.needed_word(GAPS, entry)?;
            }
            let (template, length) = (size >> 16, size & 0x1fff);
            let own = self.needed_word(TABLE, 8 * template + LENGTH)?;
            let length = if length == 0 { own } else { length };
            let least = used.entry(template).or_insert(length);
            *least = length.min(*least);
        }
        used.iter().try_for_each(|(template, length)| self.template(*template, Some(*length)))?;
        (0..VARYING).try_for_each(|field| self.field(field, Some(&used)))
    }

    /// A template beside what else is known; of one that is used all must be known, and all has a place in its
    /// shortest frame.
    fn template(&self, template: u64, used: Option<u64>) -> Result<(), Refused> {
        let at = |word| 8 * template + word;
        if used.is_some() {
            (0..8)
                .filter(|word| TABLE_BITS[*word as usize] != 0)
                .try_for_each(|word| self.needed_word(TABLE, at(word)).map(drop))?;
        }
        let length = used.or_else(|| self.known(TABLE, at(LENGTH)));
        let start = self.known(TABLE, at(START));
        if let (Some(length), Some(start)) = (length, start) {
            self.signature(template, length, start, used.is_some())?;
        }
        for (word, shift) in [(IP_LENGTH, 23), (L4_LENGTH, 23), (CHECKS, 23), (CHECKS, 7)] {
            let Some(value) = self.known(TABLE, at(word)) else { continue };
            let Some(length) = length.filter(|_| value >> (shift + 8) & 1 == 1) else { continue };
            let of = format!("halfwords inside of a frame of {length} bytes");
            within(name(TABLE, at(word)), value >> shift & 0xff, &(0..=length / 2 - 1), &of)?;
        }
        for (word, uses) in [(IP_LENGTH, 1 << 31), (L4_LENGTH, 1 << 31 | 1 << 22)] {
            let Some(value) = self.known(TABLE, at(word)).filter(|value| value & uses != 0) else { continue };
            let Some(length) = length else { continue };
            let of = format!("bytes that a length does not count, of {length}");
            within(name(TABLE, at(word)), value & 0xff, &(0..=length), &of)?;
        }
        let stored = self.known(TABLE, at(STORED));
        let (Some(stored), Some(start)) = (stored, start) else { return Ok(()) };
        let first = start & 0x1fff;
        let of = format!("beats of a memory of {STORED_BEATS}, from beat {first} on");
        within(name(TABLE, at(STORED)), stored, &(0..=STORED_BEATS - first), &of)?;
        if let Some(length) = used {
            let beats = first..first + stored.min(length.div_ceil(8));
            beats
                .flat_map(|beat| [2 * beat, 2 * beat + 1])
                .try_for_each(|at| self.needed_word(BEATS, at).map(drop))?;
        }
        Ok(())
    }

    fn signature(&self, template: u64, length: u64, start: u64, used: bool) -> Result<(), Refused> {
        if start >> 31 == 0 {
            return Ok(());
        }
        let last = ((length - SIGNATURE as u64) / 2).min(*SIGNATURES.end());
        let of = format!("halfwords at which a signature is inside of a frame of {length} bytes");
        let what = name(TABLE, 8 * template + START);
        within(what, start >> 23 & 0xff, &(*SIGNATURES.start()..=last), &of)?;
        if used {
            self.needed_word(STREAMS, start >> 17 & 0x1f)?;
        }
        Ok(())
    }

    /// A field beside what else is known; if the generator begins, with the templates that are used, and their
    /// shortest frames.
    fn field(&self, field: u64, used: Option<&BTreeMap<u64, u64>>) -> Result<(), Refused> {
        let at = |word| 8 * field + word;
        if let Some(used) = used {
            let templates = self.needed_word(FIELDS, at(USED_BY))?;
            let mine = |template: &u64| templates >> template & 1 == 1;
            let lengths = used.iter().filter(|(template, _)| mine(template)).map(|(_, length)| *length);
            let Some(length) = lengths.min() else { return Ok(()) };
            (FLAGS..=BEGIN).try_for_each(|word| self.needed_word(FIELDS, at(word)).map(drop))?;
            let flags = self.needed_word(FIELDS, at(FLAGS))?;
            let halfwords = 1 + (flags >> 10 & 1);
            let of = format!("halfwords inside of a frame of {length} bytes");
            within(name(FIELDS, at(FLAGS)), flags & 0xff, &(0..=length / 2 - halfwords), &of)?;
        }
        let words = [FLAGS, FIRST, LAST, STEP, BEGIN].map(|word| self.known(FIELDS, at(word)));
        let [Some(flags), Some(first), Some(last), Some(step), Some(begin)] = words else { return Ok(()) };
        let is_used = self.known(FIELDS, at(USED_BY)).is_none_or(|templates| templates != 0);
        if !is_used {
            return Ok(());
        }
        match flags >> 11 {
            RANDOM if begin == 0 => Err(refused(
                name(FIELDS, at(BEGIN)),
                0,
                "allowed are 1 to 4294967295, as a seed of 0 stays 0",
            )),
            RANDOM => Ok(()),
            mode => {
                if mode == LIST {
                    let of = "places of the list of values";
                    let places = [(FIRST, first), (LAST, last), (BEGIN, begin)];
                    places.iter().try_for_each(|(word, value)| {
                        within(name(FIELDS, at(*word)), *value, &(0..=255), of)
                    })?;
                    let of = "from the list's first place in use to its last";
                    within(name(FIELDS, at(FIRST)), first, &(0..=last), of)?;
                    within(name(FIELDS, at(BEGIN)), begin, &(0..=last), of)?;
                }
                for (word, from) in [(FIRST, first), (BEGIN, begin)] {
                    let way = u64::from((last as u32).wrapping_sub(from as u32));
                    if way != 0 && (step == 0 || way % step != 0) {
                        let why = format!(
                            "with steps of {step} it never comes to the last, {last}: give one from which it does"
                        );
                        return Err(refused(name(FIELDS, at(word)), from, why));
                    }
                }
                if let (LIST, Some(_)) = (mode, used) {
                    let mut places = (first.min(begin)..=last).step_by(step.max(1) as usize);
                    places.try_for_each(|place| self.needed_word(VALUES, place).map(drop))?;
                }
                Ok(())
            }
        }
    }
}

/// What is wrong with a write by itself.
fn single(register: &Register, value: u64) -> Result<(), Refused> {
    if !register.is_written() {
        return Err(refused(register.name, value, "it can only be read"));
    }
    let greatest = register.greatest();
    if value & !greatest != 0 {
        return match register.fields {
            [_] => within(register.name, value, &(0..=greatest), ""),
            _ => Err(refused(
                register.name,
                value,
                format!("allowed are the bits of its fields, {greatest:#x}"),
            )),
        };
    }
    for (_, field, range) in RANGES.iter().filter(|(of, ..)| *of == register) {
        within(of(register, field), field.of(value), range, "")?;
    }
    if *register == READ && READ_WHAT.of(value) == 2 {
        within("read.at", READ_AT.of(value), &(0..=MEMORIES[STREAMS as usize].1 - 1), "the streams")?;
    }
    if *register == LISTEN && LISTEN_SIGNED.of(value) == 1 {
        within(
            "listen.signature_at",
            LISTEN_SIGNATURE_AT.of(value),
            &SIGNATURES,
            "halfwords from the start",
        )?;
    }
    Ok(())
}

/// `gap_denominator`, `control.from`.
fn of(register: &Register, field: &Field) -> String {
    match field.name {
        "value" => register.name.to_owned(),
        name => format!("{}.{name}", register.name),
    }
}

/// What is wrong with a word of a memory by itself.
fn check_word(memory: u64, at: u64, value: u32) -> Result<(), Refused> {
    let what = name(memory, at);
    let (word, value) = (at % 8, u64::from(value));
    let bits = |mask: u32| match value & !u64::from(mask) {
        0 => Ok(()),
        _ => Err(refused(what.clone(), value, format!("allowed are the bits {mask:#x}"))),
    };
    let bytes = "bytes of a frame without FCS";
    match (memory, word) {
        (TABLE, LENGTH) => within(what, value, &LENGTHS, bytes),
        (TABLE, _) => {
            bits(TABLE_BITS[word as usize])?;
            match word {
                START => within(what, value & 0x1fff, &(0..=STORED_BEATS - 1), "beats"),
                _ => Ok(()),
            }
        }
        (FIELDS, FLAGS) => {
            bits(FLAG_BITS)?;
            within(
                what,
                value >> 11,
                &(0..=RANDOM),
                "modes: 0 counts, 1 goes through the list, 2 is pseudo-random",
            )
        }
        (SIZES, _) => {
            bits(0x1f << 16 | 0x1fff)?;
            match value & 0x1fff {
                0 => Ok(()),
                length => within(what, length, &LENGTHS, &format!("{bytes}, or 0 for the template's")),
            }
        }
        _ => Ok(()),
    }
}

/// `table, template 3, word 1`.
fn name(memory: u64, at: u64) -> String {
    let (called, _) = MEMORIES[memory as usize];
    match memory {
        TABLE => format!("{called}, template {}, word {}", at / 8, at % 8),
        FIELDS => format!("{called}, field {}, word {}", at / 8, at % 8),
        _ => format!("{called}, word {at}"),
    }
}

/// Nobody can tell what is there.
fn unknown(what: &str) -> Refused {
    let why = format!(
        "the generator rests on '{what}', which is not known and cannot be read back: write it before, in the same command"
    );
    refused("control.run", 1, why)
}

#[cfg(test)]
mod tests;
