//! Frames a second of one lane over ports in memory (receive, read headers, decide, copy, transmit): no rules,
//! 1, 1 000 and 100 000, in turns.
//!
//! `cargo run --release -p tare-benches --bin forward_speed [FRAME SIZE]`

use clock::HostClock;
use filter::{Firewall, Rules, Shared};
use packet::JobControl;
use packet::forward::lane_speed;
use units::Picos;

const TRIALS: usize = 7;

/// Rules by source: prefixes of 24 and 32 bits; every other one drops.
fn rules(count: u32) -> Rules {
    let line = |n: u32| {
        let action = if n.is_multiple_of(2) { "drop" } else { "pass" };
        let (a, b, c) = (n >> 14 & 255, n >> 6 & 255, n << 2 & 255);
        match n % 4 {
            0 => format!("{action} from 10.{a}.{b}.{c}\n"),
            _ => format!("{action} from 11.{}.{}.0/24\n", n >> 8 & 255, n & 255),
        }
    };
    Rules::parse(&(0..count).map(line).collect::<String>(), "rules").expect("rules")
}

fn main() {
    let size = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(64);
    let (clock, control) = (HostClock::calibrate(), JobControl::default());
    let counts = [0, 1, 1_000, 100_000];
    let shared = counts.map(|count| {
        (count > 0).then(|| Shared::new(Firewall::compile(&rules(count)).expect("rules compile")))
    });
    let mut rates = counts.map(|_| Vec::new());
    for _ in 0..TRIALS {
        for (rates, shared) in rates.iter_mut().zip(&shared) {
            let length = Picos::from_millis(100);
            let speed = lane_speed(shared.as_ref(), size, length, (&clock, &control)).expect("mem ports");
            rates.push(speed.rate() / 1e6);
        }
    }
    for (count, mut rates) in counts.into_iter().zip(rates) {
        rates.sort_by(f64::total_cmp);
        let (median, low, high) = (rates[TRIALS / 2], rates[0], rates[TRIALS - 1]);
        println!("{size} B, {count:>6} rules: {median:6.2} M/s ({low:.2} to {high:.2})");
    }
}
