//! `tare target` beside nginx as a server: requests per CPU-second of the server, wrk as the client of both.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::{Bench, Case, GENERATOR_CORE, SERVER_CORE, others, rotated};
use crate::nginx::{self, Nginx};
use crate::proc::{self, Cores};
use crate::process;
use crate::runs::Run;
use crate::tools::{self, Ask, Load};

/// A server under load.
enum Server {
    Nginx(Nginx),
    Tare(TareTarget),
}

struct TareTarget {
    name: &'static str,
    child: Child,
    port: u16,
}

pub fn run(case: &Case, bench: &mut Bench) -> Result<()> {
    let mut servers = vec![Server::Nginx(Nginx::start(bench.scratch.path(), SERVER_CORE)?)];
    if let Some(tare) = bench.tare() {
        servers.push(Server::Tare(TareTarget::start(tare, "tare", &[])?));
        servers.push(Server::Tare(TareTarget::start(tare, "tare, no stamps", &["--no-truth"])?));
    }
    for round in 0..bench.options.rounds {
        for i in rotated(servers.len(), round) {
            let run = bench.patience.undisturbed(|| measure(case, bench, &servers[i], round))?;
            bench.keep(run);
        }
    }
    Ok(())
}

fn measure(case: &Case, bench: &Bench, server: &Server, round: u32) -> Result<Run> {
    let wrk = tools::client();
    let ask =
        Ask { url: server.url(), load: Load::KeepAlive, seconds: bench.options.seconds, expected_per_s: 0.0 };
    let argv = wrk.command(&ask).map_err(anyhow::Error::msg)?;
    let (server_cpu_s, cores) = (server.cpu_s(), Cores::now());
    let limit = Duration::from_secs(2 * ask.seconds + 10);
    let ended = process::run(&argv, GENERATOR_CORE, limit, bench.scratch.path())?;
    let (server_cpu_s, spent) = (server.cpu_s() - server_cpu_s, Cores::now().since(cores));
    let mut run = Run::new(case.name, server.name(), round);
    run.command = argv.join(" ");
    let told = match wrk.read(&ended) {
        Ok(told) => told,
        Err(error) => {
            run.notes.push(format!("no figures: {error:#}"));
            return Ok(run);
        }
    };
    if told.failed > 0 {
        run.notes.push(format!("{} requests failed", told.failed));
    }
    let run = run
        .with("per_s", told.done as f64 / told.seconds)
        .with("per_cpu_s", told.done as f64 / server_cpu_s)
        .with("server_busy", server_cpu_s / ended.wall_s);
    Ok(others(run, spent, ended.cpu_s() + server_cpu_s, ended.wall_s))
}

impl Server {
    fn name(&self) -> &'static str {
        match self {
            Self::Nginx(_) => "nginx",
            Self::Tare(target) => target.name,
        }
    }

    fn url(&self) -> String {
        match self {
            Self::Nginx(nginx) => nginx.plain_url(),
            Self::Tare(target) => format!("http://127.0.0.1:{}/", target.port),
        }
    }

    fn cpu_s(&self) -> f64 {
        match self {
            Self::Nginx(nginx) => nginx.cpu_s(),
            Self::Tare(target) => proc::cpu_ns(target.child.id()).unwrap_or(0) as f64 / 1e9,
        }
    }
}

impl TareTarget {
    /// Starts it as it comes, stamping, with one worker like nginx and a body of the same size.
    fn start(tare: &Path, name: &'static str, more: &[&str]) -> Result<Self> {
        let port = nginx::free_port()?;
        let mut command = Command::new(tare);
        command.args(["target", "--listen", &format!("127.0.0.1:{port}"), "--workers", "1", "--size", "440"]);
        command.args(more);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = process::spawn_on(&mut command, SERVER_CORE).context("starting tare target")?;
        let mut target = Self { name, child, port };
        target.wait_until_it_listens()?;
        Ok(target)
    }

    fn wait_until_it_listens(&mut self) -> Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(5) {
            if let Some(status) = self.child.try_wait()? {
                bail!("tare target ended at once: {status}");
            }
            if std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        bail!("tare target did not listen within 5 s")
    }
}

impl Drop for TareTarget {
    fn drop(&mut self) {
        process::end(&mut self.child);
    }
}
