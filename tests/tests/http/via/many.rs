//! Many connections: all that were asked for are opened before any is used again, then all are used in turn,
//! and one that waits takes little memory.

use super::{Ground, OWN, SERVER};
use std::collections::BTreeMap;
use tare_system_tests::run::AHEAD;
use tare_system_tests::{Run, Target, alone, beside_others, patiently};

#[test]
fn all_connections_are_opened_first_and_used_in_turn_by_every_way() {
    let _beside = beside_others();
    let ground = Ground::new();
    let via = format!("--via packet:gen0,{OWN}");
    for way in [String::new(), format!("{via} --via-path general"), format!("{via} --via-path fast")] {
        let recorder = ground.recorder();
        let load = "--open-all --parallel 20 --rate 200 --requests 60 --threads 1";
        let run = ground.by_kernel(&format!("{way} {load} http://{SERVER}:{}/", recorder.port())).run();
        assert_eq!((run.outcome("200"), run.int("connections.opened")), (60, 20), "{way}: {run}");
        let mut uses: BTreeMap<usize, usize> = BTreeMap::new();
        recorder.requests().iter().for_each(|request| *uses.entry(request.connection).or_default() += 1);
        // Three each, or somewhat more where answers came late; one that is always used again would have 41.
        assert!(uses.len() == 20 && uses.values().all(|count| *count <= 10), "{way}: {uses:?}");
    }
}

/// A record of 64 bytes, 16 of its place and 32 of its lane are 112.
#[test]
fn a_connection_that_waits_takes_little_memory() {
    const MANY: u64 = 30_000;
    const FEW: u64 = 100;
    let _alone = alone();
    let ground = Ground::new();
    let through = [&["ip", "netns", "exec", &ground.sink().name], &AHEAD[..]].concat();
    let over = "--no-truth --cpus 1 --over packet:sink0,ip=198.18.0.60/24";
    let run = |target: &Target, connections: u64, requests: u64| {
        let load = format!("--open-all --parallel {connections} --rate 10k --requests {requests}");
        let via = format!("--via packet:gen0,{OWN} --via-path fast --cpus 0 --accept-invalid");
        ground.by_kernel(&format!("{via} {load} {}", target.url())).ahead().run()
    };
    // A target that does not keep up has more requests on their way, and those take memory, too.
    patiently(3, || {
        let mut target = Target::start_through(&through, over);
        let few = run(&target, FEW, MANY);
        let many = run(&target, MANY, MANY + FEW);
        assert_eq!((many.outcome("200"), many.int("connections.opened")), (MANY + FEW, MANY), "{many}");
        assert_eq!(many.int("connections.open_peak"), MANY, "{many}");
        let memory = |run: &Run| run.int("generator.anon_peak_bytes");
        let each = memory(&many).saturating_sub(memory(&few)) / (MANY - FEW);
        assert!((64..160).contains(&each), "{each} bytes for each connection: {many}");
        // Each SYN was answered, and each connection was reset at the end.
        let served = target.summary();
        assert!(served["syns"].as_u64() >= Some(MANY + FEW), "{served}");
        assert!(served["ignored"]["rst"].as_u64() >= Some(MANY + FEW), "{served}");
    });
}
