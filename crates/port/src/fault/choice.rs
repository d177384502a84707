//! Which frames meet which fault: read from the options, decided from a frame's number and a seed alone.

use crate::{Address, Direction, PortError};
use std::fmt;
use units::{Fraction, Picos};

/// Frames that are chosen. Frames count from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Which {
    #[default]
    None,
    /// Each with this probability, apart from all others.
    Share(Fraction),
    /// The last of every so many.
    Every(u64),
    /// These, in order.
    At(Vec<u64>),
}

impl Which {
    fn read(address: &Address, name: &str) -> Result<Self, PortError> {
        let Some(text) = address.option(name) else { return Ok(Self::None) };
        let wrong = || {
            let problem = format!("'{text}' does not say which frames {name} is for");
            address.wrong(&problem, &format!("{name}=1%, {name}=every=1000 or {name}=at=17+18"))
        };
        if let Some(every) = text.strip_prefix("every=") {
            return every.parse().ok().filter(|every| *every > 0).map(Self::Every).ok_or_else(wrong);
        }
        if let Some(list) = text.strip_prefix("at=") {
            let mut numbers =
                list.split('+').map(str::parse).collect::<Result<Vec<u64>, _>>().map_err(|_| wrong())?;
            numbers.sort_unstable();
            numbers.dedup();
            return Ok(Self::At(numbers));
        }
        text.parse().map(Self::Share).map_err(|_| wrong())
    }

    /// Whether frame `number` is chosen; `dice` is evenly distributed.
    pub fn has(&self, number: u64, dice: u64) -> bool {
        match self {
            Self::None => false,
            Self::Share(share) => {
                // Of 2³² equally likely values, the lowest share · 2³².
                (dice >> 32) < (u64::from(share.millionths()) << 32) / 1_000_000
            }
            Self::Every(every) => number % every == every - 1,
            Self::At(numbers) => numbers.binary_search(&number).is_ok(),
        }
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no frame"),
            Self::Share(share) => write!(f, "{share} of frames"),
            Self::Every(every) => write!(f, "every {every}th frame"),
            Self::At(numbers) => {
                let list: Vec<String> = numbers.iter().take(8).map(u64::to_string).collect();
                let more = if numbers.len() > 8 { ", …" } else { "" };
                write!(f, "frame {}{more}", list.join(", "))
            }
        }
    }
}

/// All faults of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub drop: Which,
    pub duplicate: Which,
    pub reorder: Which,
    pub delay: Which,
    pub corrupt: Which,
    /// A reordered frame comes after this many that followed it.
    pub by: u64,
    /// A delayed one after this time.
    pub hold: Picos,
    pub seed: u64,
    pub on: Direction,
    /// Frames that may be held back at a time.
    pub room: usize,
}

impl Plan {
    /// For a port that will be used in this direction: faults of one that only receives are made there, if
    /// nobody says otherwise.
    pub fn read(address: &Address, queue: u32, used: Direction) -> Result<Self, PortError> {
        let which = |name| Which::read(address, name);
        let plan = Self {
            drop: which("drop")?,
            duplicate: which("duplicate")?,
            reorder: which("reorder")?,
            delay: which("delay")?,
            corrupt: which("corrupt")?,
            by: address.read("by", "1")?.unwrap_or(1),
            hold: address.read("hold", "1ms")?.unwrap_or(Picos::from_micros(1_000)),
            seed: address.read::<u64>("seed", "7")?.unwrap_or(1).wrapping_add(u64::from(queue) << 32),
            on: match address.word("on", &["auto", "transmit", "receive", "both"])? {
                "transmit" => Direction::Transmit,
                "receive" => Direction::Receive,
                "both" => Direction::Both,
                _ if used == Direction::Receive => Direction::Receive,
                _ => Direction::Transmit,
            },
            room: address.read("room", "1024")?.unwrap_or(1_024),
        };
        if !(1..=1 << 20).contains(&plan.room) {
            return Err(address.wrong("room is not between 1 and 1048576 frames", "room=1024"));
        }
        if (plan.on == Direction::Receive && !used.receives())
            || (plan.on == Direction::Transmit && !used.transmits())
        {
            let (never, role) = if used.receives() { ("sends", "receive") } else { ("receives", "transmit") };
            return Err(address.wrong(
                &format!("this port never {never}, so the fault would never happen"),
                &format!("on={role}"),
            ));
        }
        if plan.by == 0 {
            return Err(address.wrong("a frame must be overtaken by at least one", "by=1"));
        }
        if [&plan.drop, &plan.duplicate, &plan.reorder, &plan.delay, &plan.corrupt]
            .iter()
            .all(|which| **which == Which::None)
        {
            return Err(address.wrong("says no fault", "fault,drop=1%:PORT"));
        }
        Ok(plan)
    }

    /// Whether frames are held back for a time.
    pub fn delays(&self) -> bool {
        self.delay != Which::None
    }

    /// The same with other dice, for the other direction.
    pub fn salted(&self, salt: u64) -> Self {
        Self { seed: self.seed ^ salt << 63, ..self.clone() }
    }

    /// Evenly distributed over all numbers, the same for the same frame and purpose.
    pub fn dice(&self, number: u64, purpose: u64) -> u64 {
        mix(mix(self.seed ^ mix(purpose)) ^ number)
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): one step from a state.
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            (&self.drop, "dropped".to_owned()),
            (&self.duplicate, "doubled".to_owned()),
            (&self.reorder, format!("overtaken by {}", self.by)),
            (&self.delay, format!("held for {}", self.hold)),
            (&self.corrupt, "damaged".to_owned()),
        ];
        let said: Vec<String> = all
            .iter()
            .filter(|(which, _)| **which != Which::None)
            .map(|(which, what)| format!("{which} {what}"))
            .collect();
        f.write_str(&said.join("; "))
    }
}
