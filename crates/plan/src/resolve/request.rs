//! `[request]`: what all requests have in common.

use super::Resolver;
use crate::checks::{self, Problem};
use crate::error::PlanError;
use crate::model::{Body, Expect, HttpVersion, RequestPlan};
use crate::request_line::{LineError, checked_header, expect, placeholder_problem, shortened};
use units::Picos;

const DEFAULT_TIMEOUT: Picos = Picos::from_secs(30);
const MOST_REDIRECTS: u32 = 100;

/// Names and values, as `RequestPlan` keeps them.
type HeaderPairs = Vec<(String, String)>;

impl Resolver<'_> {
    pub(super) fn request(&mut self) -> Result<RequestPlan, PlanError> {
        let typed = &self.file.request;
        let templates = typed.templates.unwrap_or(true);
        let body = self.body(templates)?;
        let (headers, host_header) = self.headers(templates)?;
        let version = self.table.choice(
            "request.http",
            typed.http.as_ref().map(|http| http.as_str()),
            &[("1.1", HttpVersion::Http11), ("1.0", HttpVersion::Http10), ("1", HttpVersion::Http10)],
        )?;
        let timeout = self.table.time("request.timeout", &typed.timeout)?.unwrap_or(DEFAULT_TIMEOUT);
        let request = RequestPlan {
            method: self.method(&body)?,
            headers,
            body,
            version: version.unwrap_or(HttpVersion::Http11),
            basic_auth: self.basic_auth()?,
            host: self.host(host_header)?,
            expect_continue: typed.expect_continue.unwrap_or(false),
            follow: self.follow()?,
            expect: self.expect()?,
            templates,
            timeout,
            idle_timeout: typed.idle_timeout.unwrap_or(false),
            same_checksum: typed.same_checksum.unwrap_or(false),
        };
        self.check_version(&request)?;
        Ok(request)
    }

    fn method(&self, body: &Body) -> Result<String, PlanError> {
        match &self.file.request.method {
            Some(text) => {
                checks::method(text).map_err(|problem| self.table.refuse("request.method", text, problem))
            }
            None if *body == Body::None => Ok("GET".to_owned()),
            None => Ok("POST".to_owned()),
        }
    }

    fn body(&self, templates: bool) -> Result<Body, PlanError> {
        let typed = &self.file.request;
        let given = [
            ("request.body", typed.body.as_ref()),
            ("request.body_file", typed.body_file.as_ref()),
            ("request.body_stream", typed.body_stream.as_ref()),
        ];
        let mut given = given.into_iter().filter_map(|(field, text)| text.map(|text| (field, text)));
        let Some((field, text)) = given.next() else { return Ok(Body::None) };
        if let Some((other, _)) = given.next() {
            return Err(self.table.both(other, field, "a request has only one body"));
        }
        if field == "request.body" {
            let problem = placeholder_problem(text, templates);
            return problem.map_or(Ok(Body::Inline(text.clone())), |p| {
                Err(self.table.refuse(field, &shortened(text), p))
            });
        }
        if text.is_empty() {
            return Err(self.table.wrong(field, text, "names no file", "the file that holds the body"));
        }
        Ok(if field == "request.body_file" { Body::File(text.into()) } else { Body::Streamed(text.into()) })
    }

    /// The headers, and a Host header taken out of them.
    fn headers(&self, templates: bool) -> Result<(HeaderPairs, Option<String>), PlanError> {
        let list = self.file.request.headers.as_ref().map_or(&[][..], |list| &list.0);
        let (mut headers, mut host) = (Vec::with_capacity(list.len()), None);
        for (index, typed) in list.iter().enumerate() {
            let field = format!("request.headers[{index}]");
            let checked = checked_header(typed, templates);
            let (name, value) =
                checked.map_err(|problem| self.table.refuse(&field, &typed.to_string(), problem))?;
            if name.eq_ignore_ascii_case("authorization") && self.file.request.user.is_some() {
                return Err(self.table.both(&field, "request.user", "both set the Authorization header"));
            }
            if !name.eq_ignore_ascii_case("host") {
                headers.push((name, value));
            } else if host.replace(value).is_some() || self.file.request.host.is_some() {
                return Err(self.table.both(&field, "request.host", "a request has only one Host"));
            }
        }
        Ok((headers, host))
    }

    fn host(&self, from_header: Option<String>) -> Result<Option<String>, PlanError> {
        let Some(text) = self.file.request.host.as_ref().or(from_header.as_ref()) else { return Ok(None) };
        match text.chars().find(|c| c.is_whitespace() || c.is_control() || *c == '/') {
            Some(bad) => {
                let problem = Problem::new(
                    format!("has {bad:?}"),
                    "a name and optionally a port, e.g. example.org:8080",
                );
                Err(self.table.refuse("request.host", text, problem))
            }
            None => Ok(Some(text.clone())),
        }
    }

    fn basic_auth(&self) -> Result<Option<String>, PlanError> {
        let Some(text) = &self.file.request.user else { return Ok(None) };
        let expected = "name:password";
        if !text.contains(':') {
            return Err(self.table.wrong("request.user", text, "has no ':'", expected));
        }
        if text.chars().any(|c| c.is_control()) {
            return Err(self.table.wrong("request.user", text, "has a control character", expected));
        }
        Ok(Some(text.clone()))
    }

    fn follow(&self) -> Result<u32, PlanError> {
        let typed = &self.file.request.follow;
        Ok(self.table.number("request.follow", typed, 0, MOST_REDIRECTS)?.unwrap_or(0))
    }

    fn expect(&self) -> Result<Expect, PlanError> {
        let Some(typed) = &self.file.request.expect else { return Ok(Expect::default()) };
        expect(typed).map_err(|error| match error {
            LineError::Value { field, value, problem, expected } => {
                self.table.refuse(&format!("request.{field}"), &value, Problem { problem, expected })
            }
            other => self.table.wrong("request.expect", "", other.to_string(), "an expectation"),
        })
    }

    /// HTTP/1.0 has no chunked coding and no 100.
    fn check_version(&self, request: &RequestPlan) -> Result<(), PlanError> {
        if request.version == HttpVersion::Http11 {
            return Ok(());
        }
        if matches!(request.body, Body::Streamed(_)) {
            let why = "a streamed body is sent in chunks, which HTTP/1.0 does not support";
            return Err(self.table.both("request.body_stream", "request.http", why));
        }
        if request.expect_continue {
            let why = "HTTP/1.0 does not support 100 Continue";
            return Err(self.table.both("request.expect_continue", "request.http", why));
        }
        Ok(())
    }
}
