//! Which percentiles an interval row has, in one table: the row's field, the series and the quantile it is of.

use crate::schema::Interval;
use measure::Series;

/// One percentile of a row.
pub struct Figure {
    pub of: Series,
    pub quantile: f64,
    pub field: fn(&mut Interval) -> &mut Option<u64>,
}

const fn figure(of: Series, quantile: f64, field: fn(&mut Interval) -> &mut Option<u64>) -> Figure {
    Figure { of, quantile, field }
}

/// All percentiles of a row; quantiles of one series are neighbours and ascend.
pub const FIGURES: [Figure; 25] = [
    figure(Series::Latency, 0.5, |row| &mut row.latency_p50_ns),
    figure(Series::Latency, 0.9, |row| &mut row.latency_p90_ns),
    figure(Series::Latency, 0.99, |row| &mut row.latency_p99_ns),
    figure(Series::Latency, 0.999, |row| &mut row.latency_p99_9_ns),
    figure(Series::Latency, 1.0, |row| &mut row.latency_max_ns),
    figure(Series::Net, 0.5, |row| &mut row.net_p50_ns),
    figure(Series::Net, 0.9, |row| &mut row.net_p90_ns),
    figure(Series::Net, 0.99, |row| &mut row.net_p99_ns),
    figure(Series::Net, 0.999, |row| &mut row.net_p99_9_ns),
    figure(Series::Net, 1.0, |row| &mut row.net_max_ns),
    figure(Series::Tare, 0.5, |row| &mut row.tare_p50_ns),
    figure(Series::Tare, 0.99, |row| &mut row.tare_p99_ns),
    figure(Series::Tare, 1.0, |row| &mut row.tare_max_ns),
    figure(Series::Unread, 0.99, |row| &mut row.unread_p99_ns),
    figure(Series::Service, 0.5, |row| &mut row.service_p50_ns),
    figure(Series::Service, 0.99, |row| &mut row.service_p99_ns),
    figure(Series::Lateness, 0.5, |row| &mut row.lateness_p50_ns),
    figure(Series::Lateness, 0.99, |row| &mut row.lateness_p99_ns),
    figure(Series::Lateness, 1.0, |row| &mut row.lateness_max_ns),
    figure(Series::OwnLateness, 0.99, |row| &mut row.own_lateness_p99_ns),
    figure(Series::Lookup, 0.5, |row| &mut row.lookup_p50_ns),
    figure(Series::Connect, 0.5, |row| &mut row.connect_p50_ns),
    figure(Series::Tls, 0.5, |row| &mut row.tls_p50_ns),
    figure(Series::FirstByte, 0.5, |row| &mut row.first_byte_p50_ns),
    figure(Series::Body, 0.5, |row| &mut row.body_p50_ns),
];

/// The series that `FIGURES` are of, and the heat map: no other is needed to draw a run.
pub const DRAWN: [Series; 12] = [
    Series::Latency,
    Series::Net,
    Series::Tare,
    Series::Unread,
    Series::Service,
    Series::Lateness,
    Series::OwnLateness,
    Series::Lookup,
    Series::Connect,
    Series::Tls,
    Series::FirstByte,
    Series::Body,
];

/// Position of a series in [`DRAWN`].
pub fn drawn(kind: Series) -> Option<usize> {
    DRAWN.iter().position(|drawn| *drawn == kind)
}
