//! `tare weigh backload`: what incoming traffic takes away from the generator.

use crate::commands::weigh::WeighOutput;
use crate::commands::weigh_packets::{modules, sizes, ways};
use crate::commands::weigh_place::PlaceArgs;
use anyhow::anyhow;
use clap::Args;
use run::Failure;
use units::{Count, Picos};
use weigh::backload::requests::Stack;
use weigh::backload::{Options, Traffic};
use weigh::module::is_simulated;
use weigh::session::{BackloadPlan, Place};
use weigh::{Elsewhere, Way};

/// Measure how much incoming traffic reduces the load that this machine can create
#[derive(Args, Clone, Debug)]
pub struct WeighBackloadArgs {
    /// Incoming frames per second, from the lowest to the highest; max is as fast as the other end can send
    #[arg(short = 'b', long, value_name = "LOW..HIGH", default_value = "0..max")]
    backload: String,
    /// Ports: udp, packet, xdp, live, mem; for requests, http (the kernel's sockets), http-packet and http-xdp
    /// (--via); all of these (all); or fpga:sim, a simulated FPGA module
    #[arg(short = 'p', long, value_name = "PORT,…", value_delimiter = ',', default_value = "all")]
    port: Vec<String>,
    /// Frame sizes with FCS, for both directions
    #[arg(short = 's', long, value_name = "BYTES,…", value_delimiter = ',', default_value = "64,1518")]
    sizes: Vec<usize>,
    /// Incoming traffic: udp-closed, udp-open, tcp-syn, answers, or all (see docs/capability.md)
    #[arg(short = 'k', long, value_name = "KIND,…", value_delimiter = ',', default_value = "udp-closed")]
    kind: Vec<String>,
    /// Number of incoming rates from the lowest to the highest (above 0)
    #[arg(long, value_name = "N", default_value_t = 4)]
    steps: usize,
    /// Duration of a step (fpga:sim: 500 frames)
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    step: Picos,
    /// Trials of each combination, for confidence intervals (fpga:sim: at most three)
    #[arg(short = 'n', long, value_name = "N", default_value = "5")]
    trials: Count,
    /// Packets per system call
    #[arg(long, value_name = "N", default_value_t = 1)]
    batch: usize,
    #[command(flatten)]
    place: PlaceArgs,
    /// Shell command that makes another machine send {rate} frames per second of {size} bytes and {kind} to
    /// {address}, {mac} and {port} for {time}; it must stay in the foreground. The interface counts what
    /// arrives
    #[arg(long, value_name = "COMMAND", requires = "interface")]
    source: Option<String>,
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
            return Err(wrong("--batch", "expected a number from 1 to 64".into()));
        }
        let kinds = match self.kind.iter().any(|word| word == "all") {
            true => Traffic::ALL.to_vec(),
            false => {
                let kinds = self.kind.iter().map(|word| word.parse().map_err(|why| wrong("--kind", why)));
                kinds.collect::<Result<_, _>>()?
            }
        };
        let place = self.place.place()?;
        let by = self.source.as_deref().map(Elsewhere::new).transpose();
        let by = by.map_err(|problem| wrong("--source", problem))?;
        let is_named = matches!(place, Place::Named { .. });
        if is_named && by.is_none() {
            return Err(wrong(
                "--interface",
                "needs --source, the command that has frames sent to this machine".into(),
            ));
        }
        if by.is_some() && kinds.iter().any(|kind| !matches!(kind, Traffic::UdpClosed | Traffic::TcpSyn)) {
            return Err(wrong(
                "--kind",
                "with --source, frames go to a closed port: udp-closed or tcp-syn".into(),
            ));
        }
        let sizes = sizes(&self.sizes)?;
        let can_send = by.as_ref().map_or(Ok(()), |by: &Elsewhere| by.can_send(&sizes, &kinds));
        can_send.map_err(|problem| wrong("--source", problem))?;
        let (modules, words) = modules(&self.port)?;
        if let Some(module) = modules.iter().find(|module| !is_simulated(module)) {
            return Err(wrong(
                "--port",
                format!(
                    "{module}: only other machines can send to a board's wire; run tare weigh packets --port \
                     {module} before and while they do"
                ),
            ));
        }
        // Words that are requests, and those that are ports.
        let is_stack = |word: &&String| word.parse::<Stack>().is_ok();
        let (requests, ports): (Vec<&String>, Vec<&String>) = words.iter().partition(is_stack);
        let ports: Vec<String> = ports.into_iter().cloned().collect();
        let on_this = requests.first().copied().or_else(|| ports.iter().find(|word| *word == "mem"));
        if let Some(word) = on_this.cloned().or_else(|| modules.first().map(ToString::to_string))
            && is_named
        {
            return Err(wrong(
                "--port",
                format!("{word} has both ends on this machine; leave out --interface"),
            ));
        }
        let options = Options {
            stacks: match self.port.iter().any(|word| word == "all") {
                // The ring and the requests have their other end on this machine.
                true if is_named => Vec::new(),
                true => Stack::ALL.to_vec(),
                false => requests.into_iter().filter_map(|word| word.parse().ok()).collect(),
            },
            modules,
            ways: ways(&ports)?.into_iter().filter(|way| !is_named || *way != Way::Mem).collect(),
            sizes,
            kinds,
            low,
            high,
            steps: self.steps,
            step_ns: self.step.as_nanos(),
            trials: self.trials.get() as usize,
            batch: self.batch,
            by,
        };
        Ok(BackloadPlan { options, place, is_quick: false })
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
