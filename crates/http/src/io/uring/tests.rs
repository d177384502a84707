//! Whose bytes reach whom, over loopback: the kernel gives the number of a closed descriptor to the next
//! socket.

use super::*;
use crate::io::{Address, InSocket, waker};
use clock::HostClock;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use units::Picos;

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

fn accepted(listener: &TcpListener) -> TcpStream {
    let (stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

/// Opens a connection whose first bytes are sent by a plain system call, as the worker does.
fn open(driver: &mut Uring, slot: u32, to: &TcpListener, first: &[u8]) -> (i32, TcpStream) {
    let destination = Destination { to: Address::Tcp(to.local_addr().unwrap()), from: None, no_delay: false };
    driver.open(slot, &destination, &HostClock::calibrate()).unwrap();
    let number = driver.sockets[slot as usize].fd.as_ref().unwrap().as_raw_fd();
    assert_eq!(driver.send(slot, first), Ok(first.len()), "on loopback the connection is up at once");
    driver.watch(slot).unwrap();
    (number, accepted(to))
}

/// Lets the ring do all that it has to do.
fn settle(driver: &mut Uring) {
    for _ in 0..4 {
        driver.wait(Wait::AtMost(Picos::from_millis(5)), Instant::EPOCH).unwrap();
        while driver.next(&mut [0; 4096], |_| true).is_some() {}
    }
}

fn all_of(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    // A reset ends it as well.
    let _ = stream.read_to_end(&mut text);
    String::from_utf8(text).unwrap()
}

#[test]
fn what_was_queued_on_a_closed_connection_reaches_no_other() {
    // Numbers of this test's own, so that no other takes the one that becomes free.
    crate::engine::own_descriptors().unwrap();
    let mut driver = Uring::new(waker().unwrap(), true).unwrap();
    let (first_target, other_target) = (listener(), listener());
    let (number, first) = open(&mut driver, 0, &first_target, b"one ");
    settle(&mut driver);
    assert_eq!(driver.send(0, b"not for you"), Ok(11));
    driver.close(0, false);
    // The same descriptor number, to another target, before anything was submitted.
    let (again, other) = open(&mut driver, 1, &other_target, b"two ");
    assert_eq!(again, number, "the lowest free number is given out first");
    assert_eq!(driver.send(1, b"and its own"), Ok(11));
    settle(&mut driver);
    driver.close(1, false);
    settle(&mut driver);
    assert_eq!((all_of(first), all_of(other)), ("one not for you".to_owned(), "two and its own".to_owned()));
}

#[test]
fn a_close_is_seen_before_the_next_wait() {
    let mut driver = Uring::new(waker().unwrap(), true).unwrap();
    let target = listener();
    let (_, peer) = open(&mut driver, 0, &target, b"x");
    settle(&mut driver);
    driver.close(0, false);
    // The multishot receive holds the socket; nothing is submitted after the close.
    assert_eq!(all_of(peer), "x");
}

#[test]
fn more_entries_than_the_ring_has_all_leave() {
    let mut driver = Uring::new(waker().unwrap(), true).unwrap();
    let target = listener();
    let count = ENTRIES + 40;
    let peers: Vec<_> = (0..count).map(|slot| open(&mut driver, slot, &target, b"a").1).collect();
    settle(&mut driver);
    (0..count).for_each(|slot| assert_eq!(driver.send(slot, b"b"), Ok(1)));
    settle(&mut driver);
    (0..count).for_each(|slot| driver.close(slot, false));
    settle(&mut driver);
    for peer in peers {
        assert_eq!(all_of(peer), "ab");
    }
    assert!(driver.wishes.is_empty() && driver.closing.is_empty());
}

#[derive(Clone, Debug)]
enum Step {
    Send(u32),
    Reopen(u32),
    Wait,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0u32..6).prop_map(Step::Send),
        3 => (0u32..6).prop_map(Step::Reopen),
        1 => Just(Step::Wait),
    ];
    proptest::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Each connection's bytes are its own, from the first on, whatever was closed and opened in between.
    #[test]
    fn every_connection_carries_its_own_bytes_alone(steps in steps()) {
        let mut driver = Uring::new(waker().unwrap(), true).unwrap();
        let target = listener();
        // What each connection was given, and its other end.
        let mut all: Vec<(String, TcpStream)> = Vec::new();
        let mut open_in = [usize::MAX; 6];
        let mut begin = |driver: &mut Uring, slot: u32, all: &mut Vec<(String, TcpStream)>| {
            let text = format!("<{}>", all.len());
            let (_, peer) = open(driver, slot, &target, text.as_bytes());
            open_in[slot as usize] = all.len();
            all.push((text, peer));
            open_in
        };
        for slot in 0..6 {
            begin(&mut driver, slot, &mut all);
        }
        let mut now_in: [usize; 6] = std::array::from_fn(|slot| slot);
        for step in steps {
            match step {
                Step::Send(slot) => {
                    let number = now_in[slot as usize];
                    let text = format!("{number};");
                    if driver.send(slot, text.as_bytes()).is_ok() {
                        all[number].0.push_str(&text);
                    }
                }
                Step::Reopen(slot) => {
                    driver.close(slot, false);
                    now_in = begin(&mut driver, slot, &mut all);
                }
                Step::Wait => settle(&mut driver),
            }
        }
        settle(&mut driver);
        (0..6).for_each(|slot| driver.close(slot, false));
        settle(&mut driver);
        for (number, (given, peer)) in all.into_iter().enumerate() {
            let came = all_of(peer);
            let began = came.starts_with(&format!("<{number}>"));
            prop_assert!(began && given.starts_with(&came), "{number}: given {given:?}, came {came:?}");
        }
    }
}

/// The next bytes, within two seconds.
fn next_bytes(driver: &mut Uring, buffer: &mut [u8]) -> Chunk {
    for _ in 0..400 {
        driver.wait(Wait::AtMost(Picos::from_millis(5)), Instant::EPOCH).unwrap();
        if let Some((_, Ready::Data(chunk))) = driver.next(buffer, |_| true) {
            return chunk;
        }
    }
    panic!("no bytes came");
}

#[test]
fn each_receive_brings_its_stamp_and_its_bytes_alone() {
    let mut driver = Uring::new(waker().unwrap(), true).unwrap();
    let target = listener();
    let (_, mut peer) = open(&mut driver, 0, &target, b"x");
    // What is left unread would make the end a reset.
    peer.read_exact(&mut [0]).unwrap();
    let mut buffer = [0; 10_000];
    // The kernel begins to stamp a little after it is asked.
    let stamped = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(2));
        peer.write_all(b"y").unwrap();
        next_bytes(&mut driver, &mut buffer).stamp_ns.is_some()
    });
    assert!(stamped, "no stamp in 200 tries");
    let sent: Vec<u8> = (0..100_000u32).map(|n| (n % 251) as u8).collect();
    let before = clock::unix_ns();
    let writer = std::thread::spawn({
        let sent = sent.clone();
        move || peer.write_all(&sent).map(|()| peer)
    });
    std::thread::sleep(Duration::from_millis(20));
    let mut came = Vec::new();
    while came.len() < sent.len() {
        let chunk = next_bytes(&mut driver, &mut buffer);
        let stamp = chunk.stamp_ns.expect("stamps are on").get();
        assert!((before..=clock::unix_ns()).contains(&stamp), "{before} {stamp}");
        came.extend_from_slice(&buffer[..chunk.length]);
    }
    assert!(came == sent, "other bytes than were sent");
    drop(writer.join().unwrap().unwrap());
    for _ in 0..400 {
        driver.wait(Wait::AtMost(Picos::from_millis(5)), Instant::EPOCH).unwrap();
        match driver.next(&mut buffer, |_| true) {
            Some((_, ready)) => return assert_eq!(ready, Ready::Eof),
            None => continue,
        }
    }
    panic!("the end did not come");
}

#[test]
fn bytes_that_are_handed_out_after_another_wait_left_the_socket_by_the_first() {
    let mut driver = Uring::new(waker().unwrap(), true).unwrap();
    let target = listener();
    let (_, mut peer) = open(&mut driver, 0, &target, b"x");
    peer.write_all(&[b'y'; 6_000]).unwrap();
    let mut buffer = [0; 100];
    assert_eq!(next_bytes(&mut driver, &mut buffer).in_socket, InSocket::UntilWoken);
    let (first, second) = (Instant::EPOCH + Picos::from_millis(1), Instant::EPOCH + Picos::from_millis(2));
    for looked in [first, second] {
        driver.wait(Wait::Poll, looked).unwrap();
        let Some((_, Ready::Data(chunk))) = driver.next(&mut buffer, |_| true) else { panic!("no bytes") };
        assert_eq!((chunk.length, chunk.in_socket), (100, InSocket::Until(first)));
    }
}

/// Whether a socket is crowded by the second body of 100 kB.
fn is_crowded_again(widens: bool) -> bool {
    let mut driver = Uring::new(waker().unwrap(), widens).unwrap();
    let target = listener();
    let (_, mut peer) = open(&mut driver, 0, &target, b"x");
    let mut buffer = [0; 10_000];
    let mut body = || {
        peer.set_nonblocking(true).unwrap();
        let body = [b'y'; 100_000];
        let (mut sent, mut came, mut crowded) = (0, 0, false);
        while came < body.len() {
            // As much as there is room for, before any of it is read.
            while let Ok(more) = peer.write(&body[sent..])
                && more > 0
            {
                sent += more;
            }
            driver.wait(Wait::AtMost(Picos::from_millis(5)), Instant::EPOCH).unwrap();
            while let Some((_, Ready::Data(chunk))) = driver.next(&mut buffer, |_| true) {
                came += chunk.length;
                crowded |= chunk.crowded;
            }
        }
        crowded
    };
    assert!(body(), "the first one fills a good part of the buffer that the kernel begins with");
    body()
}

#[test]
fn a_socket_gets_room_for_what_the_target_sends_at_once_unless_it_is_to_wait() {
    assert!(!is_crowded_again(true));
    assert!(is_crowded_again(false));
}
