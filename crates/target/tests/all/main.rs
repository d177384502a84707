//! The target from outside.

mod common;
mod faults;
mod places;
mod timing;
mod tls;
