//! How sinks speak HTTP to their servers: with limits on everything, and errors in words.
//!
//! ```text
//! Web::new(place, url) ─ post(body) ─► 2xx, and no page for people: the answer
//!                                   ├► refused, no answer, 429, 5xx: Unreachable, which the hub tries again
//!                                   └► everything else: Refused, with what to do
//! ```
//!
//! Redirects are not followed, and proxies that the environment names are not used: figures go where `--to`
//! says. Passwords and tokens are in no message.

use crate::exporter::SinkError;
use crate::place::Place;
use base64::Engine;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Timeout};
use url::Url;

/// What is shorter is no secret, and stands in many words.
const SHORTEST_SECRET: usize = 4;
/// Look-up and connect together.
const CONNECT: Duration = Duration::from_secs(2);
/// The whole request.
const REQUEST: Duration = Duration::from_secs(5);
/// Bytes of an answer that are read at most.
const ANSWER: u64 = 64 * 1024;
/// Characters of a server's words that are told.
const WORDS: usize = 300;

/// What a server answered.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    /// `X-Influxdb-Version`, where it says so.
    pub version: Option<String>,
}

impl Answer {
    /// Whether it is HTML: of a login, of a proxy, of another program.
    fn is_page(&self) -> bool {
        let begin =
            String::from_utf8_lossy(&self.body[..self.body.len().min(256)]).trim_start().to_lowercase();
        begin.starts_with("<!doctype") || begin.starts_with("<html")
    }

    /// The first line of what it says, for people.
    pub fn words(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let line = text.lines().next().unwrap_or_default().trim();
        line.chars().filter(|c| !c.is_control()).take(WORDS).collect()
    }
}

/// One server, one kind of request.
pub struct Web {
    agent: Agent,
    place: Place,
    url: String,
    headers: Vec<(String, String)>,
    /// What is in no message, whoever says it.
    secrets: Vec<String>,
}

impl Web {
    /// `url` is without user and password, which are taken from the place.
    pub fn new(place: &Place, url: &Url) -> Result<Self, SinkError> {
        let config = Agent::config_builder()
            .timeout_connect(Some(CONNECT))
            .timeout_resolve(Some(CONNECT))
            .timeout_global(Some(REQUEST))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(concat!("tare/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls(place, url)?)
            .build();
        let mut web = Self {
            agent: config.into(),
            place: place.clone(),
            url: url.to_string(),
            headers: Vec::new(),
            secrets: Vec::new(),
        };
        let (user, password) = place.user();
        if !user.is_empty() || !password.is_empty() {
            let pair = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
            web.secrets.extend([password, pair.clone()]);
            web.header("Authorization", &format!("Basic {pair}"))?;
        }
        Ok(web)
    }

    /// With a token in the header `Authorization`.
    pub fn token(&mut self, scheme: &str, token: &str) -> Result<(), SinkError> {
        self.secrets.push(token.to_owned());
        self.headers.retain(|(name, _)| name != "Authorization");
        self.header("Authorization", &format!("{scheme} {token}"))
    }

    /// Every request has it.
    pub fn header(&mut self, name: &str, value: &str) -> Result<(), SinkError> {
        let printable = |byte: u8| byte == b'\t' || (b' '..0x7f).contains(&byte);
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(token) || !value.bytes().all(printable) {
            return Err(self.place.wrong(format!("{name} cannot be the name or value of an HTTP header")));
        }
        self.headers.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    /// A header whose value is nobody's business.
    pub fn secret_header(&mut self, name: &str, value: &str) -> Result<(), SinkError> {
        self.secrets.push(value.to_owned());
        self.header(name, value)
    }

    /// Sends it and waits for the answer, whatever its status; what is no answer is an error.
    pub fn post(&self, body: &[u8]) -> Result<Answer, SinkError> {
        let mut request = self.agent.post(&self.url);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let mut response = request.send(body).map_err(|why| self.trouble(why))?;
        let version = response.headers().get("x-influxdb-version").and_then(|value| value.to_str().ok());
        let version = version.map(str::to_owned);
        let body = response.body_mut().with_config().limit(ANSWER).read_to_vec();
        // The status is the answer; of what cannot be read nothing is needed.
        Ok(Answer { status: response.status().as_u16(), body: body.unwrap_or_default(), version })
    }

    /// `Ok` if the status is 2xx, and the answer no page for people; `advice` says what to do of those that are
    /// of this kind of server.
    pub fn deliver(
        &self,
        body: &[u8],
        advice: impl FnOnce(&Answer) -> Option<String>,
    ) -> Result<Answer, SinkError> {
        let answer = self.post(body)?;
        let said = |answer: &Answer| match answer.words() {
            words if words.is_empty() => String::new(),
            words => format!(" ('{words}')"),
        };
        let status = answer.status;
        let problem = match status {
            200..=299 if answer.is_page() => {
                format!(
                    "it responded with {status} and a page for people, so it stores nothing; check the address"
                )
            }
            200..=299 => return Ok(answer),
            300..=399 => {
                format!("it responded with {status}, which points elsewhere; name that place in --to")
            }
            429 | 500..=599 => {
                return Err(self.unreachable(format!("it responded with {status}{}", said(&answer))));
            }
            _ => match advice(&answer) {
                Some(advice) => format!("it responded with {status}{}: {advice}", said(&answer)),
                None if status == 401 || status == 403 => {
                    format!(
                        "it responded with {status}{}: the name, password or token is not accepted",
                        said(&answer)
                    )
                }
                None if status == 404 => {
                    format!(
                        "it responded with 404{}: nothing is at {}; check the path",
                        said(&answer),
                        self.path()
                    )
                }
                None => format!("it responded with {status}{}", said(&answer)),
            },
        };
        Err(self.place.refused(self.without_secrets(problem)))
    }

    fn path(&self) -> String {
        Url::parse(&self.url).map(|url| url.path().to_owned()).unwrap_or_default()
    }

    fn unreachable(&self, problem: String) -> SinkError {
        self.place.unreachable(self.without_secrets(problem))
    }

    fn without_secrets(&self, text: String) -> String {
        // Striking out single letters would tell them.
        let secrets = self.secrets.iter().filter(|secret| secret.chars().count() >= SHORTEST_SECRET);
        secrets.fold(text, |text, secret| text.replace(secret, "***"))
    }

    /// Why there is no response, and what to do.
    fn trouble(&self, why: ureq::Error) -> SinkError {
        match why {
            ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
                self.unreachable(format!("no connection within {} s: is it up?", CONNECT.as_secs()))
            }
            ureq::Error::Timeout(_) => {
                self.unreachable(format!("no response within {} s", REQUEST.as_secs()))
            }
            ureq::Error::HostNotFound => self.unreachable("this host's address is not known".to_owned()),
            ureq::Error::Io(why) => self.io_trouble(&why),
            ureq::Error::ConnectionFailed => self.unreachable("no connection: is it up?".to_owned()),
            ureq::Error::Rustls(why) => self.tls_trouble(&why.to_string()),
            ureq::Error::Tls(why) => self.tls_trouble(why),
            why @ (ureq::Error::Protocol(_) | ureq::Error::Http(_)) => self
                .place
                .refused(self.without_secrets(format!("the server there does not speak HTTP ({why})"))),
            why => self.unreachable(why.to_string()),
        }
    }

    fn io_trouble(&self, why: &std::io::Error) -> SinkError {
        let inner = why.get_ref().map(ToString::to_string).unwrap_or_default();
        match why.kind() {
            ErrorKind::ConnectionRefused => self.unreachable("nobody listens there: is it up?".to_owned()),
            ErrorKind::InvalidData if !inner.is_empty() => self.tls_trouble(&inner),
            ErrorKind::TimedOut => self.unreachable("no response in time".to_owned()),
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof => {
                self.unreachable(format!("it closed the connection without a response ({why})"))
            }
            _ => self.unreachable(why.to_string()),
        }
    }

    fn tls_trouble(&self, why: &str) -> SinkError {
        let advice = match why.contains("UnknownIssuer") {
            true => "; name its authority's PEM file with ?ca=FILE",
            false => "",
        };
        self.place.refused(self.without_secrets(format!("TLS fails: {why}{advice}")))
    }
}

/// Trusts the host's own store, or `?ca=FILE` alone.
fn tls(place: &Place, url: &Url) -> Result<TlsConfig, SinkError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = TlsConfig::builder().unversioned_rustls_crypto_provider(provider);
    let certificates = match place.option("ca") {
        _ if url.scheme() != "https" => Vec::new(),
        Some(file) => certificates_of(file).map_err(|problem| place.wrong(problem))?,
        None => {
            let native = rustls_native_certs::load_native_certs();
            native.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect()
        }
    };
    if url.scheme() == "https" && certificates.is_empty() {
        return Err(
            place.wrong("this host trusts no certificate authority (its store is empty); add ?ca=FILE")
        );
    }
    Ok(tls.root_certs(RootCerts::new_with_certs(&certificates)).build())
}

fn certificates_of(file: &str) -> Result<Vec<Certificate<'static>>, String> {
    let pem = std::fs::read(file).map_err(|why| format!("ca={file}: {why}"))?;
    let certificates: Vec<Certificate<'static>> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    match certificates.is_empty() {
        true => Err(format!("ca={file}: holds no certificate; expected a PEM file")),
        false => Ok(certificates),
    }
}

/// The address to speak HTTP to, made of a place's URL: `scheme://host:port/path`, without user, password and
/// options. `port` is the usual one of such servers; over TLS it is 443.
pub fn address(place: &Place, port: u16, path: &str, query: &[(&str, &str)]) -> Result<Url, SinkError> {
    let given = place.url();
    let host = given.host_str().unwrap_or_default();
    let (scheme, port) = if place.scheme().ends_with("https") { ("https", 443) } else { ("http", port) };
    let port = given.port().unwrap_or(port);
    let mut url = Url::parse(&format!("{scheme}://{host}:{port}"))
        .map_err(|why| place.wrong(format!("{host}: {why}")))?;
    url.set_path(path);
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    fn web(to: &str) -> Web {
        let place = Place::parse(to).unwrap();
        Web::new(&place, &address(&place, 4318, "/v1/metrics", &[]).unwrap()).unwrap()
    }

    /// What comes of one request that is answered so.
    fn answered(answer: &'static str) -> Result<Answer, SinkError> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4_096]);
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let outcome = web(&format!("otlp+http://me:s3cret@127.0.0.1:{port}")).deliver(b"", |_| None);
        server.join().unwrap();
        outcome
    }

    #[test]
    fn addresses_have_the_usual_port_and_no_password() {
        for (to, expected) in [
            ("otlp+http://h", "http://h:4318/v1/metrics"),
            ("otlp+http://me:s3cret@[::1]:5/x?token=a", "http://[::1]:5/v1/metrics"),
            // 443 is what https means.
            ("otlp+https://h", "https://h/v1/metrics"),
        ] {
            let place = Place::parse(to).unwrap();
            assert_eq!(address(&place, 4318, "/v1/metrics", &[]).unwrap().as_str(), expected);
        }
        let place = Place::parse("otlp+http://h").unwrap();
        let url = address(&place, 1, "/w", &[("db", "a b&c")]).unwrap();
        assert_eq!(url.as_str(), "http://h:1/w?db=a+b%26c");
    }

    #[test]
    fn a_server_that_repeats_the_password_is_not_quoted() {
        let why = answered("HTTP/1.1 400 x\r\nContent-Length: 16\r\n\r\nno s3cret for me").unwrap_err();
        assert!(why.to_string().ends_with("it responded with 400 ('no *** for me')"), "{why}");
        assert!(!why.may_pass());
    }

    #[test]
    fn what_may_pass_and_what_will_not() {
        assert!(answered("HTTP/1.1 204 x\r\n\r\n").is_ok());
        assert!(answered("HTTP/1.1 200 x\r\nContent-Length: 2\r\n\r\n{}").is_ok());
        let why =
            answered("HTTP/1.1 200 x\r\nContent-Length: 21\r\n\r\n\n <HTML><body>log in</b").unwrap_err();
        assert!(why.to_string().contains("a page for people") && !why.may_pass(), "{why}");
        for answer in
            ["HTTP/1.1 429 x\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n"]
        {
            assert!(answered(answer).unwrap_err().may_pass(), "{answer}");
        }
        let moved = "HTTP/1.1 302 x\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n";
        let why = answered(moved).unwrap_err();
        assert!(!why.may_pass() && why.to_string().contains("points elsewhere"), "{why}");
    }

    #[test]
    fn a_header_is_one_line() {
        let mut web = web("otlp+http://h");
        assert!(web.header("X-Key", "a\r\nX-Other: b").is_err());
        assert!(web.header("X Key", "a").is_err());
        assert!(web.header("X-Key", "a b").is_ok());
    }
}
