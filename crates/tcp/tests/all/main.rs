//! The crate from outside, and against its specification.

mod bursts;
mod client;
mod hardware;
mod json;
mod peer;
mod peers;
mod random;
mod requirements;
mod rules;
mod script;
mod scripts;
mod specification;
mod transfer;
mod vectors;
