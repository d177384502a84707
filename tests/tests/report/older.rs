//! A run that an older version kept is drawn like any other.

use std::path::PathBuf;
use tare_system_tests::{Run, Tare, beside_others};

/// A demo of 8 s at 2 000/s, with a stall of one second.
fn report(form: &str) -> Run {
    let run = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/store/tests/data/before-timelines");
    let drawn =
        Tare::new(&format!("report {form}")).arg(run.display().to_string()).start().finish_unchecked();
    assert_eq!((drawn.code, drawn.stderr.as_str()), (Some(0), ""), "{drawn}");
    drawn
}

#[test]
fn an_older_run_is_drawn_in_every_form() {
    let _shared = beside_others();
    let json = report("--json");
    assert_eq!((json.total("done"), json.int("latency_ns.max")), (16_000, 1_000_865_791), "{json}");
    // 1 000 865 791 ns, and 16 000 requests.
    let text = report("--text").stdout;
    assert!(text.contains("DEGRADED") && text.contains("1.00 s"), "{text}");
    let csv = report("--csv").stdout;
    assert_eq!(csv.lines().count(), 1 + 8, "{csv}");
    let html = report("--html -o -").stdout;
    assert!(html.contains("tare demo") && html.trim_end().ends_with("</html>"));
}
