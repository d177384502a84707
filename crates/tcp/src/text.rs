//! Text and FIN of a segment: what is in order is announced, and one interval ahead of a hole is kept.
//!
//! ```text
//!             rcv_nxt          ooo_start      + ooo_len
//!  ──acknowledged─┼────── hole ──────┼── interval ──┼───────────
//!        in order ├─ Data ─┤         │              │            the hole gets smaller
//!                 ├───── Data ───────┼── Filled ────┼─ Data ─┤   the hole is filled
//!             early       ├─ Early ──┤              ├─ Early ─┤  the interval grows, at either side
//! ```

use crate::event::Arrived;
use crate::notice::{Dropped, Notice};
use crate::number::ahead;
use crate::record::Flags;
use crate::spec::{State, limit};
use crate::step::Doing;
use wire::tcp::flag;

/// The text of a segment, counted from `rcv_nxt`.
#[derive(Clone, Copy)]
struct Text {
    start: i64,
    /// Cut at the window's end.
    end: i64,
    /// FIN follows the text, and nothing was cut.
    fin: bool,
}

impl Doing<'_> {
    pub(crate) fn arrive_text(&mut self, s: &Arrived) {
        let start = ahead(s.seq, self.r.rcv_nxt);
        let full = start + i64::from(s.len);
        let end = full.min(i64::from(self.rcv_wnd()));
        let text = Text { start, end, fin: s.is(flag::FIN) && end == full };
        match self.r.state {
            State::Established | State::FinWait1 | State::FinWait2 => {
                let is_fin_next = if self.r.has(Flags::SHUT) && s.len == 1 && start == 0 {
                    self.owe_now();
                    self.drop(Dropped::Probe);
                    false
                } else if s.len > 0 && end > 0 {
                    if start <= 0 {
                        self.deliver(text)
                    } else {
                        self.keep(text);
                        false
                    }
                } else if s.len == 0 && s.is(flag::FIN) && start > 0 {
                    self.keep_fin(start);
                    false
                } else {
                    text.fin && end == 0
                };
                if is_fin_next {
                    self.take_fin();
                }
            }
            _ if s.len > 0 => self.drop(Dropped::Late),
            _ => {}
        }
        if !matches!(self.r.state, State::Closed | State::FinWait2 | State::TimeWait) {
            self.output();
        }
    }

    /// text/order. Whether FIN is next.
    fn deliver(&mut self, text: Text) -> bool {
        let had = self.r.ooo_len > 0;
        let interval = ahead(self.r.ooo_start, self.r.rcv_nxt);
        let reaches = had && text.end >= interval;
        let mut is_fin_next = text.fin;
        if reaches {
            let kept = i64::from(self.r.ooo_len);
            self.announce(text, 0, interval);
            self.say(Notice::Filled { len: self.r.ooo_len });
            self.received(kept);
            // Nothing follows a FIN.
            if self.r.has(Flags::OOO_FIN) {
                is_fin_next = true;
            } else {
                is_fin_next &= text.end >= interval + kept;
                self.announce(text, interval + kept, text.end);
            }
            self.forget_interval();
        } else {
            self.announce(text, 0, text.end);
        }
        // A gap that gets smaller, and every second full segment, are acknowledged at once (RFC 5681 §4.2).
        let stamps = if self.r.has(Flags::STAMPED) { limit::STAMP_ROOM } else { 0 };
        let full = u32::from(self.path.mss).saturating_sub(stamps);
        if had || u32::from(self.r.unacked) >= (2 * full).min(u32::from(u16::MAX)) {
            self.owe_now();
        } else {
            self.owe_later();
        }
        is_fin_next
    }

    fn forget_interval(&mut self) {
        self.r.ooo_start = 0;
        self.r.ooo_len = 0;
        self.r.clear(Flags::OOO_FIN);
    }

    /// Announces the bytes from `from` to `to`, counted as in `text`, as in order.
    fn announce(&mut self, text: Text, from: i64, to: i64) {
        if to > from {
            self.say(Notice::Data { skip: (from - text.start) as u32, len: (to - from) as u32 });
            self.received(to - from);
        }
    }

    fn received(&mut self, octets: i64) {
        self.r.rcv_nxt = self.r.rcv_nxt.wrapping_add(octets as u32);
        self.r.unacked = u16::try_from(i64::from(self.r.unacked) + octets).unwrap_or(u16::MAX);
    }

    /// text/early, text/hole
    fn keep(&mut self, text: Text) {
        self.owe_now();
        let Text { start, mut end, mut fin } = text;
        let (mut left, mut right) = (start, end);
        if self.r.ooo_len > 0 {
            let kept_start = ahead(self.r.ooo_start, self.r.rcv_nxt);
            let kept_end = kept_start + i64::from(self.r.ooo_len);
            if end < kept_start || start > kept_end {
                return self.drop(Dropped::Hole);
            }
            // Nothing follows a FIN.
            if self.r.has(Flags::OOO_FIN) {
                fin &= end <= kept_end;
                end = end.min(kept_end);
            }
            (left, right) = (start.min(kept_start), end.max(kept_end));
            self.announce_early(text, start, kept_start);
            self.announce_early(text, kept_end, end);
        } else {
            self.announce_early(text, start, end);
        }
        self.r.ooo_start = self.r.rcv_nxt.wrapping_add(left as u32);
        self.r.ooo_len = (right - left) as u32;
        if fin && end == right {
            self.r.set(Flags::OOO_FIN);
        }
    }

    fn announce_early(&mut self, text: Text, from: i64, to: i64) {
        if to > from {
            self.say(Notice::Early { skip: (from - text.start) as u32, len: (to - from) as u32 });
        }
    }

    /// fin/joins, fin/early
    fn keep_fin(&mut self, at: i64) {
        self.owe_now();
        let kept_end = ahead(self.r.ooo_start, self.r.rcv_nxt) + i64::from(self.r.ooo_len);
        if self.r.ooo_len > 0 && at == kept_end {
            self.r.set(Flags::OOO_FIN);
        } else {
            self.drop(Dropped::EarlyFin);
        }
    }

    /// fin/open, fin/both, fin/second
    fn take_fin(&mut self) {
        self.received(1);
        // Nothing follows a FIN: a peer that sent more contradicts itself.
        self.forget_interval();
        self.say(Notice::Ended);
        self.owe_now();
        match self.r.state {
            State::Established => {
                self.r.set(Flags::FIN_DUE);
                self.r.state = State::LastAck;
                self.linger();
            }
            State::FinWait1 => self.r.state = State::Closing,
            _ => {
                self.r.state = State::TimeWait;
                self.start_wait();
            }
        }
    }
}
