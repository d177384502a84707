//! Loads a URL for some seconds and prints the rate: the engine alone, with next to no recording.
//!
//! `cargo run --release -p tare-benches --bin blast -- plan.toml`

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use units::{EngineCounters, Event, Instant, Miss, Outcome, Phase, Picos, Record};

#[derive(Clone, Default)]
struct Count(Arc<[AtomicU64; 4]>);

impl Record for Count {
    fn event(&mut self, event: &Event) {
        let kind = match event.outcome {
            Outcome::Status(_) | Outcome::Frame(_) => 0,
            Outcome::Failed(_) => 1,
            Outcome::Missed(_) => 2,
            Outcome::CutOff => 3,
        };
        self.0[kind].fetch_add(1, Ordering::Relaxed);
    }
    fn missed(&mut self, _: Miss, count: u64) {
        self.0[2].fetch_add(count, Ordering::Relaxed);
    }
    fn frames(&mut self, _: units::Fate, count: u64, _: units::Bytes) {
        self.0[0].fetch_add(count, Ordering::Relaxed);
    }
    fn phase(&mut self, _: Phase, _: Picos) {}
    fn tick(&mut self, _: Instant, _: &EngineCounters) {}
}

fn main() {
    let path = std::env::args().nth(1).expect("usage: blast plan.toml");
    let text = std::fs::read_to_string(&path).expect("the plan is readable");
    let file = plan::PlanFile::from_toml(&text, &path).expect("the plan is right");
    let plan = file.resolve().expect("the plan is right");
    let seconds = plan.stop.duration.map_or(1.0, Picos::as_secs_f64);
    let engine = http::Engine::prepare(plan, clock::HostClock::calibrate()).expect("the engine is ready");
    let facts = engine.facts();
    let count = Count::default();
    let running = engine
        .start(Arc::new(http::control()), |_| vec![count.clone(); facts.threads as usize])
        .expect("threads start");
    let (notes, bad) = running.join();
    let counts: Vec<u64> = count.0.iter().map(|c| c.load(Ordering::Relaxed)).collect();
    println!("done {} failed {} missed {} cut off {}", counts[0], counts[1], counts[2], counts[3]);
    println!("{:.0}/s {:?} {bad:?}", counts[0] as f64 / seconds, notes.details);
}
