//! The live page and the view on the terminal, looked at from outside while a run goes on.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;
use tare_system_tests::devtools::Tab;
use tare_system_tests::process::{text_of, wait_until};
use tare_system_tests::run::Running;
use tare_system_tests::tmux::Tmux;
use tare_system_tests::{Tare, Target, beside_others, scratch};

const TOKEN: &str = "0123456789abcdef";

/// The address that a run prints, from the host on.
fn address(running: &Running) -> String {
    let found =
        || running.stderr().lines().find_map(|line| line.strip_prefix("live: http://").map(str::to_owned));
    wait_until("the page's address", || found().is_some());
    found().expect("it is there")
}

/// Host and port of an address.
fn host(address: &str) -> &str {
    address.split('/').next().expect("there is a first part")
}

/// A request of one connection, and its answer as it comes.
fn ask(address: &str, path: &str, headers: &str) -> BufReader<TcpStream> {
    let port = host(address).rsplit(':').next().and_then(|port| port.parse::<u16>().ok()).expect("a port");
    let mut socket = TcpStream::connect(("127.0.0.1", port)).expect("the page is there");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a time-out");
    let host = if headers.contains("Host:") { String::new() } else { format!("Host: 127.0.0.1:{port}\r\n") };
    write!(socket, "GET {path} HTTP/1.0\r\n{host}{headers}\r\n").expect("a request");
    BufReader::new(socket)
}

/// Head and body.
fn get(address: &str, path: &str, headers: &str) -> (String, String) {
    let mut text = String::new();
    ask(address, path, headers).read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("an answer has a head");
    (head.to_owned(), body.to_owned())
}

/// The next event: its name and its data.
fn next_event(stream: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let (mut name, mut data) = (String::new(), String::new());
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).expect("the page sends") == 0 {
            return None;
        }
        match line.trim_end_matches(['\r', '\n']) {
            "" if !name.is_empty() => return Some((name, data)),
            line => {
                if let Some(text) = line.strip_prefix("event: ") {
                    name = text.to_owned();
                } else if let Some(text) = line.strip_prefix("data:") {
                    data.push_str(text.strip_prefix(' ').unwrap_or(text));
                    data.push('\n');
                }
            }
        }
    }
}

/// Rows of the table of one chart.
fn rows_of(html: &str, chart: &str) -> usize {
    let figure = html.split(&format!("data-chart=\"{chart}\"")).nth(1).expect("the chart is there");
    let table = figure.split("</figure>").next().expect("it ends");
    table
        .split("<tbody>")
        .nth(1)
        .map_or(0, |body| body.split("</tbody>").next().unwrap_or("").matches("<tr>").count())
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_str(&text_of(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn viewers_see_each_second_late_ones_the_past_and_all_the_report() {
    let _shared = beside_others();
    let target = Target::start("--delay 2ms --no-truth");
    let folder = scratch();
    let out = folder.path().join("run");
    let load =
        format!("--rate 100 --duration 5s --live=127.0.0.1:0 --out {} {}", out.display(), target.url());
    let running = Tare::http(&load).start();
    let address = address(&running);
    let mut first = ask(&address, "/events", "");
    let mut shown = Vec::new();
    for _ in 0..3 {
        let (name, data) = next_event(&mut first).expect("the run goes on");
        assert_eq!(name, "update");
        shown.push(rows_of(&data, "rate"));
    }
    assert!(shown.windows(2).all(|pair| pair[0] < pair[1]), "each shows a second more: {shown:?}");
    let mut second = ask(&address, "/events", "");
    let (_, data) = next_event(&mut second).expect("what is known by now");
    assert!(rows_of(&data, "rate") >= shown[2], "the past is in it");
    let (head, page) = get(&address, "/", "");
    assert!(head.starts_with("HTTP/1.0 200") && head.contains("content-security-policy"), "{head}");
    assert!(rows_of(&page, "rate") >= shown[2] && page.contains("so far: the run is in progress"));
    for viewer in [&mut first, &mut second] {
        let names: Vec<String> = std::iter::from_fn(|| next_event(viewer)).map(|(name, _)| name).collect();
        assert_eq!(names.iter().position(|name| name == "end"), Some(names.len() - 1), "{names:?}");
    }
    let (_, report) = get(&address, "/", "");
    let (_, again) = get(&address, "/", "");
    // The report is kept before the page goes; both viewers have fetched it, so the run ends.
    let run = running.finish();
    assert_eq!(report, text_of(&out.join("report.html")));
    assert_eq!(report, again);
    assert!(!report.contains("so far:"));
    assert!(run.took < Duration::from_secs(9), "it does not wait for viewers that have the report: {run}");
}

#[test]
fn an_address_that_others_reach_needs_a_token() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    let url = target.url();
    let refused = Tare::http(&format!("--live=0.0.0.0:0 {url}")).start().finish_unchecked();
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--live-token"), "{}", refused.stderr);
    let short = Tare::http(&format!("--live=0.0.0.0:0 --live-token short {url}")).start().finish_unchecked();
    assert_eq!((short.code, short.stderr.contains("guessed")), (Some(2), true), "{}", short.stderr);

    let load = format!("--rate 50 --duration 2s --live=0.0.0.0:0 --live-token {TOKEN} {url}");
    let running = Tare::http(&load).start();
    let address = address(&running);
    assert!(address.ends_with(&format!("/?token={TOKEN}")), "{address}");
    for (path, headers) in [
        ("/", String::new()),
        ("/events", String::new()),
        ("/?token=0123456789abcdeg", String::new()),
        ("/", "Authorization: Bearer wrong\r\n".to_owned()),
    ] {
        let (head, body) = get(&address, path, &headers);
        assert!(head.starts_with("HTTP/1.0 401") && !body.contains("<main"), "{path}: {head}");
    }
    let (head, page) = get(&address, &format!("/?token={TOKEN}"), "");
    assert!(head.starts_with("HTTP/1.0 200") && page.contains("<main"), "{head}");
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().expect("name and value");
    let mut events = ask(&address, "/events", &format!("Cookie: {cookie}\r\n"));
    assert_eq!(next_event(&mut events).expect("an event").0, "update");
    assert!(get(&address, "/", &format!("Authorization: Bearer {TOKEN}\r\n")).0.starts_with("HTTP/1.0 200"));
    drop(events);
    let run = running.finish();
    assert!(!run.stdout.contains(TOKEN), "the token is not kept: {}", run.at("command"));
}

#[test]
fn a_loopback_page_answers_to_no_other_name() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    let running = Tare::http(&format!("--rate 50 --duration 1s --live=0 {}", target.url())).start();
    let address = address(&running);
    let (head, body) = get(&address, "/", "Host: rebound.example\r\n");
    assert!(head.starts_with("HTTP/1.0 421") && !body.contains("<main"), "{head}");
    assert!(get(&address, "/nothing", "").0.starts_with("HTTP/1.0 404"));
    running.finish();
}

#[test]
fn whatever_draws_steps_aside() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    let load = format!("--rate 50 --duration 2s --cpus 0 --threads 1 --live=0 {}", target.url());
    let running = Tare::http(&load).start();
    address(&running);
    let tasks = format!("/proc/{}/task", running.process.pid());
    let task = |name: &str| {
        let all = std::fs::read_dir(&tasks).into_iter().flatten().flatten().map(|entry| entry.path());
        all.into_iter().find(|path| text_of(&path.join("comm")).trim() == name)
    };
    let allowed_of = |path: &Path| {
        let status = text_of(&path.join("status"));
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        allowed.map(|text| text.trim().to_owned())
    };
    // A thread has its name before it has its CPU.
    wait_until("the engine on its CPU", || {
        task("tare-http-0").and_then(|path| allowed_of(&path)).as_deref() == Some("0")
    });
    let [drawing, engine] = ["tare-live", "tare-http-0"].map(|name| {
        let path = task(name).expect("the thread is there");
        // The 19th field of stat is the nice value; the second is the name in brackets.
        let stat = text_of(&path.join("stat"));
        let nice = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(16)).map(str::to_owned);
        (nice, allowed_of(&path))
    });
    let ((lower, beside), (usual, _)) = (drawing, engine);
    // The engine goes first as far as it may, which root may to the end.
    let nice = |text: Option<String>| text.and_then(|text| text.parse::<i32>().ok()).expect("a number");
    let (lower, usual) = (nice(lower), nice(usual));
    assert!(lower >= usual + 5, "drawing at {lower}, the engine at {usual}");
    assert!(beside.as_deref().is_some_and(|list| !list.starts_with('0')), "{beside:?}");
    running.finish();
}

#[test]
fn nobody_looks_and_nothing_waits() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    let run = Tare::http(&format!("--rate 50 --duration 1s --live {}", target.url())).run();
    assert!(run.took < Duration::from_secs(5), "{run}");
    assert!(run.stderr.contains("live: http://127.0.0.1:"), "{}", run.stderr);
    let wrong = Tare::http(&format!("--live=nowhere.example {}", target.url())).start().finish_unchecked();
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
}

#[test]
fn a_browser_shows_the_run_and_then_its_report() {
    let _shared = beside_others();
    let target = Target::start("--delay 2ms --no-truth");
    let folder = scratch();
    let out = folder.path().join("run");
    let load = format!("--rate 100 --duration 6s --live=0 --out {} {}", out.display(), target.url());
    let mut tab = Tab::open(1280);
    let running = Tare::http(&load).start();
    tab.go(&format!("http://{}", address(&running)));
    let rows = "document.querySelectorAll('figure[data-chart=rate] tbody tr').length";
    tab.wait_for(&format!("{rows} > 0 && document.querySelector('.live-bar b').textContent === 'live'"));
    let before = tab.eval(rows).as_u64().expect("a number");
    // What the reader opened stays open from one second to the next.
    tab.eval("document.querySelector('figure[data-chart=rate] summary').click()");
    tab.wait_for(&format!("{rows} > {before}"));
    assert_eq!(tab.eval("document.querySelector('figure[data-chart=rate] details').open"), true);
    assert_eq!(tab.eval("document.documentElement.scrollWidth <= innerWidth"), true);
    tab.wait_for("document.querySelector('.live-bar b').textContent === 'ended'");
    assert_eq!(
        tab.eval("document.querySelector('main').textContent.includes('so far: the run is in progress')"),
        false
    );
    assert_eq!(tab.eval("Boolean(document.querySelector('.live-bar a[download]'))"), true);
    let shown = tab.eval("document.querySelector('main h1').textContent");
    running.finish();
    let report = text_of(&out.join("report.html"));
    assert!(report.contains(shown.as_str().expect("a heading")), "{shown}");
    let kept = tab.eval(&format!("{rows} > 4"));
    assert_eq!((kept, tab.console.as_slice()), (serde_json::Value::Bool(true), [].as_slice()));
}

/// A run in a terminal, and the folder that it keeps.
fn in_terminal(tmux: &Tmux, target: &Target, load: &str) -> std::path::PathBuf {
    let out = tmux.folder().join("run");
    let tare = tare_system_tests::binary();
    tmux.run(&format!(
        "{} http {load} --out {} {}; echo ended $?",
        tare.display(),
        out.display(),
        target.url()
    ));
    out
}

#[test]
fn the_view_fills_the_terminal_and_gives_it_back() {
    let _shared = beside_others();
    let target = Target::start("--delay 2ms --no-truth");
    let tmux = Tmux::start(100, 40);
    let out = in_terminal(&tmux, &target, "--rate 200 --duration 60s");
    tmux.wait_for("Latency over time");
    assert!(tmux.is_filled());
    tmux.wait_for("/s achieved");
    // Faster by a tenth, twice: 220/s, 242/s.
    tmux.keys(&["+"]);
    tmux.wait_for("220/s");
    std::thread::sleep(Duration::from_millis(300));
    tmux.keys(&["+"]);
    tmux.wait_for("242/s");
    tmux.keys(&["Space"]);
    tmux.wait_for("HELD");
    tmux.resize(40, 12);
    tmux.wait_for("p99");
    tmux.keys(&["Space"]);
    tmux.keys(&["?"]);
    tmux.wait_for("this help");
    tmux.keys(&["q"]);
    tmux.resize(100, 40);
    tmux.wait_for("ended 130");
    assert!(!tmux.is_filled());
    // The terminal is as it was: it echoes what is typed.
    tmux.run("echo still $((40 + 2))");
    tmux.wait_for("still 42");
    let result = json(&out.join("result.json"));
    let labels = result["labels"].to_string();
    assert!(labels.contains("interrupted") && labels.contains("changed by hand: 220/s after"), "{labels}");
    let total = |key: &str| result["totals"][key].as_u64().expect("a number");
    assert_eq!(total("offered"), total("done") + total("failed") + total("missed") + total("cut_off"));
    let criteria = result["verdict"]["criteria"].as_array().expect("a list");
    // By the shortest gap, of 242/s: a quarter of it.
    let gap = criteria.iter().find(|criterion| criterion["name"] == "lateness.gap").expect("it is judged");
    assert_eq!(gap["limit"].as_f64().map(|limit| limit as u64 / 1_000), Some(1_033), "{gap}");
}

#[test]
fn a_rate_changed_by_hand_is_exact() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    let tmux = Tmux::start(100, 30);
    let out = in_terminal(&tmux, &target, "--rate 1000 --threads 3 --duration 4s");
    tmux.wait_for("/s achieved");
    tmux.keys(&["-"]);
    tmux.wait_for("909/s");
    wait_until("the result", || out.join("result.json").is_file());
    let result = json(&out.join("result.json"));
    // 1 000/s until the change and 909/s from then on; the label has its time to a tenth of a second.
    let label = result["labels"][0].as_str().expect("a label").to_owned();
    let at: f64 =
        label.split("after ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).expect("a time");
    let offered = result["totals"]["offered"].as_u64().expect("a number") as f64;
    let expected = 1_000.0 * at + 909.0 * (4.0 - at);
    // A stretch begins with a departure, so each of the two may have one more than its time times its rate.
    assert!(
        (offered - expected).abs() <= 0.05 * 91.0 + 2.0,
        "{offered} offered, {expected} expected: {label}"
    );
    assert_eq!(result["partial"], false);
}

#[test]
fn ctrl_c_in_the_view_and_a_signal_give_the_terminal_back() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    let tmux = Tmux::start(80, 24);
    for how in ["key", "signal"] {
        let tare = tare_system_tests::binary();
        let line = format!(
            "{} http --no-save --parallel 2 --duration 60s {}; echo {how} $?",
            tare.display(),
            target.url()
        );
        tmux.run(&line);
        wait_until("the view", || tmux.is_filled());
        tmux.wait_for("/s achieved");
        tmux.keys(&["+"]);
        tmux.wait_for("a closed loop has no rate");
        match how {
            "key" => tmux.keys(&["C-c"]),
            _ => {
                let filter = format!("{} http --no-save --parallel 2", tare.display());
                let found = std::process::Command::new("pgrep")
                    .args(["-f", "-n", &filter])
                    .output()
                    .expect("pgrep runs");
                let pid = String::from_utf8_lossy(&found.stdout).trim().parse().expect("the run is there");
                tare_system_tests::process::signal_pid(pid, rustix::process::Signal::TERM);
            }
        }
        tmux.wait_for(&format!("{how} 130"));
        assert!(!tmux.is_filled());
    }
    // Not in front of the terminal, or not with a terminal at all: lines, as ever.
    tmux.run(&format!(
        "clear; {} http --no-save --no-view --rate 50 -z 1s {} | cat; echo over",
        tare_system_tests::binary().display(),
        target.url()
    ));
    tmux.wait_for("over");
    assert!(!tmux.is_filled());
}
