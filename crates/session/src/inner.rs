//! What happens to sessions: events, segments, time. See the crate.

use port::Frame;
use station::{Outbox, Quoted, Route, Segment, Station, Taken, What};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use tcp::{Arrived, Event, Further, Millis, Notice, Pair, Path, Record, Time, step, step_further};
use units::Instant;

use crate::figures::Figures;
use crate::lives::Lives;
use crate::looks::Looks;
use crate::outgoing::Outgoing;
use crate::peers::{BURST, Peers};
use crate::sessions::{Began, Inward, Nobody, OpenError, Owner};
use crate::table::{Id, Side, Stage, Table};
use crate::wheel::Wheel;

/// Longest TCP header.
const HEADER: usize = 60;

/// All but the port, so that frames can be looked at where they lie.
pub(crate) struct Core {
    pub station: Station,
    pub outbox: Outbox,
    pub table: Table,
    /// Of sessions with more than one hole.
    pub further: HashMap<Id, Further>,
    pub peers: Peers,
    pub wheel: Wheel<Id>,
    pub touched: Vec<Id>,
    pub outgoing: Outgoing,
    pub figures: Figures,
    pub lives: Lives,
    /// The source that the next session of each family leaves from.
    pub turns: [usize; 2],
    /// When the station wants to be asked again.
    pub station_wakes: Instant,
    /// The latest time that a session was told of.
    pub latest: Instant,
    /// How far the port has been read.
    pub looks: Looks,
}

/// Time as sessions count it.
pub(crate) fn time(now: Instant) -> Time {
    Time::from_micros(now.since_epoch().as_nanos() / 1_000)
}

impl Core {
    pub fn open(
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
            stamp_offset: self.lives.stamp_offset,
            burst: BURST,
            quick: true,
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
        let isn = self.lives.isn(&Pair { local, remote: (to.ip(), to.port()) }, now);
        self.figures.opened += 1;
        self.act(id, Event::Open { isn, patience_ms: 0 }, &Inward::default(), now, owner);
    }

    /// Sessions whose way has been found begin; those whose way there is none are told.
    pub fn begin_those_that_sought(&mut self, now: Instant, owner: &mut impl Owner) {
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

    pub fn wake_station(&mut self, now: Instant) {
        if self.station_wakes <= now {
            self.station_wakes = self.station.tick(now, &mut self.outbox);
        }
    }

    /// The time of a session has come, as far as the port has been read.
    pub fn wake(&mut self, id: Id, read: Instant, now: Instant, owner: &mut impl Owner) {
        let at = time(read).millis();
        let Some((record, side)) = self.table.get(id) else { return };
        // An entry that an earlier one has replaced.
        if !side.armed || at.is_before(side.wakes) {
            return;
        }
        side.armed = false;
        match record.next_deadline() {
            Some(deadline) if !at.is_before(deadline) => {
                // By now more may be due, for which the port has not been read.
                let waits_for_peer = record.next_timeout().is_some_and(|timeout| !at.is_before(timeout));
                let event = if waits_for_peer { Event::Timer } else { Event::Flush };
                self.act(id, event, &Inward::default(), now, owner);
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

    pub fn settle(&mut self, now: Instant, owner: &mut impl Owner) {
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

    pub fn flush(&mut self, id: Id, now: Instant, owner: &mut impl Owner) {
        // As many segments as may be in flight; a record that wanted more would be at fault.
        for _ in 0..64 {
            if !self.table.get(id).is_some_and(|(record, _)| record.wants_flush()) {
                return;
            }
            self.act(id, Event::Flush, &Inward::default(), now, owner);
        }
    }

    /// One step of one session, and what follows from it. Time does not go back: a round trip of less than
    /// nothing would be one of more than an hour.
    pub fn act(&mut self, id: Id, event: Event, inward: &Inward<'_>, now: Instant, owner: &mut impl Owner) {
        let Some((record, side)) = self.table.get(id) else { return };
        if side.stage != Stage::Live {
            return;
        }
        self.latest = self.latest.max(now);
        let (now, peer, tag) = (self.latest, side.peer, side.tag);
        // Only where there is a first interval there can be others.
        let had = record.ooo_len > 0 && !self.further.is_empty();
        let mut further = if had { self.further.remove(&id).unwrap_or_default() } else { Further::NONE };
        let made = step_further(&self.peers.get(peer).path, *record, &mut further, event, time(now));
        let (was_out, was_una) = (record.in_flight, record.snd_una);
        *record = made.record;
        let acked = made.record.snd_una.wrapping_sub(was_una);
        if was_out > 0 && acked > 0 {
            self.peers.get(peer).widen(was_out, acked, made.record.mss);
        }
        if !further.is_empty() {
            self.further.insert(id, further);
        }
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
                Notice::Retransmitted => self.peers.get(peer).narrow(),
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
            owner.stepped(tag, &made.record);
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
        outgoing.push(head.length() + HEADER + text.len(), id, figures, |frame| {
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

    /// Tells of frames that have left after they had waited for room.
    pub fn tell_late(&mut self, now: &dyn Fn() -> Instant, owner: &mut impl Owner) {
        if self.outgoing.late.is_empty() {
            return;
        }
        let left = now();
        for (id, since) in self.outgoing.late.drain(..) {
            if let Some((_, side)) = self.table.get(id)
                && side.stage == Stage::Live
            {
                owner.waited(side.tag, since, left);
            }
        }
    }

    /// A frame that the port received.
    pub fn take(&mut self, frame: &Frame<'_>, now: Instant, owner: &mut impl Owner) {
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
        // The kernel's own connection, of an address that is the host's, too.
        if self.station.is_shared() && !self.table.has_port(id.port()) {
            return;
        }
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
