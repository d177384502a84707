//! What is sent: acknowledgments, the request, FIN, probes of the window, and all that again.
//!
//! The first segment is sent if the window takes all that is left of the request, a full segment, or is half
//! as large as it ever was (RFC 9293 §3.8.6.2.1, rules 1 to 3); else the persist timer runs, which is its rule
//! 4 as well. Behind it, up to the path's burst, go full segments and the end of the request, one for each
//! flush. All of a request is pushed, so Nagle's algorithm has nothing to join.
//!
//! ```text
//! snd_una             + in_flight       + left
//!  ├── sent, no ACK yet ──┼─ next, if it fits ─┤    the timer and the measured round trip are the first's
//!  ├─ resend ─┤  after a timeout or three duplicate ACKs: one segment for each ACK, until all is acknowledged
//! ```

use crate::notice::Notice;
use crate::number::after;
use crate::options::Options;
use crate::record::Flags;
use crate::segment::{Payload, Segment};
use crate::spec::{State, limit, timer};
use crate::step::Doing;
use wire::tcp::flag;

/// The window field: the receive window is this, shifted. Nothing is stored here, so only the owner closes it.
pub(crate) const WINDOW: u16 = u16::MAX;

impl Doing<'_> {
    /// The SYN, first or again.
    pub(crate) fn send_syn(&mut self) {
        let path = self.path;
        let options = Options {
            mss: Some(path.mss),
            shift: Some(path.shift),
            sack_permitted: path.sack,
            stamps: path.stamps.then(|| (self.stamp(), 0)),
            ..Options::default()
        };
        self.segment = Some(Segment {
            seq: self.r.snd_una,
            ack: 0,
            flags: flag::SYN,
            window: WINDOW,
            options,
            payload: None,
        });
        self.r.set(Flags::TIMED);
        self.r.deadline = self.now.after_ms(doubled(timer::RTO_FIRST, self.r.backoff()));
    }

    pub(crate) fn send_ack(&mut self) {
        self.emit(self.bare_seq(), flag::ACK, None);
    }

    /// With ACK, as Linux sends it.
    pub(crate) fn send_rst(&mut self) {
        self.emit(self.bare_seq(), flag::RST | flag::ACK, None);
    }

    /// The number of a segment without payload. A peer whose window shrank takes none that starts beyond it, so
    /// that its own data would stay without an ACK, and a RST without effect. As Linux.
    fn bare_seq(&self) -> u32 {
        let (next, edge) = (self.r.snd_nxt(), self.r.snd_una.wrapping_add(self.r.snd_wnd));
        if after(next, edge) { edge } else { next }
    }

    /// A segment without options for a peer that speaks of no connection here.
    pub(crate) fn reply_rst(&mut self, seq: u32, ack: u32, flags: u8) {
        let options = Options::default();
        self.segment =
            Some(Segment { seq, ack, flags: flag::RST | flags, window: 0, options, payload: None });
    }

    fn emit(&mut self, seq: u32, flags: u8, payload: Option<Payload>) {
        let reset = flags & flag::RST != 0;
        let mut options = Options {
            stamps: self.r.has(Flags::STAMPED).then(|| (self.stamp(), self.r.ts_recent)),
            ..Options::default()
        };
        if self.sends_blocks() && !reset {
            self.name_blocks(&mut options);
        }
        let window = if reset || self.r.has(Flags::SHUT) { 0 } else { WINDOW };
        debug_assert!(self.segment.is_none(), "two segments in one step");
        self.segment = Some(Segment { seq, ack: self.r.rcv_nxt, flags, window, options, payload });
        self.r.clear(Flags::ACK_DUE);
        self.r.clear(Flags::ACK_NOW);
        self.r.unacked = 0;
    }

    fn stamp(&self) -> u32 {
        self.now.millis().as_wrapped().wrapping_add(self.path.stamp_offset)
    }

    fn sends_blocks(&self) -> bool {
        self.r.has(Flags::SACK) && self.r.ooo_len > 0
    }

    /// How many there is room for: four, or three beside timestamps.
    fn most_blocks(&self) -> usize {
        if self.r.has(Flags::STAMPED) { 3 } else { 4 }
    }

    /// The intervals as SACK blocks, the one that changed last first (RFC 2018 §4).
    fn name_blocks(&self, options: &mut Options) {
        let spans = self.spans();
        let last = spans.end();
        let number = |at: i64| self.r.rcv_nxt.wrapping_add(at as u32);
        let mut blocks = spans.iter().take(self.most_blocks()).map(|span| {
            let fin = self.r.has(Flags::OOO_FIN) && span.end == last;
            (number(span.start), number(span.end + i64::from(fin)))
        });
        options.sack = blocks.next();
        options.further_blocks = core::array::from_fn(|_| blocks.next());
    }

    /// Most bytes of payload in the next segment.
    pub(crate) fn room(&self) -> u16 {
        if !self.sends_blocks() {
            return self.r.mss;
        }
        let further = self.further.iter().count().min(self.most_blocks() - 1) as u32;
        self.r.mss.saturating_sub((limit::SACK_ROOM + limit::SACK_BLOCK * further) as u16)
    }

    /// Sends what may be sent, or waits for the window.
    pub(crate) fn output(&mut self) {
        let quiet = self.r.in_flight == 0 && !self.r.has(Flags::FIN_OUT);
        if quiet || self.r.has(Flags::PERSIST) {
            let len = self.r.left.min(self.room());
            let needs = match len {
                0 if self.r.has(Flags::FIN_DUE) && !self.r.has(Flags::FIN_OUT) => 1,
                0 => return,
                _ => u32::from(len),
            };
            if self.r.snd_wnd >= needs {
                self.transmit(len);
            } else if self.is_half_of_largest_window() {
                self.transmit(self.r.snd_wnd as u16);
            } else if !self.r.has(Flags::PERSIST) {
                self.wait_for_window();
            }
        } else if self.r.snd_wnd == 0 && self.r.left > 0 {
            // The window shrank while the segment was on its way (MUST-35).
            self.wait_for_window();
        } else if self.lost {
            self.resend();
        }
    }

    /// Peers with little room would else be served by the persist timer alone.
    fn is_half_of_largest_window(&self) -> bool {
        2 * u64::from(self.r.snd_wnd) >= 1 << self.r.wnd_log.min(30)
    }

    fn wait_for_window(&mut self) {
        self.r.set(Flags::PERSIST);
        self.run_timer();
        self.say(Notice::Blocked);
    }

    /// Sends `len` bytes from `snd_una`, and FIN where it follows.
    fn transmit(&mut self, len: u16) {
        if self.r.has(Flags::PERSIST) {
            self.r.clear(Flags::PERSIST);
            self.r.set_backoff(0);
            self.say(Notice::Unblocked);
        }
        // What a probe sent, or what was in flight when the window closed, goes again.
        let again = self.r.in_flight > 0;
        self.r.put(Flags::RETRANSMITTED, again);
        if !again {
            self.r.sent = self.now.micros();
            self.r.retries = 0;
            self.r.clear(Flags::UNTIMED);
        }
        self.r.in_flight = self.r.in_flight.max(len);
        let fits = self.r.has(Flags::FIN_OUT) || self.r.snd_wnd > u32::from(len);
        let fin = self.r.has(Flags::FIN_DUE) && len == self.r.left && fits;
        if fin {
            self.r.set(Flags::FIN_OUT);
        }
        self.run_timer();
        self.send_text(0, len, fin);
        if again {
            self.say(Notice::Retransmitted);
        }
    }

    /// Bytes of the next segment behind what is in flight, if one may leave; 0: FIN alone. Never behind what is
    /// sent again or probes the window: one segment at a time then, until all is acknowledged.
    pub(crate) fn next(&self) -> Option<u16> {
        let r = &self.r;
        let sends = matches!(r.state, State::Established | State::FinWait1 | State::Closing | State::LastAck);
        let stops = [Flags::PERSIST, Flags::RETRANSMITTED, Flags::FIN_OUT];
        if !sends || self.path.burst <= 1 || r.in_flight == 0 || stops.iter().any(|flag| r.has(*flag)) {
            return None;
        }
        let out = u32::from(r.in_flight);
        let len = r.left.saturating_sub(r.in_flight).min(self.room());
        if len == 0 {
            return (r.in_flight == r.left && r.has(Flags::FIN_DUE) && out < r.snd_wnd).then_some(0);
        }
        let most = u32::from(self.path.burst) * u32::from(r.mss);
        (out + u32::from(len) <= r.snd_wnd.min(most)).then_some(len)
    }

    /// Sends what [`Self::next`] says, and FIN where it follows. The timer runs already (RFC 6298 §5.1), and
    /// what is measured is the first segment in flight.
    pub(crate) fn send_next(&mut self, len: u16) {
        let skip = self.r.in_flight;
        self.r.in_flight = skip.saturating_add(len);
        let fits = self.r.snd_wnd > u32::from(self.r.in_flight);
        let fin = self.r.has(Flags::FIN_DUE) && self.r.in_flight == self.r.left && fits;
        if fin {
            self.r.set(Flags::FIN_OUT);
        }
        self.send_text(skip, len, fin);
    }

    /// Sends what is in flight again, as much as fits one segment.
    pub(crate) fn resend(&mut self) {
        let len = self.r.in_flight.min(self.room());
        self.r.set(Flags::RETRANSMITTED);
        self.r.clear(Flags::PERSIST);
        self.run_timer();
        self.send_text(0, len, self.r.has(Flags::FIN_OUT) && len == self.r.in_flight);
        self.say(Notice::Retransmitted);
    }

    /// Sends what the window takes, at least one byte or the FIN (MUST-36).
    pub(crate) fn probe(&mut self) {
        let window = u16::try_from(self.r.snd_wnd).unwrap_or(u16::MAX).max(1);
        let len = self.r.left.min(self.room()).min(window);
        self.r.in_flight = self.r.in_flight.max(len);
        self.r.set(Flags::RETRANSMITTED);
        self.double_timeout();
        let fin = self.r.left == 0;
        if fin {
            self.r.set(Flags::FIN_OUT);
            self.r.clear(Flags::PERSIST);
        }
        self.run_timer();
        self.send_text(0, len, fin);
        self.say(Notice::Probed);
    }

    /// Sends `len` bytes from `skip` bytes after `snd_una`.
    fn send_text(&mut self, skip: u16, len: u16, fin: bool) {
        let before_end = self.r.left.saturating_sub(skip);
        let push = if len > 0 && len == before_end { flag::PSH } else { 0 };
        let fin = if fin { flag::FIN } else { 0 };
        let payload = (len > 0).then_some(Payload { before_end, len });
        self.emit(self.r.snd_una.wrapping_add(u32::from(skip)), flag::ACK | push | fin, payload);
    }

    /// Starts the timer of retransmission, or of probes if `persist` is set.
    pub(crate) fn run_timer(&mut self) {
        let rto = self.path.rto_ms(self.r.has(Flags::SYN_REPEATED));
        self.r.set(Flags::TIMED);
        self.r.deadline = self.now.after_ms(doubled(rto, self.r.backoff()));
    }

    pub(crate) fn double_timeout(&mut self) {
        self.r.set_backoff((self.r.backoff() + 1).min(limit::BACKOFF_MOST as u8));
    }
}

fn doubled(rto_ms: u32, times: u8) -> u32 {
    (u64::from(rto_ms) << times.min(limit::BACKOFF_MOST as u8)).min(u64::from(timer::RTO_MOST)) as u32
}
