//! The tables of TCP sockets (`net/tcp`, `net/tcp6`) of each network namespace, read once in a look: where
//! thousands of connections are in TIME_WAIT, the kernel takes milliseconds to write one.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

#[derive(Debug, Default)]
pub(super) struct Tables(HashMap<PathBuf, [String; 2]>);

impl Tables {
    /// Those of a process's namespace.
    pub fn tcp(&mut self, process: &Path) -> &[String; 2] {
        let namespace = std::fs::read_link(process.join("ns/net")).unwrap_or_else(|_| process.to_owned());
        self.0.entry(namespace).or_insert_with(|| {
            ["net/tcp", "net/tcp6"]
                .map(|name| std::fs::read_to_string(process.join(name)).unwrap_or_default())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_one_namespace_share_what_was_read() {
        let proc = tempfile::tempdir().unwrap();
        for (pid, namespace) in
            [("7", Some("net:[1]")), ("8", Some("net:[1]")), ("9", Some("net:[2]")), ("10", None)]
        {
            let process = proc.path().join(pid);
            ["net", "ns"].iter().for_each(|name| std::fs::create_dir_all(process.join(name)).unwrap());
            std::fs::write(process.join("net/tcp"), pid).unwrap();
            if let Some(namespace) = namespace {
                std::os::unix::fs::symlink(namespace, process.join("ns/net")).unwrap();
            }
        }
        let mut tables = Tables::default();
        let mut read = |pid: &str| tables.tcp(&proc.path().join(pid))[0].clone();
        assert_eq!(["7", "8", "9", "10"].map(&mut read), ["7", "7", "9", "10"]);
    }
}
