//! From a specification, or from frames, to streams.

use super::places::{Network, Places};
use super::spec::{Spec, Spoiled, StreamSpec, Vary};
use super::stream::{Selection, Shape, Stream, Variation};
use super::{Changes, Template, Turns, layers, modulus, sizes, spoil, tunnels, variation};
use crate::bytes::half;
use crate::{LONGEST_SIZE, WireError, checksum, ethernet, signature};
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

/// Streams at most: marks count them with 24 bits.
const MOST_STREAMS: usize = 1 << 24;
/// Templates are told apart by 24 bits, of which 0 is none.
const IDENTITIES: u32 = (1 << 24) - 1;
static MADE: AtomicU32 = AtomicU32::new(0);

fn identity() -> u32 {
    MADE.fetch_add(1, Ordering::Relaxed) % IDENTITIES + 1
}

/// Whether there are so many of `what`.
fn counted(count: usize, what: &str, most: usize) -> Result<(), WireError> {
    let problem = || WireError::Streams(format!("{count} {what}; there can be 1 to {most}"));
    if (1..=most).contains(&count) { Ok(()) } else { Err(problem()) }
}

pub(super) fn from_spec(spec: &Spec) -> Result<Template, WireError> {
    counted(spec.streams.len(), "streams", signature::STREAMS)?;
    let weights: Vec<u32> = spec.streams.iter().map(|stream| stream.weight).collect();
    let turns = sizes::turns(&weights)?;
    let numbered = spec.streams.iter().enumerate();
    let streams = numbered
        .map(|(number, stream)| made(stream, modulus::spread(spec.seed, number as u64)))
        .collect::<Result<_, _>>()?;
    Ok(Template { id: identity(), streams, turns, first: 0 })
}

fn made(spec: &StreamSpec, seed: u64) -> Result<Stream, WireError> {
    layers::check(&spec.layers)?;
    let (lengths, order) = sizes::lengths(spec, seed)?;
    let vary = variation::with_flows(spec);
    let spec = variation::with_first_values(spec, &vary);
    let frames = |length: &usize| layers::frame(&spec, *length, seed);
    let base = lengths.last().map(frames).transpose()?.unwrap_or_default();
    let places = Places::within(&base, tunnels::levels(&spec.layers));
    if spec.sign && places.network == Network::Arp {
        return Err(WireError::Unsigned("frames of ARP"));
    }
    let variations = variation::make_ready(&vary, spec.flows, &places, &base, seed)?;
    let mut stream = Stream::new(base, order, variations, &places, lengths.len() > 1, spec.sign);
    if lengths.len() > 1 {
        stream.around = tunnels::lengths(&spec.layers);
    }
    for length in &lengths {
        let frame = frames(length)?;
        stream.shapes.push(stream.shape_of(&frame, &places, spec.sign));
        stream.around_values.extend(stream.around.iter().map(|at| half(&frame, usize::from(*at))));
    }
    // Sums were taken of right frames.
    spoil::spoil(&mut stream.base, &places, spec.spoiled);
    stream.spoiled = spec.spoiled;
    Ok(stream)
}

pub(super) fn from_frames(frames: Vec<Vec<u8>>, changes: &Changes) -> Result<Template, WireError> {
    counted(frames.len(), "frames", MOST_STREAMS)?;
    let turns = if frames.len() == 1 {
        Turns::Only
    } else {
        Turns::Round(modulus::Modulus::new(frames.len() as u64))
    };
    let numbered = frames.into_iter().enumerate();
    let streams = numbered
        .map(|(index, frame)| {
            let number = index + 1;
            taken(frame, changes).map_err(|error| WireError::Frame { number, problem: error.to_string() })
        })
        .collect::<Result<_, _>>()?;
    Ok(Template { id: identity(), streams, turns, first: 0 })
}

fn taken(frame: Vec<u8>, changes: &Changes) -> Result<Stream, WireError> {
    if frame.len() < ethernet::LENGTH {
        return Err(WireError::Short { protocol: "Ethernet", has: frame.len(), needs: ethernet::LENGTH });
    }
    if frame.len() > LONGEST_SIZE - crate::FCS {
        return Err(WireError::Large { size: frame.len() + crate::FCS, most: LONGEST_SIZE });
    }
    let places = Places::of(&frame);
    if changes.sign && (places.network == Network::Arp || places.payload + signature::LENGTH > places.end) {
        return Err(WireError::Unsigned("it"));
    }
    let there = |vary: &&Vary| !changes.may_lack || places.field(vary.field).is_some();
    let vary: Vec<Vary> = changes.vary.iter().filter(there).cloned().collect();
    let variations = variation::make_ready(&vary, None, &places, &frame, changes.seed)?;
    let mut stream = Stream::new(frame, Selection::Only, variations, &places, false, changes.sign);
    stream.shapes = alloc::vec![stream.shape_of(&stream.base, &places, changes.sign)];
    Ok(stream)
}

impl Stream {
    /// Without shapes. What no variation, signature or length touches is left as the base has it.
    fn new(
        base: Vec<u8>,
        order: Selection,
        variations: Vec<Variation>,
        places: &Places,
        lengths: bool,
        sign: bool,
    ) -> Self {
        let short = |at: Option<usize>| at.map(|at| at as u16);
        let network = lengths || variations.iter().any(|variation| variation.in_network);
        let transport = lengths || sign || variations.iter().any(|variation| variation.in_transport);
        Self {
            network_length: short(places.network_length()).filter(|_| lengths),
            transport_length: short(places.transport_length()).filter(|_| lengths),
            network_checksum: short(places.network_checksum()).filter(|_| network),
            transport_checksum: short(places.transport_checksum(&base)).filter(|_| transport),
            is_udp: places.transport_length().is_some(),
            signature: sign.then_some(places.payload as u16),
            base,
            around: Vec::new(),
            around_values: Vec::new(),
            spoiled: Spoiled::default(),
            shapes: Vec::new(),
            order,
            variations,
        }
    }

    /// What a whole frame of one length says of all others of that length: its checksums less what varies (RFC
    /// 1624).
    fn shape_of(&self, frame: &[u8], places: &Places, sign: bool) -> Shape {
        let value = |at: Option<usize>| at.map_or(0, |at| half(frame, at));
        let without = |checksum: Option<usize>, counts: fn(&Variation) -> bool| {
            let Some(at) = checksum else { return 0 };
            let varying = self.variations.iter().filter(|variation| counts(variation));
            varying.fold(u64::from(!half(frame, at)), |sum, variation| {
                sum + u64::from(!checksum::fold(word(frame, variation) & variation.mask))
            })
        };
        let mut transport = without(places.transport_checksum(frame), |variation| variation.in_transport);
        if sign {
            let signed = &frame[places.payload..places.payload + signature::LENGTH];
            transport += u64::from(!checksum::fold(checksum::sum(signed)));
        }
        Shape {
            length: frame.len() as u16,
            network_length: value(places.network_length()),
            transport_length: value(places.transport_length()),
            network_sum: without(places.network_checksum(), |variation| variation.in_network) as u32,
            transport_sum: transport as u32,
        }
    }
}

fn word(frame: &[u8], variation: &Variation) -> u64 {
    let at = usize::from(variation.offset);
    frame[at..at + usize::from(variation.width)].iter().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests;
