//! `tare weigh`: how much load this machine creates. Each kind of load has a file of its own.

use crate::commands::weigh_http::{self, WeighHttpArgs};
use crate::status::{Failure, Status};
use clap::{Args, Subcommand};

/// Say how much load this machine can create
#[derive(Args, Debug)]
pub struct WeighArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Http(Box<WeighHttpArgs>),
}

/// Weighs what was asked for.
pub fn run(args: &WeighArgs) -> Result<Status, Failure> {
    match &args.what {
        What::Http(args) => weigh_http::run(args),
    }
}
