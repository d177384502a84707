//! What a run past the kernel (`--via`) leaves in its result.

use http::{Account, Bad, DEVIATIONS, Silent};
use std::collections::BTreeMap;
use store::RunResult;
use store::schema::{Deviation, Tcp, Via};

/// Adds all of it, and which way requests went, with the reason.
pub fn tell(account: &Account, path: Option<&(&str, String)>, result: &mut RunResult) {
    result.notes.extend(notes(account));
    let (path, path_reason) = path.map(|(path, why)| ((*path).to_owned(), why.clone())).unwrap_or_default();
    result.via = Some(Via { path, path_reason, ..via(account) });
    result.tcp = Some(tcp(account));
}

fn via(account: &Account) -> Via {
    let place = &account.place;
    Via {
        port: place.port.clone(),
        addresses: place.addresses.iter().map(ToString::to_string).collect(),
        mac: place.mac.to_string(),
        mac_reason: place.why_mac.to_owned(),
        mtu: place.mtu as u64,
        ..Via::default()
    }
}

fn tcp(account: &Account) -> Tcp {
    let mut tcp = Tcp::default();
    for (name, count) in account.figures.named() {
        let is_known = tcp.set(name, count);
        debug_assert!(is_known, "the schema has {name}");
    }
    tcp.station = counts(account.station.named());
    tcp.bad_frames = counts(account.station.all_bad().map(|(cause, count)| (cause.key(), count)));
    tcp.lost_frames = counts(account.port.drops.iter().map(|drop| (drop.place.key(), drop.frames)));
    let faults = account.port.faults;
    tcp.faults = counts([
        ("dropped", faults.dropped),
        ("duplicated", faults.duplicated),
        ("reordered", faults.reordered),
        ("delayed", faults.delayed),
        ("corrupted", faults.corrupted),
    ]);
    let deviation = |(name, means): &(&str, &str)| Deviation { name: (*name).into(), means: (*means).into() };
    tcp.deviations = DEVIATIONS.iter().map(deviation).collect();
    tcp
}

/// Those that are not zero.
fn counts<'a>(all: impl IntoIterator<Item = (&'a str, u64)>) -> BTreeMap<String, u64> {
    let some = all.into_iter().filter(|(_, count)| *count > 0);
    some.map(|(name, count)| (name.to_owned(), count)).collect()
}

fn notes(account: &Account) -> Vec<String> {
    let mut notes = Vec::new();
    if account.place.host_forwards {
        notes.push(
            "this host forwards packets (net.ipv4.ip_forward or net.ipv6.conf.all.forwarding is 1): frames to \
             the addresses of --via that carry the interface's own MAC address may be forwarded by its kernel, too"
                .to_owned(),
        );
    }
    if let Some(ports) = &account.place.shared {
        notes.push(format!(
            "the addresses of --via are this host's: connections left from their ports {} to {}, which its \
             kernel left to them, and its own went on beside them",
            ports.start(),
            ports.end()
        ));
    }
    let faults = account.port.faults;
    let counts = [
        (faults.dropped, "dropped"),
        (faults.duplicated, "duplicated"),
        (faults.reordered, "reordered"),
        (faults.delayed, "delayed"),
        (faults.corrupted, "damaged"),
    ];
    let made: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{what} {}", report::count(*count)))
        .collect();
    if !made.is_empty() {
        notes.push(format!(
            "of this run's frames, fault: {}, as it was asked to; net includes what that took",
            made.join(", ")
        ));
    }
    let station = &account.station;
    if station.merged > 0 {
        notes.push(format!(
            "{} were longer than the MTU, because a host on the way merged segments (GRO, TSO): fewer, larger \
             segments arrived than on a wire; `ethtool -K INTERFACE gro off tso off gso off` at both ends \
             prevents it",
            report::counted(station.merged, "received frame")
        ));
    }
    if station.conflicts > 0 {
        notes.push(format!(
            "{} came from another host that claims one of the addresses of --via: choose unused addresses",
            report::counted(station.conflicts, "frame")
        ));
    }
    let refused = station.bad(Bad::Extension);
    if refused > 0 {
        notes.push(format!(
            "{} could not be used because of IPv6 extension headers (authentication, a route that goes on, an \
             option that must not be skipped, or more than 8 headers), so the target may seem not to answer",
            report::counted(refused, "received frame")
        ));
    }
    notes.extend(silent(&account.silent));
    notes
}

/// Who does not say where it is; two of them, however many there are.
fn silent(all: &[Silent]) -> impl Iterator<Item = String> {
    all.iter().take(2).map(|Silent { at, is_gateway, was_there }| {
        let what = if *is_gateway { ", the gateway (gw=)," } else { "" };
        let how = if at.is_ipv4() { "ARP" } else { "neighbour discovery" };
        if *was_there {
            return format!("{at}{what} stopped replying to {how} during the run");
        }
        format!("{at}{what} did not reply to {how}, so nothing was sent there: is the address right, and the host up?")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{Figures, Place};

    fn account() -> Account {
        let place = Place {
            port: "mem:x".into(),
            addresses: vec!["198.18.0.10".parse().expect("an address")],
            mac: "02:74:c6:12:00:0a".parse().expect("a MAC address"),
            why_mac: "as given",
            mtu: 1_500,
            host_forwards: false,
            shared: None,
        };
        let (figures, station, port) = Default::default();
        Account { place, figures, station, silent: Vec::new(), port }
    }

    #[test]
    fn every_figure_of_the_sessions_has_its_key_in_the_result() {
        let mut known = Tcp::default();
        for (name, _) in Figures::default().named() {
            assert!(known.set(name, 3), "{name}");
        }
        let text = serde_json::to_value(&known).expect("it can be written");
        let counts = text.as_object().expect("an object").values().filter(|value| value.as_u64() == Some(3));
        assert_eq!(counts.count(), Figures::default().named().count());
    }

    #[test]
    fn figures_station_and_deviations_are_in_the_result() {
        let mut account = account();
        account.figures.retransmitted = 12;
        account.station.merged = 2;
        account.station.count_bad(Bad::Extension);
        account.place.host_forwards = true;
        let silent =
            |at: &str, is_gateway, was_there| Silent { at: at.parse().unwrap(), is_gateway, was_there };
        account.silent = vec![silent("198.18.0.99", true, false), silent("fd00::7", false, true)];
        (account.port.faults.delayed, account.port.faults.corrupted) = (20, 1);
        let mut result = RunResult::default();
        tell(&account, Some(&("fast", "asked for".to_owned())), &mut result);
        let tcp = result.tcp.expect("it was told");
        assert_eq!((tcp.retransmitted, tcp.station["merged"]), (12, 2));
        assert_eq!(tcp.deviations.len(), DEVIATIONS.len());
        let via = result.via.expect("it was told");
        let told = (via.mac.as_str(), via.path.as_str(), via.path_reason.as_str());
        assert_eq!(told, ("02:74:c6:12:00:0a", "fast", "asked for"));
        assert!(result.notes.iter().any(|note| note.contains("ip_forward")), "{:?}", result.notes);
        for silent in [
            "198.18.0.99, the gateway (gw=), did not reply to ARP",
            "fd00::7 stopped replying to neighbour discovery during",
        ] {
            assert!(result.notes.iter().any(|note| note.starts_with(silent)), "{:?}", result.notes);
        }
        assert!(result.notes.iter().any(|note| note.starts_with("2 received frames")), "{:?}", result.notes);
        let extended = "1 received frame could not be used because of IPv6 extension headers";
        assert!(result.notes.iter().any(|note| note.starts_with(extended)), "{:?}", result.notes);
        let faults = "of this run's frames, fault: delayed 20, damaged 1, as it was asked to";
        assert!(result.notes.iter().any(|note| note.starts_with(faults)), "{:?}", result.notes);
    }
}
