//! Counting request heads in a byte stream, wherever it is cut. Requests have no bodies here.

/// What one connection has sent so far.
#[derive(Default)]
pub struct Heads {
    /// How much of `\r\n\r\n` the last bytes match, 0–3.
    matched: usize,
    /// How much of `connection: close` this line matches.
    close_matched: usize,
    /// This head asks for the connection to be closed.
    close: bool,
}

/// What a piece of the stream brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeadsSeen {
    /// Heads that ended in this piece.
    pub heads: usize,
    /// One of them said `Connection: close`.
    pub close: bool,
}

const END: &[u8; 4] = b"\r\n\r\n";
const CLOSE: &[u8] = b"\nconnection: close";

impl Heads {
    /// Reads the next piece.
    pub fn read(&mut self, bytes: &[u8]) -> HeadsSeen {
        let mut found = HeadsSeen::default();
        for &byte in bytes {
            self.step_close(byte);
            if byte != END[self.matched] {
                self.matched = usize::from(byte == END[0]);
                continue;
            }
            self.matched += 1;
            if self.matched == END.len() {
                found.heads += 1;
                found.close |= self.close;
                *self = Self::default();
            }
        }
        found
    }

    fn step_close(&mut self, byte: u8) {
        let byte = byte.to_ascii_lowercase();
        if byte != CLOSE[self.close_matched] {
            self.close_matched = usize::from(byte == CLOSE[0]);
            return;
        }
        self.close_matched += 1;
        if self.close_matched == CLOSE.len() {
            self.close = true;
            self.close_matched = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &[u8] =
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n";

    #[test]
    fn any_cut_counts_the_same() {
        for cut in 0..=TWO.len() {
            let mut heads = Heads::default();
            let first = heads.read(&TWO[..cut]);
            let second = heads.read(&TWO[cut..]);
            assert_eq!(first.heads + second.heads, 2, "cut at {cut}");
            assert!(first.close || second.close, "cut at {cut}");
        }
    }

    #[test]
    fn close_is_seen_only_where_it_is_said() {
        let mut heads = Heads::default();
        assert_eq!(
            heads.read(b"GET /connection: close HTTP/1.1\r\n\r\n"),
            HeadsSeen { heads: 1, close: false }
        );
        assert_eq!(
            heads.read(b"GET / HTTP/1.1\r\nconnection: keep-alive\r\n\r\n"),
            HeadsSeen { heads: 1, close: false }
        );
    }
}
