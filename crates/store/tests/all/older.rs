//! A run that was kept by the version before rows had phases, outcomes and threads: a demo of 8 s at 2 000/s
//! with a stall of one second. It must be readable for good.

use hdrhistogram::Histogram;
use measure::Series;
use std::path::Path;
use store::{StoredRun, load_run, merge_runs, merged_series};

fn run() -> StoredRun {
    load_run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/before-timelines")).unwrap()
}

fn close(a: u64, b: u64) {
    // Both have three digits; their buckets may part otherwise: one in a thousand.
    assert!(a.abs_diff(b) as f64 <= 0.001 * b as f64 + 1.0, "{a} and {b}");
}

#[test]
fn it_is_read_and_what_it_lacks_is_absent() {
    let result = run().result;
    assert_eq!((result.totals.offered, result.totals.done, result.intervals.len()), (16_000, 16_000, 8));
    assert!(result.labels.is_empty() && result.sinks.is_empty() && result.body_ns.is_empty());
    let row = &result.intervals[3];
    assert_eq!((row.done, row.latency_p99_9_ns, row.body_p50_ns), (15, None, None));
    assert!(row.outcomes.is_empty() && row.threads.is_empty());
}

#[test]
fn its_log_has_what_its_rows_lack() {
    let run = run();
    let timeline = run.timeline(400);
    assert_eq!((timeline.bins.len(), timeline.merged), (8, 1));
    for (bin, row) in timeline.bins.iter().zip(&run.result.intervals) {
        assert!(bin.exact);
        assert_eq!((bin.row.done, bin.row.latency_p99_ns), (row.done, row.latency_p99_ns));
        // The percentile that rows did not have is between those that they had.
        let figures = [bin.row.latency_p99_ns, bin.row.latency_p99_9_ns, bin.row.latency_max_ns];
        assert!(figures.is_sorted() && figures[0].is_some(), "{figures:?}");
        assert_eq!(bin.heat.iter().map(|cell| cell.count).sum::<u64>(), row.done);
        assert!(bin.row.first_byte_p50_ns.is_some() && bin.row.body_p50_ns.is_none());
    }
    // Two seconds a bin: the percentiles are those of the result's own kind, of both seconds together.
    assert!(run.timeline(4).bins.iter().all(|bin| bin.exact && (bin.row.length_s - 2.0).abs() < 0.5));
}

#[test]
fn its_merged_histograms_are_its_distributions() {
    let run = run();
    let result = &run.result;
    for (series, told) in [
        (Series::Latency, &result.latency_ns),
        (Series::Service, &result.service_ns),
        (Series::Lateness, &result.lateness_ns),
        (Series::Connect, &result.connect_ns),
    ] {
        let merged: Histogram<u64> = merged_series(&run, series);
        assert_eq!(merged.len(), told.count);
        close(merged.value_at_quantile(0.5), told.p50);
        close(merged.value_at_quantile(0.99), told.p99);
        close(merged.max(), told.max);
    }
    let twice = merge_runs(&[load_run(&run.folder).unwrap(), load_run(&run.folder).unwrap()]);
    assert_eq!((twice.totals.done, twice.latency_ns.count, twice.rate.duration_s), (32_000, 32_000, 16.0));
    close(twice.latency_ns.p99, result.latency_ns.p99);
}
