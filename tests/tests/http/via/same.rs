//! The same plans by the kernel's sockets and by a port: one recorder sees the same of both, byte by byte.

use super::{Ground, Inside, OWN, SERVER, SERVER_V6};
use std::path::PathBuf;
use tare_system_tests::bed::run_in;
use tare_system_tests::recorder::Received;
use tare_system_tests::{Recorder, Run, Tare, Target, beside_others, light, scratch};

/// What is compared of a request: everything but the address that it came from.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    /// Connections of a run count from 0.
    connection: usize,
    head: String,
    body: Vec<u8>,
    chunked: bool,
    waited: bool,
}

/// Runs a load, which must lose nothing, and tells what came.
#[track_caller]
fn seen(recorder: &Recorder, tare: Tare) -> (Vec<Seen>, Run) {
    let before = recorder.requests().len();
    let run = tare.run();
    assert_eq!((run.total("done"), run.total("failed")), (run.total("offered"), 0), "{run}");
    let all: Vec<Received> = recorder.requests().split_off(before);
    let first = all.iter().map(|request| request.connection).min().unwrap_or(0);
    let one = |request: Received| Seen {
        connection: request.connection - first,
        head: request.head,
        body: request.body,
        chunked: request.chunked,
        waited: request.waited,
    };
    (all.into_iter().map(one).collect(), run)
}

/// Fails unless all came alike; says where they differ without printing whole bodies.
#[track_caller]
fn same(what: &str, kernel: &[Seen], port: &[Seen], run: &Run) {
    assert_eq!(kernel.len(), port.len(), "{what}: {run}");
    for (number, (one, other)) in kernel.iter().zip(port).enumerate() {
        let lengths = (one.body.len(), other.body.len());
        let at = one.body.iter().zip(&other.body).position(|(one, other)| one != other);
        assert!(
            lengths.0 == lengths.1 && at.is_none(),
            "{what}: body {number}, {lengths:?}, differs at {at:?}"
        );
        assert!(one == other, "{what}: request {number}\n{}\n{}\n{run}", one.head, other.head);
    }
}

/// Bytes without a pattern of their own length, and without braces.
fn body(folder: &tempfile::TempDir, length: usize) -> PathBuf {
    let path = folder.path().join(format!("body-{length}"));
    let letter = |at: usize| b'A' + ((at as u32).wrapping_mul(0x9e37_79b1) >> 24) as u8 % 26;
    std::fs::write(&path, (0..length).map(letter).collect::<Vec<u8>>()).expect("a scratch file");
    path
}

#[test]
fn a_server_receives_the_same_as_from_the_kernel() {
    let _shared = beside_others();
    let folder = scratch();
    let mut flags: Vec<String> = [
        "--requests 20",
        "--requests 5 -X HEAD",
        "--requests 12 --no-keep-alive",
        "--requests 12 --requests-per-connection 5",
        "--requests 5 --http 1.0 -u me:pw -H X-N:{seq}",
        "--requests 64 --pipeline 8 -H X-N:{seq}",
        "--requests 64 --pipeline 8 -d n={seq}&r={random:hex:8}",
    ]
    .map(str::to_owned)
    .into();
    // Around one segment (1 448 with timestamps) and around what a session takes at once.
    for length in [1, 1_300, 1_448, 5_000, 65_535, 65_536, 300_000] {
        flags.push(format!("--requests 2 -d @{}", body(&folder, length).display()));
    }
    let large = body(&folder, 300_000);
    let large = large.display();
    flags.push(format!("--requests 2 --body-stream {large}"));
    flags.push(format!("--requests 2 --expect-continue -d @{large}"));
    flags.push(format!("--requests 4 --no-keep-alive -d @{large}"));
    flags.push(format!("--requests 16 --pipeline 8 -d @{}", body(&folder, 20_000).display()));
    let numbered: Vec<(usize, &String)> = flags.iter().enumerate().collect();
    // Each part by a server and a link of its own.
    std::thread::scope(|scope| {
        let parts = numbered.chunks(PART).map(|part| scope.spawn(|| receives_the_same(part)));
        parts.collect::<Vec<_>>().into_iter().for_each(|part| part.join().expect("all came alike"));
    });
}

/// Plans that follow each other.
const PART: usize = 6;

#[track_caller]
fn receives_the_same(plans: &[(usize, &String)]) {
    let ground = Ground::new();
    let recorder = ground.recorder();
    for (number, flags) in plans {
        // IPv6 every other time.
        let server = if number % 2 == 0 { SERVER.to_owned() } else { format!("[{SERVER_V6}]") };
        let load = format!("--parallel 1 --seed 5 {flags} http://{server}:{}/some/path", recorder.port());
        let (kernel, _) = seen(&recorder, ground.by_kernel(&load));
        let (port, run) = seen(&recorder, ground.by("packet", &load));
        same(flags, &kernel, &port, &run);
    }
    assert_eq!(ground.connections(), Vec::<String>::new(), "every session has ended");
}

#[test]
fn many_connections_at_once_send_the_same_by_every_kind_of_port() {
    let _shared = beside_others();
    let (ground, folder) = (Ground::new(), scratch());
    let recorder = ground.recorder();
    let tap = Tap::up(&ground);
    let file = body(&folder, 4_000);
    let load = |server: &str, port: u16| {
        let load = "--parallel 30 --requests 300 --seed 5 -H X-N:{seq} -d";
        format!("{load} @{} http://{server}:{port}/", file.display())
    };
    let at_link = load(SERVER, recorder.port());
    let kinds = [
        (ground.by_kernel(&at_link), &*recorder),
        (ground.by("packet", &at_link), &*recorder),
        (ground.by("xdp", &at_link), &*recorder),
        (tap.by_tap(&load(TAP_SERVER, tap.recorder.port())), &*tap.recorder),
    ];
    let mut first: Option<Vec<(String, Vec<u8>)>> = None;
    for (tare, recorder) in kinds {
        let (seen, run) = seen(recorder, tare);
        // In whatever order they came, and whatever the server's address.
        let own = |head: &str| head.lines().filter(|line| !line.starts_with("Host")).collect::<String>();
        let mut all: Vec<_> = seen.into_iter().map(|seen| (own(&seen.head), seen.body)).collect();
        all.sort();
        assert_eq!(all.len(), 300, "{run}");
        assert!(first.get_or_insert_with(|| all.clone()) == &all, "{run}");
        let from: std::collections::BTreeSet<_> =
            recorder.requests().iter().rev().take(300).map(|request| request.from).collect();
        // All three addresses of ours take their turns.
        assert_eq!(from.len(), if run.command.contains("--via") { 3 } else { 1 }, "{from:?}; {run}");
    }
}

const TAP_SERVER: &str = "198.18.7.2";

/// A tap device in the generator's namespace, whose kernel serves there.
struct Tap<'a> {
    ground: &'a Ground,
    recorder: Inside<'a, Recorder>,
}

impl<'a> Tap<'a> {
    fn up(ground: &'a Ground) -> Self {
        let inside = ground.generator();
        for words in
            ["tuntap add mode tap dev vtap", "address add 198.18.7.2/24 dev vtap", "link set vtap up"]
        {
            run_in(inside, &format!("ip {words}"));
        }
        Self { ground, recorder: Inside::new(inside, || Recorder::on(&[TAP_SERVER])) }
    }

    fn by_tap(&self, load: &str) -> Tare {
        let own = OWN.replace("198.18.0.", "198.18.7.");
        self.ground.by_kernel(&format!("--via tap:vtap,{own} {load}"))
    }
}

#[test]
fn bodies_are_whole_through_tls_and_redirects_are_followed() {
    let _shared = beside_others();
    let (ground, folder) = (Ground::new(), scratch());
    let tap = Tap::up(&ground);
    let file = body(&folder, 100_000);
    // What comes back is the request, with all of its body.
    let whole = format!("--expect-body {}", std::fs::read_to_string(&file).expect("its text"));
    // The first address, and the last: of both families, if it has both.
    let loads = |target: &Target| {
        let urls = target.urls();
        let (one, other) = (&urls[0], &urls[urls.len() - 1]);
        [
            format!("-k --parallel 4 --requests 40 {one}"),
            format!("-k --parallel 2 --requests 6 --no-keep-alive --no-resumption {other}"),
            format!("-k --parallel 2 --requests 6 -d @{} {whole} {one}echo", file.display()),
            format!("-k --parallel 2 --requests 20 --follow 3 --expect-status 200 {other}redirect/2"),
        ]
    };
    let statuses = |target: Target, by: &dyn Fn(&str) -> Tare| {
        for load in loads(&target) {
            let run = by(&load).run();
            assert_eq!(
                (run.total("done"), run.outcome_keys()),
                (run.total("offered"), vec!["200".to_owned()]),
                "{run}"
            );
        }
        let mut all: Vec<u16> = target.truth().records.iter().map(|record| record.status).collect();
        all.sort_unstable();
        all
    };
    for kind in ["--tls", ""] {
        let kernel = statuses(ground.target(kind), &|load| ground.by_kernel(load));
        // 40 + 6 + 6 and 20 chains of two redirects and an end.
        assert_eq!((kernel.len(), kernel.iter().filter(|status| **status == 200).count()), (112, 72));
        for port in ["packet", "xdp"] {
            assert_eq!(kernel, statuses(ground.target(kind), &|load| ground.by(port, load)), "{port} {kind}");
        }
        let at_tap = ["ip", "netns", "exec", &ground.generator().name];
        let target = Target::start_through(&at_tap, &format!("--listen {TAP_SERVER}:0 {kind}"));
        assert_eq!(kernel, statuses(target, &|load| tap.by_tap(load)), "tap {kind}");
    }
}

#[test]
fn a_throttled_connection_is_read_slowly_and_wholly() {
    // The server's kernel sends again what is not acknowledged in time.
    let _light = light();
    let ground = Ground::new();
    let target = ground.target("--size 1M --no-truth");
    let run = ground.by("packet", &format!("--parallel 2 --requests 4 --throttle 2M {}", target.url())).run();
    assert_eq!(run.outcome("200"), 4, "{run}");
    // A million bytes at two million a second.
    assert!(run.float("latency_ns.min") > 0.4e9, "{run}");
    // The window closes as the inbox fills, and opens again: nothing is dropped and nothing is sent twice.
    assert_eq!(ground.kernel_of_server("Tcp", "RetransSegs"), 0, "{run}");
}
