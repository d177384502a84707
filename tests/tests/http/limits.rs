//! What the generator's own machine runs out of: disk, descriptors, ports; and a clock that jumps.

use std::path::Path;
use std::time::Duration;
use tare_system_tests::{Run, Tare, Target, beside_others, libfaketime, need, need_root, scratch};

/// A script that mounts a disk of this size and goes on as the command that follows, in a mount namespace of
/// its own.
fn on_a_small_disk(folder: &Path, size: &str) -> String {
    need_root();
    need("unshare");
    let disk = folder.join("disk");
    std::fs::create_dir(&disk).expect("a scratch folder");
    let script = folder.join("mount.sh");
    let text = format!("set -e\nmount -t tmpfs -o size={size} tare-test {}\nexec \"$@\"\n", disk.display());
    std::fs::write(&script, text).expect("a scratch file");
    format!("unshare --mount --propagation private sh {}", script.display())
}

const FILES: [&str; 6] =
    ["plan.toml", "environment.json", "intervals.jsonl", "latency.hlog", "report.html", "result.json"];

fn names(run: &Run, list: &str) -> Vec<String> {
    let list = run.at(list).as_array().into_iter().flatten();
    list.map(|entry| entry.as_str().or(entry["what"].as_str()).unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_full_disk_costs_files_but_not_the_run() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    // 64 KiB takes the small files, and not the report; 4 KiB takes next to nothing.
    for (size, least_lost) in [("64k", 1), ("4k", 4)] {
        let folder = scratch();
        let wrapper = on_a_small_disk(folder.path(), size);
        let out = folder.path().join("disk/run");
        let load = format!("--rate 500 --duration 2500ms --out {} {}", out.display(), target.url());
        let run = Tare::http(&load).through(&wrapper).run();
        // 500/s for 2.5 s, as if nothing had happened.
        assert_eq!((run.total("offered"), run.total("done")), (1_250, 1_250), "{run}");
        assert_eq!(run.at("partial"), false, "{run}");
        let (kept, lost) = (names(&run, "store.kept"), names(&run, "store.lost"));
        assert!(lost.len() >= least_lost, "{run}");
        for file in FILES {
            let told = kept.iter().chain(&lost).filter(|name| *name == file).count();
            assert_eq!(told, 1, "{file} is either kept or lost: {run}");
        }
        // The run is good, and what was asked for of it is not all there.
        if ["VALID", "DEGRADED"].contains(&run.word()) {
            assert_eq!(run.code, Some(1), "{run}");
        }
        let said = run.stderr.lines().filter(|line| line.contains("could not store"));
        let said: Vec<&str> = said.collect();
        assert!(said.len() == 1 && said[0].contains("No space left"), "one sentence: {run}");
        let reasons = run.at("store.lost").as_array().expect("a list");
        assert!(
            reasons
                .iter()
                .all(|entry| entry["why"].as_str().is_some_and(|why| why.contains("No space left"))),
            "{run}"
        );
    }
}

#[test]
fn with_64_descriptors_200_connections_are_told_as_missed() {
    let _shared = beside_others();
    need("prlimit");
    let folder = scratch();
    let out = folder.path().join("run");
    let target = Target::start("--delay 50ms --no-truth");
    let load = format!("--parallel 200 --duration 1500ms --out {} {}", out.display(), target.url());
    let run = Tare::http(&load).through("prlimit --nofile=64:64").run();
    assert!(run.outcome("missed.no_descriptor") > 100, "{run}");
    assert!(run.outcome("200") > 100, "those that have one go on: {run}");
    assert!(run.int("connections.open_peak") < 64, "{run}");
    assert_eq!((run.word(), run.code), ("INVALID", Some(4)), "{run}");
    let criterion = run.criterion("missed.generator");
    assert!(criterion.severity == "INVALID" && criterion.advice.contains("ulimit -n"), "{criterion:?}");
    // The connections are closed by then: the result finds descriptors for its files.
    assert_eq!(run.result["store"]["lost"].as_array().map(Vec::len), Some(0), "{run}");
    assert!(FILES.iter().all(|file| out.join(file).is_file()), "{run}");
}

/// A network of its own with `lo` and 100 local ports.
const HUNDRED_PORTS: &str =
    "set -e; ip link set lo up; echo '40000 40099' > /proc/sys/net/ipv4/ip_local_port_range; exec \"$@\"";

#[test]
fn with_100_ports_300_connections_are_told_as_missed() {
    let _shared = beside_others();
    need_root();
    need("ip");
    let wrapper = ["unshare", "--net", "sh", "-c", HUNDRED_PORTS, "sh"];
    let target = Target::start_through(&wrapper, "--delay 50ms --no-truth --listen 127.0.0.1:8080");
    let load = format!("--parallel 300 --duration 1500ms {}", target.url());
    let run = Tare::http(&load).in_network_of(target.process.pid()).run();
    assert!(run.outcome("missed.no_port") > 100, "{run}");
    // 40000…40099 are 100 ports.
    let peak = run.int("connections.open_peak");
    assert!((50..=100).contains(&peak), "{peak}; {run}");
    assert_eq!((run.word(), run.code), ("INVALID", Some(4)), "{run}");
    let criterion = run.criterion("missed.generator");
    assert!(criterion.severity == "INVALID", "{criterion:?}");
    let advice = criterion.advice;
    assert!(advice.contains("--source-ip") && advice.contains("ip_local_port_range"), "{advice}");
}

/// What the advice says works: a second source address has its own 100 ports.
#[test]
fn a_second_source_address_brings_another_100_ports() {
    let _shared = beside_others();
    need_root();
    let wrapper = ["unshare", "--net", "sh", "-c", HUNDRED_PORTS, "sh"];
    let target = Target::start_through(&wrapper, "--delay 50ms --no-truth --listen 127.0.0.1:8080");
    let load = format!("--parallel 180 --source-ip 127.0.0.2,127.0.0.3 --duration 1s {}", target.url());
    let run = Tare::http(&load).in_network_of(target.process.pid()).run();
    assert_eq!((run.total("missed"), run.int("connections.open_peak")), (0, 180), "{run}");
}

#[test]
fn a_clock_that_jumps_in_mid_run_makes_the_run_invalid() {
    let _shared = beside_others();
    let folder = scratch();
    let offset = folder.path().join("offset");
    std::fs::write(&offset, "+0\n").expect("a scratch file");
    let target = Target::start("--no-truth");
    let start = || {
        Tare::http(&format!("--rate 200 --duration 3s {}", target.url()))
            .env("LD_PRELOAD", libfaketime().display().to_string())
            .env("FAKETIME_TIMESTAMP_FILE", offset.display().to_string())
            .env("FAKETIME_NO_CACHE", "1")
            .start()
    };
    // The library alone is no jump.
    let steady = start().finish();
    assert!(steady.criterion("clock").holds, "{steady}");

    let running = start();
    running.sleep_until(Duration::from_millis(1_500));
    std::fs::write(&offset, "+7\n").expect("a scratch file");
    let run = running.finish();
    // By hand: the kernel's clock as the program sees it is 7 s ahead of the counter, ± the time of the run.
    let criterion = run.criterion("clock");
    assert!(!criterion.holds && criterion.severity == "INVALID", "{criterion:?}; {run}");
    assert!((6.5e9..7.5e9).contains(&criterion.value), "{criterion:?}");
    assert_eq!((run.word(), run.code), ("INVALID", Some(4)), "{run}");
    // Complete all the same: 200/s for 3 s.
    assert_eq!(run.total("offered"), 600, "{run}");
    assert_eq!(run.total("done"), 600, "{run}");
}
