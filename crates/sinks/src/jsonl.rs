//! `jsonl:FILE`: JSON lines. One object a line; `type` says what it is.
//!
//! ```json
//! {"type":"run","run":"2026-11-20T12-00-00Z-http-7f3a","engine":"http",…}
//! {"type":"start","origin_unix_ns":1795176000000000000}
//! {"type":"interval","index":0,"t_s":0.0,"length_s":1.0,"offered":1000,…}     keys of `intervals` in result.json
//! {"type":"event","seq":0,"thread":0,"due_ns":0,…}                           with ?events=1
//! {"type":"result",…}                                                        result.json without its intervals
//! ```

use crate::event_fields::EventFields;
use crate::exporter::{Exporter, RunInfo, SinkError, SinkRow};
use crate::output::Output;
use crate::place::{Address, Place, SinkKind};
use serde::Serialize;
use store::RunResult;
use store::schema::Interval;
use units::Event;

pub const KIND: SinkKind = SinkKind {
    schemes: &["jsonl"],
    form: "jsonl:FILE",
    about: "JSON lines",
    address: Address::File,
    options: &["events"],
    open,
};

fn open(place: &Place) -> Result<Box<dyn Exporter>, SinkError> {
    Ok(Box::new(JsonLines {
        events: place.flag("events")?,
        output: Output::new(place),
        place: place.clone(),
        run: RunInfo::default(),
        start: None,
        buffer: Vec::new(),
    }))
}

struct JsonLines {
    place: Place,
    output: Output,
    events: bool,
    run: RunInfo,
    /// Line of the start, until it is written.
    start: Option<u64>,
    /// Of the last batch of events, to be used again.
    buffer: Vec<u8>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line<'a> {
    Run {
        run: &'a str,
        engine: &'a str,
        plan_hash: &'a str,
        target: &'a str,
        version: &'a str,
        started_at: &'a str,
        warmup_ns: u64,
    },
    Start {
        origin_unix_ns: u64,
    },
    Interval {
        index: u64,
        #[serde(flatten)]
        row: &'a Interval,
    },
    Event(EventFields<'a>),
    Result(&'a RunResult),
}

impl JsonLines {
    fn write(&mut self, line: &Line<'_>) -> Result<(), SinkError> {
        let text = self.text(line)?;
        self.output.write(&text)
    }

    fn text(&self, line: &Line<'_>) -> Result<Vec<u8>, SinkError> {
        let mut text = serde_json::to_vec(line).map_err(|why| self.place.refused(why.to_string()))?;
        text.push(b'\n');
        Ok(text)
    }

    /// What says when the times count from goes before the first of them.
    fn write_start(&mut self) -> Result<(), SinkError> {
        let Some(origin_unix_ns) = self.start else { return Ok(()) };
        self.write(&Line::Start { origin_unix_ns })?;
        self.start = None;
        Ok(())
    }
}

impl Exporter for JsonLines {
    fn begin(&mut self, run: &RunInfo) -> Result<(), SinkError> {
        self.output.open()?;
        self.run = run.clone();
        let line = self.text(&Line::Run {
            run: &run.run,
            engine: &run.engine,
            plan_hash: &run.plan_hash,
            target: &run.target,
            version: &run.version,
            started_at: &run.started_at,
            warmup_ns: run.warmup.as_nanos(),
        })?;
        self.output.write(&line)
    }

    fn start(&mut self, origin_unix_ns: u64) {
        self.start = Some(origin_unix_ns);
    }

    fn interval(&mut self, row: &SinkRow) -> Result<(), SinkError> {
        self.write_start()?;
        self.write(&Line::Interval { index: row.index, row: &row.row })
    }

    fn wants_histograms(&self) -> bool {
        false
    }

    fn wants_events(&self) -> bool {
        self.events
    }

    fn events(&mut self, thread: u16, events: &[Event]) -> Result<(), SinkError> {
        self.write_start()?;
        self.buffer.clear();
        for event in events {
            let line = Line::Event(EventFields::of(thread, event, &self.run));
            serde_json::to_writer(&mut self.buffer, &line)
                .map_err(|why| self.place.refused(why.to_string()))?;
            self.buffer.push(b'\n');
        }
        self.output.write(&self.buffer)
    }

    fn end(&mut self, result: &RunResult) -> Result<(), SinkError> {
        let result = RunResult { intervals: Vec::new(), ..result.clone() };
        self.write(&Line::Result(&result))?;
        self.output.sync()
    }
}
