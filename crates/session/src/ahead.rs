//! Bytes that came ahead of holes, until they are in order.

/// The bytes of one connection, in runs without a hole: as many as there are intervals.
#[derive(Debug, Default)]
pub struct Ahead {
    runs: Vec<Run>,
}

#[derive(Debug)]
struct Run {
    /// Number of its first byte.
    from: u32,
    bytes: Vec<u8>,
}

impl Run {
    fn end(&self) -> u32 {
        self.from.wrapping_add(self.bytes.len() as u32)
    }
}

impl Ahead {
    /// Keeps the bytes of a [`tcp::Notice::Early`], the first of which has the number `from`.
    pub fn keep(&mut self, from: u32, bytes: &[u8]) {
        let end = from.wrapping_add(bytes.len() as u32);
        let behind = self.runs.iter().position(|run| run.from == end);
        match self.runs.iter().position(|run| run.end() == from) {
            Some(at) => {
                self.runs[at].bytes.extend_from_slice(bytes);
                if let Some(behind) = behind {
                    let joined = std::mem::take(&mut self.runs[behind].bytes);
                    self.runs[at].bytes.extend(joined);
                    self.runs.swap_remove(behind);
                }
            }
            None => match behind {
                Some(at) => {
                    self.runs[at].bytes.splice(..0, bytes.iter().copied());
                    self.runs[at].from = from;
                }
                None => self.runs.push(Run { from, bytes: bytes.to_vec() }),
            },
        }
    }

    /// The bytes of a [`tcp::Notice::Filled`]: those behind the first hole.
    pub fn fill(&mut self) -> Option<Vec<u8>> {
        // Numbers wrap, and all are within a window of each other.
        let from = self.runs.first()?.from;
        let ahead = |run: &Run| run.from.wrapping_sub(from) as i32;
        let first = self.runs.iter().enumerate().min_by_key(|(_, run)| ahead(run))?.0;
        Some(self.runs.swap_remove(first).bytes)
    }

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_grow_at_both_ends_join_and_come_out_in_order() {
        let mut ahead = Ahead::default();
        // Numbers wrap behind the third letter.
        let number = |at: u32| (u32::MAX - 2).wrapping_add(at);
        for (at, bytes) in [(20, "uv"), (7, "hi"), (5, "fg"), (1, "bc"), (9, "j"), (12, "mno"), (10, "kl")] {
            ahead.keep(number(at), bytes.as_bytes());
        }
        let mut text = || ahead.fill().map(|bytes| String::from_utf8(bytes).expect("letters"));
        assert_eq!(text().as_deref(), Some("bc"));
        assert_eq!(text().as_deref(), Some("fghijklmno"));
        assert_eq!(text().as_deref(), Some("uv"));
        assert_eq!(text(), None);
        assert!(ahead.is_empty());
    }
}
