//! Scripts of what arrives, what must leave, and when: `tests/scripts/*.pkt`, in the language of `script.rs`.
//! Time is virtual: it goes from line to line, and the record's timer fires where the record wants it. After
//! each call, and after segments that arrive at one time, the owner flushes.

use crate::json;
use crate::script::{Call, Line, Packet, Script, ScriptError, What, parse};
use std::collections::VecDeque;
use std::fmt::Write;
use tcp::{Arrived, Event, Options, Path, Record, Segment, Time, step};

struct Run {
    path: Path,
    r: Record,
    now_us: u64,
    /// The first numbers of both sides; ours is the record's own once it has opened.
    isn: u32,
    peer: u32,
    /// What left and was not expected yet.
    left: VecDeque<(u64, Segment)>,
    said: Vec<String>,
    /// Segments arrived, and the owner has not flushed.
    batch: bool,
}

fn run(text: &str) -> Result<(), ScriptError> {
    let script = parse(text)?;
    let mut run = Run::new(&script);
    for line in &script.lines {
        run.line(line).map_err(|what| ScriptError { line: line.number, column: 1, what })?;
    }
    run.flush();
    let last = script.lines.last().map_or(1, |line| line.number);
    run.nothing_left().map_err(|what| ScriptError { line: last, column: 1, what })
}

impl Run {
    fn new(script: &Script) -> Self {
        let setting =
            |name: &str| script.settings.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        let mut path = Path::v4(setting("mtu").unwrap_or(1500) as u16);
        path.shift = setting("wscale").unwrap_or(0) as u8;
        path.burst = setting("burst").unwrap_or(1) as u16;
        (path.stamps, path.sack) = (setting("stamps").is_some(), setting("sack").is_some());
        if let Some(rtt_ms) = setting("rtt") {
            path.sample(rtt_ms * 1000);
        }
        Self {
            path,
            r: Record::default(),
            now_us: 0,
            isn: setting("isn").unwrap_or(1_000_000),
            peer: setting("peer").unwrap_or(5_000_000),
            left: VecDeque::new(),
            said: Vec::new(),
            batch: false,
        }
    }

    fn line(&mut self, line: &Line) -> Result<(), String> {
        let in_batch = line.after_us == 0 && matches!(line.what, What::Arrives(_));
        if !in_batch {
            self.flush();
        }
        let until = self.now_us + line.after_us;
        match &line.what {
            What::Leaves(packet) => {
                self.goes_on(until + line.tolerance_us, |run| !run.left.is_empty());
                return self.leaves(packet, until, line.tolerance_us);
            }
            What::Says { text, is } => {
                self.goes_on(until, |_| false);
                return self.says(text, *is);
            }
            _ => self.goes_on(until, |_| false),
        }
        match &line.what {
            What::State(state) if *state != self.r.state => {
                let name = json::state_name;
                return Err(format!("the state is {}, not {}", name(self.r.state), name(*state)));
            }
            What::Quiet => self.nothing_left()?,
            What::Arrives(packet) => {
                self.nothing_left()?;
                if !self.batch {
                    self.said.clear();
                }
                self.does(Event::Segment(self.arrived(packet)));
                self.batch = true;
            }
            What::Calls(call) => {
                self.nothing_left()?;
                self.said.clear();
                self.does(self.event(*call));
                self.batch = true;
                self.flush();
            }
            _ => {}
        }
        Ok(())
    }

    /// Lets time pass, and timers fire, until then or until `is_enough`.
    fn goes_on(&mut self, until_us: u64, is_enough: impl Fn(&Self) -> bool) {
        // No record wants more timers than that in the minutes of a script.
        for _ in 0..10_000 {
            let deadline = self.r.next_deadline().map(|deadline| u64::from(deadline.as_wrapped()) * 1000);
            let due = deadline.filter(|deadline| *deadline <= until_us && !is_enough(self));
            let Some(due) = due else { break };
            self.now_us = self.now_us.max(due);
            self.does(Event::Timer);
            self.batch = true;
            self.flush();
        }
        if !is_enough(self) {
            self.now_us = self.now_us.max(until_us);
        }
    }

    fn flush(&mut self) {
        if std::mem::take(&mut self.batch) {
            for _ in 0..1000 {
                if self.r.wants_flush() {
                    self.does(Event::Flush);
                }
            }
        }
    }

    fn does(&mut self, event: Event) {
        let made = step(&self.path, self.r, event, Time::from_micros(self.now_us));
        self.r = made.record;
        if matches!(event, Event::Open { .. }) {
            self.isn = made.segment.map_or(self.isn, |segment| segment.seq);
        }
        for notice in made.notices.iter() {
            if let tcp::Notice::Rtt { micros } = notice {
                self.path.sample(*micros);
            }
            let words = json::notice(notice);
            let words = words.as_array().expect("a list").iter();
            let words = words.map(|word| word.as_str().map_or_else(|| word.to_string(), str::to_owned));
            self.said.push(words.collect::<Vec<_>>().join(" "));
        }
        self.left.extend(made.segment.map(|segment| (self.now_us, segment)));
    }

    fn event(&self, call: Call) -> Event {
        match call {
            Call::Open { patience_ms } => Event::Open { isn: self.isn, patience_ms },
            Call::Send { len, close, patience_ms } => Event::Send { len, close, patience_ms },
            Call::Answered => Event::Answered,
            Call::Close => Event::Close,
            Call::Abort => Event::Abort,
            Call::Window { open } => Event::Window { open },
            Call::Unreachable { hard, seq } => Event::Unreachable { hard, seq: self.isn.wrapping_add(seq) },
            Call::Mtu { mss, seq } => Event::Mtu { mss, seq: self.isn.wrapping_add(seq) },
        }
    }

    fn arrived(&self, packet: &Packet) -> Arrived {
        let sack = |(left, right): (u32, u32)| (self.isn.wrapping_add(left), self.isn.wrapping_add(right));
        let options = packet.options.unwrap_or_default();
        Arrived {
            seq: self.peer.wrapping_add(packet.seq),
            ack: self.isn.wrapping_add(packet.ack),
            flags: packet.flags,
            window: packet.window.unwrap_or(0),
            len: packet.len,
            options: Options { sack: options.sack.map(sack), ..options },
        }
    }

    fn leaves(&mut self, packet: &Packet, at_us: u64, tolerance_us: u64) -> Result<(), String> {
        let Some((time, segment)) = self.left.pop_front() else {
            return Err(format!("nothing left until {}", seconds(at_us + tolerance_us)));
        };
        // The next line counts from when this one was due.
        self.now_us = self.now_us.max(at_us);
        if time.abs_diff(at_us) > tolerance_us {
            let what = self.text(&segment);
            return Err(format!("{what} left at {}, not at {}", seconds(time), seconds(at_us)));
        }
        let sack = |(left, right): (u32, u32)| (self.peer.wrapping_add(left), self.peer.wrapping_add(right));
        let expected = Segment {
            seq: self.isn.wrapping_add(packet.seq),
            ack: if packet.flags & wire::tcp::flag::ACK != 0 {
                self.peer.wrapping_add(packet.ack)
            } else {
                0
            },
            flags: packet.flags,
            window: packet.window.unwrap_or(segment.window),
            options: packet
                .options
                .map_or(segment.options, |options| Options { sack: options.sack.map(sack), ..options }),
            payload: segment.payload,
        };
        let len = segment.payload.map_or(0, |payload| u32::from(payload.len));
        if (expected, packet.len) == (segment, len) {
            return Ok(());
        }
        let mut wanted = self.text(&expected);
        if packet.len != len {
            write!(wanted, " with {} bytes", packet.len).expect("a string");
        }
        Err(format!("{} left, not {wanted}", self.text(&segment)))
    }

    fn says(&mut self, text: &str, is: bool) -> Result<(), String> {
        match self.said.iter().position(|said| said == text) {
            Some(place) if is => {
                self.said.remove(place);
                Ok(())
            }
            None if is => Err(format!("{text:?} was not said, but {:?}", self.said)),
            Some(_) => Err(format!("{text:?} was said")),
            None => Ok(()),
        }
    }

    fn nothing_left(&self) -> Result<(), String> {
        match self.left.front() {
            Some((time, segment)) => Err(format!("{} left at {}", self.text(segment), seconds(*time))),
            None => Ok(()),
        }
    }

    /// A segment as scripts write it.
    fn text(&self, segment: &Segment) -> String {
        let bits = [
            ('S', wire::tcp::flag::SYN),
            ('F', wire::tcp::flag::FIN),
            ('R', wire::tcp::flag::RST),
            ('P', wire::tcp::flag::PSH),
            ('.', wire::tcp::flag::ACK),
        ];
        let bits: String =
            bits.iter().filter(|(_, bit)| segment.flags & bit != 0).map(|(name, _)| *name).collect();
        let seq = segment.seq.wrapping_sub(self.isn);
        let len = segment.payload.map_or(0, |payload| u32::from(payload.len));
        let mut text = format!("{bits} {seq}:{}({len})", seq.wrapping_add(len));
        if segment.flags & wire::tcp::flag::ACK != 0 {
            write!(text, " ack {}", segment.ack.wrapping_sub(self.peer)).expect("a string");
        }
        write!(text, " win {}", segment.window).expect("a string");
        if segment.options != Options::default() {
            write!(text, " {:?}", segment.options).expect("a string");
        }
        text
    }
}

fn seconds(us: u64) -> String {
    format!("{}.{:06} s", us / 1_000_000, us % 1_000_000)
}

fn scripts() -> Vec<(String, String)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let files = std::fs::read_dir(folder).expect("scripts").map(|file| file.expect("a file").path());
    // Those in the folder `peer` are for the kernel.
    let mut files: Vec<_> = files.filter(|path| path.is_file()).collect();
    files.sort();
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).expect("a script"))
    };
    files.into_iter().map(read).collect()
}

#[test]
fn every_script_goes_as_it_says() {
    let scripts = scripts();
    assert!(scripts.len() >= 60, "{} scripts", scripts.len());
    let wrong =
        scripts.iter().filter_map(|(name, text)| run(text).err().map(|error| format!("{name}:{error}")));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} scripts fail:\n{}", wrong.len(), wrong.join("\n"));
}

/// Numbers of both sides that wrap, or change sign, within the script: it goes the same way.
#[test]
fn every_script_goes_the_same_way_wherever_the_numbers_wrap() {
    for (name, text) in scripts() {
        for (isn, peer) in
            [(u32::MAX, u32::MAX), (u32::MAX - 150, u32::MAX - 2000), (0x7fff_ffff, 0x7fff_fff0)]
        {
            if text.contains("set isn") || text.contains("set peer") {
                continue;
            }
            let moved = text.replacen('\n', &format!("\nset isn {isn}\nset peer {peer}\n"), 1);
            run(&moved).unwrap_or_else(|error| panic!("{name} from {isn} and {peer}:{error}"));
        }
    }
}

const OPEN: &str = "// RFC 9293 3.5: a handshake\n\
    +0 open(1000)\n\
    +0 > S 0:0(0) win 65535 <mss 1460,wscale 0>\n\
    +0.03 < S. 0:0(0) ack 1 win 8192 <mss 1460>\n\
    +0 > . 1:1(0) ack 1\n";

#[test]
fn what_is_not_in_the_language_is_refused_with_its_place() {
    for (line, error) in [
        ("0.1 > . 1:1(0) ack 1", "6:1: a time comes first: +SECONDS"),
        ("+0 listen", "6:4: nothing is called \"listen\""),
        ("+0 > . 1:1(1) ack 1", "6:10: 1 and 1 bytes end at 2"),
        ("+0 > . 1:1(0)", "6:14: ack N stands with the bit '.', and only then"),
        ("+0 > S 1:1(0) ack 1", "6:15: ack N stands with the bit '.', and only then"),
        ("+0 > .. 1:1(0) ack 1", "6:6: '.' stands twice"),
        ("+0 > E. 1:1(0) ack 1", "6:6: bits are S, F, R, P and '.', or '-' for none, not \"E.\""),
        ("+0 < . 1:1(0) ack 1", "6:20: what arrives has a window: win N"),
        ("+0 < . 1:1(0) ack 1 win 65536", "6:25: the number has more than 16 bits"),
        ("+0 < . 1:1(0) ack 1 win 9 <echo 1>", "6:28: no option is called \"echo\""),
        ("+0 < . 1:1(0) ack 1 win 9 <...>", "6:28: no option is called \"\""),
        ("+0 < . 1:1(0) ack 1 win 9 <mss 1 nop>", "6:34: \",\" is missing"),
        ("+0 < . 1:1(0) ack 4294967296 win 9", "6:19: a number of at most 32 bits is missing"),
        ("+0.1234567 quiet", "6:2: a time is seconds, with at most six places"),
        ("+0~0.1 quiet", "6:8: only what leaves has a tolerance"),
        ("+0 send(100", "6:12: \")\" is missing"),
        ("+0 send(100) now", "6:14: unexpected: now"),
        ("+0 notice sad", "6:11: no notice is called \"sad\""),
        ("+0 notice data 0", "6:17: data has 2 values"),
        ("+0 state OPEN", "6:10: no state is called \"OPEN\""),
        ("+0 icmp odd 1", "6:9: ICMP is hard, soft or mtu, not \"odd\""),
        ("set burst 4", "6:5: settings stand before the first event"),
    ] {
        let found = run(&format!("{OPEN}{line}\n")).expect_err(line);
        assert_eq!(found.to_string(), error, "{line}");
    }
    assert_eq!(run("+0 open\n").unwrap_err().to_string().split_once(": ").expect("a place").0, "1:1");
    let unknown = run("// RFC 1: x\nset size 4\n").unwrap_err();
    assert_eq!(unknown.to_string(), "2:5: no setting is called \"size\"");
}

#[test]
fn a_script_that_does_not_go_as_it_says_fails_and_says_how() {
    let sent = "+0 send(100)\n";
    for (lines, error) in [
        ("+0 > . 1:1(0) ack 1", "6:1: nothing left until 0.030000 s"),
        (sent, "6:1: P. 1:101(100) ack 1 win 65535 left at 0.030000 s"),
        ("+0 send(100)\n+1 < . 1:1(0) ack 1 win 9", "7:1: P. 1:101(100) ack 1 win 65535 left at 0.030000 s"),
        ("+0 send(100)\n+1 quiet", "7:1: P. 1:101(100) ack 1 win 65535 left at 0.030000 s"),
        (
            "+0 send(100)\n+0 > . 1:101(100) ack 1",
            "7:1: P. 1:101(100) ack 1 win 65535 left, not . 1:101(100) ack 1 win 65535",
        ),
        (
            "+0 send(100)\n+0 > P. 1:100(99) ack 1",
            "7:1: P. 1:101(100) ack 1 win 65535 left, not P. 1:101(100) ack 1 win 65535 with 99 bytes",
        ),
        (
            "+0 send(100)\n+0 > P. 2:102(100) ack 1",
            "7:1: P. 1:101(100) ack 1 win 65535 left, not P. 2:102(100) ack 1 win 65535",
        ),
        (
            "+0 send(100)\n+0 > P. 1:101(100) ack 2",
            "7:1: P. 1:101(100) ack 1 win 65535 left, not P. 1:101(100) ack 2 win 65535",
        ),
        (
            "+0 send(100)\n+0 > P. 1:101(100) ack 1 win 1",
            "7:1: P. 1:101(100) ack 1 win 65535 left, not P. 1:101(100) ack 1 win 1",
        ),
        (
            "+0 send(100)\n+0.001 > P. 1:101(100) ack 1",
            "7:1: P. 1:101(100) ack 1 win 65535 left at 0.030000 s, not at 0.031000 s",
        ),
        (
            "+0 send(100)\n+0 > P. 1:101(100) ack 1\n+0.229~0.0009 > P. 1:101(100) ack 1",
            "8:1: nothing left until 0.259900 s",
        ),
        (
            "+0 send(100)\n+0 > P. 1:101(100) ack 1\n+0.231~0.0009 > P. 1:101(100) ack 1",
            "8:1: P. 1:101(100) ack 1 win 65535 left at 0.260000 s, not at 0.261000 s",
        ),
        ("+0 notice acked", "6:1: \"acked\" was not said, but [\"rtt 30000\", \"connected 1460\"]"),
        ("+0 no notice connected 1460", "6:1: \"connected 1460\" was said"),
        ("+0 state CLOSED", "6:1: the state is ESTABLISHED, not CLOSED"),
    ] {
        let found = run(&format!("{OPEN}{lines}\n")).expect_err(lines);
        assert_eq!(found.to_string(), error, "{lines}");
    }
    let wrong = OPEN.replace("wscale 0", "wscale 1");
    assert!(run(&wrong).unwrap_err().what.contains("shift: Some(0)"), "options are compared");
    // And the same within what it allows.
    let near = "+0 send(100)\n+0 > P. 1:101(100) ack 1\n+0.231~0.001 > P. 1:101(100) ack 1";
    run(&format!("{OPEN}{near}\n")).expect("a tolerance that is stated");
}
