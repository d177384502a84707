//! Who watches: a client that has the stream of events open, and one that fetches the page each second.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const EACH: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(10);

pub struct Viewer {
    over: Arc<AtomicBool>,
    pages: JoinHandle<Watched>,
    events: JoinHandle<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Whole pages, and times that there was none.
    pub pages: u64,
    pub failures: u64,
    /// Bytes of the largest page.
    pub largest: u64,
    /// Bytes of events.
    pub events: u64,
}

impl Viewer {
    /// Watches the page at `host`.
    pub fn start(host: String) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (own, place) = (over.clone(), host.clone());
        let pages = std::thread::spawn(move || {
            let mut watched = Watched::default();
            while !own.load(Ordering::Acquire) {
                match get(&place, "/") {
                    Ok(bytes) => {
                        watched.pages += 1;
                        watched.largest = watched.largest.max(bytes);
                    }
                    // The run has ended, and its page with it.
                    Err(_) if own.load(Ordering::Acquire) => {}
                    Err(_) => watched.failures += 1,
                }
                std::thread::sleep(EACH);
            }
            watched
        });
        // It ends with the run.
        let events = std::thread::spawn(move || get(&host, "/events").unwrap_or_default());
        Self { over, pages, events }
    }

    /// After the end of the run.
    pub fn end(self) -> Watched {
        self.over.store(true, Ordering::Release);
        let pages = self.pages.join().unwrap_or_default();
        Watched { events: self.events.join().unwrap_or_default(), ..pages }
    }
}

/// How many bytes there are.
fn get(host: &str, path: &str) -> std::io::Result<u64> {
    let mut socket = TcpStream::connect(host)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    write!(socket, "GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n")?;
    let mut start = [0; 12];
    socket.read_exact(&mut start)?;
    match &start {
        b"HTTP/1.0 200" | b"HTTP/1.1 200" => std::io::copy(&mut socket, &mut std::io::sink()),
        _ => Err(std::io::Error::other("the page is refused")),
    }
}
