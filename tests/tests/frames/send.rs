//! `tare send` from outside: what leaves is what was asked for, by the kernel's counters and tshark.

mod both_ends;
mod chosen;
mod content;
mod endings;
mod launch;
mod script;
mod silence;
mod sockets;
mod steered;
mod streams;
mod tapes;

use port::Stamp;
use port::pcap::{Statistics, Style, Writer};
use std::fs;
use std::process::Command;
use std::time::Duration;
use tare_system_tests::bed::{Namespace, TestBed, Topology, run_in};
use tare_system_tests::process::wait_until;
use tare_system_tests::tmux::Tmux;
use tare_system_tests::{Run, Tare, alone, beside_others, binary, light, need, patiently, scratch};

/// A hardware address that nobody has: frames go there without being asked for.
const NOBODY: &str = "02:00:00:00:00:99";

/// What `tcpdump` on the sink gets while `load` runs, one line of these fields a frame.
fn captured(bed: &TestBed, frames: u64, fields: &str, load: Tare) -> (Run, Vec<Vec<String>>) {
    need("tcpdump");
    let folder = scratch();
    let file = folder.path().join("seen.pcap");
    let mut tcpdump = bed
        .sink()
        .command("tcpdump")
        .args(["-i", "sink0", "-Q", "in", "-U", "--time-stamp-precision=nano", "-B", "8192"])
        .args(["-c", &frames.to_string(), "-w"])
        .arg(&file)
        .arg("udp")
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("tcpdump runs");
    // It listens when it has written the file's head.
    let listens = || fs::metadata(&file).is_ok_and(|file| file.len() >= 24);
    (0..100).take_while(|_| !listens()).for_each(|_| std::thread::sleep(Duration::from_millis(50)));
    let run = load.run();
    let is_over = |tcpdump: &mut std::process::Child| tcpdump.try_wait().expect("a child").is_some();
    (0..60)
        .take_while(|_| !is_over(&mut tcpdump))
        .for_each(|_| std::thread::sleep(Duration::from_millis(50)));
    let _ = tcpdump.kill();
    let _ = tcpdump.wait();
    (run, dissected(&file, fields))
}

/// tshark's word on a capture file.
fn dissected(file: &std::path::Path, fields: &str) -> Vec<Vec<String>> {
    need("tshark");
    let mut tshark = Command::new("tshark");
    tshark.args(["-o", "frame.generate_md5_hash:TRUE", "-T", "fields", "-r"]).arg(file);
    for field in fields.split(' ') {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().expect("tshark runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn send(bed: &TestBed, arguments: &str) -> Tare {
    Tare::packets(&format!("send packet:gen0 {arguments}")).inside(bed.generator())
}
