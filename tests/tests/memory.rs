//! Memory: flat over time, and little for each connection.

use std::process::Command;
use std::time::Duration;
use tare_system_tests::{Run, Tare, Target, alone, need, need_root, patiently};

/// The run, and the most anonymous and the most resident memory that it had, KiB; from /proc, every 20 ms.
fn watched(tare: Tare) -> (Run, u64, u64) {
    let running = tare.start();
    running.process.wait_for_exec("tare");
    let (mut anon, mut resident) = (0, 0);
    while let (Some(now), Some(rss)) = (running.process.rss_anon_kib(), running.process.rss_kib()) {
        (anon, resident) = (anon.max(now), resident.max(rss));
        std::thread::sleep(Duration::from_millis(20));
    }
    (running.finish(), anon, resident)
}

#[test]
fn memory_does_not_grow_with_the_length_of_the_run() {
    let _alone = alone();
    // 64 connections at 5 ms each: up to 12 800/s, over 100 000 requests in 12 s. Ten bytes kept for each would show.
    let target = Target::start("--no-truth --delay 5ms");
    let run = |time: &str| {
        watched(Tare::http(&format!("--parallel 64 --duration {time} {}", target.url())).ahead())
    };
    // A busy machine may make the main thread late, which then needs one more buffer for an interval.
    patiently(3, || {
        let (short, short_anon, _) = run("3s");
        let (long, long_anon, long_resident) = run("12s");
        assert!(long.total("done") > 2 * short.total("done"), "four times as long: {short}\n{long}");
        assert!(long_anon < short_anon + 1024, "{short_anon} KiB after 3 s, {long_anon} KiB after 12 s");
        assert!(long_resident < 16 * 1024, "{long_resident} KiB resident with 64 connections");
        // The result tells the same of itself: looked at once a second, so not more than was seen from outside.
        let told = long.int("generator.anon_peak_bytes") / 1024;
        assert!(told <= long_anon + 256 && told * 2 > long_anon, "{told} KiB told, {long_anon} KiB seen");
    });
}

/// Words that raise the limit on descriptors, and how many connections it then allows, 50 000 at most.
fn room_for_connections() -> (Vec<&'static str>, u64) {
    need_root();
    need("prlimit");
    let raise = vec!["prlimit", "--nofile=120000:120000"];
    if Command::new(raise[0]).args(&raise[1..]).arg("true").status().is_ok_and(|status| status.success()) {
        return (raise, 50_000);
    }
    // Some machines give a root that may not do that (no CAP_SYS_RESOURCE).
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let room = 50_000.min(limit - 200);
    if room < 50_000 {
        println!(
            "SKIPPED the part beyond {room} connections: the hard limit on descriptors is {limit} and may not be raised"
        );
    }
    assert!(
        room >= 10_000,
        "a limit of {limit} descriptors is too few to tell: run with ulimit -Hn 60000 or more"
    );
    (Vec::new(), room)
}

#[test]
fn fifty_thousand_connections_cost_less_than_8_kb_each() {
    let _alone = alone();
    const FEW: u64 = 100;
    let (raise, many) = room_for_connections();
    let target = Target::start_through(&raise, "--delay 5s --no-truth --backlog 65535");
    let run = |connections: u64, time: &str| {
        // 28 232 ports for each source address: two would do.
        let sources = "--source-ip 127.0.0.2,127.0.0.3,127.0.0.4";
        let load =
            format!("--parallel {connections} --ramp-connections 12k --duration {time} --grace 1s {sources}");
        let tare = Tare::http(&format!("{load} {}", target.url())).through(&raise.join(" "));
        watched(tare.limit(Duration::from_secs(40)))
    };
    let (crowd, crowd_anon, _) = run(many, "11s");
    assert_eq!(crowd.int("connections.open_peak"), many, "{crowd}");
    assert_eq!((crowd.total("failed"), crowd.total("missed")), (0, 0), "{crowd}");
    // Each has carried requests: opened within 4.2 s, answered 5 s later.
    assert!(crowd.total("done") > many / 2, "{crowd}");
    let (few, few_anon, _) = run(FEW, "6s");
    assert_eq!(few.int("connections.open_peak"), FEW, "{few}");
    let each = (crowd_anon - few_anon) as f64 * 1024.0 / (many - FEW) as f64;
    println!("{each:.0} bytes for each of {many} connections ({few_anon} KiB with {FEW}, {crowd_anon} KiB)");
    assert!(each < 8_000.0, "{each} bytes for each connection ({few_anon} KiB, {crowd_anon} KiB)");
}
