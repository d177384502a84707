//! The module's time: ticks of its core, the clock of nanoseconds beside them, and this host's clock.
//!
//! ```text
//!   ns of a tick = ns₀ + (tick − tick₀) · 8      ns₀, tick₀: of the same cycle, kept by the command `capture`
//! ```
//!
//! The clock of nanoseconds counts from 2020-01-01 UTC, as signatures do. It is set once, when the module is
//! opened, and goes by the module's own oscillator from then on; all stamps of one session are on one scale.

use crate::Stamp;
use units::Picos;
use wire::signature::EPOCH_UNIX_NS;

/// A cycle of the core's clock (125 MHz).
pub const TICK_NS: u64 = 8;
pub const TICK: Picos = Picos::from_nanos(TICK_NS);

/// What the module kept of one cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Its clock, in nanoseconds since 2020.
    pub ns: u64,
    pub tick: u64,
}

impl Captured {
    /// When a tick is, or was.
    pub fn stamp(&self, tick: u64) -> Stamp {
        let after = (i128::from(tick) - i128::from(self.tick)) * i128::from(TICK_NS);
        Stamp(within(i128::from(EPOCH_UNIX_NS) + i128::from(self.ns) + after))
    }

    /// The tick that is at this time, or the last before it.
    pub fn tick(&self, stamp: Stamp) -> u64 {
        let after = i128::from(stamp.0) - i128::from(EPOCH_UNIX_NS) - i128::from(self.ns);
        within(i128::from(self.tick) + after.div_euclid(i128::from(TICK_NS)))
    }
}

fn within(value: i128) -> u64 {
    value.clamp(0, i128::from(u64::MAX)) as u64
}

/// One exchange: this host's clock before and after, the module's in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    pub before_unix_ns: u64,
    pub after_unix_ns: u64,
    pub captured: Captured,
}

impl Exchange {
    /// How far the module's clock is ahead of the host's, and how much that may be wrong: half of what the
    /// exchange took.
    pub fn offset(&self) -> Offset {
        let width = self.after_unix_ns.saturating_sub(self.before_unix_ns);
        let middle = self.before_unix_ns + width / 2;
        let module = i128::from(EPOCH_UNIX_NS) + i128::from(self.captured.ns);
        let ahead_ns = (module - i128::from(middle)).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        Offset { ahead_ns, bound: Picos::from_nanos(width.div_ceil(2)) }
    }
}

/// How far the module's clock is from the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    pub ahead_ns: i64,
    pub bound: Picos,
}

/// The narrowest of several exchanges: the one that was least held up.
pub fn narrowest(exchanges: &[Exchange]) -> Option<&Exchange> {
    exchanges.iter().min_by_key(|exchange| exchange.after_unix_ns.saturating_sub(exchange.before_unix_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_tick_is_eight_nanoseconds() {
        let captured = Captured { ns: 1_000, tick: 50 };
        assert_eq!(captured.stamp(51), Stamp(EPOCH_UNIX_NS + 1_008));
        assert_eq!(captured.stamp(0), Stamp(EPOCH_UNIX_NS + 600));
        // What is between two ticks is at the one before it, also before the pair.
        for (ns, tick) in [(1_000, 50), (1_007, 50), (1_008, 51), (999, 49), (992, 49), (991, 48)] {
            assert_eq!(captured.tick(Stamp(EPOCH_UNIX_NS + ns)), tick, "{ns}");
        }
        // Before the first tick there is none.
        assert_eq!(captured.tick(Stamp(0)), 0);
    }

    #[test]
    fn the_narrowest_exchange_bounds_the_offset() {
        let at = |before, after, ns| Exchange {
            before_unix_ns: EPOCH_UNIX_NS + before,
            after_unix_ns: EPOCH_UNIX_NS + after,
            captured: Captured { ns, tick: 0 },
        };
        let all = [at(0, 1_000, 700), at(2_000, 2_101, 2_300), at(5_000, 9_000, 5_000)];
        let offset = narrowest(&all).unwrap().offset();
        // 2 300 − 2 050, and half of 101.
        assert_eq!(offset, Offset { ahead_ns: 250, bound: Picos::from_nanos(51) });
        assert_eq!(narrowest(&[]), None);
    }

    proptest! {
        #[test]
        fn ticks_and_stamps_are_each_others(
            ns in 0_u64..1 << 60, first in 0_u64..1 << 60, after in -(1_i64 << 54)..1 << 54,
        ) {
            let captured = Captured { ns: ns + (1 << 60), tick: first + (1 << 54) };
            let tick = captured.tick.saturating_add_signed(after);
            prop_assert_eq!(captured.tick(captured.stamp(tick)), tick);
        }
    }
}
