//! Streams with loads of their own: `[[frames.stream]]` with a rate instead of a weight.

use super::super::shaped::{self, LoadKeys};
use super::super::when::Pace;
use super::{FramesFile, StreamFile};
use crate::canonical::quoted;
use crate::error::PlanError;
use crate::shapes::short_form;
use crate::table::Table;
use std::fmt::Write;
use units::Picos;

/// When the frames of one stream leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamLoad {
    /// What figures call it.
    pub name: String,
    pub pace: Pace,
    /// Gaps are random, around the mean of a rate.
    pub poisson: bool,
    /// Frames that leave back to back.
    pub burst: u64,
    /// After the start of the run.
    pub start: Picos,
    /// From its own start on.
    pub duration: Option<Picos>,
    pub frames: Option<u64>,
}

impl StreamLoad {
    /// Whether it ends without the run's end.
    pub fn ends(&self) -> bool {
        self.duration.is_some() || self.frames.is_some() || shaped::length(&self.pace).1
    }

    /// Its keys in canonical order.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |key: &str, value: &str| {
            let _ = writeln!(text, "{key} = {value}");
        };
        line("name", &quoted(&self.name));
        match &self.pace {
            Pace::Gap(gap) => line("gap", &quoted(&gap.to_string())),
            Pace::Shape(shape) => {
                let (key, short) = short_form(shape);
                line(key, &quoted(&short));
            }
            pace => line("rate", &quoted(&pace.rate_text().unwrap_or_default())),
        }
        if self.poisson {
            line("poisson", "true");
        }
        if self.burst > 1 {
            line("burst", &self.burst.to_string());
        }
        line("start", &quoted(&self.start.to_string()));
        if let Some(duration) = self.duration {
            line("duration", &quoted(&duration.to_string()));
        }
        if let Some(frames) = self.frames {
            line("count", &frames.to_string());
        }
        text
    }
}

impl StreamFile {
    /// The first key of a load that was typed.
    fn load_key(&self) -> Option<&'static str> {
        let keys = [
            ("name", self.name.is_some()),
            ("rate", self.rate.is_some()),
            ("gap", self.gap.is_some()),
            ("poisson", self.poisson.is_some()),
            ("ramp", self.ramp.is_some()),
            ("step", self.step.is_some()),
            ("stages", self.stages.is_some()),
            ("sine", self.sine.is_some()),
            ("burst", self.burst.is_some()),
            ("start", self.start.is_some()),
            ("duration", self.duration.is_some()),
            ("count", self.count.is_some()),
        ];
        keys.into_iter().find(|(_, is_typed)| *is_typed).map(|(key, _)| key)
    }
}

/// The loads of all streams; none where streams have weights, or none at all.
pub(super) fn resolve(file: &FramesFile, table: &Table<'_>) -> Result<Vec<StreamLoad>, PlanError> {
    let Some(streams) = &file.stream else { return Ok(Vec::new()) };
    if streams.iter().all(|stream| stream.load_key().is_none()) {
        return Ok(Vec::new());
    }
    let mut loads: Vec<StreamLoad> = Vec::new();
    for (number, stream) in streams.iter().enumerate() {
        let load = load(number, stream, table)?;
        if loads.iter().any(|known| known.name == load.name) {
            let problem = "is the name of two streams";
            return Err(table.wrong(
                &format!("frames.stream[{number}].name"),
                &load.name,
                problem,
                "another name",
            ));
        }
        loads.push(load);
    }
    Ok(loads)
}

fn load(number: usize, stream: &StreamFile, table: &Table<'_>) -> Result<StreamLoad, PlanError> {
    let keys = LoadKeys {
        table,
        path: format!("frames.stream[{number}]."),
        rate: &stream.rate,
        gap: &stream.gap,
        poisson: stream.poisson,
        ramp: stream.ramp.as_deref(),
        step: stream.step.as_deref(),
        stages: stream.stages.as_deref(),
        sine: stream.sine.as_deref(),
        burst: &stream.burst,
    };
    let at = |key: &str| keys.at(key);
    if stream.weight.is_some() {
        let other = stream.load_key().unwrap_or("rate");
        let why = "streams have either weights in one load, or separate loads";
        return Err(table.both(&at("weight"), &at(other), why));
    }
    let Some(key) = keys.only(&[])? else {
        let why = "if one stream has its own load, every stream needs one";
        let needs = "a rate, gap, ramp, step, stages or sine";
        return Err(table.missing(&format!("frames.stream[{number}]"), needs, why));
    };
    let pace = keys.pace(key)?;
    if pace == Pace::Max {
        let expected = "a rate: max would leave no time for the other streams";
        return Err(table.wrong(&at("rate"), "max", "is not possible for one of several streams", expected));
    }
    let burst = keys.burst(&pace, key)?;
    let name = stream.name.clone().unwrap_or_else(|| number.to_string());
    // Figures and orders name it in one word.
    if name.is_empty() || name.len() > 40 || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        let expected = "one word of up to 40 letters, such as voice";
        return Err(table.wrong(&at("name"), &name, "is not a name", expected));
    }
    Ok(StreamLoad {
        name,
        poisson: keys.poisson(&pace, key, burst)?,
        burst,
        pace,
        start: table.parse(&at("start"), &stream.start)?.unwrap_or(Picos::ZERO),
        duration: table.time(&at("duration"), &stream.duration)?,
        frames: table.count(&at("count"), &stream.count, 1, u64::MAX)?,
    })
}
