//! Whose each frame of a recording is: the clients' or the servers'.
//!
//! ```text
//! ports or networks of the rule ─► else, for each flow:   SYN: its sender is the client
//!                                                         else the lower port is the server's
//!                                                         else who spoke first is the client
//! not IP ─► as its source address of Ethernet before; else the other end of its destination's; else a client's
//! ```
//!
//! The answer depends only on the frames before: whoever reads a recording again comes to the same.

use plan::packets::split::{Side, Split};
use std::collections::HashMap;
use std::net::IpAddr;
use wire::Tuple;
use wire::parse::{self, TCP};
use wire::tcp::flag::{ACK, SYN};

/// Flows, and stations, that are remembered; what comes after is decided anew each time.
const MOST: usize = 1 << 20;

type End = (IpAddr, u16);

/// A flow in both directions: the lower end first. Of packets without ports these are 0, and the protocol, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    protocol: u8,
    low: End,
    high: End,
}

impl Key {
    /// And whether the source is the lower end.
    fn of(protocol: u8, source: End, destination: End) -> (Self, bool) {
        let is_low = source <= destination;
        let (low, high) = if is_low { (source, destination) } else { (destination, source) };
        (Self { protocol, low, high }, is_low)
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Splitter {
    by: Split,
    /// Whether the lower end is the client.
    flows: HashMap<Key, bool>,
    stations: HashMap<[u8; 6], Side>,
}

impl Splitter {
    pub fn new(by: Split) -> Self {
        Self { by, flows: HashMap::new(), stations: HashMap::new() }
    }

    /// Whose a frame is.
    pub fn side(&mut self, frame: &[u8]) -> Side {
        let (to, from) = (station(frame, 0), station(frame, 6));
        match parse::summary(frame).filter(Tuple::is_ip) {
            Some(tuple) => {
                let side = self.by_rule(&tuple).unwrap_or_else(|| self.by_flow(frame, &tuple));
                self.remember(from, side);
                side
            }
            None => {
                let known = |mac: Option<[u8; 6]>| mac.and_then(|mac| self.stations.get(&mac).copied());
                let side = known(from).or_else(|| known(to).map(Side::other)).unwrap_or(Side::Clients);
                self.remember(from, side);
                side
            }
        }
    }

    fn remember(&mut self, mac: Option<[u8; 6]>, side: Side) {
        let Some(mac) = mac else { return };
        if self.stations.len() < MOST || self.stations.contains_key(&mac) {
            self.stations.insert(mac, side);
        }
    }

    /// What the user said, where it says something of this frame.
    fn by_rule(&self, tuple: &Tuple) -> Option<Side> {
        match &self.by {
            Split::Auto => None,
            Split::Networks { side, networks } => {
                let is_in = networks.iter().any(|network| network.contains(tuple.source));
                Some(if is_in { *side } else { side.other() })
            }
            Split::Ports(ranges) => {
                if !tuple.has_ports() {
                    return None;
                }
                let is_servers =
                    |port: u16| ranges.iter().any(|(first, last)| (*first..=*last).contains(&port));
                match (is_servers(tuple.source_port), is_servers(tuple.destination_port)) {
                    (true, false) => Some(Side::Servers),
                    (false, true) => Some(Side::Clients),
                    _ => None,
                }
            }
        }
    }

    fn by_flow(&mut self, frame: &[u8], tuple: &Tuple) -> Side {
        let (hosts, hosts_low) = Key::of(0, (tuple.source, 0), (tuple.destination, 0));
        if !tuple.has_ports() {
            let low_is_client = self.known_or(hosts, hosts_low);
            return side_of(low_is_client, hosts_low);
        }
        let (source, destination) =
            ((tuple.source, tuple.source_port), (tuple.destination, tuple.destination_port));
        let (key, is_low) = Key::of(tuple.protocol, source, destination);
        let low_is_client = match handshake(frame, tuple) {
            // A handshake is the last word.
            Some(by_client) => {
                let low_is_client = by_client == is_low;
                self.keep(key, low_is_client);
                low_is_client
            }
            None => {
                let guess = match tuple.source_port.cmp(&tuple.destination_port) {
                    std::cmp::Ordering::Less => !is_low,
                    std::cmp::Ordering::Greater | std::cmp::Ordering::Equal => is_low,
                };
                self.known_or(key, guess)
            }
        };
        let side = side_of(low_is_client, is_low);
        // What these two send each other without ports follows their first flow.
        self.known_or(hosts, (side == Side::Clients) == hosts_low);
        side
    }

    fn known_or(&mut self, key: Key, low_is_client: bool) -> bool {
        if let Some(known) = self.flows.get(&key) {
            return *known;
        }
        self.keep(key, low_is_client);
        low_is_client
    }

    fn keep(&mut self, key: Key, low_is_client: bool) {
        if self.flows.len() < MOST || self.flows.contains_key(&key) {
            self.flows.insert(key, low_is_client);
        }
    }
}

const fn side_of(low_is_client: bool, is_low: bool) -> Side {
    if low_is_client == is_low { Side::Clients } else { Side::Servers }
}

/// Whether a segment that opens a connection is the client's.
fn handshake(frame: &[u8], tuple: &Tuple) -> Option<bool> {
    if tuple.protocol != TCP {
        return None;
    }
    let flags = *frame.get(usize::from(tuple.transport) + 13)?;
    (flags & SYN != 0).then_some(flags & ACK == 0)
}

/// An address of one station, not of a group.
fn station(frame: &[u8], at: usize) -> Option<[u8; 6]> {
    let mac: [u8; 6] = frame.get(at..at + 6)?.try_into().ok()?;
    (mac[0] & 1 == 0).then_some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::template::{Layer, Mac, Spec, StreamSpec};
    use wire::{Template, Times};

    const NEAR: [u8; 4] = [198, 18, 0, 1];
    const FAR: [u8; 4] = [198, 19, 0, 2];

    fn mac(of: [u8; 4]) -> Mac {
        Mac([2, 0, of[0], of[1], of[2], of[3]])
    }

    fn frame(layers: Vec<Layer>) -> Vec<u8> {
        let stream = StreamSpec { weight: 1, layers, ..StreamSpec::default() };
        let template = Template::build(&Spec { streams: vec![stream], seed: 1 }).unwrap();
        let mut room = vec![0; template.longest()];
        template.write(0, Times::default(), &mut room, &mut 0);
        room
    }

    fn ip(from: [u8; 4], to: [u8; 4], more: Option<Layer>) -> Vec<u8> {
        let layers = [Layer::ethernet(mac(from), mac(to)), Layer::ipv4(from.into(), to.into())];
        frame(layers.into_iter().chain(more).collect())
    }

    fn udp(from: [u8; 4], source: u16, to: [u8; 4], destination: u16) -> Vec<u8> {
        ip(from, to, Some(Layer::Udp { source, destination, checksum: true }))
    }

    fn tcp(from: [u8; 4], source: u16, to: [u8; 4], destination: u16, flags: u8) -> Vec<u8> {
        let layer = Layer::Tcp {
            source,
            destination,
            sequence: 1,
            acknowledgment: 0,
            flags,
            window: 1,
            options: Vec::new(),
        };
        ip(from, to, Some(layer))
    }

    fn arp(from: [u8; 4], to: [u8; 4], is_request: bool) -> Vec<u8> {
        let target = if is_request { Mac::BROADCAST } else { mac(to) };
        let layer = Layer::Arp {
            request: is_request,
            sender_mac: mac(from),
            sender: from.into(),
            target_mac: Mac::default(),
            target: to.into(),
        };
        frame(vec![Layer::ethernet(mac(from), target), layer])
    }

    fn sides(by: &str, frames: &[Vec<u8>]) -> Vec<Side> {
        let by = match by {
            "near are clients" => {
                Split::Networks { side: Side::Clients, networks: networks("clients=198.18.0.0/16") }
            }
            "near are servers" => {
                Split::Networks { side: Side::Servers, networks: networks("servers=198.18.0.0/16") }
            }
            _ => Split::default(),
        };
        let mut splitter = Splitter::new(by);
        frames.iter().map(|frame| splitter.side(frame)).collect()
    }

    fn networks(text: &str) -> Vec<plan::packets::split::Network> {
        let (_, network) = text.split_once('=').unwrap();
        vec![network.parse().unwrap()]
    }

    #[test]
    fn a_handshake_says_who_is_the_client_whatever_the_ports() {
        use Side::{Clients, Servers};
        let frames = [
            tcp(NEAR, 80, FAR, 5_000, SYN),
            tcp(FAR, 5_000, NEAR, 80, SYN | ACK),
            tcp(NEAR, 80, FAR, 5_000, ACK),
            tcp(FAR, 5_000, NEAR, 80, ACK),
        ];
        assert_eq!(sides("auto", &frames), [Clients, Servers, Clients, Servers]);
        // The first is missing: its answer says the same. Without both, the ports do.
        assert_eq!(sides("auto", &frames[1..]), [Servers, Clients, Servers]);
        assert_eq!(sides("auto", &frames[2..]), [Servers, Clients]);
        // The same ports again, the other way round.
        let again = [frames[0].clone(), tcp(FAR, 5_000, NEAR, 80, SYN), frames[2].clone()];
        assert_eq!(sides("auto", &again), [Clients, Clients, Servers]);
    }

    #[test]
    fn without_a_handshake_the_lower_port_is_the_servers_and_then_who_answers_is() {
        use Side::{Clients, Servers};
        let frames = [
            udp(FAR, 53, NEAR, 4_000),
            udp(NEAR, 4_000, FAR, 53),
            udp(FAR, 123, NEAR, 123),
            udp(NEAR, 123, FAR, 123),
            // Without ports: as their first flow.
            ip(NEAR, FAR, None),
            ip(FAR, NEAR, None),
        ];
        let expected = [Servers, Clients, Clients, Servers, Clients, Servers];
        assert_eq!(sides("auto", &frames), expected);
        assert_eq!(sides("auto", &frames[4..]), [Clients, Servers], "who spoke first");
        assert_eq!(sides("auto", &[ip(FAR, NEAR, None), ip(NEAR, FAR, None)]), [Clients, Servers]);
    }

    #[test]
    fn frames_that_are_not_ip_follow_their_station() {
        use Side::{Clients, Servers};
        let asked = [arp(NEAR, FAR, true), arp(FAR, NEAR, false), udp(NEAR, 4_000, FAR, 53)];
        assert_eq!(sides("auto", &asked), [Clients, Servers, Clients]);
        let by_server = [udp(FAR, 53, NEAR, 4_000), arp(FAR, NEAR, true), arp(NEAR, FAR, false)];
        assert_eq!(sides("auto", &by_server), [Servers, Servers, Clients]);
        assert_eq!(sides("auto", &[vec![0xff; 20], vec![0; 3]]), [Clients, Clients]);
    }

    #[test]
    fn a_rule_of_the_user_comes_first() {
        use Side::{Clients, Servers};
        let frames = [tcp(FAR, 5_000, NEAR, 80, SYN), udp(NEAR, 53, FAR, 9), ip(FAR, NEAR, None)];
        assert_eq!(sides("near are clients", &frames), [Servers, Clients, Servers]);
        assert_eq!(sides("near are servers", &frames), [Clients, Servers, Clients]);
        let mut by_ports = Splitter::new(Split::Ports(vec![(4_000, 5_000)]));
        let both =
            [tcp(NEAR, 80, FAR, 4_500, ACK), tcp(FAR, 4_500, NEAR, 80, ACK), udp(NEAR, 53, FAR, 9_000)];
        assert_eq!(
            both.map(|frame| by_ports.side(&frame)),
            [Clients, Servers, Servers],
            "the last by the lower port"
        );
    }
}
