//! A stream that is reset, look by look.

use super::*;

const ORDER: fn() -> ResetOrder = || ResetOrder {
    load: Load::per_second(1_000.0),
    before: Picos::from_millis(100),
    after: Picos::from_millis(200),
    patience: Picos::from_secs(2),
};

/// Somebody whose reset fails after so many looks.
#[derive(Default)]
struct Somebody {
    begun: Option<Instant>,
    fails_after: Option<Picos>,
}

impl Ask for Somebody {
    fn begin(&mut self, now: Instant) {
        assert!(self.begun.is_none(), "asked once");
        self.begun = Some(now);
    }
    fn has_failed(&mut self, now: Instant) -> bool {
        self.fails_after.zip(self.begun).is_some_and(|(after, begun)| now.since(begun) >= after)
    }
}

fn origin() -> Instant {
    Instant::EPOCH + Picos::from_secs(5)
}

/// A look every 2 ms at a stream of a frame each millisecond, which is away in these stretches (in milliseconds
/// after the origin). When it ended, in milliseconds.
fn watch(away: &[(u64, u64)], fails_after: Option<Picos>) -> (Watched, Somebody, u64) {
    let (mut watched, mut ask) =
        (Watched::new(&ORDER(), origin()), Somebody { fails_after, ..Somebody::default() });
    let (mut arrived, mut pause, mut counts) = (0, 0, false);
    for ms in 0..10_000 {
        if !away.iter().any(|(from, to)| (*from..*to).contains(&ms)) {
            let over = away.iter().find(|(_, to)| *to == ms && counts);
            pause = pause.max(over.map_or(0, |(from, to)| to - from));
            arrived += 1;
        }
        if ms % 2 == 0 {
            let now = origin() + Picos::from_millis(ms);
            match watched.step(&Look { now, arrived, pause: Picos::from_millis(pause) }, &mut ask) {
                Step::Count => counts = true,
                Step::End => return (watched, ask, ms),
                Step::On => {}
            }
        }
    }
    panic!("it has no end: {watched:?}");
}

#[test]
fn a_device_that_is_back_is_watched_a_while_longer() {
    let (watched, ask, ended) = watch(&[(150, 750)], None);
    assert_eq!((watched.outcome(), ask.begun), (Outcome::Back, Some(origin() + Picos::from_millis(100))));
    // Back at 750, and 200 ms more.
    assert!((950..=954).contains(&ended), "{ended}");
}

#[test]
fn a_second_interruption_that_is_longer_begins_the_wait_again() {
    let (watched, _, ended) = watch(&[(150, 250), (300, 900)], None);
    assert_eq!(watched.outcome(), Outcome::Back);
    assert!((1_100..=1_104).contains(&ended), "{ended}");
    // It is away when the wait for the first would be over.
    let (watched, _, ended) = watch(&[(150, 250), (400, 1_000)], None);
    assert_eq!(watched.outcome(), Outcome::Back);
    assert!((1_200..=1_204).contains(&ended), "{ended}");
}

#[test]
fn what_never_comes_or_never_goes_ends_when_patience_does() {
    // Asked at 100 ms, 2 s of patience.
    let (watched, _, ended) = watch(&[(150, 9_999)], None);
    assert_eq!((watched.outcome(), ended), (Outcome::NotBack, 2_100));
    let (watched, _, ended) = watch(&[], None);
    assert_eq!((watched.outcome(), ended), (Outcome::Untouched, 2_100));
    // 30 ms are no interruption.
    assert_eq!(watch(&[(200, 230)], None).0.outcome(), Outcome::Untouched);
    let (watched, ask, ended) = watch(&[(0, 9_999)], None);
    assert_eq!((watched.outcome(), ask.begun, ended), (Outcome::Silent, None, 1_100));
}

#[test]
fn a_command_that_failed_is_waited_for_no_longer_than_an_interruption_would_take() {
    let soon = Some(Picos::from_millis(10));
    let (watched, _, ended) = watch(&[], soon);
    assert_eq!(watched.outcome(), Outcome::Failed);
    // Known at 110 ms, and 200 ms more.
    assert!((308..=312).contains(&ended), "{ended}");
    // Not long before patience ends.
    let late = Some(Picos::from_millis(1_950));
    assert_eq!((watch(&[], late).0.outcome(), watch(&[], late).2), (Outcome::Failed, 2_100));
    // It failed, and reset the device all the same.
    assert_eq!(watch(&[(150, 500)], soon).0.outcome(), Outcome::Back);
}

#[test]
fn patience_is_as_long_as_frames_can_be_counted() {
    let patient = ResetOrder { patience: Picos::from_secs(300), ..ORDER() };
    assert_eq!(patient.within(1 << 32), patient);
    let fast = ResetOrder { load: Load::per_second(14_880_952.0), ..patient };
    let within = fast.within(1 << 32);
    // 2^32 frames take 288.6 s; 1.1 s before and 200 ms after the reset are of that.
    assert_eq!(within.patience.as_secs_f64().floor(), 287.0);
    assert!(within.load.frames_in(within.longest()) <= 1 << 32);
}

fn reset(outcome: Outcome, pause_ms: u64, judged: Judged) -> Reset {
    Reset {
        size: 64,
        load: ORDER().load,
        order: ORDER(),
        name: None,
        how: "hand".to_owned(),
        is_command: false,
        command_failed: false,
        asked: Some(Picos::from_millis(100)),
        outcome,
        pause: Some(Pause { ns: pause_ms * 1_000_000, unsure_ns: 0, lost: pause_ms }),
        lost: 500,
        unsent: 110,
        lost_here: 0,
        late: Picos::from_micros(500),
        judged,
    }
}

#[test]
fn a_row_has_both_ways_to_know_the_time() {
    let table = resets(&[reset(Outcome::Back, 601, Judged::Counts)]).unwrap();
    // 601 ms between two frames; 610 lost frames at 1 000/s are 610 ms; a gap of 1 ms, and 0.5 ms late.
    assert_eq!(table.rows[0][5..7], [Cell::Figure(601e6), Cell::Figure(1.5e6)]);
    assert_eq!(table.rows[0][10], Cell::Figure(610e6));
    assert_eq!(resets(&[]), None);
}

#[test]
fn a_reset_is_called_what_the_user_calls_it() {
    let power = Reset { name: Some("power".to_owned()), ..reset(Outcome::Back, 601, Judged::Counts) };
    assert_eq!(power.statement(3), "reset 3 (power, by hand): no frames for 601 ms");
    assert_eq!(resets(&[power]).unwrap().rows[0][1], Cell::Words("power".to_owned()));
}

#[test]
fn a_command_that_failed_or_was_killed_voids_the_reset_that_was_seen() {
    for outcome in [Outcome::Back, Outcome::Untouched, Outcome::NotBack] {
        let how = "command (exit status: 1 after 2.00 s)".to_owned();
        let failed =
            Reset { is_command: true, command_failed: true, how, ..reset(outcome, 601, Judged::Counts) };
        assert!(failed.is_of_a_failed_command());
        assert_eq!(failed.time(), None, "{outcome:?}");
        let said = "reset 1 (by command): void, because of its command (exit status: 1 after 2.00 s)";
        assert_eq!(failed.statement(1), said, "{outcome:?}");
    }
}

#[test]
fn what_is_no_reset_has_no_time() {
    use crate::sweep::trial::Void;
    for (outcome, judged, said) in [
        (Outcome::NotBack, Judged::Counts, "no frames again within 2.00 s"),
        (Outcome::Untouched, Judged::Counts, "no interruption of 50.0 ms or more within 2.00 s"),
        (Outcome::Back, Judged::Not(Void::Receiver { missed: 3 }), "no: the receiver lost 3 frames"),
    ] {
        let reset = reset(outcome, 601, judged);
        assert_eq!(reset.time(), None);
        let statement = reset.statement(2);
        assert!(statement.starts_with("reset 2 (by hand): ") && statement.contains(said), "{statement}");
    }
}
