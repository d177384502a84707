//! Frames that a script finishes: a burst of the next ones is made by the template, given to the script, and
//! kept until each leaves.
//!
//! ```text
//!   departures ─► template ─► room of the script ─► burst(b) ─► checksums ─► kept ─► slot of the port
//!                 └───────────────────── its time, and so the thread's ────────┘     └ signature
//! ```
//!
//! The thread that sends does all this: while a script is at work, nothing leaves, and what leaves late for it
//! is counted ([`Blame`]).

use super::outlet::Looks;
use super::streams::Due;
use clock::Clock;
use measure::packets::ScriptReport;
use plan::packets::send::ScriptPlan;
use script::{Place, Script, ScriptError};
use std::collections::VecDeque;
use units::{Instant, Picos};
use wire::{Signature, Times};

pub use script::MOST;

/// Calls that are remembered: a thread that is further behind is told by these.
const REMEMBERED: usize = 4_096;

/// When a call went on.
#[derive(Clone, Copy, Debug)]
struct Call {
    from: Instant,
    until: Instant,
}

/// The script's part of the time in which frames became late.
#[derive(Debug, Default)]
struct Blame {
    /// Calls that ended after the due time of what was late last, ascending.
    calls: VecDeque<Call>,
    /// Their time together.
    time: Picos,
}

impl Blame {
    /// A call has ended, which was for frames that are due from `due` on.
    fn called(&mut self, call: Call, due: Instant) {
        self.forget_before(due);
        if self.calls.len() == REMEMBERED {
            self.forget_first();
        }
        self.time += call.until.since(call.from);
        self.calls.push_back(call);
    }

    fn forget_first(&mut self) {
        if let Some(first) = self.calls.pop_front() {
            self.time = self.time.saturating_sub(first.until.since(first.from));
        }
    }

    fn forget_before(&mut self, due: Instant) {
        while self.calls.front().is_some_and(|call| call.until <= due) {
            self.forget_first();
        }
    }

    /// Whether calls took at least half of the time from `due` until `sent`, as far back as they are known.
    fn is_of(&mut self, due: Instant, sent: Instant) -> bool {
        self.forget_before(due);
        let Some(first) = self.calls.front() else { return false };
        let time = self.time.saturating_sub(due.since(first.from));
        let lateness =
            if self.calls.len() == REMEMBERED { sent.since(due.max(first.from)) } else { sent.since(due) };
        time.as_picos() >= lateness.as_picos() / 2
    }
}

/// See the module.
pub struct Scripted {
    script: Script,
    origin: Instant,
    /// Numbers of the frames that the room has, ascending.
    made: Vec<u64>,
    /// What the template left in each frame's room.
    marks: [u64; MOST],
    blame: Blame,
    report: ScriptReport,
}

impl Scripted {
    /// Reads the script for the thread of one queue; the functions in it have not been called yet. Frames can
    /// become as long as `longest`, without FCS, unless lengths are `fixed`.
    ///
    /// # Errors
    /// What is wrong with it, with its line.
    pub fn load(
        plan: &ScriptPlan,
        longest: usize,
        queue: u32,
        queues: u32,
        seed: u64,
        fixed: bool,
    ) -> Result<Self, String> {
        let place = Place { queue, queues, seed };
        let mut script = Script::load(&plan.name, &plan.text, longest, &place).map_err(in_words)?;
        if fixed {
            script.room_mut().fix_lengths();
        }
        let report = ScriptReport {
            name: script.name().to_owned(),
            compiled: script.is_compiled(),
            ..ScriptReport::default()
        };
        let blame = Blame { calls: VecDeque::with_capacity(REMEMBERED), ..Blame::default() };
        let (origin, made) = (Instant::EPOCH, Vec::with_capacity(MOST));
        Ok(Self { script, origin, made, marks: [0; MOST], blame, report })
    }

    /// Due times are told from here on.
    pub const fn begin(&mut self, origin: Instant) {
        self.origin = origin;
    }

    pub const fn is_compiled(&self) -> bool {
        self.report.compiled
    }

    /// Makes the first of these frames, unless they are made already, and says how many of them are.
    ///
    /// # Errors
    /// What the script raised: there will be no more frames.
    pub fn prepare(&mut self, looks: &Looks, due: &[Due], clock: &impl Clock) -> Result<usize, String> {
        let Some(first) = due.first() else { return Ok(0) };
        if let Some(at) = self.place_of(first.departure.seq) {
            let there = due.iter().zip(&self.made[at..]);
            return Ok(there.take_while(|(due, made)| due.departure.seq == **made).count());
        }
        let due = &due[..due.len().min(MOST)];
        let from = clock.now();
        self.made.clear();
        let written = self.make(looks, due);
        let call = Call { from, until: clock.now() };
        self.blame.called(call, first.departure.due);
        let time = call.until.since(from);
        self.report.calls += 1;
        self.report.time_ns += time.as_nanos();
        self.report.longest_ns = self.report.longest_ns.max(time.as_nanos());
        if let Err(problem) = &written {
            self.report.failed = Some(problem.clone());
        } else {
            self.made.extend(due.iter().map(|due| due.departure.seq));
            self.report.frames += due.len() as u64;
        }
        written.map(|()| due.len())
    }

    /// Where the room has a frame. Mostly numbers follow each other.
    #[inline]
    fn place_of(&self, seq: u64) -> Option<usize> {
        let guess = seq.checked_sub(*self.made.first()?)? as usize;
        if self.made.get(guess) == Some(&seq) {
            return Some(guess);
        }
        self.made.binary_search(&seq).ok()
    }

    fn make(&mut self, looks: &Looks, due: &[Due]) -> Result<(), String> {
        for (index, (due, mark)) in due.iter().zip(&mut self.marks).enumerate() {
            let room = self.script.room_mut();
            let length = looks.write_plain(due, Times::default(), room.room_mut(index), mark);
            room.set_length(index, length);
            let since = due.departure.due.since(self.origin).as_picos() as f64 / 1e3;
            room.describe(index, due.departure.seq, since, looks.stream_of(due) as u32);
        }
        self.script.call(due.len()).map_err(in_words)?;
        for (index, (due, mark)) in due.iter().zip(&mut self.marks).enumerate() {
            let room = self.script.room_mut();
            let written = room.written(index);
            if written.is_touched || written.is_resized {
                *mark = 0;
                let frame = room.frame_mut(index);
                match (written.is_as_is, written.is_resized) {
                    (false, is_resized) => wire::finish(frame, is_resized),
                    (true, true) => wire::lengths_to_the_end(frame),
                    (true, false) => {}
                }
            }
            if let Some(stream) = looks.signed_as(due)
                && !signature(stream, looks, due, Times::default()).put(room.frame_mut(index))
            {
                return Err(format!(
                    "{}: frame {} has no room for its signature: leave {} bytes of payload, or omit --sign",
                    self.script.name(),
                    due.departure.seq,
                    wire::signature::LENGTH
                ));
            }
        }
        Ok(())
    }

    /// Frames from this number on have other fields: those that were made ahead are given to the script again.
    pub fn forget_from(&mut self, first: u64) {
        let kept = self.made.partition_point(|made| *made < first);
        self.report.frames -= (self.made.len() - kept) as u64;
        self.made.truncate(kept);
    }

    /// Writes a frame that was made into a room of the port, and returns its length.
    pub fn write(&self, looks: &Looks, due: &Due, times: Times, room: &mut [u8], mark: &mut u64) -> usize {
        let Some(at) = self.place_of(due.departure.seq) else { return 0 };
        let frame = self.script.room().frame(at);
        let Some(room) = room.get_mut(..frame.len()) else { return 0 };
        room.copy_from_slice(frame);
        *mark = 0;
        if let Some(stream) = looks.signed_as(due) {
            signature(stream, looks, due, times).put(room);
        }
        frame.len()
    }

    /// A frame left at `sent`; it is late beyond the tolerance. It is late for the script if that took at least
    /// half of the time since it was due.
    #[inline]
    pub fn left(&mut self, due: Instant, sent: Instant, tolerance: Picos) {
        if sent.since(due) > tolerance {
            self.report.late += u64::from(self.blame.is_of(due, sent));
        }
    }

    pub fn report(&self) -> ScriptReport {
        self.report.clone()
    }
}

fn signature(stream: u16, looks: &Looks, due: &Due, times: Times) -> Signature {
    let Times { due_unix_ns, sent_unix_ns } = times;
    Signature { stream, seq: looks.signed_number_of(due.departure.seq), due_unix_ns, sent_unix_ns }
}

fn in_words(error: ScriptError) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests;
