//! What the sessions of a run did, and what of it a kernel's client would not have done.

use tcp::{Cause, Dropped, Notice};

macro_rules! figures {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// Counts of one thread's sessions.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Figures { $($(#[$doc])* pub $name: u64,)+ }

        impl Figures {
            /// Each figure, with the name that it has in results.
            pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)+].into_iter()
            }

            pub fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)+
            }
        }
    };
}

figures! {
    /// Sessions that were begun.
    opened,
    /// Those whose handshake was completed.
    connected,
    segments_in,
    segments_out,
    /// Segments that were sent again, SYNs among them.
    retransmitted,
    /// Segments that were sent again three times (R1 of RFC 9293).
    slow,
    /// Connections that a reset of the peer ended.
    resets_in,
    /// Connection requests that a reset answered.
    refused,
    /// Connections that ended as nothing came.
    timed_out,
    /// Challenge ACKs (RFC 5961).
    challenges,
    /// Those that would have come too soon after another.
    challenges_held,
    /// Segments ahead of a hole.
    out_of_order,
    /// Those that could not be kept, as there were too many holes.
    too_many_holes,
    /// Times that the peer's window was too small for what was to be sent.
    window_stalls,
    window_probes,
    /// Segments of nobody's session.
    stray,
    /// Segments that their session could not use, for other reasons.
    unusable,
    /// Segments whose options contradict themselves.
    bad_options,
    /// ICMP errors that quote a segment of ours.
    icmp,
    /// Segment sizes that "fragmentation needed" lowered.
    mss_lowered,
    /// Ports that waited out their TIME_WAIT.
    quarantined,
    /// Sessions for which no port was free.
    no_port,
    /// Frames that the port had no room for at once.
    waited_for_room,
    /// Frames that were given up, as the port had no room for too many.
    unsent,
}

impl Figures {
    pub(crate) fn count(&mut self, notice: Notice) {
        let counter = match notice {
            Notice::Connected { .. } => &mut self.connected,
            Notice::Retransmitted => &mut self.retransmitted,
            Notice::Slow => &mut self.slow,
            Notice::Closed(Cause::Reset) => &mut self.resets_in,
            Notice::Closed(Cause::Refused) => &mut self.refused,
            Notice::Closed(Cause::TimedOut) => &mut self.timed_out,
            Notice::Challenged => &mut self.challenges,
            Notice::ChallengeLimited => &mut self.challenges_held,
            Notice::Early { .. } => &mut self.out_of_order,
            // A FIN alone ahead of a hole has to come again as well.
            Notice::Dropped(Dropped::Hole | Dropped::EarlyFin) => &mut self.too_many_holes,
            Notice::Dropped(Dropped::Stray) => &mut self.stray,
            Notice::Dropped(_) => &mut self.unusable,
            Notice::Blocked => &mut self.window_stalls,
            Notice::Probed => &mut self.window_probes,
            Notice::Quarantine { .. } => &mut self.quarantined,
            Notice::SoftError => &mut self.icmp,
            Notice::MssLowered { .. } => &mut self.mss_lowered,
            _ => return,
        };
        *counter += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_threads_add_up_by_name() {
        let mut all = Figures { opened: 3, unsent: 1, ..Figures::default() };
        all.add(&Figures { opened: 4, stray: 2, ..Figures::default() });
        let told: Vec<(&str, u64)> = all.named().filter(|(_, count)| *count > 0).collect();
        assert_eq!(told, [("opened", 7), ("stray", 2), ("unsent", 1)]);
    }

    #[test]
    fn what_the_peer_made_of_a_session_is_told_apart() {
        let mut figures = Figures::default();
        for notice in [
            Notice::Closed(Cause::Reset),
            Notice::Closed(Cause::Refused),
            Notice::Closed(Cause::Finished),
            Notice::Dropped(Dropped::Hole),
            Notice::Dropped(Dropped::Paws),
        ] {
            figures.count(notice);
        }
        let expected =
            Figures { resets_in: 1, refused: 1, too_many_holes: 1, unusable: 1, ..Figures::default() };
        assert_eq!(figures, expected);
    }
}
