//! What a session knows of the module, by what it said: pure, so that every answer can be tried without one.
//!
//! ```text
//!   credit ───► granted − used = beats of room          error ──► the frame it refuses was not sent
//!   departed ─► whose frame that was, when it began     received ─► the queue of each handle that listens
//! ```

use super::link::{self, Head, Said, Why, kind};
use super::time::Captured;
use super::transport::Bell;
use crate::{Departed, Stamp};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// Frames that may wait for a handle that does not read them.
pub(super) const MOST_ARRIVED: usize = 8_192;
/// Departures that may wait for whoever asked for them.
pub(super) const MOST_DEPARTED: usize = 1 << 20;
/// Frames under way of which no departure was told yet. A module has room for far fewer.
pub(super) const MOST_PENDING: usize = 1 << 16;
/// Buffers that are kept to be used again.
pub(super) const MOST_SPARE: usize = 256;

/// What an answer brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Hello { build: u32, layout: u32, magic: u32 },
    Words(Vec<(u32, u32)>),
    Written,
    Marked { tick: u64 },
    Refused { why: Why, value: u64 },
}

/// A frame that was handed to the module and of which nothing was heard yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    /// Its number on the link.
    pub number: u16,
    pub owner: usize,
    /// Its place among those taken from the owner.
    pub place: u64,
    pub launch: Stamp,
    /// On the link, with what was added to the shortest.
    pub bytes: usize,
    /// As it was taken.
    pub length: usize,
}

/// A frame that came.
#[derive(Debug, Default)]
pub(super) struct Arrived {
    pub stamp: Stamp,
    pub lost_before: u32,
    pub data: Vec<u8>,
}

/// One of the ports that share the module.
#[derive(Debug)]
pub(super) struct Handle {
    pub listens: bool,
    pub wants_departures: bool,
    pub arrived: VecDeque<Arrived>,
    /// Frames that came while there was no room.
    pub left_out: u64,
    left_out_lately: u32,
    /// Frames of the link that never came: each may have told of a received one.
    pub unheard: u64,
    /// Frames of the link that the kernel dropped.
    dropped: u64,
    pub departed: VecDeque<Departed>,
    /// Frames that the module refused, and their bytes.
    pub refused: u64,
    pub refused_bytes: u64,
    /// Frames that the link lost on the way there, and their bytes.
    pub lost: u64,
    pub lost_bytes: u64,
    /// Rings while frames are there to be read.
    pub bell: Arc<Bell>,
}

impl Handle {
    pub fn new(listens: bool, wants_departures: bool, bell: Arc<Bell>) -> Self {
        Self {
            listens,
            wants_departures,
            arrived: VecDeque::new(),
            left_out: 0,
            left_out_lately: 0,
            unheard: 0,
            dropped: 0,
            departed: VecDeque::new(),
            refused: 0,
            refused_bytes: 0,
            lost: 0,
            lost_bytes: 0,
            bell,
        }
    }
}

impl Handle {
    /// Reports that were lost on the link, or by the kernel: what it drops is a gap in the numbers, too, once
    /// something comes behind it.
    pub fn lost_reports(&self) -> u64 {
        self.unheard.max(self.dropped)
    }
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Why nothing goes any more.
    pub over: Option<String>,
    /// Answers that are waited for, by the number of what they answer.
    pub waiting: HashMap<u16, Option<Answer>>,
    /// Beats, since hello.
    pub granted: u64,
    pub used: u64,
    pub pending: VecDeque<Pending>,
    /// Departures that were told, or left out, since hello.
    departures: u64,
    /// Departures of which nothing was told.
    pub untold: u64,
    /// Of the next frame that the module sends unasked, when one has come since hello.
    next: Option<u16>,
    pub handles: BTreeMap<usize, Handle>,
    pub spare: Vec<Vec<u8>>,
    pub wire_is_down: bool,
    /// What the module says of its wire's link does not count.
    pub trusts_wire: bool,
    /// Received frames that were bad, of all handles together.
    pub bad: u64,
    /// What was told to be wrong: how often, and the last in words.
    pub errors: BTreeMap<u8, u64>,
    pub last_error: Option<String>,
    pub time: Captured,
}

impl State {
    /// Beats of room that the module has told of.
    pub fn room(&self) -> u64 {
        self.granted.saturating_sub(self.used)
    }

    /// A new conversation: what belonged to the one before is gone.
    fn begin(&mut self) {
        (self.granted, self.used, self.departures) = (0, 0, 0);
        self.pending.clear();
        self.next = None;
    }

    /// A frame is on its way to the module.
    pub fn sent(&mut self, pending: Pending) {
        self.used += link::beats(pending.bytes);
        if self.pending.len() == MOST_PENDING {
            self.pending.pop_front();
            self.departures += 1;
            self.untold += 1;
        }
        self.pending.push_back(pending);
    }

    /// The frame that was sent last did not go: the link took it not.
    pub fn unsent(&mut self) {
        if let Some(pending) = self.pending.pop_back() {
            self.used = self.used.saturating_sub(link::beats(pending.bytes));
        }
    }

    /// Whether something of this handle is still to leave, or to be told of.
    pub fn has_pending(&self, owner: usize) -> bool {
        self.pending.iter().any(|pending| pending.owner == owner)
    }

    /// Takes in what the module said.
    pub fn hear(&mut self, head: &Head, said: Said<'_>) {
        if is_unasked(&said) {
            self.follow(head.number);
        }
        match said {
            Said::Hello { build, layout, magic } => {
                // What came before was of the conversation before.
                self.begin();
                self.answer(head.number, Answer::Hello { build, layout, magic });
            }
            Said::Read(body) => self.answer(head.number, Answer::Words(link::read_words(body).collect())),
            Said::Written(_) => self.answer(head.number, Answer::Written),
            // A mark is the number of the frame that set it.
            Said::Marked { mark, tick } => self.answer(mark, Answer::Marked { tick }),
            Said::Credit { total, .. } => self.credit(total),
            Said::Error { why, kind, value } => self.wrong(head.number, why, kind, value),
            Said::Received { bad, tick, frame } => self.received(bad, tick, frame),
            Said::Departed { reports, .. } => {
                link::reports(reports).for_each(|report| self.departed(&report))
            }
        }
    }

    /// The kernel dropped so many frames of the link.
    pub fn dropped(&mut self, frames: u64) {
        for handle in self.handles.values_mut().filter(|handle| handle.listens) {
            handle.dropped += frames;
        }
    }

    /// Frames that nobody asked for are numbered: what their numbers skip was lost on the link, or by the
    /// kernel before it was read.
    fn follow(&mut self, number: u16) {
        let skipped = self.next.map_or(0, |next| number.wrapping_sub(next));
        // One that is behind came late.
        if skipped > u16::MAX / 2 {
            return;
        }
        self.next = Some(number.wrapping_add(1));
        for handle in self.handles.values_mut().filter(|handle| handle.listens) {
            handle.unheard += u64::from(skipped);
            handle.left_out_lately = handle.left_out_lately.saturating_add(skipped.into());
        }
    }

    /// Sums of credits are told modulo 2⁴⁸; one that is behind came late.
    fn credit(&mut self, total: u64) {
        let more = total.wrapping_sub(self.granted) % link::CREDITS;
        if more < link::CREDITS / 2 {
            self.granted += more;
        }
    }

    /// Only what is waited for is kept.
    fn answer(&mut self, number: u16, answer: Answer) {
        if let Some(place) = self.waiting.get_mut(&number) {
            *place = Some(answer);
        }
    }

    /// The module says whether its wire has a link.
    pub fn wire(&mut self, is_up: bool) {
        self.wire_is_down = !is_up && !self.trusts_wire;
    }

    fn wrong(&mut self, number: u16, why: Why, of: u8, value: u64) {
        if why == Why::Wire {
            self.wire(value != 0);
        }
        *self.errors.entry(why.number()).or_default() += 1;
        self.last_error = Some(why.says(value));
        if why == Why::Lost {
            self.lost(value as u16, number);
        }
        // These refuse nothing: what was asked for was done as far as it could be.
        if !matches!(why, Why::Lost | Why::Address | Why::Silent | Why::Wire) {
            match of {
                kind::FRAME => self.refused(number),
                _ => self.answer(number, Answer::Refused { why, value }),
            }
        }
    }

    /// A frame that the module did not take: it used no credits and will not leave.
    fn refused(&mut self, number: u16) {
        let Some(at) = self.pending.iter().position(|pending| pending.number == number) else { return };
        let Some(pending) = self.pending.remove(at) else { return };
        self.used = self.used.saturating_sub(link::beats(pending.bytes));
        if let Some(handle) = self.handles.get_mut(&pending.owner) {
            handle.refused += 1;
            handle.refused_bytes += pending.length as u64;
        }
    }

    /// The module expected one number and heard another: what lies between never came, used no room there and
    /// will not leave.
    fn lost(&mut self, expected: u16, heard: u16) {
        let missing = heard.wrapping_sub(expected);
        let (used, handles) = (&mut self.used, &mut self.handles);
        self.pending.retain(|pending| {
            let is_there = pending.number.wrapping_sub(expected) >= missing;
            if !is_there {
                *used = used.saturating_sub(link::beats(pending.bytes));
                if let Some(handle) = handles.get_mut(&pending.owner) {
                    handle.lost += 1;
                    handle.lost_bytes += pending.length as u64;
                }
            }
            is_there
        });
    }

    fn departed(&mut self, report: &link::Report) {
        // Numbers are counted from hello, modulo 2²⁴: what they skip was left out.
        let skipped = u64::from(report.number).wrapping_sub(self.departures) % link::DEPARTURES;
        for _ in 0..skipped.min(self.pending.len() as u64) {
            self.pending.pop_front();
        }
        self.untold += skipped;
        self.departures += skipped + 1;
        let Some(pending) = self.pending.pop_front() else { return };
        let Some(handle) = self.handles.get_mut(&pending.owner) else { return };
        if !handle.wants_departures {
            return;
        }
        if handle.departed.len() == MOST_DEPARTED {
            self.untold += 1;
            return;
        }
        handle.departed.push_back(Departed {
            number: pending.place,
            launch: pending.launch,
            start: self.time.stamp(report.start_tick),
            late: super::time::TICK.saturating_mul(report.late_ticks),
            into_nothing: self.wire_is_down,
            ..Departed::default()
        });
    }

    fn received(&mut self, bad: bool, tick: u64, frame: &[u8]) {
        if bad {
            self.bad += 1;
            return;
        }
        let stamp = self.time.stamp(tick);
        for handle in self.handles.values_mut().filter(|handle| handle.listens) {
            if handle.arrived.len() == MOST_ARRIVED {
                handle.left_out += 1;
                handle.left_out_lately = handle.left_out_lately.saturating_add(1);
                continue;
            }
            let mut data = self.spare.pop().unwrap_or_default();
            data.clear();
            data.extend_from_slice(frame);
            let lost_before = std::mem::take(&mut handle.left_out_lately);
            if handle.arrived.is_empty() {
                handle.bell.ring();
            }
            handle.arrived.push_back(Arrived { stamp, lost_before, data });
        }
    }

    /// Takes back buffers of frames that were read.
    pub fn give_back(&mut self, read: impl Iterator<Item = Arrived>) {
        let room = MOST_SPARE.saturating_sub(self.spare.len());
        self.spare.extend(read.take(room).map(|arrived| arrived.data));
    }
}

/// Whether the number is the module's own, not that of what it answers (docs/fpga-reference.md).
fn is_unasked(said: &Said<'_>) -> bool {
    match said {
        Said::Hello { .. } | Said::Read(_) | Said::Written(_) => false,
        Said::Error { why, .. } => matches!(why, Why::Silent | Why::Wire),
        Said::Marked { .. } | Said::Credit { .. } | Said::Received { .. } | Said::Departed { .. } => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fpga::link::Report;
    use units::Picos;

    fn state() -> State {
        let bell = Arc::new(Bell::new().unwrap());
        let mut state = State { time: Captured { ns: 0, tick: 0 }, ..State::default() };
        state.handles.insert(7, Handle::new(true, true, bell));
        state
    }

    fn head(number: u16) -> Head {
        Head { to: [0; 6], from: [0; 6], kind: 0, number, detail: 0, value: 0 }
    }

    fn send(state: &mut State, number: u16) {
        state.sent(Pending {
            number,
            owner: 7,
            place: number.into(),
            launch: Stamp(number.into()),
            bytes: 60,
            length: 42,
        });
    }

    fn told(state: &mut State, untold: u64, numbers: &[u32]) {
        let report = |number: &u32| Report { start_tick: 1, late_ticks: 2, number: *number };
        let reports: Vec<u8> = numbers.iter().flat_map(|number| report(number).bytes()).collect();
        state.hear(&head(0), Said::Departed { untold, reports: &reports });
    }

    fn places(state: &State) -> Vec<u64> {
        state.handles[&7].departed.iter().map(|departed| departed.number).collect()
    }

    #[test]
    fn room_is_what_was_granted_less_what_was_used() {
        let mut state = state();
        state.hear(&head(0), Said::Credit { now: 2_048, total: 2_048 });
        send(&mut state, 1);
        assert_eq!(state.room(), 2_040);
        // A grant that comes again, or late, changes nothing.
        state.hear(&head(0), Said::Credit { now: 8, total: 2_056 });
        state.hear(&head(0), Said::Credit { now: 8, total: 2_056 });
        state.hear(&head(0), Said::Credit { now: 8, total: 2_048 });
        assert_eq!(state.room(), 2_048);
    }

    #[test]
    fn what_the_link_lost_on_the_way_here_is_counted_by_the_numbers() {
        let mut state = state();
        let received = |state: &mut State, number: u16| {
            state.hear(&head(number), Said::Received { bad: false, tick: 1, frame: &[0; 60] });
            let handle = &state.handles[&7];
            (handle.unheard, handle.arrived.back().unwrap().lost_before)
        };
        assert_eq!(received(&mut state, u16::MAX - 1), (0, 0));
        assert_eq!(received(&mut state, u16::MAX), (0, 0));
        // 0 and 1 are missing, and 3.
        assert_eq!(received(&mut state, 2), (2, 2));
        assert_eq!(received(&mut state, 4), (3, 1));
        // Answers have the numbers of what they answer.
        state.hear(&head(900), Said::Written(1));
        state.hear(&head(900), Said::Error { why: Why::Address, kind: kind::READ, value: 0 });
        state.hear(&head(5), Said::Error { why: Why::Wire, kind: 0, value: 1 });
        state.hear(&head(6), Said::Marked { mark: 9, tick: 0 });
        // Credits are told again and again, so what is lost last is seen, too.
        state.hear(&head(8), Said::Credit { now: 0, total: 0 });
        assert_eq!(state.handles[&7].unheard, 4);
        // The kernel's drops are gaps, too.
        state.dropped(3);
        assert_eq!(state.handles[&7].lost_reports(), 4);
        state.dropped(3);
        assert_eq!(state.handles[&7].lost_reports(), 6);
        // Late, and a new conversation.
        state.hear(&head(7), Said::Credit { now: 0, total: 0 });
        state.hear(&head(0), Said::Hello { build: 0, layout: 0, magic: 0 });
        assert_eq!(received(&mut state, 100).0, 4);
    }

    #[test]
    fn sums_of_credits_go_round_and_begin_anew_with_hello() {
        let mut state = state();
        state.granted = link::CREDITS - 8;
        state.used = link::CREDITS - 8;
        state.hear(&head(0), Said::Credit { now: 24, total: 16 });
        assert_eq!(state.room(), 24);
        state.hear(&head(0), Said::Hello { build: 0, layout: 0, magic: 0 });
        assert_eq!(state.room(), 0);
        state.hear(&head(0), Said::Credit { now: 5, total: 5 });
        assert_eq!(state.room(), 5);
    }

    #[test]
    fn departures_find_their_frames() {
        let mut state = state();
        (0..6).for_each(|number| send(&mut state, number));
        told(&mut state, 0, &[0, 1]);
        // 2 and 3 were left out.
        told(&mut state, 2, &[4]);
        assert_eq!((places(&state), state.untold), (vec![0, 1, 4], 2));
        let departed = state.handles[&7].departed[2];
        assert_eq!((departed.launch, departed.late), (Stamp(4), Picos::from_nanos(16)));
        assert!(state.has_pending(7));
        told(&mut state, 2, &[5]);
        assert!(!state.has_pending(7));
        // One more than there were frames: somebody else's.
        told(&mut state, 2, &[6]);
        assert_eq!(places(&state), [0, 1, 4, 5]);
    }

    #[test]
    fn numbers_of_departures_go_round() {
        let mut state = state();
        state.departures = link::DEPARTURES - 2;
        (0..5).for_each(|number| send(&mut state, number));
        let last = (link::DEPARTURES - 1) as u32;
        // The one before the last was left out.
        told(&mut state, 1, &[last, 0, 1]);
        assert_eq!((places(&state), state.untold), (vec![1, 2, 3], 1));
    }

    #[test]
    fn a_frame_that_is_refused_gives_its_credits_back_and_does_not_leave() {
        let mut state = state();
        state.hear(&head(0), Said::Credit { now: 100, total: 100 });
        (0..3).for_each(|number| send(&mut state, number));
        state.hear(&head(1), Said::Error { why: Why::Length, kind: kind::FRAME, value: 10_000 });
        let handle = &state.handles[&7];
        assert_eq!((state.room(), handle.refused, handle.refused_bytes), (84, 1, 42));
        told(&mut state, 0, &[0, 1]);
        assert_eq!(places(&state), [0, 2]);
        assert_eq!(state.errors[&3], 1);
        assert!(state.last_error.as_ref().unwrap().contains("10000"));
    }

    #[test]
    fn frames_that_the_link_lost_give_their_credits_back_and_do_not_leave() {
        let mut state = state();
        state.hear(&head(0), Said::Credit { now: 100, total: 100 });
        (0..6).for_each(|number| send(&mut state, number));
        // 4 came where 2 was expected; of what came before, all is there.
        state.hear(&head(4), Said::Error { why: Why::Lost, kind: kind::FRAME, value: 2 });
        let handle = &state.handles[&7];
        assert_eq!((state.room(), handle.lost, handle.lost_bytes, handle.refused), (68, 2, 84, 0));
        told(&mut state, 0, &[0, 1, 2, 3]);
        assert_eq!(places(&state), [0, 1, 4, 5]);
        // Numbers go round.
        let mut state = self::state();
        [65_534, 65_535, 0, 1].into_iter().for_each(|number| send(&mut state, number));
        state.hear(&head(1), Said::Error { why: Why::Lost, kind: kind::FRAME, value: 65_535 });
        assert_eq!((state.pending.len(), state.handles[&7].lost), (2, 2));
    }

    #[test]
    fn the_wire_and_silence_refuse_nothing() {
        let mut state = state();
        send(&mut state, 1);
        for (why, value) in [(Why::Wire, 0), (Why::Silent, 0), (Why::Lost, 1)] {
            state.hear(&head(1), Said::Error { why, kind: kind::FRAME, value });
        }
        assert!(state.wire_is_down && state.has_pending(7));
        state.hear(&head(1), Said::Error { why: Why::Wire, kind: 0, value: 1 });
        assert!(!state.wire_is_down);
        // Whoever knows better than the PHY.
        state.trusts_wire = true;
        state.hear(&head(1), Said::Error { why: Why::Wire, kind: 0, value: 0 });
        assert!(!state.wire_is_down);
        state.wire(false);
        assert!(!state.wire_is_down);
    }

    #[test]
    fn what_nobody_reads_is_counted() {
        let mut state = state();
        for _ in 0..MOST_ARRIVED + 3 {
            state.hear(&head(0), Said::Received { bad: false, tick: 5, frame: &[1; 60] });
        }
        state.hear(&head(0), Said::Received { bad: true, tick: 5, frame: &[1; 60] });
        let handle = state.handles.get_mut(&7).unwrap();
        assert_eq!((handle.arrived.len(), handle.left_out), (MOST_ARRIVED, 3));
        let read: Vec<Arrived> = handle.arrived.drain(..).collect();
        assert_eq!(read[0].stamp, Captured::default().stamp(5));
        state.give_back(read.into_iter());
        assert_eq!((state.spare.len(), state.bad), (MOST_SPARE, 1));
        state.hear(&head(0), Said::Received { bad: false, tick: 6, frame: &[2; 70] });
        let next = state.handles.get_mut(&7).unwrap().arrived.pop_front().unwrap();
        assert_eq!((next.lost_before, next.data.len()), (3, 70));
    }

    #[test]
    fn answers_nobody_waits_for_are_not_kept() {
        let mut state = state();
        state.hear(&head(9), Said::Written(1));
        assert!(state.waiting.is_empty());
        state.waiting.insert(9, None);
        state.hear(&head(9), Said::Error { why: Why::Length, kind: kind::READ, value: 9 });
        assert_eq!(state.waiting[&9], Some(Answer::Refused { why: Why::Length, value: 9 }));
        // This comes behind the answer and does not spoil it.
        state.hear(&head(9), Said::Written(1));
        state.hear(&head(9), Said::Error { why: Why::Address, kind: kind::WRITE, value: 0xffc });
        assert_eq!(state.waiting[&9], Some(Answer::Written));
    }
}
