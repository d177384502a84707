//! Rules for what is written to the module. The module has no room to check its settings, so values that it
//! would handle wrongly are refused here, before anything is written (docs/fpga-reference.md).
//!
//! ```text
//!   write ─► does it fit its fields, and its own rule? ─► what is known ─┬─► the generator begins: all that it
//!                                                                       │   rests on is known, and fits
//!                                                                       │   together
//!                                                                       └─► the last write: what is known
//!                                                                           fits together
//! ```
//!
//! Settings and memories cannot be read back. What other programs wrote is therefore unknown, and the generator
//! is not started on it.

use super::register::{Field, Memory, Register, Word};
use super::registers::{
    ALL, BEATS, COMMAND, COMMAND_GAP_SET, CONTROL, CONTROL_FIRST_FROM, CONTROL_FROM, CONTROL_GAPS_FROM_LIST,
    CONTROL_RUN, FIELDS, FIELDS_BEGIN, FIELDS_FIRST, FIELDS_FLAGS, FIELDS_FLAGS_AT, FIELDS_FLAGS_MODE,
    FIELDS_FLAGS_WIDE, FIELDS_LAST, FIELDS_STEP, FIELDS_USED_BY, FIGURE_MISSING, FIRST_TIME, FRAMES,
    FROM_AT_TIME, GAP_DENOMINATOR, GAP_NUMERATOR, GAP_WHOLE, GAPS, LAST_ENTRY, LISTEN, LISTEN_SIGNATURE_AT,
    LISTEN_SIGNED, MEMORY, MEMORY_ADDRESS, MEMORY_DATA, MODE_LIST, MODE_RANDOM, READ, READ_AT, READ_WHAT,
    SIZES, SIZES_WORD_BYTES, SIZES_WORD_TEMPLATE, STREAMS, TABLE, TABLE_CHECKS, TABLE_CHECKS_IP,
    TABLE_CHECKS_IP_AT, TABLE_CHECKS_L4, TABLE_CHECKS_L4_AT, TABLE_IP_LENGTH, TABLE_IP_LENGTH_AT,
    TABLE_IP_LENGTH_ENABLE, TABLE_IP_LENGTH_UNCOUNTED, TABLE_L4_LENGTH, TABLE_L4_LENGTH_AT,
    TABLE_L4_LENGTH_ENABLE, TABLE_L4_LENGTH_PSEUDO, TABLE_L4_LENGTH_UNCOUNTED, TABLE_LENGTH,
    TABLE_LENGTH_BYTES, TABLE_START, TABLE_START_FIRST_BEAT, TABLE_START_SIGNATURE_AT, TABLE_START_SIGNED,
    TABLE_START_STREAM, TABLE_STORED, VALUES,
};
use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use wire::signature::LENGTH as SIGNATURE;

/// Beats that the generator stores.
const STORED_BEATS: u64 = TABLE_START_FIRST_BEAT.most + 1;
/// Bytes of a frame without FCS.
const LENGTHS: RangeInclusive<u64> = TABLE_LENGTH_BYTES.range();
/// Halfwords from the start of a frame at which a signature may be.
const SIGNATURES: RangeInclusive<u64> = LISTEN_SIGNATURE_AT.range();
/// Fields whose values matter only with another setting, beside which they are checked.
const CONDITIONAL: [&Field; 2] = [&CONTROL_FROM, &LISTEN_SIGNATURE_AT];

/// What a template writes into its frames: the word, whether it does, and where.
const PLACES: [(&Word, &Field, &Field); 4] = [
    (&TABLE_IP_LENGTH, &TABLE_IP_LENGTH_ENABLE, &TABLE_IP_LENGTH_AT),
    (&TABLE_L4_LENGTH, &TABLE_L4_LENGTH_ENABLE, &TABLE_L4_LENGTH_AT),
    (&TABLE_CHECKS, &TABLE_CHECKS_IP, &TABLE_CHECKS_IP_AT),
    (&TABLE_CHECKS, &TABLE_CHECKS_L4, &TABLE_CHECKS_L4_AT),
];
/// Lengths that it computes: the word, what uses the length, and the bytes that it does not count.
const UNCOUNTED: [(&Word, &[Field], &Field); 2] = [
    (&TABLE_IP_LENGTH, &[TABLE_IP_LENGTH_ENABLE], &TABLE_IP_LENGTH_UNCOUNTED),
    (&TABLE_L4_LENGTH, &[TABLE_L4_LENGTH_ENABLE, TABLE_L4_LENGTH_PSEUDO], &TABLE_L4_LENGTH_UNCOUNTED),
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
        let written = ALL.iter().filter(|register| register.is_written());
        let settings = written.map(|register| (register.address, register.reset()));
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
        (0..TABLE.items).try_for_each(|template| self.template(template, None))?;
        (0..FIELDS.items).try_for_each(|field| self.field(field, None))
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

    fn known(&self, memory: &Memory, at: u64) -> Option<u64> {
        self.words.get(&(memory.number, at)).map(|word| u64::from(*word))
    }

    fn needed_word(&self, memory: &Memory, at: u64) -> Result<u64, Refused> {
        self.known(memory, at).ok_or_else(|| unknown(&name(memory, at)))
    }

    /// One word into the memory and at the address that were written last.
    fn word(&mut self, value: u32) -> Result<(), Refused> {
        let memory = self.setting(&MEMORY).and_then(Memory::numbered);
        let (Some(memory), Some(at)) = (memory, self.setting(&MEMORY_ADDRESS)) else {
            let why =
                "where it goes is not known: write memory and memory_address before it, in the same command";
            return Err(refused("memory_data", value.into(), why));
        };
        let of = format!("the words of memory {} ({})", memory.number, memory.name);
        within("memory_address", at, &memory.addresses(), &of)?;
        if self.is_running() {
            let why = "the generator runs, and its memories are written before";
            return Err(refused(name(memory, at), value.into(), why));
        }
        check_word(memory, at, value)?;
        self.words.insert((memory.number, at), value);
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
        let from = CONTROL_FROM.of(control);
        within("control.from", from, &CONTROL_FROM.range(), "what gaps are counted from")?;
        let has_list = CONTROL_GAPS_FROM_LIST.of(control) == 1;
        if CONTROL_FIRST_FROM.of(control) == FROM_AT_TIME {
            self.needed(&FIRST_TIME)?;
        }
        if !has_list {
            self.gap(true)?;
        }
        self.needed(&FRAMES)?;
        // The shortest frame of each template.
        let mut used: BTreeMap<u64, u64> = BTreeMap::new();
        for entry in 0..=self.needed(&LAST_ENTRY)? {
            let size = self.needed_word(&SIZES, entry)?;
            if has_list {
                self.needed_word(&GAPS, entry)?;
            }
            let (template, length) = (SIZES_WORD_TEMPLATE.of(size), SIZES_WORD_BYTES.of(size));
            let own = self.needed_word(&TABLE, TABLE.stride * template + TABLE_LENGTH.at)?;
            let length = if length == 0 { own } else { length };
            let least = used.entry(template).or_insert(length);
            *least = length.min(*least);
        }
        used.iter().try_for_each(|(template, length)| self.template(*template, Some(*length)))?;
        (0..FIELDS.items).try_for_each(|field| self.field(field, Some(&used)))
    }

    /// A template beside what else is known; of one that is used all must be known, and all has a place in its
    /// shortest frame.
    fn template(&self, template: u64, used: Option<u64>) -> Result<(), Refused> {
        let at = |word: &Word| TABLE.stride * template + word.at;
        let known = |word: &Word| self.known(&TABLE, at(word));
        if used.is_some() {
            TABLE.words.iter().try_for_each(|word| self.needed_word(&TABLE, at(word)).map(drop))?;
        }
        let length = used.or_else(|| known(&TABLE_LENGTH));
        let start = known(&TABLE_START);
        if let (Some(length), Some(start)) = (length, start) {
            self.signature(template, length, start, used.is_some())?;
        }
        for (word, enable, place) in PLACES {
            let Some(value) = known(word) else { continue };
            let Some(length) = length.filter(|_| enable.of(value) == 1) else { continue };
            let of = format!("halfwords inside of a frame of {length} bytes");
            within(name(&TABLE, at(word)), place.of(value), &(0..=length / 2 - 1), &of)?;
        }
        for (word, uses, uncounted) in UNCOUNTED {
            let is_used = |value: &u64| uses.iter().any(|field| field.of(*value) == 1);
            let (Some(value), Some(length)) = (known(word).filter(is_used), length) else { continue };
            let of = format!("bytes that a length does not count, of {length}");
            within(name(&TABLE, at(word)), uncounted.of(value), &(0..=length), &of)?;
        }
        let stored = known(&TABLE_STORED);
        let (Some(stored), Some(start)) = (stored, start) else { return Ok(()) };
        let first = TABLE_START_FIRST_BEAT.of(start);
        let of = format!("beats of a memory of {STORED_BEATS}, from beat {first} on");
        within(name(&TABLE, at(&TABLE_STORED)), stored, &(0..=STORED_BEATS - first), &of)?;
        if let Some(length) = used {
            let beats = first..first + stored.min(length.div_ceil(8));
            beats
                .flat_map(|beat| [2 * beat, 2 * beat + 1])
                .try_for_each(|at| self.needed_word(&BEATS, at).map(drop))?;
        }
        Ok(())
    }

    fn signature(&self, template: u64, length: u64, start: u64, used: bool) -> Result<(), Refused> {
        if TABLE_START_SIGNED.of(start) == 0 {
            return Ok(());
        }
        let last = ((length - SIGNATURE as u64) / 2).min(*SIGNATURES.end());
        let of = format!("halfwords at which a signature is inside of a frame of {length} bytes");
        let what = name(&TABLE, TABLE.stride * template + TABLE_START.at);
        within(what, TABLE_START_SIGNATURE_AT.of(start), &(*SIGNATURES.start()..=last), &of)?;
        if used {
            self.needed_word(&STREAMS, TABLE_START_STREAM.of(start))?;
        }
        Ok(())
    }

    /// A field beside what else is known; if the generator begins, with the templates that are used, and their
    /// shortest frames.
    fn field(&self, field: u64, used: Option<&BTreeMap<u64, u64>>) -> Result<(), Refused> {
        let at = |word: &Word| FIELDS.stride * field + word.at;
        if let Some(used) = used {
            let templates = self.needed_word(&FIELDS, at(&FIELDS_USED_BY))?;
            let mine = |template: &u64| templates >> template & 1 == 1;
            let lengths = used.iter().filter(|(template, _)| mine(template)).map(|(_, length)| *length);
            let Some(length) = lengths.min() else { return Ok(()) };
            FIELDS.words.iter().try_for_each(|word| self.needed_word(&FIELDS, at(word)).map(drop))?;
            let flags = self.needed_word(&FIELDS, at(&FIELDS_FLAGS))?;
            let halfwords = 1 + FIELDS_FLAGS_WIDE.of(flags);
            let of = format!("halfwords inside of a frame of {length} bytes");
            let place = FIELDS_FLAGS_AT.of(flags);
            within(name(&FIELDS, at(&FIELDS_FLAGS)), place, &(0..=length / 2 - halfwords), &of)?;
        }
        let words = [&FIELDS_FLAGS, &FIELDS_FIRST, &FIELDS_LAST, &FIELDS_STEP, &FIELDS_BEGIN];
        let words = words.map(|word| self.known(&FIELDS, at(word)));
        let [Some(flags), Some(first), Some(last), Some(step), Some(begin)] = words else { return Ok(()) };
        if self.known(&FIELDS, at(&FIELDS_USED_BY)) == Some(0) {
            return Ok(());
        }
        let mode = FIELDS_FLAGS_MODE.of(flags);
        if mode == MODE_RANDOM {
            let why = "allowed are 1 to 4294967295, as a seed of 0 stays 0";
            return match begin {
                0 => Err(refused(name(&FIELDS, at(&FIELDS_BEGIN)), 0, why)),
                _ => Ok(()),
            };
        }
        if mode == MODE_LIST {
            let of = "places of the list of values";
            let places = [(&FIELDS_FIRST, first), (&FIELDS_LAST, last), (&FIELDS_BEGIN, begin)];
            places.iter().try_for_each(|(word, value)| {
                within(name(&FIELDS, at(word)), *value, &VALUES.addresses(), of)
            })?;
            let of = "from the list's first place in use to its last";
            within(name(&FIELDS, at(&FIELDS_FIRST)), first, &(0..=last), of)?;
            within(name(&FIELDS, at(&FIELDS_BEGIN)), begin, &(0..=last), of)?;
        }
        for (word, from) in [(&FIELDS_FIRST, first), (&FIELDS_BEGIN, begin)] {
            let way = u64::from((last as u32).wrapping_sub(from as u32));
            if way != 0 && (step == 0 || way % step != 0) {
                let why = format!(
                    "with steps of {step} it never comes to the last, {last}: give one from which it does"
                );
                return Err(refused(name(&FIELDS, at(word)), from, why));
            }
        }
        if mode == MODE_LIST && used.is_some() {
            let mut places = (first.min(begin)..=last).step_by(step.max(1) as usize);
            places.try_for_each(|place| self.needed_word(&VALUES, place).map(drop))?;
        }
        Ok(())
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
    for field in register.fields.iter().filter(|field| !CONDITIONAL.contains(field)) {
        within(of(register, field), field.of(value), &field.range(), "")?;
    }
    if *register == READ && READ_WHAT.of(value) == FIGURE_MISSING {
        within("read.at", READ_AT.of(value), &STREAMS.addresses(), "the streams")?;
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
fn check_word(memory: &Memory, at: u64, value: u32) -> Result<(), Refused> {
    let (what, value) = (name(memory, at), u64::from(value));
    let fields = memory.word(at).map_or(&[][..], |word| word.fields);
    if let [only] = fields
        && only.is_limited()
    {
        return within(what, value, &only.range(), only.about);
    }
    let bits = memory.word(at).map_or(0, Word::bits);
    if value & !bits != 0 {
        return Err(refused(what, value, format!("allowed are the bits {bits:#x}")));
    }
    if *memory == SIZES && SIZES_WORD_BYTES.of(value) != 0 {
        return within(what, SIZES_WORD_BYTES.of(value), &LENGTHS, SIZES_WORD_BYTES.about);
    }
    let mut limited = fields.iter().filter(|field| field.is_limited());
    limited.try_for_each(|field| within(&what, field.of(value), &field.range(), field.about))
}

/// `table, template 3, word 1`.
fn name(memory: &Memory, at: u64) -> String {
    match memory.item {
        "" => format!("{}, word {at}", memory.name),
        item => format!("{}, {item} {}, word {}", memory.name, at / memory.stride, at % memory.stride),
    }
}

/// Nobody can tell what is there.
fn unknown(what: &str) -> Refused {
    let why = format!(
        "the generator depends on '{what}', which is unknown and cannot be read back: write it before, in the \
         same command"
    );
    refused("control.run", 1, why)
}

#[cfg(test)]
mod tests;
