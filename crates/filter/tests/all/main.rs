//! The rules from outside: against a linear search, and against the kernel.

mod first_match;
mod xdp_alike;
