//! One connection's HTTP, with no I/O: request bytes in, answer bytes out, time as an argument.
//!
//! ```text
//! receive(bytes, now) ─► requests with answers and due times ─► produce(now) ─► bytes, or when to ask again
//! ```
//!
//! Answers leave in the order of their requests. A pipelined request's delay runs from its own arrival.

use crate::answer::{Answer, Body, Fault, Page, write_garbage};
use crate::body::BodyReader;
use crate::head::{self, Parsed};
use crate::mind::{Decision, Mind};
use crate::ring::{How, Record};
use crate::stats::add;
use clock::Clock;
use std::collections::VecDeque;
use units::{Instant, Picos};

/// Requests that may wait for their answers on one connection; then it is no longer read.
const MOST_PENDING: usize = 128;
/// What `/echo` keeps of a body.
const LONGEST_ECHO: usize = 64 * 1024;

pub(crate) struct Conn {
    number: u64,
    accepted: Instant,
    /// Bytes that could not be read yet: an incomplete head, or more requests than may wait.
    input: Vec<u8>,
    reading: Reading,
    pending: VecDeque<Pending>,
    writing: Option<Box<Writing>>,
    /// Requests whose answer was decided.
    served: u64,
    /// How long what is being read has been there.
    age: Picos,
    /// What the handshake took here, until the first request has taken it over.
    prepared: Picos,
    /// `100 Continue` is owed to the request that is being read.
    owes_continue: bool,
    /// The body of a refused request was not read: closing needs care, or the reset overtakes the answer.
    unread: bool,
}

enum Reading {
    Head,
    Body(Box<Incoming>),
    /// Nothing more is read: the last request has been seen.
    Over,
    /// What comes belongs to a tunnel.
    Tunnel,
}

/// A request whose body is being read.
struct Incoming {
    body: BodyReader,
    decision: Decision,
    arrival: Instant,
    bytes_in: u64,
}

/// A complete request that waits for its answer.
struct Pending {
    answer: Answer,
    due: Instant,
    arrival: Instant,
    complete: Instant,
    readable: Instant,
    prepared: Picos,
    bytes_in: u64,
    seq: Option<u64>,
    counted: bool,
}

/// An answer that did not fit into one piece.
struct Writing {
    pending: Pending,
    /// Just before its first byte.
    begun: Instant,
    sent: u64,
    bytes_out: u64,
    /// Trickled bytes that are made and not yet let go.
    held: VecDeque<u8>,
    ended: bool,
    next: Instant,
}

/// What `produce` wants next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing until more is received.
    Idle,
    /// To be asked again at this time.
    At(Instant),
    /// There is more to write as soon as what was given is gone.
    More,
    /// Write what was given, then close. `unread`: the client may still be sending.
    Close { unread: bool },
    /// Write what was given, then reset.
    Reset,
    /// Write what was given, then hand the connection to a tunnel.
    Tunnel(String),
}

impl Conn {
    pub fn new(number: u64, accepted: Instant) -> Self {
        Self {
            number,
            accepted,
            input: Vec::new(),
            reading: Reading::Head,
            pending: VecDeque::new(),
            writing: None,
            served: 0,
            age: Picos::ZERO,
            prepared: Picos::ZERO,
            owes_continue: false,
            unread: false,
        }
    }

    /// Whether more bytes can be taken.
    pub fn wants_input(&self) -> bool {
        self.pending.len() < MOST_PENDING && self.input.len() <= head::LONGEST_HEAD
    }

    /// What is received next has been there for so long.
    pub fn aged(&mut self, age: Picos) {
        self.age = age;
    }

    /// A step of the handshake took so long here.
    pub fn prepared(&mut self, took: Picos) {
        self.prepared += took;
    }

    /// Takes bytes as they were read at `now`.
    pub fn receive(&mut self, bytes: &[u8], now: Instant, mind: &mut Mind) {
        if self.input.is_empty() {
            let used = self.consume(bytes, now, mind);
            self.input.extend_from_slice(&bytes[used..]);
            return;
        }
        self.input.extend_from_slice(bytes);
        self.reread(now, mind);
    }

    /// Reads on in what was kept.
    fn reread(&mut self, now: Instant, mind: &mut Mind) {
        let mut input = std::mem::take(&mut self.input);
        let used = self.consume(&input, now, mind);
        if used == input.len() {
            input.clear();
            // A connection that once sent a long head does not keep its buffer.
            if input.capacity() > 4_096 {
                input = Vec::new();
            }
        } else {
            input.drain(..used);
        }
        self.input = input;
    }

    fn consume(&mut self, bytes: &[u8], now: Instant, mind: &mut Mind) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            match &mut self.reading {
                Reading::Over => return bytes.len(),
                Reading::Tunnel => return at,
                Reading::Head if self.pending.len() >= MOST_PENDING => return at,
                Reading::Head => match head::parse(&bytes[at..]) {
                    Parsed::Partial => return at,
                    Parsed::Bad(status) => self.refuse(status, bytes.len() - at, now, mind),
                    Parsed::Whole(head, length) => {
                        at += length;
                        self.begin(&head, length, now, mind, at == bytes.len());
                    }
                },
                Reading::Body(incoming) => {
                    let page = if incoming.decision.echo { echo_page(&mut incoming.decision) } else { None };
                    let kept = page.map(|page| &mut page.bytes);
                    match incoming.body.read(&bytes[at..], keep(kept)) {
                        Err(_) => {
                            incoming.decision.answer = Answer::refusal(400);
                            incoming.bytes_in += (bytes.len() - at) as u64;
                            self.unread = true;
                            self.end_body(now, mind);
                            self.reading = Reading::Over;
                        }
                        Ok((taken, whole)) => {
                            at += taken;
                            incoming.bytes_in += taken as u64;
                            if whole {
                                self.end_body(now, mind);
                            }
                        }
                    }
                }
            }
        }
        at
    }

    /// A head is complete. `last`: no byte of a body came with it.
    fn begin(&mut self, head: &head::Head<'_>, length: usize, now: Instant, mind: &mut Mind, last: bool) {
        let decision = mind.decide(head, self.served);
        if decision.counted {
            mind.shared.arrived(now);
        }
        self.served += 1;
        let bytes_in = length as u64;
        match BodyReader::new(head.framing) {
            None => self.complete(decision, now, now, bytes_in, mind),
            Some(body) => {
                self.owes_continue = head.expect && last;
                self.reading = Reading::Body(Box::new(Incoming { body, decision, arrival: now, bytes_in }));
            }
        }
    }

    fn end_body(&mut self, now: Instant, mind: &mut Mind) {
        self.owes_continue = false;
        if let Reading::Body(incoming) = std::mem::replace(&mut self.reading, Reading::Head) {
            let Incoming { decision, arrival, bytes_in, .. } = *incoming;
            self.complete(decision, arrival, now, bytes_in, mind);
        }
    }

    fn complete(
        &mut self,
        decision: Decision,
        arrival: Instant,
        now: Instant,
        bytes_in: u64,
        mind: &mut Mind,
    ) {
        let Decision { answer, delay, counted, seq, .. } = decision;
        let from = if counted { mind.shared.slot(now) } else { now };
        if counted {
            add(&mind.counters().requests, 1);
        }
        if answer.fault == Fault::Tunnel {
            self.reading = Reading::Tunnel;
        } else if answer.close {
            self.reading = Reading::Over;
        }
        let due = if delay.is_zero() { from } else { from + delay };
        let readable = now.saturating_sub(self.age);
        let prepared = std::mem::take(&mut self.prepared);
        self.pending.push_back(Pending {
            answer,
            due,
            arrival,
            complete: now,
            readable,
            prepared,
            bytes_in,
            seq,
            counted,
        });
    }

    /// What cannot be read is answered and ends the connection.
    fn refuse(&mut self, status: u16, bytes_in: usize, now: Instant, mind: &mut Mind) {
        let decision = Decision {
            answer: Answer::refusal(status),
            delay: Picos::ZERO,
            counted: true,
            seq: None,
            echo: false,
        };
        self.unread = true;
        self.complete(decision, now, now, bytes_in as u64, mind);
        self.reading = Reading::Over;
    }

    /// Appends what is due at `now` to `out`, one piece at most beyond its first answers.
    pub fn produce(&mut self, now: Instant, out: &mut Vec<u8>, mind: &mut Mind) -> Next {
        loop {
            if self.writing.is_some() {
                if let Some(next) = self.write_on(now, out, mind) {
                    return next;
                }
                continue;
            }
            let Some(front) = self.pending.front() else {
                if !self.input.is_empty() && !matches!(self.reading, Reading::Over) {
                    let before = self.input.len();
                    self.reread(now, mind);
                    if self.input.len() < before {
                        continue;
                    }
                }
                if std::mem::take(&mut self.owes_continue) {
                    out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                }
                return Next::Idle;
            };
            if front.due > now {
                return Next::At(front.due);
            }
            if out.len() >= super::answer::PIECE {
                return Next::More;
            }
            if front.answer.fault == Fault::Silent {
                return Next::Idle;
            }
            let pending = self.pending.pop_front().expect("the front was just seen");
            if let Some(next) = self.answer(pending, now, out, mind) {
                return next;
            }
        }
    }

    /// Writes an answer from its start: whole if it is short, else its first piece.
    fn answer(&mut self, pending: Pending, now: Instant, out: &mut Vec<u8>, mind: &mut Mind) -> Option<Next> {
        let answer = &pending.answer;
        match answer.fault {
            Fault::Reset => {
                self.end(&pending, Instant::FAR, 0, How::Reset, mind);
                return Some(Next::Reset);
            }
            Fault::Garbage => {
                let before = out.len();
                write_garbage(&mut mind.random, out);
                self.end(&pending, now, (out.len() - before) as u64, How::Garbage, mind);
                return Some(Next::Close { unread: true });
            }
            Fault::Tunnel => {
                return Some(Next::Tunnel(match &answer.body {
                    super::answer::Body::Page(page) => String::from_utf8_lossy(&page.bytes).into_owned(),
                    super::answer::Body::Pattern(_) => String::new(),
                }));
            }
            _ => {}
        }
        if answer.trickle > 0 || answer.written_length() > super::answer::PIECE as u64 / 2 {
            let writing = Writing {
                pending,
                begun: now,
                sent: 0,
                bytes_out: 0,
                held: VecDeque::new(),
                ended: false,
                next: now,
            };
            self.writing = Some(Box::new(writing));
            return None;
        }
        let before = out.len();
        answer.write_head(out);
        if answer.written_length() > 0 {
            answer.write_body(&mind.shared.pattern, 0, out);
        }
        answer.write_end(out);
        let bytes_out = (out.len() - before) as u64;
        self.end(&pending, now, bytes_out, how(answer.fault), mind);
        self.after(answer)
    }

    /// Writes the next piece of a long or trickled answer.
    fn write_on(&mut self, now: Instant, out: &mut Vec<u8>, mind: &mut Mind) -> Option<Next> {
        let mut writing = self.writing.take()?;
        if writing.next > now {
            let at = writing.next;
            self.writing = Some(writing);
            return Some(Next::At(at));
        }
        if writing.pending.answer.trickle > 0 {
            writing.let_go(now, out, mind);
        } else {
            let before = out.len();
            writing.ended = writing.make(out, mind);
            writing.bytes_out += (out.len() - before) as u64;
        }
        if !(writing.ended && writing.held.is_empty()) {
            let next = if writing.next > now { Next::At(writing.next) } else { Next::More };
            self.writing = Some(writing);
            return Some(next);
        }
        let Writing { pending, begun, bytes_out, .. } = *writing;
        self.end(&pending, begun, bytes_out, how(pending.answer.fault), mind);
        self.after(&pending.answer).or_else(|| (!out.is_empty()).then_some(Next::More))
    }

    /// What an answer does to its connection once it is written.
    fn after(&self, answer: &Answer) -> Option<Next> {
        match answer.fault {
            Fault::ResetMid => Some(Next::Reset),
            Fault::Half => Some(Next::Close { unread: self.unread }),
            _ if answer.close => Some(Next::Close { unread: self.unread }),
            _ => None,
        }
    }

    fn end(&self, pending: &Pending, begun: Instant, bytes_out: u64, how: How, mind: &mut Mind) {
        if !pending.counted {
            return;
        }
        mind.record(Record {
            arrival: pending.arrival,
            complete: pending.complete,
            readable: pending.readable,
            answer: begun,
            written: if begun == Instant::FAR { begun } else { mind.shared.clock.now() },
            prepared: pending.prepared,
            accepted: self.accepted,
            conn: self.number,
            status: if begun == Instant::FAR { 0 } else { pending.answer.status },
            how,
            bytes_in: pending.bytes_in,
            bytes_out,
            seq: pending.seq,
        });
    }

    /// The connection is gone: what was owed is recorded as such.
    pub fn gone(&mut self, mind: &mut Mind) {
        if let Some(writing) = self.writing.take() {
            let Writing { pending, begun, bytes_out, .. } = *writing;
            let begun = if bytes_out == 0 { Instant::FAR } else { begun };
            self.end(&pending, begun, bytes_out, How::Gone, mind);
        }
        while let Some(pending) = self.pending.pop_front() {
            let silent = pending.answer.fault == Fault::Silent;
            self.end(&pending, Instant::FAR, 0, if silent { How::Silent } else { How::Gone }, mind);
        }
    }

    /// Whether anything is still owed to the client.
    pub fn owes(&self) -> bool {
        self.writing.is_some() || !self.pending.is_empty()
    }

    /// Whether what is owed next will never come.
    pub fn is_silent(&self) -> bool {
        self.pending.front().is_some_and(|front| front.answer.fault == Fault::Silent)
    }

    /// The bytes after a CONNECT: the tunnel's first.
    pub fn take_input(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.input)
    }
}

impl Writing {
    /// Makes the next bytes of the answer; true when those were the last.
    fn make(&mut self, out: &mut Vec<u8>, mind: &Mind) -> bool {
        let answer = &self.pending.answer;
        let first = self.sent == 0 && self.bytes_out == 0 && self.held.is_empty();
        if first {
            answer.write_head(out);
        }
        let end = answer.written_length();
        if self.sent < end {
            self.sent = answer.write_body(&mind.shared.pattern, self.sent, out);
        }
        if self.sent < end {
            return false;
        }
        answer.write_end(out);
        true
    }

    /// Lets one piece of a trickled answer go.
    fn let_go(&mut self, now: Instant, out: &mut Vec<u8>, mind: &Mind) {
        if self.held.is_empty() && !self.ended {
            let mut made = Vec::new();
            self.ended = self.make(&mut made, mind);
            self.held = made.into();
        }
        let piece = usize::try_from(self.pending.answer.trickle).unwrap_or(usize::MAX);
        let piece = piece.min(self.held.len());
        out.extend(self.held.drain(..piece));
        self.bytes_out += piece as u64;
        self.next = now + self.pending.answer.gap;
    }
}

fn how(fault: Fault) -> How {
    match fault {
        Fault::Half => How::Half,
        Fault::ResetMid => How::Reset,
        _ => How::Whole,
    }
}

fn echo_page(decision: &mut Decision) -> Option<&mut Page> {
    let Body::Page(page) = &mut decision.answer.body else { return None };
    Some(page)
}

/// Keeps body bytes up to the bound of `/echo`.
fn keep(mut kept: Option<&mut Vec<u8>>) -> impl FnMut(&[u8]) {
    move |data| {
        let Some(kept) = kept.as_deref_mut() else { return };
        let room = (2 * LONGEST_ECHO).saturating_sub(kept.len());
        kept.extend_from_slice(&data[..data.len().min(room)]);
    }
}

#[cfg(test)]
mod tests;
