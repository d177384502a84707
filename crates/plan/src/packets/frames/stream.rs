//! One stream: from what was typed to headers, sizes and variations, and to the text that reads back.

use super::values::{Chosen, Problem, ValueKind};
use super::{Macs, StreamFile, sizes, vary};
use crate::error::PlanError;
use crate::table::Table;
use crate::typed::Typed;
use std::fmt::{Display, Write};
use wire::template::{Field, Layer, Payload, Sizes, StreamSpec, Vary};

/// What is read of a stream.
pub(super) struct Made {
    pub spec: StreamSpec,
    pub macs: Macs,
    /// Its keys in canonical order.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proto {
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
    pub table: &'a Table<'a>,
}

fn proto_of(stream: &StreamFile) -> Option<Proto> {
    let Some(typed) = &stream.proto else { return Some(Proto::Udp) };
    let known = PROTOS.iter().find(|(name, _)| typed.as_str().eq_ignore_ascii_case(name));
    known.map(|(_, proto)| *proto)
}

/// Keys of headers that frames of this protocol do not have, and what has them.
fn of_others(typed: &StreamFile, proto: Proto) -> impl Iterator<Item = (&'static str, &'static str)> {
    use Proto::{Arp, Icmp, Ip, Raw, Tcp, Udp};
    const OVER_IP: &[Proto] = &[Udp, Tcp, Icmp, Ip];
    let rules: [(&str, bool, &[Proto], &str); 18] = [
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
        ("tcp_options", typed.tcp_options.is_some(), &[Tcp], "--proto tcp"),
        ("flows", typed.flows.is_some(), &[Udp, Tcp, Icmp, Ip], "a protocol over IP"),
        ("mpls", typed.mpls.is_some(), OVER_IP, "a protocol over IP"),
        ("pppoe", typed.pppoe.is_some(), OVER_IP, "a protocol over IP"),
        ("tunnel", typed.tunnel.is_some(), OVER_IP, "a protocol over IP"),
        ("ipv6_ext", typed.ipv6_ext.is_some(), OVER_IP, "a protocol over IPv6"),
        ("bad_checksum", typed.bad_checksum.is_some(), OVER_IP, "a protocol over IP"),
        ("payload", typed.payload.is_some(), &[Udp, Tcp, Icmp, Ip, Raw], "a protocol with a payload"),
    ];
    let is_strange = move |(key, is_given, protos, needs): (_, bool, &[Proto], _)| {
        (is_given && !protos.contains(&proto)).then_some((key, needs))
    };
    rules.into_iter().filter_map(is_strange)
}

/// Keys of headers that these frames do not have; `None` where they have no known protocol.
pub(super) fn strangers(stream: &StreamFile) -> Option<Vec<&'static str>> {
    let proto = proto_of(stream)?;
    Some(of_others(stream, proto).map(|(key, _)| key).collect())
}

/// What has been understood so far.
#[derive(Default)]
pub(super) struct Draft {
    pub layers: Vec<Layer>,
    vary: Vec<Vary>,
    pub macs: Macs,
    /// A tunnel's outer header decides where the frame goes.
    pub is_in_tunnel: bool,
    text: String,
}

impl Draft {
    pub fn line(&mut self, key: &str, value: impl Display) {
        let _ = writeln!(self.text, "{key} = {}", crate::canonical::quoted(&value.to_string()));
    }

    /// Notes a field that was chosen, under its key and with its variation.
    pub fn choose(&mut self, key: &str, field: Field, chosen: &Chosen) {
        self.line(key, chosen);
        self.vary(field, chosen);
    }

    pub fn vary(&mut self, field: Field, chosen: &Chosen) {
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

    pub(super) fn wrong(&self, key: &str, value: &str, (problem, expected): Problem) -> PlanError {
        self.table.wrong(&self.path(key), value, problem, expected)
    }

    pub(super) fn missing(&self, key: &str, needs: &str, why: &str) -> PlanError {
        self.table.missing(&self.path(key), needs, why)
    }

    pub(super) fn both(&self, key: &str, other: &str, why: &str) -> PlanError {
        self.table.both(&self.path(key), &self.path(other), why)
    }

    /// A field's values, or the default.
    pub(super) fn chosen(
        &self,
        key: &str,
        typed: &Option<Typed>,
        kind: ValueKind,
        default: u128,
    ) -> Result<Chosen, PlanError> {
        match typed {
            None => Ok(Chosen::one(kind, default)),
            Some(typed) => {
                Chosen::read(typed.as_str(), kind).map_err(|problem| self.wrong(key, typed.as_str(), problem))
            }
        }
    }

    pub(super) fn number(
        &self,
        key: &str,
        typed: &Option<Typed>,
        bits: u32,
        default: u128,
    ) -> Result<Chosen, PlanError> {
        self.chosen(key, typed, ValueKind::Number { bits }, default)
    }

    pub fn read(&self, seed: u64) -> Result<Made, PlanError> {
        let mut draft = Draft::default();
        let proto = self.proto()?;
        self.refuse_strangers(proto)?;
        self.ethernet(&mut draft, proto)?;
        self.tags(&mut draft)?;
        self.around(&mut draft)?;
        draft.line("proto", PROTOS.iter().find(|(_, known)| *known == proto).map_or("", |(name, _)| name));
        match proto {
            Proto::Raw => self.ethertype(&mut draft)?,
            Proto::Arp => self.arp(&mut draft)?,
            _ => {
                self.network(&mut draft)?;
                self.extensions(&mut draft)?;
                self.transport(&mut draft, proto)?;
            }
        }
        let spoiled = self.spoiled(&mut draft, proto)?;
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
        let weight = self.table.number(&self.path("weight"), &self.typed.weight, 1, u32::MAX)?.unwrap_or(1);
        let Draft { layers, vary, macs, mut text, .. } = draft;
        let mut spec =
            StreamSpec { weight, layers, payload, vary, flows, sign, spoiled, ..StreamSpec::default() };
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
        let typed = self.typed.proto.as_ref().map_or("", Typed::as_str);
        proto_of(self.typed).ok_or_else(|| {
            let expected = "udp, tcp, icmp, arp, ip or raw".to_owned();
            self.wrong("proto", typed, ("is not a protocol of frames".to_owned(), expected))
        })
    }

    /// Keys of headers that these frames do not have.
    fn refuse_strangers(&self, proto: Proto) -> Result<(), PlanError> {
        match of_others(self.typed, proto).next() {
            None => Ok(()),
            Some((key, needs)) => Err(self.missing(key, needs, "these frames do not have this field")),
        }
    }

    fn count(&self, key: &str, typed: &Option<Typed>) -> Result<Option<u64>, PlanError> {
        self.table.count(&self.path(key), typed, 1, u64::MAX)
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
                    let listed = self.table.place(&format!("{}[{place}]", at.field));
                    **at = if listed.line.is_some() { listed } else { (**at).clone() };
                }
                error
            };
            let (name, values) = vary::read(typed.as_str(), is_ipv6, is_arp).map_err(wrong)?;
            if draft.vary.iter().any(|known| known.field == values.field) {
                let expected = "one --vary for each field".to_owned();
                return Err(wrong((format!("varies {name} a second time"), expected)));
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
}
