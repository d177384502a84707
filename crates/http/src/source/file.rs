//! What a file of requests says: its first lines, and what it says as a whole.

use plan::{LineGlance, LineOrder, Plan, RequestLine, TargetUrl, Template, UrlProblem};
use std::ops::ControlFlow;
use units::Instant;

use super::groups::{Groups, Survey};
use super::{LineKind, SourceError};
use crate::endpoint::{EndpointId, Endpoints};
use crate::lines::LineFile;
use crate::request::RequestError;

/// Looks at the first lines, so that what is wrong with a file is mostly said before the start; and says how
/// many.
pub(super) fn check_file(
    file: &LineFile,
    plan: &Plan,
    mut check: impl FnMut(&RequestLine) -> Result<(), SourceError>,
) -> Result<(LineKind, usize), SourceError> {
    let (mut kind, mut count, mut failed) = (None, 0, None);
    let checked = file.check_first(|_, line| {
        let text = std::str::from_utf8(line).map_err(|_| "is not UTF-8 text".to_owned())?;
        let kind = *kind.get_or_insert(if text.starts_with('{') { LineKind::Json } else { LineKind::Url });
        let line = request_line(text, kind, plan.request.templates)?;
        count += 1;
        match check(&line) {
            Ok(()) => Ok(()),
            Err(SourceError::Request(error)) => Err(error.to_string()),
            // Of no one line.
            Err(other) => {
                failed.get_or_insert(other);
                Ok(())
            }
        }
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(checked.map(|()| (kind.unwrap_or(LineKind::Url), count))?),
    }
}

/// Finds what the file says as a whole. Only JSON lines have names and weights, and only a file that mentions
/// them is read to its end.
pub(super) fn look_over(
    file: &mut LineFile,
    order: LineOrder,
    kind: LineKind,
) -> Result<Groups, SourceError> {
    // A key may be written with escapes.
    let mentions = |file: &LineFile, key: &str| kind == LineKind::Json && file.mentions(&[key, "\\u"]);
    let mut survey = Survey::default();
    let may_have_names = mentions(file, "\"name\"");
    file.each(|_, line| {
        let text = String::from_utf8_lossy(line);
        let name = if may_have_names { LineGlance::at(&text).name } else { None };
        survey.add(name.as_deref(), || url_of(&text, kind));
        if survey.is_full(may_have_names) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if mentions(file, "\"weight\"") {
        weigh(file, order)?;
    }
    Ok(survey.groups())
}

fn weigh(file: &mut LineFile, order: LineOrder) -> Result<(), SourceError> {
    fn own_weight(line: &[u8]) -> Option<u32> {
        std::str::from_utf8(line).ok().and_then(|text| LineGlance::at(text).weight)
    }
    let mut first = None;
    file.each(|start, line| {
        first = own_weight(line).map(|_| start as u64);
        if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    match first {
        None => Ok(()),
        Some(start) if order != LineOrder::Random => {
            Err(SourceError::Weights { path: file.path().to_owned(), line: file.line_number_at(start) })
        }
        Some(_) => Ok(file.weigh(|line| own_weight(line).map_or(1, u64::from))?),
    }
}

fn url_of(text: &str, kind: LineKind) -> String {
    match kind {
        LineKind::Url => text.to_owned(),
        LineKind::Json => {
            RequestLine::from_json(text, false).map_or_else(|_| text.to_owned(), |line| line.url)
        }
    }
}

pub(super) fn request_line(text: &str, kind: LineKind, templates: bool) -> Result<RequestLine, String> {
    match kind {
        LineKind::Json => RequestLine::from_json(text, templates).map_err(|error| error.to_string()),
        LineKind::Url => {
            let say = |problem: UrlProblem| format!("{problem}; expected {}", problem.expected());
            TargetUrl::parse(text).map_err(say)?;
            if templates {
                Template::compile(text).map_err(|error| error.to_string())?;
            }
            Ok(RequestLine { url: text.to_owned(), ..Default::default() })
        }
    }
}

pub(super) fn endpoint_of(
    url: &str,
    endpoints: &mut Endpoints,
    plan: &Plan,
) -> Result<EndpointId, SourceError> {
    let parsed =
        TargetUrl::parse(url).map_err(|problem| RequestError::Url { url: url.to_owned(), problem })?;
    endpoints.of(&parsed, Instant::EPOCH, &plan.resolve).ok_or(SourceError::TooManyTargets)
}
