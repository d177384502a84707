//! `[forward]`: between which ports frames pass, by which rules, and what happens where there is no room.
//!
//! ```text
//! flags ─┐
//!        ├─► ForwardFile ─ resolve ─► ForwardPlan ─ to_toml ─► canonical text, which reads back
//! TOML ──┘
//! ```

use super::lines::Lines;
use super::{Command, PacketPlan, Times, limits};
use crate::error::PlanError;
use crate::fields::typed_table;
use crate::file::{LimitsFile, Origin, read_toml};
use crate::table::Table;
use crate::typed::{Typed, TypedList};
use serde::Deserialize;
use std::path::PathBuf;
use units::Picos;

/// A plan file of `tare forward`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ForwardPlanFile {
    pub forward: ForwardFile,
    pub limits: LimitsFile,
    #[serde(skip)]
    origin: Option<Origin>,
}

typed_table! {
    /// `[forward]`, as typed.
    pub struct ForwardFile, FORWARD_FLAGS of "forward" {
        input: String, "IN";
        /// Without it frames are counted and freed.
        output: String, "OUT";
        /// A file of rules; without it all frames pass.
        rules: String, "--rules";
        /// Look every so often whether the file has changed.
        reload_every: Typed, "--reload-every";
        /// Two interfaces, and the rules as an XDP program.
        xdp: bool, "--xdp";
        /// `pass`, `rules` or `none`.
        back: Typed, "--back";
        /// `wait`, or the number of tries after which frames are dropped.
        full: Typed, "--full";
        /// Longest frame, FCS included.
        longest: Typed, "--longest";
        threads: TypedList, "--threads";
        busy: bool, "--busy";
        duration: Typed, "--duration (-t)";
        frames: Typed, "--frames (-n)";
        /// Measure lanes alone: threads × sizes.
        table: bool, "--table";
        sizes: TypedList, "--sizes";
        trials: Typed, "--trials";
        trial: Typed, "--trial";
    }
}

/// What `tare forward` does.
#[derive(Clone, Debug, PartialEq)]
pub enum ForwardPlan {
    Between(BetweenPlan),
    Table(TablePlan),
}

/// Frames between two ports.
#[derive(Clone, Debug, PartialEq)]
pub struct BetweenPlan {
    pub input: String,
    pub output: Option<String>,
    pub rules: Option<PathBuf>,
    pub reload_every: Option<Picos>,
    pub xdp: bool,
    pub back: BackWay,
    /// `None` waits.
    pub tries: Option<u32>,
    /// Bytes, FCS included.
    pub longest: usize,
    pub threads: u32,
    pub busy: bool,
    pub duration: Option<Picos>,
    pub frames: Option<u64>,
}

/// What happens to frames from OUT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackWay {
    #[default]
    Pass,
    Rules,
    Nothing,
}

impl BackWay {
    const ALL: [Self; 3] = [Self::Pass, Self::Rules, Self::Nothing];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Rules => "rules",
            Self::Nothing => "none",
        }
    }
}

/// Lanes alone, over `mem` ports.
#[derive(Clone, Debug, PartialEq)]
pub struct TablePlan {
    pub rules: Option<PathBuf>,
    pub threads: Vec<u32>,
    /// Bytes, FCS included.
    pub sizes: Vec<usize>,
    pub trials: u32,
    pub trial: Picos,
}

const MOST_THREADS: u64 = 256;
const SHORTEST: u64 = 64;
const LONGEST: u64 = 65_535;
/// Sizes of RFC 2544 §9.1.
const SIZES: [usize; 7] = [64, 128, 256, 512, 1_024, 1_280, 1_518];

impl ForwardPlanFile {
    /// Reads a plan file. `name` is what messages call it.
    ///
    /// # Errors
    /// The line and key that are wrong.
    pub fn from_toml(text: &str, name: &str) -> Result<Self, PlanError> {
        let (mut file, origin): (Self, _) = read_toml(text, name)?;
        file.origin = Some(origin);
        Ok(file)
    }

    fn table(&self) -> Table<'_> {
        Table::new("forward", self.origin.as_ref())
    }

    /// Checks everything and fills in the defaults.
    ///
    /// # Errors
    /// The first thing that is wrong: which flag or line, what was typed, what would be right.
    pub fn resolve(&self) -> Result<(ForwardPlan, PacketPlan), PlanError> {
        let table = self.table();
        let plan = match self.forward.table.unwrap_or(false) {
            true => ForwardPlan::Table(self.measured(&table)?),
            false => ForwardPlan::Between(self.between(&table)?),
        };
        let text = plan.to_toml();
        Ok((
            plan,
            PacketPlan::new(
                Command::Forward,
                text,
                limits(&table, &self.limits, Command::Forward, Times::OfEachFrame)?,
            ),
        ))
    }

    fn measured(&self, table: &Table<'_>) -> Result<TablePlan, PlanError> {
        let typed = &self.forward;
        let why = "--table measures forwarding alone, between ports in memory";
        for (key, given) in [
            ("input", typed.input.is_some()),
            ("xdp", typed.xdp == Some(true)),
            ("duration", typed.duration.is_some()),
            ("frames", typed.frames.is_some()),
            ("reload_every", typed.reload_every.is_some()),
        ] {
            if given {
                return Err(table.both(key, "table", why));
            }
        }
        let cores = os::cpus::parallelism();
        let threads = counts(table, "threads", &typed.threads, 1, MOST_THREADS)?;
        let sizes = counts(table, "sizes", &typed.sizes, SHORTEST, LONGEST)?;
        Ok(TablePlan {
            rules: typed.rules.as_ref().map(PathBuf::from),
            threads: match threads.is_empty() {
                true => (1..=cores.min(8) as u32).collect(),
                false => threads.into_iter().map(|threads| threads as u32).collect(),
            },
            sizes: match sizes.is_empty() {
                true => SIZES.to_vec(),
                false => sizes.into_iter().map(|size| size as usize).collect(),
            },
            trials: table.number("trials", &typed.trials, 1, 1_000)?.unwrap_or(5),
            trial: table.time("trial", &typed.trial)?.unwrap_or(Picos::from_millis(100)),
        })
    }

    fn between(&self, table: &Table<'_>) -> Result<BetweenPlan, PlanError> {
        let typed = &self.forward;
        for (key, given) in [
            ("sizes", typed.sizes.is_some()),
            ("trials", typed.trials.is_some()),
            ("trial", typed.trial.is_some()),
        ] {
            if given {
                return Err(table.missing(
                    key,
                    "--table",
                    "it applies only to the table of threads and sizes",
                ));
            }
        }
        let threads = counts(table, "threads", &typed.threads, 1, MOST_THREADS)?;
        if threads.len() > 1 {
            return Err(table.missing(
                "threads",
                "--table for several numbers",
                "without the table there is only one number",
            ));
        }
        let why = "write packet:veth0, xdp:veth0, mem:a, pcap:in.pcapng or an interface";
        let plan = BetweenPlan {
            input: table.port("input", typed.input.as_ref(), why)?,
            output: table.port_if_any("output", typed.output.as_ref())?,
            rules: typed.rules.as_ref().map(PathBuf::from),
            reload_every: table.time("reload_every", &typed.reload_every)?,
            xdp: typed.xdp.unwrap_or(false),
            back: self.back(table)?,
            tries: self.tries(table)?,
            longest: table.count("longest", &typed.longest, SHORTEST, LONGEST)?.unwrap_or(1_518) as usize,
            threads: threads.first().map_or(1, |threads| *threads as u32),
            busy: typed.busy.unwrap_or(false),
            duration: table.time("duration", &typed.duration)?,
            frames: table.count("frames", &typed.frames, 1, u64::MAX)?,
        };
        self.check(table, &plan)?;
        Ok(plan)
    }

    /// What must hold between fields.
    fn check(&self, table: &Table<'_>, plan: &BetweenPlan) -> Result<(), PlanError> {
        if plan.output.as_ref() == Some(&plan.input) {
            return Err(table.both(
                "input",
                "output",
                "frames must leave through another port than they arrive at",
            ));
        }
        if plan.reload_every.is_some() && plan.rules.is_none() {
            return Err(table.missing("reload_every", "--rules FILE", "there is no file to read again"));
        }
        if plan.back == BackWay::Rules && plan.rules.is_none() {
            return Err(table.missing("back", "--rules FILE", "there are no rules to filter by"));
        }
        if self.forward.back.is_some() && plan.output.is_none() {
            return Err(table.missing("back", "OUT", "without OUT no frames come back"));
        }
        if !plan.xdp {
            return Ok(());
        }
        if plan.output.is_none() {
            return Err(table.missing("xdp", "OUT", "the XDP program forwards frames to another interface"));
        }
        for (key, given) in [
            ("threads", plan.threads > 1),
            ("busy", plan.busy),
            ("full", plan.tries.is_some()),
            ("longest", self.forward.longest.is_some()),
        ] {
            if given {
                return Err(table.both(key, "xdp", "the kernel forwards the frames, on its own threads"));
            }
        }
        let interface = |key: &str, text: &str| match text.contains([':', '/']) {
            true => Err(table.wrong(
                key,
                text,
                "is not an interface",
                "with --xdp the plain name of an interface, such as eth0",
            )),
            false => Ok(()),
        };
        interface("input", &plan.input)?;
        plan.output.as_deref().map_or(Ok(()), |output| interface("output", output))
    }

    fn back(&self, table: &Table<'_>) -> Result<BackWay, PlanError> {
        let Some(typed) = &self.forward.back else { return Ok(BackWay::default()) };
        let known = BackWay::ALL.into_iter().find(|back| back.name() == typed.as_str());
        known.ok_or_else(|| {
            table.wrong("back", typed.as_str(), "is not one of the three", "pass, rules or none")
        })
    }

    fn tries(&self, table: &Table<'_>) -> Result<Option<u32>, PlanError> {
        match &self.forward.full {
            None => Ok(None),
            Some(typed) if typed.as_str() == "wait" => Ok(None),
            full @ Some(typed) => match table.number("full", full, 1, 1_000_000) {
                Ok(tries) => Ok(tries),
                Err(_) => {
                    let expected =
                        "wait, or the number of tries after which a frame is dropped (1 to 1000000)";
                    Err(table.wrong("full", typed.as_str(), "is neither of the two", expected))
                }
            },
        }
    }
}

/// Numbers, one or several: `[1, 2]`, `"1,2"`.
fn counts(
    table: &Table<'_>,
    key: &str,
    typed: &Option<TypedList>,
    least: u64,
    most: u64,
) -> Result<Vec<u64>, PlanError> {
    let texts = typed.iter().flat_map(|list| &list.0).flat_map(|typed| typed.as_str().split(','));
    texts
        .map(|text| {
            let count = table.count(key, &Some(Typed::from(text.trim())), least, most)?;
            count.ok_or_else(|| table.wrong(key, text, "is not a number", "a whole number"))
        })
        .collect()
}

impl ForwardPlan {
    /// The canonical text.
    pub fn to_toml(&self) -> String {
        let mut lines = Lines::new("forward");
        match self {
            Self::Between(plan) => plan.add_to(&mut lines),
            Self::Table(plan) => plan.add_to(&mut lines),
        }
        lines.finish()
    }
}

impl BetweenPlan {
    fn add_to(&self, lines: &mut Lines) {
        lines.text("input", Some(&self.input));
        lines.text("output", self.output.as_ref());
        lines.text("rules", self.rules.as_ref().map(|rules| rules.display()));
        lines.text("reload_every", self.reload_every);
        lines.add("xdp", self.xdp);
        lines.text("back", self.output.is_some().then_some(self.back.name()));
        if !self.xdp {
            match self.tries {
                None => lines.text("full", Some("wait")),
                Some(tries) => lines.add("full", tries),
            }
            lines.add("longest", self.longest);
            lines.add("threads", self.threads);
            lines.add("busy", self.busy);
        }
        lines.text("duration", self.duration);
        lines.number("frames", self.frames);
    }
}

impl TablePlan {
    fn add_to(&self, lines: &mut Lines) {
        lines.text("rules", self.rules.as_ref().map(|rules| rules.display()));
        lines.add("threads", format_args!("{:?}", self.threads));
        lines.add("table", true);
        lines.add("sizes", format_args!("{:?}", self.sizes));
        lines.add("trials", self.trials);
        lines.text("trial", Some(self.trial));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(edit: impl FnOnce(&mut ForwardFile)) -> ForwardPlanFile {
        let mut file = ForwardPlanFile::default();
        file.forward.input = Some("packet:veth0".to_owned());
        file.forward.output = Some("packet:veth1".to_owned());
        edit(&mut file.forward);
        file
    }

    fn refused(edit: impl FnOnce(&mut ForwardFile)) -> String {
        file(edit).resolve().unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_named_with_what_would_be_right() {
        let has = |said: String, parts: &[&str]| {
            assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        };
        has(refused(|f| f.input = None), &["IN needs a port", "packet:veth0"]);
        has(refused(|f| f.output = f.input.clone()), &["IN contradicts OUT"]);
        has(refused(|f| f.back = Some("yes".into())), &["--back: 'yes'", "pass, rules or none"]);
        has(refused(|f| f.back = Some("rules".into())), &["--back needs --rules FILE"]);
        has(refused(|f| f.full = Some("0".into())), &["--full: '0'", "wait, or the number of tries"]);
        has(refused(|f| f.reload_every = Some("1s".into())), &["--reload-every needs --rules FILE"]);
        has(refused(|f| f.sizes = Some(TypedList(vec!["64".into()]))), &["--sizes needs --table"]);
        has(refused(|f| f.threads = Some(TypedList(vec!["1,2".into()]))), &["--threads needs --table"]);
        has(refused(|f| f.threads = Some(TypedList(vec!["0".into()]))), &["--threads: '0'", "1 to 256"]);
        has(refused(|f| f.table = Some(true)), &["IN contradicts --table"]);
        has(refused(|f| f.xdp = Some(true)), &["IN: 'packet:veth0' is not an interface", "eth0"]);
        let xdp = |f: &mut ForwardFile| {
            (f.input, f.output, f.xdp) = (Some("a".into()), Some("b".into()), Some(true));
        };
        has(
            refused(|f| {
                xdp(f);
                f.busy = Some(true);
            }),
            &["--busy contradicts --xdp"],
        );
        has(
            refused(|f| {
                xdp(f);
                f.output = None;
            }),
            &["--xdp needs OUT"],
        );
    }

    #[test]
    fn the_canonical_text_reads_back_as_the_same_plan() {
        let edits: [fn(&mut ForwardFile); 5] = [
            |_| {},
            |f| (f.output, f.frames) = (None, Some("10".into())),
            |f| {
                f.rules = Some("rules \"x\".txt".into());
                (f.back, f.full, f.threads) =
                    (Some("rules".into()), Some("9".into()), Some(TypedList(vec!["4".into()])));
                (f.duration, f.reload_every, f.busy) = (Some("10".into()), Some("1s".into()), Some(true));
            },
            |f| (f.input, f.output, f.xdp) = (Some("a".into()), Some("b".into()), Some(true)),
            |f| {
                (f.input, f.output, f.table) = (None, None, Some(true));
                f.sizes = Some(TypedList(vec!["64,512".into(), "1024".into()]));
            },
        ];
        for edit in edits {
            let (plan, packet) = file(edit).resolve().unwrap();
            let text = packet.to_toml();
            let again = ForwardPlanFile::from_toml(&text, "plan.toml").unwrap().resolve().unwrap();
            assert_eq!((again.0, again.1.hash()), (plan, packet.hash()), "{text}");
        }
        let said = ForwardPlanFile::from_toml("[forward]\ninput = \"a\"\nback = \"no\"\n", "p.toml");
        let said = said.unwrap().resolve().unwrap_err().to_string();
        assert!(said.starts_with("p.toml, line 3: forward.back: 'no'"), "{said}");
    }
}
