//! The other ends: what their sessions share.

use station::{Head, Mac};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use tcp::Path;

use crate::table::Id;

pub(crate) struct Peer {
    pub to: SocketAddr,
    pub path: Path,
    /// Headers of frames to it, one for each source that has sessions with it.
    heads: Vec<Option<Head>>,
    /// Where these frames go.
    mac: Option<Mac>,
    /// Sessions that wait for the way to it.
    pub waiting: Vec<Id>,
}

/// Segments of a session that may be in flight: at first (RFC 6928, as a kernel's client), and at most, which
/// is all that a record can count of full segments on Ethernet.
pub const BURST: u16 = 10;
const MOST_BURST: u16 = 44;

impl Peer {
    /// `acked` bytes have been acknowledged while `out` were in flight. If more were not allowed, more are now
    /// (slow start, RFC 5681 §3.1).
    pub fn widen(&mut self, out: u16, acked: u32, mss: u16) {
        let (out, mss) = (u32::from(out), u32::from(mss.max(1)));
        if out + mss > u32::from(self.path.burst) * mss {
            let more = (acked.min(out) / mss).max(1) as u16;
            self.path.burst = (self.path.burst + more).min(MOST_BURST);
        }
    }

    /// Something was lost on the way.
    pub fn narrow(&mut self) {
        self.path.burst = (self.path.burst / 2).max(BURST);
    }

    /// The way to it, as it is now; `heads` of another way are forgotten.
    pub fn found_at(&mut self, mac: Mac) {
        if self.mac != Some(mac) {
            self.mac = Some(mac);
            self.heads.clear();
        }
    }

    /// The headers from a source, made by `make` if there are none yet; `None` as long as the way is unknown.
    pub fn head(&mut self, source: u16, make: impl FnOnce(IpAddr, Mac) -> Head) -> Option<&Head> {
        let mac = self.mac?;
        let at = usize::from(source);
        if self.heads.len() <= at {
            self.heads.resize_with(at + 1, || None);
        }
        Some(self.heads[at].get_or_insert_with(|| make(self.to.ip(), mac)))
    }
}

#[derive(Default)]
pub(crate) struct Peers {
    all: Vec<Peer>,
    by_address: HashMap<SocketAddr, u32>,
    /// Those for whose way sessions wait.
    pub seeking: Vec<u32>,
}

impl Peers {
    /// The number of an end; `path` is made the first time.
    pub fn find(&mut self, to: SocketAddr, path: impl FnOnce() -> Path) -> u32 {
        let Self { all, by_address, .. } = self;
        *by_address.entry(to).or_insert_with(|| {
            all.push(Peer { to, path: path(), heads: Vec::new(), mac: None, waiting: Vec::new() });
            all.len() as u32 - 1
        })
    }

    #[inline]
    pub fn get(&mut self, peer: u32) -> &mut Peer {
        &mut self.all[peer as usize]
    }

    pub fn is_known(&self, to: SocketAddr) -> Option<u32> {
        self.by_address.get(&to).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_may_be_in_flight_where_that_was_the_bound_and_less_after_a_loss() {
        let to = "198.18.0.1:80".parse().unwrap();
        let mut peers = Peers::default();
        let number = peers.find(to, || Path { burst: BURST, ..Path::v4(1_500) });
        let peer = peers.get(number);
        // A request of nine segments was not bound by anything but its length.
        peer.widen(9 * 1_448, 2 * 1_448, 1_448);
        assert_eq!(peer.path.burst, 10);
        peer.widen(10 * 1_448, 2 * 1_448, 1_448);
        peer.widen(12 * 1_448 - 5, 1_000, 1_448);
        assert_eq!(peer.path.burst, 13);
        for _ in 0..100 {
            peer.widen(peer.path.burst * 1_448, 2 * 1_448, 1_448);
        }
        assert_eq!(peer.path.burst, MOST_BURST);
        peer.narrow();
        assert_eq!(peer.path.burst, 22);
        (0..5).for_each(|_| peer.narrow());
        assert_eq!(peer.path.burst, BURST);
    }
}
