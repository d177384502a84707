//! Due times that were recorded elsewhere: a file with one offset in seconds a line.
//!
//! ```text
//! # comments and empty lines are passed over
//! 0
//! 0.000125
//! 0.25             a unit may follow: 250ms
//! ```
//!
//! The file is read line by line with one buffer, so memory does not grow with it. Offsets are exact decimals
//! down to the picosecond and may not descend.

use crate::ScheduleError;
use crate::stream::Offset;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use units::{Count, Picos};

/// A line longer than this is not a time.
const LONGEST_LINE: u64 = 128;

/// The offsets of a file, in order. After an error there are no more.
pub struct RecordedTimes<R> {
    reader: R,
    path: PathBuf,
    line: u64,
    last: Picos,
    text: Vec<u8>,
    over: bool,
}

/// What a whole file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub count: Count,
    pub last: Picos,
    /// The smallest gap that is not zero; `None` if all times are the same.
    pub smallest_gap: Option<Picos>,
}

/// Reads all of a file, so that a bad line is told before anything is sent.
pub fn check_recorded(path: &Path) -> Result<Recorded, ScheduleError> {
    check_recorded_before(path, Picos::MAX).map(|(recorded, _)| recorded)
}

/// The same, and how many of the times are before `end`.
///
/// # Errors
/// A line that is no time, or a file without one.
pub fn check_recorded_before(path: &Path, end: Picos) -> Result<(Recorded, u64), ScheduleError> {
    let (mut count, mut before, mut last, mut smallest) = (0, 0, Picos::ZERO, Picos::MAX);
    for offset in RecordedTimes::open(path)? {
        let offset = offset?;
        let gap = offset - last;
        if count > 0 && !gap.is_zero() {
            smallest = smallest.min(gap);
        }
        last = offset;
        count += 1;
        before += u64::from(offset < end);
    }
    if count == 0 {
        return Err(ScheduleError::NoTimes { path: path.to_owned() });
    }
    let smallest_gap = (smallest < Picos::MAX).then_some(smallest);
    Ok((Recorded { count: Count::new(count), last, smallest_gap }, before))
}

impl RecordedTimes<BufReader<File>> {
    pub fn open(path: &Path) -> Result<Self, ScheduleError> {
        let failed = |source| ScheduleError::File { path: path.to_owned(), source };
        // A pipe would be opened only when someone writes to it, so look first.
        if !std::fs::metadata(path).map_err(failed)?.is_file() {
            return Err(ScheduleError::NotAFile { path: path.to_owned() });
        }
        Ok(Self::new(BufReader::with_capacity(64 << 10, File::open(path).map_err(failed)?), path))
    }
}

impl<R: BufRead> RecordedTimes<R> {
    /// `path` is for messages only.
    pub fn new(reader: R, path: &Path) -> Self {
        let text = Vec::with_capacity(LONGEST_LINE as usize + 1);
        Self { reader, path: path.to_owned(), line: 0, last: Picos::ZERO, text, over: false }
    }

    /// Reads one line into `text`; false at the end of the file.
    fn read_line(&mut self) -> Result<bool, ScheduleError> {
        self.text.clear();
        let mut limited = self.reader.by_ref().take(LONGEST_LINE + 1);
        let read = limited.read_until(b'\n', &mut self.text);
        let read = read.map_err(|source| ScheduleError::File { path: self.path.clone(), source })?;
        self.line += 1;
        if read as u64 > LONGEST_LINE {
            return Err(
                self.wrong(format!("is longer than {LONGEST_LINE} bytes; expected one offset in seconds"))
            );
        }
        Ok(read > 0)
    }

    /// The offset on the line that was read last; `None` if it holds none.
    fn parse(&mut self) -> Result<Option<Picos>, ScheduleError> {
        let Ok(text) = std::str::from_utf8(&self.text) else {
            return Err(self.wrong("is not text; expected one offset in seconds".to_owned()));
        };
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            return Ok(None);
        }
        let offset: Picos = match text.parse() {
            Ok(offset) => offset,
            Err(error) => {
                let (typed, problem) = (error.input, error.problem);
                return Err(
                    self.wrong(format!("'{typed}' {problem}; expected an offset in seconds such as 0.25"))
                );
            }
        };
        if offset < self.last {
            let last = self.last;
            return Err(self.wrong(format!("{offset} is before {last}, the time above it; sort the file")));
        }
        self.last = offset;
        Ok(Some(offset))
    }

    fn wrong(&self, problem: String) -> ScheduleError {
        ScheduleError::Line { path: self.path.clone(), line: self.line, problem }
    }
}

impl<R: BufRead> Iterator for RecordedTimes<R> {
    type Item = Offset;

    fn next(&mut self) -> Option<Offset> {
        while !self.over {
            let offset = match self.read_line() {
                Ok(true) => self.parse(),
                Ok(false) => break,
                Err(failure) => Err(failure),
            };
            self.over = offset.is_err();
            if let Some(offset) = offset.transpose() {
                return Some(offset);
            }
        }
        self.over = true;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(text: &[u8]) -> Vec<Result<u64, String>> {
        let times = RecordedTimes::new(text, Path::new("times.txt"));
        times.map(|offset| offset.map(Picos::as_picos).map_err(|error| error.to_string())).collect()
    }

    #[test]
    fn offsets_are_exact_decimals() {
        let text = b"# recorded\n0\n0.000125\r\n\n  0.000125\n0.000000125001s\n";
        // The last is before the one above it.
        let expected: Vec<Result<u64, String>> = vec![
            Ok(0),
            Ok(125_000_000),
            Ok(125_000_000),
            Err("times.txt, line 6: 125001ps is before 125us, the time above it; sort the file".to_owned()),
        ];
        assert_eq!(read(text), expected);
        assert_eq!(read(b"0.000000000001\n1e3"), [
            Ok(1),
            Err("times.txt, line 2: '1e3' has an unknown unit of time; expected an offset in seconds such as 0.25".to_owned())
        ]);
    }

    #[test]
    fn what_is_not_a_time_is_told_with_its_line() {
        for (text, line, problem) in [
            (&b"0\n-1\n"[..], 2, "is negative"),
            (b"nan", 1, "is not a number"),
            (b"0\n\n\xff\xfe\n", 3, "is not text"),
            (&[b'0'; 1_000_000], 1, "is longer than 128 bytes"),
        ] {
            let all = read(text);
            let error = all.last().unwrap().clone().unwrap_err();
            assert!(error.contains(&format!("line {line}:")) && error.contains(problem), "{error}");
        }
    }

    #[test]
    fn a_whole_file_is_checked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("times");
        File::create(&path).unwrap().write_all(b"0.5\n0.5\n0.75\n3").unwrap();
        let found = check_recorded(&path).unwrap();
        assert_eq!(check_recorded_before(&path, found.last).unwrap().1 + 1, found.count.get());
        let gap = Some(Picos::from_millis(250));
        assert_eq!(found, Recorded { count: Count::new(4), last: Picos::from_secs(3), smallest_gap: gap });
        File::create(&path).unwrap();
        assert!(matches!(check_recorded(&path), Err(ScheduleError::NoTimes { .. })));
        assert!(matches!(check_recorded(folder.path()), Err(ScheduleError::NotAFile { .. })));
        assert!(matches!(check_recorded(&folder.path().join("none")), Err(ScheduleError::File { .. })));
    }
}
