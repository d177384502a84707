//! `tare weigh`: how much load this machine creates, and what takes it away. Each kind of load has a file of
//! its own.
//!
//! ```text
//!   tare weigh            a little of everything, in under two minutes
//!   tare weigh packets    the time of a packet, and rates, by port and frame size
//!   tare weigh backload   what incoming traffic takes away
//!   tare weigh http       requests
//! ```

use crate::commands::weigh_backload::WeighBackloadArgs;
use crate::commands::weigh_http::{self, WeighHttpArgs};
use crate::commands::weigh_packets::WeighPacketsArgs;
use anyhow::anyhow;
use clap::{Args, Subcommand, ValueHint};
use measure::ExitStatus;
use profile::Capability;
use run::terminal::print_all;
use run::{Failure, Status, complain, interrupt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::weighing;
use weigh::WeighError;
use weigh::session::{BackloadPlan, PacketsPlan, Session};

const EXAMPLES: &str = "\
Examples:
  tare weigh                                      packets, backload and requests in under 2 minutes
  tare weigh packets --port all --sizes 64,1518   every port, ten trials of one million packets
  tare weigh packets --port udp --stamp capture --like-study
  tare weigh backload --port udp,packet --kind udp-closed,tcp-syn
  tare weigh backload --port all,fpga:sim --sizes 64   also the simulated FPGA module, on one chart
  tare weigh packets --port packet --interface eth1 --to 192.0.2.7:9
  tare weigh backload --port packet --interface eth1 --to 192.0.2.7:9 --source 'ssh peer tare send packet:eth0
      --rate {rate} -t {time} -i {address} -m {mac} --dport {port} --size {size} --no-save -q'
  tare weigh join old=weighings/a new=weighings/b    two machines on one page

Tare sends between network namespaces that it makes for this, which needs root. Without privileges
it weighs only UDP over the loopback interface, and mem.

Exit status:
  0 weighed; 1 weighed, but not kept; 2 bad input, or nothing could be weighed;
  130 interrupted (results so far are kept)";

/// Measure how much load this machine can create
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct WeighArgs {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    output: WeighOutput,
}

#[derive(Subcommand, Debug)]
enum What {
    Packets(Box<WeighPacketsArgs>),
    Backload(Box<WeighBackloadArgs>),
    Http(Box<WeighHttpArgs>),
    Join(WeighJoinArgs),
}

/// Put the weighings of several machines on one page
#[derive(Args, Clone, Debug)]
pub struct WeighJoinArgs {
    /// Weighings: a folder or its weigh.json, each with the name of its machine
    #[arg(value_name = "NAME=FOLDER", required = true, num_args = 2..)]
    weighings: Vec<String>,
    #[command(flatten)]
    output: WeighOutput,
}

/// What is to be done with what was found.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct WeighOutput {
    /// Keep the weighing in this folder
    #[arg(short = 'o', long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "no_save")]
    out: Option<PathBuf>,
    /// Keep nothing: neither the weighing nor the profile
    #[arg(long)]
    no_save: bool,
    /// Print the weighing as JSON
    #[arg(long)]
    json: bool,
    /// Print tables like those of the study that docs/capability.md names
    #[arg(long, conflicts_with = "json")]
    like_study: bool,
    /// Print the capability map as Markdown
    #[arg(long, conflicts_with_all = ["json", "like_study"])]
    markdown: bool,
    /// Show no progress
    #[arg(long)]
    no_progress: bool,
}

impl WeighOutput {
    /// Whether the folder can be written to, before anything is weighed.
    fn is_writable(&self) -> Result<(), Failure> {
        let Some(out) = self.out.as_deref().filter(|_| !self.no_save) else { return Ok(()) };
        let is_writable = std::fs::create_dir_all(out).and_then(|()| tempfile::tempfile_in(out));
        is_writable.map_err(|error| Failure::wrong(anyhow!("--out {}: {error}", out.display())))?;
        Ok(())
    }
}

/// Weighs what was asked for.
pub fn run(args: &WeighArgs) -> Result<Status, Failure> {
    // Whoever was killed left its namespaces: also where this weighing makes none itself.
    bed::remove_orphans();
    match &args.what {
        None => everything(&args.output),
        Some(What::Http(args)) => weigh_http::run(args),
        Some(What::Join(args)) => join(args),
        Some(What::Packets(args)) => {
            let plan = args.plan()?;
            let mut session = begin(&args.output)?;
            session.weigh_packets(&plan).map_err(Failure::wrong)?;
            finish(session, &args.output, "tare weigh backload    how much incoming traffic reduces this")
        }
        Some(What::Backload(args)) => {
            let plan = args.plan()?;
            let mut session = begin(&args.output)?;
            session.weigh_backload(&plan).map_err(Failure::wrong)?;
            finish(
                session,
                &args.output,
                "tare weigh packets     the time per packet, by port and frame size",
            )
        }
    }
}

fn begin(output: &WeighOutput) -> Result<Session, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    // A second one ends it at once; the next bed takes away what is left.
    interrupt::heed(&stop, Some(&stop))?;
    output.is_writable()?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    Ok(Session::begin(
        format!("tare {}", words.join(" ")),
        stop,
        (!output.no_progress).then_some(tell as fn(&str)),
    ))
}

fn tell(line: &str) {
    complain(&format!("tare: {line}"));
}

/// Puts rates into this machine's profile; says so if the one before is none for it any more.
pub fn keep_profile(capabilities: &[Capability]) -> Result<(), WeighError> {
    weigh::keep_profile(capabilities, &mut |refused| {
        complain(&format!("tare: the old profile is set aside: {refused}"));
    })
}

/// A little of everything.
fn everything(output: &WeighOutput) -> Result<Status, Failure> {
    let mut session = begin(output)?;
    session.weigh_packets(&PacketsPlan::quick()).map_err(Failure::wrong)?;
    if !session.is_stopped() {
        session.weigh_backload(&BackloadPlan::quick()).map_err(Failure::wrong)?;
    }
    if !session.is_stopped() {
        let mut tell = session.tell();
        let stop = session.stop.clone();
        let mut progress = |seen| tell(&weigh_http::line(seen));
        for capability in weigh::http::quick(&stop, &mut progress).map_err(Failure::wrong)? {
            session.keep_rate(capability);
        }
    }
    let next = match session.capabilities.iter().any(|one| one.peak_per_s > 0.0) {
        true => "tare weigh packets --port all --trials 10    with intervals; verdicts now use this profile",
        false => "tare doctor    why no rate could be weighed on this machine",
    };
    finish(session, output, next)
}

/// Keeps and prints what was found.
fn finish(mut session: Session, output: &WeighOutput, next: &str) -> Result<Status, Failure> {
    session.end().map_err(Failure::wrong)?;
    if !output.no_save
        && let Err(error) = keep_profile(&session.capabilities)
    {
        session.weighing.notes.push(format!("cannot store the profile: {error}"));
    }
    let has_no_figures = session.has_no_figures() && !session.is_stopped();
    let status = show(&mut session.weighing, output, next)?;
    if has_no_figures {
        return Err(Failure::wrong(anyhow!(
            "nothing could be weighed: no trial counts; the remarks say why"
        )));
    }
    Ok(status)
}

/// Reads weighings and shows them as one.
fn join(args: &WeighJoinArgs) -> Result<Status, Failure> {
    let read = |word: &String| {
        let wrong = |problem: String| Failure::wrong(anyhow!("'{word}': {problem}"));
        let (name, path) = word.split_once('=').ok_or_else(|| wrong("expected NAME=FOLDER".into()))?;
        if name.is_empty() || path.is_empty() {
            return Err(wrong("expected NAME=FOLDER".into()));
        }
        Ok((name.to_owned(), weighing::read(path.as_ref()).map_err(|error| wrong(error.to_string()))?))
    };
    let all: Vec<_> = args.weighings.iter().map(read).collect::<Result<_, _>>()?;
    if let Some((name, _)) =
        all.iter().enumerate().find_map(|(at, one)| all[..at].iter().find(|it| it.0 == one.0))
    {
        return Err(Failure::wrong(anyhow!("'{name}' names two weighings; give each its own name")));
    }
    let inputs: Vec<&Path> =
        args.weighings.iter().filter_map(|word| Some(Path::new(word.split_once('=')?.1))).collect();
    let file = |path: &Path| if path.is_dir() { path.join("weigh.json") } else { path.to_path_buf() };
    let places: Vec<_> = inputs.iter().map(|path| file(path).canonicalize().ok()).collect();
    if let Some(at) = (1..places.len()).find(|at| places[..*at].contains(&places[*at])) {
        return Err(Failure::wrong(anyhow!("'{}': this weighing is given twice", args.weighings[at])));
    }
    if let Some(out) = args.output.out.as_deref() {
        let can = weighing::can_join_into(out, &inputs);
        can.map_err(|problem| Failure::wrong(anyhow!("--out {}: {problem}", out.display())))?;
    }
    args.output.is_writable()?;
    let mut joined = weighing::join(all);
    let is_partial = std::mem::take(&mut joined.partial);
    if is_partial {
        joined.notes.push("one of these weighings was cut short".into());
    }
    show(&mut joined, &args.output, "tare weigh    weigh the next machine")
}

/// Keeps and prints a weighing.
fn show(weighing: &mut weighing::Weighing, output: &WeighOutput, next: &str) -> Result<Status, Failure> {
    let (mut kept, mut is_unwritten) = (None, false);
    if !output.no_save {
        match weighing::keep(weighing, output.out.as_deref(), report::weighing::html, report::weighing::svg) {
            Ok(folder) => kept = Some(folder),
            Err(error) => {
                complain(&format!("tare: {error}"));
                is_unwritten = true;
            }
        }
    }
    if output.json {
        let text = serde_json::to_string_pretty(weighing).map_err(|error| Failure::wrong(anyhow!(error)))?;
        print_all(&(text + "\n"))?;
    } else if output.like_study {
        print_all(&report::weighing::like_study(weighing))?;
    } else if output.markdown {
        print_all(&report::weighing::markdown(weighing))?;
    } else {
        print_all(&report::weighing::text(weighing))?;
    }
    if !output.json && !output.markdown {
        if let Some(folder) = &kept {
            print_all(&format!("Report       {}\n", folder.join("report.html").display()))?;
        }
        print_all(&format!("Next         {next}\n"))?;
    }
    Ok(match weighing.partial {
        true => Status::Run(ExitStatus::Interrupted),
        false if is_unwritten => Status::Unwritten,
        false => Status::Done,
    })
}
