//! Queueing disciplines of an interface, by rtnetlink (linux/rtnetlink.h, linux/pkt_sched.h): which there are,
//! and how those are set that keep launch times.
//!
//! ```text
//!   root ─┬ etf   by time, dropped when late         root ─ mqprio ─┬ class 1 ─ etf
//!         └ fq    by flow, never before their time                  └ class 2 ─ …
//! ```

use super::netlink::Netlink;
use super::rtnetlink::{Attributes, read_u32};
use std::io;

/// struct tcmsg: family, padding, interface (at 4), handle (8), parent (12), info.
const HEAD: usize = 20;
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
/// TCA_STATS2, and in it TCA_STATS_QUEUE: struct gnet_stats_queue, frames that were dropped at 8.
const STATISTICS: u16 = 7;
const QUEUE: u16 = 3;
const DROPS: usize = 8;
/// TCA_ETF_PARMS: delta, clock, flags.
const ETF: u16 = 1;
const DEADLINE: u32 = 1 << 0;
const OFFLOAD: u32 = 1 << 1;
/// TCA_FQ_*.
const LIMIT: u16 = 1;
const FLOW_LIMIT: u16 = 2;
const TIMER_SLACK: u16 = 13;
const HORIZON: u16 = 14;
const HORIZON_DROP: u16 = 15;
/// TC_H_ROOT, TC_H_INGRESS (which has a parent of its own).
const ROOT: u32 = u32::MAX;
const INGRESS: u32 = 0xffff_fff1;

/// One queueing discipline that frames on their way out may pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    pub kind: String,
    /// The class of another one; `None` at the root.
    pub class: Option<u32>,
    pub times: Option<Times>,
}

/// How one keeps launch times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    Etf(Etf),
    Fq(Fq),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Etf {
    pub clock: i32,
    /// Frames are handed to the driver so long before their time.
    pub delta_ns: i32,
    /// A frame may leave any time before its own.
    pub deadline: bool,
    /// The card keeps the times.
    pub offload: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fq {
    /// Frames in all, and of one flow.
    pub limit: u32,
    pub flow_limit: u32,
    /// Further in the future than that no frame is kept; 0 where the kernel has no such limit.
    pub horizon_us: u32,
    /// It is dropped then, instead of leaving at the horizon.
    pub drops_beyond: bool,
    /// How long after a frame's time its timer may go off.
    pub slack_ns: u32,
}

/// Those of the interface with this index, without what is for arriving frames.
pub fn of(netlink: &Netlink, index: u32) -> io::Result<Vec<Qdisc>> {
    let mut all = Vec::new();
    netlink.ask_qdiscs(HEAD, |interface, parent, attributes| {
        if interface == index && parent != INGRESS {
            all.push(read(parent, attributes));
        }
    })?;
    Ok(all)
}

/// Frames that the queueing disciplines of that interface have dropped. A root counts what those below it drop,
/// where it knows, so this is the most that one of them counted.
pub fn drops(netlink: &Netlink, index: u32) -> io::Result<u64> {
    let mut most = 0;
    netlink.ask_qdiscs(HEAD, |interface, parent, attributes| {
        if interface == index && parent != INGRESS {
            most = most.max(dropped(attributes));
        }
    })?;
    Ok(most)
}

fn dropped(mut attributes: Attributes<'_>) -> u64 {
    let statistics = attributes.find(|(name, _)| *name == STATISTICS).map_or(&[][..], |(_, value)| value);
    let queue = Attributes::of(statistics).find(|(name, _)| *name == QUEUE);
    queue.map_or(0, |(_, value)| u64::from(read_u32(value, DROPS)))
}

fn read(parent: u32, attributes: Attributes<'_>) -> Qdisc {
    let (mut kind, mut options) = (String::new(), &[][..]);
    for (name, value) in attributes {
        match name {
            KIND => kind = super::netlink::text(value),
            OPTIONS => options = value,
            _ => (),
        }
    }
    let times = match kind.as_str() {
        "etf" => Some(Times::Etf(etf(options))),
        "fq" => Some(Times::Fq(fq(options))),
        _ => None,
    };
    Qdisc { kind, class: (parent != ROOT).then_some(parent), times }
}

fn etf(options: &[u8]) -> Etf {
    let values = Attributes::of(options).find(|(name, _)| *name == ETF).map_or(&[][..], |(_, value)| value);
    let flags = read_u32(values, 8);
    Etf {
        delta_ns: read_u32(values, 0) as i32,
        clock: read_u32(values, 4) as i32,
        deadline: flags & DEADLINE != 0,
        offload: flags & OFFLOAD != 0,
    }
}

fn fq(options: &[u8]) -> Fq {
    let mut found = Fq::default();
    for (name, value) in Attributes::of(options) {
        let number = read_u32(value, 0);
        match name {
            LIMIT => found.limit = number,
            FLOW_LIMIT => found.flow_limit = number,
            TIMER_SLACK => found.slack_ns = number,
            HORIZON => found.horizon_us = number,
            HORIZON_DROP => found.drops_beyond = value.first() == Some(&1),
            _ => (),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(name: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = (4 + value.len() as u16).to_ne_bytes().to_vec();
        bytes.extend(name.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn etf_and_fq_say_how_they_are_set() {
        // tc qdisc add dev X parent 100:1 etf clockid CLOCK_TAI delta 300000 offload: clock 11, flag 2.
        let parameters = attribute(ETF, &words(&[300_000, 11, OFFLOAD]));
        let all = [attribute(KIND, b"etf\0"), attribute(OPTIONS, &parameters)].concat();
        let found = read(0x0100_0001, Attributes::of(&all));
        let etf = Etf { clock: 11, delta_ns: 300_000, deadline: false, offload: true };
        let expected = Qdisc { kind: "etf".into(), class: Some(0x0100_0001), times: Some(Times::Etf(etf)) };
        assert_eq!(found, expected);
        // tc qdisc add dev X root fq: what the kernel sets by itself.
        let options = [
            attribute(LIMIT, &words(&[10_000])),
            attribute(FLOW_LIMIT, &words(&[100])),
            attribute(TIMER_SLACK, &words(&[10_000])),
            attribute(HORIZON, &words(&[10_000_000])),
            attribute(HORIZON_DROP, &[1]),
        ]
        .concat();
        let all = [attribute(KIND, b"fq\0"), attribute(OPTIONS, &options)].concat();
        let found = read(ROOT, Attributes::of(&all));
        let fq = Fq {
            limit: 10_000,
            flow_limit: 100,
            horizon_us: 10_000_000,
            drops_beyond: true,
            slack_ns: 10_000,
        };
        assert_eq!((found.class, found.times), (None, Some(Times::Fq(fq))));
        let other = read(ROOT, Attributes::of(&attribute(KIND, b"noqueue\0")));
        assert_eq!((other.kind.as_str(), other.times), ("noqueue", None));
    }

    #[test]
    fn drops_are_among_the_figures_of_the_queue() {
        // tc -s: backlog 180b 3p, dropped 2684, overlimits 9 requeues 1.
        let queue = attribute(QUEUE, &words(&[3, 180, 2_684, 1, 9]));
        let all = [attribute(KIND, b"pfifo_head_drop\0"), attribute(STATISTICS, &queue)].concat();
        assert_eq!(dropped(Attributes::of(&all)), 2_684);
        assert_eq!(dropped(Attributes::of(&attribute(KIND, b"noqueue\0"))), 0);
    }

    #[test]
    fn the_loopback_interface_keeps_no_times() {
        let netlink = Netlink::open().unwrap();
        let lo = super::super::Interface::find("lo").unwrap();
        assert!(of(&netlink, lo.index).unwrap().iter().all(|qdisc| qdisc.times.is_none()));
    }
}
