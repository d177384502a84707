//! The subcommands: one file each.

pub mod demo;
pub mod http;
pub mod http_args;
pub mod run;
pub mod target;
