//! A segment arrives (RFC 9293 §3.10.7): sequence number, RST, SYN, ACK, window; then `text.rs`.

use crate::event::Arrived;
use crate::notice::{Cause, Dropped, Notice};
use crate::number::{after, ahead, before};
use crate::record::{Exponents, Flags, Record};
use crate::send::WINDOW;
use crate::spec::{State, limit, timer};
use crate::step::Doing;
use wire::tcp::flag;

impl Doing<'_> {
    pub(crate) fn arrive(&mut self, s: Arrived) {
        match self.r.state {
            State::Closed => self.arrive_stray(&s),
            State::SynSent => self.arrive_in_handshake(s),
            _ => {
                if self.is_usable(&s) && self.take_ack(&s) {
                    self.take_stamp_and_window(&s);
                    self.arrive_text(&s);
                }
            }
        }
    }

    /// closed/… (§3.10.7.1)
    fn arrive_stray(&mut self, s: &Arrived) {
        if s.is(flag::RST) {
        } else if s.is(flag::ACK) {
            self.reply_rst(s.ack, 0, 0);
        } else {
            self.reply_rst(0, s.end(), flag::ACK);
        }
        self.drop(Dropped::Stray);
    }

    /// handshake/… (§3.10.7.3)
    fn arrive_in_handshake(&mut self, s: Arrived) {
        let (ack, rst, syn) = (s.is(flag::ACK), s.is(flag::RST), s.is(flag::SYN));
        if ack && s.ack != self.r.snd_nxt() {
            // What answers an old connection of this port ends it: the next SYN connects.
            if !rst {
                self.reply_rst(s.ack, 0, 0);
            }
            self.drop(Dropped::Handshake);
        } else if ack && rst {
            self.shut(Cause::Refused);
        } else if ack && syn {
            self.establish(&s);
            // Text or FIN of the same segment.
            let rest = Arrived { seq: s.seq.wrapping_add(1), ..s };
            self.arrive_text(&rest);
        } else {
            self.drop(Dropped::Handshake);
        }
    }

    /// handshake/syn-ack
    fn establish(&mut self, s: &Arrived) {
        let (path, options, r) = (self.path, &s.options, &self.r);
        let stamps = options.stamps.filter(|_| path.stamps);
        let least = limit::LEAST_PEER_MSS as u16;
        let mss = options.mss.unwrap_or(path.default_mss).min(path.send_mss).max(least);
        let room = if stamps.is_some() { limit::STAMP_ROOM as u16 } else { 0 };
        let repeated = r.has(Flags::RETRANSMITTED);
        let rtt = self.now.micros().since_us(r.sent);
        let mut fresh = Record {
            snd_una: r.snd_una.wrapping_add(1),
            snd_wnd: u32::from(s.window),
            snd_wl1: s.seq,
            rcv_nxt: s.seq.wrapping_add(1),
            ts_recent: stamps.map_or(0, |(value, _)| value),
            sent: r.sent,
            mss: mss.saturating_sub(room),
            // The SYN's number is not acknowledged yet.
            unacked: 1,
            flags: Flags::LIVED,
            state: State::Established,
            incarnation: r.incarnation,
            exponents: Exponents::new(0, options.shift.unwrap_or(0).min(limit::GREATEST_SHIFT as u8)),
            wnd_log: log_of(u32::from(s.window)),
            ..Record::default()
        };
        fresh.put(Flags::QUICK, path.quick);
        fresh.put(Flags::SYN_REPEATED, repeated);
        fresh.put(Flags::STAMPED, stamps.is_some());
        fresh.put(Flags::SACK, path.sack && options.sack_permitted);
        fresh.put(Flags::SCALED, options.shift.is_some());
        self.r = fresh;
        if !repeated {
            self.say(Notice::Rtt { micros: rtt });
        }
        self.owe_now();
        self.say(Notice::Connected { mss: self.r.mss });
    }

    /// sequence/…, reset/…, syn: whether the rest of the segment is looked at.
    fn is_usable(&mut self, s: &Arrived) -> bool {
        let (rst, syn) = (s.is(flag::RST), s.is(flag::SYN));
        if self.r.has(Flags::STAMPED) && !rst {
            match s.options.stamps {
                Some((value, _)) if before(value, self.r.ts_recent) => {
                    self.answer_unusable(s);
                    self.drop(Dropped::Paws);
                    return false;
                }
                None if !syn => {
                    self.drop(Dropped::Unstamped);
                    return false;
                }
                _ => {}
            }
        }
        if !self.is_acceptable(s) {
            if !rst {
                self.answer_unusable(s);
                self.repeat_wait(s);
            }
            self.drop(Dropped::Outside);
            return false;
        }
        if rst {
            self.take_rst(s);
            return false;
        }
        if syn {
            self.challenge();
            self.drop(Dropped::Syn);
            return false;
        }
        true
    }

    pub(crate) fn rcv_wnd(&self) -> u32 {
        let shift =
            if self.r.has(Flags::SCALED) { self.path.shift.min(limit::GREATEST_SHIFT as u8) } else { 0 };
        u32::from(WINDOW) << shift
    }

    /// The first or the last octet is in the window (§3.10.7.4, table 6); a window that the owner closed still
    /// holds what was in flight.
    fn is_acceptable(&self, s: &Arrived) -> bool {
        let window = 0..i64::from(self.rcv_wnd());
        let first = ahead(s.seq, self.r.rcv_nxt);
        let len = i64::from(s.seg_len());
        window.contains(&first) || (len > 0 && window.contains(&(first + len - 1)))
    }

    /// Repeated data tells that our ACK was lost: the peer needs another. Anything else could be the other
    /// end of a loop, and is answered rarely.
    fn answer_unusable(&mut self, s: &Arrived) {
        if s.seg_len() > 0 && !s.is(flag::SYN) {
            self.owe_now();
        } else {
            self.challenge();
        }
    }

    /// sequence/fin-again
    fn repeat_wait(&mut self, s: &Arrived) {
        let again = s.is(flag::FIN) && !s.is(flag::SYN) && s.end() == self.r.rcv_nxt;
        if self.r.state == State::TimeWait && again {
            self.start_wait();
        }
    }

    /// reset/… (RFC 5961 §3.2)
    fn take_rst(&mut self, s: &Arrived) {
        if s.seq != self.r.rcv_nxt {
            self.challenge();
            self.drop(Dropped::Reset);
        } else if self.r.state == State::TimeWait {
            self.shut(Cause::Finished);
            self.quarantine();
        } else {
            self.shut(Cause::Reset);
        }
    }

    /// ack/…: whether the rest of the segment is looked at (RFC 5961 §5.2).
    fn take_ack(&mut self, s: &Arrived) -> bool {
        if !s.is(flag::ACK) {
            self.drop(Dropped::NoAck);
            return false;
        }
        if after(s.ack, self.r.snd_nxt()) {
            self.challenge();
            self.drop(Dropped::UnsentAck);
            return false;
        }
        // MAX.SND.WND, rounded up to a power of two.
        let oldest = self.r.snd_una.wrapping_sub(1 << self.r.wnd_log.min(30));
        if before(s.ack, oldest) {
            self.challenge();
            self.drop(Dropped::OldAck);
            return false;
        }
        if after(s.ack, self.r.snd_una) {
            return self.advance(s.ack);
        }
        // Old acknowledgments say nothing, but their segment may bring text.
        if self.is_duplicate(s) {
            self.take_duplicate();
        }
        true
    }

    /// The window that a segment announces.
    fn announced(&self, s: &Arrived) -> u32 {
        u32::from(s.window) << self.r.shift().min(limit::GREATEST_SHIFT as u8)
    }

    /// It acknowledges nothing new and brings nothing, not even a window (RFC 5681 §2); with SACK, it names
    /// what came behind a hole instead (RFC 6675 §2). It shows a loss only where more than one segment is out
    /// and nothing was sent twice.
    fn is_duplicate(&self, s: &Arrived) -> bool {
        let quiet = s.len == 0 && !s.is(flag::FIN) && s.ack == self.r.snd_una;
        let behind = || s.options.sack.is_some_and(|(_, right)| after(right, s.ack));
        let same = || self.announced(s) == self.r.snd_wnd;
        let several = self.path.burst > 1 && self.r.in_flight > self.r.mss;
        let again = self.r.has(Flags::RETRANSMITTED) || self.r.has(Flags::PERSIST);
        several && !again && quiet && if self.r.has(Flags::SACK) { behind() } else { same() }
    }

    /// ack/duplicate, ack/third: the third means that the first segment was lost (RFC 5681 §3.2).
    fn take_duplicate(&mut self) {
        self.r.retries = self.r.retries.saturating_add(1);
        if u32::from(self.r.retries) >= limit::DUPLICATES {
            self.r.retries = 1;
            self.resend();
        }
    }

    /// New numbers are acknowledged. Whether the connection goes on.
    fn advance(&mut self, ack: u32) -> bool {
        let fin = self.r.has(Flags::FIN_OUT) && ack == self.r.snd_nxt();
        let octets = ahead(ack, self.r.snd_una) - i64::from(fin);
        let text = self.r.in_flight.min(u16::try_from(octets).unwrap_or(u16::MAX));
        self.r.snd_una = ack;
        self.r.in_flight -= text;
        self.r.left = self.r.left.saturating_sub(text);
        if fin {
            self.r.clear(Flags::FIN_OUT);
            self.r.clear(Flags::FIN_DUE);
        }
        self.sample();
        if text > 0 && self.r.left == 0 {
            self.say(Notice::Acked);
        }
        self.rearm();
        match self.r.state {
            State::FinWait1 if fin => self.r.state = State::FinWait2,
            State::Closing if fin => {
                self.r.state = State::TimeWait;
                self.start_wait();
            }
            State::LastAck if fin => {
                self.shut(Cause::Finished);
                return false;
            }
            State::Established if self.r.left == 0 && !self.r.has(Flags::ASKED) => self.set_limit(0),
            _ => {}
        }
        true
    }

    /// Karn: no round-trip time from what was sent twice, and the doubled timeout stays until something is
    /// acknowledged that was not. Of several segments in flight, the first is measured.
    fn sample(&mut self) {
        if !self.r.has(Flags::RETRANSMITTED) {
            if !self.r.has(Flags::UNTIMED) {
                self.say(Notice::Rtt { micros: self.now.micros().since_us(self.r.sent) });
                self.r.clear(Flags::SYN_REPEATED);
            }
            self.r.set_backoff(0);
        }
        self.r.retries = 0;
    }

    /// The timer stops when all is acknowledged, and starts again when a part is (RFC 6298 §5.2, 5.3).
    fn rearm(&mut self) {
        let quiet = self.r.in_flight == 0 && !self.r.has(Flags::FIN_OUT);
        let probing = self.r.has(Flags::PERSIST);
        self.r.put(Flags::UNTIMED, self.path.burst > 1 && !quiet);
        if quiet && !(probing && self.r.left > 0) {
            self.r.clear(Flags::TIMED);
            self.r.clear(Flags::PERSIST);
            self.r.clear(Flags::RETRANSMITTED);
            self.r.deadline = Default::default();
        } else {
            self.lost = !probing && self.r.has(Flags::RETRANSMITTED);
            self.run_timer();
        }
    }

    pub(crate) fn start_wait(&mut self) {
        self.r.clear(Flags::PERSIST);
        self.r.set(Flags::TIMED);
        self.r.deadline = self.now.after_ms(timer::TIME_WAIT);
        self.set_limit(0);
    }

    /// stamp, window
    fn take_stamp_and_window(&mut self, s: &Arrived) {
        if let Some((value, _)) = s.options.stamps.filter(|_| self.r.has(Flags::STAMPED)) {
            // Only a segment that covers Last.ACK.sent (RFC 7323 §4.3).
            let last_ack = self.r.rcv_nxt.wrapping_sub(u32::from(self.r.unacked));
            if !before(value, self.r.ts_recent) && !after(s.seq, last_ack) {
                self.r.ts_recent = value;
            }
        }
        let sends = !matches!(self.r.state, State::FinWait2 | State::TimeWait);
        if sends && !before(s.ack, self.acked_before) && !before(s.seq, self.r.snd_wl1) {
            self.r.snd_wnd = self.announced(s);
            self.r.snd_wl1 = s.seq;
            self.r.wnd_log = self.r.wnd_log.max(log_of(self.r.snd_wnd));
        }
    }
}

/// The least n with `window` ≤ 2ⁿ.
fn log_of(window: u32) -> u8 {
    window.max(1).next_power_of_two().trailing_zeros() as u8
}
