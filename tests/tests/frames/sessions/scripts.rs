//! Scripts that speak of the peer (`crates/tcp/tests/scripts/peer/*.pkt`), against the kernel's TCP: what
//! leaves in a script is put on the wire as it stands, and what arrives must come from the kernel.
//!
//! The kernel chooses windows, options and times, so only SACK blocks of these are compared; a bare ACK that a
//! script does not expect is passed over. The server responds with 300 bytes to the request, which is all text
//! that leaves in the script.

use super::client::Client;
use super::server::{Manners, request, response};
use super::{Link, beside_others};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tcp::{Arrived, Options, Segment};
use wire::tcp::flag;

#[path = "../../../../crates/tcp/tests/all/script.rs"]
#[allow(dead_code, reason = "calls, notices and states are of the record's own scripts")]
mod script;

use script::{Packet, What, parse};

const PORT: u16 = 40_000;
const ISN: u32 = 0xffff_ffb0;
const ANSWER: usize = 300;
/// Nothing that a kernel does here takes longer, unless the machine stands still.
const PATIENCE: Duration = Duration::from_secs(10);

struct Talk {
    client: Client,
    stream: Vec<u8>,
    /// The kernel's first number.
    peer: u32,
    came: VecDeque<(Arrived, Vec<u8>)>,
}

fn run(text: &str) -> Result<(), String> {
    let script = parse(text).map_err(|error| error.to_string())?;
    let link = Link::to(Manners::default());
    // The request is what leaves near the first numbers: text elsewhere is nonsense on purpose.
    let ends = script.lines.iter().filter_map(|line| match &line.what {
        What::Leaves(packet) if packet.len > 0 => Some(packet.seq + packet.len).filter(|end| *end < 10_000),
        _ => None,
    });
    let total = ends.max().unwrap_or(0).saturating_sub(1) as usize;
    let stream = if total < 8 { Vec::new() } else { request(total, ANSWER) };
    let mut talk = Talk { client: link.client(""), stream, peer: 0, came: VecDeque::new() };
    for line in &script.lines {
        let done = match &line.what {
            What::Leaves(packet) => {
                talk.waits(Duration::from_micros(line.after_us));
                talk.came.retain(|(segment, _)| !is_bare(segment));
                talk.leaves(packet)
            }
            What::Arrives(packet) => talk.arrives(packet),
            What::Quiet => {
                talk.waits(Duration::from_micros(line.after_us));
                talk.quiet()
            }
            _ => Err("a script of the peer has only segments and quiet".into()),
        };
        done.map_err(|what| format!("{}: {what}", line.number))?;
    }
    Ok(())
}

/// An ACK and nothing else.
fn is_bare(segment: &Arrived) -> bool {
    segment.len == 0 && segment.flags == flag::ACK
}

impl Talk {
    fn turn(&mut self) {
        let arrived = self.client.listen();
        self.came.extend(arrived.into_iter().filter(|(port, ..)| *port == PORT).map(|(_, a, b)| (a, b)));
    }

    fn waits(&mut self, time: Duration) {
        let since = Instant::now();
        while since.elapsed() < time {
            self.turn();
        }
    }

    fn leaves(&mut self, packet: &Packet) -> Result<(), String> {
        self.quiet()?;
        let sack = |(left, right): (u32, u32)| (self.peer.wrapping_add(left), self.peer.wrapping_add(right));
        let options = packet.options.unwrap_or_default();
        let segment = Segment {
            seq: ISN.wrapping_add(packet.seq),
            ack: self.peer.wrapping_add(packet.ack),
            flags: packet.flags,
            window: packet.window.unwrap_or(u16::MAX),
            options: Options { sack: options.sack.map(sack), ..options },
            payload: None,
        };
        let from = packet.seq.wrapping_sub(1) as usize;
        let known = self.stream.get(from..from.saturating_add(packet.len as usize));
        let text = known.map_or_else(|| vec![0; packet.len as usize], <[u8]>::to_vec);
        self.client.inject(PORT, &segment, &text);
        Ok(())
    }

    fn arrives(&mut self, packet: &Packet) -> Result<(), String> {
        let since = Instant::now();
        let mut passed = Vec::new();
        loop {
            while let Some((segment, text)) = self.came.pop_front() {
                if segment.flags & flag::SYN != 0 {
                    self.peer = segment.seq;
                }
                if self.is(packet, &segment) {
                    return self.has_right_text(packet, &text);
                }
                passed.push(self.text(&segment));
                if !is_bare(&segment) {
                    return Err(format!("expected {packet:?}, came {passed:?}"));
                }
            }
            if since.elapsed() > PATIENCE {
                return Err(format!("nothing like {packet:?} came, but {passed:?}"));
            }
            self.turn();
        }
    }

    fn is(&self, packet: &Packet, came: &Arrived) -> bool {
        let bits = |flags: u8| flags & !flag::PSH;
        let acks = came.flags & flag::ACK != 0;
        let sack = packet.options.and_then(|options| options.sack);
        let block = came.options.sack.map(|(left, right)| (left.wrapping_sub(ISN), right.wrapping_sub(ISN)));
        bits(came.flags) == bits(packet.flags)
            && came.seq.wrapping_sub(self.peer) == packet.seq
            && came.len == packet.len
            && (!acks || came.ack.wrapping_sub(ISN) == packet.ack)
            && (sack.is_none() || block == sack)
    }

    fn has_right_text(&self, packet: &Packet, text: &[u8]) -> Result<(), String> {
        let from = packet.seq.wrapping_sub(1) as usize;
        let right = text.is_empty() || response(ANSWER).get(from..from + text.len()) == Some(text);
        if right { Ok(()) } else { Err(format!("other bytes in {packet:?}")) }
    }

    fn quiet(&mut self) -> Result<(), String> {
        match self.came.pop_front() {
            Some((segment, _)) => Err(format!("{} came", self.text(&segment))),
            None => Ok(()),
        }
    }

    fn text(&self, segment: &Arrived) -> String {
        let (seq, ack) = (segment.seq.wrapping_sub(self.peer), segment.ack.wrapping_sub(ISN));
        format!(
            "bits {:#04x} at {seq}, {} bytes, ack {ack}, {:?}",
            segment.flags, segment.len, segment.options
        )
    }
}

#[test]
fn scripts_of_the_peer_hold_for_the_kernel() {
    let _beside = beside_others();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/tcp/tests/scripts/peer");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("scripts").map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 10, "{files:?}");
    let wrong: Vec<String> = files
        .iter()
        .filter_map(|file| {
            let text = std::fs::read_to_string(file).expect("a script");
            run(&text).err().map(|error| format!("{}:{error}", file.display()))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The kernel does not do what these say.
#[test]
fn a_script_that_is_wrong_about_the_kernel_fails() {
    let _beside = beside_others();
    let open = "// RFC 9293 3.5: a handshake\n+0 > S 0:0(0) <mss 1460>\n+0 < S. 0:0(0) ack 1 win 0\n\
        +0 > . 1:1(0) ack 1\n";
    for (lines, error) in [
        ("+0 > R 2:2(0)\n+0.2 quiet\n", "6: bits 0x10 at 1, 0 bytes, ack 1"),
        ("+0 > P. 1:101(100) ack 1\n+0 < P. 1:300(299) ack 101 win 0\n", "6: expected"),
        ("+0 > P. 1:101(100) ack 1\n+0 < F. 1:1(0) ack 101 win 0\n", "6: expected"),
        ("+0 open\n", "5: a script of the peer has only segments and quiet"),
    ] {
        let found = run(&format!("{open}{lines}")).expect_err(lines);
        assert!(found.starts_with(error), "{lines}: {found}");
    }
}
