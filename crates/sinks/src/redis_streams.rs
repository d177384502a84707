//! `redis://…` and `rediss://…`: a run in Redis streams. Keys and fields: docs/sinks.md.
//!
//! ```text
//! tare:RUN:meta        hash     what the run is
//! tare:RUN:intervals   stream   one entry an interval, with its histograms; id n-0, n from 1
//! tare:RUN:events:T    stream   one entry an event of engine thread T; id n-0, n from 1    (?events=1)
//! tare:RUN:result      string   result.json
//! tare:RUN:module      stream   departures that the FPGA module wrote by itself (redis_module.rs)
//! ```
//!
//! Entries have ids of our own, so nothing is ever there twice: what was sent again after a lost connection is
//! refused by Redis as "equal or smaller", which means that it had arrived. After a new connection each
//! stream's last id tells what Redis still has of what it had taken.

use crate::event_fields::EventFields;
use crate::exporter::{Exporter, Gone, RunInfo, SinkError, SinkRow};
use crate::place::{Address, Place, SinkKind};
use crate::redis_keys::Keys;
use crate::redis_link::{Commands, Link, refusal};
use crate::redis_written::Written;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use redis::{ServerError, Value};
use std::time::Duration;
use store::RunResult;
use units::{Event, Picos};

pub const KIND: SinkKind = SinkKind {
    schemes: &["redis", "rediss"],
    form: "redis[s]://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]",
    about: "streams in Redis 5 or newer",
    address: Address::Url,
    options: &["events", "expire", "maxlen", "maxlen_exact", "prefix", "ca"],
    open,
};

/// The value of `schema` in a run's `meta`.
pub const SCHEMA: &str = "tare.redis/1";
const WEEK: Picos = Picos::from_secs(7 * 86_400);
/// Events sent before their replies are waited for.
const ROUND: usize = 512;
/// Between attempts to see at the end whether all is there.
const FLUSH_NAPS: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(250), Duration::from_millis(500)];
const GONE: &str = "it took figures and has them no more: somebody deleted them, or it was started anew without its last writes \
     (see its appendonly and save)";

fn open(place: &Place) -> Result<Box<dyn Exporter>, SinkError> {
    let path = place.url().path().trim_matches('/');
    let database = if path.is_empty() { Ok(0) } else { path.parse() };
    let database =
        database.map_err(|_| place.wrong(format!("/{path} is not the number of a database, such as /0")))?;
    Ok(Box::new(RedisStreams {
        link: Link::new(place, database)?,
        is_greeted: false,
        events: place.flag("events")?,
        keys: Keys::of(place),
        expire: expire(place)?,
        trim: trim(place)?,
        place: place.clone(),
        run: RunInfo::default(),
        origin_unix_ns: None,
        rows: Written::default(),
        threads: Vec::new(),
        commands: Commands::default(),
        serializer: V2DeflateSerializer::new(),
        in_hand: InHand::default(),
        gone: Gone::default(),
    }))
}

/// Seconds; `None`: never.
fn expire(place: &Place) -> Result<Option<u64>, SinkError> {
    if matches!(place.option("expire"), Some("never" | "0")) {
        return Ok(None);
    }
    let time = place.time("expire")?.unwrap_or(WEEK);
    match time.as_nanos() / 1_000_000_000 {
        0 => Err(place.wrong("expire must be a second or longer, or never")),
        seconds => Ok(Some(seconds)),
    }
}

/// How streams of events are kept short.
#[derive(Clone, Copy, Debug)]
struct Trim {
    /// `~`: whole nodes go, which is cheap. `=`: to the entry.
    how: &'static str,
    to: u64,
}

fn trim(place: &Place) -> Result<Option<Trim>, SinkError> {
    match (place.number("maxlen")?, place.number("maxlen_exact")?) {
        (Some(_), Some(_)) => Err(place.wrong("maxlen and maxlen_exact exclude each other")),
        (Some(to), None) => Ok(Some(Trim { how: "~", to })),
        (None, to) => Ok(to.map(|to| Trim { how: "=", to })),
    }
}

struct RedisStreams {
    place: Place,
    link: Link,
    /// What this connection is for was told to Redis.
    is_greeted: bool,
    events: bool,
    keys: Keys,
    expire: Option<u64>,
    trim: Option<Trim>,
    run: RunInfo,
    origin_unix_ns: Option<u64>,
    rows: Written,
    /// By engine thread.
    threads: Vec<Written>,
    commands: Commands,
    serializer: V2DeflateSerializer,
    in_hand: InHand,
    gone: Gone,
}

impl RedisStreams {
    /// A connection, and on a new one: what the run is, and what is still there of it. A Redis that is still
    /// loading refuses the former, so that nothing else is sent to it before it is ready.
    fn ready(&mut self) -> Result<(), SinkError> {
        if self.link.is_connected() && self.is_greeted {
            return Ok(());
        }
        self.is_greeted = false;
        if !self.link.is_connected() {
            self.link.connect()?;
        }
        self.write_meta("running")?;
        self.look_for_gone()?;
        self.is_greeted = true;
        Ok(())
    }

    fn write_meta(&mut self, state: &str) -> Result<(), SinkError> {
        let run = &self.run;
        let groups = serde_json::to_string(&run.groups).unwrap_or_default();
        let warmup_ns = run.warmup.as_nanos().to_string();
        let origin = self.origin_unix_ns.map(|origin| origin.to_string()).unwrap_or_default();
        let key = self.keys.meta();
        let fields = [
            ("schema", SCHEMA),
            ("state", state),
            ("run", &run.run),
            ("engine", &run.engine),
            ("plan_hash", &run.plan_hash),
            ("target", &run.target),
            ("version", &run.version),
            ("started_at", &run.started_at),
            ("origin_unix_ns", &origin),
            ("warmup_ns", &warmup_ns),
            ("groups", &groups),
            ("plan", &run.plan),
            ("environment", &run.environment),
        ];
        self.commands.clear();
        let command = self.commands.begin(2 + 2 * fields.len(), "HSET").word(&key);
        fields.iter().for_each(|(name, value)| {
            command.word(name).word(value);
        });
        self.renew(&key);
        self.all_accepted()
    }

    /// Adds the command that lets a key live on.
    fn renew(&mut self, key: &str) {
        if let Some(seconds) = self.expire {
            self.commands.begin(3, "EXPIRE").word(key).number(seconds);
        }
    }

    fn all_accepted(&mut self) -> Result<(), SinkError> {
        let replies = self.link.send(&self.commands)?;
        match replies.iter().find_map(server_error) {
            Some(why) => Err(refusal(&self.place, why)),
            None => Ok(()),
        }
    }

    /// Compares what was taken with what is there.
    fn look_for_gone(&mut self) -> Result<(), SinkError> {
        let before = (self.gone.rows, self.gone.events);
        let outcome = self.count_gone();
        if before != (self.gone.rows, self.gone.events) {
            self.gone.why = GONE.to_owned();
        }
        outcome
    }

    fn count_gone(&mut self) -> Result<(), SinkError> {
        let keys = self.keys.clone();
        if self.rows.last() > 0 {
            let (last, entries) = held(&mut self.link, &keys.intervals())?;
            self.gone.rows += self.rows.found(last) + self.rows.counted(entries);
        }
        for thread in 0..self.threads.len() {
            if self.threads[thread].last() > 0 {
                let (last, entries) = held(&mut self.link, &keys.events(thread))?;
                self.gone.events += self.threads[thread].found(last);
                // Redis itself keeps no more than maxlen.
                if self.trim.is_none() {
                    self.gone.events += self.threads[thread].counted(entries);
                }
            }
        }
        Ok(())
    }

    /// The commands for some events, with ids from `first` on.
    fn put_events(&mut self, thread: u16, first: u64, events: &[Event]) {
        let key = self.keys.events(usize::from(thread));
        self.commands.clear();
        for (id, event) in (first..).zip(events) {
            let fields = EventFields::of(thread, event, &self.run);
            add_event(&mut self.commands, &key, self.trim, id, &fields);
        }
        self.renew(&key);
    }

    /// Sends what is not done yet of the batch in hand.
    fn rest_of(&mut self, thread: u16, events: &[Event]) -> Result<(), SinkError> {
        while self.in_hand.done < events.len() {
            self.ready()?;
            let to = (self.in_hand.done + ROUND).min(events.len());
            let Refused { count, why } = self.round(thread, &events[self.in_hand.done..to])?;
            self.in_hand.done = to;
            self.in_hand.refused.count += count;
            self.in_hand.refused.why = self.in_hand.refused.why.take().or(why);
        }
        Ok(())
    }

    /// Sends one round, and counts what of it was refused. `Err`: to be tried again.
    fn round(&mut self, thread: u16, events: &[Event]) -> Result<Refused, SinkError> {
        let slot = usize::from(thread);
        let first = self.threads[slot].next();
        let last = first + events.len() as u64 - 1;
        self.put_events(thread, first, events);
        let replies = self.link.send(&self.commands).inspect_err(|_| self.threads[slot].unsure(last))?;
        let written = &mut self.threads[slot];
        let mut refused = Refused::default();
        for (id, reply) in (first..=last).zip(&replies) {
            match reply {
                Value::BulkString(_) => written.arrived(id),
                Value::ServerError(why) if is_there(why) && written.may_be_there(id) => written.arrived(id),
                Value::ServerError(why) => refused.add(1, || refusal(&self.place, why)),
                other => refused.add(1, || self.link.strange("XADD", other)),
            }
        }
        match &refused.why {
            // It is still loading: nothing was taken, and all of it can be sent again.
            Some(why) if why.may_pass() && refused.count == events.len() as u64 => Err(why.clone()),
            _ => {
                written.settled(last);
                Ok(refused)
            }
        }
    }
}

/// What of a batch was done, and what of that was refused.
#[derive(Debug, Default)]
struct InHand {
    done: usize,
    refused: Refused,
}

#[derive(Debug, Default)]
struct Refused {
    count: u64,
    why: Option<SinkError>,
}

impl Refused {
    fn add(&mut self, count: u64, why: impl FnOnce() -> SinkError) {
        self.count += count;
        self.why.get_or_insert_with(why);
    }
}

impl Exporter for RedisStreams {
    fn begin(&mut self, run: &RunInfo) -> Result<(), SinkError> {
        self.run = run.clone();
        self.keys = self.keys.clone().of_run(&run.run);
        self.ready()
    }

    fn start(&mut self, origin_unix_ns: u64) {
        self.origin_unix_ns = Some(origin_unix_ns);
        // What is in the way of this will be in the way of the first interval, and told then.
        let _ = self.ready().and_then(|()| self.write_meta("running"));
    }

    fn interval(&mut self, row: &SinkRow) -> Result<(), SinkError> {
        self.ready()?;
        let keys = self.keys.clone();
        let interval = serde_json::to_vec(&row.row).map_err(|why| self.place.refused(why.to_string()))?;
        let id = row.index + 1;
        self.commands.clear();
        self.commands
            .begin(5 + 2 * row.histograms.len(), "XADD")
            .word(keys.intervals())
            .word(format!("{id}-0"));
        self.commands.word("interval").word(&interval);
        for (series, histogram) in &row.histograms {
            let mut bytes = Vec::new();
            let packed = self.serializer.serialize(histogram, &mut bytes);
            packed.map_err(|why| self.place.refused(format!("a histogram can not be packed: {why}")))?;
            self.commands.word(format!("hdr:{}", series.key())).word(STANDARD.encode(&bytes));
        }
        self.renew(&keys.intervals());
        self.renew(&keys.meta());
        let replies = self.link.send(&self.commands).inspect_err(|_| self.rows.unsure(id))?;
        match replies.first() {
            Some(Value::ServerError(why)) if !(is_there(why) && self.rows.may_be_there(id)) => {
                Err(refusal(&self.place, why))
            }
            Some(Value::BulkString(_) | Value::ServerError(_)) => {
                self.rows.arrived(id);
                Ok(())
            }
            other => Err(self.link.strange("XADD", other.unwrap_or(&Value::Nil))),
        }
    }

    fn wants_events(&self) -> bool {
        self.events
    }

    fn events(&mut self, thread: u16, events: &[Event]) -> Result<(), SinkError> {
        let slot = usize::from(thread);
        if self.threads.len() <= slot {
            self.threads.resize_with(slot + 1, Written::default);
        }
        match self.rest_of(thread, events) {
            // The same batch comes again: what is done of it is passed over.
            Err(why) if why.may_pass() => return Err(why),
            // It does not: neither its rest nor its numbers are anything to the next one.
            Err(why) => {
                self.threads[slot].give_up();
                let rest = events.len() - self.in_hand.done;
                self.in_hand.refused.add(rest as u64, || why);
            }
            Ok(()) => {}
        }
        let Refused { count, why } = std::mem::take(&mut self.in_hand).refused;
        match why {
            Some(why) if count == events.len() as u64 => Err(self.place.refused(why.problem())),
            Some(why) => {
                self.gone.events += count;
                self.gone.why = why.problem();
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        // Everything was acknowledged. Whether it is still there can only be seen if somebody answers.
        for nap in FLUSH_NAPS {
            match self.ready().and_then(|()| self.look_for_gone()) {
                Err(why) if why.may_pass() => std::thread::sleep(nap),
                _ => break,
            }
        }
        Ok(())
    }

    fn gone(&mut self) -> Gone {
        std::mem::take(&mut self.gone)
    }

    fn end(&mut self, result: &RunResult) -> Result<(), SinkError> {
        self.ready()?;
        let text = serde_json::to_vec(result).map_err(|why| self.place.refused(why.to_string()))?;
        let keys = self.keys.clone();
        self.commands.clear();
        self.commands.begin(3, "SET").word(keys.result()).word(&text);
        self.renew(&keys.result());
        self.renew(&keys.intervals());
        (0..self.threads.len()).for_each(|thread| self.renew(&keys.events(thread)));
        self.all_accepted()?;
        self.write_meta("ended")
    }
}

fn server_error(reply: &Value) -> Option<&ServerError> {
    match reply {
        Value::ServerError(why) => Some(why),
        _ => None,
    }
}

/// "The ID specified in XADD is equal or smaller than the target stream top item"
fn is_there(why: &ServerError) -> bool {
    why.details().is_some_and(|details| details.contains("equal or smaller"))
}

/// Whether there is such a key.
pub fn exists(link: &mut Link, key: &str) -> Result<bool, SinkError> {
    match link.ask(&["EXISTS", key])? {
        Value::Int(count) => Ok(count != 0),
        other => Err(link.strange("EXISTS", &other)),
    }
}

/// The number in a stream's last id, and how many entries it has; 0 if there is no such stream.
fn held(link: &mut Link, key: &str) -> Result<(u64, u64), SinkError> {
    if !exists(link, key)? {
        return Ok((0, 0));
    }
    let info = match link.ask(&["XINFO", "STREAM", key])? {
        Value::Array(info) => info,
        other => return Err(link.strange("XINFO", &other)),
    };
    let named = |name: &str| info.chunks_exact(2).find(|pair| text(&pair[0]) == name).map(|pair| &pair[1]);
    let id = named("last-generated-id").map(text).unwrap_or_default();
    let last = id.split('-').next().and_then(|number| number.parse().ok()).unwrap_or(0);
    match named("length") {
        Some(Value::Int(entries)) => Ok((last, entries.unsigned_abs())),
        _ => Ok((last, u64::MAX)),
    }
}

/// A string of a reply.
pub fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) => text.clone(),
        _ => String::new(),
    }
}

/// `XADD key [MAXLEN ~ n] id field value …`: fields as in docs/samples.md, absent where there is no value.
fn add_event(commands: &mut Commands, key: &str, trim: Option<Trim>, id: u64, event: &EventFields<'_>) {
    let optional = [
        ("sent_ns", event.sent_ns),
        ("first_byte_ns", event.first_byte_ns),
        ("latency_ns", event.latency_ns),
        ("service_ns", event.service_ns),
        ("lateness_ns", event.lateness_ns),
        ("unread_ns", event.unread_ns),
        ("tare_ns", event.tare_ns),
        ("net_ns", event.net_ns),
    ];
    let always = [
        ("seq", event.seq),
        ("warmup", u64::from(event.warmup)),
        ("due_ns", event.due_ns),
        ("done_ns", event.done_ns),
        ("blocked_ns", event.blocked_ns),
        ("bytes_out", event.bytes_out),
        ("bytes_in", event.bytes_in),
    ];
    let there = optional.iter().filter(|(_, value)| value.is_some()).count();
    let pairs = always.len() + 2 + there + usize::from(event.group.is_some());
    let words = 3 + 3 * usize::from(trim.is_some()) + 2 * pairs;
    commands.begin(words, "XADD").word(key);
    if let Some(trim) = trim {
        commands.word("MAXLEN").word(trim.how).number(trim.to);
    }
    commands.word(format!("{id}-0"));
    always.iter().for_each(|(name, value)| {
        commands.word(name).number(*value);
    });
    for (name, value) in optional {
        if let Some(value) = value {
            commands.word(name).number(value);
        }
    }
    commands.word("class").word(event.class).word("key").word(event.key.to_string());
    if let Some(group) = event.group {
        commands.word("group").word(group);
    }
}
