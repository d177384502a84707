//! What is typed of frames, what becomes of it, and what is said where it cannot be.

use super::*;
use crate::file::read_toml;
use std::net::Ipv4Addr;
use wire::Template;
use wire::template::{By, Field, Payload, Sizes, Values};

fn from_toml(text: &str) -> Result<Frames, PlanError> {
    #[derive(Deserialize)]
    struct File {
        frames: FramesFile,
    }
    let (file, origin): (File, _) = read_toml(text, "plan.toml").unwrap();
    resolve(&file.frames, &Table::new("frames", Some(&origin)))
}

/// As flags: the key's flag is named in messages.
fn from_flags(lines: &str) -> Result<Frames, PlanError> {
    let file: FramesFile = toml::from_str(lines).unwrap();
    file.resolve()
}

fn spec(frames: &Frames) -> &Spec {
    match frames.source() {
        FrameSource::Made { spec, .. } => spec,
        FrameSource::Taken { .. } => panic!("frames are made"),
    }
}

fn frame(frames: &Frames, seq: u64) -> Vec<u8> {
    let template = Template::build(spec(frames)).unwrap();
    let mut room = vec![0; template.longest()];
    let length = template.write(seq, wire::Times::default(), &mut room, &mut 0);
    room.truncate(length);
    room
}

fn told(lines: &str) -> String {
    from_flags(lines).unwrap_err().to_string()
}

#[test]
fn nothing_typed_is_a_64_byte_datagram_to_the_discard_service() {
    let frames = from_flags("").unwrap();
    let tuple = wire::summary(&frame(&frames, 0)).unwrap();
    assert_eq!(tuple.source, Ipv4Addr::new(198, 18, 0, 1));
    assert_eq!(tuple.destination, Ipv4Addr::new(198, 18, 0, 2));
    assert_eq!((tuple.protocol, tuple.source_port, tuple.destination_port), (17, 1024, 9));
    assert_eq!(frame(&frames, 0).len(), 60);
    assert!(FramesFile::default().is_empty());
}

#[test]
fn flags_become_a_specification() {
    let frames = from_flags(
        "src = \"198.18.0.1\"\ndst = \"198.18.0.2-198.18.0.9\"\nsport = \"1024..2047\"\ndport = 53\nproto = \"udp\"\nvlan = 100\n\
         pcp = 5\nsize = \"imix\"\nvary = \"id=0..65535\"\nsign = false\nttl = 3\ndscp = \"random(8..15)\"",
    )
    .unwrap();
    let stream = &spec(&frames).streams[0];
    assert_eq!(stream.sizes, Sizes::imix());
    let fields: Vec<Field> = stream.vary.iter().map(|vary| vary.field).collect();
    assert_eq!(fields, [Field::Ipv4Destination, Field::Dscp, Field::PortSource, Field::Identification]);
    for n in 0..2000 {
        let frame = frame(&frames, n);
        let tuple = wire::summary(&frame).unwrap();
        assert_eq!(tuple.vlan, Some(100));
        assert_eq!(tuple.destination, Ipv4Addr::new(198, 18, 0, 2 + (n % 8) as u8));
        assert_eq!(u64::from(tuple.source_port), 1024 + n % 1024);
        assert_eq!((tuple.destination_port, frame[14] >> 5, frame[26]), (53, 5, 3));
    }
}

#[test]
fn a_size_that_nobody_typed_is_the_least_that_fits() {
    let frames = from_flags("src = \"fd00::1\"\nsign = true").unwrap();
    assert_eq!(spec(&frames).streams[0].sizes, Sizes::Fixed(14 + 40 + 8 + 18 + 4));
    assert!(!frames.to_toml().contains("size"), "so that it can be given elsewhere");
}

#[test]
fn streams_take_from_frames_what_they_do_not_say() {
    let frames = from_toml(
        "[frames]\nsrc = \"198.18.1.1\"\nsize = 128\nsign = true\n[[frames.stream]]\nweight = 3\ndport = 1\n\
         [[frames.stream]]\ndport = 2\nsize = 256\nproto = \"tcp\"\n",
    )
    .unwrap();
    let spec = spec(&frames);
    assert_eq!(spec.streams.iter().map(|stream| stream.weight).collect::<Vec<_>>(), [3, 1]);
    assert_eq!(spec.streams[0].sizes, Sizes::Fixed(128));
    assert_eq!(spec.streams[1].sizes, Sizes::Fixed(256));
    assert!(spec.streams.iter().all(|stream| stream.sign));
}

#[test]
fn the_canonical_text_reads_back_as_the_same() {
    for text in [
        "[frames]\n",
        "[frames]\nsrc = \"fd00::1\"\ndst = \"fd00::2..fd00::9/2\"\nflow_label = 5\nproto = \"tcp\"\ntcp_flags = \"SA\"\nsize = \"128,256\"\n",
        "[frames]\nvlan = \"200,1..100\"\npcp = 3\nproto = \"icmp\"\npayload = \"text:a \\\"b\\\"\"\nvary = [\"echo-seq=0..65535\", \"ttl=1,2,3\"]\n",
        "[frames]\nseed = 9\nflows = \"10k\"\nsign = true\n[[frames.stream]]\nweight = 2\n[[frames.stream]]\nsport = \"random(1..9)\"\nflows = 1\ndport = 7\nvary = []\n",
        "[frames]\nproto = \"tcp\"\ntcp_options = \"mss=1460,sackok,ts=1:0,nop,wscale=7\"\nsize = 128\n",
        "[frames]\nproto = \"arp\"\ndst = \"198.18.0.0/24\"\n",
        "[frames]\nproto = \"raw\"\nethertype = 0x88b6\ndst_mac = \"02:00:00:00:00:0a..02:00:00:00:00:0c\"\n",
        "[frames]\nproto = \"ip\"\nvary = \"dscp=0..63@frame\"\n",
        "[frames]\npcap = \"some.pcapng\"\nvary = [\"src=fd00::1..fd00::9\", \"dport=1..9\"]\nsign = true\n",
        "[frames]\nflows = 100\nvary = \"ttl=1..9@flow\"\n",
    ] {
        let read = from_toml(text);
        if text.contains("random(1..9)") {
            assert!(read.is_err(), "random ports are no flows");
            continue;
        }
        let frames = read.unwrap_or_else(|error| panic!("{text}: {error}"));
        let again =
            from_toml(frames.to_toml()).unwrap_or_else(|error| panic!("{}: {error}", frames.to_toml()));
        assert_eq!(again, frames, "{text}");
    }
}

#[test]
fn equal_frames_have_equal_texts() {
    let one =
        from_flags("dst = \"198.18.0.0/30\"\nsize = \"64x7,594x4,1518\"\nflows = \"1k\"\nsport = 0x400")
            .unwrap();
    let other = from_flags("dst = \"198.18.0.0-198.18.0.3\"\nsize = \"IMIX\"\nflows = 1000\nsport = 1024");
    assert_eq!(one, other.unwrap());
}

#[test]
fn addresses_that_were_not_typed_are_filled_in_later() {
    let mut frames = from_flags("src_mac = \"02:00:00:00:00:77\"").unwrap();
    let known = Mac([2, 0, 0, 0, 0, 9]);
    frames.fill_macs(|_| (Some(known), Some(known)));
    let bytes = frame(&frames, 0);
    assert_eq!((bytes[5], bytes[11]), (9, 0x77));
    let mut asked = from_flags("proto = \"arp\"").unwrap();
    asked.fill_macs(|_| (Some(known), Some(known)));
    let bytes = frame(&asked, 0);
    assert_eq!((&bytes[..6], bytes[11], bytes[27]), (&[0xff; 6][..], 9, 9));
}

#[test]
fn groups_have_their_own_ethernet_address() {
    let to =
        |dst: &str| frame(&from_flags(&format!("dst = \"{dst}\"\nsize = 128")).unwrap(), 0)[..6].to_vec();
    assert_eq!(to("239.129.2.3"), [1, 0, 0x5e, 1, 2, 3]);
    assert_eq!(to("ff02::1"), [0x33, 0x33, 0, 0, 0, 1]);
    assert_eq!(to("255.255.255.255"), [0xff; 6]);
}

#[test]
fn values_by_flow_and_payloads_are_taken_over() {
    let frames = from_flags("flows = 8\ndscp = \"1..4@flow\"\npayload = \"0xc0de\"").unwrap();
    let stream = &spec(&frames).streams[0];
    assert_eq!(stream.payload, Payload::Bytes(vec![0xc0, 0xde]));
    assert_eq!(stream.vary[0].by, By::Flow);
    assert_eq!(stream.vary[0].values, Values::Increment { start: 1, step: 1, count: 4 });
}

#[test]
fn each_thing_that_is_wrong_is_named_with_its_flag() {
    assert_eq!(
        told("src = \"198.18.0\""),
        "--src: '198.18.0' has a part '198.18.0' that is not an IPv4 address; expected an IPv4 address, a list, a range \
         (198.18.0.2-198.18.0.9) or a prefix"
    );
    assert_eq!(
        told("size = 68\nproto = \"tcp\"\nsign = true"),
        "--size: '68' is not possible: frame size 68 is too small: Ethernet, IPv4, TCP and a signature need at \
         least 76 (with FCS); expected 76 or more"
    );
    assert!(told("size = 63").starts_with("--size: '63' is not possible: frame size 63 is too small"));
    assert!(told("size = 70000").contains("too large: at most 65535"));
    assert_eq!(
        told("src = \"198.18.0.1\"\ndst = \"fd00::1\""),
        "--src contradicts --dst: one is an IPv4 address, the other an IPv6 address"
    );
    assert_eq!(
        told("sport = 5\nproto = \"icmp\""),
        "--sport needs --proto udp or tcp: these frames do not have this field"
    );
    assert_eq!(told("pcp = 5"), "--pcp needs --vlan: the priority is a field of the VLAN tag");
    assert!(told("vlan = 4096").contains("does not fit"));
    assert!(told("vlan = \"1,2,3\"").contains("is 3 tags"));
    assert!(told("proto = \"sctp\"").contains("expected udp, tcp, icmp, arp, ip or raw"));
    assert!(told("vary = \"sprot=1..5\"").contains("did you mean sport?"));
    assert!(told("vary = \"sport\"").contains("has no '='"));
    assert!(told("sport = \"1..5\"\nvary = \"sport=7..9\"").contains("varies sport a second time"));
    assert!(told("vary = \"seq=1..5\"").starts_with("--vary: 'seq=1..5' is not possible: seq cannot vary"));
    assert!(told("dscp = \"1..5@flow\"").contains("no number of flows"));
    assert!(told("flows = 0").contains("is zero"));
    assert!(
        told("proto = \"ip\"\nsrc = \"198.18.0.1..198.18.0.5\"\nflows = 6")
            .contains("make 5 different flows, not 6")
    );
    assert!(told("tcp_flags = \"X\"\nproto = \"tcp\"").contains("which is not a flag"));
    assert!(told("tcp_options = \"mss=x\"\nproto = \"tcp\"").starts_with("--tcp-options: 'mss=x'"));
    assert!(told("tcp_options = \"nop\"").starts_with("--tcp-options needs --proto tcp"));
    assert!(told("payload = \"ones\"").contains("is not a payload"));
    assert!(told("flow_label = 5").starts_with("--flow-label needs IPv6 addresses"));
    assert!(told("proto = \"raw\"\nethertype = 0x0800").contains("does not have"));
    assert!(told("proto = \"arp\"\nsign = true").starts_with("--sign: 'true' is not possible"));
    assert!(told("pcap = \"a.pcap\"\nsize = 64").starts_with("--pcap contradicts --size"));
    assert!(told("seed = \"x\"").starts_with("--seed: 'x' is not a seed"));
}

#[test]
fn a_stream_of_a_file_is_named_by_its_number() {
    let error =
        from_toml("[frames]\nsize = 50\n[[frames.stream]]\nsize = 64\n[[frames.stream]]\ndport = 70000\n")
            .unwrap_err();
    assert!(error.to_string().starts_with("plan.toml, line 6: frames.stream[1].dport: '70000'"), "{error}");
    let error =
        from_toml("[frames]\nsize = 50\n[[frames.stream]]\nsize = 64\n[[frames.stream]]\ndport = 7\n")
            .unwrap_err();
    assert!(error.to_string().starts_with("plan.toml, line 2: frames.size: '50'"), "{error}");
}

#[test]
fn what_cannot_be_around_a_packet_is_refused_with_its_flag() {
    for (lines, expected) in [
        ("mpls = \"1048576\"", "--mpls"),
        ("mpls = 5\npppoe = 6", "--pppoe contradicts --mpls"),
        ("proto = \"arp\"\nmpls = 5", "--mpls needs a protocol over IP"),
        ("tunnel = \"vxlan\"", "has no number"),
        ("tunnel = \"vxlan:16777216\"", "more than 24 bits"),
        ("tunnel = \"ipip:1\"", "is not a kind of tunnel"),
        ("tunnel = \"vxlan:1\"\ntunnel_src = \"fd00::1\"\ntunnel_dst = \"fd00::2\"", "--tunnel contradicts"),
        ("tunnel = \"gre\"\ntunnel_src = \"fd00::1\"", "--tunnel-src needs tunnel_dst with an IPv6 address"),
        ("tunnel_dst = \"198.18.0.9\"", "--tunnel-dst needs --tunnel"),
        ("ipv6_ext = \"hop\"", "--ipv6-ext needs IPv6 addresses"),
        ("src = \"fd00::1\"\nipv6_ext = \"dst,hop\"", "after another header"),
        ("bad_checksum = \"fcs\"", "cards compute the FCS themselves"),
        ("bad_checksum = \"tcp\"", "have no such checksum"),
        ("src = \"fd00::1\"\nbad_checksum = \"ip\"", "a checksum that IPv6 does not have"),
    ] {
        let said = told(lines);
        assert!(said.contains(expected), "{lines}: {said}");
    }
}

#[test]
fn stacks_read_back_as_they_were_written() {
    for lines in [
        "mpls = \"100,200\"\nvlan = 5",
        "pppoe = 17\nsrc = \"fd00::1\"\nipv6_ext = \"hop, frag\"",
        "tunnel = \"gtpu:0x10\"\nbad_checksum = \"ip,udp\"",
        "tunnel = \"gre\"\ntunnel_src = \"fd00::1\"\ntunnel_dst = \"fd00::2\"",
    ] {
        let frames = from_flags(lines).unwrap();
        let again = from_toml(frames.to_toml()).unwrap();
        assert_eq!((again.to_toml(), spec(&again)), (frames.to_toml(), spec(&frames)), "{lines}");
    }
}
