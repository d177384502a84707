//! Shapes of a load of frames: rates that change by themselves, and Poisson arrivals.
//!
//! They stand in `[send]` for the whole load, or in `[[frames.stream]]` for one stream; the words are those of
//! `tare http`.

use super::when::Pace;
use crate::error::PlanError;
use crate::model::Shape;
use crate::shapes;
use crate::table::Table;
use crate::typed::Typed;

/// What of a load's times was typed, and where.
pub(super) struct LoadKeys<'a> {
    pub table: &'a Table<'a>,
    /// Before each key: empty, or `frames.stream[1].`.
    pub path: String,
    pub rate: &'a Option<Typed>,
    pub gap: &'a Option<Typed>,
    pub poisson: Option<bool>,
    pub ramp: Option<&'a str>,
    pub step: Option<&'a str>,
    pub stages: Option<&'a str>,
    pub sine: Option<&'a str>,
    pub burst: &'a Option<Typed>,
}

const RATES: &str = "frames per second (2M, 400/s), bits per second on the wire (1gbit, or 1gbit:l2 for frames \
                     alone), a share of the line rate (50%), or max";

impl LoadKeys<'_> {
    pub fn at(&self, key: &str) -> String {
        format!("{}{key}", self.path)
    }

    /// The one way in which times are given; `more` are ways that are read elsewhere.
    pub fn only(&self, more: &[(&'static str, bool)]) -> Result<Option<&'static str>, PlanError> {
        let own = [
            ("rate", self.rate.is_some()),
            ("gap", self.gap.is_some()),
            ("ramp", self.ramp.is_some()),
            ("step", self.step.is_some()),
            ("stages", self.stages.is_some()),
            ("sine", self.sine.is_some()),
        ];
        let mut given = own.iter().chain(more).filter(|(_, is_given)| *is_given).map(|(key, _)| *key);
        match (given.next(), given.next()) {
            (Some(first), Some(second)) => {
                let why = "both say when frames leave";
                Err(self.table.both(&self.at(first), &self.at(second), why))
            }
            (only, _) => Ok(only),
        }
    }

    /// The pace that `key` gives.
    pub fn pace(&self, key: &str) -> Result<Pace, PlanError> {
        let text = match key {
            "rate" => {
                let text = self.rate.as_ref().map_or("", Typed::as_str);
                return Pace::read(text)
                    .map_err(|problem| self.table.wrong(&self.at(key), text, problem, RATES));
            }
            "gap" => {
                let gap = self.table.gap(&self.at(key), self.gap, ", or --rate max")?;
                return Ok(Pace::Gap(gap.expect("only asked for where it was typed")));
            }
            "ramp" => self.ramp,
            "step" => self.step,
            "stages" => self.stages,
            _ => self.sine,
        };
        let text = text.unwrap_or_default();
        let shape = match key {
            "ramp" => shapes::ramp(text),
            "step" => shapes::step(text),
            "stages" => shapes::stages(text),
            _ => shapes::sine(text),
        };
        let wrong = |problem: shapes::ShapeProblem| {
            self.table.wrong(&self.at(key), text, problem.problem, problem.expected)
        };
        shape.map(Pace::Shape).map_err(wrong)
    }

    pub fn burst(&self, pace: &Pace, key: &str) -> Result<u64, PlanError> {
        let burst = self.table.count(&self.at("burst"), self.burst, 1, 1_000_000)?.unwrap_or(1);
        match pace {
            Pace::Frames(_) | Pace::Bits { .. } | Pace::Line { .. } | Pace::Gap(_) => Ok(burst),
            _ if burst == 1 => Ok(burst),
            _ => {
                let why = "bursts need an even rate or gap";
                Err(self.table.both(&self.at("burst"), &self.at(key), why))
            }
        }
    }

    pub fn poisson(&self, pace: &Pace, key: &str, burst: u64) -> Result<bool, PlanError> {
        if self.poisson != Some(true) {
            return Ok(false);
        }
        let both = |other: &str, why: &str| Err(self.table.both(&self.at("poisson"), &self.at(other), why));
        match pace {
            _ if burst > 1 => both("burst", "bursts have even gaps"),
            Pace::Frames(_) | Pace::Bits { .. } | Pace::Line { .. } => Ok(true),
            _ => both(key, "Poisson arrivals need a mean rate (--rate)"),
        }
    }
}

/// How long a pace takes to show all of itself, and whether it ends then.
pub(super) fn length(pace: &Pace) -> (Option<units::Picos>, bool) {
    match pace {
        Pace::Shape(shape) => (shapes::length(shape), matches!(shape, Shape::Stages(_))),
        _ => (None, false),
    }
}
