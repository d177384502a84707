//! Rules are read, or refused with a line; what is read prints back as the same rules, and compiled they decide
//! every frame.

#![no_main]

use filter::{Firewall, Rules};
use libfuzzer_sys::fuzz_target;

/// Larger sets take long to compile and teach nothing new.
const MOST: usize = 64;

fuzz_target!(|input: (&str, &[u8])| {
    let (text, frame) = input;
    let Ok(rules) = Rules::parse(text, "rules") else { return };
    let again = Rules::parse(&rules.to_string(), "rules").expect("what was printed can be read");
    assert_eq!((&again.rules, again.default, again.other), (&rules.rules, rules.default, rules.other));
    if rules.rules.len() <= MOST {
        let firewall = Firewall::compile(&rules).expect("so few rules fit");
        let decision = firewall.decide(frame);
        assert_eq!(firewall.decide(frame), decision);
    }
});
