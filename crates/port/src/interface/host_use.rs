//! Whether the host's own stack uses an interface, and so would miss its frames.
//!
//! ```text
//!   eth0.5   macvlan0        on top of it: their frames come through it
//!        \\   /
//!        eth0 ─── br0        it belongs to a bridge, a bond or a VRF, which lives on its frames
//! ```
//!
//! An interface on top of it that was moved to another namespace (a container's macvlan) is not seen: the
//! kernel does not tell of it here.

use super::netlink::{LinkFacts, Netlink};
use std::io;

/// How the host's own stack uses an interface, in words: `it has addresses`, `it belongs to 'br0'`, `'eth0.5'
/// lies on it`.
pub fn of(netlink: &Netlink, index: u32) -> io::Result<Option<String>> {
    let links = netlink.links()?;
    if let Some(words) = by_links(&links, index) {
        return Ok(Some(words));
    }
    Ok(netlink.addressed()?.contains(&index).then(|| "it has addresses".to_owned()))
}

fn by_links(links: &[LinkFacts], index: u32) -> Option<String> {
    let named = |index: u32| links.iter().find(|link| link.index == index).map(|link| link.name.as_str());
    let master = links.iter().find(|link| link.index == index).and_then(|link| link.master);
    if let Some(master) = master {
        return Some(format!("it belongs to '{}'", named(master).unwrap_or("another interface")));
    }
    let upper = links.iter().find(|link| link.below == Some(index))?;
    Some(format!("'{}' lies on it", upper.name))
}

/// Whether a default route leads through the interface, or through what lies on it or what it belongs to:
/// without its frames this host may not be reached any more.
pub fn is_way_out(netlink: &Netlink, index: u32) -> io::Result<bool> {
    let around = around(&netlink.links()?, index);
    Ok(netlink.ways_out()?.iter().any(|way| around.contains(way)))
}

/// The interface, its masters and all that lies on any of them.
fn around(links: &[LinkFacts], index: u32) -> Vec<u32> {
    let mut known = vec![index];
    let mut at = 0;
    while let Some(&one) = known.get(at) {
        at += 1;
        let upper = links.iter().filter(|link| link.below == Some(one)).map(|link| link.index);
        let master = links.iter().filter(|link| link.index == one).filter_map(|link| link.master);
        for next in upper.chain(master) {
            if !known.contains(&next) {
                known.push(next);
            }
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Queues;

    fn link(index: u32, name: &str, master: Option<u32>, below: Option<u32>) -> LinkFacts {
        LinkFacts {
            index,
            name: name.to_owned(),
            mac: None,
            mtu: 1_500,
            is_ethernet: true,
            is_loopback: false,
            queues: Queues { transmit: 1, receive: 1 },
            master,
            below,
        }
    }

    #[test]
    fn masters_and_what_lies_on_an_interface_need_its_frames() {
        // eth0 is a port of br0, on which a VLAN lies; eth1 has a VLAN; eth2 has nothing.
        let links = [
            link(2, "eth0", Some(5), None),
            link(3, "eth1", None, None),
            link(4, "eth2", None, None),
            link(5, "br0", None, None),
            link(6, "br0.7", None, Some(5)),
            link(7, "eth1.9", None, Some(3)),
        ];
        assert_eq!(by_links(&links, 2).as_deref(), Some("it belongs to 'br0'"));
        assert_eq!(by_links(&links, 3).as_deref(), Some("'eth1.9' lies on it"));
        assert_eq!(by_links(&links, 4), None);
        assert_eq!(by_links(&links, 7), None, "what it lies on does not live on its frames");
        assert_eq!(
            (around(&links, 2), around(&links, 3), around(&links, 4)),
            (vec![2, 5, 6], vec![3, 7], vec![4])
        );
        // A circle ends, too.
        let circle = [link(1, "a", Some(2), None), link(2, "b", Some(1), Some(1))];
        assert_eq!(around(&circle, 1).len(), 2);
    }
}
