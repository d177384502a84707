//! What is changed is written down first, and taken back.

use super::*;
use crate::fix::{Mender, Undone, steps};

/// A machine whose settings can be written, and a folder for the record.
fn mendable() -> (tempfile::TempDir, Subject, tempfile::TempDir) {
    let (root, subject) = machine(&[
        (RANGE, "32768\t60999\n"),
        ("proc/sys/net/core/bpf_jit_enable", "0\n"),
        ("proc/sys/kernel/random/boot_id", "one\n"),
    ]);
    (root, subject, tempfile::tempdir().unwrap())
}

#[test]
fn what_is_mended_is_written_down_and_taken_back() {
    let (_root, subject, state) = mendable();
    let steps = steps(&subject.findings(), None, &[]);
    assert_eq!(steps.iter().map(|step| step.id.as_str()).collect::<Vec<_>>(), ["bpf.jit", "net.ports"]);
    let mut mender = Mender::open(subject.files.clone(), state.path()).unwrap();
    for step in &steps {
        mender.apply(step).unwrap();
    }
    assert_eq!(subject.files.sysctl("net.ipv4.ip_local_port_range").unwrap(), "10000 65535");
    fine(&one(&subject, "net.ports"), "55536");
    // Another process takes it back.
    let mut later = Mender::open(subject.files.clone(), state.path()).unwrap();
    assert_eq!(later.made(), 2);
    let undone = later.undo().unwrap();
    assert!(undone.iter().all(|(_, undone)| *undone == Undone::Restored), "{undone:?}");
    assert_eq!(undone[0].0.path, RANGE, "the last is taken back first");
    assert_eq!(subject.files.sysctl("net.ipv4.ip_local_port_range").unwrap(), "32768 60999");
    assert!(!later.path().exists(), "nothing is left to take back");
    assert_eq!(later.undo().unwrap(), []);
}

#[test]
fn only_what_is_named_or_matters_to_the_load_is_mended() {
    let (_root, subject, _state) = mendable();
    let ids = |load, only: &[String]| -> Vec<String> {
        steps(&subject.findings(), load, only).into_iter().map(|step| step.id).collect()
    };
    assert_eq!(ids(Some(Load::Http), &[]), ["net.ports"]);
    assert_eq!(ids(Some(Load::Packets), &[]), ["bpf.jit"]);
    assert_eq!(ids(None, &["net.ports".into()]), ["net.ports"]);
    assert_eq!(ids(None, &["clock.source".into()]), [] as [&str; 0]);
}

#[test]
fn what_others_changed_since_is_left_alone() {
    let (root, subject, state) = mendable();
    let mut mender = Mender::open(subject.files.clone(), state.path()).unwrap();
    for step in &steps(&subject.findings(), None, &[]) {
        mender.apply(step).unwrap();
    }
    std::fs::write(root.path().join(RANGE), "5000 6000\n").unwrap();
    std::fs::write(root.path().join("proc/sys/net/core/bpf_jit_enable"), "0\n").unwrap();
    let undone: Vec<Undone> = mender.undo().unwrap().into_iter().map(|(_, undone)| undone).collect();
    assert_eq!(undone, [Undone::Changed { now: "5000 6000".into() }, Undone::Already]);
    assert_eq!(subject.files.sysctl("net.ipv4.ip_local_port_range").unwrap(), "5000 6000");
}

#[test]
fn mending_twice_goes_back_to_what_was_first() {
    let (_root, subject, state) = mendable();
    let step = |before: &str, after: &str| fix::Step {
        id: "net.ports".into(),
        change: Change { path: RANGE.into(), before: before.into(), after: after.into() },
    };
    let mut mender = Mender::open(subject.files.clone(), state.path()).unwrap();
    mender.apply(&step("32768 60999", "2000 65535")).unwrap();
    mender.apply(&step("2000 65535", "1024 65535")).unwrap();
    assert_eq!(mender.made(), 1);
    mender.undo().unwrap();
    assert_eq!(subject.files.sysctl("net.ipv4.ip_local_port_range").unwrap(), "32768 60999");
}

#[test]
fn after_a_reboot_there_is_nothing_to_undo() {
    let (root, subject, state) = mendable();
    let mut mender = Mender::open(subject.files.clone(), state.path()).unwrap();
    mender.apply(&steps(&subject.findings(), None, &["net.ports".into()])[0]).unwrap();
    std::fs::write(root.path().join("proc/sys/kernel/random/boot_id"), "two\n").unwrap();
    assert_eq!(mender.undo().unwrap()[0].1, Undone::Rebooted);
    assert_eq!(subject.files.sysctl("net.ipv4.ip_local_port_range").unwrap(), "10000 65535");
}

/// The kernel gives an inode's number again as soon as its namespace is gone.
#[test]
fn a_namespace_that_got_the_name_of_one_that_is_gone_keeps_its_settings() {
    let (root, subject, state) = mendable();
    let link = root.path().join("proc/self/ns/net");
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("net:[1]", &link).unwrap();
    let open = |cookie| Mender::open(subject.files.clone(), state.path()).unwrap().within(cookie);
    open(7).apply(&steps(&subject.findings(), None, &["net.ports".into()])[0]).unwrap();
    let mut later = open(8);
    assert_eq!(later.undo().unwrap()[0].1, Undone::Elsewhere { namespace: "net:[1]".into() });
    assert_eq!(subject.files.sysctl("net.ipv4.ip_local_port_range").unwrap(), "10000 65535");
    assert_eq!(open(7).undo().unwrap()[0].1, Undone::Restored);
}

#[test]
fn another_namespaces_settings_are_undone_there_only() {
    let (root, subject, state) = mendable();
    let link = root.path().join("proc/self/ns/net");
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("net:[1]", &link).unwrap();
    let mut mender = Mender::open(subject.files.clone(), state.path()).unwrap();
    mender.apply(&steps(&subject.findings(), None, &["net.ports".into()])[0]).unwrap();
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("net:[2]", &link).unwrap();
    assert_eq!(mender.undo().unwrap()[0].1, Undone::Elsewhere { namespace: "net:[1]".into() });
    assert_eq!(mender.made(), 1, "it stays written down");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("net:[1]", &link).unwrap();
    assert_eq!(mender.undo().unwrap()[0].1, Undone::Restored);
}

#[test]
fn what_cannot_be_written_leaves_no_record() {
    let (_root, subject, state) = mendable();
    let mut mender = Mender::open(subject.files.clone(), state.path()).unwrap();
    let step = |path: &str| fix::Step {
        id: "x".into(),
        change: Change { path: path.into(), before: "0".into(), after: "1".into() },
    };
    assert!(mender.apply(&step("proc/sys/net/absent")).is_err());
    for outside in ["etc/passwd", "proc/sys/../../etc/passwd", "proc/1/oom_score_adj"] {
        let error = mender.apply(&step(outside)).unwrap_err().to_string();
        assert!(error.contains("not a kernel setting"), "{error}");
    }
    assert!(!mender.path().exists());
}

#[test]
fn a_record_that_is_damaged_is_refused() {
    let state = tempfile::tempdir().unwrap();
    for text in ["{", "{\"schema\":\"tare.mended/9\",\"changes\":[]}"] {
        std::fs::write(state.path().join("mended.json"), text).unwrap();
        let error = Mender::open(Files::default(), state.path()).unwrap_err().to_string();
        assert!(error.contains("mended.json: not a record"), "{error}");
    }
}
