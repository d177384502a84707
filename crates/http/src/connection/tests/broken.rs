//! A TLS session that breaks after its handshake, and responses that are no HTTP.

use super::*;
use std::io::Write;

/// A record of application data that nobody encrypted.
const NOISE: &[u8] = b"\x17\x03\x03\x00\x20zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz";

#[test]
fn a_record_that_breaks_the_session_is_no_failure_of_the_handshake() {
    let half = b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello";
    for (before, expected) in [(&b""[..], Cause::FirstByteTls), (half, Cause::BodyTls)] {
        let (mut connection, mut server) = secured();
        server.0.writer().write_all(before).unwrap();
        let mut bytes = server.turn(b"");
        bytes.extend_from_slice(NOISE);
        let finished = receive(&mut connection, &bytes, at(5));
        assert_eq!(results(&finished), [(0, Err(expected))]);
        assert!(!expected.is_before_a_request());
        assert!(connection.take_problem().is_some(), "TLS has words for it");
        assert_eq!(connection.stage(), Stage::Closed);
    }
}

#[test]
fn a_response_that_is_no_http_was_read_all_the_same() {
    let heads = ["HTTP/1.1 200 OK\r\nContent-Length: +5", "HTTP/2.0 200 OK", "HTTP/1.1 99 OK", "hello"];
    for bytes in heads.map(|head| format!("{head}\r\n\r\nhello")) {
        let mut connection = open();
        begin(&mut connection, 0);
        let finished = receive(&mut connection, bytes.as_bytes(), at(5));
        assert!(finished[0].result.is_err(), "{bytes:?}");
        assert_eq!(finished[0].exchange.bytes_in, bytes.len() as u64, "{bytes:?}");
    }
}
