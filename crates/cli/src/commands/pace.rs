//! `tare pace`: flags → plan → live frames at exact times.

use crate::commands::http_args::{LimitArgs, OutputArgs};
use crate::options::Options;
use crate::packets::carry_out;
use crate::status::{Failure, Status};
use clap::{Args, ValueHint};
use packet::Job;
use packet::pace::PaceJob;
use plan::Typed;
use plan::packets::pace::{PaceFile, PacePlanFile};

/// What this host sends into where only the port is named through which it leaves.
const HOST: &str = "tap:tare0";

const EXAMPLES: &str = "\
Examples:
  tare pace tap:tare0 packet:veth0 --rate 50mbit
      then: ip addr add 198.18.0.1/24 dev tare0; ip link set tare0 up; iperf3 -c 198.18.0.2
  tare pace tap:tare0 packet:veth0 -d 13560 -t 10      a gap of 13 560 ns between all frames
  tare pace tap:tare0 packet:veth0 -D gaps.txt         gaps from a file, again and again
  tare pace --port fpga:eth1 -d 13560                  from tap:tare0, through an FPGA module
  tare ctl last mark                                   'all up to here has gone', while it runs

Before a tap this host's sockets are kept back, so that nothing is dropped on the way. Other ports take frames as they come.
Bits count the frame with FCS, preamble and the gap of Ethernet; 50mbit:l2 counts the frame with its FCS alone.";

/// Let what this host sends leave at exact times, TCP and all
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct PaceArgs {
    /// What this host sends into: tap:NAME, or the far end of a pair of veth
    #[arg(value_name = "IN")]
    input: Option<String>,
    /// Where it leaves, and answers come from
    #[arg(value_name = "OUT")]
    output: Option<String>,
    /// The same as OUT; IN is tap:tare0 then, if it is not given
    #[arg(long, value_name = "PORT", conflicts_with = "output")]
    port: Option<String>,

    /// Frames a second (20k), bits a second (50mbit) or a share of the line rate (50%)
    #[arg(long, value_name = "RATE", help_heading = "When")]
    rate: Option<String>,
    /// Gap between frames: nanoseconds, or a time such as 100us
    #[arg(short = 'd', long, value_name = "NS", help_heading = "When")]
    gap: Option<String>,
    /// Gaps from a file, nanoseconds, one a line; from the beginning again at its end
    #[arg(short = 'D', long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "When")]
    gaps: Option<String>,
    /// Gaps count from when the frame before left, not from when it was due
    #[arg(long, help_heading = "When")]
    relative: bool,
    /// End after this long; without it, at Ctrl-C
    #[arg(short = 't', long, value_name = "DURATION", help_heading = "When")]
    duration: Option<String>,
    /// Speed of the link, where its driver does not tell it
    #[arg(long, value_name = "BITS", help_heading = "When")]
    line: Option<String>,

    /// CPUs for the thread that paces and the one that hands answers back
    #[arg(long, value_name = "LIST", help_heading = "How")]
    cpus: Option<String>,
    /// Priority of the thread that paces: auto, normal or real-time [default: auto]
    #[arg(long, value_name = "WHICH", help_heading = "How")]
    priority: Option<String>,
    /// Do not keep this host's sockets back before a tap; its queue is long instead
    #[arg(long, help_heading = "How")]
    no_valve: bool,

    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    output_args: OutputArgs,
}

/// Resolves the flags, opens both ports and paces.
pub fn run(args: &PaceArgs) -> Result<Status, Failure> {
    carry_out_file(&args.plan_file(), &Options::from(&args.output_args))
}

/// The same from a plan.
pub fn carry_out_file(file: &PacePlanFile, options: &Options) -> Result<Status, Failure> {
    let (plan, packets) = file.resolve().map_err(Failure::wrong)?;
    let prepare = |clock| {
        let job = PaceJob::prepare(&plan, clock).map_err(Failure::wrong)?;
        Ok(Box::new(job) as Box<dyn Job>)
    };
    carry_out(prepare, &packets, Vec::new(), options)
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
            priority: typed(&self.priority),
            valve: self.no_valve.then_some(false),
            line: typed(&self.line),
        };
        self.limits.add_to(&mut file.limits);
        file
    }
}
