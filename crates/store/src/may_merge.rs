//! Which runs may be added up: trials of one plan, each once.

use crate::{RunResult, StoredRun};

/// Why they may not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    #[error("{0} is named twice and would count twice; name each run once")]
    Twice(String),
    #[error("{0} and {1} have different plans, so they are not trials of one load; use tare compare")]
    Plans(String, String),
    #[error(
        "the files of {0} and {1} did not hold the same, so they are not trials of one load; use tare compare"
    )]
    Files(String, String),
}

/// Whether these runs add up to anything.
///
/// # Errors
/// One of them is there twice, or they are of different plans.
pub fn may_merge(runs: &[StoredRun]) -> Result<(), MergeError> {
    each_once(runs)?;
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
fn same_plan(runs: &[StoredRun]) -> Result<(), MergeError> {
    let mut results = runs.iter().map(|run| &run.result);
    let Some(first) = results.next() else { return Ok(()) };
    let has_others = |run: &RunResult| {
        run.inputs.iter().zip(&first.inputs).any(|(input, firsts)| input.is_same(firsts) == Some(false))
    };
    match results.find(|other| other.plan_hash != first.plan_hash || has_others(other)) {
        None => Ok(()),
        Some(other) if other.plan_hash == first.plan_hash => {
            Err(MergeError::Files(first.run.clone(), other.run.clone()))
        }
        Some(other) => Err(MergeError::Plans(first.run.clone(), other.run.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
