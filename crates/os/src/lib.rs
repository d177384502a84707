//! What the operating system grants this process.

mod memory;

pub use memory::return_large_blocks;
