use super::*;
use port::mem::{End, pair};
use proptest::prelude::*;
use station::{Link, Via};
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::checksum::Pseudo;
use wire::parse::{ETHERTYPE_IPV4, ETHERTYPE_IPV6};
use wire::{ipv4, ipv6, tcp};

const PEER: Mac = Mac([2, 0, 0, 0, 0, 2]);
const OWN_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 10);
const PEER_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
const OWN_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 0x10);
const PEER_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);
const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// A segment of either side.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    head: tcp::Repr,
    payload: Vec<u8>,
}

struct Bench {
    responder: Responder,
    near: End,
    far: End,
    is_v6: bool,
}

impl Bench {
    fn new(size: u64, slots: usize) -> Self {
        let via: Via = "mem:a,ip=198.18.0.10/24,ip=fd00::10/64".parse().unwrap();
        let link = Link { mac: via.derived_mac(), why_mac: "", mtu: 1_500 };
        let settings =
            Settings { ports: vec![80, 8080], status: 200, size: Bytes::new(size), body: None, seed: 7 };
        let responder = Responder::new(Station::new(&via, &link), &settings).unwrap();
        let (near, far) = pair(slots, 1_514);
        Self { responder, near, far, is_v6: false }
    }

    fn pseudo(&self, to_own: bool) -> Pseudo {
        match (self.is_v6, to_own) {
            (false, true) => Pseudo::V4 { source: PEER_V4, destination: OWN_V4 },
            (false, false) => Pseudo::V4 { source: OWN_V4, destination: PEER_V4 },
            (true, true) => Pseudo::V6 { source: PEER_V6, destination: OWN_V6 },
            (true, false) => Pseudo::V6 { source: OWN_V6, destination: PEER_V6 },
        }
    }

    /// What the peer sends.
    fn frame(&self, head: &tcp::Repr, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; head.header_length() + payload.len()];
        bytes[head.header_length()..].copy_from_slice(payload);
        head.emit(&mut bytes, &self.pseudo(true)).unwrap();
        let mut packet = vec![0; if self.is_v6 { 40 } else { 20 } + bytes.len()];
        let start = packet.len() - bytes.len();
        packet[start..].copy_from_slice(&bytes);
        if self.is_v6 {
            let ip = ipv6::Repr {
                source: PEER_V6,
                destination: OWN_V6,
                traffic_class: 0,
                flow_label: 0,
                hop_limit: 64,
                next_header: 6,
            };
            ip.emit(&mut packet).unwrap();
        } else {
            let ip = ipv4::Repr {
                source: PEER_V4,
                destination: OWN_V4,
                dscp: 0,
                ecn: 0,
                identification: 1,
                dont_fragment: true,
                more_fragments: false,
                fragment_offset: 0,
                ttl: 64,
                protocol: 6,
                options: Vec::new(),
            };
            ip.emit(&mut packet).unwrap();
        }
        let ethertype = if self.is_v6 { ETHERTYPE_IPV6 } else { ETHERTYPE_IPV4 };
        let own = self.responder.station.mac();
        [&own.0[..], &PEER.0, &ethertype.to_be_bytes(), &packet].concat()
    }

    fn send(&mut self, frames: &[Vec<u8>]) {
        let mut next = frames.iter();
        let write = &mut |slot: &mut Slot<'_>| {
            let frame = next.next().expect("as many as were announced");
            slot.data[..frame.len()].copy_from_slice(frame);
            slot.length = frame.len();
        };
        assert_eq!(self.far.transmit(frames.len(), write).unwrap(), frames.len());
    }

    /// All that came back, each with right checksums.
    fn received(&mut self) -> Vec<Seen> {
        let (mut seen, pseudo) = (Vec::new(), self.pseudo(false));
        let own = self.responder.station.mac();
        self.far
            .receive(1_000, &mut |frame| {
                assert_eq!((&frame.data[..6], &frame.data[6..12]), (&PEER.0[..], &own.0[..]));
                let tuple = wire::summary(frame.data).unwrap();
                if tuple.source.is_ipv4() {
                    ipv4::View::new(&frame.data[14..]).unwrap().verify().unwrap();
                }
                let view =
                    View::new(&frame.data[usize::from(tuple.transport)..usize::from(tuple.end)]).unwrap();
                view.verify(&pseudo).unwrap();
                seen.push(Seen { head: tcp::Repr::parse(&view), payload: view.payload().to_vec() });
            })
            .unwrap();
        seen
    }

    fn answers(&mut self, head: &tcp::Repr, payload: &[u8]) -> Vec<Seen> {
        let frame = self.frame(head, payload);
        self.send(&[frame]);
        assert_eq!(self.responder.turn(&mut self.near, Instant::EPOCH).unwrap(), 1);
        self.received()
    }
}

fn segment(flags: u8, seq: u32, ack: u32) -> tcp::Repr {
    tcp::Repr {
        source: 5_000,
        destination: 80,
        sequence: seq,
        acknowledgment: ack,
        flags,
        window: 1_000,
        urgent: 0,
        options: Vec::new(),
    }
}

fn plain(flags: u8, seq: u32, ack: u32) -> Seen {
    let head = tcp::Repr { source: 80, destination: 5_000, window: 65_535, ..segment(flags, seq, ack) };
    Seen { head, payload: Vec::new() }
}

/// The whole response as it must be, by the code that writes those of the other target.
fn response(size: u64, close: bool) -> Vec<u8> {
    let said = if close { "Connection: close\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 200 OK\r\nServer: tare\r\nContent-Type: text/plain\r\nContent-Length: {size}\r\n{said}\r\n"
    );
    let unit = b"tare known-truth target body 0123456789 abcdefghijklmnopqrstuvw\n";
    head.bytes().chain(unit.iter().copied().cycle().take(size as usize)).collect()
}

#[test]
fn a_syn_is_answered_by_a_number_of_its_addresses_and_ports() {
    for is_v6 in [false, true] {
        let mut bench = Bench { is_v6, ..Bench::new(100, 64) };
        let first = bench.answers(&segment(flag::SYN, 77, 0), b"");
        let isn = first[0].head.sequence;
        let mut expected = plain(flag::SYN | flag::ACK, isn, 78);
        let mss: u16 = if is_v6 { 1_440 } else { 1_460 };
        expected.head.options = [&[2, 4][..], &mss.to_be_bytes()].concat();
        assert_eq!(first, [expected]);
        assert_eq!(bench.answers(&segment(flag::SYN, 77, 0), b""), first, "again the same");
        let other = bench.answers(&tcp::Repr { source: 5_001, ..segment(flag::SYN, 77, 0) }, b"");
        assert_ne!(other[0].head.sequence, isn);
        assert_eq!(bench.responder.served().syns, 3);
    }
}

#[test]
fn a_request_is_answered_by_arithmetic_and_again_in_the_same_way() {
    for (size, is_v6) in
        [(0, false), (100, false), (9_000, false), (100, true), (9_000, true), (14_000, true)]
    {
        let mut bench = Bench { is_v6, ..Bench::new(size, 64) };
        let (seq, ack) = (u32::MAX - 3, u32::MAX - 100);
        let seen = bench.answers(&segment(flag::ACK | flag::PSH, seq, ack), GET);
        let mut body = Vec::new();
        for (at, part) in seen.iter().enumerate() {
            let offset = ack.wrapping_add(body.len() as u32);
            let push = if at == seen.len() - 1 { flag::PSH } else { 0 };
            let mut expected = plain(flag::ACK | push, offset, seq.wrapping_add(GET.len() as u32));
            expected.payload.clone_from(&part.payload);
            assert_eq!(*part, expected, "{size} {at}");
            let full = if is_v6 { 1_440 } else { 1_460 };
            assert!(part.payload.len() == full || (at == seen.len() - 1 && part.payload.len() < full));
            body.extend_from_slice(&part.payload);
        }
        assert!(body == response(size, false), "{size}");
        assert_eq!(bench.answers(&segment(flag::ACK | flag::PSH, seq, ack), GET), seen);
        assert_eq!(
            (bench.responder.served().requests, bench.responder.served().answers),
            (2, 2 * seen.len() as u64)
        );
    }
}

#[test]
fn a_part_of_a_request_is_acknowledged() {
    let mut bench = Bench::new(100, 64);
    let (first, rest) = GET.split_at(10);
    assert_eq!(bench.answers(&segment(flag::ACK, 5, 9), first), [plain(flag::ACK, 9, 15)]);
    let seen = bench.answers(&segment(flag::ACK, 15, 9), rest);
    assert_eq!((seen[0].head.sequence, seen[0].head.acknowledgment), (9, 5 + GET.len() as u32));
    assert_eq!((bench.responder.served().partial, bench.responder.served().requests), (1, 1));
}

#[test]
fn the_connection_ends_when_the_request_says_so() {
    let fin = flag::ACK | flag::PSH | flag::FIN;
    for (request, closes) in [
        (&b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"[..], true),
        (b"GET / HTTP/1.1\r\nconnection: foo,close \r\nHost: a\r\n\r\n", true),
        (b"GET /close HTTP/1.1\r\nHost: close\r\n\r\n", false),
        (b"GET / HTTP/1.1\r\nConnection: keep-alive\r\n\r\n", false),
        (b"GET / HTTP/1.0\r\n\r\n", true),
        (b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", false),
    ] {
        let mut bench = Bench::new(2_000, 64);
        let seen = bench.answers(&segment(flag::ACK, 5, 9), request);
        assert_eq!(seen.len(), 2);
        assert_eq!(seen[0].head.flags, flag::ACK);
        assert_eq!(seen[1].head.flags == fin, closes, "{}", String::from_utf8_lossy(request));
        let whole: Vec<u8> = seen.iter().flat_map(|part| part.payload.clone()).collect();
        assert!(whole == response(2_000, closes));
    }
}

#[test]
fn fin_is_answered_and_what_asks_for_nothing_is_counted() {
    let mut bench = Bench::new(100, 64);
    assert_eq!(
        bench.answers(&segment(flag::ACK | flag::FIN, 5, 9), b""),
        [plain(flag::ACK | flag::FIN, 9, 6)]
    );
    // With a request, and with a part of one.
    let seen = bench.answers(&segment(flag::ACK | flag::FIN, 5, 9), GET);
    assert_eq!(seen[0].head.flags, flag::ACK | flag::PSH | flag::FIN);
    assert_eq!(seen[0].head.acknowledgment, 5 + GET.len() as u32 + 1);
    assert_eq!(
        bench.answers(&segment(flag::ACK | flag::FIN, 5, 9), b"GE"),
        [plain(flag::ACK | flag::FIN, 9, 8)]
    );
    for flags in [flag::ACK, flag::RST, flag::RST | flag::ACK, flag::SYN | flag::ACK, 0] {
        assert_eq!(bench.answers(&segment(flags, 5, 9), b""), [], "{flags:#x}");
    }
    let served = bench.responder.served();
    assert_eq!((served.fins, served.segments), (3, 8));
    let ignored = Ignored::ALL.iter().map(|cause| served.ignored(*cause)).collect::<Vec<_>>();
    assert_eq!(ignored, [1, 2, 1, 1]);
    assert_eq!(
        served.to_text(),
        "requests   1\nsegments   8 in, 3 out\naccepted   0 SYNs, 3 FINs\n\
         besides    1 ack ignored, 2 rst ignored, 1 syn_ack ignored, 1 no_ack ignored\n"
    );
}

#[test]
fn other_ports_refuse() {
    let mut bench = Bench::new(100, 64);
    let to = |head: tcp::Repr| tcp::Repr { destination: 81, ..head };
    let mut refusal = plain(flag::RST | flag::ACK, 0, 8);
    refusal.head.source = 81;
    assert_eq!(bench.answers(&to(segment(flag::SYN, 7, 0)), b""), [refusal]);
    let mut reset = plain(flag::RST, 9, 0);
    reset.head.source = 81;
    assert_eq!(bench.answers(&to(segment(flag::ACK, 7, 9)), GET), [reset]);
    assert_eq!(bench.responder.served().refused, 2);
}

#[test]
fn a_response_of_too_many_segments_is_refused_with_what_would_do() {
    let via: Via = "mem:a,ip=198.18.0.10/24".parse().unwrap();
    let link = Link { mac: via.derived_mac(), why_mac: "", mtu: 1_500 };
    let settings = Settings { ports: vec![80], status: 200, size: Bytes::new(20_000), body: None, seed: 7 };
    let error = Responder::new(Station::new(&via, &link), &settings).err().unwrap().to_string();
    assert!(error.contains("at most 10 segments"), "{error}");
}

proptest! {
    /// Rooms go round with bodies, headers, other families and replies of the station in them; each response
    /// is whole.
    #[test]
    fn rooms_that_were_used_for_others_spoil_no_response(
        what in proptest::collection::vec((0u8..5, any::<bool>()), 1..60), slots in 3usize..9,
    ) {
        let mut bench = Bench::new(1_500, slots);
        for (number, (what, is_v6)) in what.into_iter().enumerate() {
            bench.is_v6 = is_v6;
            let seq = number as u32;
            match what {
                0 => prop_assert_eq!(bench.answers(&segment(flag::SYN, seq, 0), b"").len(), 1),
                1 => prop_assert_eq!(bench.answers(&segment(flag::ACK, seq, 9), b"GET").len(), 1),
                2 => {
                    // Who has 198.18.0.10?
                    let arp = wire::arp::Repr {
                        operation: wire::arp::Operation::Request,
                        sender_mac: PEER,
                        sender: PEER_V4,
                        target_mac: Mac([0; 6]),
                        target: OWN_V4,
                    };
                    let mut bytes = [0; 28];
                    arp.emit(&mut bytes).unwrap();
                    bench.send(&[[&[0xff; 6][..], &PEER.0, &[8, 6], &bytes].concat()]);
                    bench.responder.turn(&mut bench.near, Instant::EPOCH).unwrap();
                    let mut came = 0;
                    bench.far.receive(9, &mut |_| came += 1).unwrap();
                    prop_assert_eq!(came, 1);
                }
                close => {
                    let close = close == 3;
                    let option = if close { "Connection: close\r\n" } else { "" };
                    let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{option}\r\n");
                    let seen = bench.answers(&segment(flag::ACK, seq, 9), request.as_bytes());
                    let whole: Vec<u8> = seen.iter().flat_map(|part| part.payload.clone()).collect();
                    prop_assert!(whole == response(1_500, close));
                }
            }
        }
    }
}
