//! Who was the limit? Asked for more than it can do, the generator says so; a slow target it does not take on
//! itself.

use rustix::thread::{CpuSet, sched_setaffinity};
use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use tare_system_tests::process::Process;
use tare_system_tests::run::AHEAD;
use tare_system_tests::{Run, Tare, Target, alone, assert_close, need, need_root, patiently};

/// Runs that must not be VALID, in whichever of several tries.
#[derive(Default)]
struct Lies(RefCell<Vec<String>>);

impl Lies {
    fn never_valid(&self, run: Run) -> Run {
        if run.word() == "VALID" {
            self.0.borrow_mut().push(run.to_string());
        }
        run
    }

    #[track_caller]
    fn were_none(&self) {
        assert!(self.0.borrow().is_empty(), "{}", self.0.borrow().join("\n"));
    }
}

/// Requests a second that one generator thread does in a closed loop here and now. The better of two tries: the
/// machine may pause.
fn most_per_thread(url: &str) -> u64 {
    let rate = || {
        let run = Tare::http(&format!("--parallel 64 --threads 1 --duration 1s {url}")).run();
        assert_eq!(run.total("failed"), 0, "{run}");
        run.float("rate.achieved_per_s") as u64
    };
    rate().max(rate())
}

/// INVALID, by criteria that are about the generator, each with its advice.
#[track_caller]
fn names_the_generator(run: &Run) {
    // The last: it takes the CPU that the target needs, so that it limits the run by way of the target.
    const GENERATOR: [&str; 6] = [
        "departures.made",
        "cpu.thread",
        "lateness.p50",
        "lateness.p99",
        "missed.generator",
        "target.waited",
    ];
    assert_eq!(run.word(), "INVALID", "{run}");
    let grave: Vec<_> = run.failing().into_iter().filter(|c| c.severity == "INVALID").collect();
    assert!(!grave.is_empty(), "{run}");
    assert!(grave.iter().any(|c| GENERATOR.contains(&c.name.as_str())), "{grave:?}");
    assert!(grave.iter().all(|c| c.advice.len() > 20), "{grave:?}");
    assert!(
        grave.iter().any(|c| ["--threads", "--rate", "--cpus"].iter().any(|flag| c.advice.contains(flag))),
        "the advice says what to do: {grave:?}"
    );
}

#[test]
fn asked_for_ten_times_what_one_thread_can_do_the_run_is_invalid() {
    let _alone = alone();
    // Two workers against one generator thread, so that it is the target that waits.
    let target = Target::start("--no-truth --size 100 --workers 2");
    let rate = 10 * most_per_thread(&target.url());
    let load = format!("--rate {rate} --threads 1 --duration 2s --grace 1s {}", target.url());

    let run = Tare::http(&load).run();
    names_the_generator(&run);
    assert_eq!(run.code, Some(4), "{run}");
    // Not one of the departures is forgotten: rate · 2 s were offered, whatever became of them.
    assert_eq!(run.total("offered"), rate * 2, "{run}");
    assert!(run.float("rate.achieved_per_s") < 0.5 * rate as f64, "{run}");

    let accepted = Tare::http(&format!("--accept-invalid {load}")).run();
    assert_eq!((accepted.code, accepted.word()), (Some(0), "INVALID"), "{accepted}");
    names_the_generator(&accepted);
}

/// A thread that spins in real time never waits for its CPU; a target that shares it does.
#[test]
fn a_target_that_a_spinning_thread_keeps_from_its_cpu_makes_the_run_invalid() {
    let _alone = alone();
    need_root();
    let target = Target::start("--no-truth --workers 1 --cpus 1");
    // A departure every 200 us: the thread never sleeps.
    let load = format!("--rate 5000 --duration 2s --threads 1 {}", target.url());
    let starve = || Tare::http(&format!("--cpus 1 --spin always --priority real-time {load}")).run();
    let lies = Lies::default();
    // It may happen to get the CPU often enough; then the run is no more than in doubt.
    let runs: Vec<Run> = std::iter::repeat_with(|| lies.never_valid(starve())).take(TRIES).collect();
    lies.were_none();
    let is_grave = |run: &&Run| run.criterion("target.waited").severity == "INVALID";
    let starved = runs.iter().find(is_grave).unwrap_or_else(|| panic!("{runs:?}"));
    let waited = starved.criterion("target.waited");
    assert_eq!((starved.code, starved.word()), (Some(4), "INVALID"), "{starved}");
    // A thread that sleeps there is late, so that is not advised; nor, where it was tried, that it spin again.
    let advises = |run: &Run, name: &str, flag: &str| run.criterion(name).advice.contains(flag);
    assert!(waited.advice.contains("--cpus") && !waited.advice.contains("--spin"), "{waited:?}");
    let slept = Tare::http(&format!("--cpus 1 --spin never {load}")).run();
    assert_ne!(slept.criterion("target.waited").severity, "INVALID", "{slept}");
    for late in slept.failing().iter().filter(|criterion| criterion.name.starts_with("lateness.")) {
        assert!(late.advice.contains("bind the target") && !late.advice.contains("--spin"), "{late:?}");
    }
    assert!(!advises(&slept, "target.waited", "--spin"), "{slept}");
    // What it advises helps.
    let mended = Tare::http(&format!("--cpus 0 --spin always {load}")).run();
    assert_ne!(mended.criterion("target.waited").severity, "INVALID", "{mended}");
    assert!(mended.int("net_ns.p99") < starved.int("net_ns.p99"), "{mended}\n{starved}");
}

/// The same in bursts: for a hundredth of the run, and for most of the requests.
#[test]
fn a_target_that_waits_in_bursts_alone_is_in_no_valid_run() {
    let _alone = alone();
    need_root();
    let target = Target::start("--no-truth --workers 1 --cpus 1");
    let load = "--stages 40:1s,40:3s,5k:10ms,5k:60ms,40:10ms,40:1s --threads 1 --cpus 1";
    let starved = Tare::http(&format!("{load} --spin always --priority real-time {}", target.url())).run();
    assert!(starved.int("net_ns.p50") > 1_000_000, "the target was not kept waiting: {starved}");
    assert!(
        starved.failing().iter().any(|c| ["target.delayed", "target.waited"].contains(&c.name.as_str())),
        "{starved}"
    );
    assert_ne!(starved.word(), "VALID", "{starved}");
}

/// Other programs on the target's CPU, where the generator is not.
#[test]
fn a_target_that_waits_for_other_programs_is_in_no_valid_run() {
    let _alone = alone();
    need("taskset");
    let target = Target::start("--no-truth --workers 1 --cpus 0");
    let lies = Lies::default();
    patiently(3, || {
        // As fast as the target can, which therefore wants all of its CPU.
        let load = format!("--parallel 16 --threads 1 --cpus 1 --duration 2s {}", target.url());
        let noise: Vec<String> =
            ["taskset", "-c", "0", "sh", "-c", "while :; do :; done"].map(str::to_owned).to_vec();
        let noise = Process::start(&noise, |_| ());
        let crowded = lies.never_valid(Tare::http(&load).run());
        let told = crowded.criterion("target.crowded");
        assert_eq!((told.holds, told.severity.as_str()), (false, "DEGRADED"), "{crowded}");
        // Ordinary requests as well, of which the target has time for each, if the kernel does not let it run
        // at once.
        let load_at_ease = format!("--rate 400 --threads 1 --cpus 1 --duration 2s {}", target.url());
        let at_ease = Tare::http(&load_at_ease).run();
        // What it advises helps.
        drop(noise);
        let quiet = Tare::http(&load_at_ease).run();
        let worse = |name: &str| at_ease.int(name) > 2 * quiet.int(name) + 200_000;
        if worse("net_ns.p50") || worse("net_ns.p90") || worse("net_ns.p99") {
            lies.never_valid(at_ease);
        }
        let calm = Tare::http(&load).run();
        assert!(calm.criterion("target.crowded").value < told.value / 2.0, "{calm}\n{crowded}");
    });
    lies.were_none();
}

/// Whoever may not look into other users' processes cannot tell the target from what keeps it from its CPU.
#[test]
fn another_users_target_that_waits_for_other_programs_is_in_no_valid_run() {
    let _alone = alone();
    need_root();
    need("taskset");
    let target = Target::start("--no-truth --workers 1 --cpus 0");
    let load = format!("--rate 400 --threads 1 --cpus 1 --duration 2s {}", target.url());
    let run = || {
        let nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups --";
        Tare::http(&load).through(nobody).run()
    };
    let lies = Lies::default();
    patiently(3, || {
        let noise: Vec<String> =
            ["taskset", "-c", "0", "sh", "-c", "while :; do :; done"].map(str::to_owned).to_vec();
        let noise = Process::start(&noise, |_| ());
        let crowded = run();
        // What it advises helps.
        drop(noise);
        let quiet = run();
        let worse = |name: &str| crowded.int(name) > 2 * quiet.int(name) + 200_000;
        if worse("net_ns.p50") || worse("net_ns.p90") || worse("net_ns.p99") {
            lies.never_valid(crowded.clone());
        }
        let told = crowded.criterion("target.crowded");
        assert!(!told.holds && told.advice.contains("may not look into"), "{crowded}");
        assert!(quiet.criterion("target.crowded").value < told.value / 2.0, "{quiet}\n{crowded}");
    });
    lies.were_none();
}

/// What other programs on this machine, or its hypervisor, do to a run; the test has no hold over them.
const MACHINE: [&str; 8] = [
    "runqueue",
    "same_core",
    "target.delayed",
    "target.crowded",
    "target.waited",
    "others.waited",
    "steal",
    "throttled",
];

#[test]
fn a_slow_target_leaves_the_verdict_valid() {
    let _alone = alone();
    let mut told = Vec::new();
    // Three tries, since a pause of the machine at the wrong time rightly makes a run DEGRADED. INVALID never
    // is right.
    for _ in 0..3 {
        let target = Target::start_through(&AHEAD, "--delay 200ms");
        let run =
            Tare::http(&format!("--rate 100 --duration 2s --spin never {}", target.url())).ahead().run();
        assert_ne!(run.word(), "INVALID", "{run}");
        assert_eq!((run.code, run.total("done")), (Some(0), 200), "{run}");
        // The target's own record of its service times, and the delay on the way: a wake-up or two on either
        // side.
        let truth = target.truth();
        let (true_p50, told_p50) = (truth.int("service_ns.p50") as f64, run.float("latency_ns.p50"));
        assert!(true_p50 >= 200e6, "{}", truth.summary);
        assert_close("p50", told_p50, true_p50, 0.02);
        if run.failing().iter().all(|c| MACHINE.contains(&c.name.as_str())) {
            assert_eq!(run.word() == "VALID", run.failing().is_empty(), "{run}");
            return;
        }
        told.push(run.to_string());
    }
    panic!("not once VALID:\n{}", told.join("\n"));
}

/// A server with a thread for each connection, on CPU 0: it works for 300 us for each request.
fn serve(response: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        let mut only = CpuSet::new();
        only.set(0);
        sched_setaffinity(None, &only).expect("CPU 0");
        for connection in listener.incoming().flatten() {
            let response = response.clone();
            std::thread::spawn(move || answer(connection, &response));
        }
    });
    address
}

fn answer(mut connection: TcpStream, response: &str) {
    let mut request = [0; 4096];
    while connection.read(&mut request).is_ok_and(|read| read > 0) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_micros(300) {
            std::hint::spin_loop();
        }
        if connection.write_all(response.as_bytes()).is_err() {
            return;
        }
    }
}

/// A server on CPU 0 with a thread, or a process that it never waits for, for each connection. Each request
/// takes 300 us of work.
const SERVER: &str = r#"
import os, signal, socket, sys, threading, time

def serve(connection):
    while connection.recv(4096):
        end = time.monotonic() + 300e-6
        while time.monotonic() < end:
            pass
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    connection.close()

os.sched_setaffinity(0, [0])
listener = socket.socket(fileno=0)
if sys.argv[1] == "processes":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    connection, _ = listener.accept()
    if sys.argv[1] == "threads":
        threading.Thread(target=serve, args=[connection]).start()
    elif os.fork():
        connection.close()
    else:
        listener.close()
        serve(connection)
        os._exit(0)
"#;

/// Such a server beside the generator is in no valid run, for the reason given; what is advised helps.
#[track_caller]
fn come_and_go_unseen(who: &str, reason: &str) {
    let _alone = alone();
    need("python3");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let _server = Process::start(&["python3", "-c", SERVER, who].map(str::to_owned), |command| {
        command.stdin(OwnedFd::from(listener));
    });
    let load = |cpu| {
        let load = "--rate 500 --poisson --duration 2s --threads 1 --requests-per-connection 10";
        Tare::http(&format!("{load} --cpus {cpu} http://{address}/")).run()
    };
    let shared = load(0);
    let unseen = shared.criterion("target.unseen");
    assert!(!unseen.holds && shared.word() != "VALID", "{shared}");
    assert!(unseen.advice.contains(reason), "{shared}");
    // Whatever else runs there may be the target's: once it is quiet enough.
    let mut apart = load(1);
    for _ in 1..TRIES {
        if apart.criterion("target.unseen").value < unseen.value / 2.0 {
            return;
        }
        apart = load(1);
    }
    assert!(apart.criterion("target.unseen").value < unseen.value / 2.0, "{apart}");
}

/// They wait for the generator's CPU, and are gone before anybody could ask them for how long.
#[test]
fn threads_that_come_and_go_beside_the_generator_are_in_no_valid_run() {
    come_and_go_unseen("threads", "came and went");
}

/// What they ran is in no total.
#[test]
fn processes_that_nobody_waits_for_beside_the_generator_are_in_no_valid_run() {
    come_and_go_unseen("processes", "SIGCHLD");
}

/// Runs of which one must be as bad as it can be.
const TRIES: usize = 3;

/// A server on CPU 1 that hands each request on to another process, on CPU 0, over TCP or a Unix socket. That
/// works for 100 us.
const CHAIN: &str = r#"
import os, socket, sys, threading, time

listener = socket.socket(fileno=0)
way = sys.argv[1]
if way == "unix":
    behind = socket.socket(socket.AF_UNIX)
    behind.bind(sys.argv[2])
else:
    behind = socket.socket()
    behind.bind(("127.0.0.1", 0))
behind.listen(64)
at = behind.getsockname()

def work(connection):
    while connection.recv(4096):
        end = time.monotonic() + 100e-6
        while time.monotonic() < end:
            pass
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

def hand_on(connection):
    with socket.socket(behind.family) as back:
        back.connect(at)
        try:
            while request := connection.recv(4096):
                back.sendall(request)
                connection.sendall(back.recv(4096))
        except OSError:
            pass

def serve(listener, each, cpu):
    os.sched_setaffinity(0, [cpu])
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=each, args=[connection], daemon=True).start()

parent = os.getpid()
if os.fork() == 0:
    listener.close()
    # It is nobody's child, as a service of the system's is.
    if os.fork() == 0:
        threading.Thread(target=serve, args=[behind, work, 0], daemon=True).start()
        while os.path.exists(f"/proc/{parent}"):
            time.sleep(0.1)
    os._exit(0)
os.wait()
behind.close()
serve(listener, hand_on, 1)
"#;

/// Who does the work waits for the generator's CPU, and is not who is asked: INVALID, as the figures are many
/// times what they would be.
#[track_caller]
fn a_process_behind_the_target(way: &str) {
    let _alone = alone();
    need_root();
    need("python3");
    let folder = tare_system_tests::scratch();
    let socket = folder.path().join("behind").display().to_string();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let _chain = Process::start(&["python3", "-c", CHAIN, way, &socket].map(str::to_owned), |command| {
        command.stdin(OwnedFd::from(listener));
    });
    // A departure every 400 us, so that the generator's thread never sleeps; the chain needs a fifth of that.
    let load = format!("--rate 2500 --parallel 16 --duration 2s --threads 1 http://{address}/");
    let starve = || Tare::http(&format!("--cpus 0 --spin always --priority real-time {load}")).run();
    let is_grave =
        |run: &Run| run.criterion("target.waited").severity == "INVALID" && run.word() == "INVALID";
    let lies = Lies::default();
    patiently(2, || {
        // It may happen to get the CPU often enough; then the run is no more than in doubt.
        let runs: Vec<Run> = std::iter::repeat_with(|| lies.never_valid(starve())).take(TRIES).collect();
        let starved = runs.iter().find(|run| is_grave(run)).unwrap_or_else(|| panic!("{runs:?}"));
        // Apart from it, the same load is as it should be.
        let apart = Tare::http(&format!("--cpus 1 --spin never {load}")).run();
        let waited = |run: &Run| run.criterion("target.waited").value;
        assert!(waited(&apart) < waited(starved) / 2.0, "{apart}\n{starved}");
    });
    lies.were_none();
}

#[test]
fn a_process_behind_the_target_that_waits_makes_the_run_invalid() {
    a_process_behind_the_target("tcp");
}

#[test]
fn a_process_behind_a_unix_socket_of_the_targets_that_waits_makes_the_run_invalid() {
    a_process_behind_the_target("unix");
}

/// Who has nothing to do with the target may wait for as long: a doubt.
#[test]
fn a_process_that_is_not_the_targets_and_waits_leaves_the_figures_as_they_are() {
    let _alone = alone();
    need_root();
    need("taskset");
    // All of its threads, not only those that serve.
    let target = Target::start_through(&["taskset", "-c", "1"], "--no-truth --workers 1 --delay 2ms");
    let noise = ["nice", "-n", "19", "taskset", "-c", "0", "sh", "-c", "while :; do :; done"];
    let _noise = Process::start(&noise.map(str::to_owned), |_| ());
    let load = "--rate 5000 --duration 2s --threads 1 --cpus 0 --spin always";
    let lies = Lies::default();
    patiently(3, || {
        let run = lies.never_valid(Tare::http(&format!("{load} {}", target.url())).run());
        let waited = run.criterion("others.waited");
        assert_eq!((waited.holds, waited.severity.as_str()), (false, "DEGRADED"), "{run}");
        assert_ne!(run.criterion("target.waited").severity, "INVALID", "{run}");
    });
    lies.were_none();
}

/// Nobody knew its port before.
#[test]
fn a_target_behind_a_redirect_that_waits_is_in_no_valid_run() {
    let _alone = alone();
    let behind = Target::start("--no-truth --workers 1 --cpus 0");
    let to = behind.url();
    let front = serve(format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"));
    let load = "--rate 1000 --poisson --duration 2s --threads 1 --cpus 0 --spin always --follow 1";
    let starved = Tare::http(&format!("{load} http://{front}/")).run();
    let waited = starved.criterion("target.waited");
    assert!(!waited.holds && starved.word() != "VALID", "{starved}");
}
