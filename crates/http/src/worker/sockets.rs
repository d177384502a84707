//! Ready sockets, in the order in which the loop serves them.
//!
//! Sockets in a TLS handshake come last and one in each turn: their arithmetic takes longer than all the rest.

use crate::connection::Stage;
use crate::io::{Driver, Ready, jiffy};
use crate::worker::slots::Slots;
use units::Picos;

/// Bytes read at once.
const READ: usize = 64 * 1024;

/// See the module.
pub(crate) struct Sockets<D> {
    pub(crate) driver: D,
    buffer: Box<[u8]>,
    /// A handshake was served in the last turn: there may be another.
    handshakes: bool,
    /// The unit in which the kernel measures [`Driver::busy`].
    pub(crate) jiffy: Picos,
}

impl<D: Driver> Sockets<D> {
    pub(crate) fn new(driver: D, throttle: Option<u64>) -> Self {
        let read = throttle.map_or(READ, |limit| (limit as usize / 10).clamp(64, READ));
        Self { driver, buffer: vec![0; read].into(), handshakes: false, jiffy: jiffy() }
    }

    /// The next that is in no handshake.
    pub(crate) fn next(&mut self, slots: &Slots) -> Option<(u32, Ready)> {
        let is_in_handshake =
            |slot| slots.peek(slot).is_some_and(|place| place.connection.stage() == Stage::Handshake);
        self.driver.next(&mut self.buffer, |slot| !is_in_handshake(slot))
    }

    /// Once a turn, when the others have been served: the next, whatever it is in.
    pub(crate) fn next_in_handshake(&mut self) -> Option<(u32, Ready)> {
        let next = self.driver.next(&mut self.buffer, |_| true);
        self.handshakes = next.is_some();
        next
    }

    /// Whether sockets may be ready that the last turn did not come to.
    pub(crate) fn may_have_more(&self) -> bool {
        self.handshakes
    }

    /// The bytes that the last [`Ready::Data`] brought.
    pub(crate) fn bytes(&self, length: usize) -> &[u8] {
        &self.buffer[..length]
    }
}
