//! `--to`: sinks for a run's figures, between the flag and the hub.

use crate::options::{Options, Output};
use crate::status::{Failure, complain};
use anyhow::anyhow;
use clock::Clock;
use measure::{Recorder, SinkLoss, Tapped};
use sinks::{Hub, Place, RunInfo};
use std::path::Path;
use std::time::Duration;
use store::Sink;
use store::schema::SinkStatus;
use units::Instant;

/// How long sinks may take at the end for what they have not taken yet.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Reads the URLs; two that want standard output are one too many.
pub fn places(options: &Options) -> Result<Vec<Place>, Failure> {
    if let Some(why) = sinks::left_out("parquet").filter(|_| options.samples) {
        return Err(Failure::wrong(anyhow!("--samples: {why}")));
    }
    let places: Vec<Place> =
        options.to.iter().map(|text| Place::parse(text)).collect::<Result<_, _>>().map_err(Failure::wrong)?;
    match places.iter().find(|place| place.is_stdout()) {
        Some(place) if options.output == Output::Json => Err(Failure::wrong(anyhow!(
            "--to {} and --json both write to standard output; name a file for one of them",
            place.shown()
        ))),
        _ => Ok(places),
    }
}

/// `--samples`: a file in the run folder, if there is one.
pub fn samples(sink: &dyn Sink) -> Option<Place> {
    let (Some(folder), Some(anchor)) = (sink.place(), sink.anchor()) else {
        complain("tare: --samples needs a run folder, but there is none; use --to parquet:FILE");
        return None;
    };
    let in_folder = |folder: &Path| folder.join("samples.parquet");
    Some(Place::of_file("parquet", &in_folder(Path::new(&folder))).reached_by(&in_folder(&anchor)))
}

/// Opens all of them, and warns at once about those that cannot be reached.
pub fn open(places: &[Place], run: RunInfo) -> Result<Hub, Failure> {
    let hub = Hub::open(places, run).map_err(Failure::wrong)?;
    hub.warnings().iter().for_each(|warning| complain(&format!("tare: {warning}")));
    Ok(hub)
}

/// Whether the summary has to go elsewhere.
pub fn takes_stdout(options: &Options) -> bool {
    places(options).is_ok_and(|places| places.iter().any(Place::is_stdout))
}

/// Recorders with a tap before each, if a sink wants single events.
pub fn tapped(recorders: Vec<Recorder>, origin: Instant, hub: &mut Hub) -> Vec<Tapped<Recorder>> {
    if !hub.wants_events() {
        return recorders.into_iter().map(Tapped::untapped).collect();
    }
    let (tapped, batches) = measure::taps(recorders, origin);
    hub.batches(batches);
    tapped
}

/// Wall-clock time of the run's origin, nanoseconds since 1970.
pub fn origin_unix_ns(clock: &impl Clock, origin: Instant) -> u64 {
    let (wall, now) = (clock::unix_ns(), clock.now());
    (wall + origin.since(now).as_nanos()).saturating_sub(now.since(origin).as_nanos())
}

/// What the verdict needs to know of them.
pub fn loss(statuses: &[SinkStatus]) -> Option<SinkLoss> {
    let lost = |status: &SinkStatus| status.rows_lost + status.events_lost;
    let worst = statuses.iter().max_by_key(|status| lost(status))?;
    Some(SinkLoss {
        lost: statuses.iter().map(lost).sum(),
        place: worst.url.clone(),
        trouble: worst.trouble.clone(),
    })
}

/// What did not arrive, a line each.
pub fn tell(statuses: &[SinkStatus]) {
    for status in statuses.iter().filter(|status| !status.trouble.is_empty()) {
        let SinkStatus { url, rows_lost, events_lost, trouble, .. } = status;
        complain(&match (rows_lost, events_lost) {
            (0, 0) => format!("tare: {url}: {trouble}; every row and event arrived"),
            (rows, 0) => format!("tare: {url}: {} lost: {trouble}", report::counted(*rows, "row")),
            (rows, events) => format!(
                "tare: {url}: {} and {} lost: {trouble}",
                report::counted(*rows, "row"),
                report::counted(*events, "event")
            ),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::FakeClock;
    use units::Picos;

    #[test]
    fn the_origin_is_on_the_wall_where_it_is_on_the_clock() {
        let now = Instant::EPOCH + Picos::from_secs(100);
        let clock = FakeClock::at(now);
        let before = clock::unix_ns();
        let later = origin_unix_ns(&clock, now + Picos::from_secs(3));
        let earlier = origin_unix_ns(&clock, now.saturating_sub(Picos::from_secs(3)));
        assert!((before + 3_000_000_000..=clock::unix_ns() + 3_000_000_000).contains(&later));
        assert!((before - 3_000_000_000..=clock::unix_ns()).contains(&earlier));
    }

    #[test]
    fn the_place_that_lost_most_is_named() {
        let status = |url: &str, rows_lost, events_lost| SinkStatus {
            url: url.to_owned(),
            rows_lost,
            events_lost,
            ..SinkStatus::default()
        };
        let loss = loss(&[status("a", 1, 0), status("b", 0, 5), status("c", 0, 0)]).unwrap();
        assert_eq!((loss.lost, loss.place.as_str()), (6, "b"));
        assert_eq!(super::loss(&[]), None);
    }
}
