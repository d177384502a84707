//! Writing requests: everything that can be known before the run is rendered before the run.
//!
//! ```text
//! any request ──► Prepared (bytes, or pieces with placeholders) ──┐
//! a line that is a bare URL ──────────────────────────────────────┴─► method target version host fields body
//! ```

use base64::Engine as _;
use plan::{
    HttpVersion, Plan, Position, RequestLine, Scheme, TargetUrl, Template, TemplateContext, TemplateError,
    Unfit, UrlProblem, push_decimal,
};
use std::path::PathBuf;
use units::Group;

use crate::endpoint::{EndpointId, EndpointKey};
use crate::outgoing::{Body, COPY_LIMIT};
use crate::redirect::{Chain, Sent};
use crate::response::RequestFacts;

/// Why a request could not be made ready; found before anything is sent.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    #[error("'{url}' {problem}; expected {}", problem.expected())]
    Url { url: String, problem: UrlProblem },
    #[error("{0}")]
    Template(#[from] TemplateError),
    #[error(
        "{0} has a placeholder, which a login cannot have: it is sent in base64; expected the header itself, such as \
         -H 'Authorization: Basic {{line:FILE}}' with a file of encoded logins, or --no-templates"
    )]
    Login(&'static str),
    #[error("--body @{path}: {error}")]
    Body { path: PathBuf, error: std::io::Error },
}

/// What a rendered request needs besides its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Meta {
    pub group: Group,
    pub asked: RequestFacts,
}

/// A request made ready before it is sent the first time.
#[derive(Debug)]
pub struct Prepared {
    pub endpoint: EndpointId,
    pub url: Box<str>,
    pub meta: Meta,
    method: Box<str>,
    target: Template,
    host: Template,
    /// `None`: those of the plan.
    fields: Option<Template>,
    /// `None`: that of the plan.
    body: Option<Template>,
}

impl Prepared {
    /// The request line of these bytes, if placeholders make it differ from one request to the next; else
    /// nothing.
    pub fn filled_line<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        match self.target.constant() {
            Some(_) => &[],
            None => &bytes[..memchr::memchr(b'\r', bytes).unwrap_or(bytes.len())],
        }
    }
}

/// Everything about requests that the plan says once for all.
#[derive(Debug)]
pub struct Writer {
    method: String,
    version: &'static str,
    /// Field lines after Host, without Content-Length.
    fields: String,
    compiled_fields: Template,
    host: Option<Template>,
    body: PlanBody,
    expect_continue: bool,
    follow: bool,
    templates: bool,
    /// For a proxy: it reads requests for http, which are in absolute form. The field line that it asks for.
    for_proxy: Option<String>,
    /// The value of Authorization by `--user`.
    by_user: Option<String>,
    has_authorization: bool,
}

#[derive(Debug)]
enum PlanBody {
    None,
    Text(Template),
    Bytes(Box<[u8]>),
    Streamed,
}

/// The pieces of a request, in order.
struct Pieces<'a> {
    method: &'a str,
    target: Piece<'a>,
    host: Piece<'a>,
    fields: &'a Template,
    body: Option<&'a Template>,
}

enum Piece<'a> {
    Template(&'a Template),
    /// The part of this URL that belongs here.
    Of(&'a TargetUrl<'a>),
}

impl Writer {
    /// Files of `{line:FILE}` are numbered by their places in `files`.
    pub fn new(plan: &Plan, files: &mut Vec<String>) -> Result<Self, RequestError> {
        let request = &plan.request;
        if request.basic_auth.as_deref().is_some_and(|user| request.templates && has_placeholder(user)) {
            return Err(RequestError::Login("--user"));
        }
        let mut compile = |text: &str| compile(text, request.templates, files);
        let fields = common_fields(plan);
        let compiled_fields = compile(&fields)?;
        let host = request.host.as_deref().map(&mut compile).transpose()?;
        let body = match &request.body {
            plan::Body::None => PlanBody::None,
            plan::Body::Inline(text) => PlanBody::Text(compile(text)?),
            plan::Body::File(path) => {
                let failed = |error| RequestError::Body { path: path.clone(), error };
                body_of_file(os::input::read(path).map_err(failed)?, request.templates, files)
            }
            plan::Body::Streamed(_) => PlanBody::Streamed,
        };
        Ok(Self {
            method: request.method.clone(),
            version: match request.version {
                HttpVersion::Http10 => "HTTP/1.0",
                HttpVersion::Http11 => "HTTP/1.1",
            },
            has_authorization: has_field(&fields, "authorization"),
            fields,
            compiled_fields,
            host,
            body,
            expect_continue: request.expect_continue,
            follow: request.follow > 0,
            templates: request.templates,
            for_proxy: plan.connection.proxy.is_some().then(|| proxy_field(plan)),
            by_user: request.basic_auth.as_ref().map(|user| basic(user.as_bytes())),
        })
    }

    /// Makes one request ready.
    pub fn prepare(
        &self,
        line: &RequestLine,
        endpoint: EndpointId,
        group: Group,
        files: &mut Vec<String>,
    ) -> Result<Prepared, RequestError> {
        let url = TargetUrl::parse(&line.url)
            .map_err(|problem| RequestError::Url { url: line.url.clone(), problem })?;
        if url.userinfo.is_some_and(|login| self.templates && has_placeholder(login)) {
            return Err(RequestError::Login("the login in the URL"));
        }
        let method = line.method.as_deref().unwrap_or(&self.method);
        let mut target = Vec::new();
        self.push_target(&url, &mut target);
        let own_host = line.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
        let mut compile = |text: &str| compile(text, self.templates, files);
        Ok(Prepared {
            endpoint,
            url: line.url.as_str().into(),
            meta: self.meta(method, group),
            method: method.into(),
            target: compile(&String::from_utf8_lossy(&target))?,
            host: match (own_host, &self.host) {
                (Some((_, value)), _) => compile(value)?,
                (None, Some(host)) => host.clone(),
                (None, None) => compile(url.authority)?,
            },
            fields: self.own_fields(&url, line).as_deref().map(&mut compile).transpose()?,
            body: line.body.as_deref().map(&mut compile).transpose()?,
        })
    }

    /// What belongs to a request of this method.
    pub fn meta(&self, method: &str, group: Group) -> Meta {
        let idempotent = matches!(method, "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS" | "TRACE");
        Meta { group, asked: RequestFacts { no_body: method == "HEAD", location: self.follow, idempotent } }
    }

    /// What belongs to a request written by `line`.
    pub fn line_meta(&self, group: Group) -> Meta {
        self.meta(&self.method, group)
    }

    /// The field lines after Host up to Content-Length, if they are not those of the plan alone.
    fn own_fields(&self, url: &TargetUrl<'_>, line: &RequestLine) -> Option<String> {
        let mut fields = String::new();
        // In a tunnel there is no proxy to read it.
        let tunnelled = self.for_proxy.is_some() && url.scheme == Scheme::Https;
        let is_elsewhere = |name: &str| {
            name.eq_ignore_ascii_case("host") || (tunnelled && name.eq_ignore_ascii_case(PROXY_AUTHORIZATION))
        };
        for (name, value) in line.headers.iter().filter(|(name, _)| !is_elsewhere(name)) {
            fields.push_str(&format!("{name}: {value}\r\n"));
        }
        if fields.is_empty() && !self.needs_own_fields(url) {
            return None;
        }
        for common in self.fields.split_inclusive("\r\n") {
            let name = common.split(':').next().unwrap_or_default();
            if !line.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)) {
                fields.push_str(common);
            }
        }
        if let Some(userinfo) = url.userinfo.filter(|_| !has_field(&fields, "authorization")) {
            fields.push_str(&format!("Authorization: {}\r\n", login_value(userinfo)));
        }
        if let Some(for_proxy) =
            self.for_proxy(url.scheme).filter(|_| !has_field(&fields, PROXY_AUTHORIZATION))
        {
            fields.push_str(for_proxy);
        }
        Some(fields)
    }

    /// Whether a request for this URL has field lines that others of the plan have not: its login, or the
    /// proxy's.
    fn needs_own_fields(&self, url: &TargetUrl<'_>) -> bool {
        let login = url.userinfo.is_some() && !self.has_authorization;
        login || self.for_proxy(url.scheme).is_some_and(|field| !field.is_empty())
    }

    fn push_target(&self, url: &TargetUrl<'_>, out: &mut Vec<u8>) {
        if self.for_proxy(url.scheme).is_some() {
            out.extend_from_slice(b"http://");
            out.extend_from_slice(url.authority.as_bytes());
        }
        url.push_target(out);
    }

    /// The field line for a proxy that reads the request itself, if there is such a proxy.
    fn for_proxy(&self, scheme: Scheme) -> Option<&str> {
        self.for_proxy.as_deref().filter(|_| scheme == Scheme::Http)
    }

    /// Length field, end of head and, if small, the body.
    fn push_body(&self, text: Option<&[u8]>, method: &str, out: &mut Vec<u8>) -> Body {
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
        let streamed = text.is_none() && matches!(self.body, PlanBody::Streamed);
        let waits = self.expect_continue && (streamed || length.is_some_and(|length| length > 0));
        if waits {
            out.extend_from_slice(b"Expect: 100-continue\r\n");
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(inside);
        match (text, &self.body) {
            _ if streamed && waits => Body::HeldStream,
            _ if streamed => Body::Streamed,
            _ if waits => Body::Held(inside.len()),
            (None, PlanBody::Bytes(bytes)) if inside.len() < bytes.len() => Body::OfPlan(bytes.len()),
            _ => Body::Inside,
        }
    }

    /// Appends the bytes of a prepared request.
    pub fn render(
        &self,
        prepared: &Prepared,
        out: &mut Vec<u8>,
        scratch: &mut Vec<u8>,
        context: &mut dyn TemplateContext,
    ) -> Result<Body, Unfit> {
        let pieces = Pieces {
            method: &prepared.method,
            target: Piece::Template(&prepared.target),
            host: Piece::Template(&prepared.host),
            fields: prepared.fields.as_ref().unwrap_or(&self.compiled_fields),
            body: prepared.body.as_ref().or(self.plan_text()),
        };
        self.write(pieces, out, scratch, context)
    }

    /// Whether a request is the same each time.
    pub fn is_fixed(&self, prepared: &Prepared) -> bool {
        let fields = prepared.fields.as_ref().unwrap_or(&self.compiled_fields);
        let body = prepared.body.as_ref().or(self.plan_text());
        let all = [Some(&prepared.target), Some(&prepared.host), Some(fields), body];
        all.into_iter().flatten().all(|part| part.constant().is_some())
    }

    /// Whether `line` writes this URL: it has no placeholder and needs no field of its own.
    pub fn is_bare(&self, text: &str, url: &TargetUrl<'_>) -> bool {
        !(self.needs_own_fields(url) || self.templates && text.contains('{'))
    }

    /// Appends the bytes of a request for a bare URL, as those of a prepared one. Does not allocate.
    pub fn line(
        &self,
        url: &TargetUrl<'_>,
        out: &mut Vec<u8>,
        scratch: &mut Vec<u8>,
        context: &mut dyn TemplateContext,
    ) -> Result<Body, Unfit> {
        let pieces = Pieces {
            method: &self.method,
            target: Piece::Of(url),
            host: self.host.as_ref().map_or(Piece::Of(url), Piece::Template),
            fields: &self.compiled_fields,
            body: self.plan_text(),
        };
        self.write(pieces, out, scratch, context)
    }

    /// What [`Body::OfPlan`] stands for.
    pub fn body(&self) -> &[u8] {
        match &self.body {
            PlanBody::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    fn plan_text(&self) -> Option<&Template> {
        match &self.body {
            PlanBody::Text(text) => Some(text),
            _ => None,
        }
    }

    fn write(
        &self,
        pieces: Pieces<'_>,
        out: &mut Vec<u8>,
        scratch: &mut Vec<u8>,
        context: &mut dyn TemplateContext,
    ) -> Result<Body, Unfit> {
        out.extend_from_slice(pieces.method.as_bytes());
        out.push(b' ');
        match pieces.target {
            Piece::Of(url) => self.push_target(url, out),
            Piece::Template(target) => target.render(out, context, Position::Target)?,
        }
        out.push(b' ');
        out.extend_from_slice(self.version.as_bytes());
        out.extend_from_slice(b"\r\nHost: ");
        match pieces.host {
            Piece::Of(url) => out.extend_from_slice(url.authority.as_bytes()),
            Piece::Template(host) => host.render(out, context, Position::Field)?,
        }
        out.extend_from_slice(b"\r\n");
        pieces.fields.render(out, context, Position::Field)?;
        let text = match pieces.body {
            // What never changes is not copied twice.
            Some(body) => match body.constant() {
                Some(constant) => Some(constant),
                None => {
                    scratch.clear();
                    body.render(scratch, context, Position::Body)?;
                    Some(scratch.as_slice())
                }
            },
            None => None,
        };
        Ok(self.push_body(text, pieces.method, out))
    }

    /// The beginning of a chain of redirects: the request that was sent, which is that of `url` in the plan.
    pub fn chain(&self, bytes: &[u8], body: &Body, url: Option<&str>, key: &EndpointKey) -> Option<Chain> {
        let by_url = url.and_then(|url| TargetUrl::parse(url).ok()?.userinfo).map(login_value);
        Chain::begin(&Sent {
            bytes,
            body,
            by_user: self.by_user.as_deref(),
            by_url: by_url.as_deref(),
            origin: &format!("{}://{}", if key.tls { "https" } else { "http" }, key.authority()),
            proxied: self.for_proxy.is_some(),
        })
    }

    /// Appends the request with which a chain goes on.
    pub fn follow(&self, chain: &Chain, out: &mut Vec<u8>) -> Body {
        chain.write(self.for_proxy.as_deref(), out)
    }
}

fn compile(text: &str, templates: bool, files: &mut Vec<String>) -> Result<Template, TemplateError> {
    if templates { Template::compile_with(text, files) } else { Ok(Template::literal(text)) }
}

/// Whether one of a request's values would stand here; braces around anything else are text.
fn has_placeholder(text: &str) -> bool {
    Template::compile_loosely(text, &mut Vec::new()).constant().is_none()
}

/// A file with placeholders is filled for each request; any other is sent from where it lies.
fn body_of_file(bytes: Vec<u8>, templates: bool, files: &mut Vec<String>) -> PlanBody {
    let text = std::str::from_utf8(&bytes).ok().filter(|text| templates && text.contains('{'));
    let template = text.map(|text| Template::compile_loosely(text, files));
    match template.filter(|template| template.constant().is_none_or(|constant| constant != bytes)) {
        Some(template) => PlanBody::Text(template),
        None => PlanBody::Bytes(bytes.into()),
    }
}

/// The CONNECT request for a tunnel to `key` (RFC 9110 §9.3.6), with what the proxy is to know.
pub fn connect_request(plan: &Plan, key: &EndpointKey) -> Vec<u8> {
    let authority = key.authority();
    format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{}\r\n", proxy_field(plan)).into_bytes()
}

const PROXY_AUTHORIZATION: &str = "proxy-authorization";

/// The field lines that a proxy asks for: as typed, or from the login in its URL.
fn proxy_field(plan: &Plan) -> String {
    let typed =
        plan.request.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(PROXY_AUTHORIZATION));
    let typed: String = typed.map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    match &plan.connection.proxy_login {
        Some(login) if typed.is_empty() => format!("Proxy-Authorization: {}\r\n", login_value(login)),
        _ => typed,
    }
}

fn common_fields(plan: &Plan) -> String {
    let request = &plan.request;
    let mut fields = String::new();
    if !request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("user-agent")) {
        fields.push_str(concat!("User-Agent: tare/", env!("CARGO_PKG_VERSION"), "\r\n"));
    }
    let to_proxy =
        |name: &str| plan.connection.proxy.is_some() && name.eq_ignore_ascii_case(PROXY_AUTHORIZATION);
    for (name, value) in request.headers.iter().filter(|(name, _)| !to_proxy(name)) {
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

/// The value of Authorization by `user:password` as it stands in a URL.
pub fn login_value(userinfo: &str) -> String {
    basic(&percent_decoded(userinfo))
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
