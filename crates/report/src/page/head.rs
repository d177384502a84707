//! What was run, when, and how to run it again.

use crate::markup::{escape, without_secrets};
use std::fmt::{Result, Write};
use store::RunResult;

pub fn write(out: &mut String, result: &RunResult) -> Result {
    writeln!(out, "<header><h1>{}</h1>", escape(&result.target))?;
    writeln!(out, "<p>{}</p>", escape(&result.load))?;
    let version = if result.version.is_empty() { String::new() } else { format!("tare {}", result.version) };
    let parts = [&result.started_at, &result.run, &version];
    let parts: Vec<String> =
        parts.into_iter().filter(|part| !part.is_empty()).map(|part| escape(part)).collect();
    writeln!(out, "<p class=\"soft\">{}</p>", parts.join(" · "))?;
    if result.partial && result.labels.is_empty() {
        writeln!(out, "<p class=\"label\">Partial result: the run ended before it was complete</p>")?;
    }
    for label in &result.labels {
        let partial = if result.partial { "Partial result: " } else { "" };
        writeln!(out, "<p class=\"label\">{partial}{}</p>", escape(label))?;
    }
    writeln!(out, "</header>")
}

/// The commands that make the same run.
pub fn reproduce(out: &mut String, result: &RunResult) -> Result {
    let typed = without_secrets(&result.command);
    let stored = if result.store.folder.is_empty() { "" } else { "tare run plan.toml" };
    let commands = [("in the folder of this run", stored), ("as it was typed", typed.trim_end())];
    if commands.iter().all(|(_, command)| command.is_empty()) {
        return Ok(());
    }
    writeln!(out, "<section><h2>Run it again</h2>")?;
    for (what, command) in commands.into_iter().filter(|(_, command)| !command.is_empty()) {
        writeln!(
            out,
            "<p class=\"soft\">{what}</p><div class=\"command\"><pre class=\"wrap\">{}</pre><button type=\"button\" class=\"copy\">copy</button></div>",
            escape(command)
        )?;
    }
    writeln!(out, "</section>")
}
