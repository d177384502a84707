//! Programs in the kernel.

mod kernel;
