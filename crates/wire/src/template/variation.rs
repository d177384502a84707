//! Fields that vary, made ready: each becomes one or two runs of bits in words at even offsets, with values of
//! 64 bits.

use super::modulus::{Modulus, spread};
use super::places::{Bits, Network, Places};
use super::spec::{By, Field, Layer, StreamSpec, Values, Vary};
use super::stream::{ValueSource, Variation};
use crate::WireError;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Values of a list at most.
const LIST: usize = 1 << 20;
/// Flows at most.
const FLOWS: u64 = 1 << 32;

/// A field's variation with the turns in which it takes its values.
struct Turned<'a> {
    field: Field,
    values: &'a Values,
    flows: Option<Modulus>,
    every: u64,
}

/// All variations of frames whose headers are where `places` says. `vary` has first been completed by
/// [`with_flows`].
pub(super) fn make_ready(
    vary: &[Vary],
    flows: Option<u64>,
    places: &Places,
    base: &[u8],
    seed: u64,
) -> Result<Vec<Variation>, WireError> {
    let mut ready = Vec::new();
    for turned in turned(vary, flows)? {
        check(turned.field, turned.values)?;
        ready.extend(compile(&turned, places, base, seed)?);
    }
    Ok(ready)
}

/// Fields of the 5-tuple turn like the digits of a number (the flow's), all others by themselves.
fn turned(vary: &[Vary], flows: Option<u64>) -> Result<Vec<Turned<'_>>, WireError> {
    let mut every: u64 = 1;
    let mut all = Vec::new();
    for Vary { field, values, by } in vary {
        let (field, by) = (*field, *by);
        let Some(asked) = flows else {
            if by == By::Flow {
                return Err(wrong(field, "follows flows, but no number of flows is given"));
            }
            all.push(Turned { field, values, flows: None, every: 1 });
            continue;
        };
        let flows = (by == By::Flow || field.is_of_tuple()).then(|| Modulus::new(asked));
        all.push(Turned { field, values, flows, every: if field.is_of_tuple() { every } else { 1 } });
        if field.is_of_tuple() {
            every = every.saturating_mul(distinct(field, values)?);
        }
    }
    match flows {
        Some(asked) if asked == 0 || asked > FLOWS => {
            Err(WireError::Streams(format!("{asked} flows; there can be 1 to {FLOWS}")))
        }
        Some(asked) if every < asked => Err(WireError::Flows { asked, possible: every }),
        _ => Ok(all),
    }
}

/// How many values there are, each of them once.
fn distinct(field: Field, values: &Values) -> Result<u64, WireError> {
    match values {
        Values::Increment { step: 0, .. } => Ok(1),
        Values::Increment { count, .. } => Ok((*count).max(1)),
        Values::List(list) => {
            let mut sorted = list.clone();
            sorted.sort_unstable();
            sorted.dedup();
            if sorted.len() == list.len() {
                Ok(list.len() as u64)
            } else {
                Err(wrong(field, "has a value twice, so that two flows would be one"))
            }
        }
        Values::Random { .. } => {
            Err(wrong(field, "is random, so that flows could be the same; give a range or a list"))
        }
    }
}

/// What varies. Where that makes fewer flows than asked for: also source ports, from the given one up, and
/// source addresses when ports are used up or not there.
pub(super) fn with_flows(stream: &StreamSpec) -> Vec<Vary> {
    let mut vary = stream.vary.clone();
    let Some(asked) = stream.flows else { return vary };
    let given =
        |all: u64, vary: &Vary| all.saturating_mul(distinct(vary.field, &vary.values).unwrap_or(u64::MAX));
    let possible = vary.iter().filter(|vary| vary.field.is_of_tuple()).fold(1, given);
    let mut left = asked.min(FLOWS).div_ceil(possible);
    let mut add = |field, start: u128, room: u64| {
        if left > 1 && room > 1 && vary.iter().all(|vary| vary.field != field) {
            let count = left.min(room);
            let values = Values::Increment { start, step: 1, count };
            vary.push(Vary { field, values, by: By::Flow });
            left = left.div_ceil(count);
        }
    };
    for layer in stream.layers.iter().rev() {
        match layer {
            Layer::Udp { source, .. } | Layer::Tcp { source, .. } => {
                add(Field::PortSource, u128::from(*source), 65_536 - u64::from(*source));
            }
            Layer::Ipv4 { source, .. } => {
                let source = source.to_bits();
                add(Field::Ipv4Source, u128::from(source), (1 << 32) - u64::from(source));
            }
            Layer::Ipv6 { source, .. } => {
                let beyond = u64::MAX - source.to_bits() as u64;
                add(Field::Ipv6Source, source.to_bits(), beyond.saturating_add(1));
            }
            _ => {}
        }
    }
    vary
}

/// The stream with the first value of IPv6 addresses in its headers: of these only the lower half may vary.
pub(super) fn with_first_values(stream: &StreamSpec, vary: &[Vary]) -> StreamSpec {
    let mut stream = stream.clone();
    for Vary { field, values, .. } in vary {
        let first = match values {
            Values::Increment { start, .. } => *start,
            Values::List(list) => list.first().copied().unwrap_or_default(),
            Values::Random { first, .. } => *first,
        };
        // Those around it stay as they are.
        let packet = stream.layers.iter_mut().rev().find(|layer| matches!(layer, Layer::Ipv6 { .. }));
        match (field, packet) {
            (Field::Ipv6Source, Some(Layer::Ipv6 { source, .. })) => *source = first.into(),
            (Field::Ipv6Destination, Some(Layer::Ipv6 { destination, .. })) => *destination = first.into(),
            _ => {}
        }
    }
    stream
}

/// Whether the field holds all its values.
fn check(field: Field, values: &Values) -> Result<(), WireError> {
    let bits = field.bits();
    let most = if bits == 128 { u128::MAX } else { (1 << bits) - 1 };
    let fits = |value: u128| {
        if value <= most {
            Ok(())
        } else {
            Err(wrong(field, &format!("has {bits} bits: {value} does not fit")))
        }
    };
    match values {
        Values::Increment { start, step, count } => {
            fits(*start)?;
            if *count == 0 {
                return Err(wrong(field, "has no values"));
            }
            match last(*start, *step, *count) {
                Some(last) => fits(last),
                None => Err(wrong(field, "goes below 0 or beyond all bits")),
            }
        }
        Values::List(list) if list.is_empty() || list.len() > LIST => {
            Err(wrong(field, &format!("has a list of {} values; 1 to {LIST} are possible", list.len())))
        }
        Values::List(list) => list.iter().try_for_each(|value| fits(*value)),
        Values::Random { first, last } if first > last => {
            Err(wrong(field, &format!("is any of {first} to {last}: the first must be the smaller")))
        }
        Values::Random { last, .. } => fits(*last),
    }
}

/// The last value of an increment.
fn last(start: u128, step: i64, count: u64) -> Option<u128> {
    let way = u128::from(step.unsigned_abs()).checked_mul(u128::from(count - 1))?;
    if step < 0 { start.checked_sub(way) } else { start.checked_add(way) }
}

fn wrong(field: Field, problem: &str) -> WireError {
    WireError::Values { field: field.name(), problem: problem.to_string() }
}

fn compile(
    turned: &Turned<'_>,
    places: &Places,
    base: &[u8],
    seed: u64,
) -> Result<Vec<Variation>, WireError> {
    let field = turned.field;
    let Some(bits) = places.field(field) else {
        return Err(WireError::NoField { field: field.name(), header: field.header() });
    };
    let seed = spread(seed, field as u64);
    if bits.count <= 64 {
        let source = source(turned.values, 0, seed);
        return Ok(alloc::vec![variation(turned, bits, places, source)]);
    }
    let upper =
        base.get(bits.first / 8..).and_then(<[u8]>::first_chunk::<8>).map(|upper| u64::from_be_bytes(*upper));
    halves(field, turned.values, upper.unwrap_or_default())?
        .into_iter()
        .map(|(shift, values)| {
            let half = Bits { first: bits.first + 64 - shift as usize, count: 64 };
            Ok(variation(turned, half, places, source(&values, shift, seed)))
        })
        .collect()
}

/// 128 bits as their lower half (shift 0) and, if it is not always what the frame has, their upper one (shift
/// 64).
fn halves(field: Field, values: &Values, upper: u64) -> Result<Vec<(u32, Values)>, WireError> {
    let same_upper = |a: u128, b: u128| a >> 64 == b >> 64;
    let beyond = |why: String| wrong(field, &format!("changes beyond its lower 64 bits: {why}"));
    let (first, stays) = match values {
        Values::Increment { start, step, count } => {
            (*start, same_upper(*start, last(*start, *step, *count).unwrap_or(*start)))
        }
        Values::List(list) => (list[0], list.iter().all(|value| same_upper(*value, list[0]))),
        Values::Random { first, last } => (*first, same_upper(*first, *last)),
    };
    if stays && first >> 64 == u128::from(upper) {
        return Ok(alloc::vec![(0, values.clone())]);
    }
    if stays {
        return Ok(alloc::vec![(64, Values::List(alloc::vec![first])), (0, values.clone())]);
    }
    let list = match values {
        Values::List(_) => values.clone(),
        Values::Increment { start, step, count } if *count <= LIST as u64 => {
            Values::List((1..=*count).map(|n| last(*start, *step, n).unwrap_or(*start)).collect())
        }
        Values::Increment { .. } => return Err(beyond(format!("{LIST} values at most can do so"))),
        Values::Random { .. } => return Err(beyond("random values cannot".to_string())),
    };
    Ok(alloc::vec![(64, list.clone()), (0, list)])
}

/// 64 bits of the values, from bit `shift` up.
fn source(values: &Values, shift: u32, seed: u64) -> ValueSource {
    match values {
        Values::Increment { start, step, count } => ValueSource::Increment {
            start: (*start >> shift) as u64,
            step: *step as u64,
            count: Modulus::new(*count),
        },
        Values::List(list) => ValueSource::List {
            values: list.iter().map(|value| (*value >> shift) as u64).collect(),
            modulus: Modulus::new(list.len() as u64),
        },
        Values::Random { first, last } => ValueSource::Random {
            first: *first as u64,
            count: (last - first) as u64 + u64::from(last - first < u128::from(u64::MAX)),
            seed,
        },
    }
}

/// The smallest word at an even offset that holds the bits.
fn variation(turned: &Turned<'_>, bits: Bits, places: &Places, source: ValueSource) -> Variation {
    let offset = bits.first / 16 * 2;
    let inside = bits.first - offset * 8;
    let needs = inside + bits.count as usize;
    let width = match needs {
        ..=16 => 2,
        17..=32 => 4,
        _ => 8,
    };
    let shift = width * 8 - needs;
    let mask = (u64::MAX >> (64 - bits.count)) << shift;
    let at = bits.first / 8;
    let in_network =
        places.network == Network::Ipv4 && (places.network_at..places.transport_at).contains(&at);
    let is_address = turned.field.is_of_tuple() && at < places.transport_at;
    let in_transport = (at >= places.transport_at && at < places.end) || (is_address && places.has_pseudo());
    Variation {
        offset: offset as u16,
        width: width as u8,
        shift: shift as u8,
        mask,
        in_network,
        in_transport,
        flows: turned.flows,
        every: Modulus::new(turned.every),
        source,
        field: turned.field.name(),
    }
}
