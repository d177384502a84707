//! `tare forward`: flags → plan → a middlebox between two ports.

use crate::commands::http_args::{LimitArgs, OutputArgs};
use anyhow::anyhow;
use clap::{Args, ValueHint};
use clock::HostClock;
use filter::Rules;
use packet::Job;
use packet::forward::{Back, Forward, Full, KernelForward, RuleSource, Setup, Signal, SpeedPlan, TableJob};
use plan::packets::forward::{BackWay, BetweenPlan, ForwardFile, ForwardPlan, ForwardPlanFile, TablePlan};
use plan::{Typed, TypedList};
use run::{Failure, Options, Status, carry_out};
use std::path::Path;
use std::sync::Arc;

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
pub struct ForwardArgs {
    /// Port where frames come in: packet:veth0, xdp:veth0, pcap:in.pcapng, mem:a or an interface
    #[arg(value_name = "IN")]
    input: Option<String>,
    /// Port where frames leave; without it frames are only counted
    #[arg(value_name = "OUT")]
    output: Option<String>,

    /// Filter frames by the rules in FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Rules")]
    rules: Option<String>,
    /// Check FILE for changes at this interval, and read it again if it has changed
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
    /// If OUT is full: wait (the default; frames are then lost at IN), or drop after a number of tries
    #[arg(long, value_name = "HOW", help_heading = "Forwarding")]
    full: Option<String>,
    /// Longest frame, with FCS [default: 1518]
    #[arg(long, value_name = "BYTES", help_heading = "Forwarding")]
    longest: Option<String>,
    /// Poll all the time instead of sleeping
    #[arg(long, help_heading = "Forwarding")]
    busy: bool,

    /// Stop after this time [default: at Ctrl-C]
    #[arg(short = 't', long, value_name = "DURATION", help_heading = "Stop")]
    duration: Option<String>,
    /// Stop after N frames have come in; with --xdp, slightly later
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
    output_args: OutputArgs,
}

/// Resolves the flags, opens the ports and forwards.
pub fn run(args: &ForwardArgs) -> Result<Status, Failure> {
    carry_out_file(&args.plan_file(), &Options::from(&args.output_args))
}

/// The same from a plan.
pub fn carry_out_file(file: &ForwardPlanFile, options: &Options) -> Result<Status, Failure> {
    let (plan, packets) = file.resolve().map_err(Failure::wrong)?;
    // Rules are read before anything is opened; a plan that is only printed needs none.
    let path = match &plan {
        ForwardPlan::Between(plan) => &plan.rules,
        ForwardPlan::Table(plan) => &plan.rules,
    };
    let rules = match path {
        Some(path) if !options.print_plan => Some(read_rules(path)?),
        _ => None,
    };
    let prepare = |clock| match &plan {
        ForwardPlan::Between(plan) => between(plan, rules, clock),
        ForwardPlan::Table(plan) => Ok(Box::new(TableJob::new(table(plan, rules), clock)) as Box<dyn Job>),
    };
    carry_out(prepare, &packets, Vec::new(), options)
}

fn read_rules(path: &Path) -> Result<Rules, Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::wrong(anyhow!("--rules: {name}: {error}; expected a file with one rule per line"))
    })?;
    Rules::parse(&text, &name).map_err(Failure::wrong)
}

fn between(plan: &BetweenPlan, rules: Option<Rules>, clock: HostClock) -> Result<Box<dyn Job>, Failure> {
    let rules = rules.map(|rules| RuleSource {
        rules,
        file: plan.rules.clone(),
        every: plan.reload_every,
        signal: hang_up(),
    });
    let setup = Setup {
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
    };
    if let (true, Some(output)) = (plan.xdp, &plan.output) {
        let job = KernelForward::open(&plan.input, output, setup, clock).map_err(Failure::wrong)?;
        return Ok(Box::new(job));
    }
    let address = |text: &str| text.parse::<port::Address>().map_err(Failure::wrong);
    let (input, output) = (address(&plan.input)?, plan.output.as_deref().map(address).transpose()?);
    let how = (plan.threads, plan.longest - port::FCS);
    let job = Forward::open(&input, output.as_ref(), how, setup, clock).map_err(Failure::wrong)?;
    Ok(Box::new(job))
}

/// Set at SIGHUP; where it cannot be had, the other ways to reload remain.
fn hang_up() -> Option<Signal> {
    let signal = Signal::default();
    let registered = signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::clone(&signal));
    registered.is_ok().then_some(signal)
}

fn table(plan: &TablePlan, rules: Option<Rules>) -> SpeedPlan {
    SpeedPlan {
        rules,
        threads: plan.threads.clone(),
        sizes: plan.sizes.clone(),
        trials: plan.trials,
        length: plan.trial,
    }
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
