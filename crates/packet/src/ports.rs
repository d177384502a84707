//! What the result says of each port of a run: what it is, why so, and what it counted.

use measure::packets::{PlaceCount, PortReport};
use port::{About, Counters, Port};

/// A port that has counted nothing yet. `role` is `out` or `in`.
pub fn report_of(role: &str, about: &About) -> PortReport {
    PortReport {
        role: role.to_owned(),
        name: about.name.clone(),
        queue: about.queue,
        speed_bps: about.speed_bps,
        stamps: about.can.stamps.map_or_else(String::new, |by| by.to_string()),
        choices: about
            .choices
            .iter()
            .map(|choice| format!("{}: {} ({})", choice.what, choice.chosen, choice.why))
            .collect(),
        ..PortReport::default()
    }
}

/// The same with what the port counted, if it can still be asked.
pub fn counted(report: PortReport, port: &mut dyn Port) -> PortReport {
    let Ok(counters) = port.counters() else { return report };
    PortReport {
        sent: counters.sent,
        sent_bytes: counters.sent_bytes,
        received: counters.received,
        received_bytes: counters.received_bytes,
        full: counters.full,
        drops: places(counters),
        ..report
    }
}

/// Where frames were lost, and how many at each place.
pub fn places(counters: &Counters) -> Vec<PlaceCount> {
    let lost = counters.drops.iter().filter(|drop| drop.frames > 0);
    lost.map(|drop| PlaceCount { place: drop.place.key().to_owned(), frames: drop.frames }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use port::DropPlace;

    #[test]
    fn places_without_a_loss_are_left_out() {
        let mut counters = Counters::default();
        counters.drop(DropPlace::ReceiveRing, 0);
        counters.drop(DropPlace::Peer, 3);
        let places = places(&counters);
        assert_eq!(places.len(), 1);
        assert_eq!((places[0].place.as_str(), places[0].frames), ("peer", 3));
    }
}
