//! What all trials have in common: threads that send and receive in each direction, while one looks on.
//!
//! ```text
//!   sender ─► port ─► (target) ─► port ─► receiver: Arrivals       a pair of threads for each direction
//!      │ Departed                            │ Signals
//!      └──────────────► this thread, every 2 ms: watch, step; drain, then over
//! ```

use super::arrivals::Arrivals;
use super::bench::Bench;
use super::departed::{Departed, Left};
use super::pauses::Pauses;
use crate::pace::shared::Shared;
use crate::send::machine;
use crate::send::outlet::Wall;
use crate::send::sender::SenderReport;
use crate::{JobControl, PacketError};
use clock::Clock;
use port::{For, Port};
use schedule::Halt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use units::{Instant, Picos};

/// Between two looks.
pub const LOOK: Picos = Picos::from_millis(2);
/// Frames read in one go.
const BATCH: usize = 256;
/// The receiver sleeps so long while nothing comes.
const PATIENCE: Picos = Picos::from_millis(1);
/// A frame that was waited for as often as long as the slowest took is lost.
pub const OVERDUE: u64 = 2;
/// No way is waited for longer than this, unless a longer time was asked for.
const MOST_DRAIN: Picos = Picos::from_secs(10);

/// One direction: where frames leave, and where they arrive.
pub struct Way {
    pub send: Shared,
    pub receive: Box<dyn Port>,
}

impl Way {
    /// Frames that the sending port took and then lost itself. Faults that were asked for are the target's.
    fn dropped(&mut self) -> u64 {
        let Ok(counters) = self.send.counters() else { return 0 };
        counters.drops.iter().filter(|drop| drop.place.is_before_sending()).map(|drop| drop.frames).sum()
    }

    /// Frames that this machine lost before they could be read.
    fn missed(&mut self) -> Result<u64, PacketError> {
        let counters = self.receive.counters()?;
        Ok(counters.drops.iter().filter(|drop| drop.place.is_after_arrival()).map(|drop| drop.frames).sum())
    }

    /// A frame from the receiving port, if it can send.
    pub fn teach(&mut self) -> bool {
        let mac = self.receive.about().mac;
        let (Some(mac), true) = (mac, self.receive.about().can.transmit) else { return false };
        let taught = self.receive.transmit(1, &mut |slot| {
            slot.data[..60].fill(0);
            slot.data[..6].fill(0xff);
            slot.data[6..12].copy_from_slice(&mac);
            // IEEE 802's local experimental EtherType 1.
            slot.data[12..14].copy_from_slice(&[0x88, 0xb5]);
            slot.length = 60;
        });
        taught.is_ok_and(|count| count == 1)
    }
}

/// What sends in one direction.
pub struct Sender {
    pub run: Box<dyn FnOnce() -> SenderReport + Send>,
    pub departed: Departed,
    /// Streams of its frames.
    pub numbers: Range<u16>,
}

/// How a trial goes on.
pub struct Course<'a> {
    /// Frames that may come in each direction.
    pub offered: u64,
    pub origin: Instant,
    /// Asked at each look.
    pub step: &'a mut dyn FnMut(&Look) -> Step,
    /// Whether interruptions are looked for.
    pub pauses: bool,
}

/// What is known at a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub now: Instant,
    /// Frames that have arrived.
    pub arrived: u64,
    /// The longest interruption that counts so far.
    pub pause: Picos,
}

/// What follows from a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    On,
    /// Interruptions count from now on.
    Count,
    /// The senders end.
    End,
}

/// What came of sending and receiving in one direction.
pub struct Carried {
    pub arrivals: Arrivals,
    pub left: Left,
    /// What this machine lost: frames that its port had taken, and frames that had arrived.
    pub dropped: u64,
    pub missed: u64,
    /// Frames that the port refused.
    pub failed: u64,
    /// How long was waited, if that was too short.
    pub undrained: Option<Picos>,
}

/// Between the thread that receives and the one that looks on.
#[derive(Default)]
struct Signals {
    over: AtomicBool,
    arrived: AtomicU64,
    counts: AtomicBool,
    pause_ns: AtomicU64,
}

impl Bench {
    /// Sends, receives and waits for what is on its way. `crew` stops the threads that send.
    pub(super) fn carry_out(
        &mut self,
        senders: Vec<Sender>,
        crew: Arc<JobControl>,
        course: Course<'_>,
        watch: &mut dyn FnMut(u64, Instant),
    ) -> Result<Vec<Carried>, PacketError> {
        let Course { offered, origin, step, pauses } = course;
        let origin_unix_ns = match &self.own {
            Some(own) => own.stamp(origin).0,
            None => Wall::read(&self.clock).times(origin, origin).due_unix_ns,
        };
        let counted = |way: &mut Way| Ok((way.dropped(), way.missed()?));
        let before = self.ways.iter_mut().map(counted).collect::<Result<Vec<_>, PacketError>>()?;
        let signals: Vec<Signals> = self.ways.iter().map(|_| Signals::default()).collect();
        let departed: Vec<Departed> = senders.iter().map(|sender| sender.departed.clone()).collect();
        let (cpus, clock, drain, control) = (self.cpus.clone(), self.clock, self.drain, self.control.clone());
        let (has_own, sweep_unix_ns, priority) = (self.own.is_some(), self.sweep_unix_ns, &self.priority);
        let base = self.base;
        let (done, all) = (AtomicUsize::new(0), senders.len());
        let left = || {
            let mut lefts = departed.iter().map(Departed::left);
            let first = lefts.next().unwrap_or_default();
            (first.sent + lefts.map(|left| left.sent).sum::<u64>(), first)
        };
        let sum = |of: fn(&Signals) -> &AtomicU64| -> u64 {
            signals.iter().map(|signals| of(signals).load(Ordering::Relaxed)).sum()
        };
        // Of a port that keeps its own time, when the last one that left was off the wire.
        let moment = |left: &Left| match has_own {
            true => left.last.map_or(origin, |last| last + left.gap),
            false => clock.now(),
        };
        let ways = &mut self.ways;
        let (joined, waited) = std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (place, ((way, signals), sender)) in ways.iter_mut().zip(&signals).zip(senders).enumerate() {
                let mut arrivals =
                    Arrivals::new(offered, (sender.numbers, base), origin_unix_ns, sweep_unix_ns);
                arrivals.pauses = pauses.then(Pauses::default);
                let (receive, done) = (&mut *way.receive, &done);
                let (sends, receives) = (cpus.get(place * 2).copied(), cpus.get(place * 2 + 1).copied());
                let receiver = scope.spawn(move || {
                    machine::settle_beside(receives, priority);
                    listen(receive, arrivals, signals)
                });
                let sender = scope.spawn(move || {
                    machine::settle(sends, false, priority);
                    let report = (sender.run)();
                    done.fetch_add(1, Ordering::Release);
                    report
                });
                threads.push((receiver, sender));
            }
            let (mut left_at, mut last_came) = (None, (0, clock.now()));
            let waited = loop {
                std::thread::sleep(LOOK.as_std());
                let (sent, first) = left();
                watch(sent, moment(&first));
                let (now, came) = (clock.now(), sum(|signals| &signals.arrived));
                pass_on(&control, &crew);
                if done.load(Ordering::Acquire) < all {
                    let pause = signals.iter().map(|signals| signals.pause_ns.load(Ordering::Relaxed)).max();
                    let pause = Picos::from_nanos(pause.unwrap_or(0));
                    match step(&Look { now, arrived: came, pause }) {
                        Step::On => {}
                        Step::Count => {
                            signals.iter().for_each(|one| one.counts.store(true, Ordering::Relaxed))
                        }
                        Step::End => crew.interrupt(),
                    }
                    continue;
                }
                let ended = *left_at.get_or_insert(now);
                let waited = now.since(ended);
                if came > last_came.0 {
                    last_came = (came, now);
                }
                // As long as frames come, more are on their way.
                let quiet = now.since(last_came.1.max(ended));
                if came >= sent || quiet >= drain || waited >= MOST_DRAIN.max(drain) || control.stops() {
                    break waited;
                }
            };
            // What left since that look.
            let (sent, first) = left();
            watch(sent, moment(&first));
            signals.iter().for_each(|signals| signals.over.store(true, Ordering::Release));
            let joined: Vec<_> = threads
                .into_iter()
                .map(|(receiver, sender)| (receiver.join(), sender.join().unwrap_or_default()))
                .collect();
            (joined, waited)
        });
        let mut carried = Vec::new();
        for (place, ((arrivals, report), (dropped, missed))) in joined.into_iter().zip(before).enumerate() {
            let arrivals = arrivals.unwrap_or_else(|_| {
                Err(PacketError::Wrong("the receiving thread failed because of a bug in Tare".to_owned()))
            })?;
            let left = departed[place].left();
            let undrained = self.undrained(&arrivals, waited, left.sent);
            let way = &mut self.ways[place];
            carried.push(Carried {
                arrivals,
                left,
                dropped: way.dropped().saturating_sub(dropped),
                missed: way.missed()?.saturating_sub(missed),
                failed: report.failed,
                undrained,
            });
        }
        Ok(carried)
    }

    /// Whether frames that did not come may still have been on their way; then they are waited for longer from
    /// now on. Frames that came in a trial that was not theirs show the same.
    fn undrained(&mut self, arrivals: &Arrivals, waited: Picos, sent: u64) -> Option<Picos> {
        // A port's own time is not the one that is waited by.
        let longest = Picos::from_nanos(arrivals.longest_ns);
        let enough = longest.saturating_mul(OVERDUE);
        let is_short = self.own.is_none() && arrivals.unique < sent && waited < enough;
        if is_short || arrivals.stragglers > 0 {
            self.drain = self.drain.saturating_mul(2).max(enough).min(MOST_DRAIN.max(self.drain));
        }
        is_short.then_some(waited)
    }
}

/// Senders with a control of their own end with the run, and the run fails with them.
fn pass_on(control: &Arc<JobControl>, crew: &Arc<JobControl>) {
    if Arc::ptr_eq(control, crew) {
        return;
    }
    if control.stops() {
        crew.interrupt();
    }
    if crew.halt() == Halt::Failed && !control.stops() {
        control.fail(crew.why().unwrap_or_default());
    }
}

/// Counts arrivals until it is over.
fn listen(port: &mut dyn Port, mut arrivals: Arrivals, signals: &Signals) -> Result<Arrivals, PacketError> {
    loop {
        let is_over = signals.over.load(Ordering::Acquire);
        if let Some(pauses) = &mut arrivals.pauses {
            pauses.count = signals.counts.load(Ordering::Relaxed);
        }
        let now = clock::unix_ns();
        let count = port.receive(BATCH, &mut |frame| arrivals.frame(frame, now))?;
        if count < BATCH {
            arrivals.looked_ns = now;
        }
        signals.arrived.store(arrivals.unique, Ordering::Relaxed);
        if let Some(longest) = arrivals.pauses.as_ref().and_then(|pauses| pauses.longest) {
            signals.pause_ns.store(longest.ns, Ordering::Relaxed);
        }
        if count == 0 {
            if is_over {
                return Ok(arrivals);
            }
            port.wait(For::Receive, PATIENCE)?;
        }
    }
}
