//! An InfluxDB that is no more than its endpoint for writing, and that can be away: then nobody listens.

use anyhow::Result;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

const NAP: Duration = Duration::from_millis(20);
/// A connection that says nothing for so long is looked at again.
const QUIET: Duration = Duration::from_millis(200);
/// Larger bodies are not read.
const LARGEST: usize = 16 << 20;

#[derive(Default)]
struct Shared {
    is_there: AtomicBool,
    is_over: AtomicBool,
    /// Times of the intervals that came.
    intervals: Mutex<BTreeSet<u64>>,
    /// Requests since it came back.
    since_back: AtomicU64,
    was_away: AtomicBool,
}

pub struct Influx {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: JoinHandle<()>,
}

/// What it had at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Intervals, each once.
    pub intervals: u64,
    pub was_away: bool,
    /// Writes after it had been away.
    pub since_back: u64,
}

impl Influx {
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        shared.is_there.store(true, Ordering::Release);
        let own = shared.clone();
        let thread = std::thread::spawn(move || own.serve(address, Some(listener)));
        Ok(Self { shared, address, thread })
    }

    /// As `--to` has it.
    pub fn url(&self) -> String {
        format!("influxdb://{}/soak", self.address)
    }

    /// There, or away.
    pub fn be(&self, there: bool) {
        let before = self.shared.is_there.swap(there, Ordering::AcqRel);
        self.shared.was_away.fetch_or(before && !there, Ordering::AcqRel);
    }

    pub fn end(self) -> Kept {
        let shared = &self.shared;
        shared.is_over.store(true, Ordering::Release);
        let _ = self.thread.join();
        Kept {
            intervals: shared.intervals.lock().unwrap_or_else(PoisonError::into_inner).len() as u64,
            was_away: shared.was_away.load(Ordering::Acquire),
            since_back: shared.since_back.load(Ordering::Acquire),
        }
    }
}

impl Shared {
    fn serve(self: Arc<Self>, address: SocketAddr, mut listener: Option<TcpListener>) {
        while !self.is_over.load(Ordering::Acquire) {
            std::thread::sleep(NAP);
            if !self.is_there.load(Ordering::Acquire) {
                listener = None;
                continue;
            }
            // Its port is nobody else's meanwhile, but may still have connections that are ending.
            let Some(listener) = listener.as_ref() else {
                listener = TcpListener::bind(address).ok();
                continue;
            };
            let _ = listener.set_nonblocking(true);
            while let Ok((socket, _)) = listener.accept() {
                let own = self.clone();
                std::thread::spawn(move || own.converse(socket));
            }
        }
    }

    /// Requests of one connection, until it ends or the database goes away.
    fn converse(&self, socket: TcpStream) -> Option<()> {
        socket.set_nonblocking(false).ok()?;
        socket.set_read_timeout(Some(QUIET)).ok()?;
        let mut answers = socket.try_clone().ok()?;
        let mut from = BufReader::new(socket);
        loop {
            let there = || self.is_there.load(Ordering::Acquire) && !self.is_over.load(Ordering::Acquire);
            while from.buffer().is_empty() {
                match from.fill_buf() {
                    Ok([]) => return None,
                    Ok(_) => {}
                    Err(error) if is_quiet(&error) && there() => {}
                    Err(_) => return None,
                }
            }
            let body = request(&mut from)?;
            if !there() {
                return None;
            }
            self.keep(&body);
            answers.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").ok()?;
        }
    }

    fn keep(&self, body: &str) {
        if self.was_away.load(Ordering::Acquire) {
            self.since_back.fetch_add(1, Ordering::AcqRel);
        }
        let times = body.lines().filter(|line| line.starts_with("tare,")).filter_map(time_of);
        self.intervals.lock().unwrap_or_else(PoisonError::into_inner).extend(times);
    }
}

fn is_quiet(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

/// The body of the next request.
fn request(from: &mut impl BufRead) -> Option<String> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        from.take(64 << 10).read_line(&mut line).ok().filter(|count| *count > 0)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok().filter(|length| *length <= LARGEST)?;
        }
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    String::from_utf8(body).ok()
}

/// The time at the end of a line of the protocol.
fn time_of(line: &str) -> Option<u64> {
    line.rsplit_once(' ')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(address: SocketAddr, time: u64) -> std::io::Result<String> {
        let mut socket = TcpStream::connect(address)?;
        let body = format!("tare,run=a offered=1i {time}\ntare_threads,thread=0 x=1 {time}\n");
        write!(socket, "POST /write HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len())?;
        let mut answer = String::new();
        BufReader::new(socket).read_line(&mut answer)?;
        Ok(answer)
    }

    /// Until it is so, for ten seconds at most.
    fn until(mut is_so: impl FnMut() -> bool) {
        assert!((0..500).any(|_| is_so() || {
            std::thread::sleep(NAP);
            false
        }));
    }

    #[test]
    fn it_keeps_each_interval_once_and_can_be_away() {
        let influx = Influx::start().expect("a free port");
        for time in [5, 5, 6] {
            assert!(write(influx.address, time).expect("it is there").contains("204"));
        }
        influx.be(false);
        until(|| write(influx.address, 7).is_err());
        influx.be(true);
        until(|| write(influx.address, 8).is_ok_and(|answer| answer.contains("204")));
        assert_eq!(influx.end(), Kept { intervals: 3, was_away: true, since_back: 1 });
    }
}
