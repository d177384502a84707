//! Held against requests whose times are known from outside.

use super::*;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

struct Serving {
    thread: JoinHandle<Result<()>>,
    stop: UnixStream,
    folder: tempfile::TempDir,
}

impl Serving {
    fn start() -> (Self, u16) {
        let folder = tempfile::tempdir().unwrap();
        let (stop, heard) = UnixStream::pair().unwrap();
        let (file, port_file): (PathBuf, _) = (folder.path().join("arrivals"), folder.path().join("port"));
        let port_is = port_file.clone();
        let thread = std::thread::spawn(move || serve(heard, &file, &port_file));
        let begun = Instant::now();
        let port = loop {
            match std::fs::read_to_string(&port_is) {
                Ok(text) if text.ends_with('\n') => break text.trim().parse().unwrap(),
                _ => assert!(begun.elapsed() < Duration::from_secs(5), "no port"),
            }
        };
        (Self { thread, stop, folder }, port)
    }

    fn stop(self) -> Vec<u64> {
        drop(self.stop);
        self.thread.join().unwrap().unwrap();
        let bytes = std::fs::read(self.folder.path().join("arrivals")).unwrap();
        bytes.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().unwrap())).collect()
    }
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
    let (server, port) = Serving::start();
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
    let (server, port) = Serving::start();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnec").unwrap();
    std::thread::sleep(Duration::from_millis(20));
    exchange(&mut stream, b"tion: close\r\n\r\n");
    assert_eq!(stream.read(&mut [0; 16]).unwrap(), 0, "the server closes");
    assert_eq!(server.stop().len(), 1);
}
