//! After a run: its verdict, and everything that is kept of it.

use super::Finished;
use super::prepare::Prepared;
use super::watch::Watched;
use crate::engine::{Brief, Driven, Stopped};
use crate::options::{Options, Output};
use crate::status::complain;
use crate::{limits, run_sinks};
use clock::HostClock;
use measure::{Ending, ExitStatus, Label, Thresholds, Verdict, Word};
use report::Documents;
use store::schema::Threshold;
use store::{RunResult, Spans, secrets};

/// What a run is worth.
struct Judged {
    verdict: Verdict,
    spans: Spans,
    thresholds: Vec<Threshold>,
    ending: Ending,
    status: ExitStatus,
}

impl Prepared<'_> {
    /// Fills the result, and gives it to all who keep it.
    pub fn keep(self, watched: Watched) -> Finished {
        let Self { options, clock, engine, brief, thresholds, .. } = self;
        let Self { mut watching, mut sink, hub, mut result, .. } = self;
        let judged = judge(&watched, engine.as_ref(), &brief, &clock, thresholds, options);
        let Judged { verdict, spans, ending, status, .. } = judged;
        result.thresholds = judged.thresholds;
        result.inputs = self.inputs.read();
        result.fill(&watched.totals, &verdict, &watched.health, spans, &brief.names);
        let notes = self.notes.into_iter().chain(self.inputs.changed()).chain(brief.weighed.note(&verdict));
        tell(&mut result, &watched, notes.collect(), engine.as_ref(), ending.unreachable);
        if !options.save {
            result.environment.clear();
        }
        sink.end_rows(&mut result);
        if !watched.sinks.is_empty() {
            result.run = self.run_name;
            result.sinks.clone_from(&watched.sinks);
            // A sink may take its time: whoever ends the program meanwhile has the result.
            sink.save(&mut result);
            result.sinks = hub.finish(&result);
            result.sinks.extend(engine.written(&watched.totals));
            run_sinks::tell(&result.sinks);
        }
        let documents = Documents { plan: &brief.plan_text, environment: &self.environment };
        let page = report::html(&result, &watched.timeline, documents);
        sink.attach("report.html", page.as_bytes());
        watching.end(&page);
        sink.save(&mut result);
        // A host has it in the result. The summary has it, too, but not everybody reads on after a status of 1.
        let is_folder = sink.place().is_some();
        if (is_folder || options.output != Output::Summary) && options.host.is_none() {
            losses(&result, sink.place().as_deref()).iter().for_each(|said| complain(said));
        }
        debug_assert!(verdict.word() != Word::Valid || watched.totals.conservation().is_ok());
        let (totals, stop) = (watched.totals, watched.stop);
        Finished { result, status, totals, place: sink.place(), watching, stop }
    }
}

/// The verdict, which thresholds held, and the status that follows from both.
fn judge(
    watched: &Watched,
    engine: &dyn Driven,
    brief: &Brief,
    clock: &HostClock,
    thresholds: Thresholds,
    options: &Options,
) -> Judged {
    let totals = &watched.totals;
    let conditions = brief.conditions(clock, engine.control(), watched.seen());
    let verdict = measure::judge(totals, &watched.health, &conditions);
    let unmeasured = watched.stopped == Stopped::Interrupted && totals.offered() == 0;
    let verdict = if unmeasured { verdict.of_a_warm_up() } else { verdict };
    let spans = Spans::of(totals, brief.length(watched.stopped == Stopped::No, totals));
    let spans = engine.spans(spans, totals);
    let thresholds = limits::judge(thresholds, totals, spans);
    let ending = Ending {
        unreachable: !brief.has_frames && measure::unreachable(totals),
        threshold_failed: thresholds.iter().any(|threshold| !threshold.holds),
        interrupted: watched.stopped == Stopped::Interrupted,
        accept_invalid: options.accept_invalid,
    };
    let status = ExitStatus::of(&verdict, ending);
    Judged { verdict, spans, thresholds, ending, status }
}

/// Labels and notes: what sets this run apart.
fn tell(
    result: &mut RunResult,
    watched: &Watched,
    notes: Vec<String>,
    engine: &dyn Driven,
    unreachable: bool,
) {
    result.notes.extend(notes);
    result.partial = watched.stopped != Stopped::No;
    match watched.stopped {
        Stopped::No => {}
        Stopped::Interrupted => result.labels.push(Label::Interrupted),
        Stopped::Aborted | Stopped::Otherwise => result.labels.extend(watched.why.clone()),
    }
    result.labels.extend(watched.steered.clone().map(Label::Steered));
    if watched.steered.is_some() {
        // What was asked for changed under way.
        result.fidelity = None;
    }
    if unreachable {
        result.labels.push(Label::Unreachable);
    }
    engine.tell(result, &watched.totals);
    // URLs of a file may stand in any of them.
    result.notes.iter_mut().for_each(|note| *note = secrets::in_urls(note));
    let labels = std::mem::take(&mut result.labels).into_iter();
    result.labels = labels.map(|label| label.map_words(secrets::in_urls)).collect();
}

/// What could not be kept, in one sentence.
fn losses(result: &RunResult, folder: Option<&str>) -> Option<String> {
    let lost = &result.store.lost;
    let first = lost.first()?;
    let names: Vec<&str> = lost.iter().map(|lost| lost.what.as_str()).collect();
    let place = folder.map_or_else(String::new, |folder| format!(" in {folder}"));
    Some(format!("tare: could not store {}{place}: {}", names.join(", "), first.why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::schema::Lost;

    #[test]
    fn what_is_lost_is_told_in_one_sentence() {
        let mut result = RunResult::default();
        assert_eq!(losses(&result, Some("/runs/a")), None);
        let lost = |what: &str| Lost { what: what.to_owned(), why: "No space left on device".to_owned() };
        result.store.lost = vec![lost("report.html"), lost("result.json")];
        let said = losses(&result, Some("/runs/a")).unwrap();
        assert_eq!(
            said,
            "tare: could not store report.html, result.json in /runs/a: No space left on device"
        );
        result.store.lost = vec![lost("run folder")];
        assert_eq!(
            losses(&result, None).unwrap(),
            "tare: could not store run folder: No space left on device"
        );
    }
}
