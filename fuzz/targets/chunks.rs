//! A chunked body is the same whatever pieces it comes in, and what is written by the book (RFC 9112 §7.1) is
//! read whole.
//!
//! The input is what follows the head of a chunked answer: chunks, trailers, and perhaps the next answer. The
//! same bytes are also taken as a body, which is cut into chunks with extensions and trailers.

#![no_main]

use http::response::{RequestFacts, FramingError, Item, ResponseReader};
use libfuzzer_sys::fuzz_target;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
/// Longer ones are not split at every byte: that takes the square of their length.
const SPLIT: usize = 256;

#[derive(Debug, Default, PartialEq, Eq)]
struct Read {
    bodies: Vec<Vec<u8>>,
    /// Answers that ended.
    ended: usize,
    error: Option<FramingError>,
    /// The close of the connection completed an answer.
    closed: bool,
}

fuzz_target!(|data: &[u8]| {
    let whole = read([data]);
    assert_eq!(read(data.chunks(1)), whole);
    if data.len() <= SPLIT {
        for at in 0..data.len() {
            let (before, behind) = data.split_at(at);
            assert_eq!(read([before, behind]), whole, "split at {at}");
        }
    }

    let written = written(data);
    let expected = Read { bodies: vec![data.to_vec()], ended: 1, ..Read::default() };
    assert_eq!(read([&written[..]]), expected);
    assert_eq!(read(written.chunks(1)), expected);
});

/// Reads the head, then the pieces one after another, then the close.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Read {
    let mut reader = ResponseReader::new();
    let mut read = Read::default();
    for mut input in std::iter::once(HEAD).chain(pieces) {
        loop {
            match reader.next(&mut input, RequestFacts::default()) {
                Ok(Item::More) => break,
                Ok(Item::Head(_)) => read.bodies.push(Vec::new()),
                Ok(Item::Informational(_)) => {}
                Ok(Item::Data(data)) => {
                    let body = read.bodies.last_mut().expect("a body has a head before it");
                    body.extend_from_slice(data);
                }
                Ok(Item::End) => read.ended += 1,
                Err(error) => {
                    read.error = Some(error);
                    return read;
                }
            }
        }
    }
    read.closed = reader.close();
    read
}

/// `body` in chunks, whose sizes, extensions and trailers follow from its bytes.
fn written(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = body;
    while let Some(first) = rest.first() {
        let (chunk, behind) = rest.split_at(rest.len().min(usize::from(*first % 32) + 1));
        let zeros = "0".repeat(usize::from(*first >> 5));
        let size = match first % 2 {
            0 => format!("{zeros}{:x}", chunk.len()),
            _ => format!("{zeros}{:X}", chunk.len()),
        };
        let extension = match first % 5 {
            0 => ";name=value",
            1 => ";a=\"quoted; text\"",
            2 => " ; b",
            _ => "",
        };
        out.extend_from_slice(format!("{size}{extension}\r\n").as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
        rest = behind;
    }
    out.extend_from_slice(b"0\r\n");
    for byte in body.iter().take(4) {
        out.extend_from_slice(format!("X-Trailer-{byte}: {}\r\n", "v".repeat(usize::from(*byte))).as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    out
}
