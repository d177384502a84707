//! A bad link: frames are lost, doubled, swapped, delayed and broken in both directions. Everything arrives
//! once and whole all the same, and the server's kernel and a capture have nothing to complain about.
//!
//! ```text
//!   sessions ─► fault ─► gen0 ══ wire, captured ══ sink0 ─► nginx: access log, and each upload in a file
//! ```

use super::{Capture, Ground};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tare_system_tests::bed::run_in;
use tare_system_tests::process::wait_until;
use tare_system_tests::run::Running;
use tare_system_tests::{Nginx, Run, beside_others, scratch};

/// Uploads are kept, and what is asked for is 30 000 bytes.
const SERVER: &str = "client_max_body_size 2m; client_body_buffer_size 512k; lingering_close off;
    location /up { root up; dav_methods PUT; create_full_put_path on; }
    location / { root files; }";

/// nginx whose files are known.
struct Files {
    nginx: Nginx,
    /// Of `big`.
    sum: String,
    /// Of `huge`: 2 MB.
    huge: String,
}

impl Files {
    fn start(ground: &Ground) -> Self {
        let nginx = ground.nginx(SERVER);
        let letter = |at: u32| b'a' + (at.wrapping_mul(0x9e37_79b1) >> 24) as u8 % 26;
        let folder = nginx.path("files");
        std::fs::create_dir(&folder).expect("a scratch folder");
        let [sum, huge] = [("big", 30_000), ("huge", 2_000_000)].map(|(name, length)| {
            let file = folder.join(name);
            std::fs::write(&file, (0..length).map(letter).collect::<Vec<u8>>()).expect("a scratch file");
            sha256(&file)
        });
        Self { sum, huge, nginx }
    }

    /// How often each status was logged.
    fn logged(&self) -> BTreeMap<u16, u64> {
        let mut all = BTreeMap::new();
        self.nginx.logged().iter().for_each(|line| *all.entry(line.status).or_default() += 1);
        all
    }
}

fn sha256(file: &Path) -> String {
    let output = Command::new("sha256sum").arg(file).output().expect("sha256sum runs");
    String::from_utf8_lossy(&output.stdout[..64]).into_owned()
}

/// Frames lost, doubled, swapped, late and broken, each way.
const FAULTS: [&str; 6] = [
    "drop=0.1%,duplicate=2%",
    "drop=1%",
    "drop=5%",
    "duplicate=10%,reorder=5%,by=8",
    "corrupt=2%,reorder=5%,by=1",
    "drop=1%,duplicate=2%,reorder=2%,by=3,delay=5%,hold=3ms,corrupt=1%",
];
/// Requests of the three loads of each: downloads, downloads on connections of their own, uploads.
const REQUESTS: [u64; 3] = [60, 30, 8];

#[test]
fn everything_arrives_once_and_whole_on_a_bad_link() {
    let _shared = beside_others();
    let (ground, folder) = (Ground::new(), scratch());
    let files = Files::start(&ground);
    let body = folder.path().join("body");
    let letter = |at: u32| b'A' + (at.wrapping_mul(0x9e37_79b1) >> 24) as u8 % 26;
    std::fs::write(&body, (0..100_000).map(letter).collect::<Vec<u8>>()).expect("a scratch file");
    let capture = Capture::start(ground.sink());
    let start = |number: usize, at: usize| {
        let server = if number % 3 == 2 { "[fd00:18::2]" } else { "198.18.0.2" };
        let [downloads, connections, uploads] = REQUESTS;
        let load = match at {
            0 => format!(
                "--parallel 20 --requests {downloads} --expect-sha256 {} http://{server}/big",
                files.sum
            ),
            // Each part of a connection's life meets the faults.
            1 => format!("--parallel 30 --requests {connections} --no-keep-alive http://{server}/big"),
            _ => format!(
                "--parallel 8 --requests {uploads} -X PUT -d @{} --expect-status 2xx \
                 http://{server}/up/{number}/{{seq}}",
                body.display()
            ),
        };
        let (faults, seed) = (FAULTS[number], 3 * number + at);
        let port = format!("fault,{faults},on=both,seed={}:packet", seed + 1);
        ground.beside(seed, &port, &format!("--grace 30s --timeout 40s {load}")).start()
    };
    let mut again = 0;
    // They wait for what was lost most of the time: two kinds of faults at once.
    for numbers in [[0, 1], [2, 3], [4, 5]] {
        let loads = numbers.into_iter().flat_map(|number| (0..REQUESTS.len()).map(move |at| (number, at)));
        let started: Vec<_> = loads.map(|(number, at)| (at, start(number, at))).collect();
        for (at, run) in started.into_iter().map(|(at, started)| (at, started.finish())) {
            assert_eq!((run.total("done"), run.total("failed")), (REQUESTS[at], 0), "{run}");
            assert_eq!(run.total("sent_again"), 0, "{run}");
            again += run.int("tcp.retransmitted");
        }
    }
    assert!(again > 0, "frames were lost, and sent again");
    // nginx logs a request after its response. Each is there once: 200 or 201, and nothing else.
    let expected = REQUESTS.iter().sum::<u64>() * FAULTS.len() as u64;
    let count = || files.logged().values().sum::<u64>();
    wait_until("the last line of the log", || count() >= expected);
    assert_eq!(count(), expected);
    let statuses: Vec<u16> = files.logged().into_keys().collect();
    assert_eq!(statuses, [200, 201]);
    uploads_are(&files, &body);
    judge(&ground, capture);
}

/// Requests that follow each other on kept connections, which the server closes now and then: what is lost
/// leaves again after some 200 ms, also where the answer to another one is there before the loop asks for the
/// time.
#[test]
fn lost_requests_leave_again_soon_by_either_path() {
    let _shared = beside_others();
    let ground = Ground::new();
    let nginx = ground.nginx("keepalive_requests 7; location / { return 200 'ok'; }");
    let started = ["fast", "general"].into_iter().enumerate().map(|(number, path)| {
        let load = "--parallel 30 --requests 3000 --timeout 9s --grace 9s http://198.18.0.2/";
        let port = format!("fault,drop=1%,on=both,seed={number}:packet");
        ground.beside(number, &port, &format!("--via-path {path} {load}")).start()
    });
    for run in started.collect::<Vec<_>>().into_iter().map(Running::finish) {
        assert_eq!((run.total("done"), run.outcome("200")), (3_000, 3_000), "{run}");
        assert!(run.int("tcp.retransmitted") > 10, "{run}");
    }
    wait_until("the last line of the log", || nginx.logged().len() >= 6_000);
    assert_eq!(nginx.logged().len(), 6_000);
}

/// Requests that fail meanwhile are known to the server or not, and nothing else is: each that is done was
/// logged once, and no more was logged than left.
#[test]
fn what_fails_on_a_bad_link_is_logged_once_or_not_at_all() {
    let _shared = beside_others();
    let ground = Ground::new();
    for (number, path) in ["general", "fast"].into_iter().enumerate() {
        let nginx = ground.nginx("keepalive_requests 7; location / { return 200 'ok'; }");
        let load = "--parallel 20 --requests 1500 --timeout 100ms --grace 2s http://198.18.0.2/";
        let port = format!("fault,drop=5%,on=both,seed={number}:packet");
        let run = ground.beside(number, &port, &format!("--via-path {path} {load}")).run();
        let (done, failed, cut) = (run.total("done"), run.total("failed"), run.total("cut_off"));
        assert!(done > 0 && failed > 0, "{run}");
        assert_eq!(done + failed + cut + run.total("missed"), run.total("offered"), "{run}");
        // Some may still be on its way to the log.
        wait_until("the log", || nginx.logged().len() as u64 >= done);
        std::thread::sleep(Duration::from_millis(300));
        let log = nginx.logged();
        let logged = log.len() as u64;
        assert!((done..=done + failed + cut).contains(&logged), "{path}: {logged} lines: {run}");
        // What was given up before nginx had answered has its own status (499).
        let good = log.iter().filter(|line| line.status == 200).count() as u64;
        assert!(good >= run.outcome("200") && run.outcome("200") == done, "{path}: {good}: {run}");
        let strange: Vec<_> =
            log.iter().filter(|line| ![200, 400, 408, 499].contains(&line.status)).collect();
        assert!(strange.is_empty(), "{path}: {strange:?}");
    }
}

/// Frames overtake each other within one flight of a large response, so that there are several holes at once.
const OVERTAKEN: [&str; 5] = [
    "reorder=5%,by=1",
    "reorder=5%,by=3",
    "reorder=5%,by=8",
    "drop=0.1%,reorder=5%,by=8",
    "drop=1%,reorder=5%,by=5",
];

#[test]
fn large_responses_do_not_stand_still_where_frames_overtake_each_other() {
    let _shared = beside_others();
    let ground = Ground::new();
    let files = Files::start(&ground);
    let mut early = 0;
    for (number, faults) in OVERTAKEN.into_iter().enumerate() {
        let load = |path| {
            format!(
                "--grace 30s --timeout 5s --via-path {path} --parallel 2 --requests 4 --expect-sha256 {} \
                 http://198.18.0.2/huge",
                files.huge
            )
        };
        // The fast path reads no checksums.
        let fast = "--timeout 5s --via-path fast --parallel 2 --requests 4 http://198.18.0.2/huge".to_owned();
        let started = [load("general"), fast].into_iter().enumerate().map(|(at, load)| {
            let port = format!("fault,{faults},on=both,seed={}:packet", 2 * number + at + 1);
            ground.beside(at, &port, &load).start()
        });
        let runs: Vec<Run> = started.collect::<Vec<_>>().into_iter().map(Running::finish).collect();
        for run in &runs {
            assert_eq!((run.total("done"), run.total("failed")), (4, 0), "{faults}: {run}");
            assert!(run.total("bytes_in") >= 8_000_000, "{faults}: {run}");
            early += run.int("tcp.out_of_order");
        }
    }
    assert!(early > 1_000, "{early} segments came ahead of a hole");
}

/// Byte by byte what nginx was sent.
#[track_caller]
fn uploads_are(files: &Files, body: &Path) {
    let sum = sha256(body);
    let mut found = 0;
    for entry in std::fs::read_dir(files.nginx.path("up/up")).expect("uploads").flatten() {
        for file in std::fs::read_dir(entry.path()).expect("files").flatten() {
            assert_eq!(sha256(&file.path()), sum, "{:?}", file.path());
            found += 1;
        }
    }
    assert_eq!(found, REQUESTS[2] * FAULTS.len() as u64);
}

/// What the server's kernel counted, and what tshark says of the wire.
fn judge(ground: &Ground, capture: Capture) {
    let kernel = |table: &str, name: &str| ground.kernel_of_server(table, name);
    // The link lost frames of both sides, so that both sent again.
    assert!(kernel("Tcp", "RetransSegs") > 0);
    // Broken frames were seen and dropped by the kernel.
    assert!(kernel("Tcp", "InCsumErrors") + kernel("Ip", "InHdrErrors") > 0);
    unexplained(ground);
    let wire = capture.finish();
    // A frame that was broken on purpose may have any numbers.
    let ours = "eth.src[0:2]==02:74 and not tcp.checksum.status==0";
    // The server's kernel sent all that it sent through this wire, so that an acknowledgment of ours for what
    // was not seen would be of nothing.
    let unseen = wire.frames(&format!("tcp.analysis.ack_lost_segment and {ours}"), &["frame.number"]);
    assert_eq!(unseen, Vec::<String>::new(), "acknowledged before it was seen");
    let zero = wire.frames(&format!("tcp.analysis.window_full and {ours}"), &["frame.number"]);
    assert_eq!(zero, Vec::<String>::new(), "more was sent than the window had room for");
}

/// Counters of the server's kernel (`nstat`), and what such a link does to any client to move them. All others
/// say that something of ours contradicted what was said before, or that a connection was given up.
const EXPLAINED: [(&str, &[&str]); 6] = [
    (
        "connections that nothing happens to",
        &[
            "TW",
            "DelayedACKs",
            "DelayedACKLocked",
            "TCPHPHits",
            "TCPHPAcks",
            "TCPPureAcks",
            "TCPOrigDataSent",
            "TCPDelivered",
            "TCPRcvCoalesce",
            "TCPBacklogCoalesce",
            "TCPAckCompressed",
            "TCPAutoCorking",
            "TCPHystartTrainDetect",
            "TCPHystartTrainCwnd",
            "TCPHystartDelayDetect",
            "TCPHystartDelayCwnd",
        ],
    ),
    (
        "frames of the server are lost, and it sends again",
        &[
            "TCPSackRecovery",
            "TCPSackRecoveryFail",
            "TCPSackFailures",
            "TCPSackShifted",
            "TCPSackMerged",
            "TCPSackShiftFallback",
            "TCPFastRetrans",
            "TCPSlowStartRetrans",
            "TCPLossProbes",
            "TCPLossProbeRecovery",
            "TCPLossFailures",
            "TCPLostRetransmit",
            "TCPTimeouts",
            "TCPSynRetrans",
            "TcpTimeoutRehash",
        ],
    ),
    (
        "they overtake each other, and seemed lost",
        &[
            "TCPSACKReorder",
            "TCPTSReorder",
            "TCPFullUndo",
            "TCPPartialUndo",
            "TCPLossUndo",
            // Also without a DSACK, of which TCPDSACKRecv would tell: nothing had been sent again yet.
            "TCPDSACKUndo",
            "TCPSpuriousRTOs",
        ],
    ),
    (
        "ours are lost, doubled and overtaken, or come again as an acknowledgment was lost",
        &["DelayedACKLost", "TCPDSACKOldSent", "TCPDSACKOfoSent", "TCPOFOQueue", "TCPOFOMerge"],
    ),
    (
        "frames that were held back have old timestamps, and a doubled SYN comes late",
        &[
            "PAWSEstab",
            "PAWSOldAck",
            "PAWSTimewait",
            "TCPSYNChallenge",
            "TCPChallengeACK",
            "TCPACKSkippedPAWS",
            "TCPACKSkippedSeq",
            "TCPACKSkippedSynRecv",
            "TCPACKSkippedTimeWait",
            "TCPACKSkippedFinWait2",
            "TCPACKSkippedChallenge",
        ],
    ),
    (
        "nginx waits for a CPU, and does not read",
        &[
            "PruneCalled",
            "TCPRcvCollapsed",
            "TCPWantZeroWindowAdv",
            "TCPToZeroWindowAdv",
            "TCPFromZeroWindowAdv",
        ],
    ),
];

#[track_caller]
fn unexplained(ground: &Ground) {
    let text = run_in(ground.sink(), "cat /proc/net/netstat");
    let row = |at: usize| text.lines().filter(|line| line.starts_with("TcpExt:")).nth(at).expect("two lines");
    let counted = row(0).split_whitespace().zip(row(1).split_whitespace()).skip(1);
    let known = |name: &str| EXPLAINED.iter().any(|(_, names)| names.contains(&name));
    let left: Vec<_> = counted.filter(|(name, count)| *count != "0" && !known(name)).collect();
    assert_eq!(left, [], "nothing that the link does explains these");
}
