//! Break-it tests: one thing is done to a row of frames, and the report says exactly that and nothing else.

mod several;

use super::testing::{self, GAP, START, WAY};
use super::*;
use measure::packets::Spread;
use port::CardWork;
use proptest::prelude::*;

#[derive(Clone)]
struct Arrival {
    bytes: Vec<u8>,
    at: u64,
}

fn frame(number: u64, stream: u16, length: usize) -> Arrival {
    let (bytes, at) = testing::frame(number, stream, length);
    Arrival { bytes, at }
}

fn row(count: u64) -> Vec<Arrival> {
    (0..count).map(|number| frame(number, 0, 60)).collect()
}

fn report_of(row: &[Arrival]) -> ReceivedReport {
    let mut signed = Signed::new(Settings::default());
    for arrival in row {
        let data = &arrival.bytes[..];
        signed.frame(&Frame {
            data,
            length: data.len(),
            stamp: Stamp(arrival.at),
            lost_before: 0,
            card_work: CardWork::NONE,
        });
    }
    signed.finish(None);
    signed.report()
}

/// lost, duplicated, reordered, corrupted, too old, unsigned.
fn counts(report: &ReceivedReport) -> [u64; 6] {
    [report.lost, report.duplicated, report.reordered, report.corrupted, report.too_old, report.unsigned]
}

#[test]
fn an_unharmed_row_has_nothing_to_tell() {
    let report = report_of(&row(1_000));
    assert_eq!((report.signed, counts(&report)), (1_000, [0; 6]));
    assert_eq!(report.incidents, [""; 0]);
    assert_eq!((report.one_way_ns.min, report.one_way_ns.mean, report.one_way_ns.max), (20e3, 20e3, 20e3));
    assert_eq!(
        report.streams,
        [StreamRow { stream: 0, received: 1_000, lost: Some(0), ..StreamRow::default() }]
    );
}

#[test]
fn one_that_is_dropped_is_told_and_nothing_else() {
    let mut row = row(1_000);
    row.remove(471);
    let report = report_of(&row);
    assert_eq!((report.signed, counts(&report)), (999, [1, 0, 0, 0, 0, 0]));
    assert_eq!(report.incidents, ["stream 0: frame 471 is lost"]);
    assert_eq!(report.streams[0].lost, Some(1));
}

#[test]
fn a_row_that_is_dropped_is_one_incident() {
    let mut row = row(1_000);
    row.drain(100..105);
    let report = report_of(&row);
    assert_eq!(report.lost, 5);
    assert_eq!(report.incidents, ["stream 0: frames 100 to 104 are lost (5)"]);
}

#[test]
fn two_that_are_swapped_are_told_and_nothing_else() {
    let mut row = row(1_000);
    // Their places on the wire are swapped, the times of arrival are not.
    let (a, b) = (row[10].bytes.clone(), row[11].bytes.clone());
    (row[10].bytes, row[11].bytes) = (b, a);
    let report = report_of(&row);
    assert_eq!((report.signed, counts(&report)), (1_000, [0, 0, 1, 0, 0, 0]));
    assert_eq!(report.incidents, ["stream 0: frame 10 came after frame 11, 30.0 µs after it was sent"]);
}

#[test]
fn one_that_is_delayed_is_told_and_nothing_else() {
    let mut row = row(1_000);
    row[500].at += 5_000_000;
    let report = report_of(&row);
    assert_eq!((report.signed, counts(&report)), (1_000, [0; 6]));
    assert_eq!(report.incidents, ["stream 0: frame 500 took 5.02 ms; the median is 20.0 µs"]);
    assert_eq!(report.one_way_ns.max, 5_020_000.0);
}

#[test]
fn one_that_is_delayed_and_overtaken_is_told_once() {
    let mut row = row(1_000);
    let mut late = row.remove(500);
    late.at += 5_000_000;
    row.insert(700, late);
    let report = report_of(&row);
    assert_eq!(counts(&report), [0, 0, 1, 0, 0, 0]);
    assert_eq!(report.incidents, ["stream 0: frame 500 came after frame 700, 5.02 ms after it was sent"]);
}

#[test]
fn one_that_comes_twice_is_told_and_nothing_else() {
    let mut row = row(1_000);
    row.insert(8, row[7].clone());
    let report = report_of(&row);
    assert_eq!((report.signed, counts(&report)), (1_001, [0, 1, 0, 0, 0, 0]));
    assert_eq!(report.incidents, ["stream 0: frame 7 came twice"]);
}

#[test]
fn every_byte_that_a_checksum_covers_is_seen_when_it_is_damaged() {
    for length in [60, 61, 200] {
        for at in (12..length).filter(|at| !(40..42).contains(at)) {
            let mut row: Vec<Arrival> = (0..20).map(|number| frame(number, 0, length)).collect();
            row[9].bytes[at] ^= 0x55;
            let report = report_of(&row);
            assert_eq!(counts(&report), [0, 0, 0, 1, 0, 0], "byte {at} of {length}: {:?}", report.incidents);
            let [incident] = &report.incidents[..] else { panic!("byte {at}: {:?}", report.incidents) };
            assert!(incident.contains("frame 9 is damaged: "), "byte {at}: {incident}");
        }
    }
}

#[test]
fn the_first_and_the_last_are_missed_where_they_are_expected() {
    let mut signed = Signed::new(Settings { from: Some(0), ..Settings::default() });
    for arrival in &row(10)[2..9] {
        signed.frame(&Frame {
            data: &arrival.bytes,
            length: 60,
            stamp: Stamp(arrival.at),
            lost_before: 0,
            card_work: CardWork::NONE,
        });
    }
    signed.finish(Some(10));
    let report = signed.report();
    assert_eq!(report.lost, 3);
    assert_eq!(report.incidents, ["stream 0: frames 0 to 1 are lost (2)", "stream 0: frame 9 is lost"]);
}

#[test]
fn a_loss_has_its_stream_where_the_template_is_known() {
    // Streams take turns: 0 1 2 0 1 2 …
    let settings = Settings { streams: Some(Arc::new(|number| (number % 3) as u16)), ..Settings::default() };
    let mut signed = Signed::new(settings);
    for number in (0..30).filter(|number| *number != 10) {
        let arrival = frame(number, (number % 3) as u16, 60);
        signed.frame(&Frame {
            data: &arrival.bytes,
            length: 60,
            stamp: Stamp::NONE,
            lost_before: 0,
            card_work: CardWork::NONE,
        });
    }
    signed.finish(None);
    let report = signed.report();
    assert_eq!(report.incidents, ["stream 1: frame 10 is lost"]);
    assert_eq!(report.streams.iter().map(|row| row.lost).collect::<Vec<_>>(), [0, 1, 0].map(Some));
    assert_eq!(report.one_way_ns, Spread::default());
}

#[test]
fn strangers_are_counted_apart() {
    let mut row = row(100);
    for at in [20, 40] {
        let mut stranger = row[at].clone();
        stranger.bytes[42..].fill(7);
        stranger.bytes[40..42].fill(0);
        row.insert(at, stranger);
    }
    let report = report_of(&row);
    assert_eq!((report.signed, counts(&report)), (100, [0, 0, 0, 0, 0, 2]));
    assert_eq!(report.incidents, [""; 0]);
}

#[test]
fn frames_of_others_are_not_damaged_ones_whatever_zeros_they_have() {
    let mut row = row(100);
    let arp = {
        let mut bytes = vec![0; 60];
        bytes[12..14].copy_from_slice(&[8, 6]);
        bytes[14..22].copy_from_slice(&[0, 1, 8, 0, 6, 4, 0, 1]);
        bytes
    };
    let raw = {
        let mut bytes = vec![0; 60];
        bytes[12..14].copy_from_slice(&[0x88, 0xb5]);
        bytes
    };
    // The same flow, without a signature and without a checksum.
    let plain = {
        let mut bytes = row[0].bytes.clone();
        bytes[40..].fill(0);
        bytes
    };
    // A checksum that the card was to fill in.
    let offloaded = {
        let mut bytes = plain.clone();
        bytes[40..42].fill(0x5a);
        bytes
    };
    for (at, bytes) in [(20, arp), (40, raw), (60, plain), (80, offloaded)] {
        let stranger = Arrival { bytes, at: row[at].at };
        row.insert(at, stranger);
    }
    let report = report_of(&row);
    assert_eq!((report.signed, counts(&report)), (100, [0, 0, 0, 0, 0, 4]));
    assert_eq!(report.incidents, [""; 0]);
}

#[test]
fn a_signature_of_another_time_is_a_strangers() {
    let mut row = row(10);
    row.iter_mut().for_each(|arrival| arrival.at += 2 * 3_600_000_000_000);
    assert_eq!(report_of(&row).unsigned, 10);
}

#[test]
fn queues_that_run_apart_make_no_disorder() {
    // Even numbers come to queue 0, odd ones to queue 1, which is read later.
    let mut signed = Signed::new(Settings::default());
    let mut reader = Reader::default();
    for queue in 0..2 {
        for arrival in row(100).iter().skip(queue).step_by(2) {
            let frame = Frame {
                data: &arrival.bytes,
                length: 60,
                stamp: Stamp(arrival.at),
                lost_before: 0,
                card_work: CardWork::NONE,
            };
            let mark = reader.read(&frame);
            signed.note(&mark, frame.stamp, queue);
        }
    }
    signed.finish(None);
    assert_eq!(counts(&signed.report()), [0; 6]);
}

#[test]
fn another_run_of_the_sender_is_told_as_such() {
    let mut signed = Signed::new(Settings { span: 64, ..Settings::default() });
    let mut feed = |arrival: &Arrival| {
        signed.frame(&Frame {
            data: &arrival.bytes,
            length: 60,
            stamp: Stamp(arrival.at),
            lost_before: 0,
            card_work: CardWork::NONE,
        });
    };
    row(1_000).iter().for_each(&mut feed);
    // The same numbers again, a second later.
    for number in 0..500_u64 {
        let sent = START + 1_000_000_000 + number * GAP;
        let mut arrival = frame(number, 0, 60);
        let again = Signature { stream: 0, seq: number, due_unix_ns: sent, sent_unix_ns: sent };
        again.write((&mut arrival.bytes[42..60]).try_into().unwrap());
        arrival.bytes[40..42].fill(0);
        arrival.at = sent + WAY;
        feed(&arrival);
    }
    signed.finish(None);
    let report = signed.report();
    assert_eq!((report.signed, counts(&report)), (1_500, [0; 6]));
    assert_eq!(report.incidents, ["the numbers start again at frame 0: another run of the sender"]);
}

#[test]
fn numbers_that_no_sender_could_have_reached_are_of_another_run() {
    let settings = Settings { from: Some(0), base: Some(0), trusting: true, ..Settings::default() };
    let mut signed = Signed::new(settings);
    signed.lasts(Picos::from_secs(3_600));
    let mut take = |place: u64, seq: u64| {
        let (mut bytes, at) = testing::frame(place, 0, 60);
        let sent = START + place * GAP;
        let signature = Signature { stream: 0, seq, due_unix_ns: sent, sent_unix_ns: sent };
        signature.write((&mut bytes[42..60]).try_into().unwrap());
        signed.frame(&Frame {
            data: &bytes,
            length: 60,
            stamp: Stamp(at),
            lost_before: 0,
            card_work: CardWork::NONE,
        });
    };
    for place in 0..1_000 {
        take(place, place);
        take(place, 500_000_000 + place);
    }
    // A second later: two million more may have left, and were lost.
    take(101_000, 2_001_000);
    signed.finish(None);
    let report = signed.report();
    assert_eq!((report.signed, report.unsigned, report.lost), (1_001, 1_000, 2_000_000));
}

#[test]
fn damaged_frames_of_another_run_stand_for_none_that_is_missing() {
    const BASE: u64 = 77_000_000_000;
    let settings = Settings { from: Some(0), base: Some(BASE), ..Settings::default() };
    let mut signed = Signed::new(settings);
    signed.lasts(Picos::from_secs(3_600));
    let mut take = |place: u64, seq: u64, damaged: Option<usize>| {
        let (mut bytes, at) = testing::frame(place, 0, 60);
        let sent = START + place * GAP;
        let signature = Signature { stream: 0, seq, due_unix_ns: sent, sent_unix_ns: sent };
        signature.write((&mut bytes[42..60]).try_into().unwrap());
        bytes[40..42].fill(0);
        if let Some(at) = damaged {
            bytes[at] ^= 0x55;
        }
        let (data, stamp) = (&bytes[..], Stamp(at));
        signed.frame(&Frame { data, length: 60, stamp, lost_before: 0, card_work: CardWork::NONE });
    };
    for place in 0..1_000 {
        // Each tenth is missing, and in its place is one of the other run, damaged in one byte of its number,
        // stream, lateness, time or check.
        if place % 10 == 5 {
            take(place, 3_000_000 + place, Some(42 + (place as usize / 10) % 18));
        } else {
            take(place, BASE + place, (place % 100 == 50).then_some(42 + (place as usize / 100)));
        }
        // A good one of theirs changes nothing.
        take(place, 3_000_000 + place, None);
    }
    signed.finish(Some(1_000));
    let report = signed.report();
    assert_eq!((report.signed, report.lost, report.corrupted, report.mixed), (890, 100, 10, 0));
}

/// A frame of a run that counts from zero.
fn of_a_run(signed: &mut Signed, number: u64, sent: u64) {
    let (mut bytes, _) = testing::frame(number, 0, 60);
    let signature = Signature { stream: 0, seq: number, due_unix_ns: sent, sent_unix_ns: sent };
    signature.write((&mut bytes[42..60]).try_into().unwrap());
    bytes[40..42].fill(0);
    let (data, stamp) = (&bytes[..], Stamp(sent + WAY));
    signed.frame(&Frame { data, length: 60, stamp, lost_before: 0, card_work: CardWork::NONE });
}

/// RFC 7679, section 3.4.
#[test]
fn the_way_of_a_frame_is_that_of_its_first_copy() {
    let mut row = row(100);
    let copies = row.iter().map(|first| Arrival { bytes: first.bytes.clone(), at: first.at + 1_000_000_000 });
    row.extend(copies.collect::<Vec<_>>());
    let report = report_of(&row);
    assert_eq!(counts(&report), [0, 100, 0, 0, 0, 0]);
    assert_eq!((report.one_way_ns.count, report.one_way_ns.max), (100, 20e3));
}

#[test]
fn two_runs_that_count_from_zero_are_told_apart_from_duplicates() {
    let mut signed = Signed::new(Settings::default());
    for place in 0..1_000_u64 {
        of_a_run(&mut signed, place, START + place * GAP);
        // The second run lost every fifth, and began 20 gaps later.
        if let Some(number) = place.checked_sub(20).filter(|number| number % 5 > 0) {
            of_a_run(&mut signed, number, START + place * GAP + 3_000);
        }
    }
    signed.finish(None);
    let report = signed.report();
    assert_eq!((report.lost, report.duplicated), (0, 784));
    assert!(report.mixed > 20, "{}", report.mixed);
}

#[test]
fn a_run_that_begins_when_another_is_far_ahead_is_told() {
    let ahead = 2 * SPAN;
    let feed = |short: &[u64], goes_on: bool| {
        let mut signed = Signed::new(Settings::default());
        (0..ahead).for_each(|place| of_a_run(&mut signed, place, START + place * GAP));
        for (place, number) in (ahead..).zip(short) {
            of_a_run(&mut signed, *number, START + place * GAP + 3_000);
            if goes_on {
                of_a_run(&mut signed, place, START + place * GAP);
            }
        }
        signed.finish(None);
        let report = signed.report();
        (report.lost, report.too_old, report.mixed)
    };
    // Half of its frames were lost, and nobody can tell.
    let halved: Vec<u64> = (0..500).step_by(2).collect();
    assert_eq!(feed(&halved, true), (0, 250, 250));
    let few: Vec<u64> = (0..20).collect();
    assert_eq!(feed(&few, false), (0, 20, 20));
    // A sender that began anew.
    assert_eq!(feed(&halved, false), (249 - 31, 0, 0));
}

#[test]
fn numbers_go_on_where_the_signature_has_no_more_room() {
    // 2⁴⁰ − 3 … 2⁴⁰ + 2, one of them lost: the signature carries 2⁴⁰ as 0.
    let first = SEQUENCES - 3;
    let mut signed = Signed::new(Settings { from: Some(first), ..Settings::default() });
    for number in (first..first + 6).filter(|number| *number != SEQUENCES) {
        let mark = Mark::Signed(Signature { seq: number % SEQUENCES, ..Signature::default() });
        signed.note(&mark, Stamp::NONE, 0);
    }
    signed.finish(Some(first + 6));
    assert_eq!(signed.report().incidents, [format!("stream 0: frame {SEQUENCES} is lost")]);
}

#[test]
fn incidents_are_few_and_the_rest_is_counted() {
    let all = row(1_000);
    let row: Vec<Arrival> = all.iter().step_by(2).cloned().collect();
    let report = report_of(&row);
    assert_eq!(report.lost, 499);
    assert_eq!(report.incidents.len(), 21);
    assert_eq!(report.incidents[20], "and 479 more");
}

proptest! {
    /// Whatever is dropped, doubled and moved within the window: what came and what is lost is everything.
    #[test]
    fn nothing_is_counted_twice_or_forgotten(fates in prop::collection::vec(0_u8..12, 2..300)) {
        let all = row(fates.len() as u64);
        let (mut arrivals, mut dropped, mut doubled) = (Vec::new(), 0, 0);
        for (arrival, fate) in all.iter().zip(&fates) {
            match fate {
                0 => dropped += 1,
                1 => {
                    arrivals.extend([arrival.clone(), arrival.clone()]);
                    doubled += 1;
                }
                2 if arrivals.len() > 3 => arrivals.insert(arrivals.len() - 3, arrival.clone()),
                _ => arrivals.push(arrival.clone()),
            }
        }
        let mut signed = Signed::new(Settings { from: Some(0), ..Settings::default() });
        for arrival in &arrivals {
            let (data, stamp) = (&arrival.bytes, Stamp(arrival.at));
            signed.frame(&Frame { data, length: 60, stamp, lost_before: 0, card_work: CardWork::NONE });
        }
        signed.finish(Some(fates.len() as u64));
        let report = signed.report();
        prop_assert_eq!((report.lost, report.duplicated, report.corrupted, report.too_old),
            (dropped, doubled, 0, 0));
        prop_assert_eq!(report.signed + report.lost, fates.len() as u64 + doubled);
    }

    #[test]
    fn no_bytes_make_it_fail(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut signed = Signed::new(Settings::default());
        let good = frame(0, 0, 60);
        for data in [&good.bytes, &bytes] {
            let (length, stamp) = (data.len(), Stamp::NONE);
            signed.frame(&Frame { data, length, stamp, lost_before: 0, card_work: CardWork::NONE });
        }
        prop_assert_eq!(signed.report().unsigned, 1);
    }
}

#[test]
fn a_checksum_that_a_card_was_to_finish_tells_of_no_damage() {
    let whole = row(3);
    let mut frames: Vec<Vec<u8>> = whole.iter().map(|arrival| arrival.bytes.clone()).collect();
    // As the kernel leaves it: the sum of the pseudo-header (addresses, 17, length), not yet complemented.
    let begun = |frame: &[u8]| {
        let words = frame[26..34].chunks(2).chain([&[0, 17][..], &frame[38..40]]);
        let sum: u32 = words.map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
        ((sum & 0xffff) + (sum >> 16)) as u16
    };
    let sum = begun(&frames[0]).to_be_bytes();
    frames[0][40..42].copy_from_slice(&sum);
    frames[1][40..42].fill(0x5a);
    let mut reader = Reader::default();
    let mut read = |at: usize, checksum| {
        let stamp = Stamp(whole[at].at);
        let card_work = CardWork { checksum, split: false };
        reader.read(&Frame { data: &frames[at], length: 60, stamp, lost_before: 0, card_work })
    };
    assert!(matches!(read(0, true), Mark::Signed(_)));
    assert!(matches!(read(0, false), Mark::Signed(_)), "a file does not tell, and the sum is known");
    assert!(matches!(read(1, true), Mark::Signed(_)), "the port tells");
    assert!(matches!(read(1, false), Mark::Broken(_, Damage::Udp)));
    // IPv4's own checksum is always finished.
    frames[2][24] ^= 1;
    let stamp = Stamp(whole[2].at);
    let broken = Frame { data: &frames[2], length: 60, stamp, lost_before: 0, card_work: CardWork::CHECKSUM };
    assert!(matches!(Reader::default().read(&broken), Mark::Broken(_, Damage::Ip)));
}
