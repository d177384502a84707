//! CONNECT: a tunnel to a loopback address, by two blocking threads of its own. Bounded in number; it exists to
//! test clients of proxies, and is no part of what is timed.

use crate::shared::Shared;
use rustix::fd::OwnedFd;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

const MOST_TUNNELS: u64 = 256;
/// An idle tunnel ends.
const IDLE: Duration = Duration::from_secs(30);

/// Takes over a connection whose CONNECT asked for `authority`; `early` came after it.
pub(crate) fn open(shared: &Arc<Shared>, client: OwnedFd, authority: String, early: Vec<u8>) {
    let client = TcpStream::from(client);
    if shared.tunnels.fetch_add(1, Ordering::Relaxed) >= MOST_TUNNELS {
        shared.tunnels.fetch_sub(1, Ordering::Relaxed);
        refuse(client, "503 Service Unavailable");
        return;
    }
    let owner = shared.clone();
    let spawned = std::thread::Builder::new().name("tunnel".into()).spawn(move || {
        // Errors end the tunnel; the client sees its connection close.
        let _ = relay(client, &authority, &early);
        owner.tunnels.fetch_sub(1, Ordering::Relaxed);
    });
    if spawned.is_err() {
        shared.tunnels.fetch_sub(1, Ordering::Relaxed);
    }
}

fn refuse(mut client: TcpStream, status: &str) {
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    // The socket is empty, so that this short write does not block.
    let _ = client.write_all(answer.as_bytes());
}

fn relay(mut client: TcpStream, authority: &str, early: &[u8]) -> io::Result<()> {
    client.set_nonblocking(false)?;
    let addrs: Vec<_> = match authority.to_socket_addrs() {
        Ok(addrs) => addrs.collect(),
        Err(_) => {
            refuse(client, "502 Bad Gateway");
            return Ok(());
        }
    };
    // Nothing leaves this machine.
    let Some(addr) = addrs.iter().find(|addr| addr.ip().is_loopback()) else {
        refuse(client, "403 Forbidden");
        return Ok(());
    };
    let Ok(mut upstream) = TcpStream::connect_timeout(addr, Duration::from_secs(5)) else {
        refuse(client, "502 Bad Gateway");
        return Ok(());
    };
    upstream.set_nodelay(true)?;
    client.set_read_timeout(Some(IDLE))?;
    upstream.set_read_timeout(Some(IDLE))?;
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    upstream.write_all(early)?;
    let (mut from, mut to) = (client.try_clone()?, upstream.try_clone()?);
    let back = std::thread::Builder::new().name("tunnel".into()).spawn(move || {
        let _ = copy(&mut upstream, &mut client);
    })?;
    let _ = copy(&mut from, &mut to);
    let _ = back.join();
    Ok(())
}

fn copy(from: &mut TcpStream, to: &mut TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    let result = loop {
        match from.read(&mut buffer) {
            Ok(0) => break Ok(()),
            Ok(n) => {
                if let Err(error) = to.write_all(&buffer[..n]) {
                    break Err(error);
                }
            }
            Err(error) => break Err(error),
        }
    };
    let _ = to.shutdown(Shutdown::Write);
    result
}
