//! Files with one number a line: gaps in nanoseconds, lengths of payloads.
//!
//! Comments (`#`) and empty lines are passed over. Such a file is small beside what is sent from it, because it repeats; what is too
//! large for memory is refused.

use crate::PacketError;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::str::FromStr;
use units::Picos;

/// Lines of gaps: 128 MB of memory.
const MOST_GAPS: usize = 16_000_000;
/// Lines of lengths.
const MOST_LENGTHS: usize = 4_000_000;
/// A longer line is no number.
const LONGEST_LINE: u64 = 128;

/// Reads gaps in nanoseconds, decimals allowed (`13560`, `2.5`), or with a unit (`100us`).
///
/// # Errors
/// The file cannot be read, or the line that is wrong.
pub fn gaps(path: &Path) -> Result<Vec<Picos>, PacketError> {
    read(path, MOST_GAPS, "a gap in nanoseconds such as 13560", |text| {
        let bare = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let with_unit = if bare { format!("{text}ns") } else { text.to_owned() };
        Picos::from_str(&with_unit).map_err(|error| error.problem.to_string())
    })
}

/// Reads lengths of payloads in bytes.
///
/// # Errors
/// The file cannot be read, or the line that is wrong.
pub fn lengths(path: &Path) -> Result<Vec<usize>, PacketError> {
    read(path, MOST_LENGTHS, "a payload of 0 to 65507 bytes", |text| match text.parse::<usize>() {
        Ok(length @ 0..=65_507) => Ok(length),
        Ok(_) => Err("is too long".to_owned()),
        Err(_) => Err("is no number of bytes".to_owned()),
    })
}

fn read<T>(
    path: &Path,
    most: usize,
    expected: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, PacketError> {
    let name = path.display();
    let wrong = |problem: String| PacketError::Wrong(format!("{name}: {problem}"));
    // A pipe would be opened only when someone writes to it, so look first.
    let found = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
    if !found.is_file() {
        return Err(wrong("is not a regular file; give a file with one number a line".to_owned()));
    }
    let mut reader = BufReader::new(File::open(path).map_err(|error| wrong(error.to_string()))?);
    let (mut all, mut line, mut bytes) = (Vec::new(), 0u64, Vec::new());
    loop {
        bytes.clear();
        let count = reader.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut bytes);
        if count.map_err(|error| wrong(error.to_string()))? == 0 {
            break;
        }
        line += 1;
        let at = |problem: &str| {
            PacketError::Wrong(format!("{name}, line {line}: {problem}; expected {expected}"))
        };
        if bytes.len() as u64 > LONGEST_LINE {
            return Err(at("is longer than 128 bytes"));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| at("is not text"))?.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if all.len() == most {
            return Err(wrong(format!("has more than {most} lines; it repeats, so give a shorter one")));
        }
        all.push(parse(text).map_err(|problem| at(&format!("'{}' {problem}", shown(text))))?);
    }
    if all.is_empty() {
        return Err(wrong(format!("holds no number; expected {expected} on each line")));
    }
    Ok(all)
}

fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn gaps_are_nanoseconds_with_comments_between() {
        let file = file(b"# gaps\n13560\n\n 2.5 \r\n100us\n0");
        let expected = [13_560_000, 2_500, 100_000_000, 0].map(Picos::from_picos);
        assert_eq!(gaps(file.path()).unwrap(), expected);
    }

    #[test]
    fn a_bad_line_is_named() {
        for (text, line, problem) in [
            (&b"1\n-5\n"[..], 2, "'-5' is negative"),
            (b"1\n2\nx\n", 3, "'x' is not a number"),
            (b"\xff\n", 1, "is not text"),
            (&[b'1'; 500], 1, "is longer than 128 bytes"),
        ] {
            let file = file(text);
            let said = gaps(file.path()).unwrap_err().to_string();
            assert!(said.contains(&format!(", line {line}: ")) && said.contains(problem), "{said}");
            assert!(said.contains("expected a gap in nanoseconds"), "{said}");
        }
        let said = lengths(file(b"18\n70000\n").path()).unwrap_err().to_string();
        assert!(said.contains("line 2: '70000' is too long"), "{said}");
        assert!(gaps(file(b"# nothing\n").path()).unwrap_err().to_string().contains("holds no number"));
        assert!(gaps(Path::new("/")).unwrap_err().to_string().contains("not a regular file"));
        assert!(gaps(Path::new("no/such/file")).unwrap_err().to_string().contains("no/such/file"));
    }
}
