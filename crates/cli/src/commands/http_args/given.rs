//! What was given on the command line, as a plan's file has it.

use plan::Typed;

/// A switch that was not given leaves the default.
pub fn switched(on: bool, value: bool) -> Option<bool> {
    on.then_some(value)
}

pub fn typed(text: &Option<String>) -> Option<Typed> {
    text.as_deref().map(Typed::from)
}

pub fn list(items: &[String]) -> Option<Vec<String>> {
    (!items.is_empty()).then(|| items.to_vec())
}
