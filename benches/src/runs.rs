//! Every run's figures, by case, row and round.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::quiet;
use crate::stats::median;

/// One run of one tool (or server) in one round of one case.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    pub case: &'static str,
    pub row: String,
    pub round: u32,
    /// Figures by name; the name ends in the unit.
    pub figures: BTreeMap<&'static str, f64>,
    /// What must be known beside the figures.
    pub notes: Vec<String>,
    pub command: String,
}

impl Run {
    pub fn new(case: &'static str, row: &str, round: u32) -> Self {
        let figures = BTreeMap::new();
        Self { case, row: row.to_owned(), round, figures, notes: Vec::new(), command: String::new() }
    }

    /// Adds a figure.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: f64) -> Self {
        self.figures.insert(name, value);
        self
    }

    /// Other programs left the cores alone, as far as was looked at.
    pub fn undisturbed(&self) -> bool {
        self.figure("other_cpu").is_none_or(|others| others <= quiet::OTHERS_AT_MOST)
    }

    pub fn figure(&self, name: &str) -> Option<f64> {
        self.figures.get(name).copied()
    }
}

/// All runs so far, in the order in which they were made.
#[derive(Default)]
pub struct Runs(Vec<Run>);

impl Runs {
    pub fn push(&mut self, run: Run) {
        self.0.push(run);
    }

    pub fn all(&self) -> &[Run] {
        &self.0
    }

    pub fn in_case<'a>(&'a self, case: &'a str) -> impl Iterator<Item = &'a Run> {
        self.0.iter().filter(move |r| r.case == case)
    }

    pub fn of<'a>(&'a self, case: &'a str, row: &'a str) -> impl Iterator<Item = &'a Run> {
        self.in_case(case).filter(move |r| r.row == row)
    }

    /// The rows of a case, in the order of their first run in round 0.
    pub fn rows<'a>(&'a self, case: &'a str) -> Vec<&'a str> {
        let mut rows = Vec::new();
        for run in self.in_case(case) {
            if !rows.contains(&run.row.as_str()) {
                rows.push(run.row.as_str());
            }
        }
        rows
    }

    /// The median of a figure over a row's rounds.
    pub fn median(&self, case: &str, row: &str, figure: &str) -> Option<f64> {
        median(&self.of(case, row).filter_map(|r| r.figure(figure)).collect::<Vec<_>>())
    }

    /// A row's notes, each once.
    pub fn notes<'a>(&'a self, case: &'a str, row: &'a str) -> Vec<&'a str> {
        let mut notes = Vec::new();
        for note in self.of(case, row).flat_map(|r| &r.notes) {
            if !notes.contains(&note.as_str()) {
                notes.push(note.as_str());
            }
        }
        notes
    }
}
