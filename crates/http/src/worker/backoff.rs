//! How long a closed loop's place pauses after failures, so that the loop does not hammer a target that refuses
//! it: 1 ms, doubling to 64 ms.

use units::Picos;

const SHORTEST: Picos = Picos::from_millis(1);
const DOUBLINGS: u32 = 6;

/// Counts failures in a row.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    pub(crate) fn failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }
    pub(crate) fn succeeded(&mut self) {
        self.failures = 0;
    }
    pub(crate) fn pause(&self) -> Picos {
        SHORTEST.saturating_mul(1 << self.failures.saturating_sub(1).min(DOUBLINGS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_64_ms_and_start_again() {
        let mut backoff = Backoff::default();
        let pauses: Vec<_> = (0..9)
            .map(|_| {
                backoff.failed();
                backoff.pause().as_nanos() / 1_000_000
            })
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 64, 64]);
        backoff.succeeded();
        backoff.failed();
        assert_eq!(backoff.pause(), SHORTEST);
    }
}
