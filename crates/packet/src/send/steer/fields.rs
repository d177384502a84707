//! `set FIELD=VALUE …`: other frames and other rates, of one stream or of several, from one frame on.
//!
//! ```text
//! orders ─► fields ─ edited, addresses, lengths ─► Template ┐
//!        └► rates ─────────────────────────────────────────┴► change_all: one time for everything, or nothing
//! ```
//!
//! All of it is made here, on the thread of the control socket: threads that send only take the finished
//! template.

use super::order::Order;
use super::{State, Steering, rate_in_words};
use crate::control::{Answer, ControlCommand, JobControl};
use crate::send::answer::{self, Known, LinkAddresses};
use crate::send::{socket, source, words};
use clock::Clock;
use plan::packets::frames::{FrameEdit, FrameSource, Frames};
use plan::packets::send::{Lengths, Pace};
use schedule::{Action, LoadChange};
use std::sync::Arc;
use units::Rate;
use wire::Template;
use wire::template::{Layer, Spec};

/// What the frames of a run are made of, now.
#[derive(Clone, Debug)]
pub struct Made {
    pub frames: Frames,
    /// With addresses of Ethernet and lengths.
    pub spec: Spec,
    pub lengths: Lengths,
    /// Streams whose frames have had a size of their own since, whatever the lengths say.
    pub sized: Vec<bool>,
    pub known: Known,
}

/// A field as the result tells of it.
struct Told {
    what: String,
    from: String,
    to: String,
}

impl Steering {
    pub(super) fn set(&self, control: &JobControl, asked: &ControlCommand<'_>) -> Answer {
        self.carry_out(control, asked, &super::order::read(asked.rest, &self.names)?)
    }

    pub(super) fn set_size(&self, control: &JobControl, asked: &ControlCommand<'_>) -> Answer {
        let order = Order { stream: None, key: "size".to_owned(), value: asked.rest.replace(' ', "") };
        if order.value.is_empty() {
            return Err("'' is not a frame size; write set size 512 (bytes with FCS)".to_owned());
        }
        self.carry_out(control, asked, &[order])
    }

    fn carry_out(&self, control: &JobControl, asked: &ControlCommand<'_>, orders: &[Order]) -> Answer {
        self.is_under_way(control, asked.now)?;
        let (rates, fields): (Vec<&Order>, Vec<&Order>) =
            orders.iter().partition(|order| order.key == "rate");
        self.find_addresses(&fields)?;
        let mut state = self.state();
        // Asking took its time.
        let now = asked.now.max(self.clock.now());
        self.is_under_way(control, now)?;
        let made = if fields.is_empty() { None } else { Some(self.made(&state, &fields)?) };
        let template = made.as_ref().map_or(&state.template, |(_, template)| template);
        let spec = made.as_ref().map(|(made, _)| &made.spec).or(state.made.as_ref().map(|made| &made.spec));
        let rates = rates.iter().map(|order| self.rates(&state, order, template, spec));
        let rates: Vec<Rates> = rates.collect::<Result<Vec<_>, String>>()?;
        // Headers that are longer make frames longer that had no more room.
        let grown = made
            .as_ref()
            .map(|(_, template)| words::sizes(template))
            .filter(|size| *size != state.size && fields.iter().all(|order| order.key != "size"));
        let grown = grown.map(|to| Told { what: "size".to_owned(), from: state.size.clone(), to });
        // Nothing can be wrong from here on but that there were too many changes.
        control.room_for(orders.len() + usize::from(grown.is_some()))?;
        let told = fields.iter().map(|order| self.told(&state, order)).chain(grown);
        let told: Vec<Told> = told.collect();
        let look = made.as_ref().map(|(_, template)| Action::Look(self.prepared.keep(template.clone())));
        let actions: Vec<Action> =
            look.into_iter().chain(rates.iter().flat_map(|rates| rates.actions.clone())).collect();
        let changes = control.change_all(&actions, now)?;
        let Some(first) = changes.first() else { return Err("no field is set".to_owned()) };
        let told = told.into_iter().chain(rates.iter().map(|rates| rates.told(&state)));
        let said = told.map(|told| tell(control, first, told, asked)).collect::<Vec<_>>().join(", ");
        for rates in rates {
            rates.keep(&mut state);
        }
        if let Some((made, template)) = made {
            state.size = words::sizes(&template);
            (state.made, state.template) = (Some(made), template);
        }
        Ok(said)
    }

    /// Asks for hardware addresses that these fields need, while others may pause the run or change it.
    fn find_addresses(&self, orders: &[&Order]) -> Result<(), String> {
        let Some(mut made) = self.state().made.clone().filter(|_| !orders.is_empty()) else { return Ok(()) };
        self.edit(&mut made, orders)?;
        self.resolve(&mut made)?;
        if let Some(now) = &mut self.state().made {
            now.known.extend(made.known);
        }
        Ok(())
    }

    fn resolve(&self, made: &mut Made) -> Result<LinkAddresses, String> {
        answer::addresses(&made.frames, &self.about, self.clock, &mut made.known, "dst-mac=")
            .map_err(|error| error.to_string())
    }

    /// The frames with these fields.
    fn made(&self, state: &State, orders: &[&Order]) -> Result<(Made, Arc<Template>), String> {
        let made = state.made.as_ref().ok_or(
            "frames of a file keep their fields and sizes; start another run with --vary, or with generated \
             frames",
        )?;
        let mut made = made.clone();
        self.edit(&mut made, orders)?;
        for order in orders.iter().filter(|order| order.key == "size") {
            let mut sized = made.sized.iter_mut().enumerate();
            sized
                .by_ref()
                .filter(|(n, _)| order.stream.is_none_or(|s| s == *n))
                .for_each(|(_, it)| *it = true);
        }
        let found = self.resolve(&mut made)?;
        let mut filled = made.frames.clone();
        filled.fill_macs(|stream| (found.source, found.destinations.get(stream).copied().flatten()));
        let FrameSource::Made { spec, .. } = filled.source() else {
            return Err("frames of a file keep their fields".to_owned());
        };
        made.spec = spec.clone();
        source::set_lengths(&mut made.spec, &made.lengths, |stream| !made.sized[stream])
            .map_err(|error| error.to_string())?;
        let template = Template::build(&made.spec).map_err(|error| error.to_string())?;
        match source::too_long_for(&template, &self.about) {
            Some(problem) => Err(problem),
            None => Ok((made, Arc::new(template))),
        }
    }

    fn edit(&self, made: &mut Made, orders: &[&Order]) -> Result<(), String> {
        if let Some(order) = orders.iter().find(|order| !self.takes(&order.key)) {
            return Err(self.refusal(&order.key));
        }
        let edits: Vec<FrameEdit> = orders
            .iter()
            .map(|order| FrameEdit {
                stream: order.stream,
                key: order.key.clone(),
                value: order.value.clone(),
            })
            .collect();
        made.frames = made.frames.edited(&edits, &self.names)?;
        Ok(())
    }

    /// Whether the port can change a field while it sends.
    fn takes(&self, key: &str) -> bool {
        match self.about.kind {
            "live" => key == "size",
            "udp" => socket::sends(key),
            _ => true,
        }
    }

    fn refusal(&self, key: &str) -> String {
        let port = &self.about.name;
        match self.about.kind {
            "udp" => format!(
                "{}; rate, size and payload can be changed, or start another run over packet: or xdp:",
                socket::refusal(key, port)
            ),
            _ => format!(
                "{key}: {port} makes its frames in the kernel, by a program for these fields; rate and size can be \
                 changed, or start another run over packet: or xdp:"
            ),
        }
    }

    fn rates(
        &self,
        state: &State,
        order: &Order,
        template: &Template,
        spec: Option<&Spec>,
    ) -> Result<Rates, String> {
        let wrong = |problem: String| {
            format!("rate: '{}' {problem}; write rate=2M, rate=1gbit or rate=50%", order.value)
        };
        let pace = Pace::read(&order.value).map_err(wrong)?;
        if pace == Pace::Max {
            return Err("rate: max cannot be set together with fields, or for a stream; write set rate max"
                .to_owned());
        }
        let exact = |template: &Template| {
            let rate = self.rate(&pace, template)?;
            rate.ok_or_else(|| "a rate is a number: write rate=2M".to_owned())
        };
        let typed = order.value.clone();
        if state.rates.is_empty() {
            return match order.stream {
                _ if !state.has_rate => Err(self.no_rate()),
                Some(_) => {
                    Err("rate: the streams of this run share one rate by their weights; write set rate=2k \
                                without stream="
                        .to_owned())
                }
                None => {
                    let rate = exact(template)?;
                    Ok(Rates {
                        of: vec![(None, rate)],
                        actions: vec![Action::Rate(rate)],
                        names: None,
                        typed,
                    })
                }
            };
        }
        let Some(spec) = spec else { return Err(self.no_rate()) };
        let streams = (0..state.rates.len()).filter(|stream| order.stream.is_none_or(|only| only == *stream));
        let (mut of, mut actions) = (Vec::new(), Vec::new());
        for stream in streams {
            let name = &self.names[stream];
            if state.rates[stream].is_none() {
                return Err(format!(
                    "{name}: rate: the load of this stream has a shape instead of a rate; start another run with another shape"
                ));
            }
            let alone = Spec { streams: vec![spec.streams[stream].clone()], seed: spec.seed };
            let alone = Template::build(&alone).map_err(|error| format!("{name}: {error}"))?;
            let rate = exact(&alone).map_err(|error| format!("{name}: rate: {error}"))?;
            of.push((Some(stream), rate));
            actions.push(Action::RateOf { stream: stream as u32, rate });
        }
        let names = order.stream.map(|stream| self.names[stream].clone());
        Ok(Rates { of, actions, names, typed })
    }

    /// What was there before, for the result.
    fn told(&self, state: &State, order: &Order) -> Told {
        let what = match order.stream {
            Some(stream) => format!("{} {}", self.names[stream], order.key),
            None => order.key.clone(),
        };
        let streams = (0..self.names.len().max(1)).filter(|it| order.stream.is_none_or(|only| only == *it));
        let mut before: Vec<String> = streams.map(|stream| self.before(state, stream, &order.key)).collect();
        before.dedup();
        let from = if before.len() == 1 { before.remove(0) } else { "various".to_owned() };
        Told { what, from, to: order.value.clone() }
    }

    fn before(&self, state: &State, stream: usize, key: &str) -> String {
        let Some(made) = &state.made else { return String::new() };
        let typed = made.frames.typed(stream, key);
        match (typed, made.spec.streams.get(stream).and_then(|stream| stream.layers.first())) {
            (Some(typed), _) if key != "size" => typed,
            (None, Some(Layer::Ethernet { source, .. })) if key == "src-mac" => source.to_string(),
            (None, Some(Layer::Ethernet { destination, .. })) if key == "dst-mac" => destination.to_string(),
            (Some(typed), _) if made.sized.get(stream) == Some(&true) || made.lengths == Lengths::Frames => {
                typed
            }
            _ if key == "size" => state.size.clone(),
            _ => "none".to_owned(),
        }
    }
}

/// Rates that one order sets.
struct Rates {
    of: Vec<(Option<usize>, Rate)>,
    actions: Vec<Action>,
    /// The stream's name, where one was named.
    names: Option<String>,
    typed: String,
}

impl Rates {
    fn told(&self, state: &State) -> Told {
        let what = self.names.as_ref().map_or_else(|| "rate".to_owned(), |name| format!("{name} rate"));
        let before = |stream: &Option<usize>| match stream {
            Some(stream) => rate_in_words(state.rates[*stream]),
            None => rate_in_words(state.rate),
        };
        let mut from: Vec<String> = self.of.iter().map(|(stream, _)| before(stream)).collect();
        from.dedup();
        let from = if from.len() == 1 { from.remove(0) } else { "various".to_owned() };
        let mut to: Vec<String> = self.of.iter().map(|(_, rate)| rate.to_string()).collect();
        to.dedup();
        let to = if to.len() == 1 { to.remove(0) } else { self.typed.clone() };
        Told { what, from, to }
    }

    fn keep(self, state: &mut State) {
        for (stream, rate) in self.of {
            match stream {
                Some(stream) => state.rates[stream] = Some(rate),
                None => state.rate = Some(rate),
            }
        }
    }
}

fn tell(control: &JobControl, change: &LoadChange, told: Told, asked: &ControlCommand<'_>) -> String {
    let Told { what, from, to } = told;
    control.changed_load(change, &what, &from, &to, asked.by);
    format!("{what} {to}")
}
