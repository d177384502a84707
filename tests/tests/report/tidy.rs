//! What the house rules say of the sources, as far as a program can tell: the width of lines, the length of
//! files, the arrows between crates, and that time comes from `clock` alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const WIDTH: usize = 112;
const LENGTH: usize = 500;

/// Crates from the bottom up. Each may use only those that stand before it; ARCHITECTURE.md draws the same.
const LAYERS: [&str; 33] = [
    "features",
    "units",
    "os",
    "bpf",
    "stats",
    "clock",
    "wire",
    "tcp",
    "filter",
    "plan",
    "schedule",
    "port",
    "station",
    "session",
    "script",
    "bed",
    "target",
    "measure",
    "http",
    "packet",
    "store",
    "compare",
    "profile",
    "report",
    "catalogue",
    "seats",
    "sinks",
    "live",
    "predict",
    "run",
    "weigh",
    "doctor",
    "cli",
];

/// What no crate may use although it stands below it.
const NEVER: [(&str, &[&str]); 8] = [
    // An engine knows neither what is kept nor how it is shown.
    ("http", &["store", "report", "sinks"]),
    ("packet", &["store", "report", "sinks"]),
    // It sees what is stored, and no engine.
    ("report", &["measure", "http", "packet", "port"]),
    // What was weighed is read from a profile, and what was examined stays here.
    ("weigh", &["doctor", "predict"]),
    ("doctor", &["weigh", "predict", "profile"]),
    ("predict", &["weigh", "doctor"]),
    // It never reads a clock.
    ("schedule", &["clock"]),
    // It is a pure function of its arguments.
    ("tcp", &["os", "bpf", "stats", "clock"]),
];

/// Files of more than [`LENGTH`] lines, and the most that each may have. They may only shrink.
const LONG: [(&str, usize); 12] = [
    ("crates/target/src/conn.rs", 502),
    ("crates/plan/src/tests.rs", 550),
    ("crates/port/src/fpga/link.rs", 522),
    ("crates/port/src/fpga/state.rs", 559),
    ("crates/port/src/live/program.rs", 561),
    ("crates/report/src/charts.rs", 534),
    ("crates/report/src/text.rs", 577),
    ("crates/sinks/tests/all/redis.rs", 514),
    ("crates/wire/src/template/tests.rs", 524),
    ("tests/tests/http/http_as_curl.rs", 554),
    ("tests/tests/http/http_load.rs", 530),
    ("tests/tests/report/thresholds.rs", 524),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").to_owned()
}

/// Files that git keeps, with these endings.
fn sources(endings: &[&str]) -> Vec<(String, String)> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    let listed = listed.expect("git lists files").stdout;
    let names = listed.split(|byte| *byte == 0).map(|name| String::from_utf8_lossy(name).into_owned());
    let wanted = names.filter(|name| endings.iter().any(|ending| name.ends_with(ending)));
    wanted
        .filter_map(|name| Some((name.clone(), std::fs::read_to_string(root().join(&name)).ok()?)))
        .collect()
}

/// Made by a program from another file of the repository.
fn is_generated(name: &str) -> bool {
    name == "crates/port/src/fpga/registers.rs"
}

/// `name.rs`, with what is below it in `name/`, and long tests in `name/tests.rs`.
#[test]
fn a_module_stands_in_a_file_of_its_name() {
    let is_odd = |name: &str| name.ends_with("/mod.rs") || name.ends_with("_tests.rs");
    let odd: Vec<String> =
        sources(&[".rs"]).into_iter().map(|(name, _)| name).filter(|name| is_odd(name)).collect();
    assert!(odd.is_empty(), "modules in files of other names: {odd:?}");
}

/// What tests a crate from outside is one executable, `tests/all/main.rs`: each more would be linked again.
#[test]
fn tests_from_outside_are_one_executable_a_crate() {
    let is_odd = |name: &str| {
        let parts: Vec<&str> = name.split('/').collect();
        matches!(parts[..], ["crates", _, "tests", ref rest @ ..] if rest.first() != Some(&"all"))
    };
    let odd: Vec<String> =
        sources(&[".rs"]).into_iter().map(|(name, _)| name).filter(|name| is_odd(name)).collect();
    assert!(odd.is_empty(), "tests that are not in tests/all: {odd:?}");
}

/// A program whose manifest says `test = false` has no test that anybody would believe to run.
#[test]
fn tests_stand_where_they_are_run() {
    let programs = std::fs::read_to_string(root().join("benches/Cargo.toml")).expect("a manifest");
    let path_of = |program: &str| -> Option<String> {
        let line = program.lines().find_map(|line| line.strip_prefix("path = "))?;
        let path = line.trim_matches('"');
        Some(format!("benches/{}", path.trim_end_matches("main.rs")))
    };
    let untested: Vec<String> = programs
        .split("[[bin]]")
        .filter(|program| program.contains("test = false"))
        .filter_map(path_of)
        .collect();
    assert!(untested.len() > 10, "programs without tests are found: {untested:?}");
    let lost: Vec<String> = sources(&[".rs"])
        .into_iter()
        .filter(|(name, text)| untested.iter().any(|path| name.starts_with(path)) && text.contains("#[test]"))
        .map(|(name, _)| name)
        .collect();
    assert!(lost.is_empty(), "tests that never run: {lost:?}");
}

#[test]
fn lines_are_not_wider_than_a_page() {
    let is_wide = |line: &str| {
        // A text that is shown, and a path or an address, cannot be broken.
        let may_be =
            line.contains('"') || line.trim_start_matches(['/', '!', '#', ' ']).split(' ').count() == 1;
        line.chars().count() > WIDTH && !may_be
    };
    // What was written last stands at the end, where it is shown.
    let mut files = sources(&[".rs"]);
    files.sort_by_key(|(name, _)| root().join(name).metadata().and_then(|about| about.modified()).ok());
    let wide: Vec<String> = files
        .iter()
        .filter(|(name, _)| !is_generated(name))
        .flat_map(|(name, text)| {
            let lines = text.lines().enumerate().filter(|(_, line)| is_wide(line));
            lines.map(|(number, line)| format!("{name}:{}: {line}", number + 1)).collect::<Vec<_>>()
        })
        .collect();
    assert!(
        wide.is_empty(),
        "{} lines of more than {WIDTH} characters; those in the newest files:\n{}",
        wide.len(),
        wide[wide.len().saturating_sub(20)..].join("\n")
    );
}

#[test]
fn files_are_not_longer_than_a_reader_bears() {
    let allowed: BTreeMap<&str, usize> = LONG.into_iter().collect();
    let mut wrong = Vec::new();
    for (name, text) in sources(&[".rs"]).iter().filter(|(name, _)| !is_generated(name)) {
        let lines = text.lines().count();
        match allowed.get(name.as_str()) {
            Some(most) if lines > *most => wrong.push(format!("{name}: {lines} lines, at most {most}")),
            Some(_) if lines <= LENGTH => {
                wrong.push(format!("{name}: {lines} lines, so it needs no reason any more"))
            }
            None if lines > LENGTH => wrong.push(format!("{name}: {lines} lines, at most {LENGTH}")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The crates of this workspace that each crate uses.
fn arrows() -> Vec<(String, Vec<String>)> {
    let crates = sources(&["Cargo.toml"]);
    let of_crate = |name: &str| Some(name.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?.to_owned());
    let own = |line: &str| {
        let name = line.split(['.', ' ', '=']).next()?;
        LAYERS.contains(&name).then(|| name.to_owned())
    };
    crates
        .iter()
        .filter_map(|(name, text)| {
            let used = text.split("[dependencies]").nth(1)?.split("\n[").next()?;
            Some((of_crate(name)?, used.lines().filter_map(own).collect()))
        })
        .collect()
}

#[test]
fn no_arrow_between_crates_points_back() {
    let floor = |name: &str| LAYERS.iter().position(|layer| *layer == name);
    let mut wrong = Vec::new();
    for (name, used) in arrows() {
        let Some(own) = floor(&name) else {
            wrong.push(format!("{name} has no floor in LAYERS"));
            continue;
        };
        let never = NEVER.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, never)| never);
        for other in used {
            if floor(&other).is_none_or(|floor| floor >= own) || never.contains(&other.as_str()) {
                wrong.push(format!("{name} must not use {other}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_architecture_has_a_paragraph_for_each_crate() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the page");
    let missing: Vec<&str> =
        LAYERS.iter().copied().filter(|name| page.matches(&format!("**`{name}`**")).count() != 1).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(page.lines().count() <= 140, "two screens are 140 lines, not {}", page.lines().count());
}

#[test]
fn the_records_are_what_the_architecture_says() {
    let records = std::fs::read_to_string(root().join("crates/units/src/record.rs")).expect("the records");
    let of = |name: &str| {
        let begun = records.split(&format!("pub struct {name} {{")).nth(1).expect("a record");
        let fields = begun.split("\n}").next().expect("its end");
        fields
            .lines()
            .filter_map(|line| line.trim().strip_prefix("pub ")?.split(':').next())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("Departure"), ["seq", "due"]);
    for name in ["Departure", "Event"] {
        let before = records.split(&format!("pub struct {name} {{")).next().expect("what stands before it");
        let derived = before.rsplit("#[derive(").next().expect("it derives something");
        assert!(derived.split(')').next().is_some_and(|list| list.contains("Copy")), "{name} is not Copy");
    }
    let text = |field: &&str| ["String", "str"].contains(field);
    assert!(!of("Event").iter().any(text));
}

#[test]
fn time_comes_from_the_clock_alone() {
    let mut wrong = Vec::new();
    for (name, text) in sources(&[".rs"]) {
        let Some((of, rest)) = name.strip_prefix("crates/").and_then(|name| name.split_once("/src/")) else {
            continue;
        };
        if of == "clock" || rest.contains("test") {
            continue;
        }
        // What stands below the tests of a file is a test.
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let reads = code.lines().enumerate().filter(|(_, line)| {
            let line = line.trim_start();
            !line.starts_with("//") && (line.contains("Instant::now") || line.contains("SystemTime::now"))
        });
        wrong.extend(reads.map(|(number, line)| format!("{name}:{}: {line}", number + 1)));
    }
    assert!(wrong.is_empty(), "reads of a clock outside `clock`:\n{}", wrong.join("\n"));
}

#[test]
fn the_operating_system_is_asked_in_one_place() {
    const CALLS: [&str; 9] = [
        "sched_setaffinity",
        "sched_getaffinity",
        "sched_setscheduler",
        "sched_setattr",
        "setpriority",
        "getrlimit",
        "setrlimit",
        "mlockall",
        "available_parallelism",
    ];
    let makes = |line: &str| {
        !line.trim_start().starts_with("//") && CALLS.iter().any(|call| line.contains(&format!("{call}(")))
    };
    let wrong: Vec<String> = sources(&[".rs"])
        .iter()
        .filter(|(name, _)| name.starts_with("crates/") && !name.starts_with("crates/os/"))
        .flat_map(|(name, text)| {
            let lines = text.lines().enumerate().filter(|(_, line)| makes(line));
            lines.map(|(number, line)| format!("{name}:{}: {line}", number + 1)).collect::<Vec<_>>()
        })
        .collect();
    assert!(wrong.is_empty(), "crate `os` has a function for each of these:\n{}", wrong.join("\n"));
}
