//! What the sessions to one target share: round-trip times, segment sizes, what is offered in the SYN.
//!
//! RFC 6298, with Linux's bound of the variance term, so that results compare:
//!
//! ```text
//! first sample R     SRTT = R                      RTTVAR = R/2
//! then               RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R|
//!                    SRTT   = 7/8 SRTT   + 1/8 R
//! RTO = SRTT + max(200 ms, 4 RTTVAR), doubled for each retransmission, at most 120 s; 1 s without a sample
//! ```

use crate::spec::timer;

/// One per target. [`step()`](crate::step()) reads it; only the owner changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Smoothed round-trip time; 0: no sample yet.
    pub srtt_us: u32,
    pub rttvar_us: u32,
    /// Added to the milliseconds of the clock for timestamps, so that they say nothing of this machine's
    /// uptime.
    pub stamp_offset: u32,
    /// How long a port stays out of use after TIME_WAIT.
    pub quarantine_ms: u32,
    /// The MSS that is announced: the MTU less the fixed headers of IP and TCP.
    pub mss: u16,
    /// The largest that may be sent; "fragmentation needed" lowers it.
    pub send_mss: u16,
    /// What a peer accepts that announces none: 536 over IPv4, 1220 over IPv6.
    pub default_mss: u16,
    /// How many full segments of a request may be in flight at once, a congestion window; 0 counts as 1.
    /// RFC 6928 starts with 10.
    pub burst: u16,
    /// Own window scale: the window is always 65 535 << shift. At most 14.
    pub shift: u8,
    /// Whether timestamps are offered.
    pub stamps: bool,
    /// Whether selective acknowledgments are offered.
    pub sack: bool,
    /// Whether text of a first response is acknowledged at the end of its batch, as Linux does early in
    /// a connection; else the peer may wait for 40 ms.
    pub quick: bool,
}

impl Path {
    /// Over IPv4 with this MTU.
    pub const fn v4(mtu: u16) -> Self {
        Self::with(mtu.saturating_sub(40), 536)
    }

    /// Over IPv6 with this MTU.
    pub const fn v6(mtu: u16) -> Self {
        Self::with(mtu.saturating_sub(60), 1220)
    }

    const fn with(mss: u16, default_mss: u16) -> Self {
        Self {
            srtt_us: 0,
            rttvar_us: 0,
            stamp_offset: 0,
            quarantine_ms: timer::TIME_WAIT,
            mss,
            send_mss: mss,
            default_mss,
            burst: 1,
            shift: 7,
            stamps: true,
            sack: true,
            quick: false,
        }
    }

    /// Takes the sample of a [`Notice::Rtt`](crate::Notice::Rtt).
    pub fn sample(&mut self, rtt_us: u32) {
        let rtt = u64::from(rtt_us.max(1));
        let (srtt, rttvar) = (u64::from(self.srtt_us), u64::from(self.rttvar_us));
        // Neither exceeds the greatest sample, so both fit again.
        (self.srtt_us, self.rttvar_us) = if srtt == 0 {
            (rtt as u32, (rtt / 2) as u32)
        } else {
            let deviation = srtt.abs_diff(rtt);
            (((7 * srtt + rtt) / 8).max(1) as u32, ((3 * rttvar + deviation) / 4) as u32)
        };
    }

    /// The retransmission timeout before any doubling, in milliseconds, rounded up.
    pub fn rto_ms(&self, syn_repeated: bool) -> u32 {
        if self.srtt_us == 0 {
            return if syn_repeated { timer::RTO_AFTER_SYN } else { timer::RTO_FIRST };
        }
        let variance_us = (4 * u64::from(self.rttvar_us)).max(u64::from(timer::RTO_LEAST) * 1000);
        (u64::from(self.srtt_us) + variance_us).div_ceil(1000).min(u64::from(timer::RTO_MOST)) as u32
    }
}

#[cfg(test)]
mod tests;
