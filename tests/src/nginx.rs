//! The real nginx: one worker, its own folder and port, an access log with one line for each request.

use crate::process::{Process, signal_pid, text_of, wait_until};
use bed::Namespace;
use rustix::process::Signal;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use tempfile::TempDir;

/// An nginx at work; master and worker are ended when it is dropped, even if the worker is stopped.
pub struct Nginx {
    master: Process,
    worker: u32,
    port: u16,
    folder: TempDir,
}

/// One line of the access log.
#[derive(Clone, Debug, PartialEq)]
pub struct Logged {
    /// When the answer was complete, by nginx's clock (whole milliseconds), s.
    pub at_s: f64,
    pub status: u16,
    pub uri: String,
}

impl Nginx {
    /// Answers 600 bytes from memory.
    pub fn start() -> Self {
        Self::start_through(&[])
    }

    /// By way of these words, which must end in a call of what follows them.
    pub fn start_through(wrapper: &[&str]) -> Self {
        let body = "x".repeat(600);
        Self::launch(wrapper, "", &format!("location / {{ return 200 '{body}'; }}"), 1, &answers)
    }

    /// In that namespace, with these directives in the server's block.
    pub fn start_inside(namespace: &Namespace, server: &str) -> Self {
        Self::start_inside_with(namespace, server, 1)
    }

    /// The same with so many workers, each of which has up to 16 384 connections.
    pub fn start_inside_with(namespace: &Namespace, server: &str, workers: usize) -> Self {
        let wrapper = ["ip", "netns", "exec", &namespace.name];
        let inside = |port| namespace.run_in(|| answers(port)).unwrap_or(false);
        Self::launch(&wrapper, "", server, workers, &inside)
    }

    /// With these words after the address in `listen`, and these directives in the server's block.
    pub fn start_with(listen: &str, server: &str) -> Self {
        Self::launch(&[], listen, server, 1, &answers)
    }

    fn launch(
        wrapper: &[&str],
        listen: &str,
        server: &str,
        workers: usize,
        answers: &dyn Fn(u16) -> bool,
    ) -> Self {
        crate::need("nginx");
        let folder = crate::scratch();
        let port = free_port();
        let text = configuration(port, listen, server, workers);
        std::fs::write(folder.path().join("nginx.conf"), text).expect("a scratch file");
        // As root, nginx would run its worker as `nobody`, who may not enter the scratch folder.
        let prefix = folder.path().display().to_string();
        let command = ["nginx", "-p", &prefix, "-c", "nginx.conf", "-e", "error.log"];
        let argv: Vec<String> = wrapper.iter().chain(&command).map(|word| (*word).to_owned()).collect();
        let master = Process::start(&argv, |_| {});
        let mut nginx = Self { master, worker: 0, port, folder };
        wait_until("nginx", || {
            assert!(nginx.master.is_running(), "nginx ended: {}", text_of(&nginx.path("error.log")));
            let children = nginx.children();
            nginx.worker = children.first().copied().unwrap_or(0);
            children.len() == workers && answers(port)
        });
        nginx
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// The pids of all workers.
    pub fn workers(&self) -> Vec<u32> {
        self.children()
    }

    /// The worker's pid, for signals.
    pub fn worker(&self) -> u32 {
        self.worker
    }

    /// Ends it after the requests that it has, and reads its log.
    pub fn log(mut self) -> Vec<Logged> {
        self.master.signal(Signal::QUIT);
        let ended = self.master.wait(std::time::Duration::from_secs(5));
        assert!(ended.is_some(), "nginx did not end on SIGQUIT");
        self.logged()
    }

    /// What its log has by now.
    pub fn logged(&self) -> Vec<Logged> {
        text_of(&self.path("access.log")).lines().map(Logged::read).collect()
    }

    /// A file of its folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn children(&self) -> Vec<u32> {
        let pid = self.master.pid();
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let children = self.children();
        if self.master.is_running() {
            for child in &children {
                signal_pid(*child, Signal::CONT);
            }
            self.master.end();
        }
    }
}

impl Logged {
    /// `msec status request_uri`
    fn read(line: &str) -> Self {
        let mut words = line.split(' ');
        let mut next = || words.next().unwrap_or_else(|| panic!("a short line in the access log: {line:?}"));
        let (at, status) = (next(), next());
        Self {
            at_s: at.parse().expect("a time"),
            status: status.parse().expect("a status"),
            uri: next().to_owned(),
        }
    }
}

fn answers(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// Connections live as long as the client wants.
fn configuration(port: u16, listen: &str, server: &str, workers: usize) -> String {
    format!(
        "daemon off; user root; worker_processes {workers}; pid nginx.pid; error_log error.log;
events {{ worker_connections 16384; }}
http {{
  log_format lines '$msec $status $request_uri';
  access_log access.log lines;
  keepalive_requests 100000000; keepalive_timeout 300s;
  client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
  server {{ listen 127.0.0.1:{port} backlog=4096 {listen}; {server} }}
}}
"
    )
}

/// A port that nobody listens on, and nobody can take while this is held.
pub struct ClosedPort(std::os::fd::OwnedFd);

impl ClosedPort {
    /// Of 127.0.0.1.
    pub fn take() -> Self {
        use rustix::net::{AddressFamily, SocketType, bind, socket};
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        bind(&socket, &std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        Self(socket)
    }

    pub fn port(&self) -> u16 {
        let name = rustix::net::getsockname(&self.0).expect("a bound socket has an address");
        std::net::SocketAddr::try_from(name).expect("an address of IPv4").port()
    }
}

/// A port that nobody listens on now.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("a bound socket has an address").port()
}
