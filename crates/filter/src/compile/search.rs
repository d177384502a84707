//! In which order prefix lengths are tried.
//!
//! The longest prefix is found by binary search over the lengths that occur (Waldvogel et al., SIGCOMM 1997):
//! on the way to a long prefix the shorter lengths hold a marker, so that "found" always means "look among the
//! longer ones". Lengths that many prefixes have are tried first: the tree is split by weight, not in the
//! middle.
//!
//! ```text
//!            /24            900 prefixes of 24, 50 of 16, 50 of 32
//!   missed ◄──┴──► found
//!      /16         /32
//! ```

/// One length to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub length: u8,
    /// The next step if there is an entry, and if there is none.
    pub found: u16,
    pub missed: u16,
}

/// There is no further step.
pub(crate) const END: u16 = u16::MAX;

/// Steps, the first one first; `weights[l]` is how many prefixes have length l (length 0 needs no step).
pub(crate) fn steps(weights: &[usize]) -> Vec<Step> {
    let lengths: Vec<(u8, usize)> =
        (1..weights.len()).filter(|&l| weights[l] > 0).map(|l| (l as u8, weights[l])).collect();
    let all: usize = lengths.iter().map(|(_, weight)| weight).sum();
    // No length weighs less than its even share would: that bounds the depth to about twice the logarithm.
    let least = all.div_ceil(lengths.len().max(1));
    let lengths: Vec<_> = lengths.into_iter().map(|(l, weight)| (l, weight + least)).collect();
    let mut steps = Vec::with_capacity(lengths.len());
    split(&lengths, &mut steps);
    steps
}

fn split(lengths: &[(u8, usize)], steps: &mut Vec<Step>) -> u16 {
    if lengths.is_empty() {
        return END;
    }
    let all: usize = lengths.iter().map(|(_, weight)| weight).sum();
    let mut before = 0;
    let middle = lengths
        .iter()
        .position(|(_, weight)| {
            before += weight;
            before * 2 >= all
        })
        .unwrap_or(0);
    let here = steps.len();
    steps.push(Step { length: lengths[middle].0, found: END, missed: END });
    steps[here].missed = split(&lengths[..middle], steps);
    steps[here].found = split(&lengths[middle + 1..], steps);
    here as u16
}

/// The lengths at which a prefix of this length needs markers.
pub(crate) fn markers(steps: &[Step], length: u8) -> impl Iterator<Item = u8> {
    let mut at = if steps.is_empty() { END } else { 0 };
    std::iter::from_fn(move || {
        while let Some(step) = steps.get(usize::from(at)) {
            if step.length == length {
                return None;
            }
            let is_shorter = step.length < length;
            at = if is_shorter { step.found } else { step.missed };
            if is_shorter {
                return Some(step.length);
            }
        }
        None
    })
}

/// Steps that a look-up takes at most.
pub(crate) fn depth(steps: &[Step], from: u16) -> usize {
    steps.get(usize::from(from)).map_or(0, |s| 1 + depth(steps, s.found).max(depth(steps, s.missed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(lengths: &[(usize, usize)]) -> Vec<usize> {
        let mut weights = vec![0; 129];
        for &(length, weight) in lengths {
            weights[length] = weight;
        }
        weights
    }

    #[test]
    fn what_most_prefixes_have_is_tried_first() {
        let steps = steps(&weights(&[(16, 50), (24, 900), (32, 50)]));
        assert_eq!(steps[0].length, 24);
        assert_eq!(steps[usize::from(steps[0].found)].length, 32);
        assert_eq!(steps[usize::from(steps[0].missed)].length, 16);
        assert_eq!(markers(&steps, 32).collect::<Vec<_>>(), [24]);
        assert_eq!(markers(&steps, 16).count(), 0);
    }

    #[test]
    fn no_search_is_longer_than_twice_the_logarithm() {
        let even: Vec<_> = (1..=128).map(|length| (length, 1)).collect();
        assert_eq!(depth(&steps(&weights(&even)), 0), 8);
        let mut steep = even;
        steep[127].1 = 1_000_000;
        assert!(depth(&steps(&weights(&steep)), 0) <= 14);
        // Each twice as often as all that are shorter: split by weight alone, each would be a step.
        let doubled: Vec<_> = (1..=60).map(|length| (length, 1 << length)).collect();
        assert!(depth(&steps(&weights(&doubled)), 0) <= 12);
        assert!(steps(&[5]).is_empty());
    }
}
