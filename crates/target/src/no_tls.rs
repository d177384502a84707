//! What stands for TLS where the program was built without it: no settings can be, and so no session.

use crate::config::Tls;
pub(crate) use crate::tls_error::Received;
pub use crate::tls_error::TlsError;
use std::sync::Arc;

/// None can be made.
pub(crate) enum ServerConfig {}

/// No session.
pub(crate) enum Link {}

impl Link {
    pub fn new(config: Arc<ServerConfig>) -> Result<Self, TlsError> {
        match *config {}
    }

    pub fn is_established(&self) -> bool {
        match *self {}
    }

    pub fn receive(&mut self, _: &mut [u8], _: &mut Vec<u8>, _: impl FnMut(&[u8])) -> Received {
        match *self {}
    }

    pub fn encrypt(&mut self, _: &[u8], _: &mut Vec<u8>) -> bool {
        match *self {}
    }

    pub fn say_goodbye(&mut self, _: &mut Vec<u8>) {
        match *self {}
    }
}

pub(crate) fn server_config(_: &Tls) -> Result<Arc<ServerConfig>, TlsError> {
    Err(TlsError::LeftOut)
}
