//! http_load's `-checksum`: every body of a URL must be equal to the first one. Bounded memory.

use md5::{Digest as _, Md5};
use std::collections::HashMap;
use std::sync::Mutex;

/// URLs whose first body is remembered; bodies of further URLs are not compared.
const LIMIT: usize = 1 << 18;

/// What tells URLs apart: their MD5, which takes no memory of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UrlKey([u8; 16]);

impl UrlKey {
    /// `filled`: the request line, where placeholders make a URL of its own for each request; else empty.
    pub fn of(url: &str, filled: &[u8]) -> Self {
        Self(Md5::new().chain_update(url).chain_update(filled).finalize().into())
    }
}

/// The MD5 of the first body of each URL, shared by all threads.
#[derive(Debug, Default)]
pub struct SameBodies {
    first: Mutex<HashMap<UrlKey, [u8; 16]>>,
}

impl SameBodies {
    /// Whether this body equals the first one of its URL.
    pub fn agrees(&self, url: UrlKey, digest: [u8; 16]) -> bool {
        let Ok(mut first) = self.first.lock() else { return true };
        if let Some(known) = first.get(&url) {
            return *known == digest;
        }
        if first.len() < LIMIT {
            first.insert(url, digest);
        }
        true
    }
}
