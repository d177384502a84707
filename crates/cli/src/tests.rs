//! The command line as a whole: its help, and that flags and the fields of plans are the same list.

use super::*;
use std::collections::BTreeSet;

#[test]
fn the_flags_are_consistent() {
    command_line().debug_assert();
}

#[test]
fn every_subcommand_is_in_a_group_of_the_help() {
    let mut tare = Tare::command();
    tare.build();
    let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    for command in tare.get_subcommands() {
        assert!(grouped.contains(&command.get_name()), "{}", command.get_name());
    }
    let help = command_line().render_long_help().to_string();
    assert!(help.contains("\nTools:\n  man "), "{help}");
}

/// The commands whose flags make a plan, with what else a command line of theirs needs.
const PLANNED: [(&str, &[&str]); 7] = [
    ("http", &["http://h/"]),
    ("send", &[]),
    ("pace", &[]),
    ("capture", &[]),
    ("gaps", &[]),
    ("forward", &[]),
    ("sweep", &[]),
];

/// Flags that say in another way what another flag, or an argument without one, says.
const OTHER_WAYS: [&str; 2] = ["--imix", "--port"];

/// `(path in the plan, its flags)` of each field that a command has.
fn fields_of(command: &str) -> Vec<(&'static str, &'static str)> {
    let of_http = plan::FIELDS.into_iter().flatten().copied();
    if command == "http" {
        return of_http.collect();
    }
    let has_frames = ["send", "sweep"].contains(&command);
    let is_its_own = |path: &str| {
        let table = path.split('.').next();
        table == Some(command) || (table == Some("frames") && has_frames)
    };
    let of_frames = plan::packets::FIELDS.into_iter().flatten().copied();
    of_frames
        .filter(|(path, _)| is_its_own(path))
        .chain(of_http.filter(|(path, _)| path.starts_with("limits.")))
        .collect()
}

/// The flags among the words of a field: `--gap (-d)`, `--ipv4/--ipv6`, `--body @FILE`; none of `URL`.
fn flags_among(words: &str) -> impl Iterator<Item = &str> {
    words.split([' ', '/', '(', ')']).filter(|word| word.starts_with('-'))
}

/// The paths that have a value in the plan of a command line.
fn paths_set_by(words: &[&str]) -> BTreeSet<String> {
    let typed = Tare::try_parse_from(words).unwrap_or_else(|error| panic!("{words:?}: {error}"));
    let shown = match typed.command {
        Command::Http(args) => format!("{:#?}", args.plan_file().expect("a URL")),
        Command::Send(args) => format!("{:#?}", args.plan_file()),
        Command::Pace(args) => format!("{:#?}", args.plan_file()),
        Command::Capture(args) => format!("{:#?}", args.plan_file()),
        Command::Gaps(args) => format!("{:#?}", args.plan_file()),
        Command::Forward(args) => format!("{:#?}", args.plan_file()),
        Command::Sweep(args) => format!("{:#?}", args.plan_file()),
        other => panic!("{other:?} makes no plan"),
    };
    let mut open: Vec<(usize, &str)> = Vec::new();
    let mut paths = BTreeSet::new();
    for line in shown.lines() {
        let indent = line.len() - line.trim_start().len();
        let Some((name, value)) = line.trim_start().split_once(": ") else { continue };
        open.retain(|(outer, _)| *outer < indent);
        open.push((indent, name));
        if value != "None," {
            let names: Vec<&str> = open.iter().map(|(_, name)| *name).collect();
            paths.insert(names.join("."));
        }
    }
    paths
}

/// What a plan's field has as its flag must be one, or messages would name flags that do not exist.
#[test]
fn messages_name_flags_that_exist() {
    let tare = Tare::command();
    for (name, _) in PLANNED {
        let command = tare.find_subcommand(name).expect("a subcommand of that name");
        let with_short = |arg: &clap::Arg| {
            let long = arg.get_long().map(|long| format!("--{long}"));
            long.into_iter().chain(arg.get_short().map(|short| format!("-{short}"))).collect::<Vec<_>>()
        };
        let known: Vec<String> = command.get_arguments().flat_map(with_short).collect();
        // What is asked of every size is not asked of one.
        let is_left_out = |path: &str| name == "sweep" && path == "frames.size";
        for (path, words) in fields_of(name).into_iter().filter(|(path, _)| !is_left_out(path)) {
            for flag in flags_among(words) {
                assert!(known.contains(&flag.to_owned()), "{path}: tare {name} has no {flag}");
            }
        }
    }
}

/// Each flag sets the field that names it, and no other: so messages name the flag that was typed.
#[test]
fn each_flag_sets_its_own_field_alone() {
    let tare = Tare::command();
    for (name, needed) in PLANNED {
        let fields = fields_of(name);
        let base: Vec<&str> = ["tare", name].iter().chain(needed).copied().collect();
        let before = paths_set_by(&base);
        let is_of_the_plan = |arg: &&clap::Arg| {
            let heading = arg.get_help_heading();
            heading != Some("Output") && heading != Some("Trials")
        };
        let mut tried = 0;
        for arg in tare.find_subcommand(name).expect("it is there").get_arguments().filter(is_of_the_plan) {
            let Some(flag) = arg.get_long().map(|long| format!("--{long}")) else { continue };
            if OTHER_WAYS.contains(&flag.as_str()) || arg.is_hide_set() {
                continue;
            }
            tried += 1;
            let value = arg.get_action().takes_values().then_some("7");
            let words: Vec<&str> = base.iter().copied().chain([flag.as_str()]).chain(value).collect();
            let after = paths_set_by(&words);
            let of_flag = |path: &str| {
                let all = fields.iter().find(|(field, _)| *field == path).map(|(_, words)| *words);
                all.is_some_and(|words| flags_among(words).any(|word| word == flag))
            };
            // A table in the way to a field is set with it.
            let set: Vec<&String> = after
                .difference(&before)
                .filter(|path| !after.iter().any(|other| other.starts_with(&format!("{path}."))))
                .collect();
            assert!(
                matches!(set.as_slice(), [path] if of_flag(path)),
                "tare {name} {flag} sets {set:?}, which crates/plan has under another flag"
            );
        }
        assert!(tried >= 7, "tare {name}: {tried} flags of the plan");
    }
}
