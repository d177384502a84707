//! Ports in another network namespace than this process: `packet,netns=lab-sink:sink0`.
//!
//! ```text
//!   open ─► a thread of its own ─ enters the namespace ─ opens the port ─ ends
//!                                                            │
//!   the port's sockets stay in the namespace where they were opened, whichever thread uses them
//! ```
//!
//! So one process can hold both ends of a bed. The kernel looks up the interface of `live` in the namespace of
//! the thread that calls, at each call: that port goes there and back ([`Home`]). A tap is for programs beside
//! this one, and has no such option.

use crate::{Address, PortError};
use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

/// Where iproute2 keeps namespaces that have names.
const NAMES: &str = "/run/netns";
/// Names in a message.
const MOST_NAMED: usize = 8;

/// Does something in the namespace that the address names, or here if it names none.
///
/// # Errors
/// There is no such namespace, no privilege to enter it, or what `action` says.
pub(crate) fn within<T: Send>(
    address: &Address,
    action: impl FnOnce() -> Result<T, PortError> + Send,
) -> Result<T, PortError> {
    let Some(name) = address.namespace() else { return action() };
    let file = File::open(path(name)).map_err(|error| missing(address, name, &error))?;
    let inside = || {
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|errno| refused(address, name, errno))?;
        action()
    };
    thread::scope(|scope| scope.spawn(inside).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The namespace that a port belongs to.
#[derive(Debug)]
pub(crate) struct Home {
    file: File,
    inode: u64,
}

impl Home {
    /// What tells it from all others.
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// That of this thread.
    pub fn here() -> io::Result<Self> {
        let file = File::open("/proc/thread-self/ns/net")?;
        Ok(Self { inode: file.metadata()?.ino(), file })
    }

    /// This thread is there until what is returned is dropped. Costs nothing but a look where it is there
    /// already.
    ///
    /// # Errors
    /// There is no privilege (CAP_SYS_ADMIN) to go there.
    pub fn enter(&self) -> io::Result<Visit> {
        let now = Self::here()?;
        if now.inode == self.inode {
            return Ok(Visit { back: None });
        }
        move_into_link_name_space(self.file.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok(Visit { back: Some(now.file) })
    }
}

/// A thread that is away from its own namespace.
#[derive(Debug)]
pub(crate) struct Visit {
    back: Option<File>,
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Some(file) = &self.back {
            let result = move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network));
            // Whoever could go there can come back: a thread that could not would send in the wrong place from
            // then on.
            assert!(result.is_ok(), "a thread is back in its own network namespace");
        }
    }
}

/// A name as `ip netns` has it, or a file (`/proc/4711/ns/net`).
pub(crate) fn path(name: &str) -> PathBuf {
    if name.contains('/') { PathBuf::from(name) } else { Path::new(NAMES).join(name) }
}

fn missing(address: &Address, name: &str, error: &io::Error) -> PortError {
    if error.kind() == io::ErrorKind::PermissionDenied {
        return refused(address, name, Errno::PERM);
    }
    let entries = std::fs::read_dir(NAMES).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    if names.len() > MOST_NAMED {
        names.truncate(MOST_NAMED);
        names.push("…".to_owned());
    }
    let there = if names.is_empty() { "there are none".to_owned() } else { names.join(", ") };
    address.wrong(
        &format!("there is no network namespace '{name}'"),
        &format!("netns=NAME as in 'ip netns list' ({there}), or netns=/proc/PID/ns/net"),
    )
}

fn refused(address: &Address, name: &str, errno: Errno) -> PortError {
    match errno {
        Errno::PERM | Errno::ACCESS => PortError::Privilege {
            what: format!("entering the namespace '{name}'"),
            capability: "CAP_SYS_ADMIN",
        },
        Errno::INVAL => address.wrong(&format!("'{name}' is not a network namespace"), "netns=NAME"),
        other => PortError::System { what: format!("entering the namespace '{name}'"), error: other.into() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[test]
    fn without_a_namespace_it_happens_here() {
        let own = thread::current().id();
        for text in ["packet:lo", "live:lo", "mem:a"] {
            assert_eq!(within(&address(text), || Ok(thread::current().id())).unwrap(), own);
        }
    }

    #[test]
    fn a_namespace_that_is_not_there_is_named() {
        let error = within(&address("packet,netns=nowhere-at-all:lo"), || Ok(())).unwrap_err();
        assert!(error.is_users());
        let said = error.to_string();
        assert!(said.contains("there is no network namespace 'nowhere-at-all'"), "{said}");
        assert!(said.contains("ip netns list"), "{said}");
    }

    #[test]
    fn a_file_that_is_none_is_refused() {
        let error = within(&address("udp,netns=/dev/null:127.0.0.1:9"), || Ok(())).unwrap_err();
        assert!(error.is_users() || matches!(error, PortError::Privilege { .. }), "{error}");
    }

    #[test]
    fn a_path_is_one_as_it_stands() {
        assert_eq!(path("lab-sink"), Path::new("/run/netns/lab-sink"));
        assert_eq!(path("/proc/1/ns/net"), Path::new("/proc/1/ns/net"));
    }
}
