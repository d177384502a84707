//! Which runs may be added up: trials of one plan, each once.

use crate::StoredRun;
use crate::held::{held, is_unread};

/// Why they may not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    #[error("{0} is named twice and would count twice; name each run once")]
    Twice(String),
    #[error("{0} and {1} have different plans, so they are not trials of one load; use tare compare")]
    Plans(String, String),
    #[error("{0} was changed by hand while it ran, so it is no trial of its plan")]
    Steered(String),
    #[error("the files of {0} and {1} differ, so they are not trials of one load; use tare compare")]
    Files(String, String),
}

/// Whether these runs add up to anything. Returns sentences on what is not known.
///
/// # Errors
/// One of them is there twice or was changed by hand, or they are of different plans.
pub fn may_merge(runs: &[StoredRun]) -> Result<Vec<String>, MergeError> {
    each_once(runs)?;
    if let Some(run) = runs.iter().find(|run| run.result.is_steered()) {
        return Err(MergeError::Steered(run.result.run.clone()));
    }
    same_plan(runs)
}

/// A run, or a copy of it, that is added to itself would count twice.
fn each_once(runs: &[StoredRun]) -> Result<(), MergeError> {
    let is_same = |a: &StoredRun, b: &StoredRun| {
        let (a_run, b_run) = (&a.result, &b.result);
        let is_copy = !a_run.started_at.is_empty()
            && (&a_run.run, &a_run.started_at) == (&b_run.run, &b_run.started_at);
        a.folder == b.folder || is_copy
    };
    let again =
        runs.iter().enumerate().find(|(at, run)| runs[..*at].iter().any(|before| is_same(before, run)));
    match again {
        None => Ok(()),
        Some((_, run)) => Err(MergeError::Twice(run.result.run.clone())),
    }
}

/// Only trials of one plan add up to anything.
fn same_plan(runs: &[StoredRun]) -> Result<Vec<String>, MergeError> {
    let mut doubts = Vec::new();
    let Some((first, others)) = runs.split_first() else { return Ok(doubts) };
    for other in others {
        let names = || (first.result.run.clone(), other.result.run.clone());
        let (one, two) = names();
        if !is_one_plan(first, other) {
            return Err(MergeError::Plans(one, two));
        }
        let held = held(&first.result.inputs, &other.result.inputs);
        if held.pairs.iter().any(|(input, other)| input.is_same(other) == Some(false)) {
            return Err(MergeError::Files(one, two));
        }
        doubts.extend(held.unknown.iter().map(|file| unknown(file, &one, &two)));
        if is_unread(&first.plan, &first.result.inputs) && is_unread(&other.plan, &other.result.inputs) {
            doubts.push(unknown("each of the plan's files", &one, &two));
        }
    }
    Ok(doubts)
}

/// By their hashes; or a plan was run again from its run folder, where it names its files by absolute paths.
fn is_one_plan(one: &StoredRun, other: &StoredRun) -> bool {
    one.result.plan_hash == other.result.plan_hash
        || (!one.plan.is_empty() && load(&one.plan).eq(load(&other.plan)))
}

/// The lines of a plan that say what is sent, not what it is judged by.
fn load(plan: &str) -> impl Iterator<Item = &str> {
    let mut is_limit = false;
    plan.lines().filter(move |line| {
        if line.starts_with('[') {
            is_limit = *line == "[limits]";
        }
        !is_limit && !line.is_empty()
    })
}

/// That nobody knows whether a file of two runs held the same.
pub fn unknown(file: &str, one: &str, other: &str) -> String {
    format!("it is unknown whether {file} was the same in {one} and {other}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunResult;
    use crate::schema::InputFile;
    use std::path::PathBuf;

    fn kept(folder: &str, run: &str, started_at: &str) -> StoredRun {
        let result =
            RunResult { run: run.to_owned(), started_at: started_at.to_owned(), ..RunResult::default() };
        StoredRun { folder: PathBuf::from(folder), result, plan: String::new(), environment: String::new() }
    }

    #[test]
    fn a_run_is_not_added_to_itself() {
        let is_refused = |a: StoredRun, b: StoredRun| each_once(&[a, b]).is_err();
        let run = || kept("/a", "r1", "2026-11-20T12:00:00Z");
        assert!(is_refused(run(), run()));
        assert!(is_refused(run(), kept("/copy", "r1", "2026-11-20T12:00:00Z")));
        assert!(!is_refused(run(), kept("/b", "r2", "2026-11-20T12:00:00Z")));
        // Of what was killed early not even the time is known; other folders are other runs then.
        assert!(!is_refused(kept("/a/out", "out", ""), kept("/b/out", "out", "")));
        assert!(is_refused(kept("/a/out", "out", ""), kept("/a/out", "out", "")));
    }

    #[test]
    fn a_plan_that_was_run_again_from_its_folder_is_the_same() {
        let run = |name: &str, hash: &str, plan: &str, sha256: Option<&str>| {
            let mut run = kept(&format!("/{name}"), name, name);
            run.result.plan_hash = hash.to_owned();
            run.plan = plan.to_owned();
            let sha256 = sha256.map(str::to_owned);
            run.result.inputs = vec![InputFile { file: "/u".to_owned(), bytes: 3, sha256 }];
            run
        };
        let first = || run("a", "1", "file = \"/u\"\n\n[limits]\nfail_if = []\n", Some("x"));
        let again = run("b", "2", "file = \"/u\"\n", Some("x"));
        assert_eq!(may_merge(&[first(), again]), Ok(Vec::new()));
        let requests = |path: &str| format!("[limits]\nfail_if = []\n\n[[requests]]\nurl = \"{path}\"\n");
        let (one, two) = (requests("http://a/x"), requests("http://a/y"));
        let other = may_merge(&[run("a", "1", &one, Some("x")), run("b", "2", &two, Some("x"))]);
        assert!(matches!(other, Err(MergeError::Plans(..))), "requests stand behind the limits");
        let other = run("b", "2", "file = \"/v\"\n", Some("x"));
        assert!(matches!(may_merge(&[first(), other]), Err(MergeError::Plans(..))));
        let changed = run("b", "1", "", Some("y"));
        assert!(matches!(may_merge(&[first(), changed]), Err(MergeError::Files(..))));
        let mut steered = run("b", "1", "", Some("x"));
        steered.result.labels = vec!["the rate was changed by hand: 50/s after 1.0 s".into()];
        assert!(matches!(may_merge(&[first(), steered]), Err(MergeError::Steered(..))));
        let doubts = may_merge(&[first(), run("b", "1", "", None)]).unwrap();
        assert_eq!(doubts, ["it is unknown whether u was the same in a and b"]);
    }
}
