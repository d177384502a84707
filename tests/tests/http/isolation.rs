//! A look-up, a connect or a handshake of one connection does not move another's times.

use serde_json::Value;
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;
use tare_system_tests::run::AHEAD;
use tare_system_tests::wire::{Wire, answer_all};
use tare_system_tests::{Run, Tare, Target, light, need, need_root, scratch};

/// A file of JSON lines: name, URL and weight.
fn lines(path: &Path, lines: &[(&str, &str, u32)]) {
    let text: String = lines
        .iter()
        .map(|(name, url, weight)| {
            format!("{}\n", serde_json::json!({"name": name, "url": url, "weight": weight}))
        })
        .collect();
    std::fs::write(path, text).expect("a scratch file");
}

fn ns(group: &Value, key: &str) -> f64 {
    group["latency_ns"][key].as_f64().unwrap_or_else(|| panic!("{key} of {group}"))
}

/// Ended so, of a group: `done`, `failed`, `missed` or `cut_off`.
fn ended(group: &Value, class: &str) -> u64 {
    let list = group["outcomes"].as_array().into_iter().flatten();
    list.filter(|o| o["class"] == class).map(|o| o["count"].as_u64().unwrap_or(0)).sum()
}

/// Runs `without` the disturbance and `with` it, and compares group a, whose answers take 5 ms. A loop that
/// waits for the disturbance, even once in a hundred requests, is far outside. The medians are compared up to
/// three times, since they also tell what else the machine does; each tail must hold at once.
#[track_caller]
fn not_moved(disturbance: Duration, without: impl Fn() -> Run, with: impl Fn() -> Run) -> Run {
    let mut ratios = Vec::new();
    for _ in 0..3 {
        let (calm, beside) = (without(), with());
        let group = beside.group("a");
        assert_eq!(group["latency_ns"]["count"], group["count"], "all of a is answered: {beside}");
        let whole = disturbance.as_nanos() as f64;
        assert!(ns(group, "p99") < 0.25 * whole && ns(group, "max") < 0.5 * whole, "{group}: {beside}");
        let ratio = ns(group, "p50") / ns(calm.group("a"), "p50");
        if ratio < 1.25 {
            return beside;
        }
        ratios.push(ratio);
    }
    panic!("the median is {ratios:?} times as long");
}

#[test]
fn handshakes_that_take_2_s_do_not_move_other_requests() {
    let _light = light();
    let folder = scratch();
    let (ca, file) = (folder.path().join("ca.pem"), folder.path().join("requests.jsonl"));
    let quick = Target::start_through(&AHEAD, "--delay 5ms --no-truth");
    let slow = Target::start(&format!(
        "--slow-handshake 2s --no-tickets --no-truth --tls-write-cert {}",
        ca.display()
    ));
    let load =
        format!("--rate 300 --duration 2s --grace 4s --threads 1 --ca {} {}", ca.display(), file.display());
    let run = |other: &str| {
        lines(&file, &[("a", &quick.url(), 4), ("b", other, 1)]);
        Tare::http(&load).ahead().run()
    };
    let other = format!("{}other", quick.url());
    let with = not_moved(Duration::from_secs(2), || run(&other), || run(&slow.url()));
    // About a fifth of 600 requests are b's; each waits for a handshake of 2 s, or for the end of another's.
    assert!(with.group("b")["latency_ns"]["count"].as_u64() > Some(100), "{with}");
    let (tls, count) = (with.int("tls_ns.min"), with.int("tls_ns.count"));
    assert!(tls >= 1_950_000_000 && count > 50, "{count} handshakes of {tls} ns and more: {with}");
}

#[test]
fn names_that_take_seconds_to_resolve_do_not_move_other_requests() {
    let _light = light();
    need_root();
    need("unshare");
    let folder = scratch();
    // A resolver that takes questions and never answers.
    let hole = UdpSocket::bind("127.77.0.53:53").expect("port 53 of a loopback address is free");
    let configuration = folder.path().join("resolv.conf");
    std::fs::write(&configuration, "nameserver 127.77.0.53\noptions timeout:2 attempts:1\n")
        .expect("a scratch file");
    let script = folder.path().join("mount.sh");
    let text = format!("set -e\nmount --bind {} /etc/resolv.conf\nexec \"$@\"\n", configuration.display());
    std::fs::write(&script, text).expect("a scratch file");
    let wrapper = format!("unshare --mount --propagation private sh {}", script.display());

    let quick = Target::start_through(&AHEAD, "--delay 5ms --no-truth");
    // Leads to a name that was not known before the run, so that it is looked up in the middle of it.
    let away = Wire::start(answer_all(
        b"HTTP/1.1 302 Found\r\nLocation: http://slow.tare-test.example/\r\nContent-Length: 0\r\n\r\n",
    ));
    let file = folder.path().join("requests.jsonl");
    let load = format!("--rate 300 --duration 2s --grace 4s --threads 1 --follow 1 {}", file.display());
    let run = |other: &str| {
        lines(&file, &[("a", &quick.url(), 2), ("b", other, 1)]);
        Tare::http(&load).ahead().through(&wrapper).run()
    };
    let other = format!("{}other", quick.url());
    let with = not_moved(Duration::from_secs(2), || run(&other), || run(&away.url()));
    let b = with.group("b");
    assert_eq!(ended(b, "error") + ended(b, "cut_off"), b["count"].as_u64().expect("a count"), "{with}\n{b}");
    assert!(ended(b, "error") > 50, "{with}\n{b}");
    assert_eq!(with.outcome("lookup.failed"), with.total("failed"), "{with}");
    assert!(with.int("failed_ns.max") >= 1_900_000_000, "the look-up took its 2 s: {with}");
    drop(hole);
}

#[test]
fn addresses_that_do_not_answer_do_not_move_other_requests() {
    let _light = light();
    need_root();
    let folder = scratch();
    // A network with a link to nowhere: what is sent to 10.99.0.2 is never answered (its neighbour is made up).
    let network = "set -e; ip link set lo up; ip link add nowhere type veth peer name end; ip link set end up; \
                   ip addr add 10.99.0.1/24 dev nowhere; ip link set nowhere up; ip neigh add 10.99.0.2 lladdr 02:00:00:00:00:02 dev nowhere; exec \"$@\"";
    let wrapper = [&["unshare", "--net", "sh", "-c", network, "sh"], &AHEAD[..]].concat();
    let quick = Target::start_through(&wrapper, "--delay 5ms --no-truth");
    let file = folder.path().join("requests.jsonl");
    let load = format!("--rate 300 --duration 2s --timeout 2s --grace 3s --threads 1 {}", file.display());
    let run = |other: &str| {
        lines(&file, &[("a", &quick.url(), 2), ("b", other, 1)]);
        Tare::http(&load).in_network_of(quick.process.pid()).ahead().run()
    };
    let other = format!("{}other", quick.url());
    let with = not_moved(Duration::from_secs(2), || run(&other), || run("http://10.99.0.2/"));
    let b = with.group("b");
    assert_eq!(ended(b, "error"), b["count"].as_u64().expect("a count"), "{with}\n{b}");
    assert_eq!(with.outcome("connect.timeout"), with.total("failed"), "{with}");
}
