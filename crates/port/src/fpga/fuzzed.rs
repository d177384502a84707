//! What fuzz targets see of the host's side of the link, which is private otherwise. Tests and the feature
//! `fuzzed` alone have it.

use super::link::{Head, Said};
use super::state::{Handle, MOST_ARRIVED, MOST_DEPARTED, MOST_PENDING, MOST_SPARE, Pending, State};
use super::transport::Bell;
use crate::Stamp;
use std::sync::Arc;

/// Owners of frames: one that wants to hear of everything, and one that wants nothing.
const OWNERS: usize = 2;
/// Numbers whose answers are waited for.
const ASKED: [u16; 4] = [0, 1, 2, 0x80];

/// A host and what it knows of its module.
#[derive(Debug)]
pub struct Conversation {
    state: State,
    /// Of the next frame on the link.
    number: u16,
    /// Frames that each owner has sent.
    sent: [u64; OWNERS],
}

impl Default for Conversation {
    fn default() -> Self {
        let mut state = State::default();
        for owner in 0..OWNERS {
            let bell = Arc::new(Bell::new().expect("a descriptor is left"));
            state.handles.insert(owner, Handle::new(owner == 0, owner == 0, bell));
        }
        state.waiting = ASKED.into_iter().map(|number| (number, None)).collect();
        Self { state, number: 0, sent: [0; OWNERS] }
    }
}

impl Conversation {
    /// A frame of `length` bytes goes to the module.
    pub fn send(&mut self, owner: usize, length: usize) {
        let (number, place) = (self.number, self.sent[owner]);
        self.number = number.wrapping_add(1);
        self.sent[owner] += 1;
        self.state.sent(Pending {
            number,
            owner,
            place,
            launch: Stamp(place),
            bytes: length.max(60),
            length,
        });
    }

    /// Bytes arrive on the link. Returns whether they were a frame of it.
    pub fn hear(&mut self, frame: &[u8]) -> bool {
        let Ok((head, body)) = Head::read(frame) else { return false };
        let Ok(said) = Said::read(&head, body) else { return false };
        self.state.hear(&head, said);
        true
    }

    /// Panics if what is known contradicts itself.
    pub fn check(&self) {
        let state = &self.state;
        assert!(state.pending.len() <= MOST_PENDING && state.spare.len() <= MOST_SPARE);
        assert!(state.waiting.len() == ASKED.len(), "an answer that nobody waits for was kept");
        assert!(state.errors.len() <= 256);
        for (owner, handle) in &state.handles {
            let waiting = state.pending.iter().filter(|pending| pending.owner == *owner);
            let places: Vec<u64> = waiting.map(|pending| pending.place).collect();
            let told = handle.departed.iter().map(|departed| departed.number);
            let all: Vec<u64> = told.chain(places).collect();
            assert!(all.is_sorted_by(|one, next| one < next), "twice, or out of order: {all:?}");
            assert!(all.len() as u64 + handle.refused + handle.lost <= self.sent[*owner]);
            assert!(handle.departed.len() <= MOST_DEPARTED && handle.arrived.len() <= MOST_ARRIVED);
            assert!(handle.listens || (handle.arrived.is_empty() && handle.unheard == 0));
            assert!(handle.wants_departures || handle.departed.is_empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::link::{MODULE, Report, kind};
    use super::*;

    #[test]
    fn a_conversation_holds_while_frames_go_and_reports_come() {
        let mut conversation = Conversation::default();
        (0..4).for_each(|n| conversation.send(n % OWNERS, 60));
        let says = |kind, detail, value, body: &[u8]| {
            Head { to: [2; 6], from: MODULE, kind, number: 0, detail, value }.frame(body)
        };
        let report = |number| Report { start_tick: 9, late_ticks: 0, number }.bytes();
        let both = [report(0), report(2)].concat();
        assert!(conversation.hear(&says(kind::CREDIT, 8, 800, &[])));
        assert!(conversation.hear(&says(kind::DEPARTED, 2, 0, &both)));
        assert!(!conversation.hear(&says(kind::DEPARTED, 3, 0, &both)));
        assert!(!conversation.hear(b"short"));
        conversation.check();
        let state = &conversation.state;
        assert_eq!((state.room(), state.pending.len(), state.untold), (768, 1, 1));
        assert_eq!(state.handles[&0].departed.len(), 2);
    }
}
