//! One lock for all test binaries: tests that measure time hold it alone, the others share it.

use std::fs::File;
use std::path::PathBuf;

/// Held until it is dropped.
#[must_use = "the lock is free again as soon as this is dropped"]
pub struct Guard(#[expect(dead_code, reason = "held for its lock")] File);

fn file() -> File {
    let folder: PathBuf = crate::binary().parent().map(PathBuf::from).unwrap_or_default();
    File::create(folder.join("system-tests.lock")).expect("the lock file can be made in the target folder")
}

/// For a test that measures time: no other test of this package runs meanwhile.
pub fn alone() -> Guard {
    let file = file();
    file.lock().expect("a local file can be locked");
    Guard(file)
}

/// For every other test.
pub fn beside_others() -> Guard {
    let file = file();
    file.lock_shared().expect("a local file can be locked");
    Guard(file)
}
