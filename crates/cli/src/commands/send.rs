//! `tare send`: flags → plan → job → load.

use crate::commands::frame_args::FrameArgs;
use crate::commands::http_args::{LimitArgs, OutputArgs};
use crate::options::Options;
use crate::packets::carry_out;
use crate::status::{Failure, Status};
use clap::{Args, ValueHint};
use packet::send::SendJob;
use packet::{Job, PacketError};
use plan::Typed;
use plan::packets::send::SendPlanFile;

const EXAMPLES: &str = "\
Examples:
  tare send veth0 --rate 1M --size 64                 a million frames a second for 10 s
  tare send packet:eth0 -d 13560 -l 1476 -n 100000    one each 13 560 ns, as Caliper is told
  tare send xdp:eth0 --rate 50% --imix --queues 2     half the line rate, sizes mixed
  tare send live:eth0 --rate max                      as fast as an XDP program makes them
  tare send veth0 --rate 10k --sign --receive veth1   what arrived: loss, order, one-way times, gaps
  tare send veth0 --replay trace.pcapng --speed 2     at its own times, twice as fast
  tare ctl last set rate 2M                           while it runs; or the keys + and -, space, m, q

Quantities:
  rates 2M, 400/s (frames), 1gbit (bits on the wire, with preamble, gap and FCS), 1gbit:l2 (frames alone), 50% (of the line), max
  sizes are frame sizes with FCS; -l is bytes of payload

Exit status:
  0 valid; 2 bad input, nothing sent; 3 a threshold failed; 4 INVALID: the generator was the limit;
  5 nobody answers for the destination's hardware address; 130 interrupted";

/// Send frames at given times, or as fast as a port takes them.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub struct SendArgs {
    /// Where frames leave: an interface, or KIND:PLACE (packet:veth0, xdp:veth0, live:veth0, udp:198.18.0.2:9, tap:tare0, pcap:out.pcap)
    #[arg(value_name = "PORT")]
    pub place: Option<String>,
    /// The same as PORT
    #[arg(long, value_name = "PORT", conflicts_with = "place")]
    pub port: Option<String>,

    #[command(flatten)]
    pub when: WhenArgs,
    #[command(flatten)]
    pub frames: FrameArgs,
    #[command(flatten)]
    pub how: HowArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// When frames leave, and how long.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Load")]
pub struct WhenArgs {
    /// Frames a second, bits a second, a share of the line rate, or max [default: 1k]
    #[arg(short = 'r', long, value_name = "RATE", allow_hyphen_values = true)]
    pub rate: Option<String>,
    /// Gap between departures in nanoseconds
    #[arg(short = 'd', long, value_name = "NS", allow_hyphen_values = true)]
    pub gap: Option<String>,
    /// A file with one gap in nanoseconds a line; it repeats
    #[arg(short = 'D', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub gaps: Option<String>,
    /// Frames of a capture file at its own times
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub replay: Option<String>,
    /// How much faster a replay is, e.g. 2 or 0.5 [default: 1]
    #[arg(long, value_name = "TIMES", allow_hyphen_values = true)]
    pub speed: Option<String>,
    /// So many frames back to back, each so many gaps
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub burst: Option<String>,
    /// Count each gap from the last departure as it was, not as it was due
    #[arg(long)]
    pub relative: bool,
    /// Bytes of payload; a frame below 64 bytes is filled up behind the packet
    #[arg(short = 'l', long, value_name = "BYTES", allow_hyphen_values = true)]
    pub length: Option<String>,
    /// A file with one length of payload a line; it repeats
    #[arg(short = 'L', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub lengths: Option<String>,
    /// End after so many frames
    #[arg(short = 'n', long = "frames", value_name = "N", allow_hyphen_values = true)]
    pub count: Option<String>,
    /// End after so long [default: 10s if nothing else ends the run]
    #[arg(short = 't', long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<String>,
}

/// How it is sent.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Generator")]
pub struct HowArgs {
    /// Receive on this port what was sent, and say what arrived
    #[arg(long, value_name = "PORT")]
    pub receive: Option<String>,
    /// Threads, each with a queue of the port; together they keep one schedule [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub queues: Option<String>,
    /// CPUs to run on, e.g. 0,2-3
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// Spin the last stretch to a due time: auto, never or always [default: auto]
    #[arg(long, value_name = "WHEN")]
    pub spin: Option<String>,
    /// Priority of threads that wait for due times: auto, normal or real-time [default: auto]
    #[arg(long, value_name = "WHICH")]
    pub priority: Option<String>,
    /// With --receive: wait so long for frames that are on their way when the last has left [default: 2s from the last that came, longer on a slow way]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub drain: Option<String>,
    /// Answer ARP and neighbour discovery for the source addresses
    #[arg(long)]
    pub answer_arp: bool,
    /// Speed of the link in bits a second, where its driver does not tell it, e.g. 10G
    #[arg(long, value_name = "BITS")]
    pub line: Option<String>,
}

impl SendArgs {
    /// Everything that was typed, as a plan file.
    pub fn plan_file(&self) -> SendPlanFile {
        let typed = |value: &Option<String>| value.clone().map(Typed::from);
        let mut file = SendPlanFile::default();
        let (send, when, how) = (&mut file.send, &self.when, &self.how);
        send.port = self.place.clone().or_else(|| self.port.clone());
        send.receive.clone_from(&how.receive);
        send.rate = typed(&when.rate);
        send.gap = typed(&when.gap);
        send.gaps.clone_from(&when.gaps);
        send.replay.clone_from(&when.replay);
        send.speed = typed(&when.speed);
        send.burst = typed(&when.burst);
        send.relative = when.relative.then_some(true);
        send.length = typed(&when.length);
        send.lengths.clone_from(&when.lengths);
        send.frames = typed(&when.count);
        send.duration = typed(&when.duration);
        send.queues = typed(&how.queues);
        send.cpus = typed(&how.cpus);
        send.spin.clone_from(&how.spin);
        send.priority.clone_from(&how.priority);
        send.drain = typed(&how.drain);
        send.answer_arp = how.answer_arp.then_some(true);
        send.line = typed(&how.line);
        self.frames.fill(&mut file.frames);
        self.limits.add_to(&mut file.limits);
        file
    }
}

/// Resolves the flags and runs the load.
pub fn run(args: &SendArgs) -> Result<Status, Failure> {
    carry_out_file(&args.plan_file(), &Options::from(&args.output))
}

/// Runs the load of a plan file.
pub fn carry_out_file(file: &SendPlanFile, options: &Options) -> Result<Status, Failure> {
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
