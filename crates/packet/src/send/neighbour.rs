//! Questions and answers about hardware addresses: ARP (RFC 826) and neighbour discovery (RFC 4861), as whole
//! frames.
//!
//! ```text
//!   who has 198.18.0.2? ─► question(…)            a frame that arrives ─► heard(…) ─► Heard::Asks / Heard::Is
//!   198.18.0.1 is at …  ◄─ answer(…)
//! ```

use std::net::{IpAddr, Ipv6Addr};
use wire::template::Mac;
use wire::{WireError, arp, checksum::Pseudo, ethernet, icmpv6, ipv6};

const BROADCAST: Mac = Mac([0xff; 6]);
const ARP: u16 = 0x0806;
const IPV6: u16 = 0x86dd;
/// Frames below this are filled up with zeros (60 bytes and the FCS).
const LEAST: usize = 60;
/// Neighbour discovery must not have been routed (RFC 4861 §6.1.1).
const HOPS: u8 = 255;

/// What a frame says of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// `asker` at `mac` wants to know where `target` is.
    Asks { asker: IpAddr, mac: Mac, target: IpAddr },
    /// `address` is at `mac`.
    Is { address: IpAddr, mac: Mac },
}

/// A frame that asks where `target` is, from `sender` at `mac`. `None` if the two are of different families.
pub fn question(sender: IpAddr, mac: Mac, target: IpAddr) -> Option<Vec<u8>> {
    match (sender, target) {
        (IpAddr::V4(sender), IpAddr::V4(target)) => {
            let operation = arp::Operation::Request;
            let message = arp::Repr { operation, sender_mac: mac, sender, target_mac: Mac([0; 6]), target };
            arp_frame(BROADCAST, mac, &message).ok()
        }
        (IpAddr::V6(sender), IpAddr::V6(target)) => {
            let (group, group_mac) = solicited_node(target);
            let message = icmpv6::Repr::Solicitation { target, source: Some(mac) };
            icmpv6_frame(group_mac, mac, sender, group, &message).ok()
        }
        _ => None,
    }
}

/// The answer to `Heard::Asks`: `target` is at `mac`.
pub fn answer(asker: IpAddr, asker_mac: Mac, target: IpAddr, mac: Mac) -> Option<Vec<u8>> {
    match (asker, target) {
        (IpAddr::V4(asker), IpAddr::V4(target)) => {
            let operation = arp::Operation::Reply;
            let message = arp::Repr {
                operation,
                sender_mac: mac,
                sender: target,
                target_mac: asker_mac,
                target: asker,
            };
            arp_frame(asker_mac, mac, &message).ok()
        }
        (IpAddr::V6(asker), IpAddr::V6(target)) => {
            // Who has no address yet asks whether the address is taken: all are told.
            let solicited = !asker.is_unspecified();
            let to = if solicited { asker } else { Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1) };
            let link = Some(mac);
            let message =
                icmpv6::Repr::Advertisement { target, link, router: false, solicited, override_: true };
            icmpv6_frame(asker_mac, mac, target, to, &message).ok()
        }
        _ => None,
    }
}

/// What a frame says, if it is of ARP or neighbour discovery and in order.
pub fn heard(frame: &[u8]) -> Option<Heard> {
    let view = ethernet::View::new(frame).ok()?;
    let body = frame.get(ethernet::LENGTH..)?;
    match view.ethertype() {
        ARP => {
            let said = arp::Repr::parse(&arp::View::new(body).ok()?).ok()?;
            let (sender, target) = (IpAddr::V4(said.sender), IpAddr::V4(said.target));
            Some(match said.operation {
                arp::Operation::Request => Heard::Asks { asker: sender, mac: said.sender_mac, target },
                arp::Operation::Reply => Heard::Is { address: sender, mac: said.sender_mac },
            })
        }
        IPV6 => discovery(body, view.source()),
        _ => None,
    }
}

fn discovery(body: &[u8], from: Mac) -> Option<Heard> {
    let packet = ipv6::Repr::parse(&ipv6::View::new(body).ok()?);
    if packet.next_header != icmpv6::PROTOCOL || packet.hop_limit != HOPS {
        return None;
    }
    let view = icmpv6::View::new(body.get(ipv6::LENGTH..)?).ok()?;
    match icmpv6::Repr::parse(&view).ok()? {
        icmpv6::Repr::Solicitation { target, source } => {
            let asker = IpAddr::V6(packet.source);
            Some(Heard::Asks { asker, mac: source.unwrap_or(from), target: IpAddr::V6(target) })
        }
        icmpv6::Repr::Advertisement { target, link, .. } => {
            Some(Heard::Is { address: IpAddr::V6(target), mac: link.unwrap_or(from) })
        }
        icmpv6::Repr::Echo(_) => None,
    }
}

/// The group to which an address listens for questions, and the group's hardware address (RFC 4291 §2.7.1, RFC
/// 2464 §7).
fn solicited_node(target: Ipv6Addr) -> (Ipv6Addr, Mac) {
    let [.., a, b, c] = target.octets();
    let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), u16::from(b) << 8 | u16::from(c));
    (group, Mac([0x33, 0x33, 0xff, a, b, c]))
}

fn arp_frame(destination: Mac, source: Mac, message: &arp::Repr) -> Result<Vec<u8>, WireError> {
    let mut frame = vec![0; LEAST];
    ethernet::Repr { destination, source, ethertype: ARP }.emit(&mut frame)?;
    message.emit(&mut frame[ethernet::LENGTH..])?;
    Ok(frame)
}

fn icmpv6_frame(
    destination: Mac,
    source: Mac,
    from: Ipv6Addr,
    to: Ipv6Addr,
    message: &icmpv6::Repr,
) -> Result<Vec<u8>, WireError> {
    let mut frame = vec![0; ethernet::LENGTH + ipv6::LENGTH + message.length()];
    ethernet::Repr { destination, source, ethertype: IPV6 }.emit(&mut frame)?;
    let packet = ipv6::Repr {
        source: from,
        destination: to,
        traffic_class: 0,
        flow_label: 0,
        hop_limit: HOPS,
        next_header: icmpv6::PROTOCOL,
    };
    packet.emit(&mut frame[ethernet::LENGTH..])?;
    let pseudo = Pseudo::V6 { source: from, destination: to };
    message.emit(&mut frame[ethernet::LENGTH + ipv6::LENGTH..], &pseudo)?;
    Ok(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Mac = Mac([2, 0, 0, 0, 0, 1]);
    const THEIRS: Mac = Mac([2, 0, 0, 0, 0, 2]);

    fn both_ways(ours: &str, theirs: &str) {
        let (ours, theirs): (IpAddr, IpAddr) = (ours.parse().unwrap(), theirs.parse().unwrap());
        let asked = question(ours, OURS, theirs).unwrap();
        assert_eq!(heard(&asked), Some(Heard::Asks { asker: ours, mac: OURS, target: theirs }));
        let answered = answer(ours, OURS, theirs, THEIRS).unwrap();
        assert_eq!(heard(&answered), Some(Heard::Is { address: theirs, mac: THEIRS }));
        assert_eq!(answered[..12], [OURS.0, THEIRS.0].concat());
    }

    #[test]
    fn a_question_and_its_answer_are_understood() {
        both_ways("198.18.0.1", "198.18.0.2");
        both_ways("fd00::1", "fd00::2");
        assert_eq!(question("198.18.0.1".parse().unwrap(), OURS, "fd00::2".parse().unwrap()), None);
        assert_eq!(heard(&[0; 60]), None);
    }

    #[test]
    fn questions_go_to_all_or_to_the_group_of_the_address() {
        let asked = question("198.18.0.1".parse().unwrap(), OURS, "198.18.0.2".parse().unwrap()).unwrap();
        assert_eq!((asked.len(), &asked[..6]), (60, &[0xff; 6][..]));
        // ff02::1:ff00:2 and 33:33:ff:00:00:02 for fd00::2.
        let asked = question("fd00::1".parse().unwrap(), OURS, "fd00::2".parse().unwrap()).unwrap();
        assert_eq!(asked[..6], [0x33, 0x33, 0xff, 0, 0, 2]);
        assert_eq!(asked[38..54], [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 2]);
    }
}
