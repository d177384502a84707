//! A connection's life: no I/O, time as an argument. Bytes go in, bytes to send come out, exchanges end.
//!
//! ```text
//! Lookup ─► Connecting ─► [Proxy] ─► [Handshake] ─► Open ─► Closed
//! ```
//!
//! What is spoken once it is open is the [`Protocol`]'s: here are the ways up to there, and the end.

use units::{Cause, Instant, Phase, Picos};

use crate::exchange::Exchange;
use crate::http1::Http1;
use crate::outgoing::Body;
use crate::protocol::{End, Finished, Flow, Protocol};
use crate::rules::RuleBook;
use crate::tls::Layer;
use crate::tunnel::{Answer, Tunnel};

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

/// How long a phase took; zero or one of each kind for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseTook(pub Phase, pub Picos);

/// What a connection is made with.
#[derive(Debug, Default)]
pub struct Route {
    /// A proxy is asked for a tunnel first.
    pub tunnel: Option<Box<Tunnel>>,
    pub tls: Option<Box<Layer>>,
}

/// See the module.
#[derive(Debug)]
pub struct Connection<P = Http1> {
    stage: Stage,
    protocol: P,
    route: Route,
    /// When the present stage began.
    since: Instant,
    /// When connecting began.
    opened_at: Instant,
    /// Bytes for the wire that were taken from `output`.
    written: u64,
}

impl Connection {
    pub fn new(route: Route, stage: Stage, now: Instant) -> Self {
        Self { stage, protocol: Http1::default(), route, since: now, opened_at: now, written: 0 }
    }
}

impl<P: Protocol> Connection<P> {
    pub fn stage(&self) -> Stage {
        self.stage
    }
    pub fn in_flight(&self) -> usize {
        self.protocol.in_flight()
    }
    /// The oldest request on its way.
    pub fn oldest(&self) -> Option<&Exchange> {
        self.protocol.oldest()
    }
    /// When connecting began.
    pub fn opened_at(&self) -> Instant {
        self.opened_at
    }
    /// Requests begun on it.
    pub fn served(&self) -> u32 {
        self.protocol.served()
    }

    /// Whether another request may begin on it, given the plan's depth of pipelining.
    pub fn may_begin(&self, depth: usize) -> bool {
        self.stage == Stage::Open && self.protocol.may_begin(depth)
    }

    /// Begins an exchange; its request leaves by `output` as soon as the connection is open.
    pub fn begin(&mut self, exchange: Exchange, request: &[u8], body: Body) {
        self.protocol.begin(exchange, request, body);
    }

    /// No further request after those on their way.
    pub fn retire(&mut self) {
        self.protocol.retire();
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
        self.protocol.has_surplus()
    }

    /// The transport is up. Idempotent after the first time.
    pub fn connected(&mut self, now: Instant) -> Option<PhaseTook> {
        if self.stage != Stage::Connecting {
            return None;
        }
        let took = now.since(self.since);
        match self.route.tunnel {
            Some(_) => self.enter(Stage::Proxy, now),
            None => self.secure(now),
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

    /// The next bytes for the wire; empty if there are none now. `plan_body` is what [`Body::OfPlan`] stands
    /// for.
    pub fn output<'a>(&'a mut self, plan_body: &'a [u8]) -> &'a [u8] {
        match (self.stage, &self.route.tunnel) {
            (Stage::Lookup | Stage::Closed, _) => &[],
            _ if self.protocol.is_mute() => &[],
            (Stage::Proxy, Some(tunnel)) => tunnel.output(),
            // Before `connected` too: sending may work before the kernel says so.
            (_, Some(_)) => &[],
            (_, None) => {
                let open = self.stage == Stage::Open;
                match self.route.tls.as_deref_mut() {
                    Some(layer) => layer.output(open.then_some(&mut self.protocol), plan_body),
                    None => self.protocol.output(plan_body),
                }
            }
        }
    }

    /// `count` bytes of `output` are with the kernel.
    pub fn wrote(&mut self, count: usize) {
        let before = self.written;
        self.written += count as u64;
        match (self.route.tunnel.as_deref_mut(), self.route.tls.as_deref_mut()) {
            (Some(tunnel), _) => tunnel.wrote(count),
            (None, Some(layer)) => {
                let (plain, encrypted) = layer.wrote(count);
                self.protocol.left(plain, self.written - encrypted as u64);
            }
            (None, None) => {
                self.protocol.wrote(count);
                self.protocol.left(count, before);
            }
        }
    }

    /// Whether a streamed body waits for its next piece; then `stream` brings it.
    pub fn wants_body(&self) -> bool {
        self.stage == Stage::Open && self.protocol.wants_body()
    }
    /// The next bytes of a streamed body; it ends with a piece that has none.
    pub fn stream(&mut self, piece: &[u8]) {
        self.protocol.stream(piece);
    }
    /// Whether a body waits for a 100 (Continue).
    pub fn is_holding(&self) -> bool {
        self.protocol.is_holding()
    }
    /// Whether a body that waited may leave now; one that the target answered without it never does.
    pub fn has_released(&mut self) -> bool {
        !self.protocol.is_holding() && self.protocol.waiting().all(|exchange| exchange.status == 0)
    }
    /// Since when requests can be sent; `None` before and after.
    pub fn ready_since(&self) -> Option<Instant> {
        (self.stage == Stage::Open).then_some(self.since)
    }
    /// Sends the body that waits for a 100 (Continue) without it.
    pub fn release_body(&mut self) {
        self.protocol.release_body();
    }

    /// Bytes from the target, whose answers must follow the rules. Exchanges that end are pushed to `finished`;
    /// `Some` if a handshake was completed.
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
        let tunnel = self.route.tunnel.as_deref_mut().expect("a proxy is spoken to for a tunnel");
        match tunnel.received(bytes) {
            Answer::Incomplete => {}
            Answer::Yes => {
                self.route.tunnel = None;
                self.secure(now);
            }
            Answer::TooMuch => self.fail(Cause::FramingUnasked, finished),
            Answer::No => self.fail(Cause::ProxyRefused, finished),
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
            Ok(closed) if closed && self.stage != Stage::Closed => self.end(End::Shut, finished),
            Ok(_) => {}
            // What broke was no handshake any more. With TLS 1.3 a target may end that when this end is through
            // with it, for the certificate that this end has shown.
            Err(cause) if self.stage == Stage::Open && (cause != Cause::TlsAlert || self.has_answers()) => {
                self.end(End::Broken, finished);
            }
            Err(cause) => self.fail(cause, finished),
        }
        took
    }

    /// Whether anything of a response has come on it.
    fn has_answers(&self) -> bool {
        let begun = |oldest: &Exchange| oldest.first_byte != Instant::FAR;
        self.served() as usize > self.in_flight() || self.oldest().is_some_and(begun)
    }

    fn plain(&mut self, bytes: &[u8], now: Instant, rules: &RuleBook, finished: &mut Vec<Finished>) {
        if self.stage == Stage::Closed {
            return;
        }
        let ready_since = self.ready_since();
        if self.protocol.received(bytes, now, ready_since, rules, finished) == Flow::Over {
            self.stage = Stage::Closed;
        }
    }

    /// The target has shut down the transport.
    pub fn eof(&mut self, finished: &mut Vec<Finished>) {
        let end = if self.route.tls.is_some() { End::Cut } else { End::Shut };
        self.end(end, finished);
    }

    /// The connection was reset, or its socket failed in a like way.
    pub fn reset(&mut self, finished: &mut Vec<Finished>) {
        self.end(End::Reset, finished);
    }

    fn end(&mut self, end: End, finished: &mut Vec<Finished>) {
        let cause = match self.stage {
            Stage::Lookup | Stage::Connecting => Cause::ConnectReset,
            Stage::Proxy => Cause::ProxyRefused,
            Stage::Handshake => Cause::TlsClosed,
            Stage::Open | Stage::Closed => {
                self.stage = Stage::Closed;
                return self.protocol.end(end, finished);
            }
        };
        self.fail(cause, finished);
    }

    /// Sending failed. The target may have answered before it went, so what it said is read first; `eof` or
    /// `reset` will follow. If the connection was reset, the kernel has said so here and says no more than that
    /// it is over.
    pub fn mute(&mut self, was_reset: bool) {
        self.protocol.mute(was_reset);
    }

    /// The oldest exchange took too long: by phase.
    pub fn time_out(&mut self, finished: &mut Vec<Finished>) {
        let cause = match self.stage {
            Stage::Lookup => Some(Cause::LookupTimeout),
            Stage::Connecting | Stage::Proxy => Some(Cause::ConnectTimeout),
            Stage::Handshake => Some(Cause::TlsTimeout),
            Stage::Open | Stage::Closed => None,
        };
        if self.protocol.time_out(cause, finished) == Flow::Over {
            self.stage = Stage::Closed;
        }
    }

    /// Ends every exchange with the same cause and closes.
    pub fn fail(&mut self, cause: Cause, finished: &mut Vec<Finished>) {
        self.stage = Stage::Closed;
        self.protocol.fail(cause, finished);
    }

    /// The requests on their way, the oldest first.
    pub fn waiting(&mut self) -> impl Iterator<Item = &mut Exchange> {
        self.protocol.waiting()
    }

    /// In the TLS library's words, why the session failed.
    pub fn take_problem(&mut self) -> Option<Box<str>> {
        self.route.tls.as_mut()?.problem()
    }

    /// Takes the exchanges out without an end, for the engine to cut off.
    pub fn abandon(&mut self) -> impl Iterator<Item = Exchange> + '_ {
        self.stage = Stage::Closed;
        self.protocol.abandon()
    }
}

#[cfg(test)]
mod tests;
