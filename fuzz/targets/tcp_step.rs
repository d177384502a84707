//! A TCP session under any events: no panic, and the rules that every step keeps.
//!
//! ```text
//! input: 16 bytes for each event
//!   kind   control bits   options   ms that pass   sequence number   acknowledgment   length   window
//!   1      1              1         1              4                 4                2        2
//! Numbers count from those that are expected.
//! ```

#![no_main]

use libfuzzer_sys::fuzz_target;
use tcp::{Arrived, Event, Flags, Notice, Options, Path, Record, State, Time, step};

fuzz_target!(|bytes: &[u8]| {
    // The last byte says how many segments may be in flight.
    let burst = bytes.last().map_or(1, |last| u16::from(*last));
    let mut path = Path { burst, ..Path::v4(1500) };
    let mut record = Record::default();
    let (mut now_us, mut open, mut asked) = (0, false, false);
    let (chunks, rest) = bytes.as_chunks::<16>();
    for chunk in chunks {
        // Squared, so that a byte goes from nothing to a minute.
        now_us += u64::from(chunk[3]).pow(2) * 1000 + u64::from(chunk[2]);
        let event = read(chunk, &record);
        let made = step(&path, record, event, Time::from_micros(now_us));
        for notice in made.notices.iter() {
            match *notice {
                Notice::Rtt { micros } => path.sample(micros),
                Notice::Done | Notice::Failed(_) | Notice::CutOff => assert!(core::mem::take(&mut asked)),
                Notice::Closed(_) => assert!(core::mem::take(&mut open)),
                Notice::Refused(_) => assert_eq!(made.record, record),
                _ => {}
            }
        }
        check(&record, &made.record);
        let flushed = step(&path, made.record, Event::Flush, Time::from_micros(now_us)).segment;
        assert!(flushed.is_some() || !made.record.wants_flush(), "wants a flush for nothing");
        record = made.record;
        // What a step begins.
        let refused = made.notices.iter().any(|notice| matches!(notice, Notice::Refused(_)));
        open |= matches!(event, Event::Open { .. }) && !refused;
        asked |= matches!(event, Event::Send { .. }) && !refused;
        assert_eq!((open, asked), (record.state != State::Closed, record.has(Flags::ASKED)));
        if let Some(segment) = made.segment {
            let mut room = [0; 128];
            let length = segment.write(1, 2, b"", &mut room).expect("60 bytes at most");
            let view = wire::tcp::View::new(&room[..length]).expect("a header");
            let read = Arrived::read(&view).expect("options that were written");
            assert_eq!((read.seq, read.ack, read.options), (segment.seq, segment.ack, segment.options));
            let next = segment.payload.filter(|_| segment.seq != record.snd_una);
            let most = record.snd_wnd.min(u32::from(burst) * u32::from(record.mss));
            assert!(next.is_none() || u32::from(record.in_flight) <= most, "too much in flight: {record:?}");
        }
    }
    let _ = Options::parse(rest);
    let _ = Options::parse(bytes);
});

fn check(before: &Record, after: &Record) {
    let ahead = |a: u32, b: u32| a.wrapping_sub(b) as i32;
    assert!(after.in_flight <= after.left);
    assert!((0..=65_537).contains(&ahead(after.snd_nxt(), after.snd_una)));
    if before.state != State::Closed && after.state != State::Closed {
        assert!((0..=ahead(before.snd_nxt(), before.snd_una)).contains(&ahead(after.snd_una, before.snd_una)));
    }
    let waits = after.left > 0 || after.snd_nxt() != after.snd_una;
    assert!(!waits || after.has(Flags::TIMED), "what is out has a timer: {after:?}");
}

fn read(chunk: &[u8; 16], r: &Record) -> Event {
    let word = |at: usize| u32::from_le_bytes([chunk[at], chunk[at + 1], chunk[at + 2], chunk[at + 3]]);
    let half = |at: usize| u16::from_le_bytes([chunk[at], chunk[at + 1]]);
    let patience_ms = u32::from(half(14));
    match chunk[0] % 13 {
        0 => Event::Open { isn: word(4), patience_ms },
        1 => Event::Timer,
        2 => Event::Send { len: half(12), close: chunk[1] & 1 != 0, patience_ms },
        3 => Event::Answered,
        4 => Event::Flush,
        5 => Event::Close,
        6 => Event::Abort,
        7 => Event::Unreachable { hard: chunk[1] & 1 != 0, seq: r.snd_una.wrapping_add(word(4)) },
        8 => Event::Mtu { mss: half(12), seq: r.snd_una.wrapping_add(word(4)) },
        12 => Event::Window { open: chunk[1] & 1 != 0 },
        _ => {
            let has = |bit: u8| chunk[2] & bit != 0;
            let options = Options {
                mss: has(1).then(|| half(14)),
                shift: has(2).then_some(chunk[14] & 15),
                sack_permitted: has(4),
                stamps: has(8).then(|| (r.ts_recent.wrapping_add(u32::from(chunk[15])).wrapping_sub(1), 0)),
                sack: has(16).then(|| (r.snd_una, r.snd_una.wrapping_add(word(8)))),
                ..Options::default()
            };
            Event::Segment(Arrived {
                seq: r.rcv_nxt.wrapping_add(word(4)),
                ack: r.snd_nxt().wrapping_add(word(8)),
                flags: chunk[1],
                window: half(14),
                len: u32::from(half(12)),
                options,
            })
        }
    }
}
