//! Bad input: exit status 2, a message that a user can act on, and nothing sent.
//!
//! Each refusal names where the mistake is (flag, file and line, or key), what is wrong with it, and what would
//! be right. The target of every command here is a socket that listens, and that must not see one connection.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use tare_system_tests::{Run, Tare, beside_others, need, scratch};

/// A target that must stay untouched, and files for the commands.
struct Bench {
    listener: TcpListener,
    folder: tempfile::TempDir,
    _shared: tare_system_tests::lock::Guard,
}

impl Bench {
    fn new() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        listener.set_nonblocking(true).expect("a socket can be asked without waiting");
        Self { listener, folder: scratch(), _shared: beside_others() }
    }

    fn url(&self) -> String {
        format!("http://{}/", self.listener.local_addr().expect("a bound socket has an address"))
    }

    fn tls_url(&self) -> String {
        self.url().replace("http://", "https://")
    }

    /// A file of the scratch folder; `URL` in its text is the target.
    fn file(&self, name: &str, text: &str) -> PathBuf {
        self.binary(name, text.replace("URL", &self.url()).as_bytes())
    }

    fn binary(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, bytes).expect("a scratch file");
        path
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A certificate and its key: NAME.pem, NAME.key.
    fn certificate(&self, name: &str) {
        need("openssl");
        let (key, pem) = (self.path(&format!("{name}.key")), self.path(&format!("{name}.pem")));
        let made = Command::new("openssl")
            .args(
                "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=x".split(' '),
            )
            .args([Path::new("-keyout"), &key, Path::new("-out"), &pem])
            .output()
            .expect("openssl can be run");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    /// `tare http <arguments> URL`. Words of the message, in this order, must be in it.
    #[track_caller]
    fn http(&self, arguments: &str, words: &[&str]) {
        self.refused(Tare::new(&format!("http {arguments}")).arg(self.url()), words);
    }

    #[track_caller]
    fn https(&self, arguments: &str, words: &[&str]) {
        self.refused(Tare::new(&format!("http {arguments}")).arg(self.tls_url()), words);
    }

    /// A command whose last word is a file of the scratch folder.
    #[track_caller]
    fn with_file(&self, command: &str, path: &Path, words: &[&str]) {
        self.refused(Tare::new(command).arg(path.display().to_string()), words);
    }

    #[track_caller]
    fn refused(&self, tare: Tare, words: &[&str]) {
        let state = scratch();
        let run = tare
            .env("XDG_STATE_HOME", state.path().display().to_string())
            .limit(std::time::Duration::from_secs(10))
            .start()
            .finish_unchecked();
        assert_eq!(run.code, Some(2), "{run}");
        assert_eq!(run.stdout, "", "a refusal is not a result: {run}");
        says(&run, words);
        match self.listener.accept() {
            Err(none) if none.kind() == std::io::ErrorKind::WouldBlock => {}
            other => panic!("something was sent: {other:?}; {run}"),
        }
        let left = std::fs::read_dir(state.path()).expect("the scratch folder").count();
        assert_eq!(left, 0, "a run that did not take place left a folder: {run}");
    }
}

/// The words, one after another; and the message is for people.
#[track_caller]
fn says(run: &Run, words: &[&str]) {
    let mut rest = run.stderr.as_str();
    for word in words {
        let at = rest.find(word).unwrap_or_else(|| panic!("no '{word}' in its place: {run}"));
        rest = &rest[at + word.len()..];
    }
    // Names of the source code, and a message of the runtime, say nothing to a user.
    for code in ["panicked", "Error {", "Some(", "Err(", "KeyMismatch", "invalid type", "serde", "io::"] {
        assert!(!run.stderr.contains(code), "'{code}' is no word for a user: {run}");
    }
    assert!(run.stderr.len() < 700, "a message, not a page: {run}");
}

const RATE: &str = "expected 400, 20k, 400/s";

#[test]
fn an_unknown_flag_gets_a_suggestion() {
    let bench = Bench::new();
    bench.http("--paralel 5", &["'--paralel'", "'--parallel'"]);
    bench.http("--duraton 1s", &["'--duraton'", "'--duration'"]);
}

#[test]
fn a_rate_of_zero() {
    Bench::new().http("--rate 0", &["--rate", "'0' is zero", RATE]);
}

#[test]
fn a_negative_rate() {
    let bench = Bench::new();
    bench.http("--rate -5", &["--rate", "'-5' is negative", RATE]);
    bench.http("--rate=-0.1/s", &["--rate", "'-0.1/s' is negative", RATE]);
}

#[test]
fn a_rate_that_is_not_a_number() {
    let bench = Bench::new();
    for rate in ["NaN", "nan", "inf", "fast"] {
        bench.http(&format!("--rate {rate}"), &["--rate", &format!("'{rate}' is not a number"), RATE]);
    }
}

#[test]
fn other_quantities_of_nothing() {
    let bench = Bench::new();
    let flags = "--duration --requests --parallel --threads --timeout --throttle --pipeline --max-open";
    for flag in flags.split(' ') {
        bench.http(&format!("{flag} 0"), &[flag, "'0' is zero", "above zero"]);
    }
    bench.http("--duration -1s", &["--duration", "'-1s' is negative", "10s"]);
    bench.http("--requests 1.5", &["--requests", "'1.5' is not a whole number", "10k"]);
    bench.http("--ramp 0..5:1s", &["--ramp", "'0' that is zero", "FROM..TO:OVER"]);
}

#[test]
fn http_load_without_a_stop_rule() {
    let bench = Bench::new();
    let urls = bench.file("urls", "URL\n");
    bench.with_file("http_load -parallel 2", &urls, &["no stop rule", "-fetches N or -seconds N"]);
    bench.with_file("http_load -rate 0 -seconds 1", &urls, &["-rate", "'0' is zero", "400"]);
}

#[test]
fn an_empty_file() {
    let bench = Bench::new();
    let words = ["empty has no request", "expected one URL or JSON object per line"];
    bench.with_file("http", &bench.file("empty", ""), &words);
    bench.with_file("http", &bench.file("empty", "\n# only a comment\n\n"), &words);
}

#[test]
fn a_missing_file() {
    let bench = Bench::new();
    bench.with_file("http", &bench.path("urls.txt"), &["urls.txt' is neither a URL (http://…) nor a file"]);
    bench.with_file("http", bench.folder.path(), &["is not a regular file", "expected a file"]);
}

#[test]
fn a_binary_file() {
    let bench = Bench::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(4096).collect();
    bench.with_file(
        "http",
        &bench.binary("image", &bytes),
        &["image, line 1", "is not text", "expected one URL"],
    );
}

#[test]
fn a_bad_url_at_line_3_of_a_file() {
    let bench = Bench::new();
    let urls = bench.file("urls", "URLa\nURLb\nhttp:/broken\nURLd\n");
    bench.with_file("http", &urls, &["urls, line 3", "'http:/broken' has no scheme", "expected http://host"]);
    // Comments and empty lines count as lines.
    let urls = bench.file("urls", "# first\n\nhttp://127.0.0.1:70000/\n");
    bench.with_file("http", &urls, &["urls, line 3", "port out of range", "from 1 to 65535"]);
}

#[test]
fn a_port_of_70000() {
    let bench = Bench::new();
    bench.refused(
        Tare::new("http http://127.0.0.1:70000/"),
        &["URL", "'http://127.0.0.1:70000/'", "port out of range", "from 1 to 65535"],
    );
    bench.http("--proxy 127.0.0.1:70000", &["--proxy", "port", "from 1 to 65535", "HOST:PORT"]);
}

#[test]
fn an_address_without_http_in_front() {
    let bench = Bench::new();
    let port = bench.listener.local_addr().expect("an address").port();
    bench.refused(
        Tare::new(&format!("http localhost:{port}")),
        &["'localhost:", "is neither a URL", &format!("did you mean http://localhost:{port}/ ?")],
    );
    bench.refused(
        Tare::new("http ftp://h/"),
        &["'ftp://h/'", "scheme other than http", "expected http://host"],
    );
}

#[test]
fn an_authority_that_cannot_be_read() {
    let bench = Bench::new();
    bench.certificate("own");
    let (text, folder) = (bench.file("text", "no PEM"), bench.folder.path().display().to_string());
    let (text, missing) = (text.display().to_string(), bench.path("missing").display().to_string());
    let right = "expected a PEM file with one or more certificates";
    bench.https(&format!("--ca {missing}"), &["--ca", "missing", "No such file", right]);
    bench.https(&format!("--ca {text}"), &["--ca", "text", "has no certificate", right]);
    bench.https(&format!("--ca {folder}"), &["--ca", "is a folder", right]);
    let key = bench.path("own.key").display().to_string();
    bench.https(&format!("--ca {key}"), &["--ca", "own.key", "has no certificate", right]);
}

#[test]
fn a_client_certificate_that_cannot_be_read() {
    let bench = Bench::new();
    bench.certificate("own");
    let (text, folder) = (bench.file("text", "no PEM"), bench.folder.path().display().to_string());
    let (text, missing) = (text.display().to_string(), bench.path("missing").display().to_string());
    let key = bench.path("own.key").display().to_string();
    let right = "expected a PEM file with one or more certificates";
    bench.https(&format!("--cert {missing} --key {key}"), &["--cert", "missing", "No such file", right]);
    bench.https(&format!("--cert {text} --key {key}"), &["--cert", "text", "has no certificate", right]);
    bench.https(&format!("--cert {folder} --key {key}"), &["--cert", "is a folder", right]);
    bench.https(&format!("--key {key}"), &["--key needs --cert"]);
}

#[test]
fn a_client_key_that_cannot_be_read() {
    let bench = Bench::new();
    bench.certificate("own");
    bench.certificate("other");
    let (text, folder) = (bench.file("text", "no PEM"), bench.folder.path().display().to_string());
    let (text, missing) = (text.display().to_string(), bench.path("missing").display().to_string());
    let pem = bench.path("own.pem").display().to_string();
    let other = bench.path("other.key").display().to_string();
    let right = "expected a PEM file with a private key";
    bench.https(&format!("--cert {pem} --key {missing}"), &["--key", "missing", "No such file", right]);
    bench.https(&format!("--cert {pem} --key {text}"), &["--key", "text", "has no private key", right]);
    bench.https(&format!("--cert {pem} --key {folder}"), &["--key", "is a folder", right]);
    bench.https(&format!("--cert {pem} --key {pem}"), &["--key", "own.pem", "has no private key", right]);
    let words = ["--cert and --key", "does not belong to the certificate", "expected its own key"];
    bench.https(&format!("--cert {pem} --key {other}"), &words);
    bench.https(&format!("--cert {pem}"), &["--cert needs --key"]);
}

#[test]
fn flags_that_contradict_each_other() {
    let bench = Bench::new();
    for (flags, words) in [
        ("--rate 5 --ramp 1..2:3s", ["--ramp", "contradicts --rate", "one shape of load"]),
        ("--rate 5 --burst 10:1s", ["--burst", "contradicts --rate", "one shape of load"]),
        ("--poisson", ["--poisson", "needs --rate", "no due times"]),
        ("--jitter 10%", ["--jitter", "needs --rate", "no due times"]),
        (
            "--no-keep-alive --requests-per-connection 3",
            ["--requests-per-", "contradicts --no-keep-alive", "one request"],
        ),
        ("--no-keep-alive --pipeline 3", ["--pipeline", "contradicts --no-keep-alive", "one request"]),
        ("--http 1.0 --pipeline 4", ["--pipeline", "contradicts --http", "HTTP/1.0 has no pipelining"]),
        ("--body a --body-stream b", ["--body-stream", "contradicts --body", "one body"]),
        ("--unix /tmp/x --proxy 127.0.0.1:5", ["--unix", "contradicts --proxy", "cannot use a proxy"]),
        ("--expect-continue", ["--expect-continue", "needs --body", "nothing to send after"]),
        ("-4 --source-ip ::1", ["--source-ip", "contradicts", "not an IPv4 address"]),
        ("-4 -6", ["--ipv4", "cannot be used with", "--ipv6"]),
        ("--out x --no-save", ["--out", "cannot be used with", "--no-save"]),
    ] {
        bench.http(flags, &words);
    }
}

#[test]
fn a_misspelt_key_in_a_plan() {
    let bench = Bench::new();
    let plan = bench.file("plan.toml", "url = \"URL\"\n[load]\nrtae = 5\n");
    let words = ["plan.toml, line 3", "unknown key `load.rtae`", "did you mean `load.rate`?"];
    bench.with_file("run", &plan, &words);
    let plan = bench.file("plan.toml", "url = \"URL\"\n\n[laod]\nrate = 5\n");
    bench.with_file("run", &plan, &["plan.toml, line 3", "unknown key `laod`", "did you mean `load`?"]);
    // The right name in the wrong place.
    let plan = bench.file("plan.toml", "url = \"URL\"\nduration = \"1s\"\n");
    bench.with_file("run", &plan, &["plan.toml, line 2", "`duration`", "did you mean `stop.duration`?"]);
}

#[test]
fn a_wrong_type_in_a_plan() {
    let bench = Bench::new();
    let plan = bench.file("plan.toml", "url = \"URL\"\n[request]\nmethod = 5\n");
    let words =
        ["plan.toml, line 3", "`request.method` has the wrong type", "integer `5`", "expected a string"];
    bench.with_file("run", &plan, &words);
    let plan = bench.file("plan.toml", "url = \"URL\"\n[stop]\nduration = true\n");
    let words = ["line 3", "`stop.duration` has the wrong type", "`true`", "expected a string or a number"];
    bench.with_file("run", &plan, &words);
}

#[test]
fn a_wrong_value_in_a_plan() {
    let bench = Bench::new();
    let plan = bench.file("plan.toml", "url = \"URL\"\n[load]\nrate = \"fast\"\n");
    bench.with_file("run", &plan, &["plan.toml, line 3: load.rate", "'fast' is not a number", RATE]);
    let plan = bench.file("plan.toml", "url = \"URL\"\n[load\nrate = 5\n");
    bench.with_file("run", &plan, &["plan.toml, line 2, column 6", "expected `]`"]);
}

#[test]
fn a_plan_that_is_none() {
    let bench = Bench::new();
    let right = "expected a plan in TOML";
    bench.with_file("run", &bench.path("plan.toml"), &["plan.toml", "No such file", right]);
    bench.with_file("run", bench.folder.path(), &["is a folder", right]);
    bench.with_file(
        "run",
        &bench.binary("plan.toml", b"\xff\xfe\0\x01"),
        &["plan.toml", "is not text", right],
    );
    bench.with_file("run", &bench.file("plan.toml", ""), &["plan.toml", "no target", "give a URL"]);
    bench.with_file(
        "run",
        &bench.file("urls", "URL\n"),
        &["a file of URLs, not a plan", "did you mean tare http"],
    );
}

#[test]
fn a_cpu_that_is_not_there() {
    let bench = Bench::new();
    bench.http("--cpus 99", &["--cpus 99", "may not use that CPU", "it may use 0"]);
    bench.http("--cpus x", &["--cpus", "'x'", "not a CPU", "0,2-3"]);
}

#[test]
fn a_malformed_resolve() {
    let bench = Bench::new();
    let right = "expected HOST:PORT:ADDRESS";
    bench.http("--resolve foo", &["--resolve", "'foo'", "fewer than three parts", right]);
    bench.http("--resolve a:80:nope", &["--resolve", "'nope'", "not an IP address", right]);
    bench.http("--resolve a:99999:127.0.0.1", &["--resolve", "port", "from 1 to 65535", right]);
}

#[test]
fn a_malformed_source_address() {
    let bench = Bench::new();
    bench.http("--source-ip 1.2.3", &["--source-ip", "'1.2.3' is not an IP address", "127.0.0.2"]);
    // TEST-NET-1 (RFC 5737) is nobody's.
    bench.http("--source-ip 192.0.2.1", &["--source-ip 192.0.2.1", "an address of this host"]);
}

#[test]
fn an_out_folder_that_is_not_empty() {
    let bench = Bench::new();
    bench.file("result.json", "an earlier one");
    let folder = bench.folder.path().display().to_string();
    bench.http(&format!("-n 1 --out {folder}"), &["is not empty", "name one that is empty"]);
    assert_eq!(std::fs::read(bench.path("result.json")).expect("it is there"), b"an earlier one");
    let file = bench.path("result.json").display().to_string();
    bench.http(&format!("-n 1 --out {file}"), &["result.json is a file", "needs a folder"]);
}

#[test]
fn tls_versions_the_wrong_way_round() {
    let bench = Bench::new();
    bench.https("--tls-min 1.3 --tls-max 1.2", &["--tls-min contradicts --tls-max", "above the highest"]);
    bench.https("--tls-min 1.1", &["--tls-min", "'1.1' is unknown", "expected 1.2, 1.3"]);
}

#[test]
fn an_unknown_cipher() {
    let bench = Bench::new();
    let words = ["--ciphers", "'TLS_AES_128_GCM_SHA265'", "expected TLS_AES_128_GCM_SHA256"];
    bench.https("--ciphers TLS_AES_128_GCM_SHA265", &words);
    bench.https("--ciphers RC4", &["--ciphers", "'RC4'", "expected TLS_AES_256_GCM_SHA384, TLS_"]);
    let words = ["--ciphers contradicts --tls-max", "allowed TLS version"];
    bench.https("--ciphers TLS_AES_128_GCM_SHA256 --tls-max 1.2", &words);
}

#[test]
fn a_header_with_a_line_break() {
    let bench = Bench::new();
    let tare = |header: &str| Tare::new("http -H").arg(header).arg(bench.url());
    let words = ["--header", r"'A: b\r\nHost: evil'", "control character", "text on one line"];
    bench.refused(tare("A: b\r\nHost: evil"), &words);
    bench.refused(tare("no colon"), &["--header", "'no colon' has no ':'", "'Name: value'"]);
    bench.refused(tare("A B: c"), &["--header", "'A B: c'", "in its name", "letters, digits"]);
    bench.refused(tare("Content-Length: 4"), &["--header", "Content-Length", "follows from the body"]);
}

#[test]
fn a_json_line_with_an_unknown_key() {
    let bench = Bench::new();
    let lines = bench.file("lines", "{\"url\":\"URL\"}\n{\"url\":\"URL\",\"mehtod\":\"GET\"}\n");
    bench.with_file("http", &lines, &["lines, line 2", "unknown key `mehtod`", "did you mean `method`?"]);
    let lines = bench.file("lines", "{\"method\":\"GET\"}\n");
    bench.with_file("http", &lines, &["lines, line 1", "has no `url`", "expected \"url\""]);
    let lines = bench.file("lines", "{\"url\":\"URL\"\n");
    bench.with_file("http", &lines, &["lines, line 1", "is not a JSON object", "column"]);
    let lines = bench.file("lines", "{\"url\":\"URL\",\"weight\":0}\n");
    bench.with_file("http", &lines, &["lines, line 1", "`weight`", "'0'", "whole number from 1"]);
}

#[test]
fn an_unknown_placeholder() {
    let bench = Bench::new();
    let words = ["'{sec}'", "column", "unknown", "{seq}", "{{sec}} for the text itself"];
    bench.refused(Tare::new("http").arg(format!("{}{{sec}}", bench.url())), &words);
    bench.http("-d {foo}", &["--body", "'{foo}'", "unknown", "{uuid}", "{{foo}} for the text itself"]);
    bench.http("-d {random:hex}", &["--body", "'{random:hex}'", "no length", "{random:hex:16}"]);
    let missing = format!("{{line:{}}}", bench.path("words").display());
    bench.http(&format!("-d {missing}"), &["{line:", "words}", "No such file", "expected a file of lines"]);
    let empty = format!("{{line:{}}}", bench.file("words", "").display());
    bench.http(&format!("-d {empty}"), &["{line:", "words}", "no line"]);
}

#[test]
fn a_file_of_times_with_a_bad_line() {
    let bench = Bench::new();
    let right = "expected an offset in seconds such as 0.25";
    let at = |text: &str| format!("--at {}", bench.file("times", text).display());
    bench.http(&at("0\n0.5\nabc\n"), &["--at", "times, line 3", "'abc' is not a number", right]);
    bench.http(&at("0\n-1\n"), &["--at", "times, line 2", "'-1' is negative", right]);
    bench.http(&at("0\n1\n0.5\n"), &["--at", "times, line 3", "500ms is before 1s", "sort the file"]);
    bench.http(&at(""), &["--at", "times", "contains no time", "one offset in seconds per line"]);
    bench.http(&format!("--at {}", bench.path("none").display()), &["--at", "none", "No such file"]);
}

#[test]
fn a_body_that_cannot_be_read() {
    let bench = Bench::new();
    let missing = bench.path("missing").display().to_string();
    bench.http(&format!("-d @{missing}"), &["--body @", "missing", "No such file"]);
    bench.http(&format!("--body-stream {missing}"), &["--body-stream", "missing", "No such file"]);
    bench.http(
        &format!("--body-stream {}", bench.folder.path().display()),
        &["--body-stream", "not a regular file"],
    );
}

#[test]
fn expectations_that_cannot_be_met() {
    let bench = Bench::new();
    bench.http("--expect-md5 xyz", &["--expect-md5", "'xyz'", "32 hexadecimal digits"]);
    bench.http("--expect-sha256 00", &["--expect-sha256", "'00'", "64 hexadecimal digits"]);
    bench.http("--expect-status ok", &["--expect-status", "'ok'", "200-204"]);
}
