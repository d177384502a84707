//! Segments that a host on the way merged into frames of up to 64 KiB are taken whole. They make a response
//! quick enough that is longer than there are numbers.

use super::Ground;
use tare_system_tests::bed::run_in;
use tare_system_tests::{TestBed, alone, beside_others, need};

const OFFLOADS: &str = "tx on sg on tso on gso on gro on";

#[test]
fn responses_are_whole_where_the_target_merges_segments() {
    let _shared = beside_others();
    need("ethtool");
    let ground = Ground::new();
    offload(&ground);
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

/// A kernel's first number may be any, so that the numbers of the response wrap somewhere in its middle.
#[test]
fn a_response_of_more_bytes_than_there_are_numbers_is_whole() {
    const SIZE: u64 = (1 << 32) + 100_000_000;
    let _alone = alone();
    need("ethtool");
    let ground = Ground::new();
    offload(&ground);
    let target = ground.target(&format!("--size {SIZE} --no-truth"));
    for path in ["general", "fast"] {
        let load =
            format!("--via-path {path} --parallel 1 --requests 1 --timeout 50s --grace 50s {}", target.url());
        let run = ground.by("packet", &load).run();
        assert_eq!((run.outcome("200"), run.total("body_in")), (1, SIZE), "{path}: {run}");
        assert_eq!((run.int("tcp.opened"), run.int("tcp.resets_in")), (1, 0), "{path}: {run}");
    }
    assert!(ground.connections().is_empty(), "{:?}", ground.connections());
}

fn offload(bed: &TestBed) {
    for (namespace, interface) in [(bed.sink(), "sink0"), (bed.generator(), "gen0")] {
        run_in(namespace, &format!("ethtool -K {interface} {OFFLOADS}"));
    }
}
