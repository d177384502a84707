//! Runs a target from a TOML file: `cargo run --release -p tare-benches --bin target_from_file -- target.toml`.

use target::{TargetConfig, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = match std::env::args().nth(1) {
        Some(path) => TargetConfig::from_toml(&std::fs::read_to_string(path)?)?,
        None => TargetConfig::default(),
    };
    print!("{}", run(config)?.to_json());
    Ok(())
}
