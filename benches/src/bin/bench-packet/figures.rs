//! Figures of every round, the bars on them, and how both are printed.
//!
//! ```text
//!   table "send, 64 B" ─ row "tare send live:" ─ figure "M/s" ─ one value a round
//!   bar: ours / best of theirs within a round ─► median over rounds ─► holds, or falls short
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use crate::stats::Spread;

/// Which of several values is the better one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Better {
    More,
    Less,
}

/// One row of a table: what ran, and its figures by round.
#[derive(Default, Serialize)]
pub struct Row {
    pub name: String,
    /// Column → round → value.
    pub figures: BTreeMap<&'static str, BTreeMap<usize, f64>>,
    /// Why it did not run, the last time that it did not.
    pub not_run: Option<String>,
}

#[derive(Default, Serialize)]
pub struct Table {
    pub title: String,
    pub columns: Vec<&'static str>,
    pub rows: Vec<Row>,
    pub bars: Vec<Bar>,
    pub notes: Vec<String>,
}

/// Figures of the tables that an earlier run wrote (`--json`), without their bars.
///
/// # Errors
/// The file cannot be read, or is none of such a run.
pub fn read(file: &Path) -> Result<Vec<Table>> {
    let document: Value =
        serde_json::from_slice(&std::fs::read(file).with_context(|| file.display().to_string())?)?;
    let tables = document["tables"].as_array().context("it has no tables")?;
    Ok(tables.iter().map(table).collect())
}

fn table(value: &Value) -> Table {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let columns = value["columns"].as_array().into_iter().flatten();
    // Names that a program has once, and keeps.
    let columns: Vec<&'static str> = columns.map(|name| &*text(name).leak()).collect();
    let mut table = Table::new(text(&value["title"]), &columns);
    for row in value["rows"].as_array().into_iter().flatten() {
        for column in columns.iter().copied() {
            for (round, figure) in row["figures"][column].as_object().into_iter().flatten() {
                if let (Ok(round), Some(figure)) = (round.parse(), figure.as_f64()) {
                    table.put(&text(&row["name"]), column, round, figure);
                }
            }
        }
    }
    table
}

/// A bar and how far it is reached.
#[derive(Serialize)]
pub struct Bar {
    pub says: String,
    /// The ratio (or the figure itself) in each round; empty if it could not be judged.
    pub values: Vec<f64>,
    pub spread: Option<Spread>,
    pub holds: Option<bool>,
}

impl Table {
    pub fn new(title: impl Into<String>, columns: &[&'static str]) -> Self {
        Self { title: title.into(), columns: columns.to_vec(), ..Self::default() }
    }

    fn row(&mut self, name: &str) -> &mut Row {
        let found = self.rows.iter().position(|row| row.name == name);
        let at = found.unwrap_or_else(|| {
            self.rows.push(Row { name: name.to_owned(), ..Row::default() });
            self.rows.len() - 1
        });
        &mut self.rows[at]
    }

    pub fn put(&mut self, row: &str, column: &'static str, round: usize, value: f64) {
        debug_assert!(self.columns.contains(&column), "{column} is no column of {}", self.title);
        self.row(row).figures.entry(column).or_default().insert(round, value);
    }

    pub fn not_run(&mut self, row: &str, why: impl ToString) {
        self.row(row).not_run = Some(why.to_string());
    }

    pub fn note(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if !self.notes.contains(&sentence) {
            self.notes.push(sentence);
        }
    }

    fn values(&self, row: &str, column: &str) -> Option<&BTreeMap<usize, f64>> {
        self.rows.iter().find(|r| r.name == row)?.figures.get(column)
    }

    /// Ours divided by the best of theirs in the same round must be at least (or at most) `limit`.
    pub fn ratio(&mut self, column: &str, ours: &str, theirs: &[&str], better: Better, limit: f64) {
        let best = |round: &usize| {
            let there = theirs.iter().filter_map(|row| self.values(row, column)?.get(round).copied());
            there
                .filter(|value| *value > 0.0)
                .reduce(|a, b| if better == Better::More { a.max(b) } else { a.min(b) })
        };
        let own = self.values(ours, column).into_iter().flatten();
        let values = own.filter_map(|(round, value)| Some(value / best(round)?)).collect();
        let best = if theirs.len() > 1 { "best of " } else { "" };
        let says = format!("{column} of {ours} {} {limit} × {best}{}", sign(better), theirs.join(", "));
        self.judge(says, values, better, limit);
    }

    /// Ours must be at least (or at most) `limit`.
    pub fn figure(&mut self, column: &str, ours: &str, better: Better, limit: f64) {
        let values = self.values(ours, column).map(|all| all.values().copied().collect()).unwrap_or_default();
        self.judge(format!("{column} of {ours} {} {limit}", sign(better)), values, better, limit);
    }

    /// Ours must be no more than theirs, in differences of a round: for what may be zero.
    pub fn no_more(&mut self, column: &str, ours: &str, theirs: &str) {
        let pairs = self.values(ours, column).zip(self.values(theirs, column));
        let differences = pairs.map(|(own, their)| {
            own.iter().filter_map(|(round, value)| Some(value - their.get(round)?)).collect()
        });
        let says = format!("{column} of {ours} no more than {theirs} (difference)");
        self.judge(says, differences.unwrap_or_default(), Better::Less, 0.0);
    }

    /// A bar on values that the case worked out itself, one a round.
    pub fn judge(&mut self, says: String, values: Vec<f64>, better: Better, limit: f64) {
        let spread = Spread::of(&values);
        let holds =
            spread.map(|s| if better == Better::More { s.median >= limit } else { s.median <= limit });
        self.bars.push(Bar { says, values, spread, holds });
    }

    fn cells(&self) -> Vec<Vec<String>> {
        let head = std::iter::once(self.title.clone()).chain(self.columns.iter().map(|c| (*c).to_owned()));
        let rows = self.rows.iter().map(|row| {
            let cell = |column: &&str| {
                let values: Option<Vec<f64>> =
                    row.figures.get(column).map(|all| all.values().copied().collect());
                values.and_then(|values| Spread::of(&values)).map_or_else(String::new, |s| number(s.median))
            };
            let mut cells = vec![row.name.clone()];
            cells.extend(self.columns.iter().map(cell));
            if let Some(why) = row.not_run.as_ref().filter(|_| row.figures.is_empty()) {
                cells[1] = format!("not run: {why}");
            }
            cells
        });
        std::iter::once(head.collect()).chain(rows).collect()
    }

    pub fn text(&self) -> String {
        let cells = self.cells();
        let width = cells.iter().map(|row| row[0].chars().count()).max().unwrap_or(0);
        let mut text = String::from("\n");
        for row in &cells {
            let _ = write!(text, "{:<width$}", row[0]);
            row[1..].iter().for_each(|cell| {
                let _ = write!(text, " {cell:>14}");
            });
            text.push('\n');
        }
        self.sentences().for_each(|line| {
            let _ = writeln!(text, "  {line}");
        });
        text
    }

    pub fn markdown(&self) -> String {
        let cells = self.cells();
        let mut text = String::from("\n");
        for (number, row) in cells.iter().enumerate() {
            let _ = writeln!(text, "| {} |", row.join(" | "));
            if number == 0 {
                let _ = writeln!(text, "|---|{}", "---:|".repeat(self.columns.len()));
            }
        }
        text.push('\n');
        self.sentences().for_each(|line| {
            let _ = writeln!(text, "- {line}");
        });
        text
    }

    fn sentences(&self) -> impl Iterator<Item = String> + '_ {
        self.bars.iter().map(Bar::line).chain(self.notes.iter().cloned())
    }
}

impl Bar {
    fn line(&self) -> String {
        let word = match self.holds {
            Some(true) => "holds",
            Some(false) => "falls short",
            None => return format!("{}: not judged, a side of it did not run", self.says),
        };
        let reached = self.spread.map_or_else(String::new, |s| {
            format!(
                "{} ({} to {} over {} rounds)",
                number(s.median),
                number(s.min),
                number(s.max),
                self.values.len()
            )
        });
        format!("{}: {reached}, {word}", self.says)
    }
}

fn sign(better: Better) -> &'static str {
    if better == Better::More { "≥" } else { "≤" }
}

/// Three or more significant digits, and no more than make sense.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1e5 => format!("{:.0}", value),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        0.0 => "0".to_owned(),
        size if size >= 0.01 => format!("{value:.3}"),
        _ => format!("{value:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_judged_by_the_median_of_ratios_within_rounds() {
        let mut table = Table::new("send", &["M/s"]);
        // The machine was half as fast in round 1: ratios stay 1.2, 1.2, and 0.9 in round 2.
        for (round, (ours, best, other)) in
            [(1.2, 1.0, 0.5), (0.6, 0.5, 0.1), (0.9, 1.0, 0.2)].into_iter().enumerate()
        {
            table.put("tare", "M/s", round, ours);
            table.put("a", "M/s", round, best);
            table.put("b", "M/s", round, other);
        }
        table.ratio("M/s", "tare", &["a", "b"], Better::More, 1.0);
        table.ratio("M/s", "tare", &["a"], Better::More, 1.21);
        table.ratio("M/s", "tare", &["absent"], Better::More, 1.0);
        let holds: Vec<_> = table.bars.iter().map(|bar| bar.holds).collect();
        assert_eq!(holds, [Some(true), Some(false), None]);
    }

    #[test]
    fn figures_of_an_earlier_run_are_those_that_it_wrote() {
        let mut table = Table::new("gaps", &["100 Mb/s", "200 Mb/s"]);
        table.put("tare", "100 Mb/s", 0, 3.0);
        table.put("tare", "100 Mb/s", 1, 5.0);
        let file = tempfile::NamedTempFile::new().unwrap();
        let document = serde_json::json!({ "tables": [table] });
        std::fs::write(file.path(), document.to_string()).unwrap();
        let again = read(file.path()).unwrap();
        assert_eq!((again.len(), &again[0].title, &again[0].columns), (1, &table.title, &table.columns));
        assert_eq!(again[0].rows[0].figures, table.rows[0].figures);
        std::fs::write(file.path(), "{}").unwrap();
        assert!(read(file.path()).is_err());
    }

    #[test]
    fn what_may_be_zero_is_compared_by_differences() {
        let mut table = Table::new("capture", &["lost"]);
        table.put("tare", "lost", 0, 0.0);
        table.put("tcpdump", "lost", 0, 0.0);
        table.no_more("lost", "tare", "tcpdump");
        assert_eq!(table.bars[0].holds, Some(true));
    }

    #[test]
    fn what_did_not_run_says_why() {
        let mut table = Table::new("send", &["M/s"]);
        table.not_run("testpmd", "no such program");
        assert!(table.text().contains("not run: no such program"));
        assert!(table.markdown().contains("| testpmd | not run: no such program |"));
    }
}
