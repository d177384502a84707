//! What recording one event costs, and what a recorder keeps: `cargo run --release -p tare-benches --bin
//! event_cost`.
//!
//! Events are made beforehand, in chunks that fit in the cache, and look like an open loop at 100 000/s whose
//! answers take 50 µs to 5 ms and overtake each other. The best of many chunks is told: the cost without
//! interruptions.

use measure::{IntervalRow, Probe, Settings, recorders};
use os::peers::Peers;
use units::{Bytes, EngineCounters, Event, Group, Instant, Outcome, Picos, Record};

const CHUNK: u64 = 4_096;
const CHUNKS: u64 = 500;

fn event(seq: u64, random: u64) -> Event {
    let due = Instant::EPOCH + Picos::from_micros(10).saturating_mul(seq);
    let sent = due + Picos::from_nanos(random % 3_000);
    let took = 50_000 + (random >> 20) % (50_000 << ((random >> 50) % 7));
    let done = sent + Picos::from_nanos(took);
    Event {
        seq,
        due,
        sent,
        first_byte: sent + Picos::from_nanos(took * 9 / 10),
        done,
        bytes_out: Bytes::new(90),
        bytes_in: Bytes::new(840),
        outcome: Outcome::Status(200),
        blocked: Picos::ZERO,
        unread: Picos::ZERO,
        unread_bound: Picos::ZERO,
        group: Group((random >> 40) as u16 % 20),
    }
}

fn main() {
    for (groups, gaps) in [(1, false), (1, true), (20, true)] {
        let settings = Settings { groups, gaps, ..Settings::from_origin(Instant::EPOCH) };
        let (mut collector, mut recorder) = recorders(settings);
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut costs = Vec::new();
        for chunk in 0..CHUNKS {
            let mut events: Vec<Event> = (chunk * CHUNK..(chunk + 1) * CHUNK)
                .map(|seq| {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    event(seq, state)
                })
                .collect();
            events.sort_by_key(|event| event.done);
            let counters = EngineCounters { offered: (chunk + 1) * CHUNK, ..EngineCounters::default() };
            let before = std::time::Instant::now();
            for event in &events {
                recorder[0].event(event);
            }
            costs.push(before.elapsed().as_nanos() as f64 / CHUNK as f64);
            recorder[0].tick(events[0].done, &counters);
            collector.poll(events[0].done, &mut |_: &IntervalRow| ());
        }
        drop(recorder);
        let (totals, _) = collector.finish(Instant::EPOCH + Picos::from_secs(60), &mut |_| ());
        totals.conservation().expect("every event was counted");
        costs.sort_by(f64::total_cmp);
        let (best, median) = (costs[0], costs[costs.len() / 2]);
        println!("groups {groups:>2}, gaps {gaps:>5}: {median:.1} ns an event (best {best:.1})");
    }
    probe_cost();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().filter(|line| line.starts_with("RssAnon")).for_each(|line| println!("{line}"));
}

/// What the collector pays for one row with a look at the generator itself, with one engine thread.
fn probe_cost() {
    let (mut collector, mut recorder) = recorders(Settings::from_origin(Instant::EPOCH));
    collector.watch(Probe::new(Instant::EPOCH, 1, &Peers::default()));
    let mut costs = Vec::new();
    for second in 1..100 {
        let now = Instant::EPOCH + Picos::from_secs(second);
        recorder[0].event(&event(second, 1));
        recorder[0].tick(now, &EngineCounters::default());
        let before = std::time::Instant::now();
        collector.poll(now, &mut |row| assert!(row.health.is_some()));
        costs.push(before.elapsed().as_nanos() as f64 / 1e3);
    }
    costs.sort_by(f64::total_cmp);
    println!("a row with its probe: {:.0} µs (worst {:.0})", costs[costs.len() / 2], costs[costs.len() - 1]);
}
