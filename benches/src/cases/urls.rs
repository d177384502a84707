//! A file of 5 000 000 URLs (about 300 MB): seconds from the start of the process to the first request, and
//! private memory.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use super::{Bench, Case, GENERATOR_CORE, SERVER_CORE, others};
use crate::proc::Cores;
use crate::process;
use crate::runs::Run;
use crate::stamps::Stamps;
use crate::tools::CONNECTIONS;
use crate::tools::tare::Tare;

const MANY: u32 = 5_000_000;
const FEW: u32 = 10;

pub fn run(case: &Case, bench: &mut Bench) -> Result<()> {
    let Some(path) = bench.tare().map(ToOwned::to_owned) else { return Ok(()) };
    let tare = Tare::new(&path);
    for round in 0..bench.options.rounds.min(3) {
        let few = bench.patience.undisturbed(|| measure(case, bench, &tare, "10 URLs", FEW, round))?;
        let many =
            bench.patience.undisturbed(|| measure(case, bench, &tare, "5 000 000 URLs", MANY, round))?;
        let mut judged = Run::new(case.name, "tare", round);
        for (extra, figure) in [("extra_first_s", "first_s"), ("extra_private_mb", "private_mb")] {
            if let (Some(many), Some(few)) = (many.figure(figure), few.figure(figure)) {
                judged = judged.with(extra, many - few);
            }
        }
        let others = [&few, &many].into_iter().filter_map(|r| r.figure("other_cpu")).fold(0.0, f64::max);
        let judged = judged.with("other_cpu", others);
        for run in [few, many, judged] {
            bench.keep(run);
        }
    }
    Ok(())
}

fn measure(case: &Case, bench: &Bench, tare: &Tare, row: &str, lines: u32, round: u32) -> Result<Run> {
    let stamps = Stamps::start(bench.scratch.path(), SERVER_CORE)?;
    let file = write_urls(bench.scratch.path(), &stamps.url(), lines)?;
    let mut argv = tare.start();
    argv.extend(["--parallel".to_owned(), CONNECTIONS.to_string(), "--duration".to_owned(), "1s".to_owned()]);
    argv.push(file.display().to_string());
    let (stamps_cpu_s, cores) = (stamps.cpu_s(), Cores::now());
    let ended = process::run(&argv, GENERATOR_CORE, Duration::from_secs(30), bench.scratch.path())?;
    let (stamps_cpu_s, spent) = (stamps.cpu_s() - stamps_cpu_s, Cores::now().since(cores));
    let arrivals = stamps.stop()?;
    std::fs::remove_file(&file)?;
    let mut run = others(Run::new(case.name, row, round), spent, ended.cpu_s() + stamps_cpu_s, ended.wall_s)
        .with("private_mb", ended.peak_private_kib as f64 * 1024.0 / 1e6)
        .with("rss_mb", ended.peak_rss_kib as f64 * 1024.0 / 1e6);
    run.command = argv.join(" ");
    let Some(first) = arrivals.first() else {
        run.notes.push(format!("no request arrived: {}", ended.last_words()));
        run.figures.clear();
        return Ok(run);
    };
    Ok(run.with("first_s", first.saturating_sub(ended.started_ns) as f64 / 1e9))
}

/// Lines of about 60 bytes: `http://127.0.0.1:40000/catalogue/item/0000001?page=1&sort=name`.
fn write_urls(folder: &Path, base: &str, lines: u32) -> Result<PathBuf> {
    let path = folder.join("urls.txt");
    let write = || -> std::io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&path)?);
        for n in 0..lines {
            writeln!(out, "{base}catalogue/item/{n:07}?page={}&sort=name", n % 97)?;
        }
        out.flush()
    };
    write().with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}
