//! One thread that sends: by a schedule, each packet with the time at which it was handed over.
//!
//! ```text
//!   step: silence, an even rate, or as fast as it goes
//!   for each call:  wait until due ─ write packets, the clock read right before ─ transmit
//! ```
//!
//! The clock is read in the port's room, after everything else in the packet is ready to go: what follows is
//! the system's.

use crate::tally::Timeline;
use crate::usage::Usage;
use crate::wall::Wall;
use port::{For, Next, Order, Port, PortError};
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Picos, Rate};
use wire::{Template, Times};

/// How fast, in packets a second of this thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    Silence,
    Even(f64),
    Flood,
}

impl Pace {
    /// The share of one of so many threads.
    pub fn of(self, threads: usize) -> Self {
        match self {
            Self::Even(rate) => Self::Even(rate / threads.max(1) as f64),
            other => other,
        }
    }

    pub const fn rate(self) -> Option<f64> {
        match self {
            Self::Silence => Some(0.0),
            Self::Even(rate) => Some(rate),
            Self::Flood => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub pace: Pace,
    pub length_ns: u64,
}

/// When what is sent: steps, one after another from `origin`.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub origin_monotonic_ns: u64,
    pub steps: Vec<Step>,
}

impl Schedule {
    /// Ends of the steps after the origin.
    pub fn ends(steps: &[Step]) -> Vec<u64> {
        steps
            .iter()
            .scan(0, |end, step| {
                *end += step.length_ns;
                Some(*end)
            })
            .collect()
    }
}

/// See the module.
pub struct Sender<'a> {
    pub port: Box<dyn Port>,
    /// Through which each `each`-th call goes, where not all packets are stamped and stamps come from the
    /// socket.
    pub probe: Option<Box<dyn Port>>,
    /// One of so many packets is stamped: a power of two.
    pub each: u64,
    pub template: &'a Template,
    pub wall: &'a Wall,
    pub schedule: &'a Schedule,
    pub timeline: &'a Timeline,
    /// Packets of one call.
    pub batch: usize,
    pub index: u64,
    pub threads: u64,
    /// Whether what arrives at the port is read, too.
    pub reads: bool,
    pub stop: &'a AtomicBool,
}

/// What a thread sent.
#[derive(Clone, Debug, Default)]
pub struct Sent {
    pub steps: Vec<u64>,
    /// Nanoseconds of each step in which the port could make nothing.
    pub stood_ns: Vec<u64>,
    pub bins: Vec<u64>,
    /// Stamps that shall come.
    pub expected: u64,
    /// Packets that the port took and did not send.
    pub refused: u64,
    /// Packets that were read.
    pub read: u64,
    pub used: Usage,
    pub failure: Option<String>,
}

impl Sent {
    pub fn add(&mut self, other: &Self) {
        let add = |to: &mut Vec<u64>, from: &[u64]| {
            to.resize(to.len().max(from.len()), 0);
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        };
        add(&mut self.steps, &other.steps);
        self.stood_ns.resize(self.stood_ns.len().max(other.stood_ns.len()), 0);
        self.stood_ns.iter_mut().zip(&other.stood_ns).for_each(|(to, from)| *to = (*to).max(*from));
        add(&mut self.bins, &other.bins);
        self.expected += other.expected;
        self.refused += other.refused;
        self.read += other.read;
        self.used.user_ns += other.used.user_ns;
        self.used.system_ns += other.used.system_ns;
        self.used.waited_ns = self.used.waited_ns.max(other.used.waited_ns);
        self.used.involuntary += other.used.involuntary;
        self.failure = self.failure.take().or_else(|| other.failure.clone());
    }

    pub fn packets(&self) -> u64 {
        self.steps.iter().sum()
    }
}

impl Sender<'_> {
    /// Sends until the schedule is over, the port fails, or `stop` is set.
    pub fn run(mut self) -> Sent {
        let mut sent = Sent {
            steps: vec![0; self.schedule.steps.len()],
            stood_ns: vec![0; self.schedule.steps.len()],
            bins: vec![0; self.timeline.bins()],
            ..Sent::default()
        };
        let before = Usage::now();
        let outcome = match self.port.offload() {
            Some(_) => self.make(&mut sent),
            None => self.send(&mut sent),
        };
        // What has left need not be waited for long: the reader waits for stamps by itself.
        let _ = self.port.flush(Picos::from_millis(200));
        sent.used = Usage::now().since(&before);
        match self.port.offload() {
            // What it made is without what was refused.
            Some(_) => sent.refused = self.unsent(),
            None => self.take_back(&mut sent, usize::MAX, usize::MAX),
        }
        sent.failure = outcome.err().map(|error| error.to_string());
        sent
    }

    fn send(&mut self, sent: &mut Sent) -> Result<(), PortError> {
        let (mut number, mut calls, mut bin) = (self.index, 0u64, 0);
        let mut begin = self.schedule.origin_monotonic_ns;
        for (index, step) in self.schedule.steps.iter().enumerate() {
            let end = begin + step.length_ns;
            let gap = match step.pace {
                Pace::Even(rate) => Some(1e9 * self.batch as f64 / rate.max(1e-3)),
                Pace::Flood => None,
                Pace::Silence => {
                    self.be_silent(end, sent)?;
                    begin = end;
                    continue;
                }
            };
            // Threads take turns.
            let turn = self.index as f64 / self.threads as f64;
            let mut in_step = 0u64;
            loop {
                let due = gap.map_or(begin, |gap| begin + ((in_step as f64 + turn) * gap) as u64);
                if due >= end || !self.wait_until(due, end) {
                    break;
                }
                in_step += 1;
                let (taken, now) = self.hand_over(&mut number, calls, sent)?;
                calls += 1;
                sent.steps[index] += taken as u64;
                if now != bin {
                    self.take_back(sent, index, now);
                    bin = now;
                }
                if self.reads {
                    sent.read += self.port.receive(64, &mut |_| ())? as u64;
                }
                if taken == 0 {
                    self.port.wait(For::Transmit, Picos::from_micros(100))?;
                }
            }
            self.take_back(sent, index, bin);
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            begin = end;
        }
        Ok(())
    }

    /// Packets that the ports took and did not send.
    fn unsent(&mut self) -> u64 {
        let ports = std::iter::once(&mut self.port).chain(&mut self.probe);
        ports.map(|port| port.counters().map_or(0, port::Counters::unsent)).sum()
    }

    /// Takes what the ports refused since out of what was sent until then.
    fn take_back(&mut self, sent: &mut Sent, step: usize, bin: usize) {
        let unsent = self.unsent();
        let new = unsent.saturating_sub(std::mem::replace(&mut sent.refused, unsent));
        take_from(&mut sent.steps, step, new);
        take_from(&mut sent.bins, bin, new);
    }

    /// Spins until `due`; whether there is something to be done before `end`.
    #[inline]
    fn wait_until(&self, due: u64, end: u64) -> bool {
        loop {
            let now = clock::monotonic_ns();
            if now >= end || self.stop.load(Ordering::Relaxed) {
                return false;
            }
            if now >= due {
                return true;
            }
            // Far from it, the CPU is left to others.
            if due - now > 200_000 {
                std::thread::sleep(std::time::Duration::from_nanos(due - now - 150_000));
            } else {
                std::hint::spin_loop();
            }
        }
    }

    fn be_silent(&mut self, end: u64, sent: &mut Sent) -> Result<(), PortError> {
        while clock::monotonic_ns() < end && !self.stop.load(Ordering::Relaxed) {
            if self.reads {
                sent.read += self.port.receive(64, &mut |_| ())? as u64;
            }
            let left = end.saturating_sub(clock::monotonic_ns());
            std::thread::sleep(std::time::Duration::from_nanos(left.min(1_000_000)));
        }
        Ok(())
    }

    /// One call: how many packets the port took, and in which stretch of time.
    #[inline]
    fn hand_over(
        &mut self,
        number: &mut u64,
        calls: u64,
        sent: &mut Sent,
    ) -> Result<(usize, usize), PortError> {
        let is_probe = self.probe.is_some() && calls & (self.each - 1) == 0;
        let mask = if self.probe.is_some() { 0 } else { self.each - 1 };
        let port = match &mut self.probe {
            Some(probe) if is_probe => probe,
            _ => &mut self.port,
        };
        let (template, wall, threads) = (self.template, self.wall, self.threads);
        let (mut expected, mut last) = (0, 0);
        let taken = port.transmit(self.batch, &mut |slot| {
            last = wall.hand_over_ns();
            let times = Times { due_unix_ns: last, sent_unix_ns: last };
            slot.length = template.write(*number, times, slot.data, slot.mark);
            expected += u64::from(*number & mask == 0);
            *number += threads;
        })?;
        let bin = self.timeline.bin(if taken > 0 { last } else { self.wall.now_ns() });
        sent.bins[bin] += taken as u64;
        if self.probe.is_none() || is_probe {
            sent.expected += expected;
        }
        Ok((taken, bin))
    }

    /// The same where the port makes the packets itself: one call for all steps.
    fn make(&mut self, sent: &mut Sent) -> Result<(), PortError> {
        let ends = Schedule::ends(&self.schedule.steps);
        let origin = self.schedule.origin_monotonic_ns;
        let steps = &self.schedule.steps;
        let (timeline, stop) = (self.timeline, self.stop);
        // Silence is the least rate that there is.
        let rate = |pace: Pace| match pace {
            Pace::Flood => None,
            Pace::Even(rate) => Rate::per_second(rate.max(1.0) as u64),
            Pace::Silence => Rate::per_second(1),
        };
        while clock::monotonic_ns() < origin && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(std::time::Duration::from_micros(50));
        }
        let order = Order {
            first: 0,
            most: u64::MAX >> 8,
            rate: steps.first().and_then(|step| rate(step.pace)),
            origin_monotonic_ns: origin,
            until_monotonic_ns: Some(origin + ends.last().copied().unwrap_or(0)),
            stop,
        };
        let (mut at, mut known, mut stood_ns) = (0usize, 0u64, 0u64);
        let mut count = |frames: u64, at: usize, sent: &mut Sent| {
            let bin = timeline.bin(timeline.origin_unix_ns + clock::monotonic_ns().saturating_sub(origin));
            sent.bins[bin] += frames - known;
            sent.steps[at] += frames - known;
            known = frames;
        };
        let Some(offload) = self.port.offload() else { return Ok(()) };
        offload.prepare(self.template)?;
        let made = offload.make(&order, &mut |made| {
            count(made.frames - made.refused.min(made.frames), at, sent);
            sent.stood_ns[at] += made.stood_ns - stood_ns;
            stood_ns = made.stood_ns;
            let after = clock::monotonic_ns().saturating_sub(origin);
            let now = ends.iter().position(|end| after < *end).unwrap_or(ends.len() - 1);
            if now == at {
                return Next::Go;
            }
            at = now;
            Next::Rate { rate: rate(steps[now].pace), origin_monotonic_ns: clock::monotonic_ns() }
        })?;
        count(made.frames - made.refused.min(made.frames), at, sent);
        sent.expected += made.frames.div_ceil(self.each).saturating_sub(made.refused.div_ceil(self.each));
        Ok(())
    }
}

/// So many out of the counts up to `last`, of the latest first: that they were refused is known somewhat later.
fn take_from(counts: &mut [u64], last: usize, many: u64) {
    let mut left = many;
    for count in counts.iter_mut().take(last.saturating_add(1)).rev() {
        let part = left.min(*count);
        *count -= part;
        left -= part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_was_not_sent() {
        let mut counts = [10, 20, 30, 40];
        take_from(&mut counts, 2, 35);
        assert_eq!(counts, [10, 15, 0, 40]);
        take_from(&mut counts, usize::MAX, 1_000);
        assert_eq!(counts, [0; 4]);
    }

    /// A port that takes all and sends one of two.
    struct Half(port::Counters);

    impl Port for Half {
        fn about(&self) -> &port::About {
            panic!("nobody asks")
        }

        fn transmit(
            &mut self,
            most: usize,
            write: &mut dyn FnMut(&mut port::Slot<'_>),
        ) -> Result<usize, PortError> {
            for number in 0..most {
                let (mut data, mut mark) = ([0; 2_048], 0);
                let launch = port::Stamp::NONE;
                write(&mut port::Slot { data: &mut data, length: 0, launch, mark: &mut mark });
                match number % 2 {
                    0 => self.0.sent += 1,
                    _ => self.0.drop(port::DropPlace::TransmitDown, 1),
                }
            }
            Ok(most)
        }

        fn receive(&mut self, _: usize, _: &mut dyn FnMut(&port::Frame<'_>)) -> Result<usize, PortError> {
            Ok(0)
        }

        fn flush(&mut self, _: Picos) -> Result<bool, PortError> {
            Ok(true)
        }

        fn wait(&mut self, _: For, _: Picos) -> Result<bool, PortError> {
            Ok(true)
        }

        fn counters(&mut self) -> Result<&port::Counters, PortError> {
            Ok(&self.0)
        }
    }

    #[test]
    fn a_rate_is_without_what_the_port_refused() {
        let step = |pace| Step { pace, length_ns: 30_000_000 };
        let steps = vec![step(Pace::Even(100_000.0)), step(Pace::Silence), step(Pace::Flood)];
        let wall = Wall::default();
        let timeline = Timeline::new(wall.now_ns(), Schedule::ends(&steps));
        let schedule = Schedule { origin_monotonic_ns: clock::monotonic_ns(), steps };
        let stage = crate::Stage::loopback().unwrap();
        let template = crate::frames::template(&stage.route, 64, crate::frames::Body::Datagram).unwrap();
        let sender = Sender {
            port: Box::new(Half(port::Counters::default())),
            probe: None,
            each: 1,
            template: &template,
            wall: &wall,
            schedule: &schedule,
            timeline: &timeline,
            batch: 2,
            index: 0,
            threads: 1,
            reads: false,
            stop: &AtomicBool::new(false),
        };
        let sent = sender.run();
        // Of each two packets one left.
        assert_eq!(sent.packets(), sent.refused);
        assert_eq!(sent.bins.iter().sum::<u64>(), sent.packets());
        assert!(sent.steps[0] <= 1_500 && sent.steps[1] == 0 && sent.steps[2] > 0, "{:?}", sent.steps);
    }

    #[test]
    fn steps_end_one_after_another() {
        let step = |length_ns| Step { pace: Pace::Flood, length_ns };
        assert_eq!(Schedule::ends(&[step(5), step(7), step(1)]), [5, 12, 13]);
    }

    #[test]
    fn threads_share_a_rate() {
        assert_eq!(Pace::Even(900.0).of(3), Pace::Even(300.0));
        assert_eq!(Pace::Flood.of(3), Pace::Flood);
    }
}
