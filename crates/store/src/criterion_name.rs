//! Names of criteria in stored verdicts.

use measure::CriterionId;
use serde::{Deserialize, Serialize};

/// The criterion that a stored verdict names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum CriterionName {
    Known(CriterionId),
    /// Of another version of this program.
    Other(String),
}

impl CriterionName {
    /// As it is written.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(id) => id.name(),
            Self::Other(name) => name,
        }
    }
}

impl PartialEq<CriterionId> for CriterionName {
    fn eq(&self, id: &CriterionId) -> bool {
        matches!(self, Self::Known(known) if known == id)
    }
}

impl Default for CriterionName {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

impl From<CriterionId> for CriterionName {
    fn from(id: CriterionId) -> Self {
        Self::Known(id)
    }
}

impl From<String> for CriterionName {
    fn from(name: String) -> Self {
        CriterionId::of_name(&name).map_or(Self::Other(name), Self::Known)
    }
}

impl From<&str> for CriterionName {
    fn from(name: &str) -> Self {
        name.to_owned().into()
    }
}

impl From<CriterionName> for String {
    fn from(name: CriterionName) -> Self {
        match name {
            CriterionName::Known(id) => id.name().to_owned(),
            CriterionName::Other(name) => name,
        }
    }
}

impl std::fmt::Display for CriterionName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_written_as_it_was_read() {
        let known = CriterionId::ALL.iter().map(|id| id.name());
        for text in known.chain(["rate.achieved", ""]) {
            let name = CriterionName::from(text);
            assert_eq!((name.as_str(), name.to_string().as_str()), (text, text));
            let json = serde_json::to_string(&name).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<CriterionName>(&json).unwrap(), name);
        }
        assert!(CriterionName::from("steal") == CriterionId::Steal);
        assert!(CriterionName::from("rate.achieved") != CriterionId::RateKept);
    }
}
