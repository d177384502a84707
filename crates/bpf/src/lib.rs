//! Programs for the kernel's BPF machine: an assembler, and the few system calls that load, attach and run them.
