//! The time of a packet, through the ports that are named: `weigh_packets PACKETS TRIALS PORT…`

use std::sync::atomic::AtomicBool;
use weigh::packets::{Options, weigh};
use weigh::{Stage, Way};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [packets, trials, ways @ ..] = words.as_slice() else {
        return Err("weigh_packets PACKETS TRIALS PORT…".into());
    };
    let ways: Result<Vec<Way>, String> = ways.iter().map(|way| way.parse()).collect();
    let options = Options {
        ways: ways?,
        sizes: vec![64],
        trials: trials.parse()?,
        packets: packets.parse()?,
        longest_ns: 5_000_000_000,
        capture: std::env::var_os("CAPTURE").is_some(),
        through: std::env::var("THROUGH").ok(),
        ..Options::default()
    };
    let stage = Stage::bed()?;
    for way in options.ways.clone() {
        match weigh(&stage, &options, way, 64, &AtomicBool::new(false), &mut |line| println!("{line}")) {
            Ok(found) => println!(
                "{way}: {:#?}",
                (found.stamps, found.overall, found.peak, found.threads_why, found.trials.last())
            ),
            Err(error) => println!("{way}: {error}"),
        }
    }
    Ok(())
}
