//! `tare forward`: flags → plan → a middlebox between two ports.

use crate::commands::output_args::{LimitArgs, OutputArgs};
use clap::{Args, ValueHint};
use plan::packets::forward::{ForwardFile, ForwardPlanFile};
use plan::{Typed, TypedList};
use run::{Failure, Options, Status};

const EXAMPLES: &str = "\
Examples:
  tare forward packet:veth0 packet:veth1                     all frames, both ways
  tare forward packet:veth0 packet:veth1 --rules rules.txt   firewall from IN to OUT; replies pass
  tare forward veth0 veth1 --rules rules.txt --xdp           the same rules, in the kernel
  tare forward packet:veth0 -t 10                            receive and count for 10 s
  tare forward --table --rules rules.txt                     frames/s in memory, by threads and size

Rules are one per line; the first that matches decides:
  drop from 198.18.0.0/24 proto udp dport 53
  pass from fd00::/8 to 2001:db8::/32 proto tcp sport 1024-65535
  drop all
  default pass     packets that no rule matches, and frames that rules cannot parse (MPLS, PPPoE,
                   a third VLAN tag)
  other pass       frames that are neither IPv4 nor IPv6
Rules are read again on SIGHUP, on 'tare ctl RUN reload', and with --reload-every when the file has
changed.";

/// Act as a middlebox between two ports: forward, filter by rules, or count
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("no_view", |arg| arg.hide(true)))]
pub struct ForwardArgs {
    /// Port where frames arrive: packet:veth0, xdp:veth0, pcap:in.pcapng, mem:a or an interface
    #[arg(value_name = "IN")]
    input: Option<String>,
    /// Port where frames leave; without it frames are only counted
    #[arg(value_name = "OUT")]
    output: Option<String>,

    /// Filter frames by the rules in FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Rules")]
    rules: Option<String>,
    /// Check FILE for changes at this interval, and reload it if it has changed
    #[arg(long, value_name = "TIME", help_heading = "Rules")]
    reload_every: Option<String>,
    /// Frames that arrive at OUT: pass (send them to IN unchanged, the default), rules (filter them too) or
    /// none (ignore them)
    #[arg(long, value_name = "HOW", help_heading = "Rules")]
    back: Option<String>,

    /// Forward in the kernel, by an XDP program made from the rules; IN and OUT must be interfaces
    #[arg(long, help_heading = "Forwarding")]
    xdp: bool,
    /// Threads, each with its own queue of both ports; with --table, a list of thread counts
    #[arg(long, value_name = "N", help_heading = "Forwarding")]
    threads: Option<String>,
    /// If OUT is full: wait (the default; frames are then lost at IN), or N: drop a frame after N tries (1 to
    /// 1000000)
    #[arg(long, value_name = "HOW", help_heading = "Forwarding")]
    full: Option<String>,
    /// Longest frame, with FCS [default: 1518]
    #[arg(long, value_name = "BYTES", help_heading = "Forwarding")]
    longest: Option<String>,
    /// Poll continuously instead of sleeping
    #[arg(long, help_heading = "Forwarding")]
    busy: bool,

    /// Stop after this time [default: at Ctrl-C]
    #[arg(short = 't', long, value_name = "TIME", help_heading = "Stop")]
    duration: Option<String>,
    /// Stop after N frames have arrived; with --xdp, slightly later
    #[arg(short = 'n', long, value_name = "N", help_heading = "Stop")]
    frames: Option<String>,

    /// Measure forwarding alone, between ports in memory, by threads and frame size
    #[arg(long, help_heading = "Table")]
    table: bool,
    /// Frame sizes, with FCS [default: 64,128,256,512,1024,1280,1518]
    #[arg(long, value_name = "LIST", help_heading = "Table")]
    sizes: Option<String>,
    /// Trials of each combination [default: 5]
    #[arg(long, value_name = "N", help_heading = "Table")]
    trials: Option<String>,
    /// Duration of a trial [default: 100ms]
    #[arg(long, value_name = "TIME", help_heading = "Table")]
    trial: Option<String>,

    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    pub output_args: OutputArgs,
}

/// Resolves the flags, opens the ports and forwards.
pub fn run(args: &ForwardArgs) -> Result<Status, Failure> {
    run::frames::forward(&args.plan_file(), &Options::from(&args.output_args))
}

impl ForwardArgs {
    pub fn plan_file(&self) -> ForwardPlanFile {
        let typed = |text: &Option<String>| text.as_deref().map(Typed::from);
        let list = |text: &Option<String>| typed(text).map(|typed| TypedList(vec![typed]));
        let mut file = ForwardPlanFile::default();
        file.forward = ForwardFile {
            input: self.input.clone(),
            output: self.output.clone(),
            rules: self.rules.clone(),
            reload_every: typed(&self.reload_every),
            xdp: self.xdp.then_some(true),
            back: typed(&self.back),
            full: typed(&self.full),
            longest: typed(&self.longest),
            threads: list(&self.threads),
            busy: self.busy.then_some(true),
            duration: typed(&self.duration),
            frames: typed(&self.frames),
            table: self.table.then_some(true),
            sizes: list(&self.sizes),
            trials: typed(&self.trials),
            trial: typed(&self.trial),
        };
        self.limits.add_to(&mut file.limits);
        file
    }
}
