//! What is known of a register of the module, or of a word of its generator's memories: its name, its place,
//! and what its bits are. [`super::registers`] has all of them.

use super::registers::{ALL, MEMORIES};
use std::ops::RangeInclusive;

/// A register of 32 or 64 bits. One of 64 bits is two words; its lower half is read first, which keeps the
/// upper half for the next read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    pub name: &'static str,
    /// Of its first word, in bytes.
    pub address: u32,
    /// 32 or 64.
    pub bits: u32,
    pub about: &'static str,
    pub fields: &'static [Field],
}

/// Some bits of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub low: u32,
    pub width: u32,
    pub access: Access,
    pub unit: &'static str,
    pub about: &'static str,
    /// What it is after reset.
    pub reset: u64,
    /// The least and the greatest value that the host may write.
    pub least: u64,
    pub most: u64,
}

/// A memory of the generator: a list of items, such as templates, of one word or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    pub name: &'static str,
    /// What the register `memory` selects it by.
    pub number: u64,
    /// What an item is called if it has several words.
    pub item: &'static str,
    pub items: u64,
    /// Words from one item to the next.
    pub stride: u64,
    pub words: &'static [Word],
}

/// A word of each item of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    pub name: &'static str,
    /// In words from the item's first.
    pub at: u64,
    pub fields: &'static [Field],
}

/// Who sets a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nobody: it is part of the module.
    Constant,
    /// The module.
    Value,
    /// The host. It cannot be read back.
    Setting,
    /// The host; it takes effect once.
    Command,
}

impl Access {
    pub const fn is_written(self) -> bool {
        matches!(self, Self::Setting | Self::Command)
    }
}

impl Register {
    /// The one with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|register| register.name == name)
    }

    /// Whether the host writes it; it reads it otherwise.
    pub fn is_written(&self) -> bool {
        self.fields.iter().any(|field| field.access.is_written())
    }

    /// The greatest value that means something.
    pub fn greatest(&self) -> u64 {
        bits(self.fields)
    }

    /// What it is after reset.
    pub fn reset(&self) -> u64 {
        self.fields.iter().fold(0, |all, field| all | field.place(field.reset))
    }

    /// Addresses of its words, the lower half first.
    pub fn words(&self) -> impl Iterator<Item = u32> + use<> {
        let address = self.address;
        (0..self.bits / 32).map(move |word| address + 4 * word)
    }
}

/// The bits of these fields.
fn bits(fields: &[Field]) -> u64 {
    fields.iter().fold(0, |all, field| all | field.place(u64::MAX))
}

impl Memory {
    /// The one that the register `memory` selects by this number.
    pub fn numbered(number: u64) -> Option<&'static Self> {
        MEMORIES.iter().find(|memory| memory.number == number)
    }

    /// Addresses of all its words.
    pub const fn addresses(&self) -> RangeInclusive<u64> {
        0..=self.items * self.stride - 1
    }

    /// The word at an address, unless nothing is there.
    pub fn word(&self, at: u64) -> Option<&'static Word> {
        self.words.iter().find(|word| word.at == at % self.stride)
    }
}

impl Word {
    /// The bits that mean something.
    pub fn bits(&self) -> u64 {
        bits(self.fields)
    }
}

impl Field {
    /// What the host may write.
    pub const fn range(&self) -> RangeInclusive<u64> {
        self.least..=self.most
    }

    /// Whether not every value that fits may be written.
    pub const fn is_limited(&self) -> bool {
        self.least != 0 || self.most != self.mask()
    }

    const fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// Its value in a register's.
    pub const fn of(&self, register: u64) -> u64 {
        register >> self.low & self.mask()
    }

    /// A register's value with nothing but this in it.
    pub const fn place(&self, value: u64) -> u64 {
        (value & self.mask()) << self.low
    }
}

#[cfg(test)]
mod tests {
    use super::super::registers::*;
    use super::*;

    #[test]
    fn fields_are_where_the_description_says() {
        // docs/fpga-reference.md: control.from is 4:3, status.forgetting 1.
        assert_eq!((CONTROL_FROM.low, CONTROL_FROM.width), (3, 2));
        assert_eq!(CONTROL_FROM.place(3), 0b1_1000);
        assert_eq!(CONTROL_FROM.of(0b11_0111), 0b10);
        assert_eq!(STATUS_FORGETTING.of(2), 1);
        assert_eq!(FIRST_TIME.fields[0].of(u64::MAX), u64::MAX);
        assert_eq!(FIRST_TIME.words().collect::<Vec<_>>(), [0x20, 0x24]);
        assert_eq!(CONTROL.greatest(), 0x7f);
    }

    #[test]
    fn values_are_limited_and_reset_as_the_description_says() {
        // hdl/regs/module.rdl: from[2] = 2, gap_whole = 84, gap_denominator = 1; 2^62 ticks.
        assert_eq!((CONTROL.reset(), GAP_WHOLE.reset(), GAP_DENOMINATOR.reset()), (2 << 3, 84, 1));
        assert_eq!(
            (CONTROL_FROM.range(), CONTROL_FROM.is_limited()),
            (FROM_AFTER_START..=FROM_AFTER_DUE, true)
        );
        assert_eq!(FIRST_TIME.fields[0].range(), 0..=(1 << 62) - 1);
        assert!(!GAP_WHOLE.fields[0].is_limited() && GAP_WHOLE.fields[0].range() == (0..=u32::MAX.into()));
        for field in ALL.iter().flat_map(|register| register.fields) {
            assert!(field.least <= field.most && field.most <= field.mask(), "{field:?}");
            assert!(!field.access.is_written() || field.reset <= field.mask(), "{field:?}");
        }
    }

    #[test]
    fn counters_are_what_counts() {
        let names: Vec<&str> = COUNTERS.iter().map(|register| register.name).collect();
        assert_eq!(
            (names[0], names[13], names[names.len() - 1]),
            ("sent", "link_errors0", "received_left_out")
        );
        assert!(!names.contains(&"forgotten"));
    }

    #[test]
    fn memories_have_words_where_the_sources_have_them() {
        // hdl/rtl/generator_pkg.sv: 8 * template + word, and no eighth.
        assert_eq!(Memory::numbered(1), Some(&TABLE));
        assert_eq!(Memory::numbered(7), None);
        assert_eq!((TABLE.addresses(), BEATS.addresses(), FIELDS.addresses()), (0..=255, 0..=8_191, 0..=31));
        assert_eq!((TABLE.word(8 * 3 + 2), TABLE.word(7)), (Some(&TABLE_START), None));
        assert_eq!((TABLE_START.bits(), TABLE_L4_LENGTH.bits()), (0xffbe_1fff, 0xffc0_00ff));
        assert_eq!(VALUES.word(255), Some(&VALUES_WORD));
    }

    #[test]
    fn names_and_places_are_each_registers_own() {
        for (n, register) in ALL.iter().enumerate() {
            assert_eq!(Register::named(register.name), Some(register));
            assert!(ALL[..n].iter().all(|before| before.name != register.name), "{}", register.name);
            let last = n.checked_sub(1).map(|n| ALL[n]);
            assert!(last.is_none_or(|last| last.address + last.bits / 8 <= register.address), "{register:?}");
        }
        assert_eq!(Register::named("nothing"), None);
    }
}
