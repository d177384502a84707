//! How connections leave this host, as the plan wants it.

use os::peers::Peers;
use plan::ConnectionPlan;
use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};

use crate::io::{Address, Destination};

/// Source addresses are used in turn.
#[derive(Debug)]
pub struct Dialer {
    sources: Vec<IpAddr>,
    next: usize,
    no_delay: bool,
    /// Told of each address, once.
    peers: Peers,
    told: HashSet<SocketAddr>,
}

impl Dialer {
    /// `index` lets each thread begin with another source address.
    pub fn new(plan: &ConnectionPlan, index: usize, peers: Peers) -> Self {
        Self {
            sources: plan.source_ips.clone(),
            next: index,
            no_delay: plan.no_delay,
            peers,
            told: HashSet::new(),
        }
    }

    /// The way to that address, from the next source address if there are any.
    pub fn tcp(&mut self, to: SocketAddr) -> Destination<'static> {
        if self.told.insert(to) {
            self.peers.add([to]);
        }
        Destination { to: Address::Tcp(to), from: self.source(to), no_delay: self.no_delay }
    }

    fn source(&mut self, to: SocketAddr) -> Option<IpAddr> {
        if self.sources.is_empty() {
            return None;
        }
        self.next = self.next.wrapping_add(1);
        let from = self.next % self.sources.len();
        let turn = self.sources[from..].iter().chain(&self.sources[..from]);
        turn.copied().find(|source| source.is_ipv4() == to.is_ipv4())
    }
}
