//! Why a live view could not begin. Nothing was sent.

use std::net::SocketAddr;

/// See the module.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    #[error(
        "--live {typed}: is not an address; expected a port, an IP address, or both: --live=8273, \
         --live=127.0.0.1:8273"
    )]
    NoAddress { typed: String },
    #[error(
        "--live {address}: anyone who reaches this address could watch; give --live-token TOKEN, or use a \
         loopback address such as 127.0.0.1"
    )]
    Open { address: SocketAddr },
    #[error("--live {address}: {error}; expected an address of this host and a free port")]
    Bind { address: SocketAddr, error: std::io::Error },
    #[error(
        "--live-token: {0}; expected 12 to 200 of A–Z a–z 0–9 . _ ~ -, such as `openssl rand -hex 16` prints"
    )]
    Token(&'static str),
    #[error("--live-token @{file}: {error}; expected a file that contains only the token")]
    TokenFile { file: String, error: std::io::Error },
    /// The feature `page` was left out.
    #[error("--live: this tare was built without the live page; build it with --features page")]
    NoPage,
    /// The feature `view` was left out.
    #[error("this tare was built without the view on the terminal; build it with --features view")]
    NoView,
    #[error("the live page's thread could not be started: {0}")]
    Thread(std::io::Error),
    #[error("the terminal could not be set up ({0})")]
    Terminal(std::io::Error),
}
