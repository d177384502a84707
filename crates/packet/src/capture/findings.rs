//! What a capture comes to: ports and their drops, sizes, flows, signatures, gaps, files.

use super::disk::{Disk, Outcome};
use super::stamps::{Origin, Resolution, reading_ns, stamping};
use super::tally::Counts;
use super::thread::{Left, lost_on_the_way};
use super::{Capture, Settings};
use crate::JobControl;
use crate::flows::{Flows, Sizes};
use crate::job::Findings;
use crate::ports;
use crate::signed::Signed;
use measure::gap_meter::{GapMeter, Requested};
use measure::packets::{GapReport, PacketReport, PlaceCount, PortReport, ReceivedReport};
use port::pcap::bytes::Statistics;
use port::{Counters, DropPlace, Stamp};
use schedule::Halt;
use std::sync::{Arc, Mutex, PoisonError};
use units::Picos;

/// The index of a thread, what it left, and the frames that found no room on their way to the disk.
pub(super) type Rest = (usize, Left, u64);

/// All threads have ended.
pub(super) struct Ended {
    pub settings: Settings,
    pub left: Arc<Mutex<Vec<Rest>>>,
    pub disk: Option<Disk>,
    pub signed: Option<Arc<Mutex<Signed>>>,
    pub control: Arc<JobControl>,
}

/// A number that no frame had looks the same.
const NEVER_SENT: &str = "lost means missing numbers; these include numbers that an overloaded sender with \
                          --queues never sent, which its own result counts, and those of its streams that did \
                          not come here (a filter, another port)";

/// Runs that count from a drawn number have one far beyond.
const COUNTED_FROM_0: u64 = 1 << 24;

/// What no number tells: frames before the first and after the last.
fn unseen(first: Option<u64>) -> Option<String> {
    let first = first.filter(|first| (1..COUNTED_FROM_0).contains(first))?;
    Some(format!(
        "the first frame with a signature has number {first}: those before it were lost, or left before the capture began, \
         and are not counted as lost; nor are any after the last one"
    ))
}

/// Signatures older than any way is long.
fn replayed(report: &ReceivedReport) -> Option<String> {
    const LONG_NS: f64 = 1e9;
    let ways = &report.one_way_ns;
    (ways.count > 0 && ways.min > LONG_NS).then(|| {
        "all frames came more than a second after they had been signed: if they are a recording that was replayed, losses, \
         copies and one-way times are those of the recording"
            .to_owned()
    })
}

impl Ended {
    pub fn findings(self) -> Findings {
        let mut left = std::mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner));
        left.sort_by_key(|(index, ..)| *index);
        let mut findings = Findings::default();
        let mut counted = Vec::new();
        for (_, rest, unwritten) in &mut left {
            let counters = since(&rest.before, rest.port.counters().cloned().unwrap_or_default());
            findings.report.ports.push(port_report(rest, &counters, *unwritten));
            counted.push(counters);
        }
        if let Some(disk) = self.disk {
            let outcome = disk.finish(&statistics(&counted));
            // What ended the run is told by whoever watches it.
            let is_told = self.control.halt() == Halt::Failed && self.control.why() == outcome.failure;
            tell_of_disk(
                &mut findings,
                &outcome,
                is_told,
                left.iter().map(|(.., unwritten)| unwritten).sum(),
            );
        }
        tallies(&mut findings.report, &left);
        findings.span = left.iter().filter_map(|(_, rest, _)| span(rest)).max();
        if let Some(signed) = self.signed {
            let mut signed = signed.lock().unwrap_or_else(PoisonError::into_inner);
            let first = signed.first();
            signed.finish(None);
            let report = signed.report();
            findings.notes.extend((report.lost > 0).then(|| NEVER_SENT.to_owned()));
            findings.notes.extend(unseen(first));
            findings.notes.extend(replayed(&report));
            // Where nobody signs there is nothing to be told.
            findings.report.received = (report.signed + report.corrupted > 0).then_some(report);
        }
        if let Some(requested) = &self.settings.gaps {
            let (gaps, slips) = gaps(&self.settings, requested, &mut left);
            let unstamped = left.iter().map(|(_, rest, _)| rest.tally.counts.unstamped).sum();
            findings.notes.extend(about_gaps(&gaps, requested, slips, unstamped));
            findings.report.gaps = Some(gaps);
        }
        findings.notes.extend(ports::of_clocks(&findings.report.ports));
        labels(&mut findings, &left);
        findings
    }
}

/// What a port has counted since it had counted `before`.
fn since(before: &Counters, mut counters: Counters) -> Counters {
    counters.received = counters.received.saturating_sub(before.received);
    counters.received_bytes = counters.received_bytes.saturating_sub(before.received_bytes);
    for drop in &mut counters.drops {
        drop.frames = drop.frames.saturating_sub(before.dropped(drop.place));
    }
    counters
}

fn port_report(rest: &mut Left, counters: &Counters, unwritten: u64) -> PortReport {
    let mut counters = counters.clone();
    counters.drop(DropPlace::ReceiveFilter, rest.tally.counts.filtered);
    counters.drop(DropPlace::ReceiveDisk, unwritten);
    let clock = rest.port.stamp_clock().map(ports::clock_of);
    let report = ports::report_of("in", rest.port.about());
    PortReport {
        received: rest.tally.counts.frames,
        received_bytes: rest.tally.counts.bytes,
        merged: rest.tally.counts.merged,
        drops: ports::places(&counters),
        full: counters.full,
        stamps: ports::stamps_of(&report.stamps, clock.as_ref()),
        clock,
        ..report
    }
}

/// The time from the first stamp to the last, and the last frame's own: one gap more, or what its bytes take if
/// that is longer. Frames without a stamp at either end count as if they came at the rate of the others.
fn span(rest: &Left) -> Option<Picos> {
    let Counts { frames, before_first, behind_last, first, last, last_length, .. } = rest.tally.counts;
    let stamped = (first != Stamp::NONE && last > first).then(|| Picos::from_nanos(last.0 - first.0))?;
    // Two or more: from the first stamp to the last.
    let within = frames - before_first - behind_last;
    let gap = Picos::from_picos(stamped.as_picos() / (within - 1).max(1));
    let own = crate::on_the_wire(last_length, rest.port.about().speed_bps);
    let span = stamped + gap.max(own);
    Some(Picos::from_picos_u128(u128::from(span.as_picos()) * u128::from(frames) / u128::from(within)))
}

/// What the file says at its end.
fn statistics(counted: &[Counters]) -> Statistics {
    let sum = |of: &dyn Fn(&Counters) -> u64| counted.iter().map(of).sum::<u64>();
    let lost = sum(&lost_on_the_way);
    let by_driver = sum(&|counters| counters.dropped(DropPlace::ReceiveDriver));
    Statistics {
        received: sum(&|counters| counters.received) + lost,
        dropped_by_interface: by_driver,
        dropped_by_kernel: lost - by_driver,
    }
}

fn tell_of_disk(findings: &mut Findings, outcome: &Outcome, is_told: bool, no_room: u64) {
    let written = &outcome.written;
    let files = match (outcome.files, outcome.removed) {
        (0 | 1, _) => String::new(),
        (files, 0) => format!(" in {files} files"),
        (files, removed) => format!(" in {files} files, of which the oldest {removed} were removed"),
    };
    findings.notes.push(format!(
        "{} frames were written, {} bytes{files}, by {} system calls",
        written.frames, written.file_bytes, written.calls
    ));
    // Those that came to the disk belong to no port; the first is as good as any.
    if outcome.unkept > 0
        && let Some(port) = findings.report.ports.first_mut()
    {
        let key = DropPlace::ReceiveDisk.key();
        match port.drops.iter_mut().find(|drop| drop.place == key) {
            Some(drop) => drop.frames += outcome.unkept,
            None => port.drops.push(PlaceCount { place: key.to_owned(), frames: outcome.unkept }),
        }
    }
    if let Some(failure) = &outcome.failure {
        findings.labels.extend((!is_told).then(|| failure.clone()));
    } else if no_room > 0 {
        findings.labels.push(format!(
            "the disk was too slow: {no_room} frames were counted but are not in the file; use more memory \
             (--buffer), keep less of each frame (-s), or write to a faster disk"
        ));
    }
}

fn tallies(report: &mut PacketReport, left: &[Rest]) {
    let (mut sizes, mut flows) = (Sizes::default(), None::<Flows>);
    for (_, rest, _) in left {
        sizes.merge(&rest.tally.sizes);
        match (&mut flows, &rest.tally.flows) {
            (Some(all), Some(more)) => all.merge(more),
            (None, Some(first)) => flows = Some(first.clone()),
            (_, None) => {}
        }
    }
    report.sizes = sizes.rows();
    if let Some(flows) = flows {
        (report.flows, report.other_flows) = flows.rows();
    }
}

/// What was measured, and how often a list was taken up elsewhere.
fn gaps(settings: &Settings, requested: &Requested, left: &mut [Rest]) -> (GapReport, u64) {
    let mut meter = GapMeter::new(requested.clone());
    let mut resolution = Resolution::default();
    let (mut origin, mut step_ns) = (Origin::Port(None), 0.0_f64);
    for (_, rest, _) in left {
        if let Some(gaps) = &rest.tally.gaps {
            meter.merge(gaps);
        }
        resolution = rest.tally.resolution;
        origin = Origin::of_port(&mut *rest.port);
        step_ns = rest.port.stamp_step_ns().max(step_ns);
    }
    let (origin, reading) = match Capture::is_file(&settings.address) {
        true => (Origin::File { step_ns }, 0.0),
        false => (origin, reading_ns()),
    };
    let place = settings.address.to_string();
    let place = place.strip_prefix("pcap:").unwrap_or(&place);
    let place = if place == "-" { "standard input" } else { place };
    (meter.report(&stamping(place, origin, resolution, reading)), meter.slips())
}

fn about_gaps(gaps: &GapReport, requested: &Requested, slips: u64, unstamped: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if gaps.count > 0 {
        notes.push(gaps.caliper_line());
    } else if *requested == Requested::Due {
        notes.push(
            "no gap was measured: fewer than two signed frames arrived (tare send --sign signs them)"
                .to_owned(),
        );
    } else {
        notes.push("no gap was measured: a gap needs two frames with a time".to_owned());
    }
    if slips > 0 {
        notes.push(format!(
            "the frames do not follow the whole list: it was resumed elsewhere {slips} times, where frames are \
             missing, duplicate or not from the list, or where the capture begins in its middle"
        ));
    }
    if gaps.backward > 0 {
        notes.push(format!(
            "{} gaps are below zero: the timestamps go backwards there (several queues in one file, or a clock \
             that was set)",
            gaps.backward
        ));
    }
    if gaps.beyond > 0 {
        notes.push(format!(
            "gaps longer than 100 days, which count as 100 days: {}; a clock was set there, so mean, variance and \
             maximum say nothing",
            gaps.beyond
        ));
    }
    if unstamped > 0 {
        notes.push(format!(
            "frames without a timestamp (0 stands for none): {unstamped}; no gap leads to them or from them"
        ));
    }
    notes
}

fn labels(findings: &mut Findings, left: &[Rest]) {
    for (_, rest, _) in left {
        if rest.was_down {
            findings.labels.push(format!("{} was down for a while", rest.port.about().name));
        }
    }
}
