//! HTTPS over kept connections: CPU for a million requests, beside h2load over HTTP/1.1.

use crate::program::{self, done};
use crate::stats::median;
use crate::{CPU, Options, PORT, QUIET, SERVER, VIA};
use anyhow::{Context, Result, ensure};
use bed::Bed;
use std::path::Path;
use std::process::Command;

const ROWS: [(&str, &str); 3] =
    [("h2load --h1", ""), ("tare, kernel's sockets", ""), ("tare --via, general", VIA)];

pub fn case(bed: &Bed, options: &Options) -> Result<()> {
    let folder = tare_system_tests::scratch();
    let listen = format!("ssl; {}", certificate(folder.path())?);
    let nginx = program::nginx(bed.sink(), &listen, 1)?;
    let binary = tare_system_tests::binary().display().to_string();
    let url = format!("https://{SERVER}:{PORT}/");
    let Options { rounds, seconds, connections, .. } = options;
    let (count, length) = (connections.to_string(), seconds.to_string());
    let mut figures = vec![Vec::new(); ROWS.len()];
    for _ in 0..*rounds {
        for (row, figures) in figures.iter_mut().enumerate() {
            let duration = format!("{length}s");
            let wanted = if row == 0 {
                vec!["h2load", "--h1", "-t1", "-c", &count, "-D", &length, &url]
            } else {
                let via: Vec<&str> = ROWS[row].1.split_whitespace().collect();
                let load = ["--insecure", "--parallel", &count, "--duration", &duration, &url];
                [&[&binary, "http", "--cpus", CPU, "--threads", "1"], &QUIET[..], &via, &load].concat()
            };
            let ran = program::run(bed.generator(), &wanted)?;
            let done = if row == 0 { requests_of_h2load(&ran.said) } else { done(&ran.json()?) }
                .with_context(|| format!("{} printed {}", wanted.join(" "), ran.said))?;
            figures.push((done as f64 / *seconds as f64, ran.cpu_s_per_million(done)));
        }
    }
    drop(nginx);
    println!("HTTPS, keep-alive: {connections} connections, {rounds} rounds of {seconds} s each, medians");
    println!("{:<26} {:>12} {:>12} {:>10}", "", "requests/s", "CPU s/M", "x h2load");
    let middle = |values: Vec<f64>| median(&values).unwrap_or(f64::NAN);
    for ((name, _), row) in ROWS.iter().zip(&figures) {
        let ratios = row.iter().zip(&figures[0]).map(|(ours, theirs)| ours.1 / theirs.1).collect();
        println!(
            "{name:<26} {:>12.0} {:>12.2} {:>10.2}",
            middle(row.iter().map(|run| run.0).collect()),
            middle(row.iter().map(|run| run.1).collect()),
            middle(ratios)
        );
    }
    println!();
    Ok(())
}

/// nginx's directives for a certificate that is made in the folder.
pub fn certificate(folder: &Path) -> Result<String> {
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| folder.join(name).display().to_string());
    let words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=tare";
    let mut command = Command::new("openssl");
    command.args(words.split(' ')).args(["-keyout", &key, "-out", &cert]);
    let made = command.output().context("running openssl to make a certificate")?;
    ensure!(made.status.success(), "openssl made no certificate: {}", String::from_utf8_lossy(&made.stderr));
    Ok(format!("ssl_certificate {cert}; ssl_certificate_key {key}"))
}

/// `requests: 158316 total, 158380 started, 158316 done, 158310 succeeded, 1 failed, 2 errored, 3 timeout`
fn requests_of_h2load(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("requests: "))?;
    let count = |word: &str| -> Option<u64> {
        let part = line.split(", ").find(|part| part.ends_with(word))?;
        part.split_whitespace().next()?.parse().ok()
    };
    (count(" failed")? == 0).then(|| count(" succeeded")).flatten()
}
