//! What `tare doctor` found, as one screen of text or in full.

use crate::{Ink, Style, wrap};

/// Rows of the first page, and findings that it has whatever they take; `--all` shows the rest.
const ROWS: usize = 23;
const LEAST: usize = 3;
/// Columns before the text of a line.
const LABEL: usize = 10;

/// Everything that the page says.
pub struct Examination {
    /// The machine in one line.
    pub machine: String,
    /// Loads that were weighed and their highest rates, or why there are none.
    pub profile: Result<Vec<(String, f64)>, String>,
    pub ports: Vec<PortFound>,
    pub plan: Option<PlanExamined>,
    /// The worst first.
    pub findings: Vec<Finding>,
    /// How many of them `--fix` mends.
    pub settings: usize,
}

impl Default for Examination {
    fn default() -> Self {
        Self {
            machine: String::new(),
            profile: Ok(Vec::new()),
            ports: Vec::new(),
            plan: None,
            findings: Vec::new(),
            settings: 0,
        }
    }
}

/// A way for frames.
pub struct PortFound {
    /// `packet`, or `xdp:eth0`.
    pub port: String,
    /// `None`: it was not tried.
    pub works: Option<bool>,
    /// How it works, or why it does not.
    pub why: String,
}

/// The plan that the machine was examined for.
pub struct PlanExamined {
    pub name: String,
    /// Its kind of load: `http`, `packets`, `gaps`.
    pub load: &'static str,
    /// Lines of the forecast.
    pub forecast: String,
}

/// One thing that was looked at.
pub struct Finding {
    pub id: String,
    /// How much it matters, to the plan if there is one, in a word and its colour.
    pub severity: &'static str,
    pub ink: Ink,
    pub matters: bool,
    /// To some kind of load, whatever the plan is; and to which.
    pub matters_somewhere: bool,
    pub whom: String,
    pub found: String,
    pub why: String,
    pub source: String,
    pub mend: Mending,
}

/// What to do about it.
pub enum Mending {
    Nothing,
    Advice(String),
    Commands {
        /// All of them in one line.
        short: String,
        commands: Vec<String>,
        undo: Vec<String>,
    },
}

impl Mending {
    fn short(&self) -> Option<&str> {
        match self {
            Self::Nothing => None,
            Self::Advice(text) => Some(text),
            Self::Commands { short, .. } => Some(short),
        }
    }
}

impl Examination {
    /// The page: what matters in so many rows, or `all`.
    pub fn text(&self, all: bool, style: Style) -> String {
        let mut page = Page { text: String::new(), style };
        page.head(self);
        match all {
            true => self.findings.iter().for_each(|finding| page.full(finding)),
            false => {
                let mut next = Page { text: String::new(), style };
                next.next(self, false);
                let room = ROWS.saturating_sub(page.rows() + next.rows() + 1);
                page.findings(self, if self.plan.is_some() { usize::MAX } else { room });
            }
        }
        page.next(self, all);
        page.text
    }

    /// These findings alone, in full.
    pub fn only(&self, ids: &[String], style: Style) -> String {
        let mut page = Page { text: String::new(), style };
        let chosen = self.findings.iter().filter(|finding| ids.contains(&finding.id));
        chosen.for_each(|finding| page.full(finding));
        page.text
    }

    fn matters(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.matters)
    }
}

struct Page {
    text: String,
    style: Style,
}

impl Page {
    fn head(&mut self, examination: &Examination) {
        self.labelled("Machine", &examination.machine, 2);
        self.labelled("Profile", &profile(examination), 2);
        self.labelled("Ports", &ports(examination), 4);
        if let Some(plan) = &examination.plan {
            self.labelled("Plan", &plan.name, 2);
            self.text.push_str(&plan.forecast);
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
        let looked = examination.findings.len();
        let whom = examination.plan.as_ref().map_or(String::new(), |plan| format!(" to {}", plan.load));
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
        let whom = match examination.plan {
            Some(_) => String::new(),
            None => format!(" ({})", finding.whom),
        };
        page.finding(finding, &whom);
        if let Some(short) = finding.mend.short() {
            let line = cut(&format!("→ {short}"), self.style.width() - LABEL);
            page.text.push_str(&format!("{:LABEL$}{}\n", "", self.style.paint(Ink::Quiet, &line)));
        }
        page.text
    }

    fn finding(&mut self, finding: &Finding, whom: &str) {
        let lines = wrap(&format!("{}: {}{whom}", finding.id, finding.found), self.style.width() - LABEL);
        self.first(finding, lines.first().map_or("", String::as_str));
        self.rest(lines.get(1..).unwrap_or_default());
    }

    /// Everything about one: why it matters, the source of that claim, how to fix it, how to undo the fix.
    fn full(&mut self, finding: &Finding) {
        let whom = if finding.matters_somewhere { format!(" ({})", finding.whom) } else { String::new() };
        self.finding(finding, &whom);
        if !finding.why.is_empty() {
            self.labelled("  why", &format!("{} [{}]", finding.why, finding.source), usize::MAX);
        }
        match &finding.mend {
            Mending::Nothing => {}
            Mending::Advice(text) => self.labelled("  fix", text, usize::MAX),
            Mending::Commands { commands, undo, .. } => {
                commands.iter().for_each(|command| self.typed("  fix", command));
                undo.iter().for_each(|command| self.typed("  undo", command));
            }
        }
    }

    /// What to do next, in one line each.
    fn next(&mut self, examination: &Examination, is_all: bool) {
        let settings = examination.settings;
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

    fn first(&mut self, finding: &Finding, text: &str) {
        let word = self.style.paint(finding.ink, &format!("{:LABEL$}", finding.severity));
        self.text.push_str(&format!("{word}{text}\n"));
    }

    fn rest(&mut self, lines: &[String]) {
        lines.iter().for_each(|line| self.text.push_str(&format!("{:LABEL$}{line}\n", "")));
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
        Ok(peaks) => {
            let peaks = peaks.iter().map(|(key, per_s)| format!("{key} {}", crate::rate(*per_s)));
            format!("weighed: {}", peaks.collect::<Vec<_>>().join(", "))
        }
        Err(refused) => refused.replace('`', ""),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(id: &str, matters: bool) -> Finding {
        Finding {
            id: id.to_owned(),
            severity: if matters { "serious" } else { "fine" },
            ink: if matters { Ink::Doubtful } else { Ink::Good },
            matters,
            matters_somewhere: matters,
            whom: "http".to_owned(),
            found: "it is 1".to_owned(),
            why: "2 is better".to_owned(),
            source: "kernel".to_owned(),
            mend: Mending::Commands {
                short: "sysctl -w a=2".to_owned(),
                commands: vec!["sysctl -w a=2".to_owned()],
                undo: vec!["sysctl -w a=1".to_owned()],
            },
        }
    }

    #[test]
    fn the_first_page_has_what_matters_and_what_to_do() {
        let findings = vec![finding("net.a", true), finding("net.b", false)];
        let page =
            Examination { machine: "a machine".to_owned(), findings, settings: 1, ..Examination::default() };
        let text = page.text(false, Style::PLAIN);
        for line in [
            "Machine   a machine",
            "Findings  1 of 2 things checked matter, the worst first:",
            "serious   net.a: it is 1 (http)",
            "          → sysctl -w a=2",
            "          --fix changes 1 setting, after asking; --undo restores them",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        assert!(!text.contains("net.b"), "{text}");
    }

    #[test]
    fn a_finding_in_full_has_its_reason_and_its_commands() {
        let page = Examination {
            findings: vec![finding("net.a", true), finding("net.b", true)],
            ..Examination::default()
        };
        let text = page.only(&["net.b".to_owned()], Style::PLAIN);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "serious   net.b: it is 1 (http)");
        assert_eq!(
            lines[1..],
            ["  why     2 is better [kernel]", "  fix     sysctl -w a=2", "  undo    sysctl -w a=1"]
        );
    }
}
