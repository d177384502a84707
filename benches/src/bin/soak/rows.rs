//! The rows that a run writes each second, and when they come by a clock that is not the run's.
//!
//! ```text
//!   row k comes at   begin + (k + 1) · 1 s + what its writing takes    drift = what of that grows over the run
//! ```

use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::Instant;

#[derive(Debug)]
pub struct Rows {
    file: PathBuf,
    begun: Instant,
    read: u64,
    /// Line ends so far, the header's too.
    lines: usize,
    /// When each row came, in seconds.
    came_s: Vec<f64>,
}

impl Rows {
    pub fn of(file: PathBuf) -> Self {
        Self { file, begun: Instant::now(), read: 0, lines: 0, came_s: Vec::new() }
    }

    /// Looks for new rows.
    pub fn look(&mut self) {
        let Ok(mut file) = std::fs::File::open(&self.file) else { return };
        let mut more = Vec::new();
        if file.seek(SeekFrom::Start(self.read)).and_then(|_| file.read_to_end(&mut more)).is_err() {
            return;
        }
        self.read += more.len() as u64;
        let now = self.begun.elapsed().as_secs_f64();
        for _ in more.iter().filter(|byte| **byte == b'\n') {
            if self.lines > 0 {
                self.came_s.push(now);
            }
            self.lines += 1;
        }
    }

    /// By how many seconds rows came later at the end of the run than at its beginning: medians of a quarter
    /// each. The row of what came after the last departure is not one of a second.
    pub fn drift_s(&self, seconds: u64) -> Option<f64> {
        drift_s(self.came_s.get(..usize::try_from(seconds).ok()?.min(self.came_s.len()))?)
    }

    /// Everything in the file, by column: what must be the sum of it all.
    pub fn sums(&self) -> Option<Vec<(String, u64)>> {
        sums(&std::fs::read_to_string(&self.file).ok()?)
    }

    pub fn count(&self) -> u64 {
        self.came_s.len() as u64
    }
}

fn drift_s(came_s: &[f64]) -> Option<f64> {
    let late: Vec<f64> = came_s.iter().enumerate().map(|(row, came)| came - row as f64).collect();
    let quarter = late.len() / 4;
    let median = |part: &[f64]| {
        let mut sorted = part.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    (quarter > 0).then(|| median(&late[late.len() - quarter..]) - median(&late[..quarter]))
}

/// Sums of all columns that are whole numbers.
fn sums(csv: &str) -> Option<Vec<(String, u64)>> {
    let mut lines = csv.lines();
    let mut sums: Vec<(String, Option<u64>)> =
        lines.next()?.split(',').map(|name| (name.to_owned(), Some(0))).collect();
    for line in lines {
        for ((_, sum), cell) in sums.iter_mut().zip(line.split(',')) {
            *sum = sum.and_then(|sum| sum.checked_add(cell.parse().ok()?));
        }
    }
    Some(sums.into_iter().filter_map(|(name, sum)| Some((name, sum?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_slow_is_seen_and_one_late_row_is_not() {
        let even: Vec<f64> = (0..400).map(|row| f64::from(row) + 1.02).collect();
        assert!(drift_s(&even).expect("enough rows").abs() < 1e-9);
        let mut late = even.clone();
        late[390] += 0.7;
        assert!(drift_s(&late).expect("enough rows").abs() < 1e-9);
        // 1 ms each second; the medians of the first and the last 100 rows are 300 rows apart.
        let slow: Vec<f64> = (0..400).map(|row| f64::from(row) * 1.001).collect();
        assert!((drift_s(&slow).expect("enough rows") - 0.3).abs() < 1e-9);
        assert_eq!(drift_s(&even[..3]), None);
    }

    #[test]
    fn columns_are_added_up() {
        let sums = sums("t_s,done,p50\r\n0.0,7,5\r\n1.0,8,\r\n").expect("a header");
        assert_eq!(sums, [("done".to_owned(), 15)]);
    }
}
