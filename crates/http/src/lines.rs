//! Requests from a file of any size: nothing is loaded, and memory does not grow with it.
//!
//! ```text
//!                 ┌── index: for each block of bytes, how many requests begin before it (about 2 MiB)
//! file ── mmap ──►┤
//!                 └── (seed, seq) ── order ──► the i-th request ──► its bytes, copied into the cursor
//! ```
//!
//! Which lines are requests: all but those that are blank and those that begin with `#`. White space around a
//! line does not belong to it, nor does a byte order mark before it. Of a file of values (`{line:FILE}`), which
//! may begin with `#` and end with a space, each line that is not blank is one as it stands.
//!
//! | order | up to 1 GiB | larger |
//! |---|---|---|
//! | random | index; a uniform draw of i | no index: a uniform draw of a byte, corrected for its line length |
//! | sequential | forward from where the cursor is | forward from where the cursor is |
//! | shuffle | index; a keyed permutation of i | the same: the file is read once before the start |
//! | random with weights | sums of weights; a uniform draw below the total | the same |
//!
//! Without an index the start is immediate.
//!
//! What is chosen depends on the seed and on the departure's position in the schedule alone, so any number of
//! threads makes the same sequence.
//!
//! If the file shrinks under the run, the next access says so (`LinesError::Truncated`); there is no SIGBUS.

mod cursor;
mod index;
mod mmap;
mod order;
mod scan;
mod weights;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use cursor::LineCursor;
pub(crate) use order::{Draws, Shuffle};

use index::Index;
use mmap::{MapError, Mapping};
use plan::LineOrder;
use scan::{Kind, first_request, line_end, next_line, trimmed};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use thiserror::Error;
use weights::Weights;

/// Files up to this size are indexed whatever the order.
const INDEXED_UP_TO: u64 = 1 << 30;
/// Longer lines are refused, so that memory has a bound.
const LONGEST_LINE: usize = 1 << 20;
/// So many requests are looked at before the start.
pub const CHECKED_FIRST: usize = 10_000;

/// A file of requests, shared by all threads; each has its own `LineCursor`.
#[derive(Debug)]
pub struct LineFile {
    path: PathBuf,
    file: File,
    map: Mapping,
    kind: Kind,
    order: LineOrder,
    seed: u64,
    index: Option<Index>,
    weights: Option<Weights>,
}

/// Where a request stands in the file: the offset of its line's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineAt {
    pub offset: u64,
}

/// Why a file, or a line of it, cannot be used.
#[derive(Debug, Error)]
pub enum LinesError {
    #[error("{}: {source}", .path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("{} is not a regular file; expected a file with one URL or JSON object per line", .path.display())]
    NotAFile { path: PathBuf },
    #[error("{} has no request; expected one URL or JSON object per line", .path.display())]
    Empty { path: PathBuf },
    #[error("{}, line {line}: is not text; expected one URL or JSON object per line", .path.display())]
    Binary { path: PathBuf, line: u64 },
    #[error("{}, line {line}: '{text}' {problem}", .path.display())]
    BadLine { path: PathBuf, line: u64, text: String, problem: String },
    #[error("{} was truncated during the run: it had {expected} bytes, and now has {now}", .path.display())]
    Truncated { path: PathBuf, expected: u64, now: u64 },
    #[error("{} could no longer be read (an I/O error of its device)", .path.display())]
    Unreadable { path: PathBuf },
    /// Only this line; the file is fine.
    #[error("{}: the line at byte {offset} is longer than {limit} bytes", .path.display())]
    LineTooLong { path: PathBuf, offset: u64, limit: usize },
}

impl LinesError {
    /// Where the line in question begins.
    pub const fn offset(&self) -> Option<u64> {
        match self {
            Self::LineTooLong { offset, .. } => Some(*offset),
            _ => None,
        }
    }

    /// Whether the whole file is lost, not one line of it.
    pub const fn is_fatal(&self) -> bool {
        !matches!(self, Self::LineTooLong { .. } | Self::BadLine { .. })
    }
}

impl LineFile {
    /// Maps the file and, if the order needs it, reads it once to index it.
    pub fn open(path: &Path, order: LineOrder, seed: u64) -> Result<Self, LinesError> {
        Self::open_with(path, Kind::Requests, order, seed, INDEXED_UP_TO)
    }

    /// A file of values, in their order.
    pub fn open_values(path: &Path) -> Result<Self, LinesError> {
        Self::open_with(path, Kind::Values, LineOrder::Sequential, 0, 0)
    }

    fn open_with(
        path: &Path,
        kind: Kind,
        order: LineOrder,
        seed: u64,
        indexed_up_to: u64,
    ) -> Result<Self, LinesError> {
        let failed = |source| LinesError::Open { path: path.to_owned(), source };
        // A pipe would be opened only when someone writes to it, so look first.
        if !std::fs::metadata(path).map_err(failed)?.is_file() {
            return Err(LinesError::NotAFile { path: path.to_owned() });
        }
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(LinesError::NotAFile { path: path.to_owned() });
        }
        if metadata.len() == 0 {
            return Err(LinesError::Empty { path: path.to_owned() });
        }
        let map = Mapping::new(&file, metadata.len()).map_err(|error| match error {
            MapError::Io(source) => failed(source),
            MapError::TooMany => failed(io::Error::other("too many files of requests are open at once")),
        })?;
        let (index, weights) = (None, None);
        let mut lines = Self { path: path.to_owned(), file, map, kind, order, seed, index, weights };
        let needs_index = match order {
            LineOrder::Random => metadata.len() <= indexed_up_to,
            LineOrder::Shuffle => true,
            LineOrder::Sequential => false,
        };
        if needs_index {
            lines.map.expect_sequential();
            lines.index = Some(Index::build(lines.map.bytes()));
        }
        match order {
            LineOrder::Sequential => lines.map.expect_sequential(),
            LineOrder::Random | LineOrder::Shuffle => lines.map.expect_random(),
        }
        lines.check_map()?;
        let is_empty = match &lines.index {
            Some(index) => index.requests() == 0,
            None => kind.first(lines.map.bytes(), 0).is_none(),
        };
        if is_empty { Err(LinesError::Empty { path: lines.path }) } else { Ok(lines) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Bytes in the file.
    pub fn length(&self) -> u64 {
        self.map.len()
    }

    /// Requests in the file; `None` where it was not indexed.
    pub fn requests(&self) -> Option<u64> {
        self.index.as_ref().map(Index::requests)
    }

    /// The text of the first request: what kind of file this is can be seen from it.
    pub fn first(&self) -> Result<Vec<u8>, LinesError> {
        let bytes = self.map.bytes();
        let start = first_request(bytes, 0).ok_or_else(|| LinesError::Empty { path: self.path.clone() })?;
        self.text_at(start)
    }

    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.map.bytes().len() as u64
    }

    /// Whether any of these texts stands anywhere in the file; reads it up to the first.
    pub fn mentions(&self, texts: &[&str]) -> bool {
        texts.iter().any(|text| memchr::memmem::find(self.map.bytes(), text.as_bytes()).is_some())
    }

    /// What stands between `open` and the next `close`, wherever that is in the file: each once.
    pub fn between(&self, open: &str, close: u8) -> BTreeSet<String> {
        let bytes = self.map.bytes();
        let begins = memchr::memmem::find_iter(bytes, open.as_bytes()).map(|at| &bytes[at + open.len()..]);
        let texts = begins.filter_map(|rest| {
            let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
            str::from_utf8(&line[..memchr::memchr(close, line)?]).ok()
        });
        texts.map(str::to_owned).collect()
    }

    /// Shows every request to `look`, until it says that it has seen enough.
    pub fn each(&self, mut look: impl FnMut(usize, &[u8]) -> ControlFlow<()>) -> Result<(), LinesError> {
        let bytes = self.map.bytes();
        let mut at = 0;
        while let Some(start) = first_request(bytes, at) {
            if look(start, trimmed(&bytes[start..line_end(bytes, start)])).is_break() {
                break;
            }
            at = next_line(bytes, start);
        }
        self.check_map()
    }

    /// From now on a random choice takes each line as often as its weight says.
    pub fn weigh(&mut self, weight: fn(&[u8]) -> u64) -> Result<(), LinesError> {
        self.weights = Some(Weights::build(self.map.bytes(), weight));
        self.check_map()
    }

    /// Shows the first 10 000 requests to `check`, with their line numbers from 1, before any is sent.
    pub fn check_first(
        &self,
        mut check: impl FnMut(u64, &[u8]) -> Result<(), String>,
    ) -> Result<(), LinesError> {
        let bytes = self.map.bytes();
        let (mut line, mut counted_to, mut at) = (1, 0, 0);
        for _ in 0..CHECKED_FIRST {
            let Some(start) = first_request(bytes, at) else { break };
            line += scan::newlines(&bytes[counted_to..start]);
            counted_to = start;
            let is_text = |text: &Vec<u8>| !text.contains(&0) && std::str::from_utf8(text).is_ok();
            let text = match self.text_at(start) {
                Ok(text) if is_text(&text) => text,
                Err(LinesError::LineTooLong { .. }) if bytes[start..start + LONGEST_LINE].contains(&0) => {
                    return Err(LinesError::Binary { path: self.path.clone(), line });
                }
                Ok(_) => return Err(LinesError::Binary { path: self.path.clone(), line }),
                Err(error) => return Err(error),
            };
            check(line, &text).map_err(|problem| self.bad_line(line, &text, problem))?;
            at = next_line(bytes, start);
        }
        Ok(())
    }

    /// The number of the line that begins at `offset`, from 1. Reads all that stands before it: for reports.
    pub fn line_number_at(&self, offset: u64) -> u64 {
        let bytes = self.map.bytes();
        let end = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        scan::newlines(&bytes[..end]) + 1
    }

    /// A copy of the request that begins at `start`.
    fn text_at(&self, start: usize) -> Result<Vec<u8>, LinesError> {
        let bytes = self.map.bytes();
        let line = &bytes[start..line_end(bytes, start)];
        if line.len() > LONGEST_LINE {
            return Err(self.too_long(start));
        }
        let text = trimmed(line).to_vec();
        self.check_map()?;
        Ok(text)
    }

    fn too_long(&self, start: usize) -> LinesError {
        LinesError::LineTooLong { path: self.path.clone(), offset: start as u64, limit: LONGEST_LINE }
    }

    fn bad_line(&self, line: u64, text: &[u8], problem: String) -> LinesError {
        const SHOWN: usize = 80;
        let mut text = String::from_utf8_lossy(text).into_owned();
        if let Some((cut, _)) = text.char_indices().nth(SHOWN) {
            text.truncate(cut);
            text.push('…');
        }
        LinesError::BadLine { path: self.path.clone(), line, text, problem }
    }

    /// Fails if an access to the mapping met a page that is no longer there.
    fn check_map(&self) -> Result<(), LinesError> {
        if self.map.is_lost() { Err(self.lost()) } else { Ok(()) }
    }

    /// Asks the kernel whether the file is still as long as it was.
    fn check_length(&self) -> Result<(), LinesError> {
        let now = self.file.metadata().map_or(0, |metadata| metadata.len());
        if now < self.map.len() { Err(self.lost()) } else { Ok(()) }
    }

    fn lost(&self) -> LinesError {
        let expected = self.map.len();
        match self.file.metadata() {
            Ok(metadata) if metadata.len() < expected => {
                LinesError::Truncated { path: self.path.clone(), expected, now: metadata.len() }
            }
            _ => LinesError::Unreadable { path: self.path.clone() },
        }
    }
}
