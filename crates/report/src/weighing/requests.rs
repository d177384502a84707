//! What `tare weigh http` found: requests per second by kind, and what each costs.

use crate::words;
use profile::Capability;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// Of a weighing's file.
const SCHEMA: &str = "tare.weigh/1";

/// All that came of it, and where everything ran.
pub struct Requests<'a> {
    pub started_at: &'a str,
    /// Of the target; `None` is an embedded one.
    pub url: Option<&'a str>,
    /// Bytes of an embedded target's answers, and its CPUs; none are the same as the generator's.
    pub answer: &'a str,
    pub target_cpus: &'a [u32],
    pub threads: u32,
    /// Of the generator; none are any.
    pub cpus: &'a [u32],
    pub connections: u32,
    pub kinds: Vec<RequestsOfKind<'a>>,
    pub is_partial: bool,
}

/// What came of one kind.
pub struct RequestsOfKind<'a> {
    /// What it is called.
    pub words: &'a str,
    pub keeps_alive: bool,
    pub capability: &'a Capability,
    /// Between searches; or why there is no interval.
    pub interval: &'a stats::Claim,
    /// Each search's peak, in their order.
    pub peaks_per_s: Vec<f64>,
    pub trials: u32,
    pub disturbed: u32,
    pub limited_by: &'a str,
    pub is_partial: bool,
}

/// A line of progress: how fast it went at most.
pub fn saturated(kind: &str, per_s: f64) -> String {
    format!("{kind}: {} at most", words::rate(per_s.round()))
}

/// A line of progress: a rate that was tried, and the verdict's word.
pub fn tried(kind: &str, per_s: f64, word: &str) -> String {
    format!("{kind}: {} {word}", words::rate(per_s))
}

/// `weigh.json`.
#[derive(Serialize)]
struct File<'a> {
    schema: &'static str,
    kind: &'static str,
    started_at: &'a str,
    tare: &'static str,
    conditions: &'a str,
    partial: bool,
    http: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    capability: &'a Capability,
    /// Each search's peak, in their order.
    peaks_per_s: Vec<f64>,
    /// Why there is no interval; absent where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_interval: Option<String>,
    trials: u32,
    disturbed: u32,
    limited_by: &'a str,
    partial: bool,
}

impl<'a> Row<'a> {
    fn of(weighed: &'a RequestsOfKind<'a>) -> Self {
        Self {
            capability: weighed.capability,
            peaks_per_s: weighed.peaks_per_s.clone(),
            no_interval: weighed.interval.as_ref().err().map(ToString::to_string),
            trials: weighed.trials,
            disturbed: weighed.disturbed,
            limited_by: weighed.limited_by,
            partial: weighed.is_partial,
        }
    }
}

impl Requests<'_> {
    /// `weigh.json`, and what `--json` prints.
    pub fn json(&self) -> String {
        let file = File {
            schema: SCHEMA,
            kind: "http",
            started_at: self.started_at,
            tare: env!("CARGO_PKG_VERSION"),
            conditions: &self.conditions(),
            partial: self.is_partial,
            http: self.kinds.iter().map(Row::of).collect(),
        };
        let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
        text.push('\n');
        text
    }

    /// For people; `place` is where it was kept.
    pub fn text(&self, place: Option<&Path>) -> String {
        let mut text = format!("Loaded       {}\n", self.conditions().replace("; ", ";\n             "));
        let line = |text: &mut String, line: &str| writeln!(text, "{line}").expect("a String takes any text");
        line(&mut text, "");
        line(
            &mut text,
            &format!(
                "{:<20} {:>12} {:>12}  {:>25}  {}",
                "", "highest with", "highest", "CPU µs per request", "limited"
            ),
        );
        line(
            &mut text,
            &format!(
                "{:<20} {:>12} {:>12}  {:>7} {:>8} {:>8}  {}",
                "Requests", "VALID", "at all", "user", "system", "softirq", "by"
            ),
        );
        for weighed in &self.kinds {
            line(&mut text, &table_row(weighed));
        }
        line(&mut text, "");
        for weighed in &self.kinds {
            line(&mut text, &peak_line(weighed));
        }
        self.memory(&mut text);
        self.remarks(&mut text);
        if let Some(place) = place {
            line(&mut text, &format!("Kept         {}", place.join("weigh.json").display()));
        }
        line(&mut text, &format!("Next         {}", self.next()));
        text
    }

    /// What was loaded and where everything ran.
    fn conditions(&self) -> String {
        let listed = |cpus: &[u32]| cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let threads = words::counted(u64::from(self.threads), "engine thread");
        let generator = match self.cpus {
            [] => format!("{threads} on any CPU"),
            cpus => format!("{threads} on CPU {}", listed(cpus)),
        };
        let answer = self.answer;
        let target = match (self.url, self.target_cpus) {
            (Some(url), _) => url.to_owned(),
            (None, []) => format!("embedded target ({answer} bytes), a separate process on the same CPUs"),
            (None, cpus) => {
                format!("embedded target ({answer} bytes), a separate process on CPU {}", listed(cpus))
            }
        };
        format!("{target}; {generator}, {} connections", self.connections)
    }

    fn memory(&self, text: &mut String) {
        for weighed in self.kinds.iter().filter(|weighed| weighed.keeps_alive) {
            let capability = weighed.capability;
            if let (Some(base), Some(each)) =
                (capability.memory_bytes, capability.memory_per_connection_bytes)
            {
                let said = format!(
                    "Memory       {:.1} MiB, and {:.1} KiB per connection ({})\n",
                    base as f64 / 1_048_576.0,
                    each / 1_024.0,
                    weighed.words
                );
                text.push_str(&said);
            }
        }
    }

    fn remarks(&self, text: &mut String) {
        let disturbed: u32 = self.kinds.iter().map(|weighed| weighed.disturbed).sum();
        if disturbed > 0 {
            let trials = words::counted(u64::from(disturbed), "trial");
            text.push_str(&format!(
                "Disturbed    {trials} in which other work, or the hypervisor, took CPU time;\n             \
                 a rate that was kept and was DEGRADED only for that reason counts as VALID\n"
            ));
        }
        let cost_known = self
            .kinds
            .iter()
            .any(|weighed| peak_point(weighed).is_some_and(|point| point.softirq_ns.is_none()));
        if cost_known {
            text.push_str(
                "Softirq      – where it cannot be separated from other work on the same CPU; it is in \
                 system\n",
            );
        }
        if self.is_partial {
            text.push_str("Partial      interrupted; missing kinds were not weighed\n");
        }
    }

    fn next(&self) -> String {
        let peak = self.kinds.first().map_or(0.0, |weighed| weighed.capability.peak_per_s);
        match peak > 0.0 {
            true => format!("forecast a plan with tare doctor -- http --rate {:.0} URL", peak / 2.0),
            false => "nothing was VALID; tare doctor lists what disturbs this machine".to_owned(),
        }
    }
}

/// What was measured nearest to the peak.
fn peak_point<'a>(weighed: &RequestsOfKind<'a>) -> Option<&'a profile::Point> {
    let capability = weighed.capability;
    let distance = |point: &profile::Point| (point.offered_per_s - capability.peak_per_s).abs();
    capability.points.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

fn table_row(weighed: &RequestsOfKind) -> String {
    let capability = weighed.capability;
    let rate = |rate: f64| if rate > 0.0 { words::rate(rate.round()) } else { "none".to_owned() };
    let micros = |ns: Option<f64>| ns.map_or("–".to_owned(), |ns| format!("{:.2}", ns / 1e3));
    let point = peak_point(weighed);
    format!(
        "{:<20} {:>12} {:>12}  {:>7} {:>8} {:>8}  {}",
        weighed.words,
        format!("{}{}", if capability.is_lower_bound { "≥ " } else { "" }, rate(capability.peak_per_s)),
        rate(capability.saturated_per_s.unwrap_or(0.0)),
        micros(point.map(|point| point.user_ns)),
        micros(point.map(|point| point.system_ns)),
        micros(point.and_then(|point| point.softirq_ns)),
        weighed.limited_by
    )
}

fn peak_line(weighed: &RequestsOfKind) -> String {
    let peak = weighed.capability.peak_per_s;
    if peak <= 0.0 {
        return format!("{:<20} no rate was VALID", weighed.words);
    }
    let said = match &weighed.interval {
        Ok(interval) => interval.told(|rate| words::rate(rate.round())),
        Err(refusal) => format!("{}: {refusal}", words::rate(peak.round())),
    };
    format!("{:<20} {said}", weighed.words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capability() -> Capability {
        let point = |offered_per_s, user_ns| profile::Point { offered_per_s, user_ns, ..Default::default() };
        Capability {
            peak_per_s: 10_000.0,
            saturated_per_s: Some(20_000.0),
            points: vec![point(1_000.0, 9_000.0), point(9_900.0, 4_000.0)],
            ..Capability::default()
        }
    }

    fn of<'a>(capability: &'a Capability, interval: &'a stats::Claim) -> Requests<'a> {
        Requests {
            started_at: "2026-11-23T12:00:00Z",
            url: None,
            answer: "600",
            target_cpus: &[1],
            threads: 1,
            cpus: &[0],
            connections: 64,
            kinds: vec![RequestsOfKind {
                words: "keep-alive",
                keeps_alive: true,
                capability,
                interval,
                peaks_per_s: vec![10_000.0],
                trials: 7,
                disturbed: 0,
                limited_by: "generator",
                is_partial: false,
            }],
            is_partial: false,
        }
    }

    #[test]
    fn a_row_has_the_cost_at_the_rate_nearest_to_the_peak() {
        let (capability, interval) = (capability(), stats::students::interval(&[10_000.0]));
        let text = of(&capability, &interval).text(None);
        let on = "embedded target (600 bytes), a separate process on CPU 1;\n             1 engine thread on CPU 0, 64";
        assert!(text.starts_with(&format!("Loaded       {on}")), "{text}");
        let row: Vec<&str> =
            text.lines().find(|line| line.starts_with("keep-alive")).unwrap().split_whitespace().collect();
        assert_eq!(row, ["keep-alive", "10", "000/s", "20", "000/s", "4.00", "0.00", "–", "generator"]);
        assert!(text.contains("--rate 5000 URL") && text.contains("\nSoftirq      –"), "{text}");
    }

    #[test]
    fn the_file_says_why_there_is_no_interval() {
        let (capability, interval) = (capability(), stats::students::interval(&[10_000.0]));
        let file: serde_json::Value = serde_json::from_str(&of(&capability, &interval).json()).unwrap();
        assert_eq!((&file["schema"], &file["kind"]), (&"tare.weigh/1".into(), &"http".into()));
        let row = &file["http"][0];
        assert_eq!((&row["peak_per_s"], &row["peaks_per_s"][0]), (&10_000.0.into(), &10_000.0.into()));
        assert!(row["no_interval"].is_string() && file["partial"] == false, "{file}");
    }
}
