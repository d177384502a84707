//! The catalogue from outside.

mod catalogue;
