//! Whether numbers are of one run. Who receives frames of other programs' runs does not know where those count
//! from, and two that count from 0 fill each other's gaps: losses vanish, and duplicates appear. In one run the
//! due times grow with the numbers, so a number behind the highest that is due before a lower one, or after a
//! higher one, is another run's.

use super::window::Place;
use wire::Signature;

/// The first number of so many keeps its due time.
const BLOCK: u64 = 64;
/// Due times are told by this much at most, and to a part in 2048 of what the frame was late.
const ERROR_NS: u64 = 1_000;
/// The FPGA module does not tell a longer lateness, so that a due time is not known.
const LATEST_NS: u64 = 0xffff * wire::signature::MODULE_TICK_NS;

/// When a frame was due, to within an error.
#[derive(Clone, Copy, Debug, Default)]
struct Due {
    number: u64,
    unix_ns: u64,
    error_ns: u64,
}

impl Due {
    fn of(number: u64, signature: &Signature) -> Option<Self> {
        let late = signature.sent_unix_ns - signature.due_unix_ns.min(signature.sent_unix_ns);
        let is_known = late != LATEST_NS;
        is_known.then_some(Self { number, unix_ns: signature.due_unix_ns, error_ns: ERROR_NS + late / 1_024 })
    }

    /// Both cannot be of one run.
    fn contradicts(&self, other: &Self) -> bool {
        let error = self.error_ns + other.error_ns;
        let (first, then) = if self.number <= other.number { (self, other) } else { (other, self) };
        let is_same = self.number == other.number;
        first.unix_ns > then.unix_ns + error || is_same && then.unix_ns > first.unix_ns + error
    }
}

#[derive(Debug)]
pub(super) struct DueTimes {
    /// Of each block of the window; a block that is older has the place of a newer one.
    blocks: Box<[Due]>,
    last_block: u64,
    /// The highest number's.
    highest: Due,
    mixed: u64,
}

impl DueTimes {
    /// For the last `span` numbers.
    pub fn new(span: u64) -> Self {
        let blocks = (span / BLOCK).clamp(1, 1 << 16);
        Self {
            blocks: vec![Due::default(); blocks as usize].into(),
            last_block: u64::MAX,
            highest: Due::default(),
            mixed: 0,
        }
    }

    /// Frames that were of another run than those around them.
    pub const fn mixed(&self) -> u64 {
        self.mixed
    }

    #[inline]
    pub fn note(&mut self, place: Place, number: u64, signature: &Signature) {
        let Some(due) = Due::of(number, signature) else { return };
        match place {
            Place::Ahead => {
                self.highest = due;
                let block = number / BLOCK;
                if block != self.last_block {
                    self.last_block = block;
                    let at = self.at(block);
                    self.blocks[at] = due;
                }
            }
            Place::Behind | Place::Again => self.mixed += u64::from(self.is_mixed(&due)),
            Place::TooOld => {}
        }
    }

    fn at(&self, block: u64) -> usize {
        (block % self.blocks.len() as u64) as usize
    }

    #[cold]
    fn is_mixed(&self, due: &Due) -> bool {
        let block = due.number / BLOCK;
        let near = (block.saturating_sub(1)..=block + 1).filter_map(|block| {
            let known = self.blocks[self.at(block)];
            (known.unix_ns > 0 && known.number / BLOCK == block).then_some(known)
        });
        near.chain([self.highest]).any(|known| known.unix_ns > 0 && known.contradicts(due))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{GAP, START};
    use super::*;

    /// Frames that were due at so many gaps behind the start, under these numbers.
    fn mixed(frames: &[(Place, u64, u64)]) -> u64 {
        let mut times = DueTimes::new(1 << 12);
        for (place, number, gaps) in frames {
            let due_unix_ns = START + gaps * GAP;
            let sent_unix_ns = due_unix_ns + 300;
            let frame = Signature { stream: 0, seq: *number, due_unix_ns, sent_unix_ns };
            times.note(*place, *number, &frame);
        }
        times.mixed()
    }

    fn ahead(count: u64) -> Vec<(Place, u64, u64)> {
        (0..count).map(|number| (Place::Ahead, number, number)).collect()
    }

    #[test]
    fn what_comes_again_or_out_of_order_is_of_the_same_run() {
        let mut frames = ahead(300);
        frames.extend((0..300).map(|number| (Place::Again, number, number)));
        frames.extend((0..300).rev().map(|number| (Place::Behind, number, number)));
        assert_eq!(mixed(&frames), 0);
    }

    #[test]
    fn the_same_numbers_at_other_times_are_another_runs() {
        // It follows, by less than a block and by more.
        for behind in [10, 1_000] {
            let mut frames = Vec::new();
            for number in 0..2_000_u64 {
                frames.push((Place::Ahead, number, number));
                if let Some(its) = number.checked_sub(behind) {
                    frames.push((Place::Behind, its, number));
                }
            }
            assert!(mixed(&frames) > 200, "{behind}");
        }
        // It comes a second later, when the first has ended; its frames were long on the way.
        let mut frames = ahead(1_000);
        frames.extend((0..1_000).map(|number| (Place::Again, number, number + 500)));
        assert!(mixed(&frames) > 900);
    }

    #[test]
    fn a_due_time_that_the_module_does_not_tell_contradicts_nothing() {
        let mut times = DueTimes::new(1 << 12);
        let frame = |number: u64, late: u64| {
            let sent_unix_ns = START + number * GAP + 2 * LATEST_NS;
            Signature { stream: 0, seq: number, due_unix_ns: sent_unix_ns - late, sent_unix_ns }
        };
        times.note(Place::Ahead, 1, &frame(1, 2 * LATEST_NS));
        times.note(Place::Behind, 0, &frame(0, LATEST_NS));
        assert_eq!(times.mixed(), 0);
    }
}
