//! When a load's departures are due, as the module is told: as pieces of a rate, from which it computes each
//! due time (`hdl/session/session_pieces.sv`), or as a list.

use std::io::{self, Write};
use std::sync::Arc;

/// Of the module's memory.
pub const MOST_PIECES: usize = 32;
/// Eight ticks of the highest rate still fit 64 bits.
pub const MOST_MODULUS: u64 = 1 << 60;
const LAST_TICK: u64 = (1 << 48) - 1;

/// When departures are due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    /// From the tick of the first departure on.
    Pieces(Vec<Piece>),
    /// Ticks, which do not descend.
    Listed(Arc<[u64]>),
}

/// A part of a schedule in which the rate changes evenly, or not at all. All but the ticks is in units of
/// 1 / `modulus` of a departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub ticks: u64,
    pub modulus: u64,
    /// What is left at its start until the next departure is due, below the modulus.
    pub slack: u64,
    /// The integral of the rate over its first tick, and by how much it is more over each next one.
    pub each: u64,
    pub change: i64,
    /// A rate that does not change goes up by that when the ticks have passed, and they pass so often again.
    pub rise: u64,
    pub repeats: u32,
}

impl Due {
    /// Options of the simulation.
    pub(super) fn arguments(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Pieces(pieces) => pieces.iter().map(|piece| ("piece", piece.to_string())).collect(),
            Self::Listed(ticks) => vec![("listed", ticks.len().to_string())],
        }
    }
}

impl std::fmt::Display for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { ticks, modulus, slack, each, change, rise, repeats } = self;
        write!(f, "{ticks}:{modulus}:{slack}:{each}:{change}:{rise}:{repeats}")
    }
}

/// Writes a list as the simulation reads it.
pub(super) fn feed(to: &mut impl Write, ticks: &[u64]) -> io::Result<()> {
    for part in ticks.chunks(4_096) {
        let bytes: Vec<u8> = part.iter().flat_map(|tick| tick.to_le_bytes()).collect();
        to.write_all(&bytes)?;
    }
    Ok(())
}

/// Ticks between departures: whole + numerator / denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub whole: u32,
    pub numerator: u32,
    pub denominator: u32,
}

impl Gap {
    /// The gap of so many events in so many ticks, exactly; `None` if it does not fit the registers or is below
    /// one tick.
    pub fn of(events: u128, ticks: u128) -> Option<Self> {
        let mut common = (events, ticks);
        while common.1 != 0 {
            common = (common.1, common.0 % common.1);
        }
        let (events, ticks) = (events.checked_div(common.0)?, ticks / common.0);
        Some(Self {
            whole: u32::try_from(ticks / events).ok().filter(|whole| *whole > 0)?,
            numerator: (ticks % events) as u32,
            denominator: u32::try_from(events).ok()?,
        })
    }

    /// Ticks from the first departure to the n-th: floor(n · gap).
    pub fn due(self, n: u64) -> u64 {
        (u128::from(n) * self.ticks() / u128::from(self.denominator)) as u64
    }

    /// The departure that is due so many ticks after the first, if one is.
    pub fn number(self, due: u64) -> Option<u64> {
        let n = (u128::from(due) * u128::from(self.denominator)).div_ceil(self.ticks()) as u64;
        (self.due(n) == due).then_some(n)
    }

    /// How many are due less than so many ticks after the first.
    pub fn before(self, end: u64) -> u64 {
        (u128::from(end) * u128::from(self.denominator)).div_ceil(self.ticks()) as u64
    }

    /// The same as a piece without an end; `None` if that does not fit.
    pub fn piece(self) -> Option<Piece> {
        let modulus = u64::try_from(self.ticks()).ok().filter(|modulus| *modulus <= MOST_MODULUS)?;
        let each = u64::from(self.denominator);
        Some(Piece { ticks: LAST_TICK, modulus, slack: 0, each, change: 0, rise: 0, repeats: 0 })
    }

    fn ticks(self) -> u128 {
        u128::from(self.whole) * u128::from(self.denominator) + u128::from(self.numerator)
    }
}
