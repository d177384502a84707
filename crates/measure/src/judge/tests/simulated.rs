//! Loads in simulated time.

use super::*;
use crate::criterion::Of;
use crate::judge::SimulatedTime;

#[test]
fn this_machine_has_no_part_in_simulated_time() {
    let (totals, health, mut conditions) = good();
    conditions.simulated = Some(SimulatedTime::Shared);
    let verdict = judge(&totals, &health, &conditions);
    assert_eq!((verdict.word(), verdict.failing().len()), (Word::Valid, 0));
    let of_this_machine = verdict.criteria().iter().filter(|one| one.id.about().of == Of::ThisMachine);
    assert_eq!(of_this_machine.count(), 0);
    assert!(verdict.criteria().iter().any(|criterion| criterion.id == Id::TimeSimulated));
}

#[test]
fn this_machine_has_no_part_in_the_times_of_a_file() {
    let (totals, health, mut conditions) = good();
    let frames = crate::judge::FrameConditions { of_file: true, ..Default::default() };
    conditions.frames = Some(frames);
    let verdict = judge(&totals, &health, &conditions);
    assert!(verdict.criteria().iter().all(|one| one.id.about().of == Of::TheRun), "{verdict:?}");
    assert!(verdict.criteria().iter().any(|criterion| criterion.id == Id::Conservation));
}

#[test]
fn a_target_in_another_time_than_its_client_is_never_judged_valid() {
    alone(Id::TimeSimulated, Word::Invalid, "a simulated second takes minutes", |_, _, conditions| {
        conditions.simulated = Some(SimulatedTime::Apart);
    });
}

#[test]
fn a_port_that_failed_makes_a_run_of_its_own_tcp_invalid() {
    alone(Id::PortsFailed, Word::Invalid, "a port failed", |_, _, conditions| {
        (conditions.own_tcp, conditions.port_failed) = (true, true);
    });
}
