//! Limits: each expression read, and held against the length of the run.

use super::Resolver;
use crate::error::PlanError;
use crate::limits::{Limit, LimitError, Limits};
use crate::model::Stop;
use crate::packets::limit_places;
use crate::typed::TypedList;

impl Resolver<'_> {
    pub(super) fn limits(&self, stop: &Stop) -> Result<Limits, PlanError> {
        let section = &self.file.limits;
        let fail_if = self.limit_list("limits.fail_if", &section.fail_if, stop)?;
        let abort_if = self.limit_list("limits.abort_if", &section.abort_if, stop)?;
        for (index, limit) in abort_if.iter().enumerate() {
            if limit.window.is_none() && limit.bound.is_of_a_sum() && !limit.comparison.is_upward() {
                let why = format!("every run starts with '{limit}'");
                let field = format!("limits.abort_if[{index}]");
                return Err(self.table.missing(&field, "a window, such as in any 10s", why));
            }
        }
        let places = limit_places(&self.table, section);
        Ok(Limits { fail_if, abort_if, places })
    }

    fn limit_list(&self, key: &str, typed: &Option<TypedList>, stop: &Stop) -> Result<Vec<Limit>, PlanError> {
        let all = typed.iter().flat_map(|list| &list.0).enumerate();
        all.map(|(index, typed)| self.limit(&format!("{key}[{index}]"), typed.as_str(), stop)).collect()
    }

    fn limit(&self, field: &str, text: &str, stop: &Stop) -> Result<Limit, PlanError> {
        let refused =
            |error: LimitError| PlanError::Limit { place: self.table.at(field), error: Box::new(error) };
        let limit: Limit = text.parse().map_err(refused)?;
        match (limit.window, stop.duration) {
            (Some(window), Some(duration)) if window > duration => {
                let why = format!("a run of {duration} has no window for '{limit}'");
                Err(self.table.both(field, "stop.duration", why))
            }
            _ => Ok(limit),
        }
    }
}
