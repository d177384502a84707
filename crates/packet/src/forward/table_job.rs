//! The table of threads and sizes as a job.

use super::job::spawn;
use super::lane::Moved;
use super::speed::SpeedPlan;
use crate::{Facts, Findings, Job, JobControl, MakeRecorders, PacketError, Running};
use clock::{Clock, HostClock};
use measure::packets::{PacketReport, Table};
use std::sync::{Arc, Mutex, PoisonError};
use units::{Bytes, EngineCounters, Fate};

/// Lanes that are measured alone.
pub struct TableJob {
    plan: SpeedPlan,
    clock: HostClock,
}

impl TableJob {
    pub const fn new(plan: SpeedPlan, clock: HostClock) -> Self {
        Self { plan, clock }
    }
}

impl Job for TableJob {
    fn facts(&self) -> Facts {
        let SpeedPlan { threads, sizes, trials, rules, .. } = &self.plan;
        let rules = match rules {
            Some(rules) => format!("firewall of {} rules", rules.rules.len()),
            None => "forward every frame".to_owned(),
        };
        let cells = threads.len() * sizes.len();
        Facts {
            threads: 1,
            spins: true,
            load: format!("{rules}: {cells} cells of threads and frame sizes, {trials} trials each"),
            target: "mem".to_owned(),
            ..Facts::default()
        }
    }

    fn start(
        self: Box<Self>,
        control: Arc<JobControl>,
        recorders: MakeRecorders<'_>,
    ) -> Result<Running, PacketError> {
        let Self { plan, clock } = *self;
        let origin = clock.now();
        control.begin(origin);
        let Some(mut record) = recorders(origin).into_iter().next() else {
            return Err(PacketError::Wrong("there is no recorder".to_owned()));
        };
        let found: Arc<Mutex<Option<Table>>> = Arc::default();
        let (kept, ours) = (found.clone(), control.clone());
        let thread = spawn("forward-table".to_owned(), move || {
            let mut counters = EngineCounters::default();
            let mut tell = |moved: &Moved| {
                counters.offered += moved.ended();
                counters.due = counters.offered;
                record.frames(Fate::Forwarded, moved.forwarded, Bytes::new(moved.forwarded_bytes));
                record.frames(Fate::Filtered, moved.filtered, Bytes::new(moved.filtered_bytes));
                record.tick(clock.now(), &counters);
            };
            match plan.run(&clock, &ours, &mut tell) {
                Ok(table) => *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(table),
                Err(error) => ours.fail(error.to_string()),
            }
            tell(&Moved::default());
        })?;
        Ok(Running::new(vec![thread], move || {
            let tables = found.lock().unwrap_or_else(PoisonError::into_inner).take().into_iter().collect();
            let report = PacketReport { command: "forward".to_owned(), tables, ..PacketReport::default() };
            Findings { report, ..Findings::default() }
        }))
    }
}
