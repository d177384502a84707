use super::*;
use proptest::prelude::*;

const OWN: Mac = Mac([2, 0x74, 198, 18, 0, 10]);
const FAR: Mac = Mac([2, 0, 0, 0, 0, 2]);

/// A segment behind each kind of head is what `wire` reads without a complaint.
fn check(from: IpAddr, to: IpAddr, tag: Option<u16>, segment: &[u8]) {
    let head = Head::new((OWN, from), (FAR, to), tag).unwrap();
    let mut frame = vec![0xaa; 2_000];
    head.write(&mut frame);
    frame[head.length()..head.length() + segment.len()].copy_from_slice(segment);
    let length = head.finish(&mut frame, segment.len());
    assert_eq!(length, head.length() + segment.len());
    let tuple = wire::summary(&frame[..length]).unwrap();
    assert_eq!((tuple.source, tuple.destination, tuple.vlan), (from, to, tag));
    let packet = &frame[usize::from(tuple.network)..length];
    let pseudo = if from.is_ipv4() {
        let view = ipv4::View::new(packet).unwrap();
        view.verify().unwrap();
        assert!(
            view.is_dont_fragment() && view.ttl() == 64 && usize::from(view.total_length()) == packet.len()
        );
        view.pseudo()
    } else {
        let view = ipv6::View::new(packet).unwrap();
        assert_eq!((view.hop_limit(), usize::from(view.payload_length())), (64, segment.len()));
        view.pseudo()
    };
    tcp::View::new(&frame[head.length()..length]).unwrap().verify(&pseudo).unwrap();
    // The same with a sum that the owner had.
    let mut again = vec![0; 2_000];
    head.write(&mut again);
    again[head.length()..length].copy_from_slice(segment);
    head.finish_with(&mut again, segment.len(), checksum::sum(segment));
    assert_eq!(again[..length], frame[..length]);
}

#[test]
fn addresses_of_two_families_have_no_head() {
    let (v4, v6) = ("198.18.0.1".parse().unwrap(), "fd00::1".parse().unwrap());
    assert_eq!(Head::new((OWN, v4), (FAR, v6), None), None);
}

#[test]
fn the_bytes_of_a_head_are_as_the_standards_lay_them_out() {
    let (from, to) = ("198.18.0.10".parse().unwrap(), "198.18.0.2".parse().unwrap());
    let head = Head::new((OWN, from), (FAR, to), Some(7)).unwrap();
    let expected: [u8; 38] = [
        2, 0, 0, 0, 0, 2, 2, 0x74, 198, 18, 0, 10, 0x81, 0, 0, 7, 8, 0, // Ethernet, tag
        0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0, 198, 18, 0, 10, 198, 18, 0, 2,
    ];
    assert_eq!(head.bytes(), expected);
}

proptest! {
    #[test]
    fn heads_and_sums_are_right_for_every_segment(
        from: u32, to: u32, from6: u128, to6: u128, tag in proptest::option::of(0u16..4096),
        mut segment in proptest::collection::vec(any::<u8>(), 20..1460),
    ) {
        segment[12] = 0x50;
        segment[16..18].fill(0);
        check(IpAddr::V4(from.into()), IpAddr::V4(to.into()), tag, &segment);
        check(IpAddr::V6(from6.into()), IpAddr::V6(to6.into()), tag, &segment);
    }
}
