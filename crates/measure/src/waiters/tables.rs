//! The TCP sockets of each network namespace, read once in a look, by sock_diag(7). It leaves out TIME_WAIT:
//! where thousands of connections are in it, the kernel takes 40 ms to write `net/tcp`, and megabytes.

use crate::procfs;
use os::tcp_sockets::{self, TcpSocket};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
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
        let read = || held().unwrap_or_else(|| listed(process));
        let key = namespace.as_ref().map_or_else(|_| process.to_owned(), Clone::clone);
        self.0.entry(key).or_insert_with(read)
    }
}

/// For want of a privilege, or of the kernel's module. Line by line: the whole may be megabytes.
fn listed(process: &Path) -> Vec<TcpSocket> {
    let tables = ["net/tcp", "net/tcp6"].map(|name| File::open(process.join(name)));
    let lines =
        tables.into_iter().flatten().flat_map(|table| BufReader::new(table).lines().map_while(Result::ok));
    lines.filter_map(|line| procfs::tcp_socket(&line)).collect()
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
