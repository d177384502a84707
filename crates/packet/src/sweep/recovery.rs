//! System recovery (RFC 2544 §26.5): after an overload, how long frames are still lost.
//!
//! ```text
//!  load  110 % ┌───────────────┐                  B − A: the recovery time
//!              │   overload    │
//!         55 % │               └───────────────┐  lost  x xx x xxxx x x
//!              └───────────────A───────────────┴► t             B = when the last of them was due
//! ```
//!
//! Which frame is lost is known by its number, and when that was due by the schedule: to one gap, and to what
//! the sender was late.

use super::load::Load;
use super::tables::{SizeFound, cell, column};
use super::trial::Judged;
use measure::packets::{Cell, Table};
use stats::students::Mean;
use units::Picos;

/// The overload, of the throughput.
const OVER: f64 = 1.1;
/// What follows, of the overload.
const UNDER: f64 = 0.5;
/// Who still loses frames in the last tenth of the time has not recovered within it, nor who lost the last one
/// less than so many times ago as it loses one on average: the next may just not have come.
const STILL: u64 = 10;
const QUIET: u64 = 3;

/// Two loads, each for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryOrder {
    pub over: Load,
    pub under: Load,
    pub length: Picos,
}

impl RecoveryOrder {
    /// By the throughput, and the most that may be sent.
    pub fn of(throughput: Load, most: Load, length: Picos) -> Self {
        let over = throughput.times(OVER).min(most.max(throughput));
        Self { over, under: over.times(UNDER), length }
    }
}

/// What one test found, in all directions together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Frames lost at either load.
    pub over: u64,
    pub under: u64,
    /// From A to the last lost frame; zero if none was lost after A.
    pub time: Picos,
    /// Frames were lost up to the end.
    pub still: bool,
    /// Gap of the lower load, and how late the latest frame left.
    pub resolution: Picos,
    pub late: Picos,
}

impl Recovered {
    /// One direction: how many were lost at either load of this `length`, and when the last after A was due.
    pub fn add(&mut self, over: u64, under: u64, last: Option<Picos>, length: Picos) {
        let last = last.unwrap_or(Picos::ZERO);
        (self.over, self.under) = (self.over + over, self.under + under);
        self.time = self.time.max(last);
        let quiet = length.saturating_sub(last);
        let is_late = quiet.saturating_mul(STILL) < length;
        self.still |= under > 0 && (is_late || quiet.saturating_mul(under) < last.saturating_mul(QUIET));
    }

    const fn words(&self) -> &'static str {
        match self {
            Self { still: true, .. } => "at least: frames were lost up to the end (longer --overload-time)",
            Self { over: 0, under: 0, .. } => "no frame was lost in the overload",
            _ => "found",
        }
    }
}

/// All tests at one frame size.
#[derive(Clone, Debug)]
pub struct Recovery {
    pub throughput: Load,
    pub order: RecoveryOrder,
    pub tests: Vec<(Recovered, Judged)>,
}

impl Recovery {
    fn row(&self, size: u32) -> Vec<Cell> {
        let counts: Vec<&Recovered> =
            self.tests.iter().filter(|(_, judged)| judged.is_of_use()).map(|(test, _)| test).collect();
        let times: Vec<f64> = counts.iter().map(|test| test.time.as_nanos() as f64).collect();
        let mean = Mean::of(&times);
        let of =
            |pick: fn(&Mean) -> Option<f64>| mean.as_ref().and_then(pick).map_or(Cell::Nothing, Cell::Figure);
        let resolution = counts.iter().map(|test| test.resolution + test.late).max().unwrap_or(Picos::ZERO);
        let mut words: Vec<String> = Vec::new();
        for (test, judged) in &self.tests {
            let said = match judged {
                Judged::Counts => test.words().to_owned(),
                Judged::AllTheSame => format!("{}, though frames left in bursts", test.words()),
                Judged::Not(_) => judged.words(),
            };
            if !words.contains(&said) {
                words.push(said);
            }
        }
        let figure = |load: Load| Cell::Figure(load.as_per_second());
        vec![
            Cell::Figure(f64::from(size)),
            figure(self.throughput),
            figure(self.order.over),
            figure(self.order.under),
            Cell::Figure(counts.len() as f64),
            cell(&times, 1.0),
            of(|mean| Some(mean.least)),
            of(|mean| Some(mean.most)),
            of(|mean| mean.deviation),
            Cell::Figure(resolution.as_nanos() as f64),
            Cell::Figure(counts.iter().map(|test| test.over).sum::<u64>() as f64),
            Cell::Figure(counts.iter().map(|test| test.under).sum::<u64>() as f64),
            Cell::Words(words.join("; ")),
        ]
    }
}

/// A row for each frame size.
pub fn recoveries(found: &[SizeFound]) -> Option<Table> {
    let rows: Vec<Vec<Cell>> =
        found.iter().filter_map(|found| Some(found.recovery.as_ref()?.row(found.size))).collect();
    let columns = [
        ("frame size", "bytes"),
        ("throughput", "frames/s"),
        ("overload", "frames/s"),
        ("load after it", "frames/s"),
        ("tests", "count"),
        ("recovery time", "ns"),
        ("least", "ns"),
        ("most", "ns"),
        ("deviation", "ns"),
        ("within", "ns"),
        ("lost in the overload", "count"),
        ("lost after it", "count"),
        ("ended", ""),
    ];
    (!rows.is_empty()).then(|| Table {
        key: "recovery".to_owned(),
        title: "System recovery".to_owned(),
        columns: columns.iter().map(|(name, unit)| column(name, unit)).collect(),
        rows,
        notes: vec![
            "from the end of an overload of 110 % of the throughput (or the highest load) until the last lost frame, \
             at half of that load (RFC 2544 26.5)"
                .to_owned(),
            "'within' is the gap between frames after the overload, and how late the latest frame left".to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::trial::Void;

    const SECOND: Picos = Picos::from_secs(1);

    #[test]
    fn the_overload_is_a_tenth_more_and_then_half_but_never_above_the_most() {
        let loads = |throughput, most| {
            let order = RecoveryOrder::of(Load::per_second(throughput), Load::per_second(most), SECOND);
            (order.over.as_per_second(), order.under.as_per_second())
        };
        assert_eq!(loads(1_000.0, 14_880_952.0), (1_100.0, 550.0));
        assert_eq!(loads(1_000.0, 1_050.0), (1_050.0, 525.0));
        assert_eq!(loads(1_000.0, 1_000.0), (1_000.0, 500.0));
        // The mean of several searches may lie a rounding above the most.
        assert_eq!(loads(1_000.0, 999.0), (1_000.0, 500.0));
    }

    fn recovered(over: u64, under: u64, last_ms: Option<u64>) -> Recovered {
        let mut recovered = Recovered { resolution: Picos::from_millis(2), ..Recovered::default() };
        recovered.add(over, under, last_ms.map(Picos::from_millis), SECOND);
        recovered
    }

    #[test]
    fn of_two_directions_the_slower_counts() {
        let mut both = recovered(5, 3, Some(120));
        both.add(7, 9, Some(Picos::from_millis(300)), SECOND);
        assert_eq!((both.over, both.under, both.time, both.still), (12, 12, Picos::from_millis(300), false));
        both.add(7, 9, Some(Picos::from_millis(901)), SECOND);
        assert!(both.still);
    }

    #[test]
    fn who_loses_frames_now_and_then_has_not_recovered() {
        let still = |under, last_ms| recovered(9, under, Some(last_ms)).still;
        // In the last tenth, however many there were.
        assert!(still(1_000, 901) && !still(1_000, 900));
        // One each 100 ms on average: quiet for 300 ms it is recovered, for less it may not be.
        assert!(still(7, 701) && !still(7, 700));
        // Of a single one nothing is known but that none came before.
        assert!(still(1, 251) && !still(1, 250));
        assert!(!recovered(9, 0, None).still);
    }

    #[test]
    fn a_row_has_the_mean_of_those_that_count_and_says_what_became_of_the_others() {
        let order = RecoveryOrder::of(Load::per_second(1_000.0), Load::per_second(9e9), SECOND);
        let lost = Judged::Not(Void::Receiver { missed: 4 });
        let late = Recovered { late: Picos::from_millis(1), ..recovered(12, 4, Some(140)) };
        let tests = vec![
            (recovered(10, 3, Some(100)), Judged::Counts),
            (late, Judged::AllTheSame),
            (recovered(10, 3, Some(700)), lost),
        ];
        let recovery = Recovery { throughput: Load::per_second(1_000.0), order, tests };
        let found = SizeFound { size: 64, recovery: Some(recovery), ..SizeFound::default() };
        let table = recoveries(&[found]).unwrap();
        let ms = |ms: f64| Cell::Figure(ms * 1e6);
        assert_eq!(table.rows[0][4..8], [Cell::Figure(2.0), ms(120.0), ms(100.0), ms(140.0)]);
        // The gap at 550/s that was given, and 1 ms of lateness; 10 and 12, 3 and 4 lost.
        assert_eq!(table.rows[0][9..12], [ms(3.0), Cell::Figure(22.0), Cell::Figure(7.0)]);
        let words = Cell::Words(
            "found; found, though frames left in bursts; no: the receiver lost 4 frames".to_owned(),
        );
        assert_eq!(table.rows[0][12], words);
        assert_eq!(recoveries(&[SizeFound::default()]), None);
    }

    #[test]
    fn nothing_lost_and_no_end_of_losses_are_no_recoveries() {
        assert_eq!(recovered(0, 0, None).words(), "no frame was lost in the overload");
        assert!(recovered(9, 9, Some(999)).words().starts_with("at least"));
    }
}
