//! What must be known and open before a load can start: ports, hardware addresses, frames, their rate.

use super::super::answer::{self, Answering};
use super::super::departures::{Ends, Pattern};
use super::super::machine::Crew;
use super::super::source::{self, Recording};
use super::super::{offload, words};
use super::SendJob;
use crate::own_clock::{self, OwnClock};
use crate::{PacketError, lists};
use clock::priority::{self, Demand};
use clock::{Clock, HostClock};
use plan::Spin;
use plan::packets::send::{Lengths, Pace, SendPlan};
use port::{Address, Direction, FCS, Kind, Port, PortError, Wish};
use std::sync::Arc;
use wire::Template;

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
        check_cpus(&plan)?;
        let recording = match &plan.pace {
            Pace::Replay { file, .. } => Some(Recording::read(file)?),
            _ => None,
        };
        let mut notes = recording.as_ref().map_or_else(Vec::new, words::of_recording);
        let (mut template, mut spec) = source::look(&plan, recording.as_ref(), &mut notes, |_| (None, None))?;
        let mut crowded =
            Crew::here(plan.queues, u32::from(plan.receive.is_some()), plan.cpus.len()).crowded();
        let mut spin = if plan.spin == Spin::Auto && crowded.is_some() { Spin::Never } else { plan.spin };
        let mut ports = open(&plan, &template, spin)?;
        let about = ports[0].about().clone();
        let own = ports[0].own_time()?.map(|own| OwnClock::new(&own, clock.now()));
        if own.is_some() {
            // The port keeps the times.
            (spin, crowded) = (Spin::Never, None);
        }
        if let Some((length, longest)) = source::too_long(&template, &about) {
            return Err(too_long(&plan.lengths, &about.name, length, longest));
        }
        if spec.is_some() {
            let found = answer::addresses(&plan, &about, clock)?;
            let macs = |stream: usize| (found.source, found.destinations.get(stream).copied().flatten());
            (template, spec) = source::look(&plan, None, &mut notes, macs)?;
            notes.extend(found.notes);
        }
        let line_bps = plan.line_bps.or(about.speed_bps);
        let wrong = |problem: String| PacketError::Wrong(format!("--rate: {problem}"));
        let rate = source::rate(&plan.pace, &template, line_bps).map_err(wrong)?;
        let pattern = source::pattern(&plan, rate, recording.as_ref())?;
        let once = match (&plan.pace, &pattern) {
            (Pace::Replay { .. }, Some(Pattern::Cycle(cycle))) => Some(cycle.len()),
            _ => None,
        };
        let frames = plan.frames.or(once.filter(|_| plan.duration.is_none()));
        if plan.queues > 1
            && let Some(port) = &plan.receive
            && port.parse::<Address>()?.innermost().kind() == Kind::Mem
        {
            let what = format!(
                "--queues: --receive reads one queue of {port}, and frames of the others would seem lost"
            );
            return Err(PacketError::Wrong(what));
        }
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
        let demand = Demand {
            threads: plan.queues,
            spins: spin != Spin::Never && pattern.is_some(),
            // Each thread has every n-th departure.
            gap: pattern.as_ref().and_then(Pattern::gap).map(|gap| gap.saturating_mul(plan.queues.into())),
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
            spec,
            pattern,
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

/// One port for each queue.
fn open(
    plan: &SendPlan,
    address: &Address,
    template: &Template,
    spin: Spin,
) -> Result<Vec<Box<dyn Port>>, PacketError> {
    let wish = |queue| Wish {
        queue,
        queues: plan.queues,
        direction: Direction::Transmit,
        departures: true,
        frame: template.longest(),
        signs: template.is_signed(),
        // Where nothing has a due time, nobody spins for one.
        busy: spin != Spin::Never && !matches!(plan.pace, Pace::Max),
        ..Wish::default()
    };
    let ports: Result<Vec<_>, PortError> =
        (0..plan.queues).map(|queue| port::open(address, &wish(queue))).collect();
    let ports = ports.map_err(|error| in_sizes(&plan.lengths, error))?;
    if let Some(port) = ports.iter().find(|port| !port.about().can.transmit) {
        let port = port.about().name.clone();
        return Err(PortError::Unable { port, what: "transmit" }.into());
    }
    Ok(ports)
}

fn in_sizes(lengths: &Lengths, error: PortError) -> PacketError {
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
        "a frame size of {} is more than {port} takes ({}{what}); {advice}{raise}",
        length + FCS,
        longest + FCS
    ))
}

fn open_receiver(port: &str, longest: usize) -> Result<Box<dyn Port>, PacketError> {
    let address: Address = port.parse()?;
    Ok(port::open(&address, &Wish { frame: longest.max(Wish::default().frame), ..Wish::receive() })?)
}

fn check_cpus(plan: &SendPlan) -> Result<(), PacketError> {
    let usable = os::cpus::usable();
    let Some(cpu) = plan.cpus.iter().find(|cpu| !usable.contains(cpu)) else { return Ok(()) };
    let usable: Vec<String> = usable.iter().map(u32::to_string).collect();
    let usable = usable.join(", ");
    Err(PacketError::Wrong(format!("--cpus: this process may not use CPU {cpu}; it may use {usable}")))
}
