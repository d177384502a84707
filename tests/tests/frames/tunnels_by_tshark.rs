//! Headers around and within packets, and checksums that are wrong on purpose, read by tshark.

use super::tshark::{Case, Expected, GOOD, by, is, judge, judge_all, pcap, template, tshark, written};
use tare_system_tests::{beside_others, need};
use wire::Signature;

/// tshark's word for a checksum that is wrong.
const BAD: &str = "0";

/// Stacks, how they are asked for, and what tshark is to say of each frame. Values of both headers where a
/// field is there twice.
fn stacks() -> Vec<(&'static str, Vec<Expected>)> {
    let ports = "sport = \"40000..40004\"\ndport = 40100\n";
    let flow = || by("udp.srcport", |n| (40_000 + n % 5).to_string());
    let in_tunnel = |outer: &'static str| {
        by("udp.srcport", move |n| format!("49152,{}", 40_000 + n % 5).replace("49152", outer))
    };
    let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    vec![
        (
            leak(format!("mpls = \"100,200\"\nvlan = 7\n{ports}")),
            vec![
                is("mpls.label", "100,200"),
                is("mpls.bottom", "0,1"),
                is("vlan.id", 7),
                flow(),
                is("ip.checksum.status", GOOD),
                is("udp.checksum.status", GOOD),
            ],
        ),
        (
            leak(format!("mpls = 1048575\nsrc = \"fd00::1..fd00::3\"\n{ports}")),
            vec![
                is("mpls.label", 1_048_575),
                by("ipv6.src", |n| format!("fd00::{}", 1 + n % 3)),
                flow(),
                is("udp.checksum.status", GOOD),
            ],
        ),
        (
            leak(format!("pppoe = 17\nsrc = \"198.18.0.1..198.18.0.7\"\n{ports}")),
            vec![
                is("pppoe.session_id", "0x0011"),
                is("ppp.protocol", "0x0021"),
                by("ip.src", |n| format!("198.18.0.{}", 1 + n % 7)),
                flow(),
                is("ip.checksum.status", GOOD),
                is("udp.checksum.status", GOOD),
            ],
        ),
        (
            leak(format!("pppoe = 65535\nsrc = \"fd00::1\"\n{ports}")),
            vec![is("ppp.protocol", "0x0057"), flow(), is("udp.checksum.status", GOOD)],
        ),
        (
            leak(format!("tunnel = \"vxlan:7000\"\nttl = \"61..69\"\n{ports}")),
            vec![
                is("vxlan.vni", 7_000),
                is("ip.src", "198.18.1.1,198.18.0.1"),
                by("ip.ttl", |n| format!("64,{}", 61 + n % 9)),
                in_tunnel("49152"),
                is("udp.dstport", "4789,40100"),
                is("ip.checksum.status", "1,1"),
                is("udp.checksum.status", "3,1"),
            ],
        ),
        (
            leak(format!(
                "tunnel = \"gre:1\"\ntunnel_src = \"fd00::a\"\ntunnel_dst = \"fd00::b\"\nproto = \"tcp\"\n{ports}"
            )),
            vec![
                is("ipv6.dst", "fd00::b"),
                is("ip.dst", "198.18.0.2"),
                by("tcp.srcport", |n| (40_000 + n % 5).to_string()),
                is("tcp.checksum.status", GOOD),
                is("ip.checksum.status", GOOD),
            ],
        ),
        (
            leak(format!("tunnel = \"gre:99\"\ndst = \"198.18.0.2..198.18.0.4\"\n{ports}")),
            vec![
                is("gre.proto", "0x0800"),
                is("gre.key", "0x00000063"),
                by("ip.dst", |n| format!("198.18.1.2,198.18.0.{}", 2 + n % 3)),
                flow(),
                is("ip.checksum.status", "1,1"),
                is("udp.checksum.status", GOOD),
            ],
        ),
        (
            leak(format!("tunnel = \"gre\"\nsrc = \"fd00::1\"\nproto = \"tcp\"\n{ports}")),
            vec![
                is("gre.proto", "0x86dd"),
                is("ip.checksum.status", GOOD),
                is("ipv6.src", "fd00::1"),
                is("tcp.checksum.status", GOOD),
            ],
        ),
        (
            leak(format!("tunnel = \"gtpu:0x1234\"\ntunnel_dst = \"198.18.1.9\"\n{ports}")),
            vec![
                is("gtp.teid", "0x00001234"),
                is("gtp.message", "0xff"),
                is("ip.dst", "198.18.1.9,198.18.0.2"),
                in_tunnel("49152"),
                is("ip.checksum.status", "1,1"),
                is("udp.checksum.status", "3,1"),
            ],
        ),
        (
            leak(format!("src = \"fd00::1\"\nipv6_ext = \"hop,dst,frag\"\n{ports}")),
            vec![
                is("ipv6.nxt", 0),
                is("ipv6.hopopts.nxt", 60),
                is("ipv6.dstopts.nxt", 44),
                is("ipv6.fraghdr.nxt", 17),
                flow(),
                is("udp.checksum.status", GOOD),
            ],
        ),
    ]
}

#[test]
fn tshark_finds_nothing_wrong_around_or_within_packets_of_any_size() {
    let _turn = beside_others();
    need("tshark");
    let looks = ["size = 200\nsign = true", "size = \"180,181,182,1518\"\npayload = \"random\""];
    for look in looks {
        let cases = stacks().into_iter().map(|(stack, expected)| {
            let what = format!("{stack}\n{look}");
            Case { frames: written(&template(&what)), what, expected }
        });
        judge_all(&cases.collect::<Vec<_>>());
    }
    for (stack, _) in stacks() {
        // The receiver finds the signature within.
        let toml = format!("{stack}\nsize = \"200,300\"\nsign = true");
        for (n, frame) in written(&template(&toml)).iter().enumerate() {
            assert_eq!(Signature::find(frame).map(|found| found.seq), Some(n as u64), "{toml}");
        }
    }
}

#[test]
fn groups_have_the_hardware_addresses_of_their_own() {
    let _turn = beside_others();
    need("tshark");
    for (dst, mac) in [("\"239.129.2.3\"", "01:00:5e:01:02:03"), ("\"ff05::1:3\"", "33:33:00:01:00:03")] {
        let toml = format!("dst = {dst}\nsport = 40000\ndport = 40100");
        judge(&toml, &written(&template(&toml)), &[is("eth.dst", mac), is("udp.checksum.status", GOOD)]);
    }
    let outer = "tunnel = \"vxlan:7\"\ntunnel_dst = \"239.1.2.3\"\nsport = 40000\ndport = 40100";
    judge(outer, &written(&template(outer)), &[is("eth.dst", "01:00:5e:01:02:03,02:00:00:00:00:02")]);
}

#[test]
fn checksums_are_wrong_where_that_was_asked_for_and_nowhere_else() {
    let _turn = beside_others();
    need("tshark");
    for (frames, fields) in [
        ("bad_checksum = \"ip\"", [("ip.checksum.status", BAD), ("udp.checksum.status", GOOD)]),
        (
            "bad_checksum = \"udp\"\nttl = \"1..9\"",
            [("ip.checksum.status", GOOD), ("udp.checksum.status", BAD)],
        ),
        (
            "bad_checksum = \"ip,tcp\"\nproto = \"tcp\"\nsport = \"40000..40010\"\nttl = \"5..9\"",
            [("ip.checksum.status", BAD), ("tcp.checksum.status", BAD)],
        ),
        (
            "bad_checksum = \"icmp\"\nproto = \"icmp\"\nvary = \"echo-seq=1..9\"",
            [("ip.checksum.status", GOOD), ("icmp.checksum.status", BAD)],
        ),
        (
            "bad_checksum = \"udp\"\ntunnel = \"vxlan:7\"\nsize = \"200,300\"",
            [("ip.checksum.status", "1,1"), ("udp.checksum.status", "3,0")],
        ),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("frames.pcap");
        let ports = if frames.contains("icmp") { "" } else { "dport = 40100" };
        let toml = format!("{frames}\n{ports}\n");
        std::fs::write(&file, pcap(&written(&template(&toml)))).expect("a file is written");
        for (n, line) in tshark(&file, &fields.map(|(field, _)| field)).iter().enumerate() {
            assert_eq!(line[..], fields.map(|(_, meant)| meant.to_owned()), "{toml}: frame {n}");
        }
    }
}
