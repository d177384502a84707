//! What the stateless responder of `tare target --over` can do on one core, over `mem`, against a bare
//! generator: requests that are ready but for port and numbers, and responses that are counted, each whole.
//!
//! ```text
//! generator ─ 256 requests ─► [ mem ═ mem ] ─► responder ─ 256 responses ─► [ mem ═ mem ] ─► generator
//! ```
//!
//! Both are in one thread, by turns. Prints millions of requests per second of the responder's own CPU time,
//! and of both together, for each of some trials, and the median: `cargo run --release -p tare-benches --bin
//! responder_rate [REQUESTS [BODY]]`.

use port::mem::End;
use port::{Port, Slot};
use station::{Head, Link, Station, Via};
use target::over::{Responder, Settings};
use units::{Bytes, Instant};
use wire::checksum;
use wire::tcp::{LENGTH, field, flag};

const REQUESTS: u64 = 10_000_000;
const TRIALS: usize = 5;
const BATCH: u64 = 256;
const GET: &[u8] =
    b"GET /index.html HTTP/1.1\r\nHost: 198.18.0.10\r\nUser-Agent: responder_rate\r\nAccept: */*\r\n\r\n";

/// Requests on 64 thousand connections in turn.
struct Generator {
    head: Head,
    get_sum: u64,
    next: u64,
    answered: u64,
    bytes: u64,
}

impl Generator {
    fn write(&mut self, slot: &mut Slot<'_>) {
        let start = self.head.length();
        self.head.write(slot.data);
        let mut fixed = [0; LENGTH];
        fixed[field::SOURCE..][..2].copy_from_slice(&(self.next as u16).to_be_bytes());
        fixed[field::DESTINATION..][..2].copy_from_slice(&80u16.to_be_bytes());
        fixed[field::SEQUENCE..][..4].copy_from_slice(&(self.next as u32).to_be_bytes());
        fixed[field::ACKNOWLEDGMENT..][..4].copy_from_slice(&(self.next as u32).to_be_bytes());
        (fixed[field::OFFSET], fixed[field::FLAGS]) = (0x50, flag::ACK | flag::PSH);
        fixed[field::WINDOW..][..2].copy_from_slice(&u16::MAX.to_be_bytes());
        slot.data[start..][..LENGTH].copy_from_slice(&fixed);
        if *slot.mark != 1 {
            slot.data[start + LENGTH..][..GET.len()].copy_from_slice(GET);
            *slot.mark = 1;
        }
        let sum = checksum::sum(&fixed) + self.get_sum;
        slot.length = self.head.finish_with(slot.data, LENGTH + GET.len(), sum);
        self.next += 1;
    }

    fn send(&mut self, port: &mut End, most: u64) -> Result<u64, port::PortError> {
        Ok(port.transmit(most as usize, &mut |slot| self.write(slot))? as u64)
    }

    fn receive(&mut self, port: &mut End) -> Result<(), port::PortError> {
        let start = self.head.length();
        while port.receive(4_096, &mut |frame| {
            let is_last = frame.data[start + field::FLAGS] & flag::PSH != 0;
            self.bytes += (frame.data.len() - start - LENGTH) as u64;
            self.answered += u64::from(is_last);
        })? > 0
        {}
        Ok(())
    }
}

fn seconds(id: rustix::time::ClockId) -> f64 {
    let time = rustix::time::clock_gettime(id);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Millions of requests a second: of the responder alone, and of both.
fn trial(requests: u64, body: u64) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let via: Via = "mem:a,ip=198.18.0.10/24".parse()?;
    let (mut near, mut far) = port::mem::pair(4_096, 1_514);
    let link = Link::of(&via, near.about())?;
    let station = Station::new(&via, &link);
    let peer: Via = "mem:a,ip=198.18.0.2/24".parse()?;
    let generator = Station::new(&peer, &Link::of(&peer, far.about())?);
    let head = generator.head("198.18.0.2".parse()?, "198.18.0.10".parse()?, station.mac());
    let settings = Settings { ports: vec![80], status: 200, size: Bytes::new(body), body: None, seed: 1 };
    let mut responder = Responder::new(station, &settings)?;
    let get_sum = checksum::sum(GET);
    let mut generator = Generator { head, get_sum, next: 0, answered: 0, bytes: 0 };
    let cpu = || seconds(rustix::time::ClockId::ThreadCPUTime);
    let (begun, mut own, mut turns) = (cpu(), 0.0, 0_u64);
    while generator.next < requests {
        generator.send(&mut far, BATCH.min(requests - generator.next))?;
        let before = cpu();
        responder.turn(&mut near, Instant::from_picos(turns))?;
        own += cpu() - before;
        turns += 1;
        generator.receive(&mut far)?;
    }
    let all = cpu() - begun;
    assert_eq!((generator.answered, responder.served().requests), (requests, requests), "all are answered");
    assert!(generator.bytes > requests * body, "with their bodies");
    Ok((requests as f64 / own / 1e6, requests as f64 / all / 1e6))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let requests = words.next().map_or(Ok(REQUESTS), |text| text.parse())?;
    let bodies =
        words.next().map_or(Ok(vec![100, 1_000, 9_000]), |text| text.parse().map(|body| vec![body]))?;
    for body in bodies {
        let mut rates = (0..TRIALS).map(|_| trial(requests, body)).collect::<Result<Vec<_>, _>>()?;
        rates.sort_by(|one, other| one.0.total_cmp(&other.0));
        let all: Vec<String> = rates.iter().map(|rate| format!("{:.2}", rate.0)).collect();
        let (own, both) = rates[TRIALS / 2];
        println!(
            "{body} bytes: {own:.2} M requests/s of CPU time, {both:.2} M/s with the generator (of {TRIALS}: {})",
            all.join(" ")
        );
    }
    Ok(())
}
