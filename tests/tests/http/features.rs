//! What `tare http` can do, one test for each feature, judged by what arrived at the other end.
//!
//! | module | asks |
//! |---|---|
//! | `request` | is what is sent what was asked for, and is the answer judged as asked? |
//! | `templates` | do placeholders become what they stand for? |
//! | `connection` | how many connections, from where, to where, how used? |
//! | `tls` | who is trusted, what is negotiated, what is resumed? |
//! | `shapes` | how many requests are due, and when? |
//! | `sequence` | same plan and seed, same requests; weights, names, orders |
//! | `io` | do epoll and io_uring do the same? |

mod connection;
mod io;
mod request;
mod sequence;
mod shapes;
mod templates;
mod tls;

use std::path::{Path, PathBuf};
use std::process::Command;

/// A file in a scratch folder, as a word for a command.
fn write(folder: &tempfile::TempDir, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("a scratch file");
    path
}

/// What a program says; it must succeed.
#[track_caller]
fn said(program: &str, arguments: &[&str]) -> Vec<u8> {
    tare_system_tests::need(program);
    let output = Command::new(program).args(arguments).output().expect("it can be run");
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The first word of `md5sum FILE` or `sha256sum FILE`.
fn digest(program: &str, file: &Path) -> String {
    let said = String::from_utf8_lossy(&said(program, &[&file.display().to_string()])).into_owned();
    said.split_whitespace().next().expect("a digest").to_owned()
}
