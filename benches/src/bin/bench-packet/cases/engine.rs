//! The engine alone, over rings in memory: frames built, varied, signed, handed over, received and verified;
//! and the firewall in user space. Examples that print their own medians; nothing outside one thread is
//! concerned.

use std::time::Duration;

use anyhow::{Context, Result};
use bed::Middlebox;

use super::Bench;
use crate::bed::TestBed;
use crate::child::run as run_program;
use crate::figures::{Better, Table};

const LIMIT: Duration = Duration::from_secs(120);
const LINE_RATE_10G: f64 = 14.88;

pub fn run(bench: &Bench) -> Result<Vec<Table>> {
    let bed = TestBed::up(Middlebox::None, bench.options.priority)?;
    let mut frames = Table::new("mem: build, vary 3 fields, sign, hand over, receive, verify", &["M/s"]);
    let mut rules = Table::new("firewall in user space on mem, 64 B", &["M/s"]);
    for round in 0..bench.options.rounds {
        match bench.bare_loop("mem_rate").and_then(|file| run_program(&[&file], bed.sink(), LIMIT)) {
            Ok(said) => {
                for size in &bench.options.sizes {
                    let rate = between(&said.out, &format!("{size} bytes: "), " M/s");
                    rate.into_iter()
                        .for_each(|rate| frames.put(&format!("tare, {size} B"), "M/s", round, rate));
                }
            }
            Err(error) => frames.not_run("tare, 64 B", format!("{error:#}")),
        }
        match bench.bare_loop("forward_speed").and_then(|file| run_program(&[&file, "64"], bed.sink(), LIMIT))
        {
            Ok(said) => read_rules(&said.out, round, &mut rules)?,
            Err(error) => rules.not_run("1000 rules", format!("{error:#}")),
        }
    }
    frames.figure("M/s", "tare, 64 B", Better::More, LINE_RATE_10G);
    rules.figure("M/s", "1000 rules", Better::More, 10.0);
    rules.ratio("M/s", "100000 rules", &["1000 rules"], Better::More, 0.5);
    rules.note("more than half the rate means less than twice the cost");
    Ok(vec![frames, rules])
}

/// The same frames by a script and by fields, and frames that do not change.
pub fn script(bench: &Bench) -> Result<Vec<Table>> {
    let bed = TestBed::up(Middlebox::None, bench.options.priority)?;
    let mut table = Table::new("mem: three fields by a script, on one core", &["M/s"]);
    for round in 0..bench.options.rounds {
        let said =
            bench.bare_loop("script_rate").and_then(|file| run_program(&[&file], bed.sink(), LIMIT))?;
        for line in said.out.lines() {
            let row = line.split_once(':').with_context(|| line.to_owned())?.0;
            let rate = between(line, ": ", " M/s").with_context(|| line.to_owned())?;
            table.put(row, "M/s", round, rate);
        }
    }
    // What a script has changed is summed anew, whole.
    for (size, of_fields, of_one) in [(64, 0.25, 0.12), (1_518, 0.08, 0.04)] {
        let by = |what: &str| format!("{size} B, {what}");
        let (lua, fields) = (by("3 fields by a script"), by("3 fields of a plan"));
        table.ratio("M/s", &lua, &[&fields], Better::More, of_fields);
        table.ratio("M/s", &lua, &[&by("one frame over and over")], Better::More, of_one);
    }
    Ok(vec![table])
}

/// `64 B,   1000 rules:  12.34 M/s (12.00 to 13.00)`
fn read_rules(text: &str, round: usize, table: &mut Table) -> Result<()> {
    for line in text.lines().filter(|line| line.contains(" rules:")) {
        let count = between(line, ",", "rules:").with_context(|| line.to_owned())?;
        let rate = between(line, "rules:", "M/s").with_context(|| line.to_owned())?;
        table.put(&format!("{count} rules"), "M/s", round, rate);
    }
    Ok(())
}

fn between(text: &str, before: &str, after: &str) -> Option<f64> {
    text.split_once(before)?.1.split_once(after)?.0.trim().parse().ok()
}
