//! The examination as one screen of text, in full, or as JSON.

use super::{DoctorArgs, Examination};
use doctor::{Finding, Load, Mend, Severity};
use profile::Refused;
use report::{Ink, Style, wrap};
use run::Failure;
use serde_json::{Value, json};

pub const SCHEMA: &str = "tare.doctor/1";
/// Rows of the first page, and findings that it has whatever they take; `--all` shows the rest.
const ROWS: usize = 23;
const LEAST: usize = 3;
/// Columns before the text of a line.
const LABEL: usize = 10;

/// The page that was asked for.
pub fn text(examination: &Examination, args: &DoctorArgs, style: Style) -> String {
    let mut page = Page { text: String::new(), style };
    if !args.only.is_empty() {
        let chosen = examination.findings.iter().filter(|finding| args.only.contains(&finding.id));
        chosen.for_each(|finding| page.full(examination, finding));
        return page.text;
    }
    page.head(examination);
    match args.all {
        true => examination.findings.iter().for_each(|finding| page.full(examination, finding)),
        false => {
            let mut next = Page { text: String::new(), style };
            next.next(examination, false);
            let room = ROWS.saturating_sub(page.rows() + next.rows() + 1);
            page.findings(examination, if examination.asked.is_some() { usize::MAX } else { room });
        }
    }
    page.next(examination, args.all);
    page.text
}

struct Page {
    text: String,
    style: Style,
}

impl Page {
    fn head(&mut self, examination: &Examination) {
        self.labelled("Machine", &examination.overview.line(), 2);
        self.labelled("Profile", &profile(examination), 2);
        self.labelled("Ports", &ports(examination), 4);
        if let (Some(asked), Some(forecast)) = (&examination.asked, &examination.forecast) {
            self.labelled("Plan", &asked.name, 2);
            self.text.push_str(&forecast.to_string());
        }
    }

    fn rows(&self) -> usize {
        self.text.lines().count()
    }

    /// Those that matter, the worst first, in so many rows.
    fn findings(&mut self, examination: &Examination, room: usize) {
        let all: Vec<&Finding> = examination.matters().collect();
        let texts: Vec<String> = all.iter().map(|finding| self.short(examination, finding)).collect();
        let mut left = room;
        let fits = |(n, text): &(usize, &String)| {
            let taken = text.lines().count();
            let fits = *n < LEAST || taken <= left;
            left = left.saturating_sub(taken);
            fits
        };
        let most = texts.iter().enumerate().take_while(fits).count();
        let (looked, load) = (examination.findings.len(), examination.load());
        let whom = load.map_or(String::new(), |load| format!(" to {}", load.word()));
        let shown = match texts.len() {
            0 => format!("{looked} things checked; none of them matters{whom}"),
            n if n > most => format!("{n} of {looked} things checked matter{whom}; the {most} worst:"),
            n => format!("{n} of {looked} things checked matter{whom}, the worst first:"),
        };
        self.labelled("Findings", &shown, 1);
        texts[..most].iter().for_each(|text| self.text.push_str(text));
    }

    /// What was found, and one line of what to do.
    fn short(&self, examination: &Examination, finding: &Finding) -> String {
        let mut page = Page { text: String::new(), style: self.style };
        let whom = match examination.asked {
            Some(_) => String::new(),
            None => format!(" ({})", whom(finding)),
        };
        page.finding(examination, finding, &whom);
        if let Some(mend) = &finding.mend {
            let line = cut(&format!("→ {}", short(mend)), self.style.width() - LABEL);
            page.text.push_str(&format!("{:LABEL$}{}\n", "", self.style.paint(Ink::Quiet, &line)));
        }
        page.text
    }

    fn finding(&mut self, examination: &Examination, finding: &Finding, whom: &str) {
        let lines = wrap(&format!("{}: {}{whom}", finding.id, finding.found), self.style.width() - LABEL);
        self.first(examination.severity(finding), lines.first().map_or("", String::as_str));
        self.rest(lines.get(1..).unwrap_or_default());
    }

    /// Everything about one: why it matters, the source of that claim, how to fix it, how to undo the fix.
    fn full(&mut self, examination: &Examination, finding: &Finding) {
        let whom = if finding.matters(None) { format!(" ({})", whom(finding)) } else { String::new() };
        self.finding(examination, finding, &whom);
        if !finding.why.is_empty() {
            self.labelled("  why", &format!("{} [{}]", finding.why, finding.source), usize::MAX);
        }
        match &finding.mend {
            Some(Mend::Advice { text }) => self.labelled("  fix", text, usize::MAX),
            Some(mend) => {
                mend.commands().iter().for_each(|command| self.typed("  fix", command));
                mend.undoing().iter().for_each(|command| self.typed("  undo", command));
            }
            None => {}
        }
    }

    /// What to do next, in one line each.
    fn next(&mut self, examination: &Examination, is_all: bool) {
        let settings = doctor::fix::steps(&examination.findings, examination.load(), &[]).len();
        let mut next = Vec::new();
        if !is_all && examination.matters().count() > 0 {
            next.push("--all: everything; --only NAME: one in full, with reasons and undo".to_owned());
        }
        if settings > 0 {
            let words = if settings == 1 { "1 setting".to_owned() } else { format!("{settings} settings") };
            next.push(format!("--fix changes {words}, after asking; --undo restores them"));
        }
        if examination.profile.is_err() {
            next.push("tare weigh: measure how much load this machine can make, for forecasts".to_owned());
        }
        for (n, line) in next.iter().enumerate() {
            self.labelled(if n == 0 { "Next" } else { "" }, line, usize::MAX);
        }
    }

    fn labelled(&mut self, label: &str, text: &str, most: usize) {
        let mut lines = wrap(text, self.style.width() - LABEL);
        if lines.len() > most {
            lines.truncate(most);
            let last = &mut lines[most - 1];
            *last = cut(&format!("{last} …"), self.style.width() - LABEL);
        }
        let label = format!("{label:LABEL$}");
        self.text.push_str(&format!(
            "{}{}\n",
            self.style.paint(Ink::Strong, &label),
            lines.first().map_or("", String::as_str)
        ));
        self.rest(lines.get(1..).unwrap_or_default());
    }

    /// A command: never broken, for it is to be copied.
    fn typed(&mut self, label: &str, command: &str) {
        self.text
            .push_str(&format!("{}{command}\n", self.style.paint(Ink::Strong, &format!("{label:LABEL$}"))));
    }

    fn first(&mut self, severity: Severity, text: &str) {
        let ink = match severity {
            Severity::Fine => Ink::Good,
            Severity::Unknown => Ink::Quiet,
            Severity::Minor => Ink::Strong,
            Severity::Serious => Ink::Doubtful,
            Severity::Blocking => Ink::Bad,
        };
        let word = self.style.paint(ink, &format!("{:LABEL$}", severity.word()));
        self.text.push_str(&format!("{word}{text}\n"));
    }

    fn rest(&mut self, lines: &[String]) {
        lines.iter().for_each(|line| self.text.push_str(&format!("{:LABEL$}{line}\n", "")));
    }
}

fn whom(finding: &Finding) -> String {
    finding.weight.whom().into_iter().map(Load::word).collect::<Vec<_>>().join(", ")
}

/// One line of how to mend it.
fn short(mend: &Mend) -> String {
    match mend {
        Mend::Settings { changes } if changes.len() > 1 => {
            format!("{} and {} more", changes[0].command(), changes.len() - 1)
        }
        Mend::Advice { text } => text.clone(),
        mend => mend.commands().join("; "),
    }
}

/// At most so many columns.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

fn profile(examination: &Examination) -> String {
    match &examination.profile {
        Ok(profile) => {
            let peaks: Vec<String> = profile
                .capabilities
                .iter()
                .map(|capability| format!("{} {}", capability.key, report::rate(capability.peak_per_s)))
                .collect();
            format!("weighed: {}", peaks.join(", "))
        }
        Err(refused) => refused.to_string().replace('`', ""),
    }
}

/// Those that work, then each of the others with its reason.
fn ports(examination: &Examination) -> String {
    let is_kind = |name: &str| !name.contains(':');
    let works = examination.ports.iter().filter(|port| port.works == Some(true) && is_kind(&port.port));
    let works: Vec<&str> = works.map(|port| port.port.as_str()).collect();
    let mut parts = vec![format!("{} work", works.join(", "))];
    let others = examination.ports.iter().filter(|port| port.works != Some(true) || !is_kind(&port.port));
    parts.extend(others.map(|port| match port.works {
        Some(false) => format!("not {}: {}", port.port, port.why),
        _ => format!("{}: {}", port.port, port.why),
    }));
    parts.join("; ")
}

/// Everything, for programs.
pub fn json(examination: &Examination, only: &[String]) -> Result<String, Failure> {
    let profile = match &examination.profile {
        Ok(profile) => json!({
            "holds": true, "refused": null, "made_unix_s": profile.made_unix_s,
            "peaks_per_s": profile.capabilities.iter().map(|c| json!({"key": c.key, "against": c.against, "peak_per_s": c.peak_per_s})).collect::<Vec<_>>(),
        }),
        Err(refused) => {
            let kind = match refused {
                Refused::None => "none",
                Refused::Changed(_) => "changed",
                Refused::Unreadable(_) => "unreadable",
            };
            json!({ "holds": false, "refused": kind, "why": refused.to_string() })
        }
    };
    let plan = examination
        .asked
        .as_ref()
        .map(|asked| json!({ "name": asked.name, "command": asked.demand.command, "load": asked.load }));
    let chosen = examination.findings.iter().filter(|finding| only.is_empty() || only.contains(&finding.id));
    let findings: Vec<Value> = chosen.map(|finding| one(examination, finding)).collect();
    let whole = json!({
        "schema": SCHEMA,
        "tare": env!("CARGO_PKG_VERSION"),
        "machine": examination.overview,
        "facts": examination.machine.facts,
        "measured": examination.subject.measured,
        "profile": profile,
        "plan": plan,
        "forecast": examination.forecast,
        "ports": examination.ports,
        "findings": findings,
    });
    let text = serde_json::to_string_pretty(&whole).map_err(Failure::wrong)?;
    Ok(text + "\n")
}

/// A finding, with how much it matters here and its commands as they are typed.
fn one(examination: &Examination, finding: &Finding) -> Value {
    let commands = |mend: fn(&Mend) -> Vec<String>| finding.mend.as_ref().map(mend).unwrap_or_default();
    json!({
        "id": finding.id,
        "severity": examination.severity(finding),
        "weight": finding.weight,
        "found": finding.found,
        "why": finding.why,
        "source": finding.source,
        "mend": finding.mend,
        "commands": commands(Mend::commands),
        "undo": commands(Mend::undoing),
    })
}
