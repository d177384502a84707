//! A connection's life without a socket: bytes and times go in by hand.

use super::*;
use crate::protocol::Unserved;
use crate::rules::Rules;
use plan::{TlsPlan, TlsVersion};

mod broken;
mod pipeline;

const GET: &[u8] = b"GET / HTTP/1.1\r\n\r\n";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn at(millis: u64) -> Instant {
    Instant::EPOCH + Picos::from_millis(millis)
}

/// A plan that wants nothing of its answers.
fn rules() -> RuleBook {
    RuleBook::new(Rules::default())
}

/// Through a proxy that is asked so.
fn through(connect: &[u8]) -> Route {
    Route { tunnel: Some(Box::new(Tunnel::new(connect.to_vec()))), tls: None }
}

/// A plain connection that is open since 1 ms.
fn open() -> Connection {
    let mut connection = Connection::new(Route::default(), Stage::Lookup, at(0));
    connection.connecting(at(0));
    connection.connected(at(1));
    connection
}

fn begin(connection: &mut Connection, seq: u64) {
    connection.begin(Exchange::begun(seq), GET, Body::Inside);
    drain(connection);
}

/// Everything that it has to send now.
fn drain(connection: &mut Connection) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let piece = connection.output(&[]).to_vec();
        if piece.is_empty() {
            return all;
        }
        connection.wrote(piece.len());
        all.extend(piece);
    }
}

fn receive(connection: &mut Connection, bytes: &[u8], now: Instant) -> Vec<Finished> {
    let mut finished = Vec::new();
    connection.received(bytes, now, &rules(), &mut finished);
    finished
}

/// As `results`, with why each may be sent again.
fn unserved(finished: &[Finished]) -> Vec<(u64, Result<(), Cause>, Option<Unserved>)> {
    finished.iter().map(|ended| (ended.exchange.departure.seq, ended.result, ended.unserved)).collect()
}

fn results(finished: &[Finished]) -> Vec<(u64, Result<(), Cause>)> {
    finished.iter().map(|ended| (ended.exchange.departure.seq, ended.result)).collect()
}

#[test]
fn phases_take_the_time_between_their_events() {
    let mut connection = Connection::new(Route::default(), Stage::Lookup, at(0));
    assert_eq!(connection.connecting(at(3)), Some(PhaseTook(Phase::Lookup, Picos::from_millis(3))));
    assert_eq!(connection.connecting(at(3)), None, "another address is no other look-up");
    assert_eq!(connection.connected(at(10)), Some(PhaseTook(Phase::Connect, Picos::from_millis(7))));
    assert_eq!(connection.connected(at(11)), None);
    assert_eq!(connection.opened_at(), at(3));
}

#[test]
fn a_request_may_wait_in_a_connection_that_is_not_up() {
    let mut connection = Connection::new(Route::default(), Stage::Lookup, at(0));
    connection.begin(Exchange::begun(0), b"GET", Body::Inside);
    assert!(connection.output(&[]).is_empty());
    connection.connecting(at(1));
    // Sending may be tried before the kernel says that the connection is up.
    assert_eq!(drain(&mut connection), b"GET");
}

#[test]
fn keep_alive_until_the_target_says_otherwise() {
    let mut connection = open();
    begin(&mut connection, 0);
    assert_eq!(results(&receive(&mut connection, OK, at(5))), [(0, Ok(()))]);
    assert!(connection.may_begin(1));
    begin(&mut connection, 1);
    let last = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(results(&receive(&mut connection, last, at(6))), [(1, Ok(()))]);
    assert_eq!(connection.stage(), Stage::Closed);
}

#[test]
fn pipelined_answers_belong_to_their_requests_in_order() {
    let mut connection = open();
    (0..3).for_each(|seq| begin(&mut connection, seq));
    assert!(connection.may_begin(4) && !connection.may_begin(3));
    let both = [OK, OK].concat();
    let finished = receive(&mut connection, &both, at(7));
    assert_eq!(results(&finished), [(0, Ok(())), (1, Ok(()))]);
    assert!(finished.iter().all(|ended| ended.exchange.bytes_in == OK.len() as u64));
    // The one that is left has had no byte; whether it came before the end is for the kernel to say.
    let mut rest = Vec::new();
    connection.eof(&mut rest);
    assert_eq!(unserved(&rest), [(2, Err(Cause::FirstByteClosed), Some(Unserved::Reused))]);
    assert_eq!(rest[0].exchange.written_before, Some(2 * GET.len() as u64));
}

#[test]
fn what_stands_behind_the_last_answer_is_not_charged_to_the_target() {
    let closing = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let mut connection = open();
    (0..3).for_each(|seq| begin(&mut connection, seq));
    let behind = |seq| (seq, Err(Cause::PipelineClosed), Some(Unserved::BehindLast));
    let finished = receive(&mut connection, closing, at(5));
    assert_eq!(unserved(&finished), [(0, Ok(()), None), behind(1), behind(2)]);
    assert!(!connection.has_surplus());

    // A reset is the outcome of the request that the target had begun to answer.
    let mut connection = open();
    (0..3).for_each(|seq| begin(&mut connection, seq));
    receive(&mut connection, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", at(5));
    let mut finished = Vec::new();
    connection.reset(&mut finished);
    let broken = |seq| (seq, Err(Cause::PipelineClosed), Some(Unserved::BehindBroken));
    assert_eq!(unserved(&finished), [(0, Err(Cause::BodyReset), None), broken(1), broken(2)]);
}

#[test]
fn a_request_on_an_idle_connection_may_have_met_its_end() {
    let mut connection = open();
    begin(&mut connection, 0);
    receive(&mut connection, OK, at(5));
    begin(&mut connection, 1);
    let mut finished = Vec::new();
    connection.eof(&mut finished);
    assert_eq!(finished[0].exchange.written_before, Some(GET.len() as u64));
    assert_eq!(unserved(&finished), [(1, Err(Cause::FirstByteClosed), Some(Unserved::Reused))]);

    // A reset may be the target's answer to the request.
    let mut connection = open();
    begin(&mut connection, 0);
    receive(&mut connection, OK, at(5));
    begin(&mut connection, 1);
    let mut finished = Vec::new();
    connection.reset(&mut finished);
    assert_eq!(unserved(&finished), [(1, Err(Cause::FirstByteReset), None)]);

    // A first request, and one that has part of an answer, are the target's.
    for (answered, partial) in [(&b""[..], &b""[..]), (OK, b"HTTP")] {
        let mut connection = open();
        begin(&mut connection, 0);
        if !answered.is_empty() {
            receive(&mut connection, answered, at(5));
            begin(&mut connection, 1);
        }
        receive(&mut connection, partial, at(6));
        let mut finished = Vec::new();
        connection.eof(&mut finished);
        assert_eq!(finished[0].unserved, None, "{partial:?}");
    }
}

#[test]
fn a_connection_that_carries_no_more_finishes_what_it_carries() {
    let mut connection = open();
    (0..3).for_each(|seq| begin(&mut connection, seq));
    connection.retire();
    let finished = receive(&mut connection, &[OK, OK].concat(), at(5));
    assert_eq!(results(&finished), [(0, Ok(())), (1, Ok(()))]);
    assert_eq!(connection.stage(), Stage::Open);
    assert_eq!(results(&receive(&mut connection, OK, at(6))), [(2, Ok(()))]);
    assert_eq!(connection.stage(), Stage::Closed);
}

#[test]
fn an_answer_that_comes_before_the_body_has_left_counts() {
    let upload = || {
        let mut connection = open();
        connection.begin(Exchange::begun(0), b"head", Body::OfPlan(100_000));
        let sent = connection.output(&[]).len();
        connection.wrote(sent);
        connection.wrote(10_000);
        connection
    };
    let answer = b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n";
    // Nobody waits for the rest of the body, and nothing may follow it.
    let mut connection = upload();
    assert_eq!(results(&receive(&mut connection, answer, at(5))), [(0, Ok(()))]);
    assert_eq!(connection.stage(), Stage::Closed);

    // Sending fails first, and then the answer is read.
    let mut connection = upload();
    connection.mute(true);
    assert!(connection.output(&[]).is_empty() && !connection.may_begin(1));
    assert_eq!(results(&receive(&mut connection, answer, at(5))), [(0, Ok(()))]);

    // Sending fails, and there is no answer.
    let mut connection = upload();
    connection.mute(true);
    let mut finished = Vec::new();
    connection.eof(&mut finished);
    assert_eq!(results(&finished), [(0, Err(Cause::SendReset))]);
}

#[test]
fn what_ends_a_connection_is_told_by_phase() {
    type End = fn(&mut Connection, &mut Vec<Finished>);
    let (reset, eof, late): (End, End, End) = (|c, f| c.reset(f), |c, f| c.eof(f), |c, f| c.time_out(f));
    let head: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
    for (received, end, cause) in [
        (&b""[..], reset, Cause::FirstByteReset),
        (b"", eof, Cause::FirstByteClosed),
        (b"HTT", eof, Cause::FirstByteClosed),
        (b"\0\x01\x02", eof, Cause::FramingHead),
        (b"", late, Cause::FirstByteTimeout),
        (head, reset, Cause::BodyReset),
        (head, eof, Cause::BodyClosed),
        (head, late, Cause::BodyTimeout),
    ] {
        let mut connection = open();
        begin(&mut connection, 0);
        receive(&mut connection, received, at(5));
        let mut finished = Vec::new();
        end(&mut connection, &mut finished);
        assert_eq!(results(&finished), [(0, Err(cause))]);
        assert_eq!(connection.stage(), Stage::Closed);
    }
    let mut connecting = Connection::new(Route::default(), Stage::Lookup, at(0));
    connecting.begin(Exchange::begun(0), b"GET", Body::Inside);
    let mut finished = Vec::new();
    connecting.time_out(&mut finished);
    assert_eq!(results(&finished), [(0, Err(Cause::LookupTimeout))]);
}

#[test]
fn a_body_until_close_is_complete_at_close() {
    let mut connection = open();
    begin(&mut connection, 0);
    receive(&mut connection, b"HTTP/1.0 200 OK\r\n\r\nall of it", at(5));
    let mut finished = Vec::new();
    connection.eof(&mut finished);
    assert_eq!(results(&finished), [(0, Ok(()))]);
    assert_eq!(connection.stage(), Stage::Closed);
}

#[test]
fn bytes_that_nobody_asked_for_end_the_connection() {
    let mut connection = open();
    assert!(receive(&mut connection, OK, at(5)).is_empty());
    assert_eq!(connection.stage(), Stage::Closed);
    assert!(connection.has_surplus());

    // Right behind an answer, which is whole, they are told as well.
    for close in ["", "Connection: close\r\n"] {
        let mut connection = open();
        begin(&mut connection, 0);
        let answer = format!("HTTP/1.1 200 OK\r\n{close}Content-Length: 2\r\n\r\nok and more");
        assert_eq!(results(&receive(&mut connection, answer.as_bytes(), at(5))), [(0, Ok(()))]);
        assert!(connection.has_surplus() && connection.stage() == Stage::Closed);
    }
}

#[test]
fn broken_framing_is_the_first_requests_outcome() {
    let mut connection = open();
    (0..2).for_each(|seq| begin(&mut connection, seq));
    let finished = receive(&mut connection, b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", at(5));
    assert_eq!(results(&finished), [(0, Err(Cause::FramingLength)), (1, Err(Cause::PipelineClosed))]);
}

#[test]
fn a_body_waits_for_the_100_and_is_given_up_at_a_final_answer() {
    let mut connection = open();
    connection.begin(Exchange::begun(0), b"headBODY", Body::Held(4));
    assert_eq!(drain(&mut connection), b"head");
    receive(&mut connection, b"HTTP/1.1 100 Continue\r\n\r\n", at(5));
    assert_eq!(drain(&mut connection), b"BODY");

    let mut refused = open();
    refused.begin(Exchange::begun(0), b"headBODY", Body::Held(4));
    drain(&mut refused);
    let answer = b"HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(results(&receive(&mut refused, answer, at(5))), [(0, Ok(()))]);
    assert!(drain(&mut refused).is_empty());
    assert_eq!(refused.stage(), Stage::Closed);
}

#[test]
fn a_tunnel_comes_before_everything_else() {
    let route = through(b"CONNECT h:443 HTTP/1.1\r\n\r\n");
    let mut connection = Connection::new(route, Stage::Lookup, at(0));
    connection.connecting(at(0));
    connection.begin(Exchange::begun(0), b"GET", Body::Inside);
    assert!(connection.output(&[]).is_empty(), "the proxy is not connected");
    connection.connected(at(1));
    assert_eq!(drain(&mut connection), b"CONNECT h:443 HTTP/1.1\r\n\r\n");
    assert!(receive(&mut connection, b"HTTP/1.1 200 Connection established\r\n\r\n", at(2)).is_empty());
    assert_eq!(drain(&mut connection), b"GET");

    let route = through(b"CONNECT");
    let mut refused = Connection::new(route, Stage::Connecting, at(0));
    refused.begin(Exchange::begun(0), b"GET", Body::Inside);
    refused.connected(at(1));
    let finished = receive(&mut refused, b"HTTP/1.1 403 Forbidden\r\n\r\n", at(2));
    assert_eq!(results(&finished), [(0, Err(Cause::ProxyRefused))]);
}

/// A rustls server on the other end, in memory.
struct Server(rustls::ServerConnection);

impl Server {
    fn new() -> Self {
        Self::with(rcgen::CertificateParams::new(vec!["target.test".to_owned()]).unwrap()).0
    }

    /// With a certificate that it signs itself, in PEM.
    fn with(params: rcgen::CertificateParams) -> (Self, String) {
        let signing_key = rcgen::KeyPair::generate().unwrap();
        let cert = params.self_signed(&signing_key).unwrap();
        let key = rustls::pki_types::PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
        let provider = rustls::crypto::aws_lc_rs::default_provider().into();
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        (Self(rustls::ServerConnection::new(config.into()).unwrap()), cert.pem())
    }

    /// Takes bytes, gives bytes.
    fn turn(&mut self, mut bytes: &[u8]) -> Vec<u8> {
        while !bytes.is_empty() {
            self.0.read_tls(&mut bytes).unwrap();
            self.0.process_new_packets().unwrap();
        }
        let mut out = Vec::new();
        while self.0.wants_write() {
            self.0.write_tls(&mut out).unwrap();
        }
        out
    }
}

fn tls_plan() -> TlsPlan {
    TlsPlan {
        ca: None,
        client: None,
        insecure: true,
        min_version: TlsVersion::Tls12,
        max_version: TlsVersion::Tls13,
        ciphers: Vec::new(),
        resumption: true,
        server_name: None,
        alpn: Vec::new(),
    }
}

#[test]
fn tls_carries_requests_and_answers_however_the_bytes_are_split() {
    use std::io::{Read, Write};
    for step in [1, 7, 100_000] {
        let config = crate::tls::configure(&tls_plan()).unwrap();
        let name = crate::tls::server_name("target.test").unwrap();
        let tls = Some(Box::new(Layer::new(&config, &name).unwrap()));
        let mut connection = Connection::new(Route { tunnel: None, tls }, Stage::Lookup, at(0));
        let mut server = Server::new();
        connection.connecting(at(0));
        connection.begin(Exchange::begun(0), b"GET / HTTP/1.1\r\n\r\n", Body::Inside);
        connection.connected(at(1));
        let (mut handshake, mut finished) = (None, Vec::new());
        for turn in 2..8 {
            let from_server = server.turn(&drain(&mut connection));
            for piece in from_server.chunks(step) {
                let took = connection.received(piece, at(turn), &rules(), &mut finished);
                handshake = handshake.or(took);
            }
            let mut request = [0u8; 64];
            if server.0.reader().read(&mut request).is_ok_and(|count| count > 0) {
                assert!(request.starts_with(b"GET / HTTP/1.1"));
                server.0.writer().write_all(OK).unwrap();
            }
        }
        let Some(PhaseTook(Phase::Tls, took)) = handshake else { panic!("no handshake: {handshake:?}") };
        assert!(took >= Picos::from_millis(1), "connected at 1 ms, done later");
        assert_eq!(results(&finished), [(0, Ok(()))], "in pieces of {step}");
        let judged = finished.remove(0);
        assert_eq!((judged.exchange.body_in, judged.exchange.status), (2, 200));
    }
}

/// A connection with its handshake behind it, and the server that has read its request.
fn secured() -> (Connection, Server) {
    use std::io::Read;
    let config = crate::tls::configure(&tls_plan()).unwrap();
    let name = crate::tls::server_name("target.test").unwrap();
    let tls = Some(Box::new(Layer::new(&config, &name).unwrap()));
    let mut connection = Connection::new(Route { tunnel: None, tls }, Stage::Connecting, at(0));
    let mut server = Server::new();
    connection.begin(Exchange::begun(0), b"GET / HTTP/1.1\r\n\r\n", Body::Inside);
    connection.connected(at(1));
    for _ in 0..6 {
        let from_server = server.turn(&drain(&mut connection));
        connection.received(&from_server, at(2), &rules(), &mut Vec::new());
    }
    assert!(server.0.reader().read(&mut [0u8; 64]).is_ok_and(|count| count > 0));
    (connection, server)
}

#[test]
fn a_body_until_close_is_whole_only_if_tls_says_so() {
    use std::io::Write;
    for (says_so, expected) in [(true, Ok(())), (false, Err(Cause::BodyTruncated))] {
        let (mut connection, mut server) = secured();
        server.0.writer().write_all(b"HTTP/1.1 200 OK\r\n\r\nall of it?").unwrap();
        if says_so {
            server.0.send_close_notify();
        }
        let mut finished = receive(&mut connection, &server.turn(b""), at(5));
        connection.eof(&mut finished);
        assert_eq!(results(&finished), [(0, expected)]);
    }
    // A length is word enough.
    let (mut connection, mut server) = secured();
    server.0.writer().write_all(OK).unwrap();
    let mut finished = receive(&mut connection, &server.turn(b""), at(5));
    connection.eof(&mut finished);
    assert_eq!(results(&finished), [(0, Ok(()))]);
}

#[test]
fn a_certificate_given_as_its_own_authority_is_trusted_by_name_and_date() {
    let names = || vec!["target.test".to_owned()];
    let authority = |params: &mut rcgen::CertificateParams| {
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    };
    let mut expired = rcgen::CertificateParams::new(names()).unwrap();
    expired.not_after = rcgen::date_time_ymd(2001, 1, 1);
    authority(&mut expired);
    let mut good = rcgen::CertificateParams::new(names()).unwrap();
    authority(&mut good);
    let leaf = rcgen::CertificateParams::new(names()).unwrap();
    let other = rcgen::CertificateParams::new(vec!["other.test".to_owned()]).unwrap();
    let mut elsewhere = other.clone();
    authority(&mut elsewhere);
    for (params, given, trusted) in [
        (leaf, true, true),
        (good.clone(), true, true),
        (good, false, false),
        (expired, true, false),
        (other, true, false),
        (elsewhere, true, false),
    ] {
        let (mut server, pem) = Server::with(params);
        let file = tempfile::NamedTempFile::new().unwrap();
        let another = Server::with(rcgen::CertificateParams::new(names()).unwrap()).1;
        std::fs::write(file.path(), if given { pem } else { another }).unwrap();
        let plan = TlsPlan { insecure: false, ca: Some(file.path().into()), ..tls_plan() };
        let config = crate::tls::configure(&plan).unwrap();
        let name = crate::tls::server_name("target.test").unwrap();
        let mut client = Layer::new(&config, &name).unwrap();
        let mut verdict = Ok(false);
        for _ in 0..4 {
            let out = client.output(None::<&mut Http1>, &[]).to_vec();
            client.wrote(out.len());
            // After its alert the server says no more.
            let answer = if verdict.is_ok() { server.turn(&out) } else { Vec::new() };
            verdict = verdict.and_then(|_| client.received(&answer, |_| {}));
        }
        assert_eq!(verdict, if trusted { Ok(false) } else { Err(Cause::TlsCertificate) });
        assert_eq!(client.is_handshaking(), !trusted);
    }
}

#[test]
fn bytes_that_are_not_tls_fail_the_handshake() {
    let config = crate::tls::configure(&tls_plan()).unwrap();
    let name = crate::tls::server_name("target.test").unwrap();
    let tls = Some(Box::new(Layer::new(&config, &name).unwrap()));
    let mut connection = Connection::new(Route { tunnel: None, tls }, Stage::Connecting, at(0));
    connection.begin(Exchange::begun(0), b"GET", Body::Inside);
    connection.connected(at(1));
    let finished = receive(&mut connection, b"HTTP/1.1 400 Bad Request\r\n\r\n", at(2));
    assert_eq!(results(&finished), [(0, Err(Cause::TlsProtocol))]);
    assert!(connection.take_problem().is_some());
}
