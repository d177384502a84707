//! The control groups of this process: its own and those around it, any of which may limit it.
//!
//! ```text
//!   version 2   0::/a/b           /sys/fs/cgroup/a/b
//!   version 1   4:cpu,cpuacct:/c  /sys/fs/cgroup/cpu,cpuacct/c
//! ```
//!
//! `ip netns exec` mounts a `/sys` of its own, in which they are not to be seen. They still are in that of the
//! process that started it.

use std::fs;
use std::path::{Path, PathBuf};

const MOUNTED: &str = "sys/fs/cgroup";
/// Groups around a group, and processes before a process, that are looked at.
const DEEPEST: usize = 32;

/// The folder of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Where it can be read from here.
    pub folder: PathBuf,
    /// Where it is for whoever has the machine's own `/sys`; without a leading slash.
    pub name: String,
}

/// The group of this process for a controller, and those around it, the innermost first. None if they cannot
/// be seen from here. `root` stands in the place of `/`.
pub fn groups(root: &Path, controller: &str) -> Vec<Group> {
    let text = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let bases = bases(root);
    let mut found: Vec<Group> = Vec::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let mounts = match controllers {
            "" => vec!["", "unified"],
            list if list.split(',').any(|name| name == controller) => vec![list, controller],
            _ => continue,
        };
        for mount in mounts {
            let mut inner = path.trim_matches('/');
            for _ in 0..DEEPEST {
                let within = [mount, inner].into_iter().filter(|part| !part.is_empty());
                let name = std::iter::once(MOUNTED).chain(within).collect::<Vec<_>>().join("/");
                let folder = bases.iter().map(|base| base.join(&name)).find(|folder| has_files(folder));
                if let Some(folder) = folder.filter(|_| found.iter().all(|group| group.name != name)) {
                    found.push(Group { folder, name });
                }
                if inner.is_empty() {
                    break;
                }
                inner = inner.rsplit_once('/').map_or("", |(outer, _)| outer);
            }
        }
    }
    found
}

/// `root`, and that of each process which this one descends from.
fn bases(root: &Path) -> Vec<PathBuf> {
    let mut bases = vec![root.to_owned()];
    let mut of = "self".to_owned();
    for _ in 0..DEEPEST {
        let Some(parent) = parent(&root.join("proc").join(&of).join("stat")) else { break };
        of = parent.to_string();
        bases.push(root.join("proc").join(&of).join("root"));
    }
    bases
}

/// Field 4 of `stat`; `None` for what has no parent here.
fn parent(stat: &Path) -> Option<u32> {
    let text = fs::read_to_string(stat).ok()?;
    let after_name = &text[text.rfind(')')? + 1..];
    after_name.split_ascii_whitespace().nth(1)?.parse().ok().filter(|pid| *pid > 0)
}

/// A folder that a group could be mounted on is there without one, too.
fn has_files(folder: &Path) -> bool {
    let is_file = |entry: fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    fs::read_dir(folder).is_ok_and(|entries| entries.filter_map(Result::ok).any(is_file))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        root
    }

    fn names(root: &tempfile::TempDir, controller: &str) -> Vec<String> {
        groups(root.path(), controller).into_iter().map(|group| group.name).collect()
    }

    #[test]
    fn groups_around_a_group_are_found_in_both_versions() {
        let root = machine(&[
            ("proc/self/cgroup", "4:memory:/m\n2:cpu,cpuacct:/c/d\n0::/a/b\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/c/cpu.stat", ""),
            ("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "1\n"),
        ]);
        let cpu = ["sys/fs/cgroup/cpu,cpuacct/c", "sys/fs/cgroup/a/b", "sys/fs/cgroup/a"];
        assert_eq!(names(&root, "cpu"), cpu);
        assert_eq!(names(&root, "memory"), ["sys/fs/cgroup/memory/m", cpu[1], cpu[2]]);
    }

    /// As in `ip netns exec`: the folder is there and empty, and the process that started it sees more.
    #[test]
    fn groups_that_a_mount_hides_are_seen_by_the_process_before() {
        let mut files = vec![
            ("proc/self/cgroup", "0::/a\n"),
            ("proc/self/stat", "70 (tare (x) y) S 60 1 1"),
            ("proc/60/stat", "60 (ip) S 50 1 1"),
            ("proc/50/stat", "50 (sh) S 0 1 1"),
        ];
        let hidden = machine(&files);
        fs::create_dir_all(hidden.path().join("sys/fs/cgroup")).expect("a folder");
        assert!(names(&hidden, "cpu").is_empty());
        files.push(("proc/50/root/sys/fs/cgroup/a/cpu.max", "max 100000\n"));
        let seen = machine(&files);
        fs::create_dir_all(seen.path().join("sys/fs/cgroup")).expect("a folder");
        let found = groups(seen.path(), "cpu");
        assert_eq!(found[0].name, "sys/fs/cgroup/a");
        assert!(found[0].folder.join("cpu.max").exists(), "{found:?}");
    }
}
