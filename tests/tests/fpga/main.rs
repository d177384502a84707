//! The simulated hardware module: `tare fpga`, and the packet commands through it.

mod command;
mod loads;
mod scripts;
