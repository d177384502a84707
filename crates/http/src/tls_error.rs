//! Why TLS could not be set up; found before anything is sent.

use std::path::PathBuf;

/// See the module.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{flag} {path}: {problem}; expected a PEM file with {expected}")]
    File { flag: &'static str, path: PathBuf, problem: String, expected: &'static str },
    #[error("--ciphers: '{name}' is not known here; expected one of {known}")]
    Cipher { name: String, known: String },
    #[error("--ciphers: none of them belongs to the TLS versions {min} to {max}")]
    NoCipher { min: &'static str, max: &'static str },
    #[error("--cert and --key: {problem}")]
    Client { problem: String },
    #[error(
        "the host's store of trusted certificates is empty or unreadable ({problem}); give --ca FILE or --insecure"
    )]
    NoRoots { problem: String },
    /// The feature `tls` was left out.
    #[cfg(not(feature = "tls"))]
    #[error("https: this tare was built without TLS; build it with --features tls")]
    LeftOut,
    #[error("'{name}' cannot be a TLS server name; give one with --sni")]
    ServerName { name: String },
}
