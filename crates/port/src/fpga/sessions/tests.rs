//! Options, gaps and lines. The simulation itself is tried in tests/tests/fpga.

use super::*;
use std::io::Write as _;

fn read(text: &str) -> Result<SessionPort, String> {
    SessionPort::read(&text.parse().expect("an address")).map_err(|error| error.to_string())
}

#[test]
fn options_say_where_the_wire_ends() {
    let own = read("fpga,delay=20us,answer=600:sim").expect("a responder");
    assert_eq!((own.delay(), own.answer, own.device()), (2_500, 600, None));
    let tapped = read("fpga,tap=tare0,address=198.18.0.1/24:sim").expect("a tap");
    assert_eq!(tapped.device(), Some(Ipv4Addr::new(198, 18, 0, 1)));
    assert_eq!(read("fpga,wire=loop:sim").expect("a responder").delay(), 0);
}

#[test]
fn options_that_cannot_be_are_named() {
    for (text, words) in [
        ("fpga,wire=veth0:sim", "wire is for frames"),
        ("fpga,traffic=in.pcap:sim", "traffic is for frames"),
        ("fpga,delay=3ns:sim", "whole number of ticks"),
        ("fpga,answer=10:sim", "10 bytes"),
        ("fpga,tap=tare0:sim", "no IPv4 address of its tap"),
        ("fpga,tap=tare0,address=fd00::1/64:sim", "no IPv4 address of its tap"),
        ("fpga,tap=tare0,address=198.18.0.1/24,delay=8ns:sim", "delay is the responder's"),
        ("fpga,address=198.18.0.1/24:sim", "address is a tap's"),
        ("fault,drop=1%:fpga:sim", "wraps a simulation"),
    ] {
        let said = read(text).unwrap_err();
        assert!(said.contains(words), "{text}: {said}");
    }
    let frames = crate::fpga::connect(&"fpga,delay=8ns:sim".parse().expect("an address"));
    assert!(frames.unwrap_err().to_string().contains("delay is for sessions"));
}

#[test]
fn a_gap_is_exact_and_knows_its_departures() {
    // 125 000 000 / 300 000 = 416 + 2/3.
    let gap = Gap::of(300_000, 125_000_000).expect("a gap");
    assert_eq!(gap, Gap { whole: 416, numerator: 2, denominator: 3 });
    assert_eq!([0, 1, 2, 3].map(|n| gap.due(n)), [0, 416, 833, 1_250]);
    for n in [0, 1, 2, 3, 299_999, 1 << 31] {
        assert_eq!(gap.number(gap.due(n)), Some(n));
        assert_eq!((gap.before(gap.due(n)), gap.before(gap.due(n) + 1)), (n, n + 1));
    }
    assert_eq!(gap.number(417), None);
    // More than one in a tick; a denominator and a gap that do not fit 32 bits.
    assert_eq!(Gap::of(2, 1), None);
    assert_eq!(Gap::of((1 << 32) + 1, 125_000_000_000_000_000), None);
    assert_eq!(Gap::of(1, 1 << 32), None);
}

#[test]
fn lines_become_reports_however_they_are_cut() {
    let (host, mut other) = UnixStream::pair().expect("a pair");
    let mut lines = Lines::of(host);
    let soon = Duration::from_millis(20);
    other.write_all(b"now 12\nstatus 3 404 70000000000 10 0 5").expect("room");
    assert_eq!(lines.next(soon).expect("a report"), Some(Report::Now(12)));
    assert_eq!(lines.next(soon).expect("nothing yet"), None);
    other.write_all(b"00 620 7 81 70 4294967295 -\nconnected 4 99\nway 5 77\n").expect("room");
    other
        .write_all(
            b"row 3 5 2 0 0 0 0 0 0 0 0 0 0 1 50 40 30 20\nbin first_byte 40 3\nend results 9 opened 2\n",
        )
        .expect("room");
    let row = Row {
        outcome: RowOutcome::Status,
        session: 3,
        status: 404,
        due: 70_000_000_000,
        sent: 10,
        connected: 0,
        first: 500,
        done: 620,
        body: 7,
        request: 81,
        response: 70,
        sum: Some(u32::MAX),
        passed: None,
    };
    assert_eq!(lines.next(soon).expect("a row"), Some(Report::Row(row)));
    assert_eq!(lines.next(soon).expect("a report"), Some(Report::Connected { session: 4, ticks: 99 }));
    assert_eq!(lines.next(soon).expect("a report"), Some(Report::Way(77)));
    let Some(Report::Interval(3, tally)) = lines.next(soon).expect("a row") else { panic!("no row") };
    assert_eq!(tally.to_string(), "done 5, missed 2, sum 1, gross 50, net 40, first byte 30, bytes 20");
    assert_eq!(lines.next(soon).expect("a report"), Some(Report::Bin(Figure::FirstByte, 40, 3)));
    let Some(Report::End(figures)) = lines.next(soon).expect("an end") else { panic!("no end") };
    assert_eq!((figures.of("results"), figures.of("opened"), figures.of("bad")), (9, 2, 0));
    other.write_all(b"hello 1\n").expect("room");
    assert!(lines.next(soon).unwrap_err().to_string().contains("'hello 1'"));
    drop(other);
    assert_eq!(lines.next(soon).expect("an end"), Some(Report::Gone));
}

#[test]
fn bins_are_those_of_the_histogram_in_hardware() {
    // hdl/rtl/histogram.sv: 0 to 31 the value; 64 to 127: 64 + (value - 64) / 2; from 2^31 on 864 + ….
    for (ticks, bin) in [
        (0, 0),
        (31, 31),
        (32, 32),
        (63, 63),
        (64, 64),
        (65, 64),
        (127, 95),
        (128, 96),
        (1 << 31, 864),
        (u32::MAX, 895),
    ] {
        assert_eq!(Figure::bin(ticks), bin, "{ticks}");
    }
}
