//! Tests that need a process of their own: to die in, or to be measured in.

use std::process::{Command, Output};

/// Runs one test of `module` in a process of its own, where `is_child` is true.
pub fn child(module: &str, test: &str) -> Output {
    let module = module.split_once("::").expect("a module of tests is not the crate's root").1;
    Command::new(std::env::current_exe().unwrap())
        .args([&format!("{module}::{test}"), "--exact", "--nocapture"])
        .env("TARE_LINES_CHILD", "1")
        .output()
        .unwrap()
}

pub fn is_child() -> bool {
    std::env::var_os("TARE_LINES_CHILD").is_some()
}
