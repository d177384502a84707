//! A plan file is a plan or a named error, whatever stands in it; and a plan's canonical text is the same plan.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plan::PlanFile;

fuzz_target!(|text: &str| {
    let plan = match PlanFile::from_toml(text, "plan.toml").and_then(PlanFile::resolve) {
        Ok(plan) => plan,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let canonical = plan.to_toml();
    let again = PlanFile::from_toml(&canonical, "canonical.toml").and_then(PlanFile::resolve);
    let again = again.unwrap_or_else(|error| panic!("the canonical text is refused: {error}\n{canonical}"));
    assert_eq!(again.to_toml(), canonical);
    assert_eq!(again.hash(), plan.hash());
});
