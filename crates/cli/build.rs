//! Tells the program which commit it was built from (`TARE_COMMIT`), where the sources are a git repository.
//!
//! Only a new commit runs this again, and rebuilds this crate alone.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    make_small();
    // The sources may lie within another repository.
    let own = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    let root = Path::new(&own).join("../..");
    let is_ours = git(&root, &["rev-parse", "--show-prefix"]).is_some_and(|prefix| prefix.is_empty());
    if !is_ours {
        return;
    }
    let Some(commit) = git(&root, &["rev-parse", "--short=12", "HEAD"]) else { return };
    println!("cargo::rustc-env=TARE_COMMIT={commit}");

    // What a commit or a checkout changes; a branch is in a file of its own or among the packed ones.
    let branch = git(&root, &["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "logs/HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        let file = git(&root, &["rev-parse", "--git-path", name]).map(|file| root.join(file));
        // A file that is missing would run this each time.
        if let Some(file) = file.filter(|file| file.exists()) {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
}

/// What is handed out (the profile `dist`, which alone optimises this crate for size) has its relocations
/// packed (glibc 2.36 reads them), and of functions that are the same bytes one, where the linker can.
fn make_small() {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("OPT_LEVEL", "z") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        // There Rust brings a linker that can.
        if is("CARGO_CFG_TARGET_ARCH", "x86_64") {
            println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
        }
    }
}

/// What git says, if there is a git and it has something to say.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).current_dir(root).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
