//! A connection's life: no I/O, time as an argument. Bytes go in, bytes to send come out, exchanges end.
//!
//! ```text
//! Lookup ─► Connecting ─► [Proxy] ─► [Handshake] ─► Open ─► Closed
//! ```

use std::collections::VecDeque;
use units::{Cause, Instant, Phase, Picos};

use crate::exchange::Exchange;
use crate::outgoing::{Body, Outgoing};
use crate::response::{Asked, FramingError, Item, ResponseReader};
use crate::rules::RuleBook;
use crate::tls::Layer;

/// Where in its life a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Lookup,
    Connecting,
    Proxy,
    Handshake,
    Open,
    /// It may carry nothing more; its socket is to be closed.
    Closed,
}

/// An exchange that ended on this connection.
#[derive(Debug)]
pub struct Finished {
    pub exchange: Exchange,
    /// The answer was complete, or why there is none.
    pub result: Result<(), Cause>,
    /// Without an answer: why the target may never have had the request.
    pub unserved: Option<Unserved>,
    pub location: Option<Box<str>>,
}

/// Why a request without an answer may be sent again on another connection (RFC 9112 §9.3 and §9.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unserved {
    /// It stood behind the answer with which the target said that it closes: whatever it was, the target does
    /// nothing with it.
    BehindLast,
    /// It stood behind others when the connection broke.
    BehindBroken,
    /// The connection had been idle and broke with nothing of an answer; whether the target had the request is
    /// for its kernel to say.
    Reused,
}

/// How long a phase took; zero or one of each kind for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseTook(pub Phase, pub Picos);

/// What becomes of requests behind the one with which a connection broke.
const BROKEN: (Cause, Option<Unserved>) = (Cause::PipelineClosed, Some(Unserved::BehindBroken));

/// What a connection is made with.
#[derive(Debug, Default)]
pub struct Route {
    /// A CONNECT request to be answered by the proxy first.
    pub connect: Option<Vec<u8>>,
    pub tls: Option<Box<Layer>>,
}

/// See the module.
#[derive(Debug)]
pub struct Connection {
    stage: Stage,
    reader: ResponseReader,
    in_flight: VecDeque<Exchange>,
    outgoing: Outgoing,
    route: Route,
    /// When the present stage began.
    since: Instant,
    /// When connecting began.
    opened_at: Instant,
    /// Requests begun on it.
    served: u32,
    keep_alive: bool,
    /// The target answers nothing behind what it answers now.
    closes: bool,
    /// The socket takes no more, but what the target said before may still be read.
    mute: bool,
    was_reset: bool,
    /// Bytes for the wire that were taken from `output`, and how many there were before the oldest request that
    /// has no answer.
    written: u64,
    written_before: u64,
    /// Bytes that no request asked for have come.
    surplus: bool,
}

impl Connection {
    pub fn new(route: Route, stage: Stage, now: Instant) -> Self {
        Self {
            stage,
            reader: ResponseReader::new(),
            in_flight: VecDeque::new(),
            outgoing: Outgoing::default(),
            route,
            since: now,
            opened_at: now,
            served: 0,
            keep_alive: true,
            closes: false,
            mute: false,
            was_reset: false,
            written: 0,
            written_before: 0,
            surplus: false,
        }
    }

    pub fn stage(&self) -> Stage {
        self.stage
    }
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }
    /// The request whose answer is the next to come.
    pub fn oldest(&self) -> Option<&Exchange> {
        self.in_flight.front()
    }
    /// When connecting began.
    pub fn opened_at(&self) -> Instant {
        self.opened_at
    }
    pub fn served(&self) -> u32 {
        self.served
    }

    /// Whether another request may begin on it, given the plan's depth of pipelining.
    pub fn may_begin(&self, depth: usize) -> bool {
        self.keep_alive
            && self.stage == Stage::Open
            && self.in_flight.len() < depth
            && !self.outgoing.is_held()
    }

    /// Begins an exchange; its request leaves by `output` as soon as the connection is open.
    pub fn begin(&mut self, mut exchange: Exchange, request: &[u8], body: Body) {
        exchange.behind = !self.in_flight.is_empty();
        if !exchange.behind {
            self.written_before = self.written;
        }
        self.outgoing.push(request, body);
        self.in_flight.push_back(exchange);
        self.served += 1;
    }

    /// No further request after those on their way.
    pub fn retire(&mut self) {
        self.keep_alive = false;
    }

    /// The name is resolved and `connect` has begun; with another address, once more.
    pub fn connecting(&mut self, now: Instant) -> Option<PhaseTook> {
        let took = PhaseTook(Phase::Lookup, now.since(self.since));
        let first = self.stage == Stage::Lookup;
        self.enter(Stage::Connecting, now);
        if first {
            self.opened_at = now;
        }
        first.then_some(took)
    }

    /// Whether bytes came that no request asked for.
    pub fn has_surplus(&self) -> bool {
        self.surplus
    }
    /// Bytes that were handed over for the wire before the oldest request that has no answer.
    pub fn written_before(&self) -> u64 {
        self.written_before
    }

    /// The transport is up. Idempotent after the first time.
    pub fn connected(&mut self, now: Instant) -> Option<PhaseTook> {
        if self.stage != Stage::Connecting {
            return None;
        }
        let took = now.since(self.since);
        if let Some(request) = self.route.connect.take() {
            self.outgoing.push_first(request);
            self.enter(Stage::Proxy, now);
        } else {
            self.secure(now);
        }
        Some(PhaseTook(Phase::Connect, took))
    }

    fn secure(&mut self, now: Instant) {
        let next = if self.route.tls.is_some() { Stage::Handshake } else { Stage::Open };
        self.enter(next, now);
    }

    fn enter(&mut self, stage: Stage, now: Instant) {
        self.stage = stage;
        self.since = now;
    }

    /// The next bytes for the wire; empty if there are none now. `plan_body` is what [`Body::OfPlan`] stands for.
    pub fn output<'a>(&'a mut self, plan_body: &'a [u8]) -> &'a [u8] {
        match self.stage {
            Stage::Lookup | Stage::Closed => &[],
            _ if self.mute => &[],
            Stage::Proxy => self.outgoing.first(),
            // Before `connected` too: sending may work before the kernel says so.
            Stage::Connecting if self.route.connect.is_some() => &[],
            Stage::Connecting | Stage::Handshake | Stage::Open => {
                let open = self.stage == Stage::Open;
                match self.route.tls.as_deref_mut() {
                    Some(layer) => layer.output(open.then_some(&mut self.outgoing), plan_body),
                    None => self.outgoing.next_piece(plan_body),
                }
            }
        }
    }

    /// `count` bytes of `output` are with the kernel.
    pub fn wrote(&mut self, count: usize) {
        self.written += count as u64;
        match (self.stage, self.route.tls.as_deref_mut()) {
            (Stage::Proxy, _) => self.outgoing.took_first(count),
            (_, Some(layer)) => layer.wrote(count),
            (_, None) => self.outgoing.took(count),
        }
    }

    /// Whether a streamed body waits for its next piece; then `stream` brings it.
    pub fn wants_body(&self) -> bool {
        self.stage == Stage::Open && !self.mute && self.outgoing.wants_body()
    }
    /// The next piece of a streamed body, framed; it counts for the exchange that it belongs to.
    pub fn stream(&mut self, framed: &[u8], last: bool) {
        let behind = self.outgoing.behind() + 1;
        if let Some(index) = self.in_flight.len().checked_sub(behind) {
            self.in_flight[index].bytes_out += framed.len() as u64;
        }
        self.outgoing.stream(framed, last);
    }
    /// Sends the body that waits for a 100 (Continue) without it.
    pub fn release_body(&mut self) {
        self.outgoing.release();
    }

    /// Bytes from the target, whose answers must follow the rules. Exchanges that end are pushed to `finished`; `Some` if a handshake was completed.
    pub fn received(
        &mut self,
        bytes: &[u8],
        now: Instant,
        rules: &RuleBook,
        finished: &mut Vec<Finished>,
    ) -> Option<PhaseTook> {
        match self.stage {
            Stage::Proxy => self.proxy_answer(bytes, now, finished),
            Stage::Closed => {}
            _ if self.route.tls.is_some() => return self.secured(bytes, now, rules, finished),
            _ => self.plain(bytes, now, rules, finished),
        }
        None
    }

    fn proxy_answer(&mut self, bytes: &[u8], now: Instant, finished: &mut Vec<Finished>) {
        let asked = Asked { no_body: true, ..Asked::default() };
        let mut input = bytes;
        loop {
            match self.reader.next(&mut input, asked) {
                Ok(Item::More) => return,
                Ok(Item::Head(head)) if !(200..300).contains(&head.status) => {
                    return self.fail(Cause::ProxyRefused, finished);
                }
                Ok(Item::End) if input.is_empty() => return self.secure(now),
                Ok(Item::End) => return self.fail(Cause::FramingUnasked, finished),
                Ok(_) => {}
                Err(_) => return self.fail(Cause::ProxyRefused, finished),
            }
        }
    }

    fn secured(
        &mut self,
        bytes: &[u8],
        now: Instant,
        rules: &RuleBook,
        finished: &mut Vec<Finished>,
    ) -> Option<PhaseTook> {
        let mut layer = self.route.tls.take()?;
        let result = layer.received(bytes, |data| self.plain(data, now, rules, finished));
        let mut took = None;
        if self.stage == Stage::Handshake && !layer.is_handshaking() {
            took = Some(PhaseTook(Phase::Tls, now.since(self.since)));
            self.enter(Stage::Open, now);
        }
        self.route.tls = Some(layer);
        match result {
            Ok(closed) if closed && self.stage != Stage::Closed => self.ended(finished),
            Ok(_) => {}
            Err(cause) => self.fail(cause, finished),
        }
        took
    }

    fn plain(&mut self, bytes: &[u8], now: Instant, rules: &RuleBook, finished: &mut Vec<Finished>) {
        let mut input = bytes;
        while self.stage != Stage::Closed {
            let Some(exchange) = self.in_flight.front_mut() else {
                // Bytes that nobody asked for: the connection can not be trusted any more.
                if !input.is_empty() {
                    self.surplus = true;
                    self.stage = Stage::Closed;
                }
                return;
            };
            if exchange.first_byte == Instant::FAR && !input.is_empty() {
                exchange.first_byte = now;
                // Begun before the connection was ready, so it waited for that first.
                if self.stage == Stage::Open && exchange.sent <= self.since {
                    exchange.waited = now.since(self.since);
                }
            }
            let before = input.len();
            let item = self.reader.next(&mut input, exchange.asked);
            exchange.bytes_in += (before - input.len()) as u64;
            match item {
                Ok(Item::More) => return,
                // Others say nothing about the body (RFC 9110 §15.2).
                Ok(Item::Informational(100)) => self.outgoing.release(),
                Ok(Item::Informational(_)) => {}
                Ok(Item::Head(head)) => {
                    exchange.status = head.status;
                    self.closes |= !head.keep_alive;
                    // A final answer without 100 (Continue): the body is not wanted.
                    if self.outgoing.is_held() {
                        self.outgoing.drop_held();
                        self.closes = true;
                    }
                    self.keep_alive &= !self.closes;
                }
                Ok(Item::Data(data)) => {
                    exchange.body_in += data.len() as u64;
                    if let Some(check) = exchange.check.as_deref_mut() {
                        rules.of(&exchange.rules).update(check, data);
                    }
                }
                Ok(Item::End) => {
                    self.complete(finished);
                    self.surplus |= self.stage == Stage::Closed && !input.is_empty();
                }
                Err(error) => return self.broken(error, finished),
            }
        }
    }

    fn complete(&mut self, finished: &mut Vec<Finished>) {
        // What is left of a body that was answered early is not wanted; the next request would have to wait for
        // it.
        let unsent = self.outgoing.is_sending_first(self.in_flight.len());
        let exchange = self.in_flight.pop_front().expect("an answer completes the oldest exchange");
        let location = self.reader.take_location();
        finished.push(Finished { exchange, result: Ok(()), unserved: None, location });
        if self.closes || unsent {
            self.close_with(None, (Cause::PipelineClosed, Some(Unserved::BehindLast)), finished);
        } else if !self.keep_alive && self.in_flight.is_empty() {
            self.stage = Stage::Closed;
        }
    }

    fn broken(&mut self, error: FramingError, finished: &mut Vec<Finished>) {
        self.close_with(Some(error.cause()), BROKEN, finished);
    }

    /// The target will send no more, and by TLS's own word if that is spoken: an end that is not cut short.
    fn ended(&mut self, finished: &mut Vec<Finished>) {
        if self.mute && !self.reader.is_in_body() {
            let cause = self.cause_of_reset();
            return self.lost(cause, self.reader.is_inside(), !self.was_reset, finished);
        }
        let (in_body, foreign) = (self.reader.is_in_body(), self.reader.is_foreign());
        let inside = self.reader.is_inside();
        if self.stage == Stage::Open && self.reader.close() && !self.in_flight.is_empty() {
            self.closes = true;
            return self.complete(finished);
        }
        let cause = match self.stage {
            Stage::Lookup | Stage::Connecting => Cause::ConnectReset,
            Stage::Proxy => Cause::ProxyRefused,
            Stage::Handshake => Cause::TlsClosed,
            _ if in_body => Cause::BodyClosed,
            _ if foreign => Cause::FramingHead,
            _ => Cause::FirstByteClosed,
        };
        self.lost(cause, inside, true, finished);
    }

    /// The target has shut down the transport.
    pub fn eof(&mut self, _now: Instant, finished: &mut Vec<Finished>) {
        // RFC 9112 §9.8: without TLS's own end, nobody knows whether a body until close is whole.
        if self.route.tls.is_some() && self.reader.is_until_close() && self.stage == Stage::Open {
            return self.close_with(Some(Cause::BodyTruncated), BROKEN, finished);
        }
        self.ended(finished);
    }

    /// The connection was reset, or its socket failed in a like way.
    pub fn reset(&mut self, finished: &mut Vec<Finished>) {
        let cause = self.cause_of_reset();
        self.lost(cause, self.reader.is_inside(), false, finished);
    }

    fn cause_of_reset(&self) -> Cause {
        match self.stage {
            Stage::Lookup | Stage::Connecting => Cause::ConnectReset,
            Stage::Proxy => Cause::ProxyRefused,
            Stage::Handshake => Cause::TlsClosed,
            _ if self.reader.is_in_body() => Cause::BodyReset,
            _ if self.outgoing.is_partly_sent() => Cause::SendReset,
            _ => Cause::FirstByteReset,
        }
    }

    /// Sending failed. The target may have answered before it went, so what it said is read first; `eof` or
    /// `reset` will follow. If the connection was reset, the kernel has said so here and says no more than that
    /// it is over.
    pub fn mute(&mut self, was_reset: bool) {
        (self.mute, self.was_reset) = (true, was_reset);
        self.keep_alive = false;
    }

    /// The oldest exchange took too long: by phase.
    pub fn time_out(&mut self, finished: &mut Vec<Finished>) {
        let started = self.in_flight.front().is_some_and(|e| e.first_byte != Instant::FAR);
        let cause = match self.stage {
            Stage::Lookup => Cause::LookupTimeout,
            Stage::Connecting | Stage::Proxy => Cause::ConnectTimeout,
            Stage::Handshake => Cause::TlsTimeout,
            _ if started => Cause::BodyTimeout,
            _ if self.outgoing.is_partly_sent() => Cause::SendTimeout,
            _ => Cause::FirstByteTimeout,
        };
        // Those behind it have deadlines of their own.
        self.close_with(Some(cause), BROKEN, finished);
    }

    /// Ends every exchange with the same cause and closes.
    pub fn fail(&mut self, cause: Cause, finished: &mut Vec<Finished>) {
        self.close_with(Some(cause), (cause, None), finished);
    }

    /// The connection is gone. Its oldest request is charged with that, unless there is nothing of an answer
    /// and the target may never have looked at it. Of that the kernel knows only where the target shut down in
    /// order (`by_eof`): a reset acknowledges nothing.
    fn lost(&mut self, cause: Cause, inside: bool, by_eof: bool, finished: &mut Vec<Finished>) {
        if self.stage != Stage::Open {
            return self.fail(cause, finished);
        }
        let first = self.in_flight.front().filter(|_| !inside);
        if first.is_some_and(|first| first.behind) {
            return self.close_with(None, BROKEN, finished);
        }
        let is_reused = by_eof && first.is_some() && self.served as usize > self.in_flight.len();
        let at = finished.len();
        self.close_with(Some(cause), BROKEN, finished);
        if is_reused {
            finished[at].unserved = Some(Unserved::Reused);
        }
    }

    /// Closes. `first` is what ended the oldest exchange, if that was not the end of all.
    fn close_with(
        &mut self,
        first: Option<Cause>,
        others: (Cause, Option<Unserved>),
        finished: &mut Vec<Finished>,
    ) {
        self.stage = Stage::Closed;
        let first = first.map(|cause| (cause, None));
        let ends = first.into_iter().chain(std::iter::repeat(others));
        let ended = self.in_flight.drain(..).zip(ends);
        finished.extend(ended.map(|(exchange, (cause, unserved))| Finished {
            exchange,
            result: Err(cause),
            unserved,
            location: None,
        }));
    }

    /// The requests on their way, the oldest first.
    pub fn waiting(&mut self) -> impl Iterator<Item = &mut Exchange> {
        self.in_flight.iter_mut()
    }

    /// In the TLS library's words, why the session failed.
    pub fn take_problem(&mut self) -> Option<Box<str>> {
        self.route.tls.as_mut()?.problem()
    }

    /// Takes the exchanges out without an end, for the engine to cut off.
    pub fn abandon(&mut self) -> impl Iterator<Item = Exchange> + '_ {
        self.stage = Stage::Closed;
        self.in_flight.drain(..)
    }
}

#[cfg(test)]
mod tests;
