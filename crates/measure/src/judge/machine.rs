//! The machine under the generator: what the engine threads' time went to, and what would give them more.

use super::frames::Flags;
use super::{Conditions, Loop, at_least, share};
use crate::criterion::CriterionId;
use crate::health::{HealthSummary, ThreadHealth};
use crate::series::Series;
use crate::totals::RunTotals;
use crate::verdict::Criterion;
use crate::waiters::waits::Waits;
use std::collections::BTreeSet;
use units::Picos;

/// Shares of a shorter time are not judged: the kernel counts a CPU's work and steal in ticks of 10 ms.
const LEAST_SPAN_NS: u64 = 100_000_000;
/// Nor are waits of the target's in a shorter one.
const BRIEF_SPAN_NS: u64 = 10_000_000;
/// A thread that works or waits for its CPU for more than this share of the time has none to spare.
const SATURATED: f64 = 0.95;
/// A thread that works for more than this share of the time is busy: queues in it grow.
const BUSY: f64 = 0.90;
/// A thread that waits for its CPU for more than this share of the time is crowded.
const CROWDED: f64 = 0.05;
/// A thread of a closed loop that waits for its CPU for more than this share of the time has hardly run. With
/// a few threads on one CPU, each waits for much of the time, and yet the CPU makes what it can.
const STOPPED: f64 = 0.8;

/// A target that waits for a thread's CPU for more than this share of the time makes about half as many
/// responses late (a long wait counts with the brief ones around it), and so moves the 99th percentile.
const HELD_UP: f64 = 0.02;

/// A thread that sleeps gets a CPU on which others work so late, in an open loop: the scheduler's slices and
/// ticks are of a few milliseconds.
const WOKEN: Picos = Picos::from_millis(4);

/// A target that waits for so long for each response is not told from the noise of waking.
const UNFELT: Picos = Picos::from_micros(20);

/// Percentiles that a wait of the target's is held against, and what is not felt there.
const FELT: [(f64, Picos); 3] = [(0.5, UNFELT), (0.9, UNFELT), (0.99, Picos::from_micros(50))];

/// Others that wait for a thread's CPU for more than this share of the time may have hardly got it.
const STARVED: f64 = 0.25;

/// Where it cannot be seen who waits: more than this share of a CPU that is never idle is nobody's
/// housekeeping.
const UNSEEN: f64 = 0.03;

pub(super) struct Machine<'a> {
    pub(super) health: &'a HealthSummary,
    conditions: &'a Conditions,
    open: bool,
}

impl<'a> Machine<'a> {
    pub fn of(health: &'a HealthSummary, conditions: &'a Conditions) -> Self {
        Self { health, conditions, open: matches!(conditions.load, Loop::Open { .. }) }
    }

    /// Those that were watched long enough to be judged, in the order of docs/verdict.md. `behind`:
    /// `lateness.p99` fails.
    pub fn criteria(&self, totals: &RunTotals, behind: bool) -> Vec<Criterion> {
        // Where requests have due times, waiting for a CPU is measured by what it does: lateness, and answers
        // that lie unread.
        let runqueue = if self.open && self.conditions.frames.is_none() { None } else { self.runqueue() };
        let unseen = if self.conditions.frames.is_none() { self.target_unseen() } else { None };
        let shared = [runqueue, self.same_core(), self.target_waited(), unseen, self.others_waited(totals)];
        [self.cpu(behind)]
            .into_iter()
            .chain(shared)
            .chain([self.steal(), self.throttled()])
            .flatten()
            .collect()
    }

    /// Whether an engine thread had no time to spare: then it cannot be told from the target, so it is not
    /// excused.
    pub fn saturated(&self) -> bool {
        self.share_of_worst(|thread| thread.work_share() + thread.runqueue_share()) > SATURATED
    }

    /// Whether the target is at a Unix socket.
    pub const fn is_unix(&self) -> bool {
        self.conditions.unix
    }

    /// What lets requests leave in time.
    pub fn in_time(&self) -> String {
        let busy = self.share_of_worst(ThreadHealth::work_share) > BUSY;
        if busy && !self.crowded() {
            return self.more_room();
        }
        if let Some((index, core)) = self.shared_with_target() {
            return format!("the target shares the CPU ({core}) of engine thread {index}: {}", self.parted());
        }
        if self.conditions.spins || self.crowded() {
            return if self.conditions.pinned {
                "other work shares this CPU: stop it, or run on a quieter machine".into()
            } else {
                format!("other work shares this CPU: stop it, or pin {} to its own CPU", self.pins())
            };
        }
        if let Some(mend) = self.conditions.frames.as_ref().and_then(|frames| frames.no_spin.clone()) {
            return mend;
        }
        let threads = match (self.has_free_cpus(), self.threads_flag()) {
            (true, Some(flag)) => format!(", or add {flag}"),
            _ => String::new(),
        };
        if self.open && self.flags().spin && self.may_spin() {
            format!("let it spin (--spin always), or pin it to its own CPU ({}){threads}", self.pins())
        } else if self.all_cpus() == 1 {
            "stop other work on this machine, which has one CPU, or lower --rate".into()
        } else {
            let pins = self.pins();
            format!("stop other work on this machine, or pin it to its own CPU ({pins}){threads}")
        }
    }

    /// What lets answers be read in time.
    pub fn reads_in_time(&self) -> String {
        match self.threads_flag().filter(|_| self.has_free_cpus()) {
            Some(flag) => format!("add {flag}, or use a kernel with receive timestamps"),
            None => "give it more or quieter CPUs, or use a kernel with receive timestamps".into(),
        }
    }

    /// Engine threads that were watched.
    pub fn threads(&self) -> usize {
        self.health.threads.len()
    }

    /// What lets the generator send more.
    pub fn more_room(&self) -> String {
        match (self.threads_flag().filter(|_| self.has_free_cpus()), self.open) {
            (Some(flag), true) => format!("add {flag}, or lower --rate"),
            (Some(flag), false) => format!("add {flag}"),
            (None, true) => "lower --rate, or give it more or quieter CPUs".into(),
            (None, false) => "give it more or quieter CPUs".into(),
        }
    }

    /// The flags that the command has.
    fn flags(&self) -> Flags {
        self.conditions.frames.as_ref().map_or(Flags::OF_REQUESTS, |frames| frames.flags)
    }

    /// The flag for more threads, if the command has one.
    fn threads_flag(&self) -> Option<&'static str> {
        self.flags().threads
    }

    /// How threads are pinned. Where there is a flag it is that alone: `taskset` binds all threads, those that
    /// receive as well.
    fn pins(&self) -> &'static str {
        if self.flags().cpus { "with --cpus" } else { "with taskset" }
    }

    /// Whether one more engine thread would find a CPU.
    fn has_free_cpus(&self) -> bool {
        let cpus = self.conditions.cpus as usize;
        // A thread that receives what is sent needs one as well.
        let receives = self.conditions.frames.as_ref().is_some_and(|frames| frames.received > 0);
        let threads = self.health.threads.len() + usize::from(receives);
        let is_left = |cpus: usize, others: usize| cpus == 0 || threads + others < cpus;
        // So does a target that runs here.
        is_left(cpus, 0) && is_left(self.all_cpus(), usize::from(self.target_is_here())) && !self.crowded()
    }

    /// CPUs of this machine; 0 if unknown.
    fn all_cpus(&self) -> usize {
        self.health.cores.len()
    }

    fn target_is_here(&self) -> bool {
        let hidden = self.health.hides_target || self.health.loses_children;
        hidden || share(self.health.target_ran_ns, self.health.span_ns) > HELD_UP
    }

    /// Whether the engine threads can spin and leave a CPU to everything else.
    fn may_spin(&self) -> bool {
        self.all_cpus() == 0 || self.health.threads.len() < self.all_cpus()
    }

    /// Whether threads that sleep on a CPU with others leave in time: see `percentiles`.
    fn may_sleep(&self) -> bool {
        matches!(self.conditions.load, Loop::Open { gap: Some(gap) } if gap >= WOKEN.saturating_mul(10))
    }

    /// The engine thread on whose CPU the target ran the most, and that CPU: if it ran so much that a thread
    /// which spins there would keep it waiting.
    fn shared_with_target(&self) -> Option<(usize, u32)> {
        let (index, share) = self.worst(ThreadHealth::target_share)?;
        (share > HELD_UP).then(|| (index, self.health.threads[index].core))
    }

    fn crowded(&self) -> bool {
        self.share_of_worst(ThreadHealth::runqueue_share) > CROWDED
    }

    fn cpu(&self, behind: bool) -> Option<Criterion> {
        let (index, busiest) = self.worst(ThreadHealth::work_share)?;
        let criterion = Criterion::new(CriterionId::CpuThread, busiest, BUSY);
        Some(criterion.invalid_beyond((self.open && behind).then_some(0.98)).advise(|| {
            let consequence = if self.open {
                "it cannot offer much more"
            } else {
                "the rate is its limit, not the target's"
            };
            let percent = busiest * 100.0;
            format!(
                "engine thread {index} works {percent:.0} % of the time, so {consequence}: {}",
                self.more_room()
            )
        }))
    }

    fn runqueue(&self) -> Option<Criterion> {
        let (index, share) = self.worst(ThreadHealth::runqueue_share)?;
        let criterion = Criterion::new(CriterionId::Runqueue, share, CROWDED);
        Some(criterion.invalid_beyond(Some(if self.open { 0.5 } else { STOPPED })).advise(|| {
            let fewer = match self.threads_flag().filter(|_| self.health.threads.len() > 1) {
                Some(flag) => format!("use fewer {flag}"),
                None => format!("pin it {}", self.pins()),
            };
            let percent = share * 100.0;
            format!("engine thread {index} waits for a CPU {percent:.0} % of the time: {fewer}, or stop other work here")
        }))
    }

    /// A thread waits for its CPU while others' work fills it.
    fn same_core(&self) -> Option<Criterion> {
        let crowded = |thread: &ThreadHealth| {
            if thread.runqueue_share() > CROWDED { thread.others_share() } else { 0.0 }
        };
        let (index, share) = self.worst(crowded)?;
        Some(Criterion::new(CriterionId::SameCore, share, 0.25).advise(|| {
            let core = self.health.threads[index].core;
            format!(
                "the target, or other work, is on the same core ({core}) as engine thread {index}: separate \
                 them {}",
                self.pins()
            )
        }))
    }

    /// The target waits for the CPU that a thread has. It is INVALID where it waited for much of the time, and
    /// for longer than it ran: whatever it did took at least twice its time.
    fn target_waited(&self) -> Option<Criterion> {
        let waited = ThreadHealth::target_waited_share;
        let (index, share, limit) = match self.worst(waited) {
            Some((index, share)) => (index, share, HELD_UP),
            // Waits are counted in nanoseconds: those of a brief run are known as well, and judged if they are
            // much of it.
            None => self.worst_over(BRIEF_SPAN_NS, waited).map(|(index, share)| (index, share, STARVED))?,
        };
        let thread = &self.health.threads[index];
        let doubled = thread.target_waited_ns >= thread.target_ran_ns;
        let criterion = Criterion::new(CriterionId::TargetWaited, share, limit);
        let criterion = criterion.invalid_beyond(doubled.then_some(STARVED));
        Some(criterion.advise(|| self.waited("the target", index, share, &thread.target_waiter.1)))
    }

    /// The same for each response: where requests come in bursts, a target that waits for a hundredth of the
    /// run may wait in all of them; and a few long waits are the slowest responses.
    pub fn target_delayed(&self, totals: &RunTotals) -> Option<Criterion> {
        let (index, share) = self.worst(ThreadHealth::target_waited_share)?;
        // Then `target.waited` says so.
        if share > HELD_UP {
            return None;
        }
        let thread = &self.health.threads[index];
        let delay = Delay::of(totals, &thread.target_waits, thread.target_waited_ns, thread.span_ns);
        Some(
            Criterion::new(CriterionId::TargetDelayed, delay.ns, delay.limit_ns)
                .advise(|| self.waited("the target", index, share, &thread.target_waiter.1)),
        )
    }

    /// The target waits for programs that are, as far as can be seen, not its own.
    pub fn target_crowded(&self, totals: &RunTotals) -> Option<Criterion> {
        let (index, _) = self.worst(ThreadHealth::target_waited_share)?;
        let (crowded_ns, span_ns) = (self.health.target_crowded_ns, self.health.threads[index].span_ns);
        let delay = Delay::of(totals, &self.health.target_waits, crowded_ns, span_ns);
        Some(Criterion::new(CriterionId::TargetCrowded, delay.ns, delay.limit_ns).advise(|| {
            let percent = share(crowded_ns, span_ns).min(1.0) * 100.0;
            // What is tare's doing goes first: it may be all of it.
            if self.share_of_worst(ThreadHealth::target_waited_share) > HELD_UP {
                return format!(
                    "the target waited {percent:.1} % of the time for CPUs that tare and other programs on \
                     this machine used: {}",
                    self.parted()
                );
            }
            if self.health.guesses_target {
                return format!(
                    "programs that tare may not look into waited {percent:.1} % of the time for CPUs that \
                     others used, and one of them is the target: stop other programs, or bind the target to \
                     other CPUs (taskset); as the target's user, or as root, tare sees which it is"
                );
            }
            format!(
                "the target waited {percent:.1} % of the time for CPUs that other programs on this machine \
                 used: stop them, or bind the target to other CPUs (taskset)"
            )
        }))
    }

    /// Threads of the target that nobody saw wait: what they ran on a thread's CPU is known, or at least
    /// bounded.
    fn target_unseen(&self) -> Option<Criterion> {
        let (index, share) = self.worst(ThreadHealth::target_unseen_share)?;
        Some(Criterion::new(CriterionId::TargetUnseen, share, UNSEEN).advise(|| {
            let (core, percent) = (self.health.threads[index].core, share * 100.0);
            let (who, why) = if self.health.hides_target {
                ("other work", "the target is on this machine, but its processes are hidden from tare")
            } else if self.health.loses_children {
                ("other work", "the target ignores SIGCHLD, so no total includes its child processes")
            } else {
                ("threads of the target that came and went", "they were not there to be asked")
            };
            format!(
                "{who} used up to {percent:.0} % of the CPU ({core}) of engine thread {index}, and tare cannot \
                 see how long they waited for it ({why}): {}",
                self.parted()
            )
        }))
    }

    /// Others wait for it. It is INVALID where they may be the target's, had to wait for longer than they ran,
    /// and waited for long enough to be half of a percentile that is printed.
    fn others_waited(&self, totals: &RunTotals) -> Option<Criterion> {
        if self.health.is_blind {
            return self.unseen();
        }
        let (index, share) = self.worst(ThreadHealth::others_waited_share)?;
        let thread = &self.health.threads[index];
        let is_grave = thread.unknown_waited_share() > STARVED
            && thread.unknown_waited_ns >= thread.unknown_ran_ns
            && may_be_half(totals, thread.unknown_waited_ns);
        let criterion = Criterion::new(CriterionId::OthersWaited, share, STARVED);
        let waiter = &thread.others_waiter.1;
        Some(
            criterion
                .invalid_beyond(is_grave.then_some(STARVED))
                .advise(|| self.waited("other work, perhaps for the target,", index, share, waiter)),
        )
    }

    /// Who waits cannot be seen. But work that had a part of a CPU which was never idle had to wait for it.
    fn unseen(&self) -> Option<Criterion> {
        let full = |thread: &ThreadHealth| {
            let others = thread.others_share();
            if thread.cpu_share() + others > SATURATED { others } else { 0.0 }
        };
        let (index, share) = self.worst(full)?;
        Some(Criterion::new(CriterionId::OthersWaited, share, UNSEEN).advise(|| {
            let (core, percent) = (self.health.threads[index].core, share * 100.0);
            format!(
                "the CPU ({core}) of engine thread {index} was never idle, and other work used {percent:.0} % \
                 of it; tare cannot see whether that is the target (this is a container, or /proc hides \
                 others' processes): separate them {}",
                self.pins()
            )
        }))
    }

    fn waited(&self, who: &str, index: usize, share: f64, name: &str) -> String {
        let (core, percent) = (self.health.threads[index].core, share * 100.0);
        // It may have ended before its name was read.
        let longest = if name.is_empty() { String::new() } else { format!(" ({name} the longest)") };
        // A thread of the kernel's that delivers frames is bound to its CPU.
        let is_bound = name.starts_with("ksoftirqd/") && self.all_cpus() != 1;
        let advice = match is_bound {
            true => format!("stop other work on this CPU, or pin tare to another {}", self.pins()),
            false => self.parted(),
        };
        format!(
            "{who} waited {percent:.1} % of the time for the CPU ({core}) of engine thread {index}{longest}: \
             {advice}"
        )
    }

    /// How the target gets a CPU that tare does not have.
    fn parted(&self) -> String {
        // Where departures are dense, a thread that sleeps beside the target is late.
        let sleeps = self.conditions.spins && self.flags().spin && self.may_sleep();
        let sleep = if sleeps { ", or let tare sleep (--spin never)" } else { "" };
        if self.all_cpus() == 1 {
            let slower = if self.open { ", or lower --rate" } else { "" };
            return format!(
                "this machine has one CPU for both, so run the target on another machine{slower}{sleep}"
            );
        }
        // To bind the generator alone does not help: who is woken by it is often run where it runs.
        let pin = if self.flags().cpus { "--cpus" } else { "taskset" };
        let fewer = match self.threads_flag().filter(|_| !self.may_spin()) {
            Some(flag) => format!("use fewer {flag} than CPUs, and "),
            None => String::new(),
        };
        format!("{fewer}bind the target to other CPUs (taskset) than tare ({pin}){sleep}")
    }

    /// How much of a CPU each engine thread has, at most 1.
    pub fn cpus_per_thread(&self) -> f64 {
        let cores: BTreeSet<u32> = self.health.threads.iter().map(|thread| thread.core).collect();
        cores.len() as f64 / self.health.threads.len().max(1) as f64
    }

    fn steal(&self) -> Option<Criterion> {
        let (_, share) = self.worst(ThreadHealth::stolen_share)?;
        let criterion = Criterion::new(CriterionId::Steal, share, 0.01);
        Some(criterion.invalid_beyond(Some(0.2)).advise(|| {
            "the hypervisor gave this machine's CPU to others: run on a quieter or dedicated machine".into()
        }))
    }

    fn throttled(&self) -> Option<Criterion> {
        // Where no group can be seen, that there is no quota is not known.
        if self.health.span_ns < LEAST_SPAN_NS || self.health.hides_quota {
            return None;
        }
        // A group's time is that of all CPUs together, and of all that is in it: no thread was stopped for
        // longer than it did not run, and none that quotas do not hold back.
        let stopped_at_most =
            |thread: &ThreadHealth| if thread.is_real_time { 0.0 } else { 1.0 - thread.cpu_share() };
        let most = self.health.threads.iter().map(stopped_at_most).reduce(f64::max).unwrap_or(1.0);
        let share = share(self.health.throttled_ns, self.health.span_ns).min(most);
        let criterion = Criterion::new(CriterionId::Throttled, share, 0.001);
        Some(criterion.invalid_beyond(Some(0.05)).advise(|| {
            let lower = self.threads_flag().map_or_else(String::new, |flag| format!(", or lower {flag}"));
            format!("the control group's CPU quota stopped the generator: raise cpu.max{lower}")
        }))
    }

    /// The engine thread for which `measure` is largest, of those watched long enough, and how large.
    fn worst(&self, measure: impl Fn(&ThreadHealth) -> f64) -> Option<(usize, f64)> {
        self.worst_over(LEAST_SPAN_NS, measure)
    }

    fn worst_over(&self, least_ns: u64, measure: impl Fn(&ThreadHealth) -> f64) -> Option<(usize, f64)> {
        let watched = self.health.threads.iter().enumerate().filter(|(_, thread)| thread.span_ns >= least_ns);
        watched.map(|(index, thread)| (index, measure(thread))).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn share_of_worst(&self, measure: impl Fn(&ThreadHealth) -> f64) -> f64 {
        self.worst(measure).map_or(0.0, |(_, share)| share)
    }
}

/// What waits of the target's did to the responses: the worst of a few comparisons.
struct Delay {
    ns: f64,
    limit_ns: f64,
}

impl Delay {
    /// `blamed_ns` of all `waits` within `span_ns` is what the delay comes of.
    fn of(totals: &RunTotals, waits: &Waits, blamed_ns: u64, span_ns: u64) -> Self {
        let net = totals.series.of(Series::Net);
        let responses = net.len().max(1) as f64;
        let at = |quantile: f64| net.value_at_quantile(quantile) as f64;
        // On the average, against the fastest responses, which have waited the least.
        // No delay is longer than the response that it is in: threads of the target's may wait on which none
        // depends.
        let mean_ns = (blamed_ns as f64 / responses).min(net.mean());
        let mean = Self { ns: mean_ns, limit_ns: at_least(UNFELT, at(0.1) / 10.0) };
        let part = (blamed_ns as f64 / waits.total_ns().max(1) as f64).min(1.0);
        if part == 0.0 {
            return mean;
        }
        let per_ns = responses / span_ns.max(1) as f64;
        let printed = FELT.map(|(quantile, floor)| Self {
            ns: waits.at_least_ns(beyond(responses, quantile) / part, per_ns).min(at(quantile)),
            limit_ns: at_least(floor, at(quantile) / 10.0),
        });
        let worse = |one: Self, other: Self| {
            if other.ns * one.limit_ns > one.ns * other.limit_ns { other } else { one }
        };
        printed.into_iter().fold(mean, worse)
    }
}

/// How many responses must be slower for a percentile to be so.
fn beyond(responses: f64, quantile: f64) -> f64 {
    responses - (responses * quantile).ceil() + 1.0
}

/// Whether this much waiting may be half of the net time at a percentile that is printed.
fn may_be_half(totals: &RunTotals, waited_ns: u64) -> bool {
    let net = totals.series.of(Series::Net);
    let half_ns =
        |quantile: f64| beyond(net.len() as f64, quantile) * net.value_at_quantile(quantile) as f64 / 2.0;
    !net.is_empty() && FELT.iter().any(|(quantile, _)| waited_ns as f64 >= half_ns(*quantile))
}
