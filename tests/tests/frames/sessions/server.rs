//! A server of kernel sockets: it checks each request byte by byte, and answers as the request says.
//!
//! ```text
//! request    its length, length of the response: 32 bits each; then bytes of the pattern
//! response   bytes of the pattern
//! ```

use bed::Namespace;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// How a connection ends, and how fast it is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manners {
    /// Closes after so many responses.
    pub closes_after: Option<usize>,
    /// Resets after so many requests, before the last response.
    pub resets_after: Option<usize>,
    /// Reads nothing before this is over, into the least buffer.
    pub reads_after: Option<Duration>,
}

/// What became of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Whole requests with the right bytes.
    pub requests: usize,
    pub why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The client's FIN.
    Finished,
    /// Closed here.
    Closed,
    Failed(ErrorKind),
}

/// Byte `at` of a message of `length` bytes.
fn pattern(length: usize, at: usize) -> u8 {
    ((at as u32 ^ (length as u32) << 7).wrapping_mul(0x9e37_79b1) >> 24) as u8
}

pub fn response(length: usize) -> Vec<u8> {
    (0..length).map(|at| pattern(length, at)).collect()
}

pub fn request(length: usize, answer: usize) -> Vec<u8> {
    let mut bytes = response(length);
    bytes[..4].copy_from_slice(&(length as u32).to_be_bytes());
    bytes[4..8].copy_from_slice(&(answer as u32).to_be_bytes());
    bytes
}

/// Listens in the namespace for as long as the test runs.
pub fn serve(inside: &Namespace, address: Ipv4Addr, manners: Manners) -> (SocketAddr, Receiver<Ending>) {
    let listener = inside.run_in(|| TcpListener::bind((address, 0))).expect("a namespace").expect("a socket");
    if manners.reads_after.is_some() {
        rustix::net::sockopt::set_socket_recv_buffer_size(&listener, 2048).expect("a small buffer");
    }
    let place = listener.local_addr().expect("an address");
    let (tell, endings) = channel();
    // It ends with the test's process: nobody waits for it.
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let tell = tell.clone();
            thread::spawn(move || attend(stream, manners, &tell));
        }
    });
    (place, endings)
}

fn attend(mut stream: TcpStream, manners: Manners, tell: &Sender<Ending>) {
    if let Some(time) = manners.reads_after {
        thread::sleep(time);
    }
    let mut requests = 0;
    let why = loop {
        match answer(&mut stream, || manners.resets_after == Some(requests + 1)) {
            Ok(true) => requests += 1,
            Ok(false) => break Why::Finished,
            Err(error) => break Why::Failed(error.kind()),
        }
        if manners.resets_after == Some(requests) {
            let _ = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
            break Why::Closed;
        }
        if manners.closes_after == Some(requests) {
            break Why::Closed;
        }
    };
    drop(stream);
    let _ = tell.send(Ending { requests, why });
}

/// One request and its response; `false` at the end of the stream.
fn answer(stream: &mut TcpStream, keeps_still: impl Fn() -> bool) -> std::io::Result<bool> {
    let mut head = [0; 8];
    if stream.read(&mut head[..1])? == 0 {
        return Ok(false);
    }
    stream.read_exact(&mut head[1..])?;
    let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize;
    let mut bytes = vec![0; word(0).saturating_sub(head.len())];
    stream.read_exact(&mut bytes)?;
    if bytes != request(word(0), word(4))[head.len()..] {
        return Err(ErrorKind::InvalidData.into());
    }
    if !keeps_still() {
        stream.write_all(&response(word(4)))?;
    }
    Ok(true)
}
