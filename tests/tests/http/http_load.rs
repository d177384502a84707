//! `tare http_load` beside http_load itself: the same command line, the same output, none of its faults.
//!
//! Its faults, each with the test that shows it corrected:
//!
//! - a late timer never caught up: `a_target_that_stalls_is_caught_up_with`
//! - a TLS handshake blocked every other response: `a_slow_handshake_makes_nobody_else_wait`
//! - one unresolvable name ended the run, and lookups blocked:
//!   `a_name_that_cannot_be_resolved_makes_nobody_else_wait`
//! - long URLs were cut and buffers overran: `the_request_is_http_1_0_and_whole`
//! - refused connections were retried forever and not counted:
//!   `what_fails_before_it_has_a_socket_is_an_outcome`
//! - wrong options printed a bare usage text: `what_is_missing_is_named`,
//!   `wrong_values_are_named_with_what_would_be_right`, `unknown_options_get_a_suggestion`
//! - the exit status was always 0: `the_exit_status_tells`

mod ciphers;
mod endings;

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tare_system_tests::wire::{Wire, read_request};
use tare_system_tests::{Target, beside_others, binary, light, scratch};
use tempfile::TempDir;

/// What a run printed and how it ended.
struct Ran {
    status: i32,
    out: String,
    err: String,
    took: Duration,
}

impl Ran {
    /// The status of a run that was carried out, whatever the verdict on a busy machine: VALID or INVALID.
    #[track_caller]
    fn expect_a_run(self) -> Self {
        assert!(matches!(self.status, 0 | 4), "status {}: {}", self.status, self.err);
        self
    }

    /// The numbers of the first line that has `what` in it.
    #[track_caller]
    fn numbers(&self, what: &str) -> Vec<f64> {
        let line = self.out.lines().find(|line| line.contains(what));
        let line = line.unwrap_or_else(|| panic!("no line with '{what}' in {}\n{}", self.out, self.err));
        let words = line.split([' ', ',', ':']).filter(|word| !word.is_empty());
        words.filter_map(|word| word.parse().ok()).collect()
    }

    #[track_caller]
    fn fetches(&self) -> u64 {
        self.numbers(" max parallel")[0] as u64
    }

    /// Of one status code.
    fn code(&self, code: &str) -> u64 {
        let prefix = format!("  code {code} -- ");
        self.out.lines().find_map(|line| line.strip_prefix(&prefix)?.parse().ok()).unwrap_or(0)
    }
}

fn finish(child: Child, begun: Instant) -> Ran {
    let output = child.wait_with_output().expect("a child can be waited for");
    let text = |bytes| String::from_utf8(bytes).expect("only text is printed");
    Ran {
        status: output.status.code().expect("it ended by itself"),
        out: text(output.stdout),
        err: text(output.stderr),
        took: begun.elapsed(),
    }
}

fn start(program: &Path, words: &[&str]) -> Child {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the binary starts")
}

/// `tare http_load`, the words, the file.
fn http_load(words: &str, file: &Path) -> Ran {
    let file = file.display().to_string();
    let words: Vec<&str> =
        ["http_load"].into_iter().chain(words.split_whitespace()).chain([&*file]).collect();
    let begun = Instant::now();
    finish(start(&binary(), &words), begun)
}

/// A folder with a file of lines.
fn file_of(lines: &[impl AsRef<str>]) -> (TempDir, PathBuf) {
    let folder = scratch();
    let path = folder.path().join("urls.txt");
    let text: String = lines.iter().map(|line| format!("{}\n", line.as_ref())).collect();
    std::fs::write(&path, text).expect("a scratch file");
    (folder, path)
}

/// A line with every number in place of `#`.
fn shape(line: &str) -> String {
    let words = line.split(' ').map(|word| {
        let (number, rest) = word.split_at(word.trim_end_matches(',').len());
        if number.parse::<f64>().is_ok() { format!("#{rest}") } else { word.to_owned() }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_layout_is_http_loads_line_for_line() {
    let _guard = beside_others();
    let target = Target::start("--size 600 --delay 2ms");
    let (_folder, urls) = file_of(&[target.url(), format!("{}b?status=404", target.url())]);
    let ran = http_load("-parallel 5 -fetches 200", &urls).expect_a_run();
    let shapes: Vec<String> = ran.out.lines().map(shape).collect();
    // From http_load's source (12mar2006), function finish(): each printf with its numbers as #.
    assert_eq!(
        shapes,
        [
            "# fetches, # max parallel, # bytes, in # seconds",
            "# mean bytes/connection",
            "# fetches/sec, # bytes/sec",
            "msecs/connect: # mean, # max, # min",
            "msecs/first-response: # mean, # max, # min",
            "HTTP response codes:",
            "  code # -- #",
            "  code # -- #",
        ],
        "{}",
        ran.out
    );
    // Bytes are those of bodies: 600 for each fetch.
    assert_eq!(&ran.numbers(" max parallel")[..3], [200.0, 5.0, 120_000.0]);
    assert_eq!(ran.numbers("mean bytes/connection"), [600.0]);
    assert_eq!(ran.code("200") + ran.code("404"), 200);
    assert!(ran.code("404") > 50, "URLs are chosen at random: {}", ran.out);
}

/// As people wrote them: fields by position, separators by comma and space, the codes below their heading.
#[test]
fn a_script_that_parses_http_load_goes_on_working() {
    let _guard = beside_others();
    let target = Target::start("--size 1000 --delay 1ms");
    let (_folder, urls) = file_of(&[target.url()]);
    let script = r#"
        /fetches, .* max parallel/ { fetches = $1; parallel = $3; bytes = $6; seconds = $(NF-1) }
        /fetches\/sec/             { rate = $1; bandwidth = $3 }
        /^msecs\/connect:/         { connect = $2 }
        /^msecs\/first-response:/  { split($0, part, /[:,]/); split(part[3], max, " "); first = $2; worst = max[1] }
        /^  code 200 -- /          { ok = $4 }
        END { printf "%d %d %d %d %d %d\n", fetches, parallel, bytes, ok, (rate > 0 && bandwidth > 0 && seconds > 0),
              (connect > 0 && first >= 1 && worst >= first) }"#;
    let program =
        format!("'{}' http_load -p 4 -f 100 '{}' | awk '{script}'", binary().display(), urls.display());
    let output = Command::new("sh").args(["-c", &program]).output().expect("sh and awk are everywhere");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "100 4 100000 100 1 1\n");
}

/// http_load's interval was 1000 / N in whole milliseconds: 400 became 500, 600 became 1000 a second.
#[test]
fn rate_400_is_400_and_600_is_600_for_the_whole_run() {
    let _light = light();
    const SECONDS: u64 = 4;
    for rate in [400_u64, 600] {
        let target = Target::start("--size 100");
        let (_folder, urls) = file_of(&[target.url()]);
        let ran = http_load(&format!("-rate {rate} -seconds {SECONDS}"), &urls).expect_a_run();
        let arrivals = target.truth().arrivals_ns();
        let whole = rate * SECONDS;
        assert!(
            (whole * 99 / 100..=whole).contains(&(arrivals.len() as u64)),
            "{} of {whole}",
            arrivals.len()
        );
        assert!((ran.numbers("fetches/sec")[0] - rate as f64).abs() < rate as f64 / 100.0, "{}", ran.out);
        // A busy machine makes departures late, never early. So the earliest of the first second and of the
        // last, each against its place on the even line, tell the rate whatever happened between them.
        let place = |n: usize| arrivals[n] as i64 - (n as f64 * 1e9 / rate as f64) as i64;
        let earliest = |range: std::ops::Range<usize>| range.map(place).min().unwrap();
        let (second, all) = (rate as usize, arrivals.len());
        let drift_ns = (earliest(all - second..all) - earliest(0..second)).abs();
        let between_ns = (SECONDS - 1) as f64 * 1e9;
        assert!((drift_ns as f64) < between_ns * 0.001, "at {rate}/s, off by {drift_ns} ns in {between_ns}");
    }
}

/// http_load started one fetch too late once and never caught up; here each has a time of its own.
#[test]
fn a_target_that_stalls_is_caught_up_with() {
    let _light = light();
    let target = Target::start("--stall 1s,500ms");
    let (_folder, urls) = file_of(&[target.url()]);
    let ran = http_load("-rate 200 -seconds 3", &urls).expect_a_run();
    // 600 are due in 3 s; the last is due 5 ms before the end.
    assert!(ran.fetches() >= 594, "{}", ran.out);
    // Those that came in the stall waited for up to half a second, and say so.
    assert!(ran.numbers("msecs/first-response")[1] > 400.0, "{}", ran.out);
}

/// http_load's select() is undefined beyond FD_SETSIZE (1024) descriptors.
#[test]
fn fifteen_hundred_connections_at_once() {
    let _light = light();
    let target = Target::start("--delay 2s --backlog 4096");
    let (_folder, urls) = file_of(&[target.url()]);
    let ran = http_load("-parallel 1500 -fetches 1500", &urls).expect_a_run();
    assert_eq!(&ran.numbers(" max parallel")[..2], [1500.0, 1500.0], "{}{}", ran.out, ran.err);
    assert_eq!(ran.code("200"), 1500);
    assert_eq!(target.truth().int("open_peak"), 1500);
}

/// http_load charged the handshake to first-response.
#[test]
fn the_handshake_is_in_connect() {
    let _guard = beside_others();
    let target = Target::start("--slow-handshake 200ms");
    let (_folder, urls) = file_of(&[target.url()]);
    let ran = http_load("-parallel 2 -fetches 6", &urls).expect_a_run();
    let [_, connect_max, connect_min] = ran.numbers("msecs/connect")[..] else { panic!("{}", ran.out) };
    assert!(connect_min >= 200.0 && connect_max < 2_000.0, "{}", ran.out);
    // The answer itself takes no time; half of the handshake's is far above what a busy machine adds.
    assert!(ran.numbers("msecs/first-response")[2] < 100.0, "{}", ran.out);
}

/// http_load's blocking SSL_connect made every other answer wait: with one handshake in four of 500 ms, nearly
/// all.
#[test]
fn a_slow_handshake_makes_nobody_else_wait() {
    let _light = light();
    let target = Target::start("--slow-handshake 500ms --slow-share 25%");
    let (_folder, urls) = file_of(&[target.url()]);
    let ran = http_load("-rate 50 -seconds 3", &urls).expect_a_run();
    let connect = ran.numbers("msecs/connect");
    assert!(connect[1] >= 500.0 && connect[2] < 250.0, "{}", ran.out);
    let first = ran.numbers("msecs/first-response");
    assert!(first[0] < 100.0, "answers wait for handshakes of others: {}", ran.out);
    // 150 are due; those of the last half second may be cut off in their handshake.
    assert!(ran.fetches() >= 125, "{}", ran.out);
}

#[test]
fn certificates_are_not_verified_and_it_says_so() {
    let _guard = beside_others();
    let target = Target::start("--tls");
    let (_folder, urls) = file_of(&[target.url()]);
    let ran = http_load("-parallel 1 -fetches 5", &urls).expect_a_run();
    assert_eq!(ran.code("200"), 5);
    assert_eq!(ran.err.matches("certificates are NOT verified").count(), 1, "{}", ran.err);
    let plain = Target::start("");
    let (_folder, urls) = file_of(&[plain.url()]);
    assert!(!http_load("-parallel 1 -fetches 5", &urls).err.contains("certificates"));
}

/// http_load ended the whole run at a name that it could not resolve, before the start.
#[test]
fn a_name_that_cannot_be_resolved_makes_nobody_else_wait() {
    let _guard = beside_others();
    let target = Target::start("");
    let (_folder, urls) = file_of(&[target.url(), target.url(), "http://no-such-host.invalid/".to_owned()]);
    let ran = http_load("-rate 100 -seconds 2", &urls).expect_a_run();
    assert!(ran.code("200") > 100, "{}{}", ran.out, ran.err);
}

#[test]
fn what_fails_before_it_has_a_socket_is_an_outcome() {
    let _guard = beside_others();
    // The kernel refuses to connect to the broadcast address at once.
    for (url, key) in [("http://no-such-host.invalid/", "lookup."), ("http://255.255.255.255/", "connect.")] {
        let (_folder, urls) = file_of(&[url]);
        let ran = http_load("-parallel 2 -fetches 4 -timeout 20", &urls);
        assert_eq!(ran.status, 5, "{url}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(key) && ran.err.contains("target unreachable"), "{url}: {}", ran.err);
    }
}

/// Half a million URLs took http_load over ten minutes to read and resolve.
#[test]
fn half_a_million_urls_start_at_once() {
    let _guard = beside_others();
    let target = Target::start("");
    let folder = scratch();
    let urls = folder.path().join("urls.txt");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&urls).expect("a scratch file"));
    for number in 0..500_000 {
        writeln!(file, "{}page-{number}.html", target.url()).expect("a scratch file");
    }
    file.into_inner().expect("a scratch file");
    let ran = http_load("-parallel 2 -fetches 20", &urls).expect_a_run();
    assert_eq!(ran.code("200"), 20);
    assert!(ran.took < Duration::from_secs(3), "{:?}", ran.took);
}

/// http_load cut a path at 500 bytes and kept the request in 600.
#[test]
fn the_request_is_http_1_0_and_whole() {
    let _guard = beside_others();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = seen.clone();
    let wire = Wire::start(move |stream| {
        let head = read_request(stream).unwrap_or_default();
        kept.lock().unwrap().push(head);
        let _ = stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nbody until the close");
    });
    let path = "x".repeat(3_000);
    let (_folder, urls) = file_of(&[format!("{}{path}", wire.url())]);
    let ran = http_load("-parallel 1 -fetches 3", &urls).expect_a_run();
    assert_eq!(ran.numbers(" max parallel")[2], 60.0, "3 bodies of 20 bytes: {}", ran.out);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 3);
    let expected = format!("GET /{path} HTTP/1.0\r\nHost: {}\r\nUser-Agent: http_load ", wire.address());
    assert!(seen[0].starts_with(&expected), "{}", &seen[0][3_000..]);
    assert!(seen[0].to_lowercase().contains("\r\nconnection: close\r\n"), "{}", &seen[0][3_000..]);
}

#[test]
fn every_fetch_has_a_connection_of_its_own() {
    let _guard = beside_others();
    let target = Target::start("");
    let (_folder, urls) = file_of(&[target.url()]);
    http_load("-parallel 3 -fetches 50", &urls).expect_a_run();
    assert_eq!(target.truth().int("accepted"), 50);
}

#[test]
fn timeouts_are_counted() {
    let _guard = beside_others();
    let target = Target::start("--silent 100%");
    let (_folder, urls) = file_of(&[target.url()]);
    let ran = http_load("-parallel 2 -fetches 4 -timeout 1", &urls);
    assert_eq!(ran.fetches(), 4, "{}", ran.out);
    assert_eq!(ran.numbers(" timeouts"), [4.0], "{}", ran.out);
    assert!(ran.took < Duration::from_secs(6), "{:?}", ran.took);
}

#[test]
fn bad_checksums_are_counted() {
    let _guard = beside_others();
    let target = Target::start("--size uniform:1,100000");
    let (_folder, urls) = file_of(&[target.url()]);
    let ran = http_load("-checksum -parallel 1 -fetches 20", &urls).expect_a_run();
    // 20 sizes of 100 000: all but the first differ from it, or one of them by a chance of 1 in 5 000.
    assert!(ran.numbers(" bad checksums")[0] >= 18.0, "{}", ran.out);
    let same = Target::start("--size 1000");
    let (_folder, urls) = file_of(&[same.url()]);
    assert!(!http_load("-checksum -parallel 1 -fetches 20", &urls).out.contains("bad"));
}

#[test]
fn throttle_reads_as_a_modem_does() {
    let _guard = beside_others();
    let target = Target::start("--size 6720");
    let (_folder, urls) = file_of(&[target.url()]);
    let ran = http_load("-throttle -parallel 1 -fetches 1", &urls).expect_a_run();
    // 6 720 bytes and a head at 3 360 a second: 2 s, less the piece that is read at once at the start.
    let seconds = ran.numbers(" max parallel")[3];
    assert!((1.5..4.0).contains(&seconds), "{}", ran.out);
}

#[test]
fn a_proxy_takes_it_all() {
    let _guard = beside_others();
    let proxy = Target::start("--proxy-mode");
    let (_folder, urls) = file_of(&["http://nowhere.invalid/page"]);
    let words = format!("-proxy 127.0.0.1:{} -parallel 1 -fetches 5", proxy.port());
    assert_eq!(http_load(&words, &urls).expect_a_run().code("200"), 5);
}

#[test]
fn source_addresses_come_from_a_file() {
    let _guard = beside_others();
    let peers = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = peers.clone();
    let wire = Wire::start(move |stream| {
        seen.lock().unwrap().insert(stream.peer_addr().unwrap().ip().to_string());
        let _ = read_request(stream);
        let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    let (folder, urls) = file_of(&[wire.url()]);
    let sip = folder.path().join("sip.txt");
    std::fs::write(&sip, "127.0.0.2\n127.0.0.3\n127.0.0.2\n").unwrap();
    http_load(&format!("-sip {} -parallel 1 -fetches 6", sip.display()), &urls).expect_a_run();
    let peers: Vec<String> = peers.lock().unwrap().iter().cloned().collect();
    assert_eq!(peers, ["127.0.0.2", "127.0.0.3"]);
    std::fs::write(&sip, "127.0.0.2\nhome\n").unwrap();
    let wrong = http_load(&format!("-sip {} -parallel 1 -fetches 6", sip.display()), &urls);
    assert_eq!(wrong.status, 2);
    assert!(wrong.err.contains("-sip") && wrong.err.contains("line 2: 'home'"), "{}", wrong.err);
}

#[test]
fn prefixes_will_do() {
    let _guard = beside_others();
    let target = Target::start("");
    let (_folder, urls) = file_of(&[target.url()]);
    for words in ["-p 2 -f 20", "-fet 20 -par 2", "-f 20 -p 2 -ti 5 -c"] {
        assert_eq!(http_load(words, &urls).expect_a_run().code("200"), 20, "{words}");
    }
}

#[test]
fn a_link_called_http_load_is_http_load() {
    let _guard = beside_others();
    let target = Target::start("");
    let (folder, urls) = file_of(&[target.url()]);
    let link = folder.path().join("http_load");
    symlink(binary(), &link).unwrap();
    let begun = Instant::now();
    let urls = urls.display().to_string();
    let ran = finish(start(&link, &["-parallel", "2", "-fetches", "20", &urls]), begun).expect_a_run();
    assert_eq!(ran.code("200"), 20);
    let wrong = finish(start(&link, &["-parallel", "2", &urls]), begun);
    assert_eq!(wrong.status, 2);
    assert!(wrong.err.starts_with("http_load: no stop rule"), "{}", wrong.err);
    let help = finish(start(&link, &["-h"]), begun);
    assert_eq!(help.status, 0);
    assert!(help.out.starts_with("usage:  http_load [-checksum]"), "{}", help.out);
}

/// Each names the option, says what is right, ends with 2 and sends nothing.
#[test]
fn bad_input_is_told_and_nothing_is_sent() {
    let _guard = beside_others();
    let target = Target::start("");
    let (_folder, urls) = file_of(&[target.url()]);
    for (words, says) in [
        ("-seconds 1", &["no start specifier", "-parallel N", "-rate N"][..]),
        ("-rate 5", &["no stop rule", "-fetches N", "-seconds N"]),
        ("-rate 5 -parallel 5 -seconds 1", &["-parallel contradicts -rate"]),
        ("-rate 5 -fetches 5 -seconds 1", &["-fetches contradicts -seconds"]),
        ("-rate 0 -seconds 1", &["-rate", "'0' is zero", "expected"]),
        ("-rate -5 -seconds 1", &["-rate", "'-5' is negative", "expected"]),
        ("-rate NaN -seconds 1", &["-rate", "'NaN' is not a number", "expected"]),
        ("-parallel 5 -jitter -seconds 1", &["-jitter needs -rate"]),
        ("-rat3 5 -seconds 1", &["unknown option -rat3", "did you mean -rate?"]),
        ("--parallel 5 -seconds 1", &["unknown option --parallel", "did you mean -parallel?"]),
        ("-proxy 127.0.0.1:70000 -rate 5 -seconds 1", &["-proxy", "65535"]),
        ("-sip /no/such/file -rate 5 -seconds 1", &["-sip /no/such/file", "No such file"]),
    ] {
        let ran = http_load(words, &urls);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{words}: {}", ran.err);
        assert!(ran.err.starts_with("tare http_load: "), "{words}: {}", ran.err);
        says.iter().for_each(|part| assert!(ran.err.contains(part), "{words}: {}", ran.err));
    }
    let missing = finish(start(&binary(), &["http_load", "-rate", "5", "-seconds", "1"]), Instant::now());
    assert!(missing.status == 2 && missing.err.contains("no url_file"), "{}", missing.err);
    for (lines, says) in [
        (&["http://a/", "ftp://b/"][..], "line 2"),
        (&[][..], "urls.txt"),
        (&["http://a:70000/"][..], "line 1"),
    ] {
        let (_folder, file) = file_of(lines);
        let ran = http_load("-rate 5 -seconds 1", &file);
        assert!(ran.status == 2 && ran.err.contains(says), "{lines:?}: {}", ran.err);
    }
    let absent = http_load("-rate 5 -seconds 1", Path::new("/no/such/urls"));
    assert!(absent.status == 2 && absent.err.contains("/no/such/urls"), "{}", absent.err);
    assert_eq!(target.truth().int("accepted"), 0);
}

#[test]
fn the_exit_status_tells() {
    let _guard = beside_others();
    // A port that was free a moment ago.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (_folder, urls) = file_of(&[format!("http://{closed}/")]);
    let ran = http_load("-parallel 2 -fetches 10", &urls);
    assert_eq!((ran.status, ran.fetches()), (5, 10), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("10 fetches: connect.refused"), "{}", ran.err);

    // Far fewer descriptors than connections: the generator is the limit, and says what to do.
    let target = Target::start("--delay 500ms");
    let (_folder, urls) = file_of(&[target.url()]);
    let program = format!(
        "ulimit -n 64; '{}' http_load -parallel 200 -seconds 1 '{}'",
        binary().display(),
        urls.display()
    );
    let ran = finish(start(Path::new("sh"), &["-c", &program]), Instant::now());
    assert_eq!(ran.status, 4, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("verdict INVALID") && ran.err.contains("ulimit -n"), "{}", ran.err);
    assert!(!ran.out.contains("INVALID"), "standard output is for scripts");
}

#[test]
fn an_interrupt_still_prints_the_figures() {
    let _guard = beside_others();
    let target = Target::start("");
    let (_folder, urls) = file_of(&[target.url()]);
    let file = urls.display().to_string();
    let begun = Instant::now();
    let child = start(&binary(), &["http_load", "-rate", "100", "-seconds", "60", &file]);
    std::thread::sleep(Duration::from_millis(1_500));
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ran = finish(child, begun);
    assert_eq!(ran.status, 130, "{}", ran.err);
    assert!(ran.fetches() > 50 && ran.took < Duration::from_secs(10), "{}", ran.out);
}

#[test]
fn a_run_of_n_seconds_takes_n_seconds() {
    let _light = light();
    let target = Target::start("--delay 30s");
    let (_folder, urls) = file_of(&[target.url()]);
    // Nothing is ever answered; what is on its way at the end is cut off at once.
    let ran = http_load("-parallel 3 -seconds 2", &urls).expect_a_run();
    assert_eq!(ran.fetches(), 0);
    let seconds = ran.numbers(" max parallel")[3];
    assert!((2.0..2.5).contains(&seconds) && ran.took < Duration::from_secs(4), "{} {:?}", ran.out, ran.took);
}
