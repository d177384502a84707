//! `tare doctor`: whether this machine can carry a load, before anything is sent.
//!
//! ```text
//!   plan or command ─► demand ─┐
//!   profile, machine ──────────┼─► forecast ─┐
//!   examination ───────────────┴─► findings ─┼─► page, or JSON
//!                                            └─► --fix: settings, made and taken back
//! ```

mod asked;
mod mending;
mod page;

use anyhow::anyhow;
use asked::IntendedLoad;
use clap::{Args, ValueHint};
use doctor::{Device, Files, Finding, Load, Overview, PortState, Severity, Subject, Weight};
use measure::ExitStatus;
use predict::{Forecast, Outlook, Supply};
use profile::{Machine, Profile, Refused};
use run::terminal::{print_all, style};
use run::{Failure, Status};
use std::io::IsTerminal;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  tare doctor                       what is wrong with this machine, the worst first
  tare doctor plan.toml             whether this machine can run that plan
  tare doctor -- http --rate 20k http://10.0.0.2/
                                    whether it can run that command
  tare doctor --only net.ports      one finding in full, with the commands that fix and undo it
  tare doctor --fix                 apply the fixes that can be undone; asks first
  tare doctor --undo                undo them

Only --fix and --undo change anything. The previous settings are kept in mended.json in Tare's
state folder.

Exit status:
  0 examined; 1 a fix could not be applied or undone; 2 bad input;
  4 the plan is forecast INVALID, or cannot run on this machine";

/// Check this machine's settings, and whether it can run a plan
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct DoctorArgs {
    /// Plan file, as printed by `--print-plan` or found in a run folder
    #[arg(value_name = "PLAN.toml", value_hint = ValueHint::FilePath)]
    pub plan: Option<PathBuf>,
    /// A tare command, after --
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "plan")]
    pub command: Vec<String>,
    /// Show all findings in full, also those with nothing to fix
    #[arg(long)]
    pub all: bool,
    /// Show only these findings, in full; separate names by commas
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Print everything as JSON (tare.doctor/1)
    #[arg(long)]
    pub json: bool,
    /// Apply the fixes that can be undone; each is printed first
    #[arg(long, conflicts_with = "json")]
    pub fix: bool,
    /// Undo what --fix changed
    #[arg(long, conflicts_with_all = ["json", "plan", "command", "only"])]
    pub undo: bool,
    /// Do not ask before changing anything
    #[arg(long)]
    pub yes: bool,
}

/// Everything that is told.
struct Examination {
    overview: Overview,
    machine: Machine,
    subject: Subject,
    findings: Vec<Finding>,
    ports: Vec<PortState>,
    profile: Result<Profile, Refused>,
    asked: Option<IntendedLoad>,
    forecast: Option<Forecast>,
}

/// Examines, tells, and mends if that was asked for.
pub fn run(args: &DoctorArgs) -> Result<Status, Failure> {
    if args.fix || args.undo {
        mending::may_ask(args.yes, if args.undo { "--undo" } else { "--fix" })?;
    }
    if args.undo {
        return mending::undo(args.yes);
    }
    let asked = IntendedLoad::read(args)?;
    let examination = Examination::make(asked);
    examination.know(&args.only)?;
    if args.fix {
        return mending::fix(&examination, &args.only, args.yes);
    }
    let text = match (args.json, args.only.is_empty()) {
        (true, _) => page::json(&examination, &args.only)?,
        (false, true) => page::page(&examination).text(args.all, style(std::io::stdout().is_terminal())),
        (false, false) => page::page(&examination).only(&args.only, style(std::io::stdout().is_terminal())),
    };
    print_all(&text)?;
    Ok(examination.status())
}

impl Examination {
    fn make(asked: Option<IntendedLoad>) -> Self {
        let mut subject = Subject::here();
        if let Some(asked) = &asked {
            subject.devices.retain(|device| asked.uses(device));
        }
        let machine = Machine::read();
        let profile = match store::state_dir() {
            Ok(folder) => Profile::of(&machine, &folder.join("tare")),
            Err(error) => Err(Refused::Unreadable(error.to_string())),
        };
        let forecast = asked
            .as_ref()
            .map(|asked| Forecast::of(&asked.demand, profile.as_ref(), &supply(asked, &subject.devices)));
        let mut findings = subject.findings();
        if asked.as_ref().is_some_and(|asked| !asked.needs_privilege()) {
            let of_privilege = findings.iter_mut().filter(|finding| finding.id.starts_with("cap."));
            of_privilege.for_each(|finding| finding.weight = Weight::default());
        }
        if asked.as_ref().is_some_and(IntendedLoad::has_own_tcp) {
            let of_kernel =
                |finding: &&mut Finding| ["net.ports", "net.tw_reuse"].contains(&finding.id.as_str());
            findings.iter_mut().filter(of_kernel).for_each(|finding| finding.weight = Weight::default());
        }
        if let Some(load) = asked.as_ref().map(|asked| asked.load) {
            findings.sort_by_key(|finding| std::cmp::Reverse(finding.weight.of(load)));
        }
        Self {
            overview: Overview::read(&subject.files),
            machine,
            ports: PortState::all(&subject.devices),
            findings,
            subject,
            profile,
            asked,
            forecast,
        }
    }

    fn load(&self) -> Option<Load> {
        self.asked.as_ref().map(|asked| asked.load)
    }

    /// How much a finding matters here: to the plan's load, or to the load that it matters most to.
    fn severity(&self, finding: &Finding) -> Severity {
        self.load().map_or(finding.worst(), |load| finding.weight.of(load))
    }

    /// Names that are typed must be names of findings.
    fn know(&self, only: &[String]) -> Result<(), Failure> {
        let ids: Vec<&str> = self.findings.iter().map(|finding| finding.id.as_str()).collect();
        match only.iter().find(|name| !ids.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => {
                let stem = name.split('.').next().unwrap_or_default();
                let near: Vec<&str> = ids.iter().filter(|id| id.starts_with(stem)).copied().collect();
                let near = if near.is_empty() { ids } else { near };
                Err(Failure::wrong(anyhow!(
                    "--only {name}: no such finding; expected one of {}",
                    near.join(", ")
                )))
            }
        }
    }

    fn status(&self) -> Status {
        let is_invalid = self.forecast.as_ref().is_some_and(|forecast| forecast.outlook == Outlook::Invalid);
        let is_blocked = self.asked.is_some()
            && self.findings.iter().any(|finding| self.severity(finding) == Severity::Blocking);
        if is_invalid || is_blocked { Status::Run(ExitStatus::Invalid) } else { Status::Done }
    }
}

/// What the machine has, with what only the interface itself tells of its queue and ring.
fn supply(asked: &IntendedLoad, devices: &[Device]) -> Supply {
    let supply = Supply::read(asked.interface()).for_demand(&asked.demand);
    let supply = Supply { refused: asked.refused.clone(), ..supply };
    let device = devices.iter().find(|device| Some(device.name.as_str()) == asked.interface());
    let Some(device) = device else { return supply };
    Supply {
        transmit_queue: device.setup.queue_length.map(u64::from).or(supply.transmit_queue),
        ring: device
            .setup
            .rings
            .map(|rings| u64::from(rings.transmit))
            .filter(|ring| *ring > 0)
            .or(supply.ring),
        ..supply
    }
}

/// The files of this machine, for settings.
fn files() -> Files {
    Files::default()
}
