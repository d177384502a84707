//! `tare runs`: what was kept is found, tagged and removed, also by many programs at once.

use serde_json::Value;
use std::path::{Path, PathBuf};
use tare_system_tests::process::wait_until;
use tare_system_tests::{Run, Running, Tare, Target, beside_others, scratch};

/// A state folder of this test, and the runs in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(scratch())
    }

    fn command(&self, arguments: &str) -> Tare {
        Tare::new(arguments).env("XDG_STATE_HOME", self.0.path().display().to_string())
    }

    fn tare(&self, arguments: &str) -> Run {
        self.command(arguments).start().finish_unchecked()
    }

    /// What it prints; it must succeed.
    #[track_caller]
    fn says(&self, arguments: &str) -> String {
        let run = self.tare(arguments);
        assert_eq!(run.code, Some(0), "{run}");
        run.stdout
    }

    /// What it complains of; it must end with status 2.
    #[track_caller]
    fn refuses(&self, arguments: &str) -> String {
        let run = self.tare(arguments);
        assert_eq!(run.code, Some(2), "{run}");
        run.stderr
    }

    /// A short run, kept where `options` say.
    #[track_caller]
    fn load(&self, target: &Target, options: &str) {
        self.says(&format!("http {} --rate 100 --duration 0.1s -q --accept-invalid {options}", target.url()));
    }

    fn list(&self) -> Vec<Value> {
        let text = self.says("runs --json");
        let listing: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(listing["schema"], "tare.runs/1");
        listing["runs"].as_array().unwrap().clone()
    }

    fn runs_folder(&self) -> PathBuf {
        self.0.path().join("tare/runs")
    }
}

#[test]
fn what_was_kept_is_found_tagged_and_removed() {
    let _guard = beside_others();
    let (home, target) = (Home::new(), Target::start(""));
    assert!(home.says("runs").starts_with("There are no runs yet"), "{}", home.says("runs"));
    assert!(home.refuses("runs show last").contains("there is no run yet"));
    for _ in 0..3 {
        home.load(&target, "");
    }
    let runs = home.list();
    assert_eq!(runs.len(), 3);
    for run in &runs {
        let result = home.runs_folder().join(run["name"].as_str().unwrap()).join("result.json");
        let result: Value = serde_json::from_str(&std::fs::read_to_string(result).unwrap()).unwrap();
        let (told, kept) = (&run["achieved_per_s"], &result["rate"]["achieved_per_s"]);
        assert!(run["state"] == "finished" && told.is_number(), "{run}");
        assert_eq!(told.as_f64(), kept.as_f64());
    }
    let name = |at: usize| runs[at]["name"].as_str().unwrap().to_owned();
    // The three ways to mean the middle one.
    let short = name(1).rsplit('-').next().unwrap().to_owned();
    assert_eq!(home.says("runs tag last~1 +before"), format!("{}: before\n", name(1)));
    for run in ["before", "last~1", &short, &name(1)] {
        let shown = home.says(&format!("runs show {run}"));
        assert!(shown.contains(&name(1)) && shown.contains("Latency") | shown.contains("latency"), "{shown}");
    }
    let list = home.says("runs --tag before");
    assert!(list.contains("before") && list.lines().count() == 2, "{list}");
    assert_eq!(home.says("runs --match no-such-thing"), "None of 3 runs matches.\n");
    // Without its index everything is as before.
    std::fs::remove_file(home.0.path().join("tare/index.sqlite")).unwrap();
    assert_eq!(home.list().len(), 3);
    // The tagged one is spared.
    assert!(home.says("runs prune --keep 1 --dry-run").contains(&format!("would delete {}", name(2))));
    assert!(home.says("runs prune --keep 1").contains("deleted"));
    assert_eq!(home.list().len(), 2);
    assert!(home.refuses("runs rm befor").contains("did you mean before?"));
    home.says("runs rm before");
    assert_eq!(home.list().len(), 1);
    assert_eq!(std::fs::read_dir(home.runs_folder()).unwrap().count(), 1);
}

#[test]
fn a_run_elsewhere_is_listed_and_only_tares_files_are_removed() {
    let _guard = beside_others();
    let (home, target) = (Home::new(), Target::start(""));
    let place = scratch();
    let out = place.path().join("out");
    home.load(&target, &format!("--out {}", out.display()));
    assert_eq!(home.list()[0]["folder"], out.canonicalize().unwrap().display().to_string());
    // A run that its program did not make here is found by its path.
    let copy = place.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    std::fs::copy(out.join("result.json"), copy.join("result.json")).unwrap();
    home.says(&format!("runs show {}", copy.display()));
    std::fs::write(out.join("mine.txt"), "mine").unwrap();
    let removed = home.tare("runs rm last");
    assert!(
        removed.stderr.contains("1 file in it are not Tare's") || removed.stderr.contains("not Tare's"),
        "{removed}"
    );
    assert!(out.join("mine.txt").exists() && !out.join("result.json").exists());
    assert!(home.list().is_empty());
}

#[test]
fn a_run_that_goes_on_is_not_removed_and_a_killed_one_says_so() {
    let _guard = beside_others();
    let (home, target) = (Home::new(), Target::start(""));
    let command = format!("http {} --rate 100 --duration 30s -q", target.url());
    let mut running: Running = home.command(&command).start();
    wait_until("the run's entry", || home.list().iter().any(|run| run["state"] == "running"));
    assert!(home.refuses("runs rm last").contains("is still running"), "it must not be removed");
    assert_eq!(home.says("runs prune --keep 0"), "There is nothing to delete.\n");
    running.process.kill();
    let list = home.list();
    assert_eq!(list[0]["state"], "killed", "{list:?}");
    assert!(home.says("runs --verdict killed").contains("killed"));
    home.says("runs rm last");
    assert_eq!(std::fs::read_dir(home.runs_folder()).unwrap().count(), 0);
}

#[test]
fn many_at_once_lose_nothing() {
    let _guard = beside_others();
    let (home, target) = (Home::new(), Target::start(""));
    for _ in 0..4 {
        home.load(&target, "");
    }
    let keep = home.list()[0]["name"].as_str().unwrap().to_owned();
    let lost = home.list()[3]["name"].as_str().unwrap().to_owned();
    // Half of them find no index, and all write to it.
    std::fs::remove_file(home.0.path().join("tare/index.sqlite")).unwrap();
    let mut all: Vec<(String, Running)> = Vec::new();
    for at in 0..8 {
        for command in [format!("runs tag {keep} +t{at}"), "runs --json".to_owned()] {
            all.push((command.clone(), home.command(&command).start()));
        }
    }
    let command = format!("runs rm {lost}");
    all.push((command.clone(), home.command(&command).start()));
    for (command, running) in all {
        let run = running.finish_unchecked();
        assert_eq!(run.code, Some(0), "{command}: {run}");
    }
    let list = home.list();
    assert_eq!(list.len(), 3);
    let expected: Vec<Value> = (0..8).map(|at| format!("t{at}").into()).collect();
    assert_eq!(list[0]["tags"].as_array().unwrap(), &expected);
}

#[test]
fn a_link_in_the_runs_folder_leads_nowhere() {
    let _guard = beside_others();
    let (home, target) = (Home::new(), Target::start(""));
    let place = scratch();
    let out = place.path().join("precious");
    home.load(&target, &format!("--out {}", out.display()));
    home.load(&target, "");
    std::os::unix::fs::symlink(&out, home.runs_folder().join("link")).unwrap();
    let said = home.refuses("runs prune --keep 0 --tagged");
    assert!(said.contains("is a link"), "{said}");
    assert!(holds_a_run(&out));
}

fn holds_a_run(folder: &Path) -> bool {
    folder.join("result.json").is_file() && folder.join("plan.toml").is_file()
}
