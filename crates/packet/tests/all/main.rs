//! Jobs from outside.

mod forward_xdp;
