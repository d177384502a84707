//! The simulated hardware module: `tare fpga`, the packet commands through it, and its sessions.

mod by_module;
mod command;
mod loads;
mod schedules;
mod scripts;
mod simulator;
mod weighed;
mod written;
