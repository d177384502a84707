//! `[load]` and `[stop]`.

use super::Resolver;
use crate::error::PlanError;
use crate::model::{Arrivals, Load, Shape, Stop};
use crate::shapes::{self, ShapeProblem};
use units::{Count, Fraction, Picos, Rate};

const DEFAULT_CONNECTIONS: u32 = 10;
const DEFAULT_DURATION: Picos = Picos::from_secs(10);
const LONGEST_DEFAULT_GRACE: Picos = Picos::from_secs(5);

impl Resolver<'_> {
    pub(super) fn load(&mut self) -> Result<Load, PlanError> {
        let parallel = self.connections("load.parallel", &self.file.load.parallel)?;
        let Some((field, shape)) = self.shape()? else {
            for (field, is_set) in self.only_for_open_loops() {
                if is_set {
                    return Err(self.table.missing(
                        field,
                        "--rate (load.rate)",
                        "a closed loop has no due times",
                    ));
                }
            }
            if parallel.is_none() {
                self.note(format!(
                    "no load given: {DEFAULT_CONNECTIONS} connections, each sending one request after another"
                ));
            }
            return Ok(Load::Closed { connections: parallel.unwrap_or(DEFAULT_CONNECTIONS) });
        };
        let jitter = self.jitter(field, &shape)?;
        Ok(Load::Open { arrivals: Arrivals { shape, jitter }, connections: parallel })
    }

    fn only_for_open_loops(&self) -> [(&'static str, bool); 2] {
        let load = &self.file.load;
        [("load.poisson", load.poisson == Some(true)), ("load.jitter", load.jitter.is_some())]
    }

    /// The one shape that was given, and its field.
    fn shape(&self) -> Result<Option<(&'static str, Shape)>, PlanError> {
        let load = &self.file.load;
        let typed = [
            ("load.rate", load.rate.as_ref().map(|rate| rate.as_str())),
            ("load.ramp", load.ramp.as_deref()),
            ("load.step", load.step.as_deref()),
            ("load.stages", load.stages.as_deref()),
            ("load.sine", load.sine.as_deref()),
            ("load.burst", load.burst.as_deref()),
            ("load.at", load.at.as_deref()),
        ];
        let mut given = typed.into_iter().filter_map(|(field, text)| text.map(|text| (field, text)));
        let Some((field, text)) = given.next() else { return Ok(None) };
        if let Some((other, _)) = given.next() {
            return Err(self.table.both(other, field, "a run has only one shape of load"));
        }
        if load.poisson == Some(true) && field != "load.rate" {
            return Err(self.table.both(
                "load.poisson",
                field,
                "Poisson arrivals need a constant mean rate (--rate)",
            ));
        }
        let shape = match field {
            "load.rate" => Ok(self.rate_shape()?),
            "load.ramp" => shapes::ramp(text),
            "load.step" => shapes::step(text),
            "load.stages" => shapes::stages(text),
            "load.sine" => shapes::sine(text),
            "load.burst" => shapes::burst(text),
            _ if text.is_empty() => Err(ShapeProblem {
                problem: "names no file".to_owned(),
                expected: "a file of times in seconds",
            }),
            _ => Ok(Shape::At(text.into())),
        };
        let shape = shape.map_err(|p| self.table.wrong(field, text, p.problem, p.expected))?;
        Ok(Some((field, shape)))
    }

    fn rate_shape(&self) -> Result<Shape, PlanError> {
        let rate: Option<Rate> = self.table.parse("load.rate", &self.file.load.rate)?;
        let rate = rate.expect("only called when a rate was typed");
        Ok(if self.file.load.poisson == Some(true) { Shape::Poisson(rate) } else { Shape::Constant(rate) })
    }

    fn jitter(&self, field: &str, shape: &Shape) -> Result<Fraction, PlanError> {
        let jitter = self.table.parse("load.jitter", &self.file.load.jitter)?.unwrap_or(Fraction::ZERO);
        let why = match shape {
            _ if jitter == Fraction::ZERO => return Ok(jitter),
            Shape::Poisson(_) => "Poisson gaps are already random",
            Shape::Burst { .. } => "requests of a burst have no gap to vary",
            Shape::At(_) => "recorded times are not changed",
            _ => return Ok(jitter),
        };
        let field = if matches!(shape, Shape::Poisson(_)) { "load.poisson" } else { field };
        Err(self.table.both("load.jitter", field, why))
    }

    pub(super) fn stop(&mut self, load: &Load, timeout: Picos) -> Result<Stop, PlanError> {
        let typed = &self.file.stop;
        let duration = self.table.time("stop.duration", &typed.duration)?;
        let requests = self.table.count("stop.requests", &typed.requests, 1, u64::MAX)?.map(Count::new);
        let warmup = self.table.parse("stop.warmup", &typed.warmup)?.unwrap_or(Picos::ZERO);
        let grace =
            self.table.parse("stop.grace", &typed.grace)?.unwrap_or(timeout.min(LONGEST_DEFAULT_GRACE));
        let shape = match load {
            Load::Open { arrivals, .. } => Some(&arrivals.shape),
            Load::Closed { .. } => None,
        };
        self.check_warmup(shape, warmup)?;
        let duration = match (duration, requests) {
            (None, None) if !load.ends_by_itself() => Some(self.default_duration(shape, warmup)),
            _ => duration,
        };
        Ok(Stop { duration, requests, grace, warmup })
    }

    /// Stages end by themselves: a warm-up as long as they are leaves nothing to measure.
    fn check_warmup(&self, shape: Option<&Shape>, warmup: Picos) -> Result<(), PlanError> {
        let Some(shape @ Shape::Stages(_)) = shape else { return Ok(()) };
        let length = shapes::length(shape).expect("stages have a length");
        if warmup < length {
            return Ok(());
        }
        let why = format!(
            "the stages end after {length}, within the warm-up of {warmup}: nothing would be measured"
        );
        Err(self.table.both("stop.warmup", "load.stages", why))
    }

    fn default_duration(&mut self, shape: Option<&Shape>, warmup: Picos) -> Picos {
        let whole = shape.and_then(shapes::length).map(|length| length.saturating_sub(warmup));
        let (duration, why) = match whole.filter(|length| !length.is_zero()) {
            Some(length) => (length, ", the length of the shape"),
            None => (DEFAULT_DURATION, ""),
        };
        self.note(format!("no end given: {duration}{why}"));
        duration
    }
}
