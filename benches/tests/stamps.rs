//! The stamping server, held against requests whose times are known from outside.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

struct Server {
    child: Child,
    folder: PathBuf,
}

impl Server {
    fn start(name: &str) -> (Self, u16) {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_bench-http"))
            .args([Path::new("stamps"), &folder.join("arrivals"), &folder.join("port")])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        let port = loop {
            match std::fs::read_to_string(folder.join("port")) {
                Ok(text) if text.ends_with('\n') => break text.trim().parse().unwrap(),
                _ => assert!(begun.elapsed() < Duration::from_secs(5), "no port"),
            }
        };
        (Self { child, folder }, port)
    }

    fn stop(mut self) -> Vec<u64> {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
        let bytes = std::fs::read(self.folder.join("arrivals")).unwrap();
        std::fs::remove_dir_all(&self.folder).unwrap();
        bytes.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().unwrap())).collect()
    }
}

fn now_ns() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Sends one request and reads one response, by its Content-Length of 500.
fn exchange(stream: &mut TcpStream, request: &[u8]) {
    stream.write_all(request).unwrap();
    let mut response = Vec::new();
    while !response.ends_with(&[b'x'; 500]) {
        let mut buffer = [0; 4096];
        let n = stream.read(&mut buffer).unwrap();
        assert!(n > 0, "closed too early");
        response.extend_from_slice(&buffer[..n]);
    }
    assert!(response.starts_with(b"HTTP/1.1 200 OK\r\n"));
}

#[test]
fn each_stamp_lies_between_sending_and_answer() {
    let (server, port) = Server::start("between");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut windows = Vec::new();
    for _ in 0..20 {
        let before_ns = now_ns();
        exchange(&mut stream, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        windows.push((before_ns, now_ns()));
        std::thread::sleep(Duration::from_millis(2));
    }
    let stamps = server.stop();
    assert_eq!(stamps.len(), windows.len());
    for (stamp, (before, after)) in stamps.iter().zip(windows) {
        assert!(before <= *stamp && *stamp <= after, "{before} {stamp} {after}");
    }
}

#[test]
fn connection_close_is_honoured_and_a_split_head_counts_once() {
    let (server, port) = Server::start("close");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnec").unwrap();
    std::thread::sleep(Duration::from_millis(20));
    exchange(&mut stream, b"tion: close\r\n\r\n");
    assert_eq!(stream.read(&mut [0; 16]).unwrap(), 0, "the server closes");
    assert_eq!(server.stop().len(), 1);
}
