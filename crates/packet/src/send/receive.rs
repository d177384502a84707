//! A thread that receives what was sent, and says what arrived: loss, duplicates, order, one-way times, gaps.

use super::outlet::report;
use crate::capture::stamps::{Origin, Resolution, reading_ns, stamping};
use crate::control::Control;
use crate::signed::{Mark, Settings, Signed};
use clock::{Clock, HostClock};
use measure::gap_meter::{GapMeter, Requested};
use measure::packets::{GapReport, PortReport, ReceivedReport};
use port::{For, Port, PortError};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use units::Picos;

/// How long frames may be under way after the last has left.
const PATIENCE: Picos = Picos::from_millis(300);
/// No frame for so long after the last has left: none will come.
const QUIET: Picos = Picos::from_millis(100);
const WAIT: Picos = Picos::from_millis(5);
/// How often, [`WAIT`] apart, it is asked how many left, where the way ended before that was told.
const ASKS: u32 = 200;
const BATCH: usize = 256;

/// What arrived.
#[derive(Clone, Debug, Default)]
pub struct Arrived {
    pub report: ReceivedReport,
    /// Frames with signatures were sent: that none arrived is to be told, too.
    pub is_signed: bool,
    pub gaps: Option<GapReport>,
    /// Numbers below the highest whose departures were given up: they are not lost.
    pub never_left: u64,
    pub port: PortReport,
    /// Why receiving ended early.
    pub failure: Option<String>,
}

/// What the receiver is told by those who send.
#[derive(Debug, Default)]
pub struct Sent {
    is_over: AtomicBool,
    /// Frames that were numbered.
    frames: AtomicU64,
    /// Of these, departures that were given up.
    never_left: AtomicU64,
}

impl Sent {
    /// All have left; so many had numbers, and of them so many never left.
    pub fn end(&self, frames: u64, never_left: u64) {
        self.never_left.store(never_left, Ordering::Release);
        self.frames.store(frames, Ordering::Release);
        self.is_over.store(true, Ordering::Release);
    }

    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// How frames are looked at.
pub struct Reading {
    /// Gaps that were asked for, where frames do not say when they were due.
    pub requested: Requested,
    pub is_signed: bool,
}

/// Starts to receive; nothing was sent yet.
pub fn start(
    mut port: Box<dyn Port>,
    reading: Reading,
    clock: HostClock,
    control: Arc<Control>,
    sent: Arc<Sent>,
    found: Arc<Mutex<Arrived>>,
) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("tare-receive".to_owned()).spawn(move || {
        let mut receiver = Receiver::new(&reading);
        // Where the sender's end closes with the run, there is nothing more to come.
        let failure = match receiver.run(&mut *port, clock, &control, &sent) {
            Ok(()) | Err(PortError::Over { .. }) => None,
            Err(error) => Some(error.to_string()),
        };
        // A way that closes behind the last frame does so before those who sent have counted.
        for _ in 0..ASKS {
            if sent.is_over() {
                break;
            }
            std::thread::sleep(WAIT.as_std());
        }
        let arrived = receiver.finish(&mut *port, &sent, failure);
        if let Ok(mut found) = found.lock() {
            *found = arrived;
        }
    })
}

struct Receiver {
    signed: Signed,
    gaps: GapMeter,
    is_signed: bool,
    resolution: Resolution,
    reading_ns: f64,
    frames: u64,
}

impl Receiver {
    fn new(reading: &Reading) -> Self {
        let requested = if reading.is_signed { Requested::Due } else { reading.requested.clone() };
        Self {
            signed: Signed::new(Settings { from: Some(0), ..Settings::default() }),
            gaps: GapMeter::new(requested),
            is_signed: reading.is_signed,
            resolution: Resolution::default(),
            reading_ns: reading_ns(),
            frames: 0,
        }
    }

    fn run(
        &mut self,
        port: &mut dyn Port,
        clock: HostClock,
        control: &Control,
        sent: &Sent,
    ) -> Result<(), PortError> {
        let (mut last_seen, mut ended) = (clock.now(), None);
        loop {
            let count = self.take(port)?;
            let now = clock.now();
            if count > 0 {
                last_seen = now;
            }
            if sent.is_over() || control.stops() {
                let since = *ended.get_or_insert(now);
                let is_quiet = now.since(last_seen.max(since)) > QUIET;
                if now.since(since) > PATIENCE || is_quiet {
                    return Ok(());
                }
            }
            if count == 0 {
                port.wait(For::Receive, WAIT)?;
            }
        }
    }

    fn take(&mut self, port: &mut dyn Port) -> Result<usize, PortError> {
        let Self { signed, gaps, is_signed, frames, resolution, .. } = self;
        port.receive(BATCH, &mut |frame| {
            let mark = signed.frame(frame);
            let stamp = frame.stamp.as_unix_nanos();
            if *is_signed {
                // Others' frames on the same link are no part of the load.
                let (Mark::Signed(signature) | Mark::Broken(signature, _)) = mark else { return };
                gaps.arrived_due(stamp, signature.due_unix_ns);
            } else {
                gaps.arrived(stamp);
            }
            resolution.see(frame.stamp);
            *frames += 1;
        })
    }

    fn finish(mut self, port: &mut dyn Port, sent: &Sent, failure: Option<String>) -> Arrived {
        let numbered = sent.frames.load(Ordering::Acquire);
        self.signed.finish(self.is_signed.then_some(numbered));
        let about = port.about().clone();
        let stamps = about.can.stamps;
        let stamping = stamping(&about.name, Origin::of(&about), self.resolution, self.reading_ns);
        let gaps = (stamps.is_some() && self.gaps.count() > 0).then(|| self.gaps.report(&stamping));
        let is_signed = self.is_signed && numbered > 0;
        let (mut found, never_left) = (self.signed.report(), sent.never_left.load(Ordering::Acquire));
        found.lost = found.lost.saturating_sub(never_left);
        if let [only] = found.streams.as_mut_slice() {
            only.lost = found.lost;
        }
        let port = report("in", port, 0, 0);
        Arrived { report: found, is_signed, gaps, never_left, port, failure }
    }
}
