//! The way through a proxy: a CONNECT request, which the proxy answers before anything else is said (RFC 9110
//! §9.3.6).

use crate::response::{Item, RequestFacts, ResponseReader};

/// See the module.
#[derive(Debug)]
pub struct Tunnel {
    request: Vec<u8>,
    sent: usize,
    reader: ResponseReader,
}

/// What a proxy has said so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Incomplete,
    /// The tunnel is open.
    Yes,
    /// The tunnel is open, and bytes follow that nobody asked for.
    TooMuch,
    No,
}

impl Tunnel {
    pub fn new(request: Vec<u8>) -> Self {
        Self { request, sent: 0, reader: ResponseReader::new() }
    }

    /// What the proxy is still to be sent.
    pub fn output(&self) -> &[u8] {
        &self.request[self.sent..]
    }
    /// `count` bytes of `output` are with the kernel.
    pub fn wrote(&mut self, count: usize) {
        self.sent += count;
    }

    pub fn received(&mut self, bytes: &[u8]) -> Answer {
        let asked = RequestFacts { no_body: true, ..RequestFacts::default() };
        let mut input = bytes;
        loop {
            match self.reader.next(&mut input, asked) {
                Ok(Item::More) => return Answer::Incomplete,
                Ok(Item::Head(head)) if !(200..300).contains(&head.status) => return Answer::No,
                Ok(Item::End) if input.is_empty() => return Answer::Yes,
                Ok(Item::End) => return Answer::TooMuch,
                Ok(_) => {}
                Err(_) => return Answer::No,
            }
        }
    }
}
