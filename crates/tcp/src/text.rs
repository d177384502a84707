//! Text and FIN of a segment: what is in order is announced, and intervals ahead of holes are kept.
//!
//! ```text
//!             rcv_nxt          ooo_start      + ooo_len
//!  ──acknowledged─┼────── hole ──────┼── interval ──┼───────────
//!        in order ├─ Data ─┤         │              │            the hole gets smaller
//!                 ├───── Data ───────┼── Filled ────┼─ Data ─┤   the hole is filled
//!             early       ├─ Early ──┤              ├─ Early ─┤  the interval grows, at either side
//! ```

use crate::event::Arrived;
use crate::further::{Further, REACHED, Span, Spans};
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

impl Text {
    /// Cut where it has reached as many intervals as one step joins or fills.
    fn reaching(self, spans: &Spans) -> Self {
        let touched = spans.only(|span| span.touches(&Span { start: self.start, end: self.end }));
        if touched.len() <= REACHED {
            return self;
        }
        let last = touched.ascending().iter().nth(REACHED - 1).map_or(self.end, |span| span.end);
        Self { end: last, fin: false, ..self }
    }
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
        let is_fin_next = if had {
            self.fill(text)
        } else {
            self.announce(text, 0, text.end);
            text.fin
        };
        // A gap that gets smaller, and every second full segment, are acknowledged at once (RFC 5681 §4.2).
        let stamps = if self.r.has(Flags::STAMPED) { limit::STAMP_ROOM } else { 0 };
        let full = u32::from(self.path.mss).saturating_sub(stamps);
        if had || self.r.has(Flags::QUICK) || u32::from(self.r.unacked) >= (2 * full).min(u32::from(u16::MAX))
        {
            self.owe_now();
        } else {
            self.owe_later();
        }
        is_fin_next
    }

    /// Text in order, while there are intervals: those that it reaches are in order, too. Whether FIN is next.
    fn fill(&mut self, text: Text) -> bool {
        let (base, spans) = (self.r.rcv_nxt, self.spans());
        let text = text.reaching(&spans);
        let left = spans.only(|span| span.start > text.end);
        let mut at = 0;
        for span in spans.ascending().iter().take_while(|span| span.start <= text.end) {
            self.announce(text, at, span.start);
            self.say(Notice::Filled { len: (span.end - span.start) as u32 });
            self.received(span.end - span.start);
            at = span.end;
        }
        // Nothing follows a FIN.
        let is_fin_next = if self.r.has(Flags::OOO_FIN) && left.is_empty() {
            true
        } else {
            self.announce(text, at, text.end);
            text.fin && text.end >= at
        };
        left.keep(base, &mut self.r, self.further);
        is_fin_next
    }

    pub(crate) fn spans(&self) -> Spans {
        Spans::of(&self.r, self.further)
    }

    fn forget_intervals(&mut self) {
        self.r.ooo_start = 0;
        self.r.ooo_len = 0;
        self.r.clear(Flags::OOO_FIN);
        *self.further = Further::NONE;
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
        let spans = self.spans();
        let text = text.reaching(&spans);
        let Text { start, mut end, mut fin } = text;
        let touched = spans.only(|span| span.touches(&Span { start, end }));
        // Nothing follows a FIN.
        let ends = self.r.has(Flags::OOO_FIN);
        if touched.is_empty() && !spans.is_empty() {
            if spans.len() >= self.most_intervals || ends && start > spans.end() {
                return self.drop(Dropped::Hole);
            }
        } else if ends {
            fin &= end <= spans.end();
            end = end.min(spans.end());
        }
        let mut joined = Span { start, end };
        let mut at = start;
        for span in touched.ascending().iter() {
            self.announce_early(text, at, span.start);
            at = at.max(span.end);
            joined = Span { start: joined.start.min(span.start), end: joined.end.max(span.end) };
        }
        self.announce_early(text, at, end);
        let mut kept = Spans::default();
        kept.push(joined);
        spans.iter().filter(|span| !touched.iter().any(|one| one == *span)).for_each(|span| kept.push(*span));
        kept.keep(self.r.rcv_nxt, &mut self.r, self.further);
        if fin && end == kept.end() {
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
        if self.r.ooo_len > 0 && at == self.spans().end() {
            self.r.set(Flags::OOO_FIN);
        } else {
            self.drop(Dropped::EarlyFin);
        }
    }

    /// fin/open, fin/both, fin/second
    fn take_fin(&mut self) {
        self.received(1);
        // Nothing follows a FIN: a peer that sent more contradicts itself.
        self.forget_intervals();
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
