//! `tare capture`: flags → plan → frames that arrive, counted and kept.

use crate::commands::http_args::{LimitArgs, OutputArgs};
use crate::options::Options;
use crate::packets::carry_out;
use crate::status::{Failure, Status};
use clap::{Args, ValueHint};
use packet::Job;
use packet::capture::{Capture, Keeping, Settings, compile};
use plan::Typed;
use plan::packets::capture::{CaptureFile, CapturePlan, CapturePlanFile, KeepPlan, Rotate};
use port::Address;
use port::pcap::Rotation;

const EXAMPLES: &str = "\
Examples:
  tare capture packet:veth0 -t 10                       count for 10 s: rates, sizes, flows, drops by place
  tare capture packet:veth0 -w in.pcapng -n 100000      keep 100 000 frames
  tare capture packet:veth0 -w in.pcapng --rotate 100MB --keep 5 udp port 9
  tare capture packet:veth0 --queues 2 -s 96 -w in.pcapng

A filter is written as for tcpdump (pcap-filter(7)). Signatures that tare send --sign leaves are read: loss, duplicates,
order and one-way times are then in the result.";

/// Receive, count and keep frames
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct CaptureArgs {
    /// Where frames arrive: packet:veth0, xdp:veth0, an interface, or a capture file
    #[arg(value_name = "PORT")]
    place: Option<String>,
    /// The same as PORT, of which there is then none: all words are FILTER
    #[arg(long, value_name = "PORT")]
    port: Option<String>,
    /// Only these frames, as for tcpdump: udp port 9
    #[arg(value_name = "FILTER", num_args = 0..)]
    filter: Vec<String>,

    /// End after this many frames
    #[arg(short = 'n', long, value_name = "COUNT", help_heading = "When it ends")]
    frames: Option<String>,
    /// End after this long; without it, at Ctrl-C
    #[arg(short = 't', long, value_name = "DURATION", help_heading = "When it ends")]
    duration: Option<String>,

    /// Keep frames in this file: pcapng with nanoseconds, or pcap if its name ends with .pcap
    #[arg(short = 'w', long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "What is kept")]
    write: Option<String>,
    /// Keep only this many bytes of each frame
    #[arg(short = 's', long, value_name = "BYTES", help_heading = "What is kept")]
    snap: Option<String>,
    /// Begin the next file after 100MB, 60s or 1M (frames)
    #[arg(long, value_name = "WHEN", help_heading = "What is kept")]
    rotate: Option<String>,
    /// Keep the last files only, this many
    #[arg(long, value_name = "FILES", help_heading = "What is kept")]
    keep: Option<String>,
    /// Memory for frames that wait for the disk [default: 64MB]
    #[arg(long, value_name = "BYTES", help_heading = "What is kept")]
    buffer: Option<String>,

    /// Queues to receive from, each with a thread of its own [default: 1]
    #[arg(long, value_name = "N", help_heading = "How")]
    queues: Option<String>,
    /// Do not count flows
    #[arg(long, help_heading = "How")]
    no_flows: bool,
    /// Do not look for signatures
    #[arg(long, help_heading = "How")]
    no_signatures: bool,

    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Resolves the flags, opens the port and captures.
pub fn run(args: &CaptureArgs) -> Result<Status, Failure> {
    carry_out_file(&args.plan_file(), &Options::from(&args.output))
}

/// The same from a plan.
pub fn carry_out_file(file: &CapturePlanFile, options: &Options) -> Result<Status, Failure> {
    let (plan, packets) = file.resolve().map_err(Failure::wrong)?;
    let prepare = |clock| {
        let job = Capture::open(settings(&plan)?, clock).map_err(Failure::wrong)?;
        Ok(Box::new(job) as Box<dyn Job>)
    };
    carry_out(prepare, &packets, Vec::new(), options)
}

fn settings(plan: &CapturePlan) -> Result<Settings, Failure> {
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

/// The port, and the words of the filter. Where the port is named by its flag, the first word is one of the filter's.
pub fn port_and_filter(
    flag: &Option<String>,
    first: &Option<String>,
    rest: &[String],
) -> (Option<String>, Option<String>) {
    let is_filter = flag.is_some();
    let words: Vec<&str> = first.iter().filter(|_| is_filter).chain(rest).map(String::as_str).collect();
    (flag.clone().or_else(|| first.clone()), (!words.is_empty()).then(|| words.join(" ")))
}

impl CaptureArgs {
    pub fn plan_file(&self) -> CapturePlanFile {
        let typed = |text: &Option<String>| text.as_deref().map(Typed::from);
        let mut file = CapturePlanFile::default();
        let (port, filter) = port_and_filter(&self.port, &self.place, &self.filter);
        file.capture = CaptureFile {
            port,
            filter,
            frames: typed(&self.frames),
            duration: typed(&self.duration),
            queues: typed(&self.queues),
            snap: typed(&self.snap),
            write: self.write.clone(),
            rotate: typed(&self.rotate),
            keep: typed(&self.keep),
            buffer: typed(&self.buffer),
            flows: self.no_flows.then_some(false),
            signatures: self.no_signatures.then_some(false),
        };
        self.limits.add_to(&mut file.limits);
        file
    }
}
