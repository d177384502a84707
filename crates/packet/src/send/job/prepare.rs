//! What must be known and open before a load can start: ports, hardware addresses, frames, their rate.

use super::super::answer::{self, Answering, Known};
use super::super::departures::{Ends, Pattern};
use super::super::machine::Crew;
use super::super::scripted::Scripted;
use super::super::source::{self, Recording, Room};
use super::super::streams::{self, StreamPattern};
use super::super::tape::TapeSetup;
use super::super::{offload, socket, words};
use super::{SendJob, sides};
use crate::own_clock::{self, OwnClock};
use crate::{PacketError, lists};
use clock::priority::{self, Demand};
use clock::{Clock, HostClock};
use plan::Spin;
use plan::packets::frames::FrameSource;
use plan::packets::send::{Lengths, Pace, SendPlan};
use plan::packets::split::SplitPlan;
use port::{About, Address, Direction, FCS, Port, PortError, PortKind, Wish};
use std::path::Path;
use std::sync::Arc;
use units::Rate;
use wire::Template;
use wire::template::{Mac, Spec};

impl SendJob {
    /// Opens ports, finds out addresses and makes frames. Nothing of the load is sent; a question for a
    /// hardware address may be.
    ///
    /// # Errors
    /// Whatever keeps the run from starting. `Unreachable`: nobody answers for the destination.
    pub fn prepare(plan: SendPlan, clock: HostClock) -> Result<Self, PacketError> {
        let address: Address = plan.port.parse()?;
        Self::over(plan, clock, |plan, template, spin| open(plan, &address, template, spin))
    }

    /// The same through a port that is open already, for one queue.
    ///
    /// # Errors
    /// As [`Self::prepare`].
    pub fn through(plan: SendPlan, port: Box<dyn Port>, clock: HostClock) -> Result<Self, PacketError> {
        Self::over(plan, clock, |_, _, _| Ok(vec![port]))
    }

    fn over(
        plan: SendPlan,
        clock: HostClock,
        open: impl FnOnce(&SendPlan, &Template, Spin) -> Result<Vec<Box<dyn Port>>, PacketError>,
    ) -> Result<Self, PacketError> {
        let Look { has_times, recording, tape, sides, mut template, mut spec, mut notes } = Look::of(&plan)?;
        let threads = plan.queues + u32::from(plan.split.is_some());
        let mut crowded = Crew::here(threads, u32::from(plan.receive.is_some()), plan.cpus.len()).crowded();
        let mut spin = if plan.spin == Spin::Auto && crowded.is_some() { Spin::Never } else { plan.spin };
        let mut ports = open(&plan, &template, spin)?;
        let about = ports[0].about().clone();
        let own = ports[0].own_time()?.map(|own| OwnClock::new(&own, clock.now()));
        if own.is_some() {
            // The port keeps the times.
            (spin, crowded) = (Spin::Never, None);
        }
        if let Some(split) = &plan.split {
            ports.push(open_servers(&plan, split, &template, spin)?);
            if own.is_some()
                || ports.iter_mut().any(|port| port.offload().is_some())
                || ports[1].own_time()?.is_some()
            {
                let why = "both ports must send frames at this program's times; use packet: or xdp:";
                return Err(PacketError::Wrong(format!("--servers: {why}")));
            }
        }
        let abouts: Vec<&About> = ports.iter().map(|port| port.about()).collect();
        fits(&plan, &template, &sides, &abouts)?;
        let mut known = Known::default();
        if spec.is_some() {
            let found = answer::addresses(&plan.look, &about, clock, &mut known, "--dst-mac (-m)")?;
            let macs = |stream: usize| (found.source, found.destinations.get(stream).copied().flatten());
            (template, spec) = made(&plan, macs)?;
            notes.extend(found.notes);
        }
        let mut choices = Vec::new();
        let line_bps = plan.line_bps.or(about.speed_bps);
        let times = Times::of(&plan, &template, spec.as_ref(), recording.as_ref(), line_bps)?;
        let Times { rate, pattern, streams } = times;
        if !streams.is_empty() && (own.is_some() || ports[0].offload().is_some()) {
            let why = "can time only one load; send several streams from packet: or xdp:";
            return Err(PacketError::Wrong(format!("{} {why}", plan.port)));
        }
        let once = match (&plan.pace, &pattern) {
            (Pace::Replay { .. }, Some(Pattern::Cycle(cycle))) => Some(cycle.len()),
            _ => None,
        };
        if tape.is_some() {
            let why = "cannot send a recording that is read while it is sent";
            if own.is_some() || ports[0].offload().is_some() {
                let name = &plan.port;
                return Err(PacketError::Wrong(format!(
                    "{name} {why}; give a larger --read-ahead, or use packet:"
                )));
            }
            choices.push(words::of_tape(Room::of(&plan).bytes()));
        }
        let played = match plan.loops {
            Some(loops) => once.map(|once| once.saturating_mul(loops)),
            None => once.filter(|_| plan.duration.is_none()),
        };
        let frames = plan.frames.or(played);
        check_receiver(&plan)?;
        let mut receiver =
            plan.receive.as_deref().map(|port| open_receiver(port, template.longest())).transpose()?;
        let own = match &mut receiver {
            Some(receiver) => own_clock::of_both(&mut *ports[0], &mut **receiver, "--receive", clock.now())?,
            None => own,
        };
        let answering = match plan.answer_arp {
            true => Some(Answering::prepare(&about, spec.as_ref())?),
            false => None,
        };
        if let Some(offload) = ports[0].offload() {
            offload.prepare(&template).map_err(|error| in_sizes(&plan.lengths, error))?;
            offload::check(&plan, pattern.as_ref(), template.is_signed())?;
        }
        let port_has_frames = own.is_some() || ports[0].offload().is_some();
        let scripts = scripts(&plan, &about, &template, port_has_frames, tape.is_some())?;
        let demand = Demand {
            threads,
            spins: spin != Spin::Never
                && (pattern.is_some() || !streams.is_empty() || tape.is_some() && has_times),
            // Each thread has every n-th departure.
            gap: streams::waiting_gap(pattern.as_ref(), &streams)
                .map(|gap| gap.saturating_mul(plan.queues.into())),
        };
        let priority = priority::grant(plan.priority, &demand);
        Ok(Self {
            ends: Ends { after: plan.duration, frames },
            template: Arc::new(template),
            about,
            plan,
            clock,
            ports,
            receiver,
            answering,
            scripts,
            spec,
            known,
            sides,
            tape,
            choices,
            pattern,
            streams,
            rate,
            line_bps,
            spin,
            crowded,
            priority,
            notes,
            own,
        })
    }
}

/// Frames as the plan and its files have them, before anything is opened.
pub(super) struct Look {
    /// Whether times are the file's, too.
    pub has_times: bool,
    pub recording: Option<Recording>,
    pub tape: Option<TapeSetup>,
    pub sides: Vec<sides::SideJob>,
    pub template: Template,
    pub spec: Option<Spec>,
    pub notes: Vec<String>,
}

impl Look {
    pub fn of(plan: &SendPlan) -> Result<Self, PacketError> {
        check_cpus(plan)?;
        let room = Room::of(plan);
        let (file, has_times) = recorded(plan);
        let mut recording = file.map(|file| Recording::read(file, room)).transpose()?;
        recording.as_ref().map_or(Ok(()), |recording| source::check_times(plan, recording))?;
        let notes =
            recording.as_ref().map_or_else(Vec::new, |recording| words::of_recording(recording, has_times));
        let has_tape = recording.as_ref().is_some_and(|recording| !recording.is_whole);
        let tape = file.filter(|_| has_tape).map(|file| tape_of(plan, file, room)).transpose()?;
        let mut sides = Vec::new();
        if let (Some(split), Some(recording)) = (&plan.split, &mut recording) {
            sides = sides::of(plan, split, recording, tape.as_ref())?;
        }
        let (template, spec) = match &mut recording {
            Some(recording) => (source::taken(plan, recording)?, None),
            None => made(plan, |_| (None, None))?,
        };
        Ok(Self { has_times, recording, tape, sides, template, spec, notes })
    }
}

/// When frames leave.
pub(super) struct Times {
    pub rate: Option<Rate>,
    pub pattern: Option<Pattern>,
    pub streams: Vec<StreamPattern>,
}

impl Times {
    pub fn of(
        plan: &SendPlan,
        template: &Template,
        spec: Option<&Spec>,
        recording: Option<&Recording>,
        line_bps: Option<u64>,
    ) -> Result<Self, PacketError> {
        let wrong = |problem: String| PacketError::Wrong(format!("--rate: {problem}"));
        let rate = source::rate(&plan.pace, template, line_bps).map_err(wrong)?;
        let pattern = source::pattern(plan, rate, recording)?;
        let streams = spec.map(|spec| source::streams(plan, spec, line_bps)).transpose()?.unwrap_or_default();
        spec.map_or(Ok(()), |spec| streams::check(plan, spec, &streams))?;
        Ok(Self { rate, pattern, streams })
    }
}

/// Whether the ports send what the plan has, and frames as long as these.
pub(super) fn fits(
    plan: &SendPlan,
    template: &Template,
    sides: &[sides::SideJob],
    ports: &[&About],
) -> Result<(), PacketError> {
    if let Some(first) = ports.first() {
        socket::check(&plan.look, source::counts_bits(plan), first)?;
    }
    let looks: Vec<&Template> = match sides.is_empty() {
        true => vec![template],
        false => sides.iter().map(|side| &*side.template).collect(),
    };
    for (look, about) in looks.into_iter().zip(ports) {
        if let Some((length, longest)) = source::too_long(look, about) {
            return Err(too_long(&plan.lengths, &about.name, length, longest));
        }
    }
    Ok(())
}

/// A pair in memory has an end for each queue, and one receiver has one of them.
pub(super) fn check_receiver(plan: &SendPlan) -> Result<(), PacketError> {
    let Some(port) = plan.receive.as_ref().filter(|_| plan.queues > 1) else { return Ok(()) };
    if port.parse::<Address>()?.innermost().kind() != PortKind::Mem {
        return Ok(());
    }
    let what =
        format!("--queues: --receive reads one queue of {port}, so frames of the others would count as lost");
    Err(PacketError::Wrong(what))
}

/// The script, read once for each queue.
pub(super) fn scripts(
    plan: &SendPlan,
    about: &About,
    template: &Template,
    port_has_frames: bool,
    is_read_meanwhile: bool,
) -> Result<Vec<Scripted>, PacketError> {
    let Some(script) = &plan.script else { return Ok(Vec::new()) };
    let wrong = |problem: String| PacketError::Wrong(format!("--script: {problem}"));
    if port_has_frames {
        let why = "makes or times frames itself, so no script can run; send from packet: or xdp:";
        return Err(wrong(format!("{} {why}", plan.port)));
    }
    if plan.split.is_some() {
        return Err(wrong("finishes the frames of one port; omit --servers".into()));
    }
    if is_read_meanwhile {
        let why = "needs the whole recording, which is larger than --read-ahead; give a larger --read-ahead";
        return Err(wrong(why.into()));
    }
    if let Some(why) = socket::refuses_scripts(about) {
        return Err(wrong(why));
    }
    let (longest, seed) = (about.longest.max(template.longest()), plan.look.seed());
    let fixed = source::counts_bits(plan);
    (0..plan.queues)
        .map(|queue| Scripted::load(script, longest, queue, plan.queues, seed, fixed).map_err(wrong))
        .collect()
}

/// The file that frames are taken from, and whether their times are, too.
pub(super) fn recorded(plan: &SendPlan) -> (Option<&Path>, bool) {
    match (&plan.pace, plan.look.source()) {
        (Pace::Replay { file, .. }, _) => (Some(file), true),
        (_, FrameSource::Taken { file, .. }) => (Some(file), false),
        (_, FrameSource::Made { .. }) => (None, false),
    }
}

fn made(
    plan: &SendPlan,
    macs: impl FnMut(usize) -> (Option<Mac>, Option<Mac>),
) -> Result<(Template, Option<Spec>), PacketError> {
    let made = source::made(plan, macs)?;
    made.map(|(template, spec)| (template, Some(spec)))
        .ok_or_else(|| PacketError::Wrong("frames of a file were not read".to_owned()))
}

/// How a recording is read while it is sent.
fn tape_of(plan: &SendPlan, file: &Path, room: Room) -> Result<TapeSetup, PacketError> {
    if plan.queues > 1 {
        return Err(PacketError::Wrong(format!(
            "--queues: {} is larger than --read-ahead, and several threads cannot read it while sending; give \
             a larger --read-ahead, or one queue",
            file.display()
        )));
    }
    let (speed, loops) = match &plan.pace {
        // As often as it takes, where something else ends the run.
        Pace::Replay { speed, .. } if plan.frames.is_some() => (Some(*speed), None),
        Pace::Replay { speed, .. } => {
            let once = plan.duration.is_none().then_some(1);
            (Some(*speed), plan.loops.or(once))
        }
        _ => (None, None),
    };
    let (file, changes) = (file.to_owned(), source::changes(plan));
    let (side, frames) = (None, None);
    Ok(TapeSetup { file, changes, speed, loops, side, frames, window_bytes: room.bytes() / 4 * 3 })
}

pub(super) fn wish(plan: &SendPlan, template: &Template, spin: Spin, queue: u32) -> Wish {
    Wish {
        queue,
        queues: plan.queues,
        direction: Direction::Transmit,
        departures: true,
        frame: template.longest(),
        signs: template.is_signed(),
        // Where nothing has a due time, nobody spins for one.
        busy: spin != Spin::Never && !matches!(plan.pace, Pace::Max),
        ..Wish::default()
    }
}

/// The port of the servers.
fn open_servers(
    plan: &SendPlan,
    split: &SplitPlan,
    template: &Template,
    spin: Spin,
) -> Result<Box<dyn Port>, PacketError> {
    let port = port::open(&split.servers.parse()?, &wish(plan, template, spin, 0))
        .map_err(|error| in_sizes(&plan.lengths, error))?;
    transmits(port.about())?;
    Ok(port)
}

pub(super) fn transmits(about: &About) -> Result<(), PacketError> {
    match about.can.transmit {
        true => Ok(()),
        false => Err(PortError::Unable { port: about.name.clone(), what: "transmit" }.into()),
    }
}

/// One port for each queue.
fn open(
    plan: &SendPlan,
    address: &Address,
    template: &Template,
    spin: Spin,
) -> Result<Vec<Box<dyn Port>>, PacketError> {
    let wish = |queue| wish(plan, template, spin, queue);
    let ports: Result<Vec<_>, PortError> =
        (0..plan.queues).map(|queue| port::open(address, &wish(queue))).collect();
    let ports = ports.map_err(|error| in_sizes(&plan.lengths, error))?;
    ports.iter().try_for_each(|port| transmits(port.about()))?;
    Ok(ports)
}

pub(super) fn in_sizes(lengths: &Lengths, error: PortError) -> PacketError {
    match error {
        PortError::TooLong { port, length, longest } => too_long(lengths, &port, length, longest),
        other => other.into(),
    }
}

/// Lengths are without FCS; users write sizes with it, or payloads.
fn too_long(lengths: &Lengths, port: &str, length: usize, longest: usize) -> PacketError {
    let excess = length - longest;
    let advice = match lengths {
        Lengths::Frames => "lower --size".to_owned(),
        Lengths::Payload(payload) => {
            format!("give -l {} or less", (*payload as usize).saturating_sub(excess))
        }
        Lengths::File(file) => {
            let most = lists::lengths(file).ok().and_then(|all| all.into_iter().max());
            let within = most.map(|most| lists::within(file, most.saturating_sub(excess)));
            match within {
                Some(Err(error)) => return PacketError::Wrong(format!("--lengths (-L): {error} ({port})")),
                _ => "lower the lengths of -L".to_owned(),
            }
        }
    };
    // The longest frame of a module is the module's own.
    let (what, raise) = if port.starts_with("fpga") {
        ("", "")
    } else {
        (", its MTU with header and FCS", ", or raise the interface's MTU")
    };
    PacketError::Wrong(format!(
        "a frame size of {} is more than {port} accepts ({}{what}); {advice}{raise}",
        length + FCS,
        longest + FCS
    ))
}

fn open_receiver(port: &str, longest: usize) -> Result<Box<dyn Port>, PacketError> {
    Ok(port::open(&port.parse()?, &receiving(longest))?)
}

pub(super) fn receiving(longest: usize) -> Wish {
    Wish { frame: longest.max(Wish::default().frame), ..Wish::receive() }
}

fn check_cpus(plan: &SendPlan) -> Result<(), PacketError> {
    let usable = os::cpus::usable();
    let Some(cpu) = plan.cpus.iter().find(|cpu| !usable.contains(cpu)) else { return Ok(()) };
    let usable: Vec<String> = usable.iter().map(u32::to_string).collect();
    let usable = usable.join(", ");
    Err(PacketError::Wrong(format!("--cpus: this process may not use CPU {cpu}; it may use {usable}")))
}
