//! What `tare ctl` and keys can do to a run that sends.
//!
//! | words | what |
//! |---|---|
//! | `set rate 2M`, `faster`, `slower` | another rate, for even gaps and bursts |
//! | `set size 512` | another frame size, for frames that are made |
//! | `pause`, `resume`, `toggle` | no departures for a while |
//! | `mark [NAME]` | answers when all that was due up to now has left |

use super::outlet::Sizes;
use super::sender::Progress;
use super::source;
use crate::control::{Answer, Asked, Control};
use clock::{Clock, HostClock};
use plan::packets::send::Pace;
use port::About;
use schedule::Action;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use units::{Instant, Picos, Rate};
use wire::Template;
use wire::template::Spec;

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
    pub sizes: Arc<Sizes>,
    /// What frames are made of; `None` where they are from a file.
    pub spec: Option<Spec>,
    pub about: About,
    pub line_bps: Option<u64>,
    pub state: Mutex<State>,
}

/// How the load is now.
pub struct State {
    /// `None`: as fast as it goes, or gaps one by one.
    pub rate: Option<Rate>,
    /// Whether another rate can be set, and whether "as fast as it goes" can.
    pub has_rate: bool,
    pub may_go_max: bool,
    pub size: String,
    pub template: Arc<Template>,
    pub is_paused: bool,
    pub marks: u64,
}

/// Tells `control` what this run understands.
pub fn register(control: &Control, steering: Steering) {
    let steering = Arc::new(steering);
    let on = |words, usage, act: fn(&Steering, &Control, &Asked<'_>) -> Answer| {
        let steering = steering.clone();
        control.on(words, usage, move |control, asked| act(&steering, control, asked));
    };
    on("set rate", "set rate RATE", Steering::set_rate);
    on("faster", "faster", |steering, control, asked| steering.step(control, asked, STEP));
    on("slower", "slower", |steering, control, asked| steering.step(control, asked, 1.0 / STEP));
    on("set size", "set size BYTES", Steering::set_size);
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
        if state.has_rate || state.rate.is_some() { rate_in_words(state.rate) } else { "none".to_owned() }
    });
    shown("size", |steering| steering.state().size.clone());
    shown("state", |steering| (if steering.state().is_paused { "paused" } else { "sending" }).to_owned());
    shown("sent", |steering| steering.sent().to_string());
}

/// Tells `control` of a run that nothing can be changed of, and why.
pub fn refuse(control: &Control) {
    let why = "frames of this run are handed over far ahead, with their times, and the port keeps those: start another run";
    for words in ["set rate", "set size", "faster", "slower", "pause", "resume", "toggle", "mark"] {
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

    fn set_rate(&self, control: &Control, asked: &Asked<'_>) -> Answer {
        let pace = Pace::read(asked.rest)
            .map_err(|problem| format!("'{}' {problem}; write set rate 2M, 1gbit or 50%", asked.rest))?;
        let template = self.state().template.clone();
        match pace {
            Pace::Max => self.go_max(control, asked),
            _ => {
                let rate = source::rate(&pace, &template, self.line_bps)?;
                self.go_at(control, asked, rate.ok_or("a rate is a number: write set rate 2M")?)
            }
        }
    }

    /// Where each thread takes the next number as it gets to it (`max` of other ports), there is no point of
    /// the schedule at which due times could begin or end; a port that makes frames itself just goes on.
    fn go_max(&self, control: &Control, asked: &Asked<'_>) -> Answer {
        let mut state = self.state();
        if !state.may_go_max {
            return Err("this run has due times, which max has not; write set rate 2M, or start another run with --rate max".to_owned());
        }
        let change = control.change(Action::Max, asked.now)?;
        let before = state.rate.take();
        control.changed(change.at, "rate", &rate_in_words(before), "max", asked.by);
        Ok("rate max".to_owned())
    }

    fn step(&self, control: &Control, asked: &Asked<'_>, factor: f64) -> Answer {
        let rate = self.state().rate.ok_or_else(no_rate)?.as_per_second_f64();
        let next = rate * factor;
        let digit = 10f64.powf(next.log10().floor() - 2.0);
        let next = (next / digit).round() * digit;
        if !(SLOWEST..=FASTEST).contains(&next) {
            return Err("no further".to_owned());
        }
        let micro = (next * 1e6).round() as u64;
        self.go_at(control, asked, Rate::new(micro, Picos::from_secs(1_000_000)).ok_or("no further")?)
    }

    fn go_at(&self, control: &Control, asked: &Asked<'_>, rate: Rate) -> Answer {
        let mut state = self.state();
        if !state.has_rate {
            return Err(no_rate());
        }
        let change = control.change(Action::Rate(rate), asked.now)?;
        let before = state.rate.replace(rate);
        control.changed(change.at, "rate", &rate_in_words(before), &rate.to_string(), asked.by);
        Ok(format!("rate {rate}"))
    }

    fn set_size(&self, control: &Control, asked: &Asked<'_>) -> Answer {
        let size: usize = asked.rest.parse().map_err(|_| {
            format!("'{}' is no frame size; write set size 512 (bytes, FCS counted)", asked.rest)
        })?;
        let spec = self.spec.as_ref().ok_or("frames of a file have sizes of their own")?;
        let template = Arc::new(source::resized(spec, size, &self.about)?);
        self.sizes.keep(size, template.clone());
        let mut state = self.state();
        let change = control.change(Action::Size(size), asked.now)?;
        let before = std::mem::replace(&mut state.size, size.to_string());
        state.template = template;
        control.changed(change.at, "size", &before, &state.size, asked.by);
        Ok(format!("size {size}"))
    }

    fn pause(&self, control: &Control, asked: &Asked<'_>, is_paused: bool) -> Answer {
        let mut state = self.state();
        let word = |is_paused: bool| if is_paused { "paused" } else { "sending" };
        if state.is_paused == is_paused {
            return Err(format!("the run is {} already", word(is_paused)));
        }
        let change = control.change(if is_paused { Action::Pause } else { Action::Resume }, asked.now)?;
        state.is_paused = is_paused;
        control.changed(change.at, "state", word(!is_paused), word(is_paused), asked.by);
        Ok(word(is_paused).to_owned())
    }

    /// Everything that was due when the mark was set has left when this answers.
    fn mark(&self, control: &Control, asked: &Asked<'_>) -> Answer {
        let number = {
            let mut state = self.state();
            state.marks += 1;
            state.marks
        };
        let name = if asked.rest.is_empty() { number.to_string() } else { asked.rest.to_owned() };
        let until = asked.now + MARK;
        while !self.has_left(asked.now) {
            if self.clock.now() > until {
                return Err(format!("mark {name}: not all that was due has left within {MARK}"));
            }
            self.clock.sleep_until(self.clock.now() + Picos::from_millis(1));
        }
        let sent = self.sent();
        control.changed(asked.now, "mark", "", &format!("{name}: {sent} frames"), asked.by);
        Ok(format!("mark {name}: {sent} frames had left"))
    }

    fn has_left(&self, at: Instant) -> bool {
        let picos = at.since_epoch().as_picos();
        self.progress.iter().all(|progress| progress.through_picos.load(Ordering::Acquire) >= picos)
    }
}

fn no_rate() -> String {
    "this run has no rate that could be changed: its gaps are given one by one, or it goes as fast as it can and threads take \
     the next number as they get to it; start another run with --rate 2M"
        .to_owned()
}

pub fn rate_in_words(rate: Option<Rate>) -> String {
    rate.map_or_else(|| "max".to_owned(), |rate| rate.to_string())
}
