//! What tshark says of frames, compared with what is meant.

use plan::packets::frames::{FrameSource, FramesFile};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use wire::{Template, Times};

/// 2027-01-01 UTC, some time in that day.
const NOW: u64 = 1_798_761_600_000_000_000;
const FRAMES: u64 = 60;
/// tshark's severity of a note; chats are below.
const NOTE: u64 = 0x0040_0000;
/// tshark's word for a checksum that it verified.
pub(crate) const GOOD: &str = "1";

/// The value that a field of frame n is to have, as tshark prints it.
pub(crate) type Expected = (&'static str, Box<dyn Fn(u64) -> String>);

pub(crate) fn is(field: &'static str, value: impl ToString) -> Expected {
    let value = value.to_string();
    (field, Box::new(move |_| value.clone()))
}

pub(crate) fn by(field: &'static str, value: impl Fn(u64) -> String + 'static) -> Expected {
    (field, Box::new(value))
}

/// The template that `[frames]` in TOML makes.
pub(crate) fn template(toml: &str) -> Template {
    let file: FramesFile = toml::from_str(toml).unwrap_or_else(|error| panic!("{toml}: {error}"));
    let frames = file.resolve().unwrap_or_else(|error| panic!("{toml}: {error}"));
    let FrameSource::Made { spec, .. } = frames.source() else { panic!("{toml}: not made") };
    Template::build(spec).unwrap_or_else(|error| panic!("{toml}: {error}"))
}

/// Frames as the hot path writes them: rooms are used again, so that most frames are changed, not made anew.
pub(crate) fn written(template: &Template) -> Vec<Vec<u8>> {
    let mut rooms = vec![(vec![0xee; 65_536], 0); 4];
    (0..FRAMES)
        .map(|n| {
            let (room, mark) = &mut rooms[n as usize % 4];
            let times = Times { due_unix_ns: NOW + n * 1000, sent_unix_ns: NOW + n * 1000 + 77 };
            let length = template.write(n, times, room, mark);
            room[..length].to_vec()
        })
        .collect()
}

/// A pcap with nanoseconds (magic a1b23c4d), Ethernet, written by hand.
pub(crate) fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_3c4d_u32, 4 << 16 | 2, 0, 0, 262_144, 1] {
        file.extend(word.to_le_bytes());
    }
    for (n, frame) in frames.iter().enumerate() {
        for word in [1_798_761_600, n as u32 * 1000, frame.len() as u32, frame.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

/// What tshark reads of each frame, a line with the fields in order.
pub(crate) fn tshark(file: &Path, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(file).args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    for setting in ["ip.check_checksum", "udp.check_checksum", "tcp.check_checksum"] {
        command.args(["-o", &format!("{setting}:TRUE")]);
    }
    // The same segment over and over is a retransmission to an analysis of streams; that is no matter of
    // frames.
    command.args(["-o", "tcp.analyze_sequence_numbers:FALSE"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect()
}

/// Frames, what they are, and what tshark is to say of each.
pub(crate) struct Case {
    pub(crate) what: String,
    pub(crate) frames: Vec<Vec<u8>>,
    pub(crate) expected: Vec<Expected>,
}

/// Has tshark read the frames and compares.
pub(crate) fn judge(what: &str, frames: &[Vec<u8>], expected: &[Expected]) {
    let fields: Vec<&str> = expected.iter().map(|(field, _)| *field).collect();
    compare(what, frames, &fields, expected, &read(frames, &fields));
}

/// The same of several, in one file: tshark takes longer to start than to read them.
pub(crate) fn judge_all(cases: &[Case]) {
    let mut fields: Vec<&str> = Vec::new();
    for (field, _) in cases.iter().flat_map(|case| &case.expected) {
        if !fields.contains(field) {
            fields.push(field);
        }
    }
    let frames: Vec<Vec<u8>> = cases.iter().flat_map(|case| case.frames.clone()).collect();
    let mut lines = &read(&frames, &fields)[..];
    for case in cases {
        let (own, rest) = lines.split_at(case.frames.len());
        compare(&case.what, &case.frames, &fields, &case.expected, own);
        lines = rest;
    }
}

/// What tshark says of each frame: whether it is malformed, of what severity, how long, and the fields.
fn read(frames: &[Vec<u8>], fields: &[&str]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("frames.pcap");
    std::fs::write(&file, pcap(frames)).expect("a file is written");
    let all = [&["_ws.malformed", "_ws.expert.severity", "frame.len"], fields].concat();
    let lines = tshark(&file, &all);
    assert_eq!(lines.len(), frames.len(), "tshark reads each frame");
    lines
}

fn compare(what: &str, frames: &[Vec<u8>], fields: &[&str], expected: &[Expected], lines: &[Vec<String>]) {
    let mut wrong = String::new();
    for (n, (line, frame)) in lines.iter().zip(frames).enumerate() {
        let severe =
            line[1].split(',').filter_map(|number| number.parse::<u64>().ok()).any(|level| level >= NOTE);
        if !line[0].is_empty() || severe || line[2] != frame.len().to_string() {
            let _ = writeln!(
                wrong,
                "frame {n}: malformed '{}', expert '{}', {} bytes",
                line[0], line[1], line[2]
            );
        }
        for (field, value) in expected {
            let place = fields.iter().position(|one| one == field).expect("it was asked for");
            let read = &line[3 + place];
            if *read != value(n as u64) {
                let _ = writeln!(wrong, "frame {n}: {field} is '{read}', meant is '{}'", value(n as u64));
            }
        }
    }
    assert!(wrong.is_empty(), "{what}\n{wrong}");
}
