//! From a plan file of frames to an exit status: each command's job, made from its plan.
//!
//! ```text
//! file ─ ready ─► Ready (the plan holds, nothing is open) ─┬─ carry_out ─► Status, with all that is printed
//!                                                          └─ quietly ───► Finished, for a program of others
//! ```

use crate::frames_engine::{self, carry_out};
use crate::load::Finished;
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
use plan::packets::capture::{
    CapturePlan, CapturePlanFile, GapsPlan, GapsPlanFile, KeepPlan, RequestedPlan, Rotate,
};
use plan::packets::forward::{BackWay, BetweenPlan, ForwardPlan, ForwardPlanFile, TablePlan};
use plan::packets::pace::PacePlanFile;
use plan::packets::send::SendPlanFile;
use plan::packets::sweep::SweepPlanFile;
use plan::packets::{Command, PacketPlan};
use port::Address;
use port::pcap::Rotation;
use std::path::Path;
use std::sync::Arc;

/// Makes a job from the run's clock: what it opens, it opens then.
type Prepare = Box<dyn FnOnce(HostClock) -> Result<Box<dyn Job>, Failure> + Send>;

/// A plan of frames in which nothing is wrong but what only files and ports know.
pub struct Ready {
    plan: PacketPlan,
    prepare: Prepare,
}

impl Ready {
    fn new(
        plan: PacketPlan,
        prepare: impl FnOnce(HostClock) -> Result<Box<dyn Job>, Failure> + Send + 'static,
    ) -> Self {
        Self { plan, prepare: Box::new(prepare) }
    }

    /// The canonical text of the plan.
    pub fn to_toml(&self) -> String {
        self.plan.to_toml()
    }

    /// Runs it and prints what is wanted.
    ///
    /// # Errors
    /// Nothing could be sent.
    pub(crate) fn carry_out(self, options: &Options) -> Result<Status, Failure> {
        match carry_out(self.prepare, &self.plan, Vec::new(), options) {
            Err(failure) if is_unreachable(&failure) => {
                let _ = failure.report();
                Ok(Status::Run(measure::ExitStatus::Unreachable))
            }
            other => other,
        }
    }

    /// Runs it and keeps the result; prints no summary.
    ///
    /// # Errors
    /// Nothing could be sent.
    pub(crate) fn quietly(self, options: &Options) -> Result<Finished, Failure> {
        frames_engine::quietly(self.prepare, &self.plan, options)
    }
}

/// Whether nobody answered where the frames should go.
pub(crate) fn is_unreachable(failure: &Failure) -> bool {
    matches!(failure.cause(), Some(PacketError::Unreachable(_)))
}

/// Reads a plan file of frames; `more` adds to its limits.
///
/// # Errors
/// The plan is wrong.
pub fn ready(
    command: Command,
    text: &str,
    name: &str,
    more: impl FnOnce(&mut LimitsFile),
    options: &Options,
) -> Result<Ready, Failure> {
    macro_rules! read {
        ($kind:ty, $ready:expr) => {{
            let mut file = <$kind>::from_toml(text, name).map_err(Failure::wrong)?;
            more(&mut file.limits);
            $ready(&file)
        }};
    }
    match command {
        Command::Send => read!(SendPlanFile, ready_send),
        Command::Pace => read!(PacePlanFile, ready_pace),
        Command::Capture => read!(CapturePlanFile, ready_capture),
        Command::Gaps => read!(GapsPlanFile, ready_gaps),
        Command::Forward => read!(ForwardPlanFile, |file| ready_forward(file, options)),
        Command::Sweep => read!(SweepPlanFile, ready_sweep),
    }
}

/// `tare send`.
///
/// # Errors
/// The plan is wrong, or nothing could be sent.
pub fn send(file: &SendPlanFile, options: &Options) -> Result<Status, Failure> {
    ready_send(file)?.carry_out(options)
}

fn ready_send(file: &SendPlanFile) -> Result<Ready, Failure> {
    let (plan, packets) = file.resolve().map_err(Failure::wrong)?;
    Ok(Ready::new(packets, |clock| {
        let job = SendJob::prepare(plan, clock).map_err(Failure::wrong)?;
        Ok(Box::new(job))
    }))
}

/// `tare pace`.
///
/// # Errors
/// The plan is wrong, or nothing could be sent.
pub fn pace(file: &PacePlanFile, options: &Options) -> Result<Status, Failure> {
    ready_pace(file)?.carry_out(options)
}

fn ready_pace(file: &PacePlanFile) -> Result<Ready, Failure> {
    let (plan, packets) = file.resolve().map_err(Failure::wrong)?;
    Ok(Ready::new(packets, move |clock| {
        let job = PaceJob::prepare(&plan, clock).map_err(Failure::wrong)?;
        Ok(Box::new(job))
    }))
}

/// `tare capture`.
///
/// # Errors
/// The plan is wrong, or nothing could be sent.
pub fn capture(file: &CapturePlanFile, options: &Options) -> Result<Status, Failure> {
    ready_capture(file)?.carry_out(options)
}

fn ready_capture(file: &CapturePlanFile) -> Result<Ready, Failure> {
    let (plan, packets) = file.resolve().map_err(Failure::wrong)?;
    Ok(Ready::new(packets, move |clock| {
        let job = Capture::open(capture_settings(&plan)?, clock).map_err(Failure::wrong)?;
        Ok(Box::new(job))
    }))
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
/// The plan is wrong, or nothing could be sent.
pub fn gaps(file: &GapsPlanFile, options: &Options) -> Result<Status, Failure> {
    ready_gaps(file)?.carry_out(options)
}

fn ready_gaps(file: &GapsPlanFile) -> Result<Ready, Failure> {
    let (plan, packets) = file.resolve().map_err(Failure::wrong)?;
    Ok(Ready::new(packets, move |clock| {
        let job = Capture::open(gap_settings(&plan)?, clock).map_err(Failure::wrong)?;
        Ok(Box::new(job))
    }))
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
/// The plan is wrong, or nothing could be sent.
pub fn forward(file: &ForwardPlanFile, options: &Options) -> Result<Status, Failure> {
    ready_forward(file, options)?.carry_out(options)
}

fn ready_forward(file: &ForwardPlanFile, options: &Options) -> Result<Ready, Failure> {
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
    let heeds_signals = options.host.is_none();
    Ok(Ready::new(packets, move |clock| match &plan {
        ForwardPlan::Between(plan) => between(plan, rules, heeds_signals, clock),
        ForwardPlan::Table(plan) => Ok(Box::new(TableJob::new(speed_plan(plan, rules), clock))),
    }))
}

fn read_rules(path: &Path) -> Result<Rules, Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::wrong(anyhow!("--rules: {name}: {error}; expected a file with one rule per line"))
    })?;
    Rules::parse(&text, &name).map_err(Failure::wrong)
}

fn between(
    plan: &BetweenPlan,
    rules: Option<Rules>,
    heeds_signals: bool,
    clock: HostClock,
) -> Result<Box<dyn Job>, Failure> {
    let rules = rules.map(|rules| RuleSource {
        rules,
        file: plan.rules.clone(),
        every: plan.reload_every,
        signal: heeds_signals.then(hang_up).flatten(),
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
/// The plan is wrong, or nothing could be sent.
pub fn sweep(file: &SweepPlanFile, options: &Options) -> Result<Status, Failure> {
    ready_sweep(file)?.carry_out(options)
}

fn ready_sweep(file: &SweepPlanFile) -> Result<Ready, Failure> {
    let (plan, packets) = file.resolve().map_err(Failure::wrong)?;
    Ok(Ready::new(packets, move |clock| {
        let job = SweepJob::prepare(&plan, clock).map_err(Failure::wrong)?;
        Ok(Box::new(job))
    }))
}
