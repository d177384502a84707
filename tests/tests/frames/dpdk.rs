//! `dpdk:` through the program: what it sends by others' word, what it receives and forwards, and what it says
//! where it cannot. Without DPDK 22.11 they say SKIPPED.

use std::path::Path;
use std::time::Duration;
use tare_system_tests::bed::{Middlebox, Topology, run_in};
use tare_system_tests::process::wait_until;
use tare_system_tests::{Run, Tare, TestBed, beside_others, need, skipped};

const INSTALL: &str = "apt-get install librte-ethdev23 librte-mempool-ring23 librte-net-null23 \
                       librte-net-af-packet23";

/// Whether the library and the drivers of these tests are here.
fn is_here() -> bool {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];
    let has = |name: &str| folders.iter().any(|folder| Path::new(folder).join(name).exists());
    let is_here = ["ethdev", "net_null", "net_af_packet", "mempool_ring"]
        .iter()
        .all(|part| has(&format!("librte_{part}.so.23")));
    if !is_here {
        skipped(&format!("no DPDK 22.11 here; {INSTALL}"));
    }
    is_here
}

fn run(words: &str) -> Run {
    Tare::packets(words).limit(Duration::from_secs(30)).start().finish_unchecked()
}

#[test]
fn what_dpdk_sends_is_what_the_kernel_receives() {
    if !is_here() {
        return;
    }
    let _beside = beside_others();
    let bed = TestBed::pair();
    let capture = Tare::packets("capture packet:sink0 -t 20s").inside(bed.sink()).start();
    capture.sleep_until(Duration::from_millis(700));
    let sent = Tare::packets(
        "send dpdk:net_af_packet0,iface=gen0 -n 5000 --rate 20k --sign --vary sport=1024..2047 --size 64,594,1518 \
         -m 02:18:00:00:00:99",
    )
    .inside(bed.generator())
    .start()
    .finish_unchecked();
    assert_eq!(sent.outcome("sent"), 5_000, "{sent}");
    capture.interrupt();
    let seen = capture.finish_unchecked();
    assert_eq!(received(&seen, 0) + lost(&seen, 0), 5_000, "{seen}");
}

#[test]
fn dpdk_captures_and_forwards_what_is_sent() {
    if !is_here() {
        return;
    }
    let _beside = beside_others();
    let bed = TestBed::up(Topology::unique().middlebox(Middlebox::Wire));
    let middle = bed.middlebox().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let forward = Tare::packets(&format!(
        "forward dpdk:net_af_packet0,iface=mid0 dpdk:net_af_packet1,iface=mid1 --out {}",
        out.display()
    ));
    let forward = forward.inside(middle).limit(Duration::from_secs(30)).start();
    let capture = Tare::packets("capture dpdk:net_af_packet0,iface=sink0 -t 20s").inside(bed.sink());
    let capture = capture.start();
    wait_until("the middlebox runs", || out.join("begun.json").exists());
    capture.sleep_until(Duration::from_millis(1_000));
    let sent = Tare::packets("send packet:gen0 -n 3000 --rate 10k --sign -m 02:18:00:00:00:99")
        .inside(bed.generator())
        .start()
        .finish_unchecked();
    assert_eq!(sent.outcome("sent"), 3_000, "{sent}");
    forward.sleep_until(Duration::from_millis(1_500));
    forward.interrupt();
    let forwarded = forward.finish_unchecked();
    capture.interrupt();
    let seen = capture.finish_unchecked();
    // Where this machine has no time for a program, its ring of 512 frames runs over: that is counted.
    assert_eq!(received(&forwarded, 0) + lost(&forwarded, 0), 3_000, "{forwarded}");
    let passed = forwarded.at("/packets/ports/1/sent").as_u64().unwrap_or_default();
    assert_eq!(passed, received(&forwarded, 0), "{forwarded}");
    assert_eq!(received(&seen, 0) + lost(&seen, 0), passed, "{seen}");
    assert!(received(&seen, 0) > 100, "{seen}");
}

fn received(run: &Run, port: usize) -> u64 {
    run.at(&format!("/packets/ports/{port}/received")).as_u64().unwrap_or_default()
}

/// Frames that a port has lost, at all places.
fn lost(run: &Run, port: usize) -> u64 {
    let drops = run.at(&format!("/packets/ports/{port}/drops")).as_array().cloned().unwrap_or_default();
    drops.iter().filter_map(|drop| drop["frames"].as_u64()).sum()
}

#[test]
fn what_the_environment_refuses_is_one_sentence() {
    if !is_here() {
        return;
    }
    let fails = |port: &str, says: &str| {
        let run = run(&format!("send {port} -n 1 -m 02:00:00:00:00:01"));
        assert_eq!(run.code, Some(2), "{port}: {run}");
        let said = run.stderr.trim();
        assert!(said.contains(says), "{port}: {said}");
        assert_eq!((said.lines().count(), run.stdout.as_str()), (1, ""), "{port}: {said}");
    };
    fails("dpdk,eal=--moon:net_null0", "unrecognized option '--moon'; correct eal=");
    fails("dpdk,eal=-lnine:net_null0", "correct eal=");
    fails("dpdk,pages=none,eal=-m8:net_null0", "there is no memory for ");
    fails("dpdk,library=/nowhere:net_null0", "apt-get install librte-ethdev23");
    if free_huge_pages() == 0 {
        fails("dpdk,pages=huge:net_null0", "this machine has no free huge page; reserve some with 'sysctl");
    }
}

fn free_huge_pages() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("HugePages_Free:"));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or_default()
}

#[test]
fn a_signal_ends_a_run_of_dpdk_and_nothing_is_left() {
    if !is_here() {
        return;
    }
    let files = || std::fs::read_dir("/var/run/dpdk").into_iter().flatten().flatten().count();
    let before = files();
    let running = Tare::packets("send dpdk:net_null0 --rate 1k -t 60s -m 02:00:00:00:00:01")
        .limit(Duration::from_secs(30))
        .start();
    running.sleep_until(Duration::from_millis(1_500));
    assert_eq!(files(), before, "files of DPDK while it runs");
    running.interrupt();
    let run = running.finish_unchecked();
    assert!(run.outcome("sent") > 300, "{run}");
    assert_eq!(files(), before, "files of DPDK");
}

#[test]
fn frames_that_the_kernel_does_not_take_are_no_sent_ones_and_hold_nobody() {
    if !is_here() {
        return;
    }
    need("tc");
    let _beside = beside_others();
    let bed = TestBed::pair();
    run_in(bed.generator(), "tc qdisc add dev gen0 root tbf rate 1kbit burst 3000 limit 1000000");
    let load = "-n 700 --rate max -t 1s -m 02:18:00:00:00:99";
    let run = Tare::packets(&format!("send dpdk:net_af_packet0,iface=gen0,qdisc_bypass=0 {load}"));
    let run = run.inside(bed.generator()).limit(Duration::from_secs(20)).start().finish_unchecked();
    // The driver would wait for room without end.
    assert!(run.code == Some(4) && lost(&run, 0) > 0, "{run}");
    assert!(run.failing().iter().any(|criterion| criterion.name == "transmit.drops"), "{run}");
}

#[test]
fn a_forward_to_a_link_that_is_down_counts_every_frame() {
    if !is_here() {
        return;
    }
    let _beside = beside_others();
    let bed = TestBed::up(Topology::unique().middlebox(Middlebox::Wire));
    let middle = bed.middlebox().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let forward = Tare::packets(&format!(
        "forward dpdk:net_af_packet0,iface=mid0 dpdk:net_af_packet1,iface=mid1 --out {}",
        out.display()
    ));
    let forward = forward.inside(middle).limit(Duration::from_secs(30)).start();
    wait_until("the middlebox runs", || out.join("begun.json").exists());
    run_in(bed.sink(), "ip link set sink0 down");
    forward.sleep_until(Duration::from_millis(800));
    let sent =
        Tare::packets("send packet:gen0 -n 300 --rate 3k -m 02:18:00:00:00:99").inside(bed.generator());
    assert_eq!(sent.start().finish_unchecked().outcome("sent"), 300);
    forward.sleep_until(Duration::from_millis(1_500));
    forward.interrupt();
    let run = forward.finish_unchecked();
    assert!(run.outcome("link.down") >= 300, "{run}");
}

#[test]
fn a_device_belongs_to_its_namespace_and_its_slots_to_its_mtu() {
    if !is_here() {
        return;
    }
    let _beside = beside_others();
    let bed = TestBed::pair();
    run_in(bed.sink(), "ip link set sink0 down");
    run_in(bed.sink(), "ip link set sink0 name gen0 up");
    let (near, far) = (&bed.generator().name, &bed.sink().name);
    let port = |name: &str| format!("dpdk,netns={name}:net_af_packet0,iface=gen0");
    let both = format!("send {} --receive {} -n 5 --sign -m 02:18:00:00:00:99", port(near), port(far));
    let both = run(&both);
    assert!(both.code == Some(2) && both.stderr.contains("is open in another network namespace"), "{both}");
    run_in(bed.generator(), "ip link set gen0 mtu 9000");
    let large = run(&format!("send {} -n 5 -m 02:18:00:00:00:99", port(near)));
    assert!(large.code == Some(2) && large.stderr.contains("framesz=16384"), "{large}");
    // What it says helps.
    let advised = format!("{},blocksz=65536,framesz=16384", port(near));
    let advised = run(&format!("send {advised} -n 5 --size 9000 -m 02:18:00:00:00:99"));
    assert_eq!(advised.outcome("sent"), 5, "{advised}");
}

#[test]
fn the_interface_stays_as_it_was_and_what_the_host_sends_is_not_received() {
    if !is_here() {
        return;
    }
    let _beside = beside_others();
    let bed = TestBed::pair();
    let is_promiscuous = || run_in(bed.sink(), "ip link show sink0").contains("PROMISC");
    run_in(bed.sink(), "ip link set sink0 promisc on");
    let capture = Tare::packets("capture dpdk:net_af_packet0,iface=sink0 -t 2s").inside(bed.sink()).start();
    capture.sleep_until(Duration::from_millis(900));
    let own =
        Tare::packets("send packet,qdisc=keep:sink0 -n 50 --rate 1k -m ff:ff:ff:ff:ff:ff").inside(bed.sink());
    assert_eq!(own.start().finish_unchecked().outcome("sent"), 50);
    let seen = capture.finish_unchecked();
    assert!(received(&seen, 0) < 50, "{seen}");
    assert!(is_promiscuous(), "{}", run_in(bed.sink(), "ip link show sink0"));
}
