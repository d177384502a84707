//! Forecasts come true: plans of different kinds are weighed for, forecast, and run.

use std::path::Path;
use std::time::Duration;
use tare_system_tests::forecasts::{self, Case, Found};
use tare_system_tests::{Tare, alone, patiently, scratch};

fn weigh(words: &str, state: &Path) {
    let tare = Tare::new(words).env("XDG_STATE_HOME", state.display().to_string());
    let run = tare.limit(Duration::from_secs(240)).start().finish_unchecked();
    assert_eq!(run.code, Some(0), "{run}");
}

/// Peaks within 20 % of the measured, and the word right outside the grey zone.
fn come_true(case: &Case, weighing: &str) {
    // Weighed anew at each try: what it was weighed at in a busy moment holds for no quiet one.
    patiently(3, || {
        let state = scratch();
        weigh(weighing, state.path());
        let found = forecasts::compare(case, state.path());
        let told = forecasts::table(std::slice::from_ref(&found));
        check(&found, &told);
    });
}

fn check(found: &Found, told: &str) {
    let ratio = found.ratio().unwrap_or_else(|| panic!("no peak: {told}"));
    // 20 % of the measured, either way.
    assert!((0.8..=1.2).contains(&ratio), "{told}");
    assert!(found.rows.len() >= 2 && found.rows.iter().all(forecasts::Row::is_right), "{told}");
}

#[test]
fn forecasts_of_http_come_true() {
    let _guard = alone();
    for case in forecasts::of_http() {
        let kinds = match case.name {
            "http, keep-alive" => "keep-alive",
            "http, new connection" => "new-connection",
            "http, 4 requests a connection" => "keep-alive,new-connection",
            "https, keep-alive" => "tls",
            _ => "tls-new-connection",
        };
        come_true(&case, &format!("weigh http --quick --time 700ms --only {kinds}"));
    }
}
