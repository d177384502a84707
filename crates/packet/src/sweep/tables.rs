//! What a sweep found, as tables: a row for each frame size, for each load of the latencies, for the bursts,
//! and for each trial.

use super::arrivals::no_times;
use super::bench::{Made, MadeWay};
use super::goal::Goal;
use super::recovery::Recovery;
use super::search::{End, GoalFindings};
use super::trial::{Judged, Side};
use hdrhistogram::Histogram;
use measure::packets::{Cell, Column, Spread, Table};
use plan::packets::sweep::SweepPlan;
use stats::students::Mean;
use units::Picos;

/// Rows of single trials that are kept.
const MOST_TRIALS: usize = 2_000;
/// Bytes that a frame takes on the wire beside its size: preamble, start delimiter, gap.
pub const AROUND: f64 = wire::PREAMBLE_AND_GAP as f64;

/// Everything that was found for one frame size.
#[derive(Clone, Debug, Default)]
pub struct SizeFound {
    pub size: u32,
    /// For each goal what each repetition found.
    pub goals: Vec<Vec<GoalFindings>>,
    pub latency: Vec<Latency>,
    pub losses: Vec<Loss>,
    pub bursts: Option<Bursts>,
    pub recovery: Option<Recovery>,
}

/// What the directions are called.
const DIRECTIONS: [&str; 2] = ["forward", "reverse"];

fn direction(way: usize) -> Cell {
    Cell::Words(DIRECTIONS[way.min(1)].to_owned())
}

/// Without its second column where all is of one direction.
fn directed(mut table: Table) -> Table {
    let is_reverse = |row: &Vec<Cell>| row[1] == direction(1);
    if !table.rows.iter().any(is_reverse) {
        table.columns.remove(1);
        table.rows.iter_mut().for_each(|row| drop(row.remove(1)));
    }
    table
}

/// One-way times at a share of the load without loss.
#[derive(Clone, Debug)]
pub struct Latency {
    pub way: usize,
    pub share: f64,
    pub frames_per_second: f64,
    /// Of all trials together.
    pub one_way_ns: Spread,
    pub times: Histogram<u64>,
    pub trials: u32,
    /// Of the frame in the middle of each trial, in nanoseconds.
    pub tagged: Vec<f64>,
    /// Frames that did not arrive and that this machine did not lose, and those that it did, at most.
    pub lost: u64,
    pub lost_here: u64,
    /// The worst of the trials' judgements.
    pub judged: Judged,
}

impl Latency {
    pub fn new(way: usize, share: f64, frames_per_second: f64) -> Self {
        Self {
            way,
            share,
            frames_per_second,
            one_way_ns: Spread::default(),
            times: no_times(),
            trials: 0,
            tagged: Vec::new(),
            lost: 0,
            lost_here: 0,
            judged: Judged::Counts,
        }
    }

    /// One more trial.
    pub fn add(&mut self, made: &MadeWay, times: &Histogram<u64>, judged: Judged) {
        let (lost, ours) = made.trial.losses();
        (self.lost, self.lost_here) = (self.lost + lost, self.lost_here + ours);
        self.trials += 1;
        self.tagged.extend(made.tagged_ns.map(|ns| ns as f64));
        self.times.add(times).expect("both have the same bounds");
        if matches!((self.judged, judged), (Judged::Counts, _) | (_, Judged::Not(_))) {
            self.judged = judged;
        }
    }
}

/// Loss at a share of the highest load.
#[derive(Clone, Debug)]
pub struct Loss {
    pub way: usize,
    pub share: f64,
    pub frames_per_second: f64,
    pub sent: u64,
    /// Of those that left; `None` where the trial says nothing of the target.
    pub ratio: Option<f64>,
    pub lost: u64,
    pub lost_here: u64,
    pub judged: Judged,
}

/// Longest bursts without loss.
#[derive(Clone, Debug, Default)]
pub struct Bursts {
    /// Of each search.
    pub longest: Vec<f64>,
    /// No burst lost anything: they could have been longer.
    pub is_unlimited: bool,
    /// Which end of this machine fell short, with a burst of so many frames: nothing as long could be judged.
    pub limit: Option<(Side, u64)>,
    /// Frames per second in a burst.
    pub frames_per_second: f64,
}

pub fn column(name: &str, unit: &str) -> Column {
    Column { name: name.to_owned(), unit: unit.to_owned() }
}

/// Frame sizes × goals.
pub fn sizes(found: &[SizeFound], goals: &[Goal], line_bps: Option<u64>, plan: &SweepPlan) -> Table {
    let mut columns = vec![column("frame size", "bytes")];
    for goal in goals {
        let name = &goal.name;
        columns.push(column(name, "frames/s"));
        columns.push(column(&format!("{name} up to"), "frames/s"));
        columns.push(column(&format!("{name} on the wire"), "bits/s"));
        columns.push(column(&format!("{name} of the line"), "share"));
        columns.push(column(&format!("{name} throughput"), "frames/s"));
        columns.push(column(&format!("{name} ended"), ""));
    }
    columns.push(column("line rate", "frames/s"));
    let rows = found.iter().map(|found| row(found, line_bps)).collect();
    let goal = |goal: &Goal| {
        format!(
            "{goal}: trials of {}, {} at a load decide, {} of that time may exceed the loss, bounds at most {} apart",
            goal.trial, goal.sum, goal.exceed, goal.width
        )
    };
    let mut notes: Vec<String> = goals.iter().map(goal).collect();
    if plan.bidirectional {
        notes.push("loads are those of each direction; a trial's loss is that of both together".to_owned());
    }
    notes.push(match plan.repetitions {
        1 => {
            "the true load lies between the one reached and the next one not reached ('up to')".to_owned()
        }
        n => format!(
            "means of {n} searches with their 0.95 intervals (Student's t), where possible: not for fewer than \
             three, equal or drifting searches"
        ),
    });
    Table { key: "sweep".to_owned(), title: "Frame sizes".to_owned(), columns, rows, notes }
}

fn row(found: &SizeFound, line_bps: Option<u64>) -> Vec<Cell> {
    let mut row = vec![Cell::Figure(f64::from(found.size))];
    let wire_bits = (f64::from(found.size) + AROUND) * 8.0;
    for searches in &found.goals {
        let of = |pick: fn(&GoalFindings) -> Option<f64>| -> Vec<f64> {
            searches.iter().filter_map(pick).collect()
        };
        let lower = of(|found| found.lower.map(|load| load.as_per_second()));
        let upper = of(|found| found.upper.map(|load| load.as_per_second()));
        row.push(cell(&lower, 1.0));
        row.push(cell(&upper, 1.0));
        row.push(cell(&lower, wire_bits));
        row.push(line_bps.map_or(Cell::Nothing, |line| cell(&lower, wire_bits / line as f64)));
        row.push(cell(&of(|found| found.throughput), 1.0));
        row.push(Cell::Words(searches.iter().map(|found| end(found.end)).fold(String::new(), joined)));
    }
    row.push(line_bps.map_or(Cell::Nothing, |line| Cell::Figure(line as f64 / wire_bits)));
    row
}

/// Different words once each.
fn joined(all: String, next: String) -> String {
    match () {
        () if all.is_empty() => next,
        () if all.split("; ").any(|known| known == next) => all,
        () => format!("{all}; {next}"),
    }
}

pub fn cell(values: &[f64], factor: f64) -> Cell {
    let Some(mean) = Mean::of(values) else { return Cell::Nothing };
    match mean.claim.map(|interval| interval.scaled(factor)) {
        Ok(interval) => {
            Cell::Between { value: interval.estimate(), low: interval.low(), high: interval.high() }
        }
        Err(_) => Cell::Figure(mean.mean * factor),
    }
}

/// How a search ended, in words.
pub fn end(end: End) -> String {
    match end {
        End::Found => "found".to_owned(),
        End::AboveMax => "at least: the highest requested load is reached".to_owned(),
        End::Generator(reached) => format!("at least: the generator sends no more than {reached:.0}/s"),
        End::Receiver(reached) => {
            format!("at least: this machine's receiver keeps up with no more than {reached:.0}/s")
        }
        End::BelowMin => "not even the lowest load is reached".to_owned(),
        End::RanOut => "not decided: the trials ran out".to_owned(),
        End::HeldUp => "not decided: the generator was held up in too many trials".to_owned(),
    }
}

/// One-way times under load.
pub fn latencies(found: &[SizeFound]) -> Option<Table> {
    let rows: Vec<Vec<Cell>> = found
        .iter()
        .flat_map(|found| found.latency.iter().map(move |at| (found.size, at)))
        .map(|(size, at)| {
            let Spread { p50, p95, p99, max, mean, .. } = at.one_way_ns;
            let figures = [at.share, at.frames_per_second, mean, p50, p95, p99, max, at.lost as f64];
            let mut row = vec![Cell::Figure(f64::from(size)), direction(at.way)];
            row.extend(figures.map(Cell::Figure));
            row.extend([
                Cell::Figure(at.lost_here as f64),
                Cell::Figure(f64::from(at.trials)),
                cell(&at.tagged, 1.0),
                Cell::Words(at.judged.words()),
            ]);
            row
        })
        .collect();
    let columns = [
        ("frame size", "bytes"),
        ("direction", ""),
        ("of NDR", "share"),
        ("load", "frames/s"),
        ("mean", "ns"),
        ("p50", "ns"),
        ("p95", "ns"),
        ("p99", "ns"),
        ("max", "ns"),
        ("lost", "count"),
        ("lost here", "count"),
        ("trials", "count"),
        ("tagged frame", "ns"),
        ("counts", ""),
    ];
    (!rows.is_empty()).then(|| directed(Table {
        key: "latency".to_owned(),
        title: "One-way latency under load".to_owned(),
        columns: columns.iter().map(|(name, unit)| column(name, unit)).collect(),
        rows,
        notes: vec![
            "from a frame's hand-over to its timestamp, both by one clock".to_owned(),
            "'lost' is lost on the way; 'lost here' are those that this machine's receiver lost itself, by its counters".to_owned(),
            "'tagged frame' is the one in the middle of a trial, the mean of all trials (RFC 2544 26.2)".to_owned(),
        ],
    }))
}

/// Frame loss rate.
pub fn losses(found: &[SizeFound], line_bps: Option<u64>) -> Option<Table> {
    let row = |(size, at): (u32, &Loss)| {
        let of_line = |line: u64| at.frames_per_second * (f64::from(size) + AROUND) * 8.0 / line as f64;
        vec![
            Cell::Figure(f64::from(size)),
            direction(at.way),
            Cell::Figure(at.share),
            Cell::Figure(at.frames_per_second),
            Cell::Figure(at.sent as f64),
            at.ratio.map_or(Cell::Nothing, Cell::Figure),
            Cell::Figure(at.lost as f64),
            Cell::Figure(at.lost_here as f64),
            Cell::Words(at.judged.words()),
            line_bps.map_or(Cell::Nothing, |line| Cell::Figure(of_line(line))),
        ]
    };
    let rows: Vec<Vec<Cell>> =
        found.iter().flat_map(|found| found.losses.iter().map(|at| row((found.size, at)))).collect();
    let columns = [
        ("frame size", "bytes"),
        ("direction", ""),
        ("of the highest load", "share"),
        ("load", "frames/s"),
        ("sent", "count"),
        ("loss", "share"),
        ("lost", "count"),
        ("lost here", "count"),
        ("counts", ""),
        ("of the line", "share"),
    ];
    (!rows.is_empty()).then(|| directed(Table {
        key: "loss".to_owned(),
        title: "Frame loss rate".to_owned(),
        columns: columns.iter().map(|(name, unit)| column(name, unit)).collect(),
        rows,
        notes: vec![
            "from the highest load downwards in steps of 10 %, until two trials in a row lose nothing (RFC 2544 26.3)"
                .to_owned(),
        ],
    }))
}

/// Back-to-back frames.
pub fn bursts(found: &[SizeFound]) -> Option<Table> {
    let row = |found: &SizeFound| {
        let bursts = found.bursts.as_ref()?;
        let mean = Mean::of(&bursts.longest)?;
        let words = match bursts.limit {
            Some((side, frames)) => {
                format!("at least: {} fell short with {frames} frames, and itself lost frames", side.words())
            }
            None if bursts.is_unlimited => "no burst lost a frame: the longest that was sent".to_owned(),
            None => "found".to_owned(),
        };
        Some(vec![
            Cell::Figure(f64::from(found.size)),
            Cell::Figure(mean.count as f64),
            cell(&bursts.longest, 1.0),
            Cell::Figure(mean.least),
            Cell::Figure(mean.most),
            mean.deviation.map_or(Cell::Nothing, Cell::Figure),
            Cell::Figure(bursts.frames_per_second),
            Cell::Words(words),
        ])
    };
    let rows: Vec<Vec<Cell>> = found.iter().filter_map(row).collect();
    let columns = [
        ("frame size", "bytes"),
        ("searches", "count"),
        ("longest burst", "count"),
        ("least", "count"),
        ("most", "count"),
        ("deviation", "count"),
        ("rate in a burst", "frames/s"),
        ("ended", ""),
    ];
    (!rows.is_empty()).then(|| Table {
        key: "bursts".to_owned(),
        title: "Back-to-back frames".to_owned(),
        columns: columns.iter().map(|(name, unit)| column(name, unit)).collect(),
        rows,
        notes: vec!["the longest burst without loss, with frames as close as the port sends them".to_owned()],
    })
}

/// One trial for the table of all.
#[derive(Clone, Debug)]
pub struct TrialRow {
    pub size: u32,
    pub purpose: String,
    pub length: Picos,
    pub made: Made,
    pub judged: Judged,
}

/// All trials, as far as they are kept.
pub fn trials(rows: &[TrialRow]) -> Table {
    let columns = [
        ("frame size", "bytes"),
        ("direction", ""),
        ("for", ""),
        ("load", "frames/s"),
        ("length", "ns"),
        ("sent", "count"),
        ("received", "count"),
        ("loss", "share"),
        ("duplicated", "count"),
        ("damaged", "count"),
        ("counts", ""),
    ];
    let row = |(row, (way, made)): (&TrialRow, (usize, &MadeWay))| {
        let trial = &made.trial;
        vec![
            Cell::Figure(f64::from(row.size)),
            direction(way),
            Cell::Words(row.purpose.clone()),
            Cell::Figure(trial.load.as_per_second()),
            Cell::Figure(row.length.as_nanos() as f64),
            Cell::Figure(trial.sent as f64),
            Cell::Figure(trial.received as f64),
            Cell::Figure(trial.loss()),
            Cell::Figure(made.duplicated as f64),
            Cell::Figure(made.damaged as f64),
            Cell::Words(row.judged.words()),
        ]
    };
    let more = rows.len().saturating_sub(MOST_TRIALS);
    let all = rows
        .iter()
        .take(MOST_TRIALS)
        .flat_map(|row| row.made.ways.iter().enumerate().map(move |made| (row, made)));
    directed(Table {
        key: "trials".to_owned(),
        title: "Trials".to_owned(),
        columns: columns.iter().map(|(name, unit)| column(name, unit)).collect(),
        rows: all.map(row).collect(),
        notes: (more > 0).then(|| format!("{more} more trials are not shown")).into_iter().collect(),
    })
}
