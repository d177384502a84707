//! Reading a request's head: `httparse` finds the fields, this decides what they mean (RFC 9112).

use std::mem::MaybeUninit;

/// Longest head that is read; more is answered with 431.
pub(crate) const LONGEST_HEAD: usize = 64 * 1024;
const MOST_FIELDS: usize = 100;

/// One request's head.
#[derive(Debug)]
pub(crate) struct Head<'a> {
    pub method: Method,
    pub target: &'a str,
    /// 0 or 1, of HTTP/1.x.
    pub minor: u8,
    pub framing: Framing,
    /// The client wants the connection to stay.
    pub keep_alive: bool,
    /// `Expect: 100-continue`.
    pub expect: bool,
    /// `X-Tare-Seq`.
    pub seq: Option<u64>,
    pub authorization: Option<&'a [u8]>,
    /// The whole head as it came.
    pub raw: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Head,
    Connect,
    /// POST, PUT, PATCH, DELETE and OPTIONS: answered as GET is.
    Other,
    /// TRACE and whatever is not known: 405.
    Refused,
}

/// How the request's body is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// This many bytes; 0 is no body.
    Length(u64),
    Chunked,
}

pub(crate) enum Parsed<'a> {
    /// More bytes are needed.
    Partial,
    /// The head and its length.
    Whole(Head<'a>, usize),
    /// Cannot be read: answered with this status, and the connection closes.
    Bad(u16),
}

/// Reads the head at the front of `bytes`.
pub(crate) fn parse(bytes: &[u8]) -> Parsed<'_> {
    let mut fields = [const { MaybeUninit::uninit() }; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(bytes, &mut fields) {
        Ok(httparse::Status::Complete(length)) if length <= LONGEST_HEAD => length,
        Ok(httparse::Status::Partial) if bytes.len() < LONGEST_HEAD => return Parsed::Partial,
        Ok(_) | Err(httparse::Error::TooManyHeaders) => return Parsed::Bad(431),
        Err(httparse::Error::Version) => return Parsed::Bad(505),
        Err(_) => return Parsed::Bad(400),
    };
    let (Some(method), Some(target), Some(minor)) = (request.method, request.path, request.version) else {
        return Parsed::Bad(400);
    };
    let mut facts = Facts::default();
    for field in request.headers.iter() {
        if let Err(status) = facts.note(field.name, field.value) {
            return Parsed::Bad(status);
        }
    }
    match facts.framing(minor) {
        Err(status) => Parsed::Bad(status),
        Ok(framing) => Parsed::Whole(
            Head {
                method: method_of(method),
                target,
                minor,
                framing,
                keep_alive: facts.keep_alive.unwrap_or(minor == 1),
                expect: facts.expect && minor == 1,
                seq: facts.seq,
                authorization: facts.authorization,
                raw: &bytes[..length],
            },
            length,
        ),
    }
}

fn method_of(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "CONNECT" => Method::Connect,
        "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" => Method::Other,
        _ => Method::Refused,
    }
}

/// What the fields say, as they are read.
#[derive(Default)]
struct Facts<'a> {
    hosts: u32,
    length: Option<u64>,
    chunked: bool,
    keep_alive: Option<bool>,
    expect: bool,
    seq: Option<u64>,
    authorization: Option<&'a [u8]>,
}

impl<'a> Facts<'a> {
    fn note(&mut self, name: &str, value: &'a [u8]) -> Result<(), u16> {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        match name.len() {
            4 if is("host") => self.hosts += 1,
            6 if is("expect") => self.expect = value.eq_ignore_ascii_case(b"100-continue"),
            10 if is("connection") => {
                for option in value.split(|b| *b == b',').map(<[u8]>::trim_ascii) {
                    if option.eq_ignore_ascii_case(b"close") {
                        self.keep_alive = Some(false);
                    } else if option.eq_ignore_ascii_case(b"keep-alive") && self.keep_alive.is_none() {
                        self.keep_alive = Some(true);
                    }
                }
            }
            10 if is("x-tare-seq") => self.seq = number(value),
            13 if is("authorization") => self.authorization = Some(value),
            14 if is("content-length") => {
                let length = number(value.trim_ascii()).ok_or(400u16)?;
                if self.length.replace(length).is_some_and(|before| before != length) {
                    return Err(400);
                }
            }
            17 if is("transfer-encoding") => {
                if !value.eq_ignore_ascii_case(b"chunked") || self.chunked {
                    return Err(501);
                }
                self.chunked = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn framing(&self, minor: u8) -> Result<Framing, u16> {
        if self.hosts > 1 || (minor == 1 && self.hosts == 0) {
            return Err(400);
        }
        match (self.chunked, self.length) {
            (true, Some(_)) => Err(400),
            (true, None) if minor == 0 => Err(400),
            (true, None) => Ok(Framing::Chunked),
            (false, length) => Ok(Framing::Length(length.unwrap_or(0))),
        }
    }
}

/// A decimal number of digits alone.
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    digits.iter().try_fold(0u64, |sum, digit| {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 { None } else { sum.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Head<'_> {
        match parse(text.as_bytes()) {
            Parsed::Whole(head, length) => {
                assert_eq!(length, text.len());
                head
            }
            Parsed::Partial => panic!("partial: {text:?}"),
            Parsed::Bad(status) => panic!("{status}: {text:?}"),
        }
    }

    fn refused(text: &str) -> u16 {
        match parse(text.as_bytes()) {
            Parsed::Bad(status) => status,
            _ => 0,
        }
    }

    #[test]
    fn fields_are_understood() {
        let head = whole("POST /a?b HTTP/1.1\r\nHost: x\r\ncontent-LENGTH: 12\r\nX-Tare-Seq: 77\r\n\r\n");
        assert_eq!((head.method, head.target, head.seq), (Method::Other, "/a?b", Some(77)));
        assert_eq!(head.framing, Framing::Length(12));
        assert!(head.keep_alive && !head.expect);
        assert!(!whole("GET / HTTP/1.0\r\n\r\n").keep_alive);
        assert!(whole("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").keep_alive);
        assert!(!whole("GET / HTTP/1.1\r\nHost: x\r\nConnection: foo, Close\r\n\r\n").keep_alive);
        assert!(whole("PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\n\r\n").expect);
    }

    #[test]
    fn wrong_heads_get_the_status_of_the_standard() {
        // RFC 9112 §3.2 (Host), §6.1–6.3 (framing); RFC 6585 §5 (431); RFC 9110 §15.6.6 (505).
        assert_eq!(refused("GET / HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(refused("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
        assert_eq!(
            refused("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
            400
        );
        assert_eq!(refused("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"), 400);
        let both = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(refused(both), 400);
        assert_eq!(refused("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"), 501);
        assert_eq!(refused("GET / HTTP/3.0\r\n\r\n"), 505);
        assert_eq!(refused("\u{1}\r\n\r\n"), 400);
        let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "A: b\r\n".repeat(100));
        assert_eq!(refused(&many), 431);
        let long = format!("GET / HTTP/1.1\r\nHost: a\r\nA: {}\r\n\r\n", "b".repeat(LONGEST_HEAD));
        assert_eq!(refused(&long), 431);
    }
}
