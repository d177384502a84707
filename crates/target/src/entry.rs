//! One open connection as a worker holds it: the socket, TLS, HTTP, and what could not be sent yet.

use crate::conn::Conn;
use crate::tls::Link;
use rustix::event::epoll::EventFlags;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{self, SendFlags};
use units::Instant;

pub(crate) struct Entry {
    pub fd: OwnedFd,
    pub conn: Conn,
    pub link: Option<Box<Link>>,
    /// Bytes for the wire that the socket did not take, from `unsent_at`.
    pub unsent: Vec<u8>,
    pub unsent_at: usize,
    pub interest: EventFlags,
    /// When its timer fires; `FAR` without one.
    pub timer: Instant,
    /// The time for which it stands among the timers.
    pub armed: Instant,
    pub life: Life,
    /// The client sends nothing more.
    pub eof: bool,
}

/// How far a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// Accepted, and not looked at until its timer fires.
    Held,
    Serving,
    /// Closes when everything is sent.
    Closing {
        unread: bool,
    },
    /// The answer is sent and our side is shut; what still comes is thrown away for a moment, because a close
    /// with unread bytes would reset the connection and take the answer with it.
    Lingering,
}

/// What becomes of a connection after it was worked on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum After {
    Keep,
    Drop,
    Reset,
    Tunnel(String),
}

impl Entry {
    pub fn new(fd: OwnedFd, conn: Conn, link: Option<Box<Link>>, life: Life) -> Self {
        Self {
            fd,
            conn,
            link,
            unsent: Vec::new(),
            unsent_at: 0,
            interest: EventFlags::empty(),
            timer: Instant::FAR,
            armed: Instant::FAR,
            life,
            eof: false,
        }
    }

    pub fn has_unsent(&self) -> bool {
        self.unsent_at < self.unsent.len()
    }

    /// What the loop shall wait for on its behalf.
    pub fn wanted(&self) -> EventFlags {
        let reads = match self.life {
            Life::Held | Life::Closing { .. } => false,
            Life::Serving => self.conn.wants_input(),
            Life::Lingering => true,
        };
        let mut wanted = EventFlags::empty();
        wanted.set(EventFlags::IN, reads && !self.eof);
        wanted.set(EventFlags::OUT, self.has_unsent());
        wanted
    }

    /// Sends `bytes`, after whatever is unsent; keeps the rest.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        if self.has_unsent() {
            self.unsent.extend_from_slice(bytes);
            return Ok(());
        }
        let sent = send_once(&self.fd, bytes)?;
        if sent < bytes.len() {
            self.unsent.clear();
            self.unsent.extend_from_slice(&bytes[sent..]);
            self.unsent_at = 0;
        }
        Ok(())
    }

    /// Sends what was left.
    pub fn flush(&mut self) -> Result<(), Errno> {
        if !self.has_unsent() {
            return Ok(());
        }
        self.unsent_at += send_once(&self.fd, &self.unsent[self.unsent_at..])?;
        if !self.has_unsent() {
            self.unsent = Vec::new();
            self.unsent_at = 0;
        }
        Ok(())
    }
}

/// Bytes taken; a full socket takes none.
fn send_once(fd: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    loop {
        match net::send(fd, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(0),
            other => return other,
        }
    }
}
