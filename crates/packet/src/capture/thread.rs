//! The loop of one receiving thread: receive, count, hand over, wait.

use super::tally::Tally;
use crate::JobControl;
use crate::own_clock::OwnClock;
use clock::{Clock, HostClock};
use measure::gap_meter::GapMeter;
use port::{Counters, DropPlace, For, Port, PortError, Stamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use units::{Bytes, EngineCounters, Fate, Instant, Miss, Picos, Record};

/// Frames of one call.
const BATCH: usize = 512;
/// Longest wait, so that a stop is prompt and intervals are handed over in time; and once nothing came for a
/// while, for waking up costs tens of microseconds.
const PATIENCE: Picos = Picos::from_millis(10);
const LONG_PATIENCE: Picos = Picos::from_millis(50);
/// Instead of being woken for each block of AF_PACKET's ring, which holds tens of milliseconds of any rate:
/// wake-ups cost more than frames. Other ports have less room. A nap is as long as its frames are few.
const NAP: Picos = Picos::from_millis(2);
const LONG_NAP: Picos = Picos::from_millis(12);
/// Frames of one nap that are few: an eighth of what the ring holds of the smallest.
const FEW: u64 = 2_048;
/// After this long without a frame the thread waits for one.
const QUIET: Picos = Picos::from_millis(20);
/// How often a silent port is asked whether its interface is still there.
const SILENCE: Picos = Picos::from_millis(200);
/// How often the kernel is asked what it lost.
const ASK: Picos = Picos::from_millis(100);
/// Frames that wait for the disk are handed over after this, so that a file grows while one looks at it.
const STALE: Picos = Picos::from_millis(500);
/// So long after the last frame of a block, the kernel hands it over, and a little.
const RETIRED: Picos = Picos::from_millis(10);
const STEP: std::time::Duration = std::time::Duration::from_millis(1);
/// Frames that are still taken from the port's ring when the time is up.
pub(super) const LAST: u64 = 1 << 20;

/// When a thread ends.
#[derive(Clone)]
pub(super) struct Ending {
    /// `None` is any number of frames.
    pub budget: Option<Arc<Budget>>,
    pub at: Option<Instant>,
}

/// Frames that all threads may take together. A batch is claimed before it is received, so that none is one too
/// many.
pub(super) struct Budget {
    unclaimed: AtomicU64,
    left: AtomicU64,
}

impl Budget {
    pub fn new(frames: u64) -> Self {
        Self { unclaimed: AtomicU64::new(frames), left: AtomicU64::new(frames) }
    }

    fn is_spent(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    fn claim(&self, most: usize) -> usize {
        let rest = |unclaimed: u64| Some(unclaimed.saturating_sub(most as u64));
        let before = self.unclaimed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).unwrap_or(0);
        before.min(most as u64) as usize
    }

    /// Of the frames that were claimed, so many were taken.
    fn settle(&self, claimed: usize, taken: usize) {
        self.left.fetch_sub(taken as u64, Ordering::Relaxed);
        self.unclaimed.fetch_add((claimed - taken) as u64, Ordering::Relaxed);
    }
}

/// What is left of a thread.
pub(super) struct Left {
    pub port: Box<dyn Port>,
    /// What it had counted when the capture began.
    pub before: Counters,
    pub tally: Tally,
    pub failure: Option<PortError>,
    /// Whether the link was down for a while.
    pub was_down: bool,
}

pub(super) struct Receiving {
    pub left: Left,
    pub recorder: Box<dyn Record + Send>,
    pub clock: HostClock,
    pub control: Arc<JobControl>,
    pub ending: Ending,
    /// The time of a port that keeps its own: rows and rates are by it, as stamps are.
    pub own: Option<OwnClock>,
    /// One moment by this clock, and by the kernel that stamps.
    pub stamped: Option<(Instant, Stamp)>,
    /// What the recorder was told last.
    told: Instant,
    counters: EngineCounters,
    /// Lost frames that are recorded.
    lost: u64,
    asked: Instant,
    /// When the last frame came.
    came: Instant,
    /// When the port was last asked about its link.
    looked: Instant,
    naps: bool,
    /// The present length of a nap, and the frames there were when the last one began.
    nap: Picos,
    before: u64,
}

impl Receiving {
    pub fn new(
        left: Left,
        recorder: Box<dyn Record + Send>,
        clock: HostClock,
        control: Arc<JobControl>,
        ending: Ending,
    ) -> Self {
        let (asked, naps) = (clock.now(), left.port.about().kind == "packet");
        let counters = EngineCounters::default();
        let lost = lost_on_the_way(&left.before);
        let (came, looked, nap) = (Instant::EPOCH, asked, NAP);
        Self {
            left,
            recorder,
            clock,
            control,
            ending,
            own: None,
            stamped: None,
            told: Instant::EPOCH,
            counters,
            lost,
            asked,
            came,
            looked,
            naps,
            nap,
            before: 0,
        }
    }

    /// Runs to the end, and returns what is left.
    pub fn run(mut self) -> Left {
        loop {
            let now = self.clock.now();
            if self.control.stops() || self.ending.at.is_some_and(|at| now >= at) {
                self.drain(now);
                break;
            }
            let round = self.round(now).and_then(|got| match got {
                Some(0) => self.idle(now).map(|()| got),
                _ => Ok(got),
            });
            match round {
                Ok(Some(_)) if self.left.tally.is_over => break,
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(PortError::Down { .. }) => self.down(),
                Err(error) => {
                    self.fail(error);
                    break;
                }
            }
            self.housekeep(now);
        }
        self.end();
        self.left
    }

    /// One batch; `None` if no more frames may be taken.
    fn round(&mut self, now: Instant) -> Result<Option<usize>, PortError> {
        let most = self.claim();
        if self.ending.budget.as_ref().is_some_and(|budget| budget.is_spent()) {
            return Ok(None);
        }
        let Left { port, tally, .. } = &mut self.left;
        let before = tally.counts;
        let mut passed = 0;
        let got = port.receive(most, &mut |frame| passed += usize::from(tally.frame(frame, now)));
        let bytes = tally.counts.bytes - before.bytes;
        tally.gap_errors.drain(..).for_each(|error| self.recorder.gap_error(error));
        if let Some(budget) = &self.ending.budget {
            budget.settle(most, passed);
        }
        if got.as_ref().is_ok_and(|got| *got > 0) {
            self.came = now;
        }
        let now = self.moment(now);
        // First, for what is recorded came at the time that was told last.
        if self.own.is_some() {
            self.recorder.tick(now, &self.counters);
        } else if passed > 0 {
            self.told = self.came_at(now).max(self.told);
            self.recorder.tick(self.told, &self.counters);
        }
        if passed > 0 {
            self.recorder.frames(Fate::Received, passed as u64, Bytes::new(bytes));
            self.counters.offered += passed as u64;
            self.counters.due += passed as u64;
            self.counters.wire_in += bytes;
            self.counters.waits += 1;
            self.counters.ready += passed as u64;
        }
        self.recorder.tick(now, &self.counters);
        self.told = now;
        got.map(Some)
    }

    /// When the last frame came, which may have waited in the ring for a while.
    fn came_at(&self, now: Instant) -> Instant {
        let last = self.left.tally.counts.last;
        let Some((at, stamp)) = self.stamped.filter(|_| last != Stamp::NONE) else { return now };
        (at + Picos::from_nanos(last.0.saturating_sub(stamp.0))).min(now)
    }

    /// What the recorder is told of the time: that of the last frame where the port keeps its own.
    fn moment(&self, now: Instant) -> Instant {
        self.own.map_or(now, |own| own.instant(self.left.tally.counts.last))
    }

    /// Frames that this batch may have: none if other threads have claimed all that are left.
    fn claim(&self) -> usize {
        self.ending.budget.as_ref().map_or(BATCH, |budget| budget.claim(BATCH))
    }

    /// Nothing there: what was read so far is handed over, and the thread waits.
    fn idle(&mut self, now: Instant) -> Result<(), PortError> {
        self.left.tally.note();
        if self.naps && now.since(self.came) < QUIET {
            self.nap(now);
            return Ok(());
        }
        if now.since(self.came.max(self.looked)) >= SILENCE {
            self.looked = now;
            if let Some(error) = self.left.port.trouble() {
                return Err(error);
            }
        }
        let patience = if now.since(self.came) < SILENCE { PATIENCE } else { LONG_PATIENCE };
        let left = self.ending.at.map_or(patience, |at| at.since(now).min(patience));
        match self.left.port.wait(For::Receive, left) {
            Ok(_) => {}
            Err(error @ (PortError::Down { .. } | PortError::Gone { .. })) => return Err(error),
            // The next call of receive says what it is.
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
        Ok(())
    }

    /// Sleeps, twice as long as last time if few frames came meanwhile, and shortly again as soon as many did.
    fn nap(&mut self, now: Instant) {
        let frames = self.left.tally.counts.frames + self.left.tally.counts.filtered;
        let came = frames - std::mem::replace(&mut self.before, frames);
        self.nap = if came > FEW { NAP } else { (self.nap + self.nap).min(LONG_NAP) };
        // What comes after the end does not count.
        let left = self.ending.at.map_or(self.nap, |at| at.since(now));
        std::thread::sleep(self.nap.min(left).as_std());
    }

    /// A link that is down may come back.
    fn down(&mut self) {
        self.left.was_down = true;
        std::thread::sleep(PATIENCE.as_std());
    }

    fn housekeep(&mut self, now: Instant) {
        if now.since(self.asked) < ASK {
            return;
        }
        self.asked = now;
        self.note_losses();
        let tally = &mut self.left.tally;
        if let Some(file) = &mut tally.file
            && file.waits_since().is_some_and(|since| now.since(since) >= STALE)
        {
            file.hand_over();
        }
    }

    /// Frames that arrived and never came here.
    fn note_losses(&mut self) {
        let lost = self.left.port.counters().map_or(self.lost, lost_on_the_way);
        let more = lost.saturating_sub(self.lost);
        if more > 0 {
            self.lost = lost;
            self.recorder.missed(Miss::ReceiverFull, more);
            // The recorder adds what was missed to what was offered.
            self.counters.due += more;
        }
    }

    /// What had arrived when the time was up. The kernel hands over blocks of frames, the last of them a while
    /// after: it is waited for, and the stamps tell what in it came before the end.
    fn drain(&mut self, now: Instant) {
        let end = self.ending.at.filter(|at| now >= *at).zip(self.stamped);
        if let Some((at, (opened, stamp))) = end {
            self.left.tally.until = Stamp(stamp.0 + at.since(opened).as_nanos());
        }
        let mut taken = 0;
        while taken < LAST && !self.left.tally.is_over {
            match self.round(self.ending.at.filter(|_| end.is_some()).unwrap_or(now)) {
                Ok(Some(got)) if got > 0 => taken += got as u64,
                Ok(Some(_)) if end.is_some_and(|(at, _)| self.clock.now().since(at) < RETIRED) => {
                    std::thread::sleep(STEP);
                }
                _ => break,
            }
        }
    }

    fn fail(&mut self, error: PortError) {
        if !error.is_end() {
            self.control.fail(error.to_string());
            self.left.failure = Some(error);
        }
    }

    fn end(&mut self) {
        let tally = &mut self.left.tally;
        tally.note();
        // The last gaps of a list, of which nothing more will tell.
        let last = tally.gaps.as_mut().map(GapMeter::settle).unwrap_or_default();
        last.into_iter().for_each(|error| self.recorder.gap_error(error));
        if let Some(file) = &mut self.left.tally.file {
            file.hand_over();
        }
        self.note_losses();
        let now = self.moment(self.clock.now());
        self.recorder.tick(now, &self.counters);
    }
}

/// Lost between the wire and this program, not counting what was let pass by on purpose.
pub(super) fn lost_on_the_way(counters: &Counters) -> u64 {
    [DropPlace::ReceiveRing, DropPlace::ReceiveKernel, DropPlace::ReceiveDriver]
        .into_iter()
        .map(|place| counters.dropped(place))
        .sum()
}
