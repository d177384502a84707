//! `tare sweep`: flags → plan → searches for the highest load that a target takes.

use crate::commands::frame_args::FrameArgs;
use crate::commands::output_args::{LimitArgs, OutputArgs};
use clap::Args;
use plan::Typed;
use plan::packets::sweep::{SweepFile, SweepPlanFile};
use run::{Failure, Options, Status};

const EXAMPLES: &str = "\
Examples:
  # NDR and PDR at the seven frame sizes of RFC 2544
  tare sweep --send packet:veth0 --receive packet:veth3
  # no loss and 0.1 % loss at two sizes, ten searches each
  tare sweep --send xdp:eth0 --receive xdp:eth1 --sizes 64,1518 --goal ndr,0.1% --trials 10
  # throughput, latency, loss, bursts and recovery as in RFC 2544
  tare sweep --send packet:veth0 --receive packet:veth3 --rfc2544
  # both directions at once, and a reset of the device
  tare sweep --send packet:veth0 --receive packet:veth3 --bidirectional
  tare sweep --send packet:veth0 --receive packet:veth3 --sizes 64 --reset-command 'ssh dut reboot'

The search is MLRsearch (RFC 9971). Loss that the generator or the receiver caused is not counted
against the device: the trial is repeated, if necessary at a lower load, and the result says
'at least'.";

/// Find the highest load that a device forwards without loss, by frame size
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, mut_arg("size", |arg| arg.hide(true)), mut_arg("imix", |arg| arg.hide(true)), mut_arg("no_view", |arg| arg.hide(true)))]
pub struct SweepArgs {
    /// Port that sends
    #[arg(long, value_name = "PORT")]
    send: Option<String>,
    /// Port that sends and receives, if the device returns frames to their sender
    #[arg(long, value_name = "PORT", conflicts_with_all = ["send", "receive"])]
    port: Option<String>,
    /// Port that receives what the device forwards
    #[arg(long, value_name = "PORT")]
    receive: Option<String>,

    /// Frame sizes with FCS [default: 64,128,256,512,1024,1280,1518]
    #[arg(long, value_name = "LIST", help_heading = "Measurement")]
    sizes: Option<String>,
    /// ndr (no loss), pdr (0.5%), or loss ratios such as 0.1% [default: ndr,pdr]
    #[arg(long, value_name = "LIST", help_heading = "Measurement")]
    goal: Option<String>,
    /// Number of searches; several give means with 95 % confidence intervals [default: 1]
    #[arg(long, value_name = "N", help_heading = "Measurement")]
    trials: Option<String>,
    /// Number of searches for the longest burst without loss; 0 for none [default: 50]
    #[arg(long, value_name = "N", help_heading = "Measurement")]
    bursts: Option<String>,
    /// Do not measure latency
    #[arg(long, help_heading = "Measurement")]
    no_latency: bool,
    /// Measure latency at these shares of the highest load found [default: 10%,50%,90%,100%]
    #[arg(long, value_name = "LIST", help_heading = "Measurement")]
    latency_at: Option<String>,
    /// Latency trials at each share [default: 1]
    #[arg(long, value_name = "N", help_heading = "Measurement")]
    latency_trials: Option<String>,
    /// Duration of a latency trial [default: --trial-time]
    #[arg(long, value_name = "TIME", help_heading = "Measurement")]
    latency_time: Option<String>,
    /// Measure loss at 100 %, 90 %, 80 % … of the highest load, until two trials in a row lose nothing
    #[arg(long, help_heading = "Measurement")]
    frame_loss: bool,

    /// Number of tests of recovery from an overload (RFC 2544, 26.5), each at 110 % of the highest load found
    /// and then at half of that [default: 0]
    #[arg(long, value_name = "N", help_heading = "Measurement")]
    recovery: Option<String>,
    /// Duration of the overload, and of the lower load after it [default: --trial-time]
    #[arg(long, value_name = "TIME", help_heading = "Measurement")]
    overload_time: Option<String>,
    /// Number of resets to measure (RFC 2544, 26.6), or their names: hardware,software,power; without
    /// --reset-command, a message says when to reset the device [default: 0, or 1 with --reset-command]
    #[arg(long, value_name = "N|LIST", help_heading = "Measurement")]
    resets: Option<String>,
    /// Shell command that resets the device; TARE_RESET is the number or name of the reset
    #[arg(long, value_name = "COMMAND", help_heading = "Measurement")]
    reset_command: Option<String>,
    /// How long to wait for the device to forward frames again [default: 300s]
    #[arg(long, value_name = "TIME", help_heading = "Measurement")]
    reset_time: Option<String>,
    /// Send and receive at both ports at once; loads are those of each direction
    #[arg(long, help_heading = "Measurement")]
    bidirectional: bool,
    /// Destination MAC address of frames from --receive [default: the --send port's]
    #[arg(long, value_name = "MAC", help_heading = "Measurement")]
    reverse_mac: Option<String>,

    /// Duration of a trial that counts [default: 1s]
    #[arg(long, value_name = "TIME", help_heading = "Search")]
    trial_time: Option<String>,
    /// Duration of the first, coarse trials [default: a quarter of --trial-time]
    #[arg(long, value_name = "TIME", help_heading = "Search")]
    first_trial_time: Option<String>,
    /// Total time of the trials that decide whether one load passes [default: three trials]
    #[arg(long, value_name = "TIME", help_heading = "Search")]
    sum_time: Option<String>,
    /// Share of --sum-time in which loss may exceed the goal [default: 50%]
    #[arg(long, value_name = "SHARE", help_heading = "Search")]
    exceed: Option<String>,
    /// Stop a search when its lower and upper bounds are this close [default: 0.5%]
    #[arg(long, value_name = "SHARE", help_heading = "Search")]
    width: Option<String>,
    /// Lowest load to try [default: 1]
    #[arg(long, value_name = "RATE", help_heading = "Search")]
    min_rate: Option<String>,
    /// Highest load to try: frames per second, bits per second or a share of the line rate [default: 100%]
    #[arg(long, value_name = "RATE", help_heading = "Search")]
    max_rate: Option<String>,
    /// How long to wait after a trial for frames in transit; longer on a slow path [default: 200ms]
    #[arg(long, value_name = "TIME", help_heading = "Search")]
    drain: Option<String>,
    /// Pause between two trials [default: 0]
    #[arg(long, value_name = "TIME", help_heading = "Search")]
    rest: Option<String>,
    /// Run the tests of RFC 2544: throughput (26.1), latency (26.2), frame loss rate (26.3), back-to-back
    /// frames (26.4), system recovery (26.5), and with --resets or --reset-command reset (26.6)
    #[arg(long, help_heading = "Search")]
    rfc2544: bool,
    /// Link speed in bits per second, e.g. 10G, if the driver does not report it
    #[arg(long, value_name = "BITS", help_heading = "Search")]
    line: Option<String>,
    /// CPUs for the sending and the receiving thread, and with --bidirectional for those of the other direction
    #[arg(long, value_name = "LIST", help_heading = "Search")]
    cpus: Option<String>,
    /// Priority of the sending thread: auto, normal or real-time [default: auto]
    #[arg(long, value_name = "WHICH", help_heading = "Search")]
    priority: Option<String>,

    #[command(flatten)]
    frames: FrameArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Resolves the flags, opens both ports and searches.
pub fn run(args: &SweepArgs) -> Result<Status, Failure> {
    run::frames::sweep(&args.plan_file(), &Options::from(&args.output))
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
            recovery: typed(&self.recovery),
            overload_time: typed(&self.overload_time),
            resets: typed(&self.resets),
            reset_command: self.reset_command.clone(),
            reset_time: typed(&self.reset_time),
            bidirectional: self.bidirectional.then_some(true),
            reverse_mac: self.reverse_mac.clone(),
            drain: typed(&self.drain),
            rest: typed(&self.rest),
            rfc2544: self.rfc2544.then_some(true),
            cpus: typed(&self.cpus),
            priority: self.priority.clone(),
            line: typed(&self.line),
        };
        self.frames.fill(&mut file.frames);
        self.limits.add_to(&mut file.limits);
        file
    }
}
