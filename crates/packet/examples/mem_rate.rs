//! What the engine alone can do: build frames, vary three fields, sign, hand over, receive and verify, on one core over `mem`.
//!
//! Prints millions of frames a second for each of some trials, and the median: `cargo run --release -p tare-packet --example mem_rate`.

use clock::{Clock, HostClock};
use port::{Port, PortError};
use wire::template::{By, Field, Layer, Mac, Payload, Sizes, Spec, StreamSpec, Values, Vary};
use wire::{Signature, Template, Times};

const FRAMES: u64 = 20_000_000;
const TRIALS: usize = 5;
const BATCH: usize = 256;

fn template(size: usize) -> Result<Template, wire::WireError> {
    let vary = |field, values| Vary { field, values, by: By::Frame };
    let range = |start, count| Values::Increment { start, step: 1, count };
    let stream = StreamSpec {
        weight: 1,
        layers: vec![
            Layer::Ethernet {
                destination: Mac([2, 0, 0, 0, 0, 2]),
                source: Mac([2, 0, 0, 0, 0, 1]),
                ethertype: None,
            },
            Layer::Ipv4 {
                source: [198, 18, 0, 1].into(),
                destination: [198, 18, 0, 2].into(),
                dscp: 0,
                ecn: 0,
                identification: 0,
                dont_fragment: true,
                ttl: 64,
                protocol: None,
                options: Vec::new(),
            },
            Layer::Udp { source: 1_024, destination: 9, checksum: true },
        ],
        sizes: Sizes::Fixed(size),
        payload: Payload::Zeros,
        vary: vec![
            vary(Field::Ipv4Source, range(u128::from(0xc612_0001u32), 254)),
            vary(Field::PortSource, range(1_024, 4_096)),
            vary(Field::PortDestination, range(9, 1_000)),
        ],
        flows: None,
        sign: true,
    };
    Template::build(&Spec { streams: vec![stream], seed: 1 })
}

/// Frames a second over one trial; every frame is verified.
fn trial(template: &Template, clock: HostClock) -> Result<f64, PortError> {
    let (mut out, mut back) = port::mem::pair(1_024, 1_514);
    let (mut sent, mut verified) = (0u64, 0u64);
    let begun = clock.now();
    let unix = clock::unix_ns();
    while sent < FRAMES {
        let now = unix + clock.now().since(begun).as_nanos();
        let times = Times { due_unix_ns: now, sent_unix_ns: now };
        let most = BATCH.min((FRAMES - sent) as usize);
        let mut seq = sent;
        let taken = out.transmit(most, &mut |slot| {
            slot.length = template.write(seq, times, slot.data, slot.mark);
            seq += 1;
        })?;
        let mut expected = sent;
        back.receive(taken, &mut |frame| {
            let is_right = Signature::find(frame.data).is_some_and(|found| found.seq == expected);
            verified += u64::from(is_right);
            expected += 1;
        })?;
        sent += taken as u64;
    }
    let took = clock.now().since(begun).as_secs_f64();
    assert_eq!(verified, FRAMES, "every frame arrives with its own number");
    Ok(FRAMES as f64 / took)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = HostClock::calibrate();
    for size in [64, 1_518] {
        let template = template(size)?;
        let mut rates = Vec::new();
        for _ in 0..TRIALS {
            rates.push(trial(&template, clock)? / 1e6);
        }
        rates.sort_by(f64::total_cmp);
        let all: Vec<String> = rates.iter().map(|rate| format!("{rate:.2}")).collect();
        println!("{size} bytes: {:.2} M/s (of {TRIALS}: {})", rates[TRIALS / 2], all.join(" "));
    }
    Ok(())
}
