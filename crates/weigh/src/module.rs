//! How exact the gaps of an FPGA module are, by Caliper's experiment: frames from its own generator, at each
//! rate. Its load capability is weighed by [`packets`] and [`backload`].

pub mod backload;
mod departures;
pub mod packets;
mod simulated;
mod tally;
mod traffic;
mod wire;

use crate::WeighError;
use clock::{Deadline, Stopwatch};
use port::fpga::generator::{self, Even, Gap};
use port::fpga::registers::{BAD, GOOD, LATE, SENT};
use port::fpga::time::TICK_NS;
use port::fpga::{self, Module, SIMULATION};
use port::{Address, PortError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::gap_bench::{GapBench, GapBin, GapHistogram, GapRow, GapTicks};
use tally::Tally;
use traffic::Incoming;
use wire::{IN, OUT, Wire};

/// Ticks that a byte takes on a wire of 1 Gb/s.
const TICKS_PER_BYTE: u64 = 1;
/// Preamble, delimiter and least gap.
const BETWEEN: u64 = 20;
pub const LINE_MBPS: u64 = 1_000;
/// Bytes of the frames that come in meanwhile.
const BACKLOAD: usize = 64;
const LOOK: Duration = Duration::from_millis(20);
/// For frames that are on the wire to be received.
const LAST: Duration = Duration::from_secs(5);

/// What does not change from rate to rate.
pub struct Bench {
    pub address: Address,
    pub frames: u32,
    /// Bytes of a frame, with its FCS.
    pub size: usize,
    /// Frames of 64 bytes come in at line rate meanwhile: of a simulation only.
    pub backload: bool,
}

impl Bench {
    pub fn is_simulated(&self) -> bool {
        is_simulated(&self.address)
    }

    /// What came of these rates.
    pub fn of(&self, rates: Vec<GapRow>) -> GapBench {
        GapBench {
            port: self.address.to_string(),
            simulated: self.is_simulated(),
            frames: self.frames,
            size: self.size,
            backload: self.backload,
            tick_ns: TICK_NS,
            rates,
        }
    }

    /// A byte takes a tick, so that gap is what line rate needs, stretched.
    fn gap(&self, mbps: u64) -> Result<Gap, WeighError> {
        Gap::of(line_ticks(self.size) * LINE_MBPS, mbps).ok_or_else(|| {
            WeighError::Wrong(format!("--rates: {mbps} Mb/s needs a longer gap than the module has"))
        })
    }

    /// Sends the frames at one rate.
    ///
    /// # Errors
    /// The module cannot be reached, or frames are missing.
    pub fn rate(&self, mbps: u64) -> Result<GapRow, WeighError> {
        let gap = self.gap(mbps)?;
        let begun = Stopwatch::start();
        let mut row = GapRow {
            rate_mbps: mbps,
            gap_ns: gap.as_ticks() * TICK_NS as f64,
            gap_ticks: GapTicks { whole: gap.whole, numerator: gap.numerator, denominator: gap.denominator },
            late: 0,
            histogram: None,
            wire: None,
            wall_s: None,
        };
        if self.is_simulated() {
            let traffic = self.backload.then(|| Incoming::udp(BACKLOAD).at_line_rate());
            // At the other end of the cable, unless something else comes in there.
            let way = if self.backload { OUT } else { IN };
            let wire = Wire::new(traffic.as_deref(), Tally::new(gap), move |tally: &mut Tally, frame| {
                if frame.interface == way {
                    tally.began(frame.stamp.as_unix_nanos());
                }
            })?;
            let measured = self.measure(&wire.address(&self.address), gap, &mut row);
            let seen = wire.seen()?;
            measured?;
            if seen.frames() < u64::from(self.frames) {
                let (seen, all) = (seen.frames(), self.frames);
                return Err(WeighError::Wrong(format!(
                    "{}: the wire had {seen} of {all} frames",
                    self.address
                )));
            }
            row.wire = Some(seen.figures());
        } else {
            self.measure(&self.address, gap, &mut row)?;
        }
        row.wall_s = (!self.is_simulated()).then(|| begun.elapsed().as_secs_f64());
        Ok(row)
    }

    /// Sends the frames; the module is given back, and a simulation has ended, when this returns.
    fn measure(&self, address: &Address, gap: Gap, row: &mut GapRow) -> Result<(), WeighError> {
        let module = fpga::connect(address)?;
        module.stop()?;
        Even { size: self.size, frames: self.frames, gap }.begin(&module)?;
        until_done(&module, None)?;
        let received = if self.backload { 0 } else { received(&module, self.frames)? };
        let values = module.read_all(&[&SENT, &LATE, &BAD])?;
        if values[0] < u64::from(self.frames) {
            return Err(WeighError::Wrong(format!(
                "{address}: only {} of {} frames left the module",
                values[0], self.frames
            )));
        }
        row.late = values[1];
        if !self.backload {
            if received < u64::from(self.frames) {
                return Err(WeighError::Wrong(format!(
                    "{address}: {received} of {} frames came back, {} of them bad; connect its wire side to \
                     itself by a cable",
                    self.frames, values[2]
                )));
            }
            let gaps = u64::from(self.frames) - 1;
            let bins = generator::gap_histogram(&module, gaps)?;
            row.histogram = Some(GapHistogram {
                from_ticks: gap.whole,
                bins: bins
                    .into_iter()
                    .map(|bin| GapBin { ticks: bin.least, up_to_ticks: bin.greatest, gaps: bin.count })
                    .collect(),
            });
        }
        Ok(module.stop().map(drop)?)
    }
}

/// Whether a module is simulated, and its time with it.
pub fn is_simulated(address: &Address) -> bool {
    address.place() == SIMULATION
}

/// Ticks that a frame occupies a wire of 1 Gb/s, with what is between it and the next.
fn line_ticks(size: usize) -> u64 {
    (size as u64 + BETWEEN) * TICKS_PER_BYTE
}

/// Waits until the generator has made all frames, or somebody stops it.
fn until_done(module: &Module, stop: Option<&AtomicBool>) -> Result<(), WeighError> {
    while !generator::is_done(module)? {
        heed(stop)?;
        std::thread::sleep(LOOK);
    }
    Ok(())
}

fn heed(stop: Option<&AtomicBool>) -> Result<(), WeighError> {
    match stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
        true => Err(WeighError::Wrong("cut short".into())),
        false => Ok(()),
    }
}

/// How many came back, when the last of so many has.
fn received(module: &Module, frames: u32) -> Result<u64, PortError> {
    let until = Deadline::after(LAST);
    loop {
        let good = module.read(&GOOD)?;
        if good >= u64::from(frames) || until.is_over() {
            return Ok(good);
        }
        std::thread::sleep(LOOK);
    }
}
