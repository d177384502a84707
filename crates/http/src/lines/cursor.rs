//! One thread's way through a `LineFile`.

use super::order::{Draws, Shuffle};
use super::scan::{first_request, is_request, line_end, line_start, next_line};
use super::{LONGEST_LINE, LineAt, LineFile, LinesError};
use plan::LineOrder;
use std::sync::Arc;

/// The file's length is asked for after so many lines.
const LINES_BETWEEN_CHECKS: u32 = 4096;
/// No request is shorter than `http://x`.
const SHORTEST_REQUEST: u64 = 8;
/// Draws without an index before the next request is taken as it comes: only a file that is nearly all
/// comments gets there.
const MOST_DRAWS: u32 = 1_000_000;

/// One thread's view of the file. Holds a copy of the last line, so a change of the file cannot reach it.
#[derive(Debug)]
pub struct LineCursor {
    file: Arc<LineFile>,
    line: Vec<u8>,
    /// Whose request that is, and where it begins: several placeholders of one request have the same.
    last: Option<(u64, usize)>,
    until_check: u32,
    /// Sequential: the next request's number and where its line begins.
    ahead: (u64, usize),
    /// Sequential: requests in the file, known after the first pass.
    total: Option<u64>,
    /// Shuffle: the pass and its permutation.
    pass: Option<(u64, Shuffle)>,
}

impl LineCursor {
    pub fn new(file: &Arc<LineFile>) -> Self {
        Self {
            file: Arc::clone(file),
            line: Vec::with_capacity(256),
            last: None,
            until_check: LINES_BETWEEN_CHECKS,
            ahead: (0, 0),
            total: file.requests(),
            pass: None,
        }
    }

    pub fn file(&self) -> &LineFile {
        &self.file
    }

    /// The request for position `seq` of the schedule, without white space around it. Any `seq` may be asked
    /// for; ascending ones are cheapest.
    pub fn line_for(&mut self, seq: u64) -> Result<(&[u8], LineAt), LinesError> {
        if let Some((_, start)) = self.last.filter(|(known, _)| *known == seq) {
            return Ok((&self.line, LineAt { offset: start as u64 }));
        }
        self.last = None;
        let found = match self.file.order {
            LineOrder::Random => self.random(seq),
            LineOrder::Shuffle => self.shuffled(seq),
            LineOrder::Sequential => self.sequential(seq),
        };
        self.file.check_map()?;
        // Every request was there when the file was opened.
        let start = found.ok_or_else(|| self.file.lost())?;
        self.copy_line(start)?;
        self.last = Some((seq, start));
        Ok((&self.line, LineAt { offset: start as u64 }))
    }

    fn random(&self, seq: u64) -> Option<usize> {
        let bytes = self.file.map.bytes();
        let mut draws = Draws::new(self.file.seed, seq);
        match (&self.file.weights, &self.file.index) {
            (Some(weights), _) => weights.find(bytes, draws.below(weights.total())),
            (None, Some(index)) => index.find(bytes, draws.below(index.requests())),
            (None, None) => draw_without_index(bytes, &mut draws),
        }
    }

    fn shuffled(&mut self, seq: u64) -> Option<usize> {
        let index = self.file.index.as_ref().expect("a shuffled file is always indexed");
        let (pass, i) = (seq / index.requests(), seq % index.requests());
        let shuffle = match self.pass {
            Some((known, shuffle)) if known == pass => shuffle,
            _ => {
                let shuffle = Shuffle::new(self.file.seed, pass, index.requests());
                self.pass = Some((pass, shuffle));
                shuffle
            }
        };
        index.find(self.file.map.bytes(), shuffle.of(i))
    }

    /// Forward from the last request; only a smaller number begins again at the top.
    fn sequential(&mut self, seq: u64) -> Option<usize> {
        let bytes = self.file.map.bytes();
        let mut wanted = self.total.map_or(seq, |total| seq % total);
        if wanted < self.ahead.0 {
            self.ahead = (0, 0);
        }
        loop {
            let (number, at) = self.ahead;
            match self.file.kind.first(bytes, at) {
                Some(start) => {
                    self.ahead = (number + 1, next_line(bytes, start));
                    if number == wanted {
                        return Some(start);
                    }
                }
                None if number == 0 => return None,
                None => {
                    // The end: now the number of requests is known.
                    self.total = Some(number);
                    wanted %= number;
                    self.ahead = (0, 0);
                }
            }
        }
    }

    /// Copies the line and makes sure that it still is what the file held: a page that has gone reads as zeros.
    fn copy_line(&mut self, start: usize) -> Result<(), LinesError> {
        let bytes = self.file.map.bytes();
        let line = &bytes[start..line_end(bytes, start)];
        if line.len() > LONGEST_LINE {
            self.file.check_length()?;
            return Err(self.file.too_long(start));
        }
        self.line.clear();
        self.line.extend_from_slice(self.file.kind.text(line));
        self.file.check_map()?;
        self.until_check -= 1;
        if self.until_check == 0 || memchr::memchr(0, &self.line).is_some() {
            self.until_check = LINES_BETWEEN_CHECKS;
            self.file.check_length()?;
        }
        Ok(())
    }
}

/// Exactly uniform over all lines of at least eight bytes, which every URL and JSON object has, with no index:
/// a uniform byte falls into a line with probability ∝ its length L (newline included), and the line is taken
/// with probability 8 / L. Takes L̄ / 8 draws on average. (Shorter lines, which can only be mistakes, come up
/// L / 8 as often.)
fn draw_without_index(bytes: &[u8], draws: &mut Draws) -> Option<usize> {
    for _ in 0..MOST_DRAWS {
        let at = draws.below(bytes.len() as u64) as usize;
        let start = line_start(bytes, at);
        let length = (next_line(bytes, at) - start) as u64;
        if draws.below(length) < SHORTEST_REQUEST && is_request(bytes, start) {
            return Some(start);
        }
    }
    first_request(bytes, line_start(bytes, draws.below(bytes.len() as u64) as usize))
        .or_else(|| first_request(bytes, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_asked_for_again_is_not_looked_for_from_the_top() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a\nb\nc\nd\n").unwrap();
        let mut cursor = LineCursor::new(&Arc::new(LineFile::open_values(file.path()).unwrap()));
        let line = |cursor: &mut LineCursor, seq| {
            let (line, at) = cursor.line_for(seq).unwrap();
            (String::from_utf8(line.to_vec()).unwrap(), at.offset)
        };
        assert_eq!(line(&mut cursor, 2), ("c".to_owned(), 4));
        // A place that no search leaves behind.
        let ahead = std::mem::replace(&mut cursor.ahead, (77, 5));
        assert_eq!(line(&mut cursor, 2), ("c".to_owned(), 4));
        assert_eq!(cursor.ahead, (77, 5));
        cursor.ahead = ahead;
        assert_eq!(line(&mut cursor, 3), ("d".to_owned(), 6));
        assert_eq!(line(&mut cursor, 0), ("a".to_owned(), 0));
    }
}
