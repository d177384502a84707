//! `tare compare` against targets whose difference is known: 2 ms and 3 ms.

use serde_json::Value;
use tare_system_tests::{Run, Tare, Target, beside_others, light, patiently, scratch};

/// A state folder of this test.
struct Home(tempfile::TempDir);

impl Home {
    fn tare(&self, arguments: &str) -> Run {
        let home = self.0.path().display().to_string();
        Tare::new(arguments).env("XDG_STATE_HOME", home).start().finish_unchecked()
    }

    /// A trial that gets this tag.
    fn trial(&self, target: &Target, tag: &str) {
        let run =
            self.tare(&format!("http {} --rate 300 -c 16 --duration 0.6s -q --accept-invalid", target.url()));
        assert_eq!(run.code, Some(0), "{run}");
        assert_eq!(self.tare(&format!("runs tag last +{tag}")).code, Some(0));
    }

    /// The comparison as JSON; verdicts are not what is tested here.
    fn compared(&self, arguments: &str) -> Value {
        let run = self.tare(&format!("compare --json --anyway {arguments}"));
        serde_json::from_str(&run.stdout).unwrap_or_else(|why| panic!("{why} in {run}"))
    }
}

fn figure<'a>(comparison: &'a Value, name: &str) -> &'a Value {
    let figures = comparison["pairs"][0]["figures"].as_array().unwrap();
    figures.iter().find(|figure| figure["name"] == name).unwrap()
}

#[test]
fn a_slower_target_is_shown_and_the_same_one_is_not() {
    let _guard = light();
    // Of comparisons of equal things 5 % show a difference: that is what the confidence means.
    patiently(3, || {
        let home = Home(scratch());
        let (quick, slow) = (Target::start("--delay 2ms"), Target::start("--delay 3ms"));
        for _ in 0..3 {
            home.trial(&quick, "quick");
            home.trial(&slow, "slow");
            home.trial(&quick, "again");
        }
        let apart = home.compared("quick slow");
        let mean = figure(&apart, "latency.mean");
        assert_eq!(mean["finding"], "higher", "{mean}");
        // 1 ms more than 2 ms and what the loopback takes.
        let change = mean["change"].as_f64().unwrap();
        assert!((0.2..0.8).contains(&change), "{mean}");
        assert_eq!(figure(&apart, "latency.p50")["test"], "mann_whitney");
        let same = home.compared("quick again");
        for figure in same["pairs"][0]["figures"].as_array().unwrap() {
            assert!(
                ["no_difference", "negligible"].contains(&figure["finding"].as_str().unwrap()),
                "{figure}"
            );
        }
        let said = home.tare("compare quick again --anyway").stdout;
        assert!(said.contains("No difference") && said.contains("To show a difference of 5 %"), "{said}");
        let judged = |sides: &str| {
            home.tare(&format!("compare {sides} --anyway --fail-if-slower 5% --by latency.p50"))
        };
        assert_eq!(judged("quick slow").code, Some(3), "{}", judged("quick slow"));
        assert_eq!(judged("quick again").code, Some(0), "{}", judged("quick again"));
        assert_eq!(judged("slow quick").code, Some(0), "{}", judged("slow quick"));
    });
}

#[test]
fn one_trial_a_side_has_no_confidence_and_another_plan_is_refused() {
    let _guard = beside_others();
    let (home, target) = (Home(scratch()), Target::start(""));
    for _ in 0..2 {
        home.trial(&target, "same");
    }
    let said = home.tare("compare last~1 last --anyway");
    assert_eq!(said.code, Some(0), "{said}");
    assert!(said.stdout.contains("No confidence: 1 trial each"), "{said}");
    let page = home.0.path().join("compared.html");
    let written = home.tare(&format!("compare last~1 last --anyway --merge --html {}", page.display()));
    assert_eq!(written.code, Some(0), "{written}");
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(
        text.contains("Net latency by percentile")
            && text.contains("No confidence")
            && !text.contains("http-equiv=\"refresh")
    );
    let csv = home.tare("compare last~1 last --anyway --csv").stdout;
    assert!(
        csv.starts_with("a,b,figure,") && csv.lines().any(|line| line.starts_with("A,B,latency.p99,ns,1,1,")),
        "{csv}"
    );
    // Half the rate is another plan.
    let run =
        home.tare(&format!("http {} --rate 150 -c 16 --duration 0.6s -q --accept-invalid", target.url()));
    assert_eq!(run.code, Some(0), "{run}");
    let refused = home.tare("compare same last");
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("load.rate: \"300/s\" → \"150/s\""), "{refused}");
    assert!(refused.stderr.contains("--anyway"), "{refused}");
    let anyway = home.tare("compare same last --anyway").stdout;
    assert!(anyway.contains("Anyway") && anyway.contains("load.rate"), "{anyway}");
    let itself = home.tare("compare last last");
    assert!(itself.code == Some(2) && itself.stderr.contains("named twice"), "{itself}");
    let by = home.tare("compare last last~1 --fail-if-slower 5% --by p99");
    assert!(by.code == Some(2) && by.stderr.contains("latency.p99"), "{by}");
}

#[test]
fn what_a_file_of_urls_held_is_a_part_of_the_load_and_where_it_was_is_none() {
    let _guard = beside_others();
    let (home, target) = (Home(scratch()), Target::start(""));
    let file = |name: &str| home.0.path().join(name);
    let write = |name: &str, words: &str| {
        std::fs::write(file(name), format!("{}{words}\n", target.url())).expect("a file of the test");
    };
    let load =
        |name: &str| format!("http --rate 300 --duration 0.3s -q --accept-invalid {}", file(name).display());
    write("one", "?size=10");
    write("two", "?size=10");
    for name in ["one", "two"] {
        let run = home.tare(&load(name));
        assert_eq!(run.code, Some(0), "{run}");
    }
    // Another name, the same lines.
    let same = home.tare("compare last~1 last");
    assert!(!same.stderr.contains("plans of") && !same.stderr.contains("same file"), "{same}");
    write("two", "?size=9999");
    assert_eq!(home.tare(&load("two")).code, Some(0));
    let refused = home.tare("compare last~1 last");
    assert!(refused.code == Some(2) && refused.stderr.contains("two was not the same file in"), "{refused}");
    let merged = home.tare("report last~1 last --merge --text");
    assert!(merged.code == Some(2) && merged.stderr.contains("differ, so they are not trials"), "{merged}");
    // The plan that is kept makes the same load from any folder.
    const SCRIPT: &str = r#"cd "$0" && "$1" http -n 3 -q --accept-invalid -o run two &&
        cd / && "$1" run "$0/run/plan.toml" -q --accept-invalid"#;
    let elsewhere = std::process::Command::new("sh")
        .args(["-c", SCRIPT])
        .arg(home.0.path())
        .arg(tare_system_tests::binary())
        .env("XDG_STATE_HOME", home.0.path())
        .output()
        .expect("a shell");
    assert!(elsewhere.status.success(), "{}", String::from_utf8_lossy(&elsewhere.stderr));
    let same = home.tare(&format!("compare {} last", file("run").display()));
    assert!(!same.stderr.contains("plans of") && !same.stderr.contains("same file"), "{same}");
    let merged = home.tare(&format!("report {} last --merge --text", file("run").display()));
    assert!(merged.code == Some(0) && !merged.stderr.contains("unknown"), "{merged}");
}

#[test]
fn that_nobody_knows_what_a_pipe_held_is_told() {
    let _guard = beside_others();
    let (home, target) = (Home(scratch()), Target::start(""));
    let script = "for body in one two; do echo $body | \"$1\" http -n 300 -q --accept-invalid -d @- \"$2\" || exit; done";
    let piped = std::process::Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(tare_system_tests::binary())
        .arg(target.url())
        .env("XDG_STATE_HOME", home.0.path())
        .output()
        .expect("a shell");
    assert!(piped.status.success(), "{}", String::from_utf8_lossy(&piped.stderr));
    for words in ["compare last~1 last", "report last~1 last --merge --text"] {
        let run = home.tare(words);
        let said = format!("{}{}", run.stdout, run.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(run.code, Some(0), "{words}: {run}");
        assert!(said.contains("it is unknown whether stdin was the same in"), "{words}: {run}");
    }
}

#[test]
fn files_that_lines_of_a_file_name_are_a_part_of_the_load() {
    let _guard = beside_others();
    let (home, target) = (Home(scratch()), Target::start(""));
    let file = |name: &str| home.0.path().join(name);
    std::fs::write(file("urls"), format!("{}{{line:{}}}\n", target.url(), file("names").display()))
        .expect("a file");
    for names in ["a\n", "b\n"] {
        std::fs::write(file("names"), names).expect("a file");
        let run = home.tare(&format!("http -n 3 -q --accept-invalid {}", file("urls").display()));
        assert_eq!(run.code, Some(0), "{run}");
    }
    let refused = home.tare("compare last~1 last");
    assert!(
        refused.code == Some(2) && refused.stderr.contains("names was not the same file in"),
        "{refused}"
    );
}
