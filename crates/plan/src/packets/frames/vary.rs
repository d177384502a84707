//! `FIELD=VALUES`, as typed after `--vary`.

use super::values::{Chosen, Problem, ValueKind};
use crate::suggest::nearest;
use wire::template::Field;

/// A field with its values.
pub(super) struct Varied {
    pub field: Field,
    pub chosen: Chosen,
    pub list: wire::template::Values,
}

/// Reads `FIELD=VALUES`; `src` and `dst` are of the network that the frames have.
pub(super) fn read(text: &str, is_ipv6: bool, is_arp: bool) -> Result<(&'static str, Varied), Problem> {
    let expected = || "FIELD=VALUES, e.g. sport=1024..2047".to_owned();
    let Some((name, values)) = text.split_once('=') else {
        return Err(("has no '='".to_owned(), expected()));
    };
    let name = name.trim();
    let names = || Field::ALL.iter().map(|field| field.name()).filter(|name| !name.ends_with('6'));
    let Some(field) = Field::ALL.iter().copied().find(|field| field.name() == name) else {
        let hint = nearest(name, names()).map_or_else(String::new, |near| format!("; did you mean {near}?"));
        let all = names().collect::<Vec<_>>().join(", ");
        return Err((format!("varies '{name}', which is not a field{hint}"), format!("one of {all}")));
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

fn kind_of(field: Field) -> ValueKind {
    match field {
        Field::Ipv4Source | Field::Ipv4Destination | Field::ArpSender | Field::ArpTarget => ValueKind::Ipv4,
        Field::Ipv6Source | Field::Ipv6Destination => ValueKind::Ipv6,
        Field::MacSource | Field::MacDestination | Field::ArpSenderMac => ValueKind::Mac,
        other => ValueKind::Number { bits: other.bits() },
    }
}
