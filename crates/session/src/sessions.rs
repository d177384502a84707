//! The sessions of one port. See the crate.

use port::{For, Frame, Host, Port, PortError, Stamp, Wish};
use station::{
    Family, Link, Outbox, Probing, Quoted, Route, Segment, Station, StationError, Taken, Unreachable, Via,
    What,
};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
use tcp::{Arrived, Event, Millis, Notice, Pair, Path, Payload, Record, Secret, Time, isn, step};
use units::{Instant, Picos};

use crate::account::{Account, Place};
use crate::figures::Figures;
use crate::outgoing::Outgoing;
use crate::peers::Peers;
use crate::table::{Id, Side, Stage, Table};
use crate::wheel::Wheel;

/// Frames that are taken from the port in one call.
const BATCH: usize = 256;
/// For how long the answers to the first questions are waited for: three of them, a second apart.
const FIRST_WAY: Picos = Picos::from_millis(3_500);
const STEP: Picos = Picos::from_millis(10);
/// For how long the last frames may wait for room.
const LAST_ROOM: Picos = Picos::from_millis(200);
/// Segments of a session that may be in flight: the first window of a kernel's client (RFC 6928).
const BURST: u16 = 10;
/// Longest TCP header.
const HEADER: usize = 60;

/// Who the sessions belong to.
pub trait Owner {
    /// The bytes of the request that a segment of the session carries.
    fn text(&self, tag: u32, payload: Payload) -> &[u8];

    /// Something happened to a session. After [`Notice::Closed`] its id names nothing any more.
    fn hear(&mut self, id: Id, tag: u32, notice: Notice, inward: &Inward<'_>);

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
        "{address} is an address of this host itself: its kernel knows nothing of connections that are not its \
         own, and would reset them; choose addresses of the same subnet that nobody has, or remove this one \
         from the interface"
    )]
    OfThisHost { address: IpAddr },
}

/// Why a session was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error("no own address is of this family, or the one that was asked for is none")]
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

/// See the module.
pub struct Sessions {
    port: Box<dyn Port>,
    core: Core,
    woken: Vec<Id>,
    place: Place,
}

/// All but the port, so that frames can be looked at where they lie.
struct Core {
    station: Station,
    outbox: Outbox,
    table: Table,
    peers: Peers,
    wheel: Wheel<Id>,
    touched: Vec<Id>,
    outgoing: Outgoing,
    figures: Figures,
    secret: Secret,
    stamp_offset: u32,
    /// The source that the next session of each family leaves from.
    turns: [usize; 2],
    /// When the station wants to be asked again.
    station_wakes: Instant,
}

/// Time as sessions count it.
fn time(now: Instant) -> Time {
    Time::from_micros(now.since_epoch().as_nanos() / 1_000)
}

impl Sessions {
    /// Opens the port and makes sure that nobody else has the addresses, which takes a third of a second.
    /// `now` tells the time.
    ///
    /// # Errors
    /// The port, or the addresses on it. Nothing was sent if they are this host's.
    pub fn open_port(via: &Via, now: &dyn Fn() -> Instant) -> Result<Self, SessionError> {
        let addresses: Vec<IpAddr> = via.ranges().flat_map(|range| range.iter()).collect();
        let host = Host::beside(&via.port, &addresses)?;
        if let Some(address) = host.has.first() {
            return Err(SessionError::OfThisHost { address: *address });
        }
        let wish = Wish { stamps: true, ..Wish::default() };
        let port = port::open(&via.port, &wish)?;
        let mut sessions = Self::on(port, via, now())?;
        sessions.place.host_forwards = host.forwards;
        loop {
            let Core { station, outbox, .. } = &mut sessions.core;
            let probing = station.probe(now(), outbox)?;
            sessions.breathe(STEP, now)?;
            if probing == Probing::Done {
                return Ok(sessions);
            }
        }
    }

    /// On a port that is open; nobody is asked who else has the addresses.
    ///
    /// # Errors
    /// Addresses that cannot be had on this port.
    pub fn on(port: Box<dyn Port>, via: &Via, now: Instant) -> Result<Self, SessionError> {
        let link = Link::of(via, port.about())?;
        let station = Station::new(via, &link);
        let addresses = [Family::V4, Family::V6].map(|family| station.sources(family)).concat();
        let table = Table::new(&addresses, || fastrand::u16(..));
        let core = Core {
            station,
            outbox: Outbox::new(),
            table,
            peers: Peers::default(),
            wheel: Wheel::new(time(now).millis()),
            touched: Vec::new(),
            outgoing: Outgoing::default(),
            figures: Figures::default(),
            secret: Secret::new([fastrand::u64(..), fastrand::u64(..)]),
            stamp_offset: fastrand::u32(..),
            turns: [0; 2],
            station_wakes: now,
        };
        let place = Place {
            port: port.about().name.clone(),
            addresses,
            mac: link.mac,
            why_mac: link.why_mac,
            mtu: link.mtu,
            host_forwards: false,
        };
        Ok(Self { port, core, woken: Vec::new(), place })
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
        let (mut any, mut without) = (false, None);
        for address in to {
            match self.find_way(address, until, now)? {
                Some(why) if why.is_lasting() => without = without.or(Some((address, why))),
                _ => any = true,
            }
        }
        match without {
            Some((address, why)) if !any => Err(SessionError::NoWay { address, why }),
            _ => Ok(()),
        }
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
        self.receive(now(), &mut Nobody)?;
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

    /// Takes up to [`BATCH`] frames. Returns how many there were.
    ///
    /// # Errors
    /// Those of [`Port::receive`].
    pub fn receive(&mut self, now: Instant, owner: &mut impl Owner) -> Result<usize, PortError> {
        let Self { port, core, .. } = self;
        port.receive(BATCH, &mut |frame| core.take(frame, now, owner))
    }

    /// Does what time asks for.
    pub fn expire(&mut self, now: Instant, owner: &mut impl Owner) {
        let Self { core, woken, .. } = self;
        core.wake_station(now);
        core.begin_those_that_sought(now, owner);
        core.wheel.advance(time(now).millis(), woken);
        for id in woken.drain(..) {
            core.wake(id, now, owner);
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

    /// Hands all frames over that the port has room for.
    ///
    /// # Errors
    /// Those of [`Port::transmit`].
    pub fn transmit(&mut self) -> Result<(), PortError> {
        self.core.outbox.send(&mut *self.port)?;
        self.core.outgoing.transmit(&mut *self.port, &mut self.core.figures)
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

    /// Resets every session, so that nothing of them stays at their peers.
    pub fn reset_all(&mut self, now: Instant, owner: &mut impl Owner) {
        for id in self.core.table.used() {
            if !self.forget(id) {
                self.core.act(id, Event::Abort, &Inward::default(), now, owner);
            }
        }
        // A link that is down or gone takes nothing any more, and then there is nothing to be done.
        let left = self.transmit().and_then(|()| self.port.flush(LAST_ROOM)).and_then(|_| self.transmit());
        if left.is_err() {
            self.core.outgoing.drop_all(&mut self.core.figures);
        }
    }
}

/// 0 for what is past.
const fn ahead_ms(deadline: Millis, at: Millis) -> u32 {
    if deadline.is_before(at) { 0 } else { deadline.as_wrapped().wrapping_sub(at.as_wrapped()) }
}

impl Core {
    fn open(
        &mut self,
        to: SocketAddr,
        from: Option<IpAddr>,
        tag: u32,
        now: Instant,
        owner: &mut impl Owner,
    ) -> Result<Began, OpenError> {
        let wanted = match from {
            Some(from) => Some(self.table.source_of(from).ok_or(OpenError::NoSource)?),
            None => None,
        };
        let at = time(now).millis();
        let id = match wanted {
            Some(source) if self.table.address(source).is_ipv4() == to.is_ipv4() => {
                self.table.lease(source, at)
            }
            Some(_) => return Err(OpenError::NoSource),
            None => self.lease_any(to.is_ipv4(), at)?,
        };
        let Some(id) = id else {
            self.figures.no_port += 1;
            return Err(OpenError::NoPort);
        };
        let mtu = self.station.mtu() as u16;
        let path = || Path {
            stamp_offset: self.stamp_offset,
            burst: BURST,
            ..if to.is_ipv4() { Path::v4(mtu) } else { Path::v6(mtu) }
        };
        let peer = self.peers.find(to, path);
        if let Some((record, side)) = self.table.get(id) {
            // A port that another peer knew begins anew: numbers of that life say nothing here.
            if side.peer != peer {
                *record = Record::default();
            }
            *side = Side { peer, tag, armed: side.armed, wakes: side.wakes, ..Side::default() };
            side.stage = Stage::Seeking;
        }
        match self.station.route(to.ip(), now, &mut self.outbox) {
            Route::Ready(mac) => {
                self.peers.get(peer).found_at(mac);
                self.begin(id, now, owner);
                Ok(Began::Asked(id))
            }
            Route::Asking => {
                let other = self.peers.get(peer);
                if other.waiting.is_empty() {
                    self.peers.seeking.push(peer);
                }
                self.peers.get(peer).waiting.push(id);
                // What was asked now wants to be looked at soon.
                self.station_wakes = now;
                Ok(Began::Seeks(id))
            }
            Route::Unreachable(_) => {
                self.table.release(id, None);
                Err(OpenError::NoWay)
            }
        }
    }

    /// A port of the next source of a family, or of any other that has one.
    fn lease_any(&mut self, is_v4: bool, at: Millis) -> Result<Option<Id>, OpenError> {
        let count = self.table.sources();
        let turn = self.turns[usize::from(is_v4)];
        let mut any = false;
        for step in 0..count {
            let source = (turn + step) % count;
            if self.table.address(source as u16).is_ipv4() != is_v4 {
                continue;
            }
            any = true;
            if let Some(id) = self.table.lease(source as u16, at) {
                self.turns[usize::from(is_v4)] = source + 1;
                return Ok(Some(id));
            }
        }
        if any { Ok(None) } else { Err(OpenError::NoSource) }
    }

    /// Sends the SYN.
    fn begin(&mut self, id: Id, now: Instant, owner: &mut impl Owner) {
        let Some((_, side)) = self.table.get(id) else { return };
        side.stage = Stage::Live;
        let to = self.peers.get(side.peer).to;
        let local = (self.table.address(id.source()), id.port());
        let isn = isn(&self.secret, &Pair { local, remote: (to.ip(), to.port()) }, time(now));
        self.figures.opened += 1;
        self.act(id, Event::Open { isn, patience_ms: 0 }, &Inward::default(), now, owner);
    }

    /// Sessions whose way has been found begin; those whose way there is none are told.
    fn begin_those_that_sought(&mut self, now: Instant, owner: &mut impl Owner) {
        for _ in 0..self.peers.seeking.len() {
            let peer = self.peers.seeking.remove(0);
            let to = self.peers.get(peer).to;
            let route = self.station.route(to.ip(), now, &mut self.outbox);
            if let Route::Asking = route {
                self.peers.seeking.push(peer);
                continue;
            }
            let waiting = std::mem::take(&mut self.peers.get(peer).waiting);
            if let Route::Ready(mac) = route {
                self.peers.get(peer).found_at(mac);
            }
            for id in waiting {
                let Some((_, side)) = self.table.get(id) else { continue };
                let tag = side.tag;
                // Given up meanwhile, and perhaps of another session by now.
                if side.stage != Stage::Seeking || side.peer != peer {
                    continue;
                }
                match route {
                    Route::Ready(_) => self.begin(id, now, owner),
                    _ => {
                        self.table.release(id, None);
                        owner.no_way(id, tag);
                    }
                }
            }
        }
    }

    fn wake_station(&mut self, now: Instant) {
        if self.station_wakes <= now {
            self.station_wakes = self.station.tick(now, &mut self.outbox);
        }
    }

    fn wake(&mut self, id: Id, now: Instant, owner: &mut impl Owner) {
        let at = time(now).millis();
        let Some((record, side)) = self.table.get(id) else { return };
        // An entry that an earlier one has replaced.
        if !side.armed || at.is_before(side.wakes) {
            return;
        }
        side.armed = false;
        match record.next_deadline() {
            Some(deadline) if !at.is_before(deadline) => {
                self.act(id, Event::Timer, &Inward::default(), now, owner);
            }
            Some(_) => self.arm(id),
            None => {}
        }
    }

    /// Has the wheel wake a session in time.
    fn arm(&mut self, id: Id) {
        let Some((record, side)) = self.table.get(id) else { return };
        let Some(deadline) = record.next_deadline() else { return };
        if !side.armed || deadline.is_before(side.wakes) {
            side.wakes = self.wheel.put(id, deadline);
            side.armed = true;
        }
    }

    fn settle(&mut self, now: Instant, owner: &mut impl Owner) {
        let mut touched = std::mem::take(&mut self.touched);
        for id in touched.drain(..) {
            if let Some((_, side)) = self.table.get(id) {
                side.touched = false;
            }
            self.flush(id, now, owner);
        }
        // Whoever was touched by a flush is looked at the next time.
        if self.touched.is_empty() {
            self.touched = touched;
        }
    }

    fn flush(&mut self, id: Id, now: Instant, owner: &mut impl Owner) {
        // As many segments as may be in flight; a record that wanted more would be at fault.
        for _ in 0..64 {
            if !self.table.get(id).is_some_and(|(record, _)| record.wants_flush()) {
                return;
            }
            self.act(id, Event::Flush, &Inward::default(), now, owner);
        }
    }

    /// One step of one session, and what follows from it.
    fn act(&mut self, id: Id, event: Event, inward: &Inward<'_>, now: Instant, owner: &mut impl Owner) {
        let Some((record, side)) = self.table.get(id) else { return };
        if side.stage != Stage::Live {
            return;
        }
        let (peer, tag) = (side.peer, side.tag);
        let made = step(&self.peers.get(peer).path, *record, event, time(now));
        *record = made.record;
        if made.record.wants_flush() && !side.touched {
            side.touched = true;
            self.touched.push(id);
        }
        if let Some(segment) = &made.segment {
            self.emit(id, peer, tag, segment, owner);
        }
        let mut rest = None;
        let mut is_over = false;
        for notice in made.notices.iter() {
            self.figures.count(*notice);
            match *notice {
                Notice::Rtt { micros } => self.peers.get(peer).path.sample(micros),
                Notice::MssLowered { mss } => {
                    let path = &mut self.peers.get(peer).path;
                    path.send_mss = path.send_mss.min(mss.saturating_add(12));
                }
                Notice::Quarantine { ms } => {
                    rest = Some(Millis::from_wrapped(time(now).millis().as_wrapped().wrapping_add(ms)));
                }
                Notice::Closed(_) => is_over = true,
                _ => {}
            }
            owner.hear(id, tag, *notice, inward);
        }
        if is_over {
            self.table.release(id, rest);
        } else {
            self.arm(id);
        }
    }

    /// Makes the frame of a segment.
    fn emit(&mut self, id: Id, peer: u32, tag: u32, segment: &tcp::Segment, owner: &impl Owner) {
        let text = match segment.payload {
            Some(payload) => owner.text(tag, payload),
            None => &[],
        };
        let source = self.table.address(id.source());
        let Core { peers, station, outgoing, figures, .. } = self;
        let peer = peers.get(peer);
        let port = peer.to.port();
        let Some(head) = peer.head(id.source(), |to, mac| station.head(source, to, mac)) else { return };
        figures.segments_out += 1;
        outgoing.push(head.length() + HEADER + text.len(), figures, |frame| {
            let behind = &mut frame[head.length()..];
            match segment.write(id.port(), port, text, behind) {
                Ok(length) => {
                    head.write(frame);
                    head.finish(frame, length)
                }
                Err(_) => 0,
            }
        });
    }

    /// A frame that the port received.
    fn take(&mut self, frame: &Frame<'_>, now: Instant, owner: &mut impl Owner) {
        match self.station.take(frame, now, &mut self.outbox) {
            Taken::Tcp(segment) => self.take_segment(frame, &segment, now, owner),
            Taken::Icmp(quoted) => self.take_icmp(&quoted, now, owner),
            _ => {}
        }
    }

    fn take_segment(&mut self, frame: &Frame<'_>, segment: &Segment, now: Instant, owner: &mut impl Owner) {
        self.figures.segments_in += 1;
        let Ok(view) = wire::tcp::View::new(&frame.data[segment.range.clone()]) else { return };
        let Ok(arrived) = Arrived::read(&view) else {
            self.figures.bad_options += 1;
            return;
        };
        let remote = SocketAddr::new(segment.source, view.source());
        let Some(source) = self.table.source_of(segment.destination) else { return };
        let id = Id::new(source, view.destination());
        let inward = Inward {
            payload: view.payload(),
            seq: arrived.seq.wrapping_add(u32::from(arrived.flags & wire::tcp::flag::SYN != 0)),
            stamp: frame.stamp,
        };
        if let Some((_, side)) = self.table.get(id)
            && side.stage == Stage::Live
        {
            let peer = side.peer;
            if self.peers.get(peer).to == remote {
                return self.act(id, Event::Segment(arrived), &inward, now, owner);
            }
        }
        self.answer_stray(id, remote, arrived, now);
    }

    /// A segment of nobody's session is answered with a reset, if it comes from an end that there are sessions
    /// with. Others get no answer: nothing is sent to whom the plan does not name.
    fn answer_stray(&mut self, id: Id, remote: SocketAddr, arrived: Arrived, now: Instant) {
        self.figures.stray += 1;
        let Some(peer) = self.peers.is_known(remote) else { return };
        let path = self.peers.get(peer).path;
        let made = step(&path, Record::default(), Event::Segment(arrived), time(now));
        if let Some(segment) = &made.segment {
            self.emit(id, peer, 0, segment, &Nobody);
        }
    }

    fn take_icmp(&mut self, quoted: &Quoted, now: Instant, owner: &mut impl Owner) {
        let remote = SocketAddr::new(quoted.remote.0, quoted.remote.1);
        let Some(source) = self.table.source_of(quoted.local.0) else { return };
        let id = Id::new(source, quoted.local.1);
        let Some((_, side)) = self.table.get(id) else { return };
        let peer = side.peer;
        if side.stage != Stage::Live || self.peers.get(peer).to != remote {
            return;
        }
        let fixed = if remote.is_ipv4() { 40 } else { 60 };
        let event = match quoted.what {
            What::Unreachable { hard } => Event::Unreachable { hard, seq: quoted.seq },
            What::Mtu { mtu } => Event::Mtu { mss: mtu.saturating_sub(fixed), seq: quoted.seq },
        };
        self.act(id, event, &Inward::default(), now, owner);
    }
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
