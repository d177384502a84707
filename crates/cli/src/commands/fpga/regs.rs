//! `tare fpga regs`: registers by name.

use super::{connect, print_json};
use anyhow::anyhow;
use clap::Args;
use port::fpga::Module;
use port::fpga::register::{Field, Register};
use port::fpga::registers::ALL;
use port::fpga::rules::Rules;
use port::fpga::status::named;
use run::terminal::print_all;
use run::{Failure, Status};
use serde_json::{Value, json};
use std::fmt::Write;

/// Read and write registers; without names, print all readable registers
#[derive(Args, Debug)]
pub struct RegsArgs {
    /// fpga:INTERFACE or fpga:sim
    #[arg(value_name = "PORT")]
    port: String,
    /// Accesses, in this order: NAME reads, NAME=VALUE writes, NAME.FIELD=VALUE writes that field and sets the
    /// other fields to 0; VALUE is decimal, or hexadecimal after 0x
    #[arg(value_name = "NAME[=VALUE]")]
    names: Vec<String>,
    /// Also write values that the module does not check and would handle wrongly
    #[arg(long)]
    anyway: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &RegsArgs) -> Result<Status, Failure> {
    // Before anything is written.
    let wanted = args.names.iter().map(|typed| Wanted::read(typed)).collect::<Result<Vec<_>, _>>()?;
    let module = connect(&args.port)?;
    let all = || ALL.iter().filter(|register| !register.is_written()).map(Wanted::Read).collect();
    let wanted: Vec<Wanted> = if wanted.is_empty() { all() } else { wanted };
    if !args.anyway {
        check(&module, &wanted).map_err(Failure::wrong)?;
    }
    let mut rows = Vec::new();
    for some in wanted.chunk_by(Wanted::goes_with) {
        if let [Wanted::Read(register)] = some {
            rows.push((*register, module.read(register).map_err(Failure::wrong)?));
        }
        module.write(&writes(some)).map_err(Failure::wrong)?;
    }
    match args.json {
        true => print_json(&Value::Object(rows.iter().map(json_of).collect()))?,
        false => print_all(&rows.iter().map(text_of).collect::<String>())?,
    }
    Ok(Status::Done)
}

fn writes(wanted: &[Wanted]) -> Vec<(&'static Register, u64)> {
    let write = |wanted: &Wanted| match wanted {
        Wanted::Write(register, value) => Some((*register, *value)),
        Wanted::Read(_) => None,
    };
    wanted.iter().filter_map(write).collect()
}

/// What is written must fit together, beside what is known: a simulation was started for this, and a board may
/// have been set by anybody.
fn check(module: &Module, wanted: &[Wanted]) -> Result<(), anyhow::Error> {
    let rules = if module.is_simulated() { Rules::after_reset() } else { Rules::unknown() };
    rules
        .check(writes(wanted))
        .map_err(|refused| anyhow!("register {refused}; nothing was written (--anyway writes it)"))
}

/// What is to be done with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Read(&'static Register),
    Write(&'static Register, u64),
}

impl Wanted {
    /// Writes beside each other go together.
    fn goes_with(&self, next: &Self) -> bool {
        matches!((self, next), (Self::Write(..), Self::Write(..)))
    }

    fn read(typed: &str) -> Result<Self, Failure> {
        let wrong = |why: String| Failure::wrong(anyhow!("register '{typed}': {why}"));
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

fn text_of((register, value): &(&Register, u64)) -> String {
    let mut line = format!("0x{:03x}  {:<22} {value:>20}", register.address, named(register));
    let [only] = register.fields else {
        let fields = register.fields.iter().map(|field| format!("{}={}", field.name, field.of(*value)));
        let _ = writeln!(line, "  {}", fields.collect::<Vec<_>>().join(" "));
        return line;
    };
    let _ = writeln!(line, "  {}", only.unit);
    let end = line.trim_end().len();
    line.truncate(end);
    line.push('\n');
    line
}

fn json_of((register, value): &(&Register, u64)) -> (String, Value) {
    let fields = register.fields.iter().map(|field| (field.name.to_owned(), json!(field.of(*value))));
    let whole = register.fields.len() == 1;
    let value = if whole { json!(value) } else { Value::Object(fields.collect()) };
    (register.name.to_owned(), value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use port::fpga::registers::{CONTROL, FIRST_TIME, GAP_WHOLE, SENT};

    #[test]
    fn what_is_typed_is_understood() {
        let read = |typed: &str| Wanted::read(typed).unwrap();
        assert_eq!(read("sent"), Wanted::Read(&SENT));
        assert_eq!(read("gap_whole=1538"), Wanted::Write(&GAP_WHOLE, 1_538));
        assert_eq!(read("first_time=0xffffffffffffffff"), Wanted::Write(&FIRST_TIME, u64::MAX));
        assert_eq!(read("control.from=3"), Wanted::Write(&CONTROL, 3 << 3));
    }

    #[test]
    fn writes_beside_each_other_go_together() {
        let typed = ["memory=0", "memory_address=4", "memory_data=7", "sent", "sent", "gap_whole=1"];
        let wanted: Vec<Wanted> = typed.iter().map(|typed| Wanted::read(typed).unwrap()).collect();
        let some: Vec<usize> = wanted.chunk_by(Wanted::goes_with).map(<[Wanted]>::len).collect();
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
            let said = Wanted::read(typed).unwrap_err().into_error().to_string();
            assert!(said.contains(words), "{typed}: {said}");
        }
    }

    #[test]
    fn a_line_has_the_value_and_what_its_bits_are() {
        assert_eq!(text_of(&(&SENT, 12)), "0x100  sent                                     12  frames\n");
        let version = Register::named("version").unwrap();
        assert!(text_of(&(version, 1 << 16 | 2)).ends_with("65538  minor=2 major=1\n"));
    }
}
