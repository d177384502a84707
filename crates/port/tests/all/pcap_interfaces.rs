//! Files with frames of several interfaces: which are read, and what was lost of each when they were captured.

use port::pcap::{Described, Statistics, Style, Writer};
use port::{DropPlace, Stamp, Wish};

/// A block of pcapng.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let size = (body.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &size, body, &size].concat()
}

/// A pcapng file with two interfaces, `out` and `in`, whose frames come by turns: as a wire captured both ways
/// is.
fn both_ways(folder: &std::path::Path) -> std::path::PathBuf {
    let mut bytes =
        block(0x0a0d_0d0a, &[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    for name in [*b"out\0", *b"in\0\0"] {
        let length = name.iter().filter(|byte| **byte > 0).count() as u8;
        let head = [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, length, 0];
        bytes.extend(block(1, &[&head[..], &name, &[9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]].concat()));
    }
    for n in 0..10_u32 {
        // Each way every 1 000 ns, the second 300 ns after the first.
        let at = 1_000_000 + n / 2 * 1_000 + n % 2 * 300;
        let words = [n % 2, 0, at, 60, 60];
        let head: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(block(6, &[&head[..], &[n as u8; 60]].concat()));
    }
    let path = folder.join("both.pcapng");
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn what_a_capture_lost_is_counted_by_interface() {
    let folder = tempfile::tempdir().unwrap();
    let path = both_ways(folder.path());
    let mut bytes = std::fs::read(&path).unwrap();
    // Statistics of interface 0 (3 lost by it, 4 by the system), and of interface 1 (0 and 50).
    for (interface, lost) in [(0_u32, [3_u64, 4]), (1, [0, 50])] {
        let options: Vec<u8> = [(5_u16, lost[0]), (7, lost[1])]
            .iter()
            .flat_map(|(code, value)| [&code.to_le_bytes()[..], &[8, 0], &value.to_le_bytes()].concat())
            .collect();
        bytes.extend(block(5, &[&interface.to_le_bytes()[..], &[0; 8], &options, &[0; 4]].concat()));
    }
    // A second section with the same again.
    std::fs::write(&path, [&bytes[..], &bytes].concat()).unwrap();
    for (address, frames, lost) in
        [("pcap", 20, 114), ("pcap,interface=out", 10, 14), ("pcap,interface=1", 10, 100)]
    {
        let address = format!("{address}:{}", path.display());
        let mut port = port::open(&address.parse().unwrap(), &Wish::receive()).unwrap();
        while port.receive(64, &mut |_| ()).is_ok() {}
        let counters = port.counters().unwrap();
        assert_eq!(
            (counters.received, counters.dropped(DropPlace::ReceiveRing)),
            (frames, lost),
            "{address}"
        );
    }
}

#[test]
fn interfaces_of_other_kinds_are_passed_over_where_one_is_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let path = both_ways(folder.path());
    let mut bytes = std::fs::read(&path).unwrap();
    // The second interface's link is Linux' cooked one: its block begins behind the section's and the first's.
    let second = 28 + 40 + 8;
    assert_eq!(bytes[second..second + 2], [1, 0]);
    bytes[second] = 113;
    std::fs::write(&path, bytes).unwrap();
    let read = |address: &str| {
        let address = format!("{address}:{}", path.display());
        let mut port = port::open(&address.parse().unwrap(), &Wish::receive()).unwrap();
        let mut frames = 0;
        loop {
            match port.receive(64, &mut |_| frames += 1) {
                Ok(_) => {}
                Err(error) => return (frames, error.is_end(), error.to_string()),
            }
        }
    };
    assert_eq!(read("pcap,interface=out").0, 5);
    assert!(read("pcap,interface=out").1);
    let (frames, is_end, why) = read("pcap");
    assert!(frames == 1 && !is_end && why.contains("frame 2 is of link type 113"), "{frames} {why}");
}

#[test]
fn of_a_file_with_several_interfaces_one_is_read_where_gaps_are_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = both_ways(folder.path());
    let file = path.display().to_string();
    let stamps = |address: &str, one_interface: bool| {
        let wish = Wish { one_interface, ..Wish::receive() };
        let mut port = port::open(&address.parse().unwrap(), &wish).map_err(|error| error.to_string())?;
        let mut stamps = Vec::new();
        for _ in 0..100 {
            match port.receive(4, &mut |frame| stamps.push(frame.stamp.0)) {
                Ok(_) => {}
                Err(error) if error.is_end() => return Ok(stamps),
                Err(error) => return Err(error.to_string()),
            }
        }
        panic!("no end");
    };
    let each = |from: u64| (0..5).map(|n| from + n * 1_000).collect::<Vec<u64>>();
    assert_eq!(stamps(&format!("pcap,interface=out:{file}"), true), Ok(each(1_000_000)));
    assert_eq!(stamps(&format!("pcap,interface=1:{file}"), true), Ok(each(1_000_300)));
    assert_eq!(stamps(&format!("pcap:{file}"), false).map(|all| all.len()), Ok(10));
    let refused = stamps(&format!("pcap:{file}"), true).unwrap_err();
    assert!(refused.contains("'out' (0) and 'in' (1)"), "{refused}");
    assert!(refused.contains(&format!("pcap,interface=out:{file}")), "{refused}");
    let nobody = stamps(&format!("pcap,interface=eth9:{file}"), false).unwrap_err();
    assert!(
        nobody.contains("no frame of interface 'eth9'; its interfaces are 'out' (0) and 'in' (1)"),
        "{nobody}"
    );
    // Two captures of one interface, one behind the other, are two sections of it.
    let one = folder.path().join("one.pcapng");
    let named =
        Style { described: Described { name: "eth0".into(), ..Described::default() }, ..Style::default() };
    let mut bytes = Vec::new();
    for from in [1_000, 5_000] {
        let mut writer = Writer::create(&one, named.clone()).unwrap();
        (0..3).for_each(|n| writer.frame(Stamp(from + n), 60, &[0; 60], 0).unwrap());
        writer.finish(&Statistics::default()).unwrap();
        bytes.extend(std::fs::read(&one).unwrap());
    }
    std::fs::write(&one, bytes).unwrap();
    assert_eq!(stamps(&format!("pcap:{}", one.display()), true).map(|all| all.len()), Ok(6));
}
