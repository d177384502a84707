//! What is known of a register of the module: its name, its place, and what its bits are.

use super::registers::ALL;

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
        self.fields.iter().fold(0, |all, field| all | field.place(u64::MAX))
    }

    /// Addresses of its words, the lower half first.
    pub fn words(&self) -> impl Iterator<Item = u32> + use<> {
        let address = self.address;
        (0..self.bits / 32).map(move |word| address + 4 * word)
    }
}

impl Field {
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
