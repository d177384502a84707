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

impl Peer {
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
