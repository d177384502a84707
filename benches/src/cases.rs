//! The cases: what each measures, its columns, and who runs it.

mod closed;
mod even;
mod io;
mod memory;
mod target;
mod urls;

use anyhow::Result;

use crate::options::Options;
use crate::proc::Cores;
use crate::quiet::Patience;
use crate::runs::{Run, Runs};
use crate::scratch::Scratch;

/// The generator's core and the server's.
pub const GENERATOR_CORE: usize = 0;
pub const SERVER_CORE: usize = 1;

/// One case.
pub struct Case {
    pub name: &'static str,
    pub title: &'static str,
    pub columns: &'static [Column],
    pub run: fn(&Case, &mut Bench) -> Result<()>,
}

/// One column of a case's table.
pub struct Column {
    /// The figure's name in a run.
    pub figure: &'static str,
    pub head: &'static str,
    pub decimals: usize,
}

const fn column(figure: &'static str, head: &'static str, decimals: usize) -> Column {
    Column { figure, head, decimals }
}

/// What every case works with.
pub struct Bench {
    pub options: Options,
    pub patience: Patience,
    pub scratch: Scratch,
    pub runs: Runs,
}

impl Bench {
    /// tare's path, unless only peers are measured.
    pub fn tare(&self) -> Option<&std::path::Path> {
        (!self.options.peers_only).then_some(self.options.tare.as_path())
    }

    /// Keeps a run and says that it was made.
    pub fn keep(&mut self, run: Run) {
        eprintln!("  {} round {} {}{}", run.case, run.round + 1, run.row, notes(&run));
        self.runs.push(run);
    }
}

fn notes(run: &Run) -> String {
    if run.notes.is_empty() { String::new() } else { format!(" ({})", run.notes.join("; ")) }
}

/// A round's order: A B C, then B C A, … so that no tool is always the one after a given other's leavings.
fn rotated(count: usize, round: u32) -> impl Iterator<Item = usize> {
    (0..count).map(move |i| (i + round as usize) % count)
}

/// Cores that anything but the two programs kept busy, and cores that the hypervisor took, over `wall_s`.
fn others(run: Run, spent: Cores, programs_cpu_s: f64, wall_s: f64) -> Run {
    run.with("other_cpu", ((spent.busy_s - programs_cpu_s) / wall_s).max(0.0))
        .with("steal", spent.steal_s / wall_s)
}

const CLOSED_COLUMNS: &[Column] = &[
    column("per_s", "requests/s", 0),
    column("cpu_s", "CPU s per M", 3),
    column("user_s", "user", 3),
    column("system_s", "system", 3),
    column("rss_mb", "RSS MB", 1),
    column("server_cpu_s", "nginx CPU s per M", 3),
    column("busy", "core used", 2),
    column("other_cpu", "other CPU", 2),
    column("steal", "steal", 2),
];

const HANDSHAKE_COLUMNS: &[Column] = &[
    column("per_s", "handshakes/s", 0),
    column("cpu_s", "CPU s per 1000", 3),
    column("user_s", "user", 3),
    column("system_s", "system", 3),
    column("rss_mb", "RSS MB", 1),
    column("server_cpu_s", "nginx CPU s per 1000", 3),
    column("busy", "core used", 2),
    column("other_cpu", "other CPU", 2),
    column("steal", "steal", 2),
];

const EVEN_COLUMNS: &[Column] = &[
    column("achieved_per_s", "achieved/s", 2),
    column("rate_error", "rate error", 6),
    column("gap_error_p50_us", "|gap-1/rate| µs p50", 1),
    column("gap_error_p95_us", "p95", 1),
    column("gap_error_p99_us", "p99", 1),
    column("deviation_p50_us", "deviation µs p50", 1),
    column("deviation_p99_us", "p99", 1),
    column("busy", "core used", 2),
    column("other_cpu", "other CPU", 2),
    column("steal", "steal", 2),
];

pub const CASES: &[Case] = &[
    Case {
        name: "keep-alive",
        title: "64 connections, kept alive, 589 B from nginx (1 worker)",
        columns: CLOSED_COLUMNS,
        run: closed::keep_alive,
    },
    Case {
        name: "new-connection",
        title: "a new connection for each request, 64 at once",
        columns: CLOSED_COLUMNS,
        run: closed::new_connection,
    },
    Case {
        name: "tls-keep-alive",
        title: "TLS 1.3, 64 connections, kept alive",
        columns: CLOSED_COLUMNS,
        run: closed::tls_keep_alive,
    },
    Case {
        name: "tls-new-connection",
        title: "TLS 1.3, a new connection for each request, no resumption, 64 at once",
        columns: HANDSHAKE_COLUMNS,
        run: closed::tls_new_connection,
    },
    Case {
        name: "even-2000",
        title: "open loop, even, 2 000/s, arrivals stamped by a server of its own",
        columns: EVEN_COLUMNS,
        run: even::slow,
    },
    Case {
        name: "even-20000",
        title: "open loop, even, 20 000/s, arrivals stamped by a server of its own",
        columns: EVEN_COLUMNS,
        run: even::fast,
    },
    Case {
        name: "memory",
        title: "tare, 64 connections: a run and one ten times as long",
        columns: &[
            column("seconds", "seconds", 0),
            column("rss_mb", "RSS MB", 2),
            column("private_mb", "private MB", 2),
            column("growth_mb", "growth MB", 2),
        ],
        run: memory::run,
    },
    Case {
        name: "url-file",
        title: "a file of 5 000 000 URLs beside one of 10",
        columns: &[
            column("first_s", "first request s", 3),
            column("private_mb", "private MB", 2),
            column("rss_mb", "RSS MB", 1),
            column("extra_first_s", "more s", 3),
            column("extra_private_mb", "more private MB", 2),
            column("other_cpu", "other CPU", 2),
        ],
        run: urls::run,
    },
    Case {
        name: "target",
        title: "servers on core 1, wrk with 64 kept-alive connections as the client",
        columns: &[
            column("per_s", "requests/s", 0),
            column("per_cpu_s", "requests per CPU s", 0),
            column("server_busy", "core used", 2),
            column("other_cpu", "other CPU", 2),
            column("steal", "steal", 2),
        ],
        run: target::run,
    },
    Case {
        name: "io",
        title: "tare's two ways to do socket I/O, 64 connections, kept alive",
        columns: CLOSED_COLUMNS,
        run: io::run,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_begins_with_another_tool() {
        assert_eq!(rotated(3, 0).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(rotated(3, 4).collect::<Vec<_>>(), [1, 2, 0]);
    }

    #[test]
    fn other_cpu_is_what_the_two_programs_did_not_use() {
        // 2 cores busy 7.5 s in 4 s of wall; the programs used 7.1 s of it: 0.4 s / 4 s = 0.1 core for others.
        let run = others(Run::new("io", "tare", 0), Cores { busy_s: 7.5, steal_s: 0.2 }, 7.1, 4.0);
        assert!((run.figure("other_cpu").expect("there") - 0.1).abs() < 1e-9);
        assert_eq!(run.figure("steal"), Some(0.05));
    }
}
