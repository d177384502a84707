//! Each criterion is made to fail alone by an input whose value is worked out by hand.

use super::*;
use crate::criterion::{CriterionId as Id, Section};
use crate::health::ThreadHealth;
use crate::interval::IntervalData;
use crate::testing::{answer, failed};
use crate::verdict::{Ending, ExitStatus, Word};
use units::{EngineCounters, Instant, Phase};
mod machine;
mod own_tcp;
mod simulated;
mod unread;

const SECOND_NS: u64 = 1_000_000_000;

/// 10 s at 1 000/s, each answered 1 ms after it was due; own lateness 1 µs.
fn good() -> (RunTotals, HealthSummary, Conditions) {
    (totals(10_000, 1_000, 1_000_000), health(), conditions())
}

/// `n` answers that left `late_ns` after they were due and were complete `latency_ns` after it.
fn totals(n: u64, late_ns: u64, latency_ns: u64) -> RunTotals {
    let mut data = IntervalData::new(1);
    let event = |i| answer(i, i * 1_000_000, i * 1_000_000 + late_ns, i * 1_000_000 + latency_ns);
    (0..n).for_each(|i| data.event(&event(i)));
    let mut totals = RunTotals::new(1);
    totals.merge(&data, Instant::EPOCH);
    totals.counters.offered = n;
    totals.intervals = 10;
    totals.asked = crate::AskedArrivals::Poisson(units::Rate::per_second(1_000).expect("more than none"));
    (0..1_000).for_each(|cell| totals.gaps.add((f64::from(cell) + 0.5) / 1_000.0));
    totals
}

/// One thread on core 0 for 10 s, half of it at work and a quarter spinning.
fn health() -> HealthSummary {
    let thread = ThreadHealth {
        tid: 1,
        span_ns: 10 * SECOND_NS,
        cpu_ns: 7_500_000_000,
        spun_ns: 2_500_000_000,
        ..ThreadHealth::default()
    };
    HealthSummary {
        samples: 10,
        span_ns: 10 * SECOND_NS,
        threads: vec![thread],
        ports_left_least: Some(28_000),
        descriptors_left_least: Some(900),
        ..HealthSummary::default()
    }
}

pub(super) fn conditions() -> Conditions {
    Conditions {
        load: Loop::Open { gap: Some(Picos::from_millis(1)) },
        clock: None,
        clock_precision: Picos::from_nanos(30),
        clock_refused: None,
        spins: false,
        cpus: 2,
        pinned: false,
        parallel: Some(64),
        sinks: Some(SinkLoss::default()),
        weighed: Some(weighed(20_000.0)),
        own_tcp: false,
        unix: false,
        port_failed: false,
        simulated: None,
        frames: None,
    }
}

fn weighed(asked_per_s: f64) -> WeighedLoad {
    WeighedLoad { asked_per_s, peak_per_s: 80_000.0, basis: "http.tls against x".into() }
}

fn add(totals: &mut RunTotals, fill: impl FnOnce(&mut IntervalData)) {
    let mut data = IntervalData::new(1);
    fill(&mut data);
    totals.merge(&data, Instant::EPOCH);
}

/// Breaks one thing, and expects exactly one criterion to fail, with this word and a piece of advice.
fn alone(
    id: Id,
    word: Word,
    advice: &str,
    break_it: impl FnOnce(&mut RunTotals, &mut HealthSummary, &mut Conditions),
) {
    let (mut totals, mut health, mut conditions) = good();
    break_it(&mut totals, &mut health, &mut conditions);
    let verdict = judge(&totals, &health, &conditions);
    // What did not leave was not answered either, whoever kept it.
    let others = |failing: &Id| *failing == id || *failing != Id::AchievedShare;
    let failing: Vec<_> = verdict.failing().iter().map(|criterion| criterion.id).filter(others).collect();
    assert_eq!(failing, [id]);
    assert_eq!(verdict.word(), word, "{id}");
    assert!(verdict.failing()[0].advice.contains(advice), "{}", verdict.failing()[0].advice);
}

#[test]
fn a_good_run_is_valid_and_every_criterion_is_there() {
    let (totals, health, conditions) = good();
    let verdict = judge(&totals, &health, &conditions);
    assert_eq!((verdict.word(), verdict.failing().len()), (Word::Valid, 0));
    let names: Vec<_> = verdict.criteria().iter().map(|criterion| criterion.id).collect();
    assert_eq!(names, of_open_loops());
}

/// What only a closed loop is judged by.
const CLOSED_ALONE: [Id; 2] = [Id::Pauses, Id::Runqueue];

/// What a load of requests may be judged by.
fn of_requests() -> impl Iterator<Item = Id> {
    let elsewhere = [Section::Frames, Section::NoJudgement];
    let all = Id::ALL.iter().copied().filter(|id| !own_tcp::IDS.contains(id) && *id != Id::TimeSimulated);
    all.filter(move |id| !elsewhere.contains(&id.about().section))
}

fn of_open_loops() -> Vec<Id> {
    of_requests().filter(|id| !CLOSED_ALONE.contains(id)).collect()
}

#[test]
fn standing_still_makes_a_closed_loops_rate_its_own() {
    let stop = |closed: bool, paused_ms: u64| {
        let (mut totals, health, mut conditions) = good();
        if closed {
            conditions.load = Loop::Closed;
        }
        totals.measured = Picos::from_secs(10);
        (totals.counters.pauses, totals.counters.paused) = (3, Picos::from_millis(paused_ms));
        let verdict = judge(&totals, &health, &conditions);
        verdict.failing().first().map(|first| (first.id, first.severity, first.advice.clone()))
    };
    let (name, severity, advice) = stop(true, 120).expect("120 ms of 10 s, 1.2 %, is over 1 %");
    assert_eq!((name, severity), (Id::Pauses, Word::Degraded));
    assert!(advice.contains("1.2 %") && advice.contains("3 pauses"), "{advice}");
    assert_eq!(stop(true, 90), None);
    assert_eq!(stop(true, 5_100).map(|(_, word, _)| word), Some(Word::Invalid), "less than half of its rate");
    // An open loop's schedule goes on: what a pause does to it is lateness, which is judged by itself.
    assert_eq!(stop(false, 120), None);
}

#[test]
fn a_closed_loop_has_no_schedule_to_keep() {
    let (totals, health, mut conditions) = good();
    conditions.load = Loop::Closed;
    let verdict = judge(&totals, &health, &conditions);
    let open_alone = [Id::DeparturesMade, Id::AchievedShare, Id::RateKept, Id::LatenessP999, Id::LatenessGap];
    let names: Vec<_> = verdict.criteria().iter().map(|criterion| criterion.id).collect();
    assert_eq!(names, of_requests().filter(|id| !open_alone.contains(id)).collect::<Vec<_>>());
}

/// 10 s at 1 000/s over few connections: each left 300 ms late because all were busy, and 200 never left.
fn held_back(health: HealthSummary) -> Verdict {
    let mut data = IntervalData::new(1);
    for i in 0..10_000 {
        let due = i * 1_000_000;
        let mut event = answer(i, due, due + 300_000_000, due + 301_000_000);
        event.blocked = Picos::from_millis(300);
        data.event(&event);
    }
    data.missed(Miss::NoConnection, 200);
    let mut totals = RunTotals::new(1);
    totals.merge(&data, Instant::EPOCH);
    totals.counters.offered = 10_000;
    judge(&totals, &health, &conditions())
}

#[test]
fn what_the_limit_on_connections_holds_back_is_the_targets_only_if_the_generator_had_time() {
    assert_eq!(held_back(health()).word(), Word::Valid);
    // 4 s of work and 5.6 s of waiting for the CPU in 10 s: 0.96. With 5.4 s it is 0.94, and the generator had
    // time.
    let crowded = |runqueue_ns| {
        let mut health = health();
        let thread = &mut health.threads[0];
        (thread.cpu_ns, thread.spun_ns, thread.runqueue_ns) = (4_000_000_000, 0, runqueue_ns);
        health
    };
    let failing = |verdict: &Verdict| -> Vec<Id> { verdict.failing().iter().map(|c| c.id).collect() };
    assert_eq!(failing(&held_back(crowded(5_400_000_000))), [Id::AchievedShare]);
    let verdict = held_back(crowded(5_600_000_000));
    // 200 of 10 200 are 2 %, over 1 %; 300 ms are far over a net of 1 ms. The gravest come first.
    let grave = [Id::DeparturesMade, Id::LatenessP50, Id::LatenessP90, Id::LatenessP99];
    assert_eq!(
        failing(&verdict),
        [&grave[..], &[Id::LatenessP999, Id::LatenessGap, Id::AchievedShare]].concat()
    );
    assert!(verdict.failing()[..4].iter().all(|criterion| criterion.severity == Word::Invalid));
}

#[test]
fn departures_that_did_not_leave() {
    // 5 of 10 005 is 0.05 %: over 0.01 %, under 1 %. 200 of 10 200 is 2 %.
    let not_reached = |count| {
        move |t: &mut RunTotals, _: &mut HealthSummary, _: &mut Conditions| {
            add(t, |d| d.missed(Miss::NotReached, count))
        }
    };
    alone(Id::DeparturesMade, Word::Degraded, "did not get 5 of 10005", not_reached(5));
    alone(Id::DeparturesMade, Word::Invalid, "add --threads", not_reached(200));
    // One of 10 001 is just under 0.01 %.
    let (mut totals, health, conditions) = good();
    add(&mut totals, |d| d.missed(Miss::NotReached, 1));
    assert_eq!(judge(&totals, &health, &conditions).word(), Word::Valid);
}

#[test]
fn departures_without_a_port_descriptor_or_memory() {
    let one = |why| {
        move |t: &mut RunTotals, _: &mut HealthSummary, _: &mut Conditions| add(t, |d| d.missed(why, 1))
    };
    alone(Id::MissedByGenerator, Word::Degraded, "--source-ip", one(Miss::NoPort));
    alone(Id::MissedByGenerator, Word::Degraded, "ulimit -n", one(Miss::NoDescriptor));
    alone(Id::MissedByGenerator, Word::Degraded, "tcp_mem", one(Miss::NoMemory));
    // 300 of 10 300 is 2.9 %: INVALID, in the ratio as well.
    let (mut totals, health, conditions) = good();
    add(&mut totals, |d| d.missed(Miss::NoDescriptor, 300));
    let verdict = judge(&totals, &health, &conditions);
    let failing: Vec<_> = verdict.failing().iter().map(|c| (c.id, c.severity)).collect();
    let both = [(Id::DeparturesMade, Word::Invalid), (Id::MissedByGenerator, Word::Invalid)];
    assert_eq!(failing, [&both[..], &[(Id::AchievedShare, Word::Valid)]].concat());
    assert!(verdict.failing()[2].advice.starts_with("the generator did not keep up"));
}

#[test]
fn lateness() {
    // Net 1 ms, gap 1 ms: a tenth is 100 µs. Of 10 000, 50 (0.5 %) leave 120 µs late: p99.9 fails, p99 does
    // not.
    alone(Id::LatenessP999, Word::Degraded, "--spin always", |t, _, _| {
        *t = totals(9_950, 1_000, 1_000_000);
        add(t, |d| (0..50).for_each(|i| d.event(&answer(i, 0, 120_000, 1_000_000))));
        t.counters.offered = 10_000;
    });
    let failing = |late_ns, latency_ns, gap_us| -> Vec<Id> {
        let (_, health, mut conditions) = good();
        conditions.load = Loop::Open { gap: Some(Picos::from_micros(gap_us)) };
        let verdict = judge(&totals(10_000, late_ns, latency_ns), &health, &conditions);
        verdict.failing().iter().map(|criterion| criterion.id).collect()
    };
    // All 25 µs late of a net of 75 µs: a third. The floor is 20 µs for p50 and p90, and 50 µs above.
    assert_eq!(failing(25_000, 100_000, 100), [Id::LatenessP50, Id::LatenessP90]);
    // 18 µs of 82 µs is over a tenth, but under the floor.
    assert_eq!(failing(18_000, 100_000, 100), []);
    // The same lateness is nothing where requests are 1 ms apart: the load is the one that was asked for.
    assert_eq!(failing(25_000, 100_000, 1_000), []);
    // Gap 240 µs: a quarter is 60 µs; 2 % leave 80 µs late, which a latency of 1 ms forgives.
    alone(Id::LatenessGap, Word::Degraded, "clumps", |t, _, c| {
        *t = totals(9_800, 1_000, 1_000_000);
        add(t, |d| (0..200).for_each(|i| d.event(&answer(i, 0, 80_000, 1_000_000))));
        t.counters.offered = 10_000;
        c.load = Loop::Open { gap: Some(Picos::from_micros(240)) };
    });
}

#[test]
fn what_this_host_drops_or_loses_of_its_links_is_not_the_networks() {
    // Of 10 000 answers ten dropped packets are 0.1 %.
    alone(Id::Dropped, Word::Degraded, "netdev_max_backlog", |_, health, _| health.dropped = 11);
    alone(Id::LinksLost, Word::Degraded, "kernel's log", |_, health, _| health.links_lost = 1);
    let (totals, mut health, conditions) = good();
    health.dropped = 10;
    assert_eq!(judge(&totals, &health, &conditions).word(), Word::Valid);
}

#[test]
fn fewer_than_ten_late_departures_do_not_make_a_run_invalid() {
    // Latency 1 ms, so INVALID is beyond 1 ms; `late` of `count` leave 3 ms late (and are answered 1 ms after
    // that).
    let of = |count: u64, late: u64| {
        let mut run = totals(count - late, 1_000, 1_000_000);
        add(&mut run, |d| (0..late).for_each(|i| d.event(&answer(i, 0, 3_000_000, 4_000_000))));
        run.counters.offered = count;
        let (_, health, conditions) = good();
        let verdict = judge(&run, &health, &conditions);
        let found = verdict.criteria().iter().find(|c| c.id == Id::LatenessP99).unwrap();
        (verdict.word(), found.severity, found.invalid_limit.is_some())
    };
    // Rank ⌈0.99·n⌉: of 99 the 99th, which is the latest; of 100 the 99th, which is late with 2.
    assert_eq!(of(99, 1), (Word::Degraded, Word::Degraded, false));
    assert_eq!(of(100, 1), (Word::Valid, Word::Valid, true));
    assert_eq!(of(100, 2), (Word::Degraded, Word::Degraded, false));
    // Of 1 000 the 990th: with 9 late it is in time, with 11 (ranks 990 to 1 000) it is late; latency's p99 is
    // then 4 ms, but net is 1 ms throughout. The lateness of a p99.9 is judged from 10 000 on: of these, the 9
    // 990th.
    assert_eq!(of(1_000, 9), (Word::Valid, Word::Valid, true));
    assert_eq!(of(9_999, 90), (Word::Valid, Word::Valid, true));
    assert_eq!(of(10_000, 10), (Word::Valid, Word::Valid, true));
    assert_eq!(of(10_000, 11), (Word::Degraded, Word::Valid, true));
    assert_eq!(of(1_000, 11), (Word::Invalid, Word::Invalid, true));
    // Of 500 the 495th: late with 6 or more, but nine are too few and ten are enough.
    assert_eq!(of(500, 9), (Word::Degraded, Word::Degraded, false));
    assert_eq!(of(500, 10), (Word::Invalid, Word::Invalid, true));
}

#[test]
fn a_generator_that_cannot_keep_up_is_invalid_and_named() {
    // Ten times too much: a tenth left, seconds late; the rest never did. One thread at 99.5 %.
    let (_, mut health, conditions) = good();
    let mut totals = totals(10_000, 3_000_000_000, 3_001_000_000);
    add(&mut totals, |d| d.missed(Miss::NotReached, 90_000));
    (health.threads[0].cpu_ns, health.threads[0].spun_ns) = (9_950_000_000, 0);
    let verdict = judge(&totals, &health, &conditions);
    let of = |name| verdict.criteria().iter().find(|c| c.id == name).unwrap();
    assert_eq!(verdict.word(), Word::Invalid);
    assert_eq!(of(Id::DeparturesMade).severity, Word::Invalid);
    assert!((of(Id::DeparturesMade).value - 0.1).abs() < 1e-12);
    assert_eq!(of(Id::LatenessP99).severity, Word::Invalid);
    assert_eq!(of(Id::CpuThread).severity, Word::Invalid);
    assert_eq!(of(Id::CpuThread).value, 0.995);
    assert!(of(Id::CpuThread).advice.contains("engine thread 0 works 100 % of the time"));
}

#[test]
fn a_slow_stopped_or_broken_target_does_not_lower_the_word() {
    // Stopped for 1 s with all connections busy: departures wait up to 1 s, blocked by the plan's own limit.
    let (mut totals, health, conditions) = good();
    add(&mut totals, |d| {
        for i in 0..1_000 {
            let blocked = Picos::from_millis(1_000 - i);
            let event = answer(i, i * 1_000_000, SECOND_NS, SECOND_NS + 1_000_000);
            d.event(&units::Event { blocked, ..event });
        }
        (0..500).for_each(|i| d.event(&failed(i, 0, 1_000, Cause::FirstByteTimeout)));
        d.missed(Miss::NoConnection, 700);
    });
    totals.counters.offered += 1_500;
    let verdict = judge(&totals, &health, &conditions);
    // Of 12 200 offered 11 000 were answered, 90.2 %: the 700 held back are most of the rest. It is told, no
    // more.
    let failing = verdict.failing();
    assert_eq!((verdict.word(), failing.len()), (Word::Valid, 1));
    assert_eq!((failing[0].id, failing[0].severity), (Id::AchievedShare, Word::Valid));
    assert!((failing[0].value - 11_000.0 / 12_200.0).abs() < 1e-12);
    assert!(failing[0].advice.starts_with("the target (or --parallel 64) did not keep up: 11000 of 12200"));
}

#[test]
fn what_a_sink_did_not_get_degrades_and_names_it() {
    alone(
        Id::SinksLost,
        Word::Degraded,
        "redis://h:1/ did not get all rows and events (it is down)",
        |_, _, c| {
            c.sinks = Some(SinkLoss { lost: 1, place: "redis://h:1/".into(), trouble: "it is down".into() });
        },
    );
    let (totals, health, mut conditions) = good();
    conditions.sinks = None;
    let verdict = judge(&totals, &health, &conditions);
    assert!(verdict.criteria().iter().all(|criterion| criterion.id != Id::SinksLost));
}

#[test]
fn a_plan_near_what_was_weighed_is_warned_of_and_nothing_else() {
    // 64 000 of 80 000 are 0.8.
    let share = |asked_per_s| {
        let (totals, health, mut conditions) = good();
        conditions.weighed = Some(weighed(asked_per_s));
        let verdict = judge(&totals, &health, &conditions);
        let found = verdict.criteria().iter().find(|c| c.id == Id::CapabilityShare).unwrap().clone();
        (verdict.word(), found.value, found.holds, found.advice)
    };
    assert_eq!(share(64_000.0), (Word::Valid, 0.8, true, String::new()));
    let (word, value, holds, advice) = share(400_000.0);
    assert_eq!((word, value, holds), (Word::Valid, 5.0, false));
    assert!(advice.contains("500 % of the 80000/s that this machine was weighed at (http.tls"), "{advice}");
    let (totals, health, mut conditions) = good();
    conditions.weighed = None;
    let verdict = judge(&totals, &health, &conditions);
    assert!(verdict.criteria().iter().all(|criterion| criterion.id != Id::CapabilityShare));
}

#[test]
fn the_profile_makes_no_verdict_slow() {
    let (totals, health, mut conditions) = good();
    // The least of many rounds, in turns: what others do to this machine is in none of them, or in both.
    let mut least = [std::time::Duration::MAX; 2];
    for _ in 0..50 {
        for (least, weighed) in least.iter_mut().zip([None, Some(weighed(20_000.0))]) {
            conditions.weighed = weighed;
            let begun = std::time::Instant::now();
            (0..20).for_each(|_| drop(std::hint::black_box(judge(&totals, &health, &conditions))));
            *least = (*least).min(begun.elapsed() / 20);
        }
    }
    let [without, with] = least;
    // A quarter more is far beyond one criterion of thirty, and far below 1 ms.
    assert!(with < without + without / 4 + std::time::Duration::from_micros(5), "{without:?} {with:?}");
}

#[test]
fn stamps_that_the_loop_contradicts() {
    // 2 % of 10 000.
    alone(Id::StampsContradicted, Word::Degraded, "200 responses", |t, _, _| {
        (t.counters.stamped, t.counters.contradicted) = (10_000, 200);
    });
}

#[test]
fn the_books() {
    alone(Id::Conservation, Word::Invalid, "report", |t, _, _| t.counters.offered += 1);
    alone(Id::Conservation, Word::Invalid, "report", |t, _, _| t.counters.offered -= 1);
    alone(Id::ThreadsLost, Word::Invalid, "report", |t, _, _| t.lost_threads = 1);
    alone(Id::IntervalsStarved, Word::Degraded, "disk", |t, _, _| t.starved = 1);
    // A third of all are gone: no target could have answered them.
    let (mut gone, health, conditions) = good();
    add(&mut gone, |d| d.missed(Miss::SourceLost, 5_000));
    let verdict = judge(&gone, &health, &conditions);
    assert_eq!(verdict.word(), Word::Invalid);
    let advice_of = |id| verdict.criteria().iter().find(|one| one.id == id).map(|one| one.advice.clone());
    assert!(advice_of(Id::AchievedShare).unwrap().contains("see source.lost"), "{verdict:?}");
    assert!(advice_of(Id::DeparturesMade).unwrap().contains("see source.lost"), "{verdict:?}");
    alone(Id::SourceLost, Word::Degraded, "URL file", |t, _, _| add(t, |d| d.missed(Miss::SourceLost, 1)));
    alone(Id::SourceLost, Word::Degraded, "no requests", |t, _, _| add(t, |d| d.missed(Miss::BadLine, 1)));
    alone(Id::Samples, Word::Valid, "999 responses", |t, _, _| *t = totals(999, 1_000, 1_000_000));
}

#[test]
fn few_answers_are_told_from_one_and_from_none() {
    let advice = |n| {
        let (_, health, conditions) = good();
        let verdict = judge(&totals(n, 1_000, 1_000_000), &health, &conditions);
        verdict.failing().iter().find(|criterion| criterion.id == Id::Samples).unwrap().advice.clone()
    };
    // Of none there is no percentile to doubt, and a higher rate would bring no answer.
    assert!(advice(0).contains("no response arrived") && !advice(0).contains("--rate"));
    assert!(advice(1).contains("a single response"));
    assert!(advice(2).contains("p99 of 2 responses"));
}

#[test]
fn gaps_of_another_process_degrade() {
    // At 1 000/s 50 µs are 0.05 of a gap; 0.02 + 0.05, and 1.9495/√1400 = 0.052 by chance: 0.122. Of 1 400 gaps
    // 400 more are in one cell at the half: just below it the distance is 500/1400 − 0.5 = −0.143.
    let crowd = |count| {
        move |totals: &mut RunTotals, _: &mut HealthSummary, _: &mut Conditions| {
            (0..count).for_each(|_| totals.gaps.add(0.5005));
        }
    };
    alone(Id::Fidelity, Word::Degraded, "Poisson", crowd(400));
    let (mut totals, mut health, mut conditions) = good();
    crowd(100)(&mut totals, &mut health, &mut conditions);
    assert!(judge(&totals, &health, &conditions).failing().is_empty());
}

#[test]
fn a_run_without_departures_is_invalid() {
    let (_, health, conditions) = good();
    let verdict = judge(&RunTotals::new(1), &health, &conditions);
    assert_eq!((verdict.word(), verdict.failing()[0].id), (Word::Invalid, Id::Departures));
}

#[test]
fn a_target_is_unreachable_only_if_nothing_ever_got_through() {
    let run = |fill: &dyn Fn(&mut IntervalData)| {
        let mut totals = RunTotals::new(1);
        add(&mut totals, fill);
        unreachable(&totals)
    };
    let refused = |d: &mut IntervalData| d.event(&failed(0, 0, 9, Cause::ConnectRefused));
    let cut_off =
        |d: &mut IntervalData| d.event(&units::Event { outcome: Outcome::CutOff, ..answer(9, 0, 1, 2) });
    assert!(run(&|d| d.event(&failed(0, 0, 9, Cause::TlsCertificate))));
    assert!(run(&refused) && run(&cut_off));
    assert!(!run(&|d| (refused(d), d.event(&answer(1, 0, 1, 2))).1));
    assert!(!run(&|d| (refused(d), d.event(&failed(1, 0, 9, Cause::FirstByteReset))).1));
    assert!(!run(&|d| (cut_off(d), d.phase(Phase::Connect, Picos::from_nanos(5))).1));
    assert!(!run(&|d| (refused(d), d.warmup_event(&answer(1, 0, 1, 2))).1));
    assert!(!run(&|d| d.missed(Miss::NoPort, 3)));
    assert!(!run(&|_| {}));
}

#[test]
fn exit_statuses_follow_the_table() {
    let (mut totals, health, conditions) = good();
    let good = judge(&totals, &health, &conditions);
    totals.counters = EngineCounters::default();
    let bad = judge(&totals, &health, &conditions);
    let none = Ending::default();
    let code = |verdict, ending| ExitStatus::of(verdict, ending).code();
    assert_eq!(code(&good, none), 0);
    assert_eq!(code(&good, Ending { threshold_failed: true, ..none }), 3);
    assert_eq!(code(&bad, Ending { threshold_failed: true, ..none }), 4);
    assert_eq!(code(&bad, Ending { accept_invalid: true, ..none }), 0);
    assert_eq!(code(&bad, Ending { accept_invalid: true, threshold_failed: true, ..none }), 3);
    assert_eq!(code(&bad, Ending { unreachable: true, ..none }), 5);
    assert_eq!(code(&bad, Ending { unreachable: true, interrupted: true, ..none }), 130);
}
