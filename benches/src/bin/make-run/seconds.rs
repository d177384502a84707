//! Events gathered into the seconds in which they ended, with a generator that looks after itself beside them.

use crate::options::{Options, RunKind};
use crate::random::Random;
use crate::story::Story;
use measure::{CoreHealth, HealthSample, IntervalData, IntervalRow, Series, ThreadHealth};
use units::{EngineCounters, Event, Instant, Phase, Picos};

const SECOND_NS: f64 = 1e9;

/// The rows of a run, one a second, until its last answer.
pub struct Seconds {
    story: Story,
    random: Random,
    kind: RunKind,
    rate: u64,
    seconds: u64,
    groups: u16,
    next: u64,
    /// Departures so far, and those that have not ended.
    seq: u64,
    under_way: Vec<Event>,
}

impl Seconds {
    pub fn new(options: &Options, groups: usize) -> Self {
        Self {
            story: Story::new(options, groups),
            random: Random::new(!options.seed),
            kind: options.kind,
            rate: options.rate,
            seconds: options.seconds,
            groups: groups as u16,
            next: 0,
            seq: 0,
            under_way: Vec::new(),
        }
    }

    fn data(&mut self, until: Instant) -> IntervalData {
        let mut data = IntervalData::new(self.groups);
        let (ended, under_way) =
            std::mem::take(&mut self.under_way).into_iter().partition(|event| event.done < until);
        self.under_way = under_way;
        let end = Instant::EPOCH + Picos::from_secs(self.seconds);
        for event in &ended {
            let event: &Event = event;
            data.event(event);
            data.series.record(Series::GapError, Picos::from_nanos(self.random.around(3_000.0, 1.0) as u64));
            if event.done > end && event.first_byte != Instant::FAR {
                data.answered_after(event.done.since(end));
            }
        }
        data
    }

    /// All connections in the first second, a few anew in each.
    fn connect(&mut self, data: &mut IntervalData) -> u64 {
        if self.kind == RunKind::Errors {
            return 0;
        }
        let opened = if self.next == 0 { 64 } else { 3 };
        for _ in 0..opened {
            let mut take = |median| Picos::from_nanos(self.random.around(median, 0.7) as u64);
            let (connect, tls) = (take(180_000.0), take(900_000.0));
            data.phase(Phase::Lookup, take(400_000.0));
            data.phase(Phase::Connect, connect);
            data.phase(Phase::Tls, tls);
            data.phase(Phase::Ready, connect + tls);
            data.phase(Phase::FirstByte, take(1_500_000.0));
        }
        opened
    }

    fn health(&mut self) -> HealthSample {
        let mut thread = |tid: u32, work: f64| {
            let cpu_ns = self.random.around(work * SECOND_NS, 0.1).min(SECOND_NS) as u64;
            ThreadHealth {
                tid,
                span_ns: SECOND_NS as u64,
                cpu_ns,
                spun_ns: cpu_ns / 2,
                runqueue_ns: self.random.around(200_000.0, 1.0) as u64,
                others_ns: 5_000_000,
                stolen_ns: self.random.around(2_000_000.0, 1.0) as u64,
                voluntary: 40,
                involuntary: 3,
                user_ns: cpu_ns / 2,
                system_ns: cpu_ns / 2,
                core: tid % 2,
                ..ThreadHealth::default()
            }
        };
        let threads = vec![thread(4_000, 0.5), thread(4_001, 0.4)];
        let busy = |core| CoreHealth {
            core,
            busy_ns: threads[core as usize].cpu_ns,
            softirq_ns: 1_000_000,
            steal_ns: 2_000_000,
        };
        HealthSample {
            span_ns: SECOND_NS as u64,
            cores: vec![busy(0), busy(1)],
            threads,
            retransmits: u64::from(self.random.share() < 0.05),
            time_wait: self.next.min(180),
            ports_left: Some(28_168),
            descriptors_left: Some(1_048_000),
            rss_bytes: 12 << 20,
            anon_bytes: 8 << 20,
            ..HealthSample::default()
        }
    }
}

impl Iterator for Seconds {
    type Item = IntervalRow;

    fn next(&mut self) -> Option<IntervalRow> {
        if self.next >= self.seconds && self.under_way.is_empty() {
            return None;
        }
        let before = self.seq;
        if self.next < self.seconds {
            self.seq = (self.next + 1) * self.rate;
        }
        let events: Vec<Event> = (before..self.seq).map(|seq| self.story.event(seq)).collect();
        self.under_way.extend(events);
        let start = Picos::from_secs(self.next);
        let mut data = self.data(Instant::EPOCH + start + Picos::from_secs(1));
        let opened = self.connect(&mut data);
        let due = self.seq - before;
        let open = if self.kind == RunKind::Errors { 0 } else { 64 };
        let counters =
            EngineCounters { offered: due, due, open, open_peak: open, opened, ..EngineCounters::default() };
        let health = Some(self.health());
        let index = self.next;
        self.next += 1;
        Some(IntervalRow {
            index,
            start,
            length: Picos::from_secs(1),
            data: Box::new(data),
            counters,
            starved: 0,
            health,
        })
    }
}
