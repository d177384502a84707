//! Every vector that `spec/tcp.py` makes. Their expectations were made by `spec/tcp_model.py` or by hand.

use crate::json;
use crate::specification::{SPEC, vectors};
use serde_json::Value;
use std::collections::BTreeSet;
use tcp::{Time, step, step_further};

#[test]
fn every_vector_gives_what_it_says() {
    let mut wrong = Vec::new();
    let vectors = vectors();
    for vector in &vectors {
        let (record, event) = (json::record(&vector["record"]), json::event(&vector["event"]));
        let now = Time::from_micros(vector["now"].as_u64().expect("a time"));
        let (path, mut further) = (json::path(vector.get("path")), json::further(&vector["record"]));
        let made = if json::keeps_further(vector.get("path")) {
            step_further(&path, record, &mut further, event, now)
        } else {
            step(&path, record, event, now)
        };
        let then = &vector["then"];
        let segment = made.segment.as_ref().map_or(Value::Null, json::segment);
        let notices: Value = made.notices.iter().map(json::notice).collect();
        let expected = json::record(&then["record"]);
        let beside = json::further(&then["record"]);
        if (made.record, further) != (expected, beside)
            || segment != then["segment"]
            || notices != then["notices"]
        {
            wrong.push(format!(
                "{}\n  from {record:?}\n  on {event:?}\n  expected {expected:?} {beside:?}\n  \
                 made     {:?} {further:?}\n  expected {} {}\n  made     {segment} {notices}",
                vector["name"], made.record, then["segment"], then["notices"]
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        vectors.len(),
        wrong[..wrong.len().min(5)].join("\n")
    );
}

#[test]
fn every_row_has_a_vector_in_every_state_it_applies_to() {
    let vectors = vectors();
    assert!(vectors.len() >= 400, "{} vectors", vectors.len());
    let names: BTreeSet<&str> = vectors.iter().filter_map(|vector| vector["name"].as_str()).collect();
    assert_eq!(names.len(), vectors.len(), "two vectors have one name");
    let used: BTreeSet<&str> = vectors
        .iter()
        .flat_map(|vector| vector["rows"].as_array().expect("rows"))
        .filter_map(Value::as_str)
        .collect();
    let missing: Vec<String> =
        rows_by_state().into_iter().filter(|row| !used.contains(row.as_str())).collect();
    assert!(missing.is_empty(), "rows without a vector: {missing:?}");
}

/// Each row of segments that compares numbers, also where they wrap, change sign, or are the last before a
/// wrap.
#[test]
fn every_row_has_a_vector_at_each_wrap() {
    let vectors = vectors();
    for base in ["wrap", "sign", "last"] {
        let of_base = |name: &str| name.ends_with(&format!(", {base}"));
        let used: BTreeSet<&str> = vectors
            .iter()
            .filter(|vector| vector["name"].as_str().is_some_and(of_base))
            .flat_map(|vector| vector["rows"].as_array().expect("rows"))
            .filter_map(Value::as_str)
            .collect();
        let missing: Vec<String> =
            rows_by_state().into_iter().filter(|row| !used.contains(row.as_str())).collect();
        assert!(missing.is_empty(), "rows without a vector of {base}: {missing:?}");
    }
}

/// `ROW:STATE`, for each state that a row applies to.
fn rows_by_state() -> Vec<String> {
    let rows = SPEC["row"].as_array().expect("rows").iter();
    rows.flat_map(|row| {
        let states = row["in"].as_array().expect("states").iter();
        states.map(|state| format!("{}:{}", row["id"].as_str().unwrap(), state.as_str().unwrap()))
    })
    .collect()
}
