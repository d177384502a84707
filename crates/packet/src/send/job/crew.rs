//! The threads that send, one for each queue, and the one that waits for them.

use super::super::departures::Departures;
use super::super::flood::{self, Flood, Numbers};
use super::super::ledger::Ledger;
use super::super::machine;
use super::super::offload::Offloading;
use super::super::outlet::{Looks, Prepared};
use super::super::pacer::{self, Pacer};
use super::super::receive::Sent;
use super::super::sender::{self, Progress, SenderContext, SenderReport};
use super::super::streams::{self, Timetable};
use super::super::tape::Tape;
use super::super::timed::{self, Timed, When};
use super::SendJob;
use crate::JobControl;
use clock::priority::Grant;
use clock::{Clock, HostClock};
use schedule::Share;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use units::Instant;

/// What one thread does.
pub(super) type Work = Box<dyn FnOnce() -> SenderReport + Send>;

impl SendJob {
    /// The work of each queue's thread.
    pub(super) fn crew(
        &mut self,
        control: &Arc<JobControl>,
        (progress, prepared): (&[Arc<Progress>], &Arc<Prepared>),
        (tapes, base): (Vec<Option<Tape>>, Option<u64>),
        origin: Instant,
        recorders: crate::Recorders,
    ) -> Vec<Work> {
        let end = self.ends.after.map_or(Instant::FAR, |after| origin + after);
        let numbers = Arc::new(Numbers::new(self.ends.frames));
        let of = self.plan.queues;
        let ports: Vec<_> = self.ports.drain(..).collect();
        let (mut tapes, mut scripts) = (tapes.into_iter(), std::mem::take(&mut self.scripts).into_iter());
        let mut crew: Vec<Work> = Vec::new();
        for (((index, port), recorder), progress) in (0..).zip(ports).zip(recorders).zip(progress) {
            let script = scripts.next().map(|mut script| {
                script.begin(origin);
                script
            });
            let side = self.sides.get(index as usize);
            let (template, ends) =
                side.map_or((&self.template, self.ends), |side| (&side.template, side.ends));
            let tape = tapes.next().flatten();
            let (reel, times) = tape
                .map_or((None, None), |tape| (Some(tape.reel), Some(tape.times).filter(|_| tape.has_times)));
            let has_times = self.is_timed() || times.is_some();
            let looks = Looks::new(template.clone()).with_reel(reel).finished_by(script);
            let looks = looks.counted_from(base.unwrap_or(0));
            let timer = self.clock;
            let mut ledger = if has_times { Ledger::with_gaps(recorder) } else { Ledger::new(recorder) };
            let turn = self.pattern.as_ref().filter(|_| self.rate.is_some()).and_then(streams::turn);
            match (turn, self.rate, self.late_gap()) {
                (Some(turn), ..) => ledger.at_gap(turn),
                (None, Some(rate), _) => ledger.at_rate(rate),
                (None, None, Some(gap)) => ledger.at_gap(gap),
                (None, None, None) => {}
            }
            let (prepared, control, progress) = (prepared.clone(), control.clone(), progress.clone());
            let mut context = SenderContext::new(port, looks, prepared, control, progress, ledger);
            let share = Share::new(index, of).unwrap_or(Share::WHOLE);
            if let Some(clock) = self.own {
                let when = match &self.pattern {
                    Some(pattern) => When::Due(Departures::new(pattern.clone(), self.ends, origin, share)),
                    None => {
                        When::AtOnce { frames: self.ends.frames.unwrap_or(u64::MAX), end: self.ends.after }
                    }
                };
                let setup = timed::TimedSetup { clock, when, origin };
                crew.push(Box::new(move || Timed::new(context, setup).run()));
            } else if context.port.offload().is_some() {
                let setup = Offloading { timer, rate: self.rate, ends: self.ends, origin, share };
                crew.push(Box::new(move || setup.run(context)));
            } else if has_times {
                let departures = match times {
                    Some(mut times) => {
                        times.begin(origin, ends.after, ends.frames);
                        Timetable::Taped(times)
                    }
                    None => match side.and_then(|side| side.pattern.clone()) {
                        Some(pattern) => Departures::new(pattern, ends, origin, Share::WHOLE).into(),
                        None => self.timetable(origin, share),
                    },
                };
                let streams = self.stream_count();
                context.ledger = context.ledger.of_streams(streams);
                let (spin, relative, may_turn) = (self.spin, self.plan.relative, true);
                let setup = pacer::PacerSetup { timer, departures, end, spin, relative, may_turn };
                crew.push(Box::new(move || Pacer::new(context, setup).run()));
            } else {
                let setup = flood::FloodSetup { timer, numbers: numbers.clone(), origin, end };
                crew.push(Box::new(move || Flood::new(context, setup).run()));
            }
        }
        crew
    }

    /// Everything that is due, or this share of it.
    fn timetable(&self, origin: Instant, share: Share) -> Timetable {
        match &self.pattern {
            Some(pattern) => Departures::new(pattern.clone(), self.ends, origin, share).into(),
            None => Timetable::of_streams(&self.streams, self.ends, origin, share),
        }
    }
}

pub(super) fn spawn(
    index: usize,
    cpu: Option<u32>,
    priority: Grant,
    work: Work,
) -> std::io::Result<JoinHandle<SenderReport>> {
    std::thread::Builder::new().name(format!("tare-send-{index}")).spawn(move || {
        let refused = machine::settle(cpu, index == 0, &priority);
        SenderReport { refused, ..work() }
    })
}

/// Waits for those who send, tells those who receive that all have left, and hands on when that was and what
/// came of it.
pub(super) fn after(
    sending: Vec<JoinHandle<SenderReport>>,
    sent: Arc<Sent>,
    clock: HostClock,
    reports: Sender<(Instant, Vec<SenderReport>)>,
) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("tare-send".to_owned()).spawn(move || {
        let threads = sending.len();
        let all: Vec<_> = sending.into_iter().filter_map(|thread| thread.join().ok()).collect();
        let panicked = all.len() < threads;
        let ended = clock.now();
        let (numbered, never_left) = sender::numbers(&all);
        sent.end(numbered, never_left);
        // Nobody listens where the run was given up.
        let _ = reports.send((ended, all));
        // Told by `Running::join`.
        assert!(!panicked, "a sending thread failed");
    })
}
