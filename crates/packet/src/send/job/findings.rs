//! What a run that sends has to tell at its end.

use super::super::ledger::StreamLedger;
use super::super::receive::Arrived;
use super::super::sender::SenderReport;
use super::super::words;
use super::{by_stream, sides};
use crate::job::Findings;
use crate::own_clock::OwnClock;
use crate::ports;
use clock::{Clock, HostClock};
use measure::gap_meter::{GapMeter, Requested, Stamping};
use measure::packets::{
    Cell, Change, Column, GapReport, PlaceCount, PortReport, ReceivedReport, ScriptReport, Table,
};
use plan::packets::split::Side;
use port::DropPlace;
use units::Picos;

/// Readings of the clock that tell its own error.
const READINGS: usize = 2_001;

/// What is known of the gaps between frames that were handed over.
pub(super) struct Handed {
    pub place: String,
    /// The one gap that was asked for at first, if one thread keeps it.
    pub gap: Option<Picos>,
    pub reading_ns: f64,
    /// The port tells when frames left, by its own time.
    pub own: Option<OwnClock>,
    /// What streams are called, where there are several.
    pub streams: Vec<String>,
    /// Whose frames each port sends, where there are two.
    pub sides: Vec<Side>,
}

impl Handed {
    fn report(&self, senders: &[SenderReport], is_changed: bool) -> Option<GapReport> {
        let mut all = GapMeter::new(Requested::Due);
        senders.iter().filter_map(|sender| sender.gaps.as_ref()).for_each(|meter| all.merge(meter));
        let of_each = if senders.len() > 1 { ", within each queue" } else { "" };
        let mut report =
            all.report(&self.own.map_or_else(|| self.by_software(of_each), |own| own.stamping(&self.place)));
        report.requested_ns = self.gap.filter(|_| !is_changed).map(|gap| gap.as_picos() as f64 / 1e3);
        (report.count > 0).then_some(report)
    }

    /// The gaps of one stream's frames as they were handed over.
    pub fn of_stream(&self, gaps: &GapMeter) -> Option<GapReport> {
        (gaps.count() > 0).then(|| gaps.clone().report(&self.by_software("")))
    }

    fn by_software(&self, of_each: &str) -> Stamping {
        Stamping {
            measured_at: format!("{}, when handed over{of_each}", self.place),
            handed_over: true,
            by: "software".to_owned(),
            error_ns: self.reading_ns,
            error_from: format!(
                "the engine's own clock, read before each frame is handed over; two consecutive readings are \
                 {:.0} ns apart (p95)",
                self.reading_ns
            ),
        }
    }
}

/// 95th percentile of the time between two readings of the clock, one right after the other.
pub(super) fn reading_ns(clock: HostClock) -> f64 {
    let mut gaps: Vec<u64> = (0..READINGS)
        .map(|_| {
            let first = clock.now();
            clock.now().since(first).as_picos()
        })
        .collect();
    gaps.sort_unstable();
    gaps[READINGS * 95 / 100] as f64 / 1e3
}

/// The gaps as they were handed over, beside those at the receiver.
fn handed_table(gaps: &GapReport) -> Table {
    let names = ["gaps", "mean", "p50", "p95", "error p50", "error p95", "error p99", "error max"];
    let column = |name: &&str| Column {
        name: (*name).to_owned(),
        unit: if *name == "gaps" { "count" } else { "ns" }.to_owned(),
    };
    let error = gaps.error.unwrap_or_default();
    let figures = [gaps.count as f64, gaps.mean_ns, gaps.p50_ns, gaps.p95_ns];
    let errors = [error.p50_ns, error.p95_ns, error.p99_ns, error.max_ns];
    Table {
        key: "handed_over".to_owned(),
        title: (if gaps.handed_over { "Gaps when frames were handed over" } else { "Gaps when frames left" })
            .to_owned(),
        columns: names.iter().map(column).collect(),
        rows: vec![figures.into_iter().chain(errors).map(Cell::Figure).collect()],
        notes: vec![format!("at {}; stamps: {}", gaps.measured_at, gaps.stamp_error_from)],
    }
}

pub(super) fn findings(
    changes: Vec<Change>,
    senders: Vec<SenderReport>,
    handed: &Handed,
    arrived: Option<Arrived>,
    notes: Vec<String>,
) -> Findings {
    let mut findings = Findings { notes, ..Findings::default() };
    let report = &mut findings.report;
    report.changes = changes;
    let is_changed = report.changes.iter().any(|change| matches!(change.what.as_str(), "rate" | "state"));
    let handed_over = handed.report(&senders, is_changed);
    // Where the port tells of each frame, those that it lost have failed, and are no part of what is missing.
    let failed: u64 = senders.iter().map(|sender| sender.failed).sum();
    let known = if handed.own.is_some() { failed } else { 0 };
    let mut sent = vec![StreamLedger::default(); handed.streams.len()];
    let missed: u64 = senders.iter().map(|sender| sender.missed).sum();
    for sender in &senders {
        sent.iter_mut().zip(&sender.streams).for_each(|(all, one)| all.merge(one));
    }
    report.script = script(&senders);
    report.tables.extend(sides::table(handed, &senders));
    for sender in senders {
        report.ports.push(sender.port);
        report.tables.extend(sender.tables);
        findings.notes.extend(sender.notes);
    }
    let Some(mut arrived) = arrived else {
        report.gaps = handed_over;
        report.tables.extend(by_stream::tables(handed, (&sent, missed), None));
        return findings;
    };
    report.ports.push(std::mem::take(&mut arrived.port));
    findings.notes.extend(ports::of_clocks(&report.ports));
    arrived.report = split(arrived.report, &report.ports, known);
    by_stream::losses(&sent, &mut arrived);
    report.tables.extend(by_stream::tables(handed, (&sent, missed), Some(&arrived)));
    let given_up = arrived.never_left.saturating_sub(failed);
    if arrived.is_signed && given_up > 0 {
        findings.notes.push(format!(
            "{} not lost: the thread whose turn it was gave up what was due, or had ended (incidents may list \
             them)",
            match given_up {
                1 => "1 number never left, and is".to_owned(),
                _ => format!("{given_up} numbers never left, and are"),
            }
        ));
    }
    match arrived.gaps {
        Some(gaps) => {
            report.gaps = Some(gaps);
            report.tables.extend(handed_over.as_ref().map(handed_table));
            report.handed_over = handed_over;
        }
        None => report.gaps = handed_over,
    }
    if arrived.is_signed || arrived.report.signed > 0 {
        let received = arrived.report;
        findings.notes.extend(handed.own.filter(|own| !own.is_exact()).map(|_| words::of_launches()));
        findings.notes.extend(words::of_waiting(&received, arrived.longest));
        findings.notes.extend(words::of_own_losses(&received));
        report.received = Some(received);
    }
    if let Some(failure) = arrived.failure {
        findings.labels.push(format!("receiving ended early: {failure}"));
    }
    findings
}

/// What the scripts of all threads have done together.
fn script(senders: &[SenderReport]) -> Option<ScriptReport> {
    let mut all = senders.iter().filter_map(|sender| sender.script.clone());
    let first = all.next()?;
    Some(all.fold(first, |mut sum, one| {
        sum.calls += one.calls;
        sum.frames += one.frames;
        sum.time_ns += one.time_ns;
        sum.longest_ns = sum.longest_ns.max(one.longest_ns);
        sum.late += one.late;
        sum.failed = sum.failed.or(one.failed);
        sum
    }))
}

/// Of what did not arrive, at most as much as this machine's own ports lost is their loss; the rest was lost on
/// the way. Of what the ports lost, `known` are not among the missing.
fn split(mut received: ReceivedReport, ports: &[PortReport], known: u64) -> ReceivedReport {
    let ours = |place: DropPlace| place.is_after_arrival() || place.is_before_sending();
    let is_ours = |drop: &&PlaceCount| DropPlace::of_key(&drop.place).is_some_and(ours);
    let drops = ports.iter().flat_map(|port| &port.drops).filter(is_ours);
    let drops: u64 = drops.map(|drop| drop.frames).sum();
    received.lost_here = drops.saturating_sub(known).min(received.lost);
    received.lost -= received.lost_here;
    received
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_our_own_ports_lost_is_not_lost_on_the_way() {
        let port = |drops: &[(&str, u64)]| PortReport {
            drops: drops
                .iter()
                .map(|(place, frames)| PlaceCount { place: (*place).to_owned(), frames: *frames })
                .collect(),
            ..PortReport::default()
        };
        let missing = |lost| ReceivedReport { lost, ..ReceivedReport::default() };
        let both = |lost, drops: &[(&str, u64)]| {
            let found = split(missing(lost), &[port(&[]), port(drops)], 0);
            (found.lost, found.lost_here)
        };
        assert_eq!(both(60, &[("rx.ring", 60)]), (0, 60));
        assert_eq!(both(60, &[("rx.ring", 20), ("tx.driver", 5), ("rx.filter", 9), ("fault", 9)]), (35, 25));
        assert_eq!(both(60, &[("rx.kernel", 500)]), (0, 60), "others' frames were lost, too");
    }
}
