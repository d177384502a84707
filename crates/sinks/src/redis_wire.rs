//! The bytes of a connection to one Redis, over TCP or TLS. Each round of commands and replies has limits, so
//! that nobody waits for ever for a server that is silent, or whose reply has no end.

use clock::Deadline;
use redis::{Parser, RedisResult, Value};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

/// What a round may take at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Without a byte.
    pub silence: Duration,
    /// In all.
    pub whole: Duration,
    /// Of the replies.
    pub bytes: usize,
}

/// A limit that a reply went beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    Whole,
    Bytes,
}

/// See the module.
pub struct Wire {
    stream: Stream,
    parser: Parser,
}

enum Stream {
    Plain(Bounded),
    Tls(Box<StreamOwned<ClientConnection, Bounded>>),
}

impl Wire {
    /// Connects within `patience`. A handshake is made with the first round, and is part of it.
    pub fn open(
        host: &str,
        port: u16,
        tls: Option<&Arc<ClientConfig>>,
        patience: Duration,
        limits: Limits,
    ) -> io::Result<Self> {
        let stream = Bounded::new(connect(host, port, patience)?, limits);
        let stream = match tls {
            None => Stream::Plain(stream),
            Some(tls) => {
                let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
                let session = ClientConnection::new(tls.clone(), name).map_err(io::Error::other)?;
                Stream::Tls(Box::new(StreamOwned::new(session, stream)))
            }
        };
        Ok(Self { stream, parser: Parser::new() })
    }

    /// Sends commands, and waits for `count` replies.
    pub fn round(&mut self, commands: &[u8], count: usize) -> RedisResult<Vec<Value>> {
        self.bounded().begin();
        self.stream.write_all(commands)?;
        self.stream.flush()?;
        let mut replies = Vec::with_capacity(count);
        while replies.len() < count {
            match self.parser.parse_value(&mut self.stream)? {
                // Nobody asked for it.
                Value::Push { .. } => {}
                reply => replies.push(reply),
            }
        }
        Ok(replies)
    }

    /// The limit at which the last round ended, if one did it.
    pub fn exceeded(&mut self) -> Option<Exceeded> {
        self.bounded().exceeded
    }

    fn bounded(&mut self) -> &mut Bounded {
        match &mut self.stream {
            Stream::Plain(stream) => stream,
            Stream::Tls(stream) => &mut stream.sock,
        }
    }
}

fn connect(host: &str, port: u16, patience: Duration) -> io::Result<TcpStream> {
    let deadline = Deadline::after(patience);
    let mut failed = io::Error::new(ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, deadline.left().max(Duration::from_millis(1))) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(why) => failed = why,
        }
    }
    Err(failed)
}

/// Trusts the authorities of a PEM file, or those of this host.
///
/// # Errors
/// Why there is none, in words.
pub fn trust(authority: Option<&str>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    match authority {
        Some(file) => {
            let wrong = |why: &dyn std::fmt::Display| format!("ca={file}: {why}");
            let text = std::fs::read(file).map_err(|why| wrong(&why))?;
            for certificate in CertificateDer::pem_slice_iter(&text) {
                let certificate = certificate.map_err(|why| wrong(&why))?;
                roots.add(certificate).map_err(|why| wrong(&why))?;
            }
            if roots.is_empty() {
                return Err(wrong(&"it has no certificate"));
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|why| why.to_string())?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

/// A socket that gives up at the limits of a round.
struct Bounded {
    socket: TcpStream,
    limits: Limits,
    deadline: Deadline,
    bytes: usize,
    exceeded: Option<Exceeded>,
}

impl Bounded {
    fn new(socket: TcpStream, limits: Limits) -> Self {
        let deadline = Deadline::after(limits.whole);
        Self { socket, limits, deadline, bytes: 0, exceeded: None }
    }

    fn begin(&mut self) {
        (self.deadline, self.bytes, self.exceeded) = (Deadline::after(self.limits.whole), 0, None);
    }

    /// How long the next system call may wait.
    fn patience(&mut self) -> io::Result<Duration> {
        match self.deadline.left() {
            Duration::ZERO => {
                self.exceeded = Some(Exceeded::Whole);
                Err(ErrorKind::TimedOut.into())
            }
            left => Ok(left.min(self.limits.silence)),
        }
    }
}

impl Read for Bounded {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let patience = self.patience()?;
        let room = into.len().min(self.limits.bytes - self.bytes);
        if room == 0 && !into.is_empty() {
            self.exceeded = Some(Exceeded::Bytes);
            return Err(io::Error::other("the reply has no end"));
        }
        self.socket.set_read_timeout(Some(patience))?;
        let count = self.socket.read(&mut into[..room]).inspect_err(|_| {
            // What ended the wait was the rest of the whole time.
            self.exceeded = self.deadline.is_over().then_some(Exceeded::Whole);
        })?;
        self.bytes += count;
        Ok(count)
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let patience = self.patience()?;
        self.socket.set_write_timeout(Some(patience))?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(into),
            Self::Tls(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    const LIMITS: Limits =
        Limits { silence: Duration::from_secs(20), whole: Duration::from_millis(600), bytes: 1 << 20 };

    /// What a round comes to with a server that says `head`, and then `more` again and again (a byte every
    /// 50 ms).
    fn round(
        head: &'static [u8],
        more: &'static [u8],
        limits: Limits,
    ) -> (RedisResult<Vec<Value>>, Option<Exceeded>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let (mut guest, _) = listener.accept().unwrap();
            let _ = guest.read(&mut [0; 64]);
            let mut going = guest.write_all(head);
            while going.is_ok() {
                going = guest.write_all(more);
                thread::sleep(Duration::from_millis(if more.len() > 1 { 0 } else { 50 }));
            }
        });
        let mut wire = Wire::open("127.0.0.1", port, None, Duration::from_secs(5), limits).unwrap();
        let replies = wire.round(b"*1\r\n$4\r\nPING\r\n", 1);
        (replies, wire.exceeded())
    }

    #[test]
    fn a_reply_that_does_not_end_is_given_up_in_time_and_in_bytes() {
        let (whole, exceeded) = round(b"+PONG\r\n", b"", Limits { whole: Duration::from_secs(20), ..LIMITS });
        assert_eq!((whole.unwrap(), exceeded), (vec![Value::SimpleString("PONG".to_owned())], None));
        let silence = Duration::from_millis(200);
        let (silent, exceeded) =
            round(b"", b"", Limits { silence, whole: Duration::from_secs(20), ..LIMITS });
        assert!(silent.unwrap_err().is_timeout() && exceeded.is_none());
        let (slow, exceeded) = round(b"$9999999\r\n", b"x", LIMITS);
        assert!(slow.is_err());
        assert_eq!(exceeded, Some(Exceeded::Whole));
        for head in [&b"$99999999\r\n"[..], b"*999999999\r\n"] {
            let (long, exceeded) = round(head, b":123456\r\n:123456\r\n:123456\r\n", LIMITS);
            assert!(long.is_err());
            assert!(exceeded.is_some(), "{long:?}");
        }
    }
}
