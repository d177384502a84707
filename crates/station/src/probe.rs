//! Whether somebody has an address of ours already, asked before the first frame (RFC 5227 §2.1, RFC 4862
//! §5.4), in shorter time than the RFCs: a load is not a host that stays.
//!
//! ```text
//!  0        100 ms   200 ms            300 ms
//!  probe    probe    probe   (listen)  announce: nobody spoke up, so the addresses are ours
//! ```

use crate::{Outbox, Station, StationError};
use std::net::IpAddr;
use units::{Instant, Picos};
use wire::ethernet::Mac;

const ROUNDS: u32 = 3;
const ROUND: Picos = Picos::from_millis(100);

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probing {
    /// Send what is in the outbox, hand in what arrives, and call again at this time.
    Until(Instant),
    /// The addresses are ours.
    Done,
}

#[derive(Debug, Default)]
pub(crate) struct Probe {
    state: State,
    /// Who has an address of ours.
    duplicate: Option<(IpAddr, Mac)>,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Idle,
    /// Round `round` ends at `ends`; the addresses before `at` were asked for.
    Running {
        round: u32,
        at: usize,
        ends: Instant,
    },
    Announcing {
        at: usize,
    },
    Done,
}

impl Probe {
    /// Whether the addresses are not ours yet.
    pub const fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    pub fn found(&mut self, address: IpAddr, mac: Mac) {
        self.duplicate.get_or_insert((address, mac));
    }
}

impl Station {
    /// Looks for others that have own addresses. Call it until it is done; meanwhile nobody is answered. A
    /// station that is never probed answers at once.
    ///
    /// # Errors
    /// `Duplicate`, with the address and who has it.
    pub fn probe(&mut self, now: Instant, out: &mut Outbox) -> Result<Probing, StationError> {
        if let Some((address, mac)) = self.probe.duplicate {
            return Err(StationError::Duplicate { address, mac });
        }
        match self.probe.state {
            // The host's kernel has asked.
            State::Idle if self.is_silent => self.probe.state = State::Done,
            State::Idle => self.round(1, 0, now + ROUND, out),
            State::Running { round, at, ends } if at < self.own().count() => self.round(round, at, ends, out),
            State::Running { ends, .. } if now < ends => return Ok(Probing::Until(ends)),
            State::Running { round, .. } if round < ROUNDS => self.round(round + 1, 0, now + ROUND, out),
            State::Running { .. } => self.announce(0, out),
            State::Announcing { at } => self.announce(at, out),
            State::Done => {}
        }
        Ok(match self.probe.state {
            State::Done => Probing::Done,
            State::Running { at, ends, .. } if at == self.own().count() => Probing::Until(ends),
            // The outbox is full.
            _ => Probing::Until(now),
        })
    }

    fn own(&self) -> impl Iterator<Item = IpAddr> + use<> {
        let range = |range: Option<crate::Addresses>| range.into_iter().flat_map(|range| range.iter());
        range(self.v4).chain(range(self.v6))
    }

    /// Asks for as many addresses from `at` on as the outbox has room for.
    fn round(&mut self, round: u32, at: usize, ends: Instant, out: &mut Outbox) {
        let (writer, room) = (self.writer(), out.room());
        let asked = self.own().skip(at).take(room).map(|address| writer.probe(address, out)).count();
        self.probe.state = State::Running { round, at: at + asked, ends };
    }

    fn announce(&mut self, at: usize, out: &mut Outbox) {
        let (writer, room) = (self.writer(), out.room());
        let told = self.own().skip(at).take(room).map(|address| writer.announce(address, out)).count();
        let at = at + told;
        self.probe.state = if at == self.own().count() { State::Done } else { State::Announcing { at } };
    }
}
