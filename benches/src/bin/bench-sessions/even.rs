//! How even 20 000 requests a second arrive, by the kernel's stamps at the other end of the veth pair. No
//! program's own word is used.

use crate::evenness::{self, Evenness};
use crate::stats::median;
use crate::{CPU, Options, PORT, QUIET, SERVER, VIA, program};
use anyhow::{Context, Result};
use bed::{Bed, Namespace};
use port::{For, Port, Wish};
use std::sync::atomic::{AtomicBool, Ordering};
use units::Picos;

const PER_S: u64 = 20_000;
const ROWS: [(&str, &str); 2] = [("tare, kernel's sockets", ""), ("tare --via, fast", VIA)];

pub fn case(bed: &Bed, options: &Options) -> Result<()> {
    let nginx = program::nginx(bed.sink(), "", 1)?;
    let binary = tare_system_tests::binary().display().to_string();
    let Options { rounds, seconds, connections, .. } = options;
    let (url, rate) = (format!("http://{SERVER}:{PORT}/"), PER_S.to_string());
    let (count, length) = (connections.to_string(), format!("{seconds}s"));
    let mut figures: Vec<Vec<Evenness>> = vec![Vec::new(); ROWS.len()];
    for _ in 0..*rounds {
        for ((name, via), figures) in ROWS.iter().zip(&mut figures) {
            let via: Vec<&str> = via.split_whitespace().collect();
            let load = ["--rate", &rate, "--parallel", &count, "--duration", &length, &url];
            let wanted =
                [&[&binary, "http", "--cpus", CPU, "--threads", "1"], &QUIET[..], &via, &load].concat();
            let arrivals = arrivals_while(bed.sink(), || program::run(bed.generator(), &wanted))?;
            let found = evenness::of(&arrivals, PER_S as f64);
            figures.push(found.with_context(|| format!("{name}: {} requests arrived", arrivals.len()))?);
        }
    }
    drop(nginx);
    println!(
        "even arrivals, {PER_S}/s: {connections} connections, {rounds} rounds of {seconds} s each, medians"
    );
    println!("{:<26} {:>12} {:>12} {:>12} {:>12}", "gap error, us", "p50", "p95", "p99", "arrived/s");
    for ((name, _), row) in ROWS.iter().zip(&figures) {
        let of =
            |of: fn(&Evenness) -> f64| median(&row.iter().map(of).collect::<Vec<_>>()).unwrap_or(f64::NAN);
        println!(
            "{name:<26} {:>12.2} {:>12.2} {:>12.2} {:>12.0}",
            of(|run| run.gap_error_p50_ns as f64 / 1e3),
            of(|run| run.gap_error_p95_ns as f64 / 1e3),
            of(|run| run.gap_error_p99_ns as f64 / 1e3),
            of(|run| run.achieved_per_s)
        );
    }
    println!();
    Ok(())
}

/// When segments with data for the server reached its interface, while something is done; in ns.
fn arrivals_while<T>(inside: &Namespace, action: impl FnOnce() -> Result<T>) -> Result<Vec<u64>> {
    let address: port::Address = format!("packet,slots=16384:{}", inside.interface().name).parse()?;
    let (is_open, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            inside.run_in(|| -> Result<Vec<u64>> {
                let opened = port::open(&address, &Wish { stamps: true, ..Wish::default() });
                is_open.store(true, Ordering::Release);
                watch(&mut *opened?, &is_over)
            })?
        });
        while !is_open.load(Ordering::Acquire) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let done = action();
        is_over.store(true, Ordering::Release);
        let arrivals = watching.join().expect("it panics only on a broken invariant")?;
        done.map(|_| arrivals)
    })
}

fn watch(port: &mut dyn Port, is_over: &AtomicBool) -> Result<Vec<u64>> {
    const BATCH: usize = 1_024;
    let mut arrivals = Vec::new();
    loop {
        let was_over = is_over.load(Ordering::Acquire);
        let count = port.receive(BATCH, &mut |frame| {
            if is_request(frame.data) {
                arrivals.push(frame.stamp.as_unix_nanos());
            }
        })?;
        if count == 0 && was_over {
            return Ok(arrivals);
        }
        if count == 0 {
            port.wait(For::Receive, Picos::from_millis(20))?;
        }
    }
}

/// Ethernet, IPv4, TCP to the server's port, with data.
fn is_request(frame: &[u8]) -> bool {
    let word = |at: usize| frame.get(at..at + 2).map_or(0, |two| u16::from_be_bytes([two[0], two[1]]));
    let header = usize::from(frame.get(14).copied().unwrap_or(0) & 15) * 4;
    let offset = frame.get(14 + header + 12).map_or(0, |byte| usize::from(byte >> 4) * 4);
    let is_tcp = word(12) == 0x0800 && frame.get(23) == Some(&6);
    is_tcp && word(14 + header + 2) == PORT && usize::from(word(16)) > header + offset
}
