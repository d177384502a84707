//! Where the records of all sessions stand: the port number is the index, so that nothing is searched.
//!
//! ```text
//!   source 0 ─┬─ page 0    [record, side of port 0    │ … │ port 1023]
//!             ├─ page 1    [record, side of port 1024 │ … ]    made when its first port is used
//!             └─ …
//!   id = source · 65 536 + port
//! ```
//!
//! A port that ended goes behind all others, and one that has to wait out its TIME_WAIT is not used before.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use tcp::{Millis, Record};

/// The ports that sessions leave from: 64 512 of each address.
pub const PORTS: RangeInclusive<u16> = 1024..=u16::MAX;

const PAGE: usize = 1024;
const PAGES: usize = 65_536 / PAGE;

/// A session: one port of one address of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id(NonZeroU32);

impl Id {
    pub(crate) const fn new(source: u16, port: u16) -> Self {
        match NonZeroU32::new((source as u32) << 16 | port as u32) {
            Some(id) => Self(id),
            // No session leaves from port 0 of the first address.
            None => Self(NonZeroU32::MAX),
        }
    }

    pub(crate) const fn source(self) -> u16 {
        (self.0.get() >> 16) as u16
    }

    /// Its port, of the address that it leaves from.
    pub const fn port(self) -> u16 {
        self.0.get() as u16
    }
}

/// How far a session is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nobody uses the port.
    #[default]
    Free,
    /// The way to its peer is being looked for.
    Seeking,
    /// Its record is at work.
    Live,
}

/// What is known of a session beside its record, which fills a line of the cache by itself.
#[derive(Clone, Copy, Default)]
pub(crate) struct Side {
    /// Index of the other end.
    pub peer: u32,
    /// What the owner calls it.
    pub tag: u32,
    /// When the wheel wakes it, if `armed`.
    pub wakes: Millis,
    pub armed: bool,
    pub stage: Stage,
    /// It stands in the list of those that owe an acknowledgment.
    pub touched: bool,
}

struct Page {
    records: Box<[Record]>,
    sides: Box<[Side]>,
}

impl Page {
    fn new() -> Self {
        Self {
            records: vec![Record::default(); PAGE].into_boxed_slice(),
            sides: vec![Side::default(); PAGE].into_boxed_slice(),
        }
    }
}

struct Source {
    address: IpAddr,
    pages: [Option<Page>; PAGES],
    /// How many ports were never used; they come first, from `first` on and around.
    fresh: u32,
    first: u16,
    /// Ports that were used and may be again, the longest unused first.
    free: VecDeque<u16>,
    /// Ports that must wait, until when. All wait equally long, so the first is the next.
    resting: VecDeque<(u16, Millis)>,
}

/// See the module.
pub(crate) struct Table {
    sources: Vec<Source>,
    /// Addresses in order, with their sources.
    sorted: Vec<(IpAddr, u16)>,
    ports: RangeInclusive<u16>,
}

impl Table {
    /// `first` decides at which port each source begins, so that runs one after another begin at different
    /// ones.
    pub fn new(addresses: &[IpAddr], ports: RangeInclusive<u16>, mut first: impl FnMut() -> u16) -> Self {
        let count = ports.len() as u32;
        let source = |address: &IpAddr| Source {
            address: *address,
            pages: [const { None }; PAGES],
            fresh: count,
            first: (u32::from(first()) % count) as u16,
            free: VecDeque::new(),
            resting: VecDeque::new(),
        };
        let sources: Vec<Source> = addresses.iter().map(source).collect();
        let mut sorted: Vec<(IpAddr, u16)> =
            sources.iter().enumerate().map(|(at, source)| (source.address, at as u16)).collect();
        sorted.sort_unstable();
        Self { sources, sorted, ports }
    }

    /// Whether sessions may leave from this port.
    pub fn has_port(&self, port: u16) -> bool {
        self.ports.contains(&port)
    }

    pub fn sources(&self) -> usize {
        self.sources.len()
    }

    pub fn address(&self, source: u16) -> IpAddr {
        self.sources[usize::from(source)].address
    }

    pub fn source_of(&self, address: IpAddr) -> Option<u16> {
        let at = self.sorted.binary_search_by_key(&address, |(address, _)| *address).ok()?;
        Some(self.sorted[at].1)
    }

    /// A port that nobody uses, of this source.
    pub fn lease(&mut self, source: u16, now: Millis) -> Option<Id> {
        let from = &mut self.sources[usize::from(source)];
        while let Some((port, until)) = from.resting.front().copied()
            && !now.is_before(until)
        {
            from.resting.pop_front();
            from.free.push_back(port);
        }
        let port = if from.fresh > 0 {
            from.fresh -= 1;
            let nth = (u32::from(from.first) + from.fresh) % self.ports.len() as u32;
            *self.ports.start() + nth as u16
        } else {
            from.free.pop_front()?
        };
        let (page, at) = (usize::from(port) / PAGE, usize::from(port) % PAGE);
        let page = from.pages[page].get_or_insert_with(Page::new);
        debug_assert!(page.sides[at].stage == Stage::Free, "a port is leased once");
        Some(Id::new(source, port))
    }

    /// The port may be used again, after `rest` if that is given.
    pub fn release(&mut self, id: Id, rest: Option<Millis>) {
        if let Some((_, side)) = self.get(id) {
            side.stage = Stage::Free;
        }
        let source = &mut self.sources[usize::from(id.source())];
        match rest {
            Some(until) => source.resting.push_back((id.port(), until)),
            None => source.free.push_back(id.port()),
        }
    }

    /// How many ports wait before they may be used again.
    #[cfg(test)]
    pub fn resting(&self) -> usize {
        self.sources.iter().map(|source| source.resting.len()).sum()
    }

    /// What is known of a port that was leased once.
    #[inline]
    pub fn get(&mut self, id: Id) -> Option<(&mut Record, &mut Side)> {
        let pages = &mut self.sources.get_mut(usize::from(id.source()))?.pages;
        let page = pages[usize::from(id.port()) / PAGE].as_mut()?;
        let at = usize::from(id.port()) % PAGE;
        Some((&mut page.records[at], &mut page.sides[at]))
    }

    /// Each session that somebody uses.
    pub fn used(&self) -> Vec<Id> {
        let mut used = Vec::new();
        for (index, source) in self.sources.iter().enumerate() {
            for (number, page) in source.pages.iter().enumerate() {
                let sides = page.iter().flat_map(|page| page.sides.iter().enumerate());
                let taken = sides.filter(|(_, side)| side.stage != Stage::Free);
                used.extend(taken.map(|(at, _)| Id::new(index as u16, (number * PAGE + at) as u16)));
            }
        }
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const fn at(ms: u32) -> Millis {
        Millis::from_wrapped(ms)
    }

    fn one() -> Table {
        Table::new(&["198.18.0.9".parse().expect("an address")], PORTS, || 60_000)
    }

    #[test]
    fn each_port_is_leased_once_before_any_is_leased_again() {
        let mut table = one();
        let leased: Vec<Id> = std::iter::from_fn(|| table.lease(0, at(0))).collect();
        let ports: BTreeSet<u16> = leased.iter().map(|id| id.port()).collect();
        assert_eq!((leased.len(), ports.len()), (64_512, 64_512));
        assert!(ports.iter().all(|port| PORTS.contains(port)));
        // The one that was released first comes first.
        table.release(leased[7], None);
        table.release(leased[3], None);
        assert_eq!([table.lease(0, at(0)), table.lease(0, at(0))], [Some(leased[7]), Some(leased[3])]);
        assert_eq!(table.lease(0, at(0)), None);
    }

    #[test]
    fn a_port_that_rests_is_leased_when_its_time_has_come() {
        let mut table = one();
        let leased: Vec<Id> = std::iter::from_fn(|| table.lease(0, at(0))).collect();
        table.release(leased[0], Some(at(1_000)));
        assert_eq!((table.lease(0, at(999)), table.resting()), (None, 1));
        assert_eq!((table.lease(0, at(1_000)), table.resting()), (Some(leased[0]), 0));
    }

    #[test]
    fn sources_are_found_by_their_addresses() {
        let addresses: Vec<IpAddr> =
            ["198.18.0.12", "fd00::1", "198.18.0.3"].iter().map(|text| text.parse().expect("one")).collect();
        let mut table = Table::new(&addresses, PORTS, || 0);
        for (at, address) in addresses.iter().enumerate() {
            assert_eq!(table.source_of(*address), Some(at as u16));
            assert_eq!(table.address(at as u16), *address);
        }
        assert_eq!(table.source_of("198.18.0.4".parse().expect("one")), None);
        let id = table.lease(1, at(0)).expect("a port");
        let (_, side) = table.get(id).expect("its place");
        (side.stage, side.tag) = (Stage::Live, 5);
        assert_eq!(table.used(), [id]);
        assert!(table.get(Id::new(2, 5)).is_none() && table.get(Id::new(9, 5)).is_none());
    }
}
