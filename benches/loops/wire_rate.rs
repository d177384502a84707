//! How long it takes to write a 64-byte frame that varies in three fields and is signed, to read its headers,
//! and to find the signature.
//!
//! ```text
//! cargo run --release -p tare-benches --bin wire_rate
//! ```

use std::hint::black_box;
use std::net::Ipv4Addr;
use wire::template::{By, Field, Layer, Mac, Payload, Sizes, Spec, StreamSpec, Values, Vary};
use wire::{Signature, Template, Times, summary};

const FRAMES: u64 = 5_000_000;
const ROUNDS: u64 = 8;
/// Rooms in turn, as a port lends them.
const ROOMS: usize = 64;

fn main() {
    let increment = |field, start, count| Vary {
        field,
        values: Values::Increment { start, step: 1, count },
        by: By::Frame,
    };
    let three = vec![
        increment(Field::Ipv4Source, 0xc612_0001, 200),
        increment(Field::PortSource, 1024, 1024),
        increment(Field::Identification, 0, 65_536),
    ];
    let random = |field| Vary { field, values: Values::Random { first: 1000, last: 9999 }, by: By::Frame };
    let anywhere = vec![random(Field::Ipv4Source), random(Field::PortSource), random(Field::Identification)];
    for (what, vary, sign, sizes) in [
        ("three increments, signed", three.clone(), true, Sizes::Fixed(64)),
        ("three random, signed", anywhere, true, Sizes::Fixed(64)),
        ("three increments", three.clone(), false, Sizes::Fixed(64)),
        ("nothing varies", vec![], false, Sizes::Fixed(64)),
        ("three increments, signed, imix", three, true, Sizes::imix()),
    ] {
        let template = template(vary, sign, sizes);
        let mut rooms = vec![vec![0; 2048]; ROOMS];
        let mut marks = vec![0; ROOMS];
        let write = fastest(|seq| {
            let at = seq as usize % ROOMS;
            let times = Times {
                due_unix_ns: 1_700_000_000_000_000_000 + seq,
                sent_unix_ns: 1_700_000_000_000_000_100 + seq,
            };
            black_box(template.write(black_box(seq), times, &mut rooms[at], &mut marks[at]));
        });
        let room = |seq: u64| black_box(&rooms[seq as usize % ROOMS][..60]);
        let read = fastest(|seq| {
            black_box(summary(room(seq)));
        });
        let find = fastest(|seq| {
            black_box(Signature::find(room(seq)));
        });
        println!("{what}: write {write:.1} ns, summary {read:.1} ns, find {find:.1} ns");
    }
}

/// Nanoseconds for each call, in the fastest of some rounds: those in which nobody else was on the core's other
/// half.
fn fastest(mut call: impl FnMut(u64)) -> f64 {
    let round = |number: u64, call: &mut dyn FnMut(u64)| {
        let start = on_cpu_ns();
        for seq in number * FRAMES..(number + 1) * FRAMES {
            call(seq);
        }
        (on_cpu_ns() - start) as f64 / FRAMES as f64
    };
    (0..ROUNDS).map(|number| round(number, &mut call)).fold(f64::INFINITY, f64::min)
}

/// Nanoseconds that this thread had a processor: other work on the machine does not count.
fn on_cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

fn template(vary: Vec<Vary>, sign: bool, sizes: Sizes) -> Template {
    let layers = vec![
        Layer::ethernet(Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2])),
        Layer::ipv4(Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)),
        Layer::Udp { source: 1024, destination: 9, checksum: true },
    ];
    let stream = StreamSpec {
        weight: 1,
        layers,
        sizes,
        payload: Payload::Zeros,
        vary,
        flows: None,
        sign,
        pads: false,
        spoiled: Default::default(),
    };
    Template::build(&Spec { streams: vec![stream], seed: 1 }).expect("the specification is valid")
}
