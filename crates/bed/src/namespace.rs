//! One network namespace: its name, what is in it, and how to do something inside.

use crate::BedError;
use crate::address::Mac;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;
use std::{io, thread};

/// What a namespace is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Generator,
    Middlebox,
    Sink,
}

impl Role {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Generator => "generator",
            Self::Middlebox => "middlebox",
            Self::Sink => "sink",
        }
    }
}

/// One end of a veth pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    pub name: String,
    pub mac: Mac,
    pub ipv4: Option<Ipv4Addr>,
    pub ipv6: Option<Ipv6Addr>,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespace {
    /// As `ip netns` knows it.
    pub name: String,
    pub role: Role,
    /// Its inode, by which it is known again; `None` until it is made.
    pub inode: Option<u64>,
    pub interfaces: Vec<Interface>,
}

impl Namespace {
    /// Where iproute2 keeps it.
    pub fn path(&self) -> PathBuf {
        PathBuf::from("/run/netns").join(&self.name)
    }

    /// The first interface, which is the only one but in a middlebox.
    pub fn interface(&self) -> &Interface {
        &self.interfaces[0]
    }

    /// Inode of what has this name now, if anything has.
    pub fn inode_now(&self) -> Option<u64> {
        std::fs::metadata(self.path()).ok().map(|file| file.ino())
    }

    /// Does something inside, in a thread of its own, and waits for it. Sockets opened there stay in the
    /// namespace, also when they are used elsewhere; threads started there are inside too. (`/sys` is not
    /// changed: it shows the interfaces of outside.)
    ///
    /// # Errors
    /// The namespace is gone, or there is no privilege (CAP_SYS_ADMIN).
    ///
    /// # Panics
    /// With what `action` panicked with.
    pub fn run_in<T: Send>(&self, action: impl FnOnce() -> T + Send) -> Result<T, BedError> {
        let file = File::open(self.path())
            .map_err(|error| BedError::System { what: "opening a namespace", error })?;
        let inside = || {
            enter(&file)?;
            Ok(action())
        };
        thread::scope(|scope| scope.spawn(inside).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// A command that runs inside, with `/sys` as it is seen from there.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }
}

/// Moves this thread into the namespace.
fn enter(file: &File) -> Result<(), BedError> {
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(|error| BedError::Privilege { what: "entering a namespace", error: io::Error::from(error) })
}
