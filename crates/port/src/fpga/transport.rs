//! What carries frames of the link: a socket to a simulator, or an Ethernet interface with a board behind it.

use super::claim::Claim;
use super::link::{ETHERTYPE, MODULE};
use crate::PortError;
use crate::af_packet::socket::{Socket, statistics};
use crate::interface::Interface;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Who the host is towards a simulator: a socket has no addresses.
const HOST: [u8; 6] = [0x02, 0x54, 0x41, 0x52, 0x45, 0x01];
/// For an answer of a board.
const ANSWER: Duration = Duration::from_millis(250);
/// For an answer of a simulation, which may be one program of many on a slow machine.
const ANSWER_SIMULATED: Duration = Duration::from_secs(10);
/// How long a frame may wait for room in the kernel.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes that the kernel keeps for whoever is slow to read.
const BUFFER: i32 = 8 << 20;

#[derive(Debug)]
pub(super) struct Transport {
    socket: OwnedFd,
    /// This host's address on the link.
    pub own: [u8; 6],
    /// The module's.
    pub module: [u8; 6],
    pub interface: Option<Interface>,
    /// How long an answer may take.
    pub patience: Duration,
    /// Of a board, that nobody else on this host speaks with it.
    _claim: Option<Claim>,
}

impl Transport {
    /// A socket, and its other end for a simulator.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let kind = (AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC);
        let (socket, other) = socketpair(kind.0, kind.1, kind.2, None)?;
        let patience = ANSWER_SIMULATED;
        Ok((Self { socket, own: HOST, module: MODULE, interface: None, patience, _claim: None }, other))
    }

    /// Frames of the link's EtherType on an interface.
    ///
    /// # Errors
    /// There is none of that name, it is not an Ethernet, the privilege (CAP_NET_RAW) is lacking, or another
    /// program speaks with the module there.
    pub fn on(name: &str) -> Result<Self, PortError> {
        let interface = Interface::find(name)?;
        let what = || format!("the module at {name}");
        let Some(own) = interface.mac.filter(|_| interface.is_ethernet) else {
            let why = "the interface has no Ethernet address".to_owned();
            return Err(PortError::Unavailable { what: what(), why });
        };
        let socket = Socket::open().and_then(|socket| {
            // What does not fit the limit of the machine is cut to it.
            let _ = socket.set(libc::SOL_SOCKET, libc::SO_RCVBUF, BUFFER);
            socket.bind(&interface, ETHERTYPE.to_be()).map(|()| socket)
        });
        let socket = socket.map_err(|error| match error.raw_os_error() {
            Some(libc::EPERM) => PortError::Privilege { what: what(), capability: "CAP_NET_RAW" },
            _ => PortError::System { what: what(), error },
        })?;
        let claim = Some(Claim::on(&interface)?);
        let (socket, interface) = (socket.into_fd(), Some(interface));
        Ok(Self { socket, own, module: MODULE, interface, patience: ANSWER, _claim: claim })
    }

    /// Sends one frame; waits for room.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        loop {
            match send(&self.socket, frame, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::NOBUFS) => {
                    if !wait(&[(self.socket.as_fd(), PollFlags::OUT)], PATIENCE)? {
                        return Err(Errno::TIMEDOUT.into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// A frame that is there. An empty one is the end of the socket.
    pub fn receive(&self, room: &mut [u8]) -> io::Result<Option<usize>> {
        match recv(&self.socket, room, RecvFlags::DONTWAIT) {
            Ok((_, length)) => Ok(Some(length)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Frames that the kernel dropped since this was asked last, for they were not read in time. A socket to a
    /// simulator drops none.
    pub fn dropped(&self) -> u64 {
        if self.interface.is_none() {
            return 0;
        }
        statistics(self.socket.as_fd()).map_or(0, |statistics| statistics.tp_drops.into())
    }

    /// Nothing more goes over a socket; its other end sees that.
    pub fn hang_up(&self) {
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
    }

    /// Waits for a frame, or until `wake` is rung.
    pub fn wait(&self, wake: &Bell, patience: Duration) -> io::Result<bool> {
        wait(&[(self.socket.as_fd(), PollFlags::IN), (wake.fd(), PollFlags::IN)], patience)
    }
}

fn wait(what: &[(BorrowedFd<'_>, PollFlags)], patience: Duration) -> io::Result<bool> {
    let mut all: Vec<PollFd<'_>> =
        what.iter().map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
    let time = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: patience.subsec_nanos().into() };
    match poll(&mut all, Some(&time)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Something that can be polled: ready from when it is rung until it is stilled.
#[derive(Debug)]
pub(super) struct Bell(OwnedFd);

impl Bell {
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    pub fn ring(&self) {
        // It cannot fail but for want of room, and then it rings already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    pub fn still(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8][..]);
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
