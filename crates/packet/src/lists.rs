//! Files with one number a line: gaps in nanoseconds, lengths of payloads.
//!
//! ```text
//! # of a stream                 13.56 µs, 67.2 ns, 100 µs, and from the beginning again
//! 13560
//! 67.2     # 14.88 M/s
//! 100us
//! ```
//!
//! Comments (`#`) and empty lines are passed over. Such a file is small beside what is sent from it, because it
//! repeats; what is too large for memory is refused, before it is all read.

use crate::PacketError;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::str::FromStr;
use units::Picos;

/// Gaps that a file may have: 128 MB of memory.
const MOST_GAPS: usize = 16_000_000;
/// Lengths that a file may have.
const MOST_LENGTHS: usize = 4_000_000;
/// A longer line is no number, whatever is said behind it.
const LONGEST_LINE: u64 = 256;

/// Reads gaps in nanoseconds, decimals allowed (`13560`, `2.5`), or with a unit (`100us`).
///
/// # Errors
/// The file cannot be read, or the line that is wrong; what would be right.
pub fn gaps(path: &Path) -> Result<Vec<Picos>, PacketError> {
    read(path, MOST_GAPS, "a gap in nanoseconds such as 13560", |text| {
        let bare = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'_'));
        let with_unit = if bare { format!("{text}ns") } else { text.to_owned() };
        Picos::from_str(&with_unit).map_err(|error| error.problem.to_string())
    })
}

/// Reads lengths of payloads in bytes.
///
/// # Errors
/// The file cannot be read, or the line that is wrong; what would be right.
pub fn lengths(path: &Path) -> Result<Vec<usize>, PacketError> {
    read(path, MOST_LENGTHS, "a payload of 0 to 65507 bytes", |text| match text.parse::<usize>() {
        Ok(length @ 0..=65_507) => Ok(length),
        Ok(_) => Err("is too long".to_owned()),
        Err(_) => Err("is not a number of bytes".to_owned()),
    })
}

/// The first line with a payload longer than `most` bytes, in words.
///
/// # Errors
/// There is such a line, or the file cannot be read again.
pub fn within(path: &Path, most: usize) -> Result<(), PacketError> {
    read(path, MOST_LENGTHS, &format!("a payload of at most {most} bytes"), |text| match text.parse() {
        Ok(length) if most < length => Err("is too long".to_owned()),
        _ => Ok(()),
    })
    .map(drop)
}

fn read<T>(
    path: &Path,
    most: usize,
    expected: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, PacketError> {
    let name = path.display();
    let wrong = |problem: String| PacketError::Wrong(format!("{name}: {problem}"));
    let unread =
        |error: std::io::Error| wrong(format!("{error}; expected a file with {expected} on each line"));
    let mut reader = BufReader::new(os::input::open(path).map_err(unread)?);
    let (mut all, mut line, mut bytes) = (Vec::new(), 0u64, Vec::new());
    loop {
        bytes.clear();
        let count = reader.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut bytes);
        if count.map_err(unread)? == 0 {
            break;
        }
        line += 1;
        let at = |problem: &str| {
            PacketError::Wrong(format!("{name}, line {line}: {problem}; expected {expected}"))
        };
        if bytes.len() as u64 > LONGEST_LINE {
            return Err(at(&format!("is longer than {LONGEST_LINE} bytes")));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| at("is not text"))?;
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        if all.len() == most {
            return Err(wrong(format!("has more than {most} numbers; the list repeats, so give fewer")));
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
    use std::io::Write;
    use std::os::fd::AsRawFd;

    fn file(text: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    fn wrong_gaps(text: &[u8]) -> String {
        gaps(file(text).path()).unwrap_err().to_string()
    }

    #[test]
    fn a_length_that_a_port_does_not_take_is_named_with_its_line() {
        let file = file(b"# of a stream\n64\n1472\n1473\n2000\n");
        let problem = within(file.path(), 1_472).unwrap_err().to_string();
        let expected = ", line 4: '1473' is too long; expected a payload of at most 1472 bytes";
        assert!(problem.ends_with(expected), "{problem}");
        assert!(within(file.path(), 2_000).is_ok());
    }

    #[test]
    fn gaps_are_nanoseconds_or_have_a_unit_with_comments_between() {
        let file =
            file("# gaps in µs\n13560\n\n 2.5 \r\n100us # 10 k/s\n67.2#14.88 M/s\n1_000\n0".as_bytes());
        let expected = [13_560_000, 2_500, 100_000_000, 67_200, 1_000_000, 0].map(Picos::from_picos);
        assert_eq!(gaps(file.path()).unwrap(), expected);
    }

    #[test]
    fn lengths_are_bytes_of_payload() {
        assert_eq!(lengths(file(b"18\n0 # none\n65507\n").path()).unwrap(), [18, 0, 65_507]);
        let said = lengths(file(b"18\n65508\n").path()).unwrap_err().to_string();
        assert!(
            said.contains("line 2: '65508' is too long; expected a payload of 0 to 65507 bytes"),
            "{said}"
        );
        let said = lengths(file(b"18ns\n").path()).unwrap_err().to_string();
        assert!(said.contains("line 1: '18ns' is not a number of bytes"), "{said}");
    }

    #[test]
    fn a_bad_line_is_named() {
        for (text, line, problem) in [
            (&b"1\n-5\n"[..], 2, "'-5' is negative"),
            (b"1\n# 2\n\nx\n", 4, "'x' is not a number"),
            (b"1\n2\n5 apples", 3, "'5 apples' has an unknown unit"),
            (b"214d\n", 1, "'214d' is longer than 213 days"),
            (b"\xff\n", 1, "is not text"),
            (&[b'1'; 500], 1, "is longer than 256 bytes"),
        ] {
            let said = wrong_gaps(text);
            assert!(said.contains(&format!(", line {line}: ")) && said.contains(problem), "{said}");
            assert!(said.ends_with("; expected a gap in nanoseconds such as 13560"), "{said}");
        }
    }

    #[test]
    fn a_file_without_a_number_is_refused() {
        for text in [&b""[..], b"\n\n", b"# nothing\n"] {
            let said = wrong_gaps(text);
            assert!(said.contains("holds no number; expected a gap in nanoseconds"), "{said}");
        }
    }

    #[test]
    fn no_more_is_kept_than_fits_and_no_endless_file_is_read() {
        let three = file(b"1\n2\n3\n");
        let number = |text: &str| text.parse::<u8>().map_err(|error| error.to_string());
        assert_eq!(read(three.path(), 3, "a number", number).unwrap(), [1, 2, 3]);
        let said = read(three.path(), 2, "a number", number).unwrap_err().to_string();
        assert!(said.ends_with("has more than 2 numbers; the list repeats, so give fewer"), "{said}");
        // A hole of a terabyte: one line without an end.
        let hole = file(b"1\n");
        hole.as_file().set_len(1 << 40).unwrap();
        assert!(gaps(hole.path()).unwrap_err().to_string().contains("line 2: is longer than 256 bytes"));
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let said = |path: &str| gaps(Path::new(path)).unwrap_err().to_string();
        for path in ["/", "/dev/zero"] {
            assert!(
                said(path).contains("is not a regular file; expected a file with a gap in"),
                "{}",
                said(path)
            );
        }
        assert!(said("no/such/file").starts_with("no/such/file: "), "{}", said("no/such/file"));
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(gaps(&pipe).unwrap_err().to_string().contains("is not a regular file"));
    }

    #[test]
    fn a_pipe_that_a_shell_has_opened_is_read() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"5\n7\n").unwrap();
        drop(writer);
        let path = format!("/dev/fd/{}", reader.as_raw_fd());
        assert_eq!(gaps(Path::new(&path)).unwrap(), [5, 7].map(Picos::from_nanos));
    }
}
