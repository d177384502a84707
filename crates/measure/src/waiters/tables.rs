//! The TCP sockets of each network namespace, read once in a look, by sock_diag(7). It leaves out TIME_WAIT:
//! where thousands of connections are in it, the kernel takes 40 ms to write `net/tcp`, and megabytes. To
//! find those of one namespace the kernel goes through the sockets of all: 2 ms each time, which dozens of
//! containers make a tenth of a second. So a namespace without sockets is not asked for them.

use crate::procfs;
use os::tcp_sockets::{self, TcpSocket};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

#[derive(Debug, Default)]
pub(super) struct Tables(HashMap<PathBuf, Vec<TcpSocket>>);

impl Tables {
    /// Those of a process's namespace.
    pub fn tcp(&mut self, process: &Path) -> &[TcpSocket] {
        let namespace = std::fs::read_link(process.join("ns/net"));
        let is_own = || {
            let own = std::fs::read_link("/proc/thread-self/ns/net");
            matches!((&namespace, own), (Ok(its), Ok(own)) if *its == own)
        };
        let held = || match is_own() {
            true => tcp_sockets::held().ok(),
            false => tcp_sockets::held_in(&File::open(process.join("ns/net")).ok()?).ok(),
        };
        let read = || match Family::ALL.iter().any(|family| family.has_some(process)) {
            true => held().unwrap_or_else(|| listed(process)),
            false => Vec::new(),
        };
        let key = namespace.as_ref().map_or_else(|_| process.to_owned(), Clone::clone);
        self.0.entry(key).or_insert_with(read)
    }
}

/// What the kernel has for each version of IP.
struct Family {
    table: &'static str,
    counts: &'static str,
    row: &'static str,
}

impl Family {
    const ALL: [Self; 2] = [
        Self { table: "net/tcp", counts: "net/sockstat", row: "TCP:" },
        Self { table: "net/tcp6", counts: "net/sockstat6", row: "TCP6:" },
    ];

    /// Whether somebody holds a socket in the namespace of this process, as far as the kernel says.
    fn has_some(&self, process: &Path) -> bool {
        !has_none(&std::fs::read_to_string(process.join(self.counts)).unwrap_or_default(), self.row)
    }
}

/// `TCP: inuse 0 …`: without those in TIME_WAIT, which nobody holds.
fn has_none(counts: &str, row: &str) -> bool {
    let mut rows = counts.lines().map(|line| line.split_whitespace().take(3));
    rows.any(|words| words.eq([row, "inuse", "0"]))
}

/// As text, for want of a privilege or of the kernel's module.
fn listed(process: &Path) -> Vec<TcpSocket> {
    let mut found = Vec::new();
    for family in Family::ALL.iter().filter(|family| family.has_some(process)) {
        // What was read until an error is what there is.
        let _ = each_row(&process.join(family.table), |row| found.extend(procfs::tcp_socket(row)));
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

    #[test]
    fn processes_of_one_namespace_share_what_was_read() {
        let proc = tempfile::tempdir().unwrap();
        for (pid, namespace) in
            [("7", Some("net:[1]")), ("8", Some("net:[1]")), ("9", Some("net:[2]")), ("10", None)]
        {
            let process = proc.path().join(pid);
            ["net", "ns"].iter().for_each(|name| std::fs::create_dir_all(process.join(name)).unwrap());
            let row = format!("0: 0100007F:0050 00000000:0000 0A 0:0 0:0 0 0 0 {pid} 1 0");
            std::fs::write(process.join("net/tcp"), format!("sl\n{row}\n")).unwrap();
            if let Some(namespace) = namespace {
                std::os::unix::fs::symlink(namespace, process.join("ns/net")).unwrap();
            }
        }
        let mut tables = Tables::default();
        let mut read = |pid: &str| tables.tcp(&proc.path().join(pid))[0].inode;
        assert_eq!(["7", "8", "9", "10"].map(&mut read), [7, 7, 9, 10]);
    }

    #[test]
    fn a_table_of_no_socket_is_not_read() {
        assert!(has_none("sockets: used 9\nTCP: inuse 0 orphan 0 tw 7 alloc 3 mem 0\n", "TCP:"));
        assert!(has_none("TCP6: inuse 0\nUDP6: inuse 2\n", "TCP6:"));
        assert!(!has_none("TCP: inuse 10 orphan 0 tw 0 alloc 12 mem 1\n", "TCP:"));
        assert!(!has_none("TCP6: inuse 0\n", "TCP:") && !has_none("", "TCP:"));
        let process = tempfile::tempdir().unwrap();
        std::fs::create_dir(process.path().join("net")).unwrap();
        let put = |name: &str, text: &str| std::fs::write(process.path().join(name), text).unwrap();
        put("net/tcp", "sl\n0: 0100007F:0050 00000000:0000 0A 0:0 0:0 0 0 0 7 1 0\n");
        let found = |count: &str| {
            put("net/sockstat", &format!("TCP: inuse {count} orphan 0 tw 0 alloc 1 mem 0\n"));
            listed(process.path()).len()
        };
        assert_eq!(["0", "1"].map(found), [0, 1]);
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
        let this = Path::new("/proc/self");
        let mut tables = Tables::default();
        let [by_diag, by_text] = [tables.tcp(this), &listed(this)]
            .map(|found| found.iter().find(|socket| socket.listens && socket.local == at).copied());
        assert!(by_diag.is_some());
        assert_eq!(by_diag, by_text);
    }
}
