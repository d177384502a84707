//! A temporary folder that goes away with its owner; one left by an owner that was killed goes with the next.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};

const PREFIX: &str = "tare-bench-";

/// The folder; removed, with what is in it, on drop.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Result<Self> {
        sweep();
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{PREFIX}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Removes folders of processes that are gone.
fn sweep() {
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner =
            name.to_str().and_then(|n| n.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_go_with_their_owner_or_after_it() {
        let own = Scratch::new().expect("a folder");
        // No process has this number: Linux's pid_max is at most 2^22.
        let orphan = std::env::temp_dir().join(format!("{PREFIX}4294967295-0"));
        std::fs::create_dir_all(&orphan).expect("a folder");
        let path = own.path().to_owned();
        let _second = Scratch::new().expect("another folder");
        assert!(path.exists() && !orphan.exists());
        drop(own);
        assert!(!path.exists());
    }
}
