//! The subcommands: one file each.

pub mod capture;
pub mod compare;
pub mod ctl;
#[cfg(feature = "target")]
pub mod demo;
#[cfg(feature = "doctor")]
pub mod doctor;
pub mod forward;
pub mod fpga;
pub mod frame_args;
pub mod gaps;
pub mod generate;
pub mod http;
pub mod http_args;
pub mod http_load;
pub mod lab;
pub mod output_args;
pub mod pace;
pub mod report;
pub mod run;
pub mod runs;
pub mod send;
pub mod sweep;
#[cfg(feature = "target")]
pub mod target;
pub mod trials;
#[cfg(feature = "weigh")]
pub mod weigh;
#[cfg(feature = "weigh")]
pub mod weigh_backload;
#[cfg(feature = "weigh")]
pub mod weigh_http;
#[cfg(feature = "weigh")]
pub mod weigh_packets;
#[cfg(feature = "weigh")]
mod weigh_place;
