//! Frame formats: one file per protocol, no I/O, no allocation in the timed path, no unsafe.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod signature;
mod template;

pub use signature::Signature;
pub use template::{Template, Times};
