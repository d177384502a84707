//! The plan against what this machine was weighed at.

use crate::criterion::CriterionId;
use crate::verdict::Criterion;

/// What was weighed of this kind of load.
#[derive(Clone, Debug, PartialEq)]
pub struct WeighedLoad {
    /// The highest rate of the plan, and the highest at which verdicts stay VALID.
    pub asked_per_s: f64,
    pub peak_per_s: f64,
    /// What was weighed, against what.
    pub basis: String,
}

impl WeighedLoad {
    /// How much of what this machine can do the plan asks for.
    pub fn share(&self) -> f64 {
        self.asked_per_s / self.peak_per_s
    }
}

/// From here on two runs of one plan may have different words.
const NEAR: f64 = 0.8;

/// Only warns: the verdict is about this run, and what was weighed was another.
pub(super) fn share(weighed: &WeighedLoad) -> Criterion {
    Criterion::new(CriterionId::CapabilityShare, weighed.share(), NEAR).advise(
        || {
            format!(
                "the plan asks for {:.0} % of the {:.0}/s that this machine was weighed at ({}): lower --rate, or weigh it again if \
                 it has changed",
                weighed.share() * 100.0,
                weighed.peak_per_s,
                weighed.basis
            )
        },
    )
}
