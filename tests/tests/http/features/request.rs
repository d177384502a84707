//! What is sent, and how the answer is judged.

use super::{digest, said, write};
use std::time::Duration;
use tare_system_tests::recorder::Received;
use tare_system_tests::{Nginx, Recorder, Run, Tare, Target, beside_others, scratch};

/// One request with these flags, as it arrived.
fn one(flags: &str) -> Received {
    let recorder = Recorder::start();
    let run = Tare::http(&format!("-c 1 -n 1 {flags} {}", recorder.url())).run();
    assert_eq!(run.outcome("200"), 1, "{run}");
    let requests = recorder.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    requests.into_iter().next().expect("one")
}

/// No piece of it is like its neighbour, so that one that is lost, doubled or out of place shows.
fn bytes_of_all_values(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 7 + at / 256) as u8).collect()
}

#[test]
fn method_and_headers_arrive_as_given() {
    let _shared = beside_others();
    let recorder = Recorder::start();
    let run = Tare::http(&format!("-c 1 -n 3 -X PUT {}a?b=c", recorder.url()))
        .arg("-H")
        .arg("X-One: first value")
        .arg("-H")
        .arg("x-one: second")
        .arg("-H")
        .arg("User-Agent: mine")
        .run();
    assert_eq!(run.outcome("200"), 3, "{run}");
    for request in recorder.requests() {
        assert_eq!(request.line(), "PUT /a?b=c HTTP/1.1");
        assert_eq!(request.fields("X-One"), ["first value", "second"]);
        assert_eq!(request.fields("User-Agent"), ["mine"]);
        assert_eq!(request.fields("Host"), [format!("127.0.0.1:{}", recorder.port())]);
    }
    // The totals are bytes of HTTP: what arrived, and 2 bytes of body after a head of 38 for each answer.
    let arrived: usize = recorder.requests().iter().map(|request| request.head.len() + 4).sum();
    assert_eq!(run.total("bytes_out"), arrived as u64, "{run}");
    assert_eq!(
        run.total("bytes_in"),
        3 * "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".len() as u64,
        "{run}"
    );
}

#[test]
fn an_inline_body_is_posted_with_its_length() {
    let _shared = beside_others();
    let request = one("-d a=b&c=é");
    assert_eq!(request.line(), "POST / HTTP/1.1");
    assert_eq!(request.fields("Content-Length"), ["8"]);
    assert_eq!(request.body, "a=b&c=é".as_bytes());
    assert_eq!(one("-X DELETE -d x").line(), "DELETE / HTTP/1.1");
    assert_eq!(one("").fields("Content-Length"), [""; 0], "a GET has no body");
}

#[test]
fn the_body_of_a_file_is_the_file() {
    let _shared = beside_others();
    let folder = scratch();
    let bytes = bytes_of_all_values(256 << 10);
    let request = one(&format!("-d @{}", write(&folder, "body", &bytes).display()));
    assert_eq!(request.fields("Content-Length"), ["262144"]);
    assert!(request.body == bytes, "{} bytes arrived, not the same", request.body.len());
}

#[test]
fn a_streamed_body_is_the_file_in_chunks() {
    let _shared = beside_others();
    let folder = scratch();
    for size in [0, 1, 65_536, 300_001] {
        let bytes = bytes_of_all_values(size);
        let request = one(&format!("--body-stream {}", write(&folder, "body", &bytes).display()));
        assert_eq!(request.line(), "POST / HTTP/1.1");
        assert!(request.chunked && request.fields("Content-Length").is_empty(), "{}", request.head);
        assert!(request.body == bytes, "{} of {size} bytes arrived, or others", request.body.len());
    }
}

/// Each of several on their way at once begins at its own beginning.
#[test]
fn streamed_bodies_can_be_pipelined() {
    let _shared = beside_others();
    let (folder, recorder) = (scratch(), Recorder::start());
    let bytes = bytes_of_all_values(150_000);
    let flags = format!("--body-stream {}", write(&folder, "body", &bytes).display());
    let run = Tare::http(&format!("-c 1 -n 9 --pipeline 3 {flags} {}", recorder.url())).run();
    assert_eq!(run.outcome("200"), 9, "{run}");
    let requests = recorder.requests();
    assert!(requests.len() == 9 && requests.iter().all(|request| request.body == bytes), "{run}");
}

#[test]
fn basic_auth_is_what_curl_sends() {
    let _shared = beside_others();
    let theirs = Recorder::start();
    said("curl", &["-s", "-u", "Aladdin:open sésame", &theirs.url()]);
    let ours = Recorder::start();
    Tare::http(&format!("-c 1 -n 1 {}", ours.url())).arg("-u").arg("Aladdin:open sésame").run();
    let (theirs, ours) = (theirs.requests(), ours.requests());
    assert_eq!(ours[0].fields("Authorization"), theirs[0].fields("Authorization"));
    assert_eq!(ours[0].fields("Authorization").len(), 1);

    let target = Target::start("--require-auth name:secret --no-truth");
    let run = |flags: &str| Tare::http(&format!("-n 10 {flags} {}", target.url())).run();
    assert_eq!(run("-u name:secret").outcome("200"), 10);
    assert_eq!(run("-u name:wrong").outcome("401"), 10);
    assert_eq!(run("").outcome("401"), 10);
}

#[test]
fn the_host_can_be_another() {
    let _shared = beside_others();
    let request = one("--host shop.example:81");
    assert_eq!(request.fields("Host"), ["shop.example:81"]);
}

#[test]
fn http_1_0_is_spoken() {
    let _shared = beside_others();
    let request = one("--http 1.0 --no-keep-alive");
    assert_eq!(request.line(), "GET / HTTP/1.0");
    // Real servers understand it: nginx closes after each answer unless asked to keep the connection.
    let nginx = Nginx::start();
    let run = Tare::http(&format!("--http 1.0 --no-keep-alive -c 2 -n 40 {}", nginx.url())).run();
    assert_eq!((run.outcome("200"), run.int("connections.opened")), (40, 40), "{run}");
    let run = Tare::http(&format!("--http 1.0 -c 2 -n 40 {}", nginx.url())).run();
    assert_eq!((run.outcome("200"), run.int("connections.opened")), (40, 2), "{run}");
}

#[test]
fn a_body_waits_for_100_continue() {
    let _shared = beside_others();
    let request = one("--expect-continue -d hello");
    assert_eq!(request.fields("Expect"), ["100-continue"]);
    assert!(request.waited, "the body came before the 100");
    assert_eq!(request.body, b"hello");
    let folder = scratch();
    let bytes = bytes_of_all_values(100_000);
    let streamed =
        one(&format!("--expect-continue --body-stream {}", write(&folder, "body", &bytes).display()));
    assert!(streamed.waited && streamed.body == bytes);
    // nginx sends its own 100.
    let nginx = Nginx::start();
    let run = Tare::http(&format!("--expect-continue -d hello -c 2 -n 20 {}", nginx.url())).run();
    assert_eq!(run.outcome("200"), 20, "{run}");
}

#[test]
fn gzip_is_left_as_it_is() {
    let _shared = beside_others();
    let text = "the same words over and over. ".repeat(100);
    let nginx = Nginx::start_with(
        "",
        &format!("gzip on; gzip_types *; gzip_min_length 1; location / {{ return 200 '{text}'; }}"),
    );
    let folder = scratch();
    let raw = folder.path().join("raw");
    let raw_name = raw.display().to_string();
    // curl does not decode what it was not told to decode; it takes the chunks' framing away, as Tare does.
    said("curl", &["-s", "-H", "Accept-Encoding: gzip", "-o", &raw_name, &nginx.url()]);
    let packed = std::fs::metadata(&raw).expect("curl wrote it").len();
    assert!(packed < text.len() as u64 / 10, "nginx did not compress: {packed} bytes");
    let flags = format!("-c 1 -n 10 --expect-md5 {}", digest("md5sum", &raw));
    let run = Tare::http(&format!("{flags} {}", nginx.url())).arg("-H").arg("Accept-Encoding: gzip").run();
    assert_eq!(run.outcome("200"), 10, "{run}");
    assert_eq!(run.total("body_in"), 10 * packed, "{run}");
    // Nothing is asked for by itself.
    let run = Tare::http(&format!("-c 1 -n 10 {}", nginx.url())).run();
    assert_eq!(run.total("body_in"), 10 * text.len() as u64, "{run}");
}

#[test]
fn redirects_are_answers_unless_they_are_to_be_followed() {
    let _shared = beside_others();
    let run = |flags: &str, path: &str| -> (Run, u64) {
        let target = Target::start("");
        let run = Tare::http(&format!("-c 2 -n 10 {flags} {}{path}", target.url())).run();
        (run, target.truth().int("requests"))
    };
    let (counted, requests) = run("", "redirect/2");
    assert_eq!((counted.outcome("302"), requests), (10, 10), "{counted}");
    // /redirect/2, /redirect/1, /redirect/0: three requests, one result.
    let (followed, requests) = run("--follow 2", "redirect/2");
    assert_eq!((followed.outcome("200"), requests), (10, 30), "{followed}");
    assert_eq!(followed.total("offered"), 10, "{followed}");
    let (limited, requests) = run("--follow 2", "redirect/3");
    assert_eq!((limited.outcome("redirect.limit"), requests), (10, 30), "{limited}");
    assert_eq!(limited.total("failed"), 10, "{limited}");
}

#[test]
fn a_status_that_was_not_expected_is_an_outcome() {
    let _shared = beside_others();
    let target = Target::start("--no-truth");
    let run = |flags: &str, query: &str| Tare::http(&format!("-n 10 {flags} {}{query}", target.url())).run();
    assert_eq!(run("--expect-status 2xx", "").outcome("200"), 10);
    assert_eq!(run("--expect-status 2xx", "?status=404").outcome("expect.status"), 10);
    assert_eq!(run("--expect-status 200,400-404", "?status=404").outcome("404"), 10);
    // Without a wish, every answer is one.
    assert_eq!(run("", "?status=503").outcome("503"), 10);
}

#[test]
fn a_body_that_was_not_expected_is_an_outcome() {
    let _shared = beside_others();
    let target = Target::start("--no-truth --size 5000");
    let run = |flags: &str, query: &str| Tare::http(&format!("-n 10 {flags} {}{query}", target.url())).run();
    assert_eq!(run("--expect-body known-truth", "").outcome("200"), 10);
    assert_eq!(run("--expect-body unknown-truth", "").outcome("expect.body"), 10);
    // The words may lie across pieces: "y\nta" at each end of the pattern, here across chunks of 7.
    assert_eq!(run("--expect-body nown-tru", "?chunk=7").outcome("200"), 10);
}

#[test]
fn a_checksum_that_was_not_expected_is_an_outcome() {
    let _shared = beside_others();
    let target = Target::start("--no-truth --size 5000");
    let folder = scratch();
    let body = folder.path().join("body");
    said("curl", &["-s", "-o", &body.display().to_string(), &target.url()]);
    let (md5, sha256) = (digest("md5sum", &body), digest("sha256sum", &body));
    let run = |flags: &str, query: &str| Tare::http(&format!("-n 10 {flags} {}{query}", target.url())).run();
    for expect in [format!("--expect-md5 {md5}"), format!("--expect-sha256 {sha256}")] {
        assert_eq!(run(&expect, "").outcome("200"), 10, "{expect}");
        assert_eq!(run(&expect, "?chunk=333").outcome("200"), 10, "the framing is not the body");
        assert_eq!(run(&expect, "?size=4999").outcome("expect.checksum"), 10, "{expect}");
    }
    // http_load's -checksum: the first body is the measure.
    assert_eq!(run("--same-checksum", "").outcome("200"), 10);
    let run = run("--same-checksum -c 1", "?size=uniform:100,900");
    assert!(run.outcome("expect.checksum") >= 7, "{run}");
}

#[test]
fn a_timeout_is_an_outcome_and_is_told() {
    let _shared = beside_others();
    let target = Target::start("--no-truth --delay 5s");
    let run = Tare::http(&format!("-c 2 -n 2 --timeout 200ms {}", target.url())).run();
    assert_eq!(run.outcome("first_byte.timeout"), 2, "{run}");
    assert!(run.took < Duration::from_secs(2), "{run}");
    assert!(run.remarks().contains("2 requests timed out after 200ms"), "{run}");
}
