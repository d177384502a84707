//! Memory: flat over time, and little for each connection.

use std::io::Write;
use std::time::Duration;
use tare_system_tests::{Run, Tare, Target, alone, light, patiently};

/// The run, and the most anonymous memory that it had, KiB; from /proc, every 20 ms. Pages of the program's
/// file do not count: other processes share them, and how many there are depends on the kernel and the build.
fn watched(tare: Tare) -> (Run, u64) {
    let running = tare.start();
    running.process.wait_for_exec("tare");
    let mut anon = 0;
    while let Some(now) = running.process.rss_anon_kib() {
        anon = anon.max(now);
        std::thread::sleep(Duration::from_millis(20));
    }
    (running.finish(), anon)
}

#[test]
fn memory_does_not_grow_with_the_length_of_the_run() {
    let _light = light();
    // 64 connections at 5 ms each: up to 12 800/s, over 100 000 requests in 12 s. Twenty bytes kept for each
    // would show. Histograms grow once by what a larger time needs, and a longer run meets larger ones: gross,
    // net, tare and unread.
    let target = Target::start("--no-truth --delay 5ms");
    let run = |time: &str| {
        watched(Tare::http(&format!("--parallel 64 --duration {time} {}", target.url())).ahead())
    };
    // A busy machine may make the main thread late, which then needs one more buffer for an interval.
    patiently(3, || {
        let (short, short_anon) = run("3s");
        let (long, long_anon) = run("12s");
        assert!(long.total("done") > 2 * short.total("done"), "four times as long: {short}\n{long}");
        assert!(long_anon < short_anon + 2048, "{short_anon} KiB after 3 s, {long_anon} KiB after 12 s");
        assert!(long_anon < 14 * 1024, "{long_anon} KiB with 64 connections");
        // The result tells the same of itself: looked at once a second, so not more than was seen from outside.
        let told = long.int("generator.anon_peak_bytes") / 1024;
        assert!(told <= long_anon + 256 && told * 2 > long_anon, "{told} KiB told, {long_anon} KiB seen");
    });
}

/// Each engine thread has a table of descriptors of its own, so the limit is for each thread; a target has one.
fn tables_for(connections: u64) -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let tables = connections.div_ceil(limit - 300);
    assert!(
        tables <= 8,
        "a limit of {limit} descriptors is too few to tell: run with ulimit -Hn 10000 or more"
    );
    tables
}

#[test]
fn fifty_thousand_connections_cost_less_than_8_kb_each() {
    let _alone = alone();
    const FEW: u64 = 100;
    const MANY: u64 = 50_000;
    let threads = tables_for(MANY);
    let targets: Vec<_> =
        (0..threads).map(|_| Target::start("--delay 3s --no-truth --backlog 65535")).collect();
    // In order, with as many targets as threads: thread i has every i-th request, and so the i-th target.
    let mut urls = tempfile::NamedTempFile::new().expect("a scratch file");
    targets.iter().for_each(|target| writeln!(urls, "{}", target.url()).expect("room for a line"));
    let run = |connections: u64, time: &str| {
        // 28 232 ports for each source address: two would do.
        let sources = "--source-ip 127.0.0.2,127.0.0.3,127.0.0.4";
        let load = format!(
            "--parallel {connections} --threads {threads} --ramp-connections 20k --duration {time} --grace 1s"
        );
        let tare = Tare::http(&format!("{load} --order sequential {sources} {}", urls.path().display()));
        watched(tare.limit(Duration::from_secs(60)))
    };
    let (crowd, crowd_anon) = run(MANY, "7s");
    assert_eq!(crowd.int("connections.open_peak"), MANY, "{crowd}");
    assert_eq!((crowd.total("failed"), crowd.total("missed")), (0, 0), "{crowd}");
    // Each has carried requests: opened within 2.5 s, answered 3 s later.
    assert!(crowd.total("done") > MANY / 2, "{crowd}");
    let (few, few_anon) = run(FEW, "3500ms");
    assert_eq!(few.int("connections.open_peak"), FEW, "{few}");
    let each = (crowd_anon - few_anon) as f64 * 1024.0 / (MANY - FEW) as f64;
    println!("{each:.0} bytes for each of {MANY} connections ({few_anon} KiB with {FEW}, {crowd_anon} KiB)");
    assert!(each < 8_000.0, "{each} bytes for each connection ({few_anon} KiB, {crowd_anon} KiB)");
}
