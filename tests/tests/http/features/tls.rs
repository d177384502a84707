//! TLS: trust, identity, what is negotiated, what is resumed. The other end is `tare target`, or nginx with
//! OpenSSL, which says in its answer what it negotiated.

use super::said;
use std::io::Read;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tare_system_tests::wire::Wire;
use tare_system_tests::{Nginx, Run, Tare, Target, beside_others, scratch};

/// A target with a certificate of its own, and the file of its authority.
struct Served {
    target: Target,
    ca: String,
    _folder: tempfile::TempDir,
}

fn serve(flags: &str) -> Served {
    let folder = scratch();
    let ca = folder.path().join("ca.pem").display().to_string();
    let target = Target::start(&format!("--no-truth --tls-write-cert {ca} {flags}"));
    Served { target, ca, _folder: folder }
}

impl Served {
    fn load(&self, flags: &str) -> Run {
        Tare::http(&format!("{flags} {}", self.target.url())).run()
    }

    fn trusted(&self, flags: &str) -> Run {
        self.load(&format!("--ca {} {flags}", self.ca))
    }
}

/// A certificate for localhost and 127.0.0.1, or for a client: NAME.pem and NAME.key.
fn certificate(folder: &tempfile::TempDir, name: &str, usage: &str) -> (String, String) {
    let at = |end: &str| folder.path().join(format!("{name}.{end}")).display().to_string();
    let (pem, key) = (at("pem"), at("key"));
    let mut words: Vec<&str> =
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=tare"
            .split(' ')
            .collect();
    let usage = format!("extendedKeyUsage={usage}");
    words.extend(["-addext", "basicConstraints=critical,CA:FALSE", "-addext", &usage]);
    words.extend(["-addext", "subjectAltName=DNS:localhost,DNS:shop.test,IP:127.0.0.1"]);
    words.extend(["-keyout", &key, "-out", &pem]);
    said("openssl", &words);
    (pem, key)
}

/// nginx whose answer is what it negotiated: `TLSv1.3 TLS_AES_128_GCM_SHA256 reused=r name=shop.test
/// alpn=http/1.1;` With sessions for version 1.2 kept by the server, and tickets.
struct Witness {
    nginx: Nginx,
    pem: String,
    _folder: tempfile::TempDir,
}

impl Witness {
    fn start() -> Self {
        let folder = scratch();
        let (pem, key) = certificate(&folder, "server", "serverAuth");
        let answer = "$ssl_protocol $ssl_cipher reused=$ssl_session_reused name=$ssl_server_name alpn=$ssl_alpn_protocol;";
        let server = format!(
            "ssl_certificate {pem}; ssl_certificate_key {key}; ssl_protocols TLSv1.2 TLSv1.3;
             ssl_session_cache shared:s:1m; location / {{ return 200 '{answer}'; }}"
        );
        Self { nginx: Nginx::start_with("ssl", &server), pem, _folder: folder }
    }

    /// How many of the answers contained the words.
    #[track_caller]
    fn told(&self, words: &str, flags: &str) -> u64 {
        let url = format!("https://127.0.0.1:{}/", self.nginx.port());
        let run =
            Tare::http(&format!("--ca {} {flags} {url}", self.pem)).arg("--expect-body").arg(words).run();
        assert_eq!(run.outcome("200") + run.outcome("expect.body"), run.total("offered"), "{run}");
        run.outcome("200")
    }
}

#[test]
fn with_its_authority_a_target_is_trusted() {
    let _shared = beside_others();
    let served = serve("");
    let run = served.trusted("-c 4 -n 80");
    assert_eq!((run.outcome("200"), run.int("connections.opened")), (80, 4), "{run}");
    assert_ne!(run.code, Some(5), "{run}");
    // The handshake is a figure of its own, one for each connection, and not in the connect time.
    assert_eq!((run.int("tls_ns.count"), run.int("connect_ns.count")), (4, 4), "{run}");
    assert!(run.int("ready_ns.min") >= run.int("tls_ns.min"), "{run}");
}

#[test]
fn without_its_authority_it_is_not() {
    let _shared = beside_others();
    let run = serve("").load("-c 2 -n 4");
    assert_eq!((run.outcome_keys(), run.code), (vec!["tls.certificate".to_owned()], Some(5)), "{run}");
    assert_eq!(run.int("tls_ns.count"), 0, "{run}");
    assert!(run.remarks().contains("certificate"), "the note says why: {run}");
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let _shared = beside_others();
    let served = serve("");
    let port = served.target.port();
    let flags = format!("-c 1 -n 2 --ca {} --resolve evil.test:{port}:127.0.0.1", served.ca);
    let run = Tare::http(&format!("{flags} https://evil.test:{port}/")).run();
    assert_eq!(run.outcome("tls.certificate"), 2, "{run}");
    // --sni says which name is meant.
    let run = Tare::http(&format!("{flags} --sni localhost https://evil.test:{port}/")).run();
    assert_eq!(run.outcome("200"), 2, "{run}");
}

#[test]
fn insecure_works_and_is_said_loudly() {
    let _shared = beside_others();
    let served = serve("");
    let run = served.load("-c 2 -n 4 --insecure");
    assert_eq!(run.outcome("200"), 4, "{run}");
    assert!(run.remarks().contains("certificates are NOT verified"), "{run}");
    let url = served.target.url();
    let shown = Tare::new(&format!("http --no-save -n 4 -k {url}")).start().finish_unchecked();
    assert!(
        shown.stderr.contains("INSECURE") || shown.stderr.contains("NOT verified"),
        "before: {}",
        shown.stderr
    );
    assert!(shown.stdout.contains("NOT verified"), "and after: {}", shown.stdout);
}

#[test]
fn a_client_certificate_is_shown() {
    let _shared = beside_others();
    let folder = scratch();
    let (pem, key) = certificate(&folder, "client", "clientAuth");
    let served = serve(&format!("--client-ca {pem}"));
    let run = served.trusted(&format!("-c 2 -n 10 --cert {pem} --key {key}"));
    assert_eq!(run.outcome("200"), 10, "{run}");
    // RFC 8446 §4.4.2.4: the refusal is an alert, which may come after the client's side is finished.
    let run = served.trusted("-c 1 -n 2");
    assert_eq!((run.total("done"), run.total("failed")), (0, 2), "{run}");
    assert!(run.outcome_keys().iter().all(|key| key.starts_with("tls.")), "{run}");
}

#[test]
fn the_client_hello_names_host_and_protocols() {
    let _shared = beside_others();
    let hello = |flags: &str, host: &str| -> Vec<u8> {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ear = heard.clone();
        let wire = Wire::start(move |stream| {
            let mut record = vec![0; 4096];
            let count = stream.read(&mut record).unwrap_or(0);
            record.truncate(count);
            *ear.lock().expect("no panic while held") = record;
        });
        let port = wire.address().port();
        let flags = format!("-c 1 -n 1 --resolve shop.test:{port}:127.0.0.1 {flags}");
        let run = Tare::http(&format!("{flags} https://{host}:{port}/")).run();
        assert_eq!(run.total("failed"), 1, "{run}");
        let record = heard.lock().expect("no panic while held").clone();
        assert!(record.starts_with(&[22, 3]), "a handshake record (RFC 8446 §5.1): {record:?}");
        record
    };
    let has = |record: &[u8], word: &str| record.windows(word.len()).any(|part| part == word.as_bytes());
    let usual = hello("", "shop.test");
    assert!(has(&usual, "shop.test") && has(&usual, "\u{8}http/1.1"));
    let other = hello("--sni other.test --alpn http/1.1,mine", "shop.test");
    assert!(has(&other, "other.test") && !has(&other, "shop.test") && has(&other, "\u{4}mine"));
    let bare = Tare::new("http --print-plan --alpn").arg("").arg("https://h/").start().finish_unchecked();
    assert!(bare.stdout.contains("alpn = []"), "{bare}");
    // RFC 6066 §3: an address is no server name.
    assert!(!has(&hello("", "127.0.0.1"), "127.0.0.1"));
}

#[test]
fn nginx_sees_the_version_the_suite_the_name_and_the_protocol() {
    let _shared = beside_others();
    let witness = Witness::start();
    let flags = "-c 2 -n 6";
    assert_eq!(witness.told("TLSv1.3 TLS_AES_128_GCM_SHA256", flags), 6);
    assert_eq!(witness.told("TLSv1.3", &format!("{flags} --tls-min 1.3")), 6);
    assert_eq!(witness.told("TLSv1.2", &format!("{flags} --tls-max 1.2")), 6);
    let suite = "--tls-min 1.3 --ciphers TLS_CHACHA20_POLY1305_SHA256";
    assert_eq!(witness.told("TLSv1.3 TLS_CHACHA20_POLY1305_SHA256", &format!("{flags} {suite}")), 6);
    // OpenSSL's name of TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384.
    let suite = "--ciphers TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 --tls-max 1.2";
    assert_eq!(witness.told("TLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384", &format!("{flags} {suite}")), 6);
    assert_eq!(witness.told("name=shop.test", &format!("{flags} --sni shop.test")), 6);
    assert_eq!(witness.told("alpn=http/1.1;", flags), 6);
}

#[test]
fn a_version_that_the_target_does_not_speak_is_an_outcome() {
    let _shared = beside_others();
    for (target, flags) in [("1.2", "--tls-min 1.3"), ("1.3", "--tls-max 1.2")] {
        let served = serve(&format!("--tls-versions {target}"));
        let run = served.trusted(&format!("-c 1 -n 2 {flags}"));
        assert_eq!((run.outcome("tls.alert"), run.code), (2, Some(5)), "{run}");
        assert_eq!(served.trusted("-c 1 -n 2").outcome("200"), 2);
    }
}

/// One thread, one connection after another: the first has nothing to resume, each other has.
#[test]
fn sessions_are_resumed_unless_they_are_not_to_be() {
    let _shared = beside_others();
    let witness = Witness::start();
    for version in ["1.2", "1.3"] {
        let flags = format!("--threads 1 -c 1 -n 20 --no-keep-alive --tls-min {version} --tls-max {version}");
        assert_eq!(witness.told("reused=r", &flags), 19, "{version}");
        assert_eq!(witness.told("reused=.", &format!("{flags} --no-resumption")), 20, "{version}");
    }
}

#[test]
fn every_new_connection_has_a_handshake_of_its_own() {
    let _shared = beside_others();
    let served = serve("");
    for flags in ["", "--no-resumption"] {
        let run = served.trusted(&format!("-c 2 -n 40 --no-keep-alive {flags}"));
        assert_eq!((run.outcome("200"), run.int("tls_ns.count")), (40, 40), "{run}");
    }
}

#[test]
fn a_slow_handshake_is_in_the_handshakes_figure_and_not_in_the_connects() {
    let _shared = beside_others();
    let served = serve("--slow-handshake 200ms");
    let run = served.trusted("-c 2 -n 10");
    assert_eq!(run.outcome("200"), 10, "{run}");
    // The server's time runs from its accept, which comes after the connect began and before it is seen here.
    assert!(run.int("connect_ns.max") + run.int("tls_ns.min") >= 200_000_000, "{run}");
    assert!(run.int("connect_ns.p50") < 100_000_000, "{run}");
    assert!(run.took < Duration::from_secs(3), "{run}");
}
