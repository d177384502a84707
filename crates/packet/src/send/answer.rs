//! Hardware addresses: those of the destinations are asked for before the run, and questions for ours are
//! answered while it goes on.
//!
//! Both use a port of their own on the same interface (`packet:`), so that the port of the load is left alone.

use super::neighbour::{Heard, answer, heard, question};
use super::receive::Sent;
use crate::{JobControl, PacketError};
use clock::{Clock, HostClock};
use plan::packets::frames::{FrameSource, Frames};
use port::{About, Address, For, Port, PortError, Wish};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use units::Picos;
use wire::template::{Field, Layer, Mac, Spec, StreamSpec, Values};

/// A question is asked so often, so long apart; then there is no answer.
const ASKED: u32 = 5;
const APART: Picos = Picos::from_millis(200);
/// Addresses that are asked for; of more, the first must do.
const MOST_ASKED: usize = 64;
/// Source addresses that questions are answered for.
const MOST_ANSWERED: u64 = 1 << 16;
const BATCH: usize = 64;
const WAIT: Picos = Picos::from_millis(20);

/// Addresses of Ethernet that were found out.
#[derive(Clone, Debug, Default)]
pub struct LinkAddresses {
    pub source: Option<Mac>,
    /// For each stream.
    pub destinations: Vec<Option<Mac>>,
    pub notes: Vec<String>,
}

/// Who answered for which address.
pub type Known = BTreeMap<IpAddr, Mac>;

/// Addresses of Ethernet that the plan does not have: ours from the interface, theirs by asking. Those that are
/// `known` are not asked for again. `by` is how the user can give one.
///
/// # Errors
/// `Unreachable` if nobody answers.
pub fn addresses(
    look: &Frames,
    about: &About,
    clock: HostClock,
    known: &mut Known,
    by: &str,
) -> Result<LinkAddresses, PacketError> {
    let FrameSource::Made { spec, macs } = look.source() else { return Ok(LinkAddresses::default()) };
    let mut found = LinkAddresses { source: about.mac.map(Mac), ..LinkAddresses::default() };
    found.destinations = vec![None; spec.streams.len()];
    let Some(beside) = about.beside() else { return Ok(found) };
    for (stream, (look, given)) in spec.streams.iter().zip(macs).enumerate() {
        let (Some((source, target)), false) = (ends(look), given.has_destination) else { continue };
        if is_group(target) {
            found.destinations[stream] = Some(group_mac(target));
            continue;
        }
        let mac = match known.get(&target) {
            Some(mac) => *mac,
            None if known.len() >= MOST_ASKED => {
                let first = known.values().next().copied();
                first.ok_or_else(|| PacketError::Wrong("no address was asked for".to_owned()))?
            }
            None => {
                let answer = resolve(&beside, found.source.unwrap_or_default(), source, target, clock)?;
                let mac = answer.ok_or_else(|| unanswered(beside.place(), target, by))?;
                found.notes.push(format!("{target} is at {mac}, by its own reply"));
                known.insert(target, mac);
                mac
            }
        };
        found.destinations[stream] = Some(mac);
    }
    Ok(found)
}

/// Source and destination of a stream's first IP header.
fn ends(look: &StreamSpec) -> Option<(IpAddr, IpAddr)> {
    look.layers.iter().find_map(|layer| match layer {
        Layer::Ipv4 { source, destination, .. } => Some((IpAddr::V4(*source), IpAddr::V4(*destination))),
        Layer::Ipv6 { source, destination, .. } => Some((IpAddr::V6(*source), IpAddr::V6(*destination))),
        _ => None,
    })
}

fn is_group(address: IpAddr) -> bool {
    address.is_multicast() || address == IpAddr::V4(std::net::Ipv4Addr::BROADCAST)
}

/// Groups have hardware addresses that follow from theirs (RFC 1112 §6.4, RFC 2464 §7).
fn group_mac(address: IpAddr) -> Mac {
    match address {
        IpAddr::V4(address) if address.is_broadcast() => Mac([0xff; 6]),
        IpAddr::V4(address) => {
            let [_, b, c, d] = address.octets();
            Mac([0x01, 0x00, 0x5e, b & 0x7f, c, d])
        }
        IpAddr::V6(address) => {
            let [.., a, b, c, d] = address.octets();
            Mac([0x33, 0x33, a, b, c, d])
        }
    }
}

/// Asks for the hardware address of `target` until somebody answers; `None` if nobody does.
fn resolve(
    beside: &Address,
    mac: Mac,
    source: IpAddr,
    target: IpAddr,
    clock: HostClock,
) -> Result<Option<Mac>, PacketError> {
    let mut port = port::open(beside, &Wish::default())?;
    let frame = question(source, mac, target).ok_or_else(|| {
        PacketError::Wrong(format!(
            "{source} and {target} are of different families; give two IPv4 or two IPv6 addresses"
        ))
    })?;
    for _ in 0..ASKED {
        send(&mut *port, &frame)?;
        let until = clock.now() + APART;
        while clock.now() < until {
            port.wait(For::Receive, WAIT)?;
            let mut found = None;
            port.receive(BATCH, &mut |frame| match heard(frame.data) {
                Some(Heard::Is { address, mac }) if address == target => found = Some(mac),
                _ => {}
            })?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    Ok(None)
}

fn unanswered(interface: &str, target: IpAddr, by: &str) -> PacketError {
    let asked = if target.is_ipv4() { "ARP" } else { "neighbour discovery" };
    PacketError::Unreachable(format!(
        "no host on {interface} replied for {target} ({asked}, {ASKED} requests in {}): give its MAC address \
         by {by}, or that of the next router if the destination is behind one",
        APART.saturating_mul(ASKED.into())
    ))
}

fn send(port: &mut dyn Port, frame: &[u8]) -> Result<(), PortError> {
    port.transmit(1, &mut |slot| {
        slot.data[..frame.len()].copy_from_slice(frame);
        slot.length = frame.len();
        *slot.mark = 0;
    })?;
    port.flush(APART).map(drop)
}

/// Answers for our source addresses.
pub struct Answering {
    port: Box<dyn Port>,
    mac: Mac,
    ours: BTreeSet<IpAddr>,
    answered: Arc<AtomicU64>,
}

/// What was answered, in the end.
pub struct Answered(Arc<AtomicU64>);

impl Answered {
    pub fn words(&self) -> String {
        let count = self.0.load(Ordering::Relaxed);
        format!("{count} request{} for our addresses answered", if count == 1 { "" } else { "s" })
    }
}

impl Answering {
    /// # Errors
    /// The port has no interface on which anybody could ask, or frames are not made by the plan.
    pub fn prepare(about: &About, spec: Option<&Spec>) -> Result<Self, PacketError> {
        let wrong = |why: &str| PacketError::Wrong(format!("--answer-arp: {why}"));
        let beside = about.beside().ok_or_else(|| wrong("this port has no interface"))?;
        let spec = spec.ok_or_else(|| wrong("the source addresses come from a file"))?;
        let mac = about.mac.map(Mac).ok_or_else(|| wrong("the interface has no MAC address"))?;
        let port = port::open(&beside, &Wish::default())?;
        let ours = spec.streams.iter().flat_map(sources).collect();
        Ok(Self { port, mac, ours, answered: Arc::default() })
    }

    /// Answers on a thread of its own until the run is over.
    pub fn start(mut self, control: Arc<JobControl>, sent: Arc<Sent>) -> std::io::Result<Answered> {
        let answered = Answered(self.answered.clone());
        std::thread::Builder::new().name("tare-answer".to_owned()).spawn(move || {
            while !control.stops() && !sent.is_over() {
                if let Err(error) = self.round() {
                    // The run itself goes on; who asks then learns nothing.
                    if matches!(error, PortError::Gone { .. }) {
                        return;
                    }
                }
            }
        })?;
        Ok(answered)
    }

    fn round(&mut self) -> Result<(), PortError> {
        self.port.wait(For::Receive, WAIT)?;
        let mut answers = Vec::new();
        let Self { port, mac, ours, .. } = self;
        port.receive(BATCH, &mut |frame| {
            if let Some(Heard::Asks { asker, mac: theirs, target }) = heard(frame.data)
                && ours.contains(&target)
            {
                answers.extend(answer(asker, theirs, target, *mac));
            }
        })?;
        for frame in &answers {
            send(&mut *self.port, frame)?;
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// The source addresses that a stream has: one, or those that vary.
fn sources(stream: &StreamSpec) -> Vec<IpAddr> {
    let Some((source, _)) = ends(stream) else { return Vec::new() };
    let varied = stream.vary.iter().find(|vary| matches!(vary.field, Field::Ipv4Source | Field::Ipv6Source));
    let as_address = |value: u128| match source {
        IpAddr::V4(_) => IpAddr::V4((value as u32).into()),
        IpAddr::V6(_) => IpAddr::V6(value.into()),
    };
    match varied.map(|vary| &vary.values) {
        None => vec![source],
        Some(Values::List(list)) => list.iter().map(|value| as_address(*value)).collect(),
        Some(Values::Increment { start, step, count }) => (0..(*count).min(MOST_ANSWERED))
            .map(|i| as_address(start.wrapping_add_signed(i128::from(*step) * i128::from(i))))
            .collect(),
        Some(Values::Random { first, last }) => {
            let count = (last - first).min(u128::from(MOST_ANSWERED));
            (0..=count).map(|i| as_address(first + i)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_answer_is_told_with_the_way_to_give_its_address() {
        let target = IpAddr::from([198, 18, 0, 9]);
        let told = unanswered("veth0", target, "dst-mac=").to_string();
        assert!(
            told.contains("198.18.0.9 (ARP, 5 requests in 1s): give its MAC address by dst-mac=, or"),
            "{told}"
        );
    }
}
