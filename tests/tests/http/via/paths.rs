//! The general and the fast path on one corpus of responses: the server receives the same, and each request has
//! the same outcome.

use super::{Ground, Inside, OWN, SERVER};
use std::fmt::Write as _;
use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use tare_system_tests::wire::{Wire, read_request};
use tare_system_tests::{Run, Tare, beside_others, scratch};

/// What follows a response.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Open,
    Close,
    /// Nothing was read of what still came: the kernel resets.
    Silence,
}

/// Names, responses in the pieces in which they leave, and what follows.
const CORPUS: [(&str, &[&str], Then); 17] = [
    ("length", &["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"], Then::Open),
    ("chunked", &["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"], Then::Open),
    ("until-close", &["HTTP/1.1 200 OK\r\n\r\nall of it"], Then::Close),
    ("says-close", &["HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"], Then::Close),
    ("http-1.0", &["HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"], Then::Close),
    ("empty", &["HTTP/1.1 204 No Content\r\n\r\n"], Then::Open),
    (
        "early-hints",
        &["HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"],
        Then::Open,
    ),
    ("not-found", &["HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone"], Then::Open),
    ("redirect", &["HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"], Then::Open),
    ("pieces", &["HT", "TP/1.1 200 OK\r\nContent-", "Length: 4\r", "\n\r\nab", "cd"], Then::Open),
    ("garbage", &["SSH-2.0-OpenSSH\r\n\r\n"], Then::Close),
    ("length-of-two", &["HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok"], Then::Close),
    ("bad-chunk", &["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"], Then::Close),
    ("cut-body", &["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"], Then::Close),
    ("cut-head", &["HTTP/1.1 200 OK\r\nContent-Le"], Then::Close),
    ("surplus", &["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n"], Then::Open),
    ("silence", &[], Then::Silence),
];

/// Answers by the name in the path, and keeps what it was asked.
fn serve(stream: &mut TcpStream, asked: &Mutex<Vec<String>>) {
    while let Some(request) = read_request(stream) {
        let name = request.split(['/', ' ']).nth(2).unwrap_or_default().to_owned();
        asked.lock().expect("no panic while held").push(request);
        let Some((_, pieces, then)) = CORPUS.iter().find(|(known, ..)| *known == name) else { return };
        for piece in *pieces {
            if stream.write_all(piece.as_bytes()).is_err() {
                return;
            }
            if pieces.len() > 1 {
                // Long enough for a segment of its own.
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
        if *then == Then::Close {
            return;
        }
    }
}

fn outcomes(run: &Run) -> Vec<(String, u64)> {
    let mut all: Vec<_> =
        run.outcome_keys().into_iter().map(|key| (key.clone(), run.outcome(&key))).collect();
    all.sort();
    all
}

fn words_at(run: &Run, key: &str) -> String {
    run.at(key).as_str().unwrap_or_default().to_owned()
}

#[test]
fn both_paths_make_the_same_of_every_response() {
    let _beside = beside_others();
    let ground = Ground::new();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let notes = asked.clone();
    let wire = Inside::new(ground.sink(), move || Wire::on(SERVER, move |stream| serve(stream, &notes)));
    let folder = scratch();
    let by = |path: &str| {
        let port = format!("packet:gen0,{OWN}");
        let mut plan = format!(
            "order = \"sequential\"\n[load]\nparallel = 1\n[stop]\nrequests = {}\n[request]\n\
             timeout = \"300ms\"\n[connection]\nvia = \"{port}\"\nvia_path = \"{path}\"\n",
            3 * CORPUS.len()
        );
        for (name, ..) in CORPUS {
            let _ = write!(plan, "[[requests]]\nurl = \"{}{name}\"\n", wire.url());
        }
        let file = folder.path().join(format!("{path}.toml"));
        std::fs::write(&file, plan).expect("a scratch file");
        let run = format!("run --json --no-progress --no-save {}", file.display());
        let run = Tare::new(&run).inside(ground.generator()).run();
        let chosen = (words_at(&run, "via.path"), words_at(&run, "via.path_reason"));
        assert_eq!(chosen, (path.to_owned(), "asked for".to_owned()), "{run}");
        let seen = std::mem::take(&mut *asked.lock().expect("no panic while held"));
        (run, seen)
    };
    let (general, seen_by_general) = by("general");
    let (fast, seen_by_fast) = by("fast");
    assert_eq!(outcomes(&general), outcomes(&fast), "{general}\n{fast}");
    assert_eq!(seen_by_general, seen_by_fast);
    for total in ["done", "failed", "bytes_in", "bytes_out", "body_in", "sent_again"] {
        assert_eq!(general.total(total), fast.total(total), "{total}: {general}\n{fast}");
    }
    // 204, 404 and 302 are responses, as the plan expects no status.
    assert!(fast.outcome("404") == 3 && fast.outcome("framing.head") == 3, "{fast}");
    assert!(ground.connections().is_empty(), "{:?}", ground.connections());
}

#[test]
fn a_plan_that_the_fast_path_cannot_carry_goes_by_the_general_one_or_not_at_all() {
    let _beside = beside_others();
    let ground = Ground::new();
    let target = ground.target("--no-truth");
    for (plan, why) in [
        ("", "the requests never change"),
        ("-d x", "requests have bodies"),
        ("--pipeline 4", "requests are pipelined"),
        ("--follow 2", "redirects are followed"),
        ("--same-checksum", "bodies are compared"),
        ("--expect-body a", "bodies are checked"),
    ] {
        let load = format!("{plan} --requests 2 --parallel 1 {}", target.url());
        let (path, code) = if plan.is_empty() { ("fast", 0) } else { ("general", 2) };
        let run = ground.by("packet", &format!("--accept-invalid {load}")).run();
        let chosen = (words_at(&run, "via.path"), words_at(&run, "via.path_reason"));
        assert_eq!(chosen, (path.to_owned(), why.to_owned()), "{run}");
        let forced = ground.by("packet", &format!("--accept-invalid --via-path fast {load}")).run();
        assert_eq!(forced.code, Some(code), "{forced}");
        if code == 2 {
            let said =
                format!("--via-path: the fast path cannot carry this plan ({why}); leave out --via-path");
            assert!(forced.stderr.contains(&said), "{forced}");
        }
    }
}
