//! Plans and the files that they name: what is wrong with them is told in the same words, whoever looks.

use std::path::PathBuf;
use tare_system_tests::{Tare, beside_others, scratch};

/// Nothing is ever sent there.
const URL: &str = "http://127.0.0.1:9/";

#[test]
fn a_limit_of_a_plan_file_is_told_by_its_line_whenever_it_is_found_wrong() {
    let _beside = beside_others();
    let folder = scratch();
    for (limits, place, said) in [
        ("fail_if = \"latency.p99 > 5\"", "line 6: limits.fail_if[0]", "5 has no unit"),
        (
            "fail_if = [\n\"errors > 1\",\n'errors for \"b\" > 1']",
            "line 8: limits.fail_if[1]",
            "no requests have",
        ),
        ("abort_if = ['errors for \"b\" > 1']", "line 6: limits.abort_if[0]", "no requests have"),
    ] {
        let requests = format!("[[requests]]\nurl = \"{URL}\"\nname = \"a\"\n");
        let plan: PathBuf = folder.path().join("plan.toml");
        std::fs::write(&plan, format!("{requests}\n[limits]\n{limits}\n")).expect("a file can be written");
        let run = Tare::new("run --no-save").arg(plan.display().to_string()).start().finish_unchecked();
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains(&format!("plan.toml, {place}: ")) && run.stderr.contains(said), "{run}");
    }
}
