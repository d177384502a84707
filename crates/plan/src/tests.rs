//! The whole way: typed → plan → canonical text → the same plan.

use crate::*;
use proptest::prelude::*;
use units::{Picos, Rate};

fn resolved(text: &str) -> Plan {
    PlanFile::from_toml(text, "plan.toml").unwrap().resolve().unwrap()
}

fn message(text: &str) -> String {
    PlanFile::from_toml(text, "plan.toml").and_then(PlanFile::resolve).unwrap_err().to_string()
}

fn flags(set: impl FnOnce(&mut PlanFile)) -> Result<(Plan, Vec<Note>), PlanError> {
    let mut file = PlanFile { url: Some("http://h/".to_owned()), ..PlanFile::default() };
    set(&mut file);
    file.resolve_with_notes()
}

#[test]
fn a_bare_url_runs_ten_connections_for_ten_seconds_and_says_so() {
    let (plan, notes) = flags(|_| ()).unwrap();
    assert_eq!(plan.load, Load::Closed { connections: 10 });
    assert_eq!(plan.stop.duration, Some(Picos::from_secs(10)));
    assert_eq!(plan.stop.grace, Picos::from_secs(5));
    assert_eq!(plan.request.timeout, Picos::from_secs(30));
    assert_eq!((plan.seed, plan.connection.max_open, plan.connection.keep_alive), (1, 10, true));
    let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
    assert!(notes[0].contains("10 connections"), "{notes:?}");
    assert_eq!(notes[1], "no end given: 10s");
}

#[test]
fn two_spellings_are_one_plan() {
    let typed = flags(|file| {
        file.load.rate = Some("20k".into());
        file.stop.duration = Some("1m".into());
        file.request.headers = Some(HeaderList(vec![HeaderTyped::Line("Host: other".into())]));
    });
    let read = resolved(
        "url = 'http://h/'\nseed = 1\n[load]\nrate = '20000/s'\n[stop]\nduration = 60\n[request]\nhost = 'other'\n",
    );
    let typed = typed.unwrap().0;
    assert_eq!(typed, read);
    assert_eq!(typed.hash(), read.hash());
    assert_eq!(typed.hash().short().len(), 8);
    let other = resolved(
        "url = 'http://h/'\nseed = 2\n[load]\nrate = '20k'\n[stop]\nduration = '1m'\n[request]\nhost = 'other'",
    );
    assert_ne!(other.hash(), read.hash());
}

#[test]
fn a_hash_is_the_sha256_of_the_canonical_text() {
    let plan = resolved("url = 'http://h/'");
    let path = std::env::temp_dir().join(format!("tare-plan-hash-{}", std::process::id()));
    std::fs::write(&path, plan.to_toml()).unwrap();
    // coreutils is the independent reading.
    let printed = std::process::Command::new("sha256sum").arg(&path).output().unwrap().stdout;
    std::fs::remove_file(&path).unwrap();
    assert!(String::from_utf8(printed).unwrap().starts_with(&plan.hash().to_string()));
}

#[test]
fn unknown_keys_name_key_line_and_the_nearest() {
    for (text, expected) in [
        (
            "url = 'http://h/'\n[load]\nrte = 5\n",
            "plan.toml, line 3: unknown key `load.rte`; did you mean `load.rate`?",
        ),
        ("\n\nurk = 'http://h/'\n", "plan.toml, line 3: unknown key `urk`; did you mean `url`?"),
        ("rate = 5\n", "plan.toml, line 1: unknown key `rate`; did you mean `load.rate`?"),
        ("[lod]\nrate = 5\n", "plan.toml, line 1: unknown key `lod`; did you mean `load`?"),
        (
            "[load]\nrate=5\n[[requests]]\nurl='x'\n[[requests]]\nuri='x'\n",
            "plan.toml, line 6: unknown key `requests[1].uri`; did you mean `requests[1].url`?",
        ),
        ("colour = 1\n", "plan.toml, line 1: unknown key `colour`"),
        (
            "[request]\nexpect = { staus = 200 }\n",
            "plan.toml, line 2: unknown key `request.expect.staus`; did you mean `request.expect.status`?",
        ),
    ] {
        assert_eq!(message(text), expected);
    }
}

#[test]
fn wrong_types_and_bad_toml_name_the_line() {
    assert_eq!(
        message("url = 'http://h/'\n[connection]\nkeep_alive = 'yes'\n"),
        "plan.toml, line 3: `connection.keep_alive` has the wrong type: string \"yes\", expected a boolean"
    );
    assert_eq!(
        message("url = 5\n"),
        "plan.toml, line 1: `url` has the wrong type: integer `5`, expected a string"
    );
    assert!(
        message("[load]\nrate = true\n").starts_with("plan.toml, line 2: `load.rate` has the wrong type")
    );
    assert!(
        message("[request]\nheaders = ['A: b', 3]\n").starts_with("plan.toml, line 2: `request.headers[1]`")
    );
    assert!(message("[request]\nheaders = 1979-05-27\n").contains("a date is no header"));
    assert!(message("url = 'http://h/'\n[load\n").starts_with("plan.toml, line 2, column "));
    assert!(message("[load]\nrate = 1\nrate = 2\n").starts_with("plan.toml, line 3, column "));
}

#[test]
fn values_name_their_line_or_their_flag() {
    assert_eq!(
        message("url = 'http://h/'\n[load]\nrate = '-5'\n"),
        "plan.toml, line 3: load.rate: '-5' is negative; expected 400, 20k, 400/s, 30/min, 1/7s"
    );
    let error = flags(|file| file.load.rate = Some("0".into())).unwrap_err();
    assert_eq!(error.to_string(), "--rate: '0' is zero; expected 400, 20k, 400/s, 30/min, 1/7s");
    let PlanError::Value { place, .. } = error else { panic!() };
    assert_eq!((place.field.as_str(), place.flag), ("load.rate", Some("--rate")));
}

type Change = fn(&mut PlanFile);

fn text(value: &str) -> Option<String> {
    Some(value.to_owned())
}

#[test]
fn bad_values_are_refused() {
    let cases: &[(Change, &str)] = &[
        (|f| f.load.rate = Some("NaN".into()), "--rate: 'NaN' is not a number"),
        (|f| f.load.parallel = Some("0".into()), "--parallel: '0' is zero"),
        (|f| f.load.stages = text(""), "--stages: '' has no stages"),
        (|f| f.load.sine = text("1k+-2k:1s"), "--sine: '1k+-2k:1s' has an amplitude above its mean"),
        (|f| f.stop.duration = Some("0".into()), "--duration: '0' is zero"),
        (|f| f.stop.requests = Some("0".into()), "--requests: '0' is zero"),
        (|f| f.stop.requests = Some("1.5".into()), "--requests: '1.5' is not a whole number"),
        (|f| f.url = text("http://h:70000/"), "URL: 'http://h:70000/' has a port out of range"),
        (
            |f| f.url = text("http://h/a b"),
            "URL: 'http://h/a b' has a space at column 11; expected %20 for a space",
        ),
        (|f| f.url = text("localhost:80"), "URL: 'localhost:80' has no scheme; expected http://localhost:80"),
        (
            |f| f.url = text("http://h/{sqe}"),
            "URL: 'http://h/{sqe}' has the placeholder '{sqe}' at column 10, which is unknown; expected {seq}",
        ),
        (|f| f.request.method = text("GE T"), "--method: 'GE T' has ' ', which a method cannot contain"),
        (
            |f| f.request.headers = Some(HeaderList(vec![HeaderTyped::Line("A: b\nC: d".into())])),
            "--header: 'A: b\\nC: d' has a control character",
        ),
        (
            |f| f.request.headers = Some(HeaderList(vec![HeaderTyped::Line("Content-Length: 3".into())])),
            "--header: 'Content-Length: 3' cannot be set by a plan",
        ),
        (|f| f.request.user = text("alone"), "--user: 'alone' has no ':'"),
        (|f| f.request.http = Some("2".into()), "--http: '2' is unknown; expected 1.1, 1.0"),
        (|f| f.request.timeout = Some("0s".into()), "--timeout: '0s' is zero"),
        (|f| f.request.follow = Some("-1".into()), "--follow: '-1' is negative"),
        (
            |f| {
                f.request.expect =
                    Some(ExpectFile { status: Some(TypedList(vec!["20".into()])), ..ExpectFile::default() })
            },
            "--expect-status: '20' is not a status",
        ),
        (|f| f.connection.pipeline = Some("0".into()), "--pipeline: '0' is zero"),
        (
            |f| f.connection.source_ips = Some(vec!["localhost".into()]),
            "--source-ip: 'localhost' is not an IP address",
        ),
        (
            |f| f.connection.proxy = text("proxy"),
            "--proxy: 'proxy' has no port; expected HOST:PORT or http://USER:PASSWORD@HOST:PORT",
        ),
        (
            |f| f.connection.proxy = text("me@p:1"),
            "--proxy: 'me@p:1' has a user without ':' and a password; expected HOST:PORT or \
             http://USER:PASSWORD@HOST:PORT",
        ),
        (
            |f| f.connection.proxy = text("p:70000"),
            "--proxy: 'p:70000' has a port that is not from 1 to 65535",
        ),
        (
            |f| f.tls.ciphers = Some(vec!["TLS_AES_128_GCM_SHA265".into()]),
            "--ciphers: 'TLS_AES_128_GCM_SHA265' is not a supported cipher suite; expected TLS_AES_128_GCM_SHA256",
        ),
        (|f| f.tls.alpn = Some(vec!["h2".into()]), "--alpn: 'h2' would select HTTP/2"),
        (|f| f.resolve.fixed = Some(vec!["h:80".into()]), "--resolve: 'h:80' has fewer than three parts"),
        (|f| f.engine.threads = Some("0".into()), "--threads: '0' is zero"),
        (
            |f| f.engine.cpus = Some("0,3-1".into()),
            "--cpus: '0,3-1' has the range 3-1, which ends before it starts",
        ),
        (
            |f| f.engine.io = text("urng"),
            "--io: 'urng' is unknown; expected auto, epoll, uring (did you mean uring?)",
        ),
        (|f| f.seed = Some("-1".into()), "--seed: '-1' is not a seed"),
        (|f| (f.url, f.file) = (None, text("")), "FILE: '' names no file"),
        (|f| (f.url, f.requests) = (None, Some(vec![])), "[[requests]]: '[]' is empty"),
        (|f| f.url = None, "no target"),
    ];
    for (change, expected) in cases {
        let error = flags(*change).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\nshould begin with\n{expected}");
    }
}

#[test]
fn contradictions_name_both() {
    let cases: &[(Change, &str)] = &[
        (|f| (f.load.at, f.load.rate) = (text("x"), Some("5".into())), "--at contradicts --rate"),
        (|f| (f.load.ramp, f.load.step) = (text("1..2:1s"), text("1+1:1s..2")), "--step contradicts --ramp"),
        (|f| (f.load.poisson, f.load.burst) = (Some(true), text("1:1s")), "--poisson contradicts --burst"),
        (|f| f.load.poisson = Some(true), "--poisson needs --rate"),
        (|f| f.load.jitter = Some("10%".into()), "--jitter needs --rate"),
        (
            |f| {
                (f.load.rate, f.load.poisson, f.load.jitter) =
                    (Some("1".into()), Some(true), Some("1%".into()))
            },
            "--jitter contradicts --poisson: Poisson",
        ),
        (
            |f| (f.load.stages, f.stop.warmup) = (text("1:5s"), Some("5s".into())),
            "--warmup contradicts --stages",
        ),
        (
            |f| (f.load.parallel, f.connection.max_open) = (Some("5".into()), Some("6".into())),
            "--max-open contradicts --parallel",
        ),
        (|f| f.order = text("shuffle"), "--order contradicts URL"),
        (|f| f.file = text("x"), "FILE contradicts URL"),
        (
            |f| (f.request.body, f.request.body_file) = (text("x"), text("y")),
            "--body @FILE contradicts --body",
        ),
        (
            |f| (f.request.http, f.request.body_stream) = (Some("1.0".into()), text("y")),
            "--body-stream contradicts --http",
        ),
        (|f| f.request.expect_continue = Some(true), "--expect-continue needs --body"),
        (
            |f| (f.connection.keep_alive, f.connection.pipeline) = (Some(false), Some("4".into())),
            "--pipeline contradicts --no-keep-alive",
        ),
        (
            |f| {
                (f.connection.keep_alive, f.connection.requests_per_connection) =
                    (Some(false), Some("4".into()))
            },
            "--requests-per-connection contradicts --no-keep-alive",
        ),
        (
            |f| {
                (f.connection.pipeline, f.connection.requests_per_connection) =
                    (Some("4".into()), Some("2".into()))
            },
            "--pipeline contradicts --requests-per-connection",
        ),
        (
            |f| (f.connection.pipeline, f.request.http) = (Some("4".into()), Some("1.0".into())),
            "--pipeline contradicts --http",
        ),
        (
            |f| (f.connection.unix, f.connection.proxy) = (text("/s"), text("p:1")),
            "--unix contradicts --proxy",
        ),
        (|f| f.tls.cert = text("c.pem"), "--cert needs --key"),
        (|f| f.tls.key = text("k.pem"), "--key needs --cert"),
        (
            |f| (f.tls.min, f.tls.max) = (Some("1.3".into()), Some("1.2".into())),
            "--tls-min contradicts --tls-max",
        ),
        (
            |f| {
                (f.tls.max, f.tls.ciphers) = (Some("1.2".into()), Some(vec!["TLS_AES_128_GCM_SHA256".into()]))
            },
            "--ciphers contradicts --tls-max",
        ),
        (
            |f| (f.resolve.family, f.resolve.fixed) = (text("ipv4"), Some(vec!["h:1:::1".into()])),
            "--resolve contradicts --ipv4/--ipv6",
        ),
        (
            |f| (f.resolve.family, f.connection.source_ips) = (text("ipv6"), Some(vec!["127.0.0.1".into()])),
            "--source-ip contradicts --ipv4/--ipv6",
        ),
    ];
    for (change, expected) in cases {
        let error = flags(*change).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\nshould begin with\n{expected}");
    }
}

#[test]
fn shapes_last_as_long_as_they_need() {
    for (change, seconds) in [
        ((|f| f.load.ramp = text("1..5:30s")) as Change, Some(30)),
        (|f| (f.load.ramp, f.stop.warmup) = (text("1..5:30s"), Some("10s".into())), Some(20)),
        (|f| f.load.sine = text("2+-1:1m"), Some(60)),
        (|f| f.load.rate = Some("5".into()), Some(10)),
        (|f| f.load.stages = text("5:3s"), None),
        (|f| f.load.at = text("times"), None),
        (|f| f.stop.requests = Some("5".into()), None),
    ] {
        let (plan, _) = flags(change).unwrap();
        assert_eq!(plan.stop.duration, seconds.map(Picos::from_secs), "{:?}", plan.load);
    }
}

#[test]
fn everything_at_once_round_trips() {
    let plan = resolved(
        r#"
        order = "random"
        seed = 18446744073709551615
        [load]
        parallel = 7
        step = "1/7s+0.3:1.5s..12k"
        jitter = "10%"
        [stop]
        duration = "90s"
        requests = "1M"
        grace = "0s"
        warmup = "250ms"
        [request]
        method = "PUT"
        headers = ["A: \"quoted\\\"", "A: ü"]
        body = "line\nbreak\ttab \u0001 {seq}"
        user = "me:pass:word"
        host = "other:81"
        expect_continue = true
        follow = 3
        expect = { status = ["2xx", 404], body_contains = "\"ok\"", md5 = "d41d8cd98f00b204e9800998ecf8427e" }
        timeout = "1500us"
        same_checksum = true
        [connection]
        requests_per_connection = "10k"
        ramp_connections = "100/s"
        source_ips = ["127.0.0.2", "::1"]
        proxy = "http://us%40er:p:w@[::1]:3128"
        no_delay = false
        throttle = "33KiB"
        [tls]
        ca = "ca.pem"
        cert = "c.pem"
        key = "k.pem"
        insecure = true
        min = 1.2
        max = "1.3"
        ciphers = ["TLS_AES_128_GCM_SHA256"]
        resumption = false
        server_name = "sni.example"
        alpn = []
        [resolve]
        fixed = ["Example.org:443:127.0.0.1,[::1]"]
        every = "30s"
        [engine]
        threads = 3
        cpus = "0,2-3"
        spin = "always"
        io = "uring"
        [[requests]]
        url = "http://h/{uuid}"
        headers = { X = "1" }
        weight = 3
        expect = {}
        [[requests]]
        url = "https://[::1]:8443/x"
        method = "DELETE"
        body = ""
        name = "removal"
        "#,
    );
    assert_eq!(plan.resolve.fixed.len(), 2);
    assert_eq!(plan.engine.cpus, [0, 2, 3]);
    assert_eq!(resolved(&plan.to_toml()), plan, "{}", plan.to_toml());
    assert_eq!(resolved(&plan.to_toml()).to_toml(), plan.to_toml());
}

fn rates() -> impl Strategy<Value = Rate> {
    (1u64..1_000_000_000, 1_000_000u64..1_000_000_000_000_000)
        .prop_filter_map("a rate", |(events, per)| Rate::new(events, Picos::from_picos(per)))
}

fn times() -> impl Strategy<Value = Picos> {
    prop_oneof![
        (1u64..1_000_000_000_000_000_000).prop_map(Picos::from_picos),
        (1u64..10_000).prop_map(Picos::from_millis)
    ]
}

fn arbitrary_shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        rates().prop_map(Shape::Constant),
        rates().prop_map(Shape::Poisson),
        (rates(), rates(), times()).prop_map(|(from, to, over)| Shape::Ramp { from, to, over }),
        (rates(), rates(), times(), rates()).prop_filter_map("rises", |(from, by, every, to)| {
            (from.as_per_second_f64() < to.as_per_second_f64() * 0.99).then_some(Shape::Step {
                from,
                by,
                every,
                to,
            })
        }),
        prop::collection::vec((rates(), times()), 1..5).prop_map(|stages| {
            Shape::Stages(stages.into_iter().map(|(to, over)| Stage { to: Some(to), over }).collect())
        }),
        (rates(), times()).prop_map(|(mean, period)| Shape::Sine { mean, amplitude: mean, period }),
        (1u64..1_000_000, times())
            .prop_map(|(size, every)| Shape::Burst { size: units::Count::new(size), every }),
        "[a-z./ \"\\\\é]{1,20}".prop_map(|path| Shape::At(path.into())),
    ]
}

fn arbitrary_request_line() -> impl Strategy<Value = RequestLine> {
    let headers = prop::collection::vec(("[A-Za-z-]{1,8}x", "[!-~é]([ -~é]{0,10}[!-~é])?"), 0..3);
    (
        "https?://[a-z]{1,8}(:[1-9][0-9]{0,3})?(/[!-z]{0,12})?",
        prop::option::of("[A-Z]{1,7}"),
        headers,
        prop::option::of("\\PC{0,30}[\n\t\r\u{1}\"\\\\]?"),
        prop::option::of("\\PC{0,10}"),
        prop::option::of(1u32..),
        prop::option::of(prop::collection::vec(
            (1u16..10).prop_map(|class| (class * 100, class * 100 + 50)),
            0..1,
        )),
    )
        .prop_map(|(url, method, headers, body, name, weight, status)| RequestLine {
            url,
            method,
            headers,
            body,
            name,
            weight,
            expect: status.map(|status| Expect { status, ..Expect::default() }),
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// `{` and `}` may be anywhere, so templates are off.
    #[test]
    fn every_plan_survives_its_canonical_text(
        shape in prop::option::of(arbitrary_shape()),
        parallel in prop::option::of(1u32..=1 << 24),
        (duration, warmup, grace) in (prop::option::of(times()), times(), times()),
        (timeout, requests) in (times(), prop::option::of(1u64..)),
        lines in prop::collection::vec(arbitrary_request_line(), 1..4),
        seed in any::<u64>(),
        digest in any::<[u8; 32]>(),
        throttle in prop::option::of(1u64..),
        (every, ramp) in (prop::option::of(times()), prop::option::of(rates())),
    ) {
        let mut plan = resolved("[request]\ntemplates = false\n[[requests]]\nurl = 'http://h/'");
        let warmup = if matches!(shape, Some(Shape::Stages(_))) { Picos::ZERO } else { warmup };
        let ends = matches!(shape, Some(Shape::Stages(_) | Shape::At(_))) || requests.is_some();
        plan.load = match shape {
            Some(shape) => Load::Open {
                arrivals: Arrivals { shape, jitter: units::Fraction::ZERO },
                connections: parallel,
            },
            None => Load::Closed { connections: parallel.unwrap_or(4) },
        };
        plan.connection.max_open = match &plan.load {
            Load::Closed { connections } | Load::Open { connections: Some(connections), .. } => *connections,
            Load::Open { connections: None, .. } => 10_000,
        };
        let duration = if ends { duration } else { Some(duration.unwrap_or(Picos::from_secs(1))) };
        plan.stop = Stop { duration, requests: requests.map(units::Count::new), grace, warmup };
        plan.source = RequestSource::Inline { requests: lines, order: LineOrder::Random };
        plan.request.timeout = timeout;
        plan.request.expect.digest = Some(Digest::Sha256(digest));
        plan.connection.throttle = throttle.map(units::Bytes::new);
        plan.connection.ramp = ramp;
        plan.resolve.every = every;
        plan.seed = seed;
        let text = plan.to_toml();
        prop_assert_eq!(&resolved(&text), &plan, "{}", text);
    }

    #[test]
    fn no_file_panics(text in "([a-z\\[\\]=.\" 0-9'{},-]{0,20}\n){0,6}") {
        let _ = PlanFile::from_toml(&text, "x").and_then(PlanFile::resolve);
    }
}

/// The layout, which people read and other tools may parse.
#[test]
fn the_canonical_text_of_a_small_plan() {
    let plan = resolved("url = 'http://h/'\n[load]\nrate = '20k'\n[stop]\nduration = '1m'");
    let expected = r#"url = "http://h/"
seed = 1

[load]
rate = "20000/s"
poisson = false
jitter = "0%"

[stop]
duration = "60s"
grace = "5s"
warmup = "0s"

[request]
method = "GET"
headers = []
http = "1.1"
expect_continue = false
follow = 0
expect = {}
templates = true
timeout = "30s"
idle_timeout = false
same_checksum = false

[connection]
keep_alive = true
pipeline = 1
max_open = 10000
source_ips = []
no_delay = true

[tls]
insecure = false
min = "1.2"
max = "1.3"
ciphers = []
resumption = true
alpn = ["http/1.1"]

[resolve]
fixed = []
family = "any"

[engine]
spin = "auto"
io = "auto"
"#;
    assert_eq!(plan.to_toml(), expected);
}
