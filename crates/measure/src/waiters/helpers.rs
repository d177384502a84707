//! Who works for the target: processes that it is connected to, such as the servers behind a proxy, and a
//! database behind those.
//!
//! ```text
//!   tare ──► target ──► server ──► database        found one after the other: what is found is the target's
//!            10.0.0.1:80   127.0.0.1:9000   /run/db.sock
//! ```
//!
//! A process is followed by the connections that it opened, not by those that it accepted: other clients of the
//! database are not the target's. TCP is found in every network namespace, Unix sockets in this one.

use super::tables::Tables;
use os::tcp_sockets::TcpSocket;
use os::unix_pairs::Connected;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// More descriptors than this are not read of all processes together in one look.
const MOST_DESCRIPTORS: usize = 50_000;

/// Inodes of sockets that the target's processes are connected to, as found in one look.
#[derive(Debug, Default)]
pub(super) struct Helpers(HashSet<u64>);

impl Helpers {
    /// Reads the connections of these processes.
    pub fn of<'a>(
        proc: &Path,
        processes: impl Iterator<Item = &'a u32>,
        pairs: &[Connected],
        tables: &mut Tables,
    ) -> Self {
        let mut inodes = HashSet::new();
        for pid in processes {
            let Some(process) = living(&proc.join(pid.to_string())) else { continue };
            inodes.extend(sockets(&process).take(MOST_DESCRIPTORS - inodes.len()));
        }
        let opened = pairs.iter().filter(|pair| !pair.is_named && inodes.contains(&pair.inode));
        let mut found: HashSet<u64> = opened.map(|pair| pair.peer).collect();
        let namespaces = tables.namespaces();
        let mut addresses = HashSet::new();
        for namespace in namespaces {
            let mut ports_here = HashSet::new();
            for socket in opened_by(&inodes, &namespace.tcp) {
                if is_here(socket) {
                    ports_here.insert(socket.remote.port());
                }
                addresses.insert(socket.remote);
            }
            let listens_there =
                |socket: &&TcpSocket| socket.listens && ports_here.contains(&socket.local.port());
            found.extend(namespace.tcp.iter().filter(listens_there).map(|socket| socket.inode));
        }
        let all = namespaces.iter().flat_map(|namespace| &namespace.tcp);
        found.extend(all.filter(|socket| addresses.contains(&socket.local)).map(|socket| socket.inode));
        Self(found)
    }

    /// Whether a process has a socket that the target is connected to.
    pub fn has(&self, process: &Path) -> bool {
        !self.0.is_empty() && sockets(process).any(|inode| self.0.contains(&inode))
    }
}

/// Connections of a namespace that those opened who hold these sockets: what they accepted was opened by a
/// client.
fn opened_by<'a>(inodes: &HashSet<u64>, all: &'a [TcpSocket]) -> impl Iterator<Item = &'a TcpSocket> {
    let listens = all.iter().filter(|socket| socket.listens).map(|socket| socket.local.port());
    let listens: HashSet<u16> = listens.collect();
    all.iter().filter(move |socket| {
        inodes.contains(&socket.inode) && !socket.listens && !listens.contains(&socket.local.port())
    })
}

/// Whether a connection ends in the network namespace in which it began. The kernel gives a connection to an
/// address of its own that address as its source, too, or one of loopback.
fn is_here(socket: &TcpSocket) -> bool {
    socket.local.ip() == socket.remote.ip() || socket.remote.ip().is_loopback()
}

/// Inodes of a process's sockets.
pub(super) fn sockets(process: &Path) -> impl Iterator<Item = u64> + use<> {
    let entries = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let link = std::fs::read_link(entry.path()).ok()?;
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    })
}

/// Where in /proc a process may be looked into, if it may be: where its first thread has ended while others go
/// on, only these still have descriptors and a namespace.
pub(super) fn living(process: &Path) -> Option<PathBuf> {
    let open =
        |folder: &Path| std::fs::read_dir(folder.join("fd")).map(|mut entries| entries.next().is_some());
    let first = open(process);
    if let Ok(true) = first {
        return Some(process.to_owned());
    }
    let threads = std::fs::read_dir(process.join("task")).into_iter().flatten().flatten();
    let other =
        threads.map(|thread| thread.path()).find(|thread| open(thread).is_ok_and(|has_some| has_some));
    other.or_else(|| first.is_ok().then(|| process.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A process in a network namespace with these sockets, and the table of its namespace.
    fn put(proc: &Path, pid: u32, namespace: &str, sockets: &[u64], table: &str) {
        let process = proc.join(pid.to_string());
        ["fd", "net", "ns"].iter().for_each(|name| std::fs::create_dir_all(process.join(name)).unwrap());
        symlink(namespace, process.join("ns/net")).unwrap();
        for inode in sockets {
            symlink(format!("socket:[{inode}]"), process.join(format!("fd/{inode}"))).unwrap();
        }
        std::fs::write(process.join("net/tcp"), table).unwrap();
    }

    /// Rows of `local remote state inode`.
    fn table(rows: &[(&str, &str, &str, u64)]) -> String {
        let row = |(local, remote, state, inode): &(&str, &str, &str, u64)| {
            format!(" 0: {local} {remote} {state} 0:0 0:0 0 0 0 {inode} 1 0\n")
        };
        format!("sl\n{}", rows.iter().map(row).collect::<String>())
    }

    const LOCAL: &str = "0100007F";

    #[test]
    fn where_the_first_thread_has_ended_another_is_asked() {
        let proc = tempfile::tempdir().unwrap();
        let process = proc.path().join("7");
        assert_eq!(living(&process), None, "it may not be looked into");
        for (thread, sockets) in [("7", &[][..]), ("8", &[71, 72])] {
            let open = process.join("task").join(thread).join("fd");
            std::fs::create_dir_all(&open).unwrap();
            for inode in sockets {
                symlink(format!("socket:[{inode}]"), open.join(inode.to_string())).unwrap();
            }
        }
        assert_eq!(living(&process), Some(process.join("task/8")));
        std::fs::create_dir(process.join("fd")).unwrap();
        assert_eq!(living(&process), Some(process.join("task/8")));
        symlink("socket:[70]", process.join("fd/3")).unwrap();
        assert_eq!(living(&process), Some(process.clone()));
        // A process without descriptors is none that hides them.
        std::fs::create_dir_all(proc.path().join("9/fd")).unwrap();
        assert_eq!(living(&proc.path().join("9")), Some(proc.path().join("9")));
    }

    #[test]
    fn who_is_connected_to_by_tcp_works_for_the_target_and_its_clients_do_not() {
        let proc = tempfile::tempdir().unwrap();
        let at = |port: &str| format!("{LOCAL}:{port}");
        let here = table(&[
            // The target (7) listens on 80, was connected to by a client (5), and has opened a connection to
            // 90.
            (&at("0050"), "00000000:0000", "0A", 70),
            (&at("0050"), &at("A001"), "01", 71),
            (&at("A001"), &at("0050"), "01", 50),
            (&at("A002"), &at("005A"), "01", 72),
            // Who listens there (8) has not accepted it yet; another (9) has accepted it.
            ("00000000:005A", "00000000:0000", "0A", 80),
            (&at("005A"), &at("A002"), "01", 90),
            // A client of theirs (6), and somebody else's server (4).
            (&at("A003"), &at("005A"), "01", 60),
            ("00000000:005B", "00000000:0000", "0A", 40),
        ]);
        let all = [(7, &[70, 71, 72][..]), (5, &[50]), (8, &[80]), (9, &[90]), (6, &[60]), (4, &[40])];
        all.iter().for_each(|(pid, sockets)| put(proc.path(), *pid, "net:[1]", sockets, &here));
        // In another namespace the same port of loopback is another's.
        put(proc.path(), 3, "net:[2]", &[30], &table(&[("00000000:005A", "00000000:0000", "0A", 30)]));
        let helpers = Helpers::of(proc.path(), [7].iter(), &[], &mut Tables::new(proc.path()));
        let has = |pid: u32| helpers.has(&proc.path().join(pid.to_string()));
        assert_eq!([8, 9, 5, 6, 4, 3].map(has), [true, true, false, false, false, false]);
    }

    #[test]
    fn who_is_connected_to_in_another_namespace_is_found_by_its_address() {
        let proc = tempfile::tempdir().unwrap();
        let (near, far) = ("010011AC:A001", "020011AC:1538");
        put(proc.path(), 7, "net:[1]", &[71], &table(&[(near, far, "01", 71)]));
        let there = table(&[("00000000:1538", "00000000:0000", "0A", 80), (far, near, "01", 81)]);
        put(proc.path(), 8, "net:[2]", &[80, 81], &there);
        let helpers = Helpers::of(proc.path(), [7].iter(), &[], &mut Tables::new(proc.path()));
        assert!(helpers.has(&proc.path().join("8")));
    }

    #[test]
    fn who_is_connected_to_by_a_unix_socket_works_for_the_target() {
        let proc = tempfile::tempdir().unwrap();
        // The target has opened 71, and has accepted 73 from a client.
        let all = [(7, &[71, 73][..]), (8, &[81]), (5, &[51])];
        all.iter().for_each(|(pid, sockets)| put(proc.path(), *pid, "net:[1]", sockets, ""));
        let pair = |inode, peer, is_named| Connected { inode, peer, is_named };
        let pairs = [pair(71, 81, false), pair(81, 71, true), pair(73, 51, true), pair(51, 73, false)];
        let helpers = Helpers::of(proc.path(), [7].iter(), &pairs, &mut Tables::new(proc.path()));
        let has = |pid: u32| helpers.has(&proc.path().join(pid.to_string()));
        assert_eq!([8, 5].map(has), [true, false]);
    }
}
