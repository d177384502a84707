//! The report as one HTML file: it opens from disk and asks the network for nothing. Without its script
//! everything is still there to be read; the script adds read-outs, zoom and sorting.
//!
//! Everything that came from outside (URLs, names, the plan, the environment) is escaped, and the page's own
//! policy lets no script run but those whose hash it names. What the plan has of secrets (`store::secrets`) is
//! not shown, as a report is a thing to send around.

use crate::markup::escape;
use crate::page;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use store::{RunResult, Timeline};

const SCRIPT: &str = include_str!("report.js");
const STYLE: &str = include_str!("report.css");

/// What the report is made of besides the result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Documents<'a> {
    /// Text of `plan.toml`.
    pub plan: &'a str,
    /// Text of `environment.json`.
    pub environment: &'a str,
}

/// The whole page.
pub fn html(result: &RunResult, timeline: &Timeline, documents: Documents<'_>) -> String {
    page_shell(&title(result), &page::main(result, timeline, Some(documents)), "")
}

/// What stands within `<main>` of a page about a run that goes on: the report's sections so far.
pub fn live_main(result: &RunResult, timeline: &Timeline) -> String {
    page::main(result, timeline, None)
}

/// The title of a page about this run.
pub fn title(result: &RunResult) -> String {
    format!("{} · tare {}", result.target, result.engine)
}

/// A page around `main_html`, with the report's style and script. A page with a script of its own may also ask
/// where it came from.
pub fn page_shell(title: &str, main_html: &str, extra_script: &str) -> String {
    let scripts: Vec<&str> = [SCRIPT, extra_script].into_iter().filter(|script| !script.is_empty()).collect();
    let hashes: String = scripts.iter().map(|script| format!(" 'sha256-{}'", hash(script))).collect();
    let connect = if extra_script.is_empty() { "" } else { "; connect-src 'self'" };
    let tags: String = scripts.iter().map(|script| format!("<script>{script}</script>\n")).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         img-src data:; script-src{hashes}{connect}\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<main>\n{main_html}</main>\n{tags}</body>\n</html>\n",
        escape(title)
    )
}

/// As a policy names a script.
fn hash(script: &str) -> String {
    STANDARD.encode(Sha256::digest(script))
}
