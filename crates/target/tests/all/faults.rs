//! Each programmed fault looks to a client as it should, and is in the truth under its name.

use crate::common::{ask, ask_once, connect, read_answer, request, start};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};
use target::How;

fn fault_of(target: &target::Running, fault: &str) -> (Vec<u8>, Option<ErrorKind>) {
    let mut stream = connect(target.addrs()[0]);
    stream.write_all(request(&format!("/?size=1000&fault={fault}")).as_bytes()).unwrap();
    let mut all = Vec::new();
    let error = stream.read_to_end(&mut all).err().map(|e| e.kind());
    (all, error)
}

#[test]
fn resets_halves_and_garbage() {
    let target = start("");
    assert_eq!(fault_of(&target, "reset"), (Vec::new(), Some(ErrorKind::ConnectionReset)));
    let (mid, error) = fault_of(&target, "reset-mid");
    assert_eq!(error, Some(ErrorKind::ConnectionReset));
    let (half, error) = fault_of(&target, "half");
    assert_eq!(error, None);
    for bytes in [mid, half] {
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("Content-Length: 1000"));
        assert_eq!(body.len(), 500);
    }
    let mut kinds = std::collections::HashSet::new();
    for _ in 0..40 {
        let (garbage, _) = fault_of(&target, "garbage");
        assert!(!garbage.is_empty());
        kinds.insert(garbage);
    }
    assert!(kinds.len() >= 4, "{} kinds", kinds.len());
    let truth = target.stop().unwrap();
    assert_eq!(truth.ended_as(How::Reset), 2);
    assert_eq!(truth.ended_as(How::Half), 1);
    assert_eq!(truth.ended_as(How::Garbage), 40);
    assert_eq!((truth.requests, truth.answers.len()), (43, 0));
}

#[test]
fn a_silent_request_is_never_answered_and_leaves_with_its_client() {
    let target = start("faults = { silent = 1 }");
    let mut stream = connect(target.addrs()[0]);
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    stream.write_all(request("/").as_bytes()).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(stream);
    let until = Instant::now() + Duration::from_secs(5);
    while target.stats().open > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(target.stats().open, 0);
    assert_eq!(target.stop().unwrap().ended_as(How::Silent), 1);
}

#[test]
fn a_client_that_leaves_early_is_recorded_as_gone() {
    let target = start("");
    let mut stream = connect(target.addrs()[0]);
    stream.write_all(request("/?size=100MB").as_bytes()).unwrap();
    stream.read_exact(&mut [0; 100]).unwrap();
    drop(stream);
    let mut stream = connect(target.addrs()[0]);
    stream.write_all(request("/?delay=1h").as_bytes()).unwrap();
    let until = Instant::now() + Duration::from_secs(5);
    while target.stats().requests < 2 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let truth = target.stop().unwrap();
    assert_eq!((truth.requests, truth.ended_as(How::Gone)), (2, 2));
}

#[test]
fn a_half_closed_client_still_gets_its_answer() {
    let target = start("");
    let mut stream = connect(target.addrs()[0]);
    stream.write_all(request("/?size=3&delay=20ms").as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_answer(&mut stream).unwrap().body, b"tar");
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

#[test]
fn close_after_n_answers() {
    let target = start("close_after = 3");
    let mut stream = connect(target.addrs()[0]);
    for n in 1..=3 {
        let answer = ask(&mut stream, "/").unwrap();
        assert_eq!(answer.head.contains("Connection: close"), n == 3);
    }
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

#[test]
fn refuses_after_n_connections() {
    let target = start("refuse_after = 2");
    let addr = target.addrs()[0];
    let mut first = connect(addr);
    ask(&mut first, "/").unwrap();
    let mut second = connect(addr);
    ask(&mut second, "/").unwrap();
    // The listener closes when the second has been accepted, which its answer proves.
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(TcpStream::connect(addr).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert_eq!(ask(&mut first, "/").unwrap().status, 200);
}

#[test]
fn stops_listening_and_dies_on_time() {
    let target = start("stop_listening = \"100ms\"\ndie = \"300ms\"\nworkers = 2");
    let addr = target.addrs()[0];
    let mut stream = connect(addr);
    ask(&mut stream, "/").unwrap();
    let first = Instant::now();
    TcpStream::connect(addr).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(TcpStream::connect(addr).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert_eq!(ask(&mut stream, "/").unwrap().status, 200);
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let died = first.elapsed();
    assert!(died >= Duration::from_millis(299) && died < Duration::from_millis(600), "{died:?}");
}

#[test]
fn a_refused_request_with_a_long_body_still_gets_its_answer() {
    let target = start("");
    let mut stream = connect(target.addrs()[0]);
    stream.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n").unwrap();
    for _ in 0..50 {
        if stream.write_all(&[b'b'; 10_000]).is_err() {
            break;
        }
    }
    assert_eq!(read_answer(&mut stream).unwrap().status, 400);
}

#[test]
fn uploads_are_counted_and_dropped() {
    let target = start("");
    let mut stream = connect(target.addrs()[0]);
    let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20000000\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let piece = vec![b'u'; 1_000_000];
    for _ in 0..20 {
        stream.write_all(&piece).unwrap();
    }
    assert_eq!(read_answer(&mut stream).unwrap().status, 200);
    assert_eq!(target.stop().unwrap().bytes_in, head.len() as u64 + 20_000_000);
}

#[test]
fn ten_thousand_pipelined_requests_are_all_answered_in_order() {
    let target = start("");
    let stream = connect(target.addrs()[0]);
    let mut reader = std::io::BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    let sender = std::thread::spawn(move || {
        let all: String = (0..10_000).map(|n| request(&format!("/?size={n}&seq={n}"))).collect();
        writer.write_all(all.as_bytes()).unwrap();
    });
    for n in 0..10_000 {
        assert_eq!(read_answer(&mut reader).unwrap().body.len(), n);
    }
    sender.join().unwrap();
    assert_eq!(target.stop().unwrap().ended_as(How::Whole), 10_000);
}

#[test]
fn stats_over_http_and_their_reset() {
    let target = start("");
    let addr = target.addrs()[0];
    for status in [200, 200, 404] {
        assert_eq!(ask_once(addr, &format!("/?status={status}")).status, status);
    }
    let read = |path| -> serde_json::Value { serde_json::from_slice(&ask_once(addr, path).body).unwrap() };
    let stats = read("/.tare/stats");
    assert_eq!(
        (&stats["requests"], &stats["answers"]["200"], &stats["answers"]["404"]),
        (&3.into(), &2.into(), &1.into())
    );
    read("/.tare/reset");
    assert_eq!(read("/.tare/stats")["requests"], 0);
    // The truth is of the whole run.
    assert_eq!(target.stop().unwrap().requests, 3);
}

#[test]
fn a_full_disk_ends_the_file_and_not_the_target() {
    let target = start("truth = { records = \"/dev/full\" }");
    let mut stream = connect(target.addrs()[0]);
    for _ in 0..100 {
        ask(&mut stream, "/").unwrap();
    }
    let truth = target.stop().unwrap();
    assert_eq!(truth.requests, 100);
    assert!(truth.write_error.as_ref().unwrap().contains("space"), "{truth:?}");
    assert!(truth.to_text().starts_with("TRUTH FILE INCOMPLETE"));
}
