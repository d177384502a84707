//! What became of frames under way, from what the kernel tells: without a kernel.

use super::*;

const SECOND: u64 = 1_000_000_000;
const AT: u64 = 1_800_000_000 * SECOND;

/// Number, launch time (µs after `AT`); the queue's clock is 37 s ahead.
fn entry(voyage: &Voyage, number: u64, micros: u64) -> Entry {
    let launch = Stamp(AT + micros * 1_000);
    let launch_ns = launch.0 + 37 * SECOND;
    let due_unix_ns = launch.0;
    Entry { number, key: voyage.next_key, launch, launch_ns, due_unix_ns, length: 60, fate: Fate::Waiting }
}

fn voyage(frames: u64) -> Voyage {
    let mut voyage = Voyage::default();
    for number in 0..frames {
        voyage.add(entry(&voyage, number, number * 10));
    }
    voyage
}

fn reports(voyage: &mut Voyage) -> Vec<Departed> {
    let mut all = Vec::new();
    voyage.report(1_000, &mut |departed| all.push(*departed));
    all
}

#[test]
fn departures_are_told_in_order_and_only_when_those_before_are_known() {
    let mut voyage = voyage(3);
    voyage.left(1, Stamp(AT + 10_700), Some(0));
    assert_eq!(reports(&mut voyage), [], "the first is still under way");
    voyage.left(0, Stamp(AT + 500), Some(0));
    let told = reports(&mut voyage);
    let expected = |number: u64, start: u64| Departed {
        number,
        launch: Stamp(AT + number * 10_000),
        start: Stamp(AT + start),
        late: Picos::from_nanos(start - number * 10_000),
        ..Departed::default()
    };
    assert_eq!(told, [expected(0, 500), expected(1, 10_700)]);
    assert_eq!(voyage.waiting, 1);
    // A stamp that comes twice, or of a number that never was, is nobody's.
    voyage.left(1, Stamp(AT), Some(0));
    voyage.left(77, Stamp(AT), Some(0));
    assert_eq!((voyage.waiting, reports(&mut voyage)), (1, Vec::new()));
}

#[test]
fn what_the_queue_dropped_is_lost_there_at_the_right_number() {
    let mut voyage = voyage(3);
    voyage.left(0, Stamp(AT), Some(0));
    voyage.missed(AT + 10_000 + 37 * SECOND);
    voyage.left(2, Stamp(AT + 20_000), Some(0));
    let told: Vec<_> = reports(&mut voyage).iter().map(|one| (one.number, one.missed)).collect();
    assert_eq!(told, [(0, false), (1, true), (2, false)]);
    let settled = Settled { missed: 1, missed_bytes: 60, ..Settled::default() };
    assert_eq!((voyage.settled, voyage.waiting), (settled, 0));
    // Told once more, or of a time that no frame had: nothing changes.
    voyage.missed(AT + 10_000 + 37 * SECOND);
    assert_eq!(voyage.settled, settled);
}

#[test]
fn a_frame_that_was_refused_has_its_place_between_the_others() {
    let mut voyage = voyage(1);
    // The kernel has numbered it, and dropped it.
    voyage.next_key += 1;
    assert!(!voyage.was_refused(AT + 10_000));
    voyage.refused.push(AT + 10_000);
    assert!(voyage.was_refused(AT + 10_000) && !voyage.was_refused(AT + 10_000));
    voyage.refuse(Entry { fate: Fate::Missed, ..entry(&voyage, 1, 10) });
    voyage.add(entry(&voyage, 2, 20));
    voyage.left(0, Stamp(AT), Some(0));
    voyage.left(2, Stamp(AT + 20_000), Some(0));
    let told: Vec<_> = reports(&mut voyage).iter().map(|one| (one.number, one.missed)).collect();
    assert_eq!(told, [(0, false), (1, true), (2, false)]);
    assert_eq!(voyage.settled, Settled { refused: 1, ..Settled::default() });
}

#[test]
fn stamps_that_do_not_come_are_not_waited_for_and_a_link_that_is_down_has_taken_the_frames() {
    let mut untold = voyage(3);
    untold.left(1, Stamp(AT + 10_000), Some(0));
    let later = AT + 10_000 + OVERDUE_NS;
    assert!(!untold.has_overdue(AT) && untold.has_overdue(later));
    untold.expire(later, 0);
    // The third is due 10 µs later than that.
    assert_eq!((untold.waiting, untold.settled), (1, Settled::default()));
    assert_eq!(reports(&mut untold).iter().map(|one| one.number).collect::<Vec<_>>(), [1]);
    let mut down = voyage(2);
    down.expire(later, AT + 10_000);
    assert_eq!(down.settled, Settled { down: 2, down_bytes: 120, ..Settled::default() });
    assert!(reports(&mut down).iter().all(|one| one.into_nothing && one.missed));
}

#[test]
fn frames_that_leave_long_before_their_times_are_noticed() {
    let mut voyage = voyage(MOST_EARLY as u64 * 2);
    // 2 ms early each; what etf may do by its delta is no fault.
    for key in 0..MOST_EARLY {
        voyage.left(key, Stamp(AT - 2_000_000 + u64::from(key) * 10_000), Some(1_500_000));
    }
    assert_eq!(voyage.early_in_a_row, 0);
    for key in MOST_EARLY..MOST_EARLY * 2 {
        voyage.left(key, Stamp(AT - 2_000_000 + u64::from(key) * 10_000), Some(0));
    }
    assert_eq!(voyage.early_in_a_row, MOST_EARLY);
}

#[test]
fn numbers_of_the_kernel_begin_again_after_four_billion() {
    let mut voyage = Voyage { next_key: u32::MAX, ..Voyage::default() };
    (0..3).for_each(|number| voyage.add(entry(&voyage, number, number)));
    for key in [u32::MAX, 0, 1] {
        voyage.left(key, Stamp(AT), None);
    }
    assert_eq!(reports(&mut voyage).len(), 3);
}

#[test]
fn what_nobody_asks_for_is_forgotten_and_memory_is_flat() {
    let mut voyage = Voyage::default();
    for number in 0..200_000u64 {
        voyage.add(entry(&voyage, number, number));
        voyage.left(number as u32, Stamp(AT + number * 1_000), None);
    }
    assert!(voyage.entries.len() <= MOST_REPORTS + 1);
    voyage.forget(0);
    assert_eq!((voyage.entries.len(), voyage.waiting), (0, 0));
}

#[test]
fn as_many_are_under_way_as_certainly_fit_the_buffers() {
    // Of 1 518 bytes: 4 096 and 1 024 for each in the half of 32 MiB.
    assert_eq!(Rooms { send: 32 << 20, receive: 64 << 20 }.frames(1_518), 3_276);
    // What every process may have: 208 KiB both ways.
    assert_eq!(Rooms { send: 212_992, receive: 212_992 }.frames(1_518), 20);
    assert_eq!(Rooms { send: u32::MAX, receive: 2_048 }.frames(64), 1);
}
