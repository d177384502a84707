//! Ramps and plateaus one after another, then the end.
//!
//! ```text
//! rate │      ____               stage k: from the rate of stage k − 1 to its own in a straight line
//!      │    ╱     ╲              stage 0: its own rate throughout
//!      │___╱       ╲____         due(n): see `line.rs`; nothing is due during a rate of zero
//!      └──────────────────┤ t    the last stage's end is the schedule's end
//!       0   1   2  3   4
//! ```

use crate::ScheduleError;
use crate::line::Lines;
use crate::rational::{common_denominator, numerator};
use plan::Stage;

pub fn stages(stages: &[Stage]) -> Result<Lines, ScheduleError> {
    let denominator = common_denominator(stages.iter().filter_map(|stage| stage.to))?;
    let end_rate = |stage: &Stage| stage.to.map_or(0, |rate| numerator(rate, denominator));
    let first = stages.first().map(end_rate).ok_or(ScheduleError::NoStages)?;
    let starts = std::iter::once(first).chain(stages.iter().map(end_rate));
    let parts = starts.zip(stages).map(|(from, stage)| (from, end_rate(stage), stage.over));
    let lines = Lines::new(denominator, parts, None);
    if lines.is_empty() { Err(ScheduleError::NoStages) } else { Ok(lines) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::{Curve, assert_guess_is_near, count_before};
    use units::{Picos, Rate};

    fn stages_of(list: &[(u64, u64)]) -> Lines {
        let stage =
            |(to, secs): &(u64, u64)| Stage { to: Rate::per_second(*to), over: Picos::from_secs(*secs) };
        stages(&list.iter().map(stage).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn counts_are_areas() {
        // 100/s for 10 s = 1 000; 100→1 000 in 30 s = 550·30 = 16 500; 1 000→0 in 5 s = 2 500: 20 000 in all;
        // at 25 s 1 000 + 100·15 + (900/30)·15²/2 = 5 875.
        let stages = stages_of(&[(100, 10), (1_000, 30), (0, 5)]);
        for (secs, n) in [(10, 1_000), (25, 5_875), (40, 17_500), (45, 20_000), (1_000, 20_000)] {
            assert_eq!(count_before(&stages, Picos::from_secs(secs)), n, "{secs} s");
        }
        assert_eq!(stages.due(17_500), Picos::from_secs(40));
        // 1 000 t − 100 t² = 2 499 with t ≤ 5: t = 5 − √(25 − 24.99) = 4.9 s exactly.
        assert_eq!(stages.due(19_999), Picos::from_millis(44_900));
        assert_eq!(stages.due(20_000), Picos::MAX);
    }

    #[test]
    fn nothing_is_due_while_the_rate_is_zero() {
        // Zero for 2 s, up to 100/s in 2 s (100 departures), 10 s down to zero (500), 3 s of zero, 1 s up to
        // 10/s (5).
        let stages = stages_of(&[(0, 2), (100, 2), (0, 10), (0, 3), (10, 1)]);
        assert_eq!(stages.due(0), Picos::from_secs(2));
        assert_eq!(stages.due(100), Picos::from_secs(4));
        // The 600th is reached at 14 s and leaves when the rate rises again, at 17 s.
        assert_eq!(stages.due(600), Picos::from_secs(17));
        assert_eq!(count_before(&stages, Picos::from_secs(17)), 600);
        assert_eq!(count_before(&stages, Picos::from_secs(18)), 605);
        assert_eq!(stages.due(605), Picos::MAX);
    }

    #[test]
    fn no_stage_and_no_rate_are_refused() {
        assert!(stages(&[]).is_err());
        assert!(stages(&[Stage { to: None, over: Picos::from_secs(1) }]).is_err());
        assert!(stages(&[Stage { to: Rate::per_second(1), over: Picos::ZERO }]).is_err());
    }

    #[test]
    fn the_guess_is_near() {
        let stages = stages_of(&[(100, 10), (1_000, 30), (0, 5), (0, 5), (70, 5)]);
        let times = [0, 9_999, 10_000, 25_000, 39_999, 40_000, 44_999, 45_000, 52_000, 1_000_000];
        assert_guess_is_near(&stages, times.map(Picos::from_millis));
    }
}
