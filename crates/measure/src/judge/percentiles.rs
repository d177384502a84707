//! Two questions for each percentile that is printed: did the generator's lateness change the load, and is the
//! net time known?
//!
//! ```text
//! lateness.pX   own lateness at X    against the larger of net at X and the mean gap
//! unread.pX     how much less net at X may be, as answers may have lain unread    against net at X
//! ```
//!
//! Within a tenth it holds. Lateness as long as the figure itself means that gross is twice the net: INVALID at
//! p50, p90 and p99. A bound never makes a run INVALID: how long answers really lay unread is not known.

use super::machine::Machine;
use super::rate::{RAMP, waits_for_ramp};
use super::{Conditions, Loop, at_least};
use crate::criterion::CriterionId;
use crate::series::{Histogram, Series};
use crate::totals::RunTotals;
use crate::verdict::Criterion;
use units::Picos;

/// A percentile that is printed.
struct Printed {
    lateness: CriterionId,
    unread: CriterionId,
    words: &'static str,
    quantile: f64,
    /// Below this nothing is to be seen: the clock, an interrupt, another answer that is handled first.
    floor: Picos,
    /// Where a factor of two makes the run INVALID, and below which time it never does.
    invalid_floor: Option<Picos>,
    /// With fewer answers it is not judged whether their net times are known.
    least: u64,
    /// With fewer departures their lateness is not judged: less than ten are beyond, and one pause of the
    /// machine decides. Late departures change the load, and so few change nothing that could be measured.
    least_departures: u64,
}

const PRINTED: [Printed; 4] = [
    Printed {
        lateness: CriterionId::LatenessP50,
        unread: CriterionId::UnreadP50,
        words: "median",
        quantile: 0.5,
        floor: Picos::from_micros(20),
        invalid_floor: Some(Picos::from_micros(200)),
        least: 1,
        least_departures: 1,
    },
    Printed {
        lateness: CriterionId::LatenessP90,
        unread: CriterionId::UnreadP90,
        words: "90th percentile",
        quantile: 0.9,
        floor: Picos::from_micros(20),
        invalid_floor: Some(Picos::from_micros(200)),
        least: 1,
        least_departures: 1,
    },
    Printed {
        lateness: CriterionId::LatenessP99,
        unread: CriterionId::UnreadP99,
        words: "99th percentile",
        quantile: 0.99,
        floor: Picos::from_micros(50),
        invalid_floor: Some(Picos::from_millis(1)),
        least: 1,
        least_departures: 1,
    },
    Printed {
        lateness: CriterionId::LatenessP999,
        unread: CriterionId::UnreadP999,
        words: "99.9th percentile",
        quantile: 0.999,
        floor: Picos::from_micros(50),
        invalid_floor: None,
        least: 1_000,
        least_departures: 10_000,
    },
];

/// Fewer requests than this do not make a run INVALID: one pause of the machine decides nothing.
const ENOUGH: u64 = 10;

/// Whether departures left so late that the load was another, at each percentile.
pub(super) fn lateness(
    totals: &RunTotals,
    series: Series,
    machine: &Machine<'_>,
    conditions: &Conditions,
) -> Vec<Criterion> {
    let own = totals.series.of(series);
    let gap = mean_gap(totals, conditions);
    PRINTED
        .iter()
        .filter(|printed| own.len() >= printed.least_departures)
        // A closed loop was asked for no due times. What lateness does to its rate is in `pauses`, and one late
        // departure in a thousand does nothing to it.
        .filter(|printed| conditions.load != Loop::Closed || printed.invalid_floor.is_some())
        .map(|printed| {
            let late = own.value_at_quantile(printed.quantile) as f64;
            // Where all lateness counts, net still has the part that connections were busy; service has none of
            // it.
            let figure = match series {
                Series::Lateness => {
                    totals.series.of(Series::Service).value_at_quantile(printed.quantile) as f64
                }
                _ => net(totals, printed),
            };
            let figure = figure.max(gap.as_nanos() as f64);
            let limit = invalid_limit(printed, figure);
            let enough = late <= limit || own.count_between(limit as u64, u64::MAX) >= ENOUGH;
            // The plan wants it: net is without that wait, so it is no more than a doubt about the load.
            let by_ramp = waits_for_ramp(totals, Series::OwnLateness);
            let may_invalidate = conditions.load != Loop::Closed && enough && !by_ramp;
            criterion(printed.lateness, late, figure, printed, may_invalidate).advise(|| {
                let words = printed.words;
                let advice = if by_ramp { RAMP.to_owned() } else { machine.in_time() };
                format!("requests leave so late that the {words} shows it: {advice}")
            })
        })
        .collect()
}

/// Whether answers may have lain unread for longer than was measured, at each percentile.
pub(super) fn unread(totals: &RunTotals, machine: &Machine<'_>) -> Vec<Criterion> {
    let answers = totals.series.of(Series::Net).len();
    let told = totals.series.of(Series::Net);
    let least = totals.doubted.at_least(told);
    PRINTED
        .iter()
        .filter(|printed| answers >= printed.least)
        .map(|printed| {
            let figure = net_of(told, totals, printed);
            let least = least.as_ref().map_or(figure, |least| net_of(least, totals, printed));
            let unread = (figure - least).max(waits_behind_bodies(totals) * figure).max(0.0);
            criterion(printed.unread, unread, figure, printed, false)
                .advise(|| doubt(totals, machine, printed))
        })
        .collect()
}

/// The share of net that departures without a connection may have waited because others' bodies waited here for
/// a 100 (Continue) that did not come: as much of the time that connections were busy.
fn waits_behind_bodies(totals: &RunTotals) -> f64 {
    let service = totals.series.of(Series::Service);
    let busy_ns = service.mean() * service.len() as f64;
    match totals.series.unfinished(Series::Net) {
        Some(_) if busy_ns > 0.0 => (totals.counters.expecting.as_nanos() as f64 / busy_ns).min(1.0),
        _ => 0.0,
    }
}

/// What a bound on net comes from, and what makes it smaller.
fn doubt(totals: &RunTotals, machine: &Machine<'_>, printed: &Printed) -> String {
    let bounds = totals.series.of(Series::UnreadBound);
    let in_all = bounds.mean() * bounds.len() as f64;
    let is_most = |part: Picos| part.as_nanos() as f64 > in_all / 2.0;
    let waited = "requests may have waited in this machine for that long until they had left completely";
    let (what, advice) = if is_most(totals.counters.throttled) {
        let advice = "--throttle leaves them unread, and may keep the target from sending; leave it out to measure net";
        ("responses lay unread in this machine for up to that long", advice.to_owned())
    } else if is_most(totals.counters.expecting) || waits_behind_bodies(totals) > 0.5 {
        let what = "no 100 (Continue) came, and the target may have waited for the body for that long";
        (what, "leave out --expect-continue to measure net".to_owned())
    } else if is_most(totals.counters.held) {
        (
            waited,
            "Tare's own TCP sends at most 44 segments, and no second request, before an acknowledgment arrives, \
             and nothing while the port has no room; use the kernel's sockets (without --via) for long bodies \
             and pipelining; if tcp.waited_for_room is not 0, raise the port's slots="
                .to_owned(),
        )
    } else if is_most(totals.counters.unsent) {
        (waited, machine.in_time())
    } else {
        let advice = match stamps(totals, machine) {
            Stamps::Some => machine.reads_in_time(),
            Stamps::None => {
                "no response has a timestamp, as on a Unix socket: use TCP, or a kernel with receive timestamps"
                    .to_owned()
            }
            Stamps::TooEarly => {
                "no response had a timestamp yet, because the kernel starts to timestamp shortly after the \
                 first connection asks for it: make more requests (--duration, --requests)"
                    .to_owned()
            }
        };
        ("responses may have lain unread in this machine for that long", advice)
    };
    format!("{what}, so the {} of net is an upper bound: {advice}", printed.words)
}

/// Whether responses are stamped by the kernel here.
enum Stamps {
    Some,
    None,
    /// There were none, and too few responses to tell.
    TooEarly,
}

/// A kernel that stamps has begun to long before so many responses came in so long a time.
const TELLING: u64 = 1_000;
const TELLING_TIME: Picos = Picos::from_secs(1);

fn stamps(totals: &RunTotals, machine: &Machine<'_>) -> Stamps {
    let is_telling = totals.counters.unstamped >= TELLING && totals.until_last_done >= TELLING_TIME;
    match totals.counters.stamped {
        0 if machine.is_unix() || is_telling => Stamps::None,
        0 => Stamps::TooEarly,
        _ => Stamps::Some,
    }
}

fn criterion(id: CriterionId, value: f64, figure: f64, printed: &Printed, may_invalidate: bool) -> Criterion {
    let limit = at_least(printed.floor, figure / 10.0);
    let invalid = printed.invalid_floor.filter(|_| may_invalidate).map(|_| invalid_limit(printed, figure));
    Criterion::new(id, value, limit).invalid_beyond(invalid)
}

/// As much again as the figure: gross is twice the net.
fn invalid_limit(printed: &Printed, figure: f64) -> f64 {
    at_least(printed.invalid_floor.unwrap_or(printed.floor), figure)
}

fn net(totals: &RunTotals, printed: &Printed) -> f64 {
    net_of(totals.series.of(Series::Net), totals, printed)
}

fn net_of(net: &Histogram<u64>, totals: &RunTotals, printed: &Printed) -> f64 {
    match totals.series.unfinished(Series::Net) {
        None => net.value_at_quantile(printed.quantile) as f64,
        Some(unfinished) => {
            crate::series::with_unfinished(net, unfinished).value_at_quantile(printed.quantile) as f64
        }
    }
}

/// The gap of an even schedule, or the mean one: lateness that is far below it does not change the load.
fn mean_gap(totals: &RunTotals, conditions: &Conditions) -> Picos {
    match conditions.load {
        Loop::Open { gap: Some(gap) } => gap,
        Loop::Open { gap: None } => {
            let gaps = totals.offered().saturating_sub(1);
            Picos::from_picos(totals.until_last_due.as_picos().checked_div(gaps).unwrap_or(0))
        }
        Loop::Closed | Loop::Passive => Picos::ZERO,
    }
}
