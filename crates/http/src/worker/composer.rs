//! Writing requests: which one a departure is, and its bytes.

use plan::Plan;
use units::{Instant, Miss};

use crate::endpoint::Endpoints;
use crate::exchange::Exchange;
use crate::outgoing::Body;
use crate::redirect::Chain;
use crate::rules::RuleBook;
use crate::source::{Chooser, Staged};

/// Which of the requests that were written. A departure that waits for a connection stays written while others
/// are sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// That of the last departure.
    First,
    /// The last that is sent once more.
    Again,
}

/// See the module.
pub(crate) struct Composer {
    pub(crate) chooser: Chooser,
    first: Vec<u8>,
    again: Vec<u8>,
}

impl Composer {
    pub(crate) fn new(chooser: Chooser) -> Self {
        Self { chooser, first: Vec::new(), again: Vec::new() }
    }

    pub(crate) fn rules(&self) -> &RuleBook {
        &self.chooser.rules
    }
    /// The body of all requests for which [`Body::OfPlan`] says so.
    pub(crate) fn plan_body(&self) -> &[u8] {
        self.chooser.requests().writer.body()
    }

    /// A request's head, and its body as far as that stands with the head.
    pub(crate) fn bytes(&self, which: Written) -> &[u8] {
        match which {
            Written::First => &self.first,
            Written::Again => &self.again,
        }
    }

    /// Writes the request of departure `seq`, the first time. `at` is the time that its templates show.
    pub(crate) fn write(
        &mut self,
        seq: u64,
        at: Instant,
        plan: &Plan,
        endpoints: &mut Endpoints,
    ) -> Result<Staged, Miss> {
        self.chooser.stage(seq, at, plan, endpoints, &mut self.first)
    }

    /// Writes a request once more: as it was, or as its redirects have made it.
    pub(crate) fn write_again(
        &mut self,
        exchange: &Exchange,
        plan: &Plan,
        endpoints: &mut Endpoints,
    ) -> Result<Body, Miss> {
        if let Some(chain) = &exchange.chain {
            self.again.clear();
            return Ok(self.chooser.requests().writer.follow(chain, &mut self.again));
        }
        Ok(self.repeat(exchange, plan, endpoints)?.body)
    }

    fn repeat(
        &mut self,
        exchange: &Exchange,
        plan: &Plan,
        endpoints: &mut Endpoints,
    ) -> Result<Staged, Miss> {
        let (seq, at) = (exchange.departure.seq, exchange.written_at);
        self.chooser.stage(seq, at, plan, endpoints, &mut self.again)
    }

    /// The beginning of a chain of redirects: what was sent, which the redirects will change.
    pub(crate) fn begin_chain(
        &mut self,
        exchange: &Exchange,
        plan: &Plan,
        endpoints: &mut Endpoints,
    ) -> Option<Box<Chain>> {
        let staged = self.repeat(exchange, plan, endpoints).ok()?;
        let key = &endpoints.get(staged.endpoint).key;
        let writer = &self.chooser.requests().writer;
        writer.chain(&self.again, &staged.body, self.chooser.last_url(), key).map(Box::new)
    }
}
