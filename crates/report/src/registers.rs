//! Registers of an FPGA module, a line each (`tare fpga regs`).

use serde_json::{Value, json};
use std::fmt::Write;

/// A register that was read.
pub struct RegisterRead {
    pub name: &'static str,
    /// The name, and what it counts if that is not in it.
    pub label: String,
    pub address: u32,
    pub value: u64,
    pub fields: Vec<(&'static str, u64)>,
    /// Of the value, where it is one field.
    pub unit: &'static str,
}

/// For people.
pub fn registers(rows: &[RegisterRead]) -> String {
    rows.iter().map(line).collect()
}

fn line(row: &RegisterRead) -> String {
    let mut line = format!("0x{:03x}  {:<22} {:>20}", row.address, row.label, row.value);
    if row.fields.len() != 1 {
        let fields = row.fields.iter().map(|(name, value)| format!("{name}={value}"));
        let _ = writeln!(line, "  {}", fields.collect::<Vec<_>>().join(" "));
        return line;
    }
    let _ = write!(line, "  {}", row.unit);
    format!("{}\n", line.trim_end())
}

/// For programs.
pub fn registers_json(rows: &[RegisterRead]) -> Value {
    let of = |row: &RegisterRead| {
        let fields = row.fields.iter().map(|(name, value)| ((*name).to_owned(), json!(value)));
        let whole = row.fields.len() == 1;
        (row.name.to_owned(), if whole { json!(row.value) } else { Value::Object(fields.collect()) })
    };
    Value::Object(rows.iter().map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_value_and_what_its_bits_are() {
        let of = |name, value, fields, unit| {
            let row = RegisterRead { name, label: name.to_owned(), address: 0x100, value, fields, unit };
            registers(&[row])
        };
        let sent = of("sent", 12, vec![("value", 12)], "frames");
        assert_eq!(sent, "0x100  sent                                     12  frames\n");
        let version = of("version", 1 << 16 | 2, vec![("minor", 2), ("major", 1)], "");
        assert!(version.ends_with("65538  minor=2 major=1\n"), "{version}");
    }
}
