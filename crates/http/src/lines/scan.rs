//! Lines in bytes: where they begin and end, and which of them are requests.

use memchr::{memchr, memchr_iter, memrchr};

/// What the lines of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Requests,
    /// Texts for placeholders, as they stand there: all lines but those that are blank.
    Values,
}

impl Kind {
    /// Beginning of the first one at `at`, which is the beginning of a line, or later.
    pub fn first(self, bytes: &[u8], mut at: usize) -> Option<usize> {
        match self {
            Self::Requests => first_request(bytes, at),
            Self::Values => {
                while at < bytes.len() && trimmed(&bytes[at..line_end(bytes, at)]).is_empty() {
                    at = next_line(bytes, at);
                }
                (at < bytes.len()).then_some(at)
            }
        }
    }

    /// What counts of a line.
    pub fn text(self, line: &[u8]) -> &[u8] {
        match self {
            Self::Requests => trimmed(line),
            Self::Values => {
                let line = &line[mark_length(line, 0)..];
                line.strip_suffix(b"\r").unwrap_or(line)
            }
        }
    }
}

/// End of the line that begins at `start`, without its newline.
pub(super) fn line_end(bytes: &[u8], start: usize) -> usize {
    memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |length| start + length)
}

/// Beginning of the line after the one that holds `at`; the length of `bytes` if there is none.
pub(super) fn next_line(bytes: &[u8], at: usize) -> usize {
    memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |length| at + length + 1)
}

/// Beginning of the line that holds `at`.
pub(super) fn line_start(bytes: &[u8], at: usize) -> usize {
    memrchr(b'\n', &bytes[..at]).map_or(0, |newline| newline + 1)
}

/// Whether the line that begins at `start` is a request: not blank, and not a comment.
pub(super) fn is_request(bytes: &[u8], start: usize) -> bool {
    let start = start + mark_length(bytes, start);
    match bytes.get(start) {
        Some(byte) if *byte > b' ' => *byte != b'#',
        Some(_) => {
            let rest = bytes[start..].iter();
            let first = rest.copied().find(|byte| *byte == b'\n' || !is_blank(*byte));
            !matches!(first, None | Some(b'\n' | b'#'))
        }
        None => false,
    }
}

/// The first request that begins at `at`, which is the beginning of a line, or later.
pub(super) fn first_request(bytes: &[u8], mut at: usize) -> Option<usize> {
    while at < bytes.len() {
        if is_request(bytes, at) {
            return Some(at);
        }
        at = next_line(bytes, at);
    }
    None
}

/// Bytes of the byte order mark that a line may begin with: editors of Windows put it before the first line of
/// a file, and joined files have it within.
fn mark_length(bytes: &[u8], start: usize) -> usize {
    const MARK: &[u8] = "\u{feff}".as_bytes();
    // The first byte alone tells most lines apart.
    if bytes.get(start) == Some(&MARK[0]) && bytes[start..].starts_with(MARK) { MARK.len() } else { 0 }
}

/// Without byte order mark, and without white space at both ends; this takes the CR of a CRLF as well.
pub(super) fn trimmed(line: &[u8]) -> &[u8] {
    let line = &line[mark_length(line, 0)..];
    let start = line.iter().position(|byte| !is_blank(*byte)).unwrap_or(line.len());
    let end = line.iter().rposition(|byte| !is_blank(*byte)).map_or(start, |last| last + 1);
    &line[start..end]
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

pub(super) fn newlines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_line() {
        let text = "\u{feff}http://a/\r\n\u{feff}# no\n\u{feff}\n".as_bytes();
        assert_eq!(first_request(text, 0), Some(0));
        assert_eq!(trimmed(&text[..line_end(text, 0)]), b"http://a/");
        assert_eq!(first_request(text, next_line(text, 0)), None);
    }

    #[test]
    fn blank_lines_and_comments_are_no_requests() {
        let text = b"a\n\n  \r\n# no\n  # no\n  b \r\n\t\nc";
        let mut at = 0;
        let mut found = Vec::new();
        while let Some(start) = first_request(text, at) {
            found.push(trimmed(&text[start..line_end(text, start)]));
            at = next_line(text, start);
        }
        assert_eq!(found, [&b"a"[..], b"b", b"c"]);
        assert_eq!(newlines(text), 7);
        assert_eq!((line_start(text, 0), line_start(text, 2), line_start(text, 5)), (0, 2, 3));
    }
}
