//! What becomes of each request.

use crate::options::{Options, RunKind};
use crate::random::Random;
use units::{Bytes, Cause, Event, Group, Instant, Outcome, Picos};

/// Names of requests, for tables.
pub fn names(count: usize) -> Vec<String> {
    const USUAL: [&str; 7] = ["home", "search", "product", "basket", "buy", "login", "help"];
    let name = |at: usize| USUAL.get(at).map_or_else(|| format!("page-{at}"), |name| (*name).to_owned());
    (0..count).map(name).collect()
}

/// Tells each departure's fate from its number.
pub struct Story {
    kind: RunKind,
    /// Departures a second.
    rate: u64,
    groups: u64,
    /// When nothing is answered.
    stall: (Picos, Picos),
    random: Random,
    /// Departures of the stall that found a connection.
    sent_in_stall: u64,
}

impl Story {
    /// Connections at most.
    const CONNECTIONS: u64 = 64;

    pub fn new(options: &Options, groups: usize) -> Self {
        let whole = Picos::from_secs(options.seconds);
        let length = Picos::from_picos(whole.as_picos() / 10).min(Picos::from_secs(5));
        let from = Picos::from_picos(whole.as_picos() / 2);
        Self {
            kind: options.kind,
            rate: options.rate,
            groups: groups.max(1) as u64,
            stall: (from, from + length),
            random: Random::new(options.seed),
            sent_in_stall: 0,
        }
    }

    /// The n-th departure and what became of it.
    pub fn event(&mut self, seq: u64) -> Event {
        let due = Picos::from_picos((u128::from(seq) * 1_000_000_000_000 / u128::from(self.rate)) as u64);
        let late = Picos::from_nanos(self.random.around(4_000.0, 0.8) as u64);
        let (sent, blocked) = self.sending(due, late);
        let service = self.service(seq, due, sent);
        let first_byte =
            Picos::from_picos((service.as_picos() as f64 * (0.6 + 0.3 * self.random.share())) as u64);
        let outcome = self.outcome();
        let at = |after: Picos| Instant::EPOCH + after;
        let answered = matches!(outcome, Outcome::Status(_));
        Event {
            seq,
            due: at(due),
            sent: at(sent),
            first_byte: if answered { at(sent + first_byte) } else { Instant::FAR },
            done: at(sent + service),
            bytes_out: Bytes::new(90),
            bytes_in: Bytes::new(if answered { 600 } else { 0 }),
            outcome,
            blocked,
            unread: Picos::ZERO,
            unread_bound: Picos::ZERO,
            group: Group((seq % self.groups) as u16),
        }
    }

    fn is_stalled(&self, at: Picos) -> bool {
        self.kind == RunKind::Stall && at >= self.stall.0 && at < self.stall.1
    }

    /// When it left, and how long it waited for a connection: in a stall all are busy soon.
    fn sending(&mut self, due: Picos, late: Picos) -> (Picos, Picos) {
        if !self.is_stalled(due) {
            return (due + late, Picos::ZERO);
        }
        self.sent_in_stall += 1;
        if self.sent_in_stall <= Self::CONNECTIONS {
            return (due + late, Picos::ZERO);
        }
        let blocked = self.stall.1.saturating_sub(due);
        (due + blocked + late, blocked)
    }

    fn service(&mut self, seq: u64, due: Picos, sent: Picos) -> Picos {
        // A slow wave over the run, and another median for each name.
        let wave = 1.0 + 0.3 * (due.as_secs_f64() / 97.0).sin();
        let median_ns = 1.5e6 * wave * (1.0 + (seq % self.groups) as f64 * 0.25);
        let slow = if self.random.share() < 0.002 { 12.0 } else { 1.0 };
        let usual = Picos::from_nanos(self.random.around(median_ns * slow, 0.9) as u64);
        let rest = if self.is_stalled(sent) { self.stall.1.saturating_sub(sent) } else { Picos::ZERO };
        rest + usual
    }

    fn outcome(&mut self) -> Outcome {
        let share = self.random.share();
        match self.kind {
            RunKind::Errors if share < 0.7 => Outcome::Failed(Cause::ConnectRefused),
            RunKind::Errors if share < 0.9 => Outcome::Failed(Cause::ConnectTimeout),
            RunKind::Errors => Outcome::Failed(Cause::FirstByteReset),
            _ if share < 0.9 => Outcome::Status(200),
            _ if share < 0.97 => Outcome::Status(304),
            _ if share < 0.995 => Outcome::Status(404),
            _ if share < 0.9995 => Outcome::Status(503),
            _ => Outcome::Failed(Cause::BodyTimeout),
        }
    }
}
