//! Any split of the bytes gives the same items, and the bodies of
//! length-delimited answers have their length.
//!
//! ```text
//! input: flags (1 byte) │ number of cuts n (1 byte) │ n × where (2 bytes each) │ the bytes of the connection
//! ```

#![no_main]

use http::response::{RequestFacts, Framing, FramingError, Head, Item, ResponseReader};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Informational(u16),
    Head(Head),
    /// Pieces of the body, joined.
    Body(Vec<u8>),
    End,
    Location(Option<Box<str>>),
    Closed(bool),
    Error(FramingError),
}

fuzz_target!(|data: &[u8]| {
    let [flags, cuts, rest @ ..] = data else { return };
    let asked = RequestFacts { no_body: flags & 1 != 0, location: flags & 2 != 0, ..RequestFacts::default() };
    let cuts = usize::from(*cuts).min(rest.len() / 2);
    let (places, bytes) = rest.split_at(cuts * 2);
    let whole = read([bytes], asked);
    let at = |place: &[u8]| usize::from(u16::from_le_bytes([place[0], place[1]])) % (bytes.len() + 1);
    let mut ends: Vec<usize> = places.chunks_exact(2).map(at).chain([0, bytes.len()]).collect();
    ends.sort_unstable();
    let pieces = ends.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
    assert_eq!(read(pieces, asked), whole);
    if flags & 4 != 0 {
        assert_eq!(read(bytes.chunks(1), asked), whole);
    }
    check(&whole, asked);
});

/// Feeds the pieces one after another, then closes.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, asked: RequestFacts) -> Vec<Seen> {
    let mut reader = ResponseReader::new();
    let mut seen = Vec::new();
    for mut input in pieces {
        loop {
            let before = input.len();
            let item = reader.next(&mut input, asked);
            match item {
                Ok(Item::More) => {
                    assert!(input.is_empty(), "asks for more with input left");
                    break;
                }
                Ok(Item::Data(data)) => {
                    assert!(!data.is_empty() && input.len() + data.len() <= before);
                    match seen.last_mut() {
                        Some(Seen::Body(body)) => body.extend_from_slice(data),
                        _ => seen.push(Seen::Body(data.to_vec())),
                    }
                }
                Ok(Item::Informational(status)) => seen.push(Seen::Informational(status)),
                Ok(Item::Head(head)) => {
                    seen.push(Seen::Head(head));
                    seen.push(Seen::Location(reader.take_location()));
                }
                Ok(Item::End) => seen.push(Seen::End),
                Err(error) => {
                    seen.push(Seen::Error(error));
                    return seen;
                }
            }
        }
    }
    seen.push(Seen::Closed(reader.close()));
    seen
}

/// What must hold of any sequence of items.
fn check(seen: &[Seen], asked: RequestFacts) {
    let mut head: Option<Head> = None;
    let mut body = 0;
    for item in seen {
        match item {
            Seen::Informational(status) => {
                assert!(head.is_none() && (100..200).contains(status), "{seen:?}");
            }
            Seen::Head(new) => {
                assert!(head.is_none() && (100..1_000).contains(&new.status), "{seen:?}");
                assert!(!asked.no_body || new.framing == Framing::Empty, "{seen:?}");
                (head, body) = (Some(*new), 0);
            }
            Seen::Location(location) => assert!(location.is_none() || asked.location, "{seen:?}"),
            Seen::Body(data) => body += data.len() as u64,
            Seen::End => {
                match head.expect("an end has a head before it").framing {
                    Framing::Empty => assert_eq!(body, 0),
                    Framing::Length(length) => assert_eq!(body, length),
                    Framing::Chunked => {}
                    Framing::UntilClose => panic!("ends before the close: {seen:?}"),
                }
                head = None;
            }
            Seen::Closed(true) => assert!(head.is_some(), "{seen:?}"),
            Seen::Closed(false) | Seen::Error(_) => {}
        }
    }
}
