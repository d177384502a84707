//! Recipes of the pages in `docs/`: blocks of shell that tests run as they stand.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// One block that begins with ```` ```sh ````.
pub struct Recipe {
    pub page: &'static str,
    /// Of its first command.
    pub line: usize,
    /// It says ```` ```sh fails ````: what it loads answers with errors.
    pub fails: bool,
    pub script: String,
}

/// All of one page of docs/, from top to bottom.
pub fn recipes(page: &'static str) -> Vec<Recipe> {
    let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page);
    let text = std::fs::read_to_string(&text).unwrap_or_else(|why| panic!("docs/{page}: {why}"));
    let mut recipes: Vec<Recipe> = Vec::new();
    let mut fence: Option<&str> = None;
    for (index, line) in text.lines().enumerate() {
        match (fence, line.strip_prefix("```")) {
            (None, Some(words)) => {
                fence = Some(words);
                if words == "sh" || words == "sh fails" {
                    recipes.push(Recipe {
                        page,
                        line: index + 2,
                        fails: words.ends_with("fails"),
                        script: String::new(),
                    });
                }
            }
            (Some(_), Some("")) => fence = None,
            (Some("sh" | "sh fails"), _) => {
                let recipe = recipes.last_mut().expect("its fence was seen");
                recipe.script += line;
                recipe.script.push('\n');
            }
            _ => {}
        }
    }
    recipes
}

/// `PATH` with `tare` in front, by a link in `folder/bin`.
pub fn path_with_tare(folder: &Path) -> String {
    let bin = folder.join("bin");
    std::fs::create_dir(&bin).expect("a scratch folder");
    std::os::unix::fs::symlink(crate::binary(), bin.join("tare")).expect("a scratch folder takes links");
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default())
}

/// The results of all runs that were saved with this `XDG_STATE_HOME`.
pub fn results_under(folder: &Path) -> Vec<Value> {
    let Ok(entries) = std::fs::read_dir(folder.join("tare/runs")) else { return Vec::new() };
    let files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path().join("result.json")).collect();
    let read = |path: &PathBuf| std::fs::read_to_string(path).expect("every run folder has its result");
    files.iter().map(|path| serde_json::from_str(&read(path)).expect("result.json is JSON")).collect()
}

/// offered = done + failed + missed + cut off.
///
/// # Errors
/// They are different.
pub fn adds_up(result: &Value) -> Result<(), String> {
    let total = |key: &str| result["totals"][key].as_u64().unwrap_or(u64::MAX / 8);
    let ended: u64 = ["done", "failed", "missed", "cut_off"].map(total).iter().sum();
    if total("offered") == ended {
        Ok(())
    } else {
        Err(format!("the totals do not add up: {}", result["totals"]))
    }
}
