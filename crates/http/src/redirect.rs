//! Redirects: what of a request goes on to where the target sends it (RFC 9110 §15.4), as curl does.
//!
//! | status | method | body |
//! |---|---|---|
//! | 301, 302 | POST becomes GET, others stay | goes with POST |
//! | 303 | GET; HEAD stays | goes |
//! | 307, 308 | stays | stays |
//!
//! The request is the one that was sent first: its templates are not filled again. `Authorization` and `Cookie`
//! go only to the first URL's scheme, host and port; a Host that was asked for goes to the first host alone.

use url::{Position, Url};

use crate::outgoing::Body;
use crate::request::login_value;

/// Fields that describe a body: with the body, they go (RFC 9110 §15.4), and so do those that frame it.
const OF_A_BODY: [&[u8]; 9] = [
    b"content-length",
    b"transfer-encoding",
    b"expect",
    b"content-type",
    b"content-encoding",
    b"content-language",
    b"content-location",
    b"digest",
    b"last-modified",
];

/// A request on its way along redirects.
#[derive(Debug)]
pub struct Chain {
    /// Redirects that were followed.
    pub hops: u32,
    first: Url,
    url: Url,
    method: Vec<u8>,
    version: Vec<u8>,
    /// A Host other than the first URL's.
    host: Option<Vec<u8>>,
    /// Field lines, without Host, and without what goes to a proxy or follows from a login.
    fields: Vec<u8>,
    /// The field line for a proxy that reads the request.
    for_proxy: Vec<u8>,
    /// The value of Authorization that follows from `--user` or a URL.
    login: Option<String>,
    /// It does not change with the URL.
    login_stays: bool,
    /// The part of the body that stands with the head.
    content: Vec<u8>,
    body: Body,
}

/// What the first request of a chain was.
pub struct Sent<'a> {
    /// Head, and body as far as it stands with the head.
    pub bytes: &'a [u8],
    pub body: &'a Body,
    /// The values of Authorization that `--user` and the URL would give.
    pub by_user: Option<&'a str>,
    pub by_url: Option<&'a str>,
    /// `http://host:port`, without a path.
    pub origin: &'a str,
    /// Whether a proxy reads its head.
    pub proxied: bool,
}

impl Chain {
    /// `None` if the request is none that a URL can be made of.
    pub fn begin(sent: &Sent<'_>) -> Option<Self> {
        let end = memchr::memmem::find(sent.bytes, b"\r\n\r\n")?;
        let (head, content) = (&sent.bytes[..end + 2], &sent.bytes[end + 4..]);
        let (line, fields) = head.split_at(memchr::memchr(b'\n', head)? + 1);
        let line = line.trim_ascii_end();
        let (before, after) = (memchr::memchr(b' ', line)?, memchr::memrchr(b' ', line)?);
        let target = std::str::from_utf8(line.get(before + 1..after)?).ok()?;
        let mut url = match target.starts_with('/') {
            true => Url::parse(&format!("{}{target}", sent.origin)).ok()?,
            false => Url::parse(target).ok()?,
        };
        url.set_fragment(None);
        let mut chain = Self {
            hops: 0,
            first: url.clone(),
            method: line[..before].to_vec(),
            version: line[after + 1..].to_vec(),
            host: None,
            fields: Vec::with_capacity(fields.len()),
            for_proxy: Vec::new(),
            login: None,
            login_stays: false,
            content: content.to_vec(),
            body: *sent.body,
            url,
        };
        for field in fields.split_inclusive(|byte| *byte == b'\n') {
            chain.take(field, sent);
        }
        Some(chain)
    }

    fn take(&mut self, field: &[u8], sent: &Sent<'_>) {
        let value = field.get(name(field).len() + 1..).unwrap_or_default().trim_ascii();
        let is_by = |login: Option<&str>| login.is_some_and(|login| login.as_bytes() == value);
        if is(field, b"host") {
            let usual = value.eq_ignore_ascii_case(authority(&self.url).as_bytes());
            self.host = (!usual).then(|| value.to_vec());
            return;
        }
        if is(field, b"proxy-authorization") && sent.proxied {
            return self.for_proxy.extend_from_slice(field);
        }
        if is(field, b"authorization") {
            // One that was typed is the only one.
            self.login_stays = !is_by(sent.by_url);
            if is_by(sent.by_user) || is_by(sent.by_url) {
                self.login = Some(String::from_utf8_lossy(value).into_owned());
                return;
            }
        }
        self.fields.extend_from_slice(field);
    }

    /// Goes on to where an answer with this status sends it. False if that is no place for a request.
    pub fn follow(&mut self, status: u16, location: &str) -> bool {
        let Ok(mut next) = self.url.join(location) else { return false };
        if !matches!(next.scheme(), "http" | "https") || next.host_str().is_none_or(str::is_empty) {
            return false;
        }
        next.set_fragment(None);
        self.hops += 1;
        // Another service, though perhaps of the same host: as curl does, its login is forgotten for good.
        if next.scheme() != self.url.scheme()
            || next.port_or_known_default() != self.url.port_or_known_default()
        {
            self.login = None;
        }
        if (!next.username().is_empty() || next.password().is_some()) && !self.login_stays {
            let login = format!("{}:{}", next.username(), next.password().unwrap_or_default());
            self.login = Some(login_value(&login));
        }
        // An http URL with a host can be without them.
        let _ = (next.set_username(""), next.set_password(None));
        self.url = next;
        self.switch_method(status);
        true
    }

    fn switch_method(&mut self, status: u16) {
        let becomes_get = match status {
            301 | 302 => self.method == b"POST",
            303 => self.method != b"HEAD",
            _ => false,
        };
        if !becomes_get {
            return;
        }
        self.method = b"GET".to_vec();
        self.content.clear();
        self.body = Body::Inside;
        let stays = |field: &&[u8]| !OF_A_BODY.iter().any(|name| is(field, name));
        self.fields =
            self.fields.split_inclusive(|byte| *byte == b'\n').filter(stays).flatten().copied().collect();
    }

    /// Where the request goes now.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Appends the request. `for_proxy` is the field line for a proxy that reads the request, if there is such
    /// a proxy.
    pub fn write(&self, for_proxy: Option<&str>, out: &mut Vec<u8>) -> Body {
        let for_proxy = for_proxy.filter(|_| self.url.scheme() == "http");
        let authority = authority(&self.url);
        out.extend_from_slice(&self.method);
        out.push(b' ');
        if for_proxy.is_some() {
            out.extend_from_slice(b"http://");
            out.extend_from_slice(authority.as_bytes());
        }
        out.extend_from_slice(self.url[Position::BeforePath..Position::AfterQuery].as_bytes());
        out.push(b' ');
        out.extend_from_slice(&self.version);
        out.extend_from_slice(b"\r\nHost: ");
        let same_host = self.url.host_str() == self.first.host_str();
        out.extend_from_slice(self.host.as_deref().filter(|_| same_host).unwrap_or(authority.as_bytes()));
        out.extend_from_slice(b"\r\n");
        let at_home = self.url.origin() == self.first.origin();
        for field in self.fields.split_inclusive(|byte| *byte == b'\n') {
            if at_home || !(is(field, b"authorization") || is(field, b"cookie")) {
                out.extend_from_slice(field);
            }
        }
        if let Some(login) = self.login.as_ref().filter(|_| at_home) {
            out.extend_from_slice(format!("Authorization: {login}\r\n").as_bytes());
        }
        if let Some(plans) = for_proxy {
            let own = Some(self.for_proxy.as_slice()).filter(|own| !own.is_empty());
            out.extend_from_slice(own.unwrap_or(plans.as_bytes()));
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.content);
        self.body
    }
}

/// As the Host field has it.
fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn name(field: &[u8]) -> &[u8] {
    &field[..memchr::memchr(b':', field).unwrap_or(field.len())]
}

fn is(field: &[u8], wanted: &[u8]) -> bool {
    name(field).eq_ignore_ascii_case(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From whom the login in the first request is.
    #[derive(Clone, Copy)]
    enum Login {
        None,
        Given,
        OfUrl,
    }

    fn begin(request: &str, login: Login) -> Chain {
        const LOGIN: Option<&str> = Some("Basic eDp5");
        let sent = Sent {
            bytes: request.as_bytes(),
            body: &Body::Inside,
            by_user: LOGIN.filter(|_| matches!(login, Login::Given)),
            by_url: LOGIN.filter(|_| matches!(login, Login::OfUrl)),
            origin: "http://a:8080",
            proxied: false,
        };
        Chain::begin(&sent).unwrap()
    }

    fn written(chain: &Chain) -> String {
        let mut out = Vec::new();
        chain.write(None, &mut out);
        String::from_utf8(out).unwrap()
    }

    const POST: &str = "POST /x?q=1 HTTP/1.1\r\nHost: a:8080\r\nX-Id: 7\r\nContent-Type: a/b\r\nContent-Length: 4\r\n\r\nbody";

    #[test]
    fn method_and_body_follow_the_status() {
        let as_get = "GET /next HTTP/1.1\r\nHost: a:8080\r\nX-Id: 7\r\n\r\n";
        let as_it_was = POST.replace("/x?q=1", "/next");
        for (status, expected) in
            [(301, as_get), (302, as_get), (303, as_get), (307, as_it_was.as_str()), (308, &as_it_was)]
        {
            let mut chain = begin(POST, Login::None);
            assert!(chain.follow(status, "/next"));
            assert_eq!(written(&chain), expected, "{status}");
        }
        for (method, status, expected) in [
            ("PUT", 301, "PUT"),
            ("PUT", 303, "GET"),
            ("DELETE", 302, "DELETE"),
            ("DELETE", 303, "GET"),
            ("HEAD", 303, "HEAD"),
        ] {
            let mut chain = begin(&POST.replace("POST", method), Login::None);
            assert!(chain.follow(status, "/next"));
            assert!(written(&chain).starts_with(&format!("{expected} /next ")), "{method} {status}");
        }
    }

    #[test]
    fn what_became_get_stays_get() {
        let mut chain = begin(POST, Login::None);
        assert!(chain.follow(303, "one") && chain.follow(307, "two"));
        assert_eq!(chain.hops, 2);
        assert_eq!(written(&chain), "GET /two HTTP/1.1\r\nHost: a:8080\r\nX-Id: 7\r\n\r\n");
    }

    const SECRET: &str = "GET / HTTP/1.1\r\nHost: shop\r\nAuthorization: T\r\nCookie: c=1\r\nX-A: 1\r\n\r\n";

    #[test]
    fn secrets_go_to_the_first_origin_alone() {
        let at_home = SECRET.replace("GET / ", "GET /y ");
        let elsewhere = |host: &str| format!("GET /y HTTP/1.1\r\nHost: {host}\r\nX-A: 1\r\n\r\n");
        for (location, expected) in [
            ("/y#top", at_home.clone()),
            ("http://a:8080/y", at_home.clone()),
            ("http://A:8080/y", at_home.clone()),
            ("http://b:8080/y", elsewhere("b:8080")),
            // The same host: what Host says stays.
            ("http://a:8081/y", elsewhere("shop")),
            ("https://a:8080/y", elsewhere("shop")),
        ] {
            let mut chain = begin(SECRET, Login::None);
            assert!(chain.follow(302, location));
            assert_eq!(written(&chain), expected, "{location}");
        }
        let mut chain = begin(SECRET, Login::None);
        assert!(chain.follow(302, "http://b/") && chain.follow(302, "http://a:8080/y"));
        assert_eq!(written(&chain), at_home);
    }

    #[test]
    fn a_login_is_forgotten_with_its_port_and_one_in_the_location_takes_its_place() {
        const OWN: &str = "GET / HTTP/1.1\r\nHost: a:8080\r\nAuthorization: Basic eDp5\r\n\r\n";
        let login = |login: Login, locations: &[&str]| {
            let mut chain = begin(OWN, login);
            assert!(locations.iter().all(|location| chain.follow(302, location)));
            written(&chain).lines().find_map(|line| Some(line.strip_prefix("Authorization: ")?.to_owned()))
        };
        let (old, new) = (Some("Basic eDp5".to_owned()), Some("Basic bmV3OmxvZ2lu".to_owned()));
        assert_eq!(login(Login::Given, &["/y"]), old);
        assert_eq!(login(Login::Given, &["http://b:8080/", "http://a:8080/"]), old);
        assert_eq!(login(Login::Given, &["http://a:9/", "http://a:8080/"]), None);
        assert_eq!(login(Login::Given, &["http://new:login@a:8080/"]), old);
        assert_eq!(login(Login::OfUrl, &["http://new:login@a:8080/"]), new);
        assert_eq!(login(Login::OfUrl, &["http://new:login@b:8080/"]), None);
    }

    #[test]
    fn what_is_no_http_url_is_not_followed() {
        for location in ["ftp://a/", "http://", "http://[", "mailto:x@y", "javascript:1"] {
            assert!(!begin(POST, Login::None).follow(302, location), "{location}");
        }
    }

    #[test]
    fn the_proxys_field_goes_to_the_proxy_alone() {
        let sent = Sent {
            bytes: b"GET http://a/ HTTP/1.1\r\nHost: a\r\nProxy-Authorization: P\r\n\r\n",
            body: &Body::Inside,
            by_user: None,
            by_url: None,
            origin: "http://a",
            proxied: true,
        };
        let mut chain = Chain::begin(&sent).unwrap();
        let line = Some("Proxy-Authorization: Q\r\n");
        let mut out = Vec::new();
        assert!(chain.follow(302, "https://a/"));
        chain.write(line, &mut out);
        assert_eq!(out, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(chain.follow(302, "http://a/y"));
        out.clear();
        chain.write(line, &mut out);
        assert_eq!(out, b"GET http://a/y HTTP/1.1\r\nHost: a\r\nProxy-Authorization: P\r\n\r\n");
    }
}
