//! Flags → plan, and the words of refusal.

use super::HttpArgs;
use clap::{CommandFactory, Parser};
use plan::{Body, LineOrder, Load, Plan, PlanFile, RequestSource, Shape, TlsVersion};
use units::Picos;

#[derive(Parser, Debug)]
#[command(name = "tare http")]
struct Command {
    #[command(flatten)]
    http: HttpArgs,
}

/// The plan of a command line (split at spaces), or what is printed instead.
fn plan(line: &str) -> Result<Plan, String> {
    let command = Command::try_parse_from(["tare http"].into_iter().chain(line.split_whitespace()));
    let file =
        command.map_err(|error| error.to_string())?.http.plan_file().map_err(|error| error.to_string())?;
    file.resolve().map_err(|error| error.to_string())
}

fn refusal(line: &str) -> String {
    plan(line).unwrap_err()
}

#[test]
fn clap_finds_no_fault_with_the_flags() {
    Command::command().debug_assert();
}

#[test]
fn every_flag_arrives_in_the_plan() {
    let toml = |text: &str| PlanFile::from_toml(text, "x").unwrap().resolve().unwrap();
    let from_flags = plan(
        "https://h/{seq} --rate 20k --poisson --parallel 7 --duration 1m --requests 5M --grace 1s --warmup 2s \
         --seed 9 -X PUT -H A:b --header=C:d -d text -u me:pass --host other --follow 2 \
         --timeout 3s --idle-timeout --expect-status 2xx,404 --expect-body ok \
         --expect-md5 d41d8cd98f00b204e9800998ecf8427e --same-checksum --expect-continue \
         --requests-per-connection 50 --close rst --ramp-connections 100/s --open-all \
         --source-ip 127.0.0.2,127.0.0.3 --source-ip 127.0.0.4 --proxy p:3128 --nagle --throttle 33KiB \
         --ca ca.pem --cert c.pem --key k.pem -k \
         --tls-min 1.3 --tls-max 1.3 --ciphers TLS_AES_128_GCM_SHA256 --no-resumption --sni s.example --alpn= \
         --resolve h:443:127.0.0.1,127.0.0.5 --resolve-every 30s -4 --threads 3 --cpus 0-1 --spin never \
         --io uring --fail-if latency.p99>50ms --fail-if=missed>0 --abort-if errors>5%",
    );
    let from_toml = toml(
        r#"
        url = "https://h/{seq}"
        seed = 9
        [load]
        rate = "20k"
        poisson = true
        parallel = 7
        [stop]
        duration = "1m"
        requests = "5M"
        grace = "1s"
        warmup = "2s"
        [request]
        method = "PUT"
        headers = ["A: b", "C: d"]
        body = "text"
        user = "me:pass"
        host = "other"
        follow = 2
        timeout = "3s"
        idle_timeout = true
        expect = { status = ["2xx", 404], body_contains = "ok", md5 = "d41d8cd98f00b204e9800998ecf8427e" }
        same_checksum = true
        expect_continue = true
        [connection]
        requests_per_connection = 50
        close = "rst"
        ramp_connections = "100/s"
        open_all = true
        source_ips = ["127.0.0.2", "127.0.0.3", "127.0.0.4"]
        proxy = "p:3128"
        no_delay = false
        throttle = "33KiB"
        [tls]
        ca = "ca.pem"
        cert = "c.pem"
        key = "k.pem"
        insecure = true
        min = "1.3"
        ciphers = ["TLS_AES_128_GCM_SHA256"]
        resumption = false
        server_name = "s.example"
        alpn = []
        [resolve]
        fixed = ["h:443:127.0.0.1,127.0.0.5"]
        every = "30s"
        family = "ipv4"
        [engine]
        threads = 3
        cpus = "0-1"
        spin = "never"
        io = "uring"
        [limits]
        fail_if = ["latency.p99 > 50ms", "missed > 0"]
        abort_if = "errors > 5%"
        "#,
    );
    let from_flags = from_flags.unwrap();
    assert_eq!(from_flags, from_toml);
    assert_eq!(from_flags.hash(), from_toml.hash());
}

#[test]
fn the_rest_of_the_flags_arrive_too() {
    let shape = |line: &str| match plan(&format!("http://h/ {line}")).unwrap().load {
        Load::Open { arrivals, .. } => arrivals.shape,
        Load::Closed { .. } => panic!("{line} is a closed loop"),
    };
    assert!(matches!(shape("--ramp 100..5k:30s"), Shape::Ramp { .. }));
    assert!(matches!(shape("--step 1k+500:10s..5k"), Shape::Step { .. }));
    assert!(matches!(shape("--stages 100:10s,0:5s"), Shape::Stages(_)));
    assert!(matches!(shape("--sine 1k±500:60s"), Shape::Sine { .. }));
    assert!(matches!(shape("--burst 100:1s"), Shape::Burst { .. }));
    assert!(matches!(shape("--at times.txt"), Shape::At(_)));
    assert_eq!(
        plan("http://h/ -r 5 --jitter 10%").unwrap().load,
        plan("http://h/ -r 5 --jitter .1").unwrap().load
    );
    assert_eq!(plan("http://h/ -c 3").unwrap().load, Load::Closed { connections: 3 });
    assert_eq!(plan("http://h/ -d @body.bin").unwrap().request.body, Body::File("body.bin".into()));
    assert_eq!(plan("http://h/ -d @-").unwrap().request.body, Body::File("/dev/stdin".into()));
    assert_eq!(plan("http://h/ --body-stream b").unwrap().request.body, Body::Streamed("b".into()));
    assert!(!plan("http://h/{x} --no-templates").unwrap().request.templates);
    let connection = plan("http://h/ --no-keep-alive --max-open 50 --rate 1 --unix /s").unwrap().connection;
    assert_eq!((connection.keep_alive, connection.max_open), (false, 50));
    assert_eq!(plan("http://h/ --pipeline 4").unwrap().connection.pipeline, 4);
    assert_eq!(plan("http://h/ --http 1.0 --tls-max 1.2").unwrap().tls.max_version, TlsVersion::Tls12);
    assert_eq!(plan("http://h/").unwrap().stop.duration, Some(Picos::from_secs(10)));
}

#[test]
fn a_target_is_a_url_or_a_file() {
    let file = std::env::temp_dir().join(format!("tare-http-args-{}", std::process::id()));
    std::fs::write(&file, "http://h/\n").unwrap();
    let source = plan(&format!("{} --order shuffle", file.display())).unwrap().source;
    assert_eq!(source, RequestSource::File { path: file.clone(), order: LineOrder::Shuffle });
    std::fs::remove_file(&file).unwrap();
    for (typed, expected) in [
        (
            "localhost:8080",
            "'localhost:8080' is neither a URL (http://…) nor a file; did you mean http://localhost:8080/ ?",
        ),
        (
            "example.org/a",
            "'example.org/a' is neither a URL (http://…) nor a file; did you mean http://example.org/a ?",
        ),
        ("missing.txt", "'missing.txt' is neither a URL (http://…) nor a file"),
        ("missing", "'missing' is neither a URL (http://…) nor a file"),
        ("-", "URLs are read more than once, so they cannot come from standard input: save them to a file"),
    ] {
        assert_eq!(refusal(typed), expected);
    }
    assert!(refusal("ftp://h/").starts_with("URL: 'ftp://h/' has a scheme other than http and https"));
}

#[test]
fn bad_input_names_the_flag() {
    for (line, expected) in [
        ("http://h/ --rate 0", "--rate: '0' is zero"),
        ("http://h/ --rate -5", "--rate: '-5' is negative"),
        ("http://h/ --rate NaN", "--rate: 'NaN' is not a number"),
        ("http://h:70000/", "URL: 'http://h:70000/' has a port out of range"),
        ("http://h/ --parallel 0", "--parallel: '0' is zero"),
        ("http://h/ --at f --rate 5", "--at contradicts --rate"),
        ("http://h/ --cert c.pem", "--cert needs --key"),
        ("http://h/ --fail-if latency.p99>50", "--fail-if: 50 has no unit; expected a time with its unit"),
        ("http://h/ --abort-if done<9", "--abort-if needs a window"),
        ("http://h/ --pipeline 4 --no-keep-alive", "--pipeline contradicts --no-keep-alive"),
    ] {
        let message = refusal(line);
        assert!(message.starts_with(expected), "{message}");
    }
    let unknown = refusal("http://h/ --rat 5");
    assert!(
        unknown.contains("--rat") && unknown.contains("similar") && unknown.contains("--rate"),
        "{unknown}"
    );
    assert!(refusal("http://h/ --rate --json").contains("this is a flag where a value should be"));
    assert!(refusal("http://h/ -4 -6").contains("cannot be used with"));
    assert!(refusal("").contains("URL | FILE"));
}

#[test]
fn help_is_grouped_and_has_examples() {
    let help = Command::command().render_help().to_string();
    for heading in [
        "Load:",
        "Stop:",
        "Request:",
        "Connection:",
        "TLS:",
        "Names:",
        "Generator:",
        "Thresholds:",
        "Output:",
        "Examples:",
    ] {
        assert!(help.contains(&format!("\n{heading}\n")), "{heading} in\n{help}");
    }
}
