//! Results made by hand, one for each way that a run can end.

use hdrhistogram::Histogram;
use measure::Series;
use store::schema::*;
use store::timeline::MAX_BINS;
use store::{Curve, Distribution, RunResult, Timeline, TimelineBuilder};

const MS: u64 = 1_000_000;

/// Figures around `p50`, stretched to `max`.
pub fn figures(count: u64, p50: u64, max: u64) -> Distribution {
    let at = |share: u64| p50 + (max - p50) * share / 100;
    Distribution {
        count,
        mean: at(4) as f64,
        stdev: at(5) as f64,
        min: p50 / 2,
        p50,
        p75: at(1),
        p90: at(3),
        p95: at(6),
        p99: at(15),
        p99_9: at(40),
        p99_99: at(80),
        max,
        bound_from: None,
        lacking: 0,
    }
}

fn curve(p50: u64, max: u64) -> Curve {
    let share = |tenth: u32| 1.0 - 10f64.powf(-f64::from(tenth) / 10.0);
    let value = |tenth: u32| p50 / 2 + (max - p50 / 2) * u64::from(tenth).pow(3) / 50u64.pow(3);
    let mut points: Vec<(f64, u64)> = (0..50).map(|tenth| (share(tenth), value(tenth))).collect();
    points.push((1.0, max));
    Curve(points)
}

fn outcome(class: &str, key: &str, count: u64) -> OutcomeCount {
    OutcomeCount { class: class.into(), key: key.into(), count }
}

fn criterion(name: &str, value: f64, limit: f64, unit: &str) -> Criterion {
    Criterion {
        name: name.into(),
        value,
        limit,
        unit: unit.into(),
        holds: true,
        severity: Word::Valid,
        ..Criterion::default()
    }
}

/// One row each second, with a stall of a second in the middle.
pub fn intervals(seconds: u64, rate: u64) -> Vec<Interval> {
    (0..seconds)
        .map(|n| {
            let stalled = seconds > 4 && n == seconds / 2;
            let done = match n {
                _ if stalled => 0,
                n if seconds > 4 && n == seconds / 2 + 1 => 2 * rate,
                n => rate - n * 7 % 20,
            };
            let wave = 100_000 * (n * 37 % 11);
            let slow = if n == seconds / 2 + 1 && seconds > 4 { 1000 * MS } else { 0 };
            Interval {
                t_s: n as f64,
                length_s: 1.0,
                offered: rate,
                sent: done,
                done,
                bytes_in: done * 600,
                bytes_out: done * 90,
                net_p50_ns: (!stalled).then_some(MS - 20_000 + wave / 4 + slow / 2),
                net_p90_ns: (!stalled).then_some(MS + wave / 2 + slow * 9 / 10),
                net_p99_ns: (!stalled).then_some(MS + wave + slow * 99 / 100),
                net_p99_9_ns: (!stalled).then_some(2 * MS + wave * 2 + slow),
                net_max_ns: (!stalled).then_some(3 * MS + wave * 3 + slow),
                tare_p50_ns: (!stalled).then_some(18_000),
                tare_p99_ns: (!stalled).then_some(MS + wave / 10),
                tare_max_ns: (!stalled).then_some(2 * MS),
                unread_p99_ns: (!stalled).then_some(MS),
                latency_p50_ns: (!stalled).then_some(MS + wave / 4 + slow / 2),
                latency_p90_ns: (!stalled).then_some(MS + wave / 2 + slow * 9 / 10),
                latency_p99_ns: (!stalled).then_some(2 * MS + wave + slow * 99 / 100),
                latency_p99_9_ns: (!stalled).then_some(3 * MS + wave * 2 + slow),
                latency_max_ns: (!stalled).then_some(4 * MS + wave * 3 + slow),
                connect_p50_ns: (n == 0).then_some(61_000),
                first_byte_p50_ns: (!stalled).then_some(MS + wave / 4 + slow / 2),
                body_p50_ns: (!stalled).then_some(20_000),
                outcomes: [("200", done - done / 50), ("503", done / 50)]
                    .into_iter()
                    .map(|(key, count)| outcome("status", key, count))
                    .collect(),
                lateness_p50_ns: Some(800 + n % 7 * 100),
                lateness_p99_ns: Some(9_000 + wave / 50),
                lateness_max_ns: Some(90_000 + wave / 5),
                open: 64,
                cpu_share: 0.93,
                spun_share: 0.51,
                steal_share: Some(0.001),
                run_queue_wait_ns: Some(90_000 + wave),
                rss_bytes: Some(12_100_000),
                retransmits: u64::from(stalled) * 3,
                ports_left: Some(28_100),
                descriptors_left: Some(960),
                time_wait: 3,
                threads: (0..2)
                    .map(|thread| IntervalThread {
                        cpu_share: 0.9 - 0.1 * f64::from(thread),
                        spun_share: 0.5,
                        run_queue_wait_ns: 90_000 + wave,
                        stolen_share: 0.001,
                    })
                    .collect(),
                ..Interval::default()
            }
        })
        .collect()
}

/// The result's intervals as a report draws them: with a histogram of 300 latencies for each, half of them
/// about the median, one the maximum.
pub fn timeline(result: &RunResult) -> Timeline {
    let mut builder = TimelineBuilder::expecting(MAX_BINS, result.intervals.len() as u64);
    for row in &result.intervals {
        let mut latency = Histogram::<u64>::new(3).unwrap();
        if let (Some(p50), Some(max)) = (row.latency_p50_ns, row.latency_max_ns) {
            (0..300u64).for_each(|n| {
                latency.record(p50 / 2 + p50 * n / 300 + (max - p50) * n.pow(6) / 300u64.pow(6)).unwrap()
            });
            latency.record(max).unwrap();
        }
        let mut lateness = Histogram::<u64>::new(3).unwrap();
        (1..300u64).for_each(|n| lateness.record(600 + n * n).unwrap());
        let mut times = vec![(Series::Latency, latency.clone()), (Series::Lateness, lateness)];
        // An older run has none.
        if row.net_p50_ns.is_some() {
            times.push((Series::Net, latency));
        }
        builder.push_stored(row.clone(), &times);
    }
    builder.view()
}

pub fn valid() -> RunResult {
    RunResult {
        schema: SCHEMA.into(),
        engine: "http".into(),
        run: "2026-11-20T12-00-00Z-http-7f3a".into(),
        plan_hash: "9f2c41d0".into(),
        version: "0.1.0".into(),
        command: "tare http --rate 20k --duration 20s http://127.0.0.1:8080/".into(),
        target: "http://127.0.0.1:8080/".into(),
        load: "20 000/s, evenly spaced, for 20 s, over at most 64 connections".into(),
        started_at: "2026-11-20T12:00:00Z".into(),
        verdict: Verdict {
            word: Word::Valid,
            criteria: vec![
                Criterion { sense: Sense::AtLeast, ..criterion("departures.made", 0.99998, 0.9999, "share") },
                criterion("lateness.p99", 8_120.0, 50_000.0, "ns"),
                criterion("cpu.thread", 0.42, 0.9, "share"),
                criterion("steal", 0.001, 0.01, "share"),
            ],
        },
        totals: Totals {
            offered: 400_000,
            sent: 400_000,
            done: 400_000,
            bytes_out: 36_000_000,
            bytes_in: 240_000_000,
            ..Totals::default()
        },
        rate: Rates {
            offered_per_s: 20_000.0,
            achieved_per_s: 19_999.6,
            duration_s: 20.0,
            ..Rates::default()
        },
        warmup: Warmup { count: 40_000, duration_s: 2.0 },
        net_ns: figures(400_000, MS - 20_000, 1_003 * MS),
        tare_ns: figures(400_000, 18_000, 2 * MS),
        unread_ns: figures(400_000, 16_000, 2 * MS - 100_000),
        latency_ns: figures(400_000, MS, 1_004 * MS),
        service_ns: figures(400_000, MS - 20_000, 1_003 * MS),
        lateness_ns: figures(400_000, 812, 190_000),
        own_lateness_ns: figures(400_000, 812, 190_000),
        first_byte_ns: figures(400_000, MS - 30_000, 1_003 * MS),
        connect_ns: figures(64, 61_000, 240_000),
        curves: Curves {
            net_ns: curve(MS - 20_000, 1_003 * MS),
            latency_ns: curve(MS, 1_004 * MS),
            service_ns: curve(MS - 20_000, 600 * MS),
            lateness_ns: curve(812, 190_000),
        },
        outcomes: vec![outcome("status", "200", 400_000)],
        connections: Connections { opened: 64, attempts: 64, open_peak: 64, ..Connections::default() },
        generator: Generator {
            threads: vec![ThreadHealth {
                tid: 7,
                core: 0,
                cpu_share: 0.93,
                spun_share: 0.51,
                run_queue_wait_ns: 1_200_000,
                switches_voluntary: 412,
                switches_involuntary: 31,
                ..ThreadHealth::default()
            }],
            cpu_s: 18.6,
            spun_s: 10.2,
            cpu_s_per_million: Some(19.1),
            steal_share: Some(0.001),
            rss_peak_bytes: Some(12_100_000),
            anon_peak_bytes: Some(7_100_000),
            descriptors_left: Some(960),
            ports_left: Some(28_100),
            pauses: 24,
            paused_ns: 61 * MS,
            longest_pauses: (0..24)
                .map(|n| Pause {
                    t_s: 3.0 + 0.6 * f64::from(n),
                    length_ns: 14 * MS - u64::from(n as u32) * 500_000,
                })
                .collect(),
            arrivals: Some(Arrivals {
                by: "kernel stamps".into(),
                why: "the kernel stamps what arrives".into(),
                stamped: 399_999,
                unstamped: 1,
                contradicted: 0,
            }),
            clock: "tsc".into(),
            io: "epoll".into(),
            ..Generator::default()
        },
        store: StoreStatus {
            folder: "/home/me/.local/state/tare/runs/2026-11-20T12-00-00Z-http-7f3a".into(),
            kept: vec!["result.json".into(), "report.html".into()],
            lost: vec![],
        },
        interval_rows_merged: 1,
        intervals: intervals(20, 20_000),
        ..RunResult::default()
    }
}

/// As a version wrote it that knew neither net nor pauses.
pub fn older() -> RunResult {
    let mut result = valid();
    for figures in [&mut result.net_ns, &mut result.tare_ns, &mut result.unread_ns] {
        *figures = Distribution::default();
    }
    result.curves.net_ns = Curve::default();
    result.generator =
        Generator { pauses: 0, paused_ns: 0, longest_pauses: Vec::new(), arrivals: None, ..result.generator };
    for row in &mut result.intervals {
        for field in [&mut row.net_p50_ns, &mut row.net_p90_ns, &mut row.net_p99_ns, &mut row.net_p99_9_ns] {
            *field = None;
        }
        (row.net_max_ns, row.unread_p99_ns) = (None, None);
        (row.tare_p50_ns, row.tare_p99_ns, row.tare_max_ns) = (None, None, None);
    }
    result
}

pub fn degraded() -> RunResult {
    let mut result = valid();
    // 300 timed out or were cut off, of 400 000: from p99.99 on nobody knows.
    result.net_ns.bound_from = Some(0.9999);
    result.latency_ns.bound_from = Some(0.9999);
    result.unfinished_ns = figures(300, 400 * MS, 30_000 * MS);
    result.verdict.word = Word::Degraded;
    result.verdict.criteria[1] = Criterion {
        value: 71_300.0,
        holds: false,
        severity: Word::Degraded,
        invalid_limit: Some(500_000.0),
        advice: "Requests left 71.3 µs late at the 99th percentile: give the generator a CPU of its own with --cpus, \
                 or lower the rate."
            .into(),
        ..criterion("lateness.p99", 0.0, 50_000.0, "ns")
    };
    result.totals = Totals { done: 398_500, failed: 1_400, missed: 0, cut_off: 100, ..result.totals };
    result.outcomes = vec![
        outcome("status", "200", 398_000),
        outcome("status", "503", 500),
        outcome("error", "connect.refused", 1_200),
        outcome("error", "body.timeout", 200),
        outcome("cut_off", "cut_off", 100),
    ];
    result.failed_ns = figures(1_400, 400 * MS, 30_000 * MS);
    result.groups = vec![
        GroupResult {
            name: "home".into(),
            count: 300_000,
            latency_ns: figures(299_000, MS, 100 * MS),
            ..GroupResult::default()
        },
        GroupResult {
            name: "/api/v1/orders/by-customer/with-a-very-long-path?and=query".into(),
            count: 99_600,
            latency_ns: figures(99_500, 3 * MS, 1_004 * MS),
            ..GroupResult::default()
        },
        GroupResult { name: "other".into(), count: 400, ..GroupResult::default() },
    ];
    result.thresholds = vec![
        Threshold {
            expression: "p99 < 20ms".into(),
            value: Some(151.5 * MS as f64),
            limit: 20.0 * MS as f64,
            unit: "ns".into(),
            holds: false,
            ..Threshold::default()
        },
        Threshold {
            expression: "errors < 1%".into(),
            value: Some(0.0035),
            limit: 0.01,
            unit: "share".into(),
            holds: true,
            ..Threshold::default()
        },
    ];
    result.notes = vec![
        "--insecure: the target's certificates were not verified".into(),
        "200 requests timed out after 30 s and count with their time until then".into(),
    ];
    result.store.lost = vec![Lost {
        what: "latency.hlog".into(),
        why: "12 rows lost, the first because: No space left on device (os error 28)".into(),
    }];
    result
}

pub fn invalid() -> RunResult {
    let mut result = valid();
    result.load = "300 000/s, evenly spaced, for 20 s".into();
    result.verdict.word = Word::Invalid;
    result.verdict.criteria[0] = Criterion {
        value: 0.371,
        holds: false,
        severity: Word::Invalid,
        sense: Sense::AtLeast,
        invalid_limit: Some(0.95),
        advice: "The generator sent 37.1 % of what was asked: add --threads, or ask for less.".into(),
        ..criterion("departures.made", 0.0, 0.9999, "share")
    };
    result.verdict.criteria[2] = Criterion {
        value: 0.998,
        holds: false,
        severity: Word::Degraded,
        advice: "A thread was busy all the time: add --threads, or use more machines.".into(),
        ..criterion("cpu.thread", 0.0, 0.9, "share")
    };
    result.totals =
        Totals { offered: 6_000_000, sent: 2_226_000, done: 2_226_000, missed: 3_774_000, ..result.totals };
    result.rate =
        Rates { offered_per_s: 300_000.0, achieved_per_s: 111_300.0, duration_s: 20.0, ..Rates::default() };
    result.outcomes =
        vec![outcome("status", "200", 2_226_000), outcome("missed", "missed.not_reached", 3_774_000)];
    result.lateness_ns = figures(2_226_000, 4_000 * MS, 12_000 * MS);
    result.own_lateness_ns = figures(2_226_000, 3_900 * MS, 11_900 * MS);
    for row in &mut result.intervals {
        row.missed = 188_700;
        row.offered = 300_000;
    }
    result.generator.late = 2_226_000;
    result.generator.retransmits = 3;
    result
}

/// The target was never there.
pub fn only_errors() -> RunResult {
    let mut result = valid();
    result.latency_ns = Distribution::default();
    result.net_ns = Distribution::default();
    result.tare_ns = Distribution::default();
    result.unread_ns = Distribution::default();
    result.service_ns = Distribution::default();
    result.first_byte_ns = Distribution::default();
    result.connect_ns = Distribution::default();
    result.curves = Curves::default();
    result.failed_ns = figures(400_000, 41_000, 2 * MS);
    result.totals = Totals { offered: 400_000, sent: 400_000, failed: 400_000, ..Totals::default() };
    result.rate.achieved_per_s = 0.0;
    result.outcomes = vec![outcome("error", "connect.refused", 400_000)];
    result.labels = vec!["target unreachable".into()];
    result.intervals = intervals(3, 20_000)
        .into_iter()
        .map(|row| Interval {
            done: 0,
            failed: 20_000,
            outcomes: vec![outcome("error", "connect.refused", 20_000)],
            net_p50_ns: None,
            net_p90_ns: None,
            net_p99_ns: None,
            net_p99_9_ns: None,
            net_max_ns: None,
            tare_p50_ns: None,
            tare_p99_ns: None,
            tare_max_ns: None,
            unread_p99_ns: None,
            latency_p99_9_ns: None,
            first_byte_p50_ns: None,
            body_p50_ns: None,
            connect_p50_ns: None,
            latency_p50_ns: None,
            latency_p90_ns: None,
            latency_p99_ns: None,
            latency_max_ns: None,
            ..row
        })
        .collect();
    result
}

/// Ended before the first departure, with nothing kept.
pub fn nothing_sent() -> RunResult {
    RunResult {
        schema: SCHEMA.into(),
        engine: "http".into(),
        target: "http://127.0.0.1:8080/".into(),
        load: "1 request each 7 s".into(),
        partial: true,
        labels: vec!["interrupted".into()],
        ..RunResult::default()
    }
}

pub fn interrupted() -> RunResult {
    let mut result = valid();
    result.partial = true;
    result.labels = vec!["interrupted after 1.00 s of 20 s".into()];
    result.warmup = Warmup::default();
    result.totals = Totals { offered: 20_000, sent: 20_000, done: 19_990, cut_off: 10, ..result.totals };
    result.rate =
        Rates { offered_per_s: 20_000.0, achieved_per_s: 19_990.0, duration_s: 1.0, ..Rates::default() };
    result.outcomes = vec![outcome("status", "200", 19_990), outcome("cut_off", "cut_off", 10)];
    result.intervals = intervals(1, 20_000);
    result.tls_ns = figures(64, 900_000, 4 * MS);
    result.lookup_ns = figures(1, 300_000, 300_000);
    result.store = StoreStatus::default();
    result
}

pub fn all() -> Vec<(&'static str, RunResult)> {
    vec![
        ("valid", valid()),
        ("older", older()),
        ("degraded", degraded()),
        ("invalid", invalid()),
        ("only_errors", only_errors()),
        ("nothing_sent", nothing_sent()),
        ("interrupted", interrupted()),
    ]
}
