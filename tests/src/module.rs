//! The simulated FPGA module, for tests of the commands that use it.

use crate::Tare;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The simulator beside the binary: `target/module-sim/tare-module-sim`. It is built if its sources are newer.
pub fn simulator() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let target =
            crate::binary().ancestors().nth(2).expect("target/release/tare has two above it").to_owned();
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        // One at a time: tests of several binaries may ask.
        let output = Command::new("flock")
            .arg(target.join(".module-sim.lock"))
            .args(["make", "-s", "-C", root, "module-sim"])
            .env("CARGO_TARGET_DIR", &target)
            .output()
            .expect("make runs");
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the simulator could not be built: {said}");
        target.join("module-sim/tare-module-sim")
    };
    BUILT.get_or_init(build).clone()
}

/// A command on frames that finds the simulator.
pub fn with_module(command: &str) -> Tare {
    Tare::packets(command).env("TARE_MODULE_SIM", simulator().display().to_string())
}
