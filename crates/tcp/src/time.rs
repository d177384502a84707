//! Time as the records keep it: milliseconds and microseconds that wrap around.

/// A point in time, in microseconds since any origin that does not change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(u64);

/// A point in time in milliseconds, modulo 2³² (49 days). Two of them can be compared if they are less than 24
/// days apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Millis(u32);

/// A point in time in microseconds, modulo 2³² (71 minutes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Micros(u32);

impl Time {
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The last whole millisecond.
    pub const fn millis(self) -> Millis {
        Millis((self.0 / 1000) as u32)
    }

    pub const fn micros(self) -> Micros {
        Micros(self.0 as u32)
    }

    /// A deadline that does not come before `wait_ms` have passed, and at most a millisecond later.
    pub(crate) const fn after_ms(self, wait_ms: u32) -> Millis {
        Millis((self.0.div_ceil(1000) as u32).wrapping_add(wait_ms))
    }

    pub(crate) const fn has_reached(self, deadline: Millis) -> bool {
        !self.millis().is_before(deadline)
    }
}

impl Millis {
    pub const fn from_wrapped(wrapped_ms: u32) -> Self {
        Self(wrapped_ms)
    }

    pub const fn as_wrapped(self) -> u32 {
        self.0
    }

    pub const fn is_before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// Milliseconds from `earlier` to this.
    pub(crate) const fn since_ms(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }
}

impl Micros {
    pub const fn from_wrapped(wrapped_us: u32) -> Self {
        Self(wrapped_us)
    }

    pub const fn as_wrapped(self) -> u32 {
        self.0
    }

    /// Microseconds from `earlier` to this, if less than 71 minutes.
    pub(crate) const fn since_us(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }
}
