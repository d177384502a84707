//! What can go wrong with a program, with the kernel's own words where it has some.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum BpfError {
    #[error("instruction {at}: {problem}")]
    Assembly { at: usize, problem: &'static str },
    /// The verifier's last lines say why.
    #[error("the kernel's verifier refused the program '{name}' ({error}): {log}")]
    Verifier { name: String, error: io::Error, log: String },
    #[error("{what} needs {capability}: run as root, or give it to the program by 'setcap {capability}+ep'")]
    Privilege { what: &'static str, capability: &'static str },
    /// The kernel or the driver has no such thing.
    #[error("{what} is not available: {error}")]
    Unsupported { what: &'static str, error: io::Error },
    #[error("{what}: {error}")]
    System { what: &'static str, error: io::Error },
}

impl BpfError {
    /// What the kernel said, if it was the kernel.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Verifier { error, .. } | Self::Unsupported { error, .. } | Self::System { error, .. } => {
                error.raw_os_error()
            }
            Self::Privilege { .. } => Some(libc::EPERM),
            Self::Assembly { .. } => None,
        }
    }

    /// Sorts an errno into the right words; `capability` is the one that `what` needs.
    pub(crate) fn of(what: &'static str, capability: &'static str, error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => Self::Privilege { what, capability },
            Some(libc::EOPNOTSUPP | libc::ENOSYS) => Self::Unsupported { what, error },
            _ => Self::System { what, error },
        }
    }
}
