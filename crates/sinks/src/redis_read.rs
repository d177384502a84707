//! A run that `--to redis://…` kept, read back into a run folder: for `tare report redis://HOST/RUN`.

use crate::exporter::SinkError;
use crate::hdr::lines;
use crate::hub::histograms as histograms_of;
use crate::place::Place;
use crate::redis_keys::Keys;
use crate::redis_link::Link;
use crate::redis_module::ModuleStream;
use crate::redis_streams::{SCHEMA, text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use redis::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};
use store::schema::{GroupResult, Interval, Label};
use store::{HlogWriter, RunResult};

/// Entries asked for at once: some hundred kilobytes.
const PAGE: &str = "64";
/// Runs that are named where none was.
const NAMED: usize = 8;

/// Looks of a thousand keys each.
const SCANS: usize = 10_000;

/// A run without a result whose last interval ended more recently is taken for one that is still running: rows
/// come late where Redis was away for a while.
const FRESH: Duration = Duration::from_secs(30);
/// Clocks of two hosts may differ by this.
const SKEW: Duration = Duration::from_secs(5);

/// Values by the names of their fields.
type Fields = BTreeMap<String, String>;
/// A histogram and its series' key.
type Named = (String, Histogram<u64>);

/// Writes the run that `redis://HOST[:PORT]/[DATABASE/]RUN` names into the folder `into`, which must exist:
/// `plan.toml`, `environment.json`, `intervals.jsonl`, `latency.hlog`, and `result.json` or, of a run that has
/// not ended, `begun.json`. `store::load_run` reads them.
pub fn fetch_redis(url: &str, into: &Path) -> Result<(), SinkError> {
    let place = Place::parse(url)?;
    if !place.kind().schemes.contains(&"redis") {
        return Err(place.wrong("runs are read back from redis:// and rediss:// only"));
    }
    let (database, run) = path(&place)?;
    let mut link = Link::new(&place, database)?;
    link.connect()?;
    if run.is_empty() {
        return Err(place.wrong(format!("names no run: write redis://HOST/RUN{}", known(&mut link, &place)?)));
    }
    let keys = Keys::of(&place).of_run(&run);
    let meta = meta(&mut link, &keys)?;
    match meta.get("schema").map(String::as_str) {
        Some(SCHEMA) => Reader { place, link, keys, meta, into }.all(),
        Some(other) => {
            Err(place.refused(format!("{run} has the schema {other}; this version reads {SCHEMA}")))
        }
        None if module(&place, &keys).is_there(&mut link)? => {
            Reader { place, link, keys, meta, into }.by_module()
        }
        None => {
            let known = known(&mut link, &place)?;
            Err(place.refused(format!("there is no run {run} (it may have expired){known}")))
        }
    }
}

fn module<'a>(place: &'a Place, keys: &Keys) -> ModuleStream<'a> {
    ModuleStream { place, key: keys.module() }
}

/// `/RUN`, `/2/RUN`; a path that is a number is a database.
fn path(place: &Place) -> Result<(i64, String), SinkError> {
    let path = place.url().path().trim_matches('/');
    match path.split_once('/') {
        Some((database, run)) => match database.parse() {
            Ok(database) => Ok((database, run.to_owned())),
            Err(_) => {
                Err(place.wrong(format!("{database} is not the number of a database: write /RUN or /0/RUN")))
            }
        },
        None => Ok(path.parse().map_or_else(|_| (0, path.to_owned()), |database| (database, String::new()))),
    }
}

fn meta(link: &mut Link, keys: &Keys) -> Result<Fields, SinkError> {
    let fields = array(link, &["HGETALL", &keys.meta()])?;
    Ok(fields.chunks_exact(2).map(|pair| (text(&pair[0]), text(&pair[1]))).collect())
}

/// The reply to a command that Redis answers by an array, and by nothing else.
fn array(link: &mut Link, words: &[&str]) -> Result<Vec<Value>, SinkError> {
    match link.ask(words)? {
        Value::Array(items) => Ok(items),
        other => Err(link.strange(words[0], &other)),
    }
}

/// Names of some runs that are there, for a message.
fn known(link: &mut Link, place: &Place) -> Result<String, SinkError> {
    let every = Keys::of(place).of_run("*").meta();
    let mut runs = Vec::new();
    let mut cursor = "0".to_owned();
    for _ in 0..SCANS {
        let reply = array(link, &["SCAN", &cursor, "MATCH", &every, "COUNT", "1000"])?;
        let [next, Value::Array(found)] = reply.as_slice() else { break };
        runs.extend(found.iter().map(text));
        cursor = text(next);
        if cursor == "0" || runs.len() > 1_000 {
            break;
        }
    }
    runs.sort();
    let (before, after) = every.split_once('*').unwrap_or_default();
    let name = |key: &String| key.trim_start_matches(before).trim_end_matches(after).to_owned();
    let names: Vec<String> = runs.iter().rev().take(NAMED).map(name).collect();
    Ok(match names.is_empty() {
        true => "; there is none in this database".to_owned(),
        false => format!("; the last are {}", names.join(", ")),
    })
}

struct Reader<'a> {
    place: Place,
    link: Link,
    keys: Keys,
    meta: Fields,
    into: &'a Path,
}

impl Reader<'_> {
    fn all(mut self) -> Result<(), SinkError> {
        self.write("plan.toml", self.of("plan").as_bytes())?;
        self.write("environment.json", self.of("environment").as_bytes())?;
        let ended_s = self.intervals()?;
        match self.link.ask(&["GET", &self.keys.result()])? {
            Value::BulkString(result) => self.write("result.json", &result),
            other if other != Value::Nil => Err(self.link.strange("GET", &other)),
            _ if self.is_running(ended_s, clock::unix_ns()) => {
                let run = self.of("run");
                let said =
                    format!("the run {run} is still running, or was killed just now: wait until it ends");
                Err(self.place.refused(said))
            }
            _ => {
                let begun =
                    serde_json::to_vec(&self.begun()).map_err(|why| self.damaged(&why.to_string()))?;
                self.write("begun.json", &begun)
            }
        }
    }

    /// A run of which nobody but the module wrote.
    fn by_module(mut self) -> Result<(), SinkError> {
        let mut rows = self.file("intervals.jsonl")?;
        let mut histograms = self.file("latency.hlog")?;
        let place = self.place.clone();
        let unwritten =
            |name: &str, why: &std::io::Error| place.refused(format!("{name} cannot be written: {why}"));
        let mut log = HlogWriter::new();
        let head = log.head(self.keys.run(), SystemTime::UNIX_EPOCH);
        histograms.write_all(&head).map_err(|why| unwritten("latency.hlog", &why))?;
        let found = module(&place, &self.keys).rows(&mut self.link, |row| {
            let (interval, of_row) = (Interval::from(row), histograms_of(row));
            let of_row = of_row.iter().map(|(series, values)| (series.key(), values));
            let lines = lines(&mut log, &interval, of_row).map_err(|why| place.refused(why))?;
            let json = serde_json::to_vec(&interval).map_err(|why| place.refused(why.to_string()))?;
            rows.write_all(&json)
                .and_then(|()| rows.write_all(b"\n"))
                .map_err(|why| unwritten("intervals.jsonl", &why))?;
            histograms.write_all(&lines).map_err(|why| unwritten("latency.hlog", &why))
        })?;
        rows.flush().map_err(|why| unwritten("intervals.jsonl", &why))?;
        histograms.flush().map_err(|why| unwritten("latency.hlog", &why))?;
        let lost = match found.lost() {
            0 => String::new(),
            lost => format!("; {lost} of its {} commands, of up to 40 each, are not there", found.last),
        };
        let said = format!("{} departures, written to Redis by the FPGA module itself{lost}", found.events);
        let begun = RunResult {
            engine: "http".to_owned(),
            run: self.keys.run().to_owned(),
            labels: vec![Label::Sentence(said)],
            partial: false,
            ..self.begun()
        };
        let begun = serde_json::to_vec(&begun).map_err(|why| self.place.refused(why.to_string()))?;
        self.write("begun.json", &begun)
    }

    fn of(&self, field: &str) -> &str {
        self.meta.get(field).map_or("", String::as_str)
    }

    /// What is known of a run that has no result.
    fn begun(&self) -> RunResult {
        let groups: Vec<String> = serde_json::from_str(self.of("groups")).unwrap_or_default();
        let group = |name| GroupResult { name, ..GroupResult::default() };
        RunResult {
            schema: store::schema::SCHEMA.to_owned(),
            engine: self.of("engine").to_owned(),
            run: self.of("run").to_owned(),
            plan_hash: self.of("plan_hash").to_owned(),
            version: self.of("version").to_owned(),
            target: self.of("target").to_owned(),
            started_at: self.of("started_at").to_owned(),
            groups: groups.into_iter().map(group).collect(),
            partial: true,
            ..RunResult::default()
        }
    }

    /// Whether a run that has no result is still running: its last interval, which ended so many seconds after
    /// its origin, is young.
    fn is_running(&self, ended_s: f64, now_unix_ns: u64) -> bool {
        let Ok(origin) = self.of("origin_unix_ns").parse::<u64>() else { return false };
        let ended_after = Duration::try_from_secs_f64(ended_s).unwrap_or_default();
        let ended = Duration::from_nanos(origin).saturating_add(ended_after);
        let now = Duration::from_nanos(now_unix_ns);
        self.of("state") == "running" && ended < now + SKEW && now < ended.saturating_add(FRESH)
    }

    /// Writes them; returns when the last ended, in seconds after the run's origin.
    fn intervals(&mut self) -> Result<f64, SinkError> {
        let mut rows = self.file("intervals.jsonl")?;
        let mut histograms = self.file("latency.hlog")?;
        let origin: u64 = self.of("origin_unix_ns").parse().unwrap_or(0);
        let mut log = HlogWriter::new();
        let head = log.head(self.of("run"), SystemTime::UNIX_EPOCH + Duration::from_nanos(origin));
        histograms.write_all(&head).map_err(|why| self.unwritten("latency.hlog", &why))?;
        let (mut from, mut ended_s) = (1, 0.0);
        while let Some((last, entries)) = self.page(from)? {
            for entry in &entries {
                let (interval, packed) = self.entry(entry)?;
                ended_s = interval.t_s + interval.length_s;
                let lines = lines(&mut log, &interval, packed.iter().map(|(tag, h)| (tag.as_str(), h)));
                let lines = lines.map_err(|why| self.damaged(&why))?;
                rows.write_all(entry["interval"].as_bytes())
                    .and_then(|()| rows.write_all(b"\n"))
                    .map_err(|why| self.unwritten("intervals.jsonl", &why))?;
                histograms.write_all(&lines).map_err(|why| self.unwritten("latency.hlog", &why))?;
            }
            from = last + 1;
        }
        rows.flush().map_err(|why| self.unwritten("intervals.jsonl", &why))?;
        histograms.flush().map_err(|why| self.unwritten("latency.hlog", &why))?;
        Ok(ended_s)
    }

    /// Some entries, fields by name, and the number of the last; `None` after the end.
    fn page(&mut self, from: u64) -> Result<Option<(u64, Vec<Fields>)>, SinkError> {
        let (key, from_id) = (self.keys.intervals(), format!("{from}-0"));
        let entries = array(&mut self.link, &["XRANGE", &key, &from_id, "+", "COUNT", PAGE])?;
        let mut last = None;
        let mut page = Vec::with_capacity(entries.len());
        for entry in &entries {
            let Value::Array(entry) = entry else { continue };
            let [id, Value::Array(fields)] = entry.as_slice() else { continue };
            last = text(id).split('-').next().and_then(|number| number.parse().ok());
            page.push(fields.chunks_exact(2).map(|pair| (text(&pair[0]), text(&pair[1]))).collect());
        }
        match last {
            // Else the same page would come again and again.
            Some(last) if last < from => Err(self.damaged("it stands before what was asked for")),
            last => Ok(last.map(|last| (last, page))),
        }
    }

    fn entry(&self, fields: &Fields) -> Result<(Interval, Vec<Named>), SinkError> {
        let interval = fields.get("interval").map_or("", String::as_str);
        let interval: Interval =
            serde_json::from_str(interval).map_err(|why| self.damaged(&why.to_string()))?;
        let mut deserializer = Deserializer::new();
        let mut histograms = Vec::new();
        for (name, packed) in
            fields.iter().filter_map(|(name, value)| Some((name.strip_prefix("hdr:")?, value)))
        {
            let bytes = STANDARD.decode(packed).map_err(|why| self.damaged(&format!("{name}: {why}")))?;
            let histogram = deserializer
                .deserialize(&mut bytes.as_slice())
                .map_err(|why| self.damaged(&format!("{name}: {why}")))?;
            histograms.push((name.to_owned(), histogram));
        }
        Ok((interval, histograms))
    }

    fn damaged(&self, why: &str) -> SinkError {
        self.place.refused(format!("an entry of {} is not what Tare wrote: {why}", self.keys.intervals()))
    }

    fn file(&self, name: &str) -> Result<BufWriter<File>, SinkError> {
        let file = File::create(self.into.join(name)).map_err(|why| self.unwritten(name, &why))?;
        Ok(BufWriter::new(file))
    }

    fn write(&self, name: &str, contents: &[u8]) -> Result<(), SinkError> {
        std::fs::write(self.into.join(name), contents).map_err(|why| self.unwritten(name, &why))
    }

    fn unwritten(&self, name: &str, why: &std::io::Error) -> SinkError {
        self.place.refused(format!("{} cannot be written: {why}", self.into.join(name).display()))
    }
}
