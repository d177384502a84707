//! What `tare ctl` and keys can do to a run that sends.
//!
//! | words | what |
//! |---|---|
//! | `set rate 2M`, `faster`, `slower` | another rate, for even gaps and bursts |
//! | `set size 512` | another frame size, for frames that are made |
//! | `set [stream=A,B] FIELD=VALUE …` | other fields, sizes and rates, all from one frame on |
//! | `pause`, `resume`, `toggle` | no departures for a while |
//! | `mark [NAME]` | answers when all that was due up to now has left |

mod fields;
mod order;
#[cfg(test)]
mod tests;

use super::departures::Ends;
use super::outlet::Prepared;
use super::receive::Sent;
use super::sender::Progress;
use super::source;
use crate::control::{Answer, ControlCommand, JobControl};
use clock::{Clock, HostClock};
pub use fields::Made;
use plan::packets::send::Pace;
use port::About;
use schedule::Action;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use units::{Instant, Picos, Rate};
use wire::Template;

/// One press of a key.
const STEP: f64 = 1.1;
/// Rates that keys lead to lie between these.
const SLOWEST: f64 = 0.01;
const FASTEST: f64 = 200e6;
/// A mark is waited for so long.
const MARK: Picos = Picos::from_secs(1);

/// What can be changed, and how it is now.
pub struct Steering {
    pub clock: HostClock,
    pub progress: Vec<Arc<Progress>>,
    pub prepared: Arc<Prepared>,
    /// Of all streams, also where there is but one.
    pub names: Vec<String>,
    pub about: About,
    pub line_bps: Option<u64>,
    /// A script may give frames any size.
    pub has_any_size: bool,
    /// The times are those of a recording.
    pub is_replay: bool,
    /// Where the load ends.
    pub ends: Ends,
    /// Says when all threads that send have ended.
    pub all_sent: Arc<Sent>,
    pub state: Mutex<State>,
}

/// How the load is now.
pub struct State {
    /// `None`: as fast as it goes, or gaps one by one.
    pub rate: Option<Rate>,
    /// Whether another rate can be set, and whether "as fast as it goes" can.
    pub has_rate: bool,
    pub may_go_max: bool,
    /// Rates of streams with loads of their own, `None` of one that has none; empty where there is one load.
    pub rates: Vec<Option<Rate>>,
    /// What frames are made of; `None` where they are from a file.
    pub made: Option<Made>,
    pub size: String,
    pub template: Arc<Template>,
    pub is_paused: bool,
    pub marks: u64,
}

/// Tells `control` what this run understands.
pub fn register(control: &JobControl, steering: Steering) {
    register_shared(control, &Arc::new(steering));
}

fn register_shared(control: &JobControl, steering: &Arc<Steering>) {
    let on = |words, usage, act: fn(&Steering, &JobControl, &ControlCommand<'_>) -> Answer| {
        let steering = steering.clone();
        control.on(words, usage, move |control, asked| act(&steering, control, asked));
    };
    on("set rate", "set rate RATE", Steering::set_rate);
    on("faster", "faster", |steering, control, asked| steering.step(control, asked, STEP));
    on("slower", "slower", |steering, control, asked| steering.step(control, asked, 1.0 / STEP));
    on("set size", "set size BYTES", Steering::set_size);
    on("set", "set [stream=NAME,NAME] FIELD=VALUE ...", Steering::set);
    on("pause", "pause", |steering, control, asked| steering.pause(control, asked, true));
    on("resume", "resume", |steering, control, asked| steering.pause(control, asked, false));
    on("toggle", "toggle", |steering, control, asked| {
        let is_paused = steering.state().is_paused;
        steering.pause(control, asked, !is_paused)
    });
    on("mark", "mark [NAME]", Steering::mark);
    let shown = |name, figure: fn(&Steering) -> String| {
        let steering = steering.clone();
        control.shows(name, move || figure(&steering));
    };
    shown("rate", |steering| {
        let state = steering.state();
        if state.has_rate || state.rate.is_some() {
            return rate_in_words(state.rate);
        }
        let of_stream = |(name, rate): (&String, &Option<Rate>)| Some(format!("{name} {}", (*rate)?));
        let rates: Vec<String> = steering.names.iter().zip(&state.rates).filter_map(of_stream).collect();
        if rates.is_empty() { "none".to_owned() } else { rates.join(", ") }
    });
    shown("size", |steering| steering.state().size.clone());
    shown("state", |steering| (if steering.state().is_paused { "paused" } else { "sending" }).to_owned());
    shown("sent", |steering| steering.sent().to_string());
}

/// Tells `control` of a run that nothing can be changed of, and why.
pub fn refuse(control: &JobControl) {
    let why = "the port gets the frames of this run long in advance, with their times: start another run";
    for words in ["set", "set rate", "set size", "faster", "slower", "pause", "resume", "toggle", "mark"] {
        control.on(words, words, move |_, _| Err(why.to_owned()));
    }
}

impl Steering {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sent(&self) -> u64 {
        self.progress.iter().map(|progress| progress.sent.load(Ordering::Relaxed)).sum()
    }

    /// To be asked before the load is changed.
    fn is_under_way(&self, control: &JobControl, now: Instant) -> Result<(), String> {
        let all = self.ends.frames.is_some_and(|frames| self.sent() >= frames);
        if all || self.all_sent.is_over() {
            return Err("the load has ended; start another run".to_owned());
        }
        let end = control.origin().zip(self.ends.after).map(|(origin, after)| origin + after);
        match end.is_some_and(|end| control.would_hold_from(now) >= end) {
            true => Err("the load ends before this could take effect; start another run".to_owned()),
            false => Ok(()),
        }
    }

    fn set_rate(&self, control: &JobControl, asked: &ControlCommand<'_>) -> Answer {
        let pace = Pace::read(asked.rest)
            .map_err(|problem| format!("'{}' {problem}; write set rate 2M, 1gbit or 50%", asked.rest))?;
        let template = self.state().template.clone();
        match pace {
            Pace::Max => self.go_max(control, asked),
            _ => {
                let rate = self.rate(&pace, &template)?;
                self.go_at(control, asked, rate.ok_or("a rate is a number: write set rate 2M")?)
            }
        }
    }

    /// Frames a second of what was asked for.
    fn rate(&self, pace: &Pace, template: &Template) -> Result<Option<Rate>, String> {
        if self.has_any_size && matches!(pace, Pace::Bits { .. } | Pace::Line { .. }) {
            return Err("a script may change sizes here: write a rate in frames per second, such as 2k, or start a run \
                        with --rate in bits"
                .to_owned());
        }
        source::rate(pace, template, self.line_bps)
    }

    /// Where each thread takes the next number as it gets to it (`max` of other ports), there is no point of
    /// the schedule at which due times could begin or end; a port that makes frames itself just goes on.
    fn go_max(&self, control: &JobControl, asked: &ControlCommand<'_>) -> Answer {
        self.is_under_way(control, asked.now)?;
        let mut state = self.state();
        if !state.may_go_max {
            return Err("this run has due times, and max would have none; write set rate 2M, or start another run with --rate max".to_owned());
        }
        control.room_for(1)?;
        let change = control.change(Action::Max, asked.now)?;
        let before = state.rate.take();
        control.changed_load(&change, "rate", &rate_in_words(before), "max", asked.by);
        Ok("rate max".to_owned())
    }

    fn step(&self, control: &JobControl, asked: &ControlCommand<'_>, factor: f64) -> Answer {
        let rate = self.state().rate.ok_or_else(|| self.no_rate())?.as_per_second_f64();
        let next = rate * factor;
        let digit = 10f64.powf(next.log10().floor() - 2.0);
        let next = (next / digit).round() * digit;
        if !(SLOWEST..=FASTEST).contains(&next) {
            return Err("no further".to_owned());
        }
        let micro = (next * 1e6).round() as u64;
        self.go_at(control, asked, Rate::new(micro, Picos::from_secs(1_000_000)).ok_or("no further")?)
    }

    fn go_at(&self, control: &JobControl, asked: &ControlCommand<'_>, rate: Rate) -> Answer {
        self.is_under_way(control, asked.now)?;
        let mut state = self.state();
        if !state.has_rate {
            return Err(self.no_rate());
        }
        control.room_for(1)?;
        let change = control.change(Action::Rate(rate), asked.now)?;
        let before = state.rate.replace(rate);
        control.changed_load(&change, "rate", &rate_in_words(before), &rate.to_string(), asked.by);
        Ok(format!("rate {rate}"))
    }

    fn pause(&self, control: &JobControl, asked: &ControlCommand<'_>, is_paused: bool) -> Answer {
        self.is_under_way(control, asked.now)?;
        let mut state = self.state();
        let word = |is_paused: bool| if is_paused { "paused" } else { "sending" };
        if state.is_paused == is_paused {
            return Err(format!("the run is {} already", word(is_paused)));
        }
        control.room_for(1)?;
        let change = control.change(if is_paused { Action::Pause } else { Action::Resume }, asked.now)?;
        state.is_paused = is_paused;
        control.changed_from(&change, "state", word(!is_paused), word(is_paused), asked.by);
        Ok(word(is_paused).to_owned())
    }

    /// Everything that was due when the mark was set has left when this answers.
    fn mark(&self, control: &JobControl, asked: &ControlCommand<'_>) -> Answer {
        let number = {
            let mut state = self.state();
            state.marks += 1;
            state.marks
        };
        let name = if asked.rest.is_empty() { number.to_string() } else { asked.rest.to_owned() };
        let until = asked.now + MARK;
        while !self.has_left(asked.now) {
            if self.clock.now() > until {
                return Err(format!("mark {name}: not all due frames have left within {MARK}"));
            }
            self.clock.sleep_until(self.clock.now() + Picos::from_millis(1));
        }
        let sent = self.sent();
        control.marked(asked.now, &format!("{name}: {sent} frames"), asked.by)?;
        Ok(format!("mark {name}: {sent} frames had left"))
    }

    fn no_rate(&self) -> String {
        no_rate(&self.names, self.is_replay)
    }

    fn has_left(&self, at: Instant) -> bool {
        let picos = at.since_epoch().as_picos();
        self.progress.iter().all(|progress| progress.through_picos.load(Ordering::Acquire) >= picos)
    }
}

/// Why there is no rate to be set, and what to do.
fn no_rate(names: &[String], is_replay: bool) -> String {
    match names {
        _ if is_replay => {
            "a replay uses the times of its recording; start another run with --speed 2".to_owned()
        }
        [first, _, ..] => {
            format!("this run has no overall rate; set those of its streams: set stream={first} rate=2k")
        }
        _ => {
            "the rate of this run cannot be changed: its gaps are listed one by one, or it sends as fast as \
             possible; start another run with --rate 2M"
                .to_owned()
        }
    }
}

pub fn rate_in_words(rate: Option<Rate>) -> String {
    rate.map_or_else(|| "max".to_owned(), |rate| rate.to_string())
}
