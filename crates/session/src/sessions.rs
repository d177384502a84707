//! The sessions of one port. See the crate. How they end with the run is in `ending`.

mod ending;

use port::{Claims, For, Port, PortError, PortKind, Stamp, Wish};
use rustix::thread::CapabilitySet;
use station::{Family, Link, Outbox, Probing, Route, Station, StationError, Unreachable, Via};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::os::fd::BorrowedFd;
use tcp::{Event, Millis, Notice, Payload, Record};
use units::{Instant, Picos};

use crate::account::{Account, Place};
use crate::beside::Beside;
use crate::figures::Figures;
use crate::inner::{Core, time};
use crate::lives::Lives;
use crate::looks::Looks;
use crate::outgoing::Outgoing;
use crate::peers::Peers;
use crate::table::{Id, PORTS, Stage, Table};
use crate::wheel::Wheel;

/// Frames that are taken from the port in one call, before there are sessions.
const BATCH: usize = 256;
/// Frames that are taken from the ear in one call.
const HEARD: usize = 16;
/// For how long the answers to the first questions are waited for: three of them, a second apart.
const FIRST_WAY: Picos = Picos::from_millis(3_500);
const STEP: Picos = Picos::from_millis(10);
/// Who the sessions belong to.
pub trait Owner {
    /// The bytes of the request that a segment of the session carries.
    fn text(&self, tag: u32, payload: Payload) -> &[u8];

    /// Something happened to a session. After [`Notice::Closed`] its id names nothing any more.
    fn hear(&mut self, id: Id, tag: u32, notice: Notice, inward: &Inward<'_>);

    /// A frame of the session has left at `left` that had waited in this process since then, as the port had no
    /// room: the time is not the peer's.
    fn waited(&mut self, _tag: u32, _since: Instant, _left: Instant) {}

    /// A step was made, and the session is as the record says.
    fn stepped(&mut self, _tag: u32, _record: &Record) {}

    /// No way to the peer was found, so that the session never began. Its id names nothing any more.
    fn no_way(&mut self, id: Id, tag: u32);
}

/// The segment that an event was about; empty for other events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inward<'a> {
    pub payload: &'a [u8],
    /// Number of the payload's first byte.
    pub seq: u32,
    /// When the frame reached this machine.
    pub stamp: Stamp,
}

/// Why sessions cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Station(#[from] StationError),
    #[error(transparent)]
    Port(#[from] PortError),
    #[error("{address}: {why}")]
    NoWay { address: IpAddr, why: Unreachable },
    #[error(
        "{address} is an address of this host: its kernel does not know Tare's connections and would reset \
         them; choose unused addresses of the same subnet, or share this one with the kernel (--share-address)"
    )]
    OfThisHost { address: IpAddr },
    #[error(
        "{address} is not an address of this host, so it cannot be shared; leave out --share-address, or give \
         only addresses of this host (ip=)"
    )]
    NotOfThisHost { address: IpAddr },
    #[error(
        "{port}: addresses of this host can be shared only on packet:INTERFACE and xdp:INTERFACE, where its \
         kernel receives the same frames"
    )]
    CannotShare { port: String },
    #[error(
        "mac= cannot be used with --share-address: frames to addresses of this host carry its interface's MAC \
         address"
    )]
    MacOfHost,
    #[error(
        "fpga:sim cannot carry HTTP: a simulated second takes a minute or more, while the target, the timers \
         of TCP and the latency go by this host's clock; use fpga:INTERFACE with a board, packet: or xdp:"
    )]
    Simulated,
    #[error(
        "another run uses {address} on this interface: the two would reset each other's connections; wait \
         until it ends, or use other addresses (ip=)"
    )]
    OfAnotherRun { address: IpAddr },
}

/// Why a session was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error("no own address is of this family, or the requested address is not an own address")]
    NoSource,
    #[error("all ports of the own addresses are in use")]
    NoPort,
    #[error("no way leads there")]
    NoWay,
}

/// How far [`Sessions::open`] got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Began {
    /// The SYN is on its way.
    Asked(Id),
    /// The peer's MAC address is asked for first.
    Seeks(Id),
}

impl Began {
    pub const fn id(self) -> Id {
        match self {
            Self::Asked(id) | Self::Seeks(id) => id,
        }
    }
}

/// Its addresses, as long as this is kept.
fn claims(via: &Via) -> Result<Claims, SessionError> {
    let own: Vec<IpAddr> = via.ranges().flat_map(|range| range.iter()).collect();
    Claims::of(&via.port, &own).map_err(|address| SessionError::OfAnotherRun { address })
}

/// See the module.
pub struct Sessions {
    port: Box<dyn Port>,
    /// Where the host has the addresses, too, and the port takes segments alone: what else there is to hear.
    ear: Option<Box<dyn Port>>,
    core: Core,
    woken: Vec<Id>,
    place: Place,
    /// Held as long as there may be connections.
    _claims: Claims,
    _beside: Option<Beside>,
}

impl Sessions {
    /// Opens the port and makes sure that nobody else has the addresses, which takes a third of a second; or
    /// shares those of this host. `now` tells the time.
    ///
    /// # Errors
    /// The port, or the addresses on it. Nothing was sent if it is of whose they are.
    pub fn open_port(via: &Via, share: bool, now: &dyn Fn() -> Instant) -> Result<Self, SessionError> {
        let beside = Beside::look(via, share)?;
        let claims = claims(via)?;
        let wish = Wish { stamps: true, ours: Some(beside.ours(via)), ..Wish::default() };
        let port = port::open(&via.port, &wish)?;
        let via = Via { shared: beside.is_shared(), ..via.clone() };
        let mut sessions = Self::with(port, &via, beside.ports(), now())?;
        sessions.ear = beside.ear(&via)?;
        sessions.place.host_forwards = beside.forwards;
        sessions.place.shared = beside.is_shared().then(|| beside.ports());
        (sessions._claims, sessions._beside) = (claims, Some(beside));
        loop {
            let Core { station, outbox, .. } = &mut sessions.core;
            let probing = station.probe(now(), outbox)?;
            sessions.breathe(STEP, now)?;
            if probing == Probing::Done {
                return Ok(sessions);
            }
        }
    }

    /// Whether [`Self::open_port`] would fail, as far as that can be told without opening a port: what is done
    /// to share an address with the host is left out. The same for [`Self::find_ways`] of these addresses.
    ///
    /// # Errors
    /// What they would say.
    pub fn check_port(
        via: &Via,
        share: bool,
        to: impl IntoIterator<Item = IpAddr>,
    ) -> Result<(), SessionError> {
        let mut wish = Wish { stamps: true, ours: Some(via.ours()), ..Wish::default() };
        if !share {
            wish.ours = Some(Beside::look(via, share)?.ours(via));
        }
        claims(via)?;
        let about = port::check(&via.port, &wish)?;
        let is_of_kernel =
            matches!(via.port.innermost().kind(), PortKind::Packet | PortKind::Xdp | PortKind::Auto);
        if is_of_kernel && !may_open() {
            // It fails before anything is changed, and says what is missing.
            port::open(&via.port, &wish)?;
        }
        if !(about.can.transmit && about.can.receive) {
            Link::of(via, &about)?;
        }
        some_way(to.into_iter().map(|address| (address, Station::no_way(via, address))))
    }

    /// On a port that is open; nobody is asked who else has the addresses.
    ///
    /// # Errors
    /// Addresses that cannot be had on this port.
    pub fn on(port: Box<dyn Port>, via: &Via, now: Instant) -> Result<Self, SessionError> {
        Self::with(port, via, PORTS, now)
    }

    fn with(
        port: Box<dyn Port>,
        via: &Via,
        ports: RangeInclusive<u16>,
        now: Instant,
    ) -> Result<Self, SessionError> {
        let link = Link::of(via, port.about())?;
        let station = Station::new(via, &link);
        let addresses = [Family::V4, Family::V6].map(|family| station.sources(family)).concat();
        let table = Table::new(&addresses, ports, || fastrand::u16(..));
        let core = Core {
            station,
            outbox: Outbox::new(),
            table,
            further: HashMap::new(),
            peers: Peers::default(),
            wheel: Wheel::new(time(now).millis()),
            touched: Vec::new(),
            outgoing: Outgoing::new(),
            figures: Figures::default(),
            lives: Lives::new(now),
            turns: [0; 2],
            station_wakes: now,
            latest: now,
            looks: Looks::new(now),
        };
        let place = Place {
            port: port.about().name.clone(),
            addresses,
            mac: link.mac,
            why_mac: link.why_mac,
            mtu: link.mtu,
            host_forwards: false,
            shared: None,
        };
        Ok(Self {
            port,
            ear: None,
            core,
            woken: Vec::new(),
            place,
            _claims: Claims::default(),
            _beside: None,
        })
    }

    /// Looks for the ways to these addresses, so that no connection has to. Who does not answer is asked again
    /// when a connection wants to go there.
    ///
    /// # Errors
    /// `NoWay` if no way can lead to any of them.
    pub fn find_ways(
        &mut self,
        to: impl IntoIterator<Item = IpAddr>,
        now: &dyn Fn() -> Instant,
    ) -> Result<(), SessionError> {
        let until = now() + FIRST_WAY;
        let found = to.into_iter().map(|address| Ok((address, self.find_way(address, until, now)?)));
        some_way(found.collect::<Result<Vec<_>, PortError>>()?)
    }

    /// Why there is none, as far as that is known by `until`.
    fn find_way(
        &mut self,
        to: IpAddr,
        until: Instant,
        now: &dyn Fn() -> Instant,
    ) -> Result<Option<Unreachable>, PortError> {
        loop {
            let Core { station, outbox, .. } = &mut self.core;
            match station.route(to, now(), outbox) {
                Route::Unreachable(why) => return Ok(Some(why)),
                Route::Asking if now() < until => self.breathe(STEP, now)?,
                Route::Ready(_) | Route::Asking => return Ok(None),
            }
        }
    }

    /// Sends what waits, and takes what comes for so long, before there are sessions.
    fn breathe(&mut self, wait: Picos, now: &dyn Fn() -> Instant) -> Result<(), PortError> {
        self.core.outbox.send(&mut *self.port)?;
        self.port.wait(For::Receive, wait)?;
        self.receive(BATCH, now(), &mut Nobody)?;
        self.core.wake_station(now());
        Ok(())
    }

    /// What it is called in results.
    pub fn name(&self) -> &str {
        &self.port.about().name
    }

    pub fn about(&self) -> &port::About {
        self.port.about()
    }

    pub fn station(&self) -> &Station {
        &self.core.station
    }

    pub fn figures(&self) -> &Figures {
        &self.core.figures
    }

    /// All that there is to tell of them.
    pub fn account(&mut self) -> Account {
        Account {
            place: self.place.clone(),
            figures: self.core.figures,
            station: self.core.station.counters().clone(),
            silent: self.core.station.silent(),
            // A port that is gone has nothing more to tell.
            port: self.port.counters().cloned().unwrap_or_default(),
        }
    }

    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.port.descriptor()
    }

    /// Whether `from` is an address of ours.
    pub fn has(&self, from: IpAddr) -> bool {
        self.core.table.source_of(from).is_some()
    }

    /// Begins a session that its owner calls `tag`. The SYN leaves with the next [`Self::transmit`].
    ///
    /// # Errors
    /// No address, no port, no way.
    pub fn open(
        &mut self,
        to: SocketAddr,
        from: Option<IpAddr>,
        tag: u32,
        now: Instant,
        owner: &mut impl Owner,
    ) -> Result<Began, OpenError> {
        self.core.open(to, from, tag, now, owner)
    }

    /// Tells a session of an event. Its segment leaves with the next [`Self::transmit`].
    pub fn act(&mut self, id: Id, event: Event, now: Instant, owner: &mut impl Owner) {
        self.core.act(id, event, &Inward::default(), now, owner);
    }

    /// The owner calls the session `tag` from now on.
    pub fn rename(&mut self, id: Id, tag: u32) {
        if let Some((_, side)) = self.core.table.get(id) {
            side.tag = tag;
        }
    }

    /// Gives a session up that waits for the way to its peer. Whether it was one.
    pub fn forget(&mut self, id: Id) -> bool {
        let seeks = self.core.table.get(id).is_some_and(|(_, side)| side.stage == Stage::Seeking);
        if seeks {
            self.core.table.release(id, None);
        }
        seeks
    }

    /// The record of a session.
    pub fn record(&mut self, id: Id) -> Option<&Record> {
        self.core.table.get(id).map(|(record, _)| &*record)
    }

    /// Takes up to `most` frames. Returns how many there were.
    ///
    /// # Errors
    /// Those of [`Port::receive`].
    pub fn receive(&mut self, most: usize, now: Instant, owner: &mut impl Owner) -> Result<usize, PortError> {
        let Self { port, ear, core, .. } = self;
        let heard = match ear {
            Some(ear) => ear.receive(HEARD, &mut |frame| core.take(frame, now, owner)),
            None => Ok(0),
        };
        let took = heard.and_then(|_| port.receive(most, &mut |frame| core.take(frame, now, owner)));
        // Nothing comes from a link that is down.
        core.looks.took(took.as_ref().map_or(0, |count| *count), most, now);
        took
    }

    /// Does what time asks for, up to the last look that found the end of what had come: answers that lie in
    /// the port since then are not late.
    pub fn expire(&mut self, now: Instant, owner: &mut impl Owner) {
        let Self { core, woken, .. } = self;
        let read = core.looks.read_until().min(now);
        core.wake_station(read);
        core.begin_those_that_sought(now, owner);
        core.wheel.advance(time(read).millis(), woken);
        for id in woken.drain(..) {
            core.wake(id, read, now, owner);
        }
    }

    /// Sends the acknowledgments that are owed, and segments for which there is room now.
    pub fn settle(&mut self, now: Instant, owner: &mut impl Owner) {
        self.core.settle(now, owner);
    }

    /// The same for one session.
    pub fn flush(&mut self, id: Id, now: Instant, owner: &mut impl Owner) {
        self.core.flush(id, now, owner);
    }

    /// Hands all frames over that the port has room for. `now` tells the time, and is asked where some wait.
    ///
    /// # Errors
    /// Those of [`Port::transmit`].
    pub fn transmit(&mut self, now: &dyn Fn() -> Instant, owner: &mut impl Owner) -> Result<(), PortError> {
        let Core { outbox, outgoing, figures, .. } = &mut self.core;
        outbox.send(&mut *self.port)?;
        let done = outgoing.transmit(&mut *self.port, figures, now);
        self.core.tell_late(now, owner);
        done
    }

    /// Whether frames wait for room in the port.
    pub fn waits_for_room(&self) -> bool {
        !self.core.outgoing.is_empty() || !self.core.outbox.is_empty()
    }

    /// Waits for frames, for at most so long.
    ///
    /// # Errors
    /// Those of [`Port::wait`].
    pub fn wait(&mut self, patience: Picos) -> Result<bool, PortError> {
        self.port.wait(For::Receive, patience)
    }

    /// How long it is until [`Self::expire`] has something to do.
    pub fn next_deadline(&self, now: Instant) -> Picos {
        let at = time(now);
        let session = self.core.wheel.next().map(|next| {
            let whole = Picos::from_millis(u64::from(ahead_ms(next, at.millis())));
            whole.saturating_sub(Picos::from_micros(at.as_micros() % 1_000))
        });
        let station = self.core.station_wakes.since(now);
        session.map_or(station, |session| session.min(station))
    }

    /// What is wrong with the link, asked anew.
    pub fn trouble(&mut self) -> Option<PortError> {
        self.port.trouble()
    }
}

/// 0 for what is past.
const fn ahead_ms(deadline: Millis, at: Millis) -> u32 {
    if deadline.is_before(at) { 0 } else { deadline.as_wrapped().wrapping_sub(at.as_wrapped()) }
}

/// The owner of no session.
pub(crate) struct Nobody;

impl Owner for Nobody {
    fn text(&self, _: u32, _: Payload) -> &[u8] {
        &[]
    }
    fn hear(&mut self, _: Id, _: u32, _: Notice, _: &Inward<'_>) {}
    fn no_way(&mut self, _: Id, _: u32) {}
}

/// Whether this program has what a socket for frames needs.
fn may_open() -> bool {
    let held = rustix::thread::capabilities(None);
    held.is_ok_and(|held| held.effective.contains(CapabilitySet::NET_RAW))
}

/// `NoWay` if there are addresses, and no way can ever lead to any of them.
fn some_way(all: impl IntoIterator<Item = (IpAddr, Option<Unreachable>)>) -> Result<(), SessionError> {
    let mut without = None;
    for (address, why) in all {
        match why.filter(|why| why.is_lasting()) {
            Some(why) => without = without.or(Some((address, why))),
            None => return Ok(()),
        }
    }
    without.map_or(Ok(()), |(address, why)| Err(SessionError::NoWay { address, why }))
}

#[cfg(test)]
mod tests;
