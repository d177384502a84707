//! Capture files, made by hand byte for byte, and read back after being written.

use port::pcap::{Described, Format, LinkType, Reader, Rotating, Rotation, Statistics, Style, Writer};
use port::{PortError, Stamp, Wish};
use proptest::prelude::*;
use std::path::Path;
use units::Picos;

const START: u64 = 1_700_000_000_123_456_789;

fn style(format: Format) -> Style {
    Style { format, described: Described::default(), has_queues: false }
}

/// Stamp, length on the wire, bytes, interface.
type Read = (u64, usize, Vec<u8>, u32);

fn read(bytes: &[u8]) -> Result<Vec<Read>, (Vec<Read>, PortError)> {
    let mut frames = Vec::new();
    let mut reader = match Reader::new("x.pcap", Box::new(std::io::Cursor::new(bytes.to_vec()))) {
        Ok(reader) => reader,
        Err(error) => return Err((frames, error)),
    };
    loop {
        match reader.next() {
            Ok(Some(f)) => frames.push((f.stamp.as_unix_nanos(), f.length, f.data.to_vec(), f.interface)),
            Ok(None) => return Ok(frames),
            Err(error) => return Err((frames, error)),
        }
    }
}

fn written(style: Style, frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w");
    let mut writer = Writer::create(&path, style).unwrap();
    for (stamp, data) in frames {
        writer.frame(Stamp(*stamp), data.len(), data, 3).unwrap();
    }
    let counts = writer.finish(&Statistics::default()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!((counts.frames, counts.file_bytes), (frames.len() as u64, bytes.len() as u64));
    bytes
}

/// Numbers of a file in one byte order.
struct Bytes(Vec<u8>, bool);

impl Bytes {
    fn u16(&mut self, value: u16) -> &mut Self {
        self.0.extend(if self.1 { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }
    fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(if self.1 { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }
    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend(bytes);
        self
    }
    fn block(&mut self, kind: u32, body: impl Fn(&mut Bytes)) -> &mut Self {
        let mut inside = Bytes(Vec::new(), self.1);
        body(&mut inside);
        let length = inside.0.len() as u32 + 12;
        self.u32(kind).u32(length).raw(&inside.0).u32(length)
    }
    fn section(&mut self) -> &mut Self {
        self.block(0x0a0d_0d0a, |b| {
            b.u32(0x1a2b_3c4d).u16(1).u16(0).u32(u32::MAX).u32(u32::MAX);
        })
    }
}

#[test]
fn pcap_of_both_byte_orders_and_resolutions_is_read() {
    for is_big in [false, true] {
        for (magic, part, nanos) in
            [(0xa1b2_c3d4, 123_456, 123_456_000), (0xa1b2_3c4d, 123_456_789, 123_456_789)]
        {
            let mut b = Bytes(Vec::new(), is_big);
            b.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(65_535).u32(1);
            b.u32(1_700_000_000).u32(part).u32(4).u32(60).raw(&[1, 2, 3, 4]);
            b.u32(1_700_000_001).u32(0).u32(0).u32(0);
            let expected = vec![
                (1_700_000_000 * 1_000_000_000 + nanos, 60, vec![1, 2, 3, 4], 0),
                (1_700_000_001_000_000_000, 0, vec![], 0),
            ];
            assert_eq!(read(&b.0).unwrap(), expected, "{is_big} {magic:x}");
        }
    }
}

#[test]
fn pcapng_with_several_interfaces_sections_and_unknown_blocks_is_read() {
    let mut b = Bytes(Vec::new(), true);
    b.section();
    // Microseconds by default; nanoseconds, and an offset of 100 s, by options; an option that nobody knows.
    b.block(1, |b| {
        b.u16(1).u16(0).u32(3);
    });
    b.block(1, |b| {
        b.u16(1).u16(0).u32(0);
        b.u16(2)
            .u16(5)
            .raw(b"veth0\0\0\0")
            .u16(9)
            .u16(1)
            .raw(&[9, 0, 0, 0])
            .u16(0x7777)
            .u16(1)
            .raw(&[1, 0, 0, 0]);
        b.u16(14).u16(8).u32(0).u32(100).u16(0).u16(0);
    });
    b.block(0x0bad, |b| {
        b.u32(7);
    });
    b.block(6, |b| {
        b.u32(0).u32(0).u32(5).u32(3).u32(9).raw(&[1, 2, 3, 0]);
    });
    b.block(6, |b| {
        b.u32(1)
            .u32(1)
            .u32(7)
            .u32(5)
            .u32(5)
            .raw(&[1, 2, 3, 4, 5, 0, 0, 0])
            .u16(6)
            .u16(4)
            .u32(9)
            .u16(0)
            .u16(0);
    });
    // Simple: cut to the first interface's snap length of 3.
    b.block(3, |b| {
        b.u32(60).raw(&[9, 9, 9, 0]);
    });
    // The forerunner: interface 1, 2 drops.
    b.block(2, |b| {
        b.u16(1).u16(2).u32(0).u32(8).u32(2).u32(2).raw(&[7, 7, 0, 0]);
    });
    // What was lost at interface 0: 40 by the interface, 2 by the system.
    b.block(5, |b| {
        b.u32(0).u32(0).u32(0).u16(5).u16(8).u32(0).u32(40).u16(7).u16(8).u32(0).u32(2).u16(0).u16(0);
    });
    let mut little = Bytes(Vec::new(), false);
    little.section().block(1, |b| {
        b.u16(1).u16(0).u32(0);
    });
    little.block(6, |b| {
        b.u32(0).u32(0).u32(1).u32(1).u32(1).raw(&[5, 0, 0, 0]);
    });
    let first = b.0.clone();
    b.raw(&little.0);
    let expected = vec![
        (5_000, 9, vec![1, 2, 3], 0),
        ((1 << 32) + 7 + 100_000_000_000, 5, vec![1, 2, 3, 4, 5], 1),
        (0, 60, vec![9, 9, 9], 0),
        (100_000_000_008, 2, vec![7, 7], 1),
        (1_000, 1, vec![5], 0),
    ];
    assert_eq!(read(&b.0).unwrap(), expected);

    let mut reader = Reader::new("x", Box::new(std::io::Cursor::new(first))).unwrap();
    while reader.next().unwrap().is_some() {}
    let [one, two] = reader.interfaces() else { panic!("{:?}", reader.interfaces()) };
    assert_eq!((one.dropped, one.snap, two.name.as_str(), two.dropped), (Some(42), 3, "veth0", None));
    assert_eq!((one.stamp_step_ns(), two.stamp_step_ns()), (1_000.0, 1.0));
}

#[test]
fn what_is_no_capture_says_what_it_is() {
    for (bytes, said) in [
        (&b""[..], "x.pcap: is empty"),
        (b"BZh9", "is not a capture file: it begins with 42 5a 68 39"),
        (b"hello world", "is not a capture file: it begins with 68 65 6c 6c"),
        (b"\x0a\x0d", "is not a capture file: it begins with 0a 0d"),
        (b"\x0a\x0d\x0d\x0a\x1c\x00\x00\x00\x00\x00\x00\x00", "has a section without byte order"),
        (b"\xd4\xc3\xb2\xa1\x02\x00", "cut off: 0 whole frames"),
    ] {
        let (_, error) = read(bytes).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
        assert!(error.is_users());
    }
    let missing = Reader::open(Path::new("/nowhere/x.pcap")).map(|_| ()).unwrap_err();
    assert!(missing.to_string().contains("/nowhere/x.pcap: No such file"), "{missing}");
}

#[test]
fn files_that_gzip_or_zstd_made_are_read_as_they_are() {
    use std::io::Write;
    let frames: Vec<(u64, Vec<u8>)> = (0..500).map(|n| (1_000_000 + n, vec![n as u8; 60])).collect();
    let plain = written(style(Format::PcapNanos), &frames);
    let (front, back) = plain.split_at(plain.len() / 2);
    let gzip = |bytes: &[u8]| {
        let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap()
    };
    let zstd = |bytes: &[u8]| zstd::stream::encode_all(bytes, 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let count = |bytes: &[u8]| {
        let path = folder.path().join("x");
        std::fs::write(&path, bytes).unwrap();
        let mut reader = Reader::open(&path).map_err(|error| (0, error.to_string()))?;
        let mut count = 0;
        loop {
            match reader.next() {
                Ok(Some(frame)) => {
                    assert_eq!(frame.data, &frames[count].1[..]);
                    count += 1;
                }
                Ok(None) => return Ok(count),
                Err(error) => return Err((count, error.to_string())),
            }
        }
    };
    for packed in
        [gzip(&plain), zstd(&plain), [gzip(front), gzip(back)].concat(), [zstd(front), zstd(back)].concat()]
    {
        assert!(packed.len() < plain.len() / 4);
        assert_eq!(count(&packed), Ok(500));
        // Cut off, it is told, also where all frames were whole.
        let (whole, said) = count(&packed[..packed.len() - 9]).unwrap_err();
        assert!(
            whole <= 500 && said.contains(&folder.path().join("x").display().to_string()),
            "{whole}: {said}"
        );
    }
}

#[test]
fn damage_is_told_with_the_frames_before_it() {
    let mut b = Bytes(Vec::new(), false);
    b.u32(0xa1b2_c3d4).u16(2).u16(4).u32(0).u32(0).u32(65_535).u32(1);
    b.u32(1).u32(0).u32(1).u32(1).raw(&[1]).u32(1).u32(0).u32(0x7fff_ffff).u32(1);
    let (frames, error) = read(&b.0).unwrap_err();
    assert_eq!(frames.len(), 1);
    assert_eq!(
        error.to_string(),
        "x.pcap: is damaged: frame 2 says that it has 2147483647 bytes; 1 whole frames were read"
    );
    let mut b = Bytes(Vec::new(), false);
    b.section().block(6, |b| {
        b.u32(0).u32(0).u32(1).u32(1).u32(1).raw(&[5, 0, 0, 0]);
    });
    assert!(read(&b.0).unwrap_err().1.to_string().contains("interface 0, which is not described"));
}

#[test]
fn a_file_that_is_cut_off_anywhere_says_how_many_frames_were_whole() {
    let frames: Vec<_> = (0..3).map(|n| (START + n, vec![n as u8; 20])).collect();
    // Header of the file, then of each frame with its 20 bytes.
    for (format, each) in [(Format::PcapNanos, 36), (Format::PcapMicros, 36), (Format::PcapNg, 52)] {
        let whole = written(style(format), &frames);
        let tail = if format == Format::PcapNg { 88 } else { 0 };
        let head = whole.len() - tail - 3 * each;
        for cut in head..whole.len() - tail {
            let behind = cut - head;
            match read(&whole[..cut]) {
                Ok(read) => {
                    assert_eq!((behind % each, read.len()), (0, behind / each), "{format:?} {cut}");
                }
                Err((read, PortError::Truncated { frames, .. })) => {
                    assert_ne!(behind % each, 0, "{format:?} {cut}");
                    assert_eq!((read.len(), frames), (behind / each, (behind / each) as u64));
                }
                Err((_, error)) => panic!("{format:?} {cut}: {error}"),
            }
        }
    }
}

#[test]
fn frames_of_another_link_type_are_refused_as_ethernet() {
    let mut b = Bytes(Vec::new(), false);
    b.u32(0xa1b2_c3d4).u16(2).u16(4).u32(0).u32(0).u32(65_535).u32(113).u32(1).u32(0).u32(1).u32(1).raw(&[1]);
    let mut reader = Reader::new("x.pcap", Box::new(std::io::Cursor::new(b.0))).unwrap();
    let error = reader.next_ethernet().map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "x.pcap: frame 1 is of link type 113 (Linux cooked), not 1 (Ethernet)");
    assert_eq!(LinkType(1), LinkType::ETHERNET);
}

#[test]
fn an_fcs_that_the_file_has_is_no_part_of_frames() {
    let mut b = Bytes(Vec::new(), false);
    // Two 16-bit words of FCS, and the bit that says so.
    b.u32(0xa1b2_c3d4).u16(2).u16(4).u32(0).u32(0).u32(65_535).u32(2 << 28 | 1 << 26 | 1);
    b.u32(1).u32(0).u32(8).u32(8).raw(&[1, 2, 3, 4, 5, 6, 7, 8]);
    b.u32(1).u32(0).u32(3).u32(64).raw(&[1, 2, 3]);
    let read = read(&b.0).unwrap();
    assert_eq!((read[0].1, read[0].2.as_slice()), (4, &[1, 2, 3, 4][..]));
    assert_eq!((read[1].1, read[1].2.as_slice()), (60, &[1, 2, 3][..]));
}

#[test]
fn a_capture_goes_to_several_files_and_the_oldest_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.pcapng");
    let rotation = Rotation { frames: Some(10), keep: Some(3), ..Rotation::default() };
    let mut files = Rotating::create(&path, style(Format::PcapNg), rotation).unwrap();
    for n in 0..45_u64 {
        files.frame(Stamp(START + n), 60, &[n as u8; 60], 0).unwrap();
    }
    assert_eq!(files.files(), (5, 2));
    assert_eq!(files.finish(&Statistics::default()).unwrap().frames, 45);
    let mut names: Vec<_> =
        folder.path().read_dir().unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["c-00003.pcapng", "c-00004.pcapng", "c-00005.pcapng"]);
    let last = read(&std::fs::read(folder.path().join("c-00005.pcapng")).unwrap()).unwrap();
    assert_eq!((last.len(), last[0].0), (5, START + 40));

    // By size: 24 bytes of header, 16 + 60 for each frame: 10 frames are 784 bytes. By time: 10 ns from the
    // first on.
    for rotation in [
        Rotation { bytes: Some(784), ..Rotation::default() },
        Rotation { time: Some(Picos::from_nanos(10)), ..Rotation::default() },
    ] {
        let mut files = Rotating::create(&path, style(Format::PcapNanos), rotation).unwrap();
        for n in 0..45_u64 {
            files.frame(Stamp(START + n), 60, &[n as u8; 60], 0).unwrap();
        }
        assert_eq!(files.files(), (5, 0), "{rotation:?}");
    }
}

#[test]
fn a_full_disk_leaves_a_file_that_ends_with_a_whole_frame() {
    // A device that takes nothing: the error says how much was lost.
    let mut writer = Writer::create(Path::new("/dev/full"), style(Format::PcapNg)).unwrap();
    for n in 0..7 {
        writer.frame(Stamp(n), 60, &[0; 60], 0).unwrap();
    }
    let error = writer.flush().unwrap_err().to_string();
    assert!(error.contains("No space left") && error.contains("7 frames are lost"), "{error}");
    assert_eq!(writer.counts().frames, 0);
    assert!(writer.finish(&Statistics::default()).is_err());
}

#[test]
fn a_replay_goes_round_with_stamps_that_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.pcap");
    let mut writer = Writer::create(&path, style(Format::PcapNanos)).unwrap();
    for at in [0, 100, 250] {
        writer.frame(Stamp(START + at), 60, &[at as u8; 60], 0).unwrap();
    }
    writer.finish(&Statistics::default()).unwrap();
    let address = format!("pcap,loop=2:{}", path.display());
    let mut port = port::open(&address.parse().unwrap(), &Wish::receive()).unwrap();
    let mut stamps = Vec::new();
    while port.receive(2, &mut |frame| stamps.push(frame.stamp.as_unix_nanos() - START)).is_ok() {}
    // The second round begins 150 ns, the last gap, after the first's last frame.
    assert_eq!(stamps, [0, 100, 250, 400, 500, 650]);
    assert!(port.receive(1, &mut |_| {}).unwrap_err().is_end());
}

#[test]
fn a_replay_of_a_cut_off_file_shows_what_is_whole_and_then_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.pcap");
    let whole = written(style(Format::PcapNanos), &[(START, vec![1; 60]), (START + 1, vec![2; 60])]);
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let address = format!("pcap,loop=0:{}", path.display());
    let mut port = port::open(&address.parse().unwrap(), &Wish::receive()).unwrap();
    assert_eq!(port.receive(9, &mut |frame| assert_eq!(frame.data, [1; 60])).unwrap(), 1);
    assert!(matches!(port.receive(9, &mut |_| {}), Err(PortError::Truncated { frames: 1, .. })));
    assert!(port.receive(9, &mut |_| {}).unwrap_err().is_end());
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        frames in prop::collection::vec(
            (START..START + (1 << 40), prop::collection::vec(any::<u8>(), 0..200)),
            0..40,
        ),
        which in 0..4_usize,
        has_queues: bool,
    ) {
        let format = [Format::PcapNg, Format::PcapNanos, Format::PcapMicros, Format::PcapNg][which];
        let bytes = written(Style { has_queues, ..style(format) }, &frames);
        let step = if format == Format::PcapMicros { 1_000 } else { 1 };
        let expected: Vec<Read> =
            frames.into_iter().map(|(t, data)| (t / step * step, data.len(), data, 0)).collect();
        prop_assert_eq!(read(&bytes).unwrap(), expected);
    }

    #[test]
    fn no_bytes_make_it_fail_otherwise(
        start in prop::sample::select(vec![
            vec![], vec![0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0],
            vec![0xd4, 0xc3, 0xb2, 0xa1],
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let _ = read(&[start, rest].concat());
    }
}
