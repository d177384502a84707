//! Bytes of a file in order, a whole piece at a time: refills a buffer by large reads.

use std::io::{self, Read};

/// What is read at a time, if no piece is longer.
const CHUNK: usize = 256 * 1024;

pub(super) struct FileBytes {
    file: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// What of the buffer is not consumed yet.
    start: usize,
    end: usize,
    /// Where in the file `start` is.
    offset: u64,
}

impl FileBytes {
    pub fn new(file: Box<dyn Read + Send>) -> Self {
        Self { file, buffer: vec![0; CHUNK], start: 0, end: 0, offset: 0 }
    }

    /// Where in the file the next byte is.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Sees to it that `count` bytes are there, if the file has them. Returns how many of them are.
    pub fn need(&mut self, count: usize) -> io::Result<usize> {
        if self.end - self.start < count {
            self.refill(count)?;
        }
        Ok((self.end - self.start).min(count))
    }

    /// Of a pipe, no more than `count` is waited for.
    fn refill(&mut self, count: usize) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while self.end < count {
            // Twice as much, not all at once: a piece may say that it is longer than the file.
            if self.end == self.buffer.len() {
                let twice = self.buffer.len() * 2;
                self.buffer.resize(twice.min(count.next_multiple_of(CHUNK)), 0);
            }
            match self.file.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(more) => self.end += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The next `count` bytes, which `need` has found to be there.
    pub fn peek(&self, count: usize) -> &[u8] {
        &self.buffer[self.start..self.start + count]
    }

    /// Bytes `from..to` from here on, of those that are there.
    pub fn part(&self, from: usize, to: usize) -> &[u8] {
        &self.buffer[self.start + from..self.start + to]
    }

    pub fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }
}

/// Numbers as this file has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// Two bytes at `at`.
    pub fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let two = [bytes[at], bytes[at + 1]];
        match self {
            Self::Little => u16::from_le_bytes(two),
            Self::Big => u16::from_be_bytes(two),
        }
    }

    /// Four bytes at `at`.
    pub fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match self {
            Self::Little => u32::from_le_bytes(four),
            Self::Big => u32::from_be_bytes(four),
        }
    }

    /// Eight bytes at `at`.
    pub fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let (first, second) = (u64::from(self.u32(bytes, at)), u64::from(self.u32(bytes, at + 4)));
        match self {
            Self::Little => second << 32 | first,
            Self::Big => first << 32 | second,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(length: usize) -> FileBytes {
        FileBytes::new(Box::new(io::Cursor::new(vec![7; length])))
    }

    #[test]
    fn a_piece_that_is_longer_than_a_chunk_is_there_whole() {
        let mut source = source(5 * CHUNK + 1);
        assert_eq!(source.need(3).unwrap(), 3);
        source.consume(3);
        let most = 5 * CHUNK - 2;
        assert_eq!(source.need(most).unwrap(), most);
        assert!(source.peek(most).iter().all(|byte| *byte == 7));
        source.consume(most);
        assert_eq!((source.need(1).unwrap(), source.offset()), (0, 5 * CHUNK as u64 + 1));
    }

    #[test]
    fn a_length_that_is_not_true_takes_no_memory() {
        let mut source = source(1_000);
        assert_eq!(source.need(16 << 20).unwrap(), 1_000);
        assert_eq!(source.buffer.len(), CHUNK);
    }
}
