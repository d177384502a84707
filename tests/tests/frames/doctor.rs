//! `tare doctor` on this machine: what it says, what it forecasts, what it sets and takes back (in a namespace
//! of its own).

use serde_json::{Value, json};
use std::path::Path;
use tare_system_tests::bed::{Namespace, TestBed, run_in};
use tare_system_tests::tmux::Tmux;
use tare_system_tests::{Run, Tare, alone, beside_others, binary, need, scratch};

const RANGE: &str = "cat /proc/sys/net/ipv4/ip_local_port_range";

fn doctor(arguments: &str) -> Run {
    Tare::new(&format!("doctor {arguments}")).start().finish_unchecked()
}

/// With that state folder, in that namespace.
fn inside(namespace: &Namespace, state: &Path, arguments: &str) -> Run {
    let tare = Tare::new(&format!("doctor {arguments}")).inside(namespace);
    tare.env("XDG_STATE_HOME", state.display().to_string()).start().finish_unchecked()
}

fn ports(namespace: &Namespace) -> String {
    run_in(namespace, RANGE).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn this_machine_is_examined_and_told_as_json() {
    let _beside = beside_others();
    let run = doctor("--json");
    assert_eq!(run.code, Some(0), "{run}");
    assert_eq!(run.at("schema"), "tare.doctor/1");
    let findings = run.result["findings"].as_array().expect("findings");
    assert!(findings.len() > 40, "{}", findings.len());
    for finding in findings {
        let matters =
            ["minor", "serious", "blocking"].contains(&finding["severity"].as_str().unwrap_or_default());
        let why = finding["why"].as_str().unwrap_or_default();
        assert!(!finding["found"].as_str().unwrap_or_default().is_empty(), "{finding}");
        assert!(
            !matters || why.bytes().any(|byte| byte.is_ascii_digit()),
            "a reason without a figure: {finding}"
        );
        assert!(!matters || finding["mend"].is_object(), "nothing to do about it: {finding}");
    }
    let kinds: Vec<&str> = run.result["ports"]
        .as_array()
        .expect("ports")
        .iter()
        .filter_map(|port| port["port"].as_str())
        .collect();
    for kind in ["mem", "pcap", "udp", "packet", "xdp", "live", "tap"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    // The kernel's own words beside ours.
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a kernel has a release");
    assert_eq!(run.at("machine.kernel"), kernel.trim());
    assert_eq!(run.result["profile"]["refused"], "none");
    assert!(
        run.float("measured.sleeps.tight_p50_ns") > 0.0 && run.float("measured.system_call_ns") > 0.0,
        "{run}"
    );
}

#[test]
fn examining_changes_nothing() {
    let _alone = alone();
    let names = [
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_tw_reuse",
        "net.core.somaxconn",
        "kernel.sched_rt_runtime_us",
    ];
    let settings = || -> Vec<String> {
        let path = |name: &str| format!("/proc/sys/{}", name.replace('.', "/"));
        let links = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
        let interfaces =
            links.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim().to_owned());
        names
            .iter()
            .map(|name| std::fs::read_to_string(path(name)).unwrap_or_default())
            .chain(interfaces)
            .collect()
    };
    let before = settings();
    assert_eq!(doctor("").code, Some(0));
    assert_eq!(settings(), before);
}

#[test]
fn without_arguments_it_is_one_screen_of_eighty_columns() {
    let _beside = beside_others();
    let tmux = Tmux::start(80, 24);
    tmux.run(&format!("clear; XDG_STATE_HOME={} {} doctor", tmux.folder().display(), binary().display()));
    tmux.wait_for("Next ");
    let screen = tmux.screen();
    for word in ["Machine", "Profile", "Ports", "Findings", "tare weigh"] {
        assert!(screen.contains(word), "{word} is not on the first screen:\n{screen}");
    }
}

#[test]
fn settings_are_made_and_taken_back_in_a_namespace() {
    let _beside = beside_others();
    let bed = TestBed::pair();
    let (generator, sink, state) = (bed.generator(), bed.sink(), scratch());
    let (before, host) =
        (ports(generator), std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok());
    assert_ne!(before, "10000 65535");
    let fixed = inside(generator, state.path(), "--fix --yes --only net.ports");
    assert_eq!(fixed.code, Some(0), "{fixed}");
    assert!(fixed.stdout.contains("+ sysctl -w net.ipv4.ip_local_port_range=\"10000 65535\"\n"), "{fixed}");
    assert_eq!(ports(generator), "10000 65535");
    assert_eq!(ports(sink), before, "another namespace is not touched");
    assert_eq!(std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok(), host);
    let again = inside(generator, state.path(), "--json");
    let ports_now = finding(&again, "net.ports");
    assert_eq!(ports_now["severity"], "fine", "{ports_now}");

    // From elsewhere it is not taken back, and stays written down.
    let elsewhere = inside(sink, state.path(), "--undo --yes");
    assert_eq!(elsewhere.code, Some(1), "{elsewhere}");
    assert!(elsewhere.stderr.contains("undo it there"), "{elsewhere}");
    assert_eq!((ports(generator), ports(sink)), ("10000 65535".to_owned(), before.clone()));

    let undone = inside(generator, state.path(), "--fix --undo --yes");
    assert_eq!(undone.code, Some(0), "{undone}");
    assert_eq!(ports(generator), before);
    assert!(!state.path().join("tare/mended.json").exists());
    let nothing = inside(generator, state.path(), "--undo --yes");
    assert!(nothing.code == Some(0) && nothing.stdout.contains("There is nothing to undo"), "{nothing}");
}

#[test]
fn what_another_changed_since_is_left_alone() {
    let _beside = beside_others();
    let (bed, state) = (TestBed::pair(), scratch());
    let generator = bed.generator();
    assert_eq!(inside(generator, state.path(), "--fix --yes --only net.ports").code, Some(0));
    need("sysctl");
    let set = generator.command("sysctl").args(["-qw", "net.ipv4.ip_local_port_range=5000 6000"]).status();
    assert!(set.is_ok_and(|status| status.success()));
    let undone = inside(generator, state.path(), "--undo --yes");
    assert!(undone.stdout.contains("left alone: it is 5000 6000"), "{undone}");
    assert_eq!(ports(generator), "5000 6000");
}

#[test]
fn at_a_terminal_it_asks_and_no_is_no() {
    let _beside = beside_others();
    let bed = TestBed::pair();
    let before = ports(bed.generator());
    let tmux = Tmux::start(100, 30);
    let call = format!(
        "XDG_STATE_HOME={} ip netns exec {} {} doctor --fix --only net.ports",
        tmux.folder().display(),
        bed.generator().name,
        binary().display()
    );
    tmux.run(&call);
    tmux.wait_for("Change 1 setting? [y/N]");
    tmux.run("n");
    tmux.wait_for("Nothing was changed.");
    assert_eq!(ports(bed.generator()), before);
    tmux.run(&format!("clear; {call}"));
    tmux.wait_for("Change 1 setting? [y/N]");
    tmux.run("y");
    tmux.wait_for("1 of 1 setting changed");
    assert_eq!(ports(bed.generator()), "10000 65535");
}

#[test]
fn without_a_terminal_and_yes_nothing_is_set() {
    let _beside = beside_others();
    for flag in ["--fix", "--undo"] {
        let run = doctor(flag);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains(&format!("{flag} asks before")) && run.stderr.contains("--yes"), "{run}");
    }
}

fn finding(run: &Run, id: &str) -> Value {
    let findings = run.result["findings"].as_array().cloned().unwrap_or_default();
    findings.into_iter().find(|finding| finding["id"] == id).unwrap_or_else(|| panic!("no {id}: {run}"))
}

#[test]
fn a_finding_in_full_has_its_reason_its_command_and_what_undoes_it() {
    let _beside = beside_others();
    let (bed, state) = (TestBed::pair(), scratch());
    let run = inside(bed.generator(), state.path(), "--only net.ports");
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "470 new connections per second",
        "fix sysctl -w net.ipv4.ip_local_port_range=\"10000 65535\"",
        "undo sysctl -w",
    ] {
        assert!(text.contains(words), "{words}: {run}");
    }
    let run = doctor("--only net.prots");
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("--only net.prots") && run.stderr.contains("net.ports"), "{run}");
}

/// A profile of this machine as it is now, in which one kind of load has that peak.
fn profile(state: &Path, key: &str, peak: f64) {
    let facts = doctor("--json").result["facts"].clone();
    let point = |share: f64| {
        json!({
            "offered_per_s": peak * share, "achieved_per_s": peak * share, "user_ns": 2000.0, "system_ns": 6000.0, "softirq_ns": null,
            "lateness_p50_ns": 900, "lateness_p99_ns": 9000, "is_valid": share <= 1.0,
        })
    };
    let capability = json!({
        "key": key, "against": "embedded target", "threads": 1, "peak_per_s": peak, "low_per_s": null, "high_per_s": null,
        "saturated_per_s": null, "memory_bytes": null, "memory_per_connection_bytes": null,
        "points": [point(0.25), point(0.5), point(1.0), point(1.5)],
    });
    let profile = json!({
        "schema": "tare.profile/1", "made_unix_s": 1_790_000_000, "tare": "0.1.0", "machine": { "facts": facts }, "capabilities": [capability],
    });
    std::fs::create_dir_all(state.join("tare")).expect("a folder");
    std::fs::write(state.join("tare/profile.json"), profile.to_string()).expect("a profile");
}

#[test]
fn a_plan_beyond_the_profile_is_forecast_invalid_and_one_within_it_is_not() {
    let _beside = beside_others();
    let state = scratch();
    profile(state.path(), "http.keep_alive", 10_000.0);
    let with = |arguments: &str| {
        let tare = Tare::new(&format!("doctor {arguments}"))
            .env("XDG_STATE_HOME", state.path().display().to_string());
        tare.start().finish_unchecked()
    };
    let low = with("--json -- http http://127.0.0.1:9/ --rate 1000 --duration 5s");
    assert_eq!(low.at("forecast.outlook"), "valid", "{low}");
    assert_eq!((low.code, low.at("plan.load")), (Some(0), &json!("http")), "{low}");
    assert_eq!(low.result["profile"]["holds"], true, "{low}");
    let high = with("--json -- tare http http://127.0.0.1:9/ --rate 100k --duration 5s");
    assert_eq!((high.code, high.at("forecast.outlook")), (Some(4), &json!("invalid")), "{high}");
    let text = with("-- http http://127.0.0.1:9/ --rate 100k --duration 5s");
    assert!(text.code == Some(4) && text.stdout.contains("INVALID"), "{text}");
    // The same from a file.
    let plan = state.path().join("plan.toml");
    let printed = Tare::new("http http://127.0.0.1:9/ --rate 100k --duration 5s --print-plan")
        .start()
        .finish_unchecked();
    std::fs::write(&plan, &printed.stdout).expect("a plan");
    let file = with(&format!("--json {}", plan.display()));
    assert_eq!((file.code, file.at("forecast.outlook")), (Some(4), &json!("invalid")), "{file}");
}

/// A forecast is never better than what the command itself says at once; and asking changes nothing.
#[test]
fn what_the_command_refuses_is_forecast_invalid_in_its_words() {
    let _beside = beside_others();
    let (bed, state) = (TestBed::pair(), scratch());
    let none = state.path().join("none").display().to_string();
    let out = state.path().join("out.pcap").display().to_string();
    // The MTU of these interfaces is 1500: a size of 1518, or 1522 with a tag.
    for command in [
        format!("http http://127.0.0.1:9/ --rate 10 --ca {none}"),
        format!("http http://127.0.0.1:9/ --rate 10 --cert {none} --key {none}"),
        format!("http http://127.0.0.1:9/ --rate 10 --unix {none}"),
        format!("http http://127.0.0.1:9/ --rate 10 --body-stream {none}"),
        "http http://127.0.0.1:9/ --rate 10 --via packet:none9,ip=198.18.0.9/24".to_owned(),
        "http http://198.19.0.2/ --rate 10 --via packet:gen0,ip=198.18.0.9/24".to_owned(),
        "http http://[fd00::2]/ --rate 10 --via packet:gen0,ip=198.18.0.9/24".to_owned(),
        format!("send packet:gen0 --replay {none}"),
        format!("send packet:gen0 --pcap {none}"),
        format!("send packet:gen0 -D {none}"),
        format!("send packet:gen0 -L {none}"),
        "send live:lo".to_owned(),
        "send udp:bogus".to_owned(),
        "send packet:gen0 --size 1519".to_owned(),
        "send packet:gen0 --size 9000".to_owned(),
        "send xdp:gen0 --size 9000".to_owned(),
        "send gen0 --size 9000 --rate 10".to_owned(),
        format!("send pcap:{out} --queues 2"),
        format!("send pcap:{none}/out.pcap"),
        "send packet:gen0 --rate 10 --receive live:gen0".to_owned(),
        "sweep --send packet:gen0 --receive packet:gen0".to_owned(),
        "sweep --send packet:gen0 --receive mem:a --sizes 9000".to_owned(),
        format!("pace packet:gen0 mem:a --gaps {none}"),
        format!("capture packet:gen0 -w {none}/out.pcap"),
        format!("capture pcap:{none}"),
        format!("gaps pcap:{none}"),
        format!("forward packet:gen0 --rules {none}"),
        "forward packet:gen0 none9".to_owned(),
    ] {
        let said = inside(bed.generator(), state.path(), &format!("--json -- {command}"));
        assert_eq!(
            (said.code, said.at("forecast.outlook")),
            (Some(4), &json!("invalid")),
            "{command}: {said}"
        );
        let figures = said.result["forecast"]["figures"].as_array().expect("figures");
        let start = figures.iter().find(|figure| figure["name"] == "start").expect("the start");
        let run =
            Tare::new(&format!("{command} --no-save -q")).inside(bed.generator()).start().finish_unchecked();
        assert_eq!(run.code, Some(2), "{command}: {run}");
        assert_eq!(run.stderr.trim(), format!("tare: {}", start["says"].as_str().unwrap_or("")), "{command}");
    }
    assert!(!Path::new(&out).exists(), "nothing was made");
    for command in [
        "send packet:gen0 --size 1518 --rate 10".to_owned(),
        "send packet:gen0 --size 1522 --vlan 7 --rate 10".to_owned(),
        format!("send pcap:{out} --rate 10"),
        "capture packet:gen0".to_owned(),
        "http http://127.0.0.1:9/ --rate 10".to_owned(),
    ] {
        let said = inside(bed.generator(), state.path(), &format!("--json -- {command}"));
        let figures = said.result["forecast"]["figures"].as_array().expect("figures");
        assert!(figures.iter().all(|figure| figure["name"] != "start"), "{command}: {said}");
    }
    assert!(!Path::new(&out).exists(), "nothing was made");
}

#[test]
fn without_a_profile_no_rate_is_forecast_and_it_says_what_to_do() {
    let _beside = beside_others();
    let run = doctor("-- http http://127.0.0.1:9/ --rate 1000");
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.contains("not known") && run.stdout.contains("tare weigh"), "{run}");
}

#[test]
fn wrong_input_is_named_with_its_line_flag_or_word() {
    let _beside = beside_others();
    let folder = scratch();
    let plan = folder.path().join("plan.toml");
    std::fs::write(&plan, "[target]\nurls = [\"http://127.0.0.1/\"]\n\n[load]\nrtae = \"10/s\"\n")
        .expect("a file");
    let cases = [
        (format!("{}", plan.display()), vec!["plan.toml", "rtae"]),
        (format!("{}/absent.toml", folder.path().display()), vec!["absent.toml", "expected a plan"]),
        ("http".to_owned(), vec!["tare doctor -- http"]),
        ("http --rate 5 http://127.0.0.1/".to_owned(), vec!["tare doctor -- http"]),
        ("-- http http://127.0.0.1/ --rate quick".to_owned(), vec!["--rate", "quick"]),
        ("-- send packet:veth0 --sizze 64".to_owned(), vec!["--sizze"]),
        ("-- runs".to_owned(), vec!["'runs' makes no load"]),
    ];
    for (arguments, words) in cases {
        let run = doctor(&arguments);
        assert_eq!(run.code, Some(2), "{arguments}: {run}");
        for word in words {
            assert!(run.stderr.contains(word), "{arguments}: {word}: {run}");
        }
    }
}

#[test]
fn kernel_ports_do_not_matter_to_a_plan_with_a_tcp_of_its_own() {
    let _beside = beside_others();
    let (bed, state) = (TestBed::pair(), scratch());
    for (via, matters) in [("", true), ("--via packet:gen0,ip=198.18.0.9/24", false)] {
        let plan = format!("--json -- http http://198.18.0.2/ --rate 10 {via}");
        let said = inside(bed.generator(), state.path(), &plan);
        for id in ["net.ports", "net.tw_reuse"] {
            let found = finding(&said, id);
            assert_eq!(found["weight"]["http"] != "fine", matters, "{via}: {found}");
        }
    }
}

#[test]
fn without_privileges_a_port_for_requests_is_forecast_invalid_in_the_runs_words() {
    let _beside = beside_others();
    need("setpriv");
    for kind in ["packet", "xdp"] {
        let load = format!("http http://198.18.0.2/ --rate 10 --via {kind}:lo,ip=198.18.0.9/24");
        let by = |command: &str| {
            let tare = Tare::new(command)
                .through("setpriv --bounding-set=-all --inh-caps=-all --reuid=65534 --clear-groups --");
            tare.start().finish_unchecked()
        };
        let (said, run) = (by(&format!("doctor --json -- {load}")), by(&format!("{load} --no-save -q")));
        assert_eq!((said.code, said.at("forecast.outlook")), (Some(4), &json!("invalid")), "{said}");
        let figures = said.result["forecast"]["figures"].as_array().expect("figures");
        let start = figures.iter().find(|figure| figure["name"] == "start").expect("the start");
        assert_eq!(run.code, Some(2), "{run}");
        assert_eq!(run.stderr.trim(), format!("tare: {}", start["says"].as_str().unwrap_or("")), "{kind}");
    }
}

#[test]
fn without_privileges_it_says_what_cannot_be_done() {
    let _beside = beside_others();
    need("setpriv");
    let tare = Tare::new("doctor --json -- send packet:lo --rate 1000");
    let run = tare
        .through("setpriv --bounding-set=-all --inh-caps=-all --reuid=65534 --clear-groups --")
        .start()
        .finish_unchecked();
    // A load of frames that nobody here may send.
    assert_eq!(run.code, Some(4), "{run}");
    assert_eq!(finding(&run, "cap.net_raw")["weight"]["packets"], "blocking", "{run}");
    let packet =
        run.result["ports"].as_array().expect("ports").iter().find(|port| port["port"] == "packet").cloned();
    let packet = packet.expect("packet is told of");
    assert_eq!(packet["works"], false, "{packet}");
    assert!(packet["why"].as_str().unwrap_or_default().contains("CAP_NET_RAW"), "{packet}");
}
