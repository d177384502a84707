//! Which processes of this machine are the target's: those with a socket that the run's connections may end at,
//! those that they are connected to, and their children. Also those that carry frames, such as a VPN's, a
//! virtual machine or a container's network in user space: the target may be behind them.

use super::helpers::{self, Helpers};
use super::tables::Tables;
use crate::procfs;
use os::peers::{self, Peers};
use os::unix_pairs;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Found anew at each look; what is the target's once remains so.
#[derive(Debug)]
pub(super) struct Targets {
    proc: PathBuf,
    peers: Peers,
    /// What the peers were at the last look.
    addresses: BTreeSet<SocketAddr>,
    ports: Vec<u16>,
    /// The parts of them that are on this host, and those that a process which can be seen has a socket for.
    here: BTreeSet<Place>,
    found: BTreeSet<Place>,
    processes: HashSet<u32>,
    own: u32,
    /// For one look.
    tables: Tables,
    /// Sockets at such a place, and whether it is in this program's network namespace, for one look.
    sockets: Option<HashMap<u64, (Place, bool)>>,
    /// Whom the target is connected to: read when it is first asked for in a look.
    helpers: Option<Helpers>,
}

/// Where a target listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Port(u16),
    UnixSocket,
}

/// What a process is to the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Target,
    /// Its sockets cannot be read, and no other process is the target.
    PerhapsTarget,
    /// Its sockets cannot be read: it may work for the target.
    Unknown,
    Other,
}

impl Targets {
    pub fn new(proc: &Path, peers: &Peers) -> Self {
        Self {
            proc: proc.to_owned(),
            peers: peers.clone(),
            addresses: BTreeSet::new(),
            ports: Vec::new(),
            here: BTreeSet::new(),
            found: BTreeSet::new(),
            processes: HashSet::new(),
            own: std::process::id(),
            tables: Tables::new(proc),
            sockets: None,
            helpers: None,
        }
    }

    /// Begins a look: learns where connections go by now. If that is a place on this host for which no process
    /// is known yet, all are asked.
    pub fn refresh(&mut self) {
        self.end_look();
        let known = self.peers.known();
        if known.unix.is_some() {
            self.here.insert(Place::UnixSocket);
        }
        for address in known.addresses.difference(&self.addresses) {
            if !self.ports.contains(&address.port()) {
                self.ports.push(address.port());
            }
            if peers::is_of_this_host(*address) {
                self.here.insert(Place::Port(address.port()));
            }
        }
        self.addresses = known.addresses;
        if self.is_hidden() {
            super::look::numbers(&self.proc).for_each(|pid| {
                self.role(pid);
            });
        }
        let proc = &self.proc;
        self.processes.retain(|pid| proc.join(pid.to_string()).exists());
    }

    /// Forgets what was read in a look.
    pub fn end_look(&mut self) {
        self.tables.clear();
        self.sockets = None;
        self.helpers = None;
    }

    /// Whether the target, or a part of it, is on this host, and no process that can be seen is it.
    pub fn is_hidden(&self) -> bool {
        !self.here.is_subset(&self.found)
    }

    /// Whether connections go to this host at all.
    pub fn is_here(&self) -> bool {
        !self.here.is_empty()
    }

    /// Processes that are the target's.
    pub fn processes(&self) -> &HashSet<u32> {
        &self.processes
    }

    pub fn role(&mut self, pid: u32) -> Role {
        if self.processes.contains(&pid) {
            return Role::Target;
        }
        let Some(process) = helpers::living(&self.proc.join(pid.to_string())) else {
            return if self.is_hidden() { Role::PerhapsTarget } else { Role::Unknown };
        };
        if self.is_at_a_place(&process) || self.works_for_it(pid, &process) {
            self.processes.insert(pid);
            return Role::Target;
        }
        // What it is connected to, or has started, is another matter.
        if self.is_beyond_a_link() && self.carries_frames(&process) { Role::Target } else { Role::Other }
    }

    /// Whether connections leave this network namespace, so that somebody may carry their frames.
    fn is_beyond_a_link(&self) -> bool {
        self.addresses.iter().any(|address| !address.ip().to_canonical().is_loopback())
    }

    /// Whether a process has a socket where the run's connections may end.
    fn is_at_a_place(&mut self, process: &Path) -> bool {
        // Most threads of the kernel have none.
        let mut its = helpers::sockets(process).peekable();
        if its.peek().is_none() {
            return false;
        }
        let sockets = self.sockets();
        let places: Vec<(Place, bool)> = its.filter_map(|inode| sockets.get(&inode).copied()).collect();
        self.found.extend(places.iter().filter_map(|(place, is_own)| is_own.then_some(*place)));
        !places.is_empty()
    }

    /// Whether the target is connected to a process, or has started it. This program is asked for
    /// nothing: it may have started the target, and a target within it is known by its threads' names.
    fn works_for_it(&mut self, pid: u32, process: &Path) -> bool {
        if self.processes.is_empty() || pid == self.own {
            return false;
        }
        let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
        if procfs::parent_and_ticks(&stat)
            .is_some_and(|(parent, _)| parent != self.own && self.processes.contains(&parent))
        {
            return true;
        }
        let Self { proc, processes, helpers, own, tables, .. } = self;
        let helpers = helpers.get_or_insert_with(|| {
            let pairs = unix_pairs::connected().unwrap_or_default();
            Helpers::of(proc, processes.iter().filter(|pid| *pid != own), &pairs, tables)
        });
        helpers.has(process)
    }

    /// Inodes of sockets at the target's places, in all network namespaces.
    fn sockets(&mut self) -> &HashMap<u64, (Place, bool)> {
        let Self { ports, peers, tables, sockets, .. } = self;
        sockets.get_or_insert_with(|| {
            let unix = peers.known().unix;
            let mut found = HashMap::new();
            for namespace in tables.namespaces() {
                let mut add = |inode, place| found.insert(inode, (place, namespace.is_own));
                for socket in namespace.tcp.iter().filter(|socket| ports.contains(&socket.local.port())) {
                    add(socket.inode, Place::Port(socket.local.port()));
                }
                let (Some(path), Some(process)) = (&unix, &namespace.process) else { continue };
                let table = std::fs::read_to_string(process.join("net/unix")).unwrap_or_default();
                for inode in procfs::sockets_at(&table, path) {
                    add(inode, Place::UnixSocket);
                }
            }
            found
        })
    }

    /// Whether a process has a TUN or TAP device, or a socket for frames: `AF_PACKET`'s are listed, and those
    /// of `AF_XDP` have rings that are mapped into memory, as no other socket has.
    fn carries_frames(&mut self, process: &Path) -> bool {
        const DEVICES: [&str; 3] = ["/dev/net/tun", "/dev/vhost-net", "/dev/tap"];
        let entries = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        let links: Vec<_> = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect();
        let starts =
            |start: &str| links.iter().any(|link| link.to_str().is_some_and(|is| is.starts_with(start)));
        if DEVICES.iter().any(|device| starts(device)) {
            return true;
        }
        if !starts("socket:") {
            return false;
        }
        let listed = self.tables.packet_sockets();
        helpers::sockets(process).any(|inode| listed.contains(&inode))
            || std::fs::read_to_string(process.join("maps")).is_ok_and(|maps| maps.contains(" socket:["))
    }
}
