//! For how long frames of one connection waited for room in the port: those that wait at the same time count
//! once.

use units::Instant;

/// Until when it has been counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoomWait(Instant);

impl RoomWait {
    /// A frame has left at `left` that had waited since then: since when that has not been counted.
    pub fn uncounted(&mut self, since: Instant, left: Instant) -> Instant {
        since.max(std::mem::replace(&mut self.0, left))
    }
}
