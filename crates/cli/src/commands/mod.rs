//! The subcommands: one file each.

pub mod capture;
pub mod compare;
pub mod ctl;
pub mod demo;
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
pub mod pace;
pub mod report;
pub mod run;
pub mod runs;
pub mod send;
pub mod sweep;
pub mod target;
pub mod trials;
pub mod weigh;
pub mod weigh_backload;
pub mod weigh_http;
pub mod weigh_packets;
