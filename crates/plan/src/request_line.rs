//! One request as a JSON object on a line:
//! `{"method":"POST","url":"http://h/","headers":{"A":"b"},"body":"…","name":"buy","weight":3,"expect":{"status":"2xx"}}`.
//!
//! The same fields stand in `[[requests]]` of a plan; both are checked here.

use crate::checks::{self, Problem};
use crate::file::{ExpectFile, RequestFile, unknown_field};
use crate::model::{Expect, RequestLine};
use crate::suggest::nearest;
use crate::target_url::TargetUrl;
use crate::template::Template;
use crate::typed::{HeaderTyped, Typed};
use serde::Deserialize;
use std::borrow::Cow;
use thiserror::Error;

/// Why a line is not a request.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LineError {
    #[error("is not a JSON object: {problem} (column {column})")]
    Json { problem: String, column: usize },
    #[error("has the unknown key `{key}` before column {column}{}", hint(.suggestion))]
    UnknownKey { key: String, column: usize, suggestion: Option<String> },
    #[error("has no `{field}`; expected {expected}")]
    Missing { field: String, expected: String },
    #[error("`{field}`: '{value}' {problem}; expected {expected}")]
    Value { field: String, value: String, problem: String, expected: String },
}

fn hint(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

impl RequestLine {
    /// Reads one JSON line. With `templates`, placeholders in URL, headers and body are checked as well.
    pub fn from_json(line: &str, templates: bool) -> Result<Self, LineError> {
        if !line.trim_start().starts_with('{') {
            return Err(LineError::Json { problem: "it does not begin with '{'".to_owned(), column: 1 });
        }
        let typed: RequestFile = serde_json::from_str(line).map_err(|error| json_error(&error))?;
        Self::check(&typed, templates)
    }

    /// Checks what was typed in JSON or in `[[requests]]`.
    pub(crate) fn check(typed: &RequestFile, templates: bool) -> Result<Self, LineError> {
        let url = typed.url.clone().ok_or_else(|| LineError::Missing {
            field: "url".to_owned(),
            expected: "\"url\": \"http://host/path\"".to_owned(),
        })?;
        url_problem(&url, templates).map_or(Ok(()), |problem| Err(value_error("url", &url, problem)))?;
        let method = match &typed.method {
            Some(text) => Some(checks::method(text).map_err(|p| value_error("method", text, p))?),
            None => None,
        };
        if let Some(body) = &typed.body {
            placeholder_problem(body, templates)
                .map_or(Ok(()), |problem| Err(value_error("body", &shortened(body), problem)))?;
        }
        Ok(Self {
            url,
            method,
            headers: headers(typed, templates)?,
            body: typed.body.clone(),
            name: typed.name.clone(),
            weight: weight(typed)?,
            expect: typed.expect.as_ref().map(expect).transpose()?,
        })
    }
}

/// What a line says about the whole of its file: read without looking at the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineGlance<'a> {
    pub name: Option<Cow<'a, str>>,
    pub weight: Option<u32>,
}

impl<'a> LineGlance<'a> {
    /// Nothing, where the line is no request: then it is refused when its turn comes.
    pub fn at(line: &'a str) -> Self {
        #[derive(Deserialize)]
        struct Glance<'a> {
            #[serde(borrow)]
            name: Option<Cow<'a, str>>,
            weight: Option<Typed>,
        }
        let typed: Option<Glance<'a>> = serde_json::from_str(line).ok();
        typed.map_or_else(Self::default, |typed| Self {
            name: typed.name,
            weight: typed.weight.and_then(|weight| whole_weight(weight.as_str())),
        })
    }
}

fn whole_weight(text: &str) -> Option<u32> {
    text.parse().ok().filter(|weight| *weight > 0)
}

fn headers(typed: &RequestFile, templates: bool) -> Result<Vec<(String, String)>, LineError> {
    let list = typed.headers.as_ref().map_or(&[][..], |list| &list.0);
    let mut all = Vec::with_capacity(list.len());
    for (index, header) in list.iter().enumerate() {
        let field = format!("headers[{index}]");
        let checked = checked_header(header, templates);
        let (name, value) = checked.map_err(|problem| value_error(&field, &header.to_string(), problem))?;
        all.push((name, value));
    }
    Ok(all)
}

/// Splits and checks a header that the plan may set, with its placeholders.
pub(crate) fn checked_header(typed: &HeaderTyped, templates: bool) -> Result<(String, String), Problem> {
    let (name, value) = checks::header(typed)?;
    if let Some(instead) = checks::owned_by_plan(&name) {
        return Err(Problem::new("cannot be set by a plan", instead));
    }
    placeholder_problem(&value, templates).map_or(Ok((name, value)), Err)
}

fn weight(typed: &RequestFile) -> Result<Option<u32>, LineError> {
    let Some(text) = typed.weight.as_ref().map(|weight| weight.as_str()) else { return Ok(None) };
    let wrong = || value_error("weight", text, Problem::new("is not a weight", "a whole number from 1"));
    whole_weight(text).ok_or_else(wrong).map(Some)
}

/// Checks an `expect` table; fields are named relative to the request.
pub(crate) fn expect(typed: &ExpectFile) -> Result<Expect, LineError> {
    let list = typed.status.as_ref().map_or(&[][..], |list| &list.0);
    let status =
        checks::statuses(list).map_err(|(value, problem)| value_error("expect.status", &value, problem))?;
    let digest = match (&typed.md5, &typed.sha256) {
        (Some(_), Some(sha256)) => {
            let problem = Problem::new("comes with an MD5 digest", "one digest, either MD5 or SHA-256");
            return Err(value_error("expect.sha256", sha256, problem));
        }
        (Some(text), None) => Some(checks::md5(text).map_err(|p| value_error("expect.md5", text, p))?),
        (None, Some(text)) => Some(checks::sha256(text).map_err(|p| value_error("expect.sha256", text, p))?),
        (None, None) => None,
    };
    Ok(Expect { status, body_contains: typed.body_contains.clone(), digest })
}

fn value_error(field: &str, value: &str, problem: Problem) -> LineError {
    LineError::Value {
        field: field.to_owned(),
        value: value.to_owned(),
        problem: problem.problem,
        expected: problem.expected,
    }
}

/// What is wrong with a URL, if anything. A host with a placeholder can only be checked once it is rendered.
pub(crate) fn url_problem(text: &str, templates: bool) -> Option<Problem> {
    let wrong = |text: &str| match TargetUrl::parse(text) {
        Ok(_) => None,
        Err(problem) => Some(Problem::new(problem.to_string(), url_expected(text, problem))),
    };
    if !templates {
        return wrong(text);
    }
    let template = match Template::compile(text) {
        Ok(template) => template,
        Err(error) => return Some(template_problem(&error)),
    };
    if let Some(constant) = template.constant() {
        return wrong(&String::from_utf8_lossy(constant));
    }
    let after_scheme = text.split_once("://").map(|(_, rest)| rest);
    let authority = after_scheme.and_then(|rest| rest.split(['/', '?', '#']).next());
    if authority.is_some_and(|authority| authority.contains('{')) { None } else { wrong(text) }
}

fn url_expected(text: &str, problem: crate::UrlProblem) -> String {
    let with_scheme = format!("http://{text}");
    match problem {
        crate::UrlProblem::NoScheme if TargetUrl::parse(&with_scheme).is_ok() => with_scheme,
        _ => problem.expected().to_owned(),
    }
}

/// What is wrong with the placeholders of a text, if anything.
pub(crate) fn placeholder_problem(text: &str, templates: bool) -> Option<Problem> {
    let compiled = if templates { Template::compile(text).err() } else { None };
    compiled.as_ref().map(template_problem)
}

fn template_problem(error: &crate::TemplateError) -> Problem {
    let problem =
        format!("has the placeholder '{}' at column {}, {}", error.placeholder, error.column, error.problem);
    Problem::new(problem, error.expected.clone())
}

/// A long text, cut for a message.
pub(crate) fn shortened(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn json_error(error: &serde_json::Error) -> LineError {
    let message = error.to_string();
    let problem = message.split(" at line ").next().unwrap_or(&message);
    match unknown_field(problem) {
        Some((key, known)) => LineError::UnknownKey {
            key: key.to_owned(),
            column: error.column(),
            suggestion: nearest(key, known).map(str::to_owned),
        },
        None => LineError::Json { problem: problem.to_owned(), column: error.column() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Digest;

    fn message(line: &str) -> String {
        RequestLine::from_json(line, true).unwrap_err().to_string()
    }

    #[test]
    fn a_glance_sees_what_a_whole_look_does() {
        for line in [
            r#"{"url":"http://h/","name":"buy","weight":3}"#,
            r#"{"weight":"7","url":"http://h/","headers":{"name":"no"}}"#,
            r#"{"url":"http://h/","n\u0061me":"b\u00e9\"","body":"{\"name\":\"no\"}"}"#,
            r#"{"url":"http://h/"}"#,
        ] {
            let (glance, whole) = (LineGlance::at(line), RequestLine::from_json(line, true).unwrap());
            assert_eq!((glance.name.as_deref(), glance.weight), (whole.name.as_deref(), whole.weight));
        }
        for bad in ["", "{", r#"{"url":"http://h/","weight":0}"#, r#"{"name":1}"#] {
            assert_eq!(LineGlance::at(bad), LineGlance::default(), "{bad}");
        }
    }

    #[test]
    fn reads_every_field() {
        let line = r#"{"method":"POST","url":"http://h/{seq}","headers":{"B":"2","A":"1"},"body":"{\"a\":1}",
            "name":"buy","weight":3,"expect":{"status":[200,"3xx"],"body_contains":"ok",
            "md5":"d41d8cd98f00b204e9800998ecf8427e"}}"#;
        let request = RequestLine::from_json(line, true).unwrap();
        assert_eq!(request.method.as_deref(), Some("POST"));
        assert_eq!(request.headers, [("B".into(), "2".into()), ("A".into(), "1".into())]);
        assert_eq!(request.body.as_deref(), Some("{\"a\":1}"));
        assert_eq!((request.name.as_deref(), request.weight), (Some("buy"), Some(3)));
        let expect = request.expect.unwrap();
        assert_eq!(expect.status, [(200, 200), (300, 399)]);
        assert!(matches!(expect.digest, Some(Digest::Md5(_))));
        let pairs = RequestLine::from_json(r#"{"url":"http://h/","headers":[["A","1"],["A","2"]]}"#, true);
        assert_eq!(pairs.unwrap().headers, [("A".into(), "1".into()), ("A".into(), "2".into())]);
    }

    #[test]
    fn refusals_name_the_field() {
        for (line, expected) in [
            (
                r#"{"url":"http://h/","metod":"GET"}"#,
                "has the unknown key `metod` before column 26; did you mean `method`?",
            ),
            (r#"{"method":"GET"}"#, "has no `url`; expected \"url\": \"http://host/path\""),
            (r#"{"url":"h:80"}"#, "`url`: 'h:80' has no scheme; expected http://h:80"),
            (
                r#"{"url":"http://h:70000/"}"#,
                "`url`: 'http://h:70000/' has a port out of range; expected a port from 1 to 65535",
            ),
            (
                r#"{"url":"http://h/","weight":0}"#,
                "`weight`: '0' is not a weight; expected a whole number from 1",
            ),
            (
                r#"{"url":"http://h/","headers":{"A":"1\n2"}}"#,
                "`headers[0]`: 'A: 1\n2' has a control character ('\\n') in its value; expected text on one line",
            ),
            (
                r#"{"url":"http://h/{sqe}"}"#,
                "`url`: 'http://h/{sqe}' has the placeholder '{sqe}' at column 10, which is unknown; expected {seq}, or {{sqe}} for the text itself",
            ),
        ] {
            assert_eq!(message(line), expected);
        }
        assert!(message("{").starts_with("is not a JSON object: EOF while parsing"));
        assert!(message("[1]").starts_with("is not a JSON object"), "{}", message("[1]"));
    }

    #[test]
    fn a_placeholder_in_the_host_waits_for_rendering() {
        assert_eq!(url_problem("http://h{seq}.example:80/", true), None);
        assert!(url_problem("http://h{seq}.example:80/", false).is_some());
        assert!(url_problem("http://h/{seq} x", true).is_some());
    }
}
