//! TLS: an independent use of rustls' blocking client, and curl, against the target's loop.

use crate::common::{ask, connect, start};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

type Stream = StreamOwned<ClientConnection, TcpStream>;

fn client(ca: &Path) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

fn open(config: &Arc<ClientConfig>, addr: SocketAddr) -> Stream {
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(config.clone(), name).unwrap(), connect(addr))
}

#[test]
fn answers_over_tls_in_every_version_and_size() {
    let dir = tempfile::tempdir().unwrap();
    let ca = dir.path().join("ca.pem");
    for (versions, expected) in [("1.2", "TLSv1_2"), ("1.3", "TLSv1_3"), ("1.2+", "TLSv1_3")] {
        let target = start(&format!("tls = {{ write_cert = {ca:?}, versions = {versions:?} }}"));
        let mut stream = open(&client(&ca), target.addrs()[0]);
        for size in [0, 1, 600, 16_384, 16_385, 3_000_000] {
            let answer = ask(&mut stream, &format!("/?size={size}")).unwrap();
            assert_eq!((answer.status, answer.body.len()), (200, size));
        }
        assert_eq!(format!("{:?}", stream.conn.protocol_version().unwrap()), expected);
        assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
        let upload = vec![b'u'; 1_000_000];
        stream
            .write_all(
                b"POST /?size=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 1000000\r\n\r\n",
            )
            .unwrap();
        stream.write_all(&upload).unwrap();
        let mut rest = Vec::new();
        // An end without close_notify would be an error here.
        stream.read_to_end(&mut rest).unwrap();
        assert!(rest.starts_with(b"HTTP/1.1 200") && rest.ends_with(b"\r\n\r\nt"));
        let stats = target.stats();
        assert_eq!((stats.handshakes, stats.handshakes_failed, stats.requests), (1, 0, 7));
    }
}

#[test]
fn sessions_are_resumed_with_tickets_and_only_then() {
    let dir = tempfile::tempdir().unwrap();
    let ca = dir.path().join("ca.pem");
    for tickets in [true, false] {
        for versions in ["1.2", "1.3"] {
            let target = start(&format!(
                "tls = {{ write_cert = {ca:?}, tickets = {tickets}, versions = {versions:?} }}"
            ));
            let config = client(&ca);
            let kinds: Vec<_> = (0..2)
                .map(|_| {
                    let mut stream = open(&config, target.addrs()[0]);
                    ask(&mut stream, "/").unwrap();
                    stream.conn.handshake_kind().unwrap()
                })
                .collect();
            assert_eq!(kinds[0], rustls::HandshakeKind::Full);
            assert_eq!(kinds[1] == rustls::HandshakeKind::Resumed, tickets, "{versions} {kinds:?}");
        }
    }
}

#[test]
fn a_slow_handshake_moves_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let ca = dir.path().join("ca.pem");
    // With this seed some of 20 handshakes are slow and some are not.
    let target =
        start(&format!("tls = {{ write_cert = {ca:?}, slow_share = \"50%\", slow_delay = \"400ms\" }}"));
    let config = client(&ca);
    let addr = target.addrs()[0];
    let handshakes: Vec<_> = (0..20)
        .map(|_| {
            let config = config.clone();
            std::thread::spawn(move || {
                let before = Instant::now();
                let mut stream = open(&config, addr);
                ask(&mut stream, "/").unwrap();
                let handshake = before.elapsed();
                let before = Instant::now();
                let mut worst = Duration::ZERO;
                while before.elapsed() < Duration::from_millis(300) {
                    let asked = Instant::now();
                    ask(&mut stream, "/").unwrap();
                    worst = worst.max(asked.elapsed());
                    std::thread::sleep(Duration::from_millis(2));
                }
                (handshake, worst)
            })
        })
        .collect();
    let all: Vec<_> = handshakes.into_iter().map(|h| h.join().unwrap()).collect();
    let slow = all.iter().filter(|(handshake, _)| *handshake >= Duration::from_millis(400)).count();
    assert!((2..=18).contains(&slow), "{slow} of 20");
    let worst = all.iter().filter(|(h, _)| *h < Duration::from_millis(400)).map(|(_, worst)| *worst).max();
    // The quick ones ran while the slow ones were held.
    assert!(worst.unwrap() < Duration::from_millis(200), "{worst:?}");
}

#[test]
fn half_a_handshake_is_no_burden_and_a_wrong_one_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let ca = dir.path().join("ca.pem");
    let target = start(&format!("tls = {{ write_cert = {ca:?} }}"));
    let addr = target.addrs()[0];
    let mut stuck = connect(addr);
    stuck.write_all(&[0x16, 3, 1, 0, 200, 1]).unwrap();
    let mut plain = connect(addr);
    plain.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut alert = Vec::new();
    plain.read_to_end(&mut alert).unwrap();
    // A TLS alert record (RFC 8446 §5.1, §6): type 21.
    assert_eq!(alert.first(), Some(&21), "{alert:?}");
    ask(&mut open(&client(&ca), addr), "/").unwrap();
    assert_eq!(target.stats().handshakes_failed, 1);
    assert_eq!(target.stats().requests, 1);
}

#[test]
fn any_split_of_the_tls_bytes_is_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let ca = dir.path().join("ca.pem");
    let target = start(&format!("tls = {{ write_cert = {ca:?} }}"));
    let name = ServerName::try_from("localhost").unwrap();
    let mut tls = ClientConnection::new(client(&ca), name).unwrap();
    let mut stream = connect(target.addrs()[0]);
    tls.writer().write_all(b"GET /?size=3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut plain = Vec::new();
    while plain.is_empty() || !plain.ends_with(b"tar") {
        while tls.wants_write() {
            let mut wire = Vec::new();
            tls.write_tls(&mut wire).unwrap();
            for byte in wire {
                stream.write_all(&[byte]).unwrap();
            }
        }
        tls.read_tls(&mut stream).unwrap();
        tls.process_new_packets().unwrap();
        let mut buffer = [0; 4_096];
        if let Ok(count) = tls.reader().read(&mut buffer) {
            plain.extend_from_slice(&buffer[..count]);
        }
    }
}

#[test]
fn client_certificates_are_demanded() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let authority = rcgen::generate_simple_self_signed(vec!["client.test".into()]).unwrap();
    std::fs::write(path("client.pem"), authority.cert.pem()).unwrap();
    std::fs::write(path("client.key"), authority.signing_key.serialize_pem()).unwrap();
    let (ca, client_ca) = (path("ca.pem"), path("client.pem"));
    let target = start(&format!("tls = {{ write_cert = {ca:?}, client_ca = {client_ca:?} }}"));
    let curl = |extra: &[&str]| {
        let url = format!("https://localhost:{}/?size=3", target.addrs()[0].port());
        let output =
            Command::new("curl").args(["-s", "--cacert"]).arg(&ca).args(extra).arg(&url).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(curl(&[]), "");
    let (cert, key) = (path("client.pem"), path("client.key"));
    assert_eq!(curl(&["--cert", cert.to_str().unwrap(), "--key", key.to_str().unwrap()]), "tar");
}

#[test]
fn given_certificates_are_used_and_bad_ones_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let (cert, key) = (dir.path().join("c.pem"), dir.path().join("k.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let target = start(&format!("tls = {{ cert = {cert:?}, key = {key:?} }}"));
    ask(&mut open(&client(&cert), target.addrs()[0]), "/").unwrap();
    let wrong =
        target::TargetConfig::from_toml(&format!("tls = {{ cert = {cert:?}, key = {cert:?} }}")).unwrap();
    let error = target::spawn(wrong).err().unwrap().to_string();
    assert!(error.contains("c.pem"), "{error}");
}
