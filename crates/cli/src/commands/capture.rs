//! `tare capture`: flags → plan → frames that arrive, counted and kept.

use crate::commands::output_args::{LimitArgs, OutputArgs};
use crate::trial_args::TrialArgs;
use clap::{Args, ValueHint};
use plan::Typed;
use plan::packets::capture::{CaptureFile, CapturePlanFile};
use run::{Failure, Options, Status};

const EXAMPLES: &str = "\
Examples:
  tare capture packet:veth0 -t 10                     10 s: rates, sizes, flows, drops by place
  tare capture packet:veth0 -w in.pcapng -n 100000    keep 100 000 frames
  tare capture packet:veth0 -w in.pcapng --rotate 100MB --keep 5 udp port 9
  tare capture packet:veth0 --queues 2 -s 96 -w in.pcapng

Filters have tcpdump's syntax, see pcap-filter(7). For frames of tare send --sign, the result also
has loss, duplicates, order and one-way times.";

/// Receive frames, count them and keep them
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("no_view", |arg| arg.hide(true)))]
pub struct CaptureArgs {
    /// Port to receive from: packet:veth0, xdp:veth0, an interface, or a capture file
    #[arg(value_name = "PORT")]
    place: Option<String>,
    /// Same as PORT; all positional arguments then belong to FILTER
    #[arg(long, value_name = "PORT")]
    port: Option<String>,
    /// Only frames that match this filter, in tcpdump's syntax, e.g. udp port 9
    #[arg(value_name = "FILTER", num_args = 0..)]
    filter: Vec<String>,

    /// Stop after this many frames
    #[arg(short = 'n', long, value_name = "N", help_heading = "Stop")]
    frames: Option<String>,
    /// Stop after this time (for a file: by its timestamps) [default: at Ctrl-C]
    #[arg(short = 't', long, value_name = "TIME", help_heading = "Stop")]
    duration: Option<String>,

    /// Write frames to this file: pcapng with nanoseconds, or pcap if the name ends in .pcap
    #[arg(short = 'w', long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "File")]
    write: Option<String>,
    /// Keep at most this many bytes of each frame
    #[arg(short = 's', long, value_name = "BYTES", help_heading = "File")]
    snap: Option<String>,
    /// Start a new file after this size, time or number of frames: 100MB, 60s, 1M
    #[arg(long, value_name = "WHEN", help_heading = "File")]
    rotate: Option<String>,
    /// With --rotate: keep only the newest N files
    #[arg(long, value_name = "FILES", help_heading = "File")]
    keep: Option<String>,
    /// Memory for frames that are not yet on disk [default: 64MB]
    #[arg(long, value_name = "BYTES", help_heading = "File")]
    buffer: Option<String>,

    /// Queues to receive from, each with its own thread [default: 1]
    #[arg(long, value_name = "N", help_heading = "Receiver")]
    queues: Option<String>,
    /// Do not count flows
    #[arg(long, help_heading = "Receiver")]
    no_flows: bool,
    /// Do not look for signatures
    #[arg(long, help_heading = "Receiver")]
    no_signatures: bool,

    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    trials: TrialArgs,
}

/// Resolves the flags, opens the port and captures.
pub fn run(args: &CaptureArgs) -> Result<Status, Failure> {
    run::frames::capture(&args.plan_file(), &Options::from(&args.output))
}

/// The port, and the words of the filter. Where the port is named by its flag, the first word is one of the
/// filter's.
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
