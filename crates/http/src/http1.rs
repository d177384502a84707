//! HTTP/1 on one connection: answers come in the order of the requests, so exchanges stand in a queue.

use std::collections::VecDeque;
use units::{Cause, Instant};

use crate::exchange::Exchange;
use crate::outgoing::{Body, Outgoing};
use crate::protocol::{End, Finished, Flow, Protocol, Unserved};
use crate::response::{Item, ResponseReader};
use crate::rules::RuleBook;

/// What becomes of requests behind the one with which a connection broke.
const BROKEN: (Cause, Option<Unserved>) = (Cause::PipelineClosed, Some(Unserved::BehindBroken));

/// See the module.
#[derive(Debug)]
pub struct Http1 {
    reader: ResponseReader,
    in_flight: VecDeque<Exchange>,
    outgoing: Outgoing,
    /// Of `in_flight`, the one whose bytes leave next, or the last.
    leaving: usize,
    served: u32,
    keep_alive: bool,
    /// The target answers nothing behind what it answers now.
    closes: bool,
    /// The socket takes no more; whether by a reset.
    mute: Option<bool>,
    surplus: bool,
}

impl Default for Http1 {
    fn default() -> Self {
        Self {
            reader: ResponseReader::new(),
            in_flight: VecDeque::new(),
            outgoing: Outgoing::default(),
            leaving: 0,
            served: 0,
            keep_alive: true,
            closes: false,
            mute: None,
            surplus: false,
        }
    }
}

impl Protocol for Http1 {
    fn in_flight(&self) -> usize {
        self.in_flight.len()
    }
    fn served(&self) -> u32 {
        self.served
    }
    fn may_begin(&self, depth: usize) -> bool {
        self.keep_alive && self.in_flight.len() < depth && !self.outgoing.is_held()
    }

    fn begin(&mut self, mut exchange: Exchange, request: &[u8], body: Body) {
        let behind = if let Body::OfPlan(length) = body { length } else { 0 };
        exchange.unwritten = (request.len() + behind) as u64;
        exchange.written_before = None;
        self.outgoing.push(request, body);
        if self.in_flight.capacity() == 0 {
            // Not room for four, as a queue takes by itself: nearly all connections have one at a time, and
            // there may be a million of them.
            self.in_flight.reserve_exact(1);
        }
        self.in_flight.push_back(exchange);
        self.served += 1;
    }

    fn retire(&mut self) {
        self.keep_alive = false;
    }
    fn oldest(&self) -> Option<&Exchange> {
        self.in_flight.front()
    }
    fn waiting(&mut self) -> impl Iterator<Item = &mut Exchange> {
        self.in_flight.iter_mut()
    }

    fn output<'a>(&'a mut self, plan_body: &'a [u8]) -> &'a [u8] {
        self.outgoing.next_piece(plan_body)
    }
    fn wrote(&mut self, count: usize) {
        self.outgoing.took(count);
    }

    fn left(&mut self, count: usize, mut written_before: u64) {
        let mut count = count as u64;
        while count > 0
            && let Some(exchange) = self.in_flight.get_mut(self.leaving)
        {
            let part = count.min(exchange.unwritten);
            if part == 0 {
                self.leaving += 1;
                continue;
            }
            exchange.written_before.get_or_insert(written_before);
            exchange.unwritten -= part;
            exchange.bytes_out += part;
            written_before += part;
            count -= part;
        }
    }
    fn wants_body(&self) -> bool {
        self.mute.is_none() && self.outgoing.wants_body()
    }

    fn stream(&mut self, piece: &[u8]) {
        let framed = self.outgoing.stream(piece);
        if let Some(exchange) = self.with_body() {
            exchange.unwritten += framed as u64;
        }
    }

    fn is_holding(&self) -> bool {
        self.outgoing.is_held()
    }
    fn release_body(&mut self) {
        self.outgoing.release();
    }
    fn mute(&mut self, was_reset: bool) {
        self.mute = Some(was_reset);
        self.keep_alive = false;
    }
    fn is_mute(&self) -> bool {
        self.mute.is_some()
    }

    fn received(
        &mut self,
        bytes: &[u8],
        now: Instant,
        ready_since: Option<Instant>,
        rules: &RuleBook,
        finished: &mut Vec<Finished>,
    ) -> Flow {
        let mut input = bytes;
        loop {
            let Some(exchange) = self.in_flight.front_mut() else {
                // Bytes that nobody asked for: the connection can not be trusted any more.
                self.surplus |= !input.is_empty();
                return if input.is_empty() { Flow::Open } else { Flow::Over };
            };
            if exchange.first_byte == Instant::FAR && !input.is_empty() {
                exchange.first_byte = now;
                // Begun before the connection was ready, so it waited for that first.
                if let Some(since) = ready_since.filter(|since| exchange.sent <= *since) {
                    exchange.waited = now.since(since);
                }
            }
            let before = input.len();
            let item = self.reader.next(&mut input, exchange.asked);
            exchange.bytes_in += (before - input.len()) as u64;
            match item {
                Ok(Item::More) => return Flow::Open,
                // Others say nothing about the body (RFC 9110 §15.2).
                Ok(Item::Informational(100)) => self.outgoing.release(),
                Ok(Item::Informational(_)) => {}
                Ok(Item::Head(head)) => {
                    exchange.status = head.status;
                    self.closes |= !head.keep_alive;
                    // A final answer without 100 (Continue): the body is not wanted.
                    if self.outgoing.is_held() {
                        let held = self.outgoing.held();
                        if let Some(exchange) = self.with_body() {
                            exchange.unwritten -= held as u64;
                        }
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
                    if self.complete(finished) == Flow::Over {
                        self.surplus |= !input.is_empty();
                        return Flow::Over;
                    }
                }
                Err(error) => {
                    // It was read for this request, whatever it is.
                    exchange.bytes_in += input.len() as u64;
                    self.close(Some(error.cause()), BROKEN, finished);
                    return Flow::Over;
                }
            }
        }
    }

    fn has_surplus(&self) -> bool {
        self.surplus
    }

    fn end(&mut self, end: End, finished: &mut Vec<Finished>) {
        match end {
            End::Cut if self.reader.is_until_close() => {
                self.close(Some(Cause::BodyTruncated), BROKEN, finished);
            }
            End::Shut | End::Cut => self.ended(finished),
            End::Broken => {
                let cause = if self.reader.is_in_body() { Cause::BodyTls } else { Cause::FirstByteTls };
                self.close(Some(cause), BROKEN, finished);
            }
            End::Reset => self.lost(self.cause_of_reset(), self.reader.is_inside(), false, finished),
        }
    }

    fn time_out(&mut self, cause: Option<Cause>, finished: &mut Vec<Finished>) -> Flow {
        let started = self.oldest().is_some_and(|oldest| oldest.first_byte != Instant::FAR);
        let cause = match cause {
            Some(cause) => cause,
            None if started => Cause::BodyTimeout,
            // What leaves a held body unsent is that nothing came.
            None if self.outgoing.is_partly_sent() && !self.is_holding() => Cause::SendTimeout,
            None => Cause::FirstByteTimeout,
        };
        // Those behind it have deadlines of their own.
        self.close(Some(cause), BROKEN, finished);
        Flow::Over
    }

    fn fail(&mut self, cause: Cause, finished: &mut Vec<Finished>) {
        self.close(Some(cause), (cause, None), finished);
    }

    fn abandon(&mut self) -> impl Iterator<Item = Exchange> {
        self.in_flight.drain(..)
    }
}

impl Http1 {
    /// Makes it that of a connection that has carried `served` requests and is idle.
    pub fn resume(&mut self, served: u32) {
        let (in_flight, outgoing) = (std::mem::take(&mut self.in_flight), std::mem::take(&mut self.outgoing));
        *self = Self { served, in_flight, outgoing, ..Self::default() };
    }

    /// The one whose body is being sent, or is held.
    fn with_body(&mut self) -> Option<&mut Exchange> {
        let index = self.in_flight.len().checked_sub(self.outgoing.behind() + 1)?;
        self.in_flight.get_mut(index)
    }

    fn complete(&mut self, finished: &mut Vec<Finished>) -> Flow {
        // What is left of a body that was answered early is not wanted; the next request would have to wait for
        // it.
        let sending = self.outgoing.is_sending_first(self.in_flight.len());
        let exchange = self.in_flight.pop_front().expect("an answer completes the oldest exchange");
        let unsent = sending || exchange.unwritten > 0;
        self.leaving = self.leaving.saturating_sub(1);
        let location = self.reader.take_location();
        finished.push(Finished { exchange, result: Ok(()), unserved: None, location });
        if self.closes || unsent {
            self.close(None, (Cause::PipelineClosed, Some(Unserved::BehindLast)), finished);
            return Flow::Over;
        }
        if self.keep_alive || !self.in_flight.is_empty() { Flow::Open } else { Flow::Over }
    }

    /// The target will send no more: an end that is not cut short.
    fn ended(&mut self, finished: &mut Vec<Finished>) {
        let inside = self.reader.is_inside();
        if let Some(was_reset) = self.mute
            && !self.reader.is_in_body()
        {
            return self.lost(self.cause_of_reset(), inside, !was_reset, finished);
        }
        let (in_body, foreign) = (self.reader.is_in_body(), self.reader.is_foreign());
        if self.reader.close() && !self.in_flight.is_empty() {
            self.closes = true;
            let _ = self.complete(finished);
            return;
        }
        let cause = match (in_body, foreign) {
            (true, _) => Cause::BodyClosed,
            (false, true) => Cause::FramingHead,
            (false, false) => Cause::FirstByteClosed,
        };
        self.lost(cause, inside, true, finished);
    }

    fn cause_of_reset(&self) -> Cause {
        match () {
            () if self.reader.is_in_body() => Cause::BodyReset,
            () if self.outgoing.is_partly_sent() => Cause::SendReset,
            () => Cause::FirstByteReset,
        }
    }

    /// The connection is gone. Its oldest request is charged with that, whatever stood before it. It may have
    /// met a connection that the target had closed before: one that had served others, with nothing of an
    /// answer. Of that the kernel knows only where the target shut down in order (`by_eof`): a reset
    /// acknowledges nothing. Or nothing of the request has left.
    fn lost(&mut self, cause: Cause, inside: bool, by_eof: bool, finished: &mut Vec<Finished>) {
        let first = self.in_flight.front().filter(|_| !inside);
        let may_have_missed = first.is_some_and(|first| by_eof || first.written_before.is_none());
        let is_reused = may_have_missed && self.served as usize > self.in_flight.len();
        let at = finished.len();
        self.close(Some(cause), BROKEN, finished);
        if is_reused {
            finished[at].unserved = Some(Unserved::Reused);
        }
    }

    /// Ends all. `first` is what ended the oldest exchange, if that was not the end of the others.
    fn close(
        &mut self,
        first: Option<Cause>,
        others: (Cause, Option<Unserved>),
        finished: &mut Vec<Finished>,
    ) {
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
}
