//! Where requests go: endpoints (scheme, host, port) and the names behind them, as one thread sees them.

use plan::{Family, ResolvePlan, Scheme, TargetUrl};
use rustls::pki_types::ServerName;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use units::Instant;

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

/// One endpoint and its idle connections, the longest idle first. A connection that was closed meanwhile stays
/// until it is met: it is known by its generation.
#[derive(Debug)]
pub struct Endpoint {
    pub key: EndpointKey,
    /// The name to ask for: the proxy's, if there is one.
    pub name: NameId,
    pub server_name: Option<ServerName<'static>>,
    pub idle: VecDeque<(u32, u32)>,
}

/// A name and what is known of its addresses.
#[derive(Debug)]
pub struct Name {
    pub host: Box<str>,
    pub port: u16,
    pub state: Known,
    next: usize,
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

impl Name {
    /// The next address, each in turn.
    pub fn address(&mut self) -> Option<SocketAddr> {
        let Known::Addresses(all, _) = &self.state else { return None };
        let address = all.get(self.next % all.len().max(1)).copied();
        self.next = self.next.wrapping_add(1);
        address
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
    server_name: Option<ServerName<'static>>,
}

impl Endpoints {
    /// The most endpoints that one run may have: some 300 bytes each, on each thread.
    pub const MOST: usize = 1 << 20;

    pub fn new(proxy: Option<(String, u16)>, server_name: Option<ServerName<'static>>) -> Self {
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

    /// The endpoint of a URL, made on first sight; `None` when there are too many, or the host is no server name.
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
        self.names.push(Name { host, port, state, next: 0, waiting: Vec::new(), asked: false });
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
