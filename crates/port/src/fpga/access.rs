//! Reads and writes of registers by name.

use super::device::Module;
use super::register::{Field, Register};
use super::registers::ALL;
use super::rules::Rules;

/// What is wrong with one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AccessError(String);

/// What is to be done with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read(&'static Register),
    Write(&'static Register, u64),
}

impl Access {
    /// Writes beside each other go together.
    pub fn goes_with(&self, next: &Self) -> bool {
        matches!((self, next), (Self::Write(..), Self::Write(..)))
    }

    /// As it is typed: `NAME`, `NAME=VALUE` or `NAME.FIELD=VALUE`.
    ///
    /// # Errors
    /// There is no such register, or the value is none of its own.
    pub fn read(typed: &str) -> Result<Self, AccessError> {
        let wrong = |why: String| AccessError(format!("register '{typed}': {why}"));
        let (name, value) = typed.split_once('=').map_or((typed, None), |(name, value)| (name, Some(value)));
        let (name, field) = name.split_once('.').map_or((name, None), |(name, field)| (name, Some(field)));
        let register = Register::named(name).ok_or_else(|| wrong(unknown(name)))?;
        let field = field.map(|field| find(register, field).ok_or_else(|| wrong(no_field(register))));
        let field = field.transpose()?;
        match value {
            None if register.is_written() => Err(wrong(format!("it is write-only: use {name}=VALUE"))),
            None => Ok(Self::Read(register)),
            Some(_) if !register.is_written() => Err(wrong("it is read-only".to_owned())),
            Some(text) => {
                let greatest = field.map_or(register.greatest(), |field| field.of(u64::MAX));
                let expected = || wrong(format!("'{text}' is not a number from 0 to {greatest}"));
                let value = number(text).filter(|value| *value <= greatest).ok_or_else(expected)?;
                Ok(Self::Write(register, field.map_or(value, |field| field.place(value))))
            }
        }
    }
}

fn find(register: &'static Register, name: &str) -> Option<&'static Field> {
    register.fields.iter().find(|field| field.name == name)
}

fn no_field(register: &Register) -> String {
    let names: Vec<&str> = register.fields.iter().map(|field| field.name).collect();
    format!("its fields are {}", names.join(", "))
}

fn unknown(name: &str) -> String {
    let like: Vec<&str> =
        ALL.iter().map(|register| register.name).filter(|known| known.contains(name)).take(8).collect();
    let hint = if like.is_empty() {
        "see docs/fpga-reference.md".to_owned()
    } else {
        format!("did you mean one of {}?", like.join(", "))
    };
    format!("no such register; {hint}")
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The writes among them.
pub fn writes(wanted: &[Access]) -> Vec<(&'static Register, u64)> {
    let write = |wanted: &Access| match wanted {
        Access::Write(register, value) => Some((*register, *value)),
        Access::Read(_) => None,
    };
    wanted.iter().filter_map(write).collect()
}

/// What is written must fit together, beside what is known: a simulation was started for this, and a board may
/// have been set by anybody.
///
/// # Errors
/// The module would handle it wrongly.
pub fn check(module: &Module, wanted: &[Access]) -> Result<(), AccessError> {
    let rules = if module.is_simulated() { Rules::after_reset() } else { Rules::unknown() };
    rules.check(writes(wanted)).map_err(|refused| {
        AccessError(format!("register {refused}; nothing was written (--anyway writes it)"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::registers::{CONTROL, FIRST_TIME, GAP_WHOLE, SENT};
    use super::*;

    #[test]
    fn what_is_typed_is_understood() {
        let read = |typed: &str| Access::read(typed).unwrap();
        assert_eq!(read("sent"), Access::Read(&SENT));
        assert_eq!(read("gap_whole=1538"), Access::Write(&GAP_WHOLE, 1_538));
        assert_eq!(read("first_time=0xffffffffffffffff"), Access::Write(&FIRST_TIME, u64::MAX));
        assert_eq!(read("control.from=3"), Access::Write(&CONTROL, 3 << 3));
    }

    #[test]
    fn writes_beside_each_other_go_together() {
        let typed = ["memory=0", "memory_address=4", "memory_data=7", "sent", "sent", "gap_whole=1"];
        let wanted: Vec<Access> = typed.iter().map(|typed| Access::read(typed).unwrap()).collect();
        let some: Vec<usize> = wanted.chunk_by(Access::goes_with).map(<[Access]>::len).collect();
        assert_eq!(some, [3, 1, 1, 1]);
        assert_eq!(writes(&wanted[2..]).iter().map(|(_, value)| *value).collect::<Vec<_>>(), [7, 1]);
    }

    #[test]
    fn what_cannot_be_is_told_with_what_would_be_right() {
        for (typed, words) in [
            ("sen", "did you mean one of sent"),
            ("zzz", "see docs/fpga-reference.md"),
            ("sent=1", "it is read-only"),
            ("gap_whole", "it is write-only: use gap_whole=VALUE"),
            ("gap_whole=4294967296", "'4294967296' is not a number from 0 to 4294967295"),
            ("gap_whole=x", "'x' is not a number"),
            ("control.from=4", "'4' is not a number from 0 to 3"),
            ("control.form=1", "its fields are live, run"),
        ] {
            let said = Access::read(typed).unwrap_err().to_string();
            assert!(said.contains(words), "{typed}: {said}");
        }
    }
}
