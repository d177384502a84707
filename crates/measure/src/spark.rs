//! The run over time in a few points, for a sparkline.

use crate::interval::IntervalRow;
use crate::series::Series;
use crate::tally::Tally;
use units::Picos;

/// One column of the sparkline: counts, and the largest latency (percentiles cannot be merged, a maximum can).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SparkPoint {
    pub start: Picos,
    pub length: Picos,
    pub offered: u64,
    pub tally: Tally,
    pub latency_max: Picos,
    pub own_lateness_max: Picos,
}

/// The run over time in at most [`Spark::MOST`] points of equal weight: when it is full, neighbours merge.
#[derive(Clone, Debug, Default)]
pub struct Spark {
    points: Vec<SparkPoint>,
    /// Rows in each point, a power of two; 0 before the first.
    rows_per_point: u32,
    /// Rows in the last point.
    rows_in_last: u32,
}

impl Spark {
    /// The most points there ever are.
    pub const MOST: usize = 128;

    pub fn points(&self) -> &[SparkPoint] {
        &self.points
    }

    /// Adds one interval.
    pub fn push(&mut self, row: &IntervalRow) {
        let max = |series| {
            let histogram = row.data.series.of(series);
            Picos::from_nanos(if histogram.is_empty() { 0 } else { histogram.max() })
        };
        let mut tally = row.data.tally;
        tally += row.data.warmup;
        self.push_point(SparkPoint {
            start: row.start,
            length: row.length,
            offered: row.offered(),
            tally,
            latency_max: max(Series::Latency),
            own_lateness_max: max(Series::OwnLateness),
        });
    }

    fn push_point(&mut self, point: SparkPoint) {
        self.rows_per_point = self.rows_per_point.max(1);
        match self.points.last_mut() {
            Some(last) if self.rows_in_last < self.rows_per_point => {
                last.absorb(&point);
                self.rows_in_last += 1;
            }
            _ => {
                if self.points.len() == Self::MOST {
                    self.halve();
                    return self.push_point(point);
                }
                self.points.push(point);
                self.rows_in_last = 1;
            }
        }
    }

    fn halve(&mut self) {
        for i in 0..self.points.len() / 2 {
            let mut pair = self.points[2 * i];
            pair.absorb(&self.points[2 * i + 1]);
            self.points[i] = pair;
        }
        self.points.truncate(Self::MOST / 2);
        self.rows_in_last = self.rows_per_point * 2;
        self.rows_per_point *= 2;
    }
}

impl SparkPoint {
    fn absorb(&mut self, later: &Self) {
        self.length += later.length;
        self.offered += later.offered;
        self.tally += later.tally;
        self.latency_max = self.latency_max.max(later.latency_max);
        self.own_lateness_max = self.own_lateness_max.max(later.own_lateness_max);
    }
}
