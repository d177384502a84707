//! The TCP sockets of all network namespaces, read once in a look, by sock_diag(7). It leaves out TIME_WAIT:
//! where thousands of connections are in it, the kernel takes 40 ms to write `net/tcp`, and megabytes.
//!
//! A process may hold sockets of other namespaces than its own: it was elsewhere when it opened them, or
//! somebody handed them over. An inode is one socket's on the whole machine, so a process's sockets are looked
//! for in the tables of all namespaces. They are those that a process is in, or that are mounted.

use super::helpers;
use super::look::numbers;
use crate::procfs;
use os::tcp_sockets::{self, TcpSocket};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct Tables {
    proc: PathBuf,
    /// Read when they are first asked for.
    found: Option<Vec<Namespace>>,
    for_frames: Option<HashSet<u64>>,
}

/// A network namespace.
#[derive(Debug, Default)]
pub(super) struct Namespace {
    /// As links to it read (`net:[4026531840]`), where there are any.
    pub name: PathBuf,
    /// This program is in it.
    pub is_own: bool,
    /// A process that is in it, if one is.
    pub process: Option<PathBuf>,
    pub tcp: Vec<TcpSocket>,
}

impl Tables {
    /// Of a machine with its processes in `proc`.
    pub fn new(proc: &Path) -> Self {
        Self { proc: proc.to_owned(), found: None, for_frames: None }
    }

    /// Forgets what was read.
    pub fn clear(&mut self) {
        (self.found, self.for_frames) = (None, None);
    }

    /// Inodes of sockets for frames (`AF_PACKET`) in all namespaces that a process is in.
    pub fn packet_sockets(&mut self) -> &HashSet<u64> {
        if self.for_frames.is_none() {
            let processes = self.namespaces().iter().filter_map(|namespace| namespace.process.as_ref());
            let text = |process: &PathBuf| std::fs::read_to_string(process.join("net/packet")).ok();
            let all = processes
                .filter_map(text)
                .flat_map(|table| procfs::packet_sockets(&table).collect::<Vec<_>>());
            self.for_frames = Some(all.collect());
        }
        self.for_frames.get_or_insert_default()
    }

    pub fn namespaces(&mut self) -> &[Namespace] {
        let Self { proc, found, .. } = self;
        found.get_or_insert_with(|| {
            let own = std::fs::read_link(proc.join("self/ns/net")).ok();
            let mut all = HashMap::new();
            for pid in numbers(proc) {
                let Some((name, process)) = namespace_of(&proc.join(pid.to_string())) else { continue };
                all.entry(name).or_insert(process);
            }
            let in_use = all.into_iter().map(|(name, process)| {
                let is_own = own.as_ref().is_none_or(|own| *own == name);
                let tcp = sockets(&process, &name);
                Namespace { name, is_own, process: Some(process), tcp }
            });
            let mut found: Vec<Namespace> = in_use.collect();
            let mounts = std::fs::read_to_string(proc.join("self/mountinfo")).unwrap_or_default();
            for (name, place) in procfs::mounted_namespaces(&mounts) {
                if found.iter().any(|namespace| namespace.name == name) {
                    continue;
                }
                let tcp = File::open(place).and_then(|namespace| tcp_sockets::held_in(&namespace));
                found.push(Namespace { name, tcp: tcp.unwrap_or_default(), ..Namespace::default() });
            }
            found
        })
    }
}

/// The namespace of a process, and where in /proc that was read; `None` for one that is gone, or that may not
/// be looked into. Where links do not tell, each process has one of its own.
fn namespace_of(process: &Path) -> Option<(PathBuf, PathBuf)> {
    if let Ok(name) = std::fs::read_link(process.join("ns/net")) {
        return Some((name, process.to_owned()));
    }
    let living = helpers::living(process)?;
    let name = std::fs::read_link(living.join("ns/net")).unwrap_or_else(|_| living.clone());
    Some((name, living))
}

/// Those of a process's namespace. A table of many sockets takes long, and one of none is not asked for.
fn sockets(process: &Path, name: &Path) -> Vec<TcpSocket> {
    if !tcp_sockets::may_be_in(&process.join("net")) {
        return Vec::new();
    }
    let is_here = std::fs::read_link("/proc/thread-self/ns/net").is_ok_and(|here| here == name);
    let held = || match is_here {
        true => tcp_sockets::held().ok(),
        false => tcp_sockets::held_in(&File::open(process.join("ns/net")).ok()?).ok(),
    };
    held().unwrap_or_else(|| listed(process))
}

/// As text, for want of a privilege or of the kernel's module.
fn listed(process: &Path) -> Vec<TcpSocket> {
    let mut found = Vec::new();
    for table in ["net/tcp", "net/tcp6"] {
        // What was read until an error is what there is.
        let _ = each_row(&process.join(table), |row| found.extend(procfs::tcp_socket(row)));
    }
    found
}
/// The kernel gives as many rows as have room in a page, so that fewer are the last; who asks for more behind
/// them has it go through all sockets again. The whole may be megabytes, most of them in TIME_WAIT.
fn each_row(path: &Path, mut each: impl FnMut(&str)) -> io::Result<()> {
    /// The least that a page has, less more than a row.
    const FULL: usize = 4096 - 256;
    let (mut file, mut room, mut text) = (File::open(path)?, [0; 65_536], Vec::new());
    loop {
        let length = file.read(&mut room)?;
        text.extend(&room[..length]);
        let is_last = length < FULL;
        let whole = match is_last {
            true => text.len(),
            false => text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1),
        };
        String::from_utf8_lossy(&text[..whole]).lines().for_each(&mut each);
        text.drain(..whole);
        if is_last {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::fs::symlink;

    #[test]
    fn each_namespace_is_read_once() {
        let proc = tempfile::tempdir().unwrap();
        for (pid, namespace) in
            [("7", Some("net:[1]")), ("8", Some("net:[1]")), ("9", Some("net:[2]")), ("10", None)]
        {
            let process = proc.path().join(pid);
            ["net", "ns", "fd"].iter().for_each(|name| std::fs::create_dir_all(process.join(name)).unwrap());
            let row = "0: 0100007F:0050 00000000:0000 0A 0:0 0:0 0 0 0 70 1 0";
            std::fs::write(process.join("net/tcp"), format!("sl\n{row}\n")).unwrap();
            if let Some(namespace) = namespace {
                symlink(namespace, process.join("ns/net")).unwrap();
            }
        }
        std::fs::create_dir_all(proc.path().join("self/ns")).unwrap();
        symlink("net:[2]", proc.path().join("self/ns/net")).unwrap();
        let mut tables = Tables::new(proc.path());
        let of = |namespace: &Namespace| (namespace.name.clone(), namespace.is_own, namespace.tcp.len());
        let mut found: Vec<_> = tables.namespaces().iter().map(of).collect();
        found.sort();
        let alone = proc.path().join("10");
        assert_eq!(found, [(alone, false, 1), ("net:[1]".into(), false, 1), ("net:[2]".into(), true, 1)]);
        std::fs::remove_dir_all(proc.path().join("9")).unwrap();
        assert_eq!(tables.namespaces().len(), 3);
        tables.clear();
        assert_eq!(tables.namespaces().len(), 2);
    }

    #[test]
    fn a_namespace_without_a_process_is_found_where_it_is_mounted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let proc = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(proc.path().join("self")).unwrap();
        let place = "/proc/self/ns/net";
        let row = format!("43 42 0:4 net:[7] {place} rw shared:2 - nsfs nsfs rw\n");
        std::fs::write(proc.path().join("self/mountinfo"), row).unwrap();
        if tcp_sockets::held_in(&File::open(place).unwrap()).is_err() {
            return eprintln!("SKIPPED: to enter a network namespace takes CAP_SYS_ADMIN");
        }
        let mut tables = Tables::new(proc.path());
        let [only] = tables.namespaces() else { panic!("{tables:?}") };
        assert_eq!((only.name.to_str(), only.is_own, &only.process), (Some("net:[7]"), false, &None));
        assert!(only.tcp.iter().any(|socket| socket.listens && socket.local == at));
    }

    #[test]
    fn a_table_of_many_pages_is_read_to_its_end() {
        let listeners: Vec<_> = (0..200).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let found = listed(Path::new("/proc/self"));
        let is_there = |listener: &TcpListener| {
            let at = listener.local_addr().unwrap();
            found.iter().any(|socket| socket.listens && socket.local == at)
        };
        assert!(listeners.iter().all(is_there));
    }

    #[test]
    fn both_ways_of_reading_find_the_sockets_of_this_program() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let mut tables = Tables::new(Path::new("/proc"));
        let own = tables.namespaces().iter().find(|namespace| namespace.is_own).unwrap();
        let [by_diag, by_text] = [&own.tcp, &listed(Path::new("/proc/self"))]
            .map(|found| found.iter().find(|socket| socket.listens && socket.local == at).copied());
        assert!(by_diag.is_some());
        assert_eq!(by_diag, by_text);
    }
}
