//! The three forms of a match are asked for the same frames: those that are ours and nearly ours.

use super::*;
use bpf::{Action, Assembler, License, Program, ProgramKind, Register::*};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;

const OWN: [u8; 4] = [198, 18, 0, 11];

fn own_v6(last: u8) -> [u8; 16] {
    let mut address = [0; 16];
    (address[0], address[15]) = (0xfd, last);
    address
}

fn ours(vlan: Option<u16>) -> Match {
    let v4 = "198.18.0.10".parse().unwrap()..="198.18.0.12".parse().unwrap();
    let v6 = "fd00::10".parse().unwrap()..="fd00::12".parse().unwrap();
    Match::new(vlan).v4(v4).v6(v6).unwrap()
}

fn ethernet(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &ethertype.to_be_bytes(), payload].concat()
}

fn tagged(frame: &[u8], vlan: u16) -> Vec<u8> {
    [&frame[..12], &VLAN.to_be_bytes(), &vlan.to_be_bytes(), &frame[12..]].concat()
}

fn arp(sender: [u8; 4], target: [u8; 4]) -> Vec<u8> {
    let head = [0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 2];
    ethernet(ARP, &[&head[..], &sender, &[0; 6], &target].concat())
}

/// With a header of so many bytes, to port 80.
fn v4(destination: [u8; 4], protocol: u8, header: usize, fragment: u16) -> Vec<u8> {
    let mut packet = vec![0; header + 20];
    packet[0] = 0x40 | (header / 4) as u8;
    packet[6..8].copy_from_slice(&fragment.to_be_bytes());
    packet[9] = protocol;
    packet[16..20].copy_from_slice(&destination);
    packet[header + 2..header + 4].copy_from_slice(&80u16.to_be_bytes());
    ethernet(IPV4, &packet)
}

fn v6(destination: [u8; 16], next: u8, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, 0, next, 64];
    packet.extend([0xfd; 16]);
    packet.extend(destination);
    packet.extend(body);
    ethernet(IPV6, &packet)
}

fn discovery(kind: u8, target: [u8; 16]) -> Vec<u8> {
    v6([0xff; 16], ICMPV6, &[&[kind, 0, 0, 0, 0, 0, 0, 0][..], &target].concat())
}

fn to_port(port: u16) -> Vec<u8> {
    [&[0, 1][..], &port.to_be_bytes(), &[0; 16]].concat()
}

/// Frames, and whether they are ours with all ports and with ports 80 to 90.
fn frames() -> Vec<(Vec<u8>, bool, bool)> {
    vec![
        (arp([198, 18, 0, 2], OWN), true, true),
        (arp(OWN, [198, 18, 0, 2]), true, true),
        (arp([198, 18, 0, 2], [198, 18, 0, 13]), false, false),
        (arp([198, 18, 0, 2], [198, 18, 0, 9]), false, false),
        (v4(OWN, TCP, 20, 0), true, true),
        (v4(OWN, TCP, 60, 0x4000), true, true),
        (v4(OWN, 1, 20, 0), true, true),
        (v4(OWN, TCP, 20, 7), true, true),
        (v4([198, 18, 0, 13], TCP, 20, 0), false, false),
        (v4([198, 18, 0, 2], 17, 20, 0), false, false),
        (v6(own_v6(0x10), TCP, &to_port(90)), true, true),
        (v6(own_v6(0x12), TCP, &to_port(91)), true, false),
        (v6(own_v6(0x12), TCP, &to_port(79)), true, false),
        (v6(own_v6(0x11), ICMPV6, &[128; 8]), true, true),
        (v6(own_v6(0x13), TCP, &to_port(80)), false, false),
        (discovery(135, own_v6(0x11)), true, true),
        (discovery(136, own_v6(0x11)), true, true),
        (discovery(134, own_v6(0x11)), false, false),
        (discovery(135, own_v6(0x0f)), false, false),
        (ethernet(0x88cc, &[0; 60]), false, false),
        (vec![0; 14], false, false),
    ]
}

#[test]
fn frames_of_own_addresses_are_ours_and_no_others() {
    let (all, some) = (ours(None), ours(None).tcp_ports(80..=90));
    let (in_vlan, tag) = (ours(Some(7)), 0xa007);
    for (frame, by_all, by_some) in frames() {
        assert_eq!((all.takes(&frame), some.takes(&frame)), (by_all, by_some), "{frame:02x?}");
        assert_eq!(in_vlan.takes(&tagged(&frame, tag)), by_all);
        let others =
            [all.takes(&tagged(&frame, tag)), in_vlan.takes(&frame), in_vlan.takes(&tagged(&frame, 8))];
        assert_eq!(others, [false; 3]);
    }
    let only = ours(None).tcp_ports(80..=90).segments_only();
    let own = [v4(OWN, TCP, 20, 0), v4(OWN, TCP, 60, 0x4000), v6(own_v6(0x10), TCP, &to_port(90))];
    for (frame, _, _) in frames() {
        assert_eq!(only.takes(&frame), own.contains(&frame), "{frame:02x?}");
    }
    let crosses = "fd00::ffff:fff0".parse().unwrap()..="fd00::1:0:10".parse().unwrap();
    assert_eq!(Match::new(None).v6(crosses), None);
}

/// The match as an XDP program that says what it would do.
fn kernel(own: &Match) -> Program {
    let mut a = Assembler::new();
    let pass = a.label();
    a.mov(R6, R1);
    own.assemble(&mut a, pass);
    a.mov(R0, Action::Drop as i32).exit();
    a.bind(pass);
    a.mov(R0, Action::Pass as i32).exit();
    Program::load(ProgramKind::Xdp, "test_ours", &a.assemble().unwrap(), License::Dual).unwrap()
}

/// A socket that receives what the classic program accepts.
struct Classic {
    out: UnixDatagram,
    back: UnixDatagram,
}

impl Classic {
    fn new(own: &Match) -> Self {
        let (out, back) = UnixDatagram::pair().unwrap();
        back.set_nonblocking(true).unwrap();
        let program = own.program();
        let filter =
            libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut().cast() };
        // SAFETY: the program outlives the call, which only reads it; both structures are laid out as the
        // kernel's.
        let attached = unsafe {
            libc::setsockopt(
                back.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                (&raw const filter).cast(),
                size_of::<libc::sock_fprog>() as u32,
            )
        };
        assert_eq!(attached, 0, "{}", std::io::Error::last_os_error());
        Self { out, back }
    }

    fn takes(&self, frame: &[u8]) -> bool {
        // What the filter refuses is a send that fails, or one that nobody receives.
        let _ = self.out.send(frame);
        match self.back.recv(&mut [0; 4096]) {
            Ok(length) => length == frame.len(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Frames with some bytes changed or cut off.
fn changed() -> impl Strategy<Value = Vec<u8>> {
    let seeds: Vec<Vec<u8>> = frames().into_iter().map(|(frame, _, _)| frame).collect();
    let changes = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    let end = proptest::option::weighted(0.3, any::<prop::sample::Index>());
    (prop::sample::select(seeds), changes, end).prop_map(|(mut frame, changes, end)| {
        for (at, value) in changes {
            let at = at.index(frame.len());
            frame[at] = value;
        }
        if let Some(end) = end {
            frame.truncate(end.index(frame.len()).max(14));
        }
        frame
    })
}

#[test]
fn the_kernels_programs_decide_as_the_function_does() {
    let v4 = "198.18.0.10".parse().unwrap()..="198.18.0.12".parse().unwrap();
    let v6 = "fd00::10".parse().unwrap()..="fd00::12".parse().unwrap();
    for own in [
        ours(None),
        ours(None).tcp_ports(80..=90),
        Match::new(None).v4(v4),
        Match::new(None).v6(v6.clone()).unwrap().tcp_ports(80..=90),
        ours(None).tcp_ports(80..=90).segments_only(),
        ours(None).segments_only(),
        Match::new(None).v6(v6).unwrap().segments_only(),
    ] {
        let (xdp, classic) = (kernel(&own), Classic::new(&own));
        let tagged_xdp = kernel(&Match { vlan: Some(7), ..own.clone() });
        let mut taken = 0;
        let check = |frame: Vec<u8>| {
            let expected = own.takes(&frame);
            let by = |program: &Program, frame: &[u8]| {
                program.run(frame, 1).unwrap().returned == Action::Drop as u32
            };
            prop_assert_eq!(by(&xdp, &frame), expected);
            prop_assert_eq!(by(&tagged_xdp, &tagged(&frame, 7)), expected);
            prop_assert_eq!(by(&tagged_xdp, &tagged(&frame, 8)), false);
            prop_assert_eq!(classic.takes(&frame), expected);
            Ok(expected)
        };
        for (frame, _, _) in frames() {
            taken += usize::from(check(frame).unwrap());
        }
        // TCP over IPv6 alone is the least.
        assert!(taken >= 3);
        let mut runner = TestRunner::new(ProptestConfig { cases: 3_000, ..ProptestConfig::default() });
        runner.run(&changed(), |frame| check(frame).map(drop)).unwrap();
    }
}
