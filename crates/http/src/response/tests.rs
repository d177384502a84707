//! The reader on raw bytes; the expected items follow from RFC 9112 by hand.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Informational(u16),
    Head(Head),
    Body(Vec<u8>),
    End,
    Closed(bool),
    Error(FramingError),
}

/// Feeds the pieces one after another, then closes; joins neighbouring body pieces.
fn read(pieces: &[&[u8]], asked: RequestFacts) -> Vec<Seen> {
    let mut reader = ResponseReader::new();
    let mut seen = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        loop {
            match reader.next(&mut input, asked) {
                Ok(Item::More) => break,
                Ok(Item::Informational(status)) => seen.push(Seen::Informational(status)),
                Ok(Item::Head(head)) => seen.push(Seen::Head(head)),
                Ok(Item::End) => seen.push(Seen::End),
                Ok(Item::Data(data)) => match seen.last_mut() {
                    Some(Seen::Body(body)) => body.extend_from_slice(data),
                    _ => seen.push(Seen::Body(data.to_vec())),
                },
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

fn whole(bytes: &[u8]) -> Vec<Seen> {
    read(&[bytes], RequestFacts::default())
}

fn head(status: u16, keep_alive: bool, framing: Framing) -> Seen {
    Seen::Head(Head { status, keep_alive, framing })
}

#[test]
fn length_delimited_and_pipelined() {
    let bytes =
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 404 No\r\ncontent-length:0\r\n\r\n";
    assert_eq!(
        whole(bytes),
        [
            head(200, true, Framing::Length(5)),
            Seen::Body(b"hello".to_vec()),
            Seen::End,
            head(404, true, Framing::Length(0)),
            Seen::End,
            Seen::Closed(false),
        ]
    );
}

#[test]
fn chunked_with_extensions_and_trailers() {
    let bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nContent-Length: 3\r\n\r\n\
        4;x=y\r\nWiki\r\nA\r\npedia in c\r\n0\r\nExpires: never\r\nX: y\r\n\r\n";
    assert_eq!(
        whole(bytes),
        [
            head(200, true, Framing::Chunked),
            Seen::Body(b"Wikipedia in c".to_vec()),
            Seen::End,
            Seen::Closed(false),
        ]
    );
}

#[test]
fn no_body_for_204_304_and_head() {
    for status in [204, 304] {
        let bytes = format!("HTTP/1.1 {status} X\r\nContent-Length: 10\r\n\r\n");
        assert_eq!(
            whole(bytes.as_bytes()),
            [head(status, true, Framing::Empty), Seen::End, Seen::Closed(false)]
        );
    }
    let asked = RequestFacts { no_body: true, ..RequestFacts::default() };
    assert_eq!(
        read(&[b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"], asked),
        [head(200, true, Framing::Empty), Seen::End, Seen::Closed(false)]
    );
}

#[test]
fn informational_heads_come_before_the_final_one() {
    let bytes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    assert_eq!(
        whole(bytes)[..3],
        [Seen::Informational(100), Seen::Informational(103), head(200, true, Framing::Length(1)),]
    );
}

#[test]
fn close_delimited_is_complete_at_close_and_lengths_are_not() {
    assert_eq!(
        whole(b"HTTP/1.0 200 OK\r\n\r\nabc"),
        [head(200, false, Framing::UntilClose), Seen::Body(b"abc".to_vec()), Seen::Closed(true)]
    );
    assert_eq!(whole(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").last(), Some(&Seen::Closed(false)));
}

#[test]
fn a_reader_says_where_it_is() {
    let mut reader = ResponseReader::new();
    let mut feed = |bytes: &[u8]| {
        let mut input = bytes;
        while !matches!(reader.next(&mut input, RequestFacts::default()), Ok(Item::More)) {}
        (reader.is_inside(), reader.is_in_body(), reader.is_until_close())
    };
    assert_eq!(feed(b"\r\n"), (false, false, false));
    assert_eq!(feed(b"HTTP/1.1 200 OK\r\n"), (true, false, false));
    assert_eq!(feed(b"Content-Length: 2\r\n\r\no"), (true, true, false));
    assert_eq!(feed(b"k"), (false, false, false));
    assert_eq!(feed(b"HTTP/1.0 200 OK\r\n\r\n"), (true, true, true));
    for (bytes, is_foreign) in
        [("H", false), ("HTTP/1.1", false), ("HTTQ", true), ("HTTP:", true), ("http/", true)]
    {
        let mut reader = ResponseReader::new();
        assert!(!reader.is_foreign());
        reader.next(&mut bytes.as_bytes(), RequestFacts::default()).unwrap_or(Item::More);
        assert_eq!(reader.is_foreign(), is_foreign, "{bytes}");
    }
}

#[test]
fn keep_alive_follows_version_and_connection_field() {
    for (bytes, keep) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false),
        ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", true),
    ] {
        assert_eq!(whole(bytes.as_bytes())[0], head(200, keep, Framing::Length(0)), "{bytes}");
    }
}

#[test]
fn broken_framing_has_its_own_name() {
    for (bytes, error) in [
        ("HTP/1.1 200 OK\r\n\r\n", FramingError::Head),
        ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", FramingError::Length),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", FramingError::Length),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", FramingError::Length),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", FramingError::Chunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n", FramingError::Chunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\n", FramingError::Chunk),
    ] {
        assert_eq!(whole(bytes.as_bytes()).last(), Some(&Seen::Error(error)), "{bytes}");
    }
}

#[test]
fn folded_fields_and_spaces_before_the_colon_are_read_as_curl_reads_them() {
    // RFC 9112 §5.2: the fold is a space. §5.1: a proxy would take the space before the colon away.
    for fields in
        ["X-A: one\r\n two\r\nContent-Length: 2", "X-A : v\r\nContent-Length : 2", "Content-Length:\r\n\t2"]
    {
        let bytes = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nok");
        let expected =
            [head(200, true, Framing::Length(2)), Seen::Body(b"ok".to_vec()), Seen::End, Seen::Closed(false)];
        assert_eq!(whole(bytes.as_bytes()), expected, "{fields:?}");
        let pieces: Vec<&[u8]> = bytes.as_bytes().chunks(1).collect();
        assert_eq!(read(&pieces, RequestFacts::default()), expected, "{fields:?}, byte by byte");
    }
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding : gzip,\r\n chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(whole(chunked)[0], head(200, true, Framing::Chunked));
    let two_lengths = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n 3\r\n\r\n";
    assert_eq!(whole(two_lengths), [Seen::Error(FramingError::Length)]);
    let no_name = b"HTTP/1.1 200 OK\r\n X-A: v\r\n\r\n";
    assert_eq!(whole(no_name), [Seen::Error(FramingError::Head)]);
}

#[test]
fn a_transfer_coding_other_than_chunked_hides_the_length() {
    // RFC 9112 §6.3: also `identity`, which is no transfer coding any more; curl reads until close as well.
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: identity\r\n\r\nok and more";
    let until_close =
        [head(200, false, Framing::UntilClose), Seen::Body(b"ok and more".to_vec()), Seen::Closed(true)];
    assert_eq!(whole(bytes), until_close);
}

#[test]
fn heads_are_bounded() {
    let long = format!("HTTP/1.1 200 OK\r\nX: {}", "y".repeat(HEAD_LIMIT));
    assert_eq!(whole(long.as_bytes()), [Seen::Error(FramingError::HeadTooLarge)]);
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(FIELD_LIMIT + 1));
    assert_eq!(whole(many.as_bytes()), [Seen::Error(FramingError::HeadTooLarge)]);
    let trailers =
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{}", "X: y\r\n".repeat(20_000));
    assert_eq!(whole(trailers.as_bytes()).last(), Some(&Seen::Error(FramingError::Chunk)));
}

#[test]
fn limits_are_reached_and_not_passed_however_the_bytes_are_split() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let head_of = |bytes: usize| {
        let rest = "HTTP/1.1 204 X\r\nX: \r\n\r\n".len();
        format!("HTTP/1.1 204 X\r\nX: {}\r\n\r\n", "y".repeat(bytes - rest))
    };
    let broken = |bytes: usize| format!("{}\r\n\r\n", "y".repeat(bytes - 4));
    // The size line counts what is behind its digits, and trailers each of their bytes.
    let extension = |bytes: usize| format!("{chunked}1{}\nx\n0\n\n", ";".repeat(bytes));
    let trailers = |bytes: usize| format!("{chunked}0\n{}\n\n", "t".repeat(bytes));
    for (bytes, last) in [
        (head_of(65_536), Seen::Closed(false)),
        (head_of(65_537), Seen::Error(FramingError::HeadTooLarge)),
        (broken(65_536), Seen::Error(FramingError::Head)),
        (broken(65_537), Seen::Error(FramingError::HeadTooLarge)),
        (format!("{chunked}000000000000000a\n0123456789\n0\n\n"), Seen::Closed(false)),
        (format!("{chunked}0000000000000000a\n"), Seen::Error(FramingError::Chunk)),
        (format!("{chunked}1A\n{}\n0\n\n", "x".repeat(26)), Seen::Closed(false)),
        (format!("{chunked}\r\n"), Seen::Error(FramingError::Chunk)),
        (format!("{chunked}\n"), Seen::Error(FramingError::Chunk)),
        (format!("{chunked};x\n"), Seen::Error(FramingError::Chunk)),
        (format!("{chunked}0\n{}", "\r".repeat(16_384)), Seen::Error(FramingError::Chunk)),
        (extension(4_096), Seen::Closed(false)),
        (extension(4_097), Seen::Error(FramingError::Chunk)),
        (trailers(16_382), Seen::Closed(false)),
        (trailers(16_383), Seen::Error(FramingError::Chunk)),
    ] {
        assert_eq!(whole(bytes.as_bytes()).last(), Some(&last), "{} bytes", bytes.len());
        let pieces: Vec<&[u8]> = bytes.as_bytes().chunks(1_000).collect();
        assert_eq!(read(&pieces, RequestFacts::default()).last(), Some(&last), "{} bytes", bytes.len());
    }
}

#[test]
fn names_that_are_as_long_as_those_of_framing_say_nothing_of_it() {
    let bytes = b"HTTP/1.1 200 OK\r\nX-Frame-Option: 9\r\nX-Content-Encoded: chunked\r\n\
        Keep-Alive: close\r\nContent-Length: 2\r\n\r\nok";
    assert_eq!(whole(bytes)[..2], [head(200, true, Framing::Length(2)), Seen::Body(b"ok".to_vec())]);
}

#[test]
fn a_length_is_a_number_of_64_bits() {
    let length =
        |text: &str| whole(format!("HTTP/1.1 200 OK\r\nContent-Length: {text}\r\n\r\n").as_bytes()).remove(0);
    assert_eq!(length("18446744073709551615"), head(200, true, Framing::Length(u64::MAX)));
    for wrong in ["18446744073709551616", "184467440737095516150", "", "1,", "0x1"] {
        assert_eq!(length(wrong), Seen::Error(FramingError::Length), "{wrong:?}");
    }
}

#[test]
fn statuses_begin_at_100_and_a_switch_of_protocols_is_the_end() {
    let status = |status: u16| {
        whole(format!("HTTP/1.1 {status:03} X\r\nContent-Length: 0\r\n\r\n").as_bytes()).remove(0)
    };
    assert_eq!((status(99), status(100)), (Seen::Error(FramingError::Head), Seen::Informational(100)));
    assert_eq!((status(199), status(101)), (Seen::Informational(199), head(101, false, Framing::Length(0))));
    assert_eq!(
        (status(200), status(999)),
        (head(200, true, Framing::Length(0)), head(999, true, Framing::Length(0)))
    );
}

#[test]
fn location_is_kept_only_when_asked_for() {
    let bytes: &[u8] = b"HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n";
    for (location, expected) in [(true, Some("/next")), (false, None)] {
        let mut reader = ResponseReader::new();
        let mut input = bytes;
        reader.next(&mut input, RequestFacts { location, ..RequestFacts::default() }).unwrap();
        assert_eq!(reader.take_location().as_deref(), expected);
    }
    for (status, name, expected) in [
        (299, "Location", None),
        (300, "LOCATION", Some("/a")),
        (400, "Location", None),
        (302, "X-Place", None),
    ] {
        let mut reader = ResponseReader::new();
        let bytes = format!("HTTP/1.1 {status} X\r\n{name}: /a\r\nContent-Length: 0\r\n\r\n");
        reader
            .next(&mut bytes.as_bytes(), RequestFacts { location: true, ..RequestFacts::default() })
            .unwrap();
        assert_eq!(reader.take_location().as_deref(), expected, "{status} {name}");
    }
}

fn responses() -> impl Strategy<Value = Vec<u8>> {
    let one = prop_oneof![
        Just(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".to_vec()),
        Just(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n".to_vec()),
        Just(b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n3\nabc\n0\n\n".to_vec()),
        Just(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;e\r\nabc\r\n1\r\nd\r\n0\r\nT: v\r\n\r\n"
                .to_vec()
        ),
        Just(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n".to_vec()),
        Just(b"HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n!".to_vec()),
        Just(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz".to_vec()),
        Just(b"garbage\r\n\r\n".to_vec()),
        Just(b"Hgarbage".to_vec()),
        Just(b"\r\n\nHTTP/1.1 204 X\r\n\r\n".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..40),
    ];
    proptest::collection::vec(one, 1..6).prop_map(|all| all.concat())
}

proptest! {
    #[test]
    fn any_split_gives_the_same_items(
        bytes in responses(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.push(0);
        at.push(bytes.len());
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
        prop_assert_eq!(read(&pieces, RequestFacts::default()), whole(&bytes));
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(read(&single, RequestFacts::default()), whole(&bytes));
    }
}
