//! The tables decide what a linear search over the rules decides, for any rules that overlap in any way.

use filter::{Action, Fields, Firewall, Ports, Prefix, Protocol, Rule, Rules, Tail, V4, V6};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What the documentation says, one rule after the other.
fn linear(rules: &Rules, fields: &Fields) -> (Option<usize>, Action) {
    let (from, to, tail) = match fields {
        Fields::V4(p) => {
            (IpAddr::from(Ipv4Addr::from(p.source)), IpAddr::from(Ipv4Addr::from(p.destination)), p.tail)
        }
        Fields::V6(p) => {
            (IpAddr::from(Ipv6Addr::from(p.source)), IpAddr::from(Ipv6Addr::from(p.destination)), p.tail)
        }
        Fields::Hidden => return (None, rules.default),
        Fields::Other => return (None, rules.other),
        Fields::Malformed => return (None, Action::Drop),
    };
    let port = |ports: Option<Ports>, port| ports.is_none_or(|ports| tail.has_ports && ports.holds(port));
    let matches = |rule: &Rule| {
        rule.from.is_none_or(|prefix| prefix.holds(from))
            && rule.to.is_none_or(|prefix| prefix.holds(to))
            && rule.protocol.is_none_or(|protocol| protocol.0 == tail.protocol())
            && port(rule.sport, tail.source_port())
            && port(rule.dport, tail.destination_port())
    };
    match rules.rules.iter().position(matches) {
        Some(index) => (Some(index), rules.rules[index].action),
        None => (None, rules.default),
    }
}

/// Addresses of few distinct bits, so that prefixes lie within one another and packets hit them.
fn address(ipv4: bool) -> impl Strategy<Value = IpAddr> {
    let byte = prop_oneof![4 => 0u8..4, 1 => any::<u8>()];
    proptest::collection::vec(byte, 16).prop_map(move |bytes| match ipv4 {
        true => IpAddr::from([bytes[0], bytes[1], bytes[2], bytes[3]]),
        false => IpAddr::from(<[u8; 16]>::try_from(bytes).unwrap()),
    })
}

fn prefix(ipv4: bool) -> impl Strategy<Value = Option<Prefix>> {
    let widest = if ipv4 { 32 } else { 128u8 };
    proptest::option::weighted(0.7, (address(ipv4), 0..=widest).prop_map(|(a, l)| Prefix::around(a, l)))
}

fn protocol() -> impl Strategy<Value = Protocol> {
    prop_oneof![Just(6), Just(17), Just(1), Just(132), any::<u8>()].prop_map(Protocol)
}

fn port() -> impl Strategy<Value = u16> {
    prop_oneof![0u16..8, Just(65535), any::<u16>()]
}

fn ports() -> impl Strategy<Value = Option<Ports>> {
    let range = prop_oneof![
        port().prop_map(|p| Ports { first: p, last: p }),
        (port(), port()).prop_map(|(a, b)| Ports { first: a.min(b), last: a.max(b) })
    ];
    proptest::option::weighted(0.4, range).prop_map(|ports| ports.filter(|ports| !ports.are_all()))
}

fn rule() -> impl Strategy<Value = Rule> {
    let action = prop_oneof![Just(Action::Pass), Just(Action::Drop)];
    any::<bool>().prop_flat_map(move |ipv4| {
        (action.clone(), prefix(ipv4), prefix(ipv4), proptest::option::of(protocol()), ports(), ports())
            .prop_map(|(action, from, to, protocol, sport, dport)| {
                let has_ports = protocol.is_some_and(Protocol::has_ports);
                let keep = |ports: Option<Ports>| ports.filter(|_| has_ports);
                Rule { action, from, to, protocol, sport: keep(sport), dport: keep(dport) }
            })
    })
}

fn packet() -> impl Strategy<Value = Fields> {
    let bits = |a: IpAddr| match a {
        IpAddr::V4(a) => u128::from(a.to_bits()),
        IpAddr::V6(a) => a.to_bits(),
    };
    any::<bool>().prop_flat_map(move |ipv4| {
        (address(ipv4), address(ipv4), protocol(), port(), port(), proptest::bool::weighted(0.8)).prop_map(
            move |(from, to, protocol, sport, dport, whole)| {
                let ports = (whole && protocol.has_ports()).then_some((sport, dport));
                let tail = Tail::new(protocol.0, ports);
                match ipv4 {
                    true => Fields::V4(V4 { source: bits(from) as u32, destination: bits(to) as u32, tail }),
                    false => Fields::V6(V6 { source: bits(from), destination: bits(to), tail }),
                }
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn the_first_rule_that_matches_decides(
        list in proptest::collection::vec(rule(), 0..60),
        packets in proptest::collection::vec(packet(), 1..60),
        drops in any::<bool>(),
    ) {
        let default = if drops { Action::Drop } else { Action::Pass };
        let rules = Rules { rules: list, default, ..Rules::default() };
        let firewall = Firewall::compile(&rules).unwrap();
        for packet in packets {
            let decision = firewall.decide_fields(&packet);
            let (index, action) = linear(&rules, &packet);
            prop_assert_eq!(firewall.rule(decision), index.map(|i| i as u32), "{:?}\n{}", packet, rules);
            prop_assert_eq!(decision.action(), action);
        }
    }
}

/// A generator that needs no library: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let a = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        b ^ (b >> 31)
    }
}

#[test]
fn a_hundred_thousand_rules_decide_as_a_linear_search_does() {
    let mut random = Random(4);
    let list = (0..100_000).map(|_| {
        let word = random.next();
        let address = IpAddr::from(Ipv4Addr::from(0x0a00_0000 | (word as u32 & 0x00ff_ffff)));
        let from = Prefix::around(address, 12 + (word >> 32) as u8 % 21);
        let action = if word >> 60 & 1 == 1 { Action::Drop } else { Action::Pass };
        let protocol = (word >> 61 & 1 == 1).then_some(Protocol::UDP);
        let dport = (word >> 62 == 3).then_some(Ports { first: 53, last: 53 + (word >> 40) as u16 % 50 });
        Rule {
            action,
            from: Some(from),
            protocol,
            dport: dport.filter(|_| protocol.is_some()),
            ..Rule::default()
        }
    });
    let rules = Rules { rules: list.collect(), ..Rules::default() };
    let firewall = Firewall::compile(&rules).unwrap();
    for _ in 0..3_000 {
        let word = random.next();
        let tail = Tail::new(if word >> 63 == 1 { 17 } else { 6 }, Some((7, 50 + (word >> 40) as u16 % 60)));
        let packet =
            Fields::V4(V4 { source: 0x0a00_0000 | (word as u32 & 0x00ff_ffff), destination: 1, tail });
        let decision = firewall.decide_fields(&packet);
        assert_eq!(firewall.rule(decision), linear(&rules, &packet).0.map(|i| i as u32), "{packet:?}");
    }
}

#[test]
fn rules_that_cannot_be_reached_are_told_and_many_shapes_warned_of() {
    let rules =
        Rules::parse("drop from 10.0.0.0/8\npass from 10.1.0.0/16\npass from 10.2.0.0/16 proto udp", "r")
            .unwrap();
    let cost = Firewall::compile(&rules).unwrap().cost();
    assert_eq!((cost.unreachable, cost.tuples, cost.warning()), (2, 0, None));
    // 33 lengths of destination under one source are 33 tables.
    let text: String = (0..=32)
        .map(|l| format!("drop to {} proto udp\n", Prefix::around([10, 0, 0, 0].into(), l)))
        .collect();
    let cost = Firewall::compile(&Rules::parse(&text, "r").unwrap()).unwrap().cost();
    assert_eq!(cost.tuples, 33);
    assert!(cost.warning().unwrap().contains("33 tables"));
}

#[test]
fn ranges_in_both_ports_of_many_rules_are_refused_with_the_line() {
    // 30 blocks × 30 blocks = 900 entries a rule: 20 000 rules would be 18 million.
    let line =
        |i: u32| format!("drop from 10.{}.{}.0/24 proto udp sport 1-65534 dport 1-65534\n", i >> 8, i & 255);
    let text: String = (0..5_000).map(line).collect();
    let error = Firewall::compile(&Rules::parse(&text, "r").unwrap()).unwrap_err().to_string();
    assert!(error.contains("line ") && error.contains("aligned"), "{error}");
}
