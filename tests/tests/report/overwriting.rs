//! Files that a command reads, or that are there before it: none is overwritten by its outputs, and none is
//! emptied by a command that is then refused.

use std::fs::{read, read_to_string, write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use tare_system_tests::{Run, Tare, Target, beside_others, binary, scratch};

const LOAD: &str = "http --rate 100 --duration 0.2s --no-progress --quiet --accept-invalid";

fn tare(words: &str) -> Run {
    Tare::new(words).start().finish_unchecked()
}

/// A folder with a capture of five frames.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(scratch());
        let words = format!("send pcap:{} --rate 1000 --frames 5 --no-save -q", folder.at("x"));
        let run = tare(&words);
        assert!(run.code != Some(2) && !read(folder.at("x")).expect("a capture").is_empty(), "{run}");
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn at(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// The command is refused, and the file is as it was. `@` is the folder.
    fn keeps(&self, name: &str, words: &str, why: &str) {
        let before = read(self.at(name)).expect("the file is there");
        let words = words.replace('@', &self.0.path().display().to_string());
        let run = tare(&words);
        assert_eq!(run.code, Some(2), "{words}: {run}");
        assert!(run.stderr.contains(why), "{words}: {run}");
        assert_eq!(read(self.at(name)).expect("it is still there"), before, "{words}");
    }
}

#[test]
fn what_a_command_reads_is_not_overwritten() {
    let _guard = beside_others();
    let target = Target::start("--no-truth");
    let folder = Folder::new();
    let url = target.url();
    write(folder.at("s.lua"), "function burst(b) end\n").expect("a file");
    write(folder.at("plan.toml"), format!("url = \"{url}\"\n[stop]\nrequests = 2\n")).expect("a file");
    write(folder.at("token"), "0123456789abcdef\n").expect("a file");
    write(folder.at("delays"), "1ms\n").expect("a file");
    for name in ["ca", "key", "cert"] {
        write(folder.at(name), "-----\n").expect("a file");
    }
    for (name, words) in [
        ("x", "capture @/x -w @/x --no-save"),
        ("x", "capture pcap,interface=0:@/x -w @/./x --no-save"),
        ("x", "capture record,file=@/x:pcap:@/x --no-save"),
        ("x", "gaps @/x --junit @/x --no-save"),
        ("x", "gaps @/x --markdown @/x --no-save"),
        ("x", "send pcap:@/x --replay @/x --no-save"),
        ("x", "send pcap:@/x --pcap @/x --rate 1000 --no-save"),
        ("s.lua", "send pcap:@/o --rate 1000 --frames 5 --script @/s.lua --junit @/s.lua --no-save"),
        ("plan.toml", "run @/plan.toml --junit @/plan.toml --no-save"),
        ("plan.toml", "run @/plan.toml --to csv:@/plan.toml --no-save"),
        ("delays", "target --for 0.1s --delay file:@/delays --summary @/delays"),
        ("key", "target --for 0.1s --cert @/cert --key @/key --truth @/key"),
    ] {
        folder.keeps(name, words, "and would overwrite it; name another file");
    }
    let why = ": this command reads ";
    folder.keeps("ca", &format!("{LOAD} --no-save --ca @/ca --junit @/ca {url}"), why);
    let token = format!("{LOAD} --no-save --live=127.0.0.1:0 --live-token=@@/token --markdown @/token {url}");
    let at = folder.0.path().display().to_string();
    let token = token.replace("@@", &format!("\u{1}{at}")).replace('@', &at).replace('\u{1}', "@");
    let before = read(folder.at("token")).expect("a file");
    let run = tare(&token);
    assert!(run.code == Some(2) && run.stderr.contains(why), "{run}");
    assert_eq!(read(folder.at("token")).expect("a file"), before);
    for name in ["a", "b"] {
        assert_eq!(tare(&format!("{LOAD} -o {} {url}", folder.at(name))).code, Some(0));
    }
    for words in [
        "report @/a -o @/a/result.json",
        "report @/a --junit @/a/result.json",
        "report @/a --markdown @/a/result.json",
        "compare @/b @/a --anyway --html @/a/result.json",
    ] {
        folder.keeps("a/result.json", words, why);
    }
    // Its page may be drawn again.
    let run = tare(&format!("report {0} --html -o {0}/report.html", folder.at("a")));
    assert_eq!(run.code, Some(0), "{run}");
}

#[test]
fn a_command_that_is_refused_empties_nothing() {
    let _guard = beside_others();
    let folder = Folder::new();
    std::fs::copy(folder.at("x"), folder.at("keep")).expect("a copy");
    std::fs::create_dir(folder.at("full")).expect("a folder");
    write(folder.at("full/file"), "").expect("a file");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let live = format!("--live={}", taken.local_addr().expect("it has one"));
    for load in [
        "send pcap:@/keep --rate 1000 --frames 2",
        "capture @/x -w @/keep",
        "capture record,file=@/keep:pcap:@/x",
    ] {
        folder.keeps("keep", &format!("{load} -o @/full"), "is not empty");
        folder.keeps("keep", &format!("{load} --no-save {live}"), "in use");
    }
    folder.keeps("keep", "send pcap:@/keep --rate 1000 --receive nosuch0 --no-save", "nosuch0");
    // One that is carried out leaves nothing of what was there, also without a frame.
    let words = format!("capture record,file={}:mem:nobody -t 0.1 --no-save -q", folder.at("keep"));
    let run = tare(&words);
    let length = |name: &str| read(folder.at(name)).expect("a capture").len();
    assert!(run.code != Some(2) && length("keep") < length("x"), "{run}");
    std::fs::copy(folder.at("x"), folder.at("keep")).expect("a copy");
    let run = tare(&format!("capture {} -w {} --frames 1 --no-save -q", folder.at("x"), folder.at("keep")));
    assert_ne!(run.code, Some(2), "{run}");
    assert!(length("keep") < length("x"), "{run}");
    let target = Target::start("--no-truth");
    let run = tare(&format!("{LOAD} -o {} {}", folder.at("run"), target.url()));
    assert_eq!(run.code, Some(0), "{run}");
    folder.keeps("keep", "report @/run --junit @/keep -o @/no/such", "No such file");
}

#[test]
fn two_outputs_are_two_files_and_devices_take_both() {
    let _guard = beside_others();
    let target = Target::start("--no-truth");
    let folder = Folder::new();
    for words in [
        "capture @/x -w @/y --junit @/y --no-save",
        "send pcap:@/y --rate 1000 --frames 2 --junit @/./y --no-save",
        "target --for 0.1s --summary @/y --truth @/y",
    ] {
        let words = words.replace('@', &folder.0.path().display().to_string());
        let run = tare(&words);
        assert!(
            run.code == Some(2) && run.stderr.contains("one would overwrite the other"),
            "{words}: {run}"
        );
        assert!(!folder.path("y").exists(), "{words}");
    }
    let sinks = "--to csv:/dev/null --to jsonl:/dev/null";
    let run = tare(&format!("{LOAD} --no-save {sinks} {}", target.url()));
    assert_eq!(run.code, Some(0), "{run}");
    let run =
        tare(&format!("{LOAD} --no-save --to csv:{0} --to jsonl:{0} {1}", folder.at("z"), target.url()));
    assert_eq!(run.code, Some(2), "{run}");
}

#[test]
fn what_is_open_already_is_written_on() {
    let _guard = beside_others();
    let target = Target::start("--no-truth");
    let folder = scratch();
    let log = folder.path().join("log");
    for (to, words) in [
        (">> log", "--junit /dev/stdout"),
        (">> log", "--markdown /proc/self/fd/1"),
        ("5>> log", "--junit /dev/fd/5"),
    ] {
        write(&log, "first\n").expect("a file");
        let script = format!("cd \"$0\" && exec \"$1\" {LOAD} --no-save {words} {} {to}", target.url());
        let status = Command::new("sh").args(["-c", &script]).arg(folder.path()).arg(binary()).status();
        assert!(status.expect("a shell").success(), "{words}");
        let text = read_to_string(&log).expect("a log");
        assert!(text.starts_with("first\n") && text.len() > 100, "{words}: {text}");
    }
    // Standard output has room for one.
    let run = tare(
        &format!("{LOAD} --no-save --json --junit /dev/stdout {}", target.url()).replace("--quiet ", ""),
    );
    assert!(run.code == Some(2) && run.stderr.contains("standard output"), "{run}");
}
