//! When sessions want to be woken: a wheel of milliseconds.
//!
//! ```text
//!            now                            + 1023 ms
//!   ──┬───┬───┬───┬───┬───┬───┬──────────┬───┬──
//!     │   │   │ids│   │ids│   │    …     │   │     a deadline beyond it waits in the last place
//!   ──┴───┴───┴───┴───┴───┴───┴──────────┴───┴──     and is looked at again there
//! ```
//!
//! A session stands in one place at a time, at its deadline or before it: who is woken too early is put back.

use tcp::Millis;

const PLACES: usize = 1024;
const WORDS: usize = PLACES / 64;

/// See the module. `T` names a session.
pub struct Wheel<T> {
    places: Vec<Vec<T>>,
    /// Room of places that are empty again, for those that are taken next: no more than are taken at once.
    spare: Vec<Vec<T>>,
    /// A bit for each place that has somebody.
    taken: [u64; WORDS],
    /// Everybody before this has been woken.
    at: Millis,
}

impl<T: Copy> Wheel<T> {
    pub fn new(now: Millis) -> Self {
        Self {
            places: (0..PLACES).map(|_| Vec::new()).collect(),
            spare: Vec::new(),
            taken: [0; WORDS],
            at: now,
        }
    }

    /// Puts `who` at a deadline, or as far before it as the wheel reaches. Says when it will be woken.
    pub fn put(&mut self, who: T, deadline: Millis) -> Millis {
        let ahead = ahead_ms(deadline, self.at).min(PLACES as u32 - 1);
        let place = place_of(plus(self.at, ahead));
        if self.places[place].capacity() == 0
            && let Some(room) = self.spare.pop()
        {
            self.places[place] = room;
        }
        self.places[place].push(who);
        self.taken[place / 64] |= 1 << (place % 64);
        plus(self.at, ahead)
    }

    /// When somebody is to be woken next.
    pub fn next(&self) -> Option<Millis> {
        let from = place_of(self.at);
        // The word of the first place is looked at twice: its upper bits first, its lower ones last.
        let (word, bit) = (from / 64, from % 64);
        let upper = self.taken[word] & (u64::MAX << bit);
        let ahead = |place: usize| plus(self.at, ((place + PLACES - from) % PLACES) as u32);
        if upper != 0 {
            return Some(ahead(word * 64 + upper.trailing_zeros() as usize));
        }
        let found = (1..=WORDS).map(|step| (word + step) % WORDS).find(|word| self.taken[*word] != 0)?;
        Some(ahead(found * 64 + self.taken[found].trailing_zeros() as usize))
    }

    /// Moves everybody whose time has come into `woken`.
    pub fn advance(&mut self, now: Millis, woken: &mut Vec<T>) {
        while let Some(next) = self.next().filter(|next| !now.is_before(*next)) {
            let place = place_of(next);
            let mut room = std::mem::take(&mut self.places[place]);
            woken.append(&mut room);
            self.spare.push(room);
            self.taken[place / 64] &= !(1 << (place % 64));
            self.at = next;
        }
        if self.at.is_before(now) {
            self.at = now;
        }
    }
}

const fn place_of(at: Millis) -> usize {
    at.as_wrapped() as usize % PLACES
}

const fn plus(at: Millis, ms: u32) -> Millis {
    Millis::from_wrapped(at.as_wrapped().wrapping_add(ms))
}

/// 0 for what is past.
const fn ahead_ms(deadline: Millis, at: Millis) -> u32 {
    if deadline.is_before(at) { 0 } else { deadline.as_wrapped().wrapping_sub(at.as_wrapped()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u32) -> Millis {
        Millis::from_wrapped(ms)
    }

    fn woken(wheel: &mut Wheel<u32>, now: Millis) -> Vec<u32> {
        let mut woken = Vec::new();
        wheel.advance(now, &mut woken);
        woken.sort_unstable();
        woken
    }

    #[test]
    fn each_is_woken_at_its_time_and_once() {
        // The clock wraps on the way: 2^32 - 500 + 700 = 200.
        let start = u32::MAX - 499;
        let mut wheel = Wheel::new(at(start));
        assert_eq!(wheel.next(), None);
        for (who, after) in [(1, 3), (2, 3), (3, 700), (4, 0)] {
            let when = at(start.wrapping_add(after));
            assert_eq!(wheel.put(who, when), when);
        }
        assert_eq!(wheel.next(), Some(at(start)));
        assert_eq!(woken(&mut wheel, at(start)), [4]);
        assert_eq!(woken(&mut wheel, at(start + 2)), []);
        assert_eq!(woken(&mut wheel, at(start + 5)), [1, 2]);
        assert_eq!(wheel.next(), Some(at(200)));
        assert_eq!(woken(&mut wheel, at(199)), []);
        assert_eq!(woken(&mut wheel, at(5_000)), [3]);
        assert_eq!(wheel.next(), None);
    }

    #[test]
    fn a_few_who_go_round_take_room_for_a_few() {
        let mut wheel = Wheel::new(at(0));
        for ms in 0..5_000 {
            wheel.put(1, at(ms + 200));
            woken(&mut wheel, at(ms));
        }
        let rooms = wheel.places.iter().filter(|place| place.capacity() > 0).count() + wheel.spare.len();
        assert!((200..=202).contains(&rooms), "{rooms}");
    }

    #[test]
    fn what_is_past_is_woken_now_and_what_is_far_is_looked_at_before() {
        let mut wheel = Wheel::new(at(1_000));
        assert_eq!(wheel.put(1, at(400)), at(1_000));
        assert_eq!(wheel.put(2, at(60_000)), at(1_000 + 1_023));
        assert_eq!(woken(&mut wheel, at(1_000)), [1]);
        assert_eq!(woken(&mut wheel, at(2_022)), []);
        assert_eq!(woken(&mut wheel, at(2_023)), [2]);
    }

    #[test]
    fn the_next_is_found_from_every_place() {
        for from in 0..2 * PLACES as u32 {
            for after in [0, 1, 63, 64, 500, 1_023] {
                let mut wheel = Wheel::new(at(from));
                wheel.put(7, at(from + after));
                assert_eq!(wheel.next(), Some(at(from + after)));
            }
        }
    }
}
