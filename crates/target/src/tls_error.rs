//! Why TLS could not be set up, and what comes of the bytes of a session.

/// Why TLS could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {path}: {why}")]
    Pem { path: String, why: String },
    #[error("cannot write {path}: {why}")]
    Write { path: String, why: std::io::Error },
    #[error("cannot make a certificate: {0}")]
    Make(String),
    #[error("certificate or key cannot be used: {0}")]
    Use(String),
    #[error("client authority cannot be used: {0}")]
    ClientCa(String),
    /// The feature `tls` was left out.
    #[cfg(not(feature = "tls"))]
    #[error("this tare was built without TLS; build it with --features tls")]
    LeftOut,
}

/// What came of received bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    /// The client said that it sends nothing more.
    pub closed: bool,
    /// The handshake became complete with these bytes.
    pub established: bool,
    /// It failed; an alert may stand in `wire`, and the connection ends.
    pub failed: bool,
}
