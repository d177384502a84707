//! `tare target`: the server whose truth is known.

use crate::process::{Process, text_of, wait_until};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

/// A target at work; ended when dropped.
pub struct Target {
    pub process: Process,
    folder: TempDir,
    urls: Vec<String>,
}

/// What the target wrote down when it ended.
pub struct Truth {
    /// The summary.
    pub summary: Value,
    pub records: Vec<Record>,
}

/// One line of the truth file. Times are CLOCK_MONOTONIC in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub arrival_ns: u64,
    /// Just before the first byte of the answer; 0 if there was none.
    pub answer_ns: u64,
    pub connection: u64,
    pub status: u16,
    /// When the request was complete.
    pub complete_ns: u64,
    /// `whole`, `reset`, `half`, `silent`, `garbage`, `gone`.
    pub how: String,
    /// When the last byte of the request could be read, by the kernel's stamp.
    pub readable_ns: u64,
    /// Just before the last piece of the answer; 0 if there was none.
    pub written_ns: u64,
    /// What the target took of the TLS handshake before its connection's first request.
    pub prepared_ns: u64,
}

impl Target {
    /// On a free port of 127.0.0.1, unless `--listen` is among the arguments.
    pub fn start(arguments: &str) -> Self {
        Self::start_through(&[], arguments)
    }

    /// By way of these words (`unshare -n sh -c …`), which must end in a call of what follows them.
    pub fn start_through(wrapper: &[&str], arguments: &str) -> Self {
        let folder = crate::scratch();
        let at = |name: &str| folder.path().join(name);
        let mut argv: Vec<String> = wrapper.iter().map(|word| (*word).to_owned()).collect();
        argv.push(crate::binary().display().to_string());
        argv.extend(["target", "--for", "120s"].map(str::to_owned));
        if !arguments.contains("--no-truth") {
            argv.extend(["--truth".to_owned(), at("truth.csv").display().to_string()]);
        }
        argv.extend(["--summary".to_owned(), at("summary.json").display().to_string()]);
        argv.extend(arguments.split_whitespace().map(str::to_owned));
        let file = |name: &str| std::fs::File::create(at(name)).expect("a scratch file");
        let mut process = Process::start(&argv, |command| {
            command.stdout(file("stdout")).stderr(file("stderr"));
        });
        let mut says = String::new();
        wait_until("the target's 'listening on'", || {
            says = text_of(&at("stdout"));
            assert!(process.is_running(), "{argv:?} ended: {}", text_of(&at("stderr")));
            says.contains("listening on") && says.ends_with('\n')
        });
        let urls =
            says.lines().filter_map(|line| line.strip_prefix("listening on ")).map(|url| format!("{url}/"));
        Self { process, urls: urls.collect(), folder }
    }

    /// `http://127.0.0.1:port/`
    pub fn url(&self) -> String {
        self.urls[0].clone()
    }

    /// All of them, one for each `--listen`.
    pub fn urls(&self) -> &[String] {
        &self.urls
    }

    pub fn port(&self) -> u16 {
        let url = self.url();
        let port = url.trim_end_matches('/').rsplit(':').next();
        port.and_then(|port| port.parse().ok()).expect("a URL of the target ends in its port")
    }

    /// Ends it and reads the summary.
    pub fn summary(&mut self) -> Value {
        self.process.end();
        let summary: PathBuf = self.folder.path().join("summary.json");
        serde_json::from_str(&text_of(&summary)).expect("the target wrote its summary")
    }

    /// Ends it and reads what really happened.
    pub fn truth(mut self) -> Truth {
        // Answers are counted when they are written; the client may have read the last one before that.
        std::thread::sleep(Duration::from_millis(20));
        let summary = self.summary();
        let records = text_of(&self.folder.path().join("truth.csv"));
        let truth = Truth { summary, records: records.lines().skip(1).map(Record::read).collect() };
        assert_eq!(truth.int("truth_lost"), 0, "the target lost a part of the truth");
        truth
    }
}

impl Record {
    /// `arrival_ns,answer_ns,conn,status,bytes_in,bytes_out,seq,complete_ns,accepted_ns,how,readable_ns,written_ns,prepared_ns`
    fn read(line: &str) -> Self {
        let field: Vec<&str> = line.split(',').collect();
        let number = |at: usize| field[at].parse().unwrap_or_else(|_| panic!("field {at} of {line:?}"));
        Self {
            arrival_ns: number(0),
            answer_ns: number(1),
            connection: number(2),
            status: number(3) as u16,
            complete_ns: number(7),
            how: field[9].to_owned(),
            readable_ns: number(10),
            written_ns: number(11),
            prepared_ns: number(12),
        }
    }
}

impl Truth {
    #[track_caller]
    pub fn int(&self, path: &str) -> u64 {
        let value = path.split('.').fold(&self.summary, |value, key| &value[key]);
        value.as_u64().unwrap_or_else(|| panic!("{path} is {value} in {}", self.summary))
    }

    /// Requests that ended so; 0 if none did.
    pub fn ended(&self, how: &str) -> u64 {
        self.summary["ended"][how].as_u64().unwrap_or(0)
    }

    /// True service times of whole answers, sorted.
    pub fn services_ns(&self) -> Vec<u64> {
        let whole = self.records.iter().filter(|record| record.answer_ns > 0);
        let mut all: Vec<u64> = whole.map(|record| record.answer_ns - record.complete_ns).collect();
        all.sort_unstable();
        all
    }

    /// When requests came, sorted.
    pub fn arrivals_ns(&self) -> Vec<u64> {
        let mut all: Vec<u64> = self.records.iter().map(|record| record.arrival_ns).collect();
        all.sort_unstable();
        all
    }
}

/// The smallest of the sorted values that is not less than `share` of all.
pub fn percentile(sorted: &[u64], share: f64) -> u64 {
    let rank = (sorted.len() as f64 * share).ceil().max(1.0) as usize;
    sorted[rank - 1]
}
