//! What is judged of the machine under the generator, and what is advised.

use super::*;
use crate::waiters::waits::Waits;

#[test]
fn cpu_without_spinning() {
    alone(Id::CpuThread, Word::Degraded, "add --threads", |_, h, _| {
        (h.threads[0].cpu_ns, h.threads[0].spun_ns) = (9_100_000_000, 0);
    });
    alone(Id::CpuThread, Word::Degraded, "its limit, not the target's", |_, h, c| {
        c.load = Loop::Closed;
        (h.threads[0].cpu_ns, h.threads[0].spun_ns) = (9_990_000_000, 0);
    });
    // Spinning all the time is not work.
    let (totals, mut health, conditions) = good();
    (health.threads[0].cpu_ns, health.threads[0].spun_ns) = (10 * SECOND_NS, 9 * SECOND_NS);
    assert_eq!(judge(&totals, &health, &conditions).word(), Word::Valid);
}

#[test]
fn a_share_of_a_few_milliseconds_is_not_judged_and_none_is_over_one() {
    // A thread that was watched for 3 ms: one tick of 10 ms in it would be a share of 3.3.
    let brief = ThreadHealth {
        span_ns: 3_000_000,
        cpu_ns: 3_360_000,
        runqueue_ns: 1_000_000,
        others_ns: 12_000_000,
        stolen_ns: 10_000_000,
        ..ThreadHealth::default()
    };
    let (totals, mut health, conditions) = good();
    // Beside one that was there for 10 s it is not counted; alone, nothing is.
    health.threads.push(brief.clone());
    assert!(judge(&totals, &health, &conditions).failing().is_empty());
    (health.threads, health.span_ns) = (vec![brief.clone()], 3_000_000);
    let verdict = judge(&totals, &health, &conditions);
    let left_out = [
        Id::CpuThread,
        Id::Runqueue,
        Id::SameCore,
        Id::TargetDelayed,
        Id::TargetWaited,
        Id::TargetUnseen,
        Id::OthersWaited,
        Id::Steal,
        Id::Throttled,
        Id::TargetCrowded,
    ];
    let there: Vec<_> = verdict.criteria().iter().map(|c| c.id).collect();
    let expected: Vec<_> = of_open_loops().into_iter().filter(|name| !left_out.contains(name)).collect();
    assert_eq!(there, expected);
    assert_eq!(verdict.word(), Word::Valid);
    // A target that waited for half of a run of 20 ms did so for certain.
    let waited = |ms| ThreadHealth { span_ns: 20_000_000, target_waited_ns: ms * 1_000_000, ..brief.clone() };
    for (ms, word) in [(4_u64, Word::Valid), (10, Word::Invalid)] {
        health.threads[0] = waited(ms);
        let verdict = judge(&totals, &health, &conditions);
        assert!(verdict.criteria().iter().any(|c| c.id == Id::TargetWaited), "{ms} ms");
        assert_eq!(verdict.word(), word, "{ms} ms");
    }
    // From 100 ms on they are there, and 101 ms on a CPU within 100 ms is all of it.
    health.threads[0] = ThreadHealth { span_ns: 100_000_000, cpu_ns: 101_000_000, ..brief };
    let verdict = judge(&totals, &health, &conditions);
    assert_eq!(verdict.criteria().iter().find(|c| c.id == Id::CpuThread).unwrap().value, 1.0);
}

#[test]
fn the_advice_fits_the_run() {
    // 2 % leave 120 µs late, where 100 µs are allowed.
    let advice = |break_it: &dyn Fn(&mut HealthSummary, &mut Conditions)| {
        let (_, mut health, mut conditions) = good();
        let mut totals = totals(9_800, 1_000, 1_000_000);
        add(&mut totals, |d| (0..200).for_each(|i| d.event(&answer(i, 0, 120_000, 1_000_000))));
        totals.counters.offered = 10_000;
        break_it(&mut health, &mut conditions);
        let verdict = judge(&totals, &health, &conditions);
        verdict.criteria().iter().find(|c| c.id == Id::LatenessP99).unwrap().advice.clone()
    };
    let usual = advice(&|_, _| ());
    assert!(usual.contains("--spin always") && usual.contains("--threads"), "{usual}");
    let spinning = advice(&|_, c| c.spins = true);
    assert!(spinning.contains("other work shares this CPU") && !spinning.contains("--spin"), "{spinning}");
    // What was done already is not advised again.
    let pinned = advice(&|_, c| (c.spins, c.pinned) = (true, true));
    assert!(pinned.contains("quieter machine") && !pinned.contains("--cpus"), "{pinned}");
    let closed = advice(&|_, c| c.load = Loop::Closed);
    assert!(closed.contains("--cpus") && !closed.contains("--spin"), "{closed}");
    // One thread on the one CPU there is: no more of them, whether it works all the time or waits.
    let full = advice(&|_, c| c.cpus = 1);
    assert!(full.contains("--spin always") && !full.contains("--threads"), "{full}");
    let busy = |h: &mut HealthSummary| (h.threads[0].cpu_ns, h.threads[0].spun_ns) = (9_500_000_000, 0);
    assert!(advice(&|h, _| busy(h)).contains("add --threads, or lower --rate"));
    let busy_and_full = advice(&|h, c| (busy(h), c.cpus = 1).1);
    assert!(
        busy_and_full.contains("lower --rate") && !busy_and_full.contains("--threads"),
        "{busy_and_full}"
    );
    let crowded = advice(&|h, _| h.threads[0].runqueue_ns = 600_000_000);
    assert!(crowded.contains("stop it") && !crowded.contains("--threads"), "{crowded}");
    // Two threads may become fewer, a single one may not.
    let waits = |threads: usize| {
        let (totals, mut health, mut conditions) = good();
        conditions.load = Loop::Closed;
        health.threads =
            vec![ThreadHealth { runqueue_ns: 600_000_000, ..health.threads[0].clone() }; threads];
        judge(&totals, &health, &conditions).failing()[0].advice.clone()
    };
    assert!(waits(2).contains("fewer --threads") && !waits(1).contains("--threads"));
}

/// A machine on which the generator and its target run, as far as advice changes it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    cpus: usize,
    threads: usize,
    spins: bool,
    /// The target has a CPU of an engine thread.
    shared: bool,
    gap: Picos,
    /// CPUs that the generator's work fills.
    work: f64,
}

impl Place {
    /// What a run there comes to. A thread that spins keeps the target waiting for a fifth of the time,
    /// unless departures are rare; one that
    /// sleeps leaves 60 us late on a CPU of its own, and 4 ms late on one where others work.
    fn verdict(&self) -> Verdict {
        let late_ns = match (self.spins, self.shared) {
            (true, _) => 1_000,
            (false, false) => 60_000,
            (false, true) => 4_000_000,
        };
        let gap_ns = self.gap.as_nanos();
        let is_dense = self.gap < Picos::from_millis(100);
        let (_, mut health, mut conditions) = good();
        let mut totals = totals(0, 0, 0);
        let fill = |d: &mut IntervalData| {
            (0..9_999).for_each(|i| {
                d.event(&answer(i, i * gap_ns, i * gap_ns + late_ns, i * gap_ns + late_ns + 200_000))
            })
        };
        add(&mut totals, fill);
        totals.counters.offered = 9_999;
        let share = (self.work / self.threads as f64).min(1.0);
        let thread = ThreadHealth {
            cpu_ns: (share * 1e10) as u64,
            spun_ns: 0,
            target_ran_ns: if self.shared { SECOND_NS } else { 0 },
            target_waited_ns: if self.shared && self.spins && is_dense { 2 * SECOND_NS } else { 0 },
            ..health.threads[0].clone()
        };
        health.threads = vec![thread; self.threads];
        health.cores = vec![crate::health::CoreHealth::default(); self.cpus];
        health.target_ran_ns = SECOND_NS;
        conditions.load = Loop::Open { gap: Some(self.gap) };
        (conditions.spins, conditions.cpus, conditions.weighed) = (self.spins, self.cpus as u32, None);
        judge(&totals, &health, &conditions)
    }

    /// Where each of the things leads that this sentence advises.
    fn follow(&self, advice: &str) -> Vec<(&'static str, Self)> {
        let with = |threads| Self { threads, shared: self.shared || threads >= self.cpus, ..*self };
        // In one sentence they go together.
        let fewer = advice.contains("fewer --threads");
        let threads = self.threads - usize::from(fewer);
        let apart = Self { threads, shared: self.shared && threads >= self.cpus, ..*self };
        let ways = [
            ("--spin never", Self { spins: false, ..*self }),
            ("--spin always", Self { spins: true, ..*self }),
            ("add --threads", with(self.threads + 1)),
            (if fewer { "fewer --threads" } else { "bind the target to other CPUs" }, apart),
            ("lower --rate", Self { gap: self.gap.saturating_mul(10), work: self.work / 10.0, ..*self }),
        ];
        ways.into_iter().filter(|(words, _)| advice.contains(words)).collect()
    }

    /// Follows all advice to its ends. `given` is what was done to come here.
    fn walk(self, given: &[&'static str]) {
        let opposites = [("--spin never", "--spin always"), ("add --threads", "fewer --threads")];
        for (one, other) in opposites {
            assert!(!(given.contains(&one) && given.contains(&other)), "{given:?} leads to {self:?}");
        }
        assert!(given.len() < 8, "{given:?} leads nowhere: {self:?}");
        for criterion in self.verdict().failing() {
            if criterion.severity == Word::Valid {
                continue;
            }
            let ways = self.follow(&criterion.advice);
            assert!(!ways.is_empty(), "nothing to do: {}", criterion.advice);
            for (words, next) in ways {
                assert_ne!(next, self, "{words} changes nothing: {}", criterion.advice);
                next.walk(&[given, &[words]].concat());
            }
        }
    }
}

#[test]
fn advice_that_is_followed_never_leads_to_its_opposite() {
    for cpus in [1, 2, 4] {
        for (threads, spins, gap_us, work) in (1..=cpus)
            .flat_map(|threads| [false, true].map(|spins| (threads, spins)))
            .flat_map(|(threads, spins)| {
                [200, 1_000, 50_000]
                    .into_iter()
                    .flat_map(move |gap| [0.3, 0.97].map(|work| (threads, spins, gap, work)))
            })
        {
            for shared in [false, true] {
                // Where all CPUs have a thread, the target shares one.
                if !shared && threads == cpus {
                    continue;
                }
                Place { cpus, threads, spins, shared, gap: Picos::from_micros(gap_us), work }.walk(&[]);
            }
        }
    }
}

#[test]
fn on_a_cpu_that_the_target_has_too_spinning_is_no_advice() {
    let advice = |cpus, spins, gap_us, shared| {
        let place = Place { cpus, threads: 1, spins, shared, gap: Picos::from_micros(gap_us), work: 0.3 };
        let verdict = place.verdict();
        let failing = verdict.failing();
        (failing[0].id, failing[0].advice.clone())
    };
    // One CPU: it says that this machine cannot.
    for (spins, id) in [(true, Id::TargetWaited), (false, Id::LatenessP50)] {
        let (failing, words) = advice(1, spins, 1_000, true);
        assert_eq!(failing, id);
        assert!(words.contains("another machine") && words.contains("lower --rate"), "{words}");
        assert!(!words.contains("--spin"), "{words}");
    }
    // Two of which the target has one: apart from it, nothing else.
    for (spins, id) in [(true, Id::TargetWaited), (false, Id::LatenessP50)] {
        let (failing, words) = advice(2, spins, 1_000, true);
        assert_eq!(failing, id);
        assert!(words.contains("bind the target to other CPUs"), "{words}");
        assert!(!words.contains("--spin") && !words.contains("--threads"), "{words}");
    }
    // With 50 ms between departures, 4 ms late do no harm.
    let (failing, words) = advice(2, true, 50_000, true);
    assert!(failing == Id::TargetWaited && words.contains("--spin never"), "{words}");
    // Apart, a thread that sleeps may spin.
    let (failing, words) = advice(2, false, 200, false);
    assert!(failing == Id::LatenessP50 && words.contains("--spin always"), "{words}");
}

#[test]
fn the_machine_under_the_generator() {
    alone(Id::Runqueue, Word::Degraded, "waits for a CPU 6 %", |_, h, c| {
        c.load = Loop::Closed;
        h.threads[0].runqueue_ns = 600_000_000
    });
    alone(Id::Runqueue, Word::Invalid, "waits for a CPU 81 %", |_, h, c| {
        c.load = Loop::Closed;
        h.threads[0].runqueue_ns = 8_100_000_000
    });
    alone(Id::Steal, Word::Degraded, "hypervisor", |_, h, _| h.threads[0].stolen_ns = 110_000_000);
    alone(Id::Steal, Word::Invalid, "hypervisor", |_, h, _| h.threads[0].stolen_ns = 2_100_000_000);
    alone(Id::Throttled, Word::Degraded, "cpu.max", |_, h, _| h.throttled_ns = 11_000_000);
    alone(Id::Throttled, Word::Invalid, "cpu.max", |_, h, _| h.throttled_ns = 600_000_000);
    // Quotas of what cannot be seen are not judged, nor those that hold back no thread.
    let throttled = |change: fn(&mut HealthSummary)| {
        let (totals, mut health, conditions) = good();
        health.throttled_ns = 6_000_000_000;
        change(&mut health);
        let verdict = judge(&totals, &health, &conditions);
        verdict
            .criteria()
            .iter()
            .find(|criterion| criterion.id == Id::Throttled)
            .map(|criterion| criterion.value)
    };
    assert_eq!(throttled(|health| health.hides_quota = true), None);
    assert_eq!(throttled(|health| health.threads.iter_mut().for_each(|t| t.is_real_time = true)), Some(0.0));
    let half = throttled(|health| health.threads.iter_mut().for_each(|t| t.cpu_ns = t.span_ns / 10 * 9));
    assert!(half.is_some_and(|share| (share - 0.1).abs() < 1e-9), "{half:?}");
    // The target waited for a part of 10 s, and ran for longer, or not.
    for (word, waited_ms, ran_ms) in
        [(Word::Degraded, 210, 20), (Word::Degraded, 2_600, 2_700), (Word::Invalid, 2_600, 2_500)]
    {
        alone(Id::TargetWaited, word, "(server the longest)", |_, h, _| {
            let thread = &mut h.threads[0];
            (thread.target_waited_ns, thread.target_ran_ns) = (waited_ms * 1_000_000, ran_ms * 1_000_000);
            thread.target_waiter = (1, "server".into());
        });
    }
    // It cannot be bound elsewhere.
    alone(
        Id::TargetWaited,
        Word::Degraded,
        "(ksoftirqd/1 the longest): stop other work on this CPU",
        |_, h, _| {
            let thread = &mut h.threads[0];
            (thread.target_waited_ns, thread.target_ran_ns) = (210_000_000, 20_000_000);
            thread.target_waiter = (1, "ksoftirqd/1".into());
        },
    );
    // Little of the time, but 150 us for each of 1 000 responses of 1 ms.
    alone(Id::TargetDelayed, Word::Degraded, "(server the longest)", |t, h, _| {
        *t = totals(1_000, 1_000, 1_000_000);
        let thread = &mut h.threads[0];
        (thread.target_waited_ns, thread.target_waiter) = (150_000_000, (1, "server".into()));
    });
    delays();
    alone(Id::OthersWaited, Word::Degraded, "this is a container", |_, h, _| {
        h.is_blind = true;
        let thread = &mut h.threads[0];
        (thread.cpu_ns, thread.spun_ns, thread.others_ns) = (9_200_000_000, 9_000_000_000, 500_000_000);
    });
    alone(Id::OthersWaited, Word::Degraded, "perhaps for the target", |_, h, _| {
        h.threads[0].others_waited_ns = 2_600_000_000;
    });
    // 10 000 responses of 1 ms. Of those that wait it is known that they do not work for the target, or it is
    // not; they waited for longer than they ran, or not; for long enough to be half of a percentile, or not.
    for (word, unknown_ms, ran_ms, latency_ns) in [
        (Word::Invalid, 2_600, 2_500, 1_000_000),
        (Word::Degraded, 2_400, 2_300, 1_000_000),
        (Word::Degraded, 2_600, 2_700, 1_000_000),
        (Word::Degraded, 2_600, 2_500, 100_000_000_000),
    ] {
        alone(Id::OthersWaited, word, "perhaps for the target", |t, h, _| {
            *t = totals(10_000, 1_000, latency_ns);
            let thread = &mut h.threads[0];
            thread.others_waited_ns = 2_600_000_000;
            (thread.unknown_waited_ns, thread.unknown_ran_ns) = (unknown_ms * 1_000_000, ran_ms * 1_000_000);
        });
    }
    alone(Id::TargetUnseen, Word::Degraded, "came and went", |_, h, _| {
        h.threads[0].target_unseen_ns = 500_000_000;
    });
    alone(Id::TargetUnseen, Word::Degraded, "hidden from tare", |_, h, _| {
        h.threads[0].target_unseen_ns = 500_000_000;
        h.hides_target = true;
    });
    alone(Id::TargetUnseen, Word::Degraded, "ignores SIGCHLD", |_, h, _| {
        h.threads[0].target_unseen_ns = 500_000_000;
        h.loses_children = true;
    });
    alone(Id::HealthSamples, Word::Degraded, "/proc", |_, h, _| h.samples = 0);
    alone(Id::HealthSamples, Word::Degraded, "no CPU was free", |_, h, _| h.is_unwatched = true);
    alone(Id::PortsLeft, Word::Valid, "--source-ip", |_, h, _| h.ports_left_least = Some(63));
    alone(Id::DescriptorsLeft, Word::Valid, "ulimit -n", |_, h, _| h.descriptors_left_least = Some(15));
    // Others' work on the core matters only to a thread that waits for it: then both are said.
    let (totals, mut health, conditions) = good();
    health.threads[0].others_ns = 4 * SECOND_NS;
    assert_eq!(judge(&totals, &health, &conditions).word(), Word::Valid);
    health.threads[0].runqueue_ns = 3 * SECOND_NS;
    let verdict = judge(&totals, &health, &conditions);
    let names: Vec<_> = verdict.failing().iter().map(|c| c.id).collect();
    assert_eq!(names, [Id::SameCore]);
    assert!(verdict.failing()[0].advice.contains("same core (0)"));
}

/// Waits that are less than 2 % of the time, and more than a percentile bears.
fn delays() {
    // 10 000 responses of 1 ms in 10 s: p99 of them bears 100 us for 101. A wait of w delays 1 + (w − 100 us)
    // per ms of them for longer than that.
    let waits = |count: u64, us: u64| {
        let mut waits = Waits::default();
        (0..count).for_each(|_| waits.record(us * 1_000, 1));
        waits
    };
    let waited = |health: &mut HealthSummary, count: u64, us: u64| {
        let thread = &mut health.threads[0];
        thread.target_waits = waits(count, us);
        (thread.target_waited_ns, thread.target_waiter) = (count * us * 1_000, (1, "server".into()));
    };
    let crowded = |health: &mut HealthSummary, count: u64, us: u64| {
        health.target_waits = waits(count, us);
        health.target_crowded_ns = count * us * 1_000;
    };
    // 35 (1 + 2.9) = 136, and 110 (1 + 0.05) = 115 are more than 101.
    for (count, us) in [(35, 3_000), (110, 150)] {
        alone(Id::TargetDelayed, Word::Degraded, "(server the longest)", |_, h, _| waited(h, count, us));
        alone(Id::TargetCrowded, Word::Degraded, "bind the target", |_, h, _| crowded(h, count, us));
        alone(Id::TargetCrowded, Word::Degraded, "tare may not look into", |_, h, _| {
            crowded(h, count, us);
            h.guesses_target = true;
        });
    }
    // Where tare shares its CPU, to stop others would not help.
    let (totals, mut health, conditions) = good();
    crowded(&mut health, 35, 3_000);
    health.threads[0].target_waited_ns = 3 * SECOND_NS;
    let verdict = judge(&totals, &health, &conditions);
    let advice = |id: Id| verdict.failing().iter().find(|c| c.id == id).map(|c| c.advice.clone());
    assert!(advice(Id::TargetWaited).is_some());
    let told = advice(Id::TargetCrowded).unwrap();
    assert!(told.contains("--cpus") && !told.contains("stop them"), "{told}");
    // Long in sum, and not felt by one response in a hundred.
    let holds = |break_it: &dyn Fn(&mut HealthSummary)| {
        let (totals, mut health, conditions) = good();
        break_it(&mut health);
        assert!(judge(&totals, &health, &conditions).failing().is_empty());
    };
    for (count, us) in [(20, 3_000), (90, 150), (1_000, 60)] {
        holds(&|health| waited(health, count, us));
        holds(&|health| crowded(health, count, us));
    }
    // The same waits, of which other threads of the target's explain two thirds.
    holds(&|health| {
        crowded(health, 35, 3_000);
        health.target_crowded_ns /= 3;
    });
}

#[test]
fn the_clock() {
    let found = |offset_us: i64, suspended_us| Agreement {
        offset_picos: offset_us * 1_000_000,
        over: Picos::from_secs(10),
        limit: Picos::from_micros(1_050),
        suspended: Picos::from_micros(suspended_us),
    };
    alone(Id::Clock, Word::Invalid, "jumped", |_, _, c| c.clock = Some(found(-1_051, 0)));
    alone(Id::Clock, Word::Invalid, "suspended", |_, _, c| c.clock = Some(found(0, 2_000)));
    alone(Id::ClockPrecision, Word::Degraded, "not invariant", |_, _, c| {
        c.clock_precision = Picos::from_nanos(1_001);
        c.clock_refused = Some("the TSC is not invariant".into());
    });
    let (totals, health, conditions) = good();
    let conditions = Conditions { clock: Some(found(1_049, 1_000)), ..conditions };
    assert_eq!(judge(&totals, &health, &conditions).word(), Word::Valid);
}
