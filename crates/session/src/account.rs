//! What is left to tell of the sessions of a run.

use crate::figures::Figures;
use station::{Bad, Mac, Silent};
use std::net::IpAddr;
use std::ops::RangeInclusive;

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
    /// The addresses are this host's, too, and connections leave from these ports.
    pub shared: Option<RangeInclusive<u16>>,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub place: Place,
    pub figures: Figures,
    pub station: station::Counters,
    /// Neighbours that do not answer.
    pub silent: Vec<Silent>,
    pub port: port::Counters,
}

impl Account {
    /// Frames that had arrived and that this machine lost, or had no use for although a kernel has.
    pub fn lost_after_arrival(&self) -> u64 {
        let drops = self.port.drops.iter().filter(|drop| drop.place.is_after_arrival());
        let unused =
            [Bad::CutOff, Bad::Length, Bad::Fragment, Bad::Extension].map(|why| self.station.bad(why));
        drops.map(|drop| drop.frames).chain(unused).sum()
    }

    /// Frames that never left: those that the port had no room for, and those that it took and could not send.
    /// What was lost to a link without a carrier is not among them.
    pub fn unsent(&self) -> u64 {
        let down = self.port.dropped(port::DropPlace::TransmitDown);
        self.figures.unsent + self.port.unsent().saturating_sub(down)
    }
}

/// Ways in which this TCP is not a kernel's, for those who compare results: a name, and what it means.
pub const DEVIATIONS: [(&str, &str); 10] = [
    (
        "congestion.shared_window",
        "all connections to a target share one congestion window: ten segments at first, at most 44, less after losses",
    ),
    (
        "send.one_at_a_time",
        "a request, or 64 kB of a body, leaves when everything sent before on its connection is acknowledged",
    ),
    ("recovery.go_back_n", "after a loss, everything after the lost segment is sent again, too"),
    ("recovery.no_tail_probe", "a lost last segment waits for the timeout, 200 ms or more"),
    ("sack.not_used", "SACK is offered, but its blocks do not choose what is sent again"),
    ("reassembly.32_intervals", "data beyond 32 holes is dropped, and the target must send it again"),
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
            shared: None,
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
        // What was cut off or refused arrived and is lost; what is broken came so.
        let mut station = station::Counters::default();
        [Bad::CutOff, Bad::Extension, Bad::TcpChecksum].into_iter().for_each(|why| station.count_bad(why));
        let account = Account { place, figures, station, silent: Vec::new(), port };
        assert_eq!((account.lost_after_arrival(), account.unsent()), (5, 18));
    }

    #[test]
    fn deviations_have_names_of_their_own() {
        let names: std::collections::BTreeSet<_> = DEVIATIONS.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), DEVIATIONS.len());
    }
}
