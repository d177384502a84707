//! What a port counted. Nothing is dropped without being counted at the place where it was.

/// Running totals since the port was opened.
///
/// taken = sent + lost before it was sent ([`DropPlace::is_before_sending`]); what was sent was received by
/// somebody, or was lost later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that the next place (the kernel, the driver, the other end) has taken over.
    pub sent: u64,
    pub sent_bytes: u64,
    pub received: u64,
    pub received_bytes: u64,
    /// Frames that were lost, by place; each place at most once.
    pub drops: Vec<Drop>,
    /// Times that the port had no room: frames stayed with the caller, and are no drops.
    pub full: u64,
    /// Frames that this host still held when the port was last flushed, in the port's own room or in the
    /// kernel's queues: whether they leave is not known. Those that the kernel has are among `sent`.
    pub held: u64,
    /// System calls made.
    pub calls: u64,
    /// What a `fault` port did to frames.
    pub faults: Faults,
}

/// Faults that were asked for, by kind. Those that lose frames are also among the drops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    pub dropped: u64,
    /// Frames that came once more.
    pub duplicated: u64,
    pub reordered: u64,
    pub delayed: u64,
    pub corrupted: u64,
}

/// Frames lost at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drop {
    pub place: DropPlace,
    pub frames: u64,
}

macro_rules! places {
    ($($(#[$doc:meta])* $name:ident = $key:literal,)+) => {
        /// Where a frame was lost.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum DropPlace { $($(#[$doc])* $name,)+ }

        impl DropPlace {
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];
            /// The key in `result.json`.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$name => $key,)+ }
            }
            /// The one that has this key.
            pub fn of_key(key: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|place| place.key() == key)
            }
        }
    };
}

places! {
    /// Receive ring of the socket: we were too slow.
    ReceiveRing = "rx.ring",
    /// The kernel, before the socket (its backlog, its memory).
    ReceiveKernel = "rx.kernel",
    /// The driver or the card, before the kernel.
    ReceiveDriver = "rx.driver",
    /// An XDP program or a filter let it pass by on purpose.
    ReceiveFilter = "rx.filter",
    /// Longer than the snap length or the ring's slot.
    ReceiveTooLong = "rx.too_long",
    /// It was received and counted, and the disk was too slow or too full to keep it.
    ReceiveDisk = "rx.disk",
    /// The kernel refused a frame that the port had taken.
    TransmitKernel = "tx.kernel",
    /// The driver had no room (its ring was full).
    TransmitDriver = "tx.driver",
    /// The link was down.
    TransmitDown = "tx.down",
    TransmitTooLong = "tx.too_long",
    /// Its launch time was over when its turn came, and it was dropped.
    TransmitLate = "tx.late",
    /// The far side of a pair or pipe was gone or full.
    Peer = "peer",
    /// A fault that was asked for.
    Fault = "fault",
    /// Room of this process (a reordering or delaying queue) ran out.
    Queue = "queue",
}

impl DropPlace {
    /// Whether frames had arrived that this machine then lost. What a filter lets pass by is no loss.
    pub const fn is_after_arrival(self) -> bool {
        matches!(
            self,
            Self::ReceiveRing
                | Self::ReceiveKernel
                | Self::ReceiveDriver
                | Self::ReceiveTooLong
                | Self::ReceiveDisk
        )
    }

    /// Whether frames that were lost there are not among those sent.
    pub const fn is_before_sending(self) -> bool {
        matches!(
            self,
            Self::TransmitKernel
                | Self::TransmitDriver
                | Self::TransmitDown
                | Self::TransmitTooLong
                | Self::TransmitLate
        )
    }
}

impl Counters {
    /// Counts `frames` lost at `place`.
    pub fn drop(&mut self, place: DropPlace, frames: u64) {
        if frames == 0 {
            return;
        }
        match self.drops.iter_mut().find(|drop| drop.place == place) {
            Some(drop) => drop.frames += frames,
            None => self.drops.push(Drop { place, frames }),
        }
    }

    /// Frames lost at `place`.
    pub fn dropped(&self, place: DropPlace) -> u64 {
        self.drops.iter().find(|drop| drop.place == place).map_or(0, |drop| drop.frames)
    }

    /// Frames that were taken and could not be sent.
    pub fn unsent(&self) -> u64 {
        let before = self.drops.iter().filter(|drop| drop.place.is_before_sending());
        before.map(|drop| drop.frames).sum()
    }

    /// Frames that were taken, sent or not.
    pub fn taken(&self) -> u64 {
        self.sent + self.unsent()
    }

    /// Frames lost anywhere.
    pub fn lost(&self) -> u64 {
        self.drops.iter().map(|drop| drop.frames).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_read_as_what_it_was_written_for() {
        assert!(DropPlace::ALL.iter().all(|place| DropPlace::of_key(place.key()) == Some(*place)));
        assert_eq!(DropPlace::of_key("rx.moon"), None);
    }

    #[test]
    fn a_places_key_says_on_which_side_of_this_machine_it_is() {
        for place in DropPlace::ALL {
            let is_filter = *place == DropPlace::ReceiveFilter;
            assert_eq!(place.is_after_arrival(), place.key().starts_with("rx.") && !is_filter, "{place:?}");
            assert_eq!(place.is_before_sending(), place.key().starts_with("tx."), "{place:?}");
        }
    }
}
