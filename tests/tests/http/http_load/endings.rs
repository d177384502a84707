//! When a run ends.

use super::*;

/// With thousands of ports in use the kernel looks for a free one for milliseconds, and thousands of departures
/// are overdue: the end is looked at all the same.
#[test]
fn a_rate_that_uses_up_the_ports_ends_in_time() {
    let _guard = beside_others();
    let target = Target::start("--no-truth --size 600");
    let (_folder, urls) = file_of(&[target.url()]);
    let ran = http_load("-rate 20000 -seconds 1", &urls).expect_a_run();
    let seconds = ran.numbers(" max parallel")[3];
    assert!((0.9..4.0).contains(&seconds), "{}{}", ran.out, ran.err);
}

/// 2 would say that nothing was sent.
#[test]
fn figures_that_cannot_be_printed_are_no_bad_input() {
    let _guard = beside_others();
    let target = Target::start("");
    let (_folder, urls) = file_of(&[target.url()]);
    let program =
        format!("'{}' http_load -parallel 1 -fetches 3 '{}' > /dev/full", binary().display(), urls.display());
    let ran = finish(start(Path::new("sh"), &["-c", &program]), Instant::now());
    assert!(matches!(ran.status, 1 | 4), "status {}: {}", ran.status, ran.err);
    assert!(ran.err.contains("cannot write to standard output"), "{}", ran.err);
    assert_eq!(target.truth().int("requests"), 3);
}

/// It was opened to see whether it names https, which waits for somebody to write into it.
#[test]
fn a_named_pipe_is_refused_at_once() {
    let _guard = beside_others();
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("urls");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut command = std::process::Command::new("timeout");
    command.args(["20"]).arg(binary()).args(["http_load", "-rate", "5", "-seconds", "1"]).arg(&pipe);
    let output = command.output().expect("timeout");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("is not a regular file"), "{said}");
}
