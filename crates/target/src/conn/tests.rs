//! The HTTP part without sockets: whatever way the bytes arrive, the same answers leave.

use crate::config::TargetConfig;
use crate::conn::{Conn, Next};
use crate::mind::Mind;
use crate::ring::{self, Consumer, How, Record};
use crate::shared::Shared;
use clock::HostClock;
use proptest::prelude::*;
use std::sync::Arc;
use units::{Instant, Picos};

struct Bench {
    conn: Conn,
    mind: Mind,
    records: Consumer,
    now: Instant,
    out: Vec<u8>,
    last: Next,
}

impl Bench {
    fn new(config: TargetConfig) -> Self {
        let (producer, records) = ring::ring();
        let shared = Arc::new(Shared::new(config, HostClock::monotonic()));
        let now = Instant::EPOCH + Picos::from_secs(1);
        let mind = Mind::new(shared, 0, Some(producer));
        Self { conn: Conn::new(0, now), mind, records, now, out: Vec::new(), last: Next::Idle }
    }

    fn plain() -> Self {
        Self::new(TargetConfig::default())
    }

    /// Receives, then produces as long as something can be had without waiting. An ended connection hears
    /// nothing.
    fn feed(&mut self, bytes: &[u8]) {
        if matches!(self.last, Next::Close { .. } | Next::Reset) {
            return;
        }
        self.conn.receive(bytes, self.now, &mut self.mind);
        self.pump();
    }

    fn pump(&mut self) {
        for _ in 0..100_000 {
            let mut piece = Vec::new();
            self.last = self.conn.produce(self.now, &mut piece, &mut self.mind);
            self.out.extend_from_slice(&piece);
            if self.last != Next::More {
                return;
            }
        }
        panic!("produces without end");
    }

    fn wait(&mut self, time: Picos) {
        self.now = self.now + time;
        self.pump();
    }

    fn records(&mut self) -> Vec<Record> {
        let mut all = Vec::new();
        self.records.drain(|record| all.push(record));
        all
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }
}

const CONVERSATION: &[u8] = b"GET /?size=5 HTTP/1.1\r\nHost: a\r\n\r\n\
    POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\
    PUT /echo?seq=4 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
    3;x\r\nabc\r\n2\r\nde\r\n0\r\nT: t\r\n\r\n\
    HEAD /?size=70k HTTP/1.1\r\nHost: a\r\n\r\n\
    GET /?size=70k&chunk=900 HTTP/1.1\r\nHost: a\r\n\r\n\
    GET /?size=40&trickle=7 HTTP/1.1\r\nHost: a\r\n\r\n\
    BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n\
    GET /redirect/2 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n\
    GET /?size=1 HTTP/1.0\r\n\r\nignored";

/// Splits `bytes` at these places (each modulo what is left).
fn pieces<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = bytes;
    let mut all = Vec::new();
    for cut in cuts {
        let (piece, left) = rest.split_at(cut % (rest.len() + 1));
        all.push(piece);
        rest = left;
    }
    all.push(rest);
    all
}

fn converse(pieces: &[&[u8]]) -> (Vec<u8>, Next, Vec<Record>) {
    let mut bench = Bench::plain();
    for piece in pieces {
        bench.feed(piece);
    }
    let records = bench.records();
    (bench.out, bench.last, records)
}

#[test]
fn a_conversation_is_answered_as_the_standard_says() {
    let (out, last, records) = converse(&[CONVERSATION]);
    let text = String::from_utf8(out).unwrap();
    let statuses: Vec<&str> = text.matches("HTTP/1.1 ").map(|_| "").collect();
    // Nine answers; the two echoes repeat "HTTP/1.1" of their request lines, without the space after it.
    assert_eq!(statuses.len(), 9);
    assert_eq!(last, Next::Close { unread: false });
    assert_eq!(
        records.iter().map(|r| r.status).collect::<Vec<_>>(),
        [200, 200, 200, 200, 200, 200, 405, 302, 200]
    );
    assert!(text.contains("hello") && text.contains("\r\n\r\nabcde"));
    assert!(text.contains("Content-Length: 70000\r\n\r\nHTTP/1.1 200"), "HEAD has no body");
    assert!(text.contains("Location: /redirect/1\r\nConnection: keep-alive\r\n"));
    assert!(text.ends_with("Connection: close\r\n\r\nt"));
    assert_eq!(records[2].seq, Some(4));
    // Bytes in: the head, and 3;x⏎abc⏎2⏎de⏎0⏎T: t⏎⏎ = 5+5+3+4+3+6+2.
    let head = "PUT /echo?seq=4 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".len() as u64;
    assert_eq!(records[2].bytes_in, head + 28);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_split_gives_the_same_answers(cuts in prop::collection::vec(0..600usize, 0..12)) {
        let (expected, last, records) = converse(&[CONVERSATION]);
        let (out, split_last, split_records) = converse(&pieces(CONVERSATION, &cuts));
        prop_assert_eq!(out, expected);
        prop_assert_eq!(split_last, last);
        let of = |record: &Record| (record.status, record.bytes_out, record.seq);
        let all = |records: &[Record]| records.iter().map(of).collect::<Vec<_>>();
        prop_assert_eq!(all(&split_records), all(&records));
    }

    #[test]
    fn no_bytes_make_it_panic_or_grow(
        junk in prop::collection::vec(any::<u8>(), 0..400),
        cuts in prop::collection::vec(0..400usize, 0..4),
    ) {
        let mut bench = Bench::plain();
        for piece in pieces(&junk, &cuts) {
            bench.feed(piece);
        }
        prop_assert!(bench.out.len() < 1_000_000);
    }
}

#[test]
fn byte_by_byte_is_the_same_too() {
    let bytes: Vec<&[u8]> = CONVERSATION.chunks(1).collect();
    assert_eq!(converse(&bytes).0, converse(&[CONVERSATION]).0);
}

#[test]
fn a_delay_holds_to_its_picosecond_and_is_in_the_record() {
    let mut bench = Bench::plain();
    bench.feed(b"GET /?delay=5ms HTTP/1.1\r\nHost: a\r\n\r\n");
    let due = bench.now + Picos::from_millis(5);
    assert_eq!(bench.last, Next::At(due));
    bench.wait(Picos::from_picos(4_999_999_999));
    assert_eq!((bench.last == Next::At(due), bench.out.len()), (true, 0));
    bench.wait(Picos::from_picos(1_001));
    let record = bench.records()[0];
    assert_eq!(record.answer.since(record.complete), Picos::from_picos(5_000_001_000));
}

#[test]
fn pipelined_answers_keep_their_order_and_each_delay_runs_from_its_own_arrival() {
    let mut bench = Bench::plain();
    bench.feed(b"GET /?delay=5ms&seq=1&size=1 HTTP/1.1\r\nHost: a\r\n\r\nGET /?seq=2&size=1 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(bench.out.is_empty());
    bench.feed(b"GET /?delay=7ms&seq=3&size=1 HTTP/1.1\r\nHost: a\r\n\r\n");
    bench.wait(Picos::from_millis(5));
    assert_eq!(bench.records().iter().map(|r| r.seq).collect::<Vec<_>>(), [Some(1), Some(2)]);
    bench.wait(Picos::from_millis(2));
    assert_eq!(bench.records().iter().map(|r| r.seq).collect::<Vec<_>>(), [Some(3)]);
}

#[test]
fn a_flood_of_pipelined_requests_is_held_back_and_all_are_answered() {
    let mut bench = Bench::plain();
    let request = b"GET /?delay=1ms&size=1 HTTP/1.1\r\nHost: a\r\n\r\n";
    bench.feed(&request.repeat(300));
    assert!(!bench.conn.wants_input());
    for _ in 0..4 {
        bench.wait(Picos::from_millis(1));
    }
    assert_eq!(bench.records().len(), 300);
    assert!(bench.conn.wants_input());
}

#[test]
fn expect_continue_is_answered_before_the_body_and_only_then() {
    let head = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
    let mut bench = Bench::plain();
    bench.feed(head);
    assert_eq!(bench.text(), "HTTP/1.1 100 Continue\r\n\r\n");
    bench.feed(b"ok");
    assert!(bench.text().ends_with("100-continue\r\n\r\nok"));
    let mut at_once = Bench::plain();
    at_once.feed(&[&head[..], b"ok"].concat());
    assert!(!at_once.text().contains("100 Continue"));
}

#[test]
fn what_cannot_be_read_is_refused_and_ends_the_connection() {
    for (request, status) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "400"),
        (b"nonsense\r\n\r\n", "400"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"),
        (b"GET /?delay=5parsecs HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        (b"GET /?delay=file:/etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        (b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", "405"),
    ] {
        let mut bench = Bench::plain();
        bench.feed(request);
        assert!(bench.text().starts_with(&format!("HTTP/1.1 {status} ")), "{:?}", bench.text());
    }
    let mut long = Bench::plain();
    long.feed(b"GET / HTTP/1.1\r\nHost: a\r\nX: ");
    for _ in 0..70 {
        long.feed(&[b'x'; 1_000]);
    }
    assert!(long.text().starts_with("HTTP/1.1 431 "));
    assert_eq!(long.last, Next::Close { unread: true });
}

#[test]
fn the_last_of_n_says_so_unless_told_to_be_quiet() {
    for quiet in [false, true] {
        let close_after = Some("2".parse().unwrap());
        let mut bench =
            Bench::new(TargetConfig { close_after, close_quietly: quiet, ..TargetConfig::default() });
        bench.feed(&b"GET /?size=1 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3));
        assert_eq!(bench.last, Next::Close { unread: false });
        assert_eq!(bench.records().len(), 2);
        assert_eq!(bench.text().contains("Connection: close"), !quiet);
    }
}

#[test]
fn shares_of_faults_are_right_and_exclude_each_other() {
    let config = TargetConfig::from_toml(
        r#"
        faults = { errors = [{ status = 503, share = "20%" }], half = "10%", reset = "10%", garbage = "5%", silent = "5%" }
        "#,
    )
    .unwrap();
    let mut bench = Bench::new(config);
    let total = 20_000u32;
    for n in 0..total {
        bench.conn = Conn::new(u64::from(n), bench.now);
        bench.last = Next::Idle;
        bench.feed(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        bench.conn.gone(&mut bench.mind);
        bench.out.clear();
    }
    let records = bench.records();
    let share =
        |f: &dyn Fn(&Record) -> bool| records.iter().filter(|r| f(r)).count() as f64 / f64::from(total);
    assert_eq!(records.len(), total as usize);
    for (found, programmed) in [
        (share(&|r| r.how == How::Whole && r.status == 503), 0.2),
        (share(&|r| r.how == How::Whole && r.status == 200), 0.5),
        (share(&|r| r.how == How::Half), 0.1),
        (share(&|r| r.how == How::Reset && r.status == 0), 0.1),
        (share(&|r| r.how == How::Garbage), 0.05),
        (share(&|r| r.how == How::Silent), 0.05),
    ] {
        // Four standard deviations of a share p of n: 4·√(p(1−p)/n).
        let error: f64 = 4.0 * f64::sqrt(programmed * (1.0 - programmed) / f64::from(total));
        assert!((found - programmed).abs() < error, "{found} for {programmed}");
    }
}

#[test]
fn a_trickled_answer_comes_in_its_pieces() {
    let mut bench = Bench::plain();
    bench.feed(b"GET /?size=3&trickle=1&gap=1ms HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut steps = 1;
    while let Next::At(due) = bench.last {
        assert_eq!(bench.out.len(), steps);
        bench.wait(due.since(bench.now));
        steps += 1;
    }
    assert_eq!(bench.out.len(), steps);
    assert!(bench.text().ends_with("\r\n\r\ntar"));
    assert_eq!(bench.records()[0].bytes_out, steps as u64);
}

#[test]
fn the_rate_limit_serves_in_order_of_arrival() {
    let rate = Some("1000/s".parse().unwrap());
    let mut bench = Bench::new(TargetConfig { rate, ..TargetConfig::default() });
    bench.feed(&b"GET /?size=1 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(4));
    assert_eq!(bench.records().len(), 1);
    bench.wait(Picos::from_millis(2));
    assert_eq!(bench.records().len(), 2);
    bench.wait(Picos::from_millis(1));
    assert_eq!(bench.records().len(), 1);
}

#[test]
fn authentication_and_proxying() {
    let config = TargetConfig {
        require_auth: Some("Aladdin:open sesame".into()),
        proxy: true,
        ..TargetConfig::default()
    };
    let mut bench = Bench::new(config);
    // The example of RFC 7617 §2.
    bench.feed(b"GET http://b/?size=1 HTTP/1.1\r\nHost: b\r\nAuthorization: basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n");
    assert!(bench.text().starts_with("HTTP/1.1 200") && bench.text().contains("X-Proxied: 1\r\n"));
    bench.out.clear();
    bench.feed(b"GET / HTTP/1.1\r\nHost: b\r\nAuthorization: Basic QWxhZGRpbjpvcGVu\r\n\r\n");
    assert!(bench.text().contains("401") && bench.text().contains("WWW-Authenticate: Basic"));
    bench.feed(b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost:1\r\n\r\nearly");
    assert_eq!(bench.last, Next::Tunnel("localhost:1".into()));
    assert_eq!(bench.conn.take_input(), b"early");
}
