//! The list of the runs that were kept (`tare runs`).

use crate::{Ink, Style, words};

/// Columns that a target needs at least.
const NARROWEST_TARGET: usize = 16;

/// A run that was kept.
#[derive(Clone, Debug, Default)]
pub struct ListedRun {
    /// As short as tells it from the others.
    pub name: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    pub target: String,
    pub achieved_per_s: Option<f64>,
    pub p99_ns: Option<u64>,
    /// The percentile is at least that.
    pub p99_is_bound: bool,
    /// Its verdict; or its state, where it has none.
    pub word: String,
    pub tags: Vec<String>,
    /// It ended before its time.
    pub is_partial: bool,
    pub thresholds_failed: u64,
}

/// One line of the list.
struct Row {
    /// Name, when, target, rate, p99, word, tags.
    cells: [String; 7],
    ink: Option<Ink>,
}

impl Row {
    fn of(run: &ListedRun) -> Self {
        let none = || "–".to_owned();
        let rate = run.achieved_per_s.map_or_else(none, words::rate);
        let least = if run.p99_is_bound { "≥ " } else { "" };
        let p99 = run.p99_ns.map_or_else(none, |nanos| format!("{least}{}", words::time(nanos)));
        let when = run.started_at.trim_end_matches('Z').replace('T', " ");
        let target = words::printable(&run.target);
        let cells = [words::printable(&run.name), when, target, rate, p99, run.word.clone(), remarks(run)];
        Self { cells, ink: ink(run) }
    }
}

/// Its tags, and what else should be known before its figures are used.
fn remarks(run: &ListedRun) -> String {
    let mut words = run.tags.clone();
    if run.is_partial {
        words.push("(partial)".to_owned());
    }
    if run.thresholds_failed > 0 {
        words.push(format!("({} failed)", words::counted(run.thresholds_failed, "threshold")));
    }
    words.join(" ")
}

fn ink(run: &ListedRun) -> Option<Ink> {
    match run.word.as_str() {
        "VALID" => Some(Ink::Good),
        "DEGRADED" => Some(Ink::Doubtful),
        "running" => Some(Ink::Strong),
        _ => Some(Ink::Bad),
    }
}

const HEADS: [&str; 7] = ["run", "when (UTC)", "target", "rate", "p99", "verdict", "tags"];
const TARGET: usize = 2;
const WORD: usize = 5;

/// The list, as wide as it may be.
pub fn runs_table(runs: &[ListedRun], style: Style) -> String {
    let rows: Vec<Row> = runs.iter().map(Row::of).collect();
    let mut widths = HEADS.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(&row.cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let others: usize =
        widths.iter().enumerate().filter(|(at, _)| *at != TARGET).map(|(_, width)| width).sum();
    let room = style.width().saturating_sub(2 + others + 2 * (HEADS.len() - 1));
    widths[TARGET] = widths[TARGET].min(room.max(NARROWEST_TARGET));
    let mut text = style.paint(Ink::Quiet, &line(&HEADS.map(str::to_owned), &widths, style, None));
    text.push('\n');
    for row in &rows {
        text.push_str(&line(&row.cells, &widths, style, row.ink));
        text.push('\n');
    }
    text
}

fn line(cells: &[String; 7], widths: &[usize; 7], style: Style, ink: Option<Ink>) -> String {
    let mut text = String::new();
    for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let cell = shortened(cell, *width);
        // Figures to the right.
        let padded = if matches!(at, 3 | 4) { format!("{cell:>width$}") } else { format!("{cell:<width$}") };
        text.push_str("  ");
        match ink.filter(|_| at == WORD) {
            Some(ink) => text.push_str(&style.paint(ink, &padded)),
            None => text.push_str(&padded),
        }
    }
    text.trim_end().to_owned()
}

fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let begin: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{begin}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, target: &str, tags: &[&str]) -> ListedRun {
        ListedRun {
            name: name.to_owned(),
            target: target.to_owned(),
            started_at: "2026-11-20T12:00:00Z".to_owned(),
            achieved_per_s: Some(2_000.0),
            p99_ns: Some(1_234_567),
            word: "VALID".to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..ListedRun::default()
        }
    }

    #[test]
    fn a_line_for_each_run() {
        let running = ListedRun { name: "00aa".into(), word: "running".into(), ..ListedRun::default() };
        let text = runs_table(&[run("7f3a", "http://127.0.0.1:8080/", &["before"]), running], Style::PLAIN);
        let expected = "  run   when (UTC)           target                     rate      p99  verdict  tags
  7f3a  2026-11-20 12:00:00  http://127.0.0.1:8080/  2 000/s  1.23 ms  VALID    before
  00aa                                                     –        –  running
";
        assert_eq!(text, expected);
        let bound = ListedRun { p99_is_bound: true, p99_ns: Some(2_000_000), ..run("7f3a", "t", &[]) };
        assert_eq!(Row::of(&bound).cells[4], "≥ 2.00 ms");
    }

    #[test]
    fn a_long_target_is_cut_to_the_width() {
        let long = format!("http://127.0.0.1:8080/{}", "x".repeat(200));
        let text = runs_table(&[run("7f3a", &long, &["before"])], Style::PLAIN);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(text.contains('…') && text.contains("before"), "{text}");
    }

    #[test]
    fn what_should_be_known_before_its_figures_are_used_is_remarked() {
        let failed = ListedRun { is_partial: true, thresholds_failed: 2, ..run("a", "t", &["x"]) };
        assert_eq!(remarks(&failed), "x (partial) (2 thresholds failed)");
    }
}
