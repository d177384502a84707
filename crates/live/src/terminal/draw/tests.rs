use super::*;
use crate::Update;
use crate::terminal::About;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use std::sync::Arc;
use store::schema::{IntervalThread, OutcomeCount, Verdict};
use store::{Bin, HeatCell};
use units::Picos;

fn view() -> View {
    let row = |second: u64| Interval {
        t_s: second as f64,
        length_s: 1.0,
        offered: 1_000,
        done: 998,
        failed: 2,
        net_p50_ns: Some(1_020_000 + second * 1_000),
        net_p99_ns: Some(2_310_000 + second * 50_000),
        net_max_ns: Some(8_900_000),
        tare_p99_ns: Some(12_300),
        latency_p50_ns: Some(1_025_000 + second * 1_000),
        latency_p90_ns: Some(1_500_000),
        latency_p99_ns: Some(2_320_000 + second * 50_000),
        latency_max_ns: Some(9_000_000),
        lateness_p50_ns: Some(900),
        lateness_p99_ns: Some(12_300),
        lateness_max_ns: Some(40_000),
        open: 12,
        run_queue_wait_ns: Some(1_000_000),
        steal_share: Some(0.0),
        threads: vec![IntervalThread { cpu_share: 0.93, spun_share: 0.5, ..IntervalThread::default() }],
        ..Interval::default()
    };
    let heat = vec![HeatCell { from_ns: 1 << 20, to_ns: 1 << 21, count: 998 }];
    let bins =
        (0..12).map(|second| Bin { row: row(second), heat: heat.clone(), exact: true }.into()).collect();
    let outcome = |key: &str, count| OutcomeCount { class: "status".into(), key: key.into(), count };
    let result = RunResult {
        target: "http://host/\u{1b}[2J".into(),
        load: "1 000/s, even, for 60 s".into(),
        verdict: Verdict { word: Word::Valid, criteria: Vec::new() },
        outcomes: vec![outcome("503", 24), outcome("200", 11_976)],
        ..RunResult::default()
    };
    View {
        about: About { whole: Some(Picos::from_secs(60)), has_color: true, ..About::default() },
        update: Some(Update { result: Arc::new(result), timeline: Arc::new(Timeline { bins, merged: 1 }) }),
        ..View::default()
    }
}

fn buffer(view: &View, columns: u16, rows: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, view)).unwrap();
    terminal.backend().buffer().clone()
}

fn lines(view: &View, columns: u16, rows: u16) -> Vec<String> {
    let buffer = buffer(view, columns, rows);
    let line = |y| (0..columns).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..rows).map(line).collect()
}

#[test]
fn all_that_matters_is_there() {
    let drawn = lines(&view(), 100, 40);
    let text = drawn.join("\n");
    for part in [
        "http://host/·[2J  12 s, 48 s left",
        "VALID so far: the generator keeps up",
        "1 000/s offered   998/s achieved   open 12   2/s failed or missed",
        "net       p50 1.03 ms   p99 2.86 ms   max 8.90 ms",
        "gross     p50 1.04 ms   p99 2.87 ms   max 9.00 ms   tare p99 12.3 µs",
        "Latency over time: net, gross",
        "All latencies",
        "Offered and achieved rate",
        "200 11 976   503 24",
        "CPU 43 % + 50 % spinning   waited 1.00 ms for a CPU   0 % steal   0 requests late",
        "space hold   + - rate   q end   ? help",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn a_small_terminal_keeps_what_matters() {
    let drawn = lines(&view(), 40, 12);
    assert!(drawn[0].starts_with("http://host/"));
    // Latency as bars, twelve seconds of it; p99 is above p50.
    assert!(drawn.iter().any(|line| line.starts_with("p99") && line.chars().count() == 22), "{drawn:#?}");
    assert!(drawn[11].starts_with("space hold") && drawn[11].ends_with("q end   ? help"), "{drawn:#?}");
    // A message never hides how to end and where help is.
    let mut view = view();
    view.message = "rate 1 000/s \u{2192} 1 100/s".to_owned();
    for (is_paused, last) in [
        (false, "rate 1 000/s \u{2192} 1 100/s   q end  ? help"),
        (true, "HELD  rate 1 000/s \u{2192} 1 1   q end  ? help"),
    ] {
        view.is_paused = is_paused;
        assert_eq!(lines(&view, 40, 12)[11], last);
    }
    (view.message, view.is_paused) = (String::new(), true);
    assert_eq!(lines(&view, 40, 12)[11], "HELD  q end  ? help");
}

#[test]
fn no_size_breaks_it() {
    let mut view = view();
    for has_help in [false, true] {
        view.has_help = has_help;
        for columns in [1, 2, 9, 40, 50, 99, 100, 300] {
            for rows in [1, 2, 3, 5, 8, 12, 17, 30, 100] {
                assert_eq!(lines(&view, columns, rows).len(), usize::from(rows));
            }
        }
    }
    (view.update, view.has_help) = (None, false);
    assert!(lines(&view, 60, 4)[0].contains("first figures"));
}

#[test]
fn without_colour_and_without_more_than_ascii() {
    let mut view = view();
    view.about.has_color = false;
    view.about.letters = Letters::Ascii;
    let buffer = buffer(&view, 120, 40);
    for cell in buffer.content() {
        assert_eq!(cell.fg, Color::Reset, "{cell:?}");
        assert!(cell.symbol().is_ascii(), "{cell:?}");
    }
}

#[test]
fn what_is_held_and_what_cannot_be_is_said() {
    let mut view = view();
    view.is_paused = true;
    view.message = "a closed loop has no rate".to_owned();
    view.about.fixed_rate = Some("a closed loop has no rate".to_owned());
    let last = lines(&view, 100, 20).pop().unwrap();
    assert_eq!(last, "HELD  a closed loop has no rate   space go on   q end   ? help");
}

#[test]
fn the_warm_up_is_not_judged() {
    let mut view = view();
    view.about.warmup = Picos::from_secs(20);
    let text = lines(&view, 100, 20).join("\n");
    assert!(text.contains("warm-up is not judged") && !text.contains("VALID"), "{text}");
}
