//! `tare sweep`: flags → plan → searches for the highest load that a target takes.

use crate::commands::frame_args::FrameArgs;
use crate::commands::http_args::{LimitArgs, OutputArgs};
use crate::options::Options;
use crate::packets::carry_out;
use crate::status::{Failure, Status};
use clap::Args;
use packet::Job;
use packet::sweep::SweepJob;
use plan::Typed;
use plan::packets::sweep::{SweepFile, SweepPlanFile};

const EXAMPLES: &str = "\
Examples:
  tare sweep --send packet:veth0 --receive packet:veth3               NDR and PDR of the seven sizes of RFC 2544
  tare sweep --send xdp:eth0 --receive xdp:eth1 --sizes 64,1518 --goal ndr,0.1% --trials 10
  tare sweep --send packet:veth0 --receive packet:veth3 --rfc2544     throughput, latency, loss, bursts as RFC 2544 has them

The search is MLRsearch (RFC 9971). A trial in which the generator or the receiver was the limit never counts as the target's
loss: it is made again, at last at a lower load, and the result says 'at least'.";

/// Find the highest load that a target takes without loss, over frame sizes
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, mut_arg("size", |arg| arg.hide(true)), mut_arg("imix", |arg| arg.hide(true)))]
pub struct SweepArgs {
    /// Port that sends
    #[arg(long, value_name = "PORT")]
    send: Option<String>,
    /// Port that does both, where the target sends frames back to who sent them
    #[arg(long, value_name = "PORT", conflicts_with_all = ["send", "receive"])]
    port: Option<String>,
    /// Port that receives what the target forwards
    #[arg(long, value_name = "PORT")]
    receive: Option<String>,

    /// Frame sizes with FCS [default: 64,128,256,512,1024,1280,1518]
    #[arg(long, value_name = "LIST", help_heading = "What is looked for")]
    sizes: Option<String>,
    /// ndr (no loss), pdr (0.5%), or loss ratios such as 0.1% [default: ndr,pdr]
    #[arg(long, value_name = "LIST", help_heading = "What is looked for")]
    goal: Option<String>,
    /// Search so often: means with 0.95 intervals [default: 1]
    #[arg(long, value_name = "N", help_heading = "What is looked for")]
    trials: Option<String>,
    /// Searches for the longest burst without loss; 0 makes none [default: 50]
    #[arg(long, value_name = "N", help_heading = "What is looked for")]
    bursts: Option<String>,
    /// No latency at shares of the load that was found
    #[arg(long, help_heading = "What is looked for")]
    no_latency: bool,
    /// Shares of the load that was found at which latency is measured [default: 10%,50%,90%,100%]
    #[arg(long, value_name = "LIST", help_heading = "What is looked for")]
    latency_at: Option<String>,
    /// Trials at each of them [default: 1]
    #[arg(long, value_name = "N", help_heading = "What is looked for")]
    latency_trials: Option<String>,
    /// Length of each [default: --trial-time]
    #[arg(long, value_name = "DURATION", help_heading = "What is looked for")]
    latency_time: Option<String>,
    /// Loss at 100, 90, 80 % of the highest load and so on, until two trials in a row lose nothing
    #[arg(long, help_heading = "What is looked for")]
    frame_loss: bool,

    /// Length of the trials that decide [default: 1s]
    #[arg(long, value_name = "DURATION", help_heading = "How surely")]
    trial_time: Option<String>,
    /// Length of the first, coarse trials [default: a quarter of that]
    #[arg(long, value_name = "DURATION", help_heading = "How surely")]
    first_trial_time: Option<String>,
    /// Time of trials at one load that decides [default: three trials]
    #[arg(long, value_name = "DURATION", help_heading = "How surely")]
    sum_time: Option<String>,
    /// Share of that time which may lose more than the goal [default: 50%]
    #[arg(long, value_name = "SHARE", help_heading = "How surely")]
    exceed: Option<String>,
    /// Distance of the bounds at the end [default: 0.5%]
    #[arg(long, value_name = "SHARE", help_heading = "How surely")]
    width: Option<String>,
    /// Lowest load [default: 1]
    #[arg(long, value_name = "RATE", help_heading = "How surely")]
    min_rate: Option<String>,
    /// Highest load: frames a second, bits a second or a share of the line rate [default: 100%]
    #[arg(long, value_name = "RATE", help_heading = "How surely")]
    max_rate: Option<String>,
    /// After a trial, wait so long for what is on its way, longer where the way takes longer [default: 200ms]
    #[arg(long, value_name = "DURATION", help_heading = "How surely")]
    drain: Option<String>,
    /// Wait so long between two trials [default: 0]
    #[arg(long, value_name = "DURATION", help_heading = "How surely")]
    rest: Option<String>,
    /// RFC 2544's throughput (26.1), latency (26.2), frame loss rate (26.3) and back-to-back frames (26.4)
    #[arg(long, help_heading = "How surely")]
    rfc2544: bool,
    /// Speed of the link, where its driver does not tell it
    #[arg(long, value_name = "BITS", help_heading = "How surely")]
    line: Option<String>,
    /// CPUs for the thread that sends and the one that receives
    #[arg(long, value_name = "LIST", help_heading = "How surely")]
    cpus: Option<String>,
    /// Priority of the thread that sends: auto, normal or real-time [default: auto]
    #[arg(long, value_name = "WHICH", help_heading = "How surely")]
    priority: Option<String>,

    #[command(flatten)]
    frames: FrameArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Resolves the flags, opens both ports and searches.
pub fn run(args: &SweepArgs) -> Result<Status, Failure> {
    carry_out_file(&args.plan_file(), &Options::from(&args.output))
}

/// The same from a plan.
pub fn carry_out_file(file: &SweepPlanFile, options: &Options) -> Result<Status, Failure> {
    let (plan, packets) = file.resolve().map_err(Failure::wrong)?;
    let prepare = |clock| {
        let job = SweepJob::prepare(&plan, clock).map_err(Failure::wrong)?;
        Ok(Box::new(job) as Box<dyn Job>)
    };
    carry_out(prepare, &packets, Vec::new(), options)
}

impl SweepArgs {
    pub fn plan_file(&self) -> SweepPlanFile {
        let typed = |text: &Option<String>| text.as_deref().map(Typed::from);
        let mut file = SweepPlanFile::default();
        file.sweep = SweepFile {
            send: self.send.clone().or_else(|| self.port.clone()),
            receive: self.receive.clone().or_else(|| self.port.clone()),
            sizes: typed(&self.sizes),
            goal: typed(&self.goal),
            trials: typed(&self.trials),
            trial_time: typed(&self.trial_time),
            first_trial_time: typed(&self.first_trial_time),
            sum_time: typed(&self.sum_time),
            exceed: typed(&self.exceed),
            width: typed(&self.width),
            min_rate: typed(&self.min_rate),
            max_rate: typed(&self.max_rate),
            latency: self.no_latency.then_some(false),
            latency_at: typed(&self.latency_at),
            latency_trials: typed(&self.latency_trials),
            latency_time: typed(&self.latency_time),
            frame_loss: self.frame_loss.then_some(true),
            bursts: typed(&self.bursts),
            drain: typed(&self.drain),
            rest: typed(&self.rest),
            rfc2544: self.rfc2544.then_some(true),
            cpus: typed(&self.cpus),
            priority: typed(&self.priority),
            line: typed(&self.line),
        };
        self.frames.fill(&mut file.frames);
        self.limits.add_to(&mut file.limits);
        file
    }
}
