//! WHAT is sent: everything a user can ask for, resolved and valid.
//!
//! ```text
//! flags ─┐
//!        ├─► PlanFile (exactly what was typed) ─ resolve ─► Plan (nothing in it can be invalid)
//! TOML ──┘                                                    └─ canonical ─► plan.toml, hash
//! ```
//!
//! Past `resolve`, no value needs checking again. There is no I/O in the timed path here: files named in a
//! plan are opened by the engine.

#![forbid(unsafe_code)]

mod canonical;
mod checks;
mod error;
mod fields;
mod file;
mod files;
pub mod http_load;
mod limits;
mod model;
pub mod packets;
mod request_line;
mod resolve;
mod shapes;
mod suggest;
mod table;
mod target_url;
mod template;
mod typed;

pub use canonical::PlanHash;
pub use error::{Note, Place, PlanError};
pub use fields::FIELDS;
pub use file::{
    ConnectionFile, EngineFile, ExpectFile, LimitsFile, LoadFile, Origin, PlanFile, RequestFile,
    RequestSection, ResolveFile, StopFile, TlsFile,
};
pub use limits::{
    Bound, Comparison, Figure, LOWEST_ERROR_STATUS, Limit, LimitError, Limits, Percentile, Requests,
    Statistic, Time, Way,
};
pub use model::*;
pub use request_line::{LineError, LineGlance};
pub use suggest::nearest;
pub use target_url::{Scheme, TargetUrl, UrlProblem};
pub use template::{Position, Template, TemplateContext, TemplateError, Unfit, push_decimal};
pub use typed::{HeaderList, HeaderTyped, Typed, TypedList};

#[cfg(test)]
mod tests;
