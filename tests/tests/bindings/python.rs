//! The Python package: its own tests, run as its users run it.

use std::path::{Path, PathBuf};
use std::process::Command;
use tare_system_tests::target::Target;
use tare_system_tests::{binary, scratch, skipped};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository").to_owned()
}

/// The package as a wheel has it: what is Python, and the library beside it.
fn lay(folder: &Path) {
    let package = folder.join("tare");
    std::fs::create_dir(&package).expect("a folder");
    for file in std::fs::read_dir(root().join("bindings/python/tare")).expect("the package") {
        let path = file.expect("a file").path();
        if path.is_file() {
            std::fs::copy(&path, package.join(path.file_name().expect("a name"))).expect("a copy");
        }
    }
    let library = binary().with_file_name("lib_tare.so");
    std::fs::copy(library, package.join("_tare.abi3.so")).expect("cargo build -p tare-python makes it");
}

/// Runs `bindings/python/tests/NAME`; its own words are those of a failure.
#[track_caller]
fn holds(name: &str) {
    let folder = scratch();
    lay(folder.path());
    let target = Target::start("--no-truth");
    let done = Command::new(root().join(".venv/bin/python"))
        .args(["-m", "unittest", "-v", name])
        .current_dir(root().join("bindings/python/tests"))
        .env("PYTHONPATH", folder.path())
        .env("MPLCONFIGDIR", folder.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("TARE_URL", target.url())
        .output()
        .expect("make need-test makes .venv");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    let reasons = said.lines().filter_map(|line| line.split_once("... skipped "));
    reasons.for_each(|(_, why)| skipped(why));
}

#[test]
fn ports_rules_and_signatures_from_python() {
    holds("test_ports");
}

#[test]
fn runs_from_python() {
    holds("test_runs");
}

#[test]
fn the_examples_of_the_page_on_python_do_what_it_says() {
    holds("test_pages");
}
