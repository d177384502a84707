//! Headers that several tests put into frames.

use crate::template::Layer;
use alloc::vec;
use core::net::{Ipv4Addr, Ipv6Addr};

/// IPv4 and IPv6, between two hosts.
pub fn networks() -> [Layer; 2] {
    let address = |last| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last);
    [
        Layer::Ipv4 {
            source: Ipv4Addr::new(198, 18, 0, 1),
            destination: Ipv4Addr::new(198, 18, 0, 2),
            dscp: 0,
            ecn: 0,
            identification: 7,
            dont_fragment: true,
            ttl: 64,
            protocol: None,
            options: vec![],
        },
        Layer::Ipv6 {
            source: address(1),
            destination: address(2),
            traffic_class: 0,
            flow_label: 0,
            hop_limit: 64,
            next_header: None,
        },
    ]
}

/// To port 80, with bytes.
pub fn tcp() -> Layer {
    Layer::Tcp {
        source: 1024,
        destination: 80,
        sequence: 1,
        acknowledgment: 2,
        flags: 0x18,
        window: 1000,
        options: vec![],
    }
}
