//! Latency is the target's, whichever way requests take: by the kernel's sockets and by a port it is the same.

use super::{Ground, OWN, SERVER};
use tare_system_tests::{Run, Tare, Target, alone, need, patiently, scratch};

#[test]
fn the_latency_is_the_same_as_by_the_kernels_sockets() {
    let _alone = alone();
    let ground = Ground::new();
    let folder = scratch();
    // Four of five take 1 ms, one takes 9 ms: the median is of the first peak, p99 of the second.
    let peaks = folder.path().join("delays");
    std::fs::write(&peaks, "1ms\n1ms\n9ms\n1ms\n1ms\n").expect("a scratch file");
    for delay in ["2ms".to_owned(), format!("file:{}", peaks.display())] {
        patiently(4, || {
            let target = ground.target_ahead(&format!("--delay {delay} --no-truth"));
            let load = format!("--rate 800 --duration 700ms --parallel 60 --warmup 100ms {}", target.url());
            // Whatever else this machine does makes times longer: the shortest of some is the target's.
            let (mut kernel, mut port) = ([u64::MAX; 2], [u64::MAX; 2]);
            for _ in 0..2 {
                least(&mut kernel, &ground.by_kernel(&load).ahead().run());
                least(&mut port, &ground.by("packet", &load).ahead().run());
            }
            agree("p50", kernel[0], port[0]);
            agree("p99", kernel[1], port[1]);
        });
    }
}

/// Takes the median and p99 of net if they are less.
#[track_caller]
fn least(known: &mut [u64; 2], run: &Run) {
    assert_eq!(run.total("done"), run.total("offered"), "{run}");
    for (known, percentile) in known.iter_mut().zip(["p50", "p99"]) {
        *known = (*known).min(run.int(&format!("net_ns.{percentile}")));
    }
}

/// Within 5 %, or 50 us.
#[track_caller]
fn agree(percentile: &str, kernel_ns: u64, port_ns: u64) {
    let most = (kernel_ns / 20).max(50_000);
    assert!(
        kernel_ns.abs_diff(port_ns) <= most,
        "{percentile}: {kernel_ns} ns by the kernel, {port_ns} ns by a port"
    );
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
