//! A stream is tried out before it is one: what its fields cannot be together is told with the key that is to
//! blame.

use super::sizes;
use super::stream::Reader;
use crate::error::PlanError;
use crate::typed::Typed;
use wire::template::{Spec, StreamSpec};
use wire::{Template, WireError};

impl Reader<'_> {
    /// What the fields cannot be together.
    pub(super) fn try_out(&self, spec: &StreamSpec, seed: u64) -> Result<(), PlanError> {
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
        Err(self.wrong(key, &typed, (format!("is not possible: {error}"), expected)))
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
