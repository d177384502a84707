//! `tare pace`: flags → plan → live frames at exact times.

use crate::commands::output_args::{LimitArgs, OutputArgs};
use crate::trial_args::TrialArgs;
use clap::{Args, ValueHint};
use plan::Typed;
use plan::packets::pace::{PaceFile, PacePlanFile};
use run::{Failure, Options, Status};

/// What this host sends into where only the port is named through which it leaves.
const HOST: &str = "tap:tare0";

const EXAMPLES: &str = "\
Examples:
  tare pace tap:tare0 packet:veth0 --rate 50mbit
      then: ip addr add 198.18.0.1/24 dev tare0; ip link set tare0 up; iperf3 -c 198.18.0.2
  tare pace tap:tare0 packet:veth0 -d 13560 -t 10    a gap of 13 560 ns between any two frames
  tare pace tap:tare0 packet:veth0 -D gaps.txt       gaps from a file, repeated
  tare pace --port fpga:eth1 -d 13560                from tap:tare0, through an FPGA module
  tare ctl last mark; tare ctl last mark 1           set a mark; ask whether all frames before it have left

If IN is a tap, its senders are throttled, so that nothing is dropped on the way. On other ports
frames arrive as fast as they are sent.

Rates in bits count preamble, frame with FCS, and Ethernet's gap; 50mbit:l2 counts only the frame
with FCS.";

/// Pace this host's outgoing traffic, TCP included, at exact times
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("no_view", |arg| arg.hide(true)))]
pub struct PaceArgs {
    /// Port where this host's traffic arrives: tap:NAME, or the far end of a veth pair
    #[arg(value_name = "IN")]
    input: Option<String>,
    /// Port where the paced frames leave; replies come back through it
    #[arg(value_name = "OUT")]
    output: Option<String>,
    /// Same as OUT; IN defaults to tap:tare0
    #[arg(long, value_name = "PORT", conflicts_with = "output")]
    port: Option<String>,

    /// Frames per second (20k), bits per second (50mbit) or a share of the line rate (50%)
    #[arg(long, value_name = "RATE", help_heading = "Schedule")]
    rate: Option<String>,
    /// Gap between frames: nanoseconds, or a time such as 100us
    #[arg(short = 'd', long, value_name = "NS", help_heading = "Schedule")]
    gap: Option<String>,
    /// File of gaps in nanoseconds, one per line; starts again at its end
    #[arg(short = 'D', long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Schedule")]
    gaps: Option<String>,
    /// Count each gap from the previous frame's actual departure, not from its due time
    #[arg(long, help_heading = "Schedule")]
    relative: bool,
    /// Stop after this time [default: at Ctrl-C]
    #[arg(short = 't', long, value_name = "TIME", help_heading = "Schedule")]
    duration: Option<String>,
    /// Link speed in bits per second, e.g. 10G, if the driver does not report it
    #[arg(long, value_name = "BITS", help_heading = "Schedule")]
    line: Option<String>,

    /// CPUs for the pacing thread and for the thread that returns replies
    #[arg(long, value_name = "LIST", help_heading = "Generator")]
    cpus: Option<String>,
    /// Priority of the pacing thread: auto, normal or real-time [default: auto]
    #[arg(long, value_name = "WHICH", help_heading = "Generator")]
    priority: Option<String>,
    /// Do not throttle senders into a tap; queue their frames instead
    #[arg(long, help_heading = "Generator")]
    no_valve: bool,

    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    pub output_args: OutputArgs,
    #[command(flatten)]
    trials: TrialArgs,
}

/// Resolves the flags, opens both ports and paces.
pub fn run(args: &PaceArgs) -> Result<Status, Failure> {
    run::frames::pace(&args.plan_file(), &Options::from(&args.output_args))
}

impl PaceArgs {
    pub fn plan_file(&self) -> PacePlanFile {
        let typed = |text: &Option<String>| text.as_deref().map(Typed::from);
        let mut file = PacePlanFile::default();
        file.pace = PaceFile {
            input: self.input.clone().or_else(|| self.port.as_ref().map(|_| HOST.to_owned())),
            output: self.output.clone().or_else(|| self.port.clone()),
            rate: typed(&self.rate),
            gap: typed(&self.gap),
            gaps: self.gaps.clone(),
            relative: self.relative.then_some(true),
            duration: typed(&self.duration),
            cpus: typed(&self.cpus),
            priority: self.priority.clone(),
            valve: self.no_valve.then_some(false),
            line: typed(&self.line),
        };
        self.limits.add_to(&mut file.limits);
        file
    }
}
