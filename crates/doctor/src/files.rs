//! Reading /proc and /sys below a root, so that examiners are tested on folders made for it.

use crate::finding::words;
use std::path::{Path, PathBuf};

/// Entries of one folder that are looked at, at most.
const MOST_ENTRIES: usize = 4_096;

/// The files of a machine.
#[derive(Clone, Debug)]
pub struct Files {
    root: PathBuf,
}

impl Default for Files {
    fn default() -> Self {
        Self::at(Path::new("/"))
    }
}

impl Files {
    /// With `root` in the place of `/`.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub fn text(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.path(path)).ok()
    }

    /// Without the spaces around it; `None` also if nothing is left.
    pub fn line(&self, path: &str) -> Option<String> {
        self.text(path).map(|text| text.trim().to_owned()).filter(|line| !line.is_empty())
    }

    pub fn number(&self, path: &str) -> Option<u64> {
        self.line(path)?.parse().ok()
    }

    pub fn sysctl_path(name: &str) -> String {
        format!("proc/sys/{}", name.replace('.', "/"))
    }

    pub fn sysctl(&self, name: &str) -> Option<String> {
        self.line(&Self::sysctl_path(name)).map(|line| words(&line))
    }

    pub fn sysctl_number(&self, name: &str) -> Option<i64> {
        self.sysctl(name)?.split(' ').next()?.parse().ok()
    }

    /// Names in a folder, numbers in them in numerical order; none if it is not there.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).into_iter().flatten().flatten().take(MOST_ENTRIES);
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort_by_key(|name| {
            let digits: String = name.chars().filter(char::is_ascii_digit).collect();
            (digits.parse::<u64>().unwrap_or(0), name.clone())
        });
        names
    }

    /// Those of the form WORD and a number: `cpu0`, `node1`, `rx-3`.
    pub fn numbered(&self, folder: &str, word: &str) -> Vec<String> {
        let is_one = |name: &String| {
            name.strip_prefix(word)
                .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
        };
        self.names(folder).into_iter().filter(is_one).collect()
    }

    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// `NAME: value` or `NAME   value kB` at the start of a line: the first word after it.
    pub fn field(&self, path: &str, name: &str) -> Option<String> {
        let text = self.text(path)?;
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').split_ascii_whitespace().next().map(str::to_owned)
    }

    /// In bytes, of a file such as `/proc/meminfo`.
    pub fn kib(&self, path: &str, name: &str) -> Option<u64> {
        Some(self.field(path, name)?.parse::<u64>().ok()? * 1_024)
    }
}

/// Whether any bit is set in a mask such as `00000000,00000003`.
pub fn has_bits(mask: &str) -> bool {
    mask.chars().any(|digit| digit.is_ascii_hexdigit() && digit != '0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_of_cpus() {
        assert!(has_bits("00000000,00000002") && !has_bits("0,00000000"));
    }
}
