//! Frames from one device to another in the buffers that they came in.

use super::layout::Mbuf;
use super::{BATCH, DpdkPort, pool};
use crate::{Passed, PortError};

impl DpdkPort {
    /// See [`crate::Port::pass_on`]. `None` where the other's driver asks for buffers of its own pool.
    pub(super) fn pass_on_to(&mut self, to: &mut Self, most: usize) -> Option<Result<Passed, PortError>> {
        if self.receive.is_none() || to.transmit.is_none() || to.lease.device.wants_own_buffers {
            return None;
        }
        Some(self.pass(to, most))
    }

    fn pass(&mut self, to: &mut Self, most: usize) -> Result<Passed, PortError> {
        match to.check_link() {
            Ok(()) => {}
            Err(PortError::Down { .. }) => return Ok(self.give_up(most)),
            Err(error) => return Err(error),
        }
        if !to.push() {
            to.counters.full += 1;
            return Ok(Passed::default());
        }
        let count = self.pull(most).min(most).min(BATCH);
        if count == 0 {
            self.look(false);
            return match self.is_down.then(|| crate::Port::trouble(self)).flatten() {
                Some(gone @ PortError::Gone { .. }) => Err(gone),
                _ => Ok(Passed::default()),
            };
        }
        to.lease.device.host(&self.lease.device);
        let mut passed = Passed { arrived: count as u64, ..Passed::default() };
        let mut bytes = 0;
        for at in self.arrived_from..self.arrived_from + count {
            let buffer = self.arrived[at];
            // SAFETY: a buffer that the driver has filled and handed over.
            let head = unsafe { &mut *buffer };
            bytes += u64::from(head.packet_bytes);
            let is_cut = head.packet_bytes as usize >= self.lease.device.kept;
            if is_cut || head.packet_bytes as usize > to.longest {
                passed.too_long += 1;
                pool::free(self.lease.device.eal, &mut [buffer]);
                continue;
            }
            head.forget_arrival();
            passed.forwarded_bytes += u64::from(head.packet_bytes);
            to.waiting[to.waiting_to] = buffer;
            to.waiting_to += 1;
        }
        passed.forwarded = passed.arrived - passed.too_long;
        self.arrived_from += count;
        self.counters.calls += 1;
        self.counters.received += count as u64;
        self.counters.received_bytes += bytes;
        to.waiting_bytes += passed.forwarded_bytes;
        to.push();
        Ok(passed)
    }
}

impl DpdkPort {
    /// Takes what has arrived for a port without a link: nobody knows when it comes up again.
    #[cold]
    fn give_up(&mut self, most: usize) -> Passed {
        let count = self.pull(most).min(most).min(BATCH);
        let gone = &mut self.arrived[self.arrived_from..self.arrived_from + count];
        // SAFETY: buffers that the driver has filled and handed over.
        let bytes: u64 = gone.iter().map(|buffer| u64::from(unsafe { (**buffer).packet_bytes })).sum();
        pool::free(self.lease.device.eal, gone);
        self.arrived_from += count;
        self.counters.received += count as u64;
        self.counters.received_bytes += bytes;
        Passed { arrived: count as u64, down: count as u64, ..Passed::default() }
    }
}

impl Mbuf {
    /// What a driver says of a frame that arrived is nothing that one who sends it shall do.
    #[inline]
    fn forget_arrival(&mut self) {
        self.flags &= Self::BORROWED;
        self.transmit_offload = 0;
    }
}
