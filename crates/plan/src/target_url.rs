//! Takes an absolute `http` or `https` URL apart without allocating: for the hot path.
//!
//! ```text
//! https://user:pw@[::1]:8443/a/b?q=1#top
//! scheme  userinfo host  port path_and_query   (the fragment is not sent)
//!                 └authority┘
//! ```

use std::net::Ipv6Addr;
use thiserror::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// The parts of a URL; they point into its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetUrl<'a> {
    pub scheme: Scheme,
    /// Name or address, without the brackets of IPv6.
    pub host: &'a str,
    pub port: u16,
    /// For the Host header: brackets and any port that is not the scheme's own.
    pub authority: &'a str,
    /// As written. It is `/` for an empty path, and starts with `?` if only a query was written:
    /// `push_target` adds the slash that HTTP wants then.
    pub path_and_query: &'a str,
    /// What stands before `@`, still percent-encoded.
    pub userinfo: Option<&'a str>,
}

/// Why a text is not a URL that can be loaded. Columns count characters from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UrlProblem {
    #[error("is empty")]
    Empty,
    #[error("has no scheme")]
    NoScheme,
    #[error("has a scheme other than http and https")]
    UnknownScheme,
    #[error("has no host")]
    EmptyHost,
    #[error("has a character at column {column} that is not allowed in a host")]
    HostCharacter { column: usize },
    #[error("has '[' without an IPv6 address and ']' after it")]
    BadIpv6,
    #[error("has a port that is not a number")]
    PortNotANumber,
    #[error("has a port out of range")]
    PortOutOfRange,
    #[error("has a space at column {column}")]
    Space { column: usize },
    #[error("has a control character at column {column}")]
    Control { column: usize },
}

impl UrlProblem {
    /// What would be right.
    pub const fn expected(self) -> &'static str {
        match self {
            Self::PortNotANumber | Self::PortOutOfRange => "a port from 1 to 65535",
            Self::Space { .. } => "%20 for a space",
            Self::BadIpv6 => "an address such as http://[::1]:8080/",
            Self::HostCharacter { .. } => "letters, digits, '-', '.' and '_' (xn--… for other scripts)",
            _ => "http://host[:port]/path or https://host[:port]/path",
        }
    }
}

impl<'a> TargetUrl<'a> {
    /// A fragment is accepted and dropped.
    pub fn parse(text: &'a str) -> Result<Self, UrlProblem> {
        if text.is_empty() {
            return Err(UrlProblem::Empty);
        }
        refuse_blanks(text)?;
        let (scheme, rest) = split_scheme(text)?;
        let rest = rest.find('#').map_or(rest, |at| &rest[..at]);
        let end = rest.bytes().position(|b| matches!(b, b'/' | b'?')).unwrap_or(rest.len());
        let (before_path, path) = rest.split_at(end);
        let (userinfo, host_port) = match before_path.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, before_path),
        };
        let (host, bracketed, port_text) = split_host(text, host_port)?;
        let port = match port_text {
            None | Some("") => scheme.default_port(),
            Some(digits) => parse_port(digits)?,
        };
        let authority = if port == scheme.default_port() { bracketed } else { host_port };
        let path_and_query = if path.is_empty() { "/" } else { path };
        Ok(Self { scheme, host, port, authority, path_and_query, userinfo })
    }

    /// Appends the request target in origin form (RFC 9112 §3.2.1): always starts with `/`.
    pub fn push_target(&self, out: &mut Vec<u8>) {
        if !self.path_and_query.starts_with('/') {
            out.push(b'/');
        }
        out.extend_from_slice(self.path_and_query.as_bytes());
    }
}

/// One pass over all bytes without a branch each; only a bad URL is searched again for the column.
fn refuse_blanks(text: &str) -> Result<(), UrlProblem> {
    let is_blank = |byte: u8| byte <= b' ' || byte == 0x7f;
    if !text.bytes().fold(false, |found, byte| found | is_blank(byte)) {
        return Ok(());
    }
    let offset = text.bytes().position(is_blank).expect("a blank was just seen");
    let column = column(text, offset);
    Err(if text.as_bytes()[offset] == b' ' {
        UrlProblem::Space { column }
    } else {
        UrlProblem::Control { column }
    })
}

fn column(text: &str, offset: usize) -> usize {
    text.char_indices().take_while(|(at, _)| *at < offset).count() + 1
}

fn split_scheme(text: &str) -> Result<(Scheme, &str), UrlProblem> {
    let (name, rest) = text.split_once("://").ok_or(UrlProblem::NoScheme)?;
    if name.eq_ignore_ascii_case("http") {
        Ok((Scheme::Http, rest))
    } else if name.eq_ignore_ascii_case("https") {
        Ok((Scheme::Https, rest))
    } else if !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) {
        Err(UrlProblem::UnknownScheme)
    } else {
        Err(UrlProblem::NoScheme)
    }
}

/// Host without brackets, host with brackets, and the text after the port's colon.
fn split_host<'a>(whole: &str, text: &'a str) -> Result<(&'a str, &'a str, Option<&'a str>), UrlProblem> {
    if let Some(inside) = text.strip_prefix('[') {
        let (host, after) = inside.split_once(']').ok_or(UrlProblem::BadIpv6)?;
        host.parse::<Ipv6Addr>().map_err(|_| UrlProblem::BadIpv6)?;
        let port = match after {
            "" => None,
            _ => Some(after.strip_prefix(':').ok_or(UrlProblem::BadIpv6)?),
        };
        return Ok((host, &text[..host.len() + 2], port));
    }
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    if host.is_empty() {
        return Err(UrlProblem::EmptyHost);
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if let Some(at) = host.bytes().position(|byte| !allowed(byte)) {
        let offset = host.as_ptr() as usize - whole.as_ptr() as usize + at;
        return Err(UrlProblem::HostCharacter { column: column(whole, offset) });
    }
    Ok((host, host, port))
}

fn parse_port(digits: &str) -> Result<u16, UrlProblem> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(UrlProblem::PortNotANumber);
    }
    digits.parse().ok().filter(|port| *port != 0).ok_or(UrlProblem::PortOutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> TargetUrl<'_> {
        TargetUrl::parse(text).unwrap()
    }

    #[test]
    fn takes_every_part() {
        let url = parse("HTTPS://user:pw@[::1]:8443/a/b?q=1#top");
        assert_eq!(url.scheme, Scheme::Https);
        assert_eq!((url.host, url.port, url.authority), ("::1", 8443, "[::1]:8443"));
        assert_eq!((url.path_and_query, url.userinfo), ("/a/b?q=1", Some("user:pw")));
    }

    #[test]
    fn defaults_and_default_ports() {
        let url = parse("http://example.org");
        assert_eq!((url.port, url.authority, url.path_and_query), (80, "example.org", "/"));
        assert_eq!(parse("https://h:443/x").authority, "h");
        assert_eq!(parse("http://h:443/x").authority, "h:443");
        assert_eq!(parse("http://h:/x").authority, "h");
        let mut target = Vec::new();
        parse("http://h?x=1#y").push_target(&mut target);
        assert_eq!(target, b"/?x=1");
        assert_eq!(parse("http://h/a?u=http://b/").path_and_query, "/a?u=http://b/");
        assert_eq!(parse("http://h/{seq}/{\"a\":1}").path_and_query, "/{seq}/{\"a\":1}");
    }

    #[test]
    fn problems_are_precise() {
        for (text, problem) in [
            ("", UrlProblem::Empty),
            ("localhost:8080", UrlProblem::NoScheme),
            ("/path", UrlProblem::NoScheme),
            ("ftp://h/", UrlProblem::UnknownScheme),
            ("http:///x", UrlProblem::EmptyHost),
            ("http://:80/", UrlProblem::EmptyHost),
            ("http://h:x/", UrlProblem::PortNotANumber),
            ("http://h:+80/", UrlProblem::PortNotANumber),
            ("http://h:70000/", UrlProblem::PortOutOfRange),
            ("http://h:0/", UrlProblem::PortOutOfRange),
            ("http://h/a b", UrlProblem::Space { column: 11 }),
            ("http://h/é\t", UrlProblem::Control { column: 11 }),
            ("http://h\0/", UrlProblem::Control { column: 9 }),
            ("http://hé/", UrlProblem::HostCharacter { column: 9 }),
            ("http://a{seq}/", UrlProblem::HostCharacter { column: 9 }),
            ("http://[::1/", UrlProblem::BadIpv6),
            ("http://[::1]x/", UrlProblem::BadIpv6),
            ("http://[nope]/", UrlProblem::BadIpv6),
        ] {
            assert_eq!(TargetUrl::parse(text), Err(problem), "{text}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC*") {
            let _ = TargetUrl::parse(&text);
            let _ = TargetUrl::parse(&format!("http://{text}"));
        }

        /// The `url` crate (WHATWG) is the independent reading.
        #[test]
        fn agrees_with_the_url_crate(
            scheme in "(http|https|HTTP)",
            user in "([a-z]{1,5}(:[a-z0-9]{0,4})?@)?",
            host in "([a-z][a-z0-9-]{0,10}[a-z](\\.[a-z]{2,5})?|127\\.0\\.0\\.[1-9]|\\[::[1-9a-f]\\])",
            port in "(:[1-9][0-9]{0,3})?",
            path in "(/[a-z0-9_~-]{1,8}){0,3}/?",
            query in "(\\?[a-z0-9=&]{0,12})?",
            fragment in "(#[a-z]{0,4})?",
        ) {
            let text = format!("{scheme}://{user}{host}{port}{path}{query}{fragment}");
            let ours = TargetUrl::parse(&text).unwrap();
            let theirs = url::Url::parse(&text).unwrap();
            prop_assert_eq!(ours.scheme == Scheme::Https, theirs.scheme() == "https");
            prop_assert_eq!(Some(ours.host), theirs.host_str().map(|h| h.trim_matches(['[', ']'])));
            prop_assert_eq!(Some(ours.port), theirs.port_or_known_default());
            let mut target = Vec::new();
            ours.push_target(&mut target);
            let expected = match theirs.query() {
                Some(query) => format!("{}?{query}", theirs.path()),
                None => theirs.path().to_owned(),
            };
            prop_assert_eq!(String::from_utf8(target).unwrap(), expected);
            prop_assert_eq!(ours.userinfo.map(|u| u.split(':').next().unwrap()).unwrap_or(""), theirs.username());
            let their_host = match theirs.port() {
                Some(port) => format!("{}:{port}", theirs.host_str().unwrap()),
                None => theirs.host_str().unwrap().to_owned(),
            };
            prop_assert_eq!(ours.authority, their_host);
        }
    }
}
