//! From a plan file of frames to an exit status: each command's job, made from its plan.
//!
//! ```text
//! file ─ ready ─► Ready (the plan holds, nothing is open) ─┬─ carry_out ─► Status, with all that is printed
//!                                                          ├─ quietly ───► Finished, for a program of others
//!                                                          └─ check ─────► whether it would start
//! ```

use crate::frames_engine::{self, carry_out};
use crate::interrupt;
use crate::load::Finished;
use crate::options::Options;
use crate::run_files::RunFiles;
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
use plan::packets::pace::{PacePlan, PacePlanFile};
use plan::packets::send::{SendPlan, SendPlanFile};
use plan::packets::sweep::{SweepPlan, SweepPlanFile};
use plan::packets::{Command, PacketPlan};
use port::Address;
use port::pcap::Rotation;
use std::path::Path;

/// A plan of frames in which nothing is wrong but what only files and ports know.
pub struct Ready {
    plan: PacketPlan,
    work: Work,
}

/// What is to be done.
enum Work {
    Send(Box<SendPlan>),
    Pace(Box<PacePlan>),
    Capture(Box<CapturePlan>),
    Gaps(Box<GapsPlan>),
    Forward(Box<ForwardWork>),
    Sweep(Box<SweepPlan>),
}

struct ForwardWork {
    plan: ForwardPlan,
    rules: Option<Rules>,
    /// SIGHUP reads the rules again.
    heeds_signals: bool,
}

impl Work {
    /// The job, from the run's clock: what it opens, it opens then.
    fn prepare(self, clock: HostClock) -> Result<Box<dyn Job>, Failure> {
        Ok(match self {
            Self::Send(plan) => Box::new(SendJob::prepare(*plan, clock).map_err(Failure::wrong)?),
            Self::Pace(plan) => Box::new(PaceJob::prepare(&plan, clock).map_err(Failure::wrong)?),
            Self::Capture(plan) => {
                Box::new(Capture::open(capture_settings(&plan)?, clock).map_err(Failure::wrong)?)
            }
            Self::Gaps(plan) => Box::new(Capture::open(gap_settings(&plan)?, clock).map_err(Failure::wrong)?),
            Self::Forward(work) => match work.plan {
                ForwardPlan::Between(plan) => between(&plan, work.rules, work.heeds_signals, clock)?,
                ForwardPlan::Table(plan) => Box::new(TableJob::new(speed_plan(&plan, work.rules), clock)),
            },
            Self::Sweep(plan) => Box::new(SweepJob::prepare(&plan, clock).map_err(Failure::wrong)?),
        })
    }

    /// Whether [`Self::prepare`] would fail, as far as that can be told without opening a port.
    fn check(&self) -> Result<(), Failure> {
        match self {
            Self::Send(plan) => SendJob::check(plan).map_err(Failure::wrong),
            Self::Pace(plan) => PaceJob::check(plan).map_err(Failure::wrong),
            Self::Capture(plan) => Capture::check(&capture_settings(plan)?).map_err(Failure::wrong),
            Self::Gaps(plan) => Capture::check(&gap_settings(plan)?).map_err(Failure::wrong),
            Self::Forward(work) => match &work.plan {
                ForwardPlan::Between(plan) => check_between(plan, work.rules.clone()),
                ForwardPlan::Table(_) => Ok(()),
            },
            Self::Sweep(plan) => SweepJob::check(plan).map_err(Failure::wrong),
        }
    }
}

impl Work {
    /// Whether the files that it reads would do: for a plan that is only printed, which opens no port.
    fn check_files(&self) -> Result<(), Failure> {
        match self {
            Self::Send(plan) => SendJob::check_files(plan).map_err(Failure::wrong),
            Self::Pace(plan) => PaceJob::check_files(plan).map_err(Failure::wrong),
            Self::Capture(plan) => Capture::check_file(&capture_settings(plan)?).map_err(Failure::wrong),
            Self::Gaps(plan) => Capture::check_file(&gap_settings(plan)?).map_err(Failure::wrong),
            // Its rules were read with the plan.
            Self::Forward(_) | Self::Sweep(_) => Ok(()),
        }
    }
}

impl Ready {
    const fn new(plan: PacketPlan, work: Work) -> Self {
        Self { plan, work }
    }

    /// Whether it would start, as far as that can be told while nothing is opened or changed.
    ///
    /// # Errors
    /// What the run would say, and end.
    pub fn check(&self) -> Result<(), Failure> {
        self.work.check()
    }

    /// Files that it reads and writes.
    pub(crate) fn files(&self) -> RunFiles {
        RunFiles::of_frames(&self.plan)
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
        if options.print_plan {
            self.work.check_files()?;
        }
        match carry_out(|clock| self.work.prepare(clock), &self.plan, Vec::new(), options) {
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
        frames_engine::quietly(|clock| self.work.prepare(clock), &self.plan, options)
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
    Ok(Ready::new(packets, Work::Send(plan.into())))
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
    Ok(Ready::new(packets, Work::Pace(plan.into())))
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
    Ok(Ready::new(packets, Work::Capture(plan.into())))
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
    Ok(Ready::new(packets, Work::Gaps(plan.into())))
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
    // Rules are read before anything is opened.
    let path = match &plan {
        ForwardPlan::Between(plan) => &plan.rules,
        ForwardPlan::Table(plan) => &plan.rules,
    };
    let rules = path.as_ref().map(|path| read_rules(path)).transpose()?;
    let heeds_signals = options.host.is_none();
    Ok(Ready::new(packets, Work::Forward(ForwardWork { plan, rules, heeds_signals }.into())))
}

fn read_rules(path: &Path) -> Result<Rules, Failure> {
    let name = path.display().to_string();
    let text = os::input::read_to_string(path).map_err(|error| {
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
    // Without rules there is nothing to read again, and the end of the terminal ends the run.
    let signal = if heeds_signals && rules.is_some() { hang_up() } else { None };
    let setup = setup(plan, rules, signal);
    if let (true, Some(output)) = (plan.xdp, &plan.output) {
        let job = KernelForward::open(&plan.input, output, setup, clock).map_err(Failure::wrong)?;
        return Ok(Box::new(job));
    }
    let Lanes { input, output, how } = Lanes::of(plan)?;
    let job = Forward::open(&input, output.as_ref(), how, setup, clock).map_err(Failure::wrong)?;
    Ok(Box::new(job))
}

fn check_between(plan: &BetweenPlan, rules: Option<Rules>) -> Result<(), Failure> {
    let setup = setup(plan, rules, None);
    if let (true, Some(output)) = (plan.xdp, &plan.output) {
        return KernelForward::check(&plan.input, output, &setup).map_err(Failure::wrong);
    }
    let Lanes { input, output, how } = Lanes::of(plan)?;
    Forward::check(&input, output.as_ref(), how, &setup).map_err(Failure::wrong)
}

/// Ports, threads and the longest frame.
struct Lanes {
    input: Address,
    output: Option<Address>,
    how: (u32, usize),
}

impl Lanes {
    fn of(plan: &BetweenPlan) -> Result<Self, Failure> {
        let address = |text: &str| text.parse::<Address>().map_err(Failure::wrong);
        let (input, output) = (address(&plan.input)?, plan.output.as_deref().map(address).transpose()?);
        Ok(Self { input, output, how: (plan.threads, plan.longest - port::FCS) })
    }
}

fn setup(plan: &BetweenPlan, rules: Option<Rules>, signal: Option<Signal>) -> ForwardSetup {
    let rules =
        rules.map(|rules| RuleSource { rules, file: plan.rules.clone(), every: plan.reload_every, signal });
    ForwardSetup {
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
    }
}

/// Set at SIGHUP; where it cannot be had, the other ways to reload remain.
fn hang_up() -> Option<Signal> {
    let signal = Signal::default();
    interrupt::take_hang_up(&signal).then_some(signal)
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
    Ok(Ready::new(packets, Work::Sweep(plan.into())))
}
