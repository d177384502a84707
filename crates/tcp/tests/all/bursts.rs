//! Several segments in flight, and a window that the owner closes. Numbers by hand.

use crate::peer::{ACK, FIN, RST, Talk};
use tcp::{Cause, Dropped, Event, Notice, Options, Path, State};

/// Connected on a path that takes so many segments at once; the peer's window is 65 535.
fn open(burst: u16) -> Talk {
    let mut talk = Talk::open();
    talk.path.burst = burst;
    hears(&mut talk, 1001);
    talk
}

/// An ACK with the window of `open`.
fn hears(talk: &mut Talk, ack: u32) -> String {
    talk.hears_with(ACK, talk.r.rcv_nxt, ack, 0, 65_535, Options::default())
}

/// All that leaves at the end of a batch.
fn flushes(talk: &mut Talk) -> Vec<String> {
    let mut sent = Vec::new();
    while talk.r.wants_flush() {
        sent.push(talk.flushes());
        assert!(sent.len() < 100, "the flushes do not end");
    }
    sent
}

#[test]
fn a_burst_of_four_leaves_at_once_and_each_ack_lets_more_go() {
    let mut talk = open(4);
    assert_eq!(talk.asks(10_000), "[ACK] 1001+1460 ack 5001");
    let rest = ["[ACK] 2461+1460 ack 5001", "[ACK] 3921+1460 ack 5001", "[ACK] 5381+1460 ack 5001"];
    assert_eq!(flushes(&mut talk), rest);
    assert_eq!(hears(&mut talk, 3921), "", "what follows leaves with the flush");
    assert_eq!(flushes(&mut talk), ["[ACK] 6841+1460 ack 5001", "[ACK] 8301+1460 ack 5001"]);
    hears(&mut talk, 8301);
    assert_eq!(flushes(&mut talk), ["[PSH+ACK] 9761+1240 ack 5001"]);
    hears(&mut talk, 11_001);
    assert!(talk.has_said(Notice::Acked));
    assert_eq!(flushes(&mut talk), [""; 0]);
}

#[test]
fn without_a_burst_one_segment_is_in_flight() {
    for burst in [0, 1] {
        let mut talk = open(burst);
        assert_eq!(talk.asks(10_000), "[ACK] 1001+1460 ack 5001");
        assert_eq!(flushes(&mut talk), [""; 0]);
        assert_eq!(hears(&mut talk, 2461), "[ACK] 2461+1460 ack 5001");
    }
}

#[test]
fn never_more_than_the_peers_window_is_in_flight() {
    let mut talk = open(10);
    talk.hears_window(4000);
    assert_eq!(talk.asks(10_000), "[ACK] 1001+1460 ack 5001");
    // 2920 are out. A third full segment would be 4380; what fits is no full segment (RFC 9293, 3.8.6.2.1).
    assert_eq!(flushes(&mut talk), ["[ACK] 2461+1460 ack 5001"]);
    talk.hears_with(ACK, 5001, 1001, 0, 4380, Options::default());
    assert_eq!(flushes(&mut talk), ["[ACK] 3921+1460 ack 5001"]);
}

#[test]
fn three_duplicate_acks_send_the_first_segment_again_and_then_one_for_each_ack() {
    let mut talk = open(4);
    talk.asks(10_000);
    flushes(&mut talk);
    assert_eq!((hears(&mut talk, 1001), hears(&mut talk, 1001)), (String::new(), String::new()));
    assert_eq!(hears(&mut talk, 1001), "[ACK] 1001+1460 ack 5001");
    assert!(talk.has_said(Notice::Retransmitted));
    assert_eq!(hears(&mut talk, 1001), "", "the fourth says nothing new");
    assert_eq!(flushes(&mut talk), [""; 0], "nothing new while anything is sent again");
    assert_eq!(hears(&mut talk, 3921), "[ACK] 3921+1460 ack 5001", "a second hole");
    // 5840 were out, up to 6841: all are acknowledged, and the burst goes on.
    assert_eq!(hears(&mut talk, 6841), "[ACK] 6841+1460 ack 5001");
    assert!(!talk.has_said(Notice::Retransmitted));
    assert_eq!(flushes(&mut talk), ["[ACK] 8301+1460 ack 5001", "[PSH+ACK] 9761+1240 ack 5001"]);
}

#[test]
fn a_timeout_goes_back_to_the_first_segment_and_doubles() {
    let mut talk = open(4);
    talk.asks(10_000);
    flushes(&mut talk);
    assert_eq!(talk.after_ms(999), "");
    assert_eq!(talk.after_ms(1), "[ACK] 1001+1460 ack 5001");
    assert_eq!(flushes(&mut talk), [""; 0]);
    assert_eq!(talk.next_ms(), Some(2000));
    for _ in 0..3 {
        assert_eq!(hears(&mut talk, 1001), "", "duplicates of what was sent again count nothing");
    }
    for sent in [2461, 3921, 5381] {
        assert_eq!(hears(&mut talk, sent), format!("[ACK] {sent}+1460 ack 5001"));
        assert!(!talk.notices().iter().any(|notice| matches!(notice, Notice::Rtt { .. })), "Karn");
    }
}

#[test]
fn the_first_of_several_is_measured_once() {
    let mut talk = open(4);
    talk.asks(10_000);
    talk.now_us += 5_000;
    flushes(&mut talk);
    talk.now_us += 25_000;
    hears(&mut talk, 2461);
    assert_eq!(talk.notices(), [Notice::Rtt { micros: 30_000 }]);
    talk.now_us += 5_000;
    hears(&mut talk, 3921);
    assert_eq!(talk.notices(), []);
    hears(&mut talk, 6841);
    assert_eq!(talk.notices(), []);
    talk.now_us += 7_000;
    hears(&mut talk, 8301);
    assert_eq!(talk.notices(), [Notice::Rtt { micros: 7_000 }], "a flight that began anew");
}

#[test]
fn fin_follows_the_last_of_several_segments() {
    let mut talk = open(4);
    let request = Event::Send { len: 3000, close: true, patience_ms: 10_000 };
    assert_eq!(talk.does(request), "[ACK] 1001+1460 ack 5001");
    assert_eq!(flushes(&mut talk), ["[ACK] 2461+1460 ack 5001", "[FIN+PSH+ACK] 3921+80 ack 5001"]);
    // Lost: from the first one, and FIN again with the last.
    assert_eq!(talk.after_ms(1000), "[ACK] 1001+1460 ack 5001");
    assert_eq!(hears(&mut talk, 2461), "[ACK] 2461+1460 ack 5001");
    assert_eq!(hears(&mut talk, 3921), "[FIN+PSH+ACK] 3921+80 ack 5001");
    hears(&mut talk, 4002);
    assert_eq!(talk.r.state, State::FinWait2);
}

#[test]
fn a_close_behind_several_segments_sends_fin_alone() {
    let mut talk = open(4);
    talk.asks(2000);
    assert_eq!(flushes(&mut talk), ["[PSH+ACK] 2461+540 ack 5001"]);
    talk.does(Event::Close);
    assert_eq!(flushes(&mut talk), ["[FIN+ACK] 3001 ack 5001"]);
    hears(&mut talk, 3001);
    assert_eq!(talk.after_ms(1000), "[FIN+ACK] 3001 ack 5001");
}

#[test]
fn a_window_that_closes_on_several_is_probed_and_all_goes_again() {
    let mut talk = open(4);
    talk.asks(4000);
    flushes(&mut talk);
    talk.hears_window(0);
    assert!(talk.has_said(Notice::Blocked));
    assert_eq!(talk.after_ms(1000), "[ACK] 1001+1 ack 5001");
    assert_eq!(hears(&mut talk, 1002), "[ACK] 1002+1460 ack 5001");
    assert_eq!(hears(&mut talk, 2462), "[ACK] 2462+1460 ack 5001");
    assert_eq!(hears(&mut talk, 3922), "[PSH+ACK] 3922+1079 ack 5001");
    hears(&mut talk, 5001);
    assert!(talk.has_said(Notice::Acked));
}

#[test]
fn a_smaller_mtu_sends_all_of_several_again_in_smaller_ones() {
    let mut talk = open(4);
    talk.asks(2920);
    flushes(&mut talk);
    // The quoted number is that of the second one.
    assert_eq!(talk.does(Event::Mtu { mss: 960, seq: 2461 }), "[ACK] 1001+960 ack 5001");
    assert_eq!(flushes(&mut talk), [""; 0]);
    assert_eq!(hears(&mut talk, 1961), "[ACK] 1961+960 ack 5001");
    assert_eq!(hears(&mut talk, 2921), "[ACK] 2921+960 ack 5001");
    assert_eq!(hears(&mut talk, 3881), "[PSH+ACK] 3881+40 ack 5001");
}

/// The window that the last segment announced.
fn window(talk: &Talk) -> Option<u16> {
    talk.last.and_then(|step| step.segment).map(|segment| segment.window)
}

#[test]
fn an_owner_that_takes_nothing_closes_the_window_and_opens_it_at_once() {
    let mut talk = Talk::asking();
    assert_eq!(talk.does(Event::Window { open: false }), "");
    assert_eq!((talk.flushes(), window(&talk)), ("[ACK] 1101 ack 5001".into(), Some(0)));
    // What was on its way is taken, and acknowledged with the closed window.
    talk.hears(ACK, 5001, 1101, 1460);
    talk.hears(ACK, 6461, 1101, 1460);
    assert!(talk.has_said(Notice::Data { skip: 0, len: 1460 }));
    assert_eq!((talk.flushes(), window(&talk)), ("[ACK] 1101 ack 7921".into(), Some(0)));
    assert_eq!(talk.does(Event::Window { open: true }), "[ACK] 1101 ack 7921");
    assert_eq!(window(&talk), Some(65_535));
    assert_eq!(talk.does(Event::Window { open: true }), "", "it is open");
    assert_eq!(talk.flushes(), "");
}

#[test]
fn a_closed_window_refuses_probes_but_neither_their_ack_nor_a_reset() {
    let mut talk = Talk::asking();
    talk.does(Event::Window { open: false });
    talk.flushes();
    for _ in 0..5 {
        talk.hears(ACK, 5001, 1101, 1);
        assert!(talk.has_said(Notice::Dropped(Dropped::Probe)));
        assert_eq!((talk.flushes(), window(&talk)), ("[ACK] 1101 ack 5001".into(), Some(0)));
    }
    assert_eq!(talk.r.left, 0, "the probe acknowledged the request");
    talk.hears(RST, 5001, 0, 0);
    assert_eq!(talk.notices(), [Notice::Failed(Cause::Reset), Notice::Closed(Cause::Reset)]);
}

#[test]
fn a_closed_window_takes_fin_and_a_new_life_starts_open() {
    let mut talk = Talk::asking();
    talk.does(Event::Window { open: false });
    assert_eq!(talk.hears(FIN | ACK, 5001, 1101, 0), "[FIN+ACK] 1101 ack 5002");
    assert_eq!(window(&talk), Some(0));
    talk.hears(ACK, 5002, 1102, 0);
    assert_eq!(talk.r.state, State::Closed);
    talk.does(Event::Open { isn: 70_000, patience_ms: 0 });
    assert_eq!(window(&talk), Some(65_535));
}

#[test]
fn a_window_without_a_connection_is_refused() {
    for mut talk in [Talk::opening(), Talk { r: tcp::Record::default(), ..Talk::opening_on(Path::v4(1500)) }]
    {
        talk.does(Event::Window { open: false });
        assert_eq!(talk.notices(), [Notice::Refused(tcp::Refusal::NotOpen)]);
    }
}
