//! The step: what the owner asks, time and ICMP. Segments are in `arrive.rs` and `text.rs`, what is sent in
//! `send.rs`. Comments name the rows of `spec/tcp.toml`.

use crate::event::Event;
use crate::further::{Further, INTERVALS};
use crate::notice::{Cause, Dropped, Notice, Notices, Refusal};
use crate::number::{after, ahead};
use crate::path::Path;
use crate::record::{Flags, Record};
use crate::segment::Segment;
use crate::spec::{State, limit, timer};
use crate::time::Time;

/// What a step made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub record: Record,
    pub segment: Option<Segment>,
    pub notices: Notices,
}

/// What `event` makes of a session's record at `now`. Data behind a second hole is dropped.
pub fn step(path: &Path, record: Record, event: Event, now: Time) -> Step {
    run(path, record, (&mut Further::default(), 1), event, now)
}

/// The same for an owner that keeps the intervals for which the record has no room.
pub fn step_further(path: &Path, record: Record, further: &mut Further, event: Event, now: Time) -> Step {
    run(path, record, (further, INTERVALS), event, now)
}

fn run(
    path: &Path,
    record: Record,
    (further, most_intervals): (&mut Further, usize),
    event: Event,
    now: Time,
) -> Step {
    let mut doing = Doing {
        path,
        now,
        r: record,
        further,
        most_intervals,
        segment: None,
        notices: Notices::new(),
        lost: false,
        acked_before: record.snd_una,
    };
    match event {
        Event::Segment(segment) => doing.arrive(segment),
        Event::Flush => doing.flush(),
        Event::Timer => doing.timer(),
        Event::Send { len, close, patience_ms } => doing.send(len, close, patience_ms),
        Event::Answered => doing.answered(),
        Event::Open { isn, patience_ms } => doing.open(isn, patience_ms),
        Event::Close => doing.close(),
        Event::Abort => doing.abort(),
        Event::Unreachable { hard, seq } => doing.unreachable(hard, seq),
        Event::Mtu { mss, seq } => doing.mtu(mss, seq),
        Event::Window { open } => doing.window(open),
    }
    let more = doing.next().is_some();
    doing.r.put(Flags::MORE, more);
    Step { record: doing.r, segment: doing.segment, notices: doing.notices }
}

/// A step being done.
pub(crate) struct Doing<'a> {
    pub path: &'a Path,
    pub now: Time,
    pub r: Record,
    pub further: &'a mut Further,
    pub most_intervals: usize,
    pub segment: Option<Segment>,
    pub notices: Notices,
    /// What was sent again is partly acknowledged: the rest is lost, too.
    pub lost: bool,
    /// `snd_una` before the segment.
    pub acked_before: u32,
}

impl Doing<'_> {
    pub(crate) fn say(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    pub(crate) fn drop(&mut self, why: Dropped) {
        self.say(Notice::Dropped(why));
    }

    fn refuse(&mut self, why: Refusal) {
        self.say(Notice::Refused(why));
    }

    // The owner's calls.

    /// open, open/in-use
    fn open(&mut self, isn: u32, patience_ms: u32) {
        if self.r.state != State::Closed {
            return self.refuse(Refusal::InUse);
        }
        let last = self.r.snd_una;
        let too_low = self.r.has(Flags::LIVED) && !after(isn, last);
        self.r = Record {
            snd_una: if too_low { last.wrapping_add(limit::ISN_STEP) } else { isn },
            incarnation: self.r.incarnation.wrapping_add(1),
            flags: Flags::LIVED,
            state: State::SynSent,
            sent: self.now.micros(),
            ..Record::default()
        };
        self.set_limit(patience_ms);
        self.send_syn();
    }

    /// send, send/close and what is refused
    fn send(&mut self, len: u16, close: bool, patience_ms: u32) {
        if self.r.state != State::Established {
            return self.refuse(Refusal::NotOpen);
        }
        if len == 0 {
            return self.refuse(Refusal::Empty);
        }
        if self.r.has(Flags::ASKED) || self.r.left > 0 {
            return self.refuse(Refusal::Busy);
        }
        self.r.set(Flags::ASKED);
        self.r.left = len;
        self.set_limit(patience_ms);
        if close {
            self.r.set(Flags::FIN_DUE);
            self.r.state = State::FinWait1;
        }
        self.output();
    }

    /// answered, answered/nothing
    fn answered(&mut self) {
        if !self.r.has(Flags::ASKED) {
            return self.refuse(Refusal::NothingAsked);
        }
        self.r.clear(Flags::ASKED);
        self.r.clear(Flags::QUICK);
        self.say(Notice::Done);
        let soon = self.now.after_ms(timer::ACK_ANSWERED);
        if self.r.has(Flags::ACK_DUE) && soon.is_before(self.r.ack_by) {
            self.r.ack_by = soon;
        }
        match self.r.state {
            State::Established if self.r.left > 0 => {}
            State::Established => self.set_limit(0),
            State::TimeWait => {}
            _ => self.set_limit(timer::FIN_TIMEOUT),
        }
    }

    /// flush/more, flush, flush/nothing
    fn flush(&mut self) {
        if let Some(len) = self.next() {
            self.send_next(len);
        } else if self.r.has(Flags::ACK_NOW) || self.ack_is_late() {
            self.send_ack();
        }
    }

    /// window/…
    fn window(&mut self, open: bool) {
        match self.r.state {
            State::Closed | State::SynSent => self.refuse(Refusal::NotOpen),
            State::Established | State::FinWait1 | State::FinWait2 if open == self.r.has(Flags::SHUT) => {
                self.r.put(Flags::SHUT, !open);
                if open {
                    self.send_ack();
                } else {
                    self.owe_now();
                }
            }
            _ => {}
        }
    }

    /// close, close/opening, close/not-open
    fn close(&mut self) {
        match self.r.state {
            State::Established => {
                if self.r.has(Flags::ASKED) {
                    self.r.clear(Flags::ASKED);
                    self.say(Notice::CutOff);
                }
                self.r.set(Flags::FIN_DUE);
                self.r.state = State::FinWait1;
                self.linger();
                self.output();
            }
            State::SynSent => self.shut(Cause::Aborted),
            _ => self.refuse(Refusal::NotOpen),
        }
    }

    /// abort, abort/quietly, abort/waiting, abort/not-open
    fn abort(&mut self) {
        match self.r.state {
            State::Closed => self.refuse(Refusal::NotOpen),
            // After the peer's FIN as well: our own may be lost, or not have left.
            State::Established | State::FinWait1 | State::FinWait2 | State::Closing | State::LastAck => {
                self.send_rst();
                self.shut(Cause::Aborted);
            }
            State::SynSent => self.shut(Cause::Aborted),
            State::TimeWait => {
                self.shut(Cause::Aborted);
                self.quarantine();
            }
        }
    }

    // Time.

    /// timer/…
    fn timer(&mut self) {
        if self.r.has(Flags::LIMITED) && self.now.has_reached(self.r.limit) {
            if matches!(self.r.state, State::Established | State::FinWait1 | State::FinWait2) {
                self.send_rst();
            }
            return self.shut(Cause::TimedOut);
        }
        if self.r.has(Flags::TIMED) && self.now.has_reached(self.r.deadline) {
            return match self.r.state {
                State::SynSent => {
                    self.back_off();
                    self.r.set(Flags::RETRANSMITTED);
                    self.send_syn();
                    self.say(Notice::Retransmitted);
                }
                State::TimeWait => {
                    self.shut(Cause::Finished);
                    self.quarantine();
                }
                _ if self.r.has(Flags::PERSIST) => self.probe(),
                _ => {
                    self.back_off();
                    self.resend();
                }
            };
        }
        if self.ack_is_late() {
            self.send_ack();
        }
    }

    fn back_off(&mut self) {
        self.r.retries = self.r.retries.saturating_add(1);
        self.double_timeout();
        if self.r.retries == limit::SLOW_RETRIES as u8 {
            self.say(Notice::Slow);
        }
    }

    // ICMP.

    /// Whether an ICMP message quotes what may be on its way (RFC 5927 §4.1).
    fn is_quoted(&self, seq: u32) -> bool {
        (0..ahead(self.r.snd_nxt(), self.r.snd_una)).contains(&ahead(seq, self.r.snd_una))
    }

    /// unreachable/… Hard errors end the handshake only: an open connection has its own time-outs (RFC 5927
    /// §5.2), as in Linux.
    fn unreachable(&mut self, hard: bool, seq: u32) {
        if !self.is_quoted(seq) {
            self.drop(Dropped::Icmp);
        } else if hard && self.r.state == State::SynSent {
            self.shut(Cause::Unreachable);
        } else {
            self.say(Notice::SoftError);
        }
    }

    /// mtu/… A segment that is too large is sent again at once, in smaller ones (RFC 1191 §6.4).
    fn mtu(&mut self, mss: u16, seq: u32) {
        if !self.is_quoted(seq) {
            return self.drop(Dropped::Icmp);
        }
        let stamps = if self.r.has(Flags::STAMPED) { limit::STAMP_ROOM as u16 } else { 0 };
        let mss = mss.max(limit::LEAST_PATH_MSS as u16) - stamps;
        // In SYN_SENT no segment size is known yet.
        if mss < self.r.mss {
            self.r.mss = mss;
            self.say(Notice::MssLowered { mss });
            if self.r.in_flight > self.room() {
                self.resend();
            }
        }
    }

    // What several events do.

    /// Ends the connection. What is left of the record is its number and its incarnation.
    pub(crate) fn shut(&mut self, cause: Cause) {
        if self.r.has(Flags::ASKED) {
            self.say(if cause == Cause::Aborted { Notice::CutOff } else { Notice::Failed(cause) });
        }
        self.say(Notice::Closed(cause));
        self.r = Record {
            snd_una: self.r.snd_nxt(),
            incarnation: self.r.incarnation,
            flags: Flags::LIVED,
            ..Record::default()
        };
        *self.further = Further::NONE;
    }

    pub(crate) fn quarantine(&mut self) {
        self.say(Notice::Quarantine { ms: self.path.quarantine_ms });
    }

    /// Patience for the peer's part of closing, unless that for the response runs.
    pub(crate) fn linger(&mut self) {
        if !(self.r.has(Flags::ASKED) && self.r.has(Flags::LIMITED)) {
            self.set_limit(timer::FIN_TIMEOUT);
        }
    }

    /// `patience_ms` from now; 0: none.
    pub(crate) fn set_limit(&mut self, patience_ms: u32) {
        self.r.put(Flags::LIMITED, patience_ms > 0);
        let patience_ms = patience_ms.min(limit::PATIENCE_MOST);
        self.r.limit = if patience_ms > 0 { self.now.after_ms(patience_ms) } else { Default::default() };
    }

    fn ack_is_late(&self) -> bool {
        self.r.has(Flags::ACK_DUE) && self.now.has_reached(self.r.ack_by)
    }

    /// An acknowledgment is owed: soon, so that later segments or a request share it (MUST-58).
    pub(crate) fn owe_later(&mut self) {
        if !self.r.has(Flags::ACK_DUE) {
            self.r.set(Flags::ACK_DUE);
            self.r.ack_by = self.now.after_ms(timer::ACK_DELAY);
        }
    }

    /// An acknowledgment is owed at the end of the batch (MUST-59).
    pub(crate) fn owe_now(&mut self) {
        self.owe_later();
        self.r.set(Flags::ACK_NOW);
    }

    /// The same, but rarely, so that two ends cannot answer each other for ever (RFC 5961 §7).
    pub(crate) fn challenge(&mut self) {
        let now = self.now.millis();
        if self.r.has(Flags::CHALLENGE) && now.since_ms(self.r.challenged) < timer::CHALLENGE_GAP {
            return self.say(Notice::ChallengeLimited);
        }
        self.r.set(Flags::CHALLENGE);
        self.r.challenged = now;
        self.owe_now();
        self.say(Notice::Challenged);
    }
}
