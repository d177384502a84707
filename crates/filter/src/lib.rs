//! Firewall rules, and the decision that they make for a frame: the same in user space and in an XDP program.
