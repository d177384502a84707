//! When a run ends.

use super::*;

/// With thousands of ports in use the kernel looks for a free one for milliseconds, and thousands of departures
/// are overdue: the end is looked at all the same.
#[test]
fn a_rate_that_uses_up_the_ports_ends_in_time() {
    let _guard = beside_others();
    let target = Target::start("--no-truth --size 600");
    let (_folder, urls) = file_of(&[target.url()]);
    let ran = http_load("-rate 20000 -seconds 1", &urls).expect_a_run();
    let seconds = ran.numbers(" max parallel")[3];
    assert!((0.9..4.0).contains(&seconds), "{}{}", ran.out, ran.err);
}
