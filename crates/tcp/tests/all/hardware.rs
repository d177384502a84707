//! `hdl/session/session_step.sv` does what [`step`] does: the vectors and a million random events go through
//! both, and each bit of what comes out is compared. Needs the simulation (`make module-sim`).

use crate::json;
use crate::random::{burst, event, later};
use crate::specification::{SPEC, vectors};
use fastrand::Rng;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tcp::{
    Arrived, Cause, Dropped, Event, Flags, Notice, Options, Path, Record, Refusal, Segment, Step, Time, step,
};

const EVENTS: usize = if cfg!(debug_assertions) { 50_000 } else { 1_000_000 };
const SESSIONS: usize = 8;
/// More than this is a step that stands still.
const MOST_CYCLES: u32 = 20;
/// `Send`, from the cycle in which the event is there to the one in which the segment is: 112 ns at 125 MHz.
const MOST_TO_SEND: u32 = 14;

/// A packed struct: name, bits and value of each member, the highest first.
type Members = Vec<(&'static str, u32, u64)>;

/// As 32-bit words, the lowest bits first.
fn packed(members: &Members) -> Vec<u32> {
    let bits: u32 = members.iter().map(|(_, bits, _)| bits).sum();
    let mut words = vec![0u32; bits.div_ceil(32) as usize];
    let mut at = bits;
    for &(name, bits, value) in members {
        assert!(bits == 64 || value >> bits == 0, "{name}: {value} has more than {bits} bits");
        at -= bits;
        for bit in (0..bits).filter(|bit| value >> bit & 1 == 1) {
            words[((at + bit) / 32) as usize] |= 1 << ((at + bit) % 32);
        }
    }
    words
}

/// The members that differ: what should be, and what is.
fn differences(should: &Members, words: &[u32]) -> Vec<String> {
    let mut at: u32 = should.iter().map(|(_, bits, _)| bits).sum();
    let mut wrong = Vec::new();
    for &(name, bits, value) in should {
        at -= bits;
        let bit = |bit: u32| u64::from(words[((at + bit) / 32) as usize] >> ((at + bit) % 32) & 1) << bit;
        let is = (0..bits).map(bit).sum::<u64>();
        if is != value {
            wrong.push(format!("{name}: {value:#x}, not {is:#x}"));
        }
    }
    wrong
}

/// In the order of the specification, from which the struct is made.
fn of_record(r: &Record) -> Members {
    let flags = Flags::ALL.iter().enumerate().map(|(bit, (_, flag))| u64::from(r.has(*flag)) << bit).sum();
    let value = |name: &str| match name {
        "snd_una" => r.snd_una.into(),
        "snd_wnd" => r.snd_wnd.into(),
        "snd_wl1" => r.snd_wl1.into(),
        "rcv_nxt" => r.rcv_nxt.into(),
        "ooo_start" => r.ooo_start.into(),
        "ooo_len" => r.ooo_len.into(),
        "ts_recent" => r.ts_recent.into(),
        "sent" => r.sent.as_wrapped().into(),
        "deadline" => r.deadline.as_wrapped().into(),
        "limit" => r.limit.as_wrapped().into(),
        "ack_by" => r.ack_by.as_wrapped().into(),
        "challenged" => r.challenged.as_wrapped().into(),
        "left" => r.left.into(),
        "in_flight" => r.in_flight.into(),
        "mss" => r.mss.into(),
        "unacked" => r.unacked.into(),
        "flags" => flags,
        "state" => r.state as u64,
        "incarnation" => r.incarnation.into(),
        "retries" => r.retries.into(),
        "backoff" => r.backoff().into(),
        "shift" => r.shift().into(),
        "wnd_log" => r.wnd_log.into(),
        _ => panic!("no record has {name}"),
    };
    let fields = SPEC["field"].as_array().expect("fields").iter();
    fields
        .map(|field| {
            let name = field["name"].as_str().expect("a name");
            (name, field["bits"].as_integer().expect("bits") as u32, value(name))
        })
        .collect()
}

fn of_options(o: &Options) -> [(bool, u64); 4] {
    [
        (o.mss.is_some(), o.mss.unwrap_or(0).into()),
        (o.shift.is_some(), o.shift.unwrap_or(0).into()),
        (o.stamps.is_some(), o.stamps.map_or(0, |(value, echo)| u64::from(value) << 32 | u64::from(echo))),
        (o.sack.is_some(), o.sack.map_or(0, |(left, right)| u64::from(left) << 32 | u64::from(right))),
    ]
}

fn of_event(event: &Event) -> Members {
    let mut segment = Arrived::default();
    let (mut on, mut patience) = (false, 0);
    let kind = match *event {
        Event::Open { isn, patience_ms } => {
            (segment.seq, patience) = (isn, patience_ms);
            0
        }
        Event::Segment(arrived) => {
            segment = arrived;
            1
        }
        Event::Timer => 2,
        Event::Send { len, close, patience_ms } => {
            (segment.len, on, patience) = (len.into(), close, patience_ms);
            3
        }
        Event::Answered => 4,
        Event::Flush => 5,
        Event::Window { open } => {
            on = open;
            6
        }
        Event::Close => 7,
        Event::Abort => 8,
        Event::Unreachable { hard, seq } => {
            (on, segment.seq) = (hard, seq);
            9
        }
        Event::Mtu { mss, seq } => {
            (segment.len, segment.seq) = (mss.into(), seq);
            10
        }
    };
    let [mss, shift, stamps, sack] = of_options(&segment.options);
    vec![
        ("kind", 4, kind),
        ("seq", 32, segment.seq.into()),
        ("ack", 32, segment.ack.into()),
        ("control", 8, segment.flags.into()),
        ("window", 16, segment.window.into()),
        ("len", 16, segment.len.into()),
        ("on", 1, on.into()),
        ("patience", 32, patience.into()),
        ("has_mss", 1, mss.0.into()),
        ("mss", 16, mss.1),
        ("has_shift", 1, shift.0.into()),
        ("shift", 8, shift.1),
        ("sack_permitted", 1, segment.options.sack_permitted.into()),
        ("stamped", 1, stamps.0.into()),
        ("stamps", 64, stamps.1),
        ("has_sack", 1, sack.0.into()),
        ("sack_right", 32, sack.1 & 0xffff_ffff),
    ]
}

fn of_path(path: &Path) -> Members {
    vec![
        ("sampled", 1, (path.srtt_us != 0).into()),
        ("rto", 17, path.rto_ms(false).into()),
        ("stamp_offset", 32, path.stamp_offset.into()),
        ("quarantine", 32, path.quarantine_ms.into()),
        ("mss", 16, path.mss.into()),
        ("send_mss", 16, path.send_mss.into()),
        ("default_mss", 16, path.default_mss.into()),
        ("burst", 16, path.burst.into()),
        ("shift", 4, path.shift.into()),
        ("stamps", 1, path.stamps.into()),
        ("sack", 1, path.sack.into()),
        ("quick", 1, path.quick.into()),
    ]
}

fn of_time(now: Time) -> Members {
    vec![
        ("micros", 32, now.micros().as_wrapped().into()),
        ("millis", 32, now.millis().as_wrapped().into()),
        ("part", 1, (!now.as_micros().is_multiple_of(1000)).into()),
    ]
}

fn of_segment(segment: Option<&Segment>) -> Members {
    let none = Options::default();
    let [mss, shift, stamps, sack] = of_options(segment.map_or(&none, |segment| &segment.options));
    let number = |of: fn(&Segment) -> u64| segment.map_or(0, of);
    vec![
        ("valid", 1, segment.is_some().into()),
        ("seq", 32, number(|segment| segment.seq.into())),
        ("ack", 32, number(|segment| segment.ack.into())),
        ("control", 8, number(|segment| segment.flags.into())),
        ("window", 16, number(|segment| segment.window.into())),
        ("has_mss", 1, mss.0.into()),
        ("mss", 16, mss.1),
        ("has_shift", 1, shift.0.into()),
        ("shift", 4, shift.1),
        ("sack_permitted", 1, number(|segment| segment.options.sack_permitted.into())),
        ("stamped", 1, stamps.0.into()),
        ("stamps", 64, stamps.1),
        ("has_sack", 1, sack.0.into()),
        ("sack", 64, sack.1),
        ("before_end", 16, number(|segment| segment.payload.map_or(0, |payload| payload.before_end.into()))),
        ("len", 16, number(|segment| segment.payload.map_or(0, |payload| payload.len.into()))),
    ]
}

fn of_cause(cause: Cause) -> u64 {
    let all =
        [Cause::Refused, Cause::Reset, Cause::TimedOut, Cause::Unreachable, Cause::Aborted, Cause::Finished];
    all.iter().position(|other| *other == cause).expect("a cause") as u64 + 1
}

fn of_dropped(dropped: Dropped) -> u64 {
    let all = [
        Dropped::Stray,
        Dropped::Handshake,
        Dropped::Paws,
        Dropped::Unstamped,
        Dropped::Outside,
        Dropped::Reset,
        Dropped::Syn,
        Dropped::NoAck,
        Dropped::UnsentAck,
        Dropped::OldAck,
        Dropped::Hole,
        Dropped::EarlyFin,
        Dropped::Late,
        Dropped::Probe,
        Dropped::Icmp,
    ];
    all.iter().position(|other| *other == dropped).expect("a reason") as u64 + 1
}

fn of_refusal(refusal: Refusal) -> u64 {
    let all = [Refusal::InUse, Refusal::NotOpen, Refusal::Busy, Refusal::Empty, Refusal::NothingAsked];
    all.iter().position(|other| *other == refusal).expect("a refusal") as u64 + 1
}

/// The hardware has a place for each notice instead of a list. A range is `skip` and `len`, 16 bits each.
fn of_notices(before: &Record, event: &Event, made: &Step) -> Members {
    let mut members: Members = [
        ("connected", 1),
        ("mss", 16),
        ("rtt", 1),
        ("micros", 32),
        ("acked", 1),
        ("early", 32),
        ("early_after", 32),
        ("data", 32),
        ("filled", 1),
        ("filled_len", 30),
        ("data_after", 32),
        ("ended", 1),
        ("done", 1),
        ("failed", 3),
        ("cut_off", 1),
        ("closed", 3),
        ("quarantine", 1),
        ("dropped", 4),
        ("refused", 3),
        ("retransmitted", 1),
        ("slow", 1),
        ("blocked", 1),
        ("unblocked", 1),
        ("probed", 1),
        ("challenged", 1),
        ("challenge_limited", 1),
        ("soft_error", 1),
        ("mss_lowered", 1),
    ]
    .map(|(name, bits)| (name, bits, 0))
    .to_vec();
    let mut put = |name: &str, value: u64| {
        let member = members.iter_mut().find(|(other, ..)| *other == name).expect("a notice");
        assert_eq!(member.2, 0, "{name} twice in a step: {:?}", made.notices);
        member.2 = value;
    };
    let mut filled = false;
    for notice in made.notices.iter() {
        match *notice {
            Notice::Connected { mss } => {
                put("connected", 1);
                put("mss", mss.into());
            }
            Notice::Rtt { micros } => {
                put("rtt", 1);
                put("micros", micros.into());
            }
            Notice::Acked => put("acked", 1),
            Notice::Data { skip, len } => {
                put(if filled { "data_after" } else { "data" }, u64::from(skip) << 16 | u64::from(len));
            }
            Notice::Early { skip, len } => {
                let Event::Segment(segment) = event else { panic!("text without a segment") };
                let behind = before.ooo_start.wrapping_add(before.ooo_len);
                let after = before.ooo_len > 0 && segment.seq.wrapping_add(skip) == behind;
                put(if after { "early_after" } else { "early" }, u64::from(skip) << 16 | u64::from(len));
            }
            Notice::Filled { len } => {
                filled = true;
                put("filled", 1);
                put("filled_len", len.into());
            }
            Notice::Ended => put("ended", 1),
            Notice::Done => put("done", 1),
            Notice::Failed(cause) => put("failed", of_cause(cause)),
            Notice::CutOff => put("cut_off", 1),
            Notice::Closed(cause) => put("closed", of_cause(cause)),
            Notice::Quarantine { .. } => put("quarantine", 1),
            Notice::Dropped(why) => put("dropped", of_dropped(why)),
            Notice::Refused(why) => put("refused", of_refusal(why)),
            Notice::Retransmitted => put("retransmitted", 1),
            Notice::Slow => put("slow", 1),
            Notice::Blocked => put("blocked", 1),
            Notice::Unblocked => put("unblocked", 1),
            Notice::Probed => put("probed", 1),
            Notice::Challenged => put("challenged", 1),
            Notice::ChallengeLimited => put("challenge_limited", 1),
            Notice::SoftError => put("soft_error", 1),
            Notice::MssLowered { mss } => {
                put("mss_lowered", 1);
                put("mss", mss.into());
            }
        }
    }
    members
}

/// One step, as both do it.
struct Case {
    name: String,
    path: Path,
    before: Record,
    event: Event,
    now: Time,
}

/// The simulated hardware.
struct Hardware(Child);

impl Hardware {
    fn start() -> Option<Self> {
        let own = std::env::current_exe().expect("a running test knows its file");
        let target = own.ancestors().nth(3).expect("target/release/deps/x");
        let program: PathBuf = target.join("module-sim/tare-session-step");
        if !program.exists() {
            println!("SKIPPED: {} is not there: make module-sim", program.display());
            return None;
        }
        let mut command = Command::new(program);
        Some(Self(
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the simulation starts"),
        ))
    }

    /// Holds each case against the crate; the most cycles of a step, and of one that sends a request.
    fn agrees_in(&mut self, cases: &[Case]) -> (u32, u32) {
        let child = &mut self.0;
        let mut input = BufWriter::with_capacity(1 << 16, child.stdin.take().expect("a pipe"));
        let mut output = BufReader::with_capacity(1 << 16, child.stdout.take().expect("a pipe"));
        let (mut most, mut most_to_send) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for case in cases {
                    for members in [
                        of_record(&case.before),
                        of_event(&case.event),
                        of_path(&case.path),
                        of_time(case.now),
                    ] {
                        for word in packed(&members) {
                            if input.write_all(&word.to_ne_bytes()).is_err() {
                                return;
                            }
                        }
                    }
                }
            });
            for case in cases {
                let made = step(&case.path, case.before, case.event, case.now);
                let should = [
                    of_record(&made.record),
                    of_segment(made.segment.as_ref()),
                    of_notices(&case.before, &case.event, &made),
                ];
                let mut wrong = Vec::new();
                for members in &should {
                    let bits: u32 = members.iter().map(|(_, bits, _)| bits).sum();
                    let words: Vec<u32> = (0..bits.div_ceil(32)).map(|_| word(&mut output)).collect();
                    wrong.extend(differences(members, &words));
                }
                if !wrong.is_empty() {
                    // Else the other thread would wait for ever for the simulation to read.
                    let _ = child.kill();
                    let Case { name, path, before, event, now } = case;
                    panic!(
                        "{name}\n  from {before:?}\n  on {event:?} at {now:?} with {path:?}\n  made {made:?}\n  \
                         but the hardware says {wrong:#?}"
                    );
                }
                let cycles = word(&mut output);
                most = most.max(cycles);
                if matches!(case.event, Event::Send { .. }) {
                    most_to_send = most_to_send.max(cycles);
                }
            }
        });
        (most, most_to_send)
    }
}

impl Drop for Hardware {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn word(from: &mut impl Read) -> u32 {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes).expect("the simulation answers");
    u32::from_ne_bytes(bytes)
}

#[test]
fn the_hardware_does_what_the_vectors_say() {
    let Some(mut hardware) = Hardware::start() else { return };
    let cases: Vec<Case> = vectors()
        .into_iter()
        // The hardware keeps one interval, as `step` does.
        .filter(|vector: &serde_json::Value| vector["path"]["intervals"].as_u64().unwrap_or(1) == 1)
        .map(|vector| Case {
            name: vector["name"].to_string(),
            path: json::path(vector.get("path")),
            before: json::record(&vector["record"]),
            event: json::event(&vector["event"]),
            now: Time::from_micros(vector["now"].as_u64().expect("a time")),
        })
        .collect();
    assert!(cases.len() >= 400);
    hardware.agrees_in(&cases);
}

#[test]
fn the_hardware_agrees_in_a_million_random_events() {
    let Some(mut hardware) = Hardware::start() else { return };
    let mut random = Rng::with_seed(1);
    let mut path = Path::v4(1500);
    let mut sessions = [Record::default(); SESSIONS];
    let mut now_us = 1_000_000;
    let mut cases = Vec::with_capacity(EVENTS);
    for number in 0..EVENTS {
        now_us = later(&mut random, now_us);
        path.burst = burst(&mut random);
        path.quick = random.bool();
        let session = &mut sessions[random.usize(..SESSIONS)];
        let (before, now) = (*session, Time::from_micros(now_us));
        let event = event(&mut random, &before);
        let made = step(&path, before, event, now);
        *session = made.record;
        cases.push(Case { name: format!("event {number}"), path, before, event, now });
        for notice in made.notices.iter() {
            if let Notice::Rtt { micros } = notice {
                path.sample(*micros);
            }
        }
    }
    let (most, most_to_send) = hardware.agrees_in(&cases);
    println!("at most {most} cycles, {most_to_send} for a request");
    assert!(most <= MOST_CYCLES, "a step takes {most} cycles");
    assert!(most_to_send <= MOST_TO_SEND, "a request takes {most_to_send} cycles");
}
