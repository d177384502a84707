//! Segments that a host on the way merged into frames of up to 64 KiB are taken whole.

use super::Ground;
use tare_system_tests::bed::run_in;
use tare_system_tests::{beside_others, need};

const OFFLOADS: &str = "tx on sg on tso on gso on gro on";

#[test]
fn responses_are_whole_where_the_target_merges_segments() {
    let _shared = beside_others();
    need("ethtool");
    let ground = Ground::new();
    for (namespace, interface) in [(ground.sink(), "sink0"), (ground.generator(), "gen0")] {
        run_in(namespace, &format!("ethtool -K {interface} {OFFLOADS}"));
    }
    let target = ground.target("--size 500k --no-truth");
    for (port, merges) in [("packet", true), ("packet,receive=blocks", true), ("xdp", false)] {
        for path in ["general", "fast"] {
            let load = format!("--via-path {path} --parallel 4 --requests 40 --timeout 5s {}", target.url());
            let run = ground.by(port, &load).run();
            assert_eq!(
                (run.total("done"), run.total("body_in")),
                (40, 40 * 500_000),
                "{port}, {path}: {run}"
            );
            // The kernel merges nothing for an interface with an XDP program, but leaves checksums unfinished.
            assert!(run.int("tcp.station.unfinished") > 0, "{port}, {path}: {run}");
            assert_eq!(run.remarks().contains("GRO, TSO"), merges, "{port}, {path}: {run}");
        }
    }
}
