//! What every port does, whatever it is made of. A new kind is a line in the table at the end and its two ends
//! in `conformance/ends.rs`. Needs root: each test makes its own namespaces.

mod ends;

pub use ends::frame;
use ends::{Ends, PATIENCE, TestedPort, receive, send};
use port::{For, Instruction, PortError, Wish};
use std::time::{Duration, Instant};
use units::Picos;

impl TestedPort {
    /// Runs one of the tests, if what the kind needs is installed.
    fn run(&self, test: fn(&Self)) {
        if self.name.strip_prefix("dpdk_").is_none_or(crate::dpdk::is_here) {
            test(self);
        }
    }

    fn ends(&self) -> Ends {
        (self.open)(&Wish::default()).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// What was sent is what arrived, in order.
    #[track_caller]
    fn check_same(&self, ends: &Ends, sent: &[Vec<u8>], arrived: &[Vec<u8>]) {
        let carried = |frames: &[Vec<u8>]| -> Vec<Vec<u8>> {
            frames.iter().map(|frame| self.carried(frame, ends.is_ipv6).to_vec()).collect()
        };
        let (sent, arrived) = (carried(sent), carried(arrived));
        let differs = sent.iter().zip(&arrived).position(|(a, b)| a != b);
        let counts = format!("{}: {} sent, {} arrived", self.name, sent.len(), arrived.len());
        assert_eq!(differs, None, "the first frame that differs; {counts}");
        assert_eq!(arrived.len(), sent.len(), "{counts}");
    }

    fn order_and_content(&self) {
        let mut ends = self.ends();
        let longest = ends.a.about().longest.min(1_514);
        let lengths: Vec<usize> = (self.shortest(&ends)..=longest).collect();
        let frames: Vec<_> =
            lengths.iter().enumerate().map(|(n, length)| frame(n as u32, *length, ends.is_ipv6)).collect();
        let mut arrived = Vec::new();
        // In pieces, so that no ring has to hold them all.
        for piece in frames.chunks(64) {
            send(&mut *ends.a, piece);
            if self.is_live {
                arrived.extend(receive(&mut **ends.b(), piece.len()));
            }
        }
        if !self.is_live {
            arrived = receive(&mut **ends.b(), frames.len());
        }
        self.check_same(&ends, &frames, &arrived);
    }

    fn and_the_other_way_round(&self) {
        if !self.is_live || self.one_way {
            return;
        }
        let mut ends = self.ends();
        let frames: Vec<_> = (0..100).map(|n| frame(n, 100 + n as usize, ends.is_ipv6)).collect();
        send(&mut **ends.b(), &frames);
        let arrived = receive(&mut *ends.a, frames.len());
        self.check_same(&ends, &frames, &arrived);
    }

    fn limits(&self) {
        let mut ends = self.ends();
        let about = ends.a.about().clone();
        assert!(about.can.transmit && about.can.batch > 0, "{about:?}");
        assert!(about.longest >= 1_514, "{about:?}");
        assert_eq!(ends.a.transmit(0, &mut |_| panic!("nothing was asked for")).unwrap(), 0);
        // An empty frame is none.
        assert_eq!(ends.a.transmit(1, &mut |slot| slot.length = 0).unwrap(), 1);
        let error = ends.a.transmit(1, &mut |slot| slot.length = about.longest + 1).unwrap_err();
        let PortError::TooLong { length, longest, .. } = &error else { panic!("{}: {error}", self.name) };
        assert_eq!((*length, *longest), (about.longest + 1, about.longest));
        // A batch that is larger than it takes is cut, not refused.
        let frames: Vec<_> = (0..about.can.batch as u32 + 3).map(|n| frame(n, 80, ends.is_ipv6)).collect();
        let mut next = frames.iter();
        let taken = ends.a.transmit(frames.len(), &mut |slot| {
            let frame = next.next().expect("no more than there are");
            slot.data[..80].copy_from_slice(frame);
            slot.length = 80;
        });
        let taken = taken.unwrap();
        assert!((1..=about.can.batch).contains(&taken), "{taken} of {}", about.can.batch);
        ends.a.flush(PATIENCE).unwrap();
        let lost = ends.a.counters().unwrap().lost() as usize;
        let arrived = receive(&mut **ends.b(), taken);
        let lost = lost + ends.b().counters().unwrap().lost() as usize;
        assert_eq!(arrived.len() + lost, taken, "{}", self.name);
        if lost == 0 {
            self.check_same(&ends, &frames[..taken], &arrived);
        }
        let counters = ends.a.counters().unwrap();
        assert_eq!((counters.sent, counters.sent_bytes), (taken as u64, 80 * taken as u64), "{counters:?}");
        if self.is_live {
            assert_eq!(ends.b().receive(0, &mut |_| panic!("nothing was asked for")).unwrap(), 0);
        }
    }

    /// Far more than any ring holds, read late: what was sent is what was received and what was counted as
    /// lost.
    fn counters_conserve(&self) {
        // Where a veth's receiving end has no CPU time, the kernel loses frames that DPDK's drivers do not
        // count: rarely, while all these tests run at once.
        let tries = if self.name.starts_with("dpdk_af_") { 3 } else { 1 };
        let wrong: Vec<String> = (0..tries).map_while(|_| self.conserves().err()).collect();
        assert!(wrong.len() < tries, "{wrong:?}");
    }

    fn conserves(&self) -> Result<(), String> {
        let mut ends = self.ends();
        let frames: Vec<_> = (0..self.many()).map(|n| frame(n, 1_000, ends.is_ipv6)).collect();
        let (mut sent, mut received, until) = (0, 0, Instant::now() + Duration::from_secs(10));
        while sent < frames.len() && Instant::now() < until {
            let mut next = sent;
            sent += ends
                .a
                .transmit(frames.len() - sent, &mut |slot| {
                    slot.data[..1_000].copy_from_slice(&frames[next]);
                    slot.length = 1_000;
                    next += 1;
                })
                .unwrap();
            if next == sent && self.is_live && (self.holds_back || sent % 7 == 0) {
                received += ends.b().receive(10, &mut |_| {}).unwrap();
            }
        }
        assert_eq!(sent, frames.len(), "{}", self.name);
        for _ in 0..1_000 {
            received += match ends.b().receive(1_000, &mut |_| {}) {
                Err(error) if error.is_end() => 0,
                other => other.unwrap(),
            };
            if ends.a.flush(Picos::from_millis(1)).unwrap() {
                break;
            }
        }
        received += receive(&mut **ends.b(), frames.len().saturating_sub(received)).len();
        let there = ends.a.counters().unwrap().clone();
        let here = ends.b().counters().unwrap().clone();
        assert_eq!(there.sent + there.unsent(), frames.len() as u64, "{}: {there:?}", self.name);
        assert_eq!(here.received, received as u64, "{}: {here:?}", self.name);
        let lost = there.lost() - there.unsent() + here.lost();
        if self.holds_back {
            assert_eq!(there.lost() + here.lost(), 0, "{}: {there:?} {here:?}", self.name);
        }
        match there.sent == here.received + lost {
            true => Ok(()),
            false => Err(format!("{}: {there:?} {here:?}", self.name)),
        }
    }

    fn waiting(&self) {
        let mut ends = self.ends();
        assert!(ends.a.flush(PATIENCE).unwrap(), "nothing is under way");
        assert!(ends.a.wait(For::Transmit, PATIENCE).unwrap(), "there is room");
        if !self.is_live {
            return;
        }
        let start = Instant::now();
        assert!(!ends.b().wait(For::Receive, Picos::from_millis(30)).unwrap(), "nothing was sent");
        let took = start.elapsed();
        assert!((29..2_000).contains(&took.as_millis()), "{took:?}");
        assert_eq!(ends.b().receive(9, &mut |_| {}).unwrap(), 0);
        send(&mut *ends.a, &[frame(1, 100, ends.is_ipv6)]);
        assert!(ends.b().wait(For::Receive, PATIENCE).unwrap(), "a frame is there");
        assert_eq!(ends.b().receive(9, &mut |_| {}).unwrap(), 1);
    }

    fn link_down_and_up(&self) {
        if !self.has_link {
            return;
        }
        let mut ends = self.ends();
        let (is_ipv6, interface) = (ends.is_ipv6, ends.interface());
        send(&mut *ends.a, &[frame(1, 100, is_ipv6)]);
        assert_eq!(receive(&mut **ends.b(), 1).len(), 1);
        ends.ip(&format!("link set {interface} down"));
        assert!(self.is_udp || !ends.a.is_up());
        let before = ends.a.counters().unwrap().clone();
        // Refused, or taken and counted as lost: never neither.
        let mut taken = 0;
        for n in 0..3 {
            let result = ends.a.transmit(1, &mut |slot| {
                slot.data[..100].copy_from_slice(&frame(n, 100, is_ipv6));
                slot.length = 100;
            });
            match result {
                Ok(more) => taken += more as u64,
                Err(PortError::Down { .. }) => {}
                Err(error) => panic!("{}: {error}", self.name),
            }
        }
        // What is neither sent nor lost by now waits for the link in the port's own ring.
        let is_settled = ends.a.flush(Picos::from_millis(100)).unwrap_or(false);
        let after = ends.a.counters().unwrap().clone();
        let (lost, unsent) = (after.lost() - before.lost(), after.unsent() - before.unsent());
        if is_settled {
            assert_eq!(after.sent - before.sent, lost - unsent, "{}: {after:?}", self.name);
            assert!(lost >= taken, "{}: {after:?}", self.name);
        }
        ends.ip(&format!("link set {interface} up"));
        if ends.interface().starts_with("gen") {
            // What the kernel forgets with a link that goes down.
            let bed = ends.bed.as_ref().expect("a bed");
            let (mac, to) = (bed.sink().interface().mac, if is_ipv6 { "fd00:18::2" } else { "198.18.0.2" });
            if is_ipv6 {
                ends.ip(&format!("addr replace fd00:18::1/64 dev {interface} nodad"));
            }
            ends.ip(&format!("neigh replace {to} lladdr {mac} dev {interface} nud permanent"));
        }
        let until = Instant::now() + Duration::from_secs(3);
        while !ends.a.is_up() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        while Instant::now() < until {
            let _ = ends.a.transmit(1, &mut |slot| {
                slot.data[..100].copy_from_slice(&frame(7, 100, is_ipv6));
                slot.length = 100;
            });
            if ends.b().wait(For::Receive, Picos::from_millis(20)).unwrap() {
                break;
            }
        }
        let mut arrived = 0;
        // The other end of the pair was down as well; it may say so once.
        for _ in 0..3 {
            arrived += ends.b().receive(99, &mut |_| {}).unwrap_or(0);
        }
        assert!(arrived > 0, "{}: frames pass again", self.name);
    }

    fn mtu(&self) {
        if !self.has_link {
            return;
        }
        // Said before anything is sent.
        let wish = Wish { frame: 3_000, ..Wish::default() };
        match (self.open)(&wish).map(|_| ()) {
            Err(PortError::TooLong { length: 3_000, longest, .. }) => assert!(longest < 1_520, "{longest}"),
            other => panic!("{}: {other:?}", self.name),
        }
        // One that shrinks later: refused or counted.
        let mut ends = self.ends();
        ends.ip(&format!("link set {} mtu 1280", ends.interface()));
        let before = ends.a.counters().unwrap().clone();
        let is_ipv6 = ends.is_ipv6;
        let result = ends.a.transmit(1, &mut |slot| {
            slot.data[..1_500].copy_from_slice(&frame(1, 1_500, is_ipv6));
            slot.length = 1_500;
        });
        let _ = ends.a.flush(Picos::from_millis(100));
        let after = ends.a.counters().unwrap().clone();
        let arrived = receive(&mut **ends.b(), 0).len() as u64;
        let lost = after.lost() - before.lost();
        let unsent = after.unsent() - before.unsent();
        assert_eq!(after.sent - before.sent, arrived + lost - unsent, "{}: {result:?} {after:?}", self.name);
        assert!(arrived == 1 || lost == 1 || result.is_err(), "{}: {result:?} {after:?}", self.name);
    }

    /// One end goes while frames are under way: the other is told or counts, and neither hangs.
    fn close_while_busy(&self) {
        let mut ends = self.ends();
        let is_ipv6 = ends.is_ipv6;
        let (mut failed, begun) = (false, Instant::now());
        // One call may take some milliseconds.
        for n in (0..2_000).take_while(|n| *n < 20 || begun.elapsed() < Duration::from_secs(3)) {
            let result = ends.a.transmit(8, &mut |slot| {
                slot.data[..100].copy_from_slice(&frame(n, 100, is_ipv6));
                slot.length = 100;
            });
            failed |= result.is_err();
            if n == 5 {
                drop(ends.close_b());
            }
        }
        let start = Instant::now();
        let _ = ends.a.flush(Picos::from_millis(200));
        assert!(start.elapsed() < Duration::from_secs(2));
        let counters = ends.a.counters().unwrap();
        assert!(counters.sent > 0, "{failed} {counters:?}");
        if self.name == "mem" {
            assert!(failed && counters.lost() > 0, "{counters:?}");
        }
        let start = Instant::now();
        drop(ends);
        assert!(start.elapsed() < Duration::from_secs(5));
    }

    fn filters(&self) {
        if !self.is_live {
            return;
        }
        let mut ends = self.ends();
        let is_ipv6 = ends.is_ipv6;
        // Length of the frame, more than 100: all of it; otherwise nothing.
        let step = |code, jt, jf, k| Instruction { code, jt, jf, k };
        let program =
            [step(0x80, 0, 0, 0), step(0x25, 0, 1, 100), step(0x06, 0, 0, 65_535), step(0x06, 0, 0, 0)];
        match ends.b().filter(&program) {
            Err(PortError::Unable { .. }) => return,
            other => other.unwrap(),
        }
        let frames: Vec<_> = (90..110).map(|length| frame(length, length as usize, is_ipv6)).collect();
        send(&mut *ends.a, &frames);
        let arrived = receive(&mut **ends.b(), 9);
        self.check_same(&ends, &frames[11..], &arrived);
    }
}

macro_rules! conform {
    ($(
        $kind:ident:
            $holds_back:literal, $has_link:literal, $is_live:literal, $is_udp:literal, $one_way:literal;
    )+) => {
        $(mod $kind {
            use super::{TestedPort, ends};

            const KIND: TestedPort = TestedPort {
                name: stringify!($kind),
                open: ends::$kind,
                holds_back: $holds_back,
                has_link: $has_link,
                is_live: $is_live,
                is_udp: $is_udp,
                one_way: $one_way,
            };

            #[test]
            fn frames_arrive_in_order_as_they_were_at_every_length() {
                KIND.run(TestedPort::order_and_content);
            }
            #[test]
            fn and_the_other_way_round() {
                KIND.run(TestedPort::and_the_other_way_round);
            }
            #[test]
            fn limits_are_kept_and_told() {
                KIND.run(TestedPort::limits);
            }
            #[test]
            fn what_was_sent_was_received_or_counted_as_lost() {
                KIND.run(TestedPort::counters_conserve);
            }
            #[test]
            fn waiting_ends_in_time() {
                KIND.run(TestedPort::waiting);
            }
            #[test]
            fn a_link_goes_down_and_comes_up_again() {
                KIND.run(TestedPort::link_down_and_up);
            }
            #[test]
            fn an_mtu_that_is_exceeded_is_told() {
                KIND.run(TestedPort::mtu);
            }
            #[test]
            fn the_other_end_may_close_while_frames_are_under_way() {
                KIND.run(TestedPort::close_while_busy);
            }
            #[test]
            fn a_filter_keeps_what_it_shall() {
                KIND.run(TestedPort::filters);
            }
        })+
    };
}

conform! {
    // name: holds back, has a link, live, datagrams only, one way
    mem: true, false, true, false, false;
    wrapped: true, false, true, false, false;
    wrapped_packet: false, true, true, false, false;
    pcap: true, false, false, false, false;
    packet: false, true, true, false, false;
    packet_ring: false, true, true, false, false;
    xdp: false, true, true, false, false;
    live: false, true, true, false, true;
    auto: false, true, true, false, false;
    udp: false, true, true, true, false;
    udp_plain: false, true, true, true, false;
    udp_ipv6: false, true, true, true, false;
    udp_netns: false, true, true, true, false;
    tap: false, true, true, false, false;
    tap_queues: false, true, true, false, true;
    fpga: false, false, true, false, false;
    fpga_loop: false, false, true, false, true;
    dpdk_ring: true, false, true, false, true;
    dpdk_af_packet: false, true, true, false, false;
    dpdk_pcap: false, true, true, false, false;
    dpdk_af_xdp: false, true, true, false, false;
}

#[test]
fn queues_of_one_tap_share_what_the_host_sends() {
    let mut ends = ends::tap_queues(&Wish::default()).unwrap();
    // 64 flows, which the kernel spreads over the queues by their hash.
    let mut frames: Vec<_> = (0..640).map(|n| frame(n, 100, false)).collect();
    frames.iter_mut().enumerate().for_each(|(n, frame)| frame[35] = (n % 64) as u8);
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for piece in frames.chunks(64) {
        send(&mut **ends.b(), piece);
        first.extend(receive(&mut *ends.a, 0));
        second.extend(receive(&mut *ends.others[0], 0));
    }
    assert!(first.len() > 64 && second.len() > 64, "{} and {}", first.len(), second.len());
    let mut all = [first, second].concat();
    all.sort();
    frames.sort();
    assert!(all == frames, "each frame is on one queue");
}
