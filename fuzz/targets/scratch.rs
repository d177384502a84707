//! What several targets need.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const NAME: &str = "tare-fuzz-";

/// A folder of this process, in memory where the machine has such a file system.
pub fn scratch() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let make = || {
        let memory = PathBuf::from("/dev/shm");
        let base = if memory.is_dir() { memory } else { std::env::temp_dir() };
        remove_old(&base);
        let folder = base.join(format!("{NAME}{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a scratch folder can be made");
        folder
    };
    FOLDER.get_or_init(make).clone()
}

/// Folders of targets that have ended.
fn remove_old(base: &Path) {
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(NAME)?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
