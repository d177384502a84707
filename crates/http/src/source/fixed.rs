//! Requests that are the same each time: written once, before the run.

use super::chooser::{Chooser, Line};
use super::{From, pick};
use crate::endpoint::{EndpointId, Endpoints};
use crate::outgoing::Body;
use crate::request::Meta;
use crate::rules::RuleBook;
use plan::{Plan, TemplateContext};

/// More are not written beforehand.
const MOST: usize = 4096;

/// A request whose bytes do not change.
#[derive(Debug)]
pub struct Fixed {
    pub bytes: Box<[u8]>,
    pub endpoint: EndpointId,
    pub meta: Meta,
    /// What its answers must be: their place in the [`RuleBook`].
    pub rules: u32,
}

/// Values for placeholders, of which there are none.
struct NoValues;

impl TemplateContext for NoValues {
    fn seq(&mut self) -> u64 {
        0
    }
    fn random(&mut self) -> u64 {
        0
    }
    fn now_ms(&mut self) -> u64 {
        0
    }
    fn line(&mut self, _: usize, _: &mut Vec<u8>) -> bool {
        false
    }
}

impl Chooser {
    /// All requests of the plan in their order, or why they cannot be written beforehand.
    ///
    /// # Errors
    /// They are read from a file, have placeholders or bodies, or are too many.
    pub fn fixed(&mut self, plan: &Plan, endpoints: &mut Endpoints) -> Result<Vec<Fixed>, &'static str> {
        let requests = self.requests().clone();
        let From::Plan { lines, .. } = &requests.from else {
            return Err("the requests come from a file");
        };
        if lines.len() > MOST {
            return Err("the plan has too many different requests");
        }
        let mut fixed = Vec::with_capacity(lines.len());
        for line in lines {
            let made = requests.prepare(Line::OfPlan(line), plan, endpoints, self.values());
            let (prepared, own) = made.map_err(|_| "a request cannot be prepared in advance")?;
            if !requests.writer.is_fixed(&prepared) {
                return Err("a request has placeholders");
            }
            let mut bytes = Vec::new();
            let body = requests.writer.render(&prepared, &mut bytes, &mut Vec::new(), &mut NoValues);
            if !matches!(body, Ok(Body::Inside)) || !bytes.ends_with(b"\r\n\r\n") {
                return Err("a request has a body");
            }
            let rules = own.map_or(RuleBook::BY_PLAN, |own| self.rules.keep(own));
            fixed.push(Fixed {
                bytes: bytes.into(),
                endpoint: prepared.endpoint,
                meta: prepared.meta,
                rules,
            });
        }
        Ok(fixed)
    }

    /// Which of the plan's requests is that of departure `seq`.
    pub fn number(&self, seq: u64) -> usize {
        match &self.requests().from {
            From::Plan { lines, order, weights } => {
                pick(*order, weights, lines.len(), self.requests().seed, seq)
            }
            From::File { .. } => 0,
        }
    }
}
