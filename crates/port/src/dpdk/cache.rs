//! What a thread has at hand of a pool: a stack, so that the buffers used last, which are in the processor's
//! cache, are the next.

use super::layout::{Cache, Mbuf};

impl Cache {
    /// Takes as many as `rooms` has places, or none. `fetch` fills places from the pool, all or none.
    #[inline]
    pub fn take(&mut self, rooms: &mut [*mut Mbuf], fetch: impl FnMut(&mut [*mut Mbuf]) -> bool) -> bool {
        let count = rooms.len();
        if (self.length as usize) < count && !self.refill(count, fetch) {
            return false;
        }
        let have = self.length as usize;
        let Some(last) = self.objects.get(have - count..have) else { return false };
        rooms.iter_mut().zip(last.iter().rev()).for_each(|(room, buffer)| *room = *buffer);
        self.length -= count as u32;
        true
    }

    /// Gets so many that `count` can be taken and as many are at hand as shall be; at least that `count` can.
    #[cold]
    fn refill(&mut self, count: usize, mut fetch: impl FnMut(&mut [*mut Mbuf]) -> bool) -> bool {
        let (have, room) = (self.length as usize, self.objects.len());
        for end in [(count + self.size as usize).min(room), count] {
            let Some(places) = self.objects.get_mut(have..end) else { return false };
            let got = places.len();
            if have + got >= count && fetch(places) {
                self.length += got as u32;
                return true;
            }
        }
        false
    }

    /// Puts buffers to those at hand; false, and nothing is done, if there would be too many.
    #[inline]
    pub fn give(&mut self, buffers: &[*mut Mbuf]) -> bool {
        let (have, count) = (self.length as usize, buffers.len());
        match self.objects.get_mut(have..have + count) {
            Some(places) if have + count <= self.threshold as usize => {
                places.copy_from_slice(buffers);
                self.length += count as u32;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Names of buffers: they are never looked into.
    fn buffer(number: usize) -> *mut Mbuf {
        std::ptr::without_provenance_mut(number)
    }

    fn empty() -> Box<Cache> {
        // SAFETY: numbers and pointers, for which zero is a value.
        let mut cache: Box<Cache> = unsafe { Box::new(std::mem::zeroed()) };
        (cache.size, cache.threshold) = (256, 384);
        cache
    }

    proptest! {
        #[test]
        fn no_buffer_is_lost_or_had_twice(steps in prop::collection::vec((any::<bool>(), 1..65usize), 1..200)) {
            let mut cache = empty();
            // 700 buffers, of which the pool runs out.
            let mut pool: Vec<_> = (1..=700).map(buffer).collect();
            let mut used = Vec::new();
            for (takes, count) in steps {
                if takes {
                    let mut rooms = vec![std::ptr::null_mut(); count];
                    let fetched = cache.take(&mut rooms, |places| {
                        let Some(left) = pool.len().checked_sub(places.len()) else { return false };
                        places.copy_from_slice(&pool.split_off(left));
                        true
                    });
                    // None are had only if there are not so many.
                    prop_assert!(fetched || pool.len() + (cache.length as usize) < count);
                    if fetched {
                        used.extend(rooms);
                    }
                } else {
                    let back = used.split_off(used.len().saturating_sub(count));
                    if !cache.give(&back) {
                        prop_assert!(cache.length as usize + back.len() > 384);
                        pool.extend(back);
                    }
                }
                prop_assert!(cache.length <= 384);
                let held = &cache.objects[..cache.length as usize];
                let mut all: Vec<_> = pool.iter().chain(&used).chain(held).map(|b| b.addr()).collect();
                all.sort_unstable();
                prop_assert_eq!(all, (1..=700).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn the_last_one_given_is_the_first_taken() {
        let mut cache = empty();
        assert!(cache.give(&[buffer(1), buffer(2), buffer(3)]));
        let mut rooms = [std::ptr::null_mut(); 2];
        assert!(cache.take(&mut rooms, |_| panic!("there are enough")));
        assert_eq!(rooms, [buffer(3), buffer(2)]);
        assert!(!cache.take(&mut rooms, |_| false));
        assert_eq!(cache.length, 1);
    }
}
