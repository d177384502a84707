//! Limits of this process.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Takes every descriptor that the hard limit allows. Where that is refused the soft limit holds, and whoever
/// runs into it says so.
pub fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

/// The lowest niceness that the limit allows.
pub(crate) fn lowest_nice() -> i8 {
    // setrlimit(2): the limit is 20 − niceness.
    20 - getrlimit(Resource::Nice).current.unwrap_or(40).min(40) as i8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_descriptors_that_are_allowed_are_taken() {
        raise_open_files();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
