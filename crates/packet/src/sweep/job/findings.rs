//! What a sweep has to tell at its end.

use super::super::search::{End, GoalFindings};
use super::super::{recovery, reset, tables, trial};
use super::work::{Sweep, SweepSettings};
use crate::job::Findings;
use crate::ports;
use measure::packets::PacketReport;
use port::Port;

impl Sweep {
    /// Searches and trials that this machine ended or spoilt, and all; one that had to take doubtful losses is
    /// one that it ended.
    fn untrusted(&self) -> (u64, u64) {
        let doubtful = u64::from(self.doubtful > 0 && self.limited == 0);
        (self.limited + doubtful + self.spoilt, (self.searches + self.others).max(1))
    }

    /// A sentence if frames were waited for longer than asked.
    fn waited(&self) -> Option<String> {
        let (asked, drain) = (self.job.plan.drain, self.bench.drain);
        (drain > asked).then(|| {
            format!(
                "frames arrived later than {asked:#} after a trial: from then on, trials waited {drain:#} for \
                 them (--drain)"
            )
        })
    }

    /// A sentence if a load passed that the device may only have put off.
    fn queued(&self) -> Option<String> {
        let (slowest, length) = self.bench.queued?;
        Some(format!(
            "without a loss, frames were up to {slowest:#} under way in a trial of {length:#}: if they wait in a \
             queue, the device forwards less than it takes; longer trials (--trial-time) show it"
        ))
    }

    pub fn findings(mut self) -> Findings {
        let SweepSettings { plan, goals, line_bps, .. } = &self.job;
        let mut tables = vec![tables::sizes(&self.found, goals, *line_bps, plan)];
        tables.extend(tables::latencies(&self.found));
        tables.extend(tables::losses(&self.found, *line_bps));
        tables.extend(tables::bursts(&self.found));
        tables.extend(recovery::recoveries(&self.found));
        tables.extend(reset::resets(&self.resets));
        tables.push(tables::trials(&self.trials));
        let mut notes = std::mem::take(&mut self.notes);
        let (trials, searches) = (self.trials.len(), self.searches);
        notes.push(format!(
            "trials: {trials}, in {searches} {}",
            if searches == 1 { "search" } else { "searches" }
        ));
        if self.repeated > 0 {
            notes.push(format!(
                "trials made again, or at a lower load: {}, which do not count, because the generator or the \
                 receiver fell short, or frames left in bursts",
                self.repeated
            ));
        }
        if self.doubtful > 0 {
            notes.push(format!(
                "{} losses count although frames left in bursts (more than {} late): the machine was busy, and the target may take more",
                self.doubtful,
                trial::UNEVEN
            ));
        }
        let limited = self
            .found
            .iter()
            .flat_map(|found| found.goals.iter().flatten().map(move |goal| (found.size, goal)));
        notes.extend(limited.filter_map(|(size, found)| reached(size, found)));
        notes.extend(self.waited());
        notes.extend(self.queued());
        notes.extend(self.resets.iter().enumerate().map(|(index, reset)| reset.statement(index + 1)));
        let report = |role, port: &mut dyn Port| ports::counted(ports::report_of(role, port.about()), port);
        let mut ports = Vec::new();
        for way in &mut self.bench.ways {
            ports.extend([report("out", &mut way.send), report("in", &mut *way.receive)]);
        }
        Findings {
            report: PacketReport {
                ports,
                tables,
                changes: self.bench.control.conclude(),
                ..PacketReport::default()
            },
            notes,
            labels: Vec::new(),
            span: None,
            failed_resets: self.failed_resets,
            invalid_trials: (self.searches + self.others > 0).then_some(self.untrusted()),
        }
    }
}

/// A sentence where the generator was the limit.
fn reached(size: u32, found: &GoalFindings) -> Option<String> {
    let name = &found.goal.name;
    match found.end {
        End::Generator(reached) => Some(format!(
            "{name} of {size} bytes is above what the generator can send ({reached:.0}/s): use a faster port \
             or a lower --max-rate"
        )),
        End::Receiver(reached) => Some(format!(
            "{name} of {size} bytes is above what this machine's receiver can handle ({reached:.0}/s): give it \
             more room (slots=…), its own CPU (--cpus) or a faster port, or use a lower --max-rate"
        )),
        _ => None,
    }
}
