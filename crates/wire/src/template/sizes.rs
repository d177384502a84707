//! Sizes as the distinct lengths that occur, and the order in which they do; turns of streams by their weights.

use super::modulus::Modulus;
use super::spec::{Sizes, StreamSpec};
use super::stream::Selection;
use super::{Turns, layers};
use crate::{FCS, LEAST_SIZE, LONGEST_SIZE, WireError};
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

/// Entries of a pattern (sizes or turns) at most.
const PATTERN: usize = 65_536;

/// The frame lengths (without FCS) of a stream, ascending, and which of them each frame has.
pub(super) fn lengths(stream: &StreamSpec, seed: u64) -> Result<(Vec<usize>, Selection), WireError> {
    let in_turn = match &stream.sizes {
        Sizes::Fixed(size) => alloc::vec![*size],
        Sizes::List(sizes) => sizes.clone(),
        Sizes::Range { first, last, step } => range(*first, *last, *step)?,
        Sizes::Weighted(parts) => {
            let weights: Vec<u32> = parts.iter().map(|(_, weight)| *weight).collect();
            smooth(&weights, "shares of frame sizes")?.iter().map(|part| parts[*part].0).collect()
        }
        Sizes::Random { first, last } => range(*first, *last, 1)?,
    };
    if in_turn.is_empty() || in_turn.len() > PATTERN {
        let problem = format!("{} frame sizes; 1 to {PATTERN} can follow each other", in_turn.len());
        return Err(WireError::Streams(problem));
    }
    for size in &in_turn {
        fits(stream, *size)?;
    }
    let mut distinct: Vec<usize> = in_turn.iter().map(|size| size - FCS).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let order = match &stream.sizes {
        _ if distinct.len() == 1 => Selection::Only,
        Sizes::Random { .. } => Selection::Random { seed, count: distinct.len() as u64 },
        _ => {
            let place = |size: &usize| distinct.partition_point(|length| *length < size - FCS) as u16;
            Selection::Cycle {
                pattern: in_turn.iter().map(place).collect(),
                modulus: Modulus::new(in_turn.len() as u64),
            }
        }
    };
    Ok((distinct, order))
}

fn range(first: usize, last: usize, step: usize) -> Result<Vec<usize>, WireError> {
    if first > last || step == 0 {
        let problem = format!(
            "frame sizes {first}..{last} in steps of {step}: the first must be the smaller, and the step 1 or \
             more"
        );
        return Err(WireError::Streams(problem));
    }
    if last > LONGEST_SIZE {
        return Err(WireError::Large { size: last, most: LONGEST_SIZE });
    }
    Ok((first..=last).step_by(step).collect())
}

/// Whether headers and signature fit a frame size.
fn fits(stream: &StreamSpec, size: usize) -> Result<(), WireError> {
    let carried = layers::length(&stream.layers) + if stream.sign { crate::signature::LENGTH } else { 0 };
    if size < LEAST_SIZE && !stream.pads {
        return Err(WireError::Small { size, what: "frames of Ethernet".to_string(), least: LEAST_SIZE });
    }
    if size < carried + FCS {
        return Err(WireError::Small { size, what: layers::names(stream), least: carried + FCS });
    }
    if size > LONGEST_SIZE {
        return Err(WireError::Large { size, most: LONGEST_SIZE });
    }
    Ok(())
}

/// Which stream has which turn.
pub(super) fn turns(weights: &[u32]) -> Result<Turns, WireError> {
    if weights.len() == 1 {
        return Ok(Turns::Only);
    }
    if weights.iter().all(|weight| *weight == weights[0]) && weights[0] > 0 {
        return Ok(Turns::Round(Modulus::new(weights.len() as u64)));
    }
    let common = weights.iter().fold(0, |common, weight| greatest_common_divisor(common, *weight)).max(1);
    let weights: Vec<u32> = weights.iter().map(|weight| weight / common).collect();
    let mut ranks = alloc::vec![0; weights.len()];
    let entries: Vec<(u32, u32)> = smooth(&weights, "weights of streams")?
        .into_iter()
        .map(|stream| {
            ranks[stream] += 1;
            (stream as u32, ranks[stream] - 1)
        })
        .collect();
    let modulus = Modulus::new(entries.len() as u64);
    Ok(Turns::Pattern { entries, modulus, weights })
}

/// As many entries as the weights sum to, each number as often as its weight says and as evenly spread as can
/// be: at each place the one that is furthest behind its share.
fn smooth(weights: &[u32], what: &str) -> Result<Vec<usize>, WireError> {
    let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    if total == 0 || total > PATTERN as u64 || weights.contains(&0) {
        let problem =
            format!("the {what} sum to {total}; each must be 1 or more, and the sum at most {PATTERN}");
        return Err(WireError::Streams(problem));
    }
    let mut behind = alloc::vec![0_i64; weights.len()];
    let mut order = Vec::with_capacity(total as usize);
    for _ in 0..total {
        behind.iter_mut().zip(weights).for_each(|(lag, weight)| *lag += i64::from(*weight));
        let next = (0..weights.len()).rev().max_by_key(|part| behind[*part]).unwrap_or(0);
        behind[next] -= total as i64;
        order.push(next);
    }
    Ok(order)
}

const fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::spec::IMIX;
    use proptest::prelude::*;

    fn of(sizes: Sizes) -> Result<(Vec<usize>, Selection), WireError> {
        let ethernet = crate::template::Layer::ethernet(Default::default(), Default::default());
        lengths(&StreamSpec { layers: alloc::vec![ethernet], sizes, ..StreamSpec::default() }, 7)
    }

    #[test]
    fn sizes_have_limits_in_number_and_length() {
        let list = |count| of(Sizes::List(alloc::vec![64; count])).map(|(lengths, _)| lengths);
        assert_eq!((list(1), list(65_536)), (Ok(alloc::vec![60]), Ok(alloc::vec![60])));
        assert!(list(0).is_err() && list(65_537).is_err());
        let range =
            |first, last, step| of(Sizes::Range { first, last, step }).map(|(lengths, _)| lengths.len());
        assert_eq!((range(64, 66, 1), range(64, 66, 2), range(65_535, 65_535, 1)), (Ok(3), Ok(2), Ok(1)));
        for (first, last, step) in [(66, 64, 1), (64, 66, 0), (65_535, 65_536, 1)] {
            assert!(range(first, last, step).is_err(), "{first} {last} {step}");
        }
        assert!(of(Sizes::Fixed(65_535)).is_ok() && of(Sizes::Fixed(65_536)).is_err());
        // Drawn, or in turn.
        assert!(matches!(
            of(Sizes::Random { first: 64, last: 66 }),
            Ok((_, Selection::Random { count: 3, .. }))
        ));
        assert!(matches!(of(Sizes::List(alloc::vec![64, 66])), Ok((_, Selection::Cycle { .. }))));
    }

    #[test]
    fn turns_are_as_few_as_the_weights_allow() {
        let pattern = |weights: &[u32]| match turns(weights).unwrap() {
            Turns::Pattern { entries, .. } => entries.len(),
            Turns::Round(modulus) => 100 + modulus.divisor() as usize,
            Turns::Only => 0,
        };
        assert_eq!([&[9][..], &[3, 3], &[1, 2], &[4, 6]].map(pattern), [0, 102, 3, 5]);
        assert!(turns(&[0, 0]).is_err() && turns(&[1, 0]).is_err());
        assert_eq!(smooth(&[65_536], "").map(|order| order.len()), Ok(65_536));
        assert!(smooth(&[65_537], "").is_err() && smooth(&[], "").is_err());
    }

    #[test]
    fn an_imix_spreads_its_twelve_frames_evenly() {
        let weights: Vec<u32> = IMIX.iter().map(|(_, weight)| *weight).collect();
        let order = smooth(&weights, "").unwrap();
        let count = |part| order.iter().filter(|entry| **entry == part).count();
        assert_eq!((order.len(), count(0), count(1), count(2)), (12, 7, 4, 1));
        let longest_run = order.chunk_by(|a, b| a == b).map(<[usize]>::len).max();
        assert_eq!(longest_run, Some(2));
    }

    proptest! {
        #[test]
        fn each_has_its_share_in_every_prefix(weights in prop::collection::vec(1u32..50, 1..8)) {
            let total: u32 = weights.iter().sum();
            let order = smooth(&weights, "").unwrap();
            let mut had = alloc::vec![0_u32; weights.len()];
            for (n, entry) in order.iter().enumerate() {
                had[*entry] += 1;
                for (part, weight) in weights.iter().enumerate() {
                    let due = f64::from(*weight) * (n + 1) as f64 / f64::from(total);
                    prop_assert!((f64::from(had[part]) - due).abs() < weights.len() as f64);
                }
            }
            prop_assert_eq!(had, weights);
        }
    }
}
