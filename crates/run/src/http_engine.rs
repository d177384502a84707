//! The HTTP engine, as load.rs drives it.

use crate::by_module;
use crate::describe;
use crate::engine::{Brief, Driven, MakeRecorders};
use crate::limits;
use crate::past_kernel;
use crate::status::Failure;
use crate::watching::{self, Watching};
use crate::weighed::Weighed;
use clock::HostClock;
use http::{Engine, Facts, Notes, Running};
use measure::{Choice, Label, Loop, RunTotals, SimulatedTime};
use plan::{Close, Load, Plan, Shape};
use predict::Demand;
use schedule::Control;
use std::sync::Arc;
use store::schema::{Arrivals, Closing, SinkStatus};
use store::{RunResult, secrets};
use units::{Instant, Outcome, Picos, Rate};

/// See the module.
pub struct Http {
    plan: Plan,
    facts: Facts,
    brief: Brief,
    run: String,
    engine: Option<Engine>,
    running: Option<Running>,
    control: Arc<Control>,
    notes: Notes,
    bad_lines: Vec<String>,
}

impl Http {
    /// Opens everything the plan names. Nothing is sent. `is_hosted`: in a program of others, which goes on
    /// after the run.
    pub fn prepare(plan: Plan, clock: HostClock, is_hosted: bool) -> Result<Self, Failure> {
        let engine = Engine::prepare(plan.clone(), clock).map_err(Failure::wrong)?;
        let engine = if is_hosted { engine.with_shared_descriptors() } else { engine };
        let mut facts = engine.facts();
        // In a short file each URL is a name.
        facts.groups = masked(&facts.groups);
        let brief = brief(&plan, &facts, &engine);
        Ok(Self {
            plan,
            facts,
            brief,
            run: String::new(),
            engine: Some(engine),
            running: None,
            control: Arc::new(http::control()),
            notes: Notes::default(),
            bad_lines: Vec::new(),
        })
    }
}

/// Names without what is secret. Those that differ in nothing else are numbered, so that no limit is held
/// against the first of them alone.
fn masked(names: &[String]) -> Vec<String> {
    let masked: Vec<String> = names.iter().map(|name| secrets::in_urls(name)).collect();
    let number = |at: usize| {
        let like = |others: &[String]| others.iter().filter(|name| **name == masked[at]).count();
        match like(&masked) {
            1 => masked[at].clone(),
            _ => format!("{} ({})", masked[at], like(&masked[..=at])),
        }
    };
    (0..masked.len()).map(number).collect()
}

/// Whether a run of this plan would start, as far as that can be told while nothing is opened for it.
pub fn check(plan: Plan) -> Result<(), Failure> {
    let http = Http::prepare(plan, HostClock::calibrate(), true)?;
    let Brief { limits, names, .. } = &http.brief;
    limits::watch(limits, names, http.brief.measuring())?;
    http.engine.map_or(Ok(()), |engine| engine.check_port().map_err(Failure::wrong))
}

/// The canonical text, with absolute paths also in `--via`.
fn text_from_anywhere(plan: &Plan) -> String {
    let mut plan = plan.clone();
    plan.connection.via = plan.connection.via.map(|via| http::via_from_anywhere(&via));
    plan.to_toml_from_anywhere()
}

fn brief(plan: &Plan, facts: &Facts, engine: &Engine) -> Brief {
    let choice = |what: &str, chosen: &str, why: &str| Choice {
        what: what.to_owned(),
        chosen: chosen.to_owned(),
        why: why.to_owned(),
    };
    let own_tcp = plan.connection.via.is_some();
    let target_time = facts.simulated.map(|is_apart| match is_apart {
        true => SimulatedTime::Apart,
        false => SimulatedTime::Shared,
    });
    Brief {
        engine: "http",
        plan_text: text_from_anywhere(plan),
        plan_hash: plan.hash().to_string(),
        line_files: facts.line_files.iter().map(Into::into).collect(),
        target: describe::target(plan),
        load: describe::load(plan),
        unit: "request",
        limits: plan.limits.clone(),
        names: facts.groups.clone(),
        warmup: plan.stop.warmup,
        planned: planned(plan, facts.recorded_until),
        whole: plan.stop.duration.map(|duration| duration + plan.stop.warmup),
        threads: facts.threads as u16,
        load_loop: load_loop(plan),
        poisson: poisson(plan),
        parallel: match plan.load {
            Load::Closed { connections } => Some(connections),
            Load::Open { connections, .. } => connections,
        },
        // A TCP of our own uses none of the kernel's ports.
        source_addresses: if own_tcp { 0 } else { plan.connection.source_ips.len().max(1) as u64 },
        own_tcp,
        peers: facts.peers.clone(),
        links: engine.link().map(Arc::new).into_iter().collect(),
        spins: facts.spin,
        cpus: plan.engine.cpus.clone(),
        io: format!("{}: {}", facts.io.name(), facts.io.reason),
        choices: facts
            .path
            .iter()
            .map(|(path, why)| choice("path", path, why))
            .chain([
                choice("io", facts.io.name(), &facts.io.reason),
                choice("arrivals", facts.arrivals.0, &facts.arrivals.1),
                choice("spin", if facts.spin { "yes" } else { "no" }, &facts.spin_reason),
                choice("priority", &facts.priority, &facts.priority_reason),
                choice("threads", &facts.threads.to_string(), &facts.threads_reason),
            ])
            .collect(),
        steerable: engine.steerable(),
        has_frames: false,
        simulated: target_time.is_some(),
        target_time,
        // What this machine can bear says nothing of the module.
        weighed: match target_time {
            Some(_) => Weighed::default(),
            None => Weighed::look(&Demand::of_http(plan)),
        },
    }
}

/// A note if responses lay unread for more than a tenth of the gross p99, which is then not the target's alone.
fn unread_note(result: &RunResult) -> Option<String> {
    let (gross, unread, net) = (result.latency_ns.p99, result.unread_ns.p99, result.net_ns.p99);
    let matters = unread > gross / 10 && unread > 50_000;
    let time = |nanos| Picos::from_nanos(nanos);
    matters.then(|| {
        format!(
            "gross p99 is {:#}, but responses lay unread on this machine for up to {:#} at p99; \
             net p99, without that time, is {:#}",
            time(gross),
            time(unread),
            time(net)
        )
    })
}

/// What the connections did that is no outcome of a request.
fn sent_again(notes: &Notes) -> impl Iterator<Item = String> {
    let sent = [
        (notes.behind_last, "pipelined behind a response after which the target closed the connection"),
        (notes.behind_broken, "pipelined behind a request whose connection broke"),
        (notes.reused, "sent on an idle connection that the target had just closed"),
    ];
    let was = |count| if count == 1 { "was" } else { "were" };
    let again = sent.into_iter().filter(|(count, _)| *count > 0).map(move |(count, why)| {
        let times = if count == 1 { "once".to_owned() } else { report::counted(count, "time") };
        format!("{times}, a request was {why}, and was sent again")
    });
    let surplus = (notes.surplus > 0).then(|| {
        let closed = report::counted(notes.surplus, "connection");
        format!("{closed} {} closed because bytes arrived that no request had asked for", was(notes.surplus))
    });
    let without = (notes.without_continue > 0).then(|| {
        format!(
            "no 100 (Continue) came within 1 s for {}, so the body was sent without it; net includes that wait",
            report::counted(notes.without_continue, "request")
        )
    });
    let never = (notes.never_continued > 0).then(|| {
        format!(
            "{} timed out while the body waited for a 100 (Continue), for at most 1 s: the target never got the \
             body; allow a longer --timeout, or leave out --expect-continue",
            report::counted(notes.never_continued, "request")
        )
    });
    let unclosed = (notes.unclosed > 0).then(|| {
        let connections = report::counted(notes.unclosed, "connection");
        format!(
            "the target did not close {connections} (--close server), so Tare reset {}",
            match notes.unclosed {
                1 => "it",
                _ => "them",
            }
        )
    });
    again.collect::<Vec<_>>().into_iter().chain(surplus).chain(without).chain(never).chain(unclosed)
}

fn load_loop(plan: &Plan) -> Loop {
    match &plan.load {
        Load::Closed { .. } => Loop::Closed,
        Load::Open { arrivals, .. } => Loop::Open {
            gap: match &arrivals.shape {
                Shape::Constant(rate) => Some(rate.gap()),
                _ => None,
            },
        },
    }
}

fn poisson(plan: &Plan) -> Option<Rate> {
    match &plan.load {
        Load::Open { arrivals: plan::Arrivals { shape: Shape::Poisson(rate), .. }, .. } => Some(*rate),
        _ => None,
    }
}

/// Length of the measured part, where the plan says it: by its duration, or by so many requests at an even rate
/// or in bursts, with the pause after the last one. A load that ends by itself before its duration is as long
/// as its departures: `recorded_until` is the last of the times of `--at`, if it is known.
pub(crate) fn planned(plan: &Plan, recorded_until: Option<Picos>) -> Option<Picos> {
    let by_requests = match (&plan.load, plan.stop.requests) {
        (_, None) => None,
        (Load::Open { arrivals: plan::Arrivals { shape: Shape::Constant(rate), .. }, .. }, Some(count)) => {
            Some(rate.due(count.get()))
        }
        (
            Load::Open { arrivals: plan::Arrivals { shape: Shape::Burst { size, every }, .. }, .. },
            Some(count),
        ) => Some(every.saturating_mul(count.get().div_ceil(size.get()))),
        // Whichever comes first is not known beforehand.
        (_, Some(_)) => return None,
    };
    let ends = match &plan.load {
        Load::Open { arrivals, .. } => match &arrivals.shape {
            Shape::Stages(stages) => Some(stages.iter().map(|stage| stage.over).sum()),
            Shape::At(_) => recorded_until,
            _ => None,
        },
        Load::Closed { .. } => None,
    };
    let is_reached = |duration: &Picos| ends.is_none_or(|ends: Picos| ends >= plan.stop.warmup + *duration);
    let duration = plan.stop.duration.filter(is_reached);
    [by_requests, duration].into_iter().flatten().min()
}

impl Driven for Http {
    fn brief(&self) -> Brief {
        self.brief.clone()
    }

    fn allow_steering(&self) {
        self.control.allow_changes();
    }

    fn name_run(&mut self, run: &str) {
        self.run = run.to_owned();
        if let Some(engine) = &mut self.engine {
            engine.name_run(run);
        }
    }

    fn start(&mut self, recorders: MakeRecorders<'_>) -> Result<(), Failure> {
        let engine = self.engine.take().expect("a run is started once");
        self.running = Some(engine.start(self.control.clone(), recorders).map_err(Failure::wrong)?);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.running.as_ref().is_none_or(Running::is_over)
    }

    fn control(&self) -> &schedule::Control {
        &self.control
    }

    fn steer(&self, watching: &Watching, now: Instant) {
        watching.steer(&self.control, now);
    }

    fn steered(&self, origin: Instant) -> Option<String> {
        watching::label_of(&self.control.rates(), origin)
    }

    fn join(&mut self) {
        if let Some(running) = self.running.take() {
            (self.notes, self.bad_lines) = running.join();
        }
    }

    fn written(&self, totals: &RunTotals) -> Option<SinkStatus> {
        let (offered, cut_off) = (totals.offered(), totals.tally.cut_off);
        by_module::written(self.notes.module.as_ref()?, &self.run, offered, cut_off)
    }

    fn tell(&self, result: &mut RunResult, totals: &RunTotals) {
        let timeouts: u64 = result
            .outcomes
            .iter()
            .filter(|row| matches!(row.outcome(), Some(Outcome::Failed(cause)) if cause.is_time_out()))
            .map(|outcome| outcome.count)
            .sum();
        if timeouts > 0 {
            let counts = if timeouts == 1 { "counts" } else { "count" };
            result.notes.push(format!(
                "{} timed out after {} and {counts} with at least that time; \
                 percentiles that this could raise are marked ≥",
                report::counted(timeouts, "request"),
                self.plan.request.timeout
            ));
        }
        let counters = &totals.counters;
        let (by, why) = (self.facts.arrivals.0.to_owned(), self.facts.arrivals.1.clone());
        let mut arrivals = Arrivals { by, why, ..Arrivals::default() };
        arrivals.count(totals);
        result.generator.arrivals = Some(arrivals);
        result.notes.extend(unread_note(result));
        if let Some(nap) = counters.napped.as_picos().checked_div(counters.naps) {
            result.notes.push(format!(
                "responses arrived so fast that they were read in batches, after naps of {:#} on average; \
                 service times may be too long by up to that (with --spin never, each is read when it arrives)",
                Picos::from_picos(nap)
            ));
        }
        result.notes.extend(sent_again(&self.notes));
        result.connections.close = Some(match self.plan.connection.close {
            Close::Fin => Closing::Fin,
            Close::Rst => Closing::Rst,
            Close::Server => Closing::Server,
        });
        result.connections.unclosed = self.notes.unclosed;
        if let Some(account) = &self.notes.tcp {
            past_kernel::tell(account, self.facts.path.as_ref(), result);
        }
        if let Some(module) = &self.notes.module {
            by_module::tell(module, result);
        }
        if self.brief.simulated {
            result.labels.push(Label::SimulatedTime);
        }
        debug_assert_eq!(self.facts.groups, self.brief.names);
        result.notes.extend(self.notes.details.iter().cloned());
        result.notes.extend(self.bad_lines.iter().map(|line| format!("not a request: {line}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::PlanFile;

    #[test]
    fn the_plan_says_the_length_of_a_load_that_does_not_end_before() {
        let planned = |shape: &str, stop: &str, recorded_until| {
            let text = format!("url = 'http://h/'\n[load]\n{shape}\n[stop]\n{stop}\n");
            let plan = PlanFile::from_toml(&text, "plan.toml").and_then(PlanFile::resolve);
            planned(&plan.unwrap(), recorded_until)
        };
        let secs = |secs| Some(Picos::from_secs(secs));
        let (stages, at) = ("stages = '300:1s,300:1s'", "at = 'times.txt'");
        for (shape, stop, recorded_until, expected) in [
            (stages, "duration = '6s'", None, None),
            (stages, "duration = '2s'", None, secs(2)),
            (stages, "duration = '1s'", None, secs(1)),
            (stages, "duration = '2s'\nwarmup = '1s'", None, None),
            (stages, "duration = '1s'\nwarmup = '1s'", None, secs(1)),
            (at, "duration = '5s'", secs(1), None),
            (at, "duration = '5s'", secs(7), secs(5)),
            (at, "duration = '5s'", None, secs(5)),
            ("rate = 100", "duration = '5s'", None, secs(5)),
            ("rate = 100", "duration = '5s'\nrequests = 300", None, secs(3)),
            ("burst = '100:500ms'", "requests = 400", None, secs(2)),
            ("burst = '100:1s'", "requests = 101", None, secs(2)),
        ] {
            assert_eq!(planned(shape, stop, recorded_until), expected, "{shape} {stop}");
        }
    }

    #[test]
    fn names_that_differ_only_in_what_is_secret_stay_apart() {
        let names = ["http://h/?key=a", "http://h/", "http://h/?key=b", "http://h/?key=c"].map(str::to_owned);
        let found = masked(&names);
        let secret = |n: usize| format!("{} ({n})", secrets::in_urls(&names[0]));
        assert_eq!(found, [secret(1), "http://h/".to_owned(), secret(2), secret(3)]);
        assert!(found[0].contains("***"), "{found:?}");
        assert_eq!(masked(&names[..2]), [secrets::in_urls(&names[0]), "http://h/".to_owned()]);
    }
}
