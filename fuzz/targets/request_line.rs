//! A line of a JSON-lines file is a request or a named error, whatever stands in it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plan::RequestLine;

fuzz_target!(|input: (bool, &str)| {
    let (templates, line) = input;
    match RequestLine::from_json(line, templates) {
        Ok(request) => assert!(!request.url.is_empty()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
