//! What was run, when, and how to run it again.

use crate::html::Documents;
use crate::markup::escape;
use std::fmt::{Result, Write};
use store::{RunResult, secrets};

pub fn write(out: &mut String, result: &RunResult) -> Result {
    writeln!(out, "<header><h1>{}</h1>", escape(&secrets::in_urls(&result.target)))?;
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
        writeln!(out, "<p class=\"label\">{partial}{}</p>", escape(&label.to_string()))?;
    }
    writeln!(out, "</header>")
}

/// The commands that make the same run.
pub fn reproduce(out: &mut String, result: &RunResult, documents: Option<Documents<'_>>) -> Result {
    let typed = secrets::in_urls(&result.command);
    let (place, stored) = from_plan(result, documents.map_or("", |documents| documents.plan));
    let place = escape(&place);
    let commands = [(place.as_str(), stored.as_str()), ("as it was typed", typed.trim_end())];
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

/// How the stored plan makes the run again, and where: a plan may name files by paths from the folder that it
/// was typed in. Both are empty if there is no folder.
fn from_plan(result: &RunResult, plan: &str) -> (String, String) {
    /// So many files are named.
    const NAMED: usize = 3;
    let folder = &result.store.folder;
    let files = secrets::relative_files(plan);
    if folder.is_empty() {
        return (String::new(), String::new());
    }
    if files.is_empty() {
        return ("in the folder of this run".to_owned(), "tare run plan.toml".to_owned());
    }
    let more = if files.len() > NAMED { " \u{2026}" } else { "" };
    let named = files[..files.len().min(NAMED)].join(", ");
    let are = if files.len() == 1 { "is" } else { "are" };
    let path = format!("{}/plan.toml", folder.trim_end_matches('/'));
    let is_plain = path.chars().all(|c| c.is_alphanumeric() || "/._-+:@%".contains(c));
    let path = if is_plain { path } else { format!("'{}'", path.replace('\'', "'\\''")) };
    (format!("in the folder where {named}{more} {are}"), format!("tare run {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_another_folder_are_found_from_there() {
        let mut result = RunResult::default();
        assert_eq!(from_plan(&result, ""), (String::new(), String::new()));
        result.store.folder = "/runs/a b".to_owned();
        assert_eq!(from_plan(&result, "file = \"/u\"").1, "tare run plan.toml");
        let (place, command) = from_plan(&result, "file = \"urls.txt\"\n[tls]\nca = \"ca.pem\"\n");
        assert_eq!(place, "in the folder where urls.txt, ca.pem are");
        assert_eq!(command, "tare run '/runs/a b/plan.toml'");
    }
}
