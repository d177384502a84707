//! From one port to another: frames that are held go on without a copy by the program, and whole bursts by one
//! call.

use super::{BurstPort, hand_over};
use crate::error::BurstError;
use crate::judge::judge;
use filter::Firewall;
use port::Stamp;

/// What became of the frames of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forwarded {
    pub received: u32,
    pub received_bytes: u64,
    /// That no rule drops.
    pub passed: u32,
    /// That the other port took: fewer than passed where it had no room, or where they were too long for it.
    pub sent: u32,
}

impl BurstPort {
    /// Sends frames `first..first + count` of those held out of `to`, or back out of this port, in order, but
    /// for those that are `dropped`. They stay held. Returns for how many that is done: fewer if there is no
    /// room for more now.
    ///
    /// # Errors
    /// `NotHeld`, `BeyondHeld`, and `TooLong` for the first such frame, if nothing stands before it. Whatever
    /// the port fails with.
    pub fn pass(
        &mut self,
        to: Option<&mut BurstPort>,
        first: usize,
        count: usize,
        dropped: impl Fn(usize) -> bool,
    ) -> Result<usize, BurstError> {
        let held = self.held.ok_or(BurstError::NotHeld)?;
        let end = first.saturating_add(count);
        if end > held {
            return Err(BurstError::BeyondHeld { first, end, held });
        }
        let port = match to {
            Some(to) => &mut *to.port,
            None => &mut *self.port,
        };
        // A file keeps when they came; elsewhere they leave at once.
        let keeps_time = port.about().kind == "pcap";
        let (view, room) = (self.came.view(), self.room);
        // One that its row has cut off is no frame to send, but where it is kept.
        let kept = |index: usize| match view.wire_lengths[index] as usize {
            whole if whole > room && !keeps_time => whole,
            _ => view.lengths[index] as usize,
        };
        let length = |index: usize| if dropped(index) { 0 } else { kept(index) };
        let launch = |index: usize| if keeps_time { Stamp(view.times_unix_ns[index]) } else { Stamp::NONE };
        hand_over(port, (view.data, view.stride, room), first..end, length, launch)
    }

    /// Takes up to `most` frames that have arrived, and sends those that pass out of `to`; without `to` they
    /// are judged, counted and given up where they lie. What `to` does not take is given up, too.
    ///
    /// # Errors
    /// As [`BurstPort::receive`], and what `to` fails with: what was received is given up then.
    pub fn forward(
        &mut self,
        to: Option<&mut BurstPort>,
        firewall: Option<&Firewall>,
        most: usize,
    ) -> Result<Forwarded, BurstError> {
        let Some(to) = to else { return self.sink(firewall, most) };
        let count = self.receive(most)?;
        let mut done = Forwarded { received: count as u32, ..Forwarded::default() };
        if count > 0 {
            let outcome = self.send_on(to, firewall, &mut done);
            self.release()?;
            outcome?;
        }
        Ok(done)
    }

    fn send_on(
        &mut self,
        to: &mut BurstPort,
        firewall: Option<&Firewall>,
        done: &mut Forwarded,
    ) -> Result<(), BurstError> {
        let mut drops = std::mem::take(&mut self.drops);
        drops.clear();
        for frame in self.held_frames().into_iter().flatten() {
            done.received_bytes += frame.len() as u64;
        }
        match firewall {
            None => drops.resize(done.received as usize, false),
            Some(firewall) => {
                let frames = self.held_frames().into_iter().flatten();
                judge(firewall, frames, |decision| drops.push(decision.action().is_drop()));
            }
        }
        done.passed = drops.iter().filter(|drop| !**drop).count() as u32;
        let outcome = self.send_all(to, &drops);
        self.drops = drops;
        done.sent = outcome?;
        Ok(())
    }

    /// Frames that are too long are left out; at one for which there is no room it ends.
    fn send_all(&mut self, to: &mut BurstPort, drops: &[bool]) -> Result<u32, BurstError> {
        let (mut at, mut sent) = (0, 0);
        while at < drops.len() {
            let taken = match self.pass(Some(to), at, drops.len() - at, |index| drops[index]) {
                Ok(0) => break,
                Ok(taken) => taken,
                Err(BurstError::TooLong { .. }) => {
                    at += 1;
                    continue;
                }
                Err(_) if sent > 0 => break,
                Err(error) => return Err(error),
            };
            sent += drops[at..at + taken].iter().filter(|drop| !**drop).count() as u32;
            at += taken;
        }
        Ok(sent)
    }

    /// Nobody looks at the frames any more: they are not copied.
    fn sink(&mut self, firewall: Option<&Firewall>, most: usize) -> Result<Forwarded, BurstError> {
        self.may_receive()?;
        let mut done = Forwarded::default();
        let most = most.min(self.came.rows());
        self.port.receive(most, &mut |frame| {
            done.received += 1;
            done.received_bytes += frame.data.len() as u64;
            let passes = firewall.is_none_or(|firewall| !firewall.decide(frame.data).action().is_drop());
            done.passed += u32::from(passes);
        })?;
        Ok(done)
    }
}
