//! Where a Location leads: whatever it says, the place that is connected to, the Host that is told and the
//! target that is asked for are those of the URL that was joined (RFC 3986 §5), for two parsers read it on the
//! way.
//!
//! ```text
//! input: the URL of the request, a line end, and Locations, a line each, that are followed one after another
//! ```

#![no_main]

use libfuzzer_sys::fuzz_target;
use plan::{Scheme, TargetUrl};
use url::{Position, Url};

/// More hops teach nothing new.
const MOST: usize = 8;

fuzz_target!(|text: &str| {
    let mut lines = text.lines();
    let Some(first) = lines.next().filter(|first| TargetUrl::parse(first).is_ok()) else { return };
    // Whoever is asked first has the text as it is; from there on it is what this parser makes of it.
    let Ok(mut at) = Url::parse(first) else { return };
    for location in lines.take(MOST) {
        let Ok(next) = at.join(location) else { return };
        if !matches!(next.scheme(), "http" | "https") {
            return;
        }
        check(&next);
        at = next;
    }
});

fn check(url: &Url) {
    let text = url.as_str();
    assert!(!text.contains(['\r', '\n', ' ', '\t']), "{text:?} could end a line");
    // Hosts that no name can have are refused, and the request fails.
    let Ok(target) = TargetUrl::parse(text) else { return };
    let host = url.host_str().expect("an http URL has a host");
    assert_eq!(target.host, host.trim_start_matches('[').trim_end_matches(']'), "{text:?}");
    assert_eq!(Some(target.port), url.port_or_known_default(), "{text:?}");
    assert_eq!(target.scheme == Scheme::Https, url.scheme() == "https", "{text:?}");
    assert_eq!(target.authority, &url[Position::BeforeHost..Position::AfterPort], "{text:?}");
    let mut asked = Vec::new();
    target.push_target(&mut asked);
    assert_eq!(asked, url[Position::BeforePath..Position::AfterQuery].as_bytes(), "{text:?}");
    // Not by a slice of `url`, whose own check fails where a user has no password.
    let userinfo = match url.password() {
        Some(password) => format!("{}:{password}", url.username()),
        None => url.username().to_owned(),
    };
    assert_eq!(target.userinfo.unwrap_or_default(), userinfo);
}
