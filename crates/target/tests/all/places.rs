//! Where the target listens, its proxy, and what curl makes of it.

use crate::common::{ask, ask_once, connect, read_answer, request, start};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;

fn curl(args: &[&str]) -> String {
    let output = Command::new("curl").args(["-sS", "--max-time", "10"]).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn ipv6_and_several_addresses() {
    let target = start("listen = [\"127.0.0.1:0\", \"[::1]:0\", \"127.0.0.2:0\"]\nworkers = 2");
    assert_eq!(target.addrs().len(), 3);
    for addr in target.addrs() {
        assert_ne!(addr.port(), 0);
        assert_eq!(ask_once(*addr, "/").status, 200);
    }
}

#[test]
fn a_unix_socket_with_two_workers_replaces_a_stale_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let target = start(&format!("listen = []\nunix = {path:?}\nworkers = 2"));
    for _ in 0..10 {
        assert_eq!(ask(&mut UnixStream::connect(&path).unwrap(), "/").unwrap().body.len(), 600);
    }
    let taken = target::TargetConfig::from_toml(&format!("listen = []\nunix = {path:?}")).unwrap();
    assert!(target::spawn(taken).is_err());
    assert_eq!(target.stop().unwrap().requests, 10);
}

#[test]
fn a_taken_port_is_named() {
    let holder = start("workers = 2");
    let addr = holder.addrs()[0];
    // Two targets on one port would share its connections between them.
    for workers in [1, 2] {
        let text = format!("listen = [\"{addr}\"]\nworkers = {workers}");
        let config = target::TargetConfig::from_toml(&text).unwrap();
        let error = target::spawn(config).err().unwrap().to_string();
        assert!(error.contains(&addr.to_string()), "{error}");
    }
}

#[test]
fn curl_understands_every_kind_of_answer() {
    let target = start("");
    let url = |path: &str| format!("http://{}{path}", target.addrs()[0]);
    assert_eq!(curl(&[&url("/?size=8")]), "tare kno");
    assert_eq!(curl(&[&url("/?size=200&chunk=7")]).len(), 200);
    assert_eq!(curl(&["--http1.0", &url("/?size=200&chunk=7")]).len(), 200);
    assert_eq!(curl(&["-o", "/dev/null", "-w", "%{http_code}", &url("/?status=503")]), "503");
    assert!(curl(&["-I", &url("/?size=77")]).contains("Content-Length: 77"));
    assert_eq!(
        curl(&["-L", "-o", "/dev/null", "-w", "%{num_redirects} %{http_code}", &url("/redirect/3")]),
        "3 200"
    );
    assert!(curl(&["-d", "a=b", &url("/echo")]).ends_with("\r\n\r\na=b"));
    let long = "x".repeat(60_000);
    let echoed = curl(&["-H", "Transfer-Encoding: chunked", "--data-binary", &long, &url("/echo")]);
    assert!(echoed.starts_with("POST /echo HTTP/1.1\r\n") && echoed.ends_with(&format!("\r\n\r\n{long}")));
    let continued = curl(&["-v", "-H", "Expect: 100-continue", "--data-binary", &long, &url("/echo")]);
    assert!(continued.ends_with(&long));
}

#[test]
fn the_proxy_tunnels_to_loopback_and_answers_absolute_forms() {
    let origin = start("size = 5");
    let proxy = start("proxy = true");
    let proxy_url = format!("http://{}", proxy.addrs()[0]);
    let port = origin.addrs()[0].port();
    let through = curl(&["-p", "-x", &proxy_url, &format!("http://localhost:{port}/")]);
    assert_eq!(through, "tare ");
    let absolute = curl(&["-i", "-x", &proxy_url, "http://nowhere.test/?size=3"]);
    assert!(absolute.contains("X-Proxied: 1") && absolute.ends_with("\r\n\r\ntar"));
    for (authority, status) in [("192.0.2.1:80", 403), ("localhost:1", 502)] {
        let mut stream = connect(proxy.addrs()[0]);
        stream
            .write_all(format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n").as_bytes())
            .unwrap();
        assert_eq!(read_answer(&mut stream).unwrap().status, status);
    }
    // What follows CONNECT in the same packet reaches the other end.
    let mut stream = connect(proxy.addrs()[0]);
    let connect_and_ask =
        format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: a\r\n\r\n{}", request("/?size=3&close=1"));
    stream.write_all(connect_and_ask.as_bytes()).unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert!(
        all.starts_with("HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200") && all.ends_with("tar")
    );
}

#[test]
fn authentication_is_demanded() {
    let target = start("require_auth = \"me:secret\"");
    let url = format!("http://{}/?size=3", target.addrs()[0]);
    assert_eq!(curl(&["-u", "me:secret", &url]), "tar");
    assert_eq!(curl(&["-o", "/dev/null", "-w", "%{http_code}", "-u", "me:wrong", &url]), "401");
    assert_eq!(curl(&["-o", "/dev/null", "-w", "%{http_code}", &url]), "401");
}

#[test]
fn hundreds_of_connections_stay_open() {
    let target = start("");
    let addr = target.addrs()[0];
    // Both ends of each connection are descriptors of this process.
    let mut streams: Vec<_> = (0..400).map(|_| connect(addr)).collect();
    for stream in &mut streams {
        assert_eq!(ask(stream, "/").unwrap().status, 200);
    }
    let stats = target.stats();
    assert_eq!((stats.open, stats.open_peak, stats.accepted), (400, 400, 400));
    drop(streams);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while target.stats().open > 0 && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(target.stats().open, 0);
}

#[test]
fn it_ends_by_itself_or_when_told_and_says_its_port() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let dir = tempfile::tempdir().unwrap();
    let (port_file, summary) = (dir.path().join("port"), dir.path().join("truth.json"));
    let text = format!("port_file = {port_file:?}\ntruth = {{ summary = {summary:?} }}\n");
    let config = |more: &str| target::TargetConfig::from_toml(&format!("{more}\n{text}")).unwrap();
    let never = AtomicBool::new(false);
    let before = std::time::Instant::now();
    let truth = target::run_until(config("duration = \"100ms\""), &never).unwrap();
    assert_eq!(truth.requests, 0);
    assert!(before.elapsed() >= std::time::Duration::from_millis(100));
    std::fs::remove_file(&port_file).unwrap();

    let stop = std::sync::Arc::new(AtomicBool::new(false));
    let (flag, config) = (stop.clone(), config(""));
    let runner = std::thread::spawn(move || target::run_until(config, &flag));
    let port: u16 = loop {
        match std::fs::read_to_string(&port_file).ok().and_then(|text| text.trim().parse().ok()) {
            Some(port) => break port,
            None => std::thread::sleep(std::time::Duration::from_millis(5)),
        }
    };
    assert_eq!(ask_once(([127, 0, 0, 1], port).into(), "/").status, 200);
    stop.store(true, Ordering::Relaxed);
    assert_eq!(runner.join().unwrap().unwrap().requests, 1);
    let json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&summary).unwrap()).unwrap();
    assert_eq!((&json["schema"], &json["requests"]), (&"tare.truth/1".into(), &1.into()));
}

#[test]
fn a_cpu_that_is_not_there_is_named() {
    let config = target::TargetConfig::from_toml("cpus = [1000]").unwrap();
    let error = target::spawn(config).err().unwrap().to_string();
    assert!(error.contains("1000"), "{error}");
}
