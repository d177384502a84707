//! Waiting for frames.

use port::PortError;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::time::Timespec;
use session::Sessions;
use units::Picos;

/// The longest that is slept where a port cannot be polled beside the waker, or frames wait for room in it.
const BLIND: Picos = Picos::from_millis(1);

/// Waits for frames, for at most so long, or for the waker.
pub(crate) fn sleep(sessions: &mut Sessions, waker: &OwnedFd, patience: Option<Picos>) -> Result<(), Errno> {
    if patience.is_some_and(Picos::is_zero) {
        return Ok(());
    }
    let brief = patience.map_or(BLIND, |patience| patience.min(BLIND));
    let patience = if sessions.waits_for_room() { Some(brief) } else { patience };
    let Some(port) = sessions.descriptor() else {
        return match sessions.wait(brief) {
            Err(PortError::Down { .. }) | Ok(_) => Ok(()),
            Err(error) => Err(errno_of(&error)),
        };
    };
    let mut polled = [PollFd::from_borrowed_fd(port, PollFlags::IN), PollFd::new(waker, PollFlags::IN)];
    let timeout = patience.map(|patience| {
        let nanos = patience.as_nanos();
        Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 }
    });
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(errno),
    }
    let (of_port, of_waker) = (polled[0].revents(), polled[1].revents());
    if of_waker.contains(PollFlags::IN) {
        let mut count = [0u8; 8];
        // The count does not matter.
        let _ = rustix::io::read(waker.as_fd(), &mut count);
    }
    // A link that went down leaves an error. The port takes it, which would wake each later wait at once.
    if of_port.intersects(PollFlags::ERR | PollFlags::HUP) {
        match sessions.wait(Picos::ZERO) {
            // Of some ports it stays as long as the link is down.
            Err(PortError::Down { .. }) => std::thread::sleep(BLIND.as_std()),
            Err(error) => return Err(errno_of(&error)),
            Ok(_) => {}
        }
    }
    Ok(())
}

pub(super) fn errno_of(error: &PortError) -> Errno {
    match error {
        PortError::Gone { .. } => Errno::NODEV,
        PortError::Down { .. } => Errno::NETDOWN,
        _ => Errno::IO,
    }
}
