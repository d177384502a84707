//! The result as JSON, for `--json`: the same text as `result.json`.

use store::RunResult;

/// Indented, each interval on one line, ending with a newline.
pub fn json(result: &RunResult) -> String {
    let mut text = Vec::new();
    store::write_json(result, &mut text)
        .expect("a result has only keys that are strings, and memory takes them");
    String::from_utf8(text).expect("JSON is UTF-8")
}
