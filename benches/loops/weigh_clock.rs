//! Prints what this machine's clock is worth: source, cost, and how far its rate is off after each
//! calibration.
//!
//! `cargo run --release -p tare-benches --bin weigh_clock`

use clock::{Clock, HostClock};
use std::time::Duration;

fn main() {
    let first = HostClock::calibrate();
    println!("source     {:?} (kernel: {})", first.source(), first.kernel_clock());
    if let Some(why) = first.refused() {
        println!("refused    {why}");
    }
    println!("precision  {:#}, one reading {:#}", first.precision(), first.overhead());
    let clocks: Vec<_> = (0..10).map(|_| HostClock::calibrate()).collect();
    std::thread::sleep(Duration::from_secs(1));
    let refined: Vec<_> = clocks.iter().map(HostClock::recalibrated).collect();
    std::thread::sleep(Duration::from_secs(4));
    println!("now        {:#} since the epoch", first.now().since_epoch());
    for (clock, refined) in clocks.iter().zip(&refined) {
        println!(
            "rate       {:+.4} ppm; recalibrated after 1 s {:+.4} ppm",
            clock.check().ppm(),
            refined.check().ppm()
        );
    }
}
