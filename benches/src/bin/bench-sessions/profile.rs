//! Whose CPU time a request of `--via` takes, by where samples of it fall (perf, 4 000 a second, with the calls
//! that led there): what no generator over a veth pair could be without, and what is Tare's own. Of Tare's own,
//! without a kernel and a wire (`session_rate`), what each part takes.

use crate::https::certificate;
use crate::program::{self, done};
use crate::scratch::Scratch;
use crate::{CPU, Options, PORT, QUIET, SERVER, VIA};
use anyhow::{Context, Result, ensure};
use bed::Bed;
use std::process::Command;

/// The engine thread.
const THREAD: &str = "tare-http-0";

/// Where a sample belongs: to the first row one of whose functions (or any that begins so) is among the calls
/// that led to it.
const ROWS: [(&str, &[&str]); 8] = [
    ("target's TCP, in our softirq", &["tcp_v4_rcv", "ip_rcv", "ip_list_rcv"]),
    ("rest of softirq", &["handle_softirqs", "__do_softirq", "net_rx_action"]),
    ("veth", &["veth_xmit", "__dev_direct_xmit", "dev_hard_start_xmit"]),
    ("send: copying into the kernel", &["_copy_from_iter", "skb_copy_datagram_from_iter"]),
    ("send: the rest", &["__sys_sendmmsg", "____sys_sendmsg", "packet_sendmsg", "tpacket_snd"]),
    ("waiting for answers", &["do_sys_poll", "__x64_sys_ppoll", "do_nanosleep", "schedule"]),
    ("other system calls, interrupts", &["do_syscall_64", "asm_sysvec", "asm_common_interrupt", "irqentry"]),
    // The library's assembly has names of its own.
    ("TLS", &["rustls::", "<rustls::", "aws_lc_", "<aws_lc_", "_aesni", "__aesni", "gcm_", "_vaes"]),
];

/// Parts of Tare's own code: the first that a function's name has one of these words of. What was inlined
/// counts for the function that it is in.
const PARTS: [(&str, &[&str]); 6] = [
    ("checksums; first reading of what came", &["wire::checksum"]),
    ("the port: frames into and out of rings", &["rtrb::", "port::", "memmove", "memcpy"]),
    ("histograms and other measuring", &["hdrhistogram::", "measure::", "stats::"]),
    ("TCP and its sessions", &["tcp::", "session::", "station::", "wire::"]),
    ("HTTP: responses, schedule, accounts", &["http::", "httparse::", "schedule::"]),
    ("the clock", &["clock::", "clock_gettime"]),
];

fn has_perf() -> bool {
    let is_there = Command::new("perf").arg("--version").output().is_ok();
    if !is_there {
        println!("where the time goes: SKIPPED: no perf here (Debian: apt-get install linux-perf)\n");
    }
    is_there
}

pub fn case(bed: &Bed, options: &Options) -> Result<()> {
    if !has_perf() {
        return Ok(());
    }
    let nginx = program::nginx(bed.sink(), "", 1)?;
    let binary = tare_system_tests::binary().display().to_string();
    println!(
        "where the time goes: tare --via, {} connections, {} s; CPU seconds for a million requests",
        options.connections, options.seconds
    );
    println!("{:<34} {:>12} {:>24} {:>24}", "", "keep-alive", "a connection a request", "HTTPS, keep-alive");
    let fast = ["--via-path", "fast"];
    let kept = shares(bed, options, &binary, "http", &fast)?;
    let new = shares(bed, options, &binary, "http", &[&fast[..], &["--no-keep-alive"]].concat())?;
    drop(nginx);
    let folder = tare_system_tests::scratch();
    let nginx = program::nginx(bed.sink(), &format!("ssl; {}", certificate(folder.path())?), 1)?;
    let tls = shares(bed, options, &binary, "https", &["--insecure"])?;
    drop(nginx);
    let names = std::iter::once("Tare's own code").chain(ROWS.iter().map(|(name, _)| *name));
    for (at, name) in names.enumerate() {
        println!("{name:<34} {:>12.2} {:>24.2} {:>24.2}", kept[at], new[at], tls[at]);
    }
    let all = |of: &[f64]| of.iter().sum::<f64>();
    println!("{:<34} {:>12.2} {:>24.2} {:>24.2}\n", "all", all(&kept), all(&new), all(&tls));
    Ok(())
}

/// What one core could do without a kernel and a wire, and what takes its time there.
pub fn own_code(options: &Options) -> Result<()> {
    if !has_perf() {
        return Ok(());
    }
    let program = tare_system_tests::binary().with_file_name("session_rate").display().to_string();
    let seconds = options.seconds.to_string();
    let scratch = Scratch::new()?;
    let path = scratch.path().join("samples").display().to_string();
    let record = ["perf", "record", "--quiet", "-F", "4000", "-e", "cpu-clock", "-o", &path, "--"];
    let words = [&record[..], &[&program, &seconds]].concat();
    let ran = Command::new(words[0]).args(&words[1..]).output().with_context(|| words.join(" "))?;
    ensure!(ran.status.success(), "{}: {}", words.join(" "), String::from_utf8_lossy(&ran.stderr));
    print!("Without a kernel and a wire, to the responder of tare target --over:\n{}", text(&ran.stdout));
    let script = Command::new("perf").args(["script", "-i", &path, "-F", "comm,ip,sym"]).output()?;
    let counts = parts(&text(&script.stdout));
    let all = counts.iter().sum::<u64>().max(1) as f64;
    let names = PARTS.iter().map(|(name, _)| *name).chain(["others, and the kernel"]);
    println!("what the engine's thread does meanwhile, by both paths:");
    for (name, count) in names.zip(&counts) {
        println!("{name:<42} {:>5.1} %", *count as f64 / all * 100.0);
    }
    println!();
    Ok(())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Samples of the engine thread in each of [`PARTS`], and in none: lines `thread address function`.
fn parts(script: &str) -> Vec<u64> {
    let mut counts = vec![0; PARTS.len() + 1];
    for sample in script.lines().filter_map(|line| line.trim_start().strip_prefix(THREAD)) {
        let part = PARTS.iter().position(|(_, words)| words.iter().any(|word| sample.contains(word)));
        counts[part.unwrap_or(PARTS.len())] += 1;
    }
    counts
}

/// CPU seconds of the engine thread for a million requests: its own code, and each row.
fn shares(bed: &Bed, options: &Options, binary: &str, scheme: &str, more: &[&str]) -> Result<Vec<f64>> {
    let Options { seconds, connections, .. } = options;
    let scratch = Scratch::new()?;
    let path = scratch.path().join("samples").display().to_string();
    let (connections, time) = (connections.to_string(), format!("{seconds}s"));
    let url = format!("{scheme}://{SERVER}:{PORT}/");
    let record = ["perf", "record", "--quiet", "-F", "4000", "-g", "-e", "cpu-clock", "-o", &path, "--"];
    let via = VIA.split(' ').collect::<Vec<_>>();
    let load = ["--cpus", CPU, "--threads", "1", "--parallel", &connections, "--duration", &time];
    let words = [&record[..], &[binary, "http"], &QUIET, &via, &load, more, &[&url]].concat();
    let ran = program::run(bed.generator(), &words)?;
    let done = done(&ran.json()?).context("requests of the run")?;
    let script = Command::new("perf").args(["script", "-i", &path, "-F", "comm,ip,sym"]).output()?;
    ensure!(script.status.success(), "perf script: {}", String::from_utf8_lossy(&script.stderr));
    let counts = counted(&String::from_utf8_lossy(&script.stdout));
    Ok(counts.iter().map(|count| *count as f64 / 4_000.0 / done as f64 * 1e6).collect())
}

/// Samples of the engine thread: in its own code, and in each row.
fn counted(script: &str) -> Vec<u64> {
    let mut counts = vec![0; ROWS.len() + 1];
    for sample in script.split("\n\n").filter(|sample| sample.trim_start().starts_with(THREAD)) {
        // Address and function, the innermost first.
        let calls: Vec<&str> =
            sample.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1)).collect();
        let is_in = |names: &[&str]| calls.iter().any(|call| names.iter().any(|name| call.starts_with(name)));
        let row = ROWS.iter().position(|(_, names)| is_in(names));
        counts[row.map_or(0, |row| row + 1)] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_belongs_to_the_part_it_is_named_after() {
        let script = "tare-http-0  55 wire::checksum::sum_of_many\ntare-http-0  56 <tcp::step::Doing>::emit\n\
                      target-0  55 wire::checksum::sum_of_many\n  tare-http-0 57 do_idle\n";
        assert_eq!(parts(script), [1, 0, 0, 1, 0, 0, 1]);
    }

    #[test]
    fn a_sample_belongs_to_the_first_row_that_led_to_it() {
        let script = "tare-http-0 \n\t 1 tcp_ack\n\t 2 tcp_v4_rcv\n\t 3 handle_softirqs\n\t 4 packet_sendmsg\n\n\
                      tare-http-0 \n\t 1 skb_clone\n\t 2 packet_sendmsg\n\t 3 do_syscall_64\n\n\
                      tare-http-0 \n\t 1 tcp::step::run\n\nother \n\t 1 tcp_v4_rcv\n\n";
        let mut expected = vec![0; ROWS.len() + 1];
        (expected[0], expected[1], expected[5]) = (1, 1, 1);
        assert_eq!(counted(script), expected);
    }
}
