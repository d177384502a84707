//! The socket in the run's folder: a few visitors at once, each line answered by one line.
//!
//! Each visitor has a thread, since some answers take a second (a mark, a question by ARP) and `stop` must not
//! wait for them.
//!
//! Who may write to the socket is whoever may write to the folder. The socket is removed when the run ends.

use super::{SOCKET, short_path};
use crate::control::{Answer, By, JobControl, LONGEST_LINE};
use clock::{Clock, HostClock, Stopwatch};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Visitors at once; one more waits.
const VISITORS: usize = 32;
/// How often the thread looks whether the run is over.
const ROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// As many as may be are there: whether one has left is looked at again after this, and who has asked nothing
/// for so long makes room.
const FULL: Duration = Duration::from_millis(20);
const SILENT: Duration = Duration::from_secs(1);
/// A visitor that takes no answer for so long has left.
const PATIENCE: Duration = Duration::from_millis(200);

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
    /// The folder itself, whatever its name is by now.
    folder: File,
    /// Which file it is (device and number), if that is known: another of its name is somebody else's.
    own: Option<(u64, u64)>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// One connection, and what it has written of a line.
struct Visitor {
    stream: UnixStream,
    line: Vec<u8>,
    /// Lines that it had an answer to.
    answered: u64,
}

impl Server {
    /// Makes `folder/control.sock` and listens there.
    ///
    /// # Errors
    /// The socket cannot be made: then the run goes on without.
    pub fn start(folder: &Path, control: Arc<JobControl>, clock: HostClock) -> io::Result<Self> {
        let opened = File::open(folder)?;
        let listener = UnixListener::bind(short_path(&opened, SOCKET))?;
        let own = id(&short_path(&opened, SOCKET));
        listener.set_nonblocking(true)?;
        let path = folder.join(SOCKET);
        let over = Arc::new(AtomicBool::new(false));
        let is_over = over.clone();
        let thread = std::thread::Builder::new()
            .name("tare-ctl".to_owned())
            .spawn(move || serve(&listener, &control, clock, &is_over))?;
        Ok(Self { path, folder: opened, own, over, thread: Some(thread) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let socket = short_path(&self.folder, SOCKET);
        if id(&socket) == self.own {
            let _ = std::fs::remove_file(socket);
        }
    }
}

fn id(path: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(path).ok().map(|there| (there.dev(), there.ino()))
}

fn serve(listener: &UnixListener, control: &JobControl, clock: HostClock, over: &AtomicBool) {
    let present = AtomicUsize::new(0);
    let receive = |mut visitor: Visitor| {
        let mut quiet = Stopwatch::start();
        while !over.load(Ordering::Relaxed) {
            // Reading tells what there is, also that there is nothing yet.
            is_ready(&visitor.stream);
            let before = visitor.answered;
            if !visitor.hear(control, clock) {
                break;
            }
            if visitor.answered > before {
                quiet = Stopwatch::start();
            } else if quiet.elapsed() > SILENT && present.load(Ordering::Relaxed) >= VISITORS {
                break;
            }
        }
        present.fetch_sub(1, Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        while !over.load(Ordering::Relaxed) {
            if present.load(Ordering::Relaxed) >= VISITORS {
                std::thread::sleep(FULL);
            } else if is_ready(listener)
                && let Some(visitor) = welcome(listener)
            {
                present.fetch_add(1, Ordering::Relaxed);
                let thread = std::thread::Builder::new().name("tare-ctl".to_owned());
                if thread.spawn_scoped(scope, || receive(visitor)).is_err() {
                    // The connection is closed: who asked may ask again.
                    present.fetch_sub(1, Ordering::Relaxed);
                }
            }
        }
    });
}

/// Waits for a while until there is something to be read. Interrupted or failed: the next round looks again.
fn is_ready(socket: &impl AsFd) -> bool {
    let mut sockets = [PollFd::new(socket, PollFlags::IN)];
    poll(&mut sockets, Some(&ROUND)).is_ok() && !sockets[0].revents().is_empty()
}

fn welcome(listener: &UnixListener) -> Option<Visitor> {
    let (stream, _) = listener.accept().ok()?;
    stream.set_nonblocking(true).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    Some(Visitor { stream, line: Vec::new(), answered: 0 })
}

impl Visitor {
    /// Reads what is there and answers whole lines; whether it stays.
    fn hear(&mut self, control: &JobControl, clock: HostClock) -> bool {
        let mut bytes = [0; LONGEST_LINE];
        match self.stream.read(&mut bytes) {
            Ok(0) => {
                // The last line may lack its end.
                let _ = self.line.is_empty() || self.answer(control, clock);
                false
            }
            Ok(count) => self.take(&bytes[..count], control, clock),
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }

    fn take(&mut self, bytes: &[u8], control: &JobControl, clock: HostClock) -> bool {
        for byte in bytes {
            if *byte == b'\n' {
                if !self.answer(control, clock) {
                    return false;
                }
                self.line.clear();
            } else if self.line.len() >= LONGEST_LINE {
                self.say(&format!("error a line has at most {LONGEST_LINE} bytes"));
                return false;
            } else {
                self.line.push(*byte);
            }
        }
        true
    }

    fn answer(&mut self, control: &JobControl, clock: HostClock) -> bool {
        let line = String::from_utf8_lossy(&self.line).into_owned();
        self.answered += 1;
        self.say(&answer(&line, |command| control.ask(command, clock.now(), By::Socket)))
    }

    fn say(&mut self, text: &str) -> bool {
        self.stream.write_all(format!("{}\n", text.replace('\n', " ")).as_bytes()).is_ok()
    }
}

/// The answer to a line, in the way in which it was asked.
fn answer(line: &str, ask: impl FnOnce(&str) -> Answer) -> String {
    if !line.trim_start().starts_with('{') {
        return match ask(line) {
            Ok(said) => format!("ok {said}"),
            Err(why) => format!("error {why}"),
        };
    }
    let read: Result<serde_json::Value, _> = serde_json::from_str(line);
    let said = match read.as_ref().ok().and_then(|value| value.get("command")).and_then(|word| word.as_str())
    {
        Some(command) => ask(command),
        None => Err("the line is not a JSON object with a command: {\"command\":\"show\"}".to_owned()),
    };
    match said {
        // What is JSON itself stays so.
        Ok(said) => {
            let value = serde_json::from_str(&said).unwrap_or(serde_json::Value::String(said));
            serde_json::json!({ "ok": true, "answer": value }).to_string()
        }
        Err(why) => serde_json::json!({ "ok": false, "error": why }).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ctl::ask;
    use std::io::{BufRead, BufReader};

    fn control() -> Arc<JobControl> {
        let control = JobControl::default();
        control.on("set rate", "set rate RATE", |_, asked| match asked.rest.parse::<units::Rate>() {
            Ok(rate) => Ok(format!("rate {rate}")),
            Err(error) => Err(error.to_string()),
        });
        Arc::new(control)
    }

    #[test]
    fn a_line_is_answered_in_kind() {
        let echo = |command: &str| match command {
            "show" => Ok("{\"rate\":1}".to_owned()),
            other => Err(format!("no {other}")),
        };
        assert_eq!(answer("show", echo), "ok {\"rate\":1}");
        assert_eq!(answer("x", echo), "error no x");
        let parsed: serde_json::Value = serde_json::from_str(&answer(r#"{"command":"show"}"#, echo)).unwrap();
        assert_eq!(parsed, serde_json::json!({ "ok": true, "answer": { "rate": 1 } }));
        let parsed: serde_json::Value = serde_json::from_str(&answer(r#"{"command":1}"#, echo)).unwrap();
        assert_eq!(parsed["ok"], false);
    }

    #[test]
    fn a_socket_in_a_folder_with_a_long_name_is_made_found_and_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("x".repeat(120)).join("run");
        std::fs::create_dir_all(&folder).unwrap();
        let server = Server::start(&folder, control(), HostClock::monotonic()).unwrap();
        assert!(server.path().as_os_str().len() > 107);
        assert_eq!(ask(&folder, "set rate 2M").unwrap(), Ok("rate 2000000/s".to_owned()));
        assert!(ask(&folder, "set rate 2Q").unwrap().unwrap_err().contains("unknown multiplier"));
        drop(server);
        assert!(!folder.join(SOCKET).exists());
        let gone = ask(&folder, "show").unwrap_err().to_string();
        assert!(gone.contains("is not under way"), "{gone}");
        // What somebody else put there meanwhile stays.
        let server = Server::start(&folder, control(), HostClock::monotonic()).unwrap();
        std::fs::remove_file(folder.join(SOCKET)).unwrap();
        std::fs::write(folder.join(SOCKET), "theirs").unwrap();
        drop(server);
        assert!(folder.join(SOCKET).exists());
    }

    #[test]
    fn who_is_answered_late_delays_nobody() {
        let scratch = tempfile::tempdir().unwrap();
        let control = control();
        let (go, waits) = std::sync::mpsc::sync_channel(0);
        let waits = std::sync::Mutex::new(waits);
        control.on("slow", "slow", move |_, _| {
            waits.lock().unwrap().recv().unwrap();
            Ok("at last".to_owned())
        });
        let server = Server::start(scratch.path(), control, HostClock::monotonic()).unwrap();
        let mut slow = UnixStream::connect(server.path()).unwrap();
        slow.write_all(b"slow\n").unwrap();
        assert_eq!(ask(scratch.path(), "set rate 2M").unwrap(), Ok("rate 2000000/s".to_owned()));
        go.send(()).unwrap();
        assert_eq!(BufReader::new(slow).lines().next().unwrap().unwrap(), "ok at last");
    }

    #[test]
    fn who_says_nothing_makes_room() {
        let scratch = tempfile::tempdir().unwrap();
        let server = Server::start(scratch.path(), control(), HostClock::monotonic()).unwrap();
        let silent: Vec<UnixStream> = (0..VISITORS)
            .map(|_| {
                let mut stream = UnixStream::connect(server.path()).unwrap();
                stream.write_all(b"half a li").unwrap();
                stream
            })
            .collect();
        assert_eq!(ask(scratch.path(), "set rate 2M").unwrap(), Ok("rate 2000000/s".to_owned()));
        drop(silent);
    }

    #[test]
    fn several_lines_and_a_line_that_is_too_long() {
        let scratch = tempfile::tempdir().unwrap();
        let server = Server::start(scratch.path(), control(), HostClock::monotonic()).unwrap();
        let mut stream = UnixStream::connect(server.path()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream.write_all(b"set rate 3\nset rate 4\n{\"command\":\"nonsense\"}\n").unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ok rate 3/s");
        assert_eq!(lines.next().unwrap().unwrap(), "ok rate 4/s");
        assert!(lines.next().unwrap().unwrap().contains("\"ok\":false"));
        stream.write_all(&vec![b'x'; 3 * LONGEST_LINE]).unwrap();
        assert!(lines.next().unwrap().unwrap().starts_with("error a line has at most"));
    }
}
