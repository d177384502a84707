//! Finding where a condition stops to hold, from a guess.

/// The smallest x in `0..=last` for which `holds` is false, where it is true up to some x and false from
/// there on; `last` if it holds below that everywhere. Takes about 2 · log₂ |answer − guess| calls, and the
/// answer does not depend on the guess.
pub fn first_without(guess: u64, last: u64, holds: impl Fn(u64) -> bool) -> u64 {
    // Everything below `low` holds; `high` does not, or is the last.
    let (mut low, mut high) = (0, last);
    let mut probe = guess.min(last);
    let mut stride = 1u64;
    while low < high {
        if probe < high && holds(probe) {
            low = probe + 1;
            if high < last {
                break;
            }
            probe = low.saturating_add(stride).min(last);
        } else {
            high = high.min(probe);
            if low > 0 || high == 0 {
                break;
            }
            probe = high.saturating_sub(stride);
        }
        stride = stride.saturating_mul(2);
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ends_of_the_range() {
        for guess in [0, 1, 5, 10, 11, u64::MAX] {
            assert_eq!(first_without(guess, 10, |_| true), 10);
            assert_eq!(first_without(guess, 10, |_| false), 0);
            assert_eq!(first_without(guess, 0, |_| true), 0);
            assert_eq!(first_without(guess, u64::MAX, |x| x < u64::MAX), u64::MAX);
        }
    }

    proptest! {
        #[test]
        fn the_guess_does_not_matter(edge in 0u64..5_000, guess in 0u64..10_000, last in 0u64..5_000) {
            prop_assert_eq!(first_without(guess, last, |x| x < edge), edge.min(last));
        }

        #[test]
        fn a_good_guess_is_cheap(edge in 0u64..u64::MAX, off in -8i64..8) {
            let calls = std::cell::Cell::new(0);
            let holds = |x| { calls.set(calls.get() + 1); x < edge };
            prop_assert_eq!(first_without(edge.saturating_add_signed(off), u64::MAX, holds), edge);
            prop_assert!(calls.get() <= 10, "{}", calls.get());
        }
    }
}
