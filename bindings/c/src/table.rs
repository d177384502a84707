//! Handles: numbers that say which thing is meant, so that one that is closed is known as such.
//!
//! ```text
//! handle = kind (8 bits) | generation (32) | place (16); a place that is used again has another generation
//! ```

use crate::error::Error;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

/// Most handles of each kind.
const MOST: usize = 1_024;

/// Things of one kind, by their handles.
pub struct Table<T> {
    /// From 1: no handle is 0.
    number: u8,
    kind: &'static str,
    places: OnceLock<Box<[Mutex<Place<T>>]>>,
}

struct Place<T> {
    generation: u32,
    thing: Option<T>,
}

impl<T> Table<T> {
    pub const fn new(number: u8, kind: &'static str) -> Self {
        Self { number, kind, places: OnceLock::new() }
    }

    pub fn insert(&self, thing: T) -> Result<u64, Error> {
        for (at, place) in self.places().iter().enumerate() {
            let Some(mut place) = free(place) else { continue };
            place.generation = place.generation.wrapping_add(1);
            place.thing = Some(thing);
            return Ok(u64::from(self.number) << 56 | u64::from(place.generation) << 16 | at as u64);
        }
        Err(Error::Full { kind: self.kind, most: MOST })
    }

    /// Does something with a thing that only one may use at a time.
    pub fn alone<R>(&self, handle: u64, work: impl FnOnce(&mut T) -> Result<R, Error>) -> Result<R, Error> {
        let mut place = self.place(handle)?;
        work(place.thing.as_mut().ok_or(Error::Closed(self.kind))?)
    }

    /// Takes it out: the handle is closed.
    pub fn remove(&self, handle: u64) -> Result<T, Error> {
        self.place(handle)?.thing.take().ok_or(Error::Closed(self.kind))
    }

    /// The place of a handle that is open.
    fn place(&self, handle: u64) -> Result<MutexGuard<'_, Place<T>>, Error> {
        let (number, generation, at) = ((handle >> 56) as u8, (handle >> 16) as u32, handle as u16);
        if handle == 0 {
            return Err(Error::Closed(self.kind));
        }
        if number != self.number {
            return Err(Error::Kind(self.kind));
        }
        let place = self.places().get(usize::from(at)).ok_or(Error::Closed(self.kind))?;
        let place = match place.try_lock() {
            Ok(place) => place,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(Error::Busy(self.kind)),
        };
        match place.generation == generation && place.thing.is_some() {
            true => Ok(place),
            false => Err(Error::Closed(self.kind)),
        }
    }

    fn places(&self) -> &[Mutex<Place<T>>] {
        let place = |_| Mutex::new(Place { generation: 0, thing: None });
        self.places.get_or_init(|| (0..MOST).map(place).collect())
    }
}

impl<T: Clone> Table<T> {
    /// A copy of what several may use at once; waits a moment for others who ask.
    pub fn shared(&self, handle: u64) -> Result<T, Error> {
        patiently(|| self.alone(handle, |thing| Ok(thing.clone())))
    }

    /// As [`Self::remove`], of what several may use at once.
    pub fn remove_shared(&self, handle: u64) -> Result<T, Error> {
        patiently(|| self.remove(handle))
    }
}

/// Nobody holds what is shared for longer than it takes to copy it.
fn patiently<T>(mut ask: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    loop {
        match ask() {
            Err(Error::Busy(_)) => std::hint::spin_loop(),
            other => return other,
        }
    }
}

fn free<T>(place: &Mutex<Place<T>>) -> Option<MutexGuard<'_, Place<T>>> {
    let place = match place.try_lock() {
        Ok(place) => place,
        Err(TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
        Err(TryLockError::WouldBlock) => return None,
    };
    place.thing.is_none().then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(outcome: Result<u32, Error>) -> String {
        outcome.map_or_else(|error| error.to_string(), |value| value.to_string())
    }

    #[test]
    fn a_closed_handle_stays_closed_when_its_place_is_used_again() {
        let table = Table::new(3, "thing");
        let first = table.insert(1_u32).unwrap();
        assert_eq!(table.remove(first).unwrap(), 1);
        let second = table.insert(2).unwrap();
        assert_eq!(code(table.shared(first)), "this thing is closed, or never was open");
        assert_eq!(code(table.remove(first)), "this thing is closed, or never was open");
        assert_eq!(code(table.shared(second)), "2");
        for handle in [0, second + 1, second | 0xffff, second ^ 1 << 40] {
            assert_eq!(code(table.shared(handle)), "this thing is closed, or never was open", "{handle:x}");
        }
        assert_eq!(code(table.shared(second ^ 1 << 56)), "this handle is of another kind: a thing is needed");
    }

    #[test]
    fn a_thing_in_use_is_busy_and_survives_a_panic() {
        let table = Table::new(1, "thing");
        let handle = table.insert(1_u32).unwrap();
        let inner = table.alone(handle, |_| Ok(code(table.remove(handle)))).unwrap();
        assert_eq!(inner, "this thing is in use by another thread, or by the function that called back");
        let panics = || table.alone(handle, |_| -> Result<(), Error> { panic!("on purpose") });
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        assert_eq!(code(table.remove(handle)), "1");
    }

    #[test]
    fn what_is_shared_is_closed_although_others_ask_for_it() {
        let table = Table::new(1, "thing");
        for _ in 0..200 {
            let handle = table.insert(1_u32).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| while table.shared(handle).is_ok() {});
                }
                assert_eq!(code(table.remove_shared(handle)), "1");
            });
        }
    }

    #[test]
    fn handles_have_an_end() {
        let table = Table::new(1, "thing");
        let handles: Vec<u64> = (0..MOST as u32).map(|n| table.insert(n).unwrap()).collect();
        assert!(matches!(table.insert(0), Err(Error::Full { most: MOST, .. })));
        table.remove(handles[77]).unwrap();
        assert!(table.insert(0).is_ok());
    }
}
