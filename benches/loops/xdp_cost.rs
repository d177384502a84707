//! What the kernel's program costs for each frame, by BPF_PROG_RUN: 1, 1 000 and 100 000 rules, in turns. The
//! kernel runs the same frame again and again, so the tables are warm; different sources follow each other in
//! blocks.
//!
//! `cargo run --release -p tare-benches --bin xdp_cost`

use filter::xdp::{Loaded, Onward};
use filter::{Firewall, Rules};
use std::sync::Arc;

const BLOCKS: u32 = 4_000;
const EACH: u32 = 50;

fn main() {
    let counts = [1u32, 1_000, 100_000];
    let loaded = counts.map(|count| {
        let line = |n: u32| format!("drop from 11.{}.{}.0/24\n", n >> 8 & 255, n & 255);
        let more = |n: u32| format!("drop from 10.{}.{}.{}\n", n >> 16 & 255, n >> 8 & 255, n & 255);
        let text: String = (0..count).map(|n| if n < 65_536 { line(n) } else { more(n) }).collect();
        let firewall = Firewall::compile(&Rules::parse(&text, "rules").expect("rules")).expect("compiles");
        Loaded::new(Arc::new(firewall), Onward::Host).expect("loads (needs root)")
    });
    for _ in 0..3 {
        for (count, loaded) in counts.iter().zip(&loaded) {
            let mut nanos = 0u64;
            for block in 0..BLOCKS {
                let n = block.wrapping_mul(7_919) % count;
                let mut frame = vec![0u8; 60];
                (frame[12], frame[14], frame[23]) = (8, 0x45, 17);
                let source = if n < 65_536 { 0x0b00_0000 | n << 8 } else { 0x0a00_0000 | n };
                frame[26..30].copy_from_slice(&source.to_be_bytes());
                nanos += u64::from(loaded.run(&frame, EACH).expect("runs").each_ns);
            }
            println!("{count:>6} rules: {:.1} ns a frame", nanos as f64 / f64::from(BLOCKS));
        }
    }
}
