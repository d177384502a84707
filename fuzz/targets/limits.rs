//! A condition is a limit that prints and parses back, or an error that points into it, whatever is typed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plan::Limit;

fuzz_target!(|text: &str| match text.parse::<Limit>() {
    Ok(limit) => {
        let canonical = limit.to_string();
        assert_eq!(canonical.parse::<Limit>(), Ok(limit), "{canonical}");
    }
    Err(error) => {
        assert!(error.text.get(error.at.clone()).is_some(), "{error:?}");
        assert!(error.to_string().contains('^'));
    }
});
