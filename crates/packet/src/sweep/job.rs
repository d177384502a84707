//! The job of `tare sweep`: opens what is needed and says what will be done; `work` does it, one frame size
//! after another, and `findings` tells what came of it.

mod directions;
mod findings;
mod outages;
mod work;

use super::carry::Way;
use super::goal::{Goal, Limits};
use super::load::Load;
use super::tables::AROUND;
use crate::job::{Facts, Job, MakeRecorders, Running};
use crate::own_clock::{self, OwnClock};
use crate::send::machine::{Crew, Crowded};
use crate::send::{socket, source, words};
use crate::{JobControl, PacketError};
use clock::priority::{self, Demand, Grant};
use clock::{Clock, HostClock};
use directions::{Opened, reversed};
use plan::Spin;
use plan::packets::frames::FrameSource;
use plan::packets::send::Pace;
use plan::packets::sweep::SweepPlan;
use port::{About, Address, Direction, FCS, Port, PortError, PortKind, Wish};
use std::sync::{Arc, mpsc};
use wire::template::Spec;
use work::{Looks, Sweep};

/// Ports open, frames made.
pub struct SweepJob {
    plan: SweepPlan,
    clock: HostClock,
    ways: Vec<Way>,
    templates: Vec<(u32, Looks)>,
    line_bps: Option<u64>,
    notes: Vec<String>,
    /// The time of a sending port that keeps its own.
    own: Option<OwnClock>,
    spin: Spin,
    crowded: Option<Crowded>,
    priority: Grant,
}

impl SweepJob {
    /// Opens both ports and makes the frames of each size.
    ///
    /// # Errors
    /// What is wrong with a port or a size, and what would be right.
    pub fn prepare(plan: &SweepPlan, clock: HostClock) -> Result<Self, PacketError> {
        let (from, to) = ends(plan)?;
        let open = |address: &Address, direction, busy| {
            port::open(address, &wish(plan, direction, busy)).map_err(in_sizes)
        };
        if plan.bidirectional {
            return Self::with(plan.clone(), clock, Opened::both_ways(&from, &to, open)?);
        }
        let send = open(&from, Direction::Transmit, true)?;
        let receive = receiving(&to, |direction| open(&to, direction, false))?;
        Self::with(plan.clone(), clock, Opened::one_way(send, receive))
    }

    /// Whether [`Self::prepare`] would fail, as far as that can be told without opening a port.
    ///
    /// # Errors
    /// What it would say.
    pub fn check(plan: &SweepPlan) -> Result<(), PacketError> {
        let (from, to) = ends(plan)?;
        let known = |address: &Address, direction, busy| {
            port::check(address, &wish(plan, direction, busy)).map_err(in_sizes)
        };
        let (send, receive) = match plan.bidirectional {
            true => (known(&from, Direction::Both, true)?, known(&to, Direction::Both, true)?),
            false => {
                let send = known(&from, Direction::Transmit, true)?;
                (send, receiving(&to, |direction| known(&to, direction, false))?)
            }
        };
        Sizes::of(plan, &send, &receive).map(drop)
    }

    fn with(plan: SweepPlan, clock: HostClock, mut opened: Opened) -> Result<Self, PacketError> {
        let first = &mut opened.ways[0];
        let own = own_clock::of_both(&mut first.send, &mut *first.receive, "--receive", clock.now())?;
        opened.check(own.is_some())?;
        let (send, receive) = (opened.ways[0].send.about(), opened.ways[0].receive.about());
        let Sizes { templates, line_bps } = Sizes::of(&plan, send, receive)?;
        let crowded = match own {
            // The port keeps the times.
            Some(_) => None,
            None => {
                let count = directions(&plan);
                let named = plan.cpus.len().div_ceil(2).min(count as usize);
                Crew::here(count, count, named).crowded().or_else(|| opened.crowded())
            }
        };
        let spin = if crowded.is_some() { Spin::Never } else { Spin::Auto };
        let priority = match own {
            Some(_) => Grant::usual("the port keeps the times"),
            // Each trial has gaps of its own, down to the shortest that can be made.
            None => {
                let threads = directions(&plan);
                priority::grant(plan.priority, &Demand { threads, spins: crowded.is_none(), gap: None })
            }
        };
        Ok(Self {
            plan,
            clock,
            ways: opened.ways,
            templates,
            line_bps,
            notes: Vec::new(),
            own,
            spin,
            crowded,
            priority,
        })
    }

    fn goals(&self) -> Vec<Goal> {
        let SweepPlan { trial, first_trial, sum, exceed, width, .. } = self.plan;
        let goal = |goal: &plan::packets::sweep::SweepGoal| Goal {
            trial,
            first_trial,
            sum,
            exceed,
            width,
            ..Goal::named(&goal.name, goal.loss)
        };
        self.plan.goals.iter().map(goal).collect()
    }

    /// The highest load for frames of this size, and the lowest.
    fn limits(&self, size: u32) -> Limits {
        let bits = |per_second: f64, around: f64| per_second / ((f64::from(size) + around) * 8.0);
        let line = self.line_bps.map(|line| bits(line as f64, AROUND));
        let max = match &self.plan.max {
            Pace::Frames(rate) => rate.as_per_second_f64(),
            Pace::Bits { per_second, on_wire } => {
                bits(*per_second as f64, if *on_wire { AROUND } else { 0.0 })
            }
            Pace::Line { millionths } => line.unwrap_or(1e6) * *millionths as f64 / 1e6,
            _ => line.unwrap_or(1e6),
        };
        let min = Load::per_second(self.plan.min.as_per_second_f64());
        Limits { min, max: Load::per_second(max).max(min) }
    }
}

/// Both ends of the way.
fn ends(plan: &SweepPlan) -> Result<(Address, Address), PacketError> {
    let FrameSource::Made { .. } = plan.look.source() else {
        return Err(PacketError::Wrong("--pcap: a sweep makes its own frames, of its own sizes".to_owned()));
    };
    let (from, to): (Address, Address) = (plan.send.parse()?, plan.receive.parse()?);
    // Those of these kinds have two ends, or a cable of their own.
    if from == to && !matches!(from.innermost().kind(), PortKind::Mem | PortKind::Fpga) {
        let what = format!("--receive: frames leave at {to}; name the other end of the path");
        return Err(PacketError::Wrong(what));
    }
    Ok((from, to))
}

/// Both ways where the port can: a frame from there teaches switches on the way. Faults are those of receiving.
fn receiving<T>(to: &Address, open: impl Fn(Direction) -> Result<T, PacketError>) -> Result<T, PacketError> {
    match to.kind() {
        PortKind::Fault => open(Direction::Receive),
        _ => open(Direction::Both).or_else(|_| open(Direction::Receive)),
    }
}

fn wish(plan: &SweepPlan, direction: Direction, busy: bool) -> Wish {
    let frame = plan.sizes.iter().copied().max().unwrap_or(1_518) as usize - FCS;
    // A port that keeps its own time tells when frames left: a trial takes as long as that says.
    let departures = direction == Direction::Transmit;
    Wish { direction, busy, departures, frame, signs: true, ..Wish::default() }
}

fn in_sizes(error: PortError) -> PacketError {
    match error {
        PortError::TooLong { port, length, longest } => PacketError::Wrong(format!(
            "--sizes: a frame size of {} is more than {port} accepts ({}, its MTU with header and FCS)",
            length + FCS,
            longest + FCS
        )),
        error => error.into(),
    }
}

/// The frames of each size, for each direction, and what a share of the line's rate is of.
struct Sizes {
    templates: Vec<(u32, Looks)>,
    line_bps: Option<u64>,
}

impl Sizes {
    fn of(plan: &SweepPlan, send: &About, receive: &About) -> Result<Self, PacketError> {
        let spec = spec(plan, send, receive)?;
        let back = plan.bidirectional.then(|| reversed(&spec, plan, send, receive)).transpose()?;
        let mut frames = vec![(&spec, send)];
        frames.extend(back.as_ref().map(|back| (back, receive)));
        let mut templates = Vec::new();
        for size in &plan.sizes {
            let mut looks = Vec::new();
            for (way, (spec, about)) in frames.iter().enumerate() {
                let made = source::resized(spec, *size as usize, about);
                let template = made.map_err(|problem| PacketError::Wrong(format!("--sizes: {problem}")))?;
                if !template.is_signed() {
                    return Err(PacketError::Wrong(format!(
                        "--sizes: a frame of {size} has no room for a signature"
                    )));
                }
                looks.push(Arc::new(template.numbered_from((way * spec.streams.len()) as u16)));
            }
            templates.push((*size, looks.into()));
        }
        // Of both directions, the slower link's.
        let speed = frames.iter().filter_map(|(_, about)| about.speed_bps).min();
        let line_bps = plan.line_bps.or(speed);
        if line_bps.is_none() && matches!(plan.max, Pace::Line { .. }) {
            let name = &send.name;
            return Err(PacketError::Wrong(format!(
                "--max-rate: {name} does not report its link speed; write --line 10G, or --max-rate 2M"
            )));
        }
        Ok(Self { templates, line_bps })
    }
}

/// The specification of frames, with the addresses of both ports where none were given.
fn spec(plan: &SweepPlan, send: &About, receive: &About) -> Result<Spec, PacketError> {
    socket::check(&plan.look, false, send)?;
    socket::keeps_sizes(send)?;
    let mut look = plan.look.clone();
    look.fill_macs(|_| (send.mac.map(wire::template::Mac), receive.mac.map(wire::template::Mac)));
    let FrameSource::Made { spec, .. } = look.source() else {
        return Err(PacketError::Wrong("a sweep makes its frames".to_owned()));
    };
    let mut spec = spec.clone();
    for stream in &mut spec.streams {
        stream.sign = true;
    }
    Ok(spec)
}

/// Directions of its trials.
const fn directions(plan: &SweepPlan) -> u32 {
    if plan.bidirectional { 2 } else { 1 }
}

impl Job for SweepJob {
    fn facts(&self) -> Facts {
        let plan = &self.plan;
        let goals: Vec<String> = self.goals().iter().map(ToString::to_string).collect();
        let sizes: Vec<String> = plan.sizes.iter().map(u32::to_string).collect();
        let of = |about: &About| {
            about
                .choices
                .iter()
                .map(|choice| (choice.what.to_owned(), choice.chosen.clone(), choice.why.clone()))
                .collect()
        };
        let mut choices: Vec<(String, String, String)> = of(self.ways[0].send.about());
        choices.extend::<Vec<_>>(of(self.ways[0].receive.about()));
        if self.own.is_none() {
            choices
                .push(words::of_spin(Spin::Auto, self.crowded.as_ref().map(|crowded| crowded.why.as_str())));
            choices.push(words::of_priority(&self.priority));
        }
        Facts {
            threads: 1,
            spins: self.crowded.is_none(),
            no_spin: self.crowded.as_ref().map(|crowded| crowded.mend.clone()),
            gap: None,
            poisson: None,
            is_open_loop: false,
            length: None,
            load: format!("{} over frame sizes {}", goals.join(", "), sizes.join(", ")),
            target: match plan.bidirectional {
                true => format!("{} to {} and back at once", plan.send, plan.receive),
                false => format!("{} to {}", plan.send, plan.receive),
            },
            choices,
            notes: self.notes.clone(),
            time: self.own.as_ref().map(OwnClock::time),
        }
    }

    fn start(
        self: Box<Self>,
        control: Arc<JobControl>,
        recorders: MakeRecorders<'_>,
    ) -> Result<Running, PacketError> {
        // Of a port that keeps its own time, that is the instant of its time at the beginning.
        let origin = self.own.map_or_else(|| self.clock.now(), |own| own.begin());
        control.begin(origin);
        let record = recorders(origin).into_iter().next();
        let record = record.ok_or_else(|| PacketError::Wrong("a recorder is needed".to_owned()))?;
        let (tell, told) = mpsc::channel();
        let working = control.clone();
        let work = move || {
            let mut sweep = Sweep::new(*self, working.clone(), record);
            if let Err(error) = sweep.run() {
                working.fail(error.to_string());
            }
            // Nobody listens where the run was given up.
            let _ = tell.send(sweep.findings());
        };
        let thread = std::thread::Builder::new().name("tare-sweep".to_owned()).spawn(work);
        let thread =
            thread.map_err(|error| PacketError::Wrong(format!("a thread could not be started: {error}")))?;
        // Of a thread that failed by a fault, nothing is known.
        Ok(Running::new(vec![thread], move || told.recv().unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests;
