//! `tare runs`: the runs that were kept.

use anyhow::anyhow;
use catalogue::{Catalogue, Entry, State, Tag, short_names};
use clap::{Args, Subcommand, ValueEnum};
use report::{ListedRun, counted};
use run::terminal::{print_all, style};
use run::{Failure, Status, complain};
use serde::Serialize;
use std::io::IsTerminal;
use units::Bytes;

/// How many are listed unless --limit says otherwise.
const LIMIT: usize = 20;

const EXAMPLES: &str = "\
RUN is a run's name, a unique beginning or end of its name (7f3a), last, last~1 (the one before), a
tag, or a path (./out).

Examples:
  tare runs --tag nightly --verdict valid
  tare runs show last
  tare runs tag last +before -draft
  tare runs prune --keep 20 --dry-run";

/// List, show, tag and remove stored runs
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct RunsArgs {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Subcommand, Debug)]
enum Action {
    Show(ShowArgs),
    Tag(TagArgs),
    Rm(RmArgs),
    Prune(PruneArgs),
}

#[derive(Args, Debug)]
struct ListArgs {
    /// List only runs with this tag (repeatable: runs with all of these tags)
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// List only runs with this verdict or state (repeatable, or separated by commas)
    #[arg(long, value_name = "WORD", value_delimiter = ',', ignore_case = true)]
    verdict: Vec<Wanted>,
    /// List only runs with this text in their name, target, load or command
    #[arg(long = "match", value_name = "TEXT")]
    text: Option<String>,
    /// List at most the N newest runs; 0 lists all [default: 20, with --json all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Wanted {
    Valid,
    Degraded,
    Invalid,
    Running,
    Killed,
    Unreadable,
}

/// Print the summary of a run
#[derive(Args, Debug)]
struct ShowArgs {
    /// Name of the run, or a unique beginning or end of it; last, last~1, a tag, or a path
    #[arg(value_name = "RUN")]
    run: String,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Add tags to a run, or remove them
#[derive(Args, Debug)]
struct TagArgs {
    /// Name of the run, or a unique beginning or end of it; last, last~1, a tag, or a path
    #[arg(value_name = "RUN")]
    run: String,
    /// +WORD or WORD adds a tag, -WORD removes it; without any, print the run's tags
    #[arg(value_name = "±WORD", allow_hyphen_values = true, trailing_var_arg = true)]
    words: Vec<String>,
}

/// Delete runs
#[derive(Args, Debug)]
struct RmArgs {
    /// Name of the run, or a unique beginning or end of it; last, last~1, a tag, or a path
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
}

/// Delete all but the newest runs; tagged runs are kept
///
/// Deletes only runs that have ended and are in Tare's folder of runs, never those that --out put elsewhere.
#[derive(Args, Debug)]
struct PruneArgs {
    /// Number of runs to keep
    #[arg(long, value_name = "N")]
    keep: usize,
    /// Consider only runs with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<Tag>,
    /// Treat tagged runs like the others
    #[arg(long, conflicts_with = "tag")]
    tagged: bool,
    /// Print what would be deleted, and delete nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &RunsArgs) -> Result<Status, Failure> {
    match &args.action {
        None => list(&args.list),
        Some(Action::Show(args)) => show(args),
        Some(Action::Tag(args)) => tag(args),
        Some(Action::Rm(args)) => rm(args),
        Some(Action::Prune(args)) => prune(args),
    }
}

fn list(args: &ListArgs) -> Result<Status, Failure> {
    let catalogue = Catalogue::open().map_err(Failure::wrong)?;
    let wanted: Vec<&Entry> = catalogue.entries().iter().filter(|entry| args.wants(entry)).collect();
    let limit = match args.limit {
        Some(0) => usize::MAX,
        Some(limit) => limit,
        None if args.json => usize::MAX,
        None => LIMIT,
    };
    let shown = &wanted[..wanted.len().min(limit)];
    if args.json {
        print_all(&as_json(shown))?;
    } else if catalogue.entries().is_empty() {
        print_all(&format!(
            "There are no runs yet; tare http URL makes one. Runs are stored in {}\n",
            catalogue.runs_folder().display()
        ))?;
    } else if shown.is_empty() {
        print_all(&format!("None of {} matches.\n", counted(catalogue.entries().len() as u64, "run")))?;
    } else {
        let names = short_names(catalogue.entries());
        let rows: Vec<ListedRun> = shown.iter().map(|entry| listed(entry, names.of(entry))).collect();
        let mut text = report::runs_table(&rows, style(std::io::stdout().is_terminal()));
        if wanted.len() > shown.len() {
            let more = counted((wanted.len() - shown.len()) as u64, "older run");
            text.push_str(&format!("\n  and {more}: --limit 0 lists all\n"));
        }
        print_all(&text)?;
    }
    Ok(Status::Done)
}

impl ListArgs {
    fn wants(&self, entry: &Entry) -> bool {
        self.tag.iter().all(|tag| entry.has_tag(tag))
            && (self.verdict.is_empty() || self.verdict.iter().any(|wanted| wanted.is(entry)))
            && self.text.as_ref().is_none_or(|text| entry.mentions(text))
    }
}

impl Wanted {
    fn is(self, entry: &Entry) -> bool {
        let name = self.to_possible_value().expect("no word is hidden");
        name.get_name().eq_ignore_ascii_case(entry.word())
    }
}

#[derive(Serialize)]
struct Listing<'a> {
    schema: &'static str,
    runs: &'a [&'a Entry],
}

fn as_json(entries: &[&Entry]) -> String {
    let listing = Listing { schema: "tare.runs/1", runs: entries };
    serde_json::to_string_pretty(&listing).expect("an entry has only keys that are strings") + "\n"
}

fn listed(entry: &Entry, name: &str) -> ListedRun {
    ListedRun {
        name: name.to_owned(),
        started_at: entry.started_at.clone(),
        target: entry.target.clone(),
        achieved_per_s: entry.achieved_per_s,
        p99_ns: entry.net_p99_ns.or(entry.latency_p99_ns),
        p99_is_bound: entry.p99_is_bound,
        word: entry.word().to_owned(),
        tags: entry.tags.clone(),
        is_partial: entry.partial && entry.state == State::Finished,
        thresholds_failed: entry.thresholds_failed as u64,
    }
}

fn show(args: &ShowArgs) -> Result<Status, Failure> {
    let catalogue = Catalogue::open().map_err(Failure::wrong)?;
    let folder = catalogue.folder_of(&args.run).map_err(Failure::wrong)?;
    let run = store::load_run(&folder).map_err(Failure::wrong)?;
    if args.json {
        print_all(&report::json(&run.result))?;
        return Ok(Status::Done);
    }
    let mut text = format!("\n  {:<13}{}\n", "Run", report::printable(&run.result.run));
    text.push_str(&format!("  {:<13}{}\n", "Folder", report::printable(&folder.display().to_string())));
    text.push_str(&format!("  {:<13}{}\n", "Started", run.result.started_at));
    let tags = catalogue::tags(&folder).map_err(Failure::wrong)?;
    if !tags.is_empty() {
        text.push_str(&format!("  {:<13}{}\n", "Tags", tags.join(" ")));
    }
    if !run.result.command.is_empty() {
        text.push_str(&format!("  {:<13}{}\n", "Command", report::printable(&run.result.command)));
    }
    text.push_str(&report::summary(&run.result, style(std::io::stdout().is_terminal())));
    print_all(&text)?;
    Ok(Status::Done)
}

fn tag(args: &TagArgs) -> Result<Status, Failure> {
    let catalogue = Catalogue::open().map_err(Failure::wrong)?;
    let folder = catalogue.folder_of(&args.run).map_err(Failure::wrong)?;
    let (mut add, mut remove) = (Vec::new(), Vec::new());
    for word in &args.words {
        let (list, word) = match word.strip_prefix('-') {
            Some(word) => (&mut remove, word),
            None => (&mut add, word.strip_prefix('+').unwrap_or(word)),
        };
        list.push(word.parse::<Tag>().map_err(Failure::wrong)?);
    }
    let tags = catalogue.tag(&folder, &add, &remove).map_err(Failure::wrong)?;
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let tags = if tags.is_empty() { "no tags".to_owned() } else { tags.join(" ") };
    print_all(&format!("{name}: {tags}\n"))?;
    Ok(Status::Done)
}

fn rm(args: &RmArgs) -> Result<Status, Failure> {
    let catalogue = Catalogue::open().map_err(Failure::wrong)?;
    // All names are looked up first: a slip in one of them removes nothing.
    let folders = args.runs.iter().map(|run| catalogue.folder_of(run)).collect::<Result<Vec<_>, _>>();
    let mut folders = folders.map_err(Failure::wrong)?;
    folders.sort();
    folders.dedup();
    remove(&catalogue, &folders)
}

fn prune(args: &PruneArgs) -> Result<Status, Failure> {
    let catalogue = Catalogue::open().map_err(Failure::wrong)?;
    let prunable = catalogue.prunable(args.keep, args.tag.as_ref(), args.tagged);
    if prunable.is_empty() {
        print_all("There is nothing to delete.\n")?;
        return Ok(Status::Done);
    }
    if args.dry_run {
        let names = prunable.iter().map(|entry| format!("would delete {}\n", report::printable(&entry.name)));
        print_all(&names.collect::<String>())?;
        return Ok(Status::Done);
    }
    let folders: Vec<_> = prunable.iter().map(|entry| entry.folder.clone()).collect();
    remove(&catalogue, &folders)
}

/// Removes each, says so, and goes on where one cannot be removed.
fn remove(catalogue: &Catalogue, folders: &[std::path::PathBuf]) -> Result<Status, Failure> {
    let mut failed = 0;
    for folder in folders {
        match catalogue.remove(folder) {
            Ok(removed) => {
                let bytes = Bytes::new(removed.bytes);
                print_all(&format!("deleted {} ({bytes:#})\n", folder.display()))?;
                if removed.left > 0 {
                    let files = counted(removed.left as u64, "file");
                    complain(&format!(
                        "tare: {} stays, because {files} in it are not Tare's",
                        folder.display()
                    ));
                }
            }
            Err(error) => {
                complain(&format!("tare: {error}"));
                failed += 1;
            }
        }
    }
    match failed {
        0 => Ok(Status::Done),
        _ => Err(Failure::wrong(anyhow!("could not delete {}", counted(failed, "run")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, target: &str, tags: &[&str]) -> Entry {
        Entry {
            name: name.to_owned(),
            target: target.to_owned(),
            started_at: "2026-11-20T12:00:00Z".to_owned(),
            achieved_per_s: Some(2_000.0),
            net_p99_ns: Some(1_234_567),
            latency_p99_ns: Some(2_000_000),
            verdict: Some(store::schema::Word::Valid),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..Entry::default()
        }
    }

    #[test]
    fn a_listed_run_has_its_net_where_there_is_one() {
        let of = |entry: &Entry| listed(entry, "7f3a").p99_ns;
        assert_eq!(of(&entry("7f3a", "t", &[])), Some(1_234_567));
        assert_eq!(of(&Entry { net_p99_ns: None, ..entry("7f3a", "t", &[]) }), Some(2_000_000));
    }

    #[test]
    fn filters_by_word() {
        let valid = entry("a", "t", &["x"]);
        let killed =
            Entry { state: State::Killed, verdict: Some(store::schema::Word::Invalid), ..valid.clone() };
        assert!(Wanted::Valid.is(&valid) && !Wanted::Killed.is(&valid));
        assert!(Wanted::Killed.is(&killed) && !Wanted::Invalid.is(&killed));
    }
}
