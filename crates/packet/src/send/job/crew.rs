//! The threads that send, one for each queue, and the one that waits for them.

use super::super::departures::Departures;
use super::super::flood::{self, Flood, Numbers};
use super::super::ledger::Ledger;
use super::super::machine;
use super::super::offload::Offloading;
use super::super::outlet::{Looks, Sizes};
use super::super::pacer::{self, Pacer};
use super::super::receive::Sent;
use super::super::sender::{self, Progress, SenderContext, SenderReport};
use super::super::timed::{self, Timed, When};
use super::SendJob;
use crate::Control;
use clock::priority::Grant;
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
        control: &Arc<Control>,
        progress: &[Arc<Progress>],
        sizes: &Arc<Sizes>,
        origin: Instant,
        recorders: crate::Recorders,
    ) -> Vec<Work> {
        let end = self.ends.after.map_or(Instant::FAR, |after| origin + after);
        let numbers = Arc::new(Numbers::new(self.ends.frames));
        let of = self.plan.queues;
        let ports: Vec<_> = self.ports.drain(..).collect();
        let mut crew: Vec<Work> = Vec::new();
        for (((index, port), recorder), progress) in (0..).zip(ports).zip(recorders).zip(progress) {
            let (looks, timer) = (Looks::new(self.template.clone()), self.clock);
            let mut ledger =
                if self.pattern.is_some() { Ledger::with_gaps(recorder) } else { Ledger::new(recorder) };
            if let Some(rate) = self.rate {
                ledger.at_rate(rate);
            }
            let (sizes, control, progress) = (sizes.clone(), control.clone(), progress.clone());
            let mut context = SenderContext::new(port, looks, sizes, control, progress, ledger);
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
            } else if let Some(pattern) = &self.pattern {
                let departures = Departures::new(pattern.clone(), self.ends, origin, share);
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

/// Waits for those who send, tells those who receive that all have left, and hands on what came of it.
pub(super) fn after(
    sending: Vec<JoinHandle<SenderReport>>,
    sent: Arc<Sent>,
    reports: Sender<Vec<SenderReport>>,
) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("tare-send".to_owned()).spawn(move || {
        let threads = sending.len();
        let all: Vec<_> = sending.into_iter().filter_map(|thread| thread.join().ok()).collect();
        let panicked = all.len() < threads;
        let (numbered, never_left) = sender::numbers(&all);
        sent.end(numbered, never_left);
        // Nobody listens where the run was given up.
        let _ = reports.send(all);
        // Told by `Running::join`.
        assert!(!panicked, "a sending thread failed");
    })
}
