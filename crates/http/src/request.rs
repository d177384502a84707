//! Writing requests: everything that can be known before the run is rendered before the run.
//!
//! ```text
//! one URL, inline requests, short files ──► Prepared (ready bytes, or templates) ──► bytes
//! lines of a huge file                  ──► Writer::line (no allocation)         ──► bytes
//! ```

use base64::Engine as _;
use plan::{
    HttpVersion, Plan, RequestLine, Scheme, TargetUrl, Template, TemplateContext, TemplateError, UrlProblem,
    push_decimal,
};
use std::path::PathBuf;
use std::sync::Arc;
use units::Group;

use crate::endpoint::{EndpointId, EndpointKey};
use crate::exchange::Rules;
use crate::outgoing::{Body, COPY_LIMIT};
use crate::response::Asked;

/// Why a request could not be made ready; found before anything is sent.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    #[error("'{url}' {problem}; expected {}", problem.expected())]
    Url { url: String, problem: UrlProblem },
    #[error("{0}")]
    Template(#[from] TemplateError),
    #[error("--body @{path}: {error}")]
    Body { path: PathBuf, error: std::io::Error },
}

/// What a rendered request needs besides its bytes.
#[derive(Clone, Debug)]
pub struct Meta {
    pub group: Group,
    pub asked: Asked,
    pub rules: u16,
    /// How the body follows the bytes.
    pub body: Body,
    /// Bytes of the body that are not among the bytes given.
    pub body_bytes: u64,
}

/// A request made ready before the run.
#[derive(Debug)]
pub struct Prepared {
    pub endpoint: EndpointId,
    pub url: Box<str>,
    pub meta: Meta,
    parts: Parts,
}

#[derive(Debug)]
enum Parts {
    /// Head, and body if it is small.
    Ready(Box<[u8]>),
    Templates {
        target: Template,
        fields: Template,
        body: Option<Template>,
    },
}

/// Everything about requests that the plan says once for all.
#[derive(Debug)]
pub struct Writer {
    method: String,
    version: &'static str,
    /// Field lines after Host, without Content-Length.
    fields: String,
    host: Option<String>,
    body: PlanBody,
    expect_continue: bool,
    follow: bool,
    templates: bool,
    /// Absolute-form targets for a plain HTTP proxy.
    absolute: bool,
}

#[derive(Debug)]
enum PlanBody {
    None,
    Text(String),
    Bytes(Arc<[u8]>),
    Streamed,
}

impl Writer {
    pub fn new(plan: &Plan) -> Result<Self, RequestError> {
        let request = &plan.request;
        let body = match &request.body {
            plan::Body::None => PlanBody::None,
            plan::Body::Inline(text) => PlanBody::Text(text.clone()),
            plan::Body::File(path) => PlanBody::Bytes(
                std::fs::read(path).map_err(|error| RequestError::Body { path: path.clone(), error })?.into(),
            ),
            plan::Body::Streamed(_) => PlanBody::Streamed,
        };
        Ok(Self {
            method: request.method.clone(),
            version: match request.version {
                HttpVersion::Http10 => "HTTP/1.0",
                HttpVersion::Http11 => "HTTP/1.1",
            },
            fields: common_fields(plan),
            host: request.host.clone(),
            body,
            expect_continue: request.expect_continue,
            follow: request.follow > 0,
            templates: request.templates,
            absolute: plan.connection.proxy.is_some(),
        })
    }

    /// Makes one request ready.
    pub fn prepare(
        &self,
        line: &RequestLine,
        endpoint: EndpointId,
        group: Group,
        rules: u16,
        files: &mut Vec<String>,
    ) -> Result<Prepared, RequestError> {
        let url = TargetUrl::parse(&line.url)
            .map_err(|problem| RequestError::Url { url: line.url.clone(), problem })?;
        let method = line.method.as_deref().unwrap_or(&self.method);
        let text = line.body.as_deref().or(match &self.body {
            PlanBody::Text(text) => Some(text),
            _ => None,
        });
        let (start, fields) = self.head(method, &url, line);
        let mut compile = |text: &str| match self.templates {
            true => Template::compile_with(text, files),
            false => Ok(Template::literal(text)),
        };
        let (start, fields) = (compile(&start)?, compile(&fields)?);
        let body = text.map(&mut compile).transpose()?;
        let parts = match (start.constant(), fields.constant(), body.as_ref().map(Template::constant)) {
            (Some(_), Some(_), None | Some(Some(_))) => {
                Parts::Ready(self.ready(&start, &fields, body.as_ref(), method))
            }
            _ => Parts::Templates { target: start, fields, body },
        };
        let small_body = text.map_or(0, str::len);
        let meta = self.meta(method, group, rules, text.is_some().then_some(small_body));
        Ok(Prepared { endpoint, url: line.url.as_str().into(), meta, parts })
    }

    fn meta(&self, method: &str, group: Group, rules: u16, text: Option<usize>) -> Meta {
        let asked = Asked { no_body: method == "HEAD", location: self.follow };
        let (body, body_bytes) = match (&self.body, text) {
            (_, Some(length)) if self.expect_continue && length > 0 => (Body::Held(length), 0),
            (_, Some(_)) | (PlanBody::None | PlanBody::Text(_), None) => (Body::Inside, 0),
            (PlanBody::Bytes(bytes), None) if self.expect_continue => (Body::Held(bytes.len()), 0),
            (PlanBody::Bytes(bytes), None) if bytes.len() <= COPY_LIMIT => (Body::Inside, 0),
            (PlanBody::Bytes(bytes), None) => (Body::Shared(bytes.clone()), bytes.len() as u64),
            (PlanBody::Streamed, None) if self.expect_continue => (Body::HeldStream, 0),
            (PlanBody::Streamed, None) => (Body::Streamed, 0),
        };
        Meta { group, asked, rules, body, body_bytes }
    }

    /// Request line and Host; field lines after it, up to Content-Length.
    fn head(&self, method: &str, url: &TargetUrl<'_>, line: &RequestLine) -> (String, String) {
        let mut target = Vec::new();
        self.push_target(url, &mut target);
        let target = String::from_utf8_lossy(&target);
        let own_host = line.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
        let host =
            own_host.map(|(_, value)| value.as_str()).or(self.host.as_deref()).unwrap_or(url.authority);
        let mut fields = String::new();
        for (name, value) in line.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("host")) {
            fields.push_str(&format!("{name}: {value}\r\n"));
        }
        for common in self.fields.split_inclusive("\r\n") {
            let name = common.split(':').next().unwrap_or_default();
            if !line.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)) {
                fields.push_str(common);
            }
        }
        if let Some(userinfo) = url.userinfo.filter(|_| !has_field(&fields, "authorization")) {
            fields.push_str(&format!("Authorization: {}\r\n", basic(&percent_decoded(userinfo))));
        }
        (format!("{method} {target} {}\r\nHost: {host}\r\n", self.version), fields)
    }

    fn push_target(&self, url: &TargetUrl<'_>, out: &mut Vec<u8>) {
        if self.absolute && url.scheme == Scheme::Http {
            out.extend_from_slice(b"http://");
            out.extend_from_slice(url.authority.as_bytes());
        }
        url.push_target(out);
    }

    fn ready(&self, start: &Template, fields: &Template, body: Option<&Template>, method: &str) -> Box<[u8]> {
        let mut bytes = Vec::new();
        let constant = |part: &Template| part.constant().expect("checked to be constant").to_vec();
        bytes.extend(constant(start));
        bytes.extend(constant(fields));
        let body = body.map(constant);
        self.push_body(body.as_deref(), method, &mut bytes);
        bytes.into()
    }

    /// Length field, end of head and, if small, the body.
    fn push_body(&self, text: Option<&[u8]>, method: &str, out: &mut Vec<u8>) {
        let (length, inside): (Option<usize>, &[u8]) = match (text, &self.body) {
            (Some(text), _) => (Some(text.len()), text),
            (None, PlanBody::Bytes(bytes)) if bytes.len() <= COPY_LIMIT || self.expect_continue => {
                (Some(bytes.len()), bytes)
            }
            (None, PlanBody::Bytes(bytes)) => (Some(bytes.len()), &[]),
            (None, PlanBody::Streamed) => {
                out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
                (None, &[])
            }
            // RFC 9110 §8.6: methods that expect content say so when there is none.
            (None, _) => (matches!(method, "POST" | "PUT" | "PATCH").then_some(0), &[]),
        };
        if let Some(length) = length {
            out.extend_from_slice(b"Content-Length: ");
            push_decimal(out, length as u64);
            out.extend_from_slice(b"\r\n");
        }
        if self.expect_continue && (length.is_some_and(|l| l > 0) || matches!(self.body, PlanBody::Streamed))
        {
            out.extend_from_slice(b"Expect: 100-continue\r\n");
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(inside);
    }

    /// Appends the bytes of a prepared request.
    pub fn render(
        &self,
        prepared: &Prepared,
        out: &mut Vec<u8>,
        scratch: &mut Vec<u8>,
        context: &mut dyn TemplateContext,
    ) -> Body {
        match &prepared.parts {
            Parts::Ready(bytes) => {
                out.extend_from_slice(bytes);
                prepared.meta.body.clone()
            }
            Parts::Templates { target, fields, body } => {
                target.render(out, context);
                let method_end = out.iter().position(|b| *b == b' ').unwrap_or(0);
                let method = std::str::from_utf8(&out[..method_end]).unwrap_or_default().to_owned();
                fields.render(out, context);
                scratch.clear();
                if let Some(body) = body {
                    body.render(scratch, context);
                }
                let text = body.as_ref().map(|_| scratch.as_slice());
                self.push_body(text, &method, out);
                match (&prepared.meta.body, body) {
                    (Body::Held(_), Some(_)) => Body::Held(scratch.len()),
                    (other, _) => other.clone(),
                }
            }
        }
    }

    /// Appends the bytes of a request for a bare URL; for lines of huge files. Does not allocate.
    pub fn line(&self, url: &TargetUrl<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(self.method.as_bytes());
        out.push(b' ');
        self.push_target(url, out);
        out.push(b' ');
        out.extend_from_slice(self.version.as_bytes());
        out.extend_from_slice(b"\r\nHost: ");
        out.extend_from_slice(self.host.as_deref().unwrap_or(url.authority).as_bytes());
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(self.fields.as_bytes());
        let text = match &self.body {
            PlanBody::Text(text) => Some(text.as_bytes()),
            _ => None,
        };
        self.push_body(text, &self.method, out);
    }

    /// What belongs to a request written by `line`.
    pub fn line_meta(&self, group: Group, rules: u16) -> Meta {
        let text = match &self.body {
            PlanBody::Text(text) => Some(text.len()),
            _ => None,
        };
        self.meta(&self.method, group, rules, text)
    }

    /// The GET that follows a redirect to `url`.
    pub fn redirect(&self, method: &str, url: &TargetUrl<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(method.as_bytes());
        out.push(b' ');
        self.push_target(url, out);
        out.extend_from_slice(
            format!(" {}\r\nHost: {}\r\n{}\r\n", self.version, url.authority, self.fields).as_bytes(),
        );
    }

    pub fn templates(&self) -> bool {
        self.templates
    }
}

/// The CONNECT request for a tunnel to `key` (RFC 9110 §9.3.6).
pub fn connect_request(key: &EndpointKey) -> Vec<u8> {
    let host = if key.host.contains(':') { format!("[{}]", key.host) } else { key.host.to_string() };
    format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n", port = key.port).into_bytes()
}

/// One rule set for the plan, one for each line that has its own.
pub fn rules(plan: &Plan, lines: &[RequestLine]) -> (Vec<Rules>, Vec<u16>) {
    let same = plan.request.same_checksum;
    let mut all = vec![Rules::new(&plan.request.expect, same)];
    let of_line = lines
        .iter()
        .map(|line| match &line.expect {
            Some(expect) if all.len() < usize::from(u16::MAX) => {
                all.push(Rules::new(expect, same));
                all.len() as u16 - 1
            }
            _ => 0,
        })
        .collect();
    (all, of_line)
}

fn common_fields(plan: &Plan) -> String {
    let request = &plan.request;
    let mut fields = String::new();
    if !request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("user-agent")) {
        fields.push_str(concat!("User-Agent: tare/", env!("CARGO_PKG_VERSION"), "\r\n"));
    }
    for (name, value) in &request.headers {
        fields.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(user) = &request.basic_auth {
        fields.push_str(&format!("Authorization: {}\r\n", basic(user.as_bytes())));
    }
    if !has_field(&fields, "connection") {
        match (plan.connection.keep_alive, request.version) {
            (false, _) => fields.push_str("Connection: close\r\n"),
            (true, HttpVersion::Http10) => fields.push_str("Connection: keep-alive\r\n"),
            (true, HttpVersion::Http11) => {}
        }
    }
    fields
}

fn has_field(fields: &str, name: &str) -> bool {
    fields.lines().any(|line| line.split(':').next().is_some_and(|own| own.eq_ignore_ascii_case(name)))
}

fn basic(user_and_password: &[u8]) -> String {
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(user_and_password))
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match pair.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}
