//! How exact the gaps of an FPGA module are, at each rate: figures of `tare fpga bench`, as its JSON has them.

use serde::Serialize;

/// All rates.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GapBench {
    /// The port's address.
    pub port: String,
    pub simulated: bool,
    /// At each rate.
    pub frames: u32,
    /// Bytes of a frame, with its FCS.
    pub size: usize,
    /// Frames of 64 bytes came in at line rate meanwhile.
    pub backload: bool,
    pub tick_ns: u64,
    pub rates: Vec<GapRow>,
}

/// What came out at one rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GapRow {
    pub rate_mbps: u64,
    pub gap_ns: f64,
    pub gap_ticks: GapTicks,
    /// Frames that left after they were due.
    pub late: u64,
    /// By the module's histogram, where its own frames came back.
    pub histogram: Option<GapHistogram>,
    /// By the capture of the wire.
    pub wire: Option<WireGaps>,
    /// By the wall's clock; of a simulation nothing, whose report has its own time alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<f64>,
}

/// `whole + numerator / denominator`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GapTicks {
    pub whole: u32,
    pub numerator: u32,
    pub denominator: u32,
}

/// Distances of the gaps from whole ticks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GapHistogram {
    pub from_ticks: u32,
    pub bins: Vec<GapBin>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GapBin {
    pub ticks: u64,
    pub up_to_ticks: u64,
    pub gaps: u64,
}

impl GapHistogram {
    /// What so many percent of all values do not exceed: the greatest value of a bin.
    pub fn percentile(&self, percent: u64) -> u64 {
        let total: u64 = self.bins.iter().map(|bin| bin.gaps).sum();
        let wanted = (total * percent).div_ceil(100);
        let mut sum = 0;
        let found = self.bins.iter().find(|bin| {
            sum += bin.gaps;
            sum >= wanted
        });
        found.map_or(0, |bin| bin.up_to_ticks)
    }
}

/// Gaps on the wire, and what they differ from the gap that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WireGaps {
    pub frames: u64,
    pub mean_ns: f64,
    /// Mean square and mean amount of the difference.
    pub var_ns2: f64,
    pub avgerr_ns: f64,
    pub error_cycles: ErrorCycles,
    pub error_ns: ErrorNanos,
    /// How far, at most, a frame began from its place in the schedule.
    pub off_schedule_cycles_max: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ErrorCycles {
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ErrorNanos {
    pub p95: f64,
    pub max: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_have_percentiles() {
        let bins = |all: &[(u64, u64, u64)]| GapHistogram {
            from_ticks: 0,
            bins: all.iter().map(|&(ticks, up_to_ticks, gaps)| GapBin { ticks, up_to_ticks, gaps }).collect(),
        };
        assert_eq!(bins(&[(0, 0, 94), (1, 1, 5), (7, 7, 1)]).percentile(95), 1);
        assert_eq!(bins(&[(0, 0, 95), (7, 7, 5)]).percentile(95), 0);
        // It may have been any of 64 and 65: no more than 65 is what is known.
        assert_eq!(bins(&[(0, 0, 1), (64, 65, 99)]).percentile(95), 65);
        assert_eq!(bins(&[]).percentile(95), 0);
    }
}
