//! HOW requests go out over kernel sockets.

pub mod response;
