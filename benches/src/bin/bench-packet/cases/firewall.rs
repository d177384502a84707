//! Firewalls in the kernel, per second that the receiving thread was busy: a router between generator and sink.
//!
//! ```text
//!   tare send live: ─► gen0 ══ mid0 ─► firewall ─► mid1 ══ sink0 ─► counted and dropped
//!   core 0                     NAPI's thread of mid0 on core 1: its time is what is divided by
//! ```
//! The sink's side runs inside that same thread, for all alike.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use bed::Middlebox;
use rustix::process::Signal;

use super::Bench;
use crate::bed::{TestBed, busy_all_s};
use crate::child::{At, Program, run as run_program, sleep};
use crate::figures::{Better, Table};
use crate::peers;

/// Until a steady state after the sender's start.
const WARM_UP: Duration = Duration::from_millis(700);
/// Loading 100 000 rules.
const LOADING: Duration = Duration::from_secs(60);
const COLUMN: &str = "M per busy s";

#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Drop,
    Forward,
}

#[derive(Clone, Copy)]
enum Wall {
    Tare(usize),
    XdpFilter,
    /// Rules, and whether at the hook where frames come in (else where they are forwarded).
    Nftables(usize, bool),
}

impl Wall {
    fn name(self, verdict: Verdict) -> String {
        let verdict = if verdict == Verdict::Drop { "drop" } else { "forward" };
        match self {
            Self::Tare(rules) => format!("tare forward --xdp, {rules} rules, {verdict}"),
            Self::XdpFilter => format!("xdp-filter, {verdict}"),
            Self::Nftables(rules, true) => format!("nftables ingress, set of {rules}, {verdict}"),
            Self::Nftables(rules, false) => format!("nftables forward, set of {rules}, {verdict}"),
        }
    }
}

const WALLS: [Wall; 7] = [
    Wall::Tare(1_000),
    Wall::Tare(100_000),
    Wall::XdpFilter,
    Wall::Nftables(1_000, false),
    Wall::Nftables(1_000, true),
    Wall::Nftables(100_000, false),
    Wall::Nftables(100_000, true),
];

pub fn run(bench: &Bench) -> Result<Vec<Table>> {
    bench.options.sizes.iter().map(|size| of_size(bench, *size)).collect()
}

fn of_size(bench: &Bench, size: usize) -> Result<Table> {
    let bed = TestBed::up(Middlebox::Router, bench.options.priority)?;
    let _sink = bed.dropping_sink(&bench.bare_loop("bare_sink")?)?;
    bed.gro(bed.middle()?, "mid0")?;
    let threads = bed.threaded(bed.middle()?, "mid0")?;
    let rows: Vec<(Wall, Verdict)> =
        WALLS.into_iter().flat_map(|wall| [(wall, Verdict::Drop), (wall, Verdict::Forward)]).collect();
    let mut table = Table::new(format!("firewall in the kernel, {size} B"), &[COLUMN, "busy"]);
    for (round, at) in bench.turns(rows.len()) {
        let (wall, verdict) = rows[at];
        let made = raise(bench, &bed, wall, verdict).and_then(|raised| {
            let figures = rate(bench, &bed, &threads, size, verdict);
            raised.lower(&bed)?;
            figures
        });
        match made {
            Ok((rate, busy)) => {
                table.put(&wall.name(verdict), COLUMN, round, rate);
                table.put(&wall.name(verdict), "busy", round, busy);
            }
            Err(error) => {
                sleep(Duration::ZERO)?;
                table.not_run(&wall.name(verdict), format!("{error:#}"));
            }
        }
    }
    for verdict in [Verdict::Drop, Verdict::Forward] {
        judge(&mut table, verdict);
    }
    table.note("prefixes that do not match before the verdict, one source; the sink's side is in every figure of forward");
    Ok(table)
}

fn judge(table: &mut Table, verdict: Verdict) {
    let name = |wall: Wall| wall.name(verdict);
    let ours = name(Wall::Tare(1_000));
    table.ratio(COLUMN, &ours, &[&name(Wall::XdpFilter)], Better::More, 1.0);
    let nftables = [name(Wall::Nftables(1_000, false)), name(Wall::Nftables(1_000, true))];
    let nftables: Vec<&str> = nftables.iter().map(String::as_str).collect();
    table.ratio(COLUMN, &ours, &nftables, Better::More, 3.0);
    table.ratio(COLUMN, &name(Wall::Tare(100_000)), &[&ours], Better::More, 0.8);
}

/// A firewall that stands.
enum Raised {
    Program(Program),
    Tables,
}

impl Raised {
    fn lower(self, bed: &TestBed) -> Result<()> {
        match self {
            Self::Program(mut program) => {
                program.close_input();
                if !program.wait(Duration::from_millis(1_500))? {
                    program.end(Signal::INT)?;
                }
                Ok(())
            }
            Self::Tables => run_program(&["nft", "flush", "ruleset"], bed.middle()?, LOADING).map(drop),
        }
    }
}

fn raise(bench: &Bench, bed: &TestBed, wall: Wall, verdict: Verdict) -> Result<Raised> {
    let inside = bed.middle()?;
    match wall {
        Wall::Tare(rules) => {
            let file = bench.scratch.join("rules.txt");
            write_rules(&file, rules, verdict)?;
            let words =
                format!("{} forward mid0 mid1 --xdp --rules {} --no-save -q", bench.tare(), file.display());
            until_xdp(bed, Program::start(&peers::words(&words), At { cores: "0", ..inside })?)
        }
        Wall::XdpFilter => {
            // `ip netns exec` shows a /sys of its own: programs are pinned there, and go with this shell.
            let deny = if verdict == Verdict::Drop { "198.18.0.1" } else { "198.18.0.99" };
            let script = format!(
                "mount -t bpf bpf /sys/fs/bpf && ulimit -l unlimited 2>/dev/null; xdp-filter load mid0 -m native -f ipv4 && \
                 xdp-filter ip {deny} -m src && echo ready && read -r line; xdp-filter unload mid0"
            );
            let mut program = Program::start(&["sh".to_owned(), "-c".to_owned(), script], inside)?;
            program.expect("ready")?;
            until_xdp(bed, program)
        }
        Wall::Nftables(rules, is_ingress) => {
            let file = bench.scratch.join("rules.nft");
            write_nftables(&file, rules, is_ingress, verdict)?;
            run_program(&["nft", "-f", &file.to_string_lossy()], inside, LOADING)?;
            Ok(Raised::Tables)
        }
    }
}

fn until_xdp(bed: &TestBed, mut program: Program) -> Result<Raised> {
    for _ in 0..1_200 {
        let shown = run_program(&["ip", "-o", "link", "show", "mid0"], bed.middle()?, LOADING)?;
        if shown.out.contains("xdp") {
            return Ok(Raised::Program(program));
        }
        ensure!(program.is_running(), "{}", program.said()?.last_words());
        sleep(Duration::from_millis(50))?;
    }
    bail!("no program was attached within a minute: {}", program.said()?.last_words())
}

/// Prefix `n` of those that match nothing: apart from each other, so that none can be joined.
fn prefix(n: usize) -> String {
    let first = 10 << 24 | n << 5;
    format!("{}.{}.{}.{}/28", first >> 24, first >> 16 & 255, first >> 8 & 255, first & 255)
}

/// Prefixes of which the last matches what is sent, if it is to be dropped.
fn prefixes(rules: usize, verdict: Verdict) -> impl Iterator<Item = String> {
    let last = (verdict == Verdict::Drop).then(|| "198.18.0.0/24".to_owned());
    (0..rules - last.iter().len()).map(prefix).chain(last)
}

fn write_rules(file: &Path, rules: usize, verdict: Verdict) -> Result<()> {
    let mut text = String::new();
    prefixes(rules, verdict).try_for_each(|prefix| writeln!(text, "drop from {prefix}"))?;
    text.push_str("default pass\nother pass\n");
    Ok(std::fs::write(file, text)?)
}

fn write_nftables(file: &PathBuf, rules: usize, is_ingress: bool, verdict: Verdict) -> Result<()> {
    let (family, hook) = if is_ingress {
        ("netdev", "type filter hook ingress device mid0 priority 0")
    } else {
        ("ip", "type filter hook forward priority 0")
    };
    let elements: Vec<String> = prefixes(rules, verdict).collect();
    let text = format!(
        "table {family} bench {{\n set denied {{ type ipv4_addr; flags interval; elements = {{ {} }} }}\n \
         chain c {{ {hook}; policy accept; ip saddr @denied drop; }}\n}}\n",
        elements.join(", ")
    );
    Ok(std::fs::write(file, text)?)
}

/// Millions of frames for each second that the thread was busy, and how busy it was.
fn rate(bench: &Bench, bed: &TestBed, threads: &[u32], size: usize, verdict: Verdict) -> Result<(f64, f64)> {
    let words = format!(
        "{} send live:gen0 --rate max --size {size} -I 198.18.0.1 -i 198.18.1.2 -m {} --vary sport=1024..2047 -t 60s \
         --no-save -q",
        bench.tare(),
        bed.next_mac()
    );
    let mut sender = Program::start(&peers::words(&words), bed.generator())?;
    sleep(WARM_UP)?;
    let middle = bed.middle()?.inside;
    let look = || -> Result<_> { Ok((bed.count(middle, "mid0")?, bed.at_sink()?, busy_all_s(threads))) };
    let (in_before, out_before, busy_before) = look()?;
    sleep(bench.length())?;
    let (in_after, out_after, busy_after) = look()?;
    ensure!(sender.is_running(), "{}", sender.said()?.last_words());
    sender.end(Signal::INT)?;
    let came = (in_after.received - in_before.received) as f64 / 1e6;
    let left = (out_after.received - out_before.received) as f64 / 1e6;
    let busy = busy_after - busy_before;
    ensure!(came > 0.0 && busy > 0.0, "nothing came");
    if verdict == Verdict::Drop {
        ensure!(left < came / 1_000.0, "{left:.3} M of {came:.3} M frames passed a firewall that drops");
    } else {
        ensure!(left > 0.0, "nothing was forwarded");
    }
    let frames = if verdict == Verdict::Drop { came } else { left };
    Ok((frames / busy, busy / (in_after.at - in_before.at).as_secs_f64()))
}
