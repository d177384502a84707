//! A command that deals in frames, from its job to an exit status: the same arrow as every load.

use crate::engine::{Brief, Driven, MakeRecorders};
use crate::load::{self, Finished};
use crate::options::{Options, Output};
use crate::progress::Shown;
use crate::run_files::{RunFiles, text_from_anywhere};
use crate::status::{Failure, Status, complain};
use crate::terminal::print_all;
use crate::watching::Watching;
use crate::weighed::Weighed;
use clock::HostClock;
use measure::packets::{PacketReport, PortReport};
use measure::{Choice, Flags, FrameConditions, Label, Loop, RunTotals, TransmitPlace};
use os::peers::Peers;
use packet::ctl::{Keys, Server};
use packet::{Facts, Findings, Job, JobControl, Running};
use plan::packets::{Command, PacketPlan, PlannedPort};
use port::interface::LinkWatch;
use port::{Address, DropPlace};
use predict::Demand;
use schedule::Halt;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use store::{RunResult, Spans};
use units::{Instant, Picos, Record};

/// Carries a job out, keeps and prints the result, and says how the process shall end. `prepare` makes the job
/// from the run's clock: what it opens, it opens then, and nothing is sent. `notes` are sentences that are
/// known beforehand.
pub fn carry_out(
    prepare: impl FnOnce(HostClock) -> Result<Box<dyn Job>, Failure>,
    plan: &PacketPlan,
    notes: Vec<String>,
    options: &Options,
) -> Result<Status, Failure> {
    if options.print_plan {
        print_all(&plan.to_toml())?;
        return Ok(Status::Done);
    }
    let has_keys = options.progress == Shown::Line
        && options.output == Output::Summary
        && options.live.address.is_none()
        && matches!(plan.command, Command::Send | Command::Pace | Command::Forward);
    // A view that fills the terminal has keys of its own, which know only requests.
    let mut options = options.clone();
    options.live.no_view = true;
    load::load_by(
        |clock| Ok(Box::new(Frames::new(prepare(clock)?, plan, clock, has_keys)) as Box<dyn Driven>),
        &RunFiles::of_frames(plan),
        notes,
        &options,
    )
}

/// The same without anything that is printed.
pub fn quietly(
    prepare: impl FnOnce(HostClock) -> Result<Box<dyn Job>, Failure>,
    plan: &PacketPlan,
    options: &Options,
) -> Result<Finished, Failure> {
    let prepare = |clock| Ok(Box::new(Frames::new(prepare(clock)?, plan, clock, false)) as Box<dyn Driven>);
    load::drive(prepare, &RunFiles::of_frames(plan), Vec::new(), options)
}

/// A packet job, as load.rs drives it.
struct Frames {
    command: Command,
    brief: Brief,
    facts: Facts,
    job: Option<Box<dyn Job>>,
    running: Option<Running>,
    control: Arc<JobControl>,
    clock: HostClock,
    findings: Findings,
    /// Flags of the command that advice may name.
    flags: Flags,
    has_keys: bool,
    keys: Option<Keys>,
    server: Option<Server>,
}

impl Frames {
    fn new(job: Box<dyn Job>, plan: &PacketPlan, clock: HostClock, has_keys: bool) -> Self {
        let facts = job.facts();
        Self {
            command: plan.command,
            brief: brief(&facts, plan),
            facts,
            job: Some(job),
            running: None,
            control: Arc::new(JobControl::default()),
            clock,
            findings: Findings::default(),
            flags: flags(plan.command),
            has_keys,
            keys: None,
            server: None,
        }
    }

    fn only_received(&self) -> bool {
        matches!(self.command, Command::Capture | Command::Gaps)
    }
}

/// Not every command has all flags that a load of frames may need.
const fn flags(command: Command) -> Flags {
    let (threads, cpus, spin) = match command {
        Command::Send => (Some("--queues"), true, true),
        Command::Pace | Command::Sweep => (None, true, false),
        Command::Capture => (Some("--queues"), false, false),
        Command::Forward => (Some("--threads"), false, false),
        Command::Gaps => (None, false, false),
    };
    Flags { threads, cpus, spin }
}

fn brief(facts: &Facts, plan: &PacketPlan) -> Brief {
    let load_loop = match plan.command {
        Command::Capture | Command::Gaps | Command::Forward => Loop::Passive,
        Command::Send | Command::Pace | Command::Sweep if facts.is_open_loop => Loop::Open { gap: facts.gap },
        Command::Send | Command::Pace | Command::Sweep => Loop::Closed,
    };
    let choice = |(what, chosen, why): &(String, String, String)| Choice {
        what: what.clone(),
        chosen: chosen.clone(),
        why: why.clone(),
    };
    Brief {
        engine: plan.command.name(),
        plan_text: text_from_anywhere(plan),
        plan_hash: plan.hash().to_string(),
        line_files: Vec::new(),
        target: facts.target.clone(),
        load: facts.load.clone(),
        unit: "frame",
        limits: plan.limits.clone(),
        names: Vec::new(),
        warmup: units::Picos::ZERO,
        planned: facts.length,
        whole: facts.length,
        threads: facts.threads.max(1) as u16,
        load_loop,
        poisson: facts.poisson,
        parallel: None,
        source_addresses: 1,
        own_tcp: false,
        peers: Peers::default(),
        links: links(plan),
        spins: facts.spins,
        cpus: Vec::new(),
        io: facts.target.clone(),
        choices: facts.choices.iter().map(choice).collect(),
        steerable: Err("change its rate with tare ctl, or with + and -"),
        has_frames: true,
        simulated: facts.time.is_some_and(|time| time.simulated),
        target_time: None,
        weighed: weighed(plan),
    }
}

/// The canonical plan reads back as the same plan.
fn weighed(plan: &PacketPlan) -> Weighed {
    let demand = Demand::of_file(&plan.to_toml(), "plan");
    demand.map_or_else(|_| Weighed::default(), |demand| Weighed::look(&demand))
}

impl Driven for Frames {
    fn brief(&self) -> Brief {
        self.brief.clone()
    }

    fn allow_steering(&self) {}

    fn settle_in(&mut self, folder: Option<&Path>) {
        if let Some(folder) = folder {
            match Server::start(folder, self.control.clone(), self.clock) {
                Ok(server) => self.server = Some(server),
                Err(error) => complain(&format!("tare: tare ctl cannot reach this run: {error}")),
            }
        }
        if self.has_keys {
            self.keys = Keys::start(self.control.clone(), self.clock);
        }
    }

    fn start(&mut self, recorders: MakeRecorders<'_>) -> Result<(), Failure> {
        let job = self.job.take().expect("a run is started once");
        let mut make = |origin: Instant| -> packet::Recorders {
            recorders(origin)
                .into_iter()
                .map(|recorder| Box::new(recorder) as Box<dyn Record + Send>)
                .collect()
        };
        self.running = Some(job.start(self.control.clone(), &mut make).map_err(Failure::wrong)?);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.running.as_ref().is_none_or(Running::is_over)
    }

    fn control(&self) -> &schedule::Control {
        &self.control
    }

    fn steer(&self, _: &Watching, _: Instant) {
        // On a terminal, the line of progress stands where this goes.
        let clear = if std::io::stderr().is_terminal() { "\r\x1b[2K" } else { "" };
        self.control.said().iter().for_each(|line| complain(&format!("{clear}tare: {line}")));
    }

    fn steered(&self, _: Instant) -> Option<String> {
        let mut changes = self.control.changes();
        // A mark is a question: the load stays as it is.
        changes.retain(|change| change.what != "mark");
        let last = changes.last()?;
        let unlisted = self.control.unlisted();
        let more = match changes.len() as u64 + unlisted {
            1 => String::new(),
            all if unlisted > 0 => format!(
                " ({} in total, {} of them not listed)",
                report::counted(all, "change"),
                report::count(unlisted)
            ),
            all => format!(" ({} in all)", report::counted(all, "change")),
        };
        Some(format!("changed by hand: {} {} after {:.3} s{more}", last.what, last.to, last.at_s))
    }

    fn join(&mut self) {
        if let Some(running) = self.running.take() {
            self.findings = running.join();
        }
        self.findings.report.command = self.brief.engine.to_owned();
        self.findings.report.changes_unlisted = self.control.unlisted();
        // Keys and socket are for a run that goes on.
        self.keys = None;
        self.server = None;
    }

    fn frame_conditions(&self) -> Option<FrameConditions> {
        let gap = self.facts.gap.map(|gap| gap.as_picos() as f64 / 1e3);
        let mut known = conditions(&self.findings, gap);
        let shortest = |gap: f64| self.control.shortest_gap(Picos::from_picos((gap * 1e3) as u64));
        known.requested_gap_ns = known.requested_gap_ns.map(|gap| shortest(gap).as_picos() as f64 / 1e3);
        let port_failed = self.control.halt() == Halt::Failed && !known.script_failed;
        let simulated = self.brief.simulated;
        let (flags, no_spin) = (self.flags, self.facts.no_spin.clone());
        let measured = self.findings.report.gaps.as_ref().filter(|_| self.command == Command::Gaps);
        let gaps = measured.map(|gaps| gaps.count);
        let gaps_impossible = measured.map_or(0, |gaps| gaps.backward + gaps.beyond);
        let of_file = self.only_received() && is_of_file(&self.findings);
        let known = FrameConditions { gaps, gaps_impossible, port_failed, simulated, of_file, ..known };
        let is_flood = self.command == Command::Send && !self.facts.is_open_loop;
        Some(FrameConditions { flags, no_spin, is_flood, ..known })
    }

    /// Frames of a file arrive as fast as it is read, and those of a simulation as fast as that goes: their
    /// rate is that of their stamps, and none where there are no two.
    fn spans(&self, spans: Spans, totals: &RunTotals) -> Spans {
        if !self.only_received() || !(self.brief.simulated || is_of_file(&self.findings)) {
            return spans;
        }
        let span = self.findings.span.unwrap_or(Picos::ZERO);
        Spans { offering: span, answered: totals.tally.done, answering: span, until_last: span }
    }

    fn tell(&self, result: &mut RunResult, _: &RunTotals) {
        result.notes.extend(self.facts.notes.iter().cloned());
        result.notes.extend(self.findings.notes.iter().cloned());
        result.labels.extend(self.findings.labels.iter().cloned().map(Label::Sentence));
        if let Some(time) = self.facts.time {
            result.generator.clock = time.words();
        }
        if self.brief.simulated {
            result.labels.push(Label::SimulatedTime);
        }
        result.packets = Some(PacketReport { time: self.facts.time, ..self.findings.report.clone() });
    }
}

/// The interfaces of the ports that receive. What sends notices by itself that its link is down, and a sweep
/// expects it of what it tests.
fn links(plan: &PacketPlan) -> Vec<Arc<LinkWatch>> {
    if !matches!(plan.command, Command::Capture | Command::Gaps | Command::Forward | Command::Send) {
        return Vec::new();
    }
    let reads = |port: &PlannedPort| port.is_read || plan.command == Command::Forward;
    let addresses = plan.ports().into_iter().filter(reads).filter_map(|port| port.address.parse().ok());
    let interfaces = addresses.filter_map(|address: Address| LinkWatch::of(&address));
    interfaces.map(Arc::new).collect()
}

/// Frames came from a file, not from a wire.
fn is_of_file(findings: &Findings) -> bool {
    findings.report.ports.iter().any(|port| port.role == "in" && port.name.starts_with("pcap"))
}

/// What the verdict needs of the findings. Faults that were asked for, and what a filter let pass by, are no
/// loss of ours.
fn conditions(findings: &Findings, gap_ns: Option<f64>) -> FrameConditions {
    let PacketReport { ports, gaps, handed_over, received, script, .. } = &findings.report;
    let lost = |is_there: fn(DropPlace) -> bool| -> u64 {
        let drops = ports.iter().flat_map(|port| &port.drops);
        let counted = drops.filter(|drop| DropPlace::of_key(&drop.place).is_some_and(is_there));
        counted.map(|drop| drop.frames).sum()
    };
    let before_sending = lost(DropPlace::is_before_sending);
    let most = |place: TransmitPlace, is_there: fn(DropPlace) -> bool| {
        (2 * lost(is_there) > before_sending).then_some(place)
    };
    let no_link = || most(TransmitPlace::NoLink, |place| place == DropPlace::TransmitDown);
    let too_long = || most(TransmitPlace::TooLong, |place| place == DropPlace::TransmitTooLong);
    let gaps = gaps.as_ref();
    let signed_merged = received.as_ref().map_or(0, |received| received.merged);
    FrameConditions {
        requested_gap_ns: gap_ns.or_else(|| gaps.and_then(|gaps| gaps.requested_ns)),
        gap_error_p95_ns: gaps.and_then(|gaps| gaps.error).map(|error| error.p95_ns),
        gaps_are_handed_over: gaps.is_some_and(|gaps| gaps.handed_over),
        own_gap_error_p95_ns: handed_over.as_ref().and_then(|gaps| gaps.error).map(|error| error.p95_ns),
        outstanding: received.as_ref().map_or(0, |received| received.outstanding),
        mixed: received.as_ref().map_or(0, |received| received.mixed),
        // A capture has all of their bytes.
        merged_misleads: signed_merged > 0 || gaps.is_some() || findings.report.command != "capture",
        merged: signed_merged.max(ports.iter().map(|port| port.merged).sum()),
        stamp_error_ns: gaps.map(|gaps| gaps.stamp_error_ns),
        card_clocks_ns: card_clocks_ns(ports),
        one_way_p50_ns: received
            .as_ref()
            .filter(|one| one.one_way_ns.count > 0)
            .map(|one| one.one_way_ns.p50),
        receiver_drops: lost(DropPlace::is_after_arrival),
        received: ports.iter().map(|port| port.received).sum(),
        transmit_drops: before_sending,
        transmit_place: no_link().or_else(too_long).unwrap_or_default(),
        transmit_held: ports.iter().map(|port| port.held).sum(),
        invalid_trials: findings.invalid_trials,
        failed_resets: findings.failed_resets,
        script_late: script.as_ref().map(|script| script.late),
        script_failed: script.as_ref().is_some_and(|script| script.failed.is_some()),
        ..FrameConditions::default()
    }
}

/// How far times of the cards' clocks may be off, of the worst that sent and the worst that received together.
fn card_clocks_ns(ports: &[PortReport]) -> Option<f64> {
    let worst = |role: &str| {
        let of_role = ports.iter().filter(|port| (port.role == "out") == (role == "out"));
        // One that stamped nothing told nothing.
        let told = of_role.filter(|port| port.received == 0 || !is_unused(port));
        told.filter_map(|port| port.clock.as_ref()).map(|clock| clock.bound_ns).max()
    };
    let (sent, received) = (worst("out"), worst("in"));
    (sent.is_some() || received.is_some())
        .then(|| (sent.unwrap_or(0) as f64) + (received.unwrap_or(0) as f64))
}

fn is_unused(port: &PortReport) -> bool {
    port.clock.as_ref().is_some_and(|clock| clock.unstamped >= port.received)
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::packets::{CardClockReport, PlaceCount};

    #[test]
    fn only_what_we_lost_ourselves_counts_against_us() {
        let drop = |place: &str, frames| PlaceCount { place: place.to_owned(), frames };
        let port = |role: &str, drops: Vec<PlaceCount>| PortReport {
            role: role.to_owned(),
            received: 100,
            drops,
            ..PortReport::default()
        };
        let mut findings = Findings::default();
        findings.report.ports = vec![
            port("in", vec![drop("rx.ring", 3), drop("rx.driver", 4), drop("rx.filter", 50)]),
            port("out", vec![drop("tx.kernel", 2), drop("fault", 9)]),
        ];
        let conditions = conditions(&findings, Some(1_000.0));
        assert_eq!((conditions.receiver_drops, conditions.transmit_drops, conditions.received), (7, 2, 200));
        assert_eq!(conditions.requested_gap_ns, Some(1_000.0));
        assert_eq!(conditions.card_clocks_ns, None);
        assert_eq!(conditions.transmit_place, TransmitPlace::OnTheWay);
        // What the advice is about is where most of them went.
        for (place, expected) in [("tx.down", TransmitPlace::NoLink), ("tx.too_long", TransmitPlace::TooLong)]
        {
            findings.report.ports = vec![port("out", vec![drop("tx.kernel", 2), drop(place, 3)])];
            assert_eq!(super::conditions(&findings, None).transmit_place, expected);
        }
    }

    #[test]
    fn clocks_of_two_cards_are_as_far_apart_as_both_may_be_off() {
        let port = |role: &str, bound_ns| PortReport {
            role: role.to_owned(),
            clock: Some(CardClockReport { bound_ns, ..CardClockReport::default() }),
            ..PortReport::default()
        };
        assert_eq!(card_clocks_ns(&[port("out", 200), port("out", 300), port("in", 40)]), Some(340.0));
        assert_eq!(card_clocks_ns(&[port("in", 40), PortReport::default()]), Some(40.0));
        let clock = CardClockReport { bound_ns: 1_000, unstamped: 7, ..CardClockReport::default() };
        let unused = PortReport { received: 7, clock: Some(clock), ..port("in", 0) };
        assert_eq!(card_clocks_ns(&[unused]), None, "all its frames have the kernel's stamps");
    }
}
