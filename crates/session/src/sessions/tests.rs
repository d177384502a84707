//! Sessions on one end of `mem`, and their peer, by hand, on the other: what RFC 9293 wants of whoever has the
//! addresses, and how sessions end with a run.

use super::*;
use port::mem::{End, pair};
use port::{Frame, Slot};
use std::net::Ipv4Addr;
use tcp::State;
use wire::checksum::Pseudo;
use wire::ethernet::Mac;
use wire::parse::{ETHERTYPE_ARP, ETHERTYPE_IPV4};
use wire::tcp::flag;
use wire::{arp, ipv4};

const FAR: Mac = Mac([2, 0, 0, 0, 0, 2]);
const PEER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);

/// Whose requests are all the same.
struct Asks;

impl Owner for Asks {
    fn text(&self, _: u32, payload: Payload) -> &[u8] {
        payload.of(b"GET / HTTP/1.1\r\n\r\n").unwrap_or_default()
    }
    fn hear(&mut self, _: Id, _: u32, _: Notice, _: &Inward<'_>) {}
    fn no_way(&mut self, _: Id, _: u32) {}
}

/// A segment of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    from: Ipv4Addr,
    dscp: u8,
    head: wire::tcp::Repr,
    payload: usize,
}

struct Bench {
    sessions: Sessions,
    far: End,
    now: Instant,
}

impl Bench {
    fn new(more: &str) -> Self {
        let via: Via = format!("mem:a,ip=198.18.0.10-12/24,ip=fd00::10/64{more}").parse().unwrap();
        let (near, far) = pair(256, 1_514);
        let now = Instant::from_picos(5_000_000_000_000);
        Self { sessions: Sessions::on(Box::new(near), &via, now).unwrap(), far, now }
    }

    fn open(&mut self, to: &str, from: Option<&str>) -> Result<Began, OpenError> {
        let from = from.map(|from| from.parse().unwrap());
        self.sessions.open(to.parse().unwrap(), from, 0, self.now, &mut Asks)
    }

    fn state(&mut self, id: Id) -> State {
        self.sessions.record(id).map_or(State::Closed, |record| record.state)
    }

    fn arrives(&mut self, frame: &[u8]) {
        self.lies_there(frame);
        self.look();
    }

    /// A frame comes, and this end does not look.
    fn lies_there(&mut self, frame: &[u8]) {
        let write = &mut |slot: &mut Slot<'_>| {
            slot.data[..frame.len()].copy_from_slice(frame);
            slot.length = frame.len();
        };
        assert_eq!(self.far.transmit(1, write).unwrap(), 1);
    }

    fn look(&mut self) {
        self.sessions.receive(16, self.now, &mut Asks).unwrap();
        self.sessions.settle(self.now, &mut Asks);
        self.sessions.expire(self.now, &mut Asks);
    }

    /// What has left. Who asks for the peer is told where it is.
    fn sent(&mut self) -> Vec<Seen> {
        let mut all = Vec::new();
        loop {
            self.sessions.transmit(&|| self.now, &mut Asks).unwrap();
            let mut frames: Vec<Vec<u8>> = Vec::new();
            self.far.receive(64, &mut |frame: &Frame<'_>| frames.push(frame.data.to_vec())).unwrap();
            if frames.is_empty() {
                return all;
            }
            for frame in frames {
                match u16::from_be_bytes([frame[12], frame[13]]) {
                    ETHERTYPE_ARP => self.tells_its_address(&frame),
                    ETHERTYPE_IPV4 => all.push(seen(&frame)),
                    _ => {}
                }
            }
        }
    }

    fn tells_its_address(&mut self, frame: &[u8]) {
        let question = arp::Repr::parse(&arp::View::new(&frame[14..]).unwrap()).unwrap();
        if question.target != PEER {
            return;
        }
        let mut reply = [0; arp::LENGTH];
        question.reply(FAR).emit(&mut reply).unwrap();
        let to = &frame[6..12];
        self.arrives(&[to, &FAR.0, &ETHERTYPE_ARP.to_be_bytes(), &reply].concat());
    }

    /// The peer sends a segment in answer to one of ours.
    fn answers(&mut self, to: &Seen, flags: u8, seq: u32) {
        self.arrives(&self.answer(to, flags, seq));
    }

    fn answer(&self, to: &Seen, flags: u8, seq: u32) -> Vec<u8> {
        let ends = u32::from(to.head.flags & (flag::SYN | flag::FIN) != 0);
        let head = wire::tcp::Repr {
            source: to.head.destination,
            destination: to.head.source,
            sequence: seq,
            acknowledgment: to.head.sequence.wrapping_add(to.payload as u32 + ends),
            flags,
            window: 60_000,
            urgent: 0,
            options: Vec::new(),
        };
        let mut packet = vec![0; 40];
        head.emit(&mut packet[20..], &Pseudo::V4 { source: PEER, destination: to.from }).unwrap();
        let ip = ipv4::Repr {
            source: PEER,
            destination: to.from,
            dscp: 46,
            ecn: 0,
            identification: 1,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol: wire::tcp::PROTOCOL,
            options: Vec::new(),
        };
        ip.emit(&mut packet).unwrap();
        let own = self.sessions.station().mac();
        [&own.0[..], &FAR.0, &ETHERTYPE_IPV4.to_be_bytes(), &packet].concat()
    }

    /// A connection whose request has left; its segments so far.
    fn asks(&mut self, from: Option<&str>) -> (Id, Vec<Seen>) {
        let id = self.open("198.18.0.2:80", from).unwrap().id();
        let mut all = self.sent();
        let syn = all[0].clone();
        self.answers(&syn, flag::SYN | flag::ACK, 700);
        let request = Event::Send { len: 18, close: false, patience_ms: 0 };
        self.sessions.act(id, request, self.now, &mut Asks);
        all.extend(self.sent());
        assert_eq!(self.state(id), State::Established);
        (id, all)
    }
}

fn seen(frame: &[u8]) -> Seen {
    let ip = ipv4::View::new(&frame[14..]).unwrap();
    let view = wire::tcp::View::new(ip.payload()).unwrap();
    view.verify(&ip.pseudo()).unwrap();
    let payload = view.payload().len();
    Seen { from: ip.source(), dscp: ip.dscp(), head: wire::tcp::Repr::parse(&view), payload }
}

/// A port that counts how often frames are handed to it.
struct Counted(End, std::sync::Arc<std::sync::atomic::AtomicUsize>);

impl Port for Counted {
    fn about(&self) -> &port::About {
        self.0.about()
    }
    fn transmit(&mut self, most: usize, write: &mut dyn FnMut(&mut Slot<'_>)) -> Result<usize, PortError> {
        self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.0.transmit(most, write)
    }
    fn receive(&mut self, most: usize, read: &mut dyn FnMut(&Frame<'_>)) -> Result<usize, PortError> {
        self.0.receive(most, read)
    }
    fn flush(&mut self, patience: Picos) -> Result<bool, PortError> {
        self.0.flush(patience)
    }
    fn wait(&mut self, what: For, patience: Picos) -> Result<bool, PortError> {
        self.0.wait(what, patience)
    }
    fn counters(&mut self) -> Result<&port::Counters, PortError> {
        self.0.counters()
    }
}

#[test]
fn what_leaves_together_is_handed_to_the_port_at_once() {
    let mut bench = Bench::new("");
    let (near, far) = pair(256, 1_514);
    let calls = std::sync::Arc::default();
    let port = Box::new(Counted(near, std::sync::Arc::clone(&calls)));
    let via: Via = "mem:a,ip=198.18.0.10-12/24".parse().unwrap();
    (bench.sessions, bench.far) = (Sessions::on(port, &via, bench.now).unwrap(), far);
    // The peer's address is known then.
    bench.open("198.18.0.2:80", None).unwrap();
    assert_eq!(bench.sent().len(), 1);
    let before = calls.load(std::sync::atomic::Ordering::Relaxed);
    for _ in 0..100 {
        bench.open("198.18.0.2:80", None).unwrap();
    }
    bench.sessions.transmit(&|| bench.now, &mut Asks).unwrap();
    assert_eq!(calls.load(std::sync::atomic::Ordering::Relaxed) - before, 1);
    assert_eq!(bench.sent().len(), 100);
}

/// Hears of frames that left late.
#[derive(Default)]
struct Late(Vec<(u32, Instant, Instant)>);

impl Owner for Late {
    fn text(&self, _: u32, _: Payload) -> &[u8] {
        &[]
    }
    fn hear(&mut self, _: Id, _: u32, _: Notice, _: &Inward<'_>) {}
    fn waited(&mut self, tag: u32, since: Instant, left: Instant) {
        self.0.push((tag, since, left));
    }
    fn no_way(&mut self, _: Id, _: u32) {}
}

#[test]
fn who_waited_for_room_in_the_port_is_told_for_how_long() {
    let mut bench = Bench::new("");
    let (near, far) = pair(4, 1_514);
    let via: Via = "mem:a,ip=198.18.0.10-12/24".parse().unwrap();
    (bench.sessions, bench.far) = (Sessions::on(Box::new(near), &via, bench.now).unwrap(), far);
    // The peer's address is known then.
    bench.open("198.18.0.2:80", None).unwrap();
    assert_eq!(bench.sent().len(), 1);
    let (mut late, to, full) = (Late::default(), "198.18.0.2:80".parse().unwrap(), bench.now);
    for tag in 1..=7 {
        bench.sessions.open(to, None, tag, bench.now, &mut Asks).unwrap();
    }
    bench.sessions.transmit(&|| full, &mut late).unwrap();
    let left = bench.now + Picos::from_millis(3);
    bench.sessions.transmit(&|| left, &mut late).unwrap();
    assert!(late.0.is_empty() && bench.sessions.waits_for_room());
    bench.far.receive(64, &mut |_: &Frame<'_>| {}).unwrap();
    bench.sessions.transmit(&|| left, &mut late).unwrap();
    assert_eq!(late.0, [5, 6, 7].map(|tag| (tag, full, left)));
}

#[test]
fn a_session_leaves_from_the_address_that_was_asked_for() {
    let mut bench = Bench::new("");
    for own in ["198.18.0.12", "198.18.0.10", "198.18.0.12"] {
        bench.open("198.18.0.2:80", Some(own)).unwrap();
        let syns = bench.sent();
        assert_eq!(syns.iter().map(|syn| syn.from.to_string()).collect::<Vec<_>>(), [own]);
    }
    for other in ["198.18.0.13", "fd00::10"] {
        assert_eq!(bench.open("198.18.0.2:80", Some(other)), Err(OpenError::NoSource));
    }
    assert!(bench.sent().is_empty());
}

#[test]
fn without_a_wish_sessions_leave_from_all_addresses_of_the_family_in_turn() {
    let mut bench = Bench::new("");
    for _ in 0..6 {
        bench.open("198.18.0.2:80", None).unwrap();
    }
    let from: Vec<String> = bench.sent().iter().map(|syn| syn.from.to_string()).collect();
    let all = ["198.18.0.10", "198.18.0.11", "198.18.0.12"];
    assert_eq!(from, [all, all].concat());
}

#[test]
fn a_session_keeps_its_address_and_its_service_to_the_end() {
    let mut bench = Bench::new("");
    let (id, mut all) = bench.asks(Some("198.18.0.11"));
    // The peer's segments have another.
    let request = all.last().unwrap().clone();
    bench.answers(&request, flag::ACK | flag::FIN, 701);
    all.extend(bench.sent());
    bench.sessions.act(id, Event::Abort, bench.now, &mut Asks);
    all.extend(bench.sent());
    let flags: Vec<u8> = all.iter().map(|seen| seen.head.flags).collect();
    assert!([flag::SYN, flag::FIN, flag::RST].iter().all(|one| flags.iter().any(|flags| flags & one != 0)));
    assert!(all.iter().all(|seen| seen.from.to_string() == "198.18.0.11" && seen.dscp == 0), "{all:?}");
}

#[test]
fn no_session_goes_to_an_address_of_nobody_or_of_many() {
    let mut bench = Bench::new("");
    for to in [
        "198.18.0.255:80",
        "255.255.255.255:80",
        "224.0.0.1:80",
        "0.0.0.0:80",
        "198.18.0.11:80",
        "[ff02::1]:80",
        "[::]:80",
    ] {
        assert_eq!(bench.open(to, None), Err(OpenError::NoWay), "{to}");
    }
    assert!(bench.sent().is_empty());
}

#[test]
fn a_syn_says_what_the_links_mtu_takes() {
    for (more, mss) in [("", 1_460u16), (",mtu=1300", 1_260)] {
        let mut bench = Bench::new(more);
        bench.open("198.18.0.2:80", None).unwrap();
        let options = bench.sent()[0].head.options.clone();
        let said = options.windows(4).find(|option| option[..2] == [2, 4]).unwrap();
        assert_eq!(said[2..], mss.to_be_bytes(), "{more}");
    }
}

/// Both ends have closed, and the peer's last acknowledgment is on its way.
#[test]
fn what_is_being_closed_at_the_end_is_waited_for_and_all_else_is_reset() {
    let mut bench = Bench::new("");
    let (closing, all) = bench.asks(None);
    let (open, _) = bench.asks(None);
    let request = all.last().unwrap().clone();
    bench.answers(&request, flag::ACK | flag::FIN, 701);
    let fin = bench.sent().into_iter().find(|seen| seen.head.flags & flag::FIN != 0).unwrap();
    assert_eq!((bench.state(closing), bench.state(open)), (State::LastAck, State::Established));
    // Nobody acknowledges it: the wait ends.
    let asked = std::cell::Cell::new(bench.now);
    let clock = || {
        asked.set(asked.get() + Picos::from_millis(1));
        asked.get()
    };
    bench.sessions.let_close(&clock, &mut Asks);
    let waited = asked.get().since(bench.now);
    assert!(waited >= Picos::from_millis(20) && waited < Picos::from_millis(30), "{waited}");
    assert_eq!(bench.state(closing), State::LastAck);
    // Acknowledged, it has ended in order, and nothing is waited for.
    bench.answers(&fin, flag::ACK, 702);
    assert_eq!(bench.state(closing), State::Closed);
    let begun = asked.get();
    bench.sessions.let_close(&clock, &mut Asks);
    assert!(asked.get().since(begun) < Picos::from_millis(4));
    bench.sessions.reset_all(bench.now, &mut Asks);
    let resets = bench.sent();
    assert_eq!(resets.len(), 1, "{resets:?}");
    assert!(resets[0].head.flags & flag::RST != 0 && bench.state(open) == State::Closed);
}

/// The last to end leaves a reset, and there is nobody else.
#[test]
fn a_reset_of_before_leaves_with_the_last_session() {
    let mut bench = Bench::new("");
    let (id, _) = bench.asks(None);
    bench.sessions.act(id, Event::Abort, bench.now, &mut Asks);
    bench.sessions.reset_all(bench.now, &mut Asks);
    let mut frames = 0;
    bench
        .far
        .receive(64, &mut |frame: &Frame<'_>| {
            frames += usize::from(seen(frame.data).head.flags & flag::RST != 0);
        })
        .unwrap();
    assert_eq!(frames, 1);
}

/// This end stands still for longer than a segment may take.
#[test]
fn what_was_acknowledged_in_a_pause_is_not_sent_again() {
    let mut bench = Bench::new("");
    let (acked, all) = bench.asks(None);
    let (lost, _) = bench.asks(None);
    bench.lies_there(&bench.answer(all.last().unwrap(), flag::ACK, 701));
    bench.now = bench.now + Picos::from_millis(300);
    // What a loop has to do by its clock comes before it looks.
    bench.sessions.expire(bench.now, &mut Asks);
    assert_eq!((bench.sent(), bench.sessions.figures().retransmitted), (Vec::new(), 0));
    assert_eq!(bench.sessions.next_deadline(bench.now), Picos::ZERO, "nobody sleeps before that look");
    bench.look();
    let again = bench.sent();
    assert_eq!((again.len(), bench.sessions.figures().retransmitted), (1, 1), "{again:?}");
    let left = [acked, lost].map(|id| bench.sessions.record(id).unwrap().left);
    assert_eq!((left, again[0].head.source), ([0, 18], lost.port()));
}

#[test]
fn timers_run_though_frames_keep_coming() {
    let mut bench = Bench::new("");
    bench.asks(None);
    bench.now = bench.now + Picos::from_millis(300);
    let mut frames = 0;
    while bench.sessions.figures().retransmitted == 0 {
        for _ in 0..128 {
            // Nobody's.
            bench.lies_there(&[0; 60]);
        }
        bench.sessions.receive(64, bench.now, &mut Asks).unwrap();
        bench.sessions.receive(64, bench.now, &mut Asks).unwrap();
        bench.sessions.expire(bench.now, &mut Asks);
        frames += 128;
        assert!(frames <= 20_000, "the timer waits for ever");
    }
    assert!(frames > 10_000);
}
