//! Reading a request's body: it is counted and dropped, or kept up to a bound for `/echo`.

use crate::head::Framing;

/// Longest chunk extension or trailer section; more is bad framing.
const LONGEST_LINE: u32 = 64 * 1024;

/// What is left of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyReader {
    /// This many bytes.
    Length(u64),
    Chunked(Chunked),
}

/// Where in the chunked coding (RFC 9112 §7.1) the reader stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chunked {
    Size {
        value: u64,
        digits: u8,
    },
    /// After the size, up to the line's end; bytes seen.
    Extension {
        value: u64,
        seen: u32,
    },
    Data(u64),
    DataEnd {
        cr: bool,
    },
    /// In the trailer section: bytes seen in all, and in this line.
    Trailer {
        seen: u32,
        line: u32,
    },
}

/// The framing is wrong: 400.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadFraming;

impl BodyReader {
    /// `None` when there is no body.
    pub fn new(framing: Framing) -> Option<Self> {
        match framing {
            Framing::Length(0) => None,
            Framing::Length(length) => Some(Self::Length(length)),
            Framing::Chunked => Some(Self::Chunked(Chunked::Size { value: 0, digits: 0 })),
        }
    }

    /// Reads on; gives the bytes taken and whether the body is complete. `data` is called with each piece.
    pub fn read(&mut self, bytes: &[u8], mut data: impl FnMut(&[u8])) -> Result<(usize, bool), BadFraming> {
        match self {
            Self::Length(left) => {
                let take = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                data(&bytes[..take]);
                *left -= take as u64;
                Ok((take, *left == 0))
            }
            Self::Chunked(state) => {
                let mut at = 0;
                while at < bytes.len() {
                    if let Chunked::Data(left) = state {
                        let take = (bytes.len() - at).min(usize::try_from(*left).unwrap_or(usize::MAX));
                        data(&bytes[at..at + take]);
                        at += take;
                        *left -= take as u64;
                        if *left == 0 {
                            *state = Chunked::DataEnd { cr: false };
                        }
                        continue;
                    }
                    at += 1;
                    match state.step(bytes[at - 1])? {
                        Some(next) => *state = next,
                        None => return Ok((at, true)),
                    }
                }
                Ok((at, false))
            }
        }
    }
}

impl Chunked {
    /// One byte that is not data; `None` ends the body.
    fn step(self, byte: u8) -> Result<Option<Self>, BadFraming> {
        let next = match (self, byte) {
            (Self::Size { value, digits }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') if digits < 15 => {
                let digit = char::from(byte).to_digit(16).ok_or(BadFraming)?;
                Self::Size { value: value << 4 | u64::from(digit), digits: digits + 1 }
            }
            (Self::Size { value, digits: 1.. }, b'\r' | b';' | b' ' | b'\t') => {
                Self::Extension { value, seen: 0 }
            }
            (Self::Size { value, digits: 1.. } | Self::Extension { value, .. }, b'\n') => match value {
                0 => Self::Trailer { seen: 0, line: 0 },
                size => Self::Data(size),
            },
            (Self::Extension { value, seen }, _) if seen < LONGEST_LINE => {
                Self::Extension { value, seen: seen + 1 }
            }
            (Self::DataEnd { cr: false }, b'\r') => Self::DataEnd { cr: true },
            (Self::DataEnd { .. }, b'\n') => Self::Size { value: 0, digits: 0 },
            (Self::Trailer { line: 0, .. }, b'\n') => return Ok(None),
            (Self::Trailer { seen, .. }, b'\n') => Self::Trailer { seen, line: 0 },
            (Self::Trailer { seen, line: 0 }, b'\r') => Self::Trailer { seen, line: 0 },
            (Self::Trailer { seen, line }, _) if seen < LONGEST_LINE => {
                Self::Trailer { seen: seen + 1, line: line + 1 }
            }
            _ => return Err(BadFraming),
        };
        Ok(Some(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunked(pieces: &[&[u8]]) -> Result<(String, bool), BadFraming> {
        let mut reader = BodyReader::new(Framing::Chunked).unwrap();
        let mut body = Vec::new();
        let mut done = false;
        for piece in pieces {
            assert!(!done, "bytes after the end");
            let (taken, end) = reader.read(piece, |data| body.extend_from_slice(data))?;
            assert_eq!(taken, piece.len());
            done = end;
        }
        Ok((String::from_utf8(body).unwrap(), done))
    }

    #[test]
    fn every_split_of_a_chunked_body_is_the_same() {
        // The example of RFC 9112 §7.1, with an extension and a trailer.
        let wire = b"4;a=b\r\nWiki\r\n5\r\npedia\r\n0\r\nX: y\r\n\r\n";
        for split in 0..=wire.len() {
            let (a, b) = wire.split_at(split);
            let pieces: Vec<&[u8]> = [a, b].into_iter().filter(|p| !p.is_empty()).collect();
            assert_eq!(chunked(&pieces).unwrap(), ("Wikipedia".to_owned(), true), "{split}");
        }
        let bytes: Vec<&[u8]> = wire.chunks(1).collect();
        assert_eq!(chunked(&bytes).unwrap(), ("Wikipedia".to_owned(), true));
    }

    #[test]
    fn wrong_chunks_are_refused() {
        for wire in [&b"x\r\n"[..], b"\r\n", b"-1\r\n", b"2\r\nabc", b"fffffffffffffffff\r\n"] {
            assert_eq!(chunked(&[wire]), Err(BadFraming), "{wire:?}");
        }
    }

    #[test]
    fn a_length_takes_no_more_than_its_own() {
        let mut reader = BodyReader::new(Framing::Length(3)).unwrap();
        assert_eq!(reader.read(b"ab", |_| {}), Ok((2, false)));
        assert_eq!(reader.read(b"cGET", |_| {}), Ok((1, true)));
        assert_eq!(BodyReader::new(Framing::Length(0)), None);
    }
}
