//! How exact the gaps of an FPGA module are, by Caliper's experiment: frames from its own generator, at each
//! rate.

mod tally;
mod wire;

use crate::WeighError;
use clock::{Deadline, Stopwatch};
use port::fpga::generator::{self, Even, Gap};
use port::fpga::registers::{BAD, GOOD, LATE, SENT};
use port::fpga::time::TICK_NS;
use port::fpga::{self, Module, SIMULATION};
use port::{Address, PortError};
use std::time::Duration;
use store::gap_bench::{GapBench, GapBin, GapHistogram, GapRow, GapTicks};
use wire::Wire;

/// Ticks that a byte takes on a wire of 1 Gb/s.
const TICKS_PER_BYTE: u64 = 1;
/// Preamble, delimiter and least gap.
const BETWEEN: u64 = 20;
pub const LINE_MBPS: u64 = 1_000;
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
        self.address.place() == SIMULATION
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
        let line = (self.size as u64 + BETWEEN) * TICKS_PER_BYTE;
        Gap::of(line * LINE_MBPS, mbps).ok_or_else(|| {
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
            let wire = Wire::new(gap, self.backload)?;
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
        while !generator::is_done(&module)? {
            std::thread::sleep(LOOK);
        }
        let received = self.received(&module)?;
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

    /// How many came back, when the last has.
    fn received(&self, module: &Module) -> Result<u64, PortError> {
        let until = Deadline::after(LAST);
        loop {
            let good = module.read(&GOOD)?;
            if self.backload || good >= u64::from(self.frames) || until.is_over() {
                return Ok(good);
            }
            std::thread::sleep(LOOK);
        }
    }
}
