//! Whether runs may be compared at all, and what must be known when they are.
//!
//! | what differs | then |
//! |---|---|
//! | whose time: a simulation's and this world's | refused, always: the one says nothing of the other |
//! | the engine | refused |
//! | the plan | refused, unless `--anyway`; its lines are named |
//! | what a file of the plan held | the same; that it was elsewhere is none |
//! | the load was changed by hand while it ran | refused, unless `--anyway`: its plan was not all of it |
//! | only where the target is, or the seed | a warning: that may be what is compared |
//! | the machine: kernel, CPU, clock, Tare's version… | a warning that names it |
//! | a verdict is INVALID | refused, unless `--anyway`: such figures are the generator's, not the target's |
//! | a verdict is DEGRADED, a run is partial | a warning |

use crate::comparison::Side;
use crate::contents;
use crate::trial::Trial;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use store::schema::Word;
use store::secrets;

/// Lines of a difference that are told; a plan of another kind has hundreds.
const MOST_LINES: usize = 12;

/// What a comparison must not pass over in silence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doubts {
    /// A reason that nothing overrides.
    pub never: Option<String>,
    /// Reasons not to compare.
    pub refusals: Vec<String>,
    pub warnings: Vec<String>,
}

/// Looks at all trials of all sides; the first of the first side is what others are held against.
pub fn doubts(sides: &[Side]) -> Doubts {
    let mut doubts = Doubts::default();
    let Some(first) = sides.first().and_then(|side| side.trials.first()) else {
        return doubts;
    };
    let trials = || sides.iter().flat_map(|side| &side.trials);
    twice(sides, &mut doubts);
    doubts.never = trials().find(|trial| trial.simulated != first.simulated).map(|other| {
        let (simulated, real) = if other.simulated { (other, first) } else { (first, other) };
        format!(
            "the times of {} are simulated and those of {} are not, so they cannot be compared",
            simulated.name, real.name
        )
    });
    if let Some(other) = trials().find(|trial| trial.engine != first.engine) {
        doubts.refusals.push(format!(
            "{} is of the engine {}, {} of {}",
            first.name, first.engine, other.name, other.engine
        ));
    }
    let steered = trials().filter(|trial| trial.steered);
    doubts.refusals.extend(steered.map(|trial| format!("the load of {} was changed by hand", trial.name)));
    plans(first, trials(), &mut doubts);
    environments(first, trials(), &mut doubts);
    verdicts(trials(), &mut doubts);
    order(sides, &mut doubts);
    doubts
}

/// A run that is compared with itself, or with a copy of it. Of what was killed early not even the time is
/// known: other folders are other runs then.
fn twice(sides: &[Side], doubts: &mut Doubts) {
    let (mut folders, mut runs) = (BTreeSet::new(), BTreeSet::new());
    for trial in sides.iter().flat_map(|side| &side.trials) {
        let is_new = folders.insert(&trial.folder);
        let is_copy = !trial.started_at.is_empty() && !runs.insert((&trial.name, &trial.started_at));
        if !is_new || is_copy {
            doubts
                .refusals
                .push(format!("{} is named twice: every trial must be a separate run", trial.name));
        }
    }
}

fn plans<'a>(first: &Trial, trials: impl Iterator<Item = &'a Trial>, doubts: &mut Doubts) {
    let mut told = BTreeSet::new();
    for trial in trials {
        if let Some(other) = contents::other(first, trial) {
            doubts.refusals.push(other);
        }
        if !std::ptr::eq(first, trial) {
            doubts.warnings.extend(contents::unknown(first, trial));
        }
        if trial.plan_hash == first.plan_hash && !trial.plan_hash.is_empty() {
            continue;
        }
        if trial.plan.is_empty() || first.plan.is_empty() {
            let without = if first.plan.is_empty() { first } else { trial };
            doubts.refusals.push(format!("{} has no plan.toml, so its plan is unknown", without.name));
            return;
        }
        let (meant, other): (Vec<_>, Vec<_>) = differences(&first.plan, &trial.plan)
            .into_iter()
            .filter(|difference| !difference.is_one_file(first, trial))
            .partition(|difference| difference.may_be_what_is_compared());
        // Several trials of one side differ in the same lines: told once.
        let said = |lines: &[Difference]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
        if !other.is_empty() && told.insert(said(&other)) {
            let shown = other.len().min(MOST_LINES);
            let more = if other.len() > shown {
                format!("; and {} more", other.len() - shown)
            } else {
                String::new()
            };
            doubts.refusals.push(format!(
                "the plans of {} and {} differ: {}{more}",
                first.name,
                trial.name,
                said(&other[..shown]).join("; ")
            ));
        }
        if !meant.is_empty() && told.insert(said(&meant)) {
            doubts.warnings.push(format!("the plans differ in {}", said(&meant).join("; ")));
        }
    }
}

/// A key of the plan that has another value.
struct Difference {
    key: String,
    from: Option<String>,
    to: Option<String>,
}

impl Difference {
    /// The same load on another machine or port, or with other random choices.
    fn may_be_what_is_compared(&self) -> bool {
        match self.key.as_str() {
            "seed" | "resolve.fixed" => true,
            "url" => matches!((&self.from, &self.to), (Some(from), Some(to)) if path(from) == path(to)),
            _ => false,
        }
    }

    /// Whether it is a file's place, where it held the same.
    fn is_one_file(&self, first: &Trial, trial: &Trial) -> bool {
        let both = self.from.as_deref().zip(self.to.as_deref());
        both.is_some_and(|(from, to)| contents::is_one_file(&self.key, first, from, trial, to))
    }

    /// Whether its value may be somebody's password.
    fn is_secret(&self) -> bool {
        ["header", "auth", "user", "password", "token", "cookie", "body", "proxy", "key"]
            .iter()
            .any(|word| self.key.to_lowercase().contains(word))
    }
}

/// `load.rate: "2000/s" → "3000/s"`
impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_secret() {
            return write!(f, "{}", self.key);
        }
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
        write!(
            f,
            "{}: {} → {}",
            self.key,
            without_secrets(&text(&self.from)),
            without_secrets(&text(&self.to))
        )
    }
}

/// What follows scheme, host and port of a URL in quotes.
fn path(url: &str) -> Option<&str> {
    let after = url.split_once("://")?.1;
    Some(after.find(['/', '?', '"']).map_or("", |at| &after[at..]))
}

/// A value, a text of it in quotes, without passwords of URLs.
fn without_secrets(value: &str) -> String {
    match value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) {
        Some(text) => format!("\"{}\"", secrets::in_urls(text)),
        None => secrets::in_urls(value),
    }
}

/// Keys that differ between two plans in canonical form: one `key = value` a line, under `[section]` lines.
/// Limits on the figures are no part of the load.
fn differences(a: &str, b: &str) -> Vec<Difference> {
    let (a, b) = (keys(a), keys(b));
    let all: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    all.into_iter()
        .filter(|key| a.get(*key) != b.get(*key) && !key.starts_with("limits"))
        .map(|key| Difference { key: key.clone(), from: a.get(key).cloned(), to: b.get(key).cloned() })
        .collect()
}

fn keys(plan: &str) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    let mut section = String::new();
    let mut tables: BTreeMap<String, usize> = BTreeMap::new();
    for line in plan.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix("[[").and_then(|line| line.strip_suffix("]]")) {
            let number = tables.entry(name.to_owned()).or_default();
            *number += 1;
            section = format!("{name}[{number}].");
        } else if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = format!("{name}.");
        } else if let Some((key, value)) = line.split_once('=') {
            keys.insert(format!("{section}{}", key.trim()), value.trim().to_owned());
        }
    }
    keys
}

/// Where in `environment.json` a machine's traits are, and what they are called.
const TRAITS: [(&str, &str); 13] = [
    ("/versions/tare", "Tare's version"),
    ("/kernel", "the kernel"),
    ("/kernel_build", "the kernel's build"),
    ("/architecture", "the architecture"),
    ("/cpu_model", "the CPU"),
    ("/cpus_online", "the CPUs online"),
    ("/cpus_allowed", "the CPUs allowed"),
    ("/cpu_quota", "the CPU quota"),
    ("/frequency_governor", "the frequency governor"),
    ("/virtualisation", "the virtualisation"),
    ("/memory_total_bytes", "the memory"),
    ("/clock/source", "the clock"),
    ("/sysctls", "the kernel's settings"),
];

fn environments<'a>(first: &Trial, trials: impl Iterator<Item = &'a Trial>, doubts: &mut Doubts) {
    let read = |trial: &Trial| serde_json::from_str::<Value>(&trial.environment).ok();
    let Some(ours) = read(first) else {
        doubts.warnings.push(format!(
            "{} has no environment.json, so it is unknown whether the machines are the same",
            first.name
        ));
        return;
    };
    let mut told = BTreeSet::new();
    for trial in trials {
        let Some(theirs) = read(trial) else {
            doubts.warnings.push(format!(
                "{} has no environment.json, so it is unknown whether the machines are the same",
                trial.name
            ));
            return;
        };
        for (name, from, to) in traits(&ours, &theirs) {
            let sentence = match name {
                "the kernel's settings" => {
                    format!("the machines differ in the kernel's settings: {}", settings(&ours, &theirs))
                }
                name => format!("the machines differ in {name}: {from} → {to}"),
            };
            if told.insert(sentence.clone()) {
                doubts.warnings.push(sentence);
            }
        }
    }
}

/// Names and values of what differs.
fn traits(a: &Value, b: &Value) -> Vec<(&'static str, String, String)> {
    let text = |value: &Value| match value {
        Value::Null => "unknown".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let at = |of: &Value, pointer: &str| of.pointer(pointer).cloned().unwrap_or(Value::Null);
    let mut found: Vec<_> = TRAITS
        .iter()
        .map(|(pointer, name)| (*name, at(a, pointer), at(b, pointer)))
        .filter(|(_, a, b)| a != b)
        .map(|(name, a, b)| (name, text(&a), text(&b)))
        .collect();
    for (what, name) in [("io", "how sockets are driven"), ("spin", "spinning"), ("threads", "the threads")] {
        let (a, b) = (choice(a, what), choice(b, what));
        if a != b {
            found.push((name, text(&a), text(&b)));
        }
    }
    found
}

fn choice(environment: &Value, what: &str) -> Value {
    let choices = environment["choices"].as_array().into_iter().flatten();
    choices
        .clone()
        .find(|choice| choice["what"] == what)
        .map_or(Value::Null, |choice| choice["chosen"].clone())
}

/// Names of the kernel's settings that differ.
fn settings(a: &Value, b: &Value) -> String {
    let empty = serde_json::Map::new();
    let of = |value: &'_ Value| value["sysctls"].as_object().cloned().unwrap_or_else(|| empty.clone());
    let (a, b) = (of(a), of(b));
    let names: BTreeSet<&String> =
        a.keys().chain(b.keys()).filter(|name| a.get(*name) != b.get(*name)).collect();
    names.into_iter().cloned().collect::<Vec<_>>().join(", ")
}

fn verdicts<'a>(trials: impl Iterator<Item = &'a Trial>, doubts: &mut Doubts) {
    let (mut invalid, mut degraded, mut partial) = (Vec::new(), Vec::new(), Vec::new());
    for trial in trials {
        match trial.verdict {
            Word::Invalid => invalid.push(trial.name.clone()),
            Word::Degraded => degraded.push(trial.name.clone()),
            Word::Valid => {}
        }
        if trial.partial {
            partial.push(trial.name.clone());
        }
    }
    if !invalid.is_empty() {
        doubts.refusals.push(format!(
            "INVALID, so their figures do not describe the target (`tare report RUN` says why): {}",
            invalid.join(", ")
        ));
    }
    if !degraded.is_empty() {
        doubts.warnings.push(format!("DEGRADED: {}", degraded.join(", ")));
    }
    if !partial.is_empty() {
        doubts.warnings.push(format!("ended before they were complete: {}", partial.join(", ")));
    }
}

/// One side after the other: what changed meanwhile looks like a difference.
fn order(sides: &[Side], doubts: &mut Doubts) {
    let Some((first, others)) = sides.split_first() else { return };
    let span = |side: &Side| {
        let times = || side.trials.iter().map(|trial| trial.started_at.clone());
        Some((times().min()?, times().max()?))
    };
    for other in others.iter().filter(|other| first.trials.len() > 1 && other.trials.len() > 1) {
        let (Some((first_from, first_to)), Some((from, to))) = (span(first), span(other)) else { continue };
        if first_to < from || to < first_from {
            doubts.warnings.push(format!(
                "the trials of {} and {} did not alternate: any other change between them looks like a \
                 difference",
                first.label, other.label
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::schema::InputFile;

    const PLAN: &str = "url = \"http://127.0.0.1:8080/a?x=1\"\nseed = 1\n\n[load]\nrate = \"2000/s\"\n\n[request]\nheaders = []\n";

    fn trial(name: &str, plan: &str) -> Trial {
        Trial {
            name: name.to_owned(),
            folder: name.into(),
            plan: plan.to_owned(),
            plan_hash: plan.to_owned(),
            environment: r#"{"kernel": "6.1", "clock": {"source": "tsc"}}"#.to_owned(),
            verdict: Word::Valid,
            ..Trial::default()
        }
    }

    fn of(a: Trial, b: Trial) -> Doubts {
        let side = |label: &str, trial| Side { label: label.to_owned(), trials: vec![trial] };
        doubts(&[side("A", a), side("B", b)])
    }

    #[test]
    fn equal_runs_leave_no_doubt() {
        assert_eq!(of(trial("a", PLAN), trial("b", PLAN)), Doubts::default());
    }

    #[test]
    fn simulated_time_is_never_held_against_this_worlds() {
        let simulated = |name| Trial { simulated: true, ..trial(name, PLAN) };
        let why = of(trial("a", PLAN), simulated("b")).never.unwrap();
        assert!(why.starts_with("the times of b are simulated and those of a are not"), "{why}");
        assert!(of(simulated("b"), trial("a", PLAN)).never.is_some());
        assert_eq!(of(simulated("a"), simulated("b")), Doubts::default());
    }

    #[test]
    fn another_load_is_refused_and_another_place_is_told() {
        let found = of(trial("a", PLAN), trial("b", &PLAN.replace("2000/s", "3000/s")));
        assert_eq!(found.refusals, ["the plans of a and b differ: load.rate: \"2000/s\" → \"3000/s\""]);
        let found = of(trial("a", PLAN), trial("b", &PLAN.replace("127.0.0.1:8080", "10.0.0.1")));
        assert!(found.refusals.is_empty(), "{found:?}");
        assert!(found.warnings[0].contains("\"http://10.0.0.1/a?x=1\""), "{found:?}");
        let found = of(trial("a", PLAN), trial("b", &PLAN.replace("x=1", "x=2")));
        assert!(found.warnings.is_empty() && found.refusals.len() == 1, "{found:?}");
    }

    #[test]
    fn what_files_held_is_a_part_of_the_load_and_where_they_were_is_none() {
        let run = |name: &str, file: &str, bytes, digest: Option<&str>| Trial {
            inputs: vec![InputFile { file: file.to_owned(), bytes, sha256: digest.map(str::to_owned) }],
            ..trial(name, &format!("file = \"{file}\"\n"))
        };
        let a = run("a", "/1/u.txt", 9, Some("12"));
        let same = [run("b", "/1/u.txt", 9, Some("12")), run("b", "/2/v.txt", 9, Some("12"))];
        same.into_iter().for_each(|same| assert_eq!(of(a.clone(), same), Doubts::default()));
        let other = of(a.clone(), run("b", "/1/u.txt", 9, Some("34"))).refusals;
        assert_eq!(other, ["u.txt was not the same file in a and b: other content"]);
        let other = of(a.clone(), run("b", "/1/u.txt", 8, None)).refusals;
        assert_eq!(other, ["u.txt was not the same file in a and b: 9 bytes and 8"]);
        let unknown = of(a.clone(), run("b", "/1/u.txt", 9, None));
        assert_eq!(unknown.warnings, ["it is unknown whether u.txt was the same in a and b"]);
        let older = Trial { inputs: Vec::new(), ..run("b", "/1/u.txt", 9, None) };
        assert_eq!(of(a, older.clone()).warnings.len(), 1);
        let before = Trial { name: "c".to_owned(), folder: "c".into(), ..older.clone() };
        assert!(of(older, before).warnings[0].contains("each of the plan's files was the same"));
        // A text that is a file's name is a text.
        let body = |name: &str, place: &str, body: &str| Trial {
            plan: format!("file = \"{place}\"\nbody = \"{body}\"\n"),
            ..run(name, place, 9, Some("12"))
        };
        let refused = of(body("a", "/d1/u", "u"), body("b", "/d2/v", "v")).refusals;
        assert_eq!(refused, ["the plans of a and b differ: body"]);
    }

    #[test]
    fn secrets_are_not_told() {
        let other = PLAN.replace("[]", "[\"Authorization: Basic c2VjcmV0\"]");
        assert_eq!(
            of(trial("a", PLAN), trial("b", &other)).refusals,
            ["the plans of a and b differ: request.headers"]
        );
        let other = PLAN.replace("http://127", "http://me:secret@127");
        let found = format!("{:?}", of(trial("a", PLAN), trial("b", &other)));
        assert!(!found.contains("secret"), "{found}");
        let other = PLAN.replace("127.0.0.1", "me:secret@127.0.0.2").replace("x=1", "x=1&token=secret");
        let found = of(trial("a", PLAN), trial("b", &other)).refusals;
        assert!(found[0].contains("127.0.0.2") && found[0].ends_with("x=1&token=***\""), "{found:?}");
    }

    #[test]
    fn limits_are_no_part_of_the_load() {
        let mut limited = trial("b", &format!("{PLAN}\n[limits]\nfail_if = [\"errors > 1%\"]\n"));
        limited.plan_hash = "other".to_owned();
        assert_eq!(of(trial("a", PLAN), limited), Doubts::default());
    }

    #[test]
    fn machines_verdicts_and_repetition() {
        let mut other = trial("b", PLAN);
        other.environment = other.environment.replace("6.1", "6.2");
        other.verdict = Word::Degraded;
        other.partial = true;
        let found = of(trial("a", PLAN), other.clone());
        assert_eq!(
            found.warnings,
            [
                "the machines differ in the kernel: 6.1 → 6.2",
                "DEGRADED: b",
                "ended before they were complete: b"
            ]
        );
        other.verdict = Word::Invalid;
        assert!(of(trial("a", PLAN), other).refusals[0].starts_with("INVALID"));
        assert!(of(trial("a", PLAN), trial("a", PLAN)).refusals[0].contains("named twice"));
        let at = |folder: &str, time: &str| Trial {
            folder: folder.into(),
            started_at: time.to_owned(),
            ..trial("a", PLAN)
        };
        let refusals = |a, b| of(a, b).refusals;
        let copied = refusals(at("here", "2026-11-20T12:00:00Z"), at("there", "2026-11-20T12:00:00Z"));
        assert!(copied[0].contains("named twice"), "{copied:?}");
        assert!(refusals(at("here", "2026-11-20T12:00:00Z"), at("there", "2026-11-20T12:00:09Z")).is_empty());
        assert!(refusals(at("here", ""), at("there", "")).is_empty());
        let mut other = trial("b", PLAN);
        other.environment.clear();
        assert!(of(trial("a", PLAN), other).warnings[0].contains("b has no environment.json"));
    }

    #[test]
    fn sides_that_did_not_alternate_are_told() {
        let at = |name: &str, minute: u32| Trial {
            started_at: format!("2026-11-20T12:{minute:02}:00Z"),
            ..trial(name, PLAN)
        };
        let side = |label: &str, trials: Vec<Trial>| Side { label: label.to_owned(), trials };
        let after =
            doubts(&[side("A", vec![at("a", 1), at("b", 2)]), side("B", vec![at("c", 3), at("d", 4)])]);
        assert!(after.warnings[0].contains("did not alternate"), "{after:?}");
        let mixed =
            doubts(&[side("A", vec![at("a", 1), at("b", 3)]), side("B", vec![at("c", 2), at("d", 4)])]);
        assert_eq!(mixed, Doubts::default());
    }
}
