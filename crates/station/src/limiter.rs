//! How many replies there may be in a second.

use units::{Instant, Picos};

const SECOND: Picos = Picos::from_secs(1);

/// A bucket that holds the replies of one second and fills evenly.
#[derive(Debug)]
pub(crate) struct Limiter {
    /// What one reply takes.
    each: Picos,
    /// What is in the bucket, at most a second.
    credit: Picos,
    filled: Instant,
}

impl Limiter {
    pub fn per_second(replies: u64) -> Self {
        let each = Picos::from_picos(SECOND.as_picos() / replies.max(1));
        Self { each, credit: SECOND, filled: Instant::EPOCH }
    }

    /// Whether one more may go now; if so it has gone.
    pub fn allows(&mut self, now: Instant) -> bool {
        self.credit = (self.credit + now.since(self.filled)).min(SECOND);
        self.filled = self.filled.max(now);
        let is_allowed = self.credit >= self.each;
        if is_allowed {
            self.credit = self.credit.saturating_sub(self.each);
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_one_second_of_replies_and_the_rest_is_even() {
        let mut limiter = Limiter::per_second(10);
        let at = |ms| Instant::EPOCH + Picos::from_millis(ms);
        let allowed = |limiter: &mut Limiter, ms| (0..100).filter(|_| limiter.allows(at(ms))).count();
        assert_eq!(allowed(&mut limiter, 0), 10);
        assert_eq!(allowed(&mut limiter, 99), 0);
        assert_eq!(allowed(&mut limiter, 100), 1);
        assert_eq!(allowed(&mut limiter, 450), 3);
        assert_eq!(allowed(&mut limiter, 60_000), 10);
        assert_eq!(allowed(&mut limiter, 1), 0, "a clock that goes back fills nothing");
    }
}
