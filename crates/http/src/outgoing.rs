//! What a connection still has to send: heads, then bodies, in order, without copying large bodies.

use std::collections::VecDeque;
use std::io::Write;

/// Bodies up to this size are copied beside their head, so that one write carries both.
pub const COPY_LIMIT: usize = 16 * 1024;
/// Room for the size of a chunk in hexadecimal, and for two ends of lines.
const CHUNK_FRAME: usize = 20;
/// Memory that a connection keeps for its next request.
const KEEP: usize = 4 * 1024;

/// The body that follows a request's head.
#[derive(Clone, Copy, Debug, Default)]
pub enum Body {
    /// There is none, or it stands with the head.
    #[default]
    Inside,
    /// The body that the plan has for all requests follows, which is this long and is not copied.
    OfPlan(usize),
    /// Pieces come from elsewhere.
    Streamed,
    /// This many of the last bytes given with the head wait for a 100 (Continue).
    Held(usize),
    /// As `Streamed`, but the first piece waits for a 100 (Continue).
    HeldStream,
}

/// Requests on their way out.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// Bytes of heads and small bodies, sent up to `at`.
    bytes: Vec<u8>,
    at: usize,
    /// The end of what may leave now: less than `bytes.len()` while a body is held.
    held: usize,
    /// The plan's body follows `bytes`: how long it is, and how much of it was sent.
    body: Option<(usize, usize)>,
    streaming: bool,
    /// Streaming waits for a 100 (Continue).
    stream_held: bool,
    /// Requests that stand behind a body.
    later: VecDeque<(Vec<u8>, Body)>,
}

impl Outgoing {
    /// Queues a request.
    pub fn push(&mut self, request: &[u8], body: Body) {
        if self.body.is_some() || self.streaming || self.held > 0 {
            self.later.push_back((request.to_vec(), body));
            return;
        }
        self.bytes.extend_from_slice(request);
        match body {
            Body::Inside => {}
            Body::OfPlan(0) => {}
            Body::OfPlan(length) => self.body = Some((length, 0)),
            Body::Streamed => self.streaming = true,
            Body::Held(count) => self.held = count,
            Body::HeldStream => (self.streaming, self.stream_held) = (true, true),
        }
    }

    /// The next piece to send; empty if there is none now. `plan_body` is what [`Body::OfPlan`] stands for.
    pub fn next_piece<'a>(&'a self, plan_body: &'a [u8]) -> &'a [u8] {
        let end = self.bytes.len() - self.held;
        if self.at < end {
            return &self.bytes[self.at..end];
        }
        match self.body {
            Some((length, at)) => &plan_body[at..length],
            None => &[],
        }
    }

    /// `count` bytes of `next_piece` are gone.
    pub fn took(&mut self, count: usize) {
        if self.at < self.bytes.len() - self.held {
            self.at += count;
        } else if let Some((_, at)) = &mut self.body {
            *at += count;
        }
        if self.held == 0 && self.at == self.bytes.len() {
            self.bytes.clear();
            self.at = 0;
            // A body that goes on needs it again.
            if self.bytes.capacity() > KEEP && !self.streaming {
                self.bytes = Vec::new();
            }
        }
        if self.body.is_some_and(|(length, at)| at == length) {
            self.body = None;
        }
        self.advance();
    }

    fn advance(&mut self) {
        let clear = self.bytes.is_empty() && self.body.is_none() && !self.streaming && self.held == 0;
        if clear && let Some((request, body)) = self.later.pop_front() {
            self.push(&request, body);
        }
    }

    /// Whether a streamed body waits for its next piece.
    pub fn wants_body(&self) -> bool {
        self.streaming && !self.stream_held && self.bytes.is_empty()
    }
    /// Requests that stand behind a body, of those that were begun.
    pub fn behind(&self) -> usize {
        self.later.len()
    }

    /// The next piece of a streamed body, which becomes a chunk (RFC 9112 §7.1); one without bytes ends the
    /// body. Says how long the chunk is.
    pub fn stream(&mut self, piece: &[u8]) -> usize {
        let before = self.bytes.len();
        self.bytes.reserve(piece.len() + CHUNK_FRAME);
        write!(self.bytes, "{:x}\r\n", piece.len()).expect("writing to memory does not fail");
        self.bytes.extend_from_slice(piece);
        self.bytes.extend_from_slice(b"\r\n");
        self.streaming = !piece.is_empty();
        self.bytes.len() - before
    }

    /// Whether a body waits for a 100 (Continue).
    pub fn is_held(&self) -> bool {
        self.held > 0 || self.stream_held
    }
    pub fn release(&mut self) {
        self.held = 0;
        self.stream_held = false;
    }
    /// How many bytes of a body are held.
    pub fn held(&self) -> usize {
        self.held
    }
    /// Gives up the body that is held.
    pub fn drop_held(&mut self) {
        self.bytes.truncate(self.bytes.len() - self.held);
        self.held = 0;
        if std::mem::take(&mut self.stream_held) {
            self.streaming = false;
        }
        self.took(0);
    }

    /// Whether a part of the oldest of so many unanswered requests has not been sent.
    pub fn is_sending_first(&self, unanswered: usize) -> bool {
        let has_body = self.body.is_some() || self.streaming || self.held > 0;
        match has_body {
            true => unanswered == 1 + self.later.len(),
            false => unanswered == 1 && self.at < self.bytes.len(),
        }
    }

    /// Whether something is sent in part.
    pub fn is_partly_sent(&self) -> bool {
        self.at > 0 || self.streaming || self.body.is_some_and(|(_, at)| at > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drain(outgoing: &mut Outgoing, step: usize) -> Vec<u8> {
        drain_with(outgoing, &[], step)
    }

    fn drain_with(outgoing: &mut Outgoing, plan_body: &[u8], step: usize) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let piece = outgoing.next_piece(plan_body);
            if piece.is_empty() {
                return all;
            }
            let count = piece.len().min(step);
            all.extend_from_slice(&piece[..count]);
            outgoing.took(count);
        }
    }

    proptest! {
        #[test]
        fn everything_leaves_in_order(
            sizes in proptest::collection::vec(0usize..40_000, 1..6),
            step in 1usize..20_000,
        ) {
            let mut outgoing = Outgoing::default();
            let plan_body: Vec<u8> = (0..40_000u32).map(|n| (n % 251) as u8).collect();
            let mut expected = Vec::new();
            for (i, size) in sizes.iter().enumerate() {
                let head = format!("head {i};").into_bytes();
                expected.extend_from_slice(&head);
                expected.extend_from_slice(&plan_body[..*size]);
                outgoing.push(&head, Body::OfPlan(*size));
            }
            prop_assert_eq!(drain_with(&mut outgoing, &plan_body, step), expected);
        }
    }

    #[test]
    fn a_held_body_waits_for_its_release() {
        let mut outgoing = Outgoing::default();
        outgoing.push(b"headBODY", Body::Held(4));
        assert_eq!(drain(&mut outgoing, 3), b"head");
        assert!(outgoing.is_held());
        outgoing.release();
        assert_eq!(drain(&mut outgoing, 3), b"BODY");
    }

    #[test]
    fn a_held_body_that_is_dropped_never_leaves() {
        let mut outgoing = Outgoing::default();
        outgoing.push(b"headBODY", Body::Held(4));
        drain(&mut outgoing, 100);
        outgoing.drop_held();
        outgoing.push(b"next", Body::Inside);
        assert_eq!(drain(&mut outgoing, 100), b"next");
    }

    #[test]
    fn a_held_stream_waits_for_its_release() {
        let mut outgoing = Outgoing::default();
        outgoing.push(b"head", Body::HeldStream);
        assert_eq!(drain(&mut outgoing, 100), b"head");
        assert!(outgoing.is_held() && !outgoing.wants_body());
        outgoing.release();
        assert!(!outgoing.is_held() && outgoing.wants_body());
        outgoing.stream(b"");
        drain(&mut outgoing, 100);
        outgoing.push(b"head", Body::HeldStream);
        drain(&mut outgoing, 100);
        outgoing.drop_held();
        assert!(!outgoing.is_held() && !outgoing.wants_body());
        outgoing.push(b"next", Body::Inside);
        assert_eq!(drain(&mut outgoing, 100), b"next");
    }

    #[test]
    fn a_stream_leaves_piece_by_piece() {
        let mut outgoing = Outgoing::default();
        outgoing.push(b"head", Body::Streamed);
        assert!(!outgoing.wants_body());
        assert_eq!(drain(&mut outgoing, 100), b"head");
        assert!(outgoing.wants_body());
        assert_eq!(outgoing.stream(b"x"), 6);
        assert_eq!(drain(&mut outgoing, 100), b"1\r\nx\r\n");
        outgoing.stream(b"");
        assert_eq!(drain(&mut outgoing, 100), b"0\r\n\r\n");
        assert!(!outgoing.wants_body());
    }
}
