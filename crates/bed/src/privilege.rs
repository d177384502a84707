//! What a process must be allowed to do for a test bed, asked before anything is made.

use crate::BedError;
use rustix::thread::{CapabilitySet, capabilities};

/// Each capability, and what it is for.
const NEEDED: [(CapabilitySet, &str, &str); 2] = [
    (CapabilitySet::SYS_ADMIN, "CAP_SYS_ADMIN", "namespaces are made and entered"),
    (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN", "interfaces are made and set up in them"),
];

/// # Errors
/// `Missing` names the capabilities that this thread has not.
pub fn check() -> Result<(), BedError> {
    // Where the kernel does not tell, it says so when it refuses.
    let Ok(sets) = capabilities(None) else { return Ok(()) };
    match missing(sets.effective) {
        None => Ok(()),
        Some(missing) => Err(BedError::Missing { missing }),
    }
}

/// The missing ones with their reasons, as a sentence has them; `None` if there are none.
fn missing(effective: CapabilitySet) -> Option<String> {
    let named: Vec<String> = NEEDED
        .iter()
        .filter(|(one, ..)| !effective.contains(*one))
        .map(|(_, name, why)| format!("{name} ({why})"))
        .collect();
    (!named.is_empty()).then(|| named.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_missing_is_named_with_its_reason() {
        assert_eq!(missing(CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN), None);
        assert_eq!(
            missing(CapabilitySet::SYS_ADMIN | CapabilitySet::NET_RAW).as_deref(),
            Some("CAP_NET_ADMIN (interfaces are made and set up in them)")
        );
        let none = missing(CapabilitySet::empty()).unwrap();
        assert_eq!(
            none,
            "CAP_SYS_ADMIN (namespaces are made and entered) and CAP_NET_ADMIN (interfaces are made and set up in them)"
        );
    }
}
