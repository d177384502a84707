//! `url`, `file`, `[[requests]]` and `order`: where requests come from.

use super::Resolver;
use crate::checks::Problem;
use crate::error::PlanError;
use crate::model::{Body, LineOrder, RequestLine, RequestPlan, RequestSource};
use crate::request_line::{LineError, url_problem};

impl Resolver<'_> {
    pub(super) fn source(&self, request: &RequestPlan) -> Result<RequestSource, PlanError> {
        let file = self.file;
        let given = [
            ("url", file.url.is_some()),
            ("file", file.file.is_some()),
            ("requests", file.requests.is_some()),
        ];
        let mut given = given.into_iter().filter(|(_, is_set)| *is_set).map(|(field, _)| field);
        let first = given.next().ok_or(PlanError::NoTarget)?;
        if let Some(other) = given.next() {
            return Err(self.table.both(other, first, "requests can come from only one source"));
        }
        let order = self.table.choice(
            "order",
            file.order.as_deref(),
            &[
                ("random", LineOrder::Random),
                ("sequential", LineOrder::Sequential),
                ("shuffle", LineOrder::Shuffle),
            ],
        )?;
        if let Some(url) = &file.url {
            if order.is_some() {
                return Err(self.table.both("order", "url", "a single URL has no order"));
            }
            url_problem(url, request.templates).map_or(Ok(()), |p| Err(self.table.refuse("url", url, p)))?;
            return Ok(RequestSource::Url(url.clone()));
        }
        let order = order.unwrap_or(LineOrder::Random);
        if let Some(path) = &file.file {
            if path.is_empty() {
                return Err(self.table.wrong("file", path, "names no file", "a file of URLs, one per line"));
            }
            return Ok(RequestSource::File { path: path.into(), order });
        }
        Ok(RequestSource::Inline { requests: self.inline(request.templates, order)?, order })
    }

    fn inline(&self, templates: bool, order: LineOrder) -> Result<Vec<RequestLine>, PlanError> {
        let list = self.file.requests.as_deref().unwrap_or_default();
        if list.is_empty() {
            return Err(self.table.wrong("requests", "[]", "is empty", "at least one [[requests]]"));
        }
        let mut requests = Vec::with_capacity(list.len());
        for (index, typed) in list.iter().enumerate() {
            let request =
                RequestLine::check(typed, templates).map_err(|error| self.inline_error(index, error))?;
            if request.weight.is_some() && order != LineOrder::Random {
                let field = format!("requests[{index}].weight");
                return Err(self.table.both(&field, "order", "weights apply only if the order is random"));
            }
            requests.push(request);
        }
        Ok(requests)
    }

    fn inline_error(&self, index: usize, error: LineError) -> PlanError {
        match error {
            LineError::Value { field, value, problem, expected } => self.table.refuse(
                &format!("requests[{index}].{field}"),
                &value,
                Problem { problem, expected },
            ),
            LineError::Missing { field, expected } => self.table.missing(
                &format!("requests[{index}]"),
                format!("`{field}`"),
                format!("give {expected}"),
            ),
            // Not reached for a plan file, whose keys were checked by `from_toml`; kept as a message all the
            // same.
            other => self.table.wrong(&format!("requests[{index}]"), "", other.to_string(), "a request"),
        }
    }

    /// `Expect: 100-continue` goes with bodies only.
    pub(super) fn check_expect_continue(
        &self,
        request: &RequestPlan,
        source: &RequestSource,
    ) -> Result<(), PlanError> {
        let has_body = match source {
            RequestSource::Url(_) => request.body != Body::None,
            RequestSource::Inline { requests, .. } => {
                request.body != Body::None || requests.iter().any(|line| line.body.is_some())
            }
            RequestSource::File { .. } => true,
        };
        if request.expect_continue && !has_body {
            let needs = "--body (request.body)";
            return Err(self.table.missing(
                "request.expect_continue",
                needs,
                "without a body there is nothing to send after the 100",
            ));
        }
        Ok(())
    }
}
