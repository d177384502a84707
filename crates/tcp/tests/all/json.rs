//! Records, events, segments and notices as the vectors write them. What is not there is zero.

use crate::script::STATES;
use serde_json::{Value, json};
use tcp::{
    Arrived, Cause, Dropped, Event, Exponents, Flags, Further, Micros, Millis, Notice, Options, Path, Record,
    Refusal, Segment, State,
};
use wire::tcp::flag;

fn number(of: &Value, name: &str) -> u64 {
    of.get(name).map_or(0, |value| value.as_u64().unwrap_or_else(|| panic!("{name}: {value} is no number")))
}

fn word(of: &Value, name: &str) -> u32 {
    u32::try_from(number(of, name)).expect("at most 32 bits")
}

fn half(of: &Value, name: &str) -> u16 {
    u16::try_from(number(of, name)).expect("at most 16 bits")
}

fn byte(of: &Value, name: &str) -> u8 {
    u8::try_from(number(of, name)).expect("at most 8 bits")
}

fn is(of: &Value, name: &str) -> bool {
    of.get(name).is_some_and(|value| value.as_bool().expect("true or false"))
}

pub fn state_name(state: State) -> &'static str {
    STATES.iter().find(|(_, other)| *other == state).expect("all states have a name").0
}

pub fn record(of: &Value) -> Record {
    let state = of["state"].as_str().expect("a state");
    let listed = of["flags"].as_array().expect("a list of flags");
    let flag = |name: &Value| {
        let known = Flags::ALL.iter().find(|(known, _)| Some(*known) == name.as_str());
        known.unwrap_or_else(|| panic!("no flag is called {name}")).1
    };
    Record {
        snd_una: word(of, "snd_una"),
        snd_wnd: word(of, "snd_wnd"),
        snd_wl1: word(of, "snd_wl1"),
        rcv_nxt: word(of, "rcv_nxt"),
        ooo_start: word(of, "ooo_start"),
        ooo_len: word(of, "ooo_len"),
        ts_recent: word(of, "ts_recent"),
        sent: Micros::from_wrapped(word(of, "sent")),
        deadline: Millis::from_wrapped(word(of, "deadline")),
        limit: Millis::from_wrapped(word(of, "limit")),
        ack_by: Millis::from_wrapped(word(of, "ack_by")),
        challenged: Millis::from_wrapped(word(of, "challenged")),
        left: half(of, "left"),
        in_flight: half(of, "in_flight"),
        mss: half(of, "mss"),
        unacked: half(of, "unacked"),
        flags: listed.iter().map(flag).fold(Flags::default(), Flags::with),
        state: STATES.iter().find(|(name, _)| *name == state).expect("a known state").1,
        incarnation: byte(of, "incarnation"),
        retries: byte(of, "retries"),
        exponents: Exponents::new(byte(of, "backoff"), byte(of, "shift")),
        wnd_log: byte(of, "wnd_log"),
    }
}

/// The intervals for which a record has no room.
pub fn further(of: &Value) -> Further {
    let mut further = Further::default();
    for interval in of.get("further").and_then(Value::as_array).into_iter().flatten() {
        let number = |at: usize| interval[at].as_u64().expect("a number") as u32;
        assert!(further.push(number(0), number(1)), "{of}: more intervals than there may be");
    }
    further
}

/// Whether the owner keeps further intervals.
pub fn keeps_further(path: Option<&Value>) -> bool {
    path.is_some_and(|path| number(path, "intervals") > 1)
}

pub fn path(of: Option<&Value>) -> Path {
    let mut path = Path::v4(1500);
    let Some(of) = of else { return path };
    for (name, _) in of.as_object().expect("an object") {
        match name.as_str() {
            "srtt" => path.srtt_us = word(of, name),
            "rttvar" => path.rttvar_us = word(of, name),
            "stamp_offset" => path.stamp_offset = word(of, name),
            "quarantine" => path.quarantine_ms = word(of, name),
            "mss" => path.mss = half(of, name),
            "send_mss" => path.send_mss = half(of, name),
            "default_mss" => path.default_mss = half(of, name),
            "burst" => path.burst = half(of, name),
            "shift" => path.shift = byte(of, name),
            "stamps" => path.stamps = is(of, name),
            "sack" => path.sack = is(of, name),
            "quick" => path.quick = is(of, name),
            // That of the owner.
            "intervals" => {}
            _ => panic!("no path has {name}"),
        }
    }
    path
}

const BITS: [(&str, u8); 5] =
    [("SYN", flag::SYN), ("FIN", flag::FIN), ("RST", flag::RST), ("PSH", flag::PSH), ("ACK", flag::ACK)];

fn bits(text: &str) -> u8 {
    let bit = |name: &str| BITS.iter().find(|(known, _)| *known == name).expect("a control bit").1;
    text.split('+').filter(|name| !name.is_empty()).map(bit).fold(0, |all, bit| all | bit)
}

fn pair(of: &Value, name: &str) -> Option<(u32, u32)> {
    let two = of.get(name)?;
    Some((two[0].as_u64()? as u32, two[1].as_u64()? as u32))
}

fn options(of: Option<&Value>) -> Options {
    let Some(of) = of else { return Options::default() };
    Options {
        mss: of.get("mss").map(|_| half(of, "mss")),
        shift: of.get("shift").map(|_| byte(of, "shift")),
        sack_permitted: is(of, "sack_permitted"),
        stamps: pair(of, "ts"),
        sack: pair(of, "sack"),
        ..Options::default()
    }
}

pub fn event(of: &Value) -> Event {
    let patience_ms = word(of, "patience");
    match of["kind"].as_str().expect("a kind") {
        "open" => Event::Open { isn: word(of, "isn"), patience_ms },
        "segment" => Event::Segment(Arrived {
            seq: word(of, "seq"),
            ack: word(of, "ack"),
            flags: bits(of["flags"].as_str().expect("control bits")),
            window: half(of, "window"),
            len: word(of, "len"),
            options: options(of.get("options")),
        }),
        "timer" => Event::Timer,
        "send" => Event::Send { len: half(of, "length"), close: is(of, "close"), patience_ms },
        "answered" => Event::Answered,
        "flush" => Event::Flush,
        "window" => Event::Window { open: is(of, "open") },
        "close" => Event::Close,
        "abort" => Event::Abort,
        "unreachable" => Event::Unreachable { hard: is(of, "hard"), seq: word(of, "seq") },
        "mtu" => Event::Mtu { mss: half(of, "mss"), seq: word(of, "seq") },
        other => panic!("no event is called {other}"),
    }
}

/// A segment that is sent, as the vectors write it: bits in a fixed order, options that are there.
pub fn segment(segment: &Segment) -> Value {
    let names = BITS.iter().filter(|(_, bit)| segment.flags & bit != 0).map(|(name, _)| *name);
    let mut made = json!({
        "flags": names.collect::<Vec<_>>().join("+"),
        "seq": segment.seq,
        "ack": segment.ack,
        "window": segment.window,
    });
    let mut options = json!({});
    if let Some(mss) = segment.options.mss {
        options["mss"] = json!(mss);
    }
    if let Some(shift) = segment.options.shift {
        options["shift"] = json!(shift);
    }
    if segment.options.sack_permitted {
        options["sack_permitted"] = json!(true);
    }
    if let Some((value, echo)) = segment.options.stamps {
        options["ts"] = json!([value, echo]);
    }
    let blocks = segment.options.sack.into_iter().chain(segment.options.further_blocks.into_iter().flatten());
    let edges: Vec<u32> = blocks.flat_map(|(left, right)| [left, right]).collect();
    if !edges.is_empty() {
        options["sack"] = json!(edges);
    }
    if options.as_object().is_some_and(|all| !all.is_empty()) {
        made["options"] = options;
    }
    if let Some(payload) = segment.payload {
        made["payload"] = json!([payload.before_end, payload.len]);
    }
    made
}

pub fn notice(notice: &Notice) -> Value {
    match notice {
        Notice::Connected { mss } => json!(["connected", mss]),
        Notice::Rtt { micros } => json!(["rtt", micros]),
        Notice::Acked => json!(["acked"]),
        Notice::Data { skip, len } => json!(["data", skip, len]),
        Notice::Early { skip, len } => json!(["early", skip, len]),
        Notice::Filled { len } => json!(["filled", len]),
        Notice::Ended => json!(["ended"]),
        Notice::Done => json!(["done"]),
        Notice::Failed(why) => json!(["failed", cause(*why)]),
        Notice::CutOff => json!(["cut_off"]),
        Notice::Closed(why) => json!(["closed", cause(*why)]),
        Notice::Quarantine { ms } => json!(["quarantine", ms]),
        Notice::Dropped(why) => json!(["dropped", dropped(*why)]),
        Notice::Refused(why) => json!(["refused_call", refusal(*why)]),
        Notice::Retransmitted => json!(["retransmitted"]),
        Notice::Slow => json!(["slow"]),
        Notice::Blocked => json!(["blocked"]),
        Notice::Unblocked => json!(["unblocked"]),
        Notice::Probed => json!(["probed"]),
        Notice::Challenged => json!(["challenged"]),
        Notice::ChallengeLimited => json!(["challenge_limited"]),
        Notice::SoftError => json!(["soft_error"]),
        Notice::MssLowered { mss } => json!(["mss_lowered", mss]),
    }
}

fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Refused => "refused",
        Cause::Reset => "reset",
        Cause::TimedOut => "timed_out",
        Cause::Unreachable => "unreachable",
        Cause::Aborted => "aborted",
        Cause::Finished => "finished",
    }
}

fn dropped(why: Dropped) -> &'static str {
    match why {
        Dropped::Stray => "stray",
        Dropped::Handshake => "handshake",
        Dropped::Paws => "paws",
        Dropped::Unstamped => "unstamped",
        Dropped::Outside => "outside",
        Dropped::Reset => "reset",
        Dropped::Syn => "syn",
        Dropped::NoAck => "no_ack",
        Dropped::UnsentAck => "unsent_ack",
        Dropped::OldAck => "old_ack",
        Dropped::Hole => "hole",
        Dropped::EarlyFin => "early_fin",
        Dropped::Late => "late",
        Dropped::Probe => "probe",
        Dropped::Icmp => "icmp",
    }
}

fn refusal(why: Refusal) -> &'static str {
    match why {
        Refusal::InUse => "in_use",
        Refusal::NotOpen => "not_open",
        Refusal::Busy => "busy",
        Refusal::Empty => "empty",
        Refusal::NothingAsked => "nothing_asked",
    }
}
