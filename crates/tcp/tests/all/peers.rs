//! Peers and networks that misbehave: bugs of other stacks, and what gVisor's packetimpact tests. Numbers were
//! worked out by hand.

use crate::peer::{ACK, FIN, PSH, RST, SYN, Talk};
use tcp::{Cause, Dropped, Event, Notice, State};

#[test]
fn a_lost_ack_is_sent_again_each_time_the_data_comes() {
    let mut talk = Talk::asking();
    talk.hears(PSH | ACK, 5001, 1101, 300);
    talk.does(Event::Answered);
    assert_eq!(talk.after_ms(2), "[ACK] 1101 ack 5301");
    for _ in 0..20 {
        // The ACK was lost: the peer's timer sends the response again.
        assert_eq!(talk.hears(PSH | ACK, 5001, 1101, 300), "");
        assert_eq!(talk.flushes(), "[ACK] 1101 ack 5301");
    }
}

#[test]
fn a_repeated_syn_ack_is_acknowledged_and_the_request_goes_on() {
    let mut talk = Talk::asking();
    let before = talk.next_ms();
    assert_eq!(talk.hears(SYN | ACK, 5000, 1001, 0), "");
    assert_eq!(talk.flushes(), "[ACK] 1101 ack 5001");
    assert_eq!(talk.next_ms(), before, "the request keeps its timer");
    talk.now_us += 970_000;
    assert_eq!(talk.after_ms(31), "[PSH+ACK] 1001+100 ack 5001");
}

#[test]
fn duplicate_acks_neither_restart_the_timer_nor_overflow_anything() {
    let mut talk = Talk::asking();
    talk.hears(ACK, 5001, 1001, 0);
    let record = talk.r;
    for _ in 0..70_000 {
        assert_eq!(talk.hears(ACK, 5001, 1001, 0), "");
    }
    assert_eq!(talk.r, record);
}

#[test]
fn two_ends_that_contradict_each_other_do_not_answer_for_ever() {
    let mut talk = Talk::open();
    let mut answers = 0;
    for _ in 0..10_000 {
        talk.now_us += 1000;
        // The other end thinks that it has already had 500 bytes more.
        talk.hears(ACK, 5001, 1501, 0);
        answers += usize::from(!talk.flushes().is_empty());
    }
    // 10 s, one each 500 ms.
    assert_eq!(answers, 20);
}

#[test]
fn two_windows_of_zero_do_not_answer_each_other() {
    let mut talk = Talk::open();
    for _ in 0..10 {
        assert_eq!(talk.hears_window(0), "");
        assert_eq!(talk.flushes(), "");
    }
}

#[test]
fn a_window_that_opens_from_zero_lets_the_request_go() {
    let mut talk = Talk::open();
    talk.hears_window(0);
    assert_eq!(talk.asks(100), "");
    assert!(talk.has_said(Notice::Blocked));
    assert_eq!(talk.hears_window(8192), "[PSH+ACK] 1001+100 ack 5001");
    assert!(talk.has_said(Notice::Unblocked));
}

#[test]
fn a_port_that_closed_connects_again_at_once() {
    let mut talk = Talk::open();
    talk.does(Event::Close);
    talk.hears(FIN | ACK, 5001, 1002, 0);
    assert_eq!(talk.flushes(), "[ACK] 1002 ack 5002");
    talk.after_ms(1000);
    assert_eq!(talk.notices(), [Notice::Closed(Cause::Finished), Notice::Quarantine { ms: 1000 }]);
    let first = talk.r.incarnation;
    // A clock that stands still proposes the same number again.
    assert_eq!(talk.does(Event::Open { isn: 1000, patience_ms: 0 }), format!("[SYN] {}", 1002 + 65_536));
    assert_ne!(talk.r.incarnation, first);
    // A segment of the last life is refused by its number.
    assert_eq!(talk.hears(ACK, 5002, 1002, 10), "[RST] 1002");
    assert_eq!(talk.hears(SYN | ACK, 9000, 1003 + 65_536, 0), "");
    assert_eq!(talk.r.state, State::Established);
}

#[test]
fn an_old_connection_of_the_target_is_reset_and_the_next_syn_connects() {
    let mut talk = Talk::opening();
    // The target still has the last life open, and answers the SYN with a challenge ACK.
    assert_eq!(talk.hears(ACK, 77_000, 444, 0), "[RST] 444");
    assert_eq!(talk.r.state, State::SynSent);
    assert_eq!(talk.after_ms(1001), "[SYN] 1000");
    talk.hears(SYN | ACK, 5000, 1001, 0);
    assert_eq!(talk.r.state, State::Established);
}

#[test]
fn fin_with_the_response_ahead_of_a_hole_and_again() {
    let mut talk = Talk::asking();
    assert_eq!(talk.hears(FIN | PSH | ACK, 5101, 1101, 50), "");
    assert_eq!(talk.notices()[2], Notice::Early { skip: 0, len: 50 });
    assert_eq!(talk.flushes(), "[ACK] 1101 ack 5001");
    assert_eq!(talk.hears(ACK, 5001, 1101, 100), "[FIN+ACK] 1101 ack 5152");
    assert_eq!(
        talk.notices(),
        [Notice::Data { skip: 0, len: 100 }, Notice::Filled { len: 50 }, Notice::Ended]
    );
    assert_eq!(talk.hears(FIN | PSH | ACK, 5101, 1101, 50), "");
    assert_eq!(talk.flushes(), "[ACK] 1102 ack 5152");
    talk.hears(ACK, 5152, 1102, 0);
    assert_eq!(talk.r.state, State::Closed);
}

#[test]
fn only_an_exact_reset_ends_a_connection() {
    for (seq, closed) in
        [(5000, false), (5001, true), (5002, false), (5001 + 65_534, false), (5001 + 65_535, false)]
    {
        let mut talk = Talk::asking();
        talk.hears(RST, seq, 0, 0);
        assert_eq!(talk.r.state == State::Closed, closed, "RST at {seq}");
        assert_eq!(talk.has_said(Notice::Failed(Cause::Reset)), closed);
        // A near miss is answered, so that a real peer can say it exactly.
        let challenged = (5002..5001 + 65_535).contains(&seq);
        assert_eq!(talk.flushes(), if challenged { "[ACK] 1101 ack 5001" } else { "" });
    }
}

#[test]
fn a_response_split_at_every_byte_is_announced_byte_by_byte() {
    let mut talk = Talk::asking();
    for at in 0..300 {
        talk.hears(ACK, 5001 + at, 1101, 1);
        assert!(talk.has_said(Notice::Data { skip: 0, len: 1 }));
    }
    assert_eq!(talk.r.rcv_nxt, 5301);
}

#[test]
fn segments_in_any_order_are_announced_once() {
    // Three of ten bytes each.
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 1, 0], [2, 0, 1]] {
        let mut talk = Talk::asking();
        let (mut ordered, mut early) = (0, 0);
        for part in order.into_iter().chain(order) {
            talk.hears(ACK, 5001 + part * 10, 1101, 10);
            for notice in talk.notices() {
                match notice {
                    Notice::Data { len, .. } => ordered += len,
                    Notice::Early { len, .. } => early += len,
                    Notice::Filled { len } => {
                        ordered += len;
                        early -= len;
                    }
                    _ => {}
                }
            }
        }
        assert_eq!((ordered, early, talk.r.rcv_nxt), (30, 0, 5031), "{order:?}");
    }
}

#[test]
fn unacceptable_segments_change_nothing_and_are_answered_if_they_bring_something() {
    for (seq, len, answered) in [(4990, 11, true), (5001 + 65_535, 1, true), (4000, 5, true)] {
        let mut talk = Talk::asking();
        talk.hears(ACK, seq, 1101, len);
        assert!(talk.has_said(Notice::Dropped(Dropped::Outside)));
        assert_eq!((talk.r.rcv_nxt, talk.r.snd_una), (5001, 1001), "its ACK is not used either");
        assert_eq!(!talk.flushes().is_empty(), answered);
    }
}

#[test]
fn a_window_that_shrinks_below_what_is_out_is_survived() {
    let mut talk = Talk::asking();
    assert_eq!(talk.hears_window(10), "");
    assert_eq!(talk.after_ms(1001), "[PSH+ACK] 1001+100 ack 5001");
    assert_eq!(talk.hears_window(0), "");
    assert!(talk.has_said(Notice::Blocked));
    assert_eq!(talk.after_ms(2001), "[ACK] 1001+1 ack 5001");
    assert_eq!(talk.hears_window(8192), "[PSH+ACK] 1001+100 ack 5001");
    talk.hears(ACK, 5001, 1101, 0);
    assert!(talk.has_said(Notice::Acked));
}

#[test]
fn a_peer_that_takes_probes_one_by_one_gets_the_whole_request() {
    let mut talk = Talk::open();
    talk.hears_window(0);
    talk.asks(3);
    for (sent, waits) in [(0, 1001), (1, 2001), (2, 4001)] {
        let probe = talk.after_ms(waits);
        let push = if sent == 2 { "PSH+" } else { "" };
        assert_eq!(probe, format!("[{push}ACK] {}+1 ack 5001", 1001 + sent));
        talk.hears_with(ACK, 5001, 1002 + sent, 0, 0, tcp::Options::default());
    }
    assert!(talk.has_said(Notice::Acked));
    assert_eq!(talk.next_ms().map(|ms| ms > 1000), Some(true), "only patience is left");
}

#[test]
fn a_reset_in_time_wait_frees_the_port_and_says_so() {
    let mut talk = Talk::open();
    talk.does(Event::Close);
    talk.hears(FIN | ACK, 5001, 1002, 0);
    assert_eq!(talk.r.state, State::TimeWait);
    talk.hears(RST, 5002, 0, 0);
    assert_eq!(talk.notices(), [Notice::Closed(Cause::Finished), Notice::Quarantine { ms: 1000 }]);
}

#[test]
fn what_is_sent_after_the_end_is_reset() {
    let mut talk = Talk::asking();
    assert_eq!(talk.does(Event::Abort), "[RST+ACK] 1101 ack 5001");
    assert_eq!(talk.notices(), [Notice::CutOff, Notice::Closed(Cause::Aborted)]);
    assert_eq!(talk.hears(ACK, 5001, 1101, 300), "[RST] 1101");
    assert_eq!(talk.hears(0, 5001, 0, 300), "[RST+ACK] 0 ack 5301");
    assert_eq!(talk.hears(RST | ACK, 5001, 1101, 0), "");
}
