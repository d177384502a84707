//! How far the port has been read.
//!
//! ```text
//!   this thread  look ──── look ─────── stopped ──────── timers │ look
//!   ACK                              │                          └ finds it, 300 ms after it came
//! ```
//!
//! A kernel takes what arrives at once. Here an acknowledgment lies in the port's ring until this thread looks,
//! so a timer says nothing of the peer before everything has been taken that had come by its time.

use units::Instant;

/// Frames after which the ring counts as read, though no look found its end: no port's ring holds more, unless
/// it is asked to. So timers run where more comes than is taken.
const MOST_BEHIND: usize = 16_384;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Looks {
    read: Instant,
    /// Looks since then that brought all they asked for: when the first of them was, and their frames.
    behind: Option<(Instant, usize)>,
}

impl Looks {
    pub const fn new(now: Instant) -> Self {
        Self { read: now, behind: None }
    }

    /// A look at `now` brought `count` frames of `most` that it asked for. (A port may only say how much lay
    /// there at the first of several looks, so that is the time that counts.)
    pub fn took(&mut self, count: usize, most: usize, now: Instant) {
        let (since, before) = self.behind.unwrap_or((now, 0));
        let taken = before + count;
        self.behind = Some((since, taken));
        if count < most || taken >= MOST_BEHIND {
            (self.read, self.behind) = (self.read.max(since), None);
        }
    }

    /// What had come by this instant has been taken.
    pub const fn read_until(&self) -> Instant {
        self.read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Picos;

    fn at(ms: u64) -> Instant {
        Instant::EPOCH + Picos::from_millis(ms)
    }

    #[test]
    fn the_ring_is_read_when_a_look_finds_its_end() {
        let mut looks = Looks::new(at(5));
        looks.took(3, 4, at(10));
        assert_eq!(looks.read_until(), at(10));
        // The last of these may have brought what lay there at the first.
        for ms in [20, 21, 22] {
            looks.took(4, 4, at(ms));
            assert_eq!(looks.read_until(), at(10));
        }
        looks.took(0, 4, at(23));
        assert_eq!(looks.read_until(), at(20));
        looks.took(0, 4, at(24));
        assert_eq!(looks.read_until(), at(24));
    }

    #[test]
    fn a_ring_that_never_ends_is_read_after_as_many_frames_as_it_holds() {
        let mut looks = Looks::new(at(0));
        let full = MOST_BEHIND / 256;
        (0..full as u64 - 1).for_each(|ms| looks.took(256, 256, at(100 + ms)));
        assert_eq!(looks.read_until(), at(0));
        looks.took(256, 256, at(200));
        assert_eq!(looks.read_until(), at(100));
        (0..full as u64).for_each(|ms| looks.took(256, 256, at(300 + ms)));
        assert_eq!(looks.read_until(), at(300));
    }
}
