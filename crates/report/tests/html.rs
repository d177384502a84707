//! The HTML report: what must hold of any, and files to look at (`TARE_SHOW=DIR` writes them).

mod common;

use report::{Documents, html};
use store::RunResult;
use store::schema::{GroupResult, Interval};

const PLAN: &str = "seed = 7\n\n[load]\nrate = \"20000/s\"\n\n[request]\nbasic_auth = \"me:hunter2\"\n";
const ENVIRONMENT: &str = "{\n  \"kernel\": \"6.18\",\n  \"cpu\": \"2 × <fast>\"\n}\n";

fn page(result: &RunResult) -> String {
    let documents = Documents { plan: PLAN, environment: ENVIRONMENT };
    html(result, result.intervals.iter().cloned(), documents)
}

/// An hour at one row a second.
fn hour() -> RunResult {
    let mut result = common::degraded();
    result.rate.duration_s = 3_600.0;
    result.warmup.duration_s = 120.0;
    result.intervals = common::intervals(3_600, 20_000);
    result
}

fn all() -> Vec<(&'static str, RunResult)> {
    let mut all = common::all();
    all.push(("hour", hour()));
    all
}

#[test]
fn every_kind_of_run_makes_a_page() {
    for (name, result) in all() {
        let page = page(&result);
        assert!(page.contains(result.verdict.word.as_str()), "{name}");
        assert!(page.len() < 1_000_000, "{name}: {} bytes", page.len());
        for word in ["NaN", "inf ", "http-equiv=\"refresh", "<script", "src=", "url("] {
            assert!(!page.contains(word), "{name} has {word}");
        }
        assert!(!page.contains("hunter2"), "{name} shows a password");
        well_formed(&page);
        if let Some(folder) = std::env::var_os("TARE_SHOW") {
            std::fs::write(std::path::Path::new(&folder).join(format!("{name}.html")), &page).unwrap();
        }
    }
}

/// Every element that is opened is closed, in order.
fn well_formed(page: &str) {
    const VOID: [&str; 2] = ["meta", "!doctype"];
    let mut open: Vec<&str> = Vec::new();
    for tag in page.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap();
        let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap();
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed));
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

#[test]
fn nothing_from_outside_is_markup() {
    let mut result = common::degraded();
    let evil = "\"><script>alert(1)</script>";
    result.target = evil.into();
    result.load = evil.into();
    result.command = evil.into();
    result.labels = vec![evil.into()];
    result.notes = vec![evil.into()];
    result.run = evil.into();
    result.started_at = evil.into();
    result.generator.clock = evil.into();
    result.verdict.criteria[0].name = evil.into();
    result.verdict.criteria[0].unit = evil.into();
    result.verdict.criteria[1].advice = evil.into();
    result.outcomes[0].key = evil.into();
    result.thresholds[0].expression = evil.into();
    result.thresholds[0].unit = evil.into();
    result.groups.push(GroupResult { name: evil.into(), ..GroupResult::default() });
    result.store.lost[0].why = evil.into();
    let page = html(&result, std::iter::empty(), Documents { plan: evil, environment: evil });
    assert!(!page.contains("<script"));
    well_formed(&page);
}

#[test]
fn a_spike_of_one_second_in_a_day_is_drawn() {
    let row = |n: u64| Interval {
        t_s: n as f64,
        length_s: 1.0,
        done: 1,
        latency_max_ns: Some(if n == 40_000 { 5_000_000_000 } else { 1_000_000 }),
        ..Interval::default()
    };
    let page = html(&common::valid(), (0..86_400).map(row), Documents::default());
    assert!(page.contains("max 5.00 s"));
    assert!(page.len() < 1_000_000);
}
