//! What `tare fpga bench` found: a head, and a row for each rate as it comes.

use crate::words::count;
use store::gap_bench::{GapBench, GapRow};

/// What stands before the rows.
pub fn gap_bench_head(bench: &GapBench) -> String {
    let time = if bench.simulated { ", simulated time" } else { "" };
    let also = if bench.backload { ", with 64-byte frames coming in at line rate" } else { "" };
    format!(
        "{}: {} frames of {} bytes at each rate{also}{time}\n\n  \
         Mb/s     requested   gap error p95   max, in cycles   off schedule  late  where\n",
        bench.port,
        count(bench.frames.into()),
        bench.size
    )
}

/// The lines of one rate.
pub fn gap_bench_row(row: &GapRow) -> String {
    let mut text = String::new();
    let mut line = |p95: String, max: String, off: String, place: &str| {
        let (mbps, asked, late) = (row.rate_mbps, row.gap_ns, row.late);
        text += &format!("{mbps:>6} {asked:>13.2} {p95:>15} {max:>16} {off:>14} {late:>5}  {place}\n");
    };
    if let Some(gaps) = &row.histogram {
        // Distances from whole ticks.
        let (p95, max) = (gaps.percentile(95).to_string(), gaps.percentile(100).to_string());
        line(p95, max, "-".to_owned(), "the module's histogram, from the whole gap below");
    }
    if let Some(gaps) = &row.wire {
        let (p95, max) = (gaps.error_cycles.p95, gaps.error_cycles.max);
        line(format!("{p95:.2}"), format!("{max:.2}"), gaps.off_schedule_cycles_max.to_string(), "the wire");
        // As Caliper's tools print it, in nanoseconds.
        let (mean, variance, error) = (gaps.mean_ns, gaps.var_ns2, gaps.avgerr_ns);
        text += &format!("       mean {mean:.2} var {variance:.2} avgerr {error:.2}\n");
    }
    text
}

/// All of it, for programs; keys in the order of the alphabet.
pub fn gap_bench_json(bench: &GapBench) -> serde_json::Value {
    serde_json::to_value(bench).expect("a bench has only keys that are strings")
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::gap_bench::{GapBin, GapHistogram, GapTicks};

    fn row(wall_s: Option<f64>) -> GapRow {
        let bins = vec![GapBin { ticks: 64, up_to_ticks: 65, gaps: 10 }];
        GapRow {
            rate_mbps: 1_000,
            gap_ns: 12_304.0,
            gap_ticks: GapTicks { whole: 1_538, numerator: 0, denominator: 1 },
            late: 0,
            histogram: Some(GapHistogram { from_ticks: 1_538, bins }),
            wire: None,
            wall_s,
        }
    }

    fn bench(rates: Vec<GapRow>) -> GapBench {
        let port = "fpga:eth1".to_owned();
        GapBench { port, simulated: false, frames: 10_000, size: 1_518, backload: false, tick_ns: 8, rates }
    }

    #[test]
    fn what_a_bin_may_hold_is_the_error() {
        let words: Vec<String> =
            gap_bench_row(&row(None)).split_whitespace().take(4).map(str::to_owned).collect();
        assert_eq!(words, ["1000", "12304.00", "65", "65"]);
        assert!(gap_bench_head(&bench(Vec::new())).starts_with("fpga:eth1: 10 000 frames of 1518 bytes"));
    }

    #[test]
    fn wall_time_is_in_no_report_of_a_simulation() {
        let json = gap_bench_json(&bench(vec![row(None), row(Some(2.0))]));
        assert!(json["rates"][0].get("wall_s").is_none() && json["rates"][0]["wire"].is_null());
        assert_eq!(json["rates"][1]["wall_s"], 2.0);
    }
}
