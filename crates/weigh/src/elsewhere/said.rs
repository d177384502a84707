//! What a command says on its standard error: read as it comes, so that the command never waits for it, and
//! only the end is kept, in memory.
//!
//! ```text
//!   command ─ pipe ─► thread ─► tail (4 KiB)
//! ```

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Bytes that are kept, and lines and characters that are told.
const KEPT: usize = 4_096;
const LINES: usize = 3;
const CHARACTERS: usize = 300;
/// What is read at a time: all that a pipe holds.
const CHUNK: usize = 65_536;
/// How long the rest is waited for once the command has ended, and how often is looked.
const LOOKS: u32 = 50;
const LOOK: Duration = Duration::from_millis(10);

/// The end of what was said. Its thread ends when nobody has the pipe any more, or with this process.
pub struct Said {
    tail: Arc<Mutex<Tail>>,
    reader: JoinHandle<()>,
}

#[derive(Default)]
struct Tail {
    bytes: VecDeque<u8>,
    is_cut: bool,
}

impl Tail {
    fn add(&mut self, more: &[u8]) {
        self.is_cut |= more.len() > KEPT;
        let more = &more[more.len().saturating_sub(KEPT)..];
        let excess = (self.bytes.len() + more.len()).saturating_sub(KEPT);
        self.is_cut |= excess > 0;
        self.bytes.drain(..excess);
        self.bytes.extend(more);
    }
}

impl Said {
    /// Begins to listen; the other end is the command's.
    ///
    /// # Errors
    /// There is no pipe or no thread to be had.
    pub fn listen() -> io::Result<(Self, PipeWriter)> {
        let (pipe, other_end) = io::pipe()?;
        let tail = Arc::new(Mutex::new(Tail::default()));
        let kept = tail.clone();
        let reader = thread::Builder::new().name("tare-said".into()).spawn(move || keep(pipe, &kept))?;
        Ok((Self { tail, reader }, other_end))
    }

    /// The last lines of a command that has ended: what it said before them has led there.
    pub fn last_words(&self) -> Option<String> {
        // What it started may have the pipe for longer.
        for _ in 0..LOOKS {
            if self.reader.is_finished() {
                break;
            }
            thread::sleep(LOOK);
        }
        let mut tail = lock(&self.tail);
        let is_cut = tail.is_cut;
        last_words(tail.bytes.make_contiguous(), is_cut)
    }
}

fn lock(tail: &Mutex<Tail>) -> MutexGuard<'_, Tail> {
    tail.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep(mut pipe: PipeReader, tail: &Mutex<Tail>) {
    let mut room = vec![0; CHUNK];
    loop {
        match pipe.read(&mut room) {
            Ok(0) => return,
            Ok(count) => lock(tail).add(&room[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn last_words(bytes: &[u8], is_cut: bool) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    // The first line of a part is half a one.
    let whole = if is_cut { text.split_once('\n').map_or(&*text, |(_, rest)| rest) } else { &text };
    let lines: Vec<&str> = whole.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join("; ");
    let printable = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let count = last.chars().count();
    let end: String = last.chars().skip(count.saturating_sub(CHARACTERS)).map(printable).collect();
    (!end.is_empty()).then(|| if count > CHARACTERS { format!("…{end}") } else { end })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// What is told of these parts.
    fn told(parts: &[&str]) -> Option<String> {
        let mut tail = Tail::default();
        parts.iter().for_each(|part| tail.add(part.as_bytes()));
        assert!(tail.bytes.len() <= KEPT, "{} bytes are kept", tail.bytes.len());
        last_words(tail.bytes.make_contiguous(), tail.is_cut)
    }

    #[test]
    fn the_last_lines_are_told() {
        let mut text: String = (0..2_000).map(|n| format!("line {n}\n")).collect();
        text.push_str("\n  the reason \n");
        assert_eq!(told(&[&text]).unwrap(), "line 1998; line 1999; the reason");
        let said = told(&[&("x".repeat(9_000) + "end")]).unwrap();
        assert!(said.starts_with("…xx") && said.ends_with("xend") && said.chars().count() == 301, "{said}");
        assert_eq!(told(&[" \n\n"]), None);
        // In parts it is the same, and half a line is none.
        let parts: Vec<String> = (0..2_000).map(|n| format!("line {n}\n")).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        assert_eq!(told(&parts).unwrap(), "line 1997; line 1998; line 1999");
        assert_eq!(told(&[&"y".repeat(KEPT), "\nafter\n"]).unwrap(), "after");
        assert_eq!(told(&["whole\n"]).unwrap(), "whole");
    }

    #[test]
    fn whoever_speaks_without_end_waits_for_nobody_and_fills_nothing() {
        let (said, mut other_end) = Said::listen().unwrap();
        // A pipe holds 64 KiB: without a reader this would never return.
        for _ in 0..1_000 {
            other_end.write_all(&[b'y'; 65_536]).unwrap();
        }
        other_end.write_all(b"\nat last\n").unwrap();
        drop(other_end);
        assert_eq!(said.last_words().unwrap(), "at last");
        assert!(lock(&said.tail).bytes.capacity() <= 4 * KEPT);
    }
}
