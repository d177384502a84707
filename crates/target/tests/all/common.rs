//! A client that is as plain as can be: it must not share the target's own mistakes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use target::{Running, TargetConfig, spawn};

pub fn start(toml: &str) -> Running {
    spawn(TargetConfig::from_toml(toml).unwrap()).unwrap()
}

pub fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

pub fn request(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: test\r\n\r\n")
}

#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

/// Reads one answer with a Content-Length.
pub fn read_answer(stream: &mut impl Read) -> std::io::Result<Answer> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
    let length =
        head.lines().find_map(|l| l.strip_prefix("Content-Length: ")).map_or(0, |l| l.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(Answer { status, head, body })
}

/// One request on a connection that may be used again.
pub fn ask(stream: &mut (impl Read + Write), target: &str) -> std::io::Result<Answer> {
    stream.write_all(request(target).as_bytes())?;
    read_answer(stream)
}

/// One request on a connection of its own; everything until the close.
pub fn ask_once(addr: SocketAddr, target: &str) -> Answer {
    ask(&mut connect(addr), target).unwrap()
}
