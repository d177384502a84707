//! Placeholders, as they arrive.

use super::write;
use std::collections::{BTreeSet, HashSet};
use std::time::{SystemTime, UNIX_EPOCH};
use tare_system_tests::{Recorder, Tare, beside_others, scratch};

const COUNT: usize = 60;

/// Sends 60 requests with this in the URL, in a header and in the body; what arrived in each place.
fn filled(placeholder: &str) -> [Vec<String>; 3] {
    let recorder = Recorder::start();
    let run = Tare::http(&format!("-c 3 -n {COUNT} --threads 1"))
        .arg("-H")
        .arg(format!("X-Value: {placeholder}"))
        .arg("-d")
        .arg(format!("<{placeholder}>"))
        .arg(format!("{}{placeholder}", recorder.url()))
        .run();
    assert_eq!(run.outcome("200"), COUNT as u64, "{run}");
    let requests = recorder.requests();
    let body = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.trim_start_matches('<').trim_end_matches('>').to_owned()
    };
    [
        requests.iter().map(|request| request.target()[1..].to_owned()).collect(),
        requests.iter().map(|request| request.fields("X-Value")[0].to_owned()).collect(),
        requests.iter().map(|request| body(&request.body)).collect(),
    ]
}

#[test]
fn seq_counts_the_departures() {
    let _shared = beside_others();
    for values in filled("{seq}") {
        let numbers: BTreeSet<usize> = values.iter().map(|text| text.parse().expect("a number")).collect();
        assert_eq!(numbers, (0..COUNT).collect(), "each of 0…59 once");
    }
}

#[test]
fn random_digits_have_their_alphabet_and_length_and_differ() {
    let _shared = beside_others();
    const DIGITS: &str = "0123456789";
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let (hex, alnum) = (format!("{DIGITS}abcdef"), format!("{DIGITS}{LETTERS}"));
    let kinds = [
        ("{random:hex:16}", 16, hex.as_str()),
        ("{random:dec:18}", 18, DIGITS),
        ("{random:alnum:12}", 12, &alnum),
    ];
    for (placeholder, length, alphabet) in kinds {
        for values in filled(placeholder) {
            assert!(
                values.iter().all(|text| text.len() == length && text.chars().all(|c| alphabet.contains(c))),
                "{values:?}"
            );
            // 60 of 10¹⁸ or more: two alike are less likely than 60² / 10¹⁸.
            assert_eq!(values.iter().collect::<HashSet<_>>().len(), COUNT, "{values:?}");
        }
    }
}

#[test]
fn uuids_are_of_version_4() {
    let _shared = beside_others();
    for values in filled("{uuid}") {
        for uuid in &values {
            // RFC 9562 §5.4: 8-4-4-4-12 digits, version 4, variant 8, 9, a or b.
            let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12], "{uuid}");
            assert!(uuid.as_bytes()[14] == b'4' && b"89ab".contains(&uuid.as_bytes()[19]), "{uuid}");
            assert!(uuid.chars().all(|c| c == '-' || c.is_ascii_hexdigit()), "{uuid}");
        }
        assert_eq!(values.iter().collect::<HashSet<_>>().len(), COUNT);
    }
}

#[test]
fn now_ms_is_now() {
    let _shared = beside_others();
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
    let before = now();
    let all = filled("{now_ms}");
    let after = now();
    for value in all.iter().flatten() {
        let told: u128 = value.parse().expect("a number");
        assert!((before - 1..=after + 1).contains(&told), "{before} ≤ {told} ≤ {after}");
    }
}

#[test]
fn line_takes_lines_of_the_file() {
    let _shared = beside_others();
    let folder = scratch();
    let words = write(&folder, "words", "alpha\nbeta\ngamma\ndelta\n");
    for values in filled(&format!("{{line:{}}}", words.display())) {
        let seen: BTreeSet<&str> = values.iter().map(String::as_str).collect();
        assert_eq!(seen, ["alpha", "beta", "gamma", "delta"].into(), "{values:?}");
    }
}

#[test]
fn braces_can_be_sent_as_they_are() {
    let _shared = beside_others();
    let recorder = Recorder::start();
    let tare = |flags: &str, body: &str| {
        Tare::http(&format!("-c 1 -n 1 {flags}")).arg("-d").arg(body).arg(recorder.url()).run()
    };
    tare("", "{{seq}} {\"a\": {\"b\": 1}}");
    tare("--no-templates", "{seq}");
    let bodies: Vec<String> =
        recorder.requests().iter().map(|r| String::from_utf8_lossy(&r.body).into_owned()).collect();
    assert_eq!(bodies, ["{seq} {\"a\": {\"b\": 1}}", "{seq}"]);
}
