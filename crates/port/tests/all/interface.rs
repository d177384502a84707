//! Facts about interfaces, in namespaces made for it. Needs root.

use bed::{Bed, Topology};
use port::PortError;
use port::interface::{Interface, Link};
use std::net::UdpSocket;
use std::process::Command;

fn ip(bed: &Bed, words: &str) {
    let namespace = &bed.generator().name;
    let status = Command::new("ip").args(["-n", namespace]).args(words.split(' ')).status().unwrap();
    assert!(status.success(), "ip {words}");
}

fn generator(bed: &Bed) -> Interface {
    bed.generator().run_in(|| Interface::find("gen0")).unwrap().unwrap()
}

#[test]
fn a_veth_is_as_it_was_made() {
    let bed = Bed::up(&Topology::unique().queues(3).mtu(9000)).unwrap();
    let interface = generator(&bed);
    assert_eq!(interface.mac, Some([0x02, 0x18, 0, 0, 0, 1]));
    assert_eq!((interface.mtu, interface.longest(false), interface.longest(true)), (9000, 9014, 9018));
    assert!(interface.is_ethernet && !interface.is_loopback);
    assert_eq!(interface.driver.as_deref(), Some("veth"));
    // veth says 10 Gb/s of itself.
    assert_eq!(interface.speed_bps, Some(10_000_000_000));
    assert_eq!((interface.queues.transmit, interface.queues.receive), (3, 3));
    assert!(!interface.stamping.hardware && interface.stamping.software);
    assert_eq!(interface.state(), Link::Up);
    let names = bed.generator().run_in(Interface::names).unwrap().unwrap();
    assert_eq!(names, ["lo", "gen0"]);
}

#[test]
fn whatever_needs_an_interfaces_frames_makes_it_the_hosts() {
    let bed = Bed::up(&Topology::unique()).unwrap();
    let interface = generator(&bed);
    let used = || interface.used_by_host().unwrap();
    assert_eq!(used().as_deref(), Some("it has addresses"));
    assert!(!interface.is_way_out().unwrap());
    ip(&bed, "route add default via 198.18.0.2 dev gen0");
    assert!(interface.is_way_out().unwrap());
    ip(&bed, "addr flush dev gen0");
    assert_eq!((used(), interface.is_way_out().unwrap()), (None, false));
    // No addresses on the interface itself. (Of a VLAN the kernel tells in the same way; not every kernel has
    // it.)
    ip(&bed, "link add link gen0 name mac0 type macvlan mode bridge");
    assert_eq!(used().as_deref(), Some("'mac0' lies on it"));
    ip(&bed, "link del mac0");
    assert_eq!(used(), None);
    ip(&bed, "link add br0 type bridge");
    ip(&bed, "link set gen0 master br0");
    assert_eq!(used().as_deref(), Some("it belongs to 'br0'"));
    ip(&bed, "link set br0 up");
    ip(&bed, "addr add 198.18.0.1/24 dev br0");
    ip(&bed, "route add default via 198.18.0.2 dev br0");
    assert!(interface.is_way_out().unwrap(), "by way of the bridge");
    ip(&bed, "link del br0");
    // Both ends of a veth tell each other's number, and neither lies on the other.
    ip(&bed, "link add v0 type veth peer name v1");
    let pair = bed.generator().run_in(|| Interface::find("v0")).unwrap().unwrap();
    assert_eq!((used(), pair.used_by_host().unwrap()), (None, None));
}

#[test]
fn an_interface_is_found_only_in_its_own_namespace_and_stays_there() {
    let bed = Bed::up(&Topology::unique()).unwrap();
    let Err(PortError::NoInterface { advice, .. }) = bed.sink().run_in(|| Interface::find("gen0")).unwrap()
    else {
        panic!("gen0 is not in the sink's namespace");
    };
    assert!(advice.contains("there are: lo, sink0"), "{advice}");
    // Found inside, used outside.
    assert_eq!(generator(&bed).statistics().unwrap().tx_packets, 0);
}

#[test]
fn counters_are_the_kernels_own() {
    let bed = Bed::up(&Topology::unique()).unwrap();
    let interface = generator(&bed);
    let socket = bed.generator().run_in(|| UdpSocket::bind("198.18.0.1:0")).unwrap().unwrap();
    for _ in 0..7 {
        socket.send_to(&[0; 58], "198.18.0.2:9").unwrap();
    }
    let counted = interface.statistics().unwrap();
    // 14 + 20 + 8 + 58 bytes each.
    assert_eq!((counted.tx_packets, counted.tx_bytes), (7, 700));
    let own = interface.driver_statistics();
    let of = |name: &str| own.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
    // veth has counters for each queue, and tells its peer's number.
    assert!(of("peer_ifindex").is_some() && of("rx_queue_0_drops") == Some(0), "{own:?}");
}

#[test]
fn down_and_gone_are_told_apart() {
    let bed = Bed::up(&Topology::unique()).unwrap();
    let interface = generator(&bed);
    ip(&bed, "link set gen0 down");
    assert_eq!(interface.state(), Link::Down);
    assert!(matches!(interface.trouble(), Some(PortError::Down { .. })));
    ip(&bed, "link set gen0 up");
    assert!(interface.trouble().is_none());
    ip(&bed, "link del gen0");
    // Another of the same name is another.
    ip(&bed, "link add gen0 type veth peer name gen1");
    assert_eq!(interface.state(), Link::Gone);
    assert!(matches!(interface.trouble(), Some(PortError::Gone { .. })));
    assert!(matches!(interface.statistics(), Err(PortError::Gone { .. })));
}

#[test]
fn how_a_veth_is_set_up_is_told_as_ethtool_and_ip_tell_it() {
    let bed = Bed::up(&Topology::unique()).unwrap();
    ip(&bed, "link set gen0 txqueuelen 77");
    // Asked inside: what the driver can do for XDP is known by the namespace of the thread that asks.
    let setup = bed.generator().run_in(|| Interface::find("gen0").unwrap().setup()).unwrap();
    let ethtool = bed.generator().command("ethtool").args(["-k", "gen0"]).output().unwrap();
    let said = String::from_utf8_lossy(&ethtool.stdout).into_owned();
    let long = [
        ("sg", "scatter-gather"),
        ("gso", "generic-segmentation-offload"),
        ("gro", "generic-receive-offload"),
    ];
    for (short, long) in long {
        let (_, is_on) = setup.offloads.iter().find(|(name, _)| *name == short).unwrap();
        let word = if *is_on { "on" } else { "off" };
        assert!(said.contains(&format!("{long}: {word}")), "{short} {is_on}: {said}");
    }
    assert_eq!((setup.queue_length, setup.qdisc.as_deref()), (Some(77), Some("noqueue")));
    // Native XDP and redirects, but memory of its own: what drivers/net/veth.c declares.
    let xdp = setup.xdp.unwrap();
    assert!(xdp.native() && xdp.redirect() && !xdp.zero_copy(), "{xdp:?}");
}
