//! placeholder
pub type Uring = super::epoll::Epoll;
