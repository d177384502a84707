//! Reports of results made by hand.

mod ci;
mod common;
mod comparison;
mod contrast;
mod html;
mod text;
