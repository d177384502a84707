//! What signatures tell at the receiver: loss, duplicates, order, damage and the way's duration.
//!
//! ```text
//! frame ─ Reader ─► Mark ─ Signed::note ─┬─► window of numbers ─► lost, twice, behind
//!                                        ├─► received − sent ───► one-way times, the slowest
//!                                        └─► incidents, in words
//! ```
//!
//! Numbers run over the whole schedule, so a loss is known whichever stream it was of. Memory is fixed: a
//! number that is [`Settings::span`] behind the highest and was not seen is lost, and one that comes later than
//! that is counted apart.
//!
//! Several threads may each read marks and note them in one `Signed` behind a lock, taken once a batch; order
//! is judged within each queue, and among the frames of each thread that sent them where that is known, since
//! nobody knows it across them.

mod incidents;
mod mark;
mod mixed;
mod slow;
mod times;
mod window;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use mark::{Damage, Mark, Reader};

use incidents::{Incident, Incidents, What};
use measure::packets::{ReceivedReport, StreamRow};
use mixed::SentTimes;
use port::{Frame, Stamp};
use std::sync::Arc;
use times::Times;
use units::Picos;
use window::{Place, Window};
use wire::Signature;
use wire::signature::{SEQUENCES, STREAMS};

/// The stream of each number, where the receiver knows the sender's template.
pub type StreamOf = Arc<dyn Fn(u64) -> u16 + Send + Sync>;

/// How signatures are read.
#[derive(Clone, Default)]
pub struct Settings {
    /// The first number that is expected; `None` is the first that comes.
    pub from: Option<u64>,
    /// Numbers that are remembered; 0 is [`SPAN`].
    pub span: u64,
    pub streams: Option<StreamOf>,
    /// Leave checksums of IP, UDP and TCP alone.
    pub trusting: bool,
    /// The number of the first frame in signatures, see [`drawn_base`]; numbers here are without it. `None`
    /// where nobody knows it.
    pub base: Option<u64>,
    pub senders: Senders,
}

/// How the threads that send share the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Senders {
    /// There is one thread, or nobody knows.
    #[default]
    One,
    /// So many threads have a number each in turn.
    InTurns(u64),
    /// A thread takes so many numbers at once.
    InBlocks(u64),
}

/// Blocks that are told apart: far more than are sent at a time.
const BLOCKS: u64 = 64;

impl Senders {
    /// Frames of which order is judged together: those of one thread.
    fn order(self, number: u64, queue: usize) -> usize {
        match self {
            Self::One => queue,
            Self::InTurns(threads) => (number % threads) as usize,
            Self::InBlocks(numbers) => (number / numbers % BLOCKS) as usize,
        }
    }
}

/// A run whose receiver is in the same process counts its signatures from a random number on: whatever else
/// on the link is signed has numbers far away.
pub fn drawn_base() -> u64 {
    std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), ()) % SEQUENCES
}

/// The number of a signature counted from `base` on.
#[inline]
pub const fn from_base(seq: u64, base: u64) -> u64 {
    seq.wrapping_sub(base) % SEQUENCES
}

/// 262 144 numbers are 32 KiB: a tenth of a second at 2.6 M/s.
pub const SPAN: u64 = 1 << 18;

/// So many numbers from the past, one after another and due later than all before, are another run of the
/// sender.
const RESTART: u32 = 32;
/// Nobody sends more than one frame in four nanoseconds, but for so many that may leave at once.
const FASTEST_NS: u64 = 4;
const EARLY: u64 = 1 << 20;
/// Losses in one go of which each is asked for its stream.
const ASKED: u64 = 1 << 20;

/// See the module.
pub struct Signed {
    reader: Reader,
    settings: Settings,
    window: Window,
    counts: Counts,
    streams: Box<[StreamCounts; STREAMS]>,
    /// For each queue the highest number that came there.
    highest: Vec<u64>,
    /// Damaged frames without a number since the last good one.
    nameless: u64,
    /// Where the base is known, so many frames can have been sent; what has a higher number is another run's.
    most: u64,
    /// There, too: the highest number so far, and when its frame was sent.
    latest: Option<(u64, u64)>,
    foreign: u64,
    /// Numbers from the past in a row, of frames that were due later than all before, and the latest due time.
    old_in_a_row: u32,
    latest_due: u64,
    sent_times: SentTimes,
    /// Numbers from the past that no sender that began anew explains: they came between others. Two runs are
    /// received, of which one is far ahead.
    mixed: u64,
    times: Times,
    incidents: Incidents,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    signed: u64,
    unsigned: u64,
    lost: u64,
    outstanding: u64,
    duplicated: u64,
    reordered: u64,
    corrupted: u64,
    merged: u64,
    too_old: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct StreamCounts {
    received: u64,
    lost: u64,
    duplicated: u64,
    reordered: u64,
}

impl Signed {
    pub fn new(settings: Settings) -> Self {
        let span = if settings.span == 0 { SPAN } else { settings.span };
        Self {
            reader: Reader::new(settings.trusting).with_numbers(settings.base.is_some()),
            window: Window::new(span, settings.from),
            sent_times: SentTimes::new(span),
            mixed: 0,
            settings,
            counts: Counts::default(),
            streams: Box::new([StreamCounts::default(); STREAMS]),
            highest: Vec::new(),
            nameless: 0,
            most: u64::MAX,
            latest: None,
            foreign: 0,
            old_in_a_row: 0,
            latest_due: 0,
            times: Times::new(),
            incidents: Incidents::default(),
        }
    }

    /// Reads a frame and notes what it says, for one queue.
    #[inline]
    pub fn frame(&mut self, frame: &Frame<'_>) -> Mark {
        let mark = match self.settings.base {
            None => self.reader.read(frame),
            Some(base) => self.own(frame, base),
        };
        self.note(&mark, frame.stamp, 0);
        mark
    }

    pub fn lasts(&mut self, so_far: Picos) {
        self.most = so_far.as_nanos() / FASTEST_NS + EARLY;
    }

    /// Frames with signatures of another run are strangers.
    #[inline]
    fn own(&mut self, frame: &Frame<'_>, base: u64) -> Mark {
        let before = self.reader;
        let mut mark = self.reader.read(frame);
        if let Mark::Signed(signature) | Mark::Merged(signature) | Mark::Broken(signature, _) = &mut mark {
            signature.seq = from_base(signature.seq, base);
            if signature.seq >= self.most || self.is_too_far(signature) {
                self.reader = before;
                self.foreign += 1;
                return Mark::Plain;
            }
        }
        if let Mark::Signed(signature) = &mark
            && self.latest.is_none_or(|(highest, _)| signature.seq > highest)
        {
            self.latest = Some((signature.seq, signature.sent_unix_ns));
        }
        mark
    }

    /// Whether no sender could have come so far since it sent the latest frame that arrived.
    #[inline]
    fn is_too_far(&self, signature: &Signature) -> bool {
        let Some((highest, sent_unix_ns)) = self.latest else { return false };
        let since = signature.sent_unix_ns.saturating_sub(sent_unix_ns);
        signature.seq.saturating_sub(highest) > since / FASTEST_NS + EARLY
    }

    /// Notes a frame that came to this queue; `stamp` may be none.
    #[inline]
    pub fn note(&mut self, mark: &Mark, stamp: Stamp, queue: usize) {
        match mark {
            Mark::Signed(signature) => self.signed(signature, stamp, queue, None),
            Mark::Merged(signature) => {
                self.counts.merged += 1;
                self.signed(signature, stamp, queue, None);
            }
            Mark::Broken(signature, damage) => self.signed(signature, stamp, queue, Some(*damage)),
            Mark::Damaged => {
                self.counts.corrupted += 1;
                self.nameless += 1;
            }
            Mark::Plain => self.counts.unsigned += 1,
        }
    }

    #[inline]
    fn signed(&mut self, signature: &Signature, stamp: Stamp, queue: usize, damage: Option<Damage>) {
        self.counts.signed += 1;
        let stream = signature.stream;
        self.streams[usize::from(stream) % STREAMS].received += 1;
        let took = (stamp.0 > 0).then(|| stamp.0.wrapping_sub(signature.sent_unix_ns) as i64);
        let place = match self.unwrapped(signature.seq) {
            Some(number) => {
                let queue = self.settings.senders.order(number, queue);
                let place = self.place(number, queue);
                self.sent_times.note(place, number, signature);
                if let Some(damage) = damage {
                    self.damaged(Some(stream), number, damage.words());
                }
                self.judge(place, number, stream, queue, took);
                // The way of a frame is that of its first copy (RFC 7679, section 3.4).
                if let Some(took) = took.filter(|_| place != Place::Again) {
                    self.times.add(took, number, stream);
                }
                place
            }
            None => Place::TooOld,
        };
        match place {
            Place::TooOld => self.too_old(signature, queue),
            _ => {
                self.mixed += u64::from(std::mem::take(&mut self.old_in_a_row));
                self.latest_due = self.latest_due.max(signature.due_unix_ns);
            }
        }
    }

    /// The number in full: signatures carry it modulo 2⁴⁰. `None` is one before the first of all.
    #[inline]
    fn unwrapped(&self, seq: u64) -> Option<u64> {
        let near = self.window.highest().or(self.settings.from).unwrap_or(seq);
        // The difference modulo 2⁴⁰, as a signed number.
        let ahead = (seq.wrapping_sub(near) << 24) as i64 >> 24;
        debug_assert!(ahead.unsigned_abs() < SEQUENCES);
        near.checked_add_signed(ahead)
    }

    #[inline]
    fn place(&mut self, number: u64, queue: usize) -> Place {
        if self.nameless > 0 {
            self.name_damaged(number);
        }
        let Self { window, counts, streams, settings, incidents, .. } = self;
        let mut lost = |first, count| note_loss(counts, streams, settings, incidents, first, count);
        let place = window.see(number, &mut lost);
        if queue >= self.highest.len() {
            self.highest.resize(queue + 1, 0);
        }
        place
    }

    /// What was damaged between two good frames were those that are missing there, if they are as many.
    #[cold]
    fn name_damaged(&mut self, next: u64) {
        let nameless = std::mem::take(&mut self.nameless);
        let Some(highest) = self.window.highest() else { return };
        if next == highest + nameless + 1 {
            for number in highest + 1..next {
                self.window.see(number, &mut |_, _| {});
                let stream = self.settings.streams.as_ref().map(|of| of(number));
                self.damaged_is_told(stream, number, "its signature cannot be read");
            }
        }
    }

    #[cold]
    fn damaged(&mut self, stream: Option<u16>, number: u64, how: &'static str) {
        self.counts.corrupted += 1;
        self.damaged_is_told(stream, number, how);
    }

    fn damaged_is_told(&mut self, stream: Option<u16>, number: u64, how: &'static str) {
        self.incidents.add(Incident { stream, number, what: What::Damaged { how } });
    }

    #[inline]
    fn judge(&mut self, place: Place, number: u64, stream: u16, queue: usize, took: Option<i64>) {
        let highest = self.highest[queue].max(number);
        let was = std::mem::replace(&mut self.highest[queue], highest);
        match place {
            Place::Ahead | Place::TooOld => {}
            Place::Again => {
                self.counts.duplicated += 1;
                self.streams[usize::from(stream) % STREAMS].duplicated += 1;
                self.incidents.add(Incident { stream: Some(stream), number, what: What::Twice });
            }
            // Behind another queue's is no disorder.
            Place::Behind if was > number => {
                self.counts.reordered += 1;
                self.streams[usize::from(stream) % STREAMS].reordered += 1;
                let what = What::After { highest: was, took };
                self.incidents.add(Incident { stream: Some(stream), number, what });
            }
            Place::Behind => {}
        }
    }

    /// Too old to be known: a straggler, or the sender began anew.
    #[cold]
    fn too_old(&mut self, signature: &Signature, queue: usize) {
        let is_later = signature.due_unix_ns > self.latest_due;
        match is_later {
            true => self.old_in_a_row += 1,
            false => self.mixed += u64::from(std::mem::take(&mut self.old_in_a_row)),
        }
        let stream = Some(signature.stream);
        if self.old_in_a_row < RESTART {
            self.counts.too_old += 1;
            if !is_later {
                self.incidents.add(Incident { stream, number: signature.seq, what: What::TooOld });
            }
            return;
        }
        self.settle(None, u64::MAX);
        self.counts.too_old -= u64::from(RESTART - 1);
        self.old_in_a_row = 0;
        self.latest_due = signature.due_unix_ns;
        self.settings.from = None;
        self.window = Window::new(self.window.span(), None);
        self.mixed += self.sent_times.mixed();
        self.sent_times = SentTimes::new(self.window.span());
        self.highest.fill(0);
        self.highest[queue] = signature.seq;
        let number = signature.seq - u64::from(RESTART - 1).min(signature.seq);
        self.incidents.add(Incident { stream: None, number, what: What::Again });
        self.window.see(signature.seq, &mut |_, _| {});
    }

    /// The run is over: whatever did not come is lost, also from the last that came up to (without) `until`.
    pub fn finish(&mut self, until: Option<u64>) {
        self.finish_before(until, u64::MAX);
    }

    /// The same, but numbers from `coming` on may still come: those of them that did not are outstanding, and
    /// not lost.
    pub fn finish_before(&mut self, until: Option<u64>, coming: u64) {
        if self.nameless > 0
            && let Some(next) = self.window.highest().map(|highest| highest + self.nameless + 1)
            && until == Some(next)
        {
            self.name_damaged(next);
        }
        self.settle(until, coming);
    }

    fn settle(&mut self, until: Option<u64>, coming: u64) {
        let Self { window, counts, streams, settings, incidents, .. } = self;
        let mut lost = |first: u64, count: u64| {
            let gone = coming.saturating_sub(first).min(count);
            counts.outstanding += count - gone;
            if gone > 0 {
                note_loss(counts, streams, settings, incidents, first, gone);
            }
        };
        window.finish(until, &mut lost);
    }

    /// Frames that came again.
    pub const fn copies(&self) -> u64 {
        self.counts.duplicated
    }

    /// Frames with a readable signature that came for the first time.
    pub const fn once(&self) -> u64 {
        self.counts.signed.saturating_sub(self.counts.duplicated + self.counts.too_old)
    }

    /// Frames with a readable signature so far.
    pub const fn seen(&self) -> u64 {
        self.counts.signed
    }

    /// The least number that came; before [`Self::finish`].
    pub fn first(&self) -> Option<u64> {
        self.window.first()
    }

    /// What is lost so far: what may still come is not among it before [`Self::finish`].
    pub fn report(&self) -> ReceivedReport {
        let counts = &self.counts;
        let mut incidents = self.incidents.words();
        incidents.extend(self.times.words(|number| self.incidents.tells_order_of(number)));
        if self.foreign > 0 {
            let (frames, have) = if self.foreign == 1 { ("frame", "has") } else { ("frames", "have") };
            incidents.push(format!(
                "{} {frames} {have} a signature of another run, and count as unsigned",
                self.foreign
            ));
        }
        ReceivedReport {
            signed: counts.signed,
            unsigned: counts.unsigned,
            lost: counts.lost,
            outstanding: counts.outstanding,
            duplicated: counts.duplicated,
            reordered: counts.reordered,
            corrupted: counts.corrupted,
            merged: counts.merged,
            too_old: counts.too_old,
            mixed: self.sent_times.mixed() + self.mixed + u64::from(self.old_in_a_row),
            one_way_ns: self.times.spread(),
            incidents,
            streams: self.stream_rows(),
            ..ReceivedReport::default()
        }
    }

    fn stream_rows(&self) -> Vec<StreamRow> {
        let all = self.streams.iter().enumerate().filter(|(_, counts)| counts.received + counts.lost > 0);
        let mut rows: Vec<StreamRow> = all
            .map(|(stream, counts)| StreamRow {
                stream: stream as u16,
                received: counts.received,
                lost: self.settings.streams.is_some().then_some(counts.lost),
                duplicated: counts.duplicated,
                reordered: counts.reordered,
            })
            .collect();
        // Where there is but one stream, the lost ones were its.
        if let ([row], None) = (rows.as_mut_slice(), &self.settings.streams) {
            row.lost = Some(self.counts.lost);
        }
        // Of which of several, only the sender knows.
        if self.counts.lost == 0 {
            rows.iter_mut().for_each(|row| row.lost = Some(0));
        }
        rows
    }
}

#[cold]
fn note_loss(
    counts: &mut Counts,
    streams: &mut [StreamCounts; STREAMS],
    settings: &Settings,
    incidents: &mut Incidents,
    first: u64,
    count: u64,
) {
    counts.lost += count;
    let mut stream = None;
    if let Some(of) = &settings.streams {
        (first..first + count.min(ASKED)).for_each(|n| streams[usize::from(of(n)) % STREAMS].lost += 1);
        stream = (count == 1).then(|| of(first));
    } else {
        let mut seen = streams.iter().enumerate().filter(|(_, counts)| counts.received > 0);
        if let (Some((only, _)), None) = (seen.next(), seen.next()) {
            stream = Some(only as u16);
        }
    }
    incidents.add(Incident { stream, number: first, what: What::Lost { count } });
}
