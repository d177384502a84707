//! What goes over the wire: the real curl and `tare http` do the same thing before the same servers, which
//! write down what they were sent, request by request. Behind that, what the generator does when connections
//! end in ways that no test with a decent server shows.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tare_system_tests::wire::{Wire, read_request};
use tare_system_tests::{Nginx, Run, Tare, Target, beside_others, need, scratch};

/// One request, reduced to what is compared.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
struct Seen {
    server: char,
    method: String,
    target: String,
    /// Host, Authorization, Cookie, Proxy-Authorization and X-Id, each absent or as it came.
    fields: [Option<String>; 5],
    body: String,
}

const COMPARED: [&str; 5] = ["host", "authorization", "cookie", "proxy-authorization", "x-id"];

/// Two origins and a proxy. Each redirects `/r/STATUS/WHERE/rest` to `/rest` of WHERE; the rest is `ok`.
struct Servers {
    log: Arc<Mutex<Vec<Seen>>>,
    ports: Arc<OnceLock<[u16; 3]>>,
    _wires: [Wire; 3],
}

impl Servers {
    fn start() -> Self {
        let log: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let ports: Arc<OnceLock<[u16; 3]>> = Arc::default();
        let wires = ['A', 'B', 'P'].map(|server| {
            let (log, ports) = (log.clone(), ports.clone());
            Wire::start(move |stream| {
                while let Some(seen) = read_whole(stream, server) {
                    let answer = answer(&seen, ports.get().expect("all are up"));
                    log.lock().expect("no panic while held").push(seen);
                    if stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            })
        });
        let of_all = [0, 1, 2].map(|index: usize| wires[index].address().port());
        ports.set(of_all).expect("once");
        Self { log, ports, _wires: wires }
    }

    fn port(&self, server: char) -> u16 {
        self.ports.get().expect("set at the start")["ABP".find(server).expect("one of them")]
    }

    fn taken(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.log.lock().expect("no panic while held"))
    }

    /// `{A}` is the first server, `{B}` the second, `{P}` the proxy: `127.0.0.1:PORT`.
    fn filled(&self, text: &str) -> String {
        ['A', 'B', 'P'].iter().fold(text.to_owned(), |text, server| {
            text.replace(&format!("{{{server}}}"), &format!("127.0.0.1:{}", self.port(*server)))
        })
    }

    /// What the servers see of curl with these words.
    fn by_curl(&self, words: &[&str]) -> Vec<Seen> {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--location", "--output", "/dev/null", "--max-time", "10", "--noproxy", ""]);
        let status = curl.args(words.iter().map(|word| self.filled(word))).status().expect("curl runs");
        assert!(status.success(), "curl {words:?}: {status}");
        self.taken()
    }

    fn by_tare(&self, words: &[&str]) -> (Vec<Seen>, Run) {
        let count = if words.contains(&"-n") { "" } else { "-n 1" };
        let tare = Tare::http(&format!("{count} -c 1 --follow 10 --timeout 10s"));
        let run = words.iter().fold(tare, |tare, word| tare.arg(self.filled(word))).run();
        (self.taken(), run)
    }

    /// Both send the same with these words.
    #[track_caller]
    fn same(&self, words: &[&str]) -> Vec<Seen> {
        self.alike(words, words)
    }

    /// What words of curl send, other words of Tare send.
    #[track_caller]
    fn alike(&self, curl: &[&str], tare: &[&str]) -> Vec<Seen> {
        let by_curl = self.by_curl(curl);
        let (by_tare, run) = self.by_tare(tare);
        assert_eq!(by_tare, by_curl, "tare, then curl: {curl:?}\n{run}");
        assert_eq!(run.outcome("200"), 1, "{run}");
        by_curl
    }
}

fn read_whole(stream: &mut TcpStream, server: char) -> Option<Seen> {
    let head = read_request(stream)?;
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let field = |wanted: &str| {
        let mut fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
        fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim().to_owned())
    };
    if field("expect").is_some() {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
    }
    let mut body = vec![0; field("content-length").map_or(0, |length| length.parse().expect("a length"))];
    stream.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).expect("text");
    Some(Seen { server, method, target, fields: COMPARED.map(field), body })
}

fn answer(seen: &Seen, ports: &[u16; 3]) -> String {
    // A proxy is asked for whole URLs.
    let path = match seen.target.strip_prefix("http://") {
        Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => &seen.target,
    };
    let parts: Vec<&str> = path.splitn(5, '/').collect();
    let text = |body: &'static str| if seen.method == "HEAD" { "" } else { body };
    let ["", "r", status, to, rest] = parts.as_slice() else {
        return format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", text("ok"));
    };
    let origin = match *to {
        "A" => format!("http://127.0.0.1:{}", ports[0]),
        "B" => format!("http://127.0.0.1:{}", ports[1]),
        "name" => format!("http://localhost:{}", ports[0]),
        "login" => format!("http://new:login@127.0.0.1:{}", ports[0]),
        "loginB" => format!("http://new:login@127.0.0.1:{}", ports[1]),
        _ => String::new(),
    };
    format!("HTTP/1.1 {status} Go\r\nLocation: {origin}/{rest}\r\nContent-Length: 4\r\n\r\n{}", text("page"))
}

#[test]
fn method_and_body_along_redirects_are_curls() {
    let _shared = beside_others();
    need("curl");
    let servers = Servers::start();
    let folder = scratch();
    let upload = folder.path().join("upload").display().to_string();
    std::fs::write(&upload, "uploaded").expect("a scratch file");
    for status in ["301", "302", "303", "307", "308"] {
        let url = format!("http://{{A}}/r/{status}/A/end?q=1");
        let seen = servers.same(&["-d", "x=1", &url]);
        let kept = status == "307" || status == "308";
        assert_eq!(
            (seen[1].method.as_str(), seen[1].body.is_empty()),
            if kept { ("POST", false) } else { ("GET", true) }
        );
        servers.alike(&["-T", &upload, &url], &["-X", "PUT", "-d", "uploaded", &url]);
        servers.alike(&["-I", &url], &["-X", "HEAD", &url]);
        servers.same(&["-d", "to=B", &format!("http://{{A}}/r/{status}/B/end")]);
    }
    // What became GET stays GET, and a larger body goes on whole.
    servers.same(&["-d", "x=1", "http://{A}/r/303/A/r/307/B/r/308/A/end"]);
    let large = "y".repeat(40_000);
    std::fs::write(&upload, &large).expect("a scratch file");
    let seen = servers.same(&["-d", &format!("@{upload}"), "http://{A}/r/307/B/end"]);
    assert_eq!(seen[1].body.len(), large.len());
    servers.same(&["http://{A}/r/302/relative/a/b?c#d"]);
}

#[test]
fn secrets_along_redirects_go_where_curl_sends_them() {
    let _shared = beside_others();
    need("curl");
    let servers = Servers::start();
    let typed = ["-H", "Authorization: T", "-H", "Cookie: c=1", "-H", "X-Id: 7"];
    for path in ["A/end", "B/end", "name/end", "B/r/302/A/end", "name/r/302/A/end", "relative/end"] {
        let url = format!("http://{{A}}/r/302/{path}");
        let seen = servers.same(&[&typed[..], &[&url]].concat());
        let elsewhere = seen.iter().filter(|seen| seen.server == 'B');
        assert!(elsewhere.clone().all(|seen| seen.fields[1..3] == [None, None]), "{seen:?}");
        servers.same(&["-u", "me:p w", &url]);
        servers.same(&[&url.replace("http://", "http://me:p%20w@")]);
        // A body with a secret follows a 307, as the standard has it; what is in the head does not.
        servers.same(&["-u", "me:pw", "-d", "body", &url.replace("302", "307")]);
    }
    // Logins in a Location.
    for to in ["login", "loginB"] {
        let url = format!("http://{{A}}/r/302/{to}/end");
        servers.same(&[&url]);
        servers.same(&["-u", "me:pw", &url]);
        servers.same(&["-H", "Authorization: T", &url]);
        servers.same(&[&url.replace("http://", "http://me:pw@")]);
    }
}

#[test]
fn a_host_that_was_asked_for_stays_with_its_host() {
    let _shared = beside_others();
    need("curl");
    let servers = Servers::start();
    for to in ["A", "B", "name", "relative"] {
        let url = format!("http://{{A}}/r/302/{to}/end");
        let host = ["-H", "Host: shop.example"];
        servers.same(&[&host[..], &[&url]].concat());
        servers.alike(&[&host[..], &[&url]].concat(), &["--host", "shop.example", &url]);
    }
}

#[test]
fn a_proxy_gets_what_curl_gives_it() {
    let _shared = beside_others();
    need("curl");
    let servers = Servers::start();
    let with = "http://us%40er:p%20w@{P}";
    for url in ["http://{A}/end", "http://{A}/r/302/B/end", "http://me:pw@{A}/r/302/A/end"] {
        servers.alike(&["-x", with, url], &["--proxy", with, url]);
        let field = ["-H", "Proxy-Authorization: typed"];
        let seen = servers.alike(
            &[&field[..], &["-x", "http://{P}", url]].concat(),
            &[&field[..], &["--proxy", "{P}", url]].concat(),
        );
        assert!(seen.iter().all(|seen| seen.server == 'P' && seen.fields[3].as_deref() == Some("typed")));
    }
}

/// A proxy that only knows CONNECT: every tunnel leads to one address. What it was asked, head by head.
fn tunnels(to: SocketAddr) -> (Wire, Arc<Mutex<Vec<String>>>) {
    let heads: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = heads.clone();
    let wire = Wire::start(move |stream| {
        let Some(head) = read_request(stream) else { return };
        log.lock().expect("no panic while held").push(head);
        let Ok(target) = TcpStream::connect(to) else { return };
        let _ = stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n");
        let (Ok(mut inward), Ok(mut outward)) = (stream.try_clone(), target.try_clone()) else { return };
        let back = std::thread::spawn(move || {
            let _ = std::io::copy(&mut outward, &mut inward);
            let _ = inward.shutdown(std::net::Shutdown::Write);
        });
        let mut target = target;
        let _ = std::io::copy(stream, &mut target);
        let _ = target.shutdown(std::net::Shutdown::Write);
        let _ = back.join();
    });
    (wire, heads)
}

/// nginx with TLS that says in its body which Proxy-Authorization came through the tunnel.
fn tls_witness(folder: &std::path::Path) -> (Nginx, String) {
    let at = |name: &str| folder.join(name).display().to_string();
    let (pem, key) = (at("s.pem"), at("s.key"));
    let words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=tare \
                 -addext subjectAltName=IP:127.0.0.1,DNS:localhost";
    let made =
        Command::new("openssl").args(words.split_whitespace()).args(["-keyout", &key, "-out", &pem]).output();
    assert!(made.expect("openssl runs").status.success());
    let server = format!(
        "ssl_certificate {pem}; ssl_certificate_key {key};
         location / {{ return 200 'tunnel=($http_proxy_authorization) login=($http_authorization)'; }}"
    );
    (Nginx::start_with("ssl", &server), pem)
}

#[test]
fn https_by_a_proxy_shows_the_proxy_its_login_and_the_target_none() {
    let _shared = beside_others();
    need("curl");
    let folder = scratch();
    let (nginx, pem) = tls_witness(folder.path());
    let (proxy, heads) = tunnels(SocketAddr::from(([127, 0, 0, 1], nginx.port())));
    let url = format!("https://127.0.0.1:{}/", nginx.port());
    let asked = |heads: &Mutex<Vec<String>>| {
        let heads = std::mem::take(&mut *heads.lock().expect("no panic while held"));
        let wanted = |line: &&str| {
            let line = line.to_ascii_lowercase();
            ["connect ", "host:", "proxy-authorization:"].iter().any(|start| line.starts_with(start))
        };
        heads
            .iter()
            .map(|head| head.lines().filter(wanted).collect::<Vec<_>>().join("\n"))
            .collect::<Vec<_>>()
    };
    let login = format!("http://user:p%20w@{}", proxy.address());
    // The certificate signs itself and is an authority's, as openssl makes them: curl takes it by --cacert.
    let curl =
        Command::new("curl").args(["-s", "--cacert", &pem, "-x", &login, &url]).output().expect("curl runs");
    assert_eq!(String::from_utf8_lossy(&curl.stdout), "tunnel=() login=()");
    let by_curl = asked(&heads);
    let none = "tunnel=() login=()";
    let run = |words: &[&str]| {
        let tare = Tare::http(&format!("-n 3 -c 1 --ca {pem} --expect-body")).arg(none);
        words.iter().fold(tare, |tare, word| tare.arg(*word)).arg(&url).run()
    };
    let by_login = run(&["--proxy", &login]);
    assert_eq!(by_login.outcome("200"), 3, "{by_login}");
    assert_eq!(asked(&heads), by_curl, "{by_login}");
    let typed = run(&["--proxy", &proxy.address().to_string(), "-H", "Proxy-Authorization: typed"]);
    assert_eq!(typed.outcome("200"), 3, "not in the tunnel: {typed}");
    let heads = asked(&heads);
    assert!(heads.len() == 1 && heads[0].ends_with("Proxy-Authorization: typed"), "{heads:?}");
}

/// Answers every request with a redirect to `to`.
fn leads_to(to: String) -> Wire {
    Wire::start(move |stream| {
        let answer = format!("HTTP/1.1 302 Go\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
        while read_request(stream).is_some() && stream.write_all(answer.as_bytes()).is_ok() {}
    })
}

#[test]
fn a_redirect_to_https_goes_by_tls_or_not_at_all() {
    let _shared = beside_others();
    // A server that says nothing and keeps what it hears.
    let heard: Arc<Mutex<Vec<u8>>> = Arc::default();
    let ears = heard.clone();
    let listener = Wire::start(move |stream| {
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes).unwrap_or(0);
        ears.lock().expect("no panic while held").extend_from_slice(&bytes[..count]);
    });
    let first = leads_to(format!("https://{}/", listener.address()));
    let load = format!("-n 3 -c 1 --follow 3 -u me:pw -H Cookie:secret {}", first.url());
    let run = Tare::http(&load).run();
    assert_eq!(run.total("failed"), 3, "{run}");
    let tls = std::mem::take(&mut *heard.lock().expect("no panic while held"));
    // RFC 8446 §5.1: a record of type 22 is a handshake.
    assert_eq!(tls.first(), Some(&22), "{run}");
    assert!(!String::from_utf8_lossy(&tls).contains("secret"));

    // Without any authority to trust there is no TLS, and nothing is sent.
    let run = Tare::http(&load).env("SSL_CERT_FILE", "/dev/null").env("SSL_CERT_DIR", "/nonexistent").run();
    assert_eq!(run.outcome("redirect.tls"), 3, "{run}");
    assert!(run.remarks().contains("--ca FILE"), "{run}");
    assert!(heard.lock().expect("no panic while held").is_empty());

    let folder = scratch();
    let ca = folder.path().join("ca.pem").display().to_string();
    let target = Target::start(&format!("--no-truth --tls-write-cert {ca}"));
    let first = leads_to(target.url());
    let run = Tare::http(&format!("-n 5 -c 2 --follow 1 --ca {ca} {}", first.url())).run();
    assert_eq!(run.outcome("200"), 5, "{run}");
    assert!(run.int("connections.open_peak") <= 2, "redirects keep to the limit: {run}");
}

#[test]
fn only_the_last_answer_is_checked() {
    let _shared = beside_others();
    let servers = Servers::start();
    let url = "http://{A}/r/302/A/r/302/B/end";
    // `printf ok | md5sum`
    let (_, run) = servers.by_tare(&["--expect-md5", "444bcb3a3fcf8389296c49467f27e1d6", url]);
    assert_eq!(run.outcome("200"), 1, "{run}");
    let (_, run) = servers.by_tare(&["--expect-body", "ok", url]);
    assert_eq!(run.outcome("200"), 1, "{run}");
    let (_, run) = servers.by_tare(&["--expect-body", "page", url]);
    assert_eq!(run.outcome("expect.body"), 1, "{run}");
    let (_, run) = servers.by_tare(&["--expect-status", "200", "--same-checksum", "-n", "4", url]);
    assert_eq!(run.outcome("200"), 4, "{run}");
}

#[test]
fn templates_are_filled_once_for_a_chain_of_redirects() {
    let _shared = beside_others();
    let servers = Servers::start();
    let (seen, run) = servers.by_tare(&[
        "-n",
        "3",
        "-H",
        "X-Id: {uuid}",
        "-d",
        "{seq} {now_ms} {random:hex:8}",
        "http://{A}/r/307/relative/r/308/B/x?s={seq}",
    ]);
    assert_eq!((run.outcome("200"), seen.len()), (3, 9), "{run}");
    for chain in seen.chunks(3) {
        assert_eq!(chain[0].fields[4].as_ref().map(String::len), Some(36), "{chain:?}");
        for later in &chain[1..] {
            assert_eq!((&later.fields[4], &later.body), (&chain[0].fields[4], &chain[0].body));
            assert_eq!(
                later.target.split_once('?'),
                Some((
                    later.target.split('?').next().expect("a path"),
                    chain[0].target.split_once('?').expect("a query").1
                ))
            );
        }
    }
    assert_ne!(seen[0].fields[4], seen[3].fields[4]);
}

#[test]
fn a_chain_of_redirects_has_one_time_out() {
    let _shared = beside_others();
    // Each hop is quick; all together are not.
    let wire = Wire::start(|stream| {
        while read_request(stream).is_some() {
            std::thread::sleep(Duration::from_millis(150));
            let _ = stream.write_all(b"HTTP/1.1 302 Go\r\nLocation: /more\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let run = Tare::http(&format!("-n 1 -c 1 --follow 40 --timeout 1s {}", wire.url())).run();
    assert_eq!(run.outcome_keys(), ["first_byte.timeout"], "{run}");
}

/// Listens on 127.0.0.1 alone.
fn on_four() -> Target {
    Target::start("--no-truth")
}

#[test]
fn a_name_is_reached_at_the_address_where_something_listens() {
    let _shared = beside_others();
    let target = on_four();
    let port = target.port();
    let both = format!("--resolve shop.test:{port}:::1 --resolve shop.test:{port}:127.0.0.1");
    let url = format!("http://shop.test:{port}/");
    for io in ["epoll", "uring"] {
        let run = Tare::http(&format!("--io {io} -n 40 -c 4 --threads 1 --no-keep-alive {both} {url}")).run();
        assert_eq!(run.outcome_keys(), ["200"], "{run}");
        assert!(run.remarks().contains("nothing could be reached at ::1"), "{run}");
    }
    drop(target);
    let run = Tare::http(&format!("-n 5 -c 1 {both} {url}")).run();
    assert_eq!((run.outcome("connect.refused"), run.code), (5, Some(5)), "{run}");
}

#[test]
fn an_address_that_does_not_answer_is_left_for_one_that_does() {
    let _shared = beside_others();
    let target = on_four();
    let port = target.port();
    // A full backlog: what comes then is dropped without a word.
    let full = TcpListener::bind(("127.0.0.2", port)).expect("the port is free at that address");
    rustix::net::listen(&full, 0).expect("a shorter backlog");
    let address = full.local_addr().expect("it is bound");
    let held: Vec<_> = (0..4)
        .filter_map(|_| TcpStream::connect_timeout(&address, Duration::from_millis(100)).ok())
        .collect();
    assert!(held.len() < 4, "the backlog is full");
    let both = format!("--resolve shop.test:{port}:127.0.0.2 --resolve shop.test:{port}:127.0.0.1");
    let run =
        Tare::http(&format!("-n 20 -c 2 --threads 1 --timeout 20s {both} http://shop.test:{port}/")).run();
    assert_eq!(run.outcome_keys(), ["200"], "{run}");
    assert!(run.took < Duration::from_secs(15), "{run}");
}

/// Answers so many requests of each connection and closes, announcing it or not; returns what it answered.
fn answers(most: usize, says_so: bool) -> (Wire, Arc<Mutex<Vec<String>>>) {
    let answered: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = answered.clone();
    let wire = Wire::start(move |stream| {
        for index in 1..=most {
            let Some(head) = read_request(stream) else { return };
            log.lock()
                .expect("no panic while held")
                .push(head.split(' ').nth(1).unwrap_or_default().to_owned());
            let last = index == most;
            let close = if last && says_so { "Connection: close\r\n" } else { "" };
            // The last answer and the end leave together.
            let _ = rustix::net::sockopt::set_tcp_cork(&*stream, last);
            let _ =
                stream.write_all(format!("HTTP/1.1 200 OK\r\n{close}Content-Length: 0\r\n\r\n").as_bytes());
        }
        if says_so {
            // Reads on, so that no RST overtakes the answer.
            tare_system_tests::wire::close_gently(stream);
        }
    });
    (wire, answered)
}

fn sorted(answered: &Mutex<Vec<String>>) -> Vec<u64> {
    let answered = std::mem::take(&mut *answered.lock().expect("no panic while held"));
    let mut all: Vec<u64> = answered.iter().map(|target| target[1..].parse().expect("a number")).collect();
    all.sort_unstable();
    all
}

#[test]
fn what_was_pipelined_behind_the_last_answer_is_sent_again() {
    let _shared = beside_others();
    let all: Vec<u64> = (0..400).collect();
    for (most, io, method) in [(10, "epoll", "GET"), (10, "uring", "POST"), (1, "epoll", "GET")] {
        let (wire, answered) = answers(most, true);
        let load =
            format!("-X {method} --io {io} -n 400 -c 2 --threads 1 --pipeline 8 {}{{seq}}", wire.url());
        let run = Tare::http(&load).run();
        assert_eq!(run.outcome_keys(), ["200"], "{run}");
        assert_eq!(sorted(&answered), all, "each once: {run}");
        assert!(run.remarks().contains("pipelined behind a response after which"), "{run}");
        assert!(run.int("connections.open_peak") <= 2, "{run}");
    }
    // The plan's own limit on a connection loses nothing either.
    let (wire, answered) = answers(1000, true);
    let load =
        format!("-n 400 -c 2 --threads 1 --pipeline 8 --requests-per-connection 10 {}{{seq}}", wire.url());
    let run = Tare::http(&load).run();
    assert_eq!((run.outcome_keys(), sorted(&answered)), (vec!["200".to_owned()], all), "{run}");
}

#[test]
fn a_request_that_meets_the_end_of_an_idle_connection_is_sent_again_if_it_may_be() {
    let _shared = beside_others();
    for io in ["epoll", "uring"] {
        let (wire, answered) = answers(1, false);
        let run = Tare::http(&format!("--io {io} -n 400 -c 4 --threads 1 {}{{seq}}", wire.url())).run();
        assert_eq!(run.outcome_keys(), ["200"], "{run}");
        assert_eq!(sorted(&answered), (0..400).collect::<Vec<_>>(), "each once: {run}");

        let (wire, answered) = answers(1, false);
        let run =
            Tare::http(&format!("-X POST --io {io} -n 400 -c 4 --threads 1 {}{{seq}}", wire.url())).run();
        assert_eq!(run.outcome("200") + run.outcome("reuse.closed"), 400, "{run}");
        assert_eq!(sorted(&answered).len() as u64, run.outcome("200"), "none twice: {run}");
    }
}

#[test]
fn an_answer_that_comes_while_the_body_is_sent_is_read() {
    let _shared = beside_others();
    let folder = scratch();
    let body = folder.path().join("body").display().to_string();
    std::fs::File::create(&body).and_then(|file| file.set_len(20 << 20)).expect("a scratch file");
    // Closes at once, with most of the body unread: the client's kernel gets an RST.
    let wire = Wire::start(|stream| {
        read_request(stream);
        let _ = stream.write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    });
    for io in ["epoll", "uring"] {
        for how in ["-d @", "--body-stream "] {
            let run = Tare::http(&format!("--io {io} -n 10 -c 2 {how}{body} {}", wire.url())).run();
            assert_eq!(run.outcome_keys(), ["413"], "{run}");
        }
    }
}

#[test]
fn bytes_behind_an_answer_are_told() {
    let _shared = beside_others();
    let wire = Wire::start(|stream| {
        while read_request(stream).is_some() {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more");
        }
    });
    let run = Tare::http(&format!("-n 5 -c 1 {}", wire.url())).run();
    assert_eq!(run.outcome_keys(), ["200"], "{run}");
    assert!(
        run.remarks()
            .contains("5 connections were closed because bytes arrived that no request had asked for"),
        "{run}"
    );
}
