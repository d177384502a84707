//! The job of `tare pace`: two threads, and what they say at the end.

use super::answers::{Answered, Answers};
use super::ends::End;
use super::launched::Launched;
use super::marks::Marks;
use super::outward::{self, Outcomes, Outward, Passage, QUEUE};
use super::spun::Spun;
use super::timetable::{Pace, Timetable};
use super::valve::Valve;
use crate::PacketError;
use crate::control::JobControl;
use crate::job::{Facts, Findings, Job, MakeRecorders, Running};
use crate::own_clock::OwnClock;
use crate::ports;
use clock::priority::{self, Demand, Grant};
use clock::{Clock, HostClock};
use measure::gap_meter::Stamping;
use measure::packets::{PacketReport, PlaceCount, PortReport};
use port::interface::Interface;
use port::{Address, Counters, Port};
use schedule::Action;
use std::sync::{Arc, Mutex, PoisonError};
use units::{Instant, Picos, Priority, Rate};

/// What `tare pace` shall do.
#[derive(Clone, Debug)]
pub struct Settings {
    pub input: Address,
    pub output: Address,
    pub pace: Pace,
    /// Gaps count from when the frame before really left.
    pub is_relative: bool,
    /// Without end where there is none.
    pub length: Option<Picos>,
    /// CPUs for the thread that paces and the one that hands answers back.
    pub cpus: Vec<u32>,
    pub priority: Priority,
    /// Whether the host is kept back by a valve before a tap.
    pub has_valve: bool,
}

/// Both ends open, nothing taken yet.
pub struct PaceJob {
    settings: Settings,
    clock: HostClock,
    input: End,
    output: End,
    valve: Result<Valve, String>,
    /// The time of OUT, if it keeps its own.
    own: Option<OwnClock>,
    priority: Grant,
}

impl PaceJob {
    pub(super) fn between(
        settings: Settings,
        clock: HostClock,
        input: End,
        mut output: End,
    ) -> Result<Self, PacketError> {
        let own = output.transmit.own_time()?.map(|own| OwnClock::new(&own, clock.now()));
        if own.is_some() && settings.is_relative {
            return Err(PacketError::Wrong(format!(
                "--relative: {} keeps the times itself, so this host makes no frame late; leave it out",
                settings.output
            )));
        }
        let valve = match settings.has_valve {
            true => input.valve(),
            false => Err("--no-valve".to_owned()),
        };
        // While frames wait, the thread spins without a pause, however far apart they leave.
        let demand = Demand { threads: 1, spins: own.is_none(), gap: None };
        let priority = match own {
            Some(_) => Grant::usual("the port keeps the times"),
            None => priority::grant(settings.priority, &demand),
        };
        Ok(Self { settings, clock, input, output, valve, own, priority })
    }

    fn is_simulated(&self) -> bool {
        self.own.is_some_and(|own| own.time().simulated)
    }

    fn choices(&self) -> Vec<(String, String, String)> {
        let of = |end: &End| {
            end.about
                .choices
                .iter()
                .map(|choice| (choice.what.to_owned(), choice.chosen.clone(), choice.why.clone()))
                .collect::<Vec<_>>()
        };
        let back = match &self.valve {
            Ok(_) => {
                ("a valve (tbf) before the tap", "frames there still count against their sockets".to_owned())
            }
            Err(why) => ("a long queue", why.clone()),
        };
        let mut all = vec![("back-pressure".to_owned(), back.0.to_owned(), back.1)];
        all.extend(of(&self.input));
        all.extend(of(&self.output));
        all.push(("priority".to_owned(), self.priority.level.words(), self.priority.why.clone()));
        all
    }
}

impl Job for PaceJob {
    fn facts(&self) -> Facts {
        let Settings { input, output, pace, is_relative, length, .. } = &self.settings;
        Facts {
            // One thread has departures; the other hands answers back.
            threads: 1,
            spins: self.own.is_none(),
            gap: pace.even_gap(),
            is_open_loop: true,
            // The length is by this host's clock, which a simulation's times do not go by.
            length: length.filter(|_| !self.is_simulated()),
            time: self.own.as_ref().map(OwnClock::time),
            load: format!(
                "what {input} takes from this host, {}{}",
                describe(pace),
                if *is_relative { ", relative" } else { "" }
            ),
            target: output.to_string(),
            choices: self.choices(),
            ..Facts::default()
        }
    }

    fn start(
        self: Box<Self>,
        control: Arc<JobControl>,
        recorders: MakeRecorders<'_>,
    ) -> Result<Running, PacketError> {
        let Self { settings, clock, input, output, valve, own, priority } = *self;
        let (in_about, out_about) = (input.about.clone(), output.about.clone());
        let device = in_about.interface.clone();
        let dropped_before = tap_drops(&device);
        let marks = Arc::new(Marks::default());
        let origin = clock.now();
        control.begin(origin);
        understand(&control, &marks, &settings.pace, origin);
        let until = settings.length.map_or(Instant::FAR, |length| origin + length);
        let record = recorders(own.map_or(origin, |own| own.begin())).into_iter().next();
        let record = record.ok_or_else(|| PacketError::Wrong("a recorder is needed".to_owned()))?;
        let valve_refused = valve.as_ref().err().cloned();
        let mut passage = Passage::new(outward::PassageSetup {
            clock,
            control: control.clone(),
            marks,
            from: input.receive,
            to: output.transmit,
            record,
            timetable: Timetable::new(settings.pace.clone(), settings.is_relative),
            valve: valve.ok(),
            until,
            dropped: Box::new(move || tap_drops(&device).saturating_sub(dropped_before)),
        });
        let outward: Box<dyn FnOnce() -> Left<Outcomes> + Send> = match own {
            Some(own) => Box::new(move || {
                let release = Launched::by(own, &mut passage);
                Outward::new(passage, release).run()
            }),
            None => {
                let release = Spun::starting_at(clock.now());
                Box::new(move || Outward::new(passage, release).run())
            }
        };
        let answers =
            Answers { clock, control: control.clone(), from: output.receive, to: input.transmit, until };
        let (out_end, in_end) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(None)));
        let (put_out, put_in) = (out_end.clone(), in_end.clone());
        let (cpu, other) = (settings.cpus.first().copied(), settings.cpus.get(1).copied());
        let threads = vec![
            spawn("pace", cpu, move || {
                // What is refused now was tried before: the thread goes on as it is.
                let _ = priority.take();
                put(&put_out, outward());
            })?,
            spawn("replies", other, move || put(&put_in, answers.run()))?,
        ];
        let is_even = settings.pace.even_gap().is_some();
        let finish = move || {
            let (outward, answered) = (take(&out_end), take(&in_end));
            findings(
                &control,
                outward,
                answered,
                &valve_refused,
                (&in_about, &out_about),
                own.map_or_else(
                    || handed_over(&out_about, clock.precision()),
                    |own| own.stamping(&out_about.name),
                ),
                is_even,
            )
        };
        Ok(Running::new(threads, finish))
    }
}

type Left<T> = (T, Box<dyn Port>, Box<dyn Port>);

fn put<T>(place: &Mutex<Option<T>>, value: T) {
    *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
}

fn take<T>(place: &Mutex<Option<T>>) -> Option<T> {
    place.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn spawn(
    name: &str,
    cpu: Option<u32>,
    work: impl FnOnce() + Send + 'static,
) -> Result<std::thread::JoinHandle<()>, PacketError> {
    let pinned = move || {
        // Where the CPU is not ours the kernel chooses one.
        if let Some(cpu) = cpu {
            let _ = os::cpus::pin(cpu);
        }
        work();
    };
    let thread = std::thread::Builder::new().name(format!("tare-{name}")).spawn(pinned);
    thread.map_err(|error| PacketError::Wrong(format!("a thread for frames could not be started: {error}")))
}

/// Commands of the control socket.
fn understand(control: &JobControl, marks: &Arc<Marks>, pace: &Pace, origin: Instant) {
    let known = marks.clone();
    control.on("mark", "mark [NUMBER]", move |control, asked| {
        if asked.rest.is_empty() {
            let number = known.ask();
            control.marked(asked.now, &number.to_string(), asked.by)?;
            return Ok(format!(
                "mark {number}: set; 'mark {number}' reports when all frames up to it have left"
            ));
        }
        let number = asked.rest.parse().ok();
        let mark = number.and_then(|number| known.find(number));
        mark.map(|mark| known.describe(mark, origin)).ok_or_else(|| {
            format!("there is no mark '{}'; 'mark' sets one and reports its number", asked.rest)
        })
    });
    let shown = marks.clone();
    control.shows("taken", move || shown.counts().0.to_string());
    let shown = marks.clone();
    control.shows("gone", move || shown.counts().1.to_string());
    let shown = marks.clone();
    control.shows("mark", move || {
        shown.last().map_or_else(|| "none".to_owned(), |mark| shown.describe(mark, origin))
    });
    let now = Arc::new(Mutex::new(describe(pace)));
    let shown = now.clone();
    control.shows("pace", move || shown.lock().unwrap_or_else(PoisonError::into_inner).clone());
    let is_bits = matches!(pace, Pace::Bits { .. });
    control.on("set rate", "set rate RATE", move |control, asked| {
        let rate = rate_of(asked.rest, is_bits)?;
        control.room_for(1)?;
        let change = control.change(Action::Rate(rate), asked.now)?;
        let to = if is_bits { bits(rate) } else { rate.to_string() };
        let mut known = now.lock().unwrap_or_else(PoisonError::into_inner);
        control.changed_from(&change, "rate", &known, &to, asked.by);
        known.clone_from(&to);
        Ok(format!("rate {to}"))
    });
    control.on("pause", "pause", |control, asked| switch(control, asked, Action::Pause, "paused"));
    control.on("resume", "resume", |control, asked| switch(control, asked, Action::Resume, "goes on"));
}

fn switch(control: &JobControl, asked: &crate::ControlCommand<'_>, to: Action, word: &str) -> crate::Answer {
    control.room_for(1)?;
    let change = control.change(to, asked.now)?;
    control.changed_from(&change, "pace", "", word, asked.by);
    Ok(word.to_owned())
}

/// A rate as the run has it: of bits where it paces bits, of frames otherwise.
fn rate_of(text: &str, is_bits: bool) -> Result<Rate, String> {
    if let Some(bare) = text.strip_suffix(":l2") {
        return Err(format!("the way of counting bits cannot change during a run: write {bare}"));
    }
    let bare = text.strip_suffix("bit/s").or_else(|| text.strip_suffix("bit"));
    match (bare, is_bits) {
        (Some(bits), true) => parsed(bits),
        (None, false) => parsed(text),
        (None, true) => Err(format!("'{text}' is a rate of frames, and this run paces bits: write 50Mbit")),
        (Some(_), false) => Err(format!("'{text}' is a rate of bits, and this run paces frames: write 20k")),
    }
}

fn parsed(text: &str) -> Result<Rate, String> {
    // `mbit` and `gbit` mean millions and thousands of millions, as everywhere where bits are counted.
    let text = text.trim().replace('m', "M").replace('g', "G");
    text.parse::<Rate>().map_err(|error| error.to_string())
}

/// `100 Mbit/s`.
fn bits(rate: Rate) -> String {
    let bits = rate.as_per_second_f64();
    let (value, unit) = match bits {
        b if b >= 1e9 => (b / 1e9, "Gbit/s"),
        b if b >= 1e6 => (b / 1e6, "Mbit/s"),
        b if b >= 1e3 => (b / 1e3, "kbit/s"),
        b => (b, "bit/s"),
    };
    format!("{} {unit}", (value * 1e6).round() / 1e6)
}

/// A pace for people.
pub fn describe(pace: &Pace) -> String {
    match pace {
        Pace::Frames(rate) => format!("a gap of {} ({rate})", rate.gap()),
        Pace::Bits { rate, overhead: 0 } => format!("{} of frames", bits(*rate)),
        Pace::Bits { rate, overhead } => {
            format!("{}, {overhead} bytes more counted with each frame", bits(*rate))
        }
        Pace::List(gaps) => format!("{} gaps from a file, in turn", gaps.len()),
    }
}

/// Frames that a tap dropped because its queue was full: it counts them as what it could not transmit.
fn tap_drops(interface: &Option<String>) -> u64 {
    let statistics = interface.as_deref().and_then(|name| Interface::find(name).ok()?.statistics().ok());
    statistics.map_or(0, |statistics| statistics.tx_dropped)
}

fn handed_over(output: &port::About, precision: Picos) -> Stamping {
    Stamping {
        measured_at: format!("{}, when handed over", output.name),
        handed_over: true,
        by: "software".to_owned(),
        error_ns: precision.as_picos() as f64 / 1e3,
        error_from: "the precision of the engine's own clock, read before each frame is handed over"
            .to_owned(),
    }
}

#[allow(clippy::too_many_arguments)]
fn findings(
    control: &JobControl,
    outward: Option<Left<Outcomes>>,
    answered: Option<Left<Answered>>,
    valve_refused: &Option<String>,
    (input, output): (&port::About, &port::About),
    stamping: Stamping,
    is_even: bool,
) -> Findings {
    let mut findings = Findings::default();
    let (Some((out, from, to)), Some((back, answers_from, answers_to))) = (outward, answered) else {
        return findings;
    };
    let lost = out.dropped;
    let mut in_port = ports::report_of("in", input);
    let mut out_port = ports::report_of("out", output);
    (in_port.merged, out_port.merged) = (out.merged, back.merged);
    drop(from);
    count(&mut in_port, &out.received, |_| true);
    // What its device has had no room for since the end is nobody's.
    of(answers_to, |counters| count(&mut in_port, counters, |place| !place.starts_with("rx.")));
    for port in [to, answers_from] {
        of(port, |counters| count(&mut out_port, counters, |_| true));
    }
    if input.kind == "tap" {
        drop_at(&mut in_port, "rx.ring", lost);
    }
    drop_at(&mut in_port, "queue", out.forgotten);
    drop_at(&mut in_port, "peer", back.dropped);
    drop_at(&mut out_port, "tx.too_long", out.too_long);
    findings.report = PacketReport {
        ports: vec![in_port, out_port],
        gaps: (out.gaps.count() > 0).then(|| out.gaps.report(&stamping)),
        changes: control.conclude(),
        ..PacketReport::default()
    };
    findings.notes = notes(&out, &back, valve_refused, lost);
    findings.notes.extend(note_on_gaps(&findings.report, is_even));
    findings
}

/// What gap errors are measured against where it is not one gap for all.
fn note_on_gaps(report: &PacketReport, is_even: bool) -> Option<String> {
    let is_changed = report.changes.iter().any(|change| change.what == "rate");
    let what = match (is_even, is_changed) {
        (true, false) => return None,
        (true, true) => {
            "the rate was changed by hand: gap errors are against the gap of each frame at its time, and judged by the \
             shortest"
        }
        (false, _) => {
            "each frame has its own gap: gap errors refer to that, and are not judged, because there is no \
             single gap"
        }
    };
    Some(what.to_owned())
}

fn notes(out: &Outcomes, back: &Answered, valve_refused: &Option<String>, lost: u64) -> Vec<String> {
    let mut notes = vec![format!(
        "{} frames accepted, {} released, {} replies returned; at most {} of {QUEUE} waited at once",
        out.taken, out.sent, back.frames, out.most_waiting
    )];
    match (&out.valve_failed, valve_refused) {
        (Some(why), _) => notes.push(format!("the valve before the tap failed during the run: {why}")),
        (None, Some(why)) => notes.push(format!("no valve throttles the host: {why}")),
        (None, None) => notes.push(format!("the valve before the tap was set {} times", out.settings)),
    }
    if lost > 0 {
        notes.push(format!("{lost} frames were lost before they could be read: the queue of IN was full"));
    }
    if out.resets > 0 {
        notes.push(format!(
            "an interface went down or came up {} times: {} waiting frames were discarded",
            out.resets, out.forgotten
        ));
    }
    notes
}

/// What a handle has counted, if it can tell.
fn of(mut port: Box<dyn Port>, count: impl FnOnce(&Counters)) {
    if let Ok(counters) = port.counters() {
        count(counters);
    }
}

/// Adds what a handle counted, with the places of losses that are wanted. Two handles of one port count the
/// same: the larger figure of each is it.
fn count(report: &mut PortReport, counters: &Counters, wants: impl Fn(&str) -> bool) {
    report.sent = report.sent.max(counters.sent);
    report.sent_bytes = report.sent_bytes.max(counters.sent_bytes);
    report.received = report.received.max(counters.received);
    report.received_bytes = report.received_bytes.max(counters.received_bytes);
    report.full = report.full.max(counters.full);
    for drop in counters.drops.iter().filter(|drop| wants(drop.place.key())) {
        let key = drop.place.key();
        match report.drops.iter_mut().find(|known| known.place == key) {
            Some(known) => known.frames = known.frames.max(drop.frames),
            None => drop_at(report, key, drop.frames),
        }
    }
}

fn drop_at(report: &mut PortReport, place: &str, frames: u64) {
    if frames == 0 {
        return;
    }
    match report.drops.iter_mut().find(|known| known.place == place) {
        Some(known) => known.frames = known.frames.max(frames),
        None => report.drops.push(PlaceCount { place: place.to_owned(), frames }),
    }
}

#[cfg(test)]
mod tests;
