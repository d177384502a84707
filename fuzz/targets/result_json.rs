//! Whatever stands in `result.json`, it is a result or a named error; and a result that was read can be written
//! and read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::fs;

fuzz_target!(|text: &[u8]| {
    let folder = tare_fuzz::scratch();
    fs::write(folder.join("result.json"), text).expect("a scratch file can be written");
    let run = match store::load_run(&folder) {
        Ok(run) => run,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut written = Vec::new();
    store::write_json(&run.result, &mut written).expect("memory can be written");
    fs::write(folder.join("result.json"), &written).expect("a scratch file can be written");
    let again =
        store::load_run(&folder).unwrap_or_else(|error| panic!("what was written is refused: {error}"));
    // The last digit of a large fraction may change; nothing else does.
    let same = |run: &store::RunResult| {
        // Without a count, percentiles mean nothing, and are not written.
        let percentiles = (!run.latency_ns.says_nothing()).then(|| run.latency_ns.percentiles());
        let counts = (run.totals, run.outcomes.clone(), percentiles, run.verdict.word);
        (counts, run.labels.clone(), run.groups.len(), run.thresholds.len(), run.intervals.len())
    };
    assert_eq!(same(&run.result), same(&again.result));
});
