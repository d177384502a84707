//! Rules that no sequence of events breaks. A million random ones, of eight sessions, half plausible and half
//! not.

use crate::random::{burst, event, later};
use std::ops::Range;
use tcp::{
    Arrived, Event, Flags, Further, INTERVALS, Millis, Notice, Path, Record, Segment, State, Step, Time,
    step, step_further,
};
use wire::tcp::flag;

const EVENTS: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
const SESSIONS: usize = 8;

/// What is known of a session apart from its record.
#[derive(Clone, Default)]
struct Watch {
    record: Record,
    /// Of an owner that keeps several intervals.
    further: Option<Further>,
    is_open: bool,
    is_asked: bool,
    /// Number behind the request.
    request_end: u32,
    /// Octets that came in this life, counted from the peer's SYN without a wrap; in order, and apart.
    came: Vec<Range<i64>>,
    /// `rcv_nxt`, counted in the same way.
    next: i64,
    early: i64,
    opened: u64,
    closed: u64,
    asked: u64,
    ended: u64,
}

fn ahead(a: u32, b: u32) -> i64 {
    i64::from(a.wrapping_sub(b) as i32)
}

/// A step of an owner that keeps one interval, or several.
fn steps(path: &Path, record: Record, further: &mut Option<Further>, event: Event, now: Time) -> Step {
    match further {
        Some(further) => step_further(path, record, further, event, now),
        None => step(path, record, event, now),
    }
}

impl Watch {
    fn does(&mut self, path: &Path, event: Event, now: Time) -> Step {
        let before = self.record;
        let made = steps(path, before, &mut self.further, event, now);
        self.record = made.record;
        if let Event::Segment(segment) = event {
            self.comes(&before, &segment, &made);
        }
        let refused = made.notices.iter().any(|notice| matches!(notice, Notice::Refused(_)));
        if refused {
            // Only the burst, which may have changed since the last step, lets more go or less.
            let same = |record: Record| Record { flags: record.flags.without(Flags::MORE), ..record };
            assert_eq!(same(made.record), same(before), "what is refused changes nothing");
            assert_eq!(made.segment, None);
        }
        match event {
            Event::Open { .. } if !refused => {
                self.is_open = true;
                self.opened += 1;
                (self.came, self.next, self.early) = (Vec::new(), 0, 0);
                assert_eq!(made.record.incarnation, before.incarnation.wrapping_add(1));
                if before.has(Flags::LIVED) {
                    assert!(ahead(made.record.snd_una, before.snd_una) > 0, "numbers of the last life again");
                }
            }
            Event::Send { len, .. } if !refused => {
                self.is_asked = true;
                self.asked += 1;
                self.request_end = before.snd_nxt().wrapping_add(u32::from(len));
            }
            _ => {}
        }
        self.numbers(&before, &made);
        self.counts(&before, &event, &made);
        if let Some(segment) = made.segment {
            self.sends(path, &before, &event, &segment);
        }
        self.timers(&made.record);
        self.flushes(path, now);
        made
    }

    /// Notes the octets of a segment.
    fn comes(&mut self, before: &Record, segment: &Arrived, made: &Step) {
        let octets = i64::from(segment.len)
            + i64::from(segment.flags & flag::SYN != 0)
            + i64::from(segment.flags & flag::FIN != 0);
        let connected = made.notices.iter().any(|notice| matches!(notice, Notice::Connected { .. }));
        let start = match before.state {
            State::Closed => return,
            State::SynSent if !connected => return,
            State::SynSent => {
                self.next = 1;
                0
            }
            _ => self.next + ahead(segment.seq, before.rcv_nxt),
        };
        let mut new = start.max(0)..start + octets;
        if new.is_empty() {
            return;
        }
        self.came.retain(|old| {
            let apart = old.end < new.start || new.end < old.start;
            if !apart {
                new = old.start.min(new.start)..old.end.max(new.end);
            }
            apart
        });
        let at = self.came.partition_point(|old| old.start < new.start);
        self.came.insert(at, new);
    }

    fn numbers(&self, before: &Record, made: &Step) {
        let r = &made.record;
        assert!(r.in_flight <= r.left, "more in flight than there is");
        let out = ahead(r.snd_nxt(), r.snd_una);
        assert!((0..=65_537).contains(&out), "snd_una is above snd_nxt");
        if before.state != State::Closed && r.state != State::Closed {
            let fresh = ahead(r.snd_una, before.snd_una);
            assert!(
                (0..=ahead(before.snd_nxt(), before.snd_una)).contains(&fresh),
                "acknowledged what was not sent"
            );
            assert!(ahead(r.snd_nxt(), before.snd_nxt()) >= 0, "snd_nxt goes back");
        }
        if r.ooo_len == 0 {
            assert!(self.further.is_none_or(|further| further.is_empty()), "intervals without a first one");
        }
        if r.state == State::Closed {
            let kept = Record {
                snd_una: r.snd_una,
                incarnation: r.incarnation,
                flags: if r.has(Flags::LIVED) { Flags::LIVED } else { Flags::default() },
                ..Record::default()
            };
            assert_eq!(*r, kept, "a closed record keeps its number alone");
        }
    }

    /// Each departure ends once; each octet is announced once.
    fn counts(&mut self, before: &Record, event: &Event, made: &Step) {
        let mut ordered = 0;
        for notice in made.notices.iter() {
            match *notice {
                Notice::Done | Notice::Failed(_) | Notice::CutOff => {
                    assert!(self.is_asked, "an outcome without a request");
                    self.is_asked = false;
                    self.ended += 1;
                }
                Notice::Closed(_) => {
                    assert!(self.is_open, "closed twice");
                    self.is_open = false;
                    self.closed += 1;
                    assert_eq!(made.record.state, State::Closed);
                }
                Notice::Data { skip, len } => {
                    ordered += i64::from(len);
                    within(event, skip, len);
                }
                Notice::Early { skip, len } => {
                    self.early += i64::from(len);
                    within(event, skip, len);
                }
                Notice::Filled { len } => {
                    ordered += i64::from(len);
                    self.early -= i64::from(len);
                }
                Notice::Ended => {
                    ordered += 1;
                    self.early = 0;
                }
                _ => {}
            }
        }
        assert_eq!(self.is_open, made.record.state != State::Closed);
        assert_eq!(self.is_asked, made.record.has(Flags::ASKED));
        if made.record.state == State::Closed || made.record.state == State::SynSent {
            return;
        }
        let further = self.further.iter().flat_map(|further| further.iter().map(|(_, len)| i64::from(len)));
        let kept = i64::from(made.record.ooo_len) + further.sum::<i64>();
        assert_eq!(self.early, kept, "early bytes and the intervals");
        if before.state != State::SynSent {
            assert_eq!(ahead(made.record.rcv_nxt, before.rcv_nxt), ordered, "rcv_nxt and what was announced");
        }
        self.next += ordered;
        let first = self.came.first().map_or(0..0, Range::clone);
        assert!(first.start == 0 && self.next <= first.end, "took {} of {first:?}", self.next);
    }

    /// The owner flushes if and only if it sends something.
    fn flushes(&self, path: &Path, now: Time) {
        let r = &self.record;
        let made = steps(path, *r, &mut self.further.clone(), Event::Flush, now);
        let late = r.has(Flags::ACK_DUE) && !now.millis().is_before(r.ack_by);
        assert_eq!(made.segment.is_some(), r.wants_flush() || late, "{r:?}");
        let Some(segment) = made.segment.filter(|_| r.has(Flags::MORE)) else { return };
        let fresh = segment.payload.is_some() || segment.flags & flag::FIN != 0;
        assert!(fresh && ahead(made.record.snd_nxt(), r.snd_nxt()) > 0, "more, but nothing new");
    }

    fn sends(&self, path: &Path, before: &Record, event: &Event, segment: &Segment) {
        let r = &self.record;
        let bits = segment.flags;
        assert_eq!(bits & (flag::URG | flag::ECE | flag::CWR), 0);
        assert_eq!(segment.options.mss.is_some(), bits & flag::SYN != 0, "MSS belongs to SYN");
        if bits & flag::RST != 0 {
            assert_eq!((segment.payload, segment.window), (None, 0));
            return;
        }
        assert_eq!(segment.window, if r.has(Flags::SHUT) { 0 } else { u16::MAX });
        if bits & flag::SYN != 0 {
            assert_eq!((bits, segment.seq, segment.payload), (flag::SYN, r.snd_una, None));
            return;
        }
        assert!(bits & flag::ACK != 0);
        // The segment leaves after all else of the step.
        assert_eq!(segment.ack, r.rcv_nxt, "acknowledges other than what is next");
        assert!(!r.has(Flags::ACK_DUE) && r.unacked == 0, "an ACK was sent and is still owed");
        let blocks =
            segment.options.sack.into_iter().chain(segment.options.further_blocks.into_iter().flatten());
        for (left, right) in blocks {
            let block = self.next + ahead(left, r.rcv_nxt)..self.next + ahead(right, r.rcv_nxt);
            let came = self.came.iter().any(|came| came.start <= block.start && block.end <= came.end);
            assert!(came && block.start > self.next, "SACK {block:?} of {:?}", self.came);
        }
        match segment.payload {
            Some(payload) => {
                assert_eq!(segment.seq.wrapping_add(u32::from(payload.before_end)), self.request_end);
                assert!(0 < payload.len && payload.len <= payload.before_end && payload.len <= 1460);
                if segment.seq != r.snd_una {
                    self.follows(path, before, event, segment);
                }
                assert_eq!(bits & flag::PSH != 0, payload.len == payload.before_end);
            }
            None if bits & flag::FIN == 0 => {
                let edge = r.snd_una.wrapping_add(r.snd_wnd);
                let next = r.snd_nxt();
                assert_eq!(segment.seq, if ahead(next, edge) > 0 { edge } else { next });
                let owed = matches!(event, Event::Flush | Event::Timer) && before.has(Flags::ACK_DUE);
                let update = matches!(event, Event::Window { open: true }) && before.has(Flags::SHUT);
                assert!(owed || update, "a bare ACK that was not owed");
            }
            None => {}
        }
        if bits & flag::FIN != 0 {
            let len = segment.payload.map_or(0, |payload| u32::from(payload.len));
            assert_eq!(segment.seq.wrapping_add(len).wrapping_add(1), r.snd_nxt(), "FIN is the last number");
        }
    }

    /// A segment behind others that are in flight: new, within the burst and the peer's window, and not while
    /// anything is sent again.
    fn follows(&self, path: &Path, before: &Record, event: &Event, segment: &Segment) {
        let r = &self.record;
        assert!(matches!(event, Event::Flush));
        assert_eq!(segment.seq, before.snd_una.wrapping_add(u32::from(before.in_flight)));
        assert!(r.in_flight > before.in_flight && !before.has(Flags::FIN_OUT));
        assert!(!r.has(Flags::RETRANSMITTED) && !r.has(Flags::PERSIST));
        let most = u32::from(path.burst) * u32::from(r.mss);
        assert!(u32::from(r.in_flight) <= r.snd_wnd.min(most), "{} bytes are out: {r:?}", r.in_flight);
        assert_eq!((r.sent, r.deadline), (before.sent, before.deadline), "the timer is the first segment's");
    }

    /// What waits has a timer.
    fn timers(&self, r: &Record) {
        let waits =
            r.left > 0 || r.snd_nxt() != r.snd_una || r.has(Flags::FIN_DUE) || r.state == State::TimeWait;
        assert_eq!(waits, r.has(Flags::TIMED), "{r:?}");
        assert!(!r.has(Flags::ACK_NOW) || r.has(Flags::ACK_DUE));
        assert!(r.next_deadline().is_some() || !matches!(r.state, State::FinWait2) || r.has(Flags::ASKED));
        if !r.has(Flags::TIMED) {
            assert_eq!(r.deadline, Millis::default());
        }
    }
}

fn within(event: &Event, skip: u32, len: u32) {
    let Event::Segment(segment) = event else { panic!("text of no segment") };
    assert!(len > 0 && u64::from(skip) + u64::from(len) <= u64::from(segment.len));
}

#[test]
fn random_events_keep_the_rules() {
    let seed = std::env::var("TARE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(9293);
    println!("TARE_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let keeps = |at: usize| at.is_multiple_of(2).then(Further::default);
    let mut sessions: [Watch; SESSIONS] =
        std::array::from_fn(|at| Watch { further: keeps(at), ..Watch::default() });
    let mut most = 0;
    let mut path = Path::v4(1500);
    let mut now = 0;
    let mut log = Vec::new();
    for _ in 0..EVENTS {
        now = later(&mut random, now);
        let which = random.usize(..SESSIONS);
        if random.u32(..50) == 0 {
            path.burst = burst(&mut random);
        }
        let event = event(&mut random, &sessions[which].record);
        let made = sessions[which].does(&path, event, Time::from_micros(now));
        most = most.max(sessions[which].further.map_or(0, |further| further.iter().count() + 1));
        if which == 0 {
            log.push((path, event, now, made));
        }
        for notice in made.notices.iter() {
            if let Notice::Rtt { micros } = notice {
                path.sample(*micros);
            }
        }
    }
    for session in &mut sessions {
        session.does(&path, Event::Abort, Time::from_micros(now));
        assert_eq!(session.asked, session.ended, "each departure has one outcome");
        assert_eq!(session.opened, session.closed);
        // The random peer gets somewhere: otherwise this test would say nothing.
        assert!(session.asked > EVENTS as u64 / 1000, "{} requests", session.asked);
    }
    assert!((8..=INTERVALS).contains(&most), "{most} intervals at once");
    // The first session alone: what came for the others changed nothing of it.
    let (mut record, mut further) = (Record::default(), keeps(0));
    for (path, event, now, made) in log {
        let again = steps(&path, record, &mut further, event, Time::from_micros(now));
        assert_eq!(again, made);
        record = again.record;
    }
}

/// Any record at all: nothing panics, whatever a memory error or a bug of the owner made of it.
#[test]
fn no_record_makes_it_panic() {
    let mut random = fastrand::Rng::with_seed(64);
    let mut session = Record::default();
    for _ in 0..EVENTS / 10 {
        session = crate::random::record(&mut random);
        let event = event(&mut random, &session);
        let path = Path { burst: burst(&mut random), ..Path::v4(1500) };
        let mut further = Further::default();
        for _ in 0..random.usize(..INTERVALS) {
            further.push(random.u32(..), random.u32(..) >> random.u32(..32));
        }
        let now = Time::from_micros(random.u64(..));
        session = steps(&path, session, &mut random.bool().then_some(further), event, now).record;
    }
    assert!(session.next_deadline().is_some() || session.next_deadline().is_none());
}
