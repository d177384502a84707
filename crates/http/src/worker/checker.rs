//! Checking answers: what the plan wants of them, and whether it holds.

use std::sync::Arc;
use units::{Cause, Instant, Outcome};

use crate::exchange::Exchange;
use crate::rules::{BodyCheck, RuleBook, Rules};
use crate::same::SameBodies;

/// See the module.
pub(crate) struct Checker {
    /// To be used again.
    #[expect(clippy::vec_box, reason = "exchanges have them boxed; here they wait to be used again")]
    pool: Vec<Box<BodyCheck>>,
    same: Option<Arc<SameBodies>>,
}

impl Checker {
    pub(crate) fn new(same: Option<Arc<SameBodies>>) -> Self {
        Self { pool: Vec::new(), same }
    }

    /// What a request needs so that its answer's body can be checked.
    pub(crate) fn check_for(&mut self, rules: &Rules) -> Option<Box<BodyCheck>> {
        rules.needs_body().then(|| {
            let mut check = self.pool.pop().unwrap_or_default();
            rules.begin(&mut check);
            check
        })
    }

    /// Nothing of the answer that counts has come yet.
    pub(crate) fn begin_again(&self, rules: &RuleBook, exchange: &mut Exchange) {
        (exchange.first_byte, exchange.status) = (Instant::FAR, 0);
        if let Some(check) = exchange.check.as_deref_mut() {
            rules.of(&exchange.rules).begin(check);
        }
    }

    /// What a complete answer counts as.
    pub(crate) fn judge(&self, rules: &RuleBook, exchange: &mut Exchange) -> Outcome {
        let mut digest = None;
        let outcome =
            rules.of(&exchange.rules).judge(exchange.status, exchange.check.as_deref_mut(), &mut digest);
        match (digest, &self.same, exchange.url) {
            (Some(digest), Some(same), Some(url)) if !same.agrees(url, digest) => {
                Outcome::Failed(Cause::ExpectChecksum)
            }
            _ => outcome,
        }
    }

    /// The exchange has ended.
    pub(crate) fn done(&mut self, exchange: &mut Exchange) {
        self.pool.extend(exchange.check.take());
    }
}
