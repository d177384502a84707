//! `tare weigh backload`: what incoming traffic takes away from the generator.

use crate::commands::weigh::WeighOutput;
use crate::commands::weigh_packets::{sizes, ways};
use anyhow::anyhow;
use clap::Args;
use run::Failure;
use units::{Count, Picos};
use weigh::backload::{Options, Traffic};
use weigh::session::BackloadPlan;

/// Measure how much incoming traffic reduces the load that this machine can create
#[derive(Args, Clone, Debug)]
pub struct WeighBackloadArgs {
    /// Lowest and highest rate of incoming frames per second; max is as fast as the other end can send
    #[arg(short = 'b', long, value_name = "LOW..HIGH", default_value = "0..max")]
    backload: String,
    /// Ports: udp, packet, xdp, live, mem, or all
    #[arg(short = 'p', long, value_name = "PORT,…", value_delimiter = ',', default_value = "all")]
    port: Vec<String>,
    /// Frame sizes with FCS, for both directions
    #[arg(short = 's', long, value_name = "BYTES,…", value_delimiter = ',', default_value = "64,1518")]
    sizes: Vec<usize>,
    /// Incoming traffic: udp-closed, udp-open, tcp-syn, answers, or all (see docs/capability.md)
    #[arg(short = 'k', long, value_name = "KIND,…", value_delimiter = ',', default_value = "udp-closed")]
    kind: Vec<String>,
    /// Number of steps from the lowest to the highest incoming rate
    #[arg(long, value_name = "N", default_value_t = 4)]
    steps: usize,
    /// Duration of a step
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    step: Picos,
    /// Trials of each combination, for confidence intervals
    #[arg(short = 'n', long, value_name = "N", default_value = "5")]
    trials: Count,
    /// Packets per system call
    #[arg(long, value_name = "N", default_value_t = 1)]
    batch: usize,
    #[command(flatten)]
    pub output: WeighOutput,
}

impl WeighBackloadArgs {
    pub fn plan(&self) -> Result<BackloadPlan, Failure> {
        let wrong = |flag: &str, problem: String| Failure::wrong(anyhow!("{flag}: {problem}"));
        let (low, high) = range(&self.backload).map_err(|problem| wrong("--backload", problem))?;
        if !(1..=100).contains(&self.steps) {
            return Err(wrong("--steps", format!("{} is not between 1 and 100", self.steps)));
        }
        if !(Picos::from_millis(50)..=Picos::from_secs(600)).contains(&self.step) {
            return Err(wrong("--step", format!("{} is not between 50ms and 10min", self.step)));
        }
        if !(1..=1_000).contains(&self.trials.get()) {
            return Err(wrong("--trials", format!("{} is not between 1 and 1000", self.trials)));
        }
        if !(1..=64).contains(&self.batch) {
            return Err(wrong("--batch", " expected a number from 1 to 64".into()));
        }
        let kinds = match self.kind.iter().any(|word| word == "all") {
            true => Traffic::ALL.to_vec(),
            false => {
                let kinds = self.kind.iter().map(|word| word.parse().map_err(|why| wrong("--kind", why)));
                kinds.collect::<Result<_, _>>()?
            }
        };
        let options = Options {
            ways: ways(&self.port)?,
            sizes: sizes(&self.sizes)?,
            kinds,
            low,
            high,
            steps: self.steps,
            step_ns: self.step.as_nanos(),
            trials: self.trials.get() as usize,
            batch: self.batch,
        };
        Ok(BackloadPlan { options, is_quick: false })
    }
}

/// `0..max`, `100k..1M`, or the high end alone.
fn range(text: &str) -> Result<(f64, Option<f64>), String> {
    let expected = "write it as 0..max or 100k..1M";
    let number = |word: &str| {
        let count: Result<Count, _> = word.trim().parse();
        count
            .map(|count| count.get() as f64)
            .map_err(|_| format!("'{word}' is not a number of frames; {expected}"))
    };
    let (low, high) = text.split_once("..").unwrap_or(("0", text));
    let high = if high.trim() == "max" { None } else { Some(number(high)?) };
    let low = number(low)?;
    match high {
        Some(high) if high <= low => Err(format!("the range '{text}' does not rise; {expected}")),
        high => Ok((low, high)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backload_rises() {
        assert_eq!(range("0..max"), Ok((0.0, None)));
        assert_eq!(range("100k..1M"), Ok((1e5, Some(1e6))));
        assert_eq!(range("50k"), Ok((0.0, Some(5e4))));
        for wrong in ["5..5", "9..1", "a..b", "0..", "..max"] {
            assert!(range(wrong).unwrap_err().contains("0..max"), "{wrong}");
        }
    }
}
