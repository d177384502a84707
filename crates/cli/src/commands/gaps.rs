//! `tare gaps`: gaps between frames of a capture or a live port, and how far they are from those that were
//! asked for.

use crate::commands::capture::port_and_filter;
use crate::commands::output_args::{LimitArgs, OutputArgs};
use crate::trial_args::TrialArgs;
use anyhow::anyhow;
use clap::{Args, ValueHint};
use plan::Typed;
use plan::packets::capture::{GapsFile, GapsPlanFile};
use port::{Address, PortKind};
use run::{Failure, Options, Status};
use std::io::IsTerminal;
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  tare gaps in.pcapng                        mean, variance, percentiles and a histogram
  tare gaps in.pcap -d 13560                 also the error of each gap against 13 560 ns
  tare gaps pcap,interface=out:wire.pcapng   one interface of a file with several
  tcpdump -i veth0 --nano -w - | tare gaps - -D gaps.txt
  tare gaps packet:veth0 --signed -t 10      errors against the due times in signed frames

One of the notes is the line that Caliper prints: the mean gap, the mean square of
(measured − requested), and the mean of |measured − requested|, in ns.";

/// Measure the gaps between frames, in a capture file or live
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("no_view", |arg| arg.hide(true)))]
pub struct GapsArgs {
    /// A capture file (pcap, pcapng), - for standard input, or a port: packet:veth0
    #[arg(value_name = "FILE or PORT")]
    place: Option<String>,
    /// Same as FILE or PORT; all positional arguments then belong to FILTER
    #[arg(long, value_name = "PORT")]
    port: Option<String>,
    /// Only frames that match this filter, in tcpdump's syntax, e.g. udp port 9
    #[arg(value_name = "FILTER", num_args = 0..)]
    filter: Vec<String>,

    /// The requested gap: nanoseconds, or a time such as 100us
    #[arg(short = 'd', long, value_name = "NS", help_heading = "Requested gaps")]
    gap: Option<String>,
    /// File of requested gaps in nanoseconds, one per line; starts again at its end
    #[arg(short = 'D', long, value_name = "FILE", value_hint = ValueHint::FilePath,
          help_heading = "Requested gaps")]
    gaps: Option<String>,
    /// Compare with the due times in the frames' signatures (tare send --sign)
    #[arg(long, help_heading = "Requested gaps")]
    signed: bool,

    /// Stop after this many frames
    #[arg(short = 'n', long, value_name = "N", help_heading = "Stop")]
    frames: Option<String>,
    /// Stop after this time (for a file: by its timestamps) [default: a live port stops at Ctrl-C]
    #[arg(short = 't', long, value_name = "TIME", help_heading = "Stop")]
    duration: Option<String>,

    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    trials: TrialArgs,
}

/// Resolves the flags, opens the capture or the port, and measures.
pub fn run(args: &GapsArgs) -> Result<Status, Failure> {
    if args.port.is_none() && args.place.is_none() && std::io::stdin().is_terminal() {
        return Err(Failure::wrong(anyhow!(
            "no frames: give a capture file, a port such as packet:veth0, or a capture on standard input"
        )));
    }
    run::frames::gaps(&args.plan_file(), &Options::from(&args.output))
}

/// What was typed as a port: standard input, a file that is there, or an address.
fn port_of(typed: Option<&str>) -> String {
    match typed {
        None | Some("-") => Address::new(PortKind::Pcap, "-").to_string(),
        Some(path) if Path::new(path).is_file() => Address::new(PortKind::Pcap, path).to_string(),
        Some(address) => address.to_owned(),
    }
}

impl GapsArgs {
    pub fn plan_file(&self) -> GapsPlanFile {
        let typed = |text: &Option<String>| text.as_deref().map(Typed::from);
        let mut file = GapsPlanFile::default();
        let (port, filter) = port_and_filter(&self.port, &self.place, &self.filter);
        file.gaps = GapsFile {
            port: Some(port_of(port.as_deref())),
            filter,
            gap: typed(&self.gap),
            list: self.gaps.clone(),
            signed: self.signed.then_some(true),
            frames: typed(&self.frames),
            duration: typed(&self.duration),
        };
        self.limits.add_to(&mut file.limits);
        file
    }
}
