//! Trials over real ports: `send`'s own threads send, another receives and counts, and what is on its way is
//! waited for.
//!
//! ```text
//!   origin ──────── length ────────► end ── drain ──►
//!   frames leave as they are due        │ all there? over at once; otherwise wait
//!   ◄─────────────── arrivals are counted ──────────►
//! ```

use super::arrivals::Arrivals;
use super::trial::{Side, TOLERANCE, Trial, TrialOrder};
use crate::own_clock::OwnClock;
use crate::pace::shared::Shared;
use crate::send::flood::{self, Flood, Numbers};
use crate::send::ledger::Ledger;
use crate::send::outlet::{Looks, Wall};
use crate::send::pacer::{self, Pacer};
use crate::send::sender::{SenderContext, SenderReport};
use crate::send::timed::{self, Timed, When};
use crate::send::{Departures, Ends, Pattern, machine};
use crate::{Control, PacketError};
use clock::priority::Grant;
use clock::{Clock, HostClock};
use hdrhistogram::Histogram;
use plan::Spin;
use port::{For, Port};
use schedule::Share;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use units::{Bytes, EngineCounters, Event, Fate, Instant, Miss, Outcome, Phase, Picos, Record};
use wire::Template;

/// From the making of threads to the first departure.
const START: Picos = Picos::from_millis(10);
/// A frame that left within this of its due time was on time.
const ON_TIME: Picos = Picos::from_micros(200);
/// What leaves this much after the end of a trial still counts as within it.
const GRACE: Picos = Picos::from_millis(1);
/// Frames read in one go.
const BATCH: usize = 256;
/// The receiver sleeps so long while nothing comes.
const PATIENCE: Picos = Picos::from_millis(1);
/// A frame that was waited for as often as long as the slowest took is lost.
const OVERDUE: u64 = 2;
/// No way is waited for longer than this, unless a longer time was asked for.
const MOST_DRAIN: Picos = Picos::from_secs(10);
/// Frames that one trial may have: a bit is kept for each.
pub const MOST_FRAMES: u64 = 1 << 32;

/// Both ports, open for all trials.
pub struct Bench {
    pub clock: HostClock,
    pub control: Arc<Control>,
    pub send: Shared,
    pub receive: Box<dyn Port>,
    /// So long is waited for frames on their way: longer once it was seen to be too short.
    pub drain: Picos,
    pub cpus: Vec<u32>,
    pub spin: Spin,
    pub priority: Grant,
    /// When the first trial began, in nanoseconds since 1970.
    pub sweep_unix_ns: u64,
    /// The time of a sending port that keeps its own.
    pub own: Option<OwnClock>,
}

/// A trial and what else it tells.
#[derive(Clone, Debug)]
pub struct Made {
    pub trial: Trial,
    /// Frames that came once more.
    pub duplicated: u64,
    /// Frames that came with a wrong checksum or signature: they count as lost.
    pub damaged: u64,
    /// Frames of an earlier trial that came in this one.
    pub stragglers: u64,
    /// How long the frame in the middle took.
    pub tagged_ns: Option<u64>,
}

/// What came of sending and receiving.
struct Carried {
    arrivals: Arrivals,
    /// What this machine lost: frames that its port had taken, and frames that had arrived.
    dropped: u64,
    missed: u64,
    /// How long was waited, if that was too short.
    undrained: Option<Picos>,
}

/// What left, counted while it does.
#[derive(Clone, Default)]
struct Departed(Arc<Mutex<Left>>);

#[derive(Clone, Copy, Debug, Default)]
struct Left {
    sent: u64,
    first: Option<Instant>,
    last: Option<Instant>,
    latest: Picos,
    /// Where the last quarter begins, and how many frames of it were on time.
    quarter: Option<Instant>,
    on_time_at_last: u64,
    /// Frames that were on time, and those that left before the trial's end and a little grace.
    on_time: u64,
    end: Option<Instant>,
    within: u64,
    /// Frames that the last round knew of.
    told: u64,
    /// From one frame to the next: as long the last one takes.
    gap: Picos,
}

impl Left {
    /// Whether the generator is able to make this load, of so many frames: one that is not gets later and later
    /// from the beginning on, so that next to none is on time, nor before the end all have left. One that was
    /// held up was on time before, or catches up.
    fn kept_up(&self, offered: u64) -> bool {
        self.on_time_at_last > 0
            || self.on_time * 2 >= offered.max(1)
            || self.within as f64 >= offered as f64 * (1.0 - TOLERANCE)
    }

    fn leaves(&mut self, due: Instant, sent: Instant) {
        self.sent += 1;
        self.first.get_or_insert(sent);
        self.last = Some(sent);
        let late = sent.since(due);
        self.latest = self.latest.max(late);
        let is_on_time = late < ON_TIME;
        self.on_time += u64::from(is_on_time);
        self.on_time_at_last += u64::from(is_on_time && self.quarter.is_some_and(|quarter| due >= quarter));
        self.within += u64::from(self.end.is_some_and(|end| sent <= end));
    }
}

impl Departed {
    /// The trial begins and lasts so long, with a frame every so often.
    fn watch(&self, origin: Instant, length: Picos, gap: Picos) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.quarter = Some(origin + Picos::from_picos(length.as_picos() / 4 * 3));
        left.end = Some(origin + length + GRACE);
        left.gap = gap;
    }

    fn left(&self) -> Left {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The recorder of a trial: it counts, and keeps the first and the last time. Its lock is never waited for.
impl Record for Departed {
    fn event(&mut self, event: &Event) {
        if event.outcome != Outcome::Frame(Fate::Sent) {
            return;
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).leaves(event.due, event.sent);
    }
    fn missed(&mut self, _: Miss, _: u64) {}
    fn frames(&mut self, _: Fate, count: u64, _: Bytes) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.sent += count;
    }
    fn phase(&mut self, _: Phase, _: Picos) {}
    fn tick(&mut self, now: Instant, _: &EngineCounters) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Frames that left in bulk have no times of their own: the round in which they did is theirs.
        if left.first.is_none() && left.sent > left.told {
            left.told = left.sent;
            left.last = Some(now);
        }
    }
}

impl Bench {
    /// Frames at an even rate for a time. `watch` is called every few milliseconds with the frames that have
    /// left, and when.
    ///
    /// # Errors
    /// A port failed, or the trial would be too large.
    pub fn trial(
        &mut self,
        order: TrialOrder,
        template: &Arc<Template>,
        watch: &mut dyn FnMut(u64, Instant),
    ) -> Result<(Made, Histogram<u64>), PacketError> {
        let offered = order.load.frames_in(order.length);
        if offered > MOST_FRAMES {
            return Err(PacketError::Wrong(format!(
                "a trial of {offered} frames is too long; lower --trial-time"
            )));
        }
        let origin = self.origin(START, OwnClock::lead)?;
        let ends = Ends { after: Some(order.length), frames: None };
        let departures = Departures::new(Pattern::Even(order.load.rate()), ends, origin, Share::WHOLE);
        let departed = Departed::default();
        departed.watch(origin, order.length, order.load.rate().gap());
        let (context, timer, spin) = (self.sender(template, &departed), self.clock, self.spin);
        let sender: Box<dyn FnOnce() -> SenderReport + Send> = match self.own {
            Some(clock) => {
                let setup = timed::TimedSetup { clock, when: When::Due(departures), origin };
                Box::new(move || Timed::new(context, setup).run())
            }
            None => {
                let (end, relative, may_turn) = (origin + order.length, false, false);
                let setup = pacer::PacerSetup { timer, departures, end, spin, relative, may_turn };
                Box::new(move || Pacer::new(context, setup).run())
            }
        };
        let Carried { arrivals, dropped, missed, undrained } =
            self.carry_out(sender, &departed, offered, origin, watch)?;
        let left = departed.left();
        let took = match (left.first, left.last) {
            (Some(first), Some(last)) => last.since(first).max(last.since(origin)) + order.load.rate().gap(),
            _ => Picos::ZERO,
        };
        let trial = Trial {
            load: order.load,
            length: order.length,
            offered,
            sent: left.sent.saturating_sub(dropped),
            took: took.min(order.length.saturating_mul(10)),
            received: arrivals.unique,
            missed,
            latest: left.latest,
            kept_up: left.kept_up(offered),
            undrained,
        };
        let Arrivals { duplicated, damaged, stragglers, .. } = arrivals;
        let made = Made { trial, duplicated, damaged, stragglers, tagged_ns: arrivals.tagged_ns() };
        Ok((made, arrivals.one_way()))
    }

    /// So many frames back to back, as fast as the port takes them.
    ///
    /// # Errors
    /// A port failed.
    pub fn burst(
        &mut self,
        frames: u64,
        template: &Arc<Template>,
        watch: &mut dyn FnMut(u64, Instant),
    ) -> Result<Burst, PacketError> {
        // A port that keeps its own time lets them go as soon as it has them.
        let origin = self.origin(START, |_| Picos::ZERO)?;
        let departed = Departed::default();
        let (context, timer) = (self.sender(template, &departed), self.clock);
        let sender: Box<dyn FnOnce() -> SenderReport + Send> = match self.own {
            Some(clock) => {
                let setup = timed::TimedSetup { clock, when: When::AtOnce { frames, end: None }, origin };
                Box::new(move || Timed::new(context, setup).run())
            }
            None => {
                let numbers = Arc::new(Numbers::new(Some(frames)));
                let setup = flood::FloodSetup { timer, numbers, origin, end: Instant::FAR };
                Box::new(move || Flood::new(context, setup).run())
            }
        };
        let Carried { arrivals, dropped, missed, undrained } =
            self.carry_out(sender, &departed, frames, origin, watch)?;
        let left = departed.left();
        let sent = left.sent.saturating_sub(dropped);
        let took = left.last.map_or(Picos::ZERO, |last| last.since(origin));
        Ok(Burst { offered: frames, sent, received: arrivals.unique, missed, took, undrained })
    }

    /// When the next trial begins: by the clock of this host, or of the port.
    fn origin(&mut self, ahead: Picos, own_ahead: fn(&OwnClock) -> Picos) -> Result<Instant, PacketError> {
        Ok(match &self.own {
            Some(own) => own.now(&mut self.send)? + own_ahead(own),
            None => self.clock.now() + ahead,
        })
    }

    /// What the thread that sends is made with, whichever it is.
    fn sender(&self, template: &Arc<Template>, departed: &Departed) -> SenderContext {
        let ledger = Ledger::new(Box::new(departed.clone()));
        let (port, looks) = (Box::new(self.send.again()), Looks::new(template.clone()));
        SenderContext::unwatched(port, looks, self.control.clone(), ledger)
    }

    /// Sends, receives and waits for what is on its way.
    fn carry_out(
        &mut self,
        sender: impl FnOnce() -> SenderReport + Send,
        departed: &Departed,
        offered: u64,
        origin: Instant,
        watch: &mut dyn FnMut(u64, Instant),
    ) -> Result<Carried, PacketError> {
        let origin_unix_ns = match &self.own {
            Some(own) => own.stamp(origin).0,
            None => Wall::read(&self.clock).times(origin, origin).due_unix_ns,
        };
        let (dropped, missed) = (self.dropped(), missed(&mut *self.receive)?);
        let (sent_all, over) = (AtomicBool::new(false), AtomicBool::new(false));
        let arrived = AtomicU64::new(0);
        let (cpus, clock, drain, control) = (self.cpus.clone(), self.clock, self.drain, self.control.clone());
        let has_own = self.own.is_some();
        let (receive, priority) = (&mut *self.receive, &self.priority);
        let (mut waited, sweep_unix_ns) = (Picos::ZERO, self.sweep_unix_ns);
        let arrivals = std::thread::scope(|scope| {
            let (sent_all, over, arrived) = (&sent_all, &over, &arrived);
            let receiver = scope.spawn({
                let cpu = cpus.get(1).copied();
                move || {
                    machine::settle_beside(cpu, priority);
                    listen(receive, Arrivals::new(offered, origin_unix_ns, sweep_unix_ns), over, arrived)
                }
            });
            scope.spawn({
                let cpu = cpus.first().copied();
                move || {
                    machine::settle(cpu, false, priority);
                    sender();
                    sent_all.store(true, Ordering::Release);
                }
            });
            let (mut left_at, mut last_came) = (None, (0, clock.now()));
            // Of a port that keeps its own time, when the last one that left was off the wire.
            let moment = |left: &Left| match has_own {
                true => left.last.map_or(origin, |last| last + left.gap),
                false => clock.now(),
            };
            loop {
                std::thread::sleep(Picos::from_millis(2).as_std());
                let left = departed.left();
                let sent = left.sent;
                watch(sent, moment(&left));
                if !sent_all.load(Ordering::Acquire) {
                    continue;
                }
                let now = clock.now();
                let ended = *left_at.get_or_insert(now);
                waited = now.since(ended);
                let came = arrived.load(Ordering::Relaxed);
                if came > last_came.0 {
                    last_came = (came, now);
                }
                // As long as frames come, more are on their way.
                let quiet = now.since(last_came.1.max(ended));
                if came >= sent || quiet >= drain || waited >= MOST_DRAIN.max(drain) || control.stops() {
                    break;
                }
            }
            // What left since that look.
            let left = departed.left();
            watch(left.sent, moment(&left));
            over.store(true, Ordering::Release);
            receiver.join()
        });
        let arrivals = arrivals.unwrap_or_else(|_| {
            Err(PacketError::Wrong("the receiving thread failed by a fault in Tare itself".to_owned()))
        })?;
        let missed_now = self::missed(&mut *self.receive)?;
        let undrained = self.undrained(&arrivals, waited, departed.left().sent);
        Ok(Carried {
            arrivals,
            dropped: self.dropped().saturating_sub(dropped),
            missed: missed_now.saturating_sub(missed),
            undrained,
        })
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

    /// Frames that the sending port took and then lost itself. Faults that were asked for are the target's.
    fn dropped(&mut self) -> u64 {
        let Ok(counters) = self.send.counters() else { return 0 };
        counters.drops.iter().filter(|drop| drop.place.is_before_sending()).map(|drop| drop.frames).sum()
    }

    /// A frame from the receiving port, so that switches on the way learn where it is. Ports that only receive
    /// send none.
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

/// A burst and what became of it.
#[derive(Clone, Copy, Debug)]
pub struct Burst {
    pub offered: u64,
    pub sent: u64,
    pub received: u64,
    pub missed: u64,
    pub took: Picos,
    pub undrained: Option<Picos>,
}

impl Burst {
    /// Which end of this machine fell short, so that the burst says nothing of the target.
    pub const fn void(&self) -> Option<Side> {
        if self.sent < self.offered {
            Some(Side::Generator)
        } else if self.received < self.sent && (self.missed > 0 || self.undrained.is_some()) {
            Some(Side::Receiver)
        } else {
            None
        }
    }
}

/// Counts arrivals until it is over.
fn listen(
    port: &mut dyn Port,
    mut arrivals: Arrivals,
    over: &AtomicBool,
    arrived: &AtomicU64,
) -> Result<Arrivals, PacketError> {
    loop {
        let is_over = over.load(Ordering::Acquire);
        let now = clock::unix_ns();
        let count = port.receive(BATCH, &mut |frame| arrivals.frame(frame, now))?;
        arrived.store(arrivals.unique, Ordering::Relaxed);
        if count == 0 {
            if is_over {
                return Ok(arrivals);
            }
            port.wait(For::Receive, PATIENCE)?;
        }
    }
}

/// Frames that this machine lost before they could be read.
fn missed(port: &mut dyn Port) -> Result<u64, PacketError> {
    let counters = port.counters()?;
    Ok(counters.drops.iter().filter(|drop| drop.place.is_after_arrival()).map(|drop| drop.frames).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames due each 100 µs for 100 ms, each leaving so many microseconds late.
    fn left(late_us: impl Fn(u64) -> u64) -> Left {
        let (origin, length) = (Instant::EPOCH + Picos::from_secs(1), Picos::from_millis(100));
        let departed = Departed::default();
        departed.watch(origin, length, Picos::from_micros(100));
        let mut left = departed.left();
        for n in 0..1_000 {
            let due = origin + Picos::from_micros(n * 100);
            left.leaves(due, due + Picos::from_micros(late_us(n)));
        }
        left
    }

    #[test]
    fn a_generator_that_was_held_up_kept_up_and_one_that_is_too_slow_did_not() {
        // 30 ms at the very end, from 70 ms on: the last quarter is late as a whole, and left after the end.
        assert!(left(|n| if n < 700 { 5 } else { 30_000 }).kept_up(1_000));
        assert!(left(|n| if n < 900 { 8_000 } else { 5 }).kept_up(1_000), "late, but it caught up");
        // 5 % too slow: each frame 5 µs later than the one before, the last 5 ms.
        assert!(!left(|n| n * 5).kept_up(1_000));
    }
}
