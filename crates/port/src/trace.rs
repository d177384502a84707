//! `trace`: a port that writes a line for each frame, to standard error or a file.
//!
//! ```text
//! 12:04:05.000123456 out 60 02:18:00:00:00:01 > 02:18:00:00:00:02 IPv4 198.18.0.1:1024 > 198.18.0.2:9 UDP 18
//! ```
//!
//! Times are of day, UTC. After so many lines there are no more, and a last one says so.

use crate::witness::{Watched, Way, Witness};
use crate::{Address, Port, PortError, Stamp, Wish};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{Ipv4Addr, Ipv6Addr};

struct Lines {
    out: Box<dyn Write + Send>,
    left: u64,
    line: String,
    is_closed: bool,
}

/// Checks the options without opening anything.
pub(crate) fn check(address: &Address) -> Result<u64, PortError> {
    Ok(address.read("most", "1000")?.unwrap_or(1_000))
}

/// Wraps a port that is open.
pub(crate) fn wrap(address: &Address, _: &Wish, inner: Box<dyn Port>) -> Result<Box<dyn Port>, PortError> {
    let left = check(address)?;
    let out: Box<dyn Write + Send> = match address.option("file") {
        None => Box::new(io::stderr()),
        Some(path) => {
            let wrong =
                |error: io::Error| PortError::File { file: path.to_owned(), problem: error.to_string() };
            Box::new(BufWriter::new(File::options().create(true).append(true).open(path).map_err(wrong)?))
        }
    };
    let mut about = inner.about().clone();
    about.name = address.to_string();
    Ok(Box::new(Watched::new(inner, about, Lines { out, left, line: String::new(), is_closed: false })))
}

impl Witness for Lines {
    fn saw(&mut self, way: Way, stamp: Stamp, length: usize, data: &[u8]) {
        if self.left == 0 {
            return self.close();
        }
        self.left -= 1;
        self.line.clear();
        let way = if way == Way::Out { "out" } else { "in" };
        let _ = write!(self.line, "{} {way} {length} ", time_of_day(stamp));
        describe(data, &mut self.line);
        self.line.push('\n');
        // Whoever closed the pipe wants no more lines.
        if self.out.write_all(self.line.as_bytes()).is_err() {
            (self.left, self.is_closed) = (0, true);
        }
    }

    fn flush(&mut self) -> Result<(), PortError> {
        // As above.
        let _ = self.out.flush();
        Ok(())
    }
}

impl Lines {
    #[cold]
    fn close(&mut self) {
        if !std::mem::replace(&mut self.is_closed, true) {
            let _ = self.out.write_all(b"trace: this was the last requested line (most=)\n");
            let _ = self.out.flush();
        }
    }
}

fn time_of_day(stamp: Stamp) -> String {
    let (seconds, nanos) = (stamp.as_unix_nanos() / 1_000_000_000, stamp.as_unix_nanos() % 1_000_000_000);
    let day = seconds % 86_400;
    format!("{:02}:{:02}:{:02}.{nanos:09}", day / 3_600, day / 60 % 60, day % 60)
}

/// What a frame is, in a few words; as much as its bytes tell.
fn describe(data: &[u8], out: &mut String) {
    let Some((head, mut rest)) = data.split_at_checked(14) else {
        out.push_str("shorter than an Ethernet header");
        return;
    };
    let _ = write!(out, "{} > {} ", mac(&head[6..12]), mac(&head[..6]));
    let mut kind = u16::from_be_bytes([head[12], head[13]]);
    while let (0x8100 | 0x88a8, Some((tag, behind))) = (kind, rest.split_at_checked(4)) {
        let _ = write!(out, "VLAN {} ", u16::from_be_bytes([tag[0], tag[1]]) & 0xfff);
        kind = u16::from_be_bytes([tag[2], tag[3]]);
        rest = behind;
    }
    match (kind, rest) {
        (0x0800, [first, _, a, b, ..]) if rest.len() >= 20 && first >> 4 == 4 => {
            let head = usize::from(first & 15) * 4;
            let length = usize::from(u16::from_be_bytes([*a, *b]));
            let ip = |at: usize| Ipv4Addr::new(rest[at], rest[at + 1], rest[at + 2], rest[at + 3]);
            let is_first = u16::from_be_bytes([rest[6], rest[7]]) & 0x1fff == 0;
            let behind = rest.get(head..length.min(rest.len())).filter(|_| is_first).unwrap_or_default();
            out.push_str("IPv4 ");
            transport(&ip(12).to_string(), &ip(16).to_string(), rest[9], behind, out);
        }
        (0x86dd, [first, ..]) if rest.len() >= 40 && first >> 4 == 6 => {
            let ip = |at: usize| {
                let mut bytes = [0; 16];
                bytes.copy_from_slice(&rest[at..at + 16]);
                Ipv6Addr::from(bytes)
            };
            out.push_str("IPv6 ");
            transport(&format!("[{}]", ip(8)), &format!("[{}]", ip(24)), rest[6], &rest[40..], out);
        }
        (0x0806, [_, _, _, _, _, _, _, op, ..]) if rest.len() >= 28 => {
            let ip = |at: usize| Ipv4Addr::new(rest[at], rest[at + 1], rest[at + 2], rest[at + 3]);
            let _ = match op {
                1 => write!(out, "ARP who has {}? tell {}", ip(24), ip(14)),
                _ => write!(out, "ARP {} is at {}", ip(14), mac(&rest[8..14])),
            };
        }
        _ => {
            let _ = write!(out, "ethertype 0x{kind:04x}");
        }
    }
}

fn transport(from: &str, to: &str, protocol: u8, data: &[u8], out: &mut String) {
    let two = |at: usize| u16::from_be_bytes([data[at], data[at + 1]]);
    let _ = match (protocol, data.len()) {
        (17, 8..) => write!(out, "{from}:{} > {to}:{} UDP {}", two(0), two(2), two(4).saturating_sub(8)),
        (6, 20..) => {
            let head = usize::from(data[12] >> 4) * 4;
            let flags: String = "FSRPAU"
                .chars()
                .enumerate()
                .filter(|(bit, _)| data[13] & 1 << bit != 0)
                .map(|(_, letter)| letter)
                .collect();
            write!(
                out,
                "{from}:{} > {to}:{} TCP [{flags}] {}",
                two(0),
                two(2),
                data.len().saturating_sub(head)
            )
        }
        (1, 2..) => write!(out, "{from} > {to} ICMP type {} code {}", data[0], data[1]),
        (58, 2..) => write!(out, "{from} > {to} ICMPv6 type {} code {}", data[0], data[1]),
        _ => write!(out, "{from} > {to} protocol {protocol}"),
    };
}

fn mac(bytes: &[u8]) -> String {
    let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    pairs.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(hex: &str) -> String {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        let mut out = String::new();
        describe(&digits.chunks(2).map(byte).collect::<Vec<_>>(), &mut out);
        out
    }

    #[test]
    fn lines_say_what_a_frame_is() {
        const MACS: &str = "021800000002 021800000001";
        let macs = "02:18:00:00:00:01 > 02:18:00:00:00:02";
        let udp = "0400 0009 001a 0000 000000000000000000000000000000000000";
        let ip = "4500 002e 0000 4000 4011 0000 c6120001 c6120002";
        for (frame, said) in [
            (format!("{MACS} 0800 {ip} {udp}"), "IPv4 198.18.0.1:1024 > 198.18.0.2:9 UDP 18"),
            (
                format!("{MACS} 8100 002a 0800 {ip} {udp}"),
                "VLAN 42 IPv4 198.18.0.1:1024 > 198.18.0.2:9 UDP 18",
            ),
            (
                format!("{MACS} 0806 0001 0800 0604 0001 021800000001 c6120001 000000000000 c6120002"),
                "ARP who has 198.18.0.2? tell 198.18.0.1",
            ),
            (format!("{MACS} 1234"), "ethertype 0x1234"),
            (format!("{MACS} 0800 45"), "ethertype 0x0800"),
        ] {
            assert_eq!(described(&frame), format!("{macs} {said}"));
        }
        assert_eq!(described("0218"), "shorter than an Ethernet header");
    }

    #[test]
    fn a_time_of_day_has_nanoseconds() {
        // 1 day + 1 h + 2 min + 3 s.
        assert_eq!(time_of_day(Stamp((86_400 + 3_723) * 1_000_000_000 + 7)), "01:02:03.000000007");
    }

    proptest::proptest! {
        #[test]
        fn no_frame_makes_it_fail(data in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..120)) {
            describe(&data, &mut String::new());
        }
    }
}
