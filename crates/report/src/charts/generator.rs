//! The generator itself over time.

use super::{blank, highest, over_time, points, time_points};
use crate::chart::{Body, Chart, Scale, Series, Tone, Unit};
use store::schema::Interval;
use store::{RunResult, Timeline};

/// Threads are shown one by one up to so many.
const MOST_THREADS: usize = 8;

/// CPU, waiting, steal, retransmits, ports and memory of the generator over time; those that were measured.
pub fn generator(timeline: &Timeline, result: &RunResult) -> Vec<Chart> {
    let gauge = |id: &str, title: &str, caption: &str, unit: Unit, series: Vec<Series>| {
        let most = highest(&series);
        let chart = Chart {
            id: id.to_owned(),
            title: title.to_owned(),
            caption: caption.to_owned(),
            y: if unit == Unit::Count { Scale::whole(most) } else { Scale::linear(most) },
            unit,
            body: Body::Lines(series),
            is_small: true,
            ..blank()
        };
        over_time(timeline, result, chart)
    };
    let one = |name: &str, tone: usize, of: fn(&Interval) -> Option<f64>| {
        Series::new(name, Tone::Color(tone), points(timeline, of))
    };
    let ports = vec![
        one("local ports", 1, |row| row.ports_left.map(|left| left as f64)),
        one("descriptors", 2, |row| row.descriptors_left.map(|left| left as f64)),
    ];
    let mut sockets = vec![one("open connections", 1, |row| Some(row.open as f64))];
    let resting = one("in TIME_WAIT", 3, |row| Some(row.time_wait as f64));
    if highest(std::slice::from_ref(&resting)) > 0.0 {
        sockets.push(resting);
    }
    let memory = vec![one("resident", 1, |row| row.rss_bytes.map(|bytes| bytes as f64))];
    let resent = vec![one("retransmits", 4, |row| Some(row.retransmits as f64))];
    let charts = vec![
        gauge(
            "cpu",
            "CPU (share of one CPU)",
            "Work of each engine thread; spinning is waiting, not work.",
            Unit::Share,
            cpu(timeline),
        ),
        gauge(
            "wait",
            "Run-queue wait in each step",
            "Time that a thread was ready to run but waited for a CPU.",
            Unit::Time,
            waits(timeline),
        ),
        gauge(
            "steal",
            "Steal (share of time)",
            "Time that the hypervisor gave to others.",
            Unit::Share,
            vec![one("steal", 4, |row| row.steal_share)],
        ),
        gauge(
            "retransmits",
            "TCP retransmits in each step",
            "Of all sockets in this network namespace.",
            Unit::Count,
            resent,
        ),
        gauge(
            "left",
            "Ports and descriptors left",
            "What further connections could use.",
            Unit::Count,
            ports,
        ),
        gauge(
            "sockets",
            "Connections",
            "Open connections, and local ports that wait after a close.",
            Unit::Count,
            sockets,
        ),
        gauge("memory", "Memory", "Of the generator.", Unit::Bytes, memory),
    ];
    // What never happened needs no picture: its 0 is in the table below.
    let has_news = |chart: &Chart| chart.id != "retransmits" || highest(chart.series()) > 0.0;
    charts.into_iter().filter(|chart| !chart.is_empty() && has_news(chart)).collect()
}

/// The work of each thread, or of the busiest where there are many; and the most that one spun.
fn cpu(timeline: &Timeline) -> Vec<Series> {
    let threads = timeline.bins.iter().map(|bin| bin.row.threads.len()).max().unwrap_or(0);
    let work = |cpu: f64, spun: f64| Some((cpu - spun).max(0.0));
    let busiest = || {
        let points = points(timeline, |row| match row.threads.len() {
            0 => work(row.cpu_share, row.spun_share),
            _ => row
                .threads
                .iter()
                .filter_map(|thread| work(thread.cpu_share, thread.spun_share))
                .reduce(f64::max),
        });
        let name = if threads > 1 { format!("the busiest of {threads} threads") } else { "work".to_owned() };
        Series::new(name, Tone::Color(1), points)
    };
    let mut series: Vec<Series> = match threads {
        2..=MOST_THREADS => (0..threads)
            .map(|index| {
                let of = |row: &Interval| {
                    row.threads.get(index).and_then(|thread| work(thread.cpu_share, thread.spun_share))
                };
                Series::new(format!("thread {}", index + 1), Tone::Color(index + 1), points(timeline, of))
            })
            .collect(),
        _ => vec![busiest()],
    };
    let spun = points(timeline, |row| {
        row.threads.iter().map(|thread| thread.spun_share).reduce(f64::max).or(Some(row.spun_share))
    });
    let name = if threads > 1 { "spinning, most" } else { "spinning" };
    let spun = Series::new(name, Tone::Quiet, spun);
    if spun.values().any(|share| share > 0.0) {
        series.push(spun);
    }
    series
}

fn waits(timeline: &Timeline) -> Vec<Series> {
    let threads = timeline.bins.iter().map(|bin| bin.row.threads.len()).max().unwrap_or(0);
    match threads {
        2..=MOST_THREADS => (0..threads)
            .map(|index| {
                let of = |row: &Interval| row.threads.get(index).map(|thread| thread.run_queue_wait_ns);
                Series::new(
                    format!("thread {}", index + 1),
                    Tone::Color(index + 1),
                    time_points(timeline, of),
                )
            })
            .collect(),
        _ => {
            let of = |row: &Interval| row.run_queue_wait_ns;
            vec![Series::new("the longest", Tone::Color(1), time_points(timeline, of))]
        }
    }
}
