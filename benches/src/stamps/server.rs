//! The stamping server: one thread that asks epoll without ever sleeping, reads CLOCK_MONOTONIC just before it
//! reads a socket, and answers about 600 bytes. It must hold its core alone; then a stamp is late by one turn
//! of the loop (a few µs under load).

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::Path;

use anyhow::{Context, Result};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::time::{ClockId, Timespec, clock_gettime};

use super::heads::Heads;

/// The first argument that turns `bench-http` into this server.
pub const WORD: &str = "stamps";

/// Stamps kept; later requests are answered and not stamped.
const MOST_STAMPS: usize = 4_000_000;
const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const NO_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Serves until the other end of `stop` is closed, then writes the stamps to `file`. Its port goes to
/// `port_file`.
pub fn serve(stop: impl AsFd, file: &Path, port_file: &Path) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let mut server = Server::new(listener, &stop)?;
    let port = server.listener.local_addr()?.port();
    std::fs::write(port_file, format!("{port}\n"))
        .with_context(|| format!("writing {}", port_file.display()))?;
    while server.turn()? {}
    write(file, &server.stamps).with_context(|| format!("writing {}", file.display()))
}

/// Now, in ns of CLOCK_MONOTONIC: the clock that the bench compares with.
pub fn now_ns() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

struct Server {
    epoll: rustix::fd::OwnedFd,
    listener: TcpListener,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    events: Vec<epoll::Event>,
    stamps: Vec<u64>,
    response: Vec<u8>,
}

struct Connection {
    stream: TcpStream,
    heads: Heads,
}

impl Server {
    fn new(listener: TcpListener, stop: impl AsFd) -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&epoll, stop, EventData::new_u64(STOP), EventFlags::IN)?;
        // Pages of the stamps are touched now, not at the first arrivals.
        let mut stamps = vec![1; MOST_STAMPS];
        stamps.clear();
        Ok(Self {
            epoll,
            listener,
            connections: Vec::new(),
            free: Vec::new(),
            events: Vec::with_capacity(256),
            stamps,
            response: response(),
        })
    }

    /// One look at the sockets; false when it shall stop.
    fn turn(&mut self) -> Result<bool> {
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&NO_WAIT))?;
        let mut go_on = true;
        for event in &events {
            match event.data.u64() {
                LISTENER => self.accept()?,
                STOP => go_on = false,
                slot => self.serve(slot as usize),
            }
        }
        self.events = events;
        Ok(go_on)
    }

    fn accept(&mut self) -> Result<()> {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == ErrorKind::ConnectionAborted => continue,
                Err(e) => return Err(e).context("accepting a connection"),
            };
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let slot = self.free.pop().unwrap_or(self.connections.len());
            epoll::add(&self.epoll, &stream, EventData::new_u64(slot as u64), EventFlags::IN)?;
            let connection = Some(Connection { stream, heads: Heads::default() });
            match self.connections.get_mut(slot) {
                Some(place) => *place = connection,
                None => self.connections.push(connection),
            }
        }
    }

    /// Stamps, reads and answers one connection; forgets it when it ends or fails.
    fn serve(&mut self, slot: usize) {
        let Some(connection) = self.connections[slot].as_mut() else { return };
        let mut buffer = [0u8; 16 * 1024];
        let arrival_ns = now_ns();
        let found = match connection.stream.read(&mut buffer) {
            Ok(0) => return self.forget(slot),
            Ok(n) => connection.heads.read(&buffer[..n]),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return,
            Err(_) => return self.forget(slot),
        };
        let mut alive = !found.close;
        for _ in 0..found.heads {
            if self.stamps.len() < MOST_STAMPS {
                self.stamps.push(arrival_ns);
            }
            alive &= connection.stream.write_all(&self.response).is_ok();
        }
        if !alive {
            self.forget(slot);
        }
    }

    fn forget(&mut self, slot: usize) {
        self.connections[slot] = None;
        self.free.push(slot);
    }
}

fn response() -> Vec<u8> {
    let body = "x".repeat(500);
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

fn write(file: &Path, stamps: &[u64]) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(file)?);
    for stamp in stamps {
        out.write_all(&stamp.to_le_bytes())?;
    }
    out.flush()
}

#[cfg(test)]
mod tests;
