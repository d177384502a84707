use super::*;
use port::PortKind;
use proptest::prelude::*;

fn read(text: &str) -> Via {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn the_port_is_what_stands_before_the_first_address() {
    let via = read(
        "fault,drop=1%:packet,netns=lab:eth1,ip=198.18.0.10-25/24,ip=fd00::10-fd00::1f/64,gw=198.18.0.1,gw=fe80::1,vlan=7,mac=02:00:00:00:00:01,mtu=1400",
    );
    assert_eq!(via.port, "fault,drop=1%:packet,netns=lab:eth1".parse().unwrap());
    assert_eq!((via.port.kind(), via.port.interface()), (PortKind::Fault, Some("eth1")));
    let (v4, v6) = (via.v4.unwrap(), via.v6.unwrap());
    assert_eq!((v4.count(), v6.count()), (16, 16));
    assert_eq!(v4.iter().last().unwrap().to_string(), "198.18.0.25");
    assert_eq!(v6.iter().last().unwrap().to_string(), "fd00::1f");
    assert_eq!((via.vlan, via.mtu), (Some(7), Some(1400)));
    assert_eq!(via.mac, Some(Mac([2, 0, 0, 0, 0, 1])));
    assert_eq!(via.gateway_v4.unwrap().to_string(), "198.18.0.1");
    assert_eq!(via.gateway_v6.unwrap().to_string(), "fe80::1");
}

#[test]
fn forms_of_ranges_are_shown_in_their_shortest() {
    for (typed, shown) in [
        ("packet:eth1,ip=198.18.0.10/24", "packet:eth1,ip=198.18.0.10/24"),
        ("eth1,ip=198.18.0.10-198.18.0.12/24", "auto:eth1,ip=198.18.0.10-12/24"),
        ("eth1,ip=198.18.0.250-198.18.1.5/23", "auto:eth1,ip=198.18.0.250-198.18.1.5/23"),
        ("mem:a,ip=fd00::5-fd00::5/64", "mem:a,ip=fd00::5/64"),
    ] {
        assert_eq!(read(typed).to_string(), shown);
    }
}

#[test]
fn frames_for_own_addresses_are_wished_for() {
    let v4 = "198.18.0.10".parse().unwrap()..="198.18.0.12".parse().unwrap();
    let v6 = "fd00::5".parse().unwrap()..="fd00::6".parse().unwrap();
    let ours = read("mem:a,ip=198.18.0.10-12/24,ip=fd00::5-fd00::6/64,vlan=7").ours();
    assert_eq!(Some(ours), port::Match::new(Some(7)).v4(v4).v6(v6));
}

#[test]
fn the_mac_address_is_the_same_in_each_run() {
    assert_eq!(read("mem:a,ip=198.18.0.10-12/24").derived_mac().to_string(), "02:74:c6:12:00:0a");
    assert_eq!(read("mem:a,ip=fd00::1:2/64").derived_mac().to_string(), "02:76:00:01:00:02");
}

#[test]
fn errors_say_what_is_wrong_and_what_would_be_right() {
    for (text, problem, expected) in [
        ("packet:eth1", "says no own address", "PORT,ip=198.18.0.10-25/24"),
        ("packt:eth1,ip=198.18.0.1/24", "there is no kind of port 'packt'", "packet:INTERFACE"),
        ("packet:eth1,gw=198.18.0.1,ip=198.18.0.2/24", "gw stands before the first ip", "PORT,ip="),
        ("packet:eth1,ip=198.18.0.1", "198.18.0.1 has no prefix length", "ip=198.18.0.10/24"),
        ("packet:eth1,ip=198.18.0.1/x", "'x' is not a prefix length", "ip=198.18.0.10/24"),
        ("packet:eth1,ip=198.18.0.1/33", "33 is not between 1 and 32", "ip="),
        ("packet:eth1,ip=198.18.0/24", "'198.18.0' is not an IP address", "ip="),
        ("packet:eth1,ip=198.18.0.9-3/24", "198.18.0.9 comes after 198.18.0.3", "ip="),
        ("packet:eth1,ip=198.18.0.9-fd00::1/24", "are of different families", "ip="),
        ("packet:eth1,ip=198.18.0.9-198.18.1.3/24", "198.18.1.3 is not in 198.18.0.9/24", "ip="),
        ("packet:eth1,ip=198.18.0.1-198.18.2.3/16", "more than 256 addresses", "ip="),
        ("packet:eth1,ip=fd00::ffff:fff0-fd00::1:0:9/64", "differ in their first 96 bits", "ip="),
        ("packet:eth1,ip=198.18.0.0-9/24", "198.18.0.0 is the network address", "ip="),
        ("packet:eth1,ip=198.18.0.9-255/24", "198.18.0.255 is the broadcast address", "ip="),
        ("packet:eth1,ip=127.0.0.1/8", "127.0.0.1 cannot be the address of a host", "ip="),
        ("packet:eth1,ip=ff02::1/64", "ff02::1 cannot be the address of a host", "ip="),
        ("packet:eth1,ip=198.18.0.1/24,ip=198.18.0.9/24", "are two ranges of IPv4", "one range per family"),
        ("packet:eth1,ip=198.18.0.1/24,gw=198.18.1.1", "198.18.1.1 is not in", "gw=ADDRESS"),
        ("packet:eth1,ip=198.18.0.1/24,gw=198.18.0.1", "198.18.0.1 is an own address", "gw=ADDRESS"),
        ("packet:eth1,ip=198.18.0.1/24,gw=fd00::1", "of a family without own addresses", "gw=ADDRESS"),
        ("packet:eth1,ip=198.18.0.1/24,gw=198.18.0.255", "cannot be the address of a host", "gw=ADDRESS"),
        ("packet:eth1,ip=198.18.0.1/24,gw=198.18.0.2,gw=198.18.0.3", "gw is given twice", "one gw=…"),
        ("packet:eth1,ip=198.18.0.1/24,vlan=4095", "'4095' is no value for vlan", "vlan=1 to 4094"),
        ("packet:eth1,ip=198.18.0.1/24,mac=03:00:00:00:00:01", "cannot be the MAC address of a host", "even"),
        ("packet:eth1,ip=198.18.0.1/24,mac=zz", "'zz' is no value for mac", "mac=02:"),
        ("packet:eth1,ip=198.18.0.1/24,mtu=x", "'x' is no value for mtu", "mtu=1500"),
        ("packet:eth1,ip=198.18.0.1/24,vlam=7", "there is no option 'vlam'", "vlan=…"),
    ] {
        let error = text.parse::<Via>().unwrap_err();
        assert!(error.is_users());
        let said = error.to_string();
        assert!(said.contains(problem) && said.contains(expected), "{text}: {said}");
    }
}

proptest! {
    #[test]
    fn what_is_shown_is_read_back(
        first in 1u8..200, more in 0u8..50, vlan in proptest::option::of(1u16..4095),
        v6 in any::<u16>(), mtu in proptest::option::of(576u16..9000),
    ) {
        let mut text = format!("packet:eth1,ip=198.18.0.{first}-{}/24,ip=fd00::{:x}/64", first + more, v6.max(1));
        vlan.into_iter().for_each(|vlan| text += &format!(",vlan={vlan}"));
        mtu.into_iter().for_each(|mtu| text += &format!(",mtu={mtu}"));
        let via = read(&text);
        prop_assert_eq!(read(&via.to_string()), via);
    }

    #[test]
    fn no_text_makes_it_fail_otherwise(text in "[a-z:,=./0-9-]{0,40}") {
        let _ = format!("packet:eth1,ip={text}").parse::<Via>();
        let _ = text.parse::<Via>();
    }
}
