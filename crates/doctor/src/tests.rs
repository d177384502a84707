//! Every finding on a machine that has it and on one that has not: folders made for it, in the place of `/`.

mod cards;
mod kernel;
mod limits;
mod machine;
mod mending;

use crate::*;
use port::interface::{Coalescing, InterfaceSetup, Rings};

/// A machine of these files.
fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Subject) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let subject = Subject { files: Files::at(root.path()), ..Subject::default() };
    (root, subject)
}

#[track_caller]
fn one(subject: &Subject, id: &str) -> Finding {
    let findings = subject.findings();
    let found = findings.iter().find(|finding| finding.id == id);
    found
        .unwrap_or_else(|| panic!("no {id} among {:?}", findings.iter().map(|f| &f.id).collect::<Vec<_>>()))
        .clone()
}

#[track_caller]
fn of(files: &[(&str, &str)], id: &str) -> Finding {
    one(&machine(files).1, id)
}

/// It matters that much to that load, its reason has these words and a figure, and something can be done.
#[track_caller]
fn bad(finding: &Finding, load: Load, severity: Severity, words: &str) {
    assert_eq!(finding.weight.of(load), severity, "{finding:?}");
    assert!(finding.why.contains(words), "{words}: {finding:?}");
    assert!(!finding.source.is_empty() && finding.mend.is_some(), "{finding:?}");
}

#[track_caller]
fn fine(finding: &Finding, words: &str) {
    assert_eq!(finding.worst(), Severity::Fine, "{finding:?}");
    assert!(finding.found.contains(words), "{words}: {finding:?}");
}

#[track_caller]
fn unknown(finding: &Finding) {
    assert_eq!(finding.worst(), Severity::Unknown, "{finding:?}");
    assert!(finding.mend.is_none() && finding.why.is_empty(), "{finding:?}");
}

#[track_caller]
fn commands(finding: &Finding) -> (Vec<String>, Vec<String>) {
    let mend = finding.mend.as_ref().unwrap();
    (mend.commands(), mend.undoing())
}

/// `eth0` with index 7, of a card.
fn card() -> Device {
    Device {
        name: "eth0".into(),
        index: 7,
        driver: Some("ixgbe".into()),
        speed_bps: Some(10_000_000_000),
        receive_queues: 4,
        transmit_queues: 4,
        stamps_in_hardware: true,
        is_used: true,
        setup: InterfaceSetup {
            offloads: vec![("gro", false), ("tso", false)],
            rings: Some(Rings { receive: 2_048, receive_most: 4_096, transmit: 512, transmit_most: 4_096 }),
            coalescing: Some(Coalescing::default()),
            queue_length: Some(1_000),
            qdisc: Some("mq".into()),
            xdp: None,
        },
    }
}

/// A machine with that card and these files beside.
fn with_card(device: Device, files: &[(&str, &str)]) -> (tempfile::TempDir, Subject) {
    let own = [("sys/class/net/eth0/ifindex", "7"), ("proc/self/status", "Cpus_allowed_list:\t0-3\n")];
    let (root, subject) = machine(&[&own, files].concat());
    (root, Subject { devices: vec![device], ..subject })
}

const RANGE: &str = "proc/sys/net/ipv4/ip_local_port_range";

#[test]
fn of_an_empty_machine_everything_is_absent_and_nothing_is_guessed() {
    let (_root, subject) = machine(&[]);
    for finding in subject.findings() {
        assert!(finding.worst() <= Severity::Unknown, "{finding:?}");
        assert!(!finding.found.is_empty() && finding.mend.is_none(), "{finding:?}");
    }
    assert_eq!(Overview::read(&subject.files).line(), "");
}

#[test]
fn this_machine_is_examined_without_a_panic() {
    let subject = Subject::here();
    let findings = subject.findings();
    assert!(findings.len() > 30, "{}", findings.len());
    assert!(findings.iter().all(|finding| !finding.found.is_empty()));
    assert!(subject.measured.sleeps.is_some() && subject.measured.pauses.is_some());
    assert!(!Overview::read(&subject.files).line().is_empty());
}

#[test]
fn the_worst_comes_first_and_every_reason_has_a_figure() {
    let worse = Device {
        setup: InterfaceSetup {
            coalescing: Some(Coalescing { receive_us: 50, ..Coalescing::default() }),
            ..InterfaceSetup::default()
        },
        ..card()
    };
    let (_root, subject) = with_card(
        worse,
        &[(RANGE, "32768 60999"), ("proc/self/status", "CapEff:\t0\nCpus_allowed_list:\t0-3\n")],
    );
    let findings = subject.findings();
    let worst: Vec<Severity> = findings.iter().map(Finding::worst).collect();
    assert!(worst.is_sorted_by(|a, b| a >= b), "{worst:?}");
    assert_eq!(findings[0].id, "cap.net_raw");
    for finding in findings.iter().filter(|finding| finding.matters(None)) {
        assert!(finding.why.bytes().any(|byte| byte.is_ascii_digit()), "{finding:?}");
    }
    let ids: std::collections::BTreeSet<&str> = findings.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids.len(), findings.len(), "each finding has an id of its own");
}
