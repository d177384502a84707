//! Latency is the target's, whichever way requests take: by the kernel's sockets and by a port it is the same.

use super::{Ground, OWN, SERVER};
use rustix::process::Signal;
use std::time::Duration;
use tare_system_tests::run::Running;
use tare_system_tests::trust::truth;
use tare_system_tests::{Run, Tare, Target, alone, beside_others, light, need, patiently, scratch, skipped};

/// As many as a busy machine needs until its shortest times are the target's.
const MOST_ROUNDS: usize = 12;

#[test]
fn the_latency_is_the_same_as_by_the_kernels_sockets() {
    let _alone = alone();
    let ground = Ground::new();
    let folder = scratch();
    // Four of five take 1 ms, one takes 9 ms: the median is of the first peak, p99 of the second.
    let peaks = folder.path().join("delays");
    std::fs::write(&peaks, "1ms\n1ms\n9ms\n1ms\n1ms\n").expect("a scratch file");
    // Of the short one, 5 % are as much as 10 us; its p99 is this machine's.
    for (delay, percentiles) in
        [("200us".to_owned(), 1), ("2ms".to_owned(), 2), (format!("file:{}", peaks.display()), 2)]
    {
        let target = ground.target_ahead(&format!("--delay {delay} --no-truth"));
        let load = format!("--rate 800 --duration 700ms --parallel 60 --warmup 100ms {}", target.url());
        // Whatever else this machine does makes times longer: the shortest of some is the target's.
        let (mut kernel, mut ports) = ([u64::MAX; 2], [[u64::MAX; 2]; 2]);
        let mut apart = None;
        for round in 1..=MOST_ROUNDS {
            least(&mut kernel, &ground.by_kernel(&load).ahead().run());
            for (path, port) in ["general", "fast"].into_iter().zip(&mut ports) {
                let load = format!("--via-path {path} {load}");
                least(port, &ground.by("packet", &load).ahead().run());
            }
            let of_each =
                ports.iter().map(|port| ["p50", "p99"].into_iter().zip(kernel.into_iter().zip(*port)));
            let mut compared = of_each.flat_map(|both| both.take(percentiles));
            apart = compared.find_map(|(name, (kernel, port))| disagreement(name, kernel, port));
            if round > 1 && apart.is_none() {
                break;
            }
        }
        assert_eq!(apart, None, "--delay {delay}");
    }
}

/// A target takes the end of a response for lost, and sends it again, if that is not acknowledged in about two
/// round trips.
#[test]
fn the_end_of_a_response_is_acknowledged_before_the_target_sends_it_again() {
    let _light = light();
    let ground = Ground::new();
    for path in ["fast", "general"] {
        patiently(4, || {
            let target = ground.target_ahead("--size 2000");
            let probes = || ground.kernel_of_server("TcpExt", "TCPLossProbes");
            let before = probes();
            let load = format!("--via-path {path} --rate 50 --parallel 8 --duration 2s {}", target.url());
            let run = ground.by("packet", &load).ahead().run();
            assert_eq!(run.outcome("200"), 100, "{run}");
            // A busy machine may hold up one or two.
            assert!(probes() - before < 5, "{path}: {} of 100; {run}", probes() - before);
        });
    }
}

/// Requests that are due together leave one after the other, and each is timed when it leaves. Over a veth pair
/// the target's kernel takes some microseconds for each in this thread: of those behind many others, they would
/// seem to be the target's.
#[test]
fn what_leaves_in_a_batch_does_not_wait_in_it_on_the_targets_account() {
    let _alone = alone();
    need("taskset");
    let ground = Ground::new();
    for port in ["packet", "xdp"] {
        patiently(4, || {
            let target = ground.target_ahead("--delay 200us --workers 1 --cpus 1");
            let load = format!("--via-path fast --parallel 24 --cpus 0 --duration 700ms {}", target.url());
            let run = ground.by(port, &load).ahead().run();
            let truth = truth::net_ns(&target.truth(), None);
            for (key, told, at_target) in
                truth::compare(&run, "net_ns", truth).iter().map(|told| (told.key, told.told, told.truth))
            {
                // The target's own times, and the way there and back.
                let longer = told - at_target + truth::loopback_ns() as f64;
                let is_tail = key.starts_with("p99");
                assert!(is_tail || longer < 20_000.0, "{port}: {key} is {longer} ns longer; {run}");
            }
            // Nor does it leave late: what has become free leaves before more is read.
            for percentile in ["lateness.p50", "lateness.p90"] {
                let lateness = run.criterion(percentile);
                assert!(lateness.holds, "{port}: {lateness:?}; {run}");
            }
        });
    }
}

/// Head and body leave together, and what does not fit at once in full segments, two and two: a target may
/// leave anything else alone without an acknowledgment for 40 ms. Of any size, over TLS, and with pieces from
/// a file.
#[test]
fn uploads_take_as_long_as_by_the_kernels_sockets() {
    let _light = light();
    let ground = Ground::new();
    let folder = scratch();
    let body = |size: usize| {
        let path = folder.path().join(format!("{size}"));
        std::fs::write(&path, vec![b'x'; size]).expect("a scratch file");
        path.display().to_string()
    };
    let (some, more) = (body(40_000), body(100_000));
    for (serves, upload) in [
        ("", format!("-d @{some}")),
        ("", format!("-d @{more}")),
        ("--tls", format!("-k -d @{more}")),
        ("", format!("--body-stream {more}")),
    ] {
        patiently(4, || {
            let target = ground.target_ahead(&format!("--delay 2ms --no-truth {serves}"));
            let load = format!(
                "--rate 100 --duration 500ms --parallel 10 --warmup 100ms --no-templates {upload} {}",
                target.url()
            );
            let p50 = |run: &Run| {
                assert_eq!(run.total("done"), run.total("offered"), "{run}");
                run.int("net_ns.p50")
            };
            let (kernel, port) =
                (p50(&ground.by_kernel(&load).ahead().run()), p50(&ground.by("packet", &load).ahead().run()));
            assert!(port < kernel + 10_000_000, "{upload}: {kernel} ns by the kernel, {port} ns by a port");
        });
    }
}

/// A body that is longer than a window leaves in turns, and those are not the target's time.
#[test]
fn a_long_upload_that_takes_longer_than_by_the_kernels_sockets_is_in_doubt() {
    let _light = light();
    let ground = Ground::new();
    let folder = scratch();
    let path = folder.path().join("body");
    std::fs::write(&path, vec![b'x'; 3_000_000]).expect("a scratch file");
    let target = ground.target_ahead("--no-truth");
    let load = format!("--parallel 1 --requests 20 --rate 10 -d @{} {}", path.display(), target.url());
    let run = ground.by("packet", &load).ahead().run();
    assert!(run.total("done") > 0, "{run}");
    let unread = run.criterion("unread.p50");
    assert!(!unread.holds && run.word() != "VALID", "{unread:?}; {run}");
    // The advice helps.
    assert!(unread.advice.contains("without --via"), "{unread:?}");
    let run = ground.by_kernel(&load).ahead().run();
    assert!(run.criterion("unread.p50").holds, "{run}");
}

/// A TCP of our own sends the second request of a pipeline when the first has been acknowledged, the kernel's
/// at once. On a link with a round trip of 20 ms the target seems to take 40.
#[test]
fn requests_that_wait_for_an_acknowledgment_of_those_before_them_are_in_doubt() {
    let _light = light();
    let ground = Ground::new();
    let target = ground.target_ahead("--no-truth");
    let load = format!("--parallel 1 --pipeline 8 --duration 1s --via-path general {}", target.url());
    let run = ground.by("fault,delay=100%,hold=10ms,on=both:packet", &load).ahead().run();
    assert!(run.total("done") > 0 && run.int("net_ns.p50") > 30_000_000, "{run}");
    let unread = run.criterion("unread.p50");
    assert!(!unread.holds && run.word() != "VALID", "{unread:?}; {run}");
}

/// The kernel acknowledges what arrives also if the program is stopped, a TCP of our own does not: a target
/// that may send no more without an acknowledgment waits for it, although no request is late.
#[test]
fn a_target_that_waits_for_late_acknowledgments_is_in_doubt() {
    let _light = light();
    let ground = Ground::new();
    let target = ground.target_ahead("--size 50MB --no-truth");
    for path in ["fast", "general"] {
        for port in ["packet", "xdp"] {
            let load = format!("--via-path {path} --parallel 1 --rate 2 --duration 1s {}", target.url());
            let own = ground.by(port, &load).ahead().run().int("net_ns.p50");
            // Most responses are not there yet when the program is stopped again.
            let run = (0..5).map(|_| stopped_again_and_again(ground.by(port, &load).ahead().start()));
            let Some(run) = run.into_iter().find(|run| run.int("net_ns.p50") > 2 * own) else {
                skipped("no response took longer because the generator was stopped");
                continue;
            };
            let unread = run.criterion("unread.p50");
            assert!(!unread.holds && run.word() != "VALID", "{port} {path}: {unread:?}; {own} ns; {run}");
        }
    }
}

fn stopped_again_and_again(mut run: Running) -> Run {
    run.sleep_until(Duration::ZERO);
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(8));
        if !run.process.is_running() {
            break;
        }
        run.process.signal(Signal::STOP);
        std::thread::sleep(Duration::from_millis(40));
        run.process.signal(Signal::CONT);
    }
    run.finish()
}

/// The fast path does not know how long such a request waits.
#[test]
fn a_request_that_does_not_leave_at_once_takes_the_general_path() {
    let _shared = beside_others();
    let ground = Ground::new();
    let target = ground.target_ahead("--no-truth");
    for (length, path) in [(5_000, "fast"), (6_000, "general")] {
        let out = scratch();
        let folder = out.path().join("run").display().to_string();
        let header = "x".repeat(length);
        let load = format!("--parallel 1 --requests 3 --out {folder} -H X:{header} {}", target.url());
        let run = ground.by("packet", &load).ahead().run();
        assert_eq!(run.total("done"), 3, "{run}");
        let environment = std::fs::read_to_string(format!("{folder}/environment.json")).expect("it was kept");
        assert!(environment.contains(&format!("\"{path}\"")), "{path}: {environment}");
    }
}

/// Writes the head of each response by itself, and the body after it, as many small servers do: its kernel
/// holds the body back until the head is acknowledged (Nagle).
const HALVES: &str = r#"
def serve(connection):
    try:
        while connection.recv(4096):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
            connection.sendall(b"ok")
    except OSError:
        pass
    connection.close()
"#;

#[test]
fn a_server_that_waits_for_acknowledgments_is_as_slow_as_to_the_kernels_sockets() {
    let _light = light();
    let ground = Ground::new();
    let _server = ground.serves(HALVES);
    let load = format!("--rate 50 --parallel 4 --warmup 200ms --duration 700ms http://{SERVER}:8026/");
    patiently(4, || {
        let kernel = ground.by_kernel(&load).run().int("net_ns.p50");
        assert!(kernel > 30_000_000, "{kernel} ns");
        for path in ["general", "fast"] {
            let port = ground.by("packet", &format!("--via-path {path} {load}")).run().int("net_ns.p50");
            assert!(
                port.abs_diff(kernel) < 10_000_000,
                "{path}: {kernel} ns by the kernel, {port} ns by a port"
            );
        }
    });
}

/// Takes the median and p99 of net if they are less.
#[track_caller]
fn least(known: &mut [u64; 2], run: &Run) {
    assert_eq!(run.total("done"), run.total("offered"), "{run}");
    for (known, percentile) in known.iter_mut().zip(["p50", "p99"]) {
        *known = (*known).min(run.int(&format!("net_ns.{percentile}")));
    }
}

/// Within 5 %, or 10 us.
#[track_caller]
fn disagreement(percentile: &str, kernel_ns: u64, port_ns: u64) -> Option<String> {
    let most = (kernel_ns / 20).max(10_000);
    let apart = kernel_ns.abs_diff(port_ns) > most;
    apart.then(|| format!("{percentile}: {kernel_ns} ns by the kernel, {port_ns} ns by a port"))
}

#[test]
fn a_target_that_waits_for_our_cpu_is_found_in_another_namespace() {
    let _alone = alone();
    need("taskset");
    let ground = Ground::new();
    // On either CPU, and in runs that end before their thread was looked at once.
    for cpu in ["0", "1"] {
        let through = ["ip", "netns", "exec", &ground.sink().name, "taskset", "-c", cpu];
        let target = Target::start_through(&through, &format!("--listen {SERVER}:0 --workers 1 --no-truth"));
        // From this namespace, where nobody has a socket to the target or at its addresses.
        let via = format!("--via packet,netns={}:gen0,{OWN}", ground.generator().name);
        for duration in ["90ms", "700ms", "1s", "1500ms"] {
            patiently(4, || {
                let load = format!("{via} --parallel 32 --duration {duration} --cpus {cpu} {}", target.url());
                let run = Tare::http(&load).run();
                let waited = run.criterion("target.waited");
                assert!(!waited.holds && waited.advice.contains("target"), "{waited:?}; {run}");
                // What the kernel's sockets may lack says nothing here.
                assert!(run.criteria().iter().all(|criterion| criterion.name != "ports.left"), "{run}");
                // To stop other programs would not help.
                for crowded in run.failing().iter().filter(|c| c.name == "target.crowded") {
                    assert!(crowded.advice.contains("--cpus"), "{run}");
                }
            });
        }
    }
}
