//! Whatever a proxy answers to CONNECT: before a whole answer of 2xx nothing of the request leaves, the tunnel
//! is the same whatever pieces the answer comes in, and the request ends once.
//!
//! ```text
//! input: where the answer is cut (1 byte) │ the bytes of the proxy, and of what it tunnels to
//! ```

#![no_main]

use http::fuzzed::{CONNECT, REQUEST, Tunnel};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [cut, bytes @ ..] = data else { return };
    let mut slow = Tunnel::default();
    let mut opened_at = None;
    for (at, byte) in bytes.iter().enumerate() {
        slow.hear(&[*byte]);
        check(&slow);
        if slow.is_open() && opened_at.is_none() {
            opened_at = Some(at + 1);
            let head = &bytes[..=at];
            assert!(head.starts_with(b"HTTP/1.") || head[0].is_ascii_whitespace(), "opened by {head:?}");
        }
    }

    // The end of the answer is the one place where a cut may make a difference: what comes with it, unasked, is
    // of nobody.
    let whole = opened_at.unwrap_or(bytes.len());
    let mut fast = Tunnel::default();
    let (before, behind) = bytes[..whole].split_at(usize::from(*cut).min(whole));
    fast.hear(before);
    fast.hear(behind);
    check(&fast);
    fast.hear(&bytes[whole..]);
    check(&fast);
    let known = |tunnel: &Tunnel| (tunnel.is_open(), tunnel.is_closed(), tunnel.ends(), tunnel.sent().to_vec());
    assert_eq!(known(&fast), known(&slow));

    fast.close();
    fast.close();
    check(&fast);
    assert_eq!((fast.ends().len(), fast.in_flight()), (1, 0), "a request ends once");
});

fn check(tunnel: &Tunnel) {
    assert_eq!(tunnel.ends().len() + tunnel.in_flight(), 1);
    let rest = tunnel.sent().strip_prefix(CONNECT).expect("the proxy is asked first");
    assert!(rest.is_empty() || rest == REQUEST);
    assert_eq!(tunnel.in_flight() == 0, !tunnel.ends().is_empty());
    assert!(!tunnel.is_open() || rest == REQUEST);
}
