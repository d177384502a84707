//! One run of `tare`, and what came of it.

use crate::check::check_conservation;
use crate::process::{Process, text_of};
use rustix::process::Signal;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A command to be run. `Tare::http` prints JSON and saves nothing unless `out` is given.
pub struct Tare {
    /// Programs in front: `prlimit …`, `nsenter …`.
    wrapper: Vec<String>,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    limit: Duration,
}

/// For programs whose times are judged: a real-time priority, as a measuring machine of its own would give.
/// Only for loads far below what a CPU can do.
pub const AHEAD: [&str; 3] = ["chrt", "--fifo", "10"];

impl Tare {
    /// `tare <arguments>`; they are parted at spaces, as a shell does.
    pub fn new(arguments: &str) -> Self {
        Self {
            wrapper: Vec::new(),
            arguments: arguments.split_whitespace().map(str::to_owned).collect(),
            environment: Vec::new(),
            limit: Duration::from_secs(60),
        }
    }

    /// `tare http --json --no-progress <arguments>`, and `--no-save` unless `--out` is among them.
    pub fn http(arguments: &str) -> Self {
        let save = if arguments.contains("--out") { "" } else { "--no-save" };
        Self::new(&format!("http --json --no-progress {save} {arguments}"))
    }

    /// One argument more, which may have spaces.
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Runs it by way of these words, which must end in a call of what follows them.
    pub fn through(mut self, wrapper: &str) -> Self {
        self.wrapper.extend(wrapper.split_whitespace().map(str::to_owned));
        self
    }

    /// In the network namespace of that process.
    pub fn in_network_of(self, pid: u32) -> Self {
        crate::need("nsenter");
        self.through(&format!("nsenter --net=/proc/{pid}/ns/net --"))
    }

    /// Goes before all other work on this machine, so that times are its own and not other programs' (see
    /// [`AHEAD`]).
    pub fn ahead(self) -> Self {
        crate::need_root();
        crate::need("chrt");
        self.through(&AHEAD.join(" "))
    }

    pub fn env(mut self, key: &str, value: impl Into<String>) -> Self {
        self.environment.push((key.to_owned(), value.into()));
        self
    }

    /// It must end within this time.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    pub fn start(self) -> Running {
        let folder = crate::scratch();
        let mut argv = self.wrapper;
        argv.push(crate::binary().display().to_string());
        argv.extend(self.arguments);
        let file = |name: &str| std::fs::File::create(folder.path().join(name)).expect("a scratch file");
        let begun = Instant::now();
        let process = Process::start(&argv, |command| {
            // Not among the runs of whoever runs the tests.
            command.env("XDG_STATE_HOME", folder.path()).envs(self.environment);
            command.stdout(file("stdout")).stderr(file("stderr"));
        });
        Running { process, begun, limit: self.limit, folder, argv }
    }

    /// Runs it to its end and checks conservation.
    pub fn run(self) -> Run {
        self.start().finish()
    }
}

/// A run at work; ended when dropped.
pub struct Running {
    pub process: Process,
    pub begun: Instant,
    limit: Duration,
    folder: TempDir,
    argv: Vec<String>,
}

impl Running {
    /// Ctrl-C.
    pub fn interrupt(&self) {
        self.process.signal(Signal::INT);
    }

    /// Sleeps until so long after it began to heed Ctrl-C, which it does just before its load begins: how long
    /// a program takes to start is the machine's affair.
    pub fn sleep_until(&self, after: Duration) {
        self.process.wait_for_heeding(Signal::INT);
        std::thread::sleep(after);
    }

    /// Waits for the end. A run that left a result must add up, and its exit status must follow its verdict.
    pub fn finish(self) -> Run {
        let run = self.finish_unchecked();
        if run.result.is_object() {
            check_conservation(&run);
        }
        run
    }

    /// For runs that may end without a result.
    pub fn finish_unchecked(mut self) -> Run {
        let Some(status) = self.process.wait(self.limit) else {
            self.process.kill();
            panic!("{:?} ran longer than {:?}: {}", self.argv, self.limit, self.stderr());
        };
        let stdout = text_of(&self.folder.path().join("stdout"));
        Run {
            code: status.code(),
            result: serde_json::from_str(&stdout).unwrap_or(Value::Null),
            stderr: self.stderr(),
            stdout,
            took: self.begun.elapsed(),
            command: self.argv.join(" "),
        }
    }

    /// Ctrl-C, and waits for the end: for a run whose length proves nothing.
    pub fn end(self) -> Run {
        self.interrupt();
        self.finish_unchecked()
    }

    /// What it said on standard error until now.
    pub fn stderr(&self) -> String {
        text_of(&self.folder.path().join("stderr"))
    }
}

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct Run {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// `result.json` as printed; null if nothing was printed.
    pub result: Value,
    pub took: Duration,
    pub command: String,
}

/// One criterion of the verdict.
#[derive(Clone, Debug)]
pub struct Criterion {
    pub name: String,
    pub value: f64,
    pub holds: bool,
    pub severity: String,
    pub advice: String,
}

impl Run {
    /// A whole number by its path of keys.
    #[track_caller]
    pub fn int(&self, path: &str) -> u64 {
        let value = self.at(path);
        value.as_u64().unwrap_or_else(|| panic!("{path} is {value} in {self}"))
    }

    #[track_caller]
    pub fn float(&self, path: &str) -> f64 {
        let value = self.at(path);
        value.as_f64().unwrap_or_else(|| panic!("{path} is {value} in {self}"))
    }

    /// `a.b.c`, or a JSON pointer (RFC 6901): `/a/0/c`.
    pub fn at(&self, path: &str) -> &Value {
        if path.starts_with('/') {
            return self.result.pointer(path).unwrap_or(&Value::Null);
        }
        path.split('.').fold(&self.result, |value, key| &value[key])
    }

    /// One of offered, sent, done, failed, missed, cut_off.
    #[track_caller]
    pub fn total(&self, key: &str) -> u64 {
        self.int(&format!("totals.{key}"))
    }

    pub fn word(&self) -> &str {
        self.at("verdict.word").as_str().unwrap_or("")
    }

    /// How many departures ended so: a status code, or a cause's key.
    pub fn outcome(&self, key: &str) -> u64 {
        outcome_in(&self.result["outcomes"], key)
    }

    /// Keys of all outcomes that are not zero, sorted.
    pub fn outcome_keys(&self) -> Vec<String> {
        let list = self.result["outcomes"].as_array().into_iter().flatten();
        let mut keys: Vec<String> =
            list.filter(|o| o["count"].as_u64() > Some(0)).map(|o| text(&o["key"])).collect();
        keys.sort();
        keys
    }

    pub fn criteria(&self) -> Vec<Criterion> {
        let all = self.at("verdict.criteria").as_array().into_iter().flatten();
        all.map(|c| Criterion {
            name: text(&c["name"]),
            value: c["value"].as_f64().unwrap_or(f64::NAN),
            holds: c["holds"] == true,
            severity: text(&c["severity"]),
            advice: text(&c["advice"]),
        })
        .collect()
    }

    #[track_caller]
    pub fn criterion(&self, name: &str) -> Criterion {
        let found = self.criteria().into_iter().find(|criterion| criterion.name == name);
        found.unwrap_or_else(|| panic!("no criterion {name} in {self}"))
    }

    /// Criteria that do not hold and lower the verdict.
    pub fn failing(&self) -> Vec<Criterion> {
        self.criteria().into_iter().filter(|c| !c.holds && c.severity != "VALID").collect()
    }

    /// The group (a request's name) of the result.
    #[track_caller]
    pub fn group(&self, name: &str) -> &Value {
        let groups = self.result["groups"].as_array();
        let found = groups.and_then(|groups| groups.iter().find(|group| group["name"] == name));
        found.unwrap_or_else(|| panic!("no group {name} in {self}"))
    }

    /// Labels and notes, one a line.
    pub fn remarks(&self) -> String {
        let lists = ["labels", "notes"].into_iter().flat_map(|key| self.result[key].as_array());
        lists.flatten().map(text).collect::<Vec<_>>().join("\n")
    }

    /// Keeps the result for a later look, as a run folder has it.
    pub fn save(&self, path: &Path) -> PathBuf {
        std::fs::write(path, &self.stdout).expect("the result can be written");
        path.to_owned()
    }
}

/// The count of an outcome in a list of them.
pub fn outcome_in(list: &Value, key: &str) -> u64 {
    let list = list.as_array().into_iter().flatten();
    list.filter(|o| o["key"] == key).map(|o| o["count"].as_u64().unwrap_or(0)).sum()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// For messages: the command, how it ended, and the parts of the result that explain it.
impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}\nstatus {:?} after {:?}, {}", self.command, self.code, self.took, self.word())?;
        for key in ["totals", "rate", "outcomes", "labels", "notes", "latency_ns", "own_lateness_ns", "store"]
        {
            writeln!(f, "{key}: {}", self.result[key])?;
        }
        for criterion in self.criteria().iter().filter(|criterion| !criterion.holds) {
            writeln!(f, "fails: {criterion:?}")?;
        }
        write!(f, "stderr: {}", self.stderr)
    }
}
