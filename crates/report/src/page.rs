//! What a page shows, in the order in which people ask: may I believe it, how much, how fast, what went wrong,
//! how was the generator, and what was it exactly.

mod documents;
mod figures;
mod frames;
mod generator;
mod head;
mod names;
mod terms;
mod verdict;

use crate::chart::Chart;
use crate::charts;
use crate::html::Documents;
use std::fmt;
use store::packets::PacketReport;
use store::{RunResult, Timeline};

/// Everything within `<main>`. Without documents, what they would show is left out.
pub fn main(result: &RunResult, timeline: &Timeline, documents: Option<Documents<'_>>) -> String {
    let mut out = String::with_capacity(256 * 1024);
    // Writing to a String does not fail.
    let _ = write(&mut out, result, timeline, documents);
    out
}

fn write(
    out: &mut String,
    result: &RunResult,
    timeline: &Timeline,
    documents: Option<Documents<'_>>,
) -> fmt::Result {
    head::write(out, result)?;
    verdict::write(out, result)?;
    head::reproduce(out, result, documents)?;
    section(out, "Rate and lateness", |out| {
        let has_lateness = result.packets.is_none() || !result.lateness_ns.is_empty();
        let lateness = has_lateness.then(|| charts::lateness(timeline, result));
        charts(out, &[charts::rates(timeline, result)]);
        charts(out, lateness.as_slice());
        step(out, timeline)
    })?;
    if let Some(report) = &result.packets {
        return of_frames(out, result, report, timeline, documents);
    }
    section(out, "Latency", |out| {
        charts(out, &[charts::latency(timeline, result), charts::heat(timeline, result)]);
        charts(out, &[charts::by_percentile(result)]);
        figures::omission(out, result)?;
        figures::times(out, result)
    })?;
    section(out, "Outcomes and phases", |out| {
        figures::conservation(out, result)?;
        charts(out, &[charts::outcomes(timeline, result)]);
        figures::outcomes(out, result)?;
        charts(out, &[charts::phases(timeline, result)]);
        Ok(())
    })?;
    names::write(out, result)?;
    ending(out, result, timeline, documents)
}

/// The rest of the page of a load that is made of frames.
fn of_frames(
    out: &mut String,
    result: &RunResult,
    report: &PacketReport,
    timeline: &Timeline,
    documents: Option<Documents<'_>>,
) -> fmt::Result {
    section(out, "Gaps, arrivals and tables", |out| frames::arrivals(out, report))?;
    section(out, "Ports and outcomes", |out| {
        figures::conservation(out, result)?;
        frames::ports(out, report)?;
        figures::outcomes(out, result)?;
        figures::times(out, result)
    })?;
    ending(out, result, timeline, documents)
}

/// What the page of every load ends with.
fn ending(
    out: &mut String,
    result: &RunResult,
    timeline: &Timeline,
    documents: Option<Documents<'_>>,
) -> fmt::Result {
    section(out, "The generator itself", |out| {
        out.push_str("<div class=\"pair\">\n");
        charts(out, &charts::generator(timeline, result));
        out.push_str("</div>\n");
        generator::tables(out, result)
    })?;
    if let Some(documents) = documents {
        documents::write(out, documents)?;
    }
    terms::write(out)
}

fn section(out: &mut String, title: &str, within: impl FnOnce(&mut String) -> fmt::Result) -> fmt::Result {
    use fmt::Write;
    writeln!(out, "<section><h2>{title}</h2>")?;
    within(out)?;
    writeln!(out, "</section>")
}

fn charts(out: &mut String, charts: &[Chart]) {
    charts.iter().for_each(|chart| out.push_str(&chart.html()));
}

/// How long a step of the charts is, where it is not an interval.
fn step(out: &mut String, timeline: &Timeline) -> fmt::Result {
    use fmt::Write;
    let Some(first) = timeline.bins.first().filter(|_| timeline.merged > 1) else { return Ok(()) };
    let inexact = timeline.bins.iter().any(|bin| !bin.exact);
    let how = if inexact {
        "Where its histograms are missing, a percentile is the largest of those intervals: at least the true one."
    } else {
        "Its percentiles are those of all its requests, from histograms added up."
    };
    writeln!(
        out,
        "<p class=\"soft note\">Each step of the charts over time is {}: {} intervals. {how}</p>",
        crate::words::seconds(first.row.length_s),
        timeline.merged
    )
}
