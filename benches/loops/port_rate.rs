//! What a port does by itself, with no engine around it: to be set beside `bare_xdp` and `bare_live`.
//!
//! ```text
//! port_rate send ADDRESS SIZE FRAMES [vary]     SIZE counts the FCS; vary: three fields and a signature
//! port_rate receive ADDRESS SECONDS
//! ```

use port::{Address, For, Next, Order, Port, Wish};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use units::Picos;
use wire::template::{By, Field, Layer, Mac, Sizes, Spec, StreamSpec, Values, Vary};
use wire::{Template, Times};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [_, "send", address, size, frames, rest @ ..] => {
            send(&address.parse()?, size.parse()?, frames.parse()?, rest.first() == Some(&"vary"))
        }
        [_, "receive", address, seconds] => receive(&address.parse()?, seconds.parse()?),
        _ => Err("port_rate send ADDRESS SIZE FRAMES [vary] | port_rate receive ADDRESS SECONDS".into()),
    }
}

fn template(size: usize, varies: bool) -> Result<Template, Failure> {
    let layers = vec![
        Layer::ethernet(Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2])),
        Layer::ipv4([198, 18, 0, 1].into(), [198, 18, 0, 2].into()),
        Layer::Udp { source: 1000, destination: 9, checksum: false },
    ];
    let vary = |field, start, count| Vary {
        field,
        values: Values::Increment { start, step: 1, count },
        by: By::Frame,
    };
    let vary = match varies {
        true => vec![
            vary(Field::Ipv4Source, 0xc612_0001, 1000),
            vary(Field::PortSource, 1024, 50_000),
            vary(Field::Identification, 0, 65_536),
        ],
        false => vec![],
    };
    let stream = StreamSpec {
        weight: 1,
        layers,
        sizes: Sizes::Fixed(size),
        vary,
        sign: varies,
        ..StreamSpec::default()
    };
    Ok(Template::build(&Spec { streams: vec![stream], seed: 1 })?)
}

fn send(address: &Address, size: usize, frames: u64, varies: bool) -> Result<(), Failure> {
    let template = template(size, varies)?;
    let mut port = port::open(address, &Wish { frame: size - 4, ..Wish::transmit() })?;
    let (begun, cpu) = (Instant::now(), cpu_seconds());
    if let Some(offload) = port.offload() {
        offload.prepare(&template)?;
        let stop = AtomicBool::new(false);
        let order = Order {
            first: 0,
            most: frames,
            rate: None,
            origin_monotonic_ns: 0,
            until_monotonic_ns: None,
            stop: &stop,
        };
        offload.make(&order, &mut |_| Next::Go)?;
    } else {
        send_each(&mut *port, &template, frames)?;
    }
    port.flush(Picos::from_secs(2))?;
    show(&mut *port, begun, cpu)
}

fn send_each(port: &mut dyn Port, template: &Template, frames: u64) -> Result<(), Failure> {
    let mut seq = 0;
    while seq < frames {
        let most = (frames - seq).min(64) as usize;
        let now = clock::unix_ns();
        let times = Times { due_unix_ns: now, sent_unix_ns: now };
        port.transmit(most, &mut |slot| {
            slot.length = template.write(seq, times, slot.data, slot.mark);
            seq += 1;
        })?;
    }
    Ok(())
}

fn receive(address: &Address, seconds: f64) -> Result<(), Failure> {
    let mut port = port::open(address, &Wish::receive())?;
    println!("ready");
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let (mut first, mut cpu) = (None, 0.0);
    while Instant::now() < end {
        if port.receive(256, &mut |_| ())? == 0 {
            port.wait(For::Receive, Picos::from_millis(10))?;
        } else if first.is_none() {
            (first, cpu) = (Some(Instant::now()), cpu_seconds());
        }
    }
    show(&mut *port, first.unwrap_or(end), cpu)
}

fn show(port: &mut dyn Port, begun: Instant, cpu: f64) -> Result<(), Failure> {
    let (seconds, cpu) = (begun.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let counters = port.counters()?;
    let frames = counters.sent + counters.received;
    println!(
        "frames {frames} seconds {seconds:.4} cpu {cpu:.4} per_second {:.0} drops {:?} calls {}",
        frames as f64 / seconds,
        counters.drops,
        counters.calls
    );
    Ok(())
}

/// User and system time of this process.
fn cpu_seconds() -> f64 {
    // SAFETY: all zero is a value of rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure outlives the call.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
