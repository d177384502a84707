//! Nothing but dependencies: one set of features for all packages.
//!
//! Cargo builds a crate with the features that the packages being built ask for. Without this, `cargo test -p
//! tare-http` would build half of its dependencies again, and `cargo test` others than `cargo build`. Every
//! package has this among its development dependencies; the program itself does not.

#![forbid(unsafe_code)]
