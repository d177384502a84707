//! A URL that is accepted has parts that a request can be made of, and putting them together gives the same
//! parts.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plan::{Scheme, TargetUrl};

fuzz_target!(|text: &str| {
    let Ok(url) = TargetUrl::parse(text) else { return };
    assert!(!url.host.is_empty() && url.port > 0);
    let mut target = Vec::new();
    url.push_target(&mut target);
    assert_eq!(target.first(), Some(&b'/'));
    let written = [target.as_slice(), url.authority.as_bytes()].concat();
    assert!(written.iter().all(|byte| *byte > b' ' && *byte != 0x7f), "{url:?} could end a header line");

    let scheme = match url.scheme {
        Scheme::Http => "http",
        Scheme::Https => "https",
    };
    let user = url.userinfo.map_or_else(String::new, |user| format!("{user}@"));
    let again = format!("{scheme}://{user}{}{}", url.authority, url.path_and_query);
    assert_eq!(TargetUrl::parse(&again), Ok(url), "{again}");
});
