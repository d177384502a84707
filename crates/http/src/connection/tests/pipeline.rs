//! What each request of a connection has written, and which of them its end is charged to.

use super::*;

#[test]
fn a_reset_is_the_outcome_of_the_request_that_is_the_next_to_be_answered() {
    let broken = |seq| (seq, Err(Cause::PipelineClosed), Some(Unserved::BehindBroken));
    // However many were answered before it on the connection.
    for answered in 0..3 {
        let mut connection = open();
        (0..4).for_each(|seq| begin(&mut connection, seq));
        (0..answered).for_each(|_| assert_eq!(receive(&mut connection, OK, at(5)).len(), 1));
        let mut finished = Vec::new();
        connection.reset(&mut finished);
        let mut expected = vec![(answered, Err(Cause::FirstByteReset), None)];
        expected.extend((answered + 1..4).map(broken));
        assert_eq!(unserved(&finished), expected);

        // The same where the kernel says it to whoever sends.
        let mut connection = open();
        (0..4).for_each(|seq| begin(&mut connection, seq));
        (0..answered).for_each(|_| assert_eq!(receive(&mut connection, OK, at(5)).len(), 1));
        connection.mute(true);
        let mut finished = Vec::new();
        connection.eof(&mut finished);
        assert_eq!(unserved(&finished), expected);
    }
}

#[test]
fn a_request_of_which_nothing_left_met_a_connection_that_was_reset_before() {
    let mut connection = open();
    begin(&mut connection, 0);
    receive(&mut connection, OK, at(5));
    connection.begin(Exchange::begun(1), GET, Body::Inside);
    connection.mute(true);
    let mut finished = Vec::new();
    connection.eof(&mut finished);
    assert_eq!(unserved(&finished), [(1, Err(Cause::FirstByteReset), Some(Unserved::Reused))]);
    // On a new connection it is the target's.
    let mut connection = open();
    connection.begin(Exchange::begun(0), GET, Body::Inside);
    connection.mute(true);
    let mut finished = Vec::new();
    connection.eof(&mut finished);
    assert_eq!(unserved(&finished), [(0, Err(Cause::FirstByteReset), None)]);
}

/// What each of the requests on their way has written.
fn written(connection: &mut Connection) -> Vec<u64> {
    connection.waiting().map(|exchange| exchange.bytes_out).collect()
}

#[test]
fn only_bytes_that_the_kernel_took_are_bytes_out() {
    let plan_body = [b'x'; 100];
    let mut connection = Connection::new(Route::default(), Stage::Lookup, at(0));
    connection.begin(Exchange::begun(0), b"head", Body::OfPlan(100));
    connection.begin(Exchange::begun(1), b"HEAD", Body::Inside);
    assert_eq!(written(&mut connection), [0, 0], "it waits for its connection");
    connection.connecting(at(0));
    connection.connected(at(1));
    for (take, expected) in [(3, [3, 0]), (1, [4, 0]), (60, [64, 0]), (40, [104, 0]), (2, [104, 2])] {
        assert!(connection.output(&plan_body).len() >= take);
        connection.wrote(take);
        assert_eq!(written(&mut connection), expected);
    }
    let mut finished = Vec::new();
    connection.reset(&mut finished);
    let ended: Vec<_> = finished.iter().map(|ended| ended.exchange.bytes_out).collect();
    assert_eq!(ended, [104, 2], "what had not left never did");
    let before: Vec<_> = finished.iter().map(|ended| ended.exchange.written_before).collect();
    assert_eq!(before, [Some(0), Some(104)]);
}

#[test]
fn an_answered_request_hands_the_count_to_the_next() {
    let mut connection = open();
    (0..3).for_each(|seq| begin(&mut connection, seq));
    let answered = receive(&mut connection, &[OK, OK].concat(), at(5));
    assert!(answered.iter().all(|ended| ended.exchange.bytes_out == GET.len() as u64));
    begin(&mut connection, 3);
    assert_eq!(written(&mut connection), [GET.len() as u64; 2]);
    // Sent again, it adds to what it had written.
    let mut finished = Vec::new();
    connection.reset(&mut finished);
    let again = finished.pop().unwrap().exchange;
    let mut other = open();
    other.begin(again, GET, Body::Inside);
    assert_eq!(written(&mut other), [GET.len() as u64]);
    drain(&mut other);
    assert_eq!(written(&mut other), [2 * GET.len() as u64]);
}

#[test]
fn pieces_of_a_stream_and_a_body_that_is_given_up_are_counted_as_they_leave() {
    let mut connection = open();
    connection.begin(Exchange::begun(0), b"head", Body::Streamed);
    connection.begin(Exchange::begun(1), GET, Body::Inside);
    drain(&mut connection);
    assert!(connection.wants_body());
    connection.stream(b"abc");
    assert_eq!(written(&mut connection), [4, 0]);
    // "3", the piece and two ends of lines.
    drain(&mut connection);
    assert_eq!(written(&mut connection), [4 + 1 + 2 + 3 + 2, 0]);
    connection.stream(b"");
    drain(&mut connection);
    assert_eq!(written(&mut connection), [12 + 1 + 2 + 2, GET.len() as u64]);
    assert!(!connection.wants_body());
    // Not before it is open, though its head may have been sent.
    let mut early = Connection::new(Route::default(), Stage::Connecting, at(0));
    early.begin(Exchange::begun(0), b"head", Body::Streamed);
    drain(&mut early);
    assert!(!early.wants_body());

    let mut refused = open();
    refused.begin(Exchange::begun(0), b"headBODY", Body::Held(4));
    drain(&mut refused);
    let answer = b"HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n";
    let ended = receive(&mut refused, answer, at(5)).remove(0).exchange;
    assert_eq!((ended.bytes_out, ended.unwritten), (4, 0));
}

#[test]
fn under_tls_a_request_is_out_once_its_last_record_is() {
    let (mut connection, _) = secured();
    assert_eq!(written(&mut connection), [GET.len() as u64]);
    connection.begin(Exchange::begun(1), GET, Body::Inside);
    let record = connection.output(&[]).len();
    assert!(record > GET.len(), "it is encrypted");
    connection.wrote(record - 1);
    assert_eq!(written(&mut connection), [GET.len() as u64, 0], "nobody can read a part of a record");
    connection.wrote(1);
    assert_eq!(written(&mut connection), [GET.len() as u64; 2]);
}

#[test]
fn a_connection_says_how_far_it_is() {
    let mut connection = Connection::new(Route::default(), Stage::Lookup, at(0));
    connection.connecting(at(1));
    assert_eq!((connection.ready_since(), connection.oldest().is_none()), (None, true));
    connection.connected(at(3));
    assert_eq!((connection.in_flight(), connection.served()), (0, 0));
    (5..8).for_each(|seq| begin(&mut connection, seq));
    receive(&mut connection, OK, at(5));
    assert_eq!((connection.in_flight(), connection.served()), (2, 3));
    assert_eq!(connection.oldest().map(|exchange| exchange.departure.seq), Some(6));
    assert_eq!(connection.ready_since(), Some(at(3)));
    let left: Vec<u64> = connection.abandon().map(|exchange| exchange.departure.seq).collect();
    assert_eq!((left, connection.stage(), connection.ready_since()), (vec![6, 7], Stage::Closed, None));
}

#[test]
fn a_body_that_waits_for_a_100_leaves_when_it_is_released() {
    let hold = || {
        let mut connection = open();
        connection.begin(Exchange::begun(0), b"headBODY", Body::Held(4));
        assert_eq!(drain(&mut connection), b"head");
        assert!(connection.is_holding() && !connection.has_released());
        connection
    };
    let mut connection = hold();
    connection.release_body();
    assert!(!connection.is_holding() && connection.has_released());
    assert_eq!(drain(&mut connection), b"BODY");
    // Who is answered without it keeps it.
    let mut connection = hold();
    receive(&mut connection, b"HTTP/1.1 417 No\r\nContent-Length: 2\r\n\r\n", at(5));
    assert!(!connection.has_released());
    assert!(drain(&mut connection).is_empty());
}

#[test]
fn what_was_written_before_a_request_is_counted_as_it_was_encrypted() {
    let (mut connection, _server) = secured();
    connection.begin(Exchange::begun(1), GET, Body::Inside);
    let sent = drain(&mut connection).len() as u64;
    assert!(sent > GET.len() as u64);
    connection.begin(Exchange::begun(2), b"GET /longer HTTP/1.1\r\n\r\n", Body::Inside);
    drain(&mut connection);
    let mut finished = Vec::new();
    connection.reset(&mut finished);
    let before: Vec<u64> = finished.iter().filter_map(|ended| ended.exchange.written_before).collect();
    assert_eq!((before.len(), before[2] - before[1]), (3, sent));
}
