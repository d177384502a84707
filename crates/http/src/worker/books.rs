//! What the loops of both paths book: of a response that was read, of a connection that is up, and of a request
//! that ended.

use units::{CausePart, Instant, Outcome, Phase, Picos, Record};

use crate::exchange::Exchange;
use crate::protocol::Finished;
use crate::worker::accounts::Accounts;
use crate::worker::backoff::Backoff;
use crate::worker::pacer::Pacer;
use crate::worker::pulse::SHORTEST;
use crate::worker::reading::Delay;
use crate::worker::turns::Turns;

/// Charges those that a chunk ended with the time that it lay unread.
pub(crate) fn charge<R: Record>(
    finished: &mut [Finished],
    delay: Delay,
    turns: &mut Turns,
    accounts: &mut Accounts<R>,
) {
    if let Some(pause) = turns.woken_late(delay) {
        accounts.paused(pause);
    }
    let Some(last) = finished.len().checked_sub(1) else { return };
    for (index, ended) in finished.iter_mut().enumerate() {
        let exchange = &mut ended.exchange;
        exchange.unread += delay.measured;
        // The stamp is that of the last byte: answers before it have been there for longer.
        exchange.unread_bound += if index < last { delay.at_most - delay.measured } else { delay.bound };
    }
    let counters = &mut accounts.counters;
    *if delay.is_measured { &mut counters.stamped } else { &mut counters.unstamped } += finished.len() as u64;
}

/// Charges those that wait for a connection with what the generator took to see that it was up. When the
/// target's answer came is known by a measured round trip; without one, it was after the loop had looked
/// before.
pub(crate) fn charge_connection<'e>(
    waiting: impl Iterator<Item = &'e mut Exchange>,
    (took, round_trip): (Picos, Option<Picos>),
    looked_before: Instant,
    now: Instant,
) {
    for exchange in waiting {
        match round_trip {
            Some(round_trip) => exchange.unread += took - round_trip,
            None => exchange.unread_bound += now.since(looked_before).min(took),
        }
    }
}

/// Since when a connection is free for the next request, whose last ones could have been seen to end at
/// `since`; and the doubt of it. It would have been free earlier still if its own request had left in time:
/// what the generator took longer is its own lateness, also of the requests that wait behind.
pub(crate) fn free_since(finished: &[Finished], now: Instant, since: Instant) -> (Instant, Picos) {
    let last = finished.last().map(|ended| &ended.exchange);
    let (tare, doubt) = last.map_or_else(Default::default, |last| (last.tare(now), last.unread_bound));
    // Less than a pause is what handling an answer takes: over a long backlog it would add up to a lateness of
    // its own.
    let since = if tare >= SHORTEST { since.min(now.saturating_sub(tare)) } else { since };
    (since, doubt)
}

/// A request has ended for good.
pub(crate) fn conclude<R: Record>(
    exchange: &Exchange,
    outcome: Outcome,
    now: Instant,
    accounts: &mut Accounts<R>,
    (backoff, pacer): (&mut Backoff, &mut Pacer),
) {
    accounts.event(&exchange.event(outcome, now));
    accounts.counters.body_in += exchange.body_in;
    if !exchange.waited.is_zero() {
        accounts.phase(Phase::FirstByte, exchange.waited);
    }
    let pause = match outcome {
        Outcome::Failed(cause) => {
            backoff.failed();
            match cause.part() {
                CausePart::Lookup | CausePart::Connect => backoff.pause(),
                _ => Picos::ZERO,
            }
        }
        _ => {
            backoff.succeeded();
            Picos::ZERO
        }
    };
    pacer.freed(now, pause);
}
