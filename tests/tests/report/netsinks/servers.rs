//! The real servers, each on a free port of loopback with a scratch folder of its own; ended when dropped.

use serde_json::Value;
use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tare_system_tests::nginx::free_port;
use tare_system_tests::process::{Process, text_of, wait_until};
use tempfile::TempDir;

/// What curl prints, whatever the status.
pub fn curl(arguments: &[&str]) -> String {
    tare_system_tests::need("curl");
    let out =
        Command::new("curl").args(["-sS", "--noproxy", "*", "--max-time", "5"]).args(arguments).output();
    String::from_utf8_lossy(&out.expect("curl can be started").stdout).into_owned()
}

/// Starts it with its output in `folder/log`.
fn start(folder: &Path, argv: &[String]) -> Process {
    let file = File::create(folder.join("log")).expect("a scratch file");
    let also = file.try_clone().expect("an open file can be shared");
    Process::start(argv, |command| {
        command.stdout(file).stderr(also);
    })
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Debian's Prometheus.
pub struct Prometheus {
    port: u16,
    folder: TempDir,
    _process: Process,
}

impl Prometheus {
    /// It scrapes these addresses every 500 ms.
    pub fn start(flags: &str, scrapes: &[String]) -> Self {
        (0..5).find_map(|_| Self::try_start(flags, scrapes)).expect("prometheus does not start")
    }

    fn try_start(flags: &str, scrapes: &[String]) -> Option<Self> {
        tare_system_tests::need("prometheus");
        let (folder, port) = (tare_system_tests::scratch(), free_port());
        let config = folder.path().join("prometheus.yml");
        let targets = serde_json::to_string(scrapes).expect("texts are JSON");
        let text = format!(
            "global: {{scrape_interval: 500ms, scrape_timeout: 500ms}}\nscrape_configs:\n- job_name: scraped\n  static_configs:\n  - targets: {targets}\n"
        );
        std::fs::write(&config, text).expect("a scratch file");
        let mut argv = words("prometheus --log.level=warn");
        argv.push(format!("--config.file={}", config.display()));
        argv.push(format!("--storage.tsdb.path={}", folder.path().join("data").display()));
        argv.push(format!("--web.listen-address=127.0.0.1:{port}"));
        argv.extend(words(flags));
        let mut process = start(folder.path(), &argv);
        let ready = format!("http://127.0.0.1:{port}/-/ready");
        wait_until("prometheus", || !process.is_running() || curl(&[&ready]).contains("Ready"));
        process.is_running().then_some(Self { port, folder, _process: process })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn log(&self) -> String {
        text_of(&self.folder.path().join("log"))
    }

    /// `data.result` of an instant query, now or at that time.
    pub fn query(&self, query: &str, at: Option<f64>) -> Vec<Value> {
        let url = format!("http://127.0.0.1:{}/api/v1/query", self.port);
        let query = format!("query={query}");
        let mut arguments = vec!["-G", &url, "--data-urlencode", &query];
        let time = at.map(|at| format!("time={at:.3}"));
        if let Some(time) = &time {
            arguments.extend(["--data-urlencode", time]);
        }
        let text = curl(&arguments);
        let answer: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{query}: {text}"));
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        answer["data"]["result"].as_array().cloned().unwrap_or_default()
    }

    /// The one value of an instant query.
    #[track_caller]
    pub fn value(&self, query: &str, at: Option<f64>) -> f64 {
        let found = self.query(query, at);
        assert_eq!(found.len(), 1, "{query} has {found:?}; the log: {}", self.log());
        number(&found[0]["value"][1])
    }
}

/// Prometheus writes numbers as texts.
pub fn number(text: &Value) -> f64 {
    let parsed = text.as_str().and_then(|text| text.parse().ok());
    parsed.unwrap_or_else(|| panic!("{text} is no number"))
}

/// Debian's InfluxDB 1.6.
pub struct Influx {
    port: u16,
    _folder: TempDir,
    _process: Process,
}

impl Influx {
    /// Without users, or with an `admin` whose password is `opensesame`.
    pub fn start(auth: bool) -> Self {
        tare_system_tests::need("influxd");
        let folder = tare_system_tests::scratch();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let config = format!(
            "reporting-disabled = true\nbind-address = \"127.0.0.1:0\"\n[meta]\ndir = {:?}\n[data]\ndir = {:?}\nwal-dir = {:?}\n\
             [http]\nbind-address = \"127.0.0.1:0\"\nauth-enabled = {auth}\nlog-enabled = false\n[monitor]\nstore-enabled = false\n",
            at("meta"),
            at("data"),
            at("wal")
        );
        let file = folder.path().join("influxdb.conf");
        std::fs::write(&file, config).expect("a scratch file");
        let argv = [words("influxd run -config"), vec![file.display().to_string()]].concat();
        let mut process = start(folder.path(), &argv);
        let mut port = None;
        let log = folder.path().join("log");
        wait_until("influxd", || {
            let text = text_of(&log);
            assert!(process.is_running(), "influxd ended: {text}");
            port = text.lines().find_map(port_of);
            port.is_some()
        });
        let influx = Self { port: port.expect("it was waited for"), _folder: folder, _process: process };
        if auth {
            influx.query("CREATE USER admin WITH PASSWORD 'opensesame' WITH ALL PRIVILEGES");
        }
        influx
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The answer to an InfluxQL statement on the database `load`.
    pub fn query(&self, statement: &str) -> Value {
        let url = format!("http://127.0.0.1:{}/query", self.port);
        let statement = format!("q={statement}");
        let text = curl(&[
            &url,
            "-u",
            "admin:opensesame",
            "--data-urlencode",
            "db=load",
            "--data-urlencode",
            &statement,
        ]);
        let answer: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{statement}: {text}"));
        assert!(
            answer["results"][0]["error"].is_null() && answer["error"].is_null(),
            "{statement}: {answer}"
        );
        answer
    }

    /// The second column of the first row: the first is the time.
    pub fn value(&self, statement: &str) -> Value {
        let answer = self.query(statement);
        answer["results"][0]["series"][0]["values"][0][1].clone()
    }
}

/// `… Listening on HTTP {"log_id": …, "service": "httpd", "addr": "127.0.0.1:38211", "https": false}`
fn port_of(line: &str) -> Option<u16> {
    let rest = line.split_once("Listening on HTTP")?.1;
    let address = rest.split_once("127.0.0.1:")?.1;
    let digits: String = address.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Python's own decoder of OTLP behind a small HTTP server.
pub struct Otlp {
    port: u16,
    folder: TempDir,
    _process: Process,
}

impl Otlp {
    pub fn start(flags: &str) -> Self {
        let folder = tare_system_tests::scratch();
        let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let python = tests.join("../.venv/bin/python");
        assert!(python.is_file(), "no {}: run scripts/python.sh", python.display());
        let script = tests.join("tests/report/netsinks/otlp_receiver.py");
        let mut argv = vec![python.display().to_string(), script.display().to_string()];
        argv.push(folder.path().join("requests.jsonl").display().to_string());
        argv.extend(words(flags));
        let mut process = start(folder.path(), &argv);
        let mut port = None;
        let log = folder.path().join("log");
        wait_until("the receiver", || {
            let text = text_of(&log);
            assert!(process.is_running(), "the receiver ended: {text}");
            port = text.strip_prefix("listening on ").and_then(|text| text.strip_suffix('\n')?.parse().ok());
            port.is_some()
        });
        Self { port: port.expect("it was waited for"), folder, _process: process }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// One that is busy is no longer.
    pub fn go(&self) {
        std::fs::write(self.folder.path().join("requests.jsonl.go"), "").expect("a scratch file");
    }

    /// `{"headers": …, "message": …}` of every request, in the order in which they came.
    pub fn requests(&self) -> Vec<Value> {
        let text = text_of(&self.folder.path().join("requests.jsonl"));
        text.lines().map(|line| serde_json::from_str(line).expect("the receiver writes JSON")).collect()
    }
}

/// Accepts and never says a word.
pub struct Mute {
    listener: TcpListener,
}

impl Mute {
    pub fn start() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").expect("a free port of loopback") }
    }

    /// The kernel accepts for it.
    pub fn port(&self) -> u16 {
        self.listener.local_addr().expect("a bound socket has an address").port()
    }
}

/// Calls `look` until it returns something, for at most so long.
pub fn eventually<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if begun.elapsed() > patience {
            return None;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
