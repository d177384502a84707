//! A server that writes down what it was sent, byte by byte, and answers 200.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/// How long a body may not come if the client is to wait for the 100.
const HESITATION: Duration = Duration::from_millis(50);

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// Connections are numbered in the order in which they were accepted, from 0.
    pub connection: usize,
    /// The address that the client connected to, and where it came from.
    pub to: IpAddr,
    pub from: IpAddr,
    /// Request line and header lines, without the empty line.
    pub head: String,
    /// Without the framing of chunks.
    pub body: Vec<u8>,
    pub chunked: bool,
    /// With `Expect: 100-continue`: nothing of the body came before the 100.
    pub waited: bool,
}

impl Received {
    /// `GET /path HTTP/1.1`
    pub fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    /// The second word of the request line.
    pub fn target(&self) -> &str {
        self.line().split(' ').nth(1).unwrap_or_default()
    }

    /// Values of all header lines of this name, in order.
    pub fn fields(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).collect()
    }
}

/// The server; it stops when it is dropped.
pub struct Recorder {
    port: u16,
    address: IpAddr,
    log: Arc<Log>,
    acceptors: Vec<(SocketAddr, JoinHandle<()>)>,
}

#[derive(Default)]
struct Log {
    stop: AtomicBool,
    accepts: Mutex<Vec<Instant>>,
    requests: Mutex<Vec<Received>>,
}

impl Recorder {
    pub fn start() -> Self {
        Self::on(&["127.0.0.1"])
    }

    /// On the same free port of each of these addresses.
    pub fn on(addresses: &[&str]) -> Self {
        let log = Arc::new(Log::default());
        let (mut port, mut acceptors) = (0, Vec::new());
        let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().expect("an address")).collect();
        for address in &addresses {
            let listener = TcpListener::bind((*address, port)).expect("a free port of that address");
            let bound = listener.local_addr().expect("a bound socket has an address");
            port = bound.port();
            let log = log.clone();
            acceptors.push((bound, std::thread::spawn(move || accept(&listener, &log))));
        }
        Self { port, address: addresses[0], log, acceptors }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// `http://127.0.0.1:port/`
    pub fn url(&self) -> String {
        format!("http://{}/", SocketAddr::new(self.address, self.port))
    }

    /// All requests so far, in the order in which they were complete.
    pub fn requests(&self) -> Vec<Received> {
        self.log.requests.lock().expect("no panic while held").clone()
    }

    /// The second words of all request lines.
    pub fn targets(&self) -> Vec<String> {
        self.requests().iter().map(|request| request.target().to_owned()).collect()
    }

    /// When each connection was accepted.
    pub fn accepts(&self) -> Vec<Instant> {
        self.log.accepts.lock().expect("no panic while held").clone()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.log.stop.store(true, Ordering::SeqCst);
        for (address, acceptor) in self.acceptors.drain(..) {
            // Wakes the acceptor.
            let _ = TcpStream::connect(address);
            let _ = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, log: &Arc<Log>) {
    for stream in listener.incoming() {
        if log.stop.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let mut accepts = log.accepts.lock().expect("no panic while held");
        let connection = accepts.len();
        accepts.push(Instant::now());
        let log = log.clone();
        std::thread::spawn(move || Conversation { stream, connection, bytes: Vec::new() }.hold(&log));
    }
}

/// One connection; `bytes` are those that came and were not looked at yet.
struct Conversation {
    stream: TcpStream,
    connection: usize,
    bytes: Vec<u8>,
}

impl Conversation {
    /// Until the client goes.
    fn hold(mut self, log: &Log) {
        let _ = self.stream.set_nodelay(true);
        let _ = self.stream.set_read_timeout(Some(Duration::from_secs(10)));
        while let Some(request) = self.request() {
            let closes = request.fields("Connection").contains(&"close")
                || (request.line().ends_with("/1.0") && request.fields("Connection").is_empty());
            // A response to HEAD has no body.
            let response = if request.line().starts_with("HEAD ") { &OK[..OK.len() - 2] } else { OK };
            log.requests.lock().expect("no panic while held").push(request);
            if self.stream.write_all(response).is_err() || closes {
                return;
            }
        }
    }

    fn request(&mut self) -> Option<Received> {
        let head = self.until(b"\r\n\r\n")?;
        let mut request = Received {
            connection: self.connection,
            to: self.stream.local_addr().ok()?.ip(),
            from: self.stream.peer_addr().ok()?.ip(),
            head: String::from_utf8_lossy(&head).trim_end().to_owned(),
            body: Vec::new(),
            chunked: false,
            waited: false,
        };
        if request.fields("Expect") == ["100-continue"] {
            request.waited = self.is_silent();
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
        }
        request.chunked = request.fields("Transfer-Encoding") == ["chunked"];
        if request.chunked {
            request.body = self.chunks()?;
        } else if let Some(length) = request.fields("Content-Length").first() {
            request.body = self.exactly(length.parse().ok()?)?;
        }
        Some(request)
    }

    /// RFC 9112 §7.1, without trailers.
    fn chunks(&mut self) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.until(b"\r\n")?;
            let digits = std::str::from_utf8(&line).ok()?.trim_end();
            let size = usize::from_str_radix(digits, 16).ok()?;
            body.extend(self.exactly(size)?);
            assert_eq!(self.exactly(2)?, b"\r\n", "a chunk ends with a line end");
            if size == 0 {
                return Some(body);
            }
        }
    }

    fn is_silent(&mut self) -> bool {
        let _ = self.stream.set_read_timeout(Some(HESITATION));
        let came = self.more();
        let _ = self.stream.set_read_timeout(Some(Duration::from_secs(10)));
        came.is_none() && self.bytes.is_empty()
    }

    fn more(&mut self) -> Option<()> {
        let mut piece = [0; 16_384];
        match self.stream.read(&mut piece) {
            Ok(count) if count > 0 => {
                self.bytes.extend_from_slice(&piece[..count]);
                Some(())
            }
            _ => None,
        }
    }

    fn until(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.bytes.windows(end.len()).position(|window| window == end) {
                return Some(self.bytes.drain(..at + end.len()).collect());
            }
            self.more()?;
        }
    }

    fn exactly(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.bytes.len() < count {
            self.more()?;
        }
        Some(self.bytes.drain(..count).collect())
    }
}
