//! Beds and the target from outside. Beds need root.

mod bed;
mod common;
mod faults;
mod places;
mod timing;
mod tls;
