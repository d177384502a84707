//! A packet socket sees a frame that holds several (TSO, UDP_SEGMENT) as one: whoever counts such frames,
//! measures their gaps or sends them on says so, and following the advice helps.

use std::process::Stdio;
use std::time::Duration;
use tare_system_tests::bed::{Middlebox, Namespace, Topology, run_in};
use tare_system_tests::process::wait_until;
use tare_system_tests::{Process, Run, Running, Tare, TestBed, beside_others, need};

/// Sends messages of ten datagrams of 60 bytes, below any MTU.
const MESSAGES: &str = r#"
import socket, time
UDP_SEGMENT = 103
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.SOL_UDP, UDP_SEGMENT, 60)
for _ in range(50):
    sender.sendto(bytes(600), ("198.18.0.2", 9))
    time.sleep(0.002)
"#;

/// Connects, and sends 300 kB.
const STREAM: &str = r#"
import socket
sender = socket.create_connection(("198.18.0.2", 7000), 10)
sender.sendall(bytes(300_000))
sender.shutdown(socket.SHUT_WR)
sender.recv(1)
"#;

/// Reads until the other end has sent all.
const READER: &str = r#"
import socket
with socket.create_server(("198.18.0.2", 7000)) as server:
    connection, _ = server.accept()
    while connection.recv(1 << 16):
        pass
"#;

fn python(namespace: &Namespace, folder: &std::path::Path, name: &str, text: &str) -> Process {
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    let words = ["ip", "netns", "exec", &namespace.name, "python3", file.to_str().unwrap()];
    Process::start(&words.map(str::to_owned), |command| {
        command.stdout(Stdio::null());
    })
}

fn ended(mut process: Process) {
    let status = process.wait(Duration::from_secs(30));
    assert!(status.is_some_and(|status| status.success()), "{status:?}");
}

fn begun(arguments: &str, namespace: &Namespace, folder: &std::path::Path) -> Running {
    let out = folder.join("run");
    let _ = std::fs::remove_dir_all(&out);
    let tare = Tare::packets(&format!("{arguments} --out {} --accept-invalid", out.display()));
    let running = tare.inside(namespace).limit(Duration::from_secs(60)).start();
    wait_until("the run has begun", || out.join("begun.json").exists());
    running.sleep_until(Duration::from_millis(300));
    running
}

fn told(run: &Run) -> bool {
    let criterion = run.criterion("receiver.merged");
    let advice = criterion.advice.contains("'ethtool -K INTERFACE tx off'");
    assert_eq!(advice, !criterion.holds, "{criterion:?}");
    let is_capture = run.at("/packets/command") == "capture";
    let word = if is_capture { "DEGRADED" } else { "INVALID" };
    assert!(criterion.holds || run.word() == word, "{run}");
    !criterion.holds
}

fn merged(run: &Run) -> u64 {
    let ports = run.at("/packets/ports").as_array().unwrap();
    ports.iter().filter_map(|port| port["merged"].as_u64()).sum()
}

#[test]
fn whoever_counts_frames_that_hold_several_says_so() {
    let _guard = beside_others();
    need("ethtool");
    let bed = TestBed::pair();
    let folder = tempfile::tempdir().unwrap();
    for command in ["capture", "gaps"] {
        for offloads in ["on", "off"] {
            // As interfaces of a host are unless somebody changes them.
            run_in(bed.generator(), &format!("ethtool -K gen0 tx {offloads}"));
            if offloads == "on" {
                run_in(bed.generator(), "ethtool -K gen0 gso on tso on");
            }
            let running = begun(&format!("{command} packet:sink0 udp -t 20"), bed.sink(), folder.path());
            ended(python(bed.generator(), folder.path(), "messages.py", MESSAGES));
            std::thread::sleep(Duration::from_millis(300));
            let run = running.end();
            let (frames, several) = (run.int("/packets/ports/0/received"), merged(&run));
            let expected = if offloads == "on" { (50, 50) } else { (500, 0) };
            assert_eq!((frames, several), expected, "{command}, {offloads}: {run}");
            assert_eq!(told(&run), offloads == "on", "{command}, {offloads}: {run}");

            let running = begun(&format!("{command} packet:sink0 tcp -t 20"), bed.sink(), folder.path());
            let reader = python(bed.sink(), folder.path(), "reader.py", READER);
            let listens = || run_in(bed.sink(), "ss -Hltn").contains(":7000");
            wait_until("somebody listens", listens);
            ended(python(bed.generator(), folder.path(), "stream.py", STREAM));
            ended(reader);
            let run = running.end();
            assert_eq!(told(&run), offloads == "on", "{command}, {offloads}: {run}");
            assert_eq!(merged(&run) > 0, offloads == "on", "{command}, {offloads}: {run}");
        }
    }
}

#[test]
fn whoever_sends_frames_that_hold_several_on_in_one_piece_says_so() {
    let _guard = beside_others();
    need("ethtool");
    let bed = TestBed::up(Topology::unique().middlebox(Middlebox::Wire));
    let middle = bed.middlebox().unwrap();
    let folder = tempfile::tempdir().unwrap();
    for command in ["forward packet:mid0 packet:mid1", "pace packet:mid0 packet:mid1 --rate 10k"] {
        for offloads in ["on", "off"] {
            run_in(bed.generator(), &format!("ethtool -K gen0 tx {offloads}"));
            if offloads == "on" {
                run_in(bed.generator(), "ethtool -K gen0 gso on tso on");
            }
            let running = begun(&format!("{command} -t 20"), middle, folder.path());
            ended(python(bed.generator(), folder.path(), "messages.py", MESSAGES));
            std::thread::sleep(Duration::from_millis(300));
            let run = running.end();
            assert_eq!(told(&run), offloads == "on", "{command}, {offloads}: {run}");
            assert_eq!(merged(&run), if offloads == "on" { 50 } else { 0 }, "{command}, {offloads}: {run}");
        }
    }
}
