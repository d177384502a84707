//! What a bed shall be.

use crate::BedError;
use crate::address::{Mac, Network};
use crate::namespace::{Interface, Namespace, Role};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU32, Ordering};

/// What stands between generator and sink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Middlebox {
    /// Nothing: one veth pair.
    #[default]
    None,
    /// A namespace with two interfaces and no addresses, for a program that forwards frames as they are.
    Wire,
    /// A namespace whose kernel routes between two networks.
    Router,
}

/// See the module. A plain value: what is not said is as in [`Topology::new`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    pub name: String,
    pub middlebox: Middlebox,
    /// Transmit and receive queues of every interface.
    pub queues: u32,
    pub mtu: u32,
    /// IPv6 addresses too. Without them the kernel sends nothing of its own accord.
    pub ipv6: bool,
    /// Neighbours are known without asking (ARP, ND).
    pub neighbours: bool,
    /// Segmentation, checksum and receive offloads as the kernel likes them. Off, every frame is as on a wire.
    pub offloads: bool,
    /// Generic receive offload at every end, without which a veth takes no frames that XDP programs redirect to
    /// it.
    pub gro: bool,
}

impl Topology {
    /// One veth pair of one queue, MTU 1500, IPv4, known neighbours, no offloads.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            middlebox: Middlebox::None,
            queues: 1,
            mtu: 1500,
            ipv6: false,
            neighbours: true,
            offloads: false,
            gro: false,
        }
    }

    /// The same under a name that no other test has.
    pub fn unique() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self::new(format!("t{}-{number}", std::process::id()))
    }

    #[must_use]
    pub fn middlebox(self, middlebox: Middlebox) -> Self {
        Self { middlebox, ..self }
    }

    #[must_use]
    pub fn queues(self, queues: u32) -> Self {
        Self { queues, ..self }
    }

    #[must_use]
    pub fn mtu(self, mtu: u32) -> Self {
        Self { mtu, ..self }
    }

    #[must_use]
    pub fn ipv6(self) -> Self {
        Self { ipv6: true, ..self }
    }

    /// Neighbours have to be asked for.
    #[must_use]
    pub fn without_neighbours(self) -> Self {
        Self { neighbours: false, ..self }
    }

    #[must_use]
    pub fn with_offloads(self) -> Self {
        Self { offloads: true, ..self }
    }

    /// Frames of XDP programs can be redirected to its interfaces.
    #[must_use]
    pub fn with_gro(self) -> Self {
        Self { gro: true, ..self }
    }

    pub(super) fn check(&self) -> Result<(), BedError> {
        let characters = self.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !characters || self.name.is_empty() || self.name.len() > 32 || self.name.starts_with('-') {
            return Err(BedError::Name { name: self.name.clone() });
        }
        let setting = |what, value: u32, expected| BedError::Setting { what, value: value.into(), expected };
        if !(1..=64).contains(&self.queues) {
            return Err(setting("--queues", self.queues, "1 to 64"));
        }
        // Below 1280 bytes IPv6 does not work; below 68 nothing does. 65 535 is veth's own limit.
        let (least, expected) =
            if self.ipv6 { (1280, "1280 to 65535 with IPv6") } else { (68, "68 to 65535") };
        if !(least..=65_535).contains(&self.mtu) {
            return Err(setting("--mtu", self.mtu, expected));
        }
        Ok(())
    }

    /// The namespaces that will be, with their interfaces; not made yet.
    pub(super) fn namespaces(&self) -> Vec<Namespace> {
        let is_routed = self.middlebox == Middlebox::Router;
        let far = Network(u8::from(is_routed));
        let generator = self.namespace(Role::Generator, vec![self.end("gen0", 1, Some((Network(0), 1)))]);
        let sink = self.namespace(Role::Sink, vec![self.end("sink0", 2, Some((far, 2)))]);
        if self.middlebox == Middlebox::None {
            return vec![generator, sink];
        }
        let address = |network| is_routed.then_some((network, 254));
        let inner = vec![self.end("mid0", 3, address(Network(0))), self.end("mid1", 4, address(Network(1)))];
        vec![generator, self.namespace(Role::Middlebox, inner), sink]
    }

    fn namespace(&self, role: Role, interfaces: Vec<Interface>) -> Namespace {
        Namespace { name: format!("tare-{}-{}", self.name, role.word()), role, inode: None, interfaces }
    }

    fn end(&self, name: &str, number: u8, address: Option<(Network, u8)>) -> Interface {
        Interface {
            name: name.into(),
            mac: Mac::of(number),
            ipv4: address.map(|(network, host)| network.ipv4(host)),
            ipv6: address.filter(|_| self.ipv6).map(|(network, host)| network.ipv6(host)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wire_has_one_network_and_a_router_two() {
        let wire = Topology::new("a").middlebox(Middlebox::Wire).namespaces();
        let sink = &wire[2].interfaces[0];
        assert_eq!(sink.ipv4.unwrap().to_string(), "198.18.0.2");
        assert!(wire[1].interfaces.iter().all(|end| end.ipv4.is_none()));
        let router = Topology::new("a").middlebox(Middlebox::Router).ipv6().namespaces();
        assert_eq!(router[2].interfaces[0].ipv6.unwrap().to_string(), "fd00:18:1::2");
        assert_eq!(router[1].interfaces[1].ipv4.unwrap().to_string(), "198.18.1.254");
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        let long = "x".repeat(33);
        for name in ["", "A", "a/b", "../a", "a b", "-a", long.as_str()] {
            assert!(matches!(Topology::new(name).check(), Err(BedError::Name { .. })), "{name}");
        }
        assert!(Topology::new("a-1").check().is_ok());
        assert!(Topology::new("a").queues(0).check().is_err());
        assert!(Topology::new("a").mtu(67).check().is_err());
        assert!(Topology::new("a").mtu(68).check().is_ok());
        assert!(Topology::new("a").mtu(1279).ipv6().check().is_err());
    }
}
