//! Debian's InfluxDB 1.6; of 2.x only the form of the requests, since Debian has none.

use super::servers::Influx;
use std::time::Duration;
use tare_system_tests::{Recorder, Tare, Target, beside_others};

#[test]
fn sums_equal_the_result() {
    let _shared = beside_others();
    let influx = Influx::start(true);
    influx.query("CREATE DATABASE load");
    let target = Target::start("--delay 2ms --error 503=10% --reset 2% --no-truth");
    let to = format!("influxdb://admin:opensesame@127.0.0.1:{}/load", influx.port());
    let run = Tare::http(&format!("--rate 300 --duration 3s {} --to {to}", target.url())).run();
    assert_eq!(run.at("sinks")[0]["rows_lost"], 0, "{run}");
    assert!(!run.stdout.contains("opensesame") && !run.stderr.contains("opensesame"), "{run}");

    let name = run.at("run").as_str().expect("a run has a name");
    for key in ["offered", "sent", "done", "failed", "missed", "cut_off", "bytes_in", "bytes_out"] {
        let sum = influx.value(&format!("SELECT sum({key}) FROM tare WHERE run = '{name}'"));
        assert_eq!(sum.as_u64(), Some(run.total(key)), "{key}: {run}");
    }
    let rows = run.result["intervals"].as_array().expect("intervals is a list");
    let count = influx.value("SELECT count(offered) FROM tare");
    assert_eq!(count.as_u64(), Some(rows.len() as u64), "a point for each row: {run}");
    let slowest = rows.iter().filter_map(|row| row["latency_max_ns"].as_u64()).max();
    assert_eq!(influx.value("SELECT max(latency_max_ns) FROM tare").as_u64(), slowest, "{run}");

    let outcomes = run.result["outcomes"].as_array().expect("outcomes is a list");
    assert!(outcomes.len() >= 3, "200, 503 and resets: {run}");
    for outcome in outcomes {
        let which = format!(
            "class = '{}' AND code = '{}'",
            outcome["class"].as_str().expect("a text"),
            outcome["key"].as_str().expect("a text")
        );
        let sum = influx.value(&format!("SELECT sum(count) FROM tare_outcomes WHERE {which}"));
        assert_eq!(sum, outcome["count"], "{which}: {run}");
    }
    let verdict = influx.value("SELECT verdict FROM tare_run WHERE event = 'end'");
    assert_eq!(verdict, run.word(), "{run}");
    let target_told = influx.value("SELECT target FROM tare_run WHERE event = 'begin'");
    assert_eq!(&target_told, run.at("target"), "{run}");
}

#[test]
fn what_it_refuses_is_said_with_what_to_do() {
    let _shared = beside_others();
    let influx = Influx::start(true);
    influx.query("CREATE DATABASE load");
    let target = Target::start("--no-truth");
    let host = format!("127.0.0.1:{}", influx.port());
    for (to, expected) in [
        (
            format!("influxdb://admin:opensesame@{host}/lode"),
            "create it: influx -execute 'CREATE DATABASE \"lode\"'",
        ),
        (
            format!("influxdb://admin:wrongsecret@{host}/load"),
            "the name or password is not accepted (it is 1.",
        ),
        (format!("influxdb://{host}/load"), "write influxdb://USER:PASSWORD@HOST/DATABASE"),
        (
            format!("influxdb2://{host}/me/load?token=wrongsecret"),
            "influxdb://HOST/DATABASE is for version 1",
        ),
    ] {
        let run = Tare::http(&format!("--rate 100 --duration 1s {} --to {to}", target.url())).run();
        let sink = &run.at("sinks")[0];
        assert!(
            sink["trouble"].as_str().unwrap_or_default().contains(expected),
            "{sink}, not {expected}: {run}"
        );
        assert_eq!(sink["rows"].as_u64(), Some(0), "{sink} in {run}");
        assert_eq!(run.criterion("sinks.lost").severity, "DEGRADED", "{run}");
        assert!(run.stderr.contains(expected) && run.stderr.contains(&host), "told at once, by name: {run}");
        assert!(!run.stdout.contains("wrongsecret") && !run.stderr.contains("wrongsecret"), "{run}");
        assert!(run.took < Duration::from_secs(10), "{run}");
    }
}

#[test]
fn version_2_gets_its_token_organisation_and_bucket() {
    let _shared = beside_others();
    let (recorder, target) = (Recorder::start(), Target::start("--no-truth"));
    let to = format!("influxdb2://127.0.0.1:{}/my%20org/load", recorder.port());
    let run = Tare::http(&format!("--rate 100 --duration 1s {} --to {to}", target.url()))
        .env("INFLUX_TOKEN", "s3cret==")
        .run();
    assert_eq!(run.at("sinks")[0]["rows_lost"], 0, "{run}");
    let requests = recorder.requests();
    // InfluxDB's API reference, "Write data": POST /api/v2/write, Authorization: Token …
    for request in &requests {
        assert_eq!(request.line(), "POST /api/v2/write?org=my+org&bucket=load&precision=ns HTTP/1.1");
        assert_eq!(request.fields("Authorization"), ["Token s3cret=="]);
    }
    let text: String = requests.iter().map(|request| String::from_utf8_lossy(&request.body)).collect();
    let done = |line: &str| -> Option<u64> {
        let field =
            line.strip_prefix("tare,")?.split([' ', ',']).find_map(|field| field.strip_prefix("done="))?;
        field.strip_suffix('i')?.parse().ok()
    };
    assert_eq!(text.lines().filter_map(done).sum::<u64>(), run.total("done"), "{text}");
    assert!(!run.stdout.contains("s3cret") && !run.stderr.contains("s3cret"), "{run}");
}
