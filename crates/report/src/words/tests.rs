use super::*;
use store::schema::Totals;

#[test]
fn attempts_are_told_where_some_made_no_connection() {
    let said = |opened, attempts| {
        super::opened(&Connections { opened, attempts, open_peak: 2, ..Connections::default() })
    };
    assert_eq!(said(32, 32), "32 opened");
    assert_eq!(said(20, 40), "20 opened of 40 attempts");
    assert_eq!(said(0, 1), "0 opened of 1 attempt");
    assert_eq!(said(32, 0), "32 opened", "a result that does not say");
}

#[test]
fn how_connections_end_is_told_where_the_plan_says_it() {
    let said = |close, unclosed| {
        super::opened(&Connections { opened: 32, close, unclosed, ..Connections::default() })
    };
    assert_eq!(said(Some(Closing::Fin), 0), "32 opened");
    assert_eq!(said(Some(Closing::Rst), 0), "32 opened, reset by tare");
    assert_eq!(said(Some(Closing::Server), 0), "32 opened, closed by the target");
    assert_eq!(said(Some(Closing::Server), 3), "32 opened, 3 not closed by the target");
}

#[test]
fn bits_have_the_units_of_links() {
    for (bits, text) in [
        (0.0, "0 bit/s"),
        (640.0, "640 bit/s"),
        (999_600.0, "1 Mbit/s"),
        (1_234_567.0, "1.23 Mbit/s"),
        (10e9, "10 Gbit/s"),
        (f64::NAN, "–"),
    ] {
        assert_eq!(bits_per_second(bits), text);
    }
}

#[test]
fn names_that_were_put_together_are_told() {
    let of = |names_folded| folded(&RunResult { names_folded, ..RunResult::default() });
    assert_eq!(
        of(true).unwrap(),
        "'other' has the requests of all names after the first 63: figures are kept for no more"
    );
    assert_eq!(of(false), None);
}

#[test]
fn times_that_are_lost_were_not_never_there() {
    let said = |sent, done| {
        let totals = Totals { sent, done, ..Totals::default() };
        let result = RunResult { totals, ..RunResult::default() };
        (no_times(&result), no_latency(&result))
    };
    assert!(said(0, 0).0.starts_with("Nothing left") && said(0, 0).1 == "no response arrived");
    assert_eq!(said(7, 0), ("No time was measured.", "no response arrived"));
    assert!(said(7, 5).0.contains("lost") && said(7, 5).1.contains("lost"));
}

#[test]
fn numbers_read_well() {
    for (value, text) in [
        (0.0, "0"),
        (3.25, "3.25"),
        (19_998.4, "19 998"),
        (0.1429, "0.143"),
        (64.0, "64"),
        (99.96, "100"),
        (1_234_567.0, "1 234 567"),
        (-2.5, "−2.5"),
        (f64::NAN, "–"),
    ] {
        assert_eq!(number(value), text);
    }
}

#[test]
fn shares_never_round_to_all_or_nothing() {
    for (value, text) in [
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.000_001, "< 0.001 %"),
        (0.999_999_9, "> 99.999 %"),
        (0.9999, "99.99 %"),
        (0.435, "43.5 %"),
        (0.0012, "0.12 %"),
        (1.5, "150 %"),
    ] {
        assert_eq!(share(value), text);
    }
}

#[test]
fn outcomes_are_named_and_explained_where_the_key_is_not_enough() {
    let row = |outcome| OutcomeCount::of(outcome, 1);
    let refused = row(Outcome::Failed(Cause::ConnectRefused));
    assert_eq!((outcome_key(&refused), outcome(&refused)), ("connect.refused", "nothing listens there"));
    let cut_off = row(Outcome::CutOff);
    assert_eq!((outcome_key(&cut_off), outcome(&cut_off)), ("cut off", "on its way when the run ended"));
    assert_eq!((outcome_key(&row(Outcome::Status(200))), outcome(&row(Outcome::Status(200)))), ("200", ""));
    // Of another version: it is shown as it is.
    let other = OutcomeCount { class: "error".into(), key: "quic.\u{1b}lost".into(), count: 1 };
    assert_eq!((outcome_name(&other).as_str(), outcome(&other)), ("quic.·lost", ""));
}

#[test]
fn nothing_steers_the_terminal() {
    assert_eq!(printable("a\u{1b}[2Jb\rc"), "a·[2Jb·c");
}

#[test]
fn wraps_at_spaces() {
    assert_eq!(wrap("one two three", 7), ["one two", "three"]);
    assert_eq!(wrap("", 7), Vec::<String>::new());
}
