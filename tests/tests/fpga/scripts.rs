//! How the hardware's tests run: a part is left out only if the same sources and tools have passed it
//! (`scripts/stamped.py`), and stands still while a test measures time (`scripts/beside.py`).

use rustix::process::Signal;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tare_system_tests::process::wait_until;
use tare_system_tests::{Process, beside_others, need, scratch};

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("scripts").join(name)
}

/// A folder with sources, a stamp, and a check that counts how often it runs.
struct Check {
    folder: tempfile::TempDir,
    tools: &'static str,
    status: &'static str,
    /// A shell command of the check, before it ends.
    also: &'static str,
}

impl Check {
    fn new() -> Self {
        let check = Self { folder: scratch(), tools: "solver 1", status: "0", also: ":" };
        std::fs::create_dir(check.path("rtl")).expect("a scratch folder");
        check.write("rtl/a.sv", "module a;");
        check.write("rtl/b.sv", "module b;");
        check
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a scratch file");
    }

    /// (whether it ran, what was said)
    fn run(&self) -> (bool, String) {
        let runs = || std::fs::read_to_string(self.path("runs")).unwrap_or_default().lines().count();
        let before = runs();
        let output = Command::new(script("stamped.py"))
            .current_dir(self.folder.path())
            .env_remove("STAMPS")
            .args(["stamps/a", self.tools, "rtl"])
            .args(["--", "sh", "-c", "echo run >>runs; eval \"$2\"; echo 3 passed, 0 failed; exit $1"])
            .args(["sh", self.status, self.also])
            .output()
            .expect("a shell can be run");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.code().map(|code| code.to_string()).as_deref(), Some(self.status), "{said}");
        (runs() > before, said)
    }

    fn has_passed() -> Self {
        let check = Self::new();
        assert!(check.run().0, "there is no stamp yet");
        check
    }

    #[track_caller]
    fn runs_again(&self) {
        let (ran, said) = self.run();
        assert!(ran, "{said}");
    }
}

#[test]
fn what_has_passed_does_not_run_again_and_says_its_totals() {
    let _shared = beside_others();
    let (ran, said) = Check::has_passed().run();
    assert!(
        !ran && said.starts_with("unchanged since it passed") && said.ends_with("3 passed, 0 failed\n"),
        "{said}"
    );
}

#[test]
fn a_stamp_of_other_sources_is_refused() {
    let _shared = beside_others();
    let other = Check::has_passed();
    // Beside the build, and as a fresh clone has it.
    for place in ["stamps", "hdl/stamps"] {
        let stamped = || {
            let check = Check::new();
            std::fs::create_dir_all(check.path(place)).expect("a scratch folder");
            std::fs::copy(other.path("stamps/a"), check.path(place).join("a")).expect("a stamp");
            check
        };
        assert!(!stamped().run().0, "the same sources");
        let mut check = stamped();
        check.write("rtl/a.sv", "module a(input logic clk_i);");
        check.runs_again();
        assert!(!check.run().0);
        check = stamped();
        check.tools = "solver 2";
        check.runs_again();
    }
}

#[test]
fn every_change_of_a_source_or_tool_makes_it_run() {
    let _shared = beside_others();
    let mut check = Check::has_passed();
    check.write("rtl/b.sv", "module b; ");
    check.runs_again();
    check.write("rtl/c.sv", "");
    check.runs_again();
    std::fs::rename(check.path("rtl/c.sv"), check.path("rtl/d.sv")).expect("a scratch file");
    check.runs_again();
    std::fs::remove_file(check.path("rtl/d.sv")).expect("a scratch file");
    check.runs_again();
    check.tools = "solver 2";
    check.runs_again();
    assert!(!check.run().0);
}

#[test]
fn what_has_failed_or_left_no_readable_stamp_runs_again() {
    let _shared = beside_others();
    let mut check = Check::new();
    check.status = "1";
    check.runs_again();
    check.runs_again();
    check.status = "0";
    check.runs_again();
    check.write("stamps/a", "");
    check.runs_again();
    std::fs::remove_file(check.path("stamps/a")).expect("a stamp");
    check.runs_again();
}

#[test]
fn what_has_failed_is_not_what_a_fresh_clone_has() {
    let _shared = beside_others();
    let other = Check::has_passed();
    let mut check = Check::has_passed();
    check.write("rtl/b.sv", "module b; ");
    check.runs_again();
    // The sources are again those of the stamp in the repository, and something else has broken.
    std::fs::create_dir_all(check.path("hdl/stamps")).expect("a scratch folder");
    std::fs::copy(other.path("stamps/a"), check.path("hdl/stamps/a")).expect("a stamp");
    check.write("rtl/b.sv", "module b;");
    check.status = "1";
    check.runs_again();
    check.runs_again();
}

#[test]
fn whatever_a_check_reads_belongs_to_its_sources() {
    let _shared = beside_others();
    let check = Check::new();
    check.write("rtl/a b\nc.sv", "module c;");
    check.write("elsewhere.sv", "module d;");
    std::os::unix::fs::symlink("../elsewhere.sv", check.path("rtl/d.sv")).expect("a link");
    check.runs_again();
    check.write("rtl/a b\nc.sv", "module c(input logic clk_i);");
    check.runs_again();
    check.write("elsewhere.sv", "module d(input logic clk_i);");
    check.runs_again();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(check.path("rtl/a.sv"), executable).expect("a scratch file");
    check.runs_again();
    assert!(!check.run().0);
}

#[test]
fn sources_that_changed_while_they_were_checked_have_not_passed() {
    let _shared = beside_others();
    let mut check = Check::new();
    check.also = "echo module x >rtl/a.sv; sleep 0.01; printf 'module a;' >rtl/a.sv";
    check.runs_again();
    check.also = ":";
    check.runs_again();
}

#[test]
fn what_runs_beside_the_tests_stands_still_while_one_is_alone() {
    let _shared = beside_others();
    need("python3");
    let folder = scratch();
    let path = |name: &str| folder.path().join(name);
    let length = || std::fs::metadata(path("log")).map_or(0, |log| log.len());
    let busy = format!("while :; do echo x >>{}; sleep 0.01; done", path("log").display());
    let argv = [script("beside.py").display().to_string(), folder.path().display().to_string()];
    let argv = [&argv[..], &["sh".to_owned(), "-c".to_owned(), busy]].concat();
    let mut beside = Process::start(&argv, |_| {});
    wait_until("its first line", || length() > 0);

    let gate = File::create(path("system-tests.gate")).expect("a lock file");
    gate.lock().expect("a local file can be locked");
    let lock = File::create(path("system-tests.lock")).expect("a lock file");
    lock.lock().expect("a local file can be locked");
    drop(gate);
    let still = length();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(length(), still);

    drop(lock);
    wait_until("its next line", || length() > still);
    beside.end();
    let ended = length();
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(length(), ended, "what it started ends with it");
}

#[test]
fn nothing_stays_behind_what_runs_beside_the_tests_however_it_ends() {
    let _shared = beside_others();
    need("python3");
    for signal in [Signal::HUP, Signal::TERM, Signal::KILL] {
        let folder = scratch();
        let pid = folder.path().join("pid");
        let busy = format!("sleep 60 & echo $! >{}; wait", pid.display());
        let argv = [script("beside.py").display().to_string(), folder.path().display().to_string()];
        let argv = [&argv[..], &["sh".to_owned(), "-c".to_owned(), busy]].concat();
        let mut beside = Process::start(&argv, |_| {});
        let read = || std::fs::read_to_string(&pid).unwrap_or_default().trim().to_owned();
        wait_until("its process", || !read().is_empty());
        let stat = format!("/proc/{}/stat", read());
        let state =
            || std::fs::read_to_string(&stat).ok().and_then(|text| text.rsplit(") ").next()?.chars().next());

        let gate = File::create(folder.path().join("system-tests.gate")).expect("a lock file");
        gate.lock().expect("a local file can be locked");
        wait_until("it stands still", || state() == Some('T'));
        beside.signal(signal);
        wait_until("it is gone", || matches!(state(), None | Some('Z')));
        beside.end();
    }
}
