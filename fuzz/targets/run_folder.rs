//! Whatever a run that was killed left, it is a result whose counts add up, or a named error; and it can be
//! drawn. The input is `intervals.jsonl`, a NUL, `latency.hlog`, a NUL, `begun.json`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::fs;

fuzz_target!(|input: &[u8]| {
    let folder = tare_fuzz::scratch();
    let mut parts = input.splitn(3, |byte| *byte == 0);
    for name in ["intervals.jsonl", "latency.hlog", "begun.json"] {
        let _ = fs::remove_file(folder.join(name));
        if let Some(part) = parts.next() {
            fs::write(folder.join(name), part).expect("a scratch file can be written");
        }
    }
    let _ = fs::remove_file(folder.join("result.json"));
    let Ok(run) = store::load_run(&folder) else { return };
    let totals = run.result.totals;
    let ended = [totals.done, totals.failed, totals.missed, totals.cut_off];
    assert_eq!(totals.offered, ended.into_iter().fold(0, u64::saturating_add));
    for most in [2, 400] {
        let timeline = run.timeline(most);
        assert!(timeline.bins.len() <= most);
    }
    store::merge_runs(&[run]);
});
