//! What stands for the page and the view where a program was built without them. There can be none.

use crate::{About, Address, LiveError, Signals, Token, Update, Wish};
use std::sync::atomic::AtomicBool;
use units::Picos;

/// Without the feature `page`.
#[cfg(not(feature = "page"))]
pub enum Page {}

#[cfg(not(feature = "page"))]
impl Page {
    pub fn check(_: Address, _: Option<&Token>) -> Result<(), LiveError> {
        Err(LiveError::NoPage)
    }

    pub fn start(_: Address, _: Option<Token>, _: &[u32]) -> Result<Self, LiveError> {
        Err(LiveError::NoPage)
    }

    pub fn url(&self) -> String {
        match *self {}
    }

    pub fn wants(&self, _: bool) -> bool {
        match *self {}
    }

    pub fn show(&self, _: Update) {
        match *self {}
    }

    pub fn end(&mut self, _: String) {
        match *self {}
    }

    pub fn leave(self, _: Picos, _: &AtomicBool) {
        match self {}
    }
}

/// Without the feature `view`.
#[cfg(not(feature = "view"))]
pub enum Terminal {}

#[cfg(not(feature = "view"))]
impl Terminal {
    pub fn start(_: About, _: Signals, _: &[u32]) -> Result<Self, LiveError> {
        Err(LiveError::NoView)
    }

    pub fn show(&self, _: Update) {
        match *self {}
    }

    pub fn tell(&self, _: String) {
        match *self {}
    }

    pub fn wish(&self) -> Option<Wish> {
        match *self {}
    }

    pub fn is_there(&self) -> bool {
        match *self {}
    }
}
