//! What the result says of each port of a run: what it is, why so, and what it counted.

use measure::packets::{CardClockReport, PlaceCount, PortReport};
use port::{About, Counters, Port, StampClock, StampedBy};

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
    let clock = port.stamp_clock().map(clock_of);
    let report = PortReport { stamps: stamps_of(&report.stamps, clock.as_ref()), ..report };
    let Ok(counters) = port.counters() else { return report };
    PortReport {
        sent: counters.sent,
        sent_bytes: counters.sent_bytes,
        received: counters.received,
        received_bytes: counters.received_bytes,
        full: counters.full,
        held: counters.held,
        drops: places(counters),
        clock,
        ..report
    }
}

/// Who stamped, where a card was to and left some frames out.
pub fn stamps_of(stamps: &str, clock: Option<&CardClockReport>) -> String {
    let is_part = clock.is_some_and(|clock| clock.unstamped > 0);
    if is_part { StampedBy::Driver.to_string() } else { stamps.to_owned() }
}

/// The card's clock, as far as the port has followed it.
pub fn clock_of(clock: StampClock) -> CardClockReport {
    let found = clock.followed;
    CardClockReport {
        ptp: clock.phc.number,
        name: clock.phc.name,
        interface: clock.interface,
        ahead_ns: found.ahead_ns,
        bound_ns: found.bound_ns,
        drift_ppm: found.drift_ppm,
        comparisons: found.comparisons,
        steps: found.steps,
        unread: found.unread,
        unstamped: clock.unstamped,
    }
}

/// What is to be said of the cards' clocks that stamped: how well each is known, what it left out, and whether
/// two of them go alike.
pub fn of_clocks(ports: &[PortReport]) -> Vec<String> {
    let clocks: Vec<_> = ports.iter().filter_map(|port| Some((port, port.clock.as_ref()?))).collect();
    let mut notes: Vec<String> = Vec::new();
    for (port, clock) in &clocks {
        notes.push(format!(
            "{}: timestamps by ptp{} ({}), at the end {} ns ahead of the wall clock, drift {:.3} ppm; converted to \
             the wall clock to within {} ns",
            port.name, clock.ptp, clock.name, clock.ahead_ns, clock.drift_ppm, clock.bound_ns
        ));
        if clock.unstamped > 0 {
            notes.push(format!(
                "{} of {} frames were not stamped by the card of {} and have the kernel's timestamps: use those for all \
                 (stamps=driver)",
                clock.unstamped, port.received, clock.interface
            ));
        }
    }
    let of_role = |role: &str| clocks.iter().find(|(port, _)| port.role == role).map(|(_, clock)| *clock);
    if let (Some(sent), Some(received)) = (of_role("out"), of_role("in"))
        && sent.ptp != received.ptp
    {
        notes.push(apart(sent, received));
    }
    notes.dedup();
    notes
}

/// Two clocks are synchronised if they show the same as far as anybody can tell.
fn apart(sent: &CardClockReport, received: &CardClockReport) -> String {
    let (apart_ns, bound_ns) =
        (sent.ahead_ns.abs_diff(received.ahead_ns), sent.bound_ns.saturating_add(received.bound_ns));
    let how = if apart_ns <= bound_ns { "synchronised" } else { "not synchronised" };
    format!(
        "ptp{} and ptp{} are {how} with each other ({apart_ns} ns apart): both are converted to the wall clock, to within \
         {bound_ns} ns together",
        sent.ptp, received.ptp
    )
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

    #[test]
    fn clocks_are_told_with_their_error_and_two_of_them_with_whether_they_go_alike() {
        let port = |role: &str, ptp, ahead_ns| PortReport {
            role: role.to_owned(),
            name: format!("packet:eth{ptp}"),
            received: 10,
            clock: Some(CardClockReport { ptp, ahead_ns, bound_ns: 300, ..CardClockReport::default() }),
            ..PortReport::default()
        };
        let alike = of_clocks(&[port("out", 0, 37_000_000_100), port("in", 1, 37_000_000_650)]);
        assert_eq!(alike.len(), 3);
        assert!(
            alike[2].starts_with("ptp0 and ptp1 are synchronised with each other (550 ns apart)"),
            "{alike:?}"
        );
        let not = of_clocks(&[port("out", 0, 0), port("in", 1, 601)]);
        assert!(not[2].contains("are not synchronised") && not[2].contains("to within 600 ns"), "{not:?}");
        // One clock of a card with two interfaces.
        assert_eq!(of_clocks(&[port("out", 1, 0), port("in", 1, 0)]).len(), 1);
        let mut left_out = port("in", 1, 0);
        left_out.clock.as_mut().unwrap().unstamped = 4;
        assert!(of_clocks(&[left_out])[1].starts_with("4 of 10 frames were not stamped by the card"));
        assert_eq!(of_clocks(&[PortReport::default()]), Vec::<String>::new());
    }
}
