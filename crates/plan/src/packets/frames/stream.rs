//! One stream: from what was typed to headers, sizes and variations, and to the text that reads back.

use super::values::{Chosen, Kind, Problem, family, mac};
use super::{Macs, StreamFile, sizes};
use crate::error::{Place, PlanError};
use crate::suggest::nearest;
use crate::typed::Typed;
use std::fmt::{Display, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::template::{Field, Layer, Mac, Payload, Sizes, Spec, StreamSpec, Vary};
use wire::{Template, WireError};

/// Addresses of the range for benchmarks (RFC 2544 appendix C.2.2) and of unique local ones (RFC 4193).
const SOURCE4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const DESTINATION4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
const SOURCE6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
const DESTINATION6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);
/// Local addresses, until the port's own are known.
const SOURCE_MAC: Mac = Mac([2, 0, 0, 0, 0, 1]);
const DESTINATION_MAC: Mac = Mac([2, 0, 0, 0, 0, 2]);
/// The service that throws everything away (RFC 863).
const DISCARD: u128 = 9;
const SOURCE_PORT: u128 = 1024;
const TTL: u128 = 64;
const WINDOW: u16 = 65_535;
/// Local experiments (IEEE 802).
const EXPERIMENTAL: u128 = 0x88b5;
const FLAG_LETTERS: [u8; 8] = wire::tcp::flag::LETTERS;

/// What is read of a stream.
pub(super) struct Made {
    pub spec: StreamSpec,
    pub macs: Macs,
    /// Its keys in canonical order.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proto {
    Udp,
    Tcp,
    Icmp,
    Arp,
    Ip,
    Raw,
}

const PROTOS: [(&str, Proto); 6] = [
    ("udp", Proto::Udp),
    ("tcp", Proto::Tcp),
    ("icmp", Proto::Icmp),
    ("arp", Proto::Arp),
    ("ip", Proto::Ip),
    ("raw", Proto::Raw),
];

/// A stream as typed, and where each of its keys stands.
pub(super) struct Reader<'a> {
    pub typed: &'a StreamFile,
    /// Keys that the stream itself has; the others are of `[frames]`.
    pub own: &'a [&'static str],
    pub number: Option<usize>,
    pub place: &'a dyn Fn(&str) -> Place,
}

/// What has been understood so far.
#[derive(Default)]
struct Draft {
    layers: Vec<Layer>,
    vary: Vec<Vary>,
    macs: Macs,
    text: String,
}

impl Draft {
    fn line(&mut self, key: &str, value: impl Display) {
        let _ = writeln!(self.text, "{key} = {}", crate::canonical::quoted(&value.to_string()));
    }

    /// Notes a field that was chosen, under its key and with its variation.
    fn choose(&mut self, key: &str, field: Field, chosen: &Chosen) {
        self.line(key, chosen);
        self.vary(field, chosen);
    }

    fn vary(&mut self, field: Field, chosen: &Chosen) {
        if let Some(values) = &chosen.values {
            self.vary.push(Vary { field, values: values.clone(), by: chosen.by });
        }
    }
}

impl Reader<'_> {
    fn path(&self, key: &str) -> String {
        match self.number {
            Some(number) if self.own.contains(&key) || key == "weight" => {
                format!("frames.stream[{number}].{key}")
            }
            _ => format!("frames.{key}"),
        }
    }

    fn at(&self, key: &str) -> Box<Place> {
        Box::new((self.place)(&self.path(key)))
    }

    fn wrong(&self, key: &str, value: &str, (problem, expected): Problem) -> PlanError {
        PlanError::Value { place: self.at(key), value: value.to_owned(), problem, expected }
    }

    /// A field's values, or the default.
    fn chosen(
        &self,
        key: &str,
        typed: &Option<Typed>,
        kind: Kind,
        default: u128,
    ) -> Result<Chosen, PlanError> {
        match typed {
            None => Ok(Chosen::one(kind, default)),
            Some(typed) => {
                Chosen::read(typed.as_str(), kind).map_err(|problem| self.wrong(key, typed.as_str(), problem))
            }
        }
    }

    fn number(
        &self,
        key: &str,
        typed: &Option<Typed>,
        bits: u32,
        default: u128,
    ) -> Result<Chosen, PlanError> {
        self.chosen(key, typed, Kind::Number { bits }, default)
    }

    pub fn read(&self, seed: u64) -> Result<Made, PlanError> {
        let mut draft = Draft::default();
        let proto = self.proto()?;
        self.refuse_strangers(proto)?;
        self.ethernet(&mut draft, proto)?;
        self.tags(&mut draft)?;
        draft.line("proto", PROTOS.iter().find(|(_, known)| *known == proto).map_or("", |(name, _)| name));
        match proto {
            Proto::Raw => self.ethertype(&mut draft)?,
            Proto::Arp => self.arp(&mut draft)?,
            _ => {
                self.network(&mut draft)?;
                self.transport(&mut draft, proto)?;
            }
        }
        let payload = match &self.typed.payload {
            Some(typed) => sizes::payload(typed.as_str())
                .map_err(|problem| self.wrong("payload", typed.as_str(), problem))?,
            None => Payload::Zeros,
        };
        if proto != Proto::Arp {
            draft.line("payload", sizes::show_payload(&payload));
        }
        let flows = self.count("flows", &self.typed.flows)?;
        if let Some(flows) = flows {
            let _ = writeln!(draft.text, "flows = {flows}");
        }
        self.more_variations(&mut draft)?;
        let sign = self.typed.sign.unwrap_or(false);
        let _ = writeln!(draft.text, "sign = {sign}");
        let weight = self.count("weight", &self.typed.weight)?.map_or(Ok(1), |weight| {
            let problem = || (format!("is more than {}", u32::MAX), "a small number".to_owned());
            u32::try_from(weight).map_err(|_| self.wrong("weight", &weight.to_string(), problem()))
        })?;
        let Draft { layers, vary, macs, mut text } = draft;
        let mut spec = StreamSpec { weight, layers, payload, vary, flows, sign, ..StreamSpec::default() };
        // Not written where nobody typed it: another table may say how long frames are.
        let least = Sizes::Fixed(spec.least_size());
        spec.sizes = match &self.typed.size {
            Some(typed) => {
                sizes::read(typed.as_str()).map_err(|problem| self.wrong("size", typed.as_str(), problem))?
            }
            None => least.clone(),
        };
        if spec.sizes != least {
            let _ = writeln!(text, "size = \"{}\"", sizes::show(&spec.sizes));
        }
        self.try_out(&spec, seed)?;
        Ok(Made { spec, macs, text })
    }

    fn proto(&self) -> Result<Proto, PlanError> {
        let Some(typed) = &self.typed.proto else { return Ok(Proto::Udp) };
        let known = PROTOS.iter().find(|(name, _)| typed.as_str().eq_ignore_ascii_case(name));
        known.map(|(_, proto)| *proto).ok_or_else(|| {
            let expected = "udp, tcp, icmp, arp, ip or raw".to_owned();
            self.wrong("proto", typed.as_str(), ("is no protocol of frames".to_owned(), expected))
        })
    }

    /// Keys of headers that these frames do not have.
    fn refuse_strangers(&self, proto: Proto) -> Result<(), PlanError> {
        use Proto::{Arp, Icmp, Ip, Raw, Tcp, Udp};
        let typed = self.typed;
        let rules: [(&str, bool, &[Proto], &str); 12] = [
            ("ethertype", typed.ethertype.is_some(), &[Raw], "--proto raw"),
            ("src", typed.src.is_some(), &[Udp, Tcp, Icmp, Ip, Arp], "a protocol with addresses"),
            ("dst", typed.dst.is_some(), &[Udp, Tcp, Icmp, Ip, Arp], "a protocol with addresses"),
            ("sport", typed.sport.is_some(), &[Udp, Tcp], "--proto udp or tcp"),
            ("dport", typed.dport.is_some(), &[Udp, Tcp], "--proto udp or tcp"),
            ("ttl", typed.ttl.is_some(), &[Udp, Tcp, Icmp, Ip], "a protocol over IP"),
            ("dscp", typed.dscp.is_some(), &[Udp, Tcp, Icmp, Ip], "a protocol over IP"),
            ("ecn", typed.ecn.is_some(), &[Udp, Tcp, Icmp, Ip], "a protocol over IP"),
            ("flow_label", typed.flow_label.is_some(), &[Udp, Tcp, Icmp, Ip], "a protocol over IPv6"),
            ("tcp_flags", typed.tcp_flags.is_some(), &[Tcp], "--proto tcp"),
            ("flows", typed.flows.is_some(), &[Udp, Tcp, Icmp, Ip], "a protocol over IP"),
            ("payload", typed.payload.is_some(), &[Udp, Tcp, Icmp, Ip, Raw], "a protocol with a payload"),
        ];
        match rules.iter().find(|(_, is_given, protos, _)| *is_given && !protos.contains(&proto)) {
            None => Ok(()),
            Some((key, _, _, needs)) => Err(PlanError::Missing {
                place: self.at(key),
                needs: (*needs).to_owned(),
                why: "these frames have no such field".to_owned(),
            }),
        }
    }

    fn ethernet(&self, draft: &mut Draft, proto: Proto) -> Result<(), PlanError> {
        let (source, destination) = (&self.typed.src_mac, &self.typed.dst_mac);
        let number = |mac: Mac| mac.0.iter().fold(0, |value, byte| value << 8 | u128::from(*byte));
        let to_all = matches!(proto, Proto::Arp | Proto::Raw);
        let far = if to_all { Mac::BROADCAST } else { DESTINATION_MAC };
        let from = self.chosen("src_mac", source, Kind::Mac, number(SOURCE_MAC))?;
        let to = self.chosen("dst_mac", destination, Kind::Mac, number(far))?;
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
        draft.layers.push(Layer::Ethernet {
            destination: mac(to.first),
            source: mac(from.first),
            ethertype: None,
        });
        Ok(())
    }

    /// `--vlan 100`, `--vlan 200,100`
    fn tags(&self, draft: &mut Draft) -> Result<(), PlanError> {
        let Some(typed) = &self.typed.vlan else {
            return match &self.typed.pcp {
                None => Ok(()),
                Some(_) => Err(PlanError::Missing {
                    place: self.at("pcp"),
                    needs: "--vlan".to_owned(),
                    why: "the priority is a field of the tag".to_owned(),
                }),
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
            .map(|part| Chosen::read(part, Kind::Number { bits: 12 }).map_err(wrong))
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
    fn ethertype(&self, draft: &mut Draft) -> Result<(), PlanError> {
        let chosen = self.number("ethertype", &self.typed.ethertype, 16, EXPERIMENTAL)?;
        let wrong = |problem: &str, expected: &str| {
            self.wrong("ethertype", &chosen.to_string(), (problem.to_owned(), expected.to_owned()))
        };
        if chosen.values.is_some() {
            return Err(wrong("is more than one", "one type, e.g. 0x88b5"));
        }
        if matches!(chosen.first, 0x0800 | 0x0806 | 0x86dd | 0x8100 | 0x88a8) {
            return Err(wrong(
                "announces a header that a raw frame does not have",
                "--proto, --vlan, or another type",
            ));
        }
        if chosen.first < 0x600 {
            return Err(wrong("would be read as a length", "0x600 to 0xffff"));
        }
        draft.line("ethertype", format_args!("{:#06x}", chosen.first));
        let given = Some(chosen.first as u16);
        match draft.layers.last_mut() {
            Some(Layer::Ethernet { ethertype, .. } | Layer::Vlan { ethertype, .. }) => *ethertype = given,
            _ => {}
        }
        Ok(())
    }

    fn arp(&self, draft: &mut Draft) -> Result<(), PlanError> {
        let source = self.chosen("src", &self.typed.src, Kind::Ipv4, SOURCE4.to_bits().into())?;
        let target = self.chosen("dst", &self.typed.dst, Kind::Ipv4, DESTINATION4.to_bits().into())?;
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

    fn network(&self, draft: &mut Draft) -> Result<(), PlanError> {
        let typed = self.typed;
        let given = [("src", &typed.src), ("dst", &typed.dst)]
            .map(|(key, typed)| typed.as_ref().map(|typed| (key, family(typed.as_str()))));
        let kind = match given {
            [Some((source, one)), Some((destination, other))] if one != other => {
                return Err(PlanError::Contradiction {
                    place: self.at(source),
                    other: self.at(destination),
                    why: "one is an address of IPv4, the other of IPv6".to_owned(),
                });
            }
            [Some((_, kind)), _] | [None, Some((_, kind))] => kind,
            [None, None] => Kind::Ipv4,
        };
        let is_ipv6 = kind == Kind::Ipv6;
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
        self.group(draft, destination.address());
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
                return Err(PlanError::Missing {
                    place: self.at("flow_label"),
                    needs: "addresses of IPv6".to_owned(),
                    why: "IPv4 has no flow label".to_owned(),
                });
            }
        }
        Ok(())
    }

    /// A group has an Ethernet address of its own (RFC 1112 §6.4, RFC 2464 §7), which nobody needs to ask for.
    fn group(&self, draft: &mut Draft, address: IpAddr) {
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

    fn transport(&self, draft: &mut Draft, proto: Proto) -> Result<(), PlanError> {
        if proto == Proto::Icmp {
            draft.layers.push(Layer::Echo { request: true, identifier: 1, sequence: 1 });
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
        draft.layers.push(Layer::Tcp {
            source,
            destination,
            sequence: 1,
            acknowledgment: 0,
            flags,
            window: WINDOW,
        });
        Ok(())
    }

    fn tcp_flags(&self) -> Result<u8, PlanError> {
        let Some(typed) = &self.typed.tcp_flags else { return Ok(wire::tcp::flag::SYN) };
        let text = typed.as_str();
        let expected =
            || "letters of FSRPAUEC (FIN, SYN, RST, PSH, ACK, URG, ECE, CWR), - for none, or 0x00 to 0xff";
        let wrong = |problem: String| self.wrong("tcp_flags", text, (problem, expected().to_owned()));
        if let Some(digits) = text.strip_prefix("0x") {
            return u8::from_str_radix(digits, 16).map_err(|_| wrong("is no byte".to_owned()));
        }
        if text == "-" {
            return Ok(0);
        }
        if text.is_empty() {
            return Err(wrong("is empty".to_owned()));
        }
        text.chars().try_fold(0, |flags, letter| {
            let bit = FLAG_LETTERS.iter().position(|known| char::from(*known) == letter.to_ascii_uppercase());
            bit.map(|bit| flags | 1 << bit).ok_or_else(|| wrong(format!("has {letter:?}, which is no flag")))
        })
    }

    fn count(&self, key: &str, typed: &Option<Typed>) -> Result<Option<u64>, PlanError> {
        let Some(typed) = typed else { return Ok(None) };
        let text = typed.as_str();
        match text.parse::<units::Count>() {
            Ok(count) if count.get() > 0 => Ok(Some(count.get())),
            Ok(_) => Err(self.wrong(key, text, ("is zero".to_owned(), "1 or more".to_owned()))),
            Err(error) => Err(self.wrong(
                key,
                text,
                (error.problem.to_string(), "a number such as 10, 10k, 5M".to_owned()),
            )),
        }
    }

    /// `--vary FIELD=VALUES`
    fn more_variations(&self, draft: &mut Draft) -> Result<(), PlanError> {
        let is_ipv6 = draft.layers.iter().any(|layer| matches!(layer, Layer::Ipv6 { .. }));
        let is_arp = draft.layers.iter().any(|layer| matches!(layer, Layer::Arp { .. }));
        let mut shown = Vec::new();
        for (place, typed) in self.typed.vary.iter().flat_map(|list| &list.0).enumerate() {
            let wrong = |problem: Problem| {
                let mut error = self.wrong("vary", typed.as_str(), problem);
                if let PlanError::Value { place: at, .. } = &mut error {
                    let listed = (self.place)(&format!("{}[{place}]", at.field));
                    **at = if listed.line.is_some() { listed } else { (**at).clone() };
                }
                error
            };
            let (name, values) = vary(typed.as_str(), is_ipv6, is_arp).map_err(wrong)?;
            if draft.vary.iter().any(|known| known.field == values.field) {
                let expected = "one way for each field".to_owned();
                return Err(wrong((format!("says a second time how {name} varies"), expected)));
            }
            shown.push(format!("{name}={}", values.chosen));
            draft.vary.push(Vary { field: values.field, values: values.list, by: values.chosen.by });
        }
        if !shown.is_empty() {
            let quoted: Vec<String> = shown.iter().map(|text| crate::canonical::quoted(text)).collect();
            let _ = writeln!(draft.text, "vary = [{}]", quoted.join(", "));
        }
        Ok(())
    }

    /// What the fields cannot be together.
    fn try_out(&self, spec: &StreamSpec, seed: u64) -> Result<(), PlanError> {
        let alone = Spec { streams: vec![StreamSpec { weight: 1, ..spec.clone() }], seed };
        let error = match Template::build(&alone) {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        let key = match &error {
            WireError::Small { .. } | WireError::Large { .. } => "size",
            WireError::Flows { .. } => "flows",
            WireError::NoField { .. } => "vary",
            WireError::Values { field, .. } => self.key_of(field),
            WireError::Unsigned(_) => "sign",
            _ => "size",
        };
        let typed = match key {
            "size" => sizes::show(&spec.sizes),
            "flows" => spec.flows.unwrap_or_default().to_string(),
            "sign" => "true".to_owned(),
            _ => self.typed_of(key),
        };
        let expected = match &error {
            WireError::Small { least, .. } => format!("{least} or more"),
            WireError::Large { most, .. } => format!("at most {most}"),
            WireError::Flows { possible, .. } => format!("{possible} or fewer"),
            _ => "other values".to_owned(),
        };
        Err(self.wrong(key, &typed, (format!("cannot be: {error}"), expected)))
    }

    /// The key that set how a field varies.
    fn key_of(&self, field: &str) -> &'static str {
        let typed = self.typed;
        let keys = [
            ("src", &typed.src, "src"),
            ("dst", &typed.dst, "dst"),
            ("src6", &typed.src, "src"),
            ("dst6", &typed.dst, "dst"),
            ("sport", &typed.sport, "sport"),
            ("dport", &typed.dport, "dport"),
            ("ttl", &typed.ttl, "ttl"),
            ("vlan", &typed.vlan, "vlan"),
            ("inner-vlan", &typed.vlan, "vlan"),
            ("src-mac", &typed.src_mac, "src_mac"),
            ("dst-mac", &typed.dst_mac, "dst_mac"),
        ];
        let varies = |typed: &Option<Typed>| {
            typed.as_ref().is_some_and(|typed| typed.as_str().contains([',', '.', '-', 'r', '/', '@']))
        };
        let found = keys.iter().find(|(name, typed, _)| *name == field && varies(typed));
        match found {
            Some((_, _, key)) if self.typed.vary.is_none() => key,
            _ if self.typed.vary.is_none() && self.typed.flows.is_some() => "flows",
            Some((_, _, key)) => key,
            None => "vary",
        }
    }

    fn typed_of(&self, key: &str) -> String {
        let typed = self.typed;
        let value = match key {
            "src" => &typed.src,
            "dst" => &typed.dst,
            "sport" => &typed.sport,
            "dport" => &typed.dport,
            "ttl" => &typed.ttl,
            "vlan" => &typed.vlan,
            "src_mac" => &typed.src_mac,
            "dst_mac" => &typed.dst_mac,
            _ => &None,
        };
        let list = || {
            let all = typed.vary.iter().flat_map(|list| &list.0).map(Typed::as_str);
            all.collect::<Vec<_>>().join(" ")
        };
        value.as_ref().map_or_else(list, |typed| typed.as_str().to_owned())
    }
}

/// A field with its values.
pub(super) struct Varied {
    pub field: Field,
    pub chosen: Chosen,
    pub list: wire::template::Values,
}

/// Reads `FIELD=VALUES`; `src` and `dst` are of the network that the frames have.
pub(super) fn vary(text: &str, is_ipv6: bool, is_arp: bool) -> Result<(&'static str, Varied), Problem> {
    let expected = || "FIELD=VALUES, e.g. sport=1024..2047".to_owned();
    let Some((name, values)) = text.split_once('=') else {
        return Err(("has no '='".to_owned(), expected()));
    };
    let name = name.trim();
    let names = || Field::ALL.iter().map(|field| field.name()).filter(|name| !name.ends_with('6'));
    let Some(field) = Field::ALL.iter().copied().find(|field| field.name() == name) else {
        let hint = nearest(name, names()).map_or_else(String::new, |near| format!("; did you mean {near}?"));
        let all = names().collect::<Vec<_>>().join(", ");
        return Err((format!("varies '{name}', which is no field{hint}"), format!("one of {all}")));
    };
    let field = match field {
        Field::Ipv4Source if is_arp => Field::ArpSender,
        Field::Ipv4Destination if is_arp => Field::ArpTarget,
        Field::Ipv4Source if is_ipv6 => Field::Ipv6Source,
        Field::Ipv4Destination if is_ipv6 => Field::Ipv6Destination,
        other => other,
    };
    let chosen = Chosen::read(values, kind_of(field))?;
    let one = wire::template::Values::List(vec![chosen.first]);
    let list = chosen.values.clone().unwrap_or(one);
    // A canonical name: `src` also where the frames are of IPv6.
    let name = match field {
        Field::ArpSender | Field::Ipv6Source => Field::Ipv4Source.name(),
        Field::ArpTarget | Field::Ipv6Destination => Field::Ipv4Destination.name(),
        other => other.name(),
    };
    Ok((name, Varied { field, chosen, list }))
}

fn kind_of(field: Field) -> Kind {
    match field {
        Field::Ipv4Source | Field::Ipv4Destination | Field::ArpSender | Field::ArpTarget => Kind::Ipv4,
        Field::Ipv6Source | Field::Ipv6Destination => Kind::Ipv6,
        Field::MacSource | Field::MacDestination | Field::ArpSenderMac => Kind::Mac,
        other => Kind::Number { bits: other.bits() },
    }
}

fn letters(flags: u8) -> String {
    let set = FLAG_LETTERS.iter().enumerate().filter(|(bit, _)| flags >> bit & 1 == 1);
    let letters: String = set.map(|(_, letter)| char::from(*letter)).collect();
    if letters.is_empty() { "-".to_owned() } else { letters }
}
