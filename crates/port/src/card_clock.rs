//! The clock of a network card whose stamps a port shows: found, compared with the wall clock, followed.

use crate::Stamp;
use crate::error::Why;
use crate::interface::Interface;
use clock::phc::{Compare, Followed, Follower, Phc, PhcDevice};

/// A card's clock as long as a port has its stamps. `C` is the card, or a fake of it.
#[derive(Debug)]
pub struct CardClock<C = PhcDevice> {
    phc: Phc,
    interface: String,
    follower: Follower<C>,
}

/// What is known of the clock that stamped the frames of a port.
#[derive(Clone, Debug, PartialEq)]
pub struct StampClock {
    pub phc: Phc,
    pub interface: String,
    pub followed: Followed,
    /// Frames that it did not stamp although it was to: they have the kernel's stamps.
    pub unstamped: u64,
}

impl CardClock {
    /// The clock of that interface's card.
    ///
    /// # Errors
    /// Why its times cannot be set beside those of the wall clock.
    pub fn of(interface: &Interface) -> Result<Self, Why> {
        let Some(number) = interface.stamping.clock else {
            return Err(
                "the driver reports no clock of the card (/dev/ptpN), so its times cannot be compared".into(),
            );
        };
        let phc = Phc::of(number);
        let device = phc.open().map_err(|error| format!("/dev/ptp{number}: {error}"))?;
        Self::new(phc, &interface.name, device)
    }
}

impl<C: Compare> CardClock<C> {
    fn new(phc: Phc, interface: &str, card: C) -> Result<Self, Why> {
        let follower = Follower::begin(card).map_err(|error| format!("/dev/ptp{}: {error}", phc.number))?;
        Ok(Self { phc, interface: interface.to_owned(), follower })
    }

    /// Compares the clocks again if it is time.
    #[inline]
    pub fn follow(&mut self) {
        self.follower.follow(clock::unix_ns());
    }

    /// By the wall clock.
    #[inline]
    pub fn stamp(&self, card_ns: u64) -> Stamp {
        if card_ns == 0 { Stamp::NONE } else { Stamp(self.follower.to_unix(card_ns)) }
    }

    /// What is known of it at the beginning, for people.
    pub fn words(&self) -> String {
        let found = self.follower.found();
        format!(
            "the card stamps every frame by its clock ptp{} ({}), converted to the wall clock: {} ns ahead of it, \u{b1} {} ns",
            self.phc.number,
            if self.phc.name.is_empty() { "without a name" } else { &self.phc.name },
            found.ahead_ns,
            found.bound_ns
        )
    }

    /// How far stamps are off at most, as known until now.
    pub fn bound_ns(&self) -> u64 {
        self.follower.found().bound_ns
    }

    /// What is known of it, compared once more so that it holds for all stamps shown before.
    pub fn report(&mut self) -> StampClock {
        self.follower.compare();
        StampClock {
            phc: self.phc.clone(),
            interface: self.interface.clone(),
            followed: self.follower.found(),
            unstamped: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::phc::{Comparison, Way};
    use std::io;

    /// 37 s ahead of the wall clock, as one is that a PTP grandmaster sets to TAI.
    struct Tai;

    impl Compare for Tai {
        fn compare(&mut self) -> io::Result<Comparison> {
            let ahead_ns = 37_000_000_000;
            Ok(Comparison { unix_ns: clock::unix_ns(), ahead_ns, bound_ns: 250, way: Way::Extended })
        }
    }

    #[test]
    fn stamps_of_a_card_are_told_by_the_wall_clock_and_none_stays_none() {
        let phc = Phc { number: 3, name: "mlx5_ptp".to_owned() };
        let mut clock = CardClock::new(phc.clone(), "eth1", Tai).unwrap();
        assert_eq!(clock.stamp(0), Stamp::NONE);
        assert_eq!(clock.stamp(1_800_000_037_000_000_123), Stamp(1_800_000_000_000_000_123));
        assert_eq!(clock.bound_ns(), 250);
        let report = clock.report();
        assert_eq!((report.phc, report.interface.as_str()), (phc, "eth1"));
        assert_eq!((report.followed.ahead_ns, report.followed.is_kept()), (37_000_000_000, true));
    }
}
