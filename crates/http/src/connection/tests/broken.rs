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

#[test]
fn an_alert_is_about_the_handshake_until_something_was_answered() {
    let half = &OK[..OK.len() - 1];
    for (before, seq, expected) in
        [(&b""[..], 0, Cause::TlsAlert), (half, 0, Cause::BodyTls), (OK, 1, Cause::FirstByteTls)]
    {
        let (mut connection, mut server) = secured();
        server.0.writer().write_all(before).unwrap();
        receive(&mut connection, &server.turn(b""), at(5));
        if seq == 1 {
            begin(&mut connection, seq);
        }
        // The server does not understand what it gets, and says so.
        server.0.read_tls(&mut &NOISE[..]).unwrap();
        assert!(server.0.process_new_packets().is_err());
        let finished = receive(&mut connection, &server.turn(b""), at(6));
        assert_eq!(results(&finished), [(seq, Err(expected))]);
        assert_eq!(connection.stage(), Stage::Closed);
    }
}

#[test]
fn what_ends_a_connection_before_it_is_open_is_told_by_stage() {
    type Ends = fn(&mut Connection, &mut Vec<Finished>);
    let (reset, eof, late): (Ends, Ends, Ends) = (|c, f| c.reset(f), |c, f| c.eof(f), |c, f| c.time_out(f));
    for (stage, lost, too_late) in [
        (Stage::Lookup, Cause::ConnectReset, Cause::LookupTimeout),
        (Stage::Connecting, Cause::ConnectReset, Cause::ConnectTimeout),
        (Stage::Proxy, Cause::ProxyRefused, Cause::ConnectTimeout),
        (Stage::Handshake, Cause::TlsClosed, Cause::TlsTimeout),
    ] {
        for (end, cause) in [(reset, lost), (eof, lost), (late, too_late)] {
            let mut connection = Connection::new(Route::default(), stage, at(0));
            connection.begin(Exchange::begun(0), GET, Body::Inside);
            let mut finished = Vec::new();
            end(&mut connection, &mut finished);
            assert_eq!(results(&finished), [(0, Err(cause))], "{stage:?}");
            assert_eq!(connection.stage(), Stage::Closed);
        }
    }
}
