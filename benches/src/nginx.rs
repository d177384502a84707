//! The peer server: nginx with one worker, its own configuration in a temporary folder, loopback only.
//!
//! It answers 589 bytes from memory, plain on eight loopback addresses and over TLS 1.3 with no session tickets
//! and no session cache, so that no client can resume. stub_status says how many requests it took.

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{proc, process};

/// Requests go to 127.0.0.1 … 127.0.0.8 in turn, one address per run, so that connections left in TIME_WAIT by
/// one run do not meet the next.
const ADDRESSES: usize = 8;

/// A running nginx.
pub struct Nginx {
    child: Child,
    worker: u32,
    ports: Ports,
    /// Status questions asked so far: stub_status counts them as requests.
    asked: Cell<u64>,
    next_address: Cell<usize>,
}

struct Ports {
    plain: u16,
    tls: u16,
    status: u16,
}

impl Nginx {
    /// Starts nginx pinned to `core` and waits until it answers.
    pub fn start(scratch: &Path, core: usize) -> Result<Self> {
        certificate(scratch)?;
        let ports = Ports { plain: free_port()?, tls: free_port()?, status: free_port()? };
        std::fs::write(scratch.join("nginx.conf"), configuration(&ports))?;
        let mut command = Command::new("nginx");
        command.arg("-p").arg(scratch).args(["-c", "nginx.conf"]).stdin(Stdio::null());
        let child = process::spawn_on(&mut command, core).context("starting nginx")?;
        let mut nginx = Self { child, worker: 0, ports, asked: Cell::new(0), next_address: Cell::new(0) };
        nginx.worker = nginx.wait_for_worker(scratch)?;
        Ok(nginx)
    }

    /// The next plain URL.
    pub fn plain_url(&self) -> String {
        format!("http://{}:{}/", self.address(), self.ports.plain)
    }

    /// The next URL over TLS.
    pub fn tls_url(&self) -> String {
        format!("https://{}:{}/", self.address(), self.ports.tls)
    }

    /// Requests that nginx has taken so far, the bench's own questions left out.
    pub fn requests(&self) -> Result<u64> {
        let text = self.ask_status()?;
        parse_status(&text).and_then(|n| n.checked_sub(self.asked.get())).context("reading stub_status")
    }

    /// CPU seconds of the worker so far.
    pub fn cpu_s(&self) -> f64 {
        proc::cpu_ns(self.worker).unwrap_or(0) as f64 / 1e9
    }

    fn address(&self) -> String {
        let n = self.next_address.get();
        self.next_address.set((n + 1) % ADDRESSES);
        format!("127.0.0.{}", n + 1)
    }

    fn ask_status(&self) -> Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.ports.status))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
        self.asked.set(self.asked.get() + 1);
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    }

    fn wait_for_worker(&mut self, scratch: &Path) -> Result<u32> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(5) {
            if let Some(status) = self.child.try_wait()? {
                let log = std::fs::read_to_string(scratch.join("error.log")).unwrap_or_default();
                bail!("nginx ended at once ({status}): {}", log.lines().last().unwrap_or(""));
            }
            if let ([worker], Ok(_)) = (proc::children(self.child.id()).as_slice(), self.ask_status()) {
                return Ok(*worker);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        bail!("nginx did not answer within 5 s")
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        process::end(&mut self.child);
    }
}

/// A throw-away ECDSA P-256 certificate.
fn certificate(scratch: &Path) -> Result<()> {
    let output = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "7",
        ])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(scratch)
        .output()
        .context("running openssl to make a certificate")?;
    if !output.status.success() {
        bail!("openssl made no certificate: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

fn configuration(ports: &Ports) -> String {
    let body = "x".repeat(440);
    let listen = |port: u16, words: &str| -> String {
        (1..=ADDRESSES).map(|n| format!("    listen 127.0.0.{n}:{port}{words} backlog=4096;\n")).collect()
    };
    let (plain, tls, status) = (listen(ports.plain, ""), listen(ports.tls, " ssl"), ports.status);
    format!(
        "worker_processes 1;
daemon off;
pid nginx.pid;
error_log error.log error;
worker_rlimit_nofile 65536;
events {{ worker_connections 16384; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 600s;
  default_type text/plain;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server {{
{plain}    location / {{ return 200 \"{body}\"; }}
  }}
  server {{
{tls}    ssl_certificate cert.pem;
    ssl_certificate_key key.pem;
    ssl_protocols TLSv1.3;
    ssl_session_tickets off;
    ssl_session_cache off;
    location / {{ return 200 \"{body}\"; }}
  }}
  server {{ listen 127.0.0.1:{status}; location / {{ stub_status; }} }}
}}
"
    )
}

/// A port of 127.0.0.1 that is free now. nginx binds it a moment later; nobody else here binds without asking.
pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// The third number of " accepts handled requests".
fn parse_status(text: &str) -> Option<u64> {
    let mut lines = text.lines().skip_while(|l| !l.starts_with("server accepts handled requests"));
    lines.nth(1)?.split_whitespace().nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stub_status_is_read() {
        // nginx 1.22's own answer
        let text = "HTTP/1.1 200 OK\r\n\r\nActive connections: 1 \nserver accepts handled requests\n 261 262 736294 \n\
                    Reading: 0 Writing: 1 Waiting: 0 \n";
        assert_eq!(parse_status(text), Some(736_294));
        assert_eq!(parse_status("HTTP/1.1 404 Not Found\r\n\r\n"), None);
    }
}
