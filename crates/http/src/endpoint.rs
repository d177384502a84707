//! Where requests go: endpoints (scheme, host, port) and the names behind them, as one thread sees them.

use crate::tls::ServerName;
use plan::{Family, ResolvePlan, Scheme, TargetUrl};
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use units::{Instant, Picos};

/// Index into `Endpoints`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EndpointId(pub u32);

/// Index into the names of `Endpoints`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NameId(pub u32);

/// What tells endpoints apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EndpointKey {
    pub tls: bool,
    pub host: Box<str>,
    pub port: u16,
}

impl EndpointKey {
    /// `host:port`, always with the port.
    pub fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

/// One endpoint and its idle connections, the longest idle first. A connection that was closed meanwhile stays
/// until it is met: it is known by its generation.
#[derive(Debug)]
pub struct Endpoint {
    pub key: EndpointKey,
    /// The name to ask for: the proxy's, if there is one.
    pub name: NameId,
    pub server_name: Option<ServerName>,
    pub idle: VecDeque<(u32, u32)>,
}

/// A name and what is known of its addresses.
#[derive(Debug)]
pub struct Name {
    pub host: Box<str>,
    pub port: u16,
    pub state: Known,
    next: usize,
    /// What connecting has told of its addresses.
    standing: Vec<(SocketAddr, Standing)>,
    /// Connections that wait for the answer.
    pub waiting: Vec<u32>,
    /// An answer is on its way.
    pub asked: bool,
}

#[derive(Debug)]
pub enum Known {
    Unknown,
    /// Since when.
    Addresses(Vec<SocketAddr>, Instant),
}

/// What is known of an address, beyond that the name has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// A connection to it was made: what happens there is the target's doing from now on.
    Works,
    /// It was slower than [`PATIENCE`]; it has all the time it wants once no other is left.
    Slow,
    /// Nothing can be reached there.
    Fails,
}

/// How long an address is waited for while there is another to try (RFC 8305 §8, Connection Attempt Delay).
pub const PATIENCE: Picos = Picos::from_millis(250);

impl EndpointId {
    pub const fn index(self) -> usize {
        self.0 as usize
    }
    pub const fn of_index(index: usize) -> Self {
        Self(index as u32)
    }
}

impl Name {
    /// All addresses that are known.
    pub fn addresses(&self) -> &[SocketAddr] {
        match &self.state {
            Known::Unknown => &[],
            Known::Addresses(all, _) => all,
        }
    }

    /// The next address, each in turn; those at which nothing could be reached are left out.
    pub fn address(&mut self) -> Option<SocketAddr> {
        let Known::Addresses(all, _) = &self.state else { return None };
        let turn = self.next;
        self.next = turn.wrapping_add(1);
        let of = |wanted: &[Option<Standing>]| {
            let fits = |address: &&SocketAddr| wanted.contains(&self.standing_of(**address));
            let count = all.iter().filter(fits).count();
            all.iter().filter(fits).nth(turn % count.max(1)).copied()
        };
        if self.standing.is_empty() {
            return all.get(turn % all.len().max(1)).copied();
        }
        of(&[Some(Standing::Works), None])
            .or_else(|| of(&[Some(Standing::Slow)]))
            .or_else(|| all.first().copied())
    }

    /// New addresses, of which nothing else is known.
    pub fn learned(&mut self, all: Vec<SocketAddr>, now: Instant) {
        self.standing.retain(|(address, standing)| *standing == Standing::Works && all.contains(address));
        self.state = Known::Addresses(all, now);
    }

    /// A connection to the address was made.
    pub fn works(&mut self, address: SocketAddr) {
        if self.is_one_of_several(address) && self.standing_of(address) != Some(Standing::Works) {
            self.stands(address, Standing::Works);
        }
    }

    /// Nothing can be reached at the address. True if another one is to be tried instead: an address that has
    /// worked is the target's, and its failure an outcome.
    pub fn fails(&mut self, address: SocketAddr) -> bool {
        if !self.is_one_of_several(address) || self.standing_of(address) == Some(Standing::Works) {
            return false;
        }
        self.stands(address, Standing::Fails);
        let Known::Addresses(all, _) = &self.state else { return false };
        let is_left = all.iter().any(|other| self.standing_of(*other) != Some(Standing::Fails));
        if !is_left {
            // All are tried again by the next request.
            self.standing.clear();
        }
        is_left
    }

    /// Whether another address is to be tried if this one is slow.
    pub fn has_better_than_slow(&self, address: SocketAddr) -> bool {
        let Known::Addresses(all, _) = &self.state else { return false };
        let known = self.standing_of(address);
        let better = |standing| matches!(standing, None | Some(Standing::Works));
        self.is_one_of_several(address)
            && known.is_none()
            && all.iter().any(|other| *other != address && better(self.standing_of(*other)))
    }

    /// The address has not answered in [`PATIENCE`]. True if another one is to be tried instead.
    pub fn is_slow(&mut self, address: SocketAddr) -> bool {
        let another = self.has_better_than_slow(address);
        if another {
            self.stands(address, Standing::Slow);
        }
        another
    }

    fn is_one_of_several(&self, address: SocketAddr) -> bool {
        matches!(&self.state, Known::Addresses(all, _) if all.len() > 1 && all.contains(&address))
    }

    fn standing_of(&self, address: SocketAddr) -> Option<Standing> {
        self.standing.iter().find(|(known, _)| *known == address).map(|(_, standing)| *standing)
    }

    fn stands(&mut self, address: SocketAddr, standing: Standing) {
        self.standing.retain(|(known, _)| *known != address);
        self.standing.push((address, standing));
    }
}

/// All endpoints of one thread. Found by a URL without allocating.
#[derive(Debug)]
pub struct Endpoints {
    all: Vec<Endpoint>,
    names: Vec<Name>,
    by_authority: [HashMap<Box<str>, EndpointId>; 2],
    by_name: HashMap<(Box<str>, u16), NameId>,
    /// Where the search for idle connections went last.
    turn: usize,
    proxy: Option<(String, u16)>,
    server_name: Option<ServerName>,
}

impl Endpoints {
    /// The most endpoints that one run may have: some 300 bytes each, on each thread.
    pub const MOST: usize = 1 << 20;

    pub fn new(proxy: Option<(String, u16)>, server_name: Option<ServerName>) -> Self {
        Self {
            all: Vec::new(),
            names: Vec::new(),
            by_authority: [HashMap::new(), HashMap::new()],
            by_name: HashMap::new(),
            turn: 0,
            proxy,
            server_name,
        }
    }

    pub fn get(&mut self, id: EndpointId) -> &mut Endpoint {
        &mut self.all[id.0 as usize]
    }
    pub fn name(&mut self, id: NameId) -> &mut Name {
        &mut self.names[id.0 as usize]
    }
    /// An endpoint other than `wanted` that has idle connections, each in turn.
    pub fn other_with_idle(&mut self, wanted: EndpointId) -> Option<EndpointId> {
        let count = self.all.len();
        let found = (1..=count)
            .map(|step| (self.turn + step) % count)
            .find(|index| *index != wanted.0 as usize && !self.all[*index].idle.is_empty())?;
        self.turn = found;
        Some(EndpointId(found as u32))
    }
    pub fn names(&mut self) -> impl Iterator<Item = &mut Name> {
        self.names.iter_mut()
    }
    pub fn find_name(&self, host: &str, port: u16) -> Option<NameId> {
        self.by_name.get(&(Box::from(host), port)).copied()
    }
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Endpoint> {
        self.all.iter_mut()
    }

    /// The endpoint of a URL, made on first sight; `None` when there are too many, or the host is no server
    /// name.
    pub fn of(&mut self, url: &TargetUrl<'_>, now: Instant, resolve: &ResolvePlan) -> Option<EndpointId> {
        let tls = url.scheme == Scheme::Https;
        if let Some(id) = self.by_authority[usize::from(tls)].get(url.authority) {
            return Some(*id);
        }
        if self.all.len() >= Self::MOST {
            return None;
        }
        let key = EndpointKey { tls, host: url.host.into(), port: url.port };
        let server_name = match (tls, &self.server_name) {
            (false, _) => None,
            (true, Some(name)) => Some(name.clone()),
            (true, None) => Some(crate::tls::server_name(url.host).ok()?),
        };
        let (host, port) = match &self.proxy {
            Some((host, port)) => (host.clone().into_boxed_str(), *port),
            None => (key.host.clone(), key.port),
        };
        let name = self.name_id(host, port, now, resolve);
        let id = EndpointId(self.all.len() as u32);
        self.all.push(Endpoint { key, name, server_name, idle: VecDeque::new() });
        self.by_authority[usize::from(tls)].insert(url.authority.into(), id);
        Some(id)
    }

    fn name_id(&mut self, host: Box<str>, port: u16, now: Instant, resolve: &ResolvePlan) -> NameId {
        if let Some(id) = self.by_name.get(&(host.clone(), port)) {
            return *id;
        }
        let id = NameId(self.names.len() as u32);
        let known = known_without_asking(&host, port, resolve);
        let state = known.map_or(Known::Unknown, |all| Known::Addresses(all, now));
        self.by_name.insert((host.clone(), port), id);
        self.names.push(Name {
            host,
            port,
            state,
            next: 0,
            standing: Vec::new(),
            waiting: Vec::new(),
            asked: false,
        });
        id
    }
}

/// `--resolve` entries and literal addresses.
pub fn known_without_asking(host: &str, port: u16, resolve: &ResolvePlan) -> Option<Vec<SocketAddr>> {
    let fixed: Vec<_> = resolve
        .fixed
        .iter()
        .filter(|(name, of, _)| name.eq_ignore_ascii_case(host) && *of == port)
        .map(|(_, _, address)| SocketAddr::new(*address, port))
        .collect();
    if !fixed.is_empty() {
        return Some(fixed);
    }
    // A literal address of the other family is left to the look-up, which says that there is none.
    let literal = SocketAddr::new(host.parse::<IpAddr>().ok()?, port);
    Some(of_family(vec![literal], resolve.family)).filter(|all| !all.is_empty())
}

/// Keeps the addresses of the family that the plan wants.
pub fn of_family(addresses: Vec<SocketAddr>, family: Family) -> Vec<SocketAddr> {
    addresses
        .into_iter()
        .filter(|address| match family {
            Family::Any => true,
            Family::Ipv4 => address.is_ipv4(),
            Family::Ipv6 => address.is_ipv6(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(addresses: &[&str]) -> Name {
        let all = addresses.iter().map(|text| text.parse().unwrap()).collect();
        Name {
            host: "h".into(),
            port: 1,
            state: Known::Addresses(all, Instant::EPOCH),
            next: 0,
            standing: Vec::new(),
            waiting: Vec::new(),
            asked: false,
        }
    }

    fn next(name: &mut Name) -> String {
        name.address().unwrap().to_string()
    }

    const SIX: &str = "[::1]:1";
    const FOUR: &str = "127.0.0.1:1";

    #[test]
    fn an_address_that_refuses_is_left_out_once_another_is_there() {
        let mut name = name(&[SIX, FOUR]);
        assert_eq!([next(&mut name), next(&mut name)], [SIX, FOUR]);
        assert!(name.fails(SIX.parse().unwrap()));
        assert!((0..4).all(|_| next(&mut name) == FOUR));
        name.works(FOUR.parse().unwrap());
        assert!(!name.fails(FOUR.parse().unwrap()), "what has worked fails on its own account");
        assert_eq!(next(&mut name), FOUR);
        name.learned(vec![FOUR.parse().unwrap(), SIX.parse().unwrap()], Instant::EPOCH);
        assert_ne!(next(&mut name), next(&mut name), "with a new answer both have another chance");
    }

    #[test]
    fn where_all_refuse_each_request_tries_all() {
        let mut name = name(&[SIX, FOUR]);
        for _ in 0..3 {
            assert!(name.fails(SIX.parse().unwrap()));
            assert_eq!(next(&mut name), FOUR);
            assert!(!name.fails(FOUR.parse().unwrap()));
        }
    }

    #[test]
    fn a_slow_address_waits_for_the_others_and_then_has_its_time() {
        let mut name = name(&[SIX, FOUR]);
        let (six, four) = (SIX.parse().unwrap(), FOUR.parse().unwrap());
        assert!(name.has_better_than_slow(six) && name.is_slow(six));
        assert_eq!(next(&mut name), FOUR);
        assert!(!name.is_slow(four), "the last has all the time it wants");
        assert!(name.fails(four));
        assert_eq!(next(&mut name), SIX);
        assert!(!name.has_better_than_slow(six));
    }

    #[test]
    fn the_only_address_is_the_targets() {
        let mut name = name(&[FOUR]);
        let four = FOUR.parse().unwrap();
        assert!(!name.fails(four) && !name.is_slow(four));
        assert_eq!(next(&mut name), FOUR);
    }

    proptest! {
        /// Whatever connecting tells, there is an address; and one that fails is not tried while another is
        /// untried.
        #[test]
        fn there_is_always_an_address(tells in proptest::collection::vec((0usize..4, 0u8..4), 0..40)) {
            let texts = ["1.0.0.1:1", "1.0.0.2:1", "1.0.0.3:1", "1.0.0.4:1"];
            let mut name = name(&texts);
            for (index, tell) in tells {
                let address = texts[index].parse().unwrap();
                match tell {
                    0 => name.works(address),
                    1 => { name.fails(address); }
                    2 => { name.is_slow(address); }
                    _ => {}
                }
                let next = name.address().unwrap();
                let has_hope = texts.iter().any(|text| {
                    name.standing_of(text.parse().unwrap()) != Some(Standing::Fails)
                });
                prop_assert!(!has_hope || name.standing_of(next) != Some(Standing::Fails));
            }
        }
    }
}
