//! Receives, counts and frees; keeps frames in files where asked; measures gaps.
//!
//! ```text
//! port ─ receive ─► filter ─► tally: sizes, flows, signatures, gaps ─► findings
//!                              └─► chunk ─► disk thread ─► files
//! ```
//!
//! A thread for each queue of the port. What is lost is counted where it was: by the card, the kernel, the
//! ring, the disk. `tare capture` and `tare gaps` are both this job, with other things to be found out.

mod chunk;
mod disk;
mod files;
mod findings;
mod program;
pub(crate) mod stamps;
mod tally;
mod thread;

#[cfg(test)]
mod tests;

pub use program::{Program, compile};

use crate::flows::Flows;
use crate::job::{Facts, Job, MakeRecorders, Running, is_late};
use crate::own_clock::OwnClock;
use crate::signed::{self, Signed};
use crate::{JobControl, PacketError};
use chunk::{CHUNK, Filler};
use clock::{Clock, HostClock};
use disk::Disk;
use files::Files;
use findings::Ended;
use measure::gap_meter::{GapMeter, Requested};
use port::pcap::bytes::Described;
use port::pcap::{Format, Rotation, Style, Writer, numbered};
use port::{Address, Counters, Direction, Port, PortError, PortKind, Stamp, StampedBy, Wish};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tally::{Here, Tally};
use thread::{Budget, Ending, Left, Receiving};
use units::{Instant, Picos};

/// What is captured, and what becomes of it.
#[derive(Clone, Debug)]
pub struct Settings {
    pub address: Address,
    pub queues: u32,
    /// Frames and time after which it ends, whichever is first.
    pub frames: Option<u64>,
    pub length: Option<Picos>,
    /// Bytes that are looked at and kept of each frame.
    pub snap: Option<usize>,
    pub filter: Option<Program>,
    pub file: Option<Keeping>,
    pub flows: bool,
    pub signatures: bool,
    /// Gaps are measured, against this; only with one queue.
    pub gaps: Option<Requested>,
}

/// Frames are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keeping {
    pub path: PathBuf,
    pub rotation: Rotation,
    /// Bytes that may wait for the disk.
    pub buffer: u64,
}

impl Settings {
    /// Everything that arrives is counted, and nothing kept.
    pub fn new(address: Address) -> Self {
        Self {
            address,
            queues: 1,
            frames: None,
            length: None,
            snap: None,
            filter: None,
            file: None,
            flows: true,
            signatures: true,
            gaps: None,
        }
    }
}

/// A capture that is ready to start: ports are open, and the file is made.
pub struct Capture {
    settings: Settings,
    clock: HostClock,
    queues: Vec<Queue>,
    files: Option<Files>,
    choices: Vec<(String, String, String)>,
    /// The time of a port that keeps its own.
    own: Option<OwnClock>,
    /// When the ports were there, also as the kernel's stamps have it: frames that have come since are counted,
    /// so rates are of the time since.
    opened: (Instant, Stamp),
}

/// One open queue, and where its frames are filtered.
struct Queue {
    port: Box<dyn Port>,
    /// Filtered here: all frames, or those that came before the port filtered.
    here: Option<Here>,
    /// What the port had counted when the capture began.
    before: Counters,
}

/// From this moment on, also as the kernel's stamps have it, frames are in the capture.
fn opened_now(queues: &mut [Queue], clock: &HostClock) -> (Instant, Stamp) {
    for queue in queues {
        queue.before = queue.port.counters().cloned().unwrap_or_default();
    }
    (clock.now(), Stamp(clock::unix_ns()))
}

/// Frames of one call that are let go of.
const FORGOTTEN: usize = 512;

/// Lets go of what waits in a port.
fn forget(port: &mut dyn Port) {
    let mut taken = 0;
    while taken < thread::LAST {
        match port.receive(FORGOTTEN, &mut |_| ()) {
            Ok(got @ 1..) => taken += got as u64,
            _ => break,
        }
    }
}

impl Capture {
    /// Opens the ports and the file. What arrives from now on is in the capture.
    ///
    /// # Errors
    /// What cannot be opened, and why.
    pub fn open(settings: Settings, clock: HostClock) -> Result<Self, PacketError> {
        one_order(&settings)?;
        let ports = (0..settings.queues).map(|queue| port::open(&settings.address, &wish(&settings, queue)));
        let ports = ports.collect::<Result<Vec<_>, _>>()?;
        Self::with_ports(settings, clock, ports)
    }

    /// Whether [`Self::open`] would fail, as far as that can be told without opening a port.
    ///
    /// # Errors
    /// What it would say.
    pub fn check(settings: &Settings) -> Result<(), PacketError> {
        one_order(settings)?;
        for queue in 0..settings.queues {
            port::check(&settings.address, &wish(settings, queue))?;
        }
        let Some(Keeping { path, rotation, .. }) = &settings.file else { return Ok(()) };
        let first = if rotation.is_off() { path.clone() } else { numbered(path, 1) };
        Ok(Writer::check(&first)?)
    }

    /// Whether frames of a file could be read, where they come from one that can be read again.
    ///
    /// # Errors
    /// What [`Self::open`] would say.
    pub fn check_file(settings: &Settings) -> Result<(), PacketError> {
        let innermost = settings.address.innermost();
        let path = Path::new(innermost.place());
        let is_once = path == Path::new("-") || std::fs::metadata(path).is_ok_and(|found| !found.is_file());
        match Self::is_file(&settings.address) && !is_once {
            true => Ok(port::check(&settings.address, &wish(settings, 0)).map(drop)?),
            false => Ok(()),
        }
    }

    /// The same with ports that are open already, one for each queue.
    ///
    /// # Errors
    /// If the file cannot be made, or a port fails.
    pub fn with_ports(
        settings: Settings,
        clock: HostClock,
        mut ports: Vec<Box<dyn Port>>,
    ) -> Result<Self, PacketError> {
        let own = ports.first_mut().map(|port| port.own_time()).transpose()?.flatten();
        let own = own.map(|own| OwnClock::new(&own, clock.now()));
        let mut choices = Vec::new();
        let mut queues = ports
            .into_iter()
            .map(|port| filtered(port, settings.filter.as_ref(), &mut choices))
            .collect::<Result<Vec<_>, _>>()?;
        choices.dedup();
        // Frames that come while filters are set pass some of them, and others not.
        let opened = opened_now(&mut queues, &clock);
        let interface = queues.first().and_then(|queue| queue.port.about().interface.clone());
        let files = settings.file.as_ref().map(|keeping| files(keeping, &settings, interface)).transpose()?;
        Ok(Self { settings, clock, queues, files, choices, own, opened })
    }
}

fn one_order(settings: &Settings) -> Result<(), PacketError> {
    if settings.gaps.is_some() && settings.queues > 1 {
        let what = "gaps need one queue: the order of frames between queues is unknown; leave out --queues";
        return Err(PacketError::Wrong(what.to_owned()));
    }
    Ok(())
}

fn wish(settings: &Settings, queue: u32) -> Wish {
    Wish {
        queue,
        queues: settings.queues,
        direction: Direction::Receive,
        snap: snap(settings),
        stamps: settings.file.is_some() || settings.gaps.is_some() || settings.signatures,
        one_interface: settings.gaps.is_some(),
        ..Wish::default()
    }
}

/// Gives the filter to the port if that can have one.
fn filtered(
    mut port: Box<dyn Port>,
    filter: Option<&Program>,
    choices: &mut Vec<(String, String, String)>,
) -> Result<Queue, PacketError> {
    let Some(program) = filter else { return Ok(Queue { port, here: None, before: Counters::default() }) };
    let mut choose = |chosen: &str, why: String| choices.push(("filter".to_owned(), chosen.to_owned(), why));
    if let Some(why) = only_here(program) {
        choose("here", why.to_owned());
        let here = Some(Here { program: program.clone(), until: Stamp::NONE });
        return Ok(Queue { port, here, before: Counters::default() });
    }
    let until = match port.filter(&program.instructions) {
        Ok(()) => {
            choose(
                "kernel",
                "the port filters before frames are copied; rejected frames are not counted".to_owned(),
            );
            Stamp(clock::unix_ns())
        }
        Err(PortError::Unable { .. }) => {
            choose("here", format!("{} has no filter of its own", port.about().kind));
            Stamp::NONE
        }
        Err(error) => return Err(error.into()),
    };
    let here = Some(Here { program: program.clone(), until });
    Ok(Queue { port, here, before: Counters::default() })
}

/// Why the kernel cannot filter by it.
fn only_here(program: &Program) -> Option<&'static str> {
    let of_tags = "it tests VLAN tags or bytes by offset, and the kernel keeps tags apart from the frame when it filters";
    let of_loops = "it follows a chain of headers (protochain), and the kernel runs no loops";
    let asks = program.asks_for_tags().then_some(of_tags);
    asks.or_else(|| program.has_loop().then_some(of_loops))
}

/// Of how much of each frame the port is asked: a filter that runs here sees all of it, as tcpdump's does.
fn snap(settings: &Settings) -> Option<usize> {
    let runs_here =
        |program: &Program| only_here(program).is_some() || settings.address.kind() != PortKind::Packet;
    settings.snap.filter(|_| !settings.filter.as_ref().is_some_and(runs_here))
}

fn files(keeping: &Keeping, settings: &Settings, interface: Option<String>) -> Result<Files, PacketError> {
    let described = Described {
        name: interface.unwrap_or_default(),
        filter: settings.filter.as_ref().map_or_else(String::new, |filter| filter.text.clone()),
        snap: settings.snap.map_or(0, |snap| u32::try_from(snap).unwrap_or(u32::MAX)),
    };
    let format = Style::of_name(&keeping.path).format;
    Ok(Files::create(&keeping.path, format, &described, keeping.rotation)?)
}

impl Job for Capture {
    fn facts(&self) -> Facts {
        let mut choices = self.choices.clone();
        let told = self.queues.first().map(|queue| queue.port.about().choices.clone()).unwrap_or_default();
        choices.extend(told.into_iter().map(|choice| (choice.what.to_owned(), choice.chosen, choice.why)));
        Facts {
            threads: self.queues.len(),
            // The length is by this host's clock, which a simulation's times do not go by.
            length: self.settings.length.filter(|_| !self.is_simulated()),
            time: self.own.as_ref().map(OwnClock::time),
            load: self.load(),
            target: self.settings.address.to_string(),
            choices,
            notes: self.notes(),
            ..Facts::default()
        }
    }

    fn start(
        self: Box<Self>,
        control: Arc<JobControl>,
        recorders: MakeRecorders<'_>,
    ) -> Result<Running, PacketError> {
        let Self { settings, clock, mut queues, files, own, mut opened, .. } = *self;
        let count = queues.len();
        let signed =
            settings.signatures.then(|| Arc::new(Mutex::new(Signed::new(signed::Settings::default()))));
        let chunks =
            settings.file.as_ref().map_or(0, |keeping| keeping.buffer as usize / CHUNK).max(2 * count);
        let (to_disk, from_threads) = chunk::way(chunks);
        let disk = match files {
            Some(mut files) => {
                files.begin()?;
                Some(Disk::start(files, from_threads, control.clone()).map_err(no_thread)?)
            }
            None => None,
        };
        if !Self::is_file(&settings.address) && is_late(opened.0, clock.now(), settings.length) {
            queues.iter_mut().for_each(|queue| forget(&mut *queue.port));
            opened = opened_now(&mut queues, &clock);
        }
        // What has been recorded goes by the times that it has.
        let (of_file, of_clock) = match Self::is_file(&settings.address) {
            true => (settings.length, None),
            false => (None, settings.length),
        };
        let ending = Ending {
            budget: settings.frames.map(|frames| Arc::new(Budget::new(frames))),
            at: of_clock.map(|length| opened.0 + length),
        };
        let left = Arc::new(Mutex::new(Vec::new()));
        let mut threads = Vec::with_capacity(count);
        let recorders = recorders(own.map_or(opened.0, |own| own.begin()));
        for (index, (queue, recorder)) in queues.into_iter().zip(recorders).enumerate() {
            let mut tally = Tally::new(index, signed.clone());
            (tally.filter, tally.length) = (queue.here, of_file);
            // Ports let frames in a few milliseconds before they are ready.
            let is_stamped = queue.port.about().can.stamps == Some(StampedBy::Driver);
            if is_stamped {
                tally.begun = opened.1;
            }
            tally.flows = settings.flows.then(Flows::default);
            tally.gaps = settings.gaps.clone().map(GapMeter::new);
            if disk.is_some() {
                let format =
                    settings.file.as_ref().map_or(Format::PcapNg, |k| Style::of_name(&k.path).format);
                let snap = settings.snap.unwrap_or(usize::MAX);
                let number = (count > 1).then_some(index as u32);
                let filler = Filler::new(format, snap, number, chunks / count, to_disk.clone());
                let is_file = Self::is_file(&settings.address);
                tally.file = Some(if is_file { filler.with_patience() } else { filler });
            }
            let rest = Left { port: queue.port, before: queue.before, tally, failure: None, was_down: false };
            let mut receiving = Receiving::new(rest, recorder, clock, control.clone(), ending.clone());
            receiving.own = own;
            receiving.stamped = is_stamped.then_some(opened);
            let left = left.clone();
            let thread = std::thread::Builder::new().name(format!("capture {index}")).spawn(move || {
                let mut done = receiving.run();
                // The disk thread ends when nobody can send to it any more.
                let unwritten = done.tally.file.take().map_or(0, |file| file.unwritten);
                if let Ok(mut left) = left.lock() {
                    left.push((index, done, unwritten));
                }
            });
            threads.push(thread.map_err(no_thread)?);
        }
        drop(to_disk);
        Ok(Running::new(threads, move || Ended { settings, left, disk, signed, control }.findings()))
    }
}

fn no_thread(error: std::io::Error) -> PacketError {
    PacketError::Port(PortError::System { what: "a thread cannot be started".to_owned(), error })
}

impl Capture {
    fn load(&self) -> String {
        let Settings { frames, length, filter, gaps, .. } = &self.settings;
        let what = match gaps {
            Some(Requested::Even(gap)) => format!("gaps, requested {gap}"),
            Some(Requested::Cycle(list)) => format!("gaps, requested by a list of {}", list.len()),
            Some(Requested::Due) => "gaps, requested by signatures".to_owned(),
            Some(Requested::Nothing) => "gaps".to_owned(),
            None => "capture".to_owned(),
        };
        let filter = filter.as_ref().map_or_else(String::new, |filter| format!(" of '{}'", filter.text));
        let frames = frames.map_or_else(String::new, |frames| format!(", {frames} frames"));
        // How long to listen is by this host's clock, also where frames come by another.
        let whose = if self.is_simulated() { " by this host's clock" } else { "" };
        let length = length.map_or_else(String::new, |length| format!(", {length}{whose}"));
        format!("{what}{filter}{frames}{length}")
    }

    fn is_simulated(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.time().simulated)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.settings.file.is_some() && self.queues.len() > 1 {
            notes.push(
                "frames of each queue are in order in the file; frames of different queues may not be \
                 (reordercap sorts them)"
                    .to_owned(),
            );
        }
        notes
    }

    /// Whether frames come from a file rather than from a wire.
    fn is_file(address: &Address) -> bool {
        address.innermost().kind() == PortKind::Pcap
    }
}
