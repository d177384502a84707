use super::*;
use crate::testing::{answer, at, missed};
use proptest::prelude::*;

/// Counts what is forwarded.
#[derive(Debug, Default)]
struct Count {
    events: u64,
    missed: u64,
    phases: u64,
    ticks: u64,
}

impl Record for Count {
    fn event(&mut self, _: &Event) {
        self.events += 1;
    }
    fn missed(&mut self, _: Miss, count: u64) {
        self.missed += count;
    }
    fn frames(&mut self, _: Fate, count: u64, _: Bytes) {
        self.events += count;
    }
    fn phase(&mut self, _: Phase, _: Picos) {
        self.phases += 1;
    }
    fn tick(&mut self, _: Instant, _: &EngineCounters) {
        self.ticks += 1;
    }
}

const MS: u64 = 1_000_000;

fn one(each: usize) -> (Tapped<Count>, Batches) {
    let (mut tapped, batches) = taps_with(vec![Count::default()], at(0), each);
    (tapped.remove(0), batches)
}

fn now(batches: &Batches) -> Option<Batch> {
    batches.recv_timeout(Duration::ZERO).ok()
}

#[test]
fn everything_is_forwarded_and_only_events_are_tapped() {
    let (mut tapped, batches) = one(2);
    tapped.event(&answer(0, 1, 2, 3));
    tapped.missed(Miss::NotReached, 7);
    tapped.phase(Phase::Connect, Picos::from_nanos(1));
    tapped.tick(at(4), &EngineCounters::default());
    let Count { events, missed, phases, ticks } = tapped.recorder;
    assert_eq!((events, missed, phases, ticks), (1, 7, 1, 1));
    drop(tapped.tap);
    assert_eq!(now(&batches).unwrap().len(), 1);
    assert_eq!(batches.recv_timeout(Duration::ZERO).err(), Some(RecvTimeoutError::Disconnected));
    assert_eq!(batches.lost(), 0);
}

#[test]
fn untapped_records_all_the_same() {
    let mut plain = Tapped::untapped(Count::default());
    plain.event(&answer(0, 1, 2, 3));
    plain.tick(at(4), &EngineCounters::default());
    assert_eq!((plain.recorder.events, plain.recorder.ticks), (1, 1));
}

#[test]
fn times_are_since_the_origin_and_never_stays_never() {
    let (mut tapped, batches) = taps_with(vec![Count::default()], at(1_000), 2);
    tapped[0].event(&answer(5, 1_100, 1_350, 1_700));
    tapped[0].event(&missed(6, 1_200));
    drop(tapped);
    let batch = now(&batches).unwrap();
    assert_eq!(batch[0], answer(5, 100, 350, 700));
    assert_eq!(batch[1], missed(6, 200));
}

#[test]
fn a_batch_goes_when_it_is_full_or_50_ms_old() {
    let (mut tapped, batches) = one(2);
    (0..BATCH as u64 - 1).for_each(|seq| tapped.event(&answer(seq, 0, 0, 0)));
    assert!(now(&batches).is_none());
    tapped.event(&answer(BATCH as u64 - 1, 0, 0, 0));
    assert_eq!(now(&batches).unwrap().len(), BATCH);

    tapped.event(&answer(1, 0, 0, 0));
    tapped.tick(at(49 * MS), &EngineCounters::default());
    assert!(now(&batches).is_none());
    tapped.tick(at(51 * MS), &EngineCounters::default());
    assert_eq!(now(&batches).unwrap().len(), 1);
    tapped.tick(at(500 * MS), &EngineCounters::default());
    assert!(now(&batches).is_none(), "no batch of nothing");
}

#[test]
fn memory_comes_back_and_what_has_none_is_counted() {
    let (mut tapped, batches) = one(2);
    let full =
        |tapped: &mut Tapped<Count>| (0..BATCH as u64).for_each(|seq| tapped.event(&answer(seq, 0, 0, 0)));
    // The active buffer and two spare ones are filled, and then there is none.
    (0..3).for_each(|_| full(&mut tapped));
    tapped.event(&answer(0, 0, 0, 0));
    tapped.event(&answer(0, 0, 0, 0));
    assert_eq!(batches.lost(), 2);
    let held = now(&batches).unwrap();
    let memory = held.as_ptr();
    drop(held);
    // It is this buffer that is used next, without another being made.
    full(&mut tapped);
    assert_eq!(batches.lost(), 2);
    drop(now(&batches));
    drop(now(&batches));
    assert_eq!(now(&batches).unwrap().as_ptr(), memory);
}

#[test]
fn when_half_of_the_memory_is_out_batches_are_filled_first() {
    let (mut tapped, batches) = one(4);
    let mut held = Vec::new();
    for round in 1..=6 {
        tapped.event(&answer(round, 0, 0, 0));
        tapped.tick(at(round * 60 * MS), &EngineCounters::default());
        held.extend(now(&batches));
    }
    // Of four spare buffers two are at home after the second batch, one after the third.
    assert_eq!(held.len(), 3);
    drop(held);
    tapped.tick(at(900 * MS), &EngineCounters::default());
    assert_eq!(now(&batches).unwrap().iter().map(|event| event.seq).collect::<Vec<_>>(), [4, 5, 6]);
}

#[test]
fn readers_that_are_gone_are_no_harm() {
    let (mut tapped, batches) = one(2);
    let lost = batches.lost.clone();
    drop(batches);
    (0..3 * BATCH as u64 + 5).for_each(|seq| tapped.event(&answer(seq, 0, 0, 0)));
    drop(tapped);
    assert_eq!(lost[0].load(Ordering::Relaxed), 3 * BATCH as u64 + 5);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Events { thread: usize, count: u64 },
    Tick { thread: usize, ms: u64 },
    Take,
    Drop,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..3usize, 1..9_000u64).prop_map(|(thread, count)| Step::Events { thread, count }),
        3 => (0..3usize, 1..80u64).prop_map(|(thread, ms)| Step::Tick { thread, ms }),
        3 => Just(Step::Take),
        2 => Just(Step::Drop),
    ];
    proptest::collection::vec(step, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever a slow reader does, each event arrives once and in its thread's order, or is counted as lost.
    #[test]
    fn nothing_is_doubled_and_what_is_lost_is_counted(steps in steps(), each in 0..5usize) {
        let counts = vec![Count::default(), Count::default(), Count::default()];
        let (mut tapped, batches) = taps_with(counts, at(0), each);
        let (mut next, mut clock) = ([0u64; 3], 0);
        let mut held = std::collections::VecDeque::new();
        let mut seen: [Vec<u64>; 3] = Default::default();
        let mut read = |batch: &Batch| {
            seen[usize::from(batch.thread())].extend(batch.iter().map(|event| event.seq));
        };
        for step in steps {
            match step {
                Step::Events { thread, count } => for _ in 0..count {
                    tapped[thread].event(&answer(next[thread], 0, 0, 0));
                    next[thread] += 1;
                },
                Step::Tick { thread, ms } => {
                    clock += ms;
                    tapped[thread].tick(at(clock * MS), &EngineCounters::default());
                }
                Step::Take => held.extend(now(&batches).inspect(&mut read)),
                Step::Drop => drop(held.pop_front()),
            }
        }
        drop(tapped);
        while let Some(batch) = now(&batches) {
            read(&batch);
        }
        for seqs in &seen {
            prop_assert!(seqs.is_sorted_by(|a, b| a < b));
        }
        let arrived: u64 = seen.iter().map(|seqs| seqs.len() as u64).sum();
        prop_assert_eq!(arrived + batches.lost(), next.iter().sum::<u64>());
    }
}
