//! A scripted TCP server: a thread for each connection, for what no decent server does.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A server whose every connection is handled by one function; stopped when dropped.
pub struct Wire {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    accepted: Arc<AtomicU64>,
    first: Arc<std::sync::Mutex<Option<Instant>>>,
    acceptor: Option<JoinHandle<()>>,
}

impl Wire {
    /// `serve` has the connection to itself; when it returns, the connection is closed.
    pub fn start(serve: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> Self {
        Self::on("127.0.0.1", serve)
    }

    /// The same on another address.
    pub fn on(address: &str, serve: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((address, 0)).expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (stop, accepted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let first = Arc::new(std::sync::Mutex::new(None));
        let serve = Arc::new(serve);
        let (halt, count, when) = (stop.clone(), accepted.clone(), first.clone());
        let acceptor = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if halt.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(mut stream) = stream else { continue };
                when.lock().expect("no panic while held").get_or_insert_with(Instant::now);
                count.fetch_add(1, Ordering::SeqCst);
                // Nothing waits for ever, so that the threads end soon after the test.
                let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
                let _ = stream.set_nodelay(true);
                let serve = serve.clone();
                std::thread::spawn(move || serve(&mut stream));
            }
        });
        Self { address, stop, accepted, first, acceptor: Some(acceptor) }
    }

    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
    pub fn address(&self) -> SocketAddr {
        self.address
    }
    /// Connections so far.
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::SeqCst)
    }
    /// When the first connection came.
    pub fn first_at(&self) -> Option<Instant> {
        *self.first.lock().expect("no panic while held")
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the acceptor.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

/// Reads one request head; `None` when the client is gone.
pub fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) if head.len() < 65_536 => head.push(byte[0]),
            _ => return None,
        }
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// Answers every request with the same bytes until the client goes.
pub fn answer_all(bytes: &'static [u8]) -> impl Fn(&mut TcpStream) + Send + Sync {
    move |stream| {
        while read_request(stream).is_some() {
            if stream.write_all(bytes).is_err() {
                return;
            }
        }
    }
}

/// Closes with RST instead of FIN.
pub fn reset(stream: &TcpStream) {
    let _ = rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO));
}

/// Sends no more, and reads on until the client closes, so that no RST overtakes the last bytes.
pub fn close_gently(stream: &mut TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    let mut rest = [0; 1024];
    while matches!(stream.read(&mut rest), Ok(n) if n > 0) {}
}
