//! Several threads that send, and several frames in one.

use super::*;

/// UDP_SEGMENT over an interface that does not cut up: datagrams of 60 bytes behind one header.
#[test]
fn several_in_one_frame_are_told() {
    let mut row = row(100);
    for first in [10, 50] {
        let others: Vec<u8> = (first + 1..first + 4).flat_map(|n| row[n].bytes[42..].to_vec()).collect();
        let one = &mut row[first].bytes;
        one.extend(others);
        // The length is that of all, and the checksum is left to the card.
        let total = one.len() as u16;
        one[16..18].copy_from_slice(&(total - 14).to_be_bytes());
        one[38..40].copy_from_slice(&(total - 34).to_be_bytes());
        one[24..26].fill(0);
        one[40..42].fill(0);
        let sum = testing::checksum(&[&one[14..34]]);
        one[24..26].copy_from_slice(&sum.to_be_bytes());
        row.drain(first + 1..first + 4);
    }
    let report = report_of(&row);
    assert_eq!((report.signed, report.merged, report.lost, report.corrupted), (94, 2, 6, 0), "{report:?}");
    // Bytes behind the signature that only begin like one.
    let mut padded = frame(7, 0, 200);
    let time = padded.bytes[50..54].to_vec();
    padded.bytes[100..104].copy_from_slice(&time);
    padded.bytes[60..64].copy_from_slice(&time);
    padded.bytes[40..42].fill(0);
    assert_eq!(report_of(&[padded]).merged, 0);
}

/// Threads do not wait for each other: across them is no order that a network could break.
#[test]
fn order_is_judged_among_the_frames_of_one_thread() {
    let reordered = |senders, numbers: &[u64]| {
        let mut signed = Signed::new(Settings { from: Some(0), senders, ..Settings::default() });
        for number in numbers {
            let mark = Mark::Signed(Signature { seq: *number, ..Signature::default() });
            signed.note(&mark, Stamp::NONE, 0);
        }
        signed.finish(Some(numbers.len() as u64));
        signed.report().reordered
    };
    let ahead = [1, 3, 0, 5, 2, 4];
    assert_eq!(reordered(Senders::One, &ahead), 3);
    assert_eq!(reordered(Senders::InTurns(2), &ahead), 0);
    assert_eq!(reordered(Senders::InTurns(2), &[1, 5, 3, 0, 4, 2]), 2, "by the way");
    let blocks = [4, 5, 0, 6, 1, 2, 7, 3];
    assert_eq!((reordered(Senders::One, &blocks), reordered(Senders::InBlocks(4), &blocks)), (4, 0));
    assert_eq!(reordered(Senders::InBlocks(4), &[4, 0, 6, 5, 1, 3, 2, 7]), 2);
}
