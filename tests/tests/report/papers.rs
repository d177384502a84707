//! What was asked for beside the summary: files for CI servers, and the address of the live page.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use tare_system_tests::process::text_of;
use tare_system_tests::{Run, Tare, Target, beside_others, scratch};

const LOAD: &str = "http --rate 100 --duration 0.2s --no-progress --quiet --accept-invalid";

fn tare(words: &str) -> Run {
    Tare::new(words).start().finish_unchecked()
}

#[test]
fn a_file_that_cannot_be_written_does_not_hide_what_the_run_came_to() {
    let _guard = beside_others();
    let target = Target::start("");
    let url = target.url();
    let folder = scratch();
    let junit = folder.path().join("j.xml");
    // /dev/full answers every write with ENOSPC.
    for (limit, code) in [("", 1), ("--fail-if latency.p50>1ns", 3)] {
        let words =
            format!("{LOAD} --no-save {limit} --markdown /dev/full --junit {} {url}", junit.display());
        let run = tare(&words);
        assert_eq!(run.code, Some(code), "{run}");
        assert!(run.stderr.contains("tare: --markdown: cannot write /dev/full: "), "{run}");
        assert!(text_of(&junit).contains("<testsuites"), "the other file is written");
        std::fs::remove_file(&junit).expect("it is there");
    }
    let run = tare(&format!("{LOAD} --no-save --markdown /dev/full http://127.0.0.1:1/"));
    assert_eq!(run.code, Some(5), "{run}");
    // Where nothing was sent yet, the command is wrong.
    let run = tare(&format!("{LOAD} --no-save --markdown {}/no/m.md {url}", folder.path().display()));
    assert_eq!(run.code, Some(2), "{run}");
}

#[test]
fn two_files_are_two_and_the_run_folder_may_have_them() {
    let _guard = beside_others();
    let target = Target::start("");
    let url = target.url();
    let folder = scratch();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::os::unix::fs::symlink(at("a"), at("b")).expect("a link");
    for other in ["a", "b", "./a"] {
        let run = tare(&format!("{LOAD} --no-save --junit {} --markdown {} {url}", at("a"), at(other)));
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains("one would overwrite the other"), "{run}");
    }
    let run = tare(&format!("{LOAD} --out {0} --junit {0}/a --markdown {0}/a {url}", at("same")));
    assert!(run.code == Some(2) && !folder.path().join("same").exists(), "{run}");
    let run = tare(&format!("{LOAD} --no-save --junit /dev/null --markdown /dev/null {url}"));
    assert_eq!(run.code, Some(0), "{run}");
    let run = tare(&format!("{LOAD} --out {0} --junit {0}/j.xml --markdown {0}/ci/m.md {url}", at("run")));
    assert_eq!(run.code, Some(0), "{run}");
    assert!(text_of(&folder.path().join("run/j.xml")).contains("<testsuites"));
    let page = text_of(&folder.path().join("run/ci/m.md"));
    assert!(page.contains("VALID") || page.contains("DEGRADED"), "{page}");
    // None of the run's own files may be written by another.
    let run = tare(&format!("{LOAD} --out {0} --junit {0}/result.json {url}", at("other")));
    assert!(run.code == Some(2) && run.stderr.contains("--junit and --out both write"), "{run}");
    assert!(!folder.path().join("other").exists());
}

#[test]
fn no_output_takes_the_place_of_an_input_and_none_waits_for_a_reader() {
    let _guard = beside_others();
    let target = Target::start("--no-truth");
    let folder = scratch();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("urls"), format!("{}\n", target.url())).expect("a file");
    for flag in ["--markdown", "--junit", "--to csv:", "--to parquet:"] {
        let space = if flag.ends_with(':') { "" } else { " " };
        let run = tare(&format!("{LOAD} --no-save {flag}{space}{0} {0}", at("urls")));
        assert!(run.code == Some(2) && run.stderr.contains("this command reads"), "{flag}: {run}");
        assert!(text_of(at("urls").as_ref()).starts_with("http"), "{flag}");
    }
    assert_eq!(tare(&format!("{LOAD} --out {} {}", at("run"), target.url())).code, Some(0));
    assert!(Command::new("mkfifo").arg(at("pipe")).status().expect("mkfifo runs").success());
    for words in [
        format!("{LOAD} --no-save --markdown {} {}", at("pipe"), target.url()),
        format!("report {} --markdown {}", at("run"), at("pipe")),
        format!("report {} --html -o {}", at("run"), at("pipe")),
        format!("capture mem:nobody -t 0.1 -w {}", at("pipe")),
        format!("target --for 1s --truth {}", at("pipe")),
        format!("target --for 1s --port-file {}", at("pipe")),
    ] {
        let run = tare(&words);
        assert!(run.code != Some(0) && run.stderr.contains("nobody reads"), "{words}: {run}");
    }
}

#[test]
fn a_report_refuses_one_file_for_both_before_it_writes_anything() {
    let _guard = beside_others();
    let target = Target::start("");
    let folder = scratch();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let run = tare(&format!("{LOAD} --out {} {}", at("run"), target.url()));
    assert_eq!(run.code, Some(0), "{run}");
    for other in ["a", "./a"] {
        let run = tare(&format!("report {} --junit {} --markdown {}", at("run"), at("a"), at(other)));
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains("one would overwrite the other; name different files"), "{run}");
        assert!(run.stdout.is_empty() && !folder.path().join("a").exists(), "{other}: {run}");
    }
    let run = tare(&format!("report {} --junit {} --markdown {}", at("run"), at("a"), at("c")));
    assert_eq!(run.code, Some(0), "{run}");
    assert!(text_of(&folder.path().join("a")).contains("<testsuites"));
    assert!(!text_of(&folder.path().join("c")).contains("<testsuites"));
}

#[test]
fn a_file_name_that_is_not_utf_8_is_a_name_like_any_other() {
    let _guard = beside_others();
    let target = Target::start("");
    let folder = scratch();
    // "café" in ISO 8859-1.
    let junit = folder.path().join(OsStr::from_bytes(b"caf\xe9.xml"));
    let out = folder.path().join("run");
    let output = Command::new(tare_system_tests::binary())
        .args(LOAD.split(' '))
        .args([OsStr::new("--out"), out.as_os_str(), OsStr::new("--junit"), junit.as_os_str()])
        .arg(target.url())
        .env("XDG_STATE_HOME", folder.path())
        .output()
        .expect("tare can be run");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text_of(&junit).contains("<testsuites"));
    let result: serde_json::Value =
        serde_json::from_str(&text_of(&out.join("result.json"))).expect("a result is JSON");
    let command = result["command"].as_str().expect("it has the command");
    assert!(command.contains("--junit") && command.contains("caf\u{fffd}.xml"), "{command}");
}

/// Results and lists are text: a folder's name would stand there as another one.
#[test]
fn a_run_folder_whose_name_is_not_utf_8_is_refused() {
    let _guard = beside_others();
    let target = Target::start("");
    let folder = scratch();
    let odd = OsStr::from_bytes(b"caf\xe9");
    let in_odd = folder.path().join(odd);
    let said = |words: &str, more: &[&OsStr], at: &Path| {
        let tare = Command::new(tare_system_tests::binary())
            .args(words.split(' '))
            .args(more)
            .current_dir(at)
            .env("XDG_STATE_HOME", folder.path())
            .output()
            .expect("tare can be run");
        (tare.status.code(), String::from_utf8_lossy(&tare.stderr).into_owned())
    };
    let url = target.url();
    for words in [LOAD, "send mem:x -n 1", "trials -n 2"] {
        let command: &[&OsStr] = if words.starts_with("trials") {
            &[OsStr::new("--out"), odd, OsStr::new("--"), OsStr::new("http"), OsStr::new(&url)]
        } else if words == LOAD {
            &[OsStr::new("--out"), odd, OsStr::new(&url)]
        } else {
            &[OsStr::new("--out"), odd]
        };
        let (code, stderr) = said(words, command, folder.path());
        assert_eq!(code, Some(2), "{words}: {stderr}");
        assert!(stderr.contains("caf\\xe9: the path is not UTF-8"), "{words}: {stderr}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0);
    // So is one below such a folder.
    std::fs::create_dir(&in_odd).expect("a folder");
    let (code, stderr) = said(LOAD, &[OsStr::new("--out"), OsStr::new("run"), OsStr::new(&url)], &in_odd);
    assert!(code == Some(2) && stderr.contains("the path is not UTF-8"), "{stderr}");
    assert_eq!(std::fs::read_dir(&in_odd).expect("it is there").count(), 0);
    // A flag that takes only text says which word is none.
    let (code, stderr) = said("report", &[odd], folder.path());
    assert!(code == Some(2) && stderr.contains("'caf\\xe9' is not UTF-8"), "{stderr}");
}

#[test]
fn the_live_pages_address_is_told_and_understood() {
    let _guard = beside_others();
    let target = Target::start("");
    let url = target.url();
    let run = tare(&format!("{LOAD} --no-save --live=0 {url}"));
    assert!(run.code == Some(0) && run.stderr.contains("live: http://127.0.0.1:"), "{run}");
    let run = tare(&format!("{LOAD} --no-save --live :9000 {url}"));
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("write the address as part of the flag: '--live=:9000'"), "{run}");
    let run = tare(&format!("{LOAD} --no-save --live=0.0.0.0:9000 {url}"));
    assert!(run.code == Some(2) && run.stderr.contains("--live 0.0.0.0:9000: anyone who reaches"), "{run}");
}
