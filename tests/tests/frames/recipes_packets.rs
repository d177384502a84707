//! Every recipe of `docs/packets.md` and `docs/past-the-kernel.md` works as it stands there, from top to
//! bottom.
//!
//! All blocks share one scratch folder: later ones use beds and files that earlier ones made. Runs that they
//! save must add up and have a verdict. The beds that a page makes are taken away at the end, also
//! after a failure.

use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use tare_system_tests::recipe::{Recipe, adds_up, recipes, results_under};
use tare_system_tests::{binary, light, need, need_root, scratch};

/// Seconds that one block may take.
const LIMIT: &str = "60";
/// Takes the beds of the page away.
struct Beds(&'static [&'static str]);

impl Beds {
    fn away(&self) {
        for bed in self.0 {
            // That there is none is no fault.
            let _ = Command::new(binary()).args(["lab", "down", "--name", bed]).output();
        }
    }
}

impl Drop for Beds {
    fn drop(&mut self) {
        self.away();
    }
}

/// A `tare` for the recipes. On a machine that is too busy a run may well be INVALID (status 4): the recipe is
/// right all the same, and goes on.
fn patient_tare(folder: &Path) -> String {
    let bin = folder.join("bin");
    std::fs::create_dir(&bin).expect("a scratch folder");
    let script = format!("#!/bin/sh\n'{}' \"$@\" || [ $? -eq 4 ]\n", binary().display());
    let file = bin.join("tare");
    std::fs::write(&file, script).expect("a scratch file");
    std::fs::set_permissions(&file, Permissions::from_mode(0o755)).expect("a scratch file can be run");
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default())
}

/// Runs one block; what it started in the background ends with it.
fn cook(recipe: &Recipe, folder: &Path, path: &str) -> Result<(), String> {
    let said = Command::new("timeout")
        .args(["--kill-after", "2", LIMIT, "bash", "-euc", &recipe.script])
        .current_dir(folder)
        .env("PATH", path)
        .env("XDG_STATE_HOME", folder.join("state"))
        .stdin(Stdio::null())
        .output()
        .expect("timeout and bash can be run");
    if said.status.success() {
        return Ok(());
    }
    let text = [said.stdout, said.stderr].concat();
    Err(format!("{}\n{}", said.status, String::from_utf8_lossy(&text)))
}

fn check(result: &Value) -> Result<(), String> {
    adds_up(result)?;
    match result["verdict"]["word"].as_str() {
        Some("VALID" | "DEGRADED" | "INVALID") => Ok(()),
        _ => Err(format!("no verdict: {}", result["verdict"])),
    }
}

#[test]
fn every_recipe_for_frames_works_as_it_stands() {
    try_page("packets.md", 11, 10, &["docs", "docsfw"]);
}

#[test]
fn every_recipe_past_the_kernel_works_as_it_stands() {
    try_page("past-the-kernel.md", 7, 5, &["docsvia"]);
}

/// Runs all recipes of a page; it has so many at least, they save so many runs, and make these beds.
fn try_page(page: &'static str, least: usize, runs: usize, beds: &'static [&'static str]) {
    // Their loads and sleeps are meant for a machine that does little else.
    let _light = light();
    need_root();
    ["ip", "timeout", "bash"].into_iter().for_each(need);
    let folder = scratch();
    let path = patient_tare(folder.path());
    let recipes = recipes(page);
    assert!(recipes.len() >= least, "the page has its recipes: {} found", recipes.len());
    let beds = Beds(beds);
    beds.away();
    for recipe in &recipes {
        if let Err(why) = cook(recipe, folder.path(), &path) {
            panic!("docs/{}:{}\n{}{why}", recipe.page, recipe.line, recipe.script);
        }
    }
    let results = results_under(&folder.path().join("state"));
    assert!(results.len() >= runs, "{} runs were saved", results.len());
    for result in &results {
        if let Err(why) = check(result) {
            panic!("{}: {why}", result["command"]);
        }
    }
}
