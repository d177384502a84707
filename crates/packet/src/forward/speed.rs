//! How many frames a second a lane moves, alone: threads × frame sizes, over `mem` ports.
//!
//! ```text
//!   feed (not timed) ─► mem ─► [ receive ─► judge ─► copy ─► transmit ] ─► mem ─► drain (not timed)
//!                                     timed, in batches
//! ```
//!
//! One thread does all three in turns, so that a figure is what one core does in the lane itself, however many
//! cores there are. Frames have the sources of the rules in turn, so that all tables are walked through.

use super::lane::{Lane, Moved, Work};
use super::{Back, Full};
use crate::{JobControl, PacketError};
use clock::{Clock, HostClock};
use filter::{Action, Firewall, Rules, Shared};
use measure::packets::{Cell, Column, Table};
use port::{FCS, Port, mem};
use std::sync::Arc;
use units::Picos;

/// Frames in a ring at once: they stay in the cache, as they would at a port that is kept up with.
const RING: usize = 256;
/// Different sources that frames have.
const SOURCES: usize = 1 << 16;

/// What is measured.
#[derive(Clone, Debug)]
pub struct SpeedPlan {
    pub rules: Option<Rules>,
    /// Numbers of threads.
    pub threads: Vec<u32>,
    /// Frame sizes with FCS.
    pub sizes: Vec<usize>,
    pub trials: u32,
    /// Of one trial.
    pub length: Picos,
}

/// What one lane did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Speed {
    pub moved: Moved,
    /// CPU time within the lane: what others take of the machine meanwhile is not in it.
    pub busy: Picos,
    /// The same by the wall clock: waiting for a CPU is in it.
    pub took: Picos,
}

impl Speed {
    /// Frames per second of the lane's own CPU time.
    pub fn rate(&self) -> f64 {
        self.moved.arrived as f64 / self.busy.as_secs_f64().max(1e-9)
    }

    /// Frames per second of time that passed.
    pub fn wall_rate(&self) -> f64 {
        self.moved.arrived as f64 / self.took.as_secs_f64().max(1e-9)
    }
}

/// Sources that the rules name, in turn; where they name none, 198.18.0.0/16.
fn sources(rules: Option<&Rules>) -> Vec<u32> {
    let named: Vec<u32> = rules
        .into_iter()
        .flat_map(|rules| &rules.rules)
        .filter_map(|rule| rule.from.filter(|from| from.is_ipv4()))
        .map(|from| (from.bits() >> 96) as u32)
        .collect();
    let pick = |n: usize| match named.len() {
        0 => 0xc612_0000 | n as u32,
        // A stride that shares no factor with most counts: neighbours in the rules do not follow each other.
        count => named[n.wrapping_mul(7_919) % count],
    };
    (0..SOURCES.max(named.len())).map(pick).collect()
}

/// An IPv4 and UDP frame of `length` bytes without FCS.
fn frame(length: usize) -> Vec<u8> {
    let mut frame = vec![0; length.max(60)];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    let total = (frame.len() - 14) as u16;
    frame[14..24].copy_from_slice(&[0x45, 0, (total >> 8) as u8, total as u8, 0, 0, 0, 0, 64, 17]);
    frame[30..34].copy_from_slice(&[198, 19, 0, 1]);
    frame[34..38].copy_from_slice(&[4, 0, 0, 9]);
    frame
}

/// Runs one lane for `length` of its own CPU time (and at most ten times that of the wall clock).
///
/// # Errors
/// None that `mem` ports have.
pub fn lane_speed(
    shared: Option<&Arc<Shared>>,
    size: usize,
    length: Picos,
    (clock, control): (&HostClock, &JobControl),
) -> Result<Speed, PacketError> {
    let firewall = shared.map(|shared| shared.firewall());
    let sources = sources(firewall.as_deref().map(Firewall::rules));
    let model = frame(size - FCS);
    let ((mut feed, near), (far, mut drain)) = (mem::pair(RING, model.len()), mem::pair(RING, model.len()));
    let work = shared.map_or(Work::Pass, |shared| Work::Judge(Box::new(shared.view())));
    let mut lane = Lane::new(Box::new(near), Some(Box::new(far)), work, Full::Wait, Back::Nothing);
    let (mut speed, mut next) = (Speed::default(), 0);
    let give_up = clock.now() + length.saturating_mul(10);
    while speed.busy < length && !control.stops() {
        feed.transmit(RING, &mut |slot| {
            if *slot.mark == 0 {
                slot.data[..model.len()].copy_from_slice(&model);
                *slot.mark = 1;
            }
            slot.length = model.len();
            slot.data[26..30].copy_from_slice(&sources[next].to_be_bytes());
            next = if next + 1 == sources.len() { 0 } else { next + 1 };
        })?;
        let begun = clock.now();
        let start = clock::thread_cpu_ns();
        let before = speed.moved.arrived;
        while speed.moved.arrived - before < RING as u64 {
            lane.round(RING, &mut speed.moved)?;
        }
        speed.busy += Picos::from_nanos(clock::thread_cpu_ns() - start);
        speed.took += clock.now().since(begun);
        drain.receive(RING, &mut |_| {})?;
        if clock.now() > give_up {
            break;
        }
    }
    Ok(speed)
}

/// Rates of each trial: for each number of threads, for each size.
struct Cells {
    by_cpu: Vec<Vec<Vec<f64>>>,
    by_wall: Vec<Vec<Vec<f64>>>,
}

impl Cells {
    fn new(rows: usize, columns: usize) -> Self {
        let empty = vec![vec![Vec::new(); columns]; rows];
        Self { by_cpu: empty.clone(), by_wall: empty }
    }
}

impl SpeedPlan {
    /// Measures everything, and hears of each trial through `each`.
    ///
    /// # Errors
    /// Rules that cannot be compiled.
    pub fn run(
        &self,
        clock: &HostClock,
        control: &Arc<JobControl>,
        mut each: impl FnMut(&Moved),
    ) -> Result<Table, PacketError> {
        let shared = match &self.rules {
            None => None,
            Some(rules) => {
                let firewall =
                    Firewall::compile(rules).map_err(|error| PacketError::Wrong(error.to_string()))?;
                Some(Shared::new(firewall))
            }
        };
        let mut cells = Cells::new(self.threads.len(), self.sizes.len());
        // Trials outermost: what disturbs the machine for a while disturbs all cells alike.
        for _ in 0..self.trials {
            for (row, &threads) in self.threads.iter().enumerate() {
                for (column, &size) in self.sizes.iter().enumerate() {
                    if control.stops() {
                        break;
                    }
                    let speeds = trial(shared.as_ref(), threads, size, self.length, (clock, control))?;
                    cells.by_cpu[row][column].push(speeds.iter().map(Speed::rate).sum());
                    cells.by_wall[row][column].push(speeds.iter().map(Speed::wall_rate).sum());
                    speeds.iter().for_each(|speed| each(&speed.moved));
                }
            }
        }
        Ok(self.table(&cells))
    }

    fn table(&self, cells: &Cells) -> Table {
        let column = |name: String, unit: &str| Column { name, unit: unit.to_owned() };
        let mut columns = vec![column("threads".to_owned(), "count")];
        columns.extend(self.sizes.iter().map(|size| column(format!("{size} B"), "frames/s")));
        columns.extend(self.sizes.iter().map(|size| column(format!("{size} B, wall clock"), "frames/s")));
        let rows = self.threads.iter().zip(cells.by_cpu.iter().zip(&cells.by_wall));
        let rows = rows.map(|(&threads, (by_cpu, by_wall))| {
            let mut cells = vec![Cell::Figure(f64::from(threads))];
            cells.extend(by_cpu.iter().chain(by_wall).map(|trials| spread(trials)));
            cells
        });
        let action = |action| match &self.rules {
            Some(rules) => rules.rules.iter().filter(|rule| rule.action == action).count(),
            None => 0,
        };
        let rules = match &self.rules {
            Some(rules) => format!(
                "{} rules ({} drop, {} pass)",
                rules.rules.len(),
                action(Action::Drop),
                action(Action::Pass)
            ),
            None => "no rules".to_owned(),
        };
        Table {
            key: "threads".to_owned(),
            title: format!("Threads × frame sizes, {rules}"),
            columns,
            rows: rows.collect(),
            notes: self.notes(&cells.by_cpu),
        }
    }

    /// What the table needs to be understood; above all where it is not monotonic.
    fn notes(&self, cells: &[Vec<Vec<f64>>]) -> Vec<String> {
        let mut notes = vec![format!(
            "frames/s of the lanes' own CPU time, summed over threads: what they would forward if each had its \
             own CPU; median, minimum and maximum of {} trials",
            self.trials
        )];
        notes.push(
            "'wall clock': frames/s that the lanes actually forwarded together here, including waits for a CPU"
                .to_owned(),
        );
        let cores = os::cpus::parallelism() as u32;
        for (column, size) in self.sizes.iter().enumerate() {
            for row in 1..self.threads.len() {
                let (few, many) = (&cells[row - 1][column], &cells[row][column]);
                if median(many) >= median(few) {
                    continue;
                }
                let (from, to) = (self.threads[row - 1], self.threads[row]);
                let why = match (to > cores, overlap(few, many)) {
                    (true, _) => format!("this process may use {cores} cores: threads wait for each other in the middle of a batch"),
                    (_, true) => "the trials overlap: no difference that these trials could show".to_owned(),
                    (..) => "the cores share what limits a lane: cache, memory or the core itself (SMT), or another program".to_owned(),
                };
                notes.push(format!("{size} B: {to} threads are slower than {from}; {why}"));
            }
        }
        for (row, threads) in self.threads.iter().enumerate() {
            for column in 1..self.sizes.len() {
                let (short, long) = (&cells[row][column - 1], &cells[row][column]);
                if self.sizes[column] > self.sizes[column - 1] && median(long) > median(short) {
                    let why = match overlap(short, long) {
                        true => "the trials overlap: no difference that these trials could show",
                        false => "something else used the machine during the shorter frames' trials",
                    };
                    let (from, to) = (self.sizes[column - 1], self.sizes[column]);
                    notes.push(format!("{threads} threads: {to} B are faster than {from} B; {why}"));
                }
            }
        }
        notes
    }
}

fn trial(
    shared: Option<&Arc<Shared>>,
    threads: u32,
    size: usize,
    length: Picos,
    (clock, control): (&HostClock, &Arc<JobControl>),
) -> Result<Vec<Speed>, PacketError> {
    std::thread::scope(|scope| {
        let run = || lane_speed(shared, size, length, (clock, control));
        let threads: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut speeds = vec![run()?];
        for thread in threads {
            let speed =
                thread.join().map_err(|_| PacketError::Wrong("a trial's thread failed".to_owned()))?;
            speeds.push(speed?);
        }
        Ok(speeds)
    })
}

fn median(trials: &[f64]) -> f64 {
    let mut sorted = trials.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

fn range(trials: &[f64]) -> (f64, f64) {
    trials.iter().fold((f64::INFINITY, 0.0), |(low, high), &rate| (rate.min(low), rate.max(high)))
}

fn spread(trials: &[f64]) -> Cell {
    if trials.is_empty() {
        return Cell::Nothing;
    }
    let (low, high) = range(trials);
    Cell::Between { value: median(trials), low, high }
}

fn overlap(a: &[f64], b: &[f64]) -> bool {
    let ((low, high), (from, to)) = (range(a), range(b));
    low <= to && from <= high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> SpeedPlan {
        SpeedPlan {
            rules: Some(Rules::parse("drop from 198.18.0.0/17\ndrop from 198.18.128.0/17", "r").unwrap()),
            threads: vec![1, 2],
            sizes: vec![64, 512],
            trials: 2,
            length: Picos::from_millis(5),
        }
    }

    #[test]
    fn every_cell_is_measured_and_every_frame_is_filtered() {
        let mut all = Moved::default();
        let table = plan().run(&HostClock::monotonic(), &Arc::default(), |moved| all.add(moved)).unwrap();
        assert_eq!((table.rows.len(), table.columns.len()), (2, 1 + 2 + 2));
        for row in &table.rows {
            for cell in &row[1..] {
                assert!(matches!(cell, Cell::Between { value, low, high } if low <= value && value <= high));
            }
        }
        assert!(all.arrived > 0 && all.filtered == all.arrived);
    }

    #[test]
    fn threads_that_share_a_cpu_move_no_more_by_the_wall_clock() {
        // So many that they cannot all have a CPU: by their own CPU time each is as fast as one alone.
        let cpus = os::cpus::parallelism() as u32;
        let threads = cpus * 4;
        let plan =
            SpeedPlan { threads: vec![threads], sizes: vec![64], length: Picos::from_millis(20), ..plan() };
        let table = plan.run(&HostClock::monotonic(), &Arc::default(), |_| {}).unwrap();
        let [_, Cell::Between { value: by_cpu, .. }, Cell::Between { value: by_wall, .. }] =
            table.rows[0][..]
        else {
            panic!("{table:?}")
        };
        assert!(by_wall < by_cpu * 0.7, "{by_wall} {by_cpu}");
    }

    #[test]
    fn what_is_not_monotonic_is_explained() {
        let cell = |rate: f64| vec![rate, rate + 1.0];
        let plan = SpeedPlan { threads: vec![1, 1_000], ..plan() };
        let notes = plan.notes(&[vec![cell(10.0), cell(8.0)], vec![cell(9.5), cell(12.0)]]).join("\n");
        assert!(notes.contains("64 B: 1000 threads are slower than 1; this process may use"), "{notes}");
        assert!(notes.contains("1000 threads: 512 B are faster than 64 B; something else"), "{notes}");
        assert!(!notes.contains("\n512 B"), "{notes}");
    }
}
