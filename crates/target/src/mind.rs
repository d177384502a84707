//! Deciding how a request is answered: the settings, what the request itself asks for, and the dice.
//!
//! A request's query overrides the settings: `delay size status chunked chunk trickle gap fault close seq`.
//! Paths with a meaning: `/echo`, `/redirect/N`, `/.tare/stats`, `/.tare/reset`. Every other path is answered
//! alike.

use crate::answer::{Answer, Body, Fault, Page};
use crate::config::{Faults, LARGEST_BODY, LONGEST_DELAY};
use crate::distribution::Distribution;
use crate::head::{Head, Method, number};
use crate::random::Random;
use crate::ring::{Producer, Record};
use crate::shared::Shared;
use crate::stats::{Counters, add};
use std::sync::Arc;
use units::{Bytes, Fraction, Picos};

const DEFAULT_CHUNK: u64 = 4_096;
const MOST_REDIRECTS: u64 = 1_000;

/// One worker's share of the truth: its dice, its counters, its way to the truth file.
pub(crate) struct Mind {
    pub shared: Arc<Shared>,
    pub random: Random,
    index: usize,
    records: Option<Producer>,
}

/// How a request will be answered, and when.
#[derive(Debug)]
pub(crate) struct Decision {
    pub answer: Answer,
    /// From the request being complete to the first byte.
    pub delay: Picos,
    /// Requests to the target about itself are neither delayed nor counted.
    pub counted: bool,
    pub seq: Option<u64>,
    /// The body is wanted for `/echo`.
    pub echo: bool,
}

impl Mind {
    pub fn new(shared: Arc<Shared>, index: usize, records: Option<Producer>) -> Self {
        let random = Random::new(shared.config.seed, index as u64);
        Self { shared, random, index, records }
    }

    pub fn counters(&self) -> &Counters {
        self.shared.board.worker(self.index)
    }

    /// A request has ended.
    pub fn record(&mut self, record: Record) {
        let counters = self.counters();
        add(&counters.bytes_in, record.bytes_in);
        add(&counters.bytes_out, record.bytes_out);
        if record.how == super::ring::How::Whole {
            counters.answered(record.status);
        } else {
            add(&counters.unanswered, 1);
        }
        if self.records.as_mut().is_some_and(|records| !records.push(record)) {
            add(&self.counters().truth_lost, 1);
        }
    }

    /// `served`: answers that the connection has given or owes already.
    pub fn decide(&mut self, head: &Head<'_>, served: u64) -> Decision {
        let (path, query, absolute) = split(head.target);
        if head.method == Method::Connect {
            return self.connect(head);
        }
        let mut decision = self.usual();
        decision.seq = head.seq;
        if head.method == Method::Refused {
            decision.answer = page(405, "text/plain", b"405 Method Not Allowed\n".to_vec());
            decision.answer.fields.push_str("Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n");
        } else if path.starts_with("/.tare/") {
            decision = self.about_itself(path);
        } else if self.shared.authorization.is_some() && !self.authorized(head) {
            decision.answer = page(401, "text/plain", b"401 Unauthorized\n".to_vec());
            decision.answer.fields.push_str("WWW-Authenticate: Basic realm=\"tare\"\r\n");
        } else {
            self.route(path, head, &mut decision);
            if !query.is_empty()
                && let Err(wrong) = self.overrides(query, &mut decision)
            {
                decision.answer = page(400, "text/plain", format!("{wrong}\n").into_bytes());
            }
        }
        if absolute && self.shared.config.proxy {
            decision.answer.fields.push_str("X-Proxied: 1\r\n");
        }
        self.finish(head, served, &mut decision);
        decision
    }

    /// What the settings say, before the request has its say.
    fn usual(&mut self) -> Decision {
        let Self { shared, random, .. } = self;
        let config = &shared.config;
        let fate = fate(&config.faults, config.status, random);
        let mut answer = Answer::new(config.status, Body::Pattern(0));
        match fate {
            Fate::Status(status) => answer.status = status,
            Fate::Fault(fault) => answer.fault = fault,
        }
        answer.body = Body::Pattern(config.size.draw(random).min(LARGEST_BODY).get());
        answer.chunk = config.chunk.map_or(0, Bytes::get);
        answer.trickle = config.trickle.map_or(0, Bytes::get);
        answer.gap = config.trickle_gap;
        let delay = config.delay.draw(random).min(LONGEST_DELAY);
        Decision { answer, delay, counted: true, seq: None, echo: false }
    }

    fn route(&self, path: &str, head: &Head<'_>, decision: &mut Decision) {
        if path == "/echo" {
            let page = Page { bytes: head.raw.to_vec(), kind: "text/plain" };
            decision.answer.body = Body::Page(Box::new(page));
            decision.echo = true;
        } else if let Some(count) = path.strip_prefix("/redirect/") {
            match number(count.as_bytes()).filter(|n| *n <= MOST_REDIRECTS) {
                Some(0) => {}
                Some(left) => {
                    decision.answer.status = 302;
                    decision.answer.fields = format!("Location: /redirect/{}\r\n", left - 1);
                }
                None => decision.answer.status = 404,
            }
        }
    }

    fn about_itself(&self, path: &str) -> Decision {
        let board = &self.shared.board;
        let answer = match path {
            "/.tare/stats" => page(200, "application/json", board.read().to_json().into_bytes()),
            "/.tare/reset" => {
                board.reset();
                page(200, "application/json", b"{}\n".to_vec())
            }
            _ => page(404, "text/plain", b"try /.tare/stats or /.tare/reset\n".to_vec()),
        };
        Decision { answer, delay: Picos::ZERO, counted: false, seq: None, echo: false }
    }

    fn authorized(&self, head: &Head<'_>) -> bool {
        let given = head.authorization.map(<[u8]>::trim_ascii);
        let (Some(given), Some(wanted)) = (given, &self.shared.authorization) else { return false };
        // The scheme's name is free of case (RFC 9110 §11.1), the rest is not.
        let scheme = "Basic ".len();
        given.len() == wanted.len()
            && given[..scheme].eq_ignore_ascii_case(&wanted[..scheme])
            && given[scheme..] == wanted[scheme..]
    }

    fn connect(&self, head: &Head<'_>) -> Decision {
        let mut answer = Answer::refusal(if self.shared.config.proxy { 200 } else { 405 });
        if self.shared.config.proxy {
            let page = Page { bytes: head.target.as_bytes().to_vec(), ..Page::default() };
            answer = Answer::new(200, Body::Page(Box::new(page)));
            answer.fault = Fault::Tunnel;
        }
        Decision {
            answer,
            delay: Picos::ZERO,
            counted: !self.shared.config.proxy,
            seq: head.seq,
            echo: false,
        }
    }

    /// Reads `key=value&…` into the decision. Unknown keys are the client's own.
    fn overrides(&mut self, query: &str, decision: &mut Decision) -> Result<(), String> {
        for pair in query.split('&') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded;
            let value = if value.contains('%') {
                decoded = percent_decoded(value);
                decoded.as_str()
            } else {
                value
            };
            self.override_one(key, value, decision).map_err(|wrong| format!("{key}: {wrong}"))?;
        }
        Ok(())
    }

    fn override_one(&mut self, key: &str, value: &str, decision: &mut Decision) -> Result<(), String> {
        let answer = &mut decision.answer;
        match key {
            "delay" => {
                let delay = Distribution::<Picos>::parse_inline(value).map_err(|e| e.to_string())?;
                decision.delay = delay.draw(&mut self.random).min(LONGEST_DELAY);
            }
            "size" => {
                let size = Distribution::<Bytes>::parse_inline(value).map_err(|e| e.to_string())?;
                answer.body = Body::Pattern(size.draw(&mut self.random).min(LARGEST_BODY).get());
            }
            "status" => {
                let status = number(value.as_bytes()).filter(|s| (200..=999).contains(s));
                answer.status = status.ok_or("must be 200 to 999")? as u16;
            }
            "chunked" => answer.chunk = if value == "0" { 0 } else { DEFAULT_CHUNK },
            "chunk" => answer.chunk = positive(value)?,
            "trickle" => answer.trickle = positive(value)?,
            "gap" => answer.gap = value.parse::<Picos>().map_err(|e| e.to_string())?.min(LONGEST_DELAY),
            "fault" => answer.fault = fault_named(value)?,
            "close" => {
                answer.close = value != "0";
                answer.say_close = answer.close && value != "quietly";
            }
            "seq" => decision.seq = Some(number(value.as_bytes()).ok_or("must be a whole number")?),
            _ => {}
        }
        Ok(())
    }

    /// What follows from the protocol and the connection's age.
    fn finish(&self, head: &Head<'_>, served: u64, decision: &mut Decision) {
        let config = &self.shared.config;
        let answer = &mut decision.answer;
        answer.head_only = head.method == Method::Head;
        if head.minor == 0 {
            answer.chunk = 0;
        }
        let last = config.close_after.is_some_and(|n| served + 1 >= n.get());
        if !head.keep_alive {
            answer.close = true;
            answer.say_close = true;
        } else if last {
            answer.say_close |= !config.close_quietly;
            answer.close = true;
        }
        answer.say_keep_alive = head.minor == 0 && head.keep_alive;
    }
}

#[derive(Clone, Copy)]
enum Fate {
    Status(u16),
    Fault(Fault),
}

/// One throw over all shares, so that they are exact parts of the whole and exclude each other.
fn fate(faults: &Faults, usual: u16, random: &mut Random) -> Fate {
    let named = [
        (faults.reset, Fate::Fault(Fault::Reset)),
        (faults.reset_mid, Fate::Fault(Fault::ResetMid)),
        (faults.half, Fate::Fault(Fault::Half)),
        (faults.silent, Fate::Fault(Fault::Silent)),
        (faults.garbage, Fate::Fault(Fault::Garbage)),
    ];
    if faults.errors.is_empty() && named.iter().all(|(share, _)| *share == Fraction::ZERO) {
        return Fate::Status(usual);
    }
    let mut throw = random.below(u64::from(Fraction::ONE.millionths()));
    let errors = faults.errors.iter().map(|e| (e.share, Fate::Status(e.status)));
    for (share, fate) in named.into_iter().chain(errors) {
        let share = u64::from(share.millionths());
        if throw < share {
            return fate;
        }
        throw -= share;
    }
    Fate::Status(usual)
}

fn positive(text: &str) -> Result<u64, String> {
    let bytes = text.parse::<Bytes>().map_err(|e| e.to_string())?;
    if bytes.get() == 0 { Err("must not be zero".into()) } else { Ok(bytes.get()) }
}

fn fault_named(name: &str) -> Result<Fault, String> {
    match name {
        "none" => Ok(Fault::None),
        "reset" => Ok(Fault::Reset),
        "reset-mid" => Ok(Fault::ResetMid),
        "half" => Ok(Fault::Half),
        "silent" => Ok(Fault::Silent),
        "garbage" => Ok(Fault::Garbage),
        _ => Err("must be none, reset, reset-mid, half, silent or garbage".into()),
    }
}

fn page(status: u16, kind: &'static str, bytes: Vec<u8>) -> Answer {
    Answer::new(status, Body::Page(Box::new(Page { bytes, kind })))
}

/// Path, query, and whether the target was in absolute form (RFC 9112 §3.2.2).
fn split(target: &str) -> (&str, &str, bool) {
    let (origin, absolute) = match target.strip_prefix("http://").or_else(|| target.strip_prefix("https://"))
    {
        Some(rest) => (rest.find(['/', '?']).map_or("/", |at| &rest[at..]), true),
        None => (target, false),
    };
    match memchr::memchr(b'?', origin.as_bytes()) {
        Some(at) => (&origin[..at], &origin[at + 1..], absolute),
        None => (origin, "", absolute),
    }
}

/// `%2C` becomes a comma; what is not hexadecimal stays as it is.
fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (bytes[at], hex) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                at += 3;
            }
            (byte, _) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
