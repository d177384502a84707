use super::*;

/// A SYN of Linux: MSS 1460, SACK-permitted, timestamps 0x01020304 and 0, NOP, window scale 7 (RFC 7323 §3.2).
const LINUX: [u8; 20] = [2, 4, 5, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7];

#[test]
fn a_syn_of_linux_is_read() {
    let options = Options::parse(&LINUX).unwrap();
    assert_eq!((options.mss, options.shift, options.sack_permitted), (Some(1460), Some(7), true));
    assert_eq!((options.stamps, options.sack), (Some((0x0102_0304, 0)), None));
}

#[test]
fn what_is_written_is_padded_and_read_back() {
    let all = Options {
        mss: Some(1220),
        shift: Some(14),
        sack_permitted: true,
        stamps: Some((u32::MAX, 1)),
        sack: Some((0xffff_fff0, 0x10)),
        further_blocks: [Some((7, 9)), Some((20, 30)), Some((1, 2))],
    };
    for mask in 0..32u32 {
        let some = Options {
            mss: all.mss.filter(|_| mask & 1 != 0),
            shift: all.shift.filter(|_| mask & 2 != 0),
            sack_permitted: mask & 4 != 0,
            stamps: all.stamps.filter(|_| mask & 8 != 0),
            sack: all.sack.filter(|_| mask & 16 != 0),
            further_blocks: [None; 3],
        };
        let taken = [4, 4, 4, 12, 12].iter().enumerate().filter(|(bit, _)| mask & 1 << bit != 0);
        let room = (40 - taken.map(|(_, bytes)| bytes).sum::<usize>()) / 8;
        let further = |at: usize| all.further_blocks[at].filter(|_| mask & 16 != 0 && at < room);
        // One more than there is room for is left out.
        let given =
            Options { further_blocks: if mask & 16 != 0 { all.further_blocks } else { [None; 3] }, ..some };
        let some = Options { further_blocks: [further(0), further(1), further(2)], ..some };
        let mut room = [0xff; MOST_OPTION_BYTES];
        let length = given.write(&mut room);
        assert_eq!(length % 4, 0);
        assert_eq!(Options::parse(&room[..length]), Ok(some));
    }
}

#[test]
fn no_byte_stands_behind_an_end_of_options() {
    let mut room = [0xff; MOST_OPTION_BYTES];
    let mss = Options { mss: Some(1460), ..Options::default() };
    assert_eq!(mss.write(&mut room), 4);
    assert_eq!(&room[..4], [2, 4, 5, 0xb4]);
    let stamps = Options { stamps: Some((1, 2)), ..Options::default() };
    assert_eq!(stamps.write(&mut room), 12);
    assert_eq!(&room[..12], [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
}

#[test]
fn options_may_stand_at_any_byte_and_end_early() {
    // One NOP in front: nothing is aligned. Behind the end anything may stand.
    let options = Options::parse(&[1, 3, 3, 9, 1, 1, 2, 4, 2, 0x18, 0, 8, 10]).unwrap();
    assert_eq!((options.shift, options.mss, options.stamps), (Some(9), Some(536), None));
}

#[test]
fn unknown_options_are_skipped_by_their_length() {
    let options = Options::parse(&[254, 4, 0xf9, 0x89, 34, 2, 2, 4, 5, 0xb4]).unwrap();
    assert_eq!(options.mss, Some(1460));
}

#[test]
fn a_length_that_cannot_be_is_refused() {
    for (bytes, error) in [
        (&[2u8][..], OptionError::Length { kind: 2 }),
        (&[2, 0, 5, 0xb4], OptionError::Length { kind: 2 }),
        (&[99, 1, 0, 0], OptionError::Length { kind: 99 }),
        (&[8, 10, 0, 0], OptionError::Length { kind: 8 }),
        (&[2, 3, 5, 0], OptionError::Size { kind: 2, length: 3 }),
        (&[5, 2, 0, 0], OptionError::Size { kind: 5, length: 2 }),
        (&[5, 9, 0, 0, 0, 0, 0, 0, 0], OptionError::Size { kind: 5, length: 9 }),
    ] {
        assert_eq!(Options::parse(bytes), Err(error), "{bytes:?}");
    }
}

#[test]
fn all_sack_blocks_are_read() {
    let mut bytes = [0; 26];
    bytes[..10].copy_from_slice(&[5, 26, 0, 0, 0, 9, 0, 0, 0, 11]);
    bytes[25] = 3;
    let options = Options::parse(&bytes).unwrap();
    assert_eq!((options.sack, options.further_blocks), (Some((9, 11)), [Some((0, 0)), Some((0, 3)), None]));
}

#[test]
fn no_bytes_at_all_make_it_panic() {
    let mut random = fastrand::Rng::with_seed(7323);
    for _ in 0..100_000 {
        let mut bytes = [0; MOST_OPTION_BYTES];
        random.fill(&mut bytes);
        for byte in &mut bytes {
            *byte %= 12;
        }
        let length = random.usize(..=MOST_OPTION_BYTES);
        let _ = Options::parse(&bytes[..length]);
    }
}
