//! `tare http`, `tare http_load`, `tare weigh http`: against `tare target`, nginx, curl and scripted servers.

mod access_log;
mod bad_input;
mod crash;
mod endings;
mod faults;
mod features;
mod gross_tare_net;
mod http_as_curl;
mod http_load;
mod http_two_ways;
mod isolation;
mod known_truth;
mod limits;
mod memory;
mod overload;
mod plan_files;
mod predict;
mod recipes;
mod stall;
mod trust;
mod url_file;
mod via;
mod weigh_http;
