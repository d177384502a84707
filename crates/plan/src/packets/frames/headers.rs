//! The headers of a stream, each from its keys: from Ethernet inwards.

use super::stream::{Draft, Proto, Reader};
use super::values::{Chosen, Problem, ValueKind, family, mac};
use super::{Macs, tcp_options};
use crate::error::PlanError;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::template::{Echo, Field, Layer, Mac};

/// Addresses of the range for benchmarks (RFC 2544 appendix C.2.2) and of unique local ones (RFC 4193).
const SOURCE4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const DESTINATION4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
const SOURCE6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
const DESTINATION6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);
/// Local addresses, until the port's own are known.
pub(super) const SOURCE_MAC: Mac = Mac([2, 0, 0, 0, 0, 1]);
pub(super) const DESTINATION_MAC: Mac = Mac([2, 0, 0, 0, 0, 2]);
/// The service that throws everything away (RFC 863).
const DISCARD: u128 = 9;
const SOURCE_PORT: u128 = 1024;
const TTL: u128 = 64;
const WINDOW: u16 = 65_535;
/// Local experiments (IEEE 802).
const EXPERIMENTAL: u128 = 0x88b5;
const FLAG_LETTERS: [u8; 8] = wire::tcp::flag::LETTERS;

impl Reader<'_> {
    pub(super) fn ethernet(&self, draft: &mut Draft, proto: Proto) -> Result<(), PlanError> {
        let (source, destination) = (&self.typed.src_mac, &self.typed.dst_mac);
        let number = |mac: Mac| mac.0.iter().fold(0, |value, byte| value << 8 | u128::from(*byte));
        let to_all = matches!(proto, Proto::Arp | Proto::Raw);
        let far = if to_all { Mac::BROADCAST } else { DESTINATION_MAC };
        let from = self.chosen("src_mac", source, ValueKind::Mac, number(SOURCE_MAC))?;
        let to = self.chosen("dst_mac", destination, ValueKind::Mac, number(far))?;
        if source.is_some() {
            draft.choose("src_mac", Field::MacSource, &from);
            if proto == Proto::Arp {
                draft.vary(Field::ArpSenderMac, &from);
            }
        }
        if destination.is_some() {
            draft.choose("dst_mac", Field::MacDestination, &to);
        }
        draft.macs = Macs { has_source: source.is_some(), has_destination: destination.is_some() || to_all };
        draft.layers.push(Layer::ethernet(mac(from.first), mac(to.first)));
        Ok(())
    }

    /// `--vlan 100`, `--vlan 200,100`
    pub(super) fn tags(&self, draft: &mut Draft) -> Result<(), PlanError> {
        let Some(typed) = &self.typed.vlan else {
            return match &self.typed.pcp {
                None => Ok(()),
                Some(_) => Err(self.missing("pcp", "--vlan", "the priority is a field of the VLAN tag")),
            };
        };
        let wrong = |problem: Problem| self.wrong("vlan", typed.as_str(), problem);
        let parts: Vec<&str> = typed.as_str().split(',').collect();
        if parts.len() > 2 {
            let expected = "one identifier, or two (outer,inner)".to_owned();
            return Err(wrong((format!("is {} tags", parts.len()), expected)));
        }
        let pcp = self.number("pcp", &self.typed.pcp, 3, 0)?;
        let identifiers = parts
            .iter()
            .map(|part| Chosen::read(part, ValueKind::Number { bits: 12 }).map_err(wrong))
            .collect::<Result<Vec<_>, _>>()?;
        let shown: Vec<String> = identifiers.iter().map(Chosen::to_string).collect();
        draft.line("vlan", shown.join(","));
        draft.choose("pcp", Field::VlanPriority, &pcp);
        let fields = [Field::VlanIdentifier, Field::InnerVlanIdentifier];
        for (place, (chosen, field)) in identifiers.iter().zip(fields).enumerate() {
            draft.vary(field, chosen);
            draft.layers.push(Layer::Vlan {
                protocol: None,
                identifier: chosen.first as u16,
                priority: if place == 0 { pcp.first as u8 } else { 0 },
                drop_eligible: false,
                ethertype: None,
            });
        }
        Ok(())
    }

    /// Of a raw frame: in its last header so far.
    pub(super) fn ethertype(&self, draft: &mut Draft) -> Result<(), PlanError> {
        let chosen = self.number("ethertype", &self.typed.ethertype, 16, EXPERIMENTAL)?;
        let wrong = |problem: &str, expected: &str| {
            self.wrong("ethertype", &chosen.to_string(), (problem.to_owned(), expected.to_owned()))
        };
        if chosen.values.is_some() {
            return Err(wrong("is more than one", "one type, e.g. 0x88b5"));
        }
        if matches!(chosen.first, 0x0800 | 0x0806 | 0x86dd | 0x8100 | 0x88a8) {
            return Err(wrong(
                "stands for a header that a raw frame does not have",
                "--proto, --vlan, or another type",
            ));
        }
        if chosen.first < 0x600 {
            return Err(wrong("would be read as a length", "0x600 to 0xffff"));
        }
        draft.line("ethertype", format_args!("{:#06x}", chosen.first));
        let given = Some(chosen.first as u16);
        if let Some(Layer::Ethernet { ethertype, .. } | Layer::Vlan { ethertype, .. }) =
            draft.layers.last_mut()
        {
            *ethertype = given;
        }
        Ok(())
    }

    pub(super) fn arp(&self, draft: &mut Draft) -> Result<(), PlanError> {
        let source = self.chosen("src", &self.typed.src, ValueKind::Ipv4, SOURCE4.to_bits().into())?;
        let target = self.chosen("dst", &self.typed.dst, ValueKind::Ipv4, DESTINATION4.to_bits().into())?;
        draft.choose("src", Field::ArpSender, &source);
        draft.choose("dst", Field::ArpTarget, &target);
        let sender_mac = match draft.layers.first() {
            Some(Layer::Ethernet { source, .. }) => *source,
            _ => SOURCE_MAC,
        };
        draft.layers.push(Layer::Arp {
            request: true,
            sender_mac,
            sender: Ipv4Addr::from_bits(source.first as u32),
            target_mac: Mac::default(),
            target: Ipv4Addr::from_bits(target.first as u32),
        });
        Ok(())
    }

    pub(super) fn network(&self, draft: &mut Draft) -> Result<(), PlanError> {
        let typed = self.typed;
        let given = [("src", &typed.src), ("dst", &typed.dst)]
            .map(|(key, typed)| typed.as_ref().map(|typed| (key, family(typed.as_str()))));
        let kind = match given {
            [Some((source, one)), Some((destination, other))] if one != other => {
                return Err(self.both(
                    source,
                    destination,
                    "one is an IPv4 address, the other an IPv6 address",
                ));
            }
            [Some((_, kind)), _] | [None, Some((_, kind))] => kind,
            [None, None] => ValueKind::Ipv4,
        };
        let is_ipv6 = kind == ValueKind::Ipv6;
        let (from, to, source_field, destination_field) = if is_ipv6 {
            (SOURCE6.to_bits(), DESTINATION6.to_bits(), Field::Ipv6Source, Field::Ipv6Destination)
        } else {
            (
                SOURCE4.to_bits().into(),
                DESTINATION4.to_bits().into(),
                Field::Ipv4Source,
                Field::Ipv4Destination,
            )
        };
        let source = self.chosen("src", &typed.src, kind, from)?;
        let destination = self.chosen("dst", &typed.dst, kind, to)?;
        let ttl = self.number("ttl", &typed.ttl, 8, TTL)?;
        let dscp = self.number("dscp", &typed.dscp, 6, 0)?;
        let ecn = self.number("ecn", &typed.ecn, 2, 0)?;
        draft.choose("src", source_field, &source);
        draft.choose("dst", destination_field, &destination);
        draft.choose("ttl", Field::Ttl, &ttl);
        draft.choose("dscp", Field::Dscp, &dscp);
        draft.choose("ecn", Field::Ecn, &ecn);
        if !draft.is_in_tunnel {
            self.group(draft, destination.address());
        }
        match (source.address(), destination.address()) {
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let label = self.number("flow_label", &typed.flow_label, 20, 0)?;
                draft.choose("flow_label", Field::FlowLabel, &label);
                draft.layers.push(Layer::Ipv6 {
                    source: from,
                    destination: to,
                    traffic_class: (dscp.first << 2 | ecn.first) as u8,
                    flow_label: label.first as u32,
                    hop_limit: ttl.first as u8,
                    next_header: None,
                });
            }
            (IpAddr::V4(from), IpAddr::V4(to)) if typed.flow_label.is_none() => {
                draft.layers.push(Layer::Ipv4 {
                    source: from,
                    destination: to,
                    dscp: dscp.first as u8,
                    ecn: ecn.first as u8,
                    identification: 0,
                    dont_fragment: true,
                    ttl: ttl.first as u8,
                    protocol: None,
                    options: Vec::new(),
                })
            }
            _ => {
                return Err(self.missing("flow_label", "IPv6 addresses", "IPv4 has no flow label"));
            }
        }
        Ok(())
    }

    /// A group has an Ethernet address of its own (RFC 1112 §6.4, RFC 2464 §7), which nobody needs to ask for.
    pub(super) fn group(&self, draft: &mut Draft, address: IpAddr) {
        let group = match address {
            IpAddr::V4(address) if address.is_broadcast() => Mac::BROADCAST,
            IpAddr::V4(address) if address.is_multicast() => {
                let [_, b, c, d] = address.octets();
                Mac([1, 0, 0x5e, b & 0x7f, c, d])
            }
            IpAddr::V6(address) if address.is_multicast() => {
                let [.., a, b, c, d] = address.octets();
                Mac([0x33, 0x33, a, b, c, d])
            }
            _ => return,
        };
        if let (false, Some(Layer::Ethernet { destination, .. })) =
            (draft.macs.has_destination, draft.layers.first_mut())
        {
            *destination = group;
            draft.macs.has_destination = true;
        }
    }

    pub(super) fn transport(&self, draft: &mut Draft, proto: Proto) -> Result<(), PlanError> {
        if proto == Proto::Icmp {
            draft.layers.push(Layer::Echo(Echo { request: true, identifier: 1, sequence: 1 }));
        }
        if !matches!(proto, Proto::Udp | Proto::Tcp) {
            return Ok(());
        }
        let from = self.number("sport", &self.typed.sport, 16, SOURCE_PORT)?;
        let to = self.number("dport", &self.typed.dport, 16, DISCARD)?;
        draft.choose("sport", Field::PortSource, &from);
        draft.choose("dport", Field::PortDestination, &to);
        let (source, destination) = (from.first as u16, to.first as u16);
        if proto == Proto::Udp {
            draft.layers.push(Layer::Udp { source, destination, checksum: true });
            return Ok(());
        }
        let flags = self.tcp_flags()?;
        draft.line("tcp_flags", letters(flags));
        let options = self.tcp_options(draft)?;
        draft.layers.push(Layer::Tcp {
            source,
            destination,
            sequence: 1,
            acknowledgment: 0,
            flags,
            window: WINDOW,
            options,
        });
        Ok(())
    }

    fn tcp_options(&self, draft: &mut Draft) -> Result<Vec<u8>, PlanError> {
        let Some(typed) = &self.typed.tcp_options else { return Ok(Vec::new()) };
        let text = typed.as_str();
        let (shown, bytes) =
            tcp_options::read(text).map_err(|problem| self.wrong("tcp_options", text, problem))?;
        draft.line("tcp_options", shown);
        Ok(bytes)
    }

    fn tcp_flags(&self) -> Result<u8, PlanError> {
        let Some(typed) = &self.typed.tcp_flags else { return Ok(wire::tcp::flag::SYN) };
        let text = typed.as_str();
        let expected =
            || "letters of FSRPAUEC (FIN, SYN, RST, PSH, ACK, URG, ECE, CWR), - for none, or 0x00 to 0xff";
        let wrong = |problem: String| self.wrong("tcp_flags", text, (problem, expected().to_owned()));
        if let Some(digits) = text.strip_prefix("0x") {
            return u8::from_str_radix(digits, 16).map_err(|_| wrong("is not a byte".to_owned()));
        }
        if text == "-" {
            return Ok(0);
        }
        if text.is_empty() {
            return Err(wrong("is empty".to_owned()));
        }
        text.chars().try_fold(0, |flags, letter| {
            let bit = FLAG_LETTERS.iter().position(|known| char::from(*known) == letter.to_ascii_uppercase());
            bit.map(|bit| flags | 1 << bit)
                .ok_or_else(|| wrong(format!("has {letter:?}, which is not a flag")))
        })
    }
}

fn letters(flags: u8) -> String {
    let set = FLAG_LETTERS.iter().enumerate().filter(|(bit, _)| flags >> bit & 1 == 1);
    let letters: String = set.map(|(_, letter)| char::from(*letter)).collect();
    if letters.is_empty() { "-".to_owned() } else { letters }
}
