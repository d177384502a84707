//! Every kind of frame, at many sizes and with fields that vary, read by tshark: no warning, right checksums,
//! the values that were meant.
//!
//! ```text
//! [frames] ─ plan ─► Spec ─ wire::Template ─► frames ─► pcap ─ tshark ─► fields ─► compared with what is asked
//!                                                                                  for, frame by frame
//! ```
//!
//! tshark checks all checksums here, and its expert may say nothing above a chat (severity 0x200000).

use super::tshark::{Case, Expected, GOOD, by, is, judge, judge_all, pcap, template, tshark, written};
use tare_system_tests::{beside_others, need};
use wire::template::{By, Changes, Field, Layer, Mac, Payload, Sizes, Spec, StreamSpec, Values, Vary};
use wire::{Signature, Template, icmpv6, ipv6};

/// Headers of one kind: how they are asked for, and what tshark is to say of each frame.
fn kinds() -> Vec<(&'static str, Vec<Expected>)> {
    vec![
        (
            "proto = \"udp\"\nsport = \"40000..40006\"\ndport = 40100\nttl = \"69..61\"\ndscp = \"1,46\"",
            vec![
                by("udp.srcport", |n| (40_000 + n % 7).to_string()),
                is("udp.dstport", 40_100),
                by("ip.ttl", |n| (69 - n % 9).to_string()),
                by("ip.dsfield.dscp", |n| [1, 46][n as usize % 2].to_string()),
                is("ip.checksum.status", GOOD),
                is("udp.checksum.status", GOOD),
            ],
        ),
        (
            "proto = \"udp\"\nsrc = \"fd00::1..fd00::5\"\ndst = \"fd00::ffff:ffff:ffff:fffe..fd00:0:0:1::1\"\nflow_label = \"random(5..9)\"\nsport = 40000\ndport = 40100",
            vec![
                by("ipv6.src", |n| format!("fd00::{}", n % 5 + 1)),
                by("ipv6.dst", |n| {
                    [
                        "fd00::ffff:ffff:ffff:fffe",
                        "fd00::ffff:ffff:ffff:ffff",
                        "fd00:0:0:1::",
                        "fd00:0:0:1::1",
                    ][n as usize % 4]
                        .to_owned()
                }),
                is("udp.checksum.status", GOOD),
            ],
        ),
        (
            "proto = \"tcp\"\ntcp_flags = \"PA\"\nsport = 40000\ndport = \"40100,40200,40300\"\nvary = [\"seq=1..4294967295/1000\", \"window=1..60000/7\", \"id=5..65535\"]",
            vec![
                by("tcp.dstport", |n| (40_100 + 100 * (n % 3)).to_string()),
                by("tcp.seq_raw", |n| (1 + 1000 * n).to_string()),
                by("tcp.window_size_value", |n| (1 + 7 * n).to_string()),
                by("ip.id", |n| format!("0x{:04x}", 5 + n)),
                is("tcp.flags", "0x0018"),
                is("ip.checksum.status", GOOD),
                is("tcp.checksum.status", GOOD),
            ],
        ),
        (
            "proto = \"tcp\"\ntcp_flags = \"S\"\ndport = 40100\ntcp_options = \"mss=1400,sackok,ts=7:9,nop,wscale=5\"\nvary = \"seq=1..100\"",
            vec![
                is("tcp.hdr_len", 40),
                is("tcp.options.mss_val", 1_400),
                is("tcp.options.sack_perm", "0402"),
                is("tcp.options.timestamp.tsval", 7),
                is("tcp.options.timestamp.tsecr", 9),
                is("tcp.options.wscale.shift", 5),
                is("tcp.checksum.status", GOOD),
            ],
        ),
        (
            "proto = \"tcp\"\ntcp_flags = \"S\"\nsrc = \"fd00::1\"\nsport = \"random(40000..40009)\"\nvary = \"flags=2,18\"\ndport = 40100\nttl = 70",
            vec![
                is("ipv6.src", "fd00::1"),
                is("ipv6.hlim", 70),
                by("tcp.flags", |n| ["0x0002", "0x0012"][n as usize % 2].to_owned()),
                is("tcp.checksum.status", GOOD),
            ],
        ),
        (
            "proto = \"icmp\"\ndst = \"198.18.0.0/29\"\nvary = [\"echo-seq=1..1000\", \"echo-id=7,8\"]",
            vec![
                is("icmp.type", 8),
                by("ip.dst", |n| format!("198.18.0.{}", n % 8)),
                by("icmp.seq", |n| (n + 1).to_string()),
                by("icmp.ident", |n| (7 + n % 2).to_string()),
                is("icmp.checksum.status", GOOD),
                is("ip.checksum.status", GOOD),
            ],
        ),
        (
            "proto = \"icmp\"\nsrc = \"fd00::1\"\ndst = \"fd00::2..fd00::4\"\nvary = \"echo-seq=1..1000\"",
            vec![
                is("icmpv6.type", 128),
                by("ipv6.dst", |n| format!("fd00::{}", n % 3 + 2)),
                by("icmpv6.echo.sequence_number", |n| (n + 1).to_string()),
                is("icmpv6.checksum.status", GOOD),
            ],
        ),
        (
            "proto = \"ip\"\nsrc = \"198.18.0.1..198.18.0.9\"\necn = \"0..3\"",
            vec![
                is("ip.proto", 253),
                by("ip.src", |n| format!("198.18.0.{}", n % 9 + 1)),
                by("ip.dsfield.ecn", |n| (n % 4).to_string()),
                is("ip.checksum.status", GOOD),
            ],
        ),
        (
            "proto = \"raw\"\nsrc_mac = \"02:00:00:00:00:fe..02:00:00:00:01:01\"",
            vec![by("eth.src", |n| {
                ["02:00:00:00:00:fe", "02:00:00:00:00:ff", "02:00:00:00:01:00", "02:00:00:00:01:01"]
                    [n as usize % 4]
                    .to_owned()
            })],
        ),
    ]
}

const TAGS: [&str; 3] = ["", "vlan = 100\npcp = 5\n", "vlan = \"200,100..102\"\n"];

fn tag(place: usize) -> Option<Expected> {
    match place {
        1 => Some(is("vlan.id", 100)),
        2 => Some(by("vlan.id", |n| (100 + n % 3).to_string())),
        _ => None,
    }
}

#[test]
fn tshark_finds_nothing_wrong_with_any_kind_tag_size_and_payload() {
    let _turn = beside_others();
    need("tshark");
    let looks = [
        ("size = 128\npayload = \"increment\"\nsign = true", 128),
        ("size = 129\npayload = \"random\"\n", 129),
        ("size = \"112..118\"\npayload = \"0xffff00\"\nsign = true", 0),
        ("size = \"112x7,594x4,1518\"\n", 0),
        ("size = \"1518,9018,513\"\npayload = \"random\"\nsign = true", 0),
    ];
    for (headers, _) in kinds() {
        let mut cases = Vec::new();
        for (place, tags) in TAGS.iter().enumerate() {
            for (look, size) in looks {
                let (_, mut expected) =
                    kinds().into_iter().find(|(known, _)| *known == headers).expect("it is one of them");
                expected.extend(tag(place));
                let what = format!("{headers}\n{tags}{look}");
                let frames = written(&template(&what));
                assert!(
                    size == 0 || frames.iter().all(|frame| frame.len() == size - 4),
                    "{what}: FCS is not written"
                );
                cases.push(Case { what, frames, expected });
            }
        }
        judge_all(&cases);
    }
}

#[test]
fn the_least_frame_of_each_kind_is_right_too() {
    let _turn = beside_others();
    need("tshark");
    for (headers, expected) in kinds() {
        judge(headers, &written(&template(headers)), &expected);
    }
    let expected = [is("ip.len", 46), is("udp.length", 26), is("udp.checksum.status", GOOD)];
    judge("64, signed", &written(&template("sign = true\nsport = 40000\ndport = 40100")), &expected);
}

#[test]
fn arp_asks_for_what_it_is_to_ask_for() {
    let _turn = beside_others();
    need("tshark");
    let expected = [
        is("arp.opcode", 1),
        is("arp.src.proto_ipv4", "198.18.0.1"),
        by("arp.dst.proto_ipv4", |n| format!("198.18.0.{}", 2 + n % 5)),
        is("arp.src.hw_mac", "02:00:00:00:00:01"),
        is("eth.dst", "ff:ff:ff:ff:ff:ff"),
    ];
    for tags in TAGS {
        let toml = format!("proto = \"arp\"\ndst = \"198.18.0.2..198.18.0.6\"\n{tags}");
        judge(&toml, &written(&template(&toml)), &expected);
    }
}

#[test]
fn tags_have_the_types_of_802_1q_and_802_1ad() {
    let _turn = beside_others();
    need("tshark");
    let frames = written(&template("vlan = \"200,100\"\npcp = 6\nsport = 40000\ndport = 40100"));
    let outer = [is("eth.type", "0x88a8"), is("ieee8021ad.id", 200), is("ieee8021ad.priority", 6)];
    judge(
        "two tags",
        &frames,
        &[outer, [is("vlan.id", 100), is("vlan.etype", "0x0800"), is("vlan.priority", 0)]]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>(),
    );
    let frames = written(&template("vlan = 100\npcp = 5\nsport = 40000\ndport = 40100"));
    judge("one tag", &frames, &[is("eth.type", "0x8100"), is("vlan.id", 100), is("vlan.priority", 5)]);
}

#[test]
fn flows_are_as_many_different_tuples_as_asked_for() {
    let _turn = beside_others();
    need("tshark");
    let toml = "flows = 30\nsport = 40000\ndport = 40100\ndst = \"198.18.0.2..198.18.0.5\"\nvary = \"ttl=61..63@flow\"";
    let expected = [
        by("ip.dst", |n| format!("198.18.0.{}", 2 + n % 30 % 4)),
        by("udp.srcport", |n| (40_000 + n % 30 / 4).to_string()),
        by("ip.ttl", |n| (61 + n % 30 % 3).to_string()),
        is("udp.checksum.status", GOOD),
    ];
    judge(toml, &written(&template(toml)), &expected);
}

#[test]
fn the_signature_stands_where_the_table_says() {
    let _turn = beside_others();
    need("tshark");
    let toml = "sign = true\nsport = 40000\ndport = 40100\nsize = 100";
    let frames = written(&template(toml));
    // First the position (5 bytes), then stream 0, lateness 77 = 0x004d.
    for (n, frame) in frames.iter().enumerate() {
        assert_eq!(
            Signature::find(frame).map(|found| (found.seq, found.sent_unix_ns - found.due_unix_ns)),
            Some((n as u64, 77))
        );
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("frames.pcap");
    std::fs::write(&file, pcap(&frames)).expect("a file is written");
    for (n, line) in tshark(&file, &["udp.payload"]).iter().enumerate() {
        assert_eq!(line[0][..16], format!("{n:010x}00004d"), "frame {n}");
    }
}

#[test]
fn one_wrong_bit_does_not_pass() {
    let _turn = beside_others();
    need("tshark");
    let frames = written(&template("sport = 40000\ndport = 40100\npayload = \"random\""));
    let bent = |at: usize| {
        let mut frames = frames.clone();
        frames[7][at] ^= 1;
        std::panic::catch_unwind(|| {
            judge("bent", &frames, &[is("udp.checksum.status", GOOD), is("ip.ttl", 64)])
        })
        .is_err()
    };
    assert!(bent(50), "in the payload");
    assert!(bent(22), "in the time to live");
    assert!(bent(17), "in the total length");
}

#[test]
fn options_of_ipv4_and_missing_checksums_are_no_fault() {
    let _turn = beside_others();
    need("tshark");
    let mac = |last| Mac([2, 0, 0, 0, 0, last]);
    let stream = StreamSpec {
        weight: 1,
        layers: vec![
            Layer::ethernet(mac(1), mac(2)),
            Layer::Ipv4 {
                source: [198, 18, 0, 1].into(),
                destination: [198, 18, 0, 2].into(),
                dscp: 0,
                ecn: 0,
                identification: 0,
                dont_fragment: true,
                ttl: 64,
                protocol: None,
                options: vec![0x94, 4, 0, 0],
            },
            Layer::Udp { source: 40_000, destination: 40_100, checksum: false },
        ],
        sizes: Sizes::List(vec![64, 99]),
        payload: Payload::Random,
        vary: vec![Vary {
            field: Field::Identification,
            values: Values::Increment { start: 0, step: 3, count: 1000 },
            by: By::Frame,
        }],
        ..StreamSpec::default()
    };
    let template = Template::build(&Spec { streams: vec![stream], seed: 3 }).expect("it can be built");
    let expected = [
        is("ip.hdr_len", 24),
        is("ip.opt.type", 148),
        by("ip.id", |n| format!("0x{:04x}", 3 * n)),
        is("ip.checksum.status", GOOD),
        is("udp.checksum", "0x0000"),
    ];
    judge("router alert, no checksum", &written(&template), &expected);
}

#[test]
fn frames_taken_from_elsewhere_vary_and_stay_right() {
    let _turn = beside_others();
    need("tshark");
    for proto in ["udp", "tcp"] {
        let taken = written(&template(&format!(
            "proto = \"{proto}\"\nsize = 200\npayload = \"random\"\nsport = 40000\ndport = 40100"
        )));
        let vary = |field, start| Vary {
            field,
            values: Values::Increment { start, step: 1, count: 50 },
            by: By::Frame,
        };
        let vary = vec![vary(Field::Ipv4Source, 0xc612_0101), vary(Field::PortSource, 40_200)];
        let changes = Changes { vary, sign: true, ..Changes::default() };
        let template =
            Template::from_frames_with(taken[..1].to_vec(), &changes).expect("they can be changed");
        let (port, checksum) = if proto == "udp" {
            ("udp.srcport", "udp.checksum.status")
        } else {
            ("tcp.srcport", "tcp.checksum.status")
        };
        let expected = [
            by("ip.src", |n| format!("198.18.1.{}", 1 + n % 50)),
            by(port, |n| (40_200 + n % 50).to_string()),
            is("ip.checksum.status", GOOD),
            is(checksum, GOOD),
        ];
        judge(proto, &written(&template), &expected);
    }
}

#[test]
fn neighbours_of_ipv6_ask_and_answer_as_tshark_knows_it() {
    let _turn = beside_others();
    need("tshark");
    let (own, other) = ("fd00::1".parse().expect("an address"), "fd00::2".parse().expect("an address"));
    let (own_mac, other_mac) = (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2]));
    let (group, group_mac) = ipv6::solicited_node(other);
    let ask = icmpv6::Repr::Solicitation { target: other, source: Some(own_mac) };
    let answer = icmpv6::Repr::Advertisement {
        target: other,
        link: Some(other_mac),
        router: false,
        solicited: true,
        override_: true,
    };
    let frames = [(own_mac, own, group_mac, group, ask), (other_mac, other, own_mac, own, answer)].map(
        |(source_mac, source, destination_mac, destination, message)| {
            let mut frame = vec![0; 14 + 40 + message.length()];
            let pseudo = wire::checksum::Pseudo::V6 { source, destination };
            message.emit(&mut frame[54..], &pseudo).expect("it fits");
            let network = ipv6::Repr {
                source,
                destination,
                traffic_class: 0,
                flow_label: 0,
                hop_limit: 255,
                next_header: 58,
            };
            network.emit(&mut frame[14..]).expect("it fits");
            let link =
                wire::ethernet::Repr { destination: destination_mac, source: source_mac, ethertype: 0x86dd };
            link.emit(&mut frame).expect("it fits");
            frame
        },
    );
    let expected = [
        by("icmpv6.type", |n| (135 + n).to_string()),
        by("icmpv6.nd.ns.target_address", |n| ["fd00::2", ""][n as usize].to_owned()),
        by("icmpv6.nd.na.target_address", |n| ["", "fd00::2"][n as usize].to_owned()),
        by("icmpv6.opt.linkaddr", |n| ["02:00:00:00:00:01", "02:00:00:00:00:02"][n as usize].to_owned()),
        is("icmpv6.checksum.status", GOOD),
    ];
    judge("neighbour discovery", &frames, &expected);
}
