//! A stored run as text, in the order of the HTML report: may I believe it, how much and how fast, and what was
//! it exactly. After a run its summary ends with the verdict instead, where the eye is.

use super::*;
use crate::chart_text::text_charts;
use serde_json::Value;
use store::Timeline;
use store::secrets;

/// Verdict, thresholds and command; the figures; the charts; the environment, whose JSON `environment` is.
pub fn text_report(result: &RunResult, timeline: &Timeline, environment: &str, style: Style) -> String {
    let mut page = Page { style, text: String::new() };
    page.gap();
    verdict_word(&mut page, result);
    page.gap();
    broken_criteria(&mut page, result);
    failed_thresholds(&mut page, result);
    thresholds(&mut page, result);
    notes(&mut page, result);
    sinks(&mut page, result);
    command(&mut page, result);
    figures(&mut page, result);
    let charts = text_charts(result, timeline, style);
    page.text.push_str(charts.trim_start_matches('\n'));
    page.gap();
    environs(&mut page, result, environment);
    place(&mut page, result);
    page.text.truncate(page.text.trim_end().len());
    page.gap();
    page.text
}

/// As it was typed, without what is secret. Not wrapped: it is there to be copied.
fn command(page: &mut Page, result: &RunResult) {
    let command = words::printable(secrets::in_urls(&result.command).trim());
    if !command.is_empty() {
        page.line("Command", &command);
    }
}

/// What it ran on, in a few lines; all of it is in `environment.json`.
fn environs(page: &mut Page, result: &RunResult, environment: &str) {
    let known: Value = serde_json::from_str(environment).unwrap_or_default();
    let text = |key: &str| known[key].as_str().filter(|text| !text.is_empty()).map(words::printable);
    let memory = known["memory_total_bytes"].as_u64().map(|all| format!("{} memory", words::bytes(all)));
    let parts = [
        text("cpu_model"),
        text("cpus_allowed").map(|cpus| format!("CPUs {cpus}")),
        memory,
        text("kernel").map(|kernel| format!("kernel {kernel}")),
        text("virtualisation").filter(|kind| kind != "unknown"),
        some_text("clock", &result.generator.clock),
        // Why stands in `result.json`.
        some_text("sockets by", result.generator.io.split(':').next().unwrap_or_default()),
        some_text("tare", &result.version),
        some_text("started", &result.started_at),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if !parts.is_empty() {
        page.parts("Environment", &parts);
        page.gap();
    }
}

fn some_text(label: &str, text: &str) -> Option<String> {
    (!text.is_empty()).then(|| format!("{label} {}", words::printable(text)))
}
