//! Whether numbers are of one run. Who receives frames of other programs' runs does not know where those count
//! from, and two that count from 0 fill each other's gaps: losses vanish, and duplicates appear. A duplicate is
//! the same to the bit, so a number that comes again and was sent at another time is another run's. (When
//! frames are due tells nothing: with several queues, or as fast as possible, no time grows with the numbers.)

use super::window::Place;
use wire::Signature;

/// Of so many numbers, the first that comes keeps its time.
const BLOCK: u64 = 16;

#[derive(Debug)]
pub(super) struct SentTimes {
    /// Number and time, of each block of the window; a block that is older has the place of a newer one.
    blocks: Box<[(u64, u64)]>,
    last_block: u64,
    mixed: u64,
}

impl SentTimes {
    /// For the last `span` numbers.
    pub fn new(span: u64) -> Self {
        let blocks = (span / BLOCK).clamp(1, 1 << 16);
        Self { blocks: vec![(0, 0); blocks as usize].into(), last_block: u64::MAX, mixed: 0 }
    }

    /// Frames that were seen to be of another run than those before: one in [`BLOCK`] can be.
    pub const fn mixed(&self) -> u64 {
        self.mixed
    }

    #[inline]
    pub fn note(&mut self, place: Place, number: u64, signature: &Signature) {
        let block = number / BLOCK;
        let at = (block % self.blocks.len() as u64) as usize;
        match place {
            Place::Ahead if block != self.last_block => {
                self.last_block = block;
                self.blocks[at] = (number, signature.sent_unix_ns);
            }
            Place::Again => {
                let (known, sent) = self.blocks[at];
                self.mixed += u64::from(known == number && sent != signature.sent_unix_ns && sent > 0);
            }
            Place::Ahead | Place::Behind | Place::TooOld => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{GAP, START};
    use super::*;

    /// Frames that were sent at so many gaps behind the start, under these numbers.
    fn mixed(frames: impl IntoIterator<Item = (Place, u64, u64)>) -> u64 {
        let mut times = SentTimes::new(1 << 12);
        for (place, number, gaps) in frames {
            let sent_unix_ns = START + gaps * GAP;
            let frame = Signature { stream: 0, seq: number, due_unix_ns: sent_unix_ns, sent_unix_ns };
            times.note(place, number, &frame);
        }
        times.mixed()
    }

    #[test]
    fn what_comes_again_or_out_of_order_is_of_the_same_run() {
        let ahead = (0..300).map(|number| (Place::Ahead, number, number));
        let again = (0..300).map(|number| (Place::Again, number, number));
        assert_eq!(mixed(ahead.chain(again)), 0);
        // Two queues, of which the second is far behind, and sends when it can.
        let queues = (0..2_000).map(|number| match number % 2 {
            0 => (Place::Ahead, number, number),
            _ => (Place::Behind, number, 5_000 - number),
        });
        assert_eq!(mixed(queues), 0);
    }

    #[test]
    fn the_same_numbers_at_other_times_are_another_runs() {
        let ahead = (0..1_000).map(|number| (Place::Ahead, number, number));
        let again = (0..1_000).map(|number| (Place::Again, number, number + 1));
        assert_eq!(mixed(ahead.chain(again)), 1_000_u64.div_ceil(BLOCK));
        assert_eq!(mixed([(Place::Ahead, 0, 0), (Place::Again, 0, 700)]), 1);
    }
}
