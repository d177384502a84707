//! The specification, what is made from it, and the record.

use crate::json::state_name;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use tcp::{Flags, Record, State};

pub static SPEC: LazyLock<toml::Table> = LazyLock::new(|| read("spec/tcp.toml").parse().expect("TOML"));

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What `spec/tcp.py` says: whether it found what is made from the specification up to date, its complaints,
/// and the vectors.
static MADE: LazyLock<(bool, String, String)> = LazyLock::new(|| {
    let made = Command::new("python3").args(["spec/tcp.py", "--vectors"]).current_dir(root()).output();
    let made = made.expect("python3 runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (made.status.success(), text(made.stderr), text(made.stdout))
});

/// All vectors, whose expectations come from `spec/tcp_model.py` or were computed by hand.
pub fn vectors() -> Vec<serde_json::Value> {
    MADE.2.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn what_is_made_from_the_specification_is_up_to_date() {
    assert!(MADE.0, "{}", MADE.1);
}

#[test]
fn the_record_has_the_fields_of_the_specification() {
    let listed = format!("{:?}", Record::default());
    for field in SPEC["field"].as_array().unwrap() {
        let name = field["name"].as_str().unwrap();
        assert!(listed.contains(&format!(" {name}: ")), "the record lacks {name}: {listed}");
    }
    // And the name of the byte that has two of them.
    assert_eq!(listed.matches(": ").count(), SPEC["field"].as_array().unwrap().len() + 1);
    assert_eq!(size_of::<Record>(), 64);
    let bits: i64 =
        SPEC["field"].as_array().unwrap().iter().map(|field| field["bits"].as_integer().unwrap()).sum();
    assert!(bits <= 64 * 8, "{bits} bits");
}

#[test]
fn flags_and_states_are_those_of_the_specification() {
    let flags: Vec<&str> = SPEC["flags"].as_table().unwrap().keys().map(String::as_str).collect();
    assert_eq!(Flags::ALL.iter().filter(|(name, _)| flags.contains(name)).count(), flags.len());
    let states = SPEC["states"].as_table().unwrap();
    for state in [
        State::Closed,
        State::SynSent,
        State::Established,
        State::FinWait1,
        State::FinWait2,
        State::Closing,
        State::LastAck,
        State::TimeWait,
    ] {
        assert!(states.contains_key(state_name(state)));
    }
    assert_eq!(states.len(), 8);
}
