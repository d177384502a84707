//! What is left to tell of the sessions of a run.

use crate::figures::Figures;
use station::Mac;
use std::net::IpAddr;

/// Where sessions were: the port, and who they were there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The port, as it opened.
    pub port: String,
    pub addresses: Vec<IpAddr>,
    pub mac: Mac,
    /// Why this MAC address.
    pub why_mac: &'static str,
    /// Bytes of the longest IP packet.
    pub mtu: usize,
    /// The kernel beside the port forwards packets for others.
    pub host_forwards: bool,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub place: Place,
    pub figures: Figures,
    pub station: station::Counters,
    pub port: port::Counters,
}

impl Account {
    /// Frames that had arrived and that this machine lost.
    pub fn lost_after_arrival(&self) -> u64 {
        let drops = self.port.drops.iter().filter(|drop| drop.place.is_after_arrival());
        drops.map(|drop| drop.frames).sum()
    }

    /// Frames that never left: those that the port had no room for, and those that it took and could not send.
    /// What was lost to a link without a carrier is not among them.
    pub fn unsent(&self) -> u64 {
        let down = self.port.dropped(port::DropPlace::TransmitDown);
        self.figures.unsent + self.port.unsent().saturating_sub(down)
    }
}

/// Ways in which this TCP is not a kernel's, for those who compare results: a name, and what it means.
pub const DEVIATIONS: [(&str, &str); 9] = [
    (
        "congestion.fixed_burst",
        "there is no congestion control: at most ten segments of a connection are in flight",
    ),
    ("recovery.go_back_n", "after a loss, what followed the lost segment is sent again, too"),
    ("recovery.no_tail_probe", "a lost last segment waits for the timeout, 200 ms or more"),
    ("sack.not_used", "SACK is offered, but its blocks do not choose what is sent again"),
    ("reassembly.one_interval", "data beyond a second hole is dropped, and the target must send it again"),
    ("window.fixed", "the receive window is always 65535 << 7 bytes, or closed"),
    ("nagle.none", "small segments leave at once"),
    ("time_wait.1s", "a port may be used again two seconds after a close, not 60"),
    ("rtt.per_target", "round-trip times are kept for each target, not for each connection"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use port::DropPlace;

    #[test]
    fn losses_are_told_by_whose_they_are() {
        let place = Place {
            port: "mem:x".into(),
            addresses: Vec::new(),
            mac: Mac([2, 0, 0, 0, 0, 1]),
            why_mac: "as given",
            mtu: 1_500,
            host_forwards: false,
        };
        let mut port = port::Counters::default();
        for (at, frames) in [
            (DropPlace::ReceiveRing, 3),
            (DropPlace::ReceiveFilter, 50),
            (DropPlace::TransmitDriver, 7),
            (DropPlace::TransmitDown, 100),
        ] {
            port.drop(at, frames);
        }
        let figures = Figures { unsent: 11, ..Figures::default() };
        let account = Account { place, figures, station: station::Counters::default(), port };
        assert_eq!((account.lost_after_arrival(), account.unsent()), (3, 18));
    }

    #[test]
    fn deviations_have_names_of_their_own() {
        let names: std::collections::BTreeSet<_> = DEVIATIONS.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), DEVIATIONS.len());
    }
}
