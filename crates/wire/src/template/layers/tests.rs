//! Which headers follow upon each other, what announces them, and what is behind them.

use super::*;
use crate::samples;
use crate::template::Mac;
use alloc::string::ToString;
use alloc::vec;

const UDP: Layer = Layer::Udp { source: 1024, destination: 9, checksum: true };

fn ethernet() -> Layer {
    Layer::ethernet(Mac([2; 6]), Mac([4; 6]))
}

fn tag(protocol: Option<u16>) -> Layer {
    Layer::Vlan { protocol, identifier: 5, priority: 0, drop_eligible: false, ethertype: None }
}

fn made(layers: &[Layer]) -> Vec<u8> {
    let stream = StreamSpec { layers: layers.to_vec(), payload: Payload::Random, ..StreamSpec::default() };
    frame(&stream, 100, 7).unwrap()
}

#[test]
fn each_header_is_announced_by_the_one_before() {
    let [four, six] = samples::networks();
    let types = |layers: &[Layer]| {
        let frame = made(&[&[ethernet()], layers].concat());
        [12, 16, 20].map(|at| u16::from_be_bytes([frame[at], frame[at + 1]]))
    };
    assert_eq!(types(&[tag(None), four.clone(), UDP])[..2], [0x8100, 0x0800]);
    assert_eq!(types(&[tag(None), tag(None), six, UDP]), [0x88a8, 0x8100, 0x86dd]);
    assert_eq!(types(&[tag(Some(0x9100)), tag(None), four, UDP]), [0x9100, 0x8100, 0x0800]);
    let nobody = core::net::Ipv4Addr::UNSPECIFIED;
    let mac = Mac([2; 6]);
    let arp = Layer::Arp { request: true, sender_mac: mac, sender: nobody, target_mac: mac, target: nobody };
    assert_eq!(types(core::slice::from_ref(&arp))[0], 0x0806);
    // Behind ARP there is nothing, whatever payloads are.
    assert!(made(&[ethernet(), arp])[42..].iter().all(|byte| *byte == 0));
    assert!(made(&[ethernet()])[14..].iter().any(|byte| *byte != 0));
}

#[test]
fn what_is_no_frame_is_refused_with_what_it_needs() {
    let [four, six] = samples::networks();
    let problem = |above: &[Layer]| {
        check(&[&[ethernet()], above].concat()).map_err(|error| error.to_string()).err().unwrap_or_default()
    };
    assert_eq!(problem(&[tag(None), tag(None), four.clone(), UDP]), "");
    assert_eq!(problem(&[tag(None), tag(None), tag(None)]), "a frame needs two VLAN tags at most");
    // A frame within has tags of its own.
    let outer = Layer::Udp { source: 1, destination: 4_789, checksum: false };
    let within =
        [tag(None), four.clone(), outer, Layer::Vxlan { network: 1 }, ethernet(), tag(None), tag(None)];
    assert_eq!(problem(&within), "");
    let label = Layer::Mpls { label: 1, class: 0, ttl: 1 };
    assert_eq!(problem(&[label]), "a frame needs a packet in its tunnel");
    for (network, protocol) in [(four, 17), (six, 58)] {
        let mut bare = network;
        match &mut bare {
            Layer::Ipv4 { protocol: given, .. } | Layer::Ipv6 { next_header: given, .. } => {
                *given = Some(protocol)
            }
            _ => unreachable!("two kinds of network"),
        }
        assert_eq!(problem(&[bare]), "a frame needs the header of the protocol that IP announces");
    }
}

#[test]
fn headers_are_named_in_a_row() {
    let named = |layers: Vec<Layer>, sign| names(&StreamSpec { layers, sign, ..StreamSpec::default() });
    assert_eq!(named(vec![ethernet()], false), "Ethernet");
    assert_eq!(named(vec![ethernet()], true), "Ethernet and a signature");
    assert_eq!(named(vec![ethernet(), tag(None), UDP], false), "Ethernet, VLAN and UDP");
}

#[test]
fn packets_say_which_protocol_follows() {
    let [four, six] = samples::networks();
    let chain = made(&[ethernet(), six, Layer::Extension(extension::Extension::Destination), UDP]);
    assert_eq!((chain[20], chain[54]), (60, 17));
    assert_eq!(made(&[ethernet(), four.clone()])[23], EXPERIMENTAL_PROTOCOL);
    let mut given = four;
    let Layer::Ipv4 { protocol, .. } = &mut given else { unreachable!("the first is IPv4") };
    *protocol = Some(89);
    assert_eq!(made(&[ethernet(), given])[23], 89);
}
