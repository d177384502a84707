//! Headers around and within: MPLS, PPPoE, tunnels, extension headers of IPv6; and checksums that are wrong on
//! purpose.
//!
//! ```text
//! Ethernet, tags │ MPLS or PPPoE │ outer IP, tunnel │ IP, extensions │ UDP, TCP, ICMP
//! ```

use super::headers::{DESTINATION_MAC, SOURCE_MAC};
use super::stream::{Draft, Proto, Reader};
use super::values::Problem;
use crate::error::PlanError;
use crate::typed::Typed;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;
use wire::template::{Extension, Layer, Spoiled};
use wire::{gtpu, vxlan};

/// Other addresses of the range for benchmarks than those of the packet within.
const SOURCE: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 1, 1));
const DESTINATION: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 1, 2));
/// From where tunnels over UDP send; behind the range that flows begin with.
const SOURCE_PORT: u16 = 49_152;
const TTL: u8 = 64;
const TUNNELS: &str = "vxlan:NETWORK, gre, gre:KEY or gtpu:TUNNEL, e.g. vxlan:7";
const MOST_LABELS: usize = 8;

/// The header of a datagram that carries a packet: without a checksum, as RFC 7348 and RFC 6935 have it.
const fn datagram(destination: u16) -> Layer {
    Layer::Udp { source: SOURCE_PORT, destination, checksum: false }
}

impl Reader<'_> {
    /// Everything between the tags and the packet.
    pub(super) fn around(&self, draft: &mut Draft) -> Result<(), PlanError> {
        self.labels(draft)?;
        self.session(draft)?;
        self.tunnel(draft)
    }

    /// A number that may be written in hexadecimal.
    fn one<T: TryFrom<u64>>(&self, key: &str, text: &str, expected: &str) -> Result<T, PlanError> {
        let text = text.trim();
        let number = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        let wrong = || self.wrong(key, text, ("is not a number in range".to_owned(), expected.to_owned()));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(wrong)
    }

    fn labels(&self, draft: &mut Draft) -> Result<(), PlanError> {
        let Some(typed) = &self.typed.mpls else { return Ok(()) };
        let expected = "labels of 0 to 1048575, from the outside in: 100 or 100,200";
        let wrong =
            |problem: &str| self.wrong("mpls", typed.as_str(), (problem.to_owned(), expected.to_owned()));
        let mut labels = Vec::new();
        for part in typed.as_str().split(',') {
            let label: u32 = self.one("mpls", part, expected)?;
            if label >= 1 << 20 {
                return Err(wrong("has a label of more than 20 bits"));
            }
            labels.push(label);
        }
        if labels.len() > MOST_LABELS {
            return Err(wrong("has more than 8 labels"));
        }
        let shown: Vec<String> = labels.iter().map(u32::to_string).collect();
        draft.line("mpls", shown.join(","));
        draft.layers.extend(labels.into_iter().map(|label| Layer::Mpls { label, class: 0, ttl: TTL }));
        Ok(())
    }

    fn session(&self, draft: &mut Draft) -> Result<(), PlanError> {
        let Some(typed) = &self.typed.pppoe else { return Ok(()) };
        if self.typed.mpls.is_some() {
            return Err(self.both("pppoe", "mpls", "a frame has only one of the two after its VLAN tags"));
        }
        let session = self.one("pppoe", typed.as_str(), "a session of 0 to 65535")?;
        draft.line("pppoe", session);
        draft.layers.push(Layer::Pppoe { session });
        Ok(())
    }

    fn tunnel(&self, draft: &mut Draft) -> Result<(), PlanError> {
        let Some(typed) = &self.typed.tunnel else {
            let ends = [("tunnel_src", &self.typed.tunnel_src), ("tunnel_dst", &self.typed.tunnel_dst)];
            return match ends.into_iter().find(|(_, typed)| typed.is_some()) {
                Some((key, _)) => Err(self.missing(key, "--tunnel", "without it there is no outer header")),
                None => Ok(()),
            };
        };
        let text = typed.as_str();
        let (kind, number) = text.split_once(':').map_or((text, None), |(kind, n)| (kind, Some(n)));
        let wrong = |problem: &str| self.wrong("tunnel", text, (problem.to_owned(), TUNNELS.to_owned()));
        let number: Option<u32> = number.map(|n| self.one("tunnel", n, TUNNELS)).transpose()?;
        let needed = || number.ok_or_else(|| wrong("has no number"));
        let (layers, shown) = match kind {
            "vxlan" => {
                let network = needed()?;
                if network >= 1 << 24 {
                    return Err(wrong("has a network of more than 24 bits"));
                }
                let inner = Layer::ethernet(SOURCE_MAC, DESTINATION_MAC);
                (vec![datagram(vxlan::PORT), Layer::Vxlan { network }, inner], format!("vxlan:{network}"))
            }
            "gtpu" => {
                let tunnel = needed()?;
                (vec![datagram(gtpu::PORT), Layer::Gtpu { tunnel }], format!("gtpu:{tunnel}"))
            }
            "gre" => {
                let shown = number.map_or_else(|| "gre".to_owned(), |key| format!("gre:{key}"));
                (vec![Layer::Gre { key: number }], shown)
            }
            _ => return Err(wrong("is not a kind of tunnel")),
        };
        draft.line("tunnel", shown);
        let source = self.end("tunnel_src", &self.typed.tunnel_src)?;
        let destination = self.end("tunnel_dst", &self.typed.tunnel_dst)?;
        let (source, destination) = match (source, destination) {
            (Some(source), Some(destination)) => (source, destination),
            (None, None) => (SOURCE, DESTINATION),
            (None, Some(destination @ IpAddr::V4(_))) => (SOURCE, destination),
            (Some(source @ IpAddr::V4(_)), None) => (source, DESTINATION),
            (source, _) => {
                let (key, other) = if source.is_some() {
                    ("tunnel_src", "tunnel_dst")
                } else {
                    ("tunnel_dst", "tunnel_src")
                };
                return Err(self.missing(
                    key,
                    &format!("{other} with an IPv6 address"),
                    "its default is an IPv4 address",
                ));
            }
        };
        draft.line("tunnel_src", source);
        draft.line("tunnel_dst", destination);
        if kind != "gre" && (source.is_ipv6() || destination.is_ipv6()) {
            let why = "over IPv6, UDP needs a checksum of all that it carries; use gre, or IPv4 addresses for the tunnel";
            let key = if source.is_ipv6() { "tunnel_src" } else { "tunnel_dst" };
            return Err(self.both("tunnel", key, why));
        }
        let outer = match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Layer::ipv4(source, destination),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Layer::Ipv6 {
                source,
                destination,
                traffic_class: 0,
                flow_label: 0,
                hop_limit: TTL,
                next_header: None,
            },
            _ => {
                let why = "one is an IPv4 address, the other an IPv6 address";
                return Err(self.both("tunnel_src", "tunnel_dst", why));
            }
        };
        self.group(draft, destination);
        draft.is_in_tunnel = true;
        draft.layers.push(outer);
        draft.layers.extend(layers);
        Ok(())
    }

    fn end(&self, key: &str, typed: &Option<Typed>) -> Result<Option<IpAddr>, PlanError> {
        let Some(typed) = typed else { return Ok(None) };
        let wrong = |_| {
            let expected = "one IPv4 or IPv6 address".to_owned();
            self.wrong(key, typed.as_str(), ("is not an address".to_owned(), expected))
        };
        IpAddr::from_str(typed.as_str().trim()).map(Some).map_err(wrong)
    }

    pub(super) fn extensions(&self, draft: &mut Draft) -> Result<(), PlanError> {
        let Some(typed) = &self.typed.ipv6_ext else { return Ok(()) };
        if !matches!(draft.layers.last(), Some(Layer::Ipv6 { .. })) {
            return Err(self.missing("ipv6_ext", "IPv6 addresses", "IPv4 has no extension headers"));
        }
        let mut extensions = Vec::new();
        for word in typed.as_str().split(',') {
            extensions.push(match word.trim() {
                "hop" if extensions.is_empty() => Extension::HopByHop,
                "dst" => Extension::Destination,
                "frag" => Extension::Fragment,
                word => {
                    let problem = match word {
                        "hop" => "has hop-by-hop options after another header".to_owned(),
                        _ => format!("has '{word}', which is not an extension header"),
                    };
                    let expected = "some of hop, dst, frag, with hop first: hop,dst".to_owned();
                    return Err(self.wrong("ipv6_ext", typed.as_str(), (problem, expected)));
                }
            });
        }
        draft.line("ipv6_ext", typed.as_str().split(',').map(str::trim).collect::<Vec<_>>().join(","));
        draft.layers.extend(extensions.into_iter().map(Layer::Extension));
        Ok(())
    }

    pub(super) fn spoiled(&self, draft: &mut Draft, proto: Proto) -> Result<Spoiled, PlanError> {
        let mut spoiled = Spoiled::default();
        let Some(typed) = &self.typed.bad_checksum else { return Ok(spoiled) };
        // In a tunnel, of the packet within.
        let is_network = |layer: &&Layer| matches!(layer, Layer::Ipv4 { .. } | Layer::Ipv6 { .. });
        let is_ipv4 = matches!(draft.layers.iter().rev().find(is_network), Some(Layer::Ipv4 { .. }));
        for word in typed.as_str().split(',') {
            match (word.trim(), proto) {
                ("ip", _) if is_ipv4 => spoiled.network = true,
                ("udp", Proto::Udp) | ("tcp", Proto::Tcp) | ("icmp", Proto::Icmp) => spoiled.transport = true,
                (word, _) => {
                    let problem: Problem = match word {
                        "fcs" => (
                            "cannot be made wrong: cards compute the FCS themselves, and no port can pass \
                             one on"
                                .to_owned(),
                            "ip, or the protocol of these frames".to_owned(),
                        ),
                        "ip" => (
                            "is a checksum that IPv6 does not have".to_owned(),
                            "udp, tcp or icmp".to_owned(),
                        ),
                        _ => (
                            format!("has '{word}', but these frames have no such checksum"),
                            "ip, or the protocol of these frames (udp, tcp, icmp)".to_owned(),
                        ),
                    };
                    return Err(self.wrong("bad_checksum", typed.as_str(), problem));
                }
            }
        }
        draft.line("bad_checksum", typed.as_str().split(',').map(str::trim).collect::<Vec<_>>().join(","));
        Ok(spoiled)
    }
}
