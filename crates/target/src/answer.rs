//! Writing answers: head, body, framing, and the programmed ways of getting them wrong.

use crate::random::Random;
use units::Picos;

/// Bytes put out at once; a larger body is written piece by piece.
pub(crate) const PIECE: usize = 64 * 1024;
const PATTERN_UNIT: &[u8] = b"tare known-truth target body 0123456789 abcdefghijklmnopqrstuvw\n";

/// What every body is made of: the text repeated, so that a body of n bytes is always the same.
pub(crate) struct Pattern {
    bytes: Vec<u8>,
    unit: usize,
}

impl Pattern {
    pub fn new(text: Option<&str>) -> Self {
        let unit = text.map_or(PATTERN_UNIT, str::as_bytes);
        let times = (2 * PIECE).div_ceil(unit.len()).max(2);
        Self { bytes: unit.repeat(times), unit: unit.len() }
    }

    /// Up to `most` bytes of the body from `offset`.
    fn piece(&self, offset: u64, most: u64) -> &[u8] {
        let from = (offset % self.unit as u64) as usize;
        let to = self.bytes.len().min(from + usize::try_from(most).unwrap_or(usize::MAX - from));
        &self.bytes[from..to]
    }
}

/// How one request shall be answered. Decided once the request is known, written when it is due.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub body: Body,
    /// HEAD: the head of the answer to GET, and no body.
    pub head_only: bool,
    /// The connection ends with this answer…
    pub close: bool,
    /// …and the head says so.
    pub say_close: bool,
    /// HTTP/1.0 asked for the connection to stay.
    pub say_keep_alive: bool,
    /// 0: with a length; else chunks of this size.
    pub chunk: u64,
    pub fault: Fault,
    /// 0: as fast as possible; else pieces of this size.
    pub trickle: u64,
    pub gap: Picos,
    /// Whole header lines.
    pub fields: String,
}

#[derive(Debug)]
pub(crate) enum Body {
    /// So many bytes of the pattern.
    Pattern(u64),
    Page(Box<Page>),
}

/// A body of its own.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub bytes: Vec<u8>,
    pub kind: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    Reset,
    ResetMid,
    Half,
    Silent,
    Garbage,
    /// CONNECT was accepted: what follows is not HTTP.
    Tunnel,
}

impl Answer {
    pub fn new(status: u16, body: Body) -> Self {
        Self {
            status,
            body,
            head_only: false,
            close: false,
            say_close: false,
            say_keep_alive: false,
            chunk: 0,
            fault: Fault::None,
            trickle: 0,
            gap: Picos::ZERO,
            fields: String::new(),
        }
    }

    /// A short text that says what is wrong; the connection closes.
    pub fn refusal(status: u16) -> Self {
        let text = format!("{status} {}\n", reason(status)).into_bytes();
        let page = Page { bytes: text, kind: "text/plain" };
        Self { close: true, say_close: true, ..Self::new(status, Body::Page(Box::new(page))) }
    }

    /// Bytes of the body as promised.
    pub fn length(&self) -> u64 {
        match &self.body {
            Body::Pattern(length) => *length,
            Body::Page(page) => page.bytes.len() as u64,
        }
    }

    /// Bytes of the body that will be written.
    pub fn written_length(&self) -> u64 {
        match self.fault {
            _ if self.head_only || !self.has_body() => 0,
            Fault::Half | Fault::ResetMid => self.length() / 2,
            _ => self.length(),
        }
    }

    /// RFC 9110 §15.3.5 and §15.4.5.
    fn has_body(&self) -> bool {
        !matches!(self.status, 204 | 304)
    }

    /// Whether the fault has to cut the head, as there is no body to cut.
    pub fn cuts_head(&self) -> bool {
        matches!(self.fault, Fault::Half | Fault::ResetMid) && self.written_length() == 0
    }

    pub fn write_head(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(b"HTTP/1.1 ");
        write_number(out, u64::from(self.status));
        out.push(b' ');
        out.extend_from_slice(reason(self.status).as_bytes());
        let kind = match &self.body {
            Body::Pattern(_) => "text/plain",
            Body::Page(page) => page.kind,
        };
        out.extend_from_slice(b"\r\nServer: tare\r\n");
        if self.has_body() {
            out.extend_from_slice(b"Content-Type: ");
            out.extend_from_slice(kind.as_bytes());
            if self.chunk > 0 {
                out.extend_from_slice(b"\r\nTransfer-Encoding: chunked\r\n");
            } else {
                out.extend_from_slice(b"\r\nContent-Length: ");
                write_number(out, self.length());
                out.extend_from_slice(b"\r\n");
            }
        }
        out.extend_from_slice(self.fields.as_bytes());
        if self.say_close {
            out.extend_from_slice(b"Connection: close\r\n");
        } else if self.say_keep_alive {
            out.extend_from_slice(b"Connection: keep-alive\r\n");
        }
        out.extend_from_slice(b"\r\n");
        if self.cuts_head() {
            out.truncate(start + (out.len() - start) / 2);
        }
    }

    /// Writes the body on from `sent`, up to about `PIECE` bytes; gives the new position.
    pub fn write_body(&self, pattern: &Pattern, sent: u64, out: &mut Vec<u8>) -> u64 {
        let end = self.written_length();
        let mut sent = sent;
        let full = out.len() + PIECE;
        while sent < end && out.len() < full {
            let most = (end - sent).min((full - out.len()) as u64);
            let piece = |most| match &self.body {
                Body::Pattern(_) => pattern.piece(sent, most),
                Body::Page(page) => &page.bytes[sent as usize..(sent + most) as usize],
            };
            if self.chunk == 0 {
                let piece = piece(most);
                out.extend_from_slice(piece);
                sent += piece.len() as u64;
                continue;
            }
            // A chunk is cut where a piece ends; its size is that of what follows.
            let piece = piece(most.min(self.chunk));
            write_hex(out, piece.len() as u64);
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(piece);
            out.extend_from_slice(b"\r\n");
            sent += piece.len() as u64;
        }
        sent
    }

    /// What ends a body; nothing if it was cut short.
    pub fn write_end(&self, out: &mut Vec<u8>) {
        let cut = matches!(self.fault, Fault::Half | Fault::ResetMid);
        if self.chunk > 0 && !self.head_only && self.has_body() && !cut {
            out.extend_from_slice(b"0\r\n\r\n");
        }
    }
}

/// Answers that no client should take for one.
const GARBAGE: [&[u8]; 6] = [
    b"HTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 2x0 OK\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n",
    b"\x00\xff\x16\x03not http at all\r\n\r\n",
];

pub(crate) fn write_garbage(random: &mut Random, out: &mut Vec<u8>) {
    out.extend_from_slice(GARBAGE[random.below(GARBAGE.len() as u64) as usize]);
}

pub(crate) fn write_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

fn write_hex(out: &mut Vec<u8>, number: u64) {
    let digits = (64 - number.leading_zeros()).div_ceil(4).max(1);
    for digit in (0..digits).rev() {
        out.push(b"0123456789abcdef"[(number >> (4 * digit)) as usize & 15]);
    }
}

/// Reason phrases of RFC 9110 §15 and RFC 6585; others get a neutral one.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Status",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(answer: &Answer) -> String {
        let mut out = Vec::new();
        answer.write_head(&mut out);
        let mut sent = 0;
        while sent < answer.written_length() {
            sent = answer.write_body(&Pattern::new(Some("abc")), sent, &mut out);
        }
        answer.write_end(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn answers_are_framed_as_they_say() {
        let plain = Answer::new(200, Body::Pattern(5));
        assert_eq!(
            text(&plain),
            "HTTP/1.1 200 OK\r\nServer: tare\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nabcab"
        );
        let chunked = text(&Answer { chunk: 3, ..Answer::new(200, Body::Pattern(5)) });
        assert!(chunked.ends_with("chunked\r\n\r\n3\r\nabc\r\n2\r\nab\r\n0\r\n\r\n"), "{chunked}");
        let empty = text(&Answer { chunk: 3, ..Answer::new(200, Body::Pattern(0)) });
        assert!(empty.ends_with("\r\n\r\n0\r\n\r\n"), "{empty}");
        let head = text(&Answer { head_only: true, ..Answer::new(200, Body::Pattern(5)) });
        assert!(head.ends_with("Content-Length: 5\r\n\r\n"), "{head}");
        assert!(!text(&Answer::new(204, Body::Pattern(5))).contains("Length"));
    }

    #[test]
    fn half_answers_promise_more_than_they_hold() {
        let half = text(&Answer { fault: Fault::Half, ..Answer::new(200, Body::Pattern(10)) });
        assert!(half.ends_with("Content-Length: 10\r\n\r\nabcab"), "{half}");
        let none = text(&Answer { fault: Fault::Half, ..Answer::new(200, Body::Pattern(0)) });
        assert!(!none.contains("\r\n\r\n"), "{none}");
    }

    #[test]
    fn numbers_are_written_in_full() {
        let mut out = Vec::new();
        for n in [0, 9, 10, u64::MAX] {
            write_number(&mut out, n);
            out.push(b' ');
            write_hex(&mut out, n);
            out.push(b' ');
        }
        assert_eq!(out, b"0 0 9 9 10 a 18446744073709551615 ffffffffffffffff ");
    }

    #[test]
    fn large_bodies_are_the_pattern_throughout() {
        let answer = Answer::new(200, Body::Pattern(300_001));
        let pattern = Pattern::new(Some("0123456789"));
        let (mut out, mut sent) = (Vec::new(), 0);
        while sent < 300_001 {
            sent = answer.write_body(&pattern, sent, &mut out);
        }
        assert_eq!(out.len(), 300_001);
        assert!(out.iter().enumerate().all(|(i, b)| *b == b'0' + (i % 10) as u8));
    }
}
