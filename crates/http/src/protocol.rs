//! What is spoken on a connection once it is open: requests go in, answers come out.

use units::{Cause, Instant};

use crate::exchange::Exchange;
use crate::outgoing::Body;
use crate::rules::RuleBook;

/// An exchange that ended on its connection.
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
    /// The connection had served others and was closed with nothing of an answer; whether the target had the
    /// request is for its kernel to say.
    Reused,
}

/// Whether a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Flow {
    Open,
    /// It may carry nothing more; its socket is to be closed.
    Over,
}

/// How the transport ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The target shut it down in order: by TLS's own word, if that is spoken.
    Shut,
    /// Without TLS's own word: nobody knows whether what came is all (RFC 9112 §9.8).
    Cut,
    Reset,
    /// TLS broke after its handshake.
    Broken,
}

/// A set of exchanges on one connection, which the protocol keeps in a way of its own: HTTP/1 in a queue, since
/// its answers come in the order of its requests; one with streams by their numbers.
///
/// A connection makes it when it is opened and hands it what is left once the proxy's and TLS's part is taken
/// off. No method does I/O, reads a clock or waits. A second protocol has to provide:
///
/// - Requests as HTTP/1 has them, head and body, in the words of its own wire: `begin` gets what
///   [`Writer`](crate::request::Writer) wrote. Small bodies stand with the head; the others follow as [`Body`]
///   says.
/// - One end for each exchange: a [`Finished`], in `received`, `end`, `time_out` or `fail`; or `abandon`.
/// - An order by age: `oldest` decides the connection's deadline, and its exchange is the first of `waiting`.
/// - [`Exchange::first_byte`], `status`, `bytes_in`, `body_in` and the check on the body, kept as bytes come;
///   `bytes_out`, `unwritten` and `written_before`, as they leave.
/// - [`Flow::Over`] as soon as no further exchange can end well; `time_out` may end one alone and stay open.
///
/// Where a connection can speak one of several, that which TLS has agreed on (ALPN) is an implementation too,
/// which holds one of them.
pub trait Protocol: Default {
    /// Exchanges that have begun and not ended.
    fn in_flight(&self) -> usize;
    /// Exchanges that have begun.
    fn served(&self) -> u32;
    /// Whether another may begin on an open connection, beside others or behind them up to `depth`.
    fn may_begin(&self, depth: usize) -> bool;
    /// Begins one. It may be before the connection is open.
    fn begin(&mut self, exchange: Exchange, request: &[u8], body: Body);
    /// None may begin any more; those on their way go on.
    fn retire(&mut self);
    fn oldest(&self) -> Option<&Exchange>;
    /// All that are on their way, the oldest first.
    fn waiting(&mut self) -> impl Iterator<Item = &mut Exchange>;

    /// The next bytes to send; empty if there are none now. `plan_body` is what [`Body::OfPlan`] stands for.
    fn output<'a>(&'a mut self, plan_body: &'a [u8]) -> &'a [u8];
    /// `count` bytes of `output` are taken: by TLS, or by the kernel.
    fn wrote(&mut self, count: usize);
    /// The kernel has as many more of the bytes that were taken; so many bytes were written for the wire before
    /// them.
    fn left(&mut self, count: usize, written_before: u64);
    /// Whether a streamed body waits for its next piece; then `stream` brings it.
    fn wants_body(&self) -> bool;
    /// The next bytes of a streamed body; it ends with a piece that has none.
    fn stream(&mut self, piece: &[u8]);
    /// Whether a body waits for a 100 (Continue).
    fn is_holding(&self) -> bool;
    /// Sends the body that waits for a 100 (Continue) without it.
    fn release_body(&mut self);
    /// Sending has failed, by a reset or otherwise. What the target said before may still come.
    fn mute(&mut self, was_reset: bool);
    fn is_mute(&self) -> bool;

    /// Bytes from the target, on a connection that has been ready since then (`None`: it is not yet). Exchanges
    /// that end are pushed to `finished`.
    fn received(
        &mut self,
        bytes: &[u8],
        now: Instant,
        ready_since: Option<Instant>,
        rules: &RuleBook,
        finished: &mut Vec<Finished>,
    ) -> Flow;
    /// Whether bytes came that no request asked for.
    fn has_surplus(&self) -> bool;

    /// The transport has ended, and with it all that is on its way.
    fn end(&mut self, end: End, finished: &mut Vec<Finished>);
    /// The oldest took too long. `cause` is why, if the connection is not open yet.
    fn time_out(&mut self, cause: Option<Cause>, finished: &mut Vec<Finished>) -> Flow;
    /// All end with the same cause.
    fn fail(&mut self, cause: Cause, finished: &mut Vec<Finished>);
    /// Takes all out without an end, for the engine to cut off.
    fn abandon(&mut self) -> impl Iterator<Item = Exchange>;
}
