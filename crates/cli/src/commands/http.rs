//! `tare http`: flags → plan → load.

use crate::commands::http_args::HttpArgs;
use run::{Failure, Options, Status};

/// Resolves the flags and runs the load.
pub fn run(args: &HttpArgs) -> Result<Status, Failure> {
    let file = args.plan_file().map_err(Failure::wrong)?;
    let (plan, notes) = file.resolve_with_notes().map_err(Failure::wrong)?;
    run::load(plan, notes, &Options::from(&args.output))
}
