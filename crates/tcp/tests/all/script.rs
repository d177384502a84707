//! The language of the scripts: a subset of packetdrill's, with calls of a record's owner instead of system
//! calls. Anything that is not in this table is refused.
//!
//! ```text
//! // RFC 9293 3.10.7.4: ...   what the script follows; the first line
//! set burst 4                 burst, mtu, wscale, rtt (ms); stamps, sack (no value); isn, peer: first numbers
//! +0.1 < P. 1:101(100) ack 1 win 8192 <mss 1460,nop,wscale 7,sackOK,TS val 1 ecr 2,sack 1:9>
//! +0.1 > . 1:1(0) ack 101     leaves exactly then; numbers count from the first ones. Without <> it has no
//!                             options, <...> are any, and without win the window is any
//! +0.23~0.001 > P. 1:101(100) ack 1
//!                             leaves within a millisecond of then
//! +0 open(5000)               patience in ms; send(LENGTH), send(LENGTH,close), send(LENGTH,close,5000);
//!                             answered, close, abort, pause, resume; icmp hard SEQ, icmp soft SEQ,
//!                             icmp mtu MSS SEQ
//! +0 notice data 0 100        was said since the last call or arrival; no notice: was not
//! +0 state ESTABLISHED
//! +5 quiet                    nothing leaves until then
//! ```

use std::fmt;
use tcp::{Options, State};
use wire::tcp::flag;

pub const STATES: [(&str, State); 8] = [
    ("CLOSED", State::Closed),
    ("SYN_SENT", State::SynSent),
    ("ESTABLISHED", State::Established),
    ("FIN_WAIT_1", State::FinWait1),
    ("FIN_WAIT_2", State::FinWait2),
    ("CLOSING", State::Closing),
    ("LAST_ACK", State::LastAck),
    ("TIME_WAIT", State::TimeWait),
];

/// Names of notices, and how many values follow.
pub const NOTICES: [(&str, usize); 23] = [
    ("connected", 1),
    ("rtt", 1),
    ("acked", 0),
    ("data", 2),
    ("early", 2),
    ("filled", 1),
    ("ended", 0),
    ("done", 0),
    ("failed", 1),
    ("cut_off", 0),
    ("closed", 1),
    ("quarantine", 1),
    ("dropped", 1),
    ("refused_call", 1),
    ("retransmitted", 0),
    ("slow", 0),
    ("blocked", 0),
    ("unblocked", 0),
    ("probed", 0),
    ("challenged", 0),
    ("challenge_limited", 0),
    ("soft_error", 0),
    ("mss_lowered", 1),
];

/// What is wrong, and where: line and column count from 1.
#[derive(Debug, PartialEq, Eq)]
pub struct ScriptError {
    pub line: usize,
    pub column: usize,
    pub what: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.what)
    }
}

#[derive(Debug)]
pub struct Script {
    pub settings: Vec<(String, u32)>,
    pub lines: Vec<Line>,
}

#[derive(Debug)]
pub struct Line {
    pub number: usize,
    /// After the line before.
    pub after_us: u64,
    pub tolerance_us: u64,
    pub what: What,
}

#[derive(Debug)]
pub enum What {
    Arrives(Packet),
    Leaves(Packet),
    Calls(Call),
    Says { text: String, is: bool },
    State(State),
    Quiet,
}

/// A segment with numbers that count from the first ones of their side.
#[derive(Debug)]
pub struct Packet {
    pub flags: u8,
    pub seq: u32,
    pub len: u32,
    pub ack: u32,
    pub window: Option<u16>,
    /// `None`: any.
    pub options: Option<Options>,
}

#[derive(Clone, Copy, Debug)]
pub enum Call {
    Open { patience_ms: u32 },
    Send { len: u16, close: bool, patience_ms: u32 },
    Answered,
    Close,
    Abort,
    Window { open: bool },
    Unreachable { hard: bool, seq: u32 },
    Mtu { mss: u16, seq: u32 },
}

const SETTINGS: [(&str, bool); 8] = [
    ("burst", true),
    ("mtu", true),
    ("wscale", true),
    ("rtt", true),
    ("isn", true),
    ("peer", true),
    ("stamps", false),
    ("sack", false),
];

pub fn parse(text: &str) -> Result<Script, ScriptError> {
    let mut script = Script { settings: Vec::new(), lines: Vec::new() };
    if !text.starts_with("// RFC ") {
        return Err(
            Cursor::of(1, text).error("the first line says which RFC and section: // RFC 9293 3.4: ...")
        );
    }
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.split_once("//").map_or(line, |(code, _)| code);
        let mut cursor = Cursor::of(number, code);
        if cursor.is_over() {
            continue;
        }
        if cursor.takes("set ") {
            if !script.lines.is_empty() {
                return Err(cursor.error("settings stand before the first event"));
            }
            script.settings.push(setting(&mut cursor)?);
        } else {
            script.lines.push(event(&mut cursor)?);
        }
        if !cursor.is_over() {
            return Err(cursor.error(&format!("unexpected: {}", cursor.rest())));
        }
    }
    Ok(script)
}

fn setting(cursor: &mut Cursor<'_>) -> Result<(String, u32), ScriptError> {
    let at = cursor.here();
    let name = cursor.word();
    let Some((_, valued)) = SETTINGS.iter().find(|(known, _)| *known == name) else {
        return Err(at.error(&format!("no setting is called {name:?}")));
    };
    Ok((name.into(), if *valued { cursor.number()? } else { 1 }))
}

fn event(cursor: &mut Cursor<'_>) -> Result<Line, ScriptError> {
    if !cursor.takes("+") {
        return Err(cursor.error("a time comes first: +SECONDS"));
    }
    let after_us = cursor.time()?;
    let tolerance_us = if cursor.takes("~") { cursor.time()? } else { 0 };
    let number = cursor.line;
    let at = cursor.here();
    let what = if cursor.takes("<") {
        What::Arrives(packet(cursor, true)?)
    } else if cursor.takes(">") {
        What::Leaves(packet(cursor, false)?)
    } else {
        match cursor.word() {
            "notice" => What::Says { text: notice(cursor)?, is: true },
            "no" if cursor.word() == "notice" => What::Says { text: notice(cursor)?, is: false },
            "state" => What::State(state(cursor)?),
            "quiet" => What::Quiet,
            name => What::Calls(call(cursor, &at, name)?),
        }
    };
    if tolerance_us > 0 && !matches!(what, What::Leaves(_)) {
        return Err(at.error("only what leaves has a tolerance"));
    }
    Ok(Line { number, after_us, tolerance_us, what })
}

fn call(cursor: &mut Cursor<'_>, at: &Cursor<'_>, name: &str) -> Result<Call, ScriptError> {
    Ok(match name {
        "open" => {
            let limited = cursor.takes("(");
            let patience_ms = if limited { cursor.number()? } else { 0 };
            if limited {
                cursor.must(")")?;
            }
            Call::Open { patience_ms }
        }
        "send" => {
            cursor.must("(")?;
            let len = cursor.half()?;
            let close = cursor.takes(",close");
            let patience_ms = if cursor.takes(",") { cursor.number()? } else { 0 };
            cursor.must(")")?;
            Call::Send { len, close, patience_ms }
        }
        "answered" => Call::Answered,
        "close" => Call::Close,
        "abort" => Call::Abort,
        "pause" => Call::Window { open: false },
        "resume" => Call::Window { open: true },
        "icmp" => {
            let at = cursor.here();
            match cursor.word() {
                kind @ ("hard" | "soft") => Call::Unreachable { hard: kind == "hard", seq: cursor.number()? },
                "mtu" => Call::Mtu { mss: cursor.half()?, seq: cursor.number()? },
                kind => return Err(at.error(&format!("ICMP is hard, soft or mtu, not {kind:?}"))),
            }
        }
        _ => return Err(at.error(&format!("nothing is called {name:?}"))),
    })
}

fn notice(cursor: &mut Cursor<'_>) -> Result<String, ScriptError> {
    let at = cursor.here();
    let name = cursor.word();
    let Some((_, count)) = NOTICES.iter().find(|(known, _)| *known == name) else {
        return Err(at.error(&format!("no notice is called {name:?}")));
    };
    let mut text = name.to_owned();
    for _ in 0..*count {
        let value = cursor.word();
        if value.is_empty() {
            return Err(cursor.error(&format!("{name} has {count} values")));
        }
        text = text + " " + value;
    }
    Ok(text)
}

fn state(cursor: &mut Cursor<'_>) -> Result<State, ScriptError> {
    let at = cursor.here();
    let name = cursor.word();
    let known = STATES.iter().find(|(known, _)| *known == name);
    known.map(|(_, state)| *state).ok_or_else(|| at.error(&format!("no state is called {name:?}")))
}

fn packet(cursor: &mut Cursor<'_>, arrives: bool) -> Result<Packet, ScriptError> {
    let flags = bits(cursor)?;
    let seq = cursor.number()?;
    cursor.must(":")?;
    let at = cursor.here();
    let end = cursor.number()?;
    cursor.must("(")?;
    let len = cursor.number()?;
    cursor.must(")")?;
    if end != seq.wrapping_add(len) {
        return Err(at.error(&format!("{seq} and {len} bytes end at {}", seq.wrapping_add(len))));
    }
    let at = cursor.here();
    let acks = cursor.takes("ack ");
    if acks != (flags & flag::ACK != 0) {
        return Err(at.error("ack N stands with the bit '.', and only then"));
    }
    let ack = if acks { cursor.number()? } else { 0 };
    let window = if cursor.takes("win ") { Some(cursor.half()?) } else { None };
    if arrives && window.is_none() {
        return Err(cursor.error("what arrives has a window: win N"));
    }
    let options = match cursor.takes("<") {
        true if !arrives && cursor.takes("...>") => None,
        true => Some(options(cursor)?),
        false => Some(Options::default()),
    };
    Ok(Packet { flags, seq, len, ack, window, options })
}

fn bits(cursor: &mut Cursor<'_>) -> Result<u8, ScriptError> {
    let at = cursor.here();
    let text = cursor.until_space();
    if text == "-" {
        return Ok(0);
    }
    let mut bits = 0;
    for letter in text.chars() {
        let bit = match letter {
            'S' => flag::SYN,
            'F' => flag::FIN,
            'R' => flag::RST,
            'P' => flag::PSH,
            '.' => flag::ACK,
            _ => return Err(at.error(&format!("bits are S, F, R, P and '.', or '-' for none, not {text:?}"))),
        };
        if bits & bit != 0 {
            return Err(at.error(&format!("{letter:?} stands twice")));
        }
        bits |= bit;
    }
    if bits == 0 { Err(at.error("bits are missing")) } else { Ok(bits) }
}

fn options(cursor: &mut Cursor<'_>) -> Result<Options, ScriptError> {
    let mut options = Options::default();
    loop {
        let at = cursor.here();
        match cursor.word() {
            "mss" => options.mss = Some(cursor.half()?),
            "wscale" => options.shift = Some(cursor.half()? as u8),
            "sackOK" => options.sack_permitted = true,
            "nop" => {}
            "sack" => {
                let left = cursor.number()?;
                cursor.must(":")?;
                options.sack = Some((left, cursor.number()?));
            }
            "TS" => {
                cursor.must("val ")?;
                let value = cursor.number()?;
                cursor.must("ecr ")?;
                options.stamps = Some((value, cursor.number()?));
            }
            name => return Err(at.error(&format!("no option is called {name:?}"))),
        }
        if cursor.takes(">") {
            return Ok(options);
        }
        cursor.must(",")?;
    }
}

/// A place in a line.
#[derive(Clone)]
struct Cursor<'a> {
    line: usize,
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn of(line: usize, text: &'a str) -> Self {
        Self { line, text: text.lines().next().unwrap_or("").trim_end(), at: 0 }
    }

    fn rest(&self) -> &'a str {
        self.text[self.at..].trim_start()
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().len();
    }

    fn is_over(&self) -> bool {
        self.rest().is_empty()
    }

    fn here(&mut self) -> Self {
        self.skip_space();
        self.clone()
    }

    fn error(&self, what: &str) -> ScriptError {
        let column = self.text.len() - self.rest().len() + 1;
        ScriptError { line: self.line, column, what: what.into() }
    }

    fn takes(&mut self, what: &str) -> bool {
        self.skip_space();
        let is = self.rest().starts_with(what);
        self.at += if is { what.len() } else { 0 };
        is
    }

    fn must(&mut self, what: &str) -> Result<(), ScriptError> {
        if self.takes(what) { Ok(()) } else { Err(self.error(&format!("{:?} is missing", what.trim()))) }
    }

    fn while_true(&mut self, is: impl Fn(char) -> bool) -> &'a str {
        self.skip_space();
        let rest = self.rest();
        let end = rest.find(|letter| !is(letter)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Letters, digits and underscores.
    fn word(&mut self) -> &'a str {
        self.while_true(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    }

    fn until_space(&mut self) -> &'a str {
        self.while_true(|letter| !letter.is_whitespace())
    }

    fn number(&mut self) -> Result<u32, ScriptError> {
        let at = self.here();
        let digits = self.while_true(|letter| letter.is_ascii_digit());
        digits.parse().map_err(|_| at.error("a number of at most 32 bits is missing"))
    }

    fn half(&mut self) -> Result<u16, ScriptError> {
        let at = self.here();
        u16::try_from(self.number()?).map_err(|_| at.error("the number has more than 16 bits"))
    }

    /// Seconds, with at most six places.
    fn time(&mut self) -> Result<u64, ScriptError> {
        let at = self.here();
        let text = self.while_true(|letter| letter.is_ascii_digit() || letter == '.');
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let micros = format!("{part:0<6}");
        let whole = whole.parse::<u32>().ok();
        match (whole, micros.parse::<u32>().ok().filter(|_| micros.len() == 6)) {
            (Some(whole), Some(micros)) => Ok(u64::from(whole) * 1_000_000 + u64::from(micros)),
            _ => Err(at.error("a time is seconds, with at most six places")),
        }
    }
}
