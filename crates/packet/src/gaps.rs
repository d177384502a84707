//! Files of gaps: one a line, in nanoseconds, as `tare send -D` and Caliper read them.

use crate::PacketError;
use std::path::Path;
use std::sync::Arc;
use units::Picos;

/// Most gaps of a file: 128 MB in memory.
const MOST: usize = 16_000_000;

/// Reads a file of gaps. Empty lines and what follows a `#` are left out.
///
/// # Errors
/// The file, the line that is wrong, and what would be right.
pub fn read_gaps(path: &Path) -> Result<Arc<[Picos]>, PacketError> {
    let name = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        PacketError::Wrong(format!("{name}: {error}; name a file with one gap in nanoseconds a line"))
    })?;
    parse_gaps(&text, &name.to_string())
}

fn parse_gaps(text: &str, name: &str) -> Result<Arc<[Picos]>, PacketError> {
    let mut gaps = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let typed = line.split('#').next().unwrap_or_default().trim();
        if typed.is_empty() {
            continue;
        }
        let gap = format!("{typed}ns").parse::<Picos>();
        let is_number = typed.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'_'));
        let (Ok(gap), true) = (gap, is_number) else {
            let shown: String = typed.chars().take(40).collect();
            return Err(PacketError::Wrong(format!(
                "{name}, line {}: '{}' is no gap; expected nanoseconds such as 13560",
                number + 1,
                shown.escape_debug()
            )));
        };
        if gaps.len() == MOST {
            return Err(PacketError::Wrong(format!(
                "{name} has more than {MOST} gaps; they begin again at the end, so fewer will do"
            )));
        }
        gaps.push(gap);
    }
    if gaps.is_empty() {
        return Err(PacketError::Wrong(format!(
            "{name} has no gap in it; expected one in nanoseconds a line"
        )));
    }
    Ok(gaps.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_nanoseconds_one_a_line() {
        let gaps = parse_gaps("13560\n\n 67.2 # 14.88 M/s\n0\n", "g").unwrap();
        assert_eq!(*gaps, [Picos::from_nanos(13_560), Picos::from_picos(67_200), Picos::ZERO]);
    }

    #[test]
    fn a_bad_line_is_named() {
        for (text, line) in
            [("1\nx\n", "g, line 2: 'x' is no gap"), ("1\n2\n-3\n", "line 3: '-3'"), ("5s\n", "line 1: '5s'")]
        {
            let said = parse_gaps(text, "g").unwrap_err().to_string();
            assert!(said.contains(line) && said.contains("expected nanoseconds"), "{said}");
        }
        assert!(parse_gaps("# nothing\n", "g").unwrap_err().to_string().contains("no gap in it"));
    }
}
