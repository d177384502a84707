//! What a client does: the requirements of RFC 9293 that `spec/rfc9293.toml` names tests for. Numbers by hand.

use crate::peer::{ACK, FIN, RST, SYN, Talk};
use tcp::{Cause, Dropped, Event, Flags, Notice, Options, Path, State};

fn mss(mss: u16) -> Options {
    Options { mss: Some(mss), ..Options::default() }
}

#[test]
fn a_syn_offers_what_the_path_says() {
    let mut path = Path::v4(1500);
    path.stamp_offset = 7;
    let mut talk = Talk::opening_on(path);
    let offered = Options {
        mss: Some(1460),
        shift: Some(7),
        sack_permitted: true,
        stamps: Some((1007, 0)),
        ..Options::default()
    };
    assert_eq!(talk.options(), offered);
    assert_eq!(talk.after_ms(1000), "[SYN] 1000");
    assert_eq!(talk.options(), Options { stamps: Some((2007, 0)), ..offered });
    // Only a SYN has an MSS.
    let answer = Options { mss: Some(9000), shift: Some(2), stamps: Some((70, 1007)), ..Options::default() };
    talk.hears_with(SYN | ACK, 5000, 1001, 0, 100, answer);
    talk.flushes();
    assert_eq!(talk.options(), Options { stamps: Some((2007, 70)), ..Options::default() });
}

#[test]
fn a_peer_that_announces_no_mss_gets_536_or_1220_bytes() {
    for (path, size) in [(Path::v4(1500), 536), (Path::v6(1500), 1220)] {
        let mut talk = Talk::opening_on(path);
        talk.hears_with(SYN | ACK, 5000, 1001, 0, 8192, Options::default());
        assert!(talk.has_said(Notice::Connected { mss: size }));
        assert_eq!(talk.asks(4000), format!("[ACK] 1001+{size} ack 5001"));
    }
}

#[test]
fn a_segment_is_as_large_as_both_ends_allow_less_the_options() {
    // The peer's MSS, the path's, and what Linux takes at least.
    for (theirs, mtu, size) in [(1460, 1500, 1460), (1460, 1400, 1360), (1000, 1500, 1000), (10, 1500, 48)] {
        let path = Path { stamps: false, sack: false, ..Path::v4(mtu) };
        let mut talk = Talk::opening_on(path);
        talk.hears_with(SYN | ACK, 5000, 1001, 0, 8192, mss(theirs));
        assert_eq!(talk.asks(2000), format!("[ACK] 1001+{size} ack 5001"));
    }
    let mut talk = Talk::open_with_options();
    assert_eq!(talk.asks(2000), "[ACK] 1001+1448 ack 5001", "1460 less 12 of timestamps");
    let mut talk = Talk::open_with_options();
    talk.hears(ACK, 5101, 1001, 10);
    assert_eq!(talk.asks(2000), "[ACK] 1001+1436 ack 5001", "and less 12 of a SACK block");
}

#[test]
fn a_large_request_goes_in_full_segments_and_the_last_has_psh() {
    let mut talk = Talk::open();
    assert_eq!(talk.asks(4000), "[ACK] 1001+1460 ack 5001");
    assert_eq!(talk.hears(ACK, 5001, 2461, 0), "[ACK] 2461+1460 ack 5001");
    assert_eq!(talk.hears(ACK, 5001, 3921, 0), "[PSH+ACK] 3921+1080 ack 5001");
    talk.hears(ACK, 5001, 5001, 0);
    assert!(talk.has_said(Notice::Acked));
}

#[test]
fn a_lost_syn_is_sent_again_after_1_2_and_4_seconds() {
    let mut talk = Talk::opening();
    assert_eq!(talk.after_ms(999), "");
    assert_eq!(talk.after_ms(1), "[SYN] 1000");
    assert_eq!(talk.after_ms(1999), "");
    assert_eq!(talk.after_ms(1), "[SYN] 1000");
    assert_eq!(talk.after_ms(4000), "[SYN] 1000");
    assert!(talk.has_said(Notice::Slow));
    // 10 s of patience, 7 are over.
    assert_eq!(talk.after_ms(3000), "");
    assert_eq!(talk.notices(), [Notice::Closed(Cause::TimedOut)]);
}

#[test]
fn the_timeout_after_a_repeated_syn_is_3_seconds_until_a_round_trip_time_is_known() {
    let mut talk = Talk::opening();
    talk.after_ms(1000);
    talk.hears_with(SYN | ACK, 5000, 1001, 0, 8192, mss(1460));
    assert!(!talk.notices().iter().any(|notice| matches!(notice, Notice::Rtt { .. })), "Karn");
    talk.asks(100);
    assert_eq!(talk.next_ms(), Some(3000));
    talk.now_us += 10_000;
    talk.hears(ACK, 5001, 1101, 0);
    assert!(talk.has_said(Notice::Rtt { micros: 10_000 }));
    assert!(!talk.r.has(Flags::SYN_REPEATED));
}

#[test]
fn the_third_retransmission_is_told_and_patience_ends_the_connection() {
    let mut talk = Talk::asking();
    for (wait, slow) in [(1000, false), (2000, false), (4000, true)] {
        assert_eq!(talk.after_ms(wait), "[PSH+ACK] 1001+100 ack 5001");
        assert_eq!(talk.has_said(Notice::Slow), slow);
    }
    assert_eq!(talk.after_ms(3000), "[RST+ACK] 1101 ack 5001");
    assert_eq!(talk.notices(), [Notice::Failed(Cause::TimedOut), Notice::Closed(Cause::TimedOut)]);
}

#[test]
fn the_doubled_timeout_stays_until_something_is_acknowledged_that_was_sent_once() {
    let mut talk = Talk::asking();
    talk.after_ms(1000);
    talk.hears(ACK, 5001, 1101, 10);
    assert!(!talk.notices().iter().any(|notice| matches!(notice, Notice::Rtt { .. })));
    talk.does(Event::Answered);
    assert_eq!(talk.asks(100), "[PSH+ACK] 1101+100 ack 5011");
    assert_eq!(talk.next_ms(), Some(2000));
    talk.hears(ACK, 5011, 1201, 10);
    talk.does(Event::Answered);
    talk.asks(100);
    assert_eq!(talk.next_ms(), Some(1000));
}

#[test]
fn the_timeout_never_exceeds_120_seconds() {
    let mut talk = Talk::open();
    talk.does(Event::Send { len: 100, close: false, patience_ms: 0 });
    for wait in [1, 2, 4, 8, 16, 32, 64, 120, 120, 120, 120, 120, 120] {
        assert_eq!(talk.next_ms(), Some(wait * 1000));
        assert_ne!(talk.after_ms(wait as u64 * 1000), "");
    }
}

#[test]
fn a_segment_that_is_partly_acknowledged_after_it_was_sent_again_goes_on_at_once() {
    let mut talk = Talk::asking();
    talk.after_ms(1000);
    assert_eq!(talk.hears(ACK, 5001, 1041, 0), "[PSH+ACK] 1041+60 ack 5001");
}

#[test]
fn windows_are_unsigned_and_scaled_to_more_than_16_bits() {
    let mut talk = Talk::opening_on(Path { stamps: false, ..Path::v4(1500) });
    let answer = Options { mss: Some(1460), shift: Some(15), ..Options::default() };
    talk.hears_with(SYN | ACK, 5000, 1001, 0, 65_535, answer);
    assert_eq!(talk.r.snd_wnd, 65_535, "the window of a SYN is not scaled");
    talk.hears_with(ACK, 5001, 1001, 0, 65_535, Options::default());
    assert_eq!(talk.r.snd_wnd, 65_535 << 14, "15 counts as 14 (RFC 7323, 2.3)");
}

#[test]
fn probes_wait_for_the_timeout_and_then_twice_as_long() {
    let mut talk = Talk::open();
    talk.hears_window(0);
    assert_eq!(talk.asks(100), "");
    for wait in [1000, 2000, 4000] {
        assert_eq!(talk.after_ms(wait - 1), "");
        assert_eq!(talk.after_ms(1), "[ACK] 1001+1 ack 5001");
        assert!(talk.has_said(Notice::Probed));
        talk.hears_window(0);
    }
}

#[test]
fn a_window_may_stay_zero_as_long_as_patience_allows() {
    let mut talk = Talk::open();
    talk.hears_window(0);
    talk.does(Event::Send { len: 100, close: false, patience_ms: 0 });
    for _ in 0..1000 {
        assert_eq!(talk.after_ms(120_000), "[ACK] 1001+1 ack 5001");
        talk.hears_window(0);
    }
    assert_eq!(talk.r.state, State::Established);
    assert!(talk.hears_window(100).starts_with("[PSH+ACK] 1001+100"));
}

#[test]
fn a_small_window_is_filled_only_when_the_override_timer_ends() {
    let mut talk = Talk::open();
    talk.hears_window(60);
    assert_eq!(talk.asks(100), "");
    assert_eq!(talk.after_ms(1000), "[ACK] 1001+60 ack 5001");
    assert_eq!(talk.hears_with(ACK, 5001, 1061, 0, 40, Options::default()), "[PSH+ACK] 1061+40 ack 5001");
}

#[test]
fn a_peer_with_little_room_gets_as_much_as_it_takes_without_waiting() {
    let mut talk = Talk::opening();
    talk.hears_with(SYN | ACK, 5000, 1001, 0, 1000, mss(1460));
    // Half of the largest window, rounded up to a power of two, is 512.
    assert_eq!(talk.asks(3000), "[ACK] 1001+1000 ack 5001");
    let less = Options::default();
    assert_eq!(talk.hears_with(ACK, 5001, 2001, 0, 512, less), "[ACK] 2001+512 ack 5001");
    assert_eq!(talk.hears_with(ACK, 5001, 2513, 0, 400, less), "");
    assert!(talk.has_said(Notice::Blocked));
    assert_eq!(talk.hears_with(ACK, 5001, 2513, 0, 1000, less), "[ACK] 2513+1000 ack 5001");
}

#[test]
fn the_window_that_is_offered_never_shrinks() {
    let mut talk = Talk::open_with_options();
    let mut edge = 0;
    for at in 0..100 {
        talk.hears(ACK, 5001 + at * 1000, 1001, 1000);
        talk.now_us += 50_000;
        talk.flushes();
        let sent = talk.last.and_then(|step| step.segment).expect("an ACK");
        let right = u64::from(sent.ack) + (u64::from(sent.window) << 7);
        assert!(right >= edge, "{right} {edge}");
        edge = right;
        assert_eq!(sent.window, 65_535);
    }
}

#[test]
fn a_single_segment_is_acknowledged_after_40_ms_and_a_whole_response_after_1() {
    let mut talk = Talk::asking();
    talk.hears(ACK, 5001, 1101, 300);
    assert_eq!(talk.flushes(), "", "later segments may share the ACK");
    assert_eq!(talk.after_ms(39), "");
    assert_eq!(talk.after_ms(1), "[ACK] 1101 ack 5301");
    talk.hears(ACK, 5301, 1101, 300);
    talk.does(Event::Answered);
    assert_eq!(talk.after_ms(1), "[ACK] 1101 ack 5601");
}

#[test]
fn the_next_request_carries_the_ack() {
    let mut talk = Talk::asking();
    talk.hears(ACK, 5001, 1101, 300);
    talk.does(Event::Answered);
    assert_eq!(talk.asks(100), "[PSH+ACK] 1101+100 ack 5301");
    assert_eq!(talk.flushes(), "");
    assert_eq!(talk.after_ms(50), "");
}

#[test]
fn every_second_full_segment_is_acknowledged_and_a_batch_shares_one_ack() {
    let mut talk = Talk::asking();
    talk.hears(ACK, 5001, 1101, 1460);
    assert_eq!(talk.flushes(), "");
    talk.hears(ACK, 6461, 1101, 1460);
    assert_eq!(talk.flushes(), "[ACK] 1101 ack 7921");
    for at in 0..10 {
        talk.hears(ACK, 7921 + at * 1460, 1101, 1460);
    }
    assert_eq!(talk.flushes(), "[ACK] 1101 ack 22521");
    assert_eq!(talk.flushes(), "");
}

#[test]
fn a_hole_is_acknowledged_at_once_with_what_lies_behind_it() {
    let mut talk = Talk::open_with_options();
    talk.hears(ACK, 5101, 1001, 100);
    assert_eq!(talk.flushes(), "[ACK] 1001 ack 5001");
    assert_eq!(talk.options().sack, Some((5101, 5201)));
    talk.hears(ACK, 5201, 1001, 50);
    assert!(talk.has_said(Notice::Early { skip: 0, len: 50 }));
    talk.flushes();
    assert_eq!(talk.options().sack, Some((5101, 5251)));
    talk.hears(ACK, 5001, 1001, 100);
    assert_eq!(talk.notices(), [Notice::Data { skip: 0, len: 100 }, Notice::Filled { len: 150 }]);
    assert_eq!(talk.flushes(), "[ACK] 1001 ack 5251");
    assert_eq!(talk.options().sack, None);
}

#[test]
fn a_second_hole_is_dropped_and_told() {
    let mut talk = Talk::asking();
    talk.hears(ACK, 5101, 1101, 100);
    talk.hears(ACK, 5301, 1101, 100);
    assert_eq!(talk.notices(), [Notice::Dropped(Dropped::Hole)]);
    assert_eq!(talk.r.ooo_len, 100);
}

#[test]
fn options_may_stand_in_any_segment() {
    let mut talk = Talk::asking();
    let all = Options {
        mss: Some(9),
        shift: Some(9),
        sack_permitted: true,
        stamps: Some((9, 9)),
        sack: Some((9, 9)),
        further_blocks: [Some((9, 9)), None, None],
    };
    talk.hears_with(ACK, 5001, 1101, 10, 8192, all);
    assert!(talk.has_said(Notice::Data { skip: 0, len: 10 }));
    assert_eq!((talk.r.mss, talk.r.shift(), talk.r.has(Flags::STAMPED)), (1460, 0, false));
}

#[test]
fn an_ack_older_than_any_window_is_refused() {
    let mut talk = Talk::asking();
    // The largest window was 8192.
    talk.hears(ACK, 5001, 1001u32.wrapping_sub(8193), 10);
    assert!(talk.has_said(Notice::Dropped(Dropped::OldAck)));
    talk.hears(ACK, 5001, 1001u32.wrapping_sub(8192), 10);
    assert!(talk.has_said(Notice::Data { skip: 0, len: 10 }));
}

#[test]
fn a_reset_may_carry_text() {
    let mut talk = Talk::asking();
    talk.hears(RST | ACK, 5001, 1101, 200);
    assert_eq!(talk.notices(), [Notice::Failed(Cause::Reset), Notice::Closed(Cause::Reset)]);
}

#[test]
fn a_soft_error_is_told_and_ends_nothing() {
    for mut talk in [Talk::opening(), Talk::asking()] {
        let state = talk.r.state;
        talk.does(Event::Unreachable { hard: false, seq: talk.r.snd_una });
        assert_eq!((talk.notices(), talk.r.state), (vec![Notice::SoftError], state));
    }
}

#[test]
fn a_hard_error_ends_the_handshake_only_and_must_quote_what_was_sent() {
    let mut talk = Talk::opening();
    talk.does(Event::Unreachable { hard: true, seq: 999 });
    assert_eq!(talk.notices(), [Notice::Dropped(Dropped::Icmp)]);
    talk.does(Event::Unreachable { hard: true, seq: 1000 });
    assert_eq!(talk.notices(), [Notice::Closed(Cause::Unreachable)]);
    let mut talk = Talk::asking();
    talk.does(Event::Unreachable { hard: true, seq: 1001 });
    assert_eq!(talk.notices(), [Notice::SoftError]);
}

#[test]
fn a_smaller_mtu_sends_smaller_segments_at_once() {
    let mut talk = Talk::open();
    talk.asks(1460);
    assert_eq!(talk.does(Event::Mtu { mss: 960, seq: 1001 }), "[ACK] 1001+960 ack 5001");
    assert_eq!(talk.hears(ACK, 5001, 1961, 0), "[PSH+ACK] 1961+500 ack 5001");
    assert_eq!(talk.does(Event::Mtu { mss: 2000, seq: 1961 }), "", "it is never raised");
    talk.does(Event::Mtu { mss: 100, seq: 1961 });
    assert!(talk.has_said(Notice::MssLowered { mss: 512 }), "nobody can lower it to nothing");
}

#[test]
fn a_request_with_close_sends_fin_with_its_last_byte() {
    let mut talk = Talk::open();
    let request = Event::Send { len: 100, close: true, patience_ms: 5000 };
    assert_eq!(talk.does(request), "[FIN+PSH+ACK] 1001+100 ack 5001");
    assert_eq!(talk.hears(FIN | ACK, 5001, 1102, 300), "");
    assert_eq!(talk.r.state, State::TimeWait);
    talk.does(Event::Answered);
    assert_eq!(talk.flushes(), "[ACK] 1102 ack 5302");
    talk.after_ms(1000);
    assert_eq!(talk.r.state, State::Closed);
}

#[test]
fn a_server_that_closes_is_answered_with_fin_and_leaves_no_quarantine() {
    let mut talk = Talk::asking();
    assert_eq!(talk.hears(FIN | ACK, 5001, 1101, 300), "[FIN+ACK] 1101 ack 5302");
    talk.does(Event::Answered);
    assert!(talk.has_said(Notice::Done));
    talk.hears(ACK, 5302, 1102, 0);
    assert_eq!(talk.notices().last(), Some(&Notice::Closed(Cause::Finished)));
}

#[test]
fn a_server_that_closes_before_the_response_is_whole_fails_the_request() {
    let mut talk = Talk::asking();
    talk.hears(FIN | ACK, 5001, 1101, 0);
    talk.hears(ACK, 5002, 1102, 0);
    assert!(talk.has_said(Notice::Failed(Cause::Finished)));
}

#[test]
fn a_peer_that_never_closes_is_given_up_after_60_seconds() {
    let mut talk = Talk::open();
    assert_eq!(talk.does(Event::Close), "[FIN+ACK] 1001 ack 5001");
    talk.hears(ACK, 5001, 1002, 0);
    assert_eq!(talk.r.state, State::FinWait2);
    assert_eq!(talk.next_ms(), Some(60_000));
    assert_eq!(talk.after_ms(60_000), "[RST+ACK] 1002 ack 5001");
    assert_eq!(talk.notices(), [Notice::Closed(Cause::TimedOut)]);
}

#[test]
fn text_in_the_syn_ack_is_taken() {
    let mut talk = Talk::opening();
    talk.hears_with(SYN | ACK, 5000, 1001, 20, 8192, mss(1460));
    assert!(talk.has_said(Notice::Data { skip: 0, len: 20 }));
    assert_eq!(talk.flushes(), "[ACK] 1001 ack 5021");
}

#[test]
fn the_request_is_the_third_segment() {
    let mut talk = Talk::opening();
    talk.hears_with(SYN | ACK, 5000, 1001, 0, 8192, mss(1460));
    assert_eq!(talk.asks(100), "[PSH+ACK] 1001+100 ack 5001");
    assert_eq!(talk.flushes(), "");
}

#[test]
fn a_call_that_cannot_be_is_refused_and_changes_nothing() {
    let mut talk = Talk::asking();
    let record = talk.r;
    for event in [
        Event::Open { isn: 1, patience_ms: 0 },
        Event::Send { len: 1, close: false, patience_ms: 0 },
        Event::Send { len: 0, close: true, patience_ms: 0 },
    ] {
        assert_eq!(talk.does(event), "");
        assert!(matches!(talk.notices()[..], [Notice::Refused(_)]), "{event:?}");
        assert_eq!(talk.r, record);
    }
}
