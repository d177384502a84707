//! Writes of registers as frames of the link that can be repeated: an answer may be lost where the write was
//! not. Pure.
//!
//! ```text
//!   memory 0 │ address 7 │ data … │ command        control.run      command.ns_step
//!   └──── one frame, ends here ───┘          └─ alone ─┘         └─ alone, once ─┘
//! ```
//!
//! A frame that is done twice leaves what it leaves when it is done once: words of a memory have their place in
//! the same frame, and behind a command, or at both ends of a start of the generator, a frame ends. What cannot
//! be made so is sent once.

use super::link::MOST_WORDS;
use super::register::Register;
use super::registers::{COMMAND, COMMAND_NS_STEP, CONTROL, CONTROL_RUN, MEMORY, MEMORY_ADDRESS, MEMORY_DATA};

/// Where the next word of a memory goes, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    memory: Option<u32>,
    address: Option<u16>,
}

/// Words that go together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Batch {
    /// Address and value.
    pub words: Vec<(u32, u32)>,
    /// What must not be done twice, by its name.
    pub once: Option<&'static str>,
    /// What it says itself of where words of a memory go.
    place: Place,
    is_closed: bool,
}

/// As few frames as do it, in order; `place` is that before, then that behind them.
pub(super) fn batches(place: &mut Place, writes: &[(&Register, u64)]) -> Vec<Batch> {
    let (mut all, mut batch) = (Vec::new(), Batch::default());
    for &(register, value) in writes {
        let is_data = *register == MEMORY_DATA;
        let runs = *register == CONTROL && CONTROL_RUN.of(value) == 1;
        let steps = *register == COMMAND && COMMAND_NS_STEP.of(value) == 1;
        let where_to = place.memory.zip(place.address);
        let once = match where_to {
            _ if steps => Some("command.ns_step"),
            None if is_data => Some(MEMORY_DATA.name),
            _ => None,
        };
        // A place needs two more.
        let is_full = batch.words.len() + register.words().count() + 2 > MOST_WORDS;
        if batch.is_closed || is_full || runs || steps || batch.once != once {
            all.push(std::mem::take(&mut batch));
        }
        let is_placed = batch.place.memory.is_some() && batch.place.address.is_some();
        if let Some((memory, address)) = where_to.filter(|_| is_data && !is_placed) {
            batch.words.extend([(MEMORY.address, memory), (MEMORY_ADDRESS.address, address.into())]);
            batch.place = *place;
        }
        batch
            .words
            .extend(register.words().enumerate().map(|(n, address)| (address, (value >> (32 * n)) as u32)));
        batch.once = once;
        batch.is_closed = *register == COMMAND || runs;
        if *register == MEMORY {
            (place.memory, batch.place.memory) = (Some(value as u32), Some(value as u32));
        } else if *register == MEMORY_ADDRESS {
            (place.address, batch.place.address) = (Some(value as u16), Some(value as u16));
        } else if is_data {
            place.address = place.address.map(|address| address.wrapping_add(1));
        }
    }
    all.push(batch);
    all.retain(|batch| !batch.words.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::super::registers::{COMMAND_CLEAR, COMMAND_GAP_SET, GAP_WHOLE, NS_VALUE};
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The module's memories and how often it stepped its clock and began to send, as frames that each come so
    /// often leave them.
    fn done(all: &[Batch], times: impl Fn(usize) -> usize) -> (BTreeMap<(u32, u16), u32>, usize, usize) {
        let (mut memories, mut memory, mut address, mut steps) = (BTreeMap::new(), 0, 0_u16, 0);
        let (mut runs, mut begun) = (false, 0);
        for (n, batch) in all.iter().enumerate() {
            let times = if batch.once.is_some() { 1 } else { times(n) };
            for &(at, value) in (0..times).flat_map(|_| &batch.words) {
                if at == MEMORY.address {
                    memory = value;
                } else if at == MEMORY_ADDRESS.address {
                    address = value as u16;
                } else if at == MEMORY_DATA.address {
                    memories.insert((memory, address), value);
                    address = address.wrapping_add(1);
                } else if at == COMMAND.address {
                    steps += COMMAND_NS_STEP.of(value.into()) as usize;
                } else if at == CONTROL.address {
                    begun += usize::from(!runs && CONTROL_RUN.of(value.into()) == 1);
                    runs = CONTROL_RUN.of(value.into()) == 1;
                }
            }
        }
        (memories, steps, begun)
    }

    fn lengths(all: &[Batch]) -> Vec<usize> {
        all.iter().map(|batch| batch.words.len()).collect()
    }

    #[test]
    fn words_of_a_memory_go_together_and_each_frame_says_where() {
        let mut writes = vec![(&MEMORY, 3), (&MEMORY_ADDRESS, 100)];
        writes.extend((0..400).map(|n| (&MEMORY_DATA, n)));
        let mut place = Place::default();
        let all = batches(&mut place, &writes);
        assert_eq!(all.len(), 3);
        assert!(all.iter().all(|batch| batch.words.len() <= MOST_WORDS && batch.once.is_none()));
        for batch in &all {
            let begin: Vec<u32> = batch.words[..2].iter().map(|(address, _)| *address).collect();
            assert_eq!(begin, [MEMORY.address, MEMORY_ADDRESS.address]);
        }
        assert_eq!(done(&all, |_| 3), done(&all, |_| 1));
        // The next command goes on from there.
        let more = batches(&mut place, &[(&MEMORY_DATA, 7)]);
        assert_eq!(
            more[0].words,
            [(MEMORY.address, 3), (MEMORY_ADDRESS.address, 500), (MEMORY_DATA.address, 7)]
        );
        assert_eq!(place.address, Some(501));
    }

    #[test]
    fn what_cannot_be_repeated_is_alone_and_sent_once() {
        let step = COMMAND_NS_STEP.place(1);
        let all = batches(&mut Place::default(), &[(&NS_VALUE, 5), (&COMMAND, step), (&GAP_WHOLE, 1)]);
        assert_eq!(lengths(&all), [2, 1, 1]);
        assert_eq!([all[0].once, all[1].once, all[2].once], [None, Some("command.ns_step"), None]);
        // Nobody knows where these go.
        let all = batches(&mut Place::default(), &[(&GAP_WHOLE, 1), (&MEMORY_DATA, 5), (&MEMORY_DATA, 6)]);
        assert_eq!((lengths(&all), all[1].once), (vec![1, 2], Some("memory_data")));
    }

    #[test]
    fn nothing_is_behind_a_command_or_beside_a_start() {
        let clear = (&COMMAND, COMMAND_CLEAR.place(1) | COMMAND_GAP_SET.place(1));
        let (run, stop) = ((&CONTROL, CONTROL_RUN.place(1)), (&CONTROL, 0));
        let all = batches(&mut Place::default(), &[stop, (&GAP_WHOLE, 9), clear, run, clear]);
        assert_eq!(lengths(&all), [3, 1, 1]);
        assert_eq!(done(&batches(&mut Place::default(), &[stop, run, stop, run]), |_| 2).2, 2);
    }

    proptest! {
        #[test]
        fn repeating_changes_nothing(
            kinds in prop::collection::vec((0_usize..7, 0_u64..6), 1..600),
            times in 1_usize..4,
        ) {
            let mut writes = vec![(&MEMORY, 1), (&MEMORY_ADDRESS, 0)];
            writes.extend(kinds.into_iter().map(|(kind, value)| match kind {
                0 => (&MEMORY, value),
                1 => (&MEMORY_ADDRESS, value),
                2 => (&COMMAND, COMMAND_NS_STEP.place(value)),
                3 => (&CONTROL, CONTROL_RUN.place(value)),
                _ => (&MEMORY_DATA, value),
            }));
            let all = batches(&mut Place::default(), &writes);
            prop_assert!(all.iter().all(|batch| batch.words.len() <= MOST_WORDS));
            // As if each write had a frame for itself.
            let each: Vec<Batch> = writes
                .iter()
                .map(|(register, value)| vec![(register.address, *value as u32)])
                .map(|words| Batch { words, ..Batch::default() })
                .collect();
            prop_assert_eq!(done(&all, |n| if n % 2 == 0 { times } else { 1 }), done(&each, |_| 1));
        }
    }
}
