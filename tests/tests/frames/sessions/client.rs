//! The least owner of records that there can be: frames of a port to events, segments to frames, and a stream
//! of bytes for each session.

use bed::{Mac, Namespace};
use port::{For, Port, Slot, Wish};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use tcp::{Arrived, Cause, Event, Notice, Path, Record, Segment, State, Time, step};
use units::Picos;
use wire::parse::ETHERTYPE_IPV4;
use wire::tcp::flag;
use wire::{checksum, ethernet, ipv4};

/// An address that the generator's kernel does not have: it neither answers nor resets.
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 77);
pub const MAC: Mac = Mac::of(77);

#[derive(Default)]
pub struct Session {
    pub record: Record,
    request: Vec<u8>,
    /// Number of the peer's first byte, and its bytes, with holes.
    first: u32,
    stream: Vec<u8>,
    in_order: usize,
    pub told: Vec<Notice>,
    /// The most bytes that were in flight.
    pub most_out: u16,
}

impl Session {
    /// Takes what came in order since the last time.
    pub fn take(&mut self) -> Vec<u8> {
        let taken = self.stream[..self.in_order].to_vec();
        self.stream.drain(..self.in_order);
        self.first = self.first.wrapping_add(self.in_order as u32);
        self.in_order = 0;
        taken
    }

    pub fn received(&self) -> usize {
        self.in_order
    }

    pub fn count(&self, is: impl Fn(&Notice) -> bool) -> usize {
        self.told.iter().filter(|notice| is(notice)).count()
    }

    /// What it told at last.
    pub fn last(&self) -> &[Notice] {
        &self.told[self.told.len().saturating_sub(20)..]
    }

    /// Why it closed, the last time.
    pub fn closed(&self) -> Option<Cause> {
        let mut causes = self.told.iter().rev().filter_map(|notice| match notice {
            Notice::Closed(cause) => Some(*cause),
            _ => None,
        });
        causes.next()
    }

    fn put(&mut self, from: u32, bytes: &[u8]) {
        let at = from.wrapping_sub(self.first) as usize;
        let end = at + bytes.len();
        self.stream.resize(self.stream.len().max(end), 0);
        self.stream[at..end].copy_from_slice(bytes);
    }

    fn hears(&mut self, notice: Notice, event: &Event, payload: &[u8]) {
        self.told.push(notice);
        let Event::Segment(segment) = event else { return };
        let begins = segment.seq.wrapping_add(u32::from(segment.flags & flag::SYN != 0));
        let part =
            |skip: u32, len: u32| (begins.wrapping_add(skip), &payload[skip as usize..][..len as usize]);
        match notice {
            Notice::Connected { .. } => {
                (self.first, self.in_order) = (begins, 0);
                self.stream.clear();
            }
            Notice::Data { skip, len } => {
                let (from, bytes) = part(skip, len);
                assert_eq!(from.wrapping_sub(self.first) as usize, self.in_order, "bytes in order");
                self.put(from, bytes);
                self.in_order += bytes.len();
            }
            Notice::Early { skip, len } => {
                let (from, bytes) = part(skip, len);
                self.put(from, bytes);
            }
            Notice::Filled { len } => self.in_order += len as usize,
            _ => {}
        }
    }
}

pub struct Client {
    port: Box<dyn Port>,
    pub path: Path,
    peer: (Ipv4Addr, u16),
    peer_mac: Mac,
    began: Instant,
    pub sessions: BTreeMap<u16, Session>,
    frames: Vec<Vec<u8>>,
    /// Segments that could not be read: damaged ones.
    pub unread: u64,
}

impl Client {
    /// `through` stands before the port's address: `fault,drop=1%:` or nothing.
    pub fn new(inside: &Namespace, through: &str, peer: (Ipv4Addr, u16), peer_mac: Mac) -> Self {
        let address = format!("{through}packet,netns={}:{}", inside.name, inside.interface().name);
        let port = port::open(&address.parse().expect("an address"), &Wish::default()).expect("a port");
        let (path, began) = (Path::v4(1500), Instant::now());
        Self { port, path, peer, peer_mac, began, sessions: BTreeMap::new(), frames: Vec::new(), unread: 0 }
    }

    fn now(&self) -> Time {
        Time::from_micros(self.began.elapsed().as_micros() as u64)
    }

    pub fn session(&self, port: u16) -> &Session {
        &self.sessions[&port]
    }

    pub fn open(&mut self, port: u16, isn: u32) {
        self.sessions.entry(port).or_default();
        self.does(port, Event::Open { isn, patience_ms: 20_000 }, &[]);
        self.transmit();
    }

    pub fn ask(&mut self, port: u16, request: Vec<u8>, close: bool) {
        let len = request.len() as u16;
        self.sessions.get_mut(&port).expect("a session").request = request;
        self.does(port, Event::Send { len, close, patience_ms: 60_000 }, &[]);
        self.transmit();
    }

    /// What is owed, and what else may leave.
    fn flush(&mut self, port: u16) {
        while self.session(port).record.wants_flush() {
            self.does(port, Event::Flush, &[]);
            assert!(self.frames.len() < 10_000, "the flushes end");
        }
    }

    /// Whether the owner takes what comes.
    pub fn takes(&mut self, port: u16, open: bool) {
        self.does(port, Event::Window { open }, &[]);
        self.flush(port);
        self.transmit();
    }

    /// An event of one session, and what is sent for it.
    pub fn does(&mut self, port: u16, event: Event, payload: &[u8]) {
        let now = self.now();
        let session = self.sessions.get_mut(&port).expect("a session");
        let made = step(&self.path, session.record, event, now);
        session.record = made.record;
        session.most_out = session.most_out.max(made.record.in_flight);
        for notice in made.notices.iter() {
            session.hears(*notice, &event, payload);
            if let Notice::Rtt { micros } = notice {
                self.path.sample(*micros);
            }
        }
        if let Some(segment) = made.segment {
            let request = &self.sessions[&port].request;
            let payload = segment.payload.map_or(&[][..], |payload| payload.of(request).expect("its bytes"));
            let frame = self.frame(port, &segment, payload);
            self.frames.push(frame);
        }
    }

    /// Sends any segment, of no session.
    pub fn inject(&mut self, port: u16, segment: &Segment, payload: &[u8]) {
        let frame = self.frame(port, segment, payload);
        self.frames.push(frame);
        self.transmit();
    }

    fn frame(&self, port: u16, segment: &Segment, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; 1600];
        let header = ethernet::Repr {
            destination: ethernet::Mac(self.peer_mac.0),
            source: ethernet::Mac(MAC.0),
            ethertype: ETHERTYPE_IPV4,
        };
        header.emit(&mut frame).expect("room");
        let count = segment.write(port, self.peer.1, payload, &mut frame[34..]).expect("room");
        frame.truncate(34 + count);
        let ip = ipv4::Repr {
            source: ADDRESS,
            destination: self.peer.0,
            dscp: 0,
            ecn: 0,
            identification: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol: wire::tcp::PROTOCOL,
            options: Vec::new(),
        };
        ip.emit(&mut frame[14..]).expect("room");
        let pseudo = checksum::Pseudo::V4 { source: ADDRESS, destination: self.peer.0 };
        let total = checksum::sum(&frame[34..]) + pseudo.sum(wire::tcp::PROTOCOL, count);
        frame[50..52].copy_from_slice(&checksum::finish(total).to_be_bytes());
        frame
    }

    fn transmit(&mut self) {
        let mut frames = std::mem::take(&mut self.frames).into_iter();
        while frames.len() > 0 {
            let write = &mut |slot: &mut Slot<'_>| {
                let frame = frames.next().expect("as many as were announced");
                slot.data[..frame.len()].copy_from_slice(&frame);
                slot.length = frame.len();
            };
            // One at a time: nothing is lost to a full ring.
            if self.port.transmit(1, write).expect("the port transmits") == 0 {
                self.port.wait(For::Transmit, Picos::from_millis(1)).expect("the port waits");
            }
        }
    }

    /// What comes within a millisecond.
    pub fn listen(&mut self) -> Vec<(u16, Arrived, Vec<u8>)> {
        self.port.wait(For::Receive, Picos::from_millis(1)).expect("the port waits");
        let mut frames = Vec::new();
        self.port.receive(256, &mut |frame| frames.push(frame.data.to_vec())).expect("the port receives");
        let mut read =
            |frame: &Vec<u8>| self.read(frame).map(|(port, segment, text)| (port, segment, text.to_vec()));
        frames.iter().filter_map(&mut read).collect()
    }

    /// One batch: all that has come, what is owed for it, and what time asks for.
    fn turn(&mut self) {
        for (port, segment, payload) in self.listen() {
            if self.sessions.contains_key(&port) {
                self.does(port, Event::Segment(segment), &payload);
            }
        }
        let ports: Vec<u16> = self.sessions.keys().copied().collect();
        for port in ports {
            self.flush(port);
            let deadline = self.session(port).record.next_deadline();
            if deadline.is_some_and(|deadline| !self.now().millis().is_before(deadline)) {
                self.does(port, Event::Timer, &[]);
            }
        }
        self.transmit();
    }

    /// A segment to this client, whole and undamaged.
    fn read<'f>(&mut self, frame: &'f [u8]) -> Option<(u16, Arrived, &'f [u8])> {
        let outer = ethernet::View::new(frame).ok()?;
        if outer.destination().0 != MAC.0 || outer.ethertype() != ETHERTYPE_IPV4 {
            return None;
        }
        let segment = || {
            let ip = ipv4::View::new(outer.payload()).ok()?;
            let bytes =
                ip.payload().get(..usize::from(ip.total_length()).checked_sub(ip.header_length())?)?;
            let view = wire::tcp::View::new(bytes).ok()?;
            ip.verify().ok()?;
            view.verify(&ip.pseudo()).ok()?;
            Some((view.destination(), Arrived::read(&view).ok()?, view.payload()))
        };
        let read = segment();
        self.unread += u64::from(read.is_none());
        read
    }

    /// Goes on until that is so.
    #[track_caller]
    pub fn until(&mut self, what: &str, is: impl Fn(&Self) -> bool) {
        let since = Instant::now();
        while !is(self) {
            self.turn();
            let sessions =
                || self.sessions.values().map(|s| (&s.record, s.in_order, s.last())).collect::<Vec<_>>();
            assert!(since.elapsed() < Duration::from_secs(60), "{what}: {:#?}", sessions());
        }
    }

    /// Goes on for so long.
    pub fn idle(&mut self, time: Duration) {
        let since = Instant::now();
        while since.elapsed() < time {
            self.turn();
        }
    }

    #[track_caller]
    pub fn until_state(&mut self, port: u16, state: State) {
        self.until(&format!("{state:?}"), |client| client.session(port).record.state == state);
    }
}
