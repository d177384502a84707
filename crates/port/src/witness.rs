//! A port whose frames somebody looks at, both ways, and changes nothing: what `record` and `trace` are.
//!
//! ```text
//!   engine ─ transmit ─► Watched ─► port behind
//!          ◄─ receive ──    │    ◄─
//!                           └─► Witness::saw(way, stamp, length, bytes)
//! ```

use crate::about::About;
use crate::{Counters, Departed, For, Frame, Instruction, Offload, OwnTime, Port, PortError, Slot};
use crate::{Stamp, StampClock};
use std::os::fd::BorrowedFd;
use units::Picos;

/// Which way a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    In,
    Out,
}

/// Who is shown every frame.
pub(crate) trait Witness: Send {
    /// A frame of `length` bytes, of which these are there. One that is sent is stamped when its batch is
    /// handed over (or, by a port with a time of its own, with the time at which it shall leave), one that is
    /// received as the port behind stamped it, or else when it is shown.
    fn saw(&mut self, way: Way, stamp: Stamp, length: usize, data: &[u8]);

    /// What went wrong since this was last asked: before each call of the port, also the first.
    fn trouble(&mut self) -> Result<(), PortError> {
        Ok(())
    }

    /// Sees to it that what was seen so far is kept.
    fn flush(&mut self) -> Result<(), PortError>;

    /// The last call; the totals of the port behind, if it still tells them.
    fn end(&mut self, totals: Option<&Counters>) {
        let _ = totals;
    }
}

pub(crate) struct Watched<W: Witness> {
    inner: Box<dyn Port>,
    about: About,
    witness: W,
    /// The port behind stamps by a clock of its own, with which this host's is not to be mixed.
    keeps_time: bool,
}

impl<W: Witness> Watched<W> {
    /// `about` is what this port says of itself.
    pub fn new(mut inner: Box<dyn Port>, about: About, witness: W) -> Self {
        let keeps_time = inner.own_time().is_ok_and(|time| time.is_some());
        Self { inner, about, witness, keeps_time }
    }

    /// By the clock of the port behind.
    fn now(&mut self) -> Result<Stamp, PortError> {
        let own = if self.keeps_time { self.inner.own_time()? } else { None };
        Ok(own.map_or_else(|| Stamp(clock::unix_ns()), |time| time.now))
    }
}

impl<W: Witness> Port for Watched<W> {
    fn about(&self) -> &About {
        &self.about
    }

    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        self.witness.trouble()?;
        let (now, witness, keeps_time) = (self.now()?, &mut self.witness, self.keeps_time);
        self.inner.transmit(most, &mut |slot| {
            write(slot);
            if slot.length > 0 && slot.length <= slot.data.len() {
                let stamp = if keeps_time { slot.launch.max(now) } else { now };
                witness.saw(Way::Out, stamp, slot.length, &slot.data[..slot.length]);
            }
        })
    }

    fn receive(&mut self, most: usize, read: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        self.witness.trouble()?;
        let witness = &mut self.witness;
        self.inner.receive(most, &mut |frame| {
            let now = || Stamp(clock::unix_ns());
            let stamp = if frame.stamp == Stamp::NONE { now() } else { frame.stamp };
            witness.saw(Way::In, stamp, frame.length, frame.data);
            read(frame);
        })
    }

    fn flush(&mut self, patience: Picos) -> Result<bool, PortError> {
        self.witness.trouble()?;
        let has_left = self.inner.flush(patience)?;
        self.witness.flush()?;
        Ok(has_left)
    }

    fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
        self.inner.wait(what, patience)
    }

    fn counters(&mut self) -> Result<&Counters, PortError> {
        self.inner.counters()
    }

    fn is_up(&mut self) -> bool {
        self.inner.is_up()
    }

    fn trouble(&mut self) -> Option<PortError> {
        self.inner.trouble()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.inner.descriptor()
    }

    fn filter(&mut self, program: &[Instruction]) -> Result<(), PortError> {
        self.inner.filter(program)
    }

    fn own_time(&mut self) -> Result<Option<OwnTime>, PortError> {
        self.inner.own_time()
    }

    fn stamp_clock(&mut self) -> Option<StampClock> {
        self.inner.stamp_clock()
    }

    fn stamp_step_ns(&mut self) -> f64 {
        self.inner.stamp_step_ns()
    }

    fn departed(&mut self, most: usize, read: &mut dyn FnMut(&Departed)) -> Result<usize, PortError> {
        self.inner.departed(most, read)
    }

    /// None: frames that are made behind this would not be seen.
    fn offload(&mut self) -> Option<&mut dyn Offload> {
        None
    }
}

impl<W: Witness> Drop for Watched<W> {
    fn drop(&mut self) {
        self.witness.end(self.inner.counters().ok());
    }
}
