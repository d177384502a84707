//! Plans and the files that they name: what is wrong with them is told in the same words, whoever looks.

use std::path::PathBuf;
use tare_system_tests::{Tare, beside_others, scratch};

/// Nothing is ever sent there.
const URL: &str = "http://127.0.0.1:9/";

/// A plan that is printed is one that runs.
#[test]
fn print_plan_refuses_input_files_as_the_run_does() {
    let _beside = beside_others();
    let folder = scratch();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let file = |name: &str, bytes: &[u8]| {
        std::fs::write(path(name), bytes).expect("a file can be written");
        path(name)
    };
    let none = path("none.txt");
    for words in [
        file("urls.txt", format!("{URL}\nnot a url\n").as_bytes()),
        file("binary.txt", b"h\0t\xff\n"),
        file("empty.txt", b""),
        none.clone(),
        format!("{} --order shuffle", file("odd.jsonl", b"{\"url\": 5}\n")),
        format!("{URL} --body-stream {none}"),
        format!("{URL} --body-stream {}", folder.path().display()),
        format!("{URL} --at {}", file("times.txt", b"0\nsoon\n")),
        format!("{URL}{{line:{none}}}"),
        format!("{URL} --ca {none}"),
    ] {
        let said = |flags: &str| {
            Tare::new(&format!("http --no-save --no-progress {flags} {words}")).start().finish_unchecked()
        };
        let (run, printed) = (said(""), said("--print-plan"));
        assert_eq!((run.code, printed.code), (Some(2), Some(2)), "{words}: {run}{printed}");
        assert_eq!(run.stderr, printed.stderr, "{words}");
    }
    // A file that is long is looked at where it begins.
    let long = file("long.txt", format!("{URL}\n").repeat(4_000_000).as_bytes());
    let printed = Tare::new(&format!("http --print-plan --order shuffle {long}"));
    let printed = printed.start().finish_unchecked();
    assert!(printed.code == Some(0) && printed.stdout.contains("long.txt"), "{printed}");
}

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
