//! What a plan will ask of this machine, and whether it has it: said before anything is sent.
//!
//! ```text
//!   Plan ─► Demand ──────────┐
//!   Profile ─► Capability ───┼─► Forecast { VALID │ grey │ INVALID │ not known, and every figure behind it }
//!   /proc, /sys ─► Supply ───┘
//! ```
//!
//! A forecast is of the verdict's word. It rests on what was weighed: without a profile no rate is forecast,
//! and the forecast says so; descriptors, ports, memory and queues are told all the same, since they follow
//! from the plan alone.
//!
//! Between figures that were weighed, times are interpolated (never rates): see `curve`.

#![forbid(unsafe_code)]

mod curve;
mod demand;
mod figures;
mod frames;
mod requests;
mod supply;

pub use curve::Estimate;
pub use demand::{AskedRate, Demand, FrameDemand, RequestDemand};
pub use supply::{Conntrack, Supply, TimeWaitReuse};

use profile::{Profile, Refused};
use serde::Serialize;
use std::fmt;

/// Within this share of the peak no word is forecast: two weighings of one machine differ by as much.
pub const GREY: f64 = 0.2;

/// What is expected of the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outlook {
    /// The verdict will be VALID.
    Valid,
    /// Nothing is known that a forecast could rest on.
    Unknown,
    /// Too near to the limit to tell.
    Grey,
    /// The verdict will not be VALID.
    Invalid,
}

impl Outlook {
    /// Of a demand, by its share of what there is: 0.5 is half of it.
    pub fn of_share(share: f64) -> Self {
        match share {
            share if share.is_nan() => Self::Unknown,
            share if share < 1.0 - GREY => Self::Valid,
            share if share <= 1.0 + GREY => Self::Grey,
            _ => Self::Invalid,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::Unknown => "not known",
            Self::Grey => "grey",
            Self::Invalid => "INVALID",
        }
    }
}

impl fmt::Display for Outlook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One thing that a plan needs, and what this machine has of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// `rate`, `cpu`, `threads`, `lateness`, `memory`, `descriptors`, `ports`, `conntrack`, `queue`…
    pub name: &'static str,
    pub needs: Option<f64>,
    pub has: Option<f64>,
    /// Of both: `/s`, `CPUs`, `ns`, `bytes`, `count`, `frames`.
    pub unit: &'static str,
    pub outlook: Outlook,
    /// What both figures are made from.
    pub says: String,
    /// What to do where it is not enough; else empty.
    pub advice: String,
}

/// What is expected of a plan on this machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// The worst of the figures; where the rate is not known, that is not known either unless something else is
    /// too little.
    pub outlook: Outlook,
    /// What the plan sends: `http.keep_alive`, `send.packet.64`; as in the profile.
    pub key: String,
    /// The highest rate that the plan asks for; `None` for as fast as it goes, or where only the run will tell.
    pub asked_per_s: Option<f64>,
    /// The highest rate at which verdicts stay VALID.
    pub peak_per_s: Option<f64>,
    /// `asked / peak`.
    pub share: Option<f64>,
    /// The forecast in one sentence.
    pub says: String,
    pub figures: Vec<Figure>,
}

impl Forecast {
    /// What a demand comes to on the machine that profile and supply are of.
    pub fn of(demand: &Demand, profile: Result<&Profile, &Refused>, supply: &Supply) -> Self {
        let estimate = Estimate::of(demand, profile, supply);
        let figures = figures::all(demand, &estimate, supply);
        let rate = figures[0].outlook;
        let worst = figures.iter().map(|figure| figure.outlook).max().unwrap_or(Outlook::Unknown);
        let outlook = if rate == Outlook::Unknown && worst < Outlook::Invalid { rate } else { worst };
        let peak_per_s = estimate.peak_per_s();
        let asked_per_s = demand.rate.per_second();
        let share = asked_per_s.zip(peak_per_s).map(|(asked, peak)| asked / peak);
        let says = figures::sentence(outlook, &figures);
        Self { outlook, key: estimate.key, asked_per_s, peak_per_s, share, says, figures }
    }

    /// The figure of that name.
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }
}

/// For people: the sentence, then a line for each figure, and what to do.
impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Forecast     {}: {}", self.outlook, self.says)?;
        for figure in &self.figures {
            writeln!(f, "  {:<12} {:<9}  {}", figure.name, figure.outlook, figure.says)?;
            if !figure.advice.is_empty() {
                writeln!(f, "  {:<12} {:<9}  {}", "", "", figure.advice)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
