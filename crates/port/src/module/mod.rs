//! `fpga`: the FPGA module, on a board or simulated (docs/fpga.md, docs/fpga-link.md).

pub mod register;
#[rustfmt::skip]
pub mod registers;
