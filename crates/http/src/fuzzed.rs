//! What fuzz targets see of a connection's life, which is private otherwise. Tests and the feature `fuzzed`
//! alone have it.

use crate::connection::{Connection, Route, Stage};
use crate::exchange::Exchange;
use crate::outgoing::Body;
use crate::protocol::Finished;
use crate::rules::{RuleBook, Rules};
use crate::tunnel::Tunnel as Way;
use units::Instant;

/// What is sent through the tunnel.
pub const REQUEST: &[u8] = b"GET /secret HTTP/1.1\r\nHost: target.example\r\n\r\n";
/// What is asked of the proxy.
pub const CONNECT: &[u8] = b"CONNECT target.example:80 HTTP/1.1\r\nHost: target.example:80\r\n\r\n";

/// A connection through a proxy, on which one request waits for its tunnel.
#[derive(Debug)]
pub struct Tunnel {
    connection: Connection,
    rules: RuleBook,
    finished: Vec<Finished>,
    sent: Vec<u8>,
}

impl Default for Tunnel {
    fn default() -> Self {
        let route = Route { tunnel: Some(Box::new(Way::new(CONNECT.to_vec()))), ..Route::default() };
        let mut connection = Connection::new(route, Stage::Lookup, Instant::EPOCH);
        connection.begin(Exchange::begun(0), REQUEST, Body::Inside);
        connection.connecting(Instant::EPOCH);
        connection.connected(Instant::EPOCH);
        let mut tunnel = Self {
            connection,
            rules: RuleBook::new(Rules::default()),
            finished: Vec::new(),
            sent: Vec::new(),
        };
        tunnel.drain();
        tunnel
    }
}

impl Tunnel {
    /// Bytes come from the proxy.
    pub fn hear(&mut self, bytes: &[u8]) {
        self.connection.received(bytes, Instant::EPOCH, &self.rules, &mut self.finished);
        self.drain();
    }

    /// The proxy closes.
    pub fn close(&mut self) {
        self.connection.eof(&mut self.finished);
        self.drain();
    }

    /// Whether requests may pass.
    pub fn is_open(&self) -> bool {
        self.connection.stage() == Stage::Open
    }

    pub fn is_closed(&self) -> bool {
        self.connection.stage() == Stage::Closed
    }

    /// All that left.
    pub fn sent(&self) -> &[u8] {
        &self.sent
    }

    /// How the exchanges ended: the status, or the name of what went wrong.
    pub fn ends(&self) -> Vec<Result<u16, String>> {
        let end = |ended: &Finished| match ended.result {
            Ok(()) => Ok(ended.exchange.status),
            Err(cause) => Err(cause.key().to_owned()),
        };
        self.finished.iter().map(end).collect()
    }

    /// Exchanges without an end.
    pub fn in_flight(&self) -> usize {
        self.connection.in_flight()
    }

    fn drain(&mut self) {
        loop {
            let piece = self.connection.output(&[]).to_vec();
            if piece.is_empty() {
                return;
            }
            self.connection.wrote(piece.len());
            self.sent.extend(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_waits_for_its_tunnel() {
        let mut tunnel = Tunnel::default();
        assert_eq!((tunnel.sent(), tunnel.in_flight()), (CONNECT, 1));
        tunnel.hear(b"HTTP/1.1 200 Connection est");
        assert!(!tunnel.is_open());
        tunnel.hear(b"ablished\r\n\r\n");
        assert!(tunnel.is_open());
        assert_eq!(tunnel.sent(), [CONNECT, REQUEST].concat());
        tunnel.hear(b"HTTP/1.1 204 No Content\r\n\r\n");
        assert_eq!(tunnel.ends(), [Ok(204)]);
    }

    #[test]
    fn no_request_goes_to_a_proxy_that_refuses() {
        let mut tunnel = Tunnel::default();
        tunnel.hear(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
        tunnel.close();
        assert_eq!((tunnel.sent(), tunnel.is_closed()), (CONNECT, true));
        assert_eq!(tunnel.ends(), [Err("connect.proxy".to_owned())]);
    }
}
