//! The Redis sink against the real redis-server, called as the hub calls it.

use redis::{Commands, Connection, Value};
use sinks::{Exporter, Place, RunInfo, SinkError, SinkRow};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant as Wall};
use store::RunResult;
use store::schema::Interval;
use units::{Bytes, Event, Group, Instant, Outcome, Picos};

/// A redis-server on a free port of loopback, ended when it is dropped.
pub(crate) struct Server {
    child: Child,
    pub port: u16,
    folder: tempfile::TempDir,
    settings: Vec<String>,
}

impl Server {
    pub fn start(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let settings = settings.replace("FOLDER", folder.path().to_str().unwrap());
        let settings: Vec<String> = settings.split_whitespace().map(str::to_owned).collect();
        let child = launch(&folder, port, &settings);
        let mut server = Self { child, port, folder, settings };
        server.wait();
        server
    }

    /// Until it answers: that something listens on its port is not enough, it may be somebody else.
    fn wait(&mut self) {
        let begun = Wall::now();
        loop {
            assert!(self.child.try_wait().unwrap().is_none(), "redis-server ended: {}", self.log());
            let folder = self.folder.path().to_str().unwrap();
            let client = redis::Client::open(self.url("")).unwrap();
            let asked =
                client.get_connection_with_timeout(Duration::from_millis(200)).and_then(|mut link| {
                    redis::cmd("CONFIG").arg("GET").arg("dir").query::<Vec<String>>(&mut link)
                });
            match asked {
                Ok(answer) if answer.iter().any(|word| word == folder) => return,
                // It is up, and does not tell a stranger more.
                Err(why) if matches!(why.code(), Some("NOAUTH" | "NOPERM")) => return,
                _ => {}
            }
            assert!(
                begun.elapsed() < Duration::from_secs(10),
                "redis-server did not come up: {}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Ends it: with SIGTERM it saves what it is told to save, with SIGKILL it does not.
    fn stop(&mut self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        self.child.wait().unwrap();
    }

    fn start_again(&mut self) {
        self.child = launch(&self.folder, self.port, &self.settings);
        self.wait();
    }

    pub(crate) fn url(&self, options: &str) -> String {
        format!("redis://127.0.0.1:{}/{options}", self.port)
    }

    pub fn client(&self) -> Connection {
        let client = redis::Client::open(self.url("")).unwrap();
        let begun = Wall::now();
        loop {
            match client.get_connection().and_then(|mut connection| {
                redis::cmd("PING").query::<String>(&mut connection)?;
                Ok(connection)
            }) {
                Ok(connection) => return connection,
                Err(why) if begun.elapsed() > Duration::from_secs(10) => panic!("{why}"),
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn launch(folder: &tempfile::TempDir, port: u16, settings: &[String]) -> Child {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--logfile", "log"])
        .args(["--dir", folder.path().to_str().unwrap()])
        .args(settings)
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server is not installed: apt-get install redis-server")
}

/// A port that nobody has, and that no other test here was given.
fn free_port() -> u16 {
    static GIVEN: std::sync::Mutex<Vec<u16>> = std::sync::Mutex::new(Vec::new());
    let mut given = GIVEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let ports = (0..100).map(|_| TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port());
    let port = ports.into_iter().find(|port| !given.contains(port)).unwrap();
    given.push(port);
    port
}

pub(crate) const RUN: &str = "2026-11-20T12-00-00Z-http-7f3a";

fn about() -> RunInfo {
    RunInfo {
        run: RUN.into(),
        engine: "http".into(),
        plan_hash: "abc".into(),
        target: "http://127.0.0.1/".into(),
        version: "0.1.0".into(),
        started_at: "2026-11-20T12:00:00Z".into(),
        plan: "rate = \"1k\"\n".into(),
        environment: "{}\n".into(),
        ..RunInfo::default()
    }
}

fn open(url: &str) -> Box<dyn Exporter> {
    let place = Place::parse(url).unwrap();
    (place.kind().open)(&place).unwrap()
}

pub(crate) fn begun(url: &str) -> Box<dyn Exporter> {
    let mut exporter = open(url);
    exporter.begin(&about()).unwrap();
    exporter.start(1_795_176_000_000_000_000);
    exporter
}

/// Why it can not begin.
fn problem(url: &str) -> SinkError {
    open(url).begin(&about()).unwrap_err()
}

pub(crate) fn event(seq: u64) -> Event {
    let at = |nanos| Instant::EPOCH + Picos::from_nanos(seq * 10_000 + nanos);
    Event {
        seq,
        due: at(0),
        sent: at(700),
        first_byte: at(90_000),
        done: at(95_000),
        bytes_out: Bytes::new(65),
        bytes_in: Bytes::new(680),
        outcome: Outcome::Status(200),
        blocked: Picos::ZERO,
        unread: Picos::ZERO,
        unread_bound: Picos::ZERO,
        group: Group(0),
    }
}

/// As the hub does it: again, as long as nobody answers.
fn insist(mut act: impl FnMut() -> Result<(), SinkError>) {
    let begun = Wall::now();
    while let Err(why) = act() {
        assert!(why.may_pass() && begun.elapsed() < Duration::from_secs(20), "{why}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn events_key(thread: usize) -> String {
    format!("tare:{RUN}:events:{thread}")
}

/// Numbers of the entries and the `seq` of their events, from the first to the last.
fn stored(client: &mut Connection, key: &str) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    loop {
        let page = page(client, key, all.last().map_or(1, |(id, _)| id + 1), 20_000);
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

/// At most so many of them, from this number on.
fn page(client: &mut Connection, key: &str, from: u64, count: u64) -> Vec<(u64, u64)> {
    let from = format!("{from}-0");
    let page: Vec<Value> =
        redis::cmd("XRANGE").arg(key).arg(from).arg("+").arg("COUNT").arg(count).query(client).unwrap();
    let read = |entry| {
        let (id, fields): (String, Vec<String>) = redis::from_redis_value(entry).unwrap();
        let seq = fields.iter().position(|field| field == "seq").expect("an event has a seq");
        (id.split('-').next().unwrap().parse().unwrap(), fields[seq + 1].parse().unwrap())
    };
    page.into_iter().map(read).collect()
}

#[test]
fn a_million_events_arrive_in_order() {
    let server = Server::start("");
    let mut exporter = begun(&server.url("?events=1"));
    // Four engine threads, as the tap hands them over: batches of 4 096 in turn; thread t has every fourth
    // event.
    const EACH: u64 = 250_000;
    let took = Wall::now();
    let mut next = [0_u64; 4];
    while next.iter().any(|next| *next < EACH) {
        for thread in 0..4 {
            let from = next[thread as usize];
            let to = (from + 4_096).min(EACH);
            let batch: Vec<Event> = (from..to).map(|n| event(4 * n + u64::from(thread))).collect();
            exporter.events(thread, &batch).unwrap();
            next[thread as usize] = to;
        }
    }
    exporter.flush().unwrap();
    let took = took.elapsed();
    println!("a million events in {took:?}: {:.0}/s", 1e6 / took.as_secs_f64());
    assert_eq!(exporter.gone(), Default::default());
    // Numbers only ever grow within a stream. So 250 000 entries of which the first is 1 and the last 250 000
    // are each number once; that number n is event n of its thread is looked at in a part of them: reading all
    // takes long.
    let mut client = server.client();
    for thread in 0..4 {
        let key = events_key(thread);
        assert_eq!(client.xlen::<_, u64>(&key).unwrap(), EACH);
        let last: Vec<Value> = redis::cmd("XREVRANGE")
            .arg(&key)
            .arg("+")
            .arg("-")
            .arg("COUNT")
            .arg(1)
            .query(&mut client)
            .unwrap();
        let (last, _): (String, Vec<String>) = redis::from_redis_value(last[0].clone()).unwrap();
        assert_eq!(last, format!("{EACH}-0"));
        for from in [1, 123_456, EACH - 9_999] {
            let expected = (from..from + 10_000).map(|n| (n, 4 * (n - 1) + thread as u64));
            let entries = page(&mut client, &key, from, 10_000);
            assert!(entries.into_iter().eq(expected), "thread {thread} is not in order");
        }
    }
}

#[test]
fn after_a_restart_in_the_middle_everything_is_there_once() {
    // Every write is on disk before it is acknowledged, so that even SIGKILL loses nothing that was.
    let mut server = Server::start("--appendonly yes --appendfsync always");
    let url = server.url("?events=1");
    let sender = std::thread::spawn(move || {
        let mut exporter = begun(&url);
        for batch in 0..60 {
            let events: Vec<Event> = (batch * 1_000..(batch + 1) * 1_000).map(event).collect();
            insist(|| exporter.events(0, &events));
            insist(|| exporter.interval(&row(batch)));
        }
        exporter.flush().unwrap();
        exporter.gone()
    });
    for signal in ["-TERM", "-KILL", "-KILL"] {
        std::thread::sleep(Duration::from_millis(150));
        server.stop(signal);
        std::thread::sleep(Duration::from_millis(100));
        server.start_again();
    }
    assert_eq!(sender.join().unwrap(), Default::default());
    let mut client = server.client();
    let entries = stored(&mut client, &events_key(0));
    assert!(entries.into_iter().eq((0..60_000).map(|n| (n + 1, n))), "not each once and in order");
    let rows: usize = client.xlen(format!("tare:{RUN}:intervals")).unwrap();
    assert_eq!(rows, 60);
}

#[test]
fn what_a_restart_lost_is_counted() {
    let mut server = Server::start("");
    let mut exporter = begun(&server.url("?events=1"));
    exporter.events(0, &(0..5_000).map(event).collect::<Vec<_>>()).unwrap();
    exporter.interval(&row(0)).unwrap();
    // Nothing is ever saved: all is gone.
    server.stop("-KILL");
    server.start_again();
    insist(|| exporter.events(0, &(5_000..7_000).map(event).collect::<Vec<_>>()));
    insist(|| exporter.interval(&row(1)));
    exporter.flush().unwrap();
    let gone = exporter.gone();
    assert_eq!((gone.rows, gone.events), (1, 5_000));
    assert!(gone.why.contains("started anew without its last writes"), "{gone:?}");
    let entries = stored(&mut server.client(), &events_key(0));
    assert!(entries.into_iter().eq((5_000..7_000).map(|n| (n + 1, n))));
    // And again, between the last write and the end.
    server.stop("-KILL");
    server.start_again();
    insist(|| exporter.flush());
    let gone = exporter.gone();
    assert_eq!((gone.rows, gone.events), (1, 2_000));
}

#[test]
fn a_full_redis_refuses_and_what_it_took_is_what_is_counted() {
    let server = Server::start("--maxmemory 3mb --maxmemory-policy noeviction");
    let mut exporter = begun(&server.url("?events=1"));
    let (mut arrived, mut refused) = (0, 0);
    for batch in 0..30 {
        let events: Vec<Event> = (batch * 4_096..(batch + 1) * 4_096).map(event).collect();
        match exporter.events(0, &events) {
            Ok(()) => arrived += 4_096,
            Err(why) => {
                assert!(
                    matches!(&why, SinkError::Refused { problem, .. } if problem.contains("memory is full")),
                    "{why}"
                );
                refused += 4_096;
            }
        }
        let gone = exporter.gone().events;
        (arrived, refused) = (arrived - gone, refused + gone);
    }
    exporter.flush().unwrap();
    assert!(refused > 4_096, "3 MB took 120 000 events");
    let there: u64 = server.client().xlen(events_key(0)).unwrap();
    assert_eq!((arrived, arrived + refused), (there, 30 * 4_096));
}

pub(crate) fn row(index: u64) -> SinkRow {
    let mut histogram = hdrhistogram::Histogram::<u32>::new(3).unwrap();
    (1..=100_u64).for_each(|n| histogram.record(n * 1_000 + index).unwrap());
    let interval =
        Interval { t_s: index as f64, length_s: 1.0, offered: 100, done: 100, ..Interval::default() };
    SinkRow { index, row: interval, histograms: vec![(measure::Series::Latency, histogram)] }
}

#[test]
fn a_run_is_read_back_as_it_was() {
    let server = Server::start("");
    let mut exporter = begun(&server.url("2?expire=1h&prefix=load"));
    for index in 0..150 {
        exporter.interval(&row(index)).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let url = format!("redis://127.0.0.1:{}/2/{RUN}?prefix=load", server.port);
    // Before its end: what is there makes a partial result.
    sinks::fetch_redis(&url, folder.path()).unwrap();
    let running = store::load_run(folder.path()).unwrap().result;
    assert!(running.partial && running.totals.done == 15_000, "{:?}", running.totals);

    let result = RunResult { schema: store::schema::SCHEMA.into(), run: RUN.into(), ..RunResult::default() };
    exporter.flush().unwrap();
    exporter.end(&result).unwrap();
    let folder = tempfile::tempdir().unwrap();
    sinks::fetch_redis(&url, folder.path()).unwrap();
    let stored = store::load_run(folder.path()).unwrap();
    assert_eq!(stored.result.run, RUN);
    assert_eq!((stored.plan.as_str(), stored.environment.as_str()), ("rate = \"1k\"\n", "{}\n"));
    let text = std::fs::read_to_string(folder.path().join("intervals.jsonl")).unwrap();
    let rows: Vec<Interval> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows, (0..150).map(|index| row(index).row).collect::<Vec<_>>());
    check_histograms(&folder.path().join("latency.hlog"));

    let mut client = server.client();
    redis::cmd("SELECT").arg(2).query::<()>(&mut client).unwrap();
    for key in ["meta", "intervals", "result"] {
        let left: i64 = client.ttl(format!("load:{RUN}:{key}")).unwrap();
        assert!((3_000..=3_600).contains(&left), "{key} lives {left} s more");
    }
}

/// By hdrhistogram's own reader: every bucket of every interval.
fn check_histograms(path: &Path) {
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    let text = std::fs::read(path).unwrap();
    let mut index = 0;
    for entry in IntervalLogIterator::new(&text) {
        let LogEntry::Interval(entry) = entry.unwrap() else { continue };
        assert_eq!(entry.tag().unwrap().as_str(), "latency");
        assert_eq!(entry.start_timestamp(), Duration::from_secs(index));
        let bytes =
            base64::Engine::decode(&base64::prelude::BASE64_STANDARD, entry.encoded_histogram()).unwrap();
        let read: hdrhistogram::Histogram<u32> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        assert_eq!(read, row(index).histograms[0].1);
        index += 1;
    }
    assert_eq!(index, 150);
}

#[test]
fn streams_are_kept_short_where_that_is_asked() {
    let server = Server::start("");
    let events: Vec<Event> = (0..4_096).map(event).collect();
    let mut exporter = begun(&server.url("?events=1&maxlen_exact=1000&expire=never"));
    exporter.events(0, &events).unwrap();
    exporter.flush().unwrap();
    assert_eq!(exporter.gone(), Default::default(), "what was trimmed is not lost: it was asked for");
    let entries = stored(&mut server.client(), &events_key(0));
    assert!(entries.into_iter().eq((3_096..4_096).map(|n| (n + 1, n))));
    let left: i64 = server.client().ttl(events_key(0)).unwrap();
    assert_eq!(left, -1);
    let wrong = |options: &str| {
        let place = Place::parse(&server.url(options)).unwrap();
        (place.kind().open)(&place).err().unwrap().to_string()
    };
    assert!(wrong("?maxlen=1&maxlen_exact=2").contains("exclude each other"));
    assert!(wrong("?expire=soon").contains("expire"));
    assert!(wrong("x").contains("/x is not the number of a database"));
}

#[test]
fn passwords_users_and_rights() {
    let server = Server::start("--requirepass secret --user limited on >pw ~* +@all -info -xinfo");
    let url = |login: &str| format!("redis://{login}127.0.0.1:{}/", server.port);
    let told = |login: &str| {
        let why = problem(&url(login));
        assert!(matches!(why, SinkError::Refused { .. }) && !why.to_string().contains("s3cret"), "{why}");
        why.problem()
    };
    assert!(told("").contains("wants a password"), "{}", told(""));
    assert!(told(":s3cret@").contains("wrong password"), "{}", told(":s3cret@"));
    assert!(told("me:s3cret@").contains("wrong user name or password"), "{}", told("me:s3cret@"));
    begun(&url(":secret@")).interval(&row(0)).unwrap();
    // A user who may not ask for the version writes all the same.
    begun(&url("limited:pw@")).interval(&row(1)).unwrap();
}

#[test]
fn one_that_is_down_or_no_redis_or_too_old_is_told_by_name() {
    let nobody = format!("redis://:s3cret@127.0.0.1:{}/", free_port());
    let why = problem(&nobody);
    assert!(why.may_pass() && why.to_string().contains("nothing listens on 127.0.0.1:"), "{why}");
    assert!(why.to_string().starts_with("redis://:***@127.0.0.1:"), "{why}");

    let web = answering(|_| b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec());
    let why = problem(&format!("redis://127.0.0.1:{web}/"));
    assert!(!why.may_pass() && why.to_string().contains("does not reply as Redis does"), "{why}");

    let old = answering(|line| match line {
        "INFO" => b"$30\r\n# Server\r\nredis_version:4.0.14\r\n".to_vec(),
        _ => b"-ERR unknown command 'XADD'\r\n".to_vec(),
    });
    let why = problem(&format!("redis://127.0.0.1:{old}/"));
    assert!(!why.may_pass() && why.to_string().contains("Redis 4.0.14, which has no streams; 5.0"), "{why}");

    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let begun = Wall::now();
    let why = problem(&format!("redis://127.0.0.1:{port}/"));
    assert!(why.may_pass() && why.to_string().contains("does not reply in time"), "{why}");
    assert!(begun.elapsed() < Duration::from_secs(7), "{:?}", begun.elapsed());
}

/// A server on loopback that answers each command, told by its first word, as it is told to.
fn answering(answer: fn(&str) -> Vec<u8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            // `*2`, `$4`, `INFO`, `$6`, `server`: the first line that is a word is the command's name.
            let mut is_name = false;
            for line in lines.map_while(Result::ok) {
                is_name = match line.as_bytes().first() {
                    Some(b'*') => true,
                    Some(b'$') => is_name,
                    _ if is_name => {
                        let _ = stream.write_all(&answer(&line));
                        false
                    }
                    _ => false,
                };
            }
        }
    });
    port
}

#[test]
fn over_tls_with_an_authority_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=tare test"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", &path("key"), "-out", &path("cert")])
        .stderr(Stdio::null())
        .status();
    assert!(made.expect("openssl is not installed: apt-get install openssl").success());
    let tls = free_port();
    let server = Server::start(&format!(
        "--tls-port {tls} --tls-cert-file {} --tls-key-file {} --tls-auth-clients no --requirepass pw",
        path("cert"),
        path("key")
    ));
    let url = |more: &str| format!("rediss://:pw@127.0.0.1:{tls}/{more}");
    begun(&url(&format!("?ca={}", path("cert")))).interval(&row(0)).unwrap();
    let why = problem(&url(""));
    assert!(!why.may_pass() && why.to_string().contains("name its authority with ?ca=FILE"), "{why}");
    drop(server);
}
