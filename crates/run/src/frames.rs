//! From a plan file of frames to an exit status: each command's job, made from its plan.

use crate::frames_engine::carry_out;
use crate::options::Options;
use crate::status::{Failure, Status};
use anyhow::anyhow;
use clock::HostClock;
use filter::Rules;
use measure::gap_meter::Requested;
use packet::capture::{Capture, Keeping, Settings, compile};
use packet::forward::{
    Back, Forward, ForwardSetup, Full, KernelForward, RuleSource, Signal, SpeedPlan, TableJob,
};
use packet::pace::PaceJob;
use packet::send::SendJob;
use packet::sweep::SweepJob;
use packet::{Job, PacketError, lists};
use plan::LimitsFile;
use plan::packets::Command;
use plan::packets::capture::{
    CapturePlan, CapturePlanFile, GapsPlan, GapsPlanFile, KeepPlan, RequestedPlan, Rotate,
};
use plan::packets::forward::{BackWay, BetweenPlan, ForwardPlan, ForwardPlanFile, TablePlan};
use plan::packets::pace::PacePlanFile;
use plan::packets::send::SendPlanFile;
use plan::packets::sweep::SweepPlanFile;
use port::Address;
use port::pcap::Rotation;
use std::path::Path;
use std::sync::Arc;

/// Runs a plan file of frames; `more` adds to its limits.
///
/// # Errors
/// The plan is wrong, or nothing could be sent.
pub fn of_toml(
    command: Command,
    text: &str,
    name: &str,
    more: impl FnOnce(&mut LimitsFile),
    options: &Options,
) -> Result<Status, Failure> {
    macro_rules! read {
        ($kind:ty, $run:ident) => {{
            let mut file = <$kind>::from_toml(text, name).map_err(Failure::wrong)?;
            more(&mut file.limits);
            $run(&file, options)
        }};
    }
    match command {
        Command::Send => read!(SendPlanFile, send),
        Command::Pace => read!(PacePlanFile, pace),
        Command::Capture => read!(CapturePlanFile, capture),
        Command::Gaps => read!(GapsPlanFile, gaps),
        Command::Forward => read!(ForwardPlanFile, forward),
        Command::Sweep => read!(SweepPlanFile, sweep),
    }
}

/// `tare send`.
///
/// # Errors
/// See [`of_toml`].
pub fn send(file: &SendPlanFile, options: &Options) -> Result<Status, Failure> {
    let (plan, packet) = file.resolve().map_err(Failure::wrong)?;
    let mut is_unreachable = false;
    let outcome = carry_out(
        |clock| match SendJob::prepare(plan, clock) {
            Ok(job) => Ok(Box::new(job) as Box<dyn Job>),
            Err(error) => {
                is_unreachable = matches!(error, PacketError::Unreachable(_));
                Err(Failure::wrong(error))
            }
        },
        &packet,
        Vec::new(),
        options,
    );
    match outcome {
        Err(failure) if is_unreachable => {
            let _ = failure.report();
            Ok(Status::Run(measure::ExitStatus::Unreachable))
        }
        other => other,
    }
}

/// `tare pace`.
///
/// # Errors
/// See [`of_toml`].
pub fn pace(file: &PacePlanFile, options: &Options) -> Result<Status, Failure> {
    let (plan, packets) = file.resolve().map_err(Failure::wrong)?;
    let prepare = |clock| {
        let job = PaceJob::prepare(&plan, clock).map_err(Failure::wrong)?;
        Ok(Box::new(job) as Box<dyn Job>)
    };
    carry_out(prepare, &packets, Vec::new(), options)
}

/// `tare capture`.
///
/// # Errors
/// See [`of_toml`].
pub fn capture(file: &CapturePlanFile, options: &Options) -> Result<Status, Failure> {
    let (plan, packets) = file.resolve().map_err(Failure::wrong)?;
    let prepare = |clock| {
        let job = Capture::open(capture_settings(&plan)?, clock).map_err(Failure::wrong)?;
        Ok(Box::new(job) as Box<dyn Job>)
    };
    carry_out(prepare, &packets, Vec::new(), options)
}

fn capture_settings(plan: &CapturePlan) -> Result<Settings, Failure> {
    let address: Address = plan.port.parse().map_err(Failure::wrong)?;
    Ok(Settings {
        queues: plan.queues,
        frames: plan.frames,
        length: plan.duration,
        snap: plan.snap.map(|snap| snap as usize),
        filter: plan.filter.as_deref().map(compile).transpose().map_err(Failure::wrong)?,
        file: plan.file.as_ref().map(keeping),
        flows: plan.flows,
        signatures: plan.signatures,
        ..Settings::new(address)
    })
}

fn keeping(file: &KeepPlan) -> Keeping {
    let mut rotation =
        Rotation { keep: file.keep.and_then(|keep| usize::try_from(keep).ok()), ..Rotation::default() };
    match file.rotate {
        Some(Rotate::Bytes(bytes)) => rotation.bytes = Some(bytes.get()),
        Some(Rotate::Time(time)) => rotation.time = Some(time),
        Some(Rotate::Frames(frames)) => rotation.frames = Some(frames),
        None => {}
    }
    Keeping { path: file.path.clone(), rotation, buffer: file.buffer.get() }
}

/// `tare gaps`.
///
/// # Errors
/// See [`of_toml`].
pub fn gaps(file: &GapsPlanFile, options: &Options) -> Result<Status, Failure> {
    let (plan, packets) = file.resolve().map_err(Failure::wrong)?;
    let prepare = |clock| {
        let job = Capture::open(gap_settings(&plan)?, clock).map_err(Failure::wrong)?;
        Ok(Box::new(job) as Box<dyn Job>)
    };
    carry_out(prepare, &packets, Vec::new(), options)
}

fn gap_settings(plan: &GapsPlan) -> Result<Settings, Failure> {
    let address: Address = plan.port.parse().map_err(Failure::wrong)?;
    Ok(Settings {
        frames: plan.frames,
        length: plan.duration,
        filter: plan.filter.as_deref().map(compile).transpose().map_err(Failure::wrong)?,
        flows: false,
        gaps: Some(match &plan.requested {
            RequestedPlan::Nothing => Requested::Nothing,
            RequestedPlan::Even(gap) => Requested::Even(*gap),
            RequestedPlan::List(path) => Requested::Cycle(lists::gaps(path).map_err(Failure::wrong)?.into()),
            RequestedPlan::Signed => Requested::Due,
        }),
        ..Settings::new(address)
    })
}

/// `tare forward`.
///
/// # Errors
/// See [`of_toml`].
pub fn forward(file: &ForwardPlanFile, options: &Options) -> Result<Status, Failure> {
    let (plan, packets) = file.resolve().map_err(Failure::wrong)?;
    // Rules are read before anything is opened; a plan that is only printed needs none.
    let path = match &plan {
        ForwardPlan::Between(plan) => &plan.rules,
        ForwardPlan::Table(plan) => &plan.rules,
    };
    let rules = match path {
        Some(path) if !options.print_plan => Some(read_rules(path)?),
        _ => None,
    };
    let prepare = |clock| match &plan {
        ForwardPlan::Between(plan) => between(plan, rules, clock),
        ForwardPlan::Table(plan) => {
            Ok(Box::new(TableJob::new(speed_plan(plan, rules), clock)) as Box<dyn Job>)
        }
    };
    carry_out(prepare, &packets, Vec::new(), options)
}

fn read_rules(path: &Path) -> Result<Rules, Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::wrong(anyhow!("--rules: {name}: {error}; expected a file with one rule per line"))
    })?;
    Rules::parse(&text, &name).map_err(Failure::wrong)
}

fn between(plan: &BetweenPlan, rules: Option<Rules>, clock: HostClock) -> Result<Box<dyn Job>, Failure> {
    let rules = rules.map(|rules| RuleSource {
        rules,
        file: plan.rules.clone(),
        every: plan.reload_every,
        signal: hang_up(),
    });
    let setup = ForwardSetup {
        rules,
        full: plan.tries.map_or(Full::Wait, |tries| Full::Drop { tries }),
        back: match plan.back {
            BackWay::Pass => Back::Pass,
            BackWay::Rules => Back::Rules,
            BackWay::Nothing => Back::Nothing,
        },
        duration: plan.duration,
        frames: plan.frames,
        busy: plan.busy,
    };
    if let (true, Some(output)) = (plan.xdp, &plan.output) {
        let job = KernelForward::open(&plan.input, output, setup, clock).map_err(Failure::wrong)?;
        return Ok(Box::new(job));
    }
    let address = |text: &str| text.parse::<port::Address>().map_err(Failure::wrong);
    let (input, output) = (address(&plan.input)?, plan.output.as_deref().map(address).transpose()?);
    let how = (plan.threads, plan.longest - port::FCS);
    let job = Forward::open(&input, output.as_ref(), how, setup, clock).map_err(Failure::wrong)?;
    Ok(Box::new(job))
}

/// Set at SIGHUP; where it cannot be had, the other ways to reload remain.
fn hang_up() -> Option<Signal> {
    let signal = Signal::default();
    let registered = signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::clone(&signal));
    registered.is_ok().then_some(signal)
}

fn speed_plan(plan: &TablePlan, rules: Option<Rules>) -> SpeedPlan {
    SpeedPlan {
        rules,
        threads: plan.threads.clone(),
        sizes: plan.sizes.clone(),
        trials: plan.trials,
        length: plan.trial,
    }
}

/// `tare sweep`.
///
/// # Errors
/// See [`of_toml`].
pub fn sweep(file: &SweepPlanFile, options: &Options) -> Result<Status, Failure> {
    let (plan, packets) = file.resolve().map_err(Failure::wrong)?;
    let prepare = |clock| {
        let job = SweepJob::prepare(&plan, clock).map_err(Failure::wrong)?;
        Ok(Box::new(job) as Box<dyn Job>)
    };
    carry_out(prepare, &packets, Vec::new(), options)
}
