//! What stands for TLS where the program was built without it: no configuration can be, and so no session.

use crate::protocol::Protocol;
pub use crate::tls_error::TlsError;
use plan::TlsPlan;
use std::sync::Arc;
use units::Cause;

/// None can be made.
#[derive(Debug)]
pub enum ClientConfig {}

/// Any host: there is nobody to whom it would have to show who it is.
#[derive(Clone, Debug)]
pub struct ServerName;

/// No session.
#[derive(Debug)]
pub enum Layer {}

impl Layer {
    pub fn new(config: &Arc<ClientConfig>, _: &ServerName) -> Result<Self, TlsError> {
        match **config {}
    }

    pub fn is_handshaking(&self) -> bool {
        match *self {}
    }

    pub fn problem(&mut self) -> Option<Box<str>> {
        match *self {}
    }

    pub fn output(&mut self, _: Option<&mut impl Protocol>, _: &[u8]) -> &[u8] {
        match *self {}
    }

    pub fn wrote(&mut self, _: usize) -> (usize, usize) {
        match *self {}
    }

    pub fn received(&mut self, _: &[u8], _: impl FnMut(&[u8])) -> Result<bool, Cause> {
        match *self {}
    }
}

pub fn configure(_: &TlsPlan) -> Result<Arc<ClientConfig>, TlsError> {
    Err(TlsError::LeftOut)
}

pub fn server_name(_: &str) -> Result<ServerName, TlsError> {
    Ok(ServerName)
}
