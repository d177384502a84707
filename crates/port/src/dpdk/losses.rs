//! Frames that were lost: by the driver's count, and by the kernel's where the driver does not tell.

use super::DpdkPort;
use super::device::Device;
use super::eal::lock;
use super::sockets::Losing;
use crate::DropPlace;
use crate::interface::Interface;

/// A driver with ways of its own.
pub const AF_XDP: &str = "net_af_xdp";

impl DpdkPort {
    /// The losses of the whole device since the last time: the first queue that asks has them.
    pub(super) fn count_losses(&mut self) {
        let statistics = self.device().statistics();
        let mut counted = lock(&self.lease.device.counted);
        if self.receive.is_some() {
            let missed = statistics.missed + counted.sockets.iter_mut().map(Losing::lost).sum::<u64>();
            let missed = missed.saturating_sub(counted.missed);
            let failed = statistics.receive_errors + statistics.no_buffer;
            let failed = failed.saturating_sub(counted.failed);
            counted.missed += missed;
            counted.failed += failed;
            self.counters.drop(DropPlace::ReceiveRing, missed);
            self.counters.drop(DropPlace::ReceiveDriver, failed);
        }
        if self.transmit.is_some() {
            let mut errors = statistics.transmit_errors;
            if self.lease.device.driver == AF_XDP {
                // This driver counts what it hands back, and not what the kernel drops while it is called.
                errors = errors.saturating_sub(counted.handed_back)
                    + self.refused().saturating_sub(counted.refused);
            }
            let unsent = errors.saturating_sub(counted.unsent).min(self.counters.sent);
            counted.unsent += unsent;
            let place = if self.is_down { DropPlace::TransmitDown } else { DropPlace::TransmitDriver };
            self.counters.drop(place, unsent);
            // The driver does not tell which: they count as frames of the usual length.
            let bytes = u128::from(self.counters.sent_bytes) * u128::from(unsent);
            let bytes = bytes.checked_div(u128::from(self.counters.sent)).unwrap_or_default();
            self.counters.sent_bytes -= bytes as u64;
            self.counters.sent -= unsent;
        }
    }

    /// A driver may have left frames in its ring, for which the kernel had no room. Whether all have left by
    /// then.
    pub(super) fn empty_rings(&mut self, until_ns: u64) -> bool {
        if self.transmit.is_none() || !self.lease.device.is_af_packet() {
            return true;
        }
        while !lock(&self.lease.device.counted).sockets.iter().all(Losing::kick) {
            if clock::monotonic_ns() >= until_ns {
                // How many is not known: no more than the ring was given since it was empty.
                let some = (self.ring.untold() as u64).min(self.counters.sent);
                self.counters.drop(DropPlace::TransmitDriver, some);
                self.counters.sent -= some;
                return false;
            }
            std::thread::sleep(super::NAP);
        }
        true
    }

    /// Frames that were dropped on their way out of the interface, since it was made.
    fn refused(&self) -> u64 {
        refused_at(self.interface.as_ref())
    }
}

/// What may lie in the ring of `net_af_packet`. Its driver waits without end where the kernel does not take
/// what lies there: it is only called while there is room for certain.
#[derive(Debug)]
pub(super) struct Ring {
    /// `None` for other drivers.
    slots: Option<usize>,
    used: usize,
    /// Of these: counted as lost already.
    told: usize,
}

impl Ring {
    pub fn of(device: &Device) -> Self {
        Self { slots: device.is_af_packet().then(|| device.ring_slots()), used: 0, told: 0 }
    }

    /// What may lie there and is not counted as lost; it is from now on.
    fn untold(&mut self) -> usize {
        self.used - std::mem::replace(&mut self.told, self.used)
    }

    /// Frames that may be handed over now.
    #[inline]
    pub fn room(&mut self, device: &Device) -> usize {
        let Some(slots) = self.slots else { return usize::MAX };
        if self.used >= slots && lock(&device.counted).sockets.iter().all(Losing::kick) {
            (self.used, self.told) = (0, 0);
        }
        slots - self.used
    }

    #[inline]
    pub fn took(&mut self, count: usize) {
        if self.slots.is_some() {
            self.used += count;
        }
    }
}

/// Frames that an interface has dropped on their way out.
pub fn refused_at(interface: Option<&Interface>) -> u64 {
    interface.and_then(|interface| interface.statistics().ok()).map_or(0, |statistics| statistics.tx_dropped)
}
