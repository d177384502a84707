//! Weighing over the loopback interface: needs no privilege.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;
use store::weighing::Packets;
use weigh::packets::{Options, weigh};
use weigh::{Stage, Wall, Way};

fn options(wall: Wall) -> Options {
    Options {
        ways: vec![Way::Udp],
        sizes: vec![64],
        trials: 1,
        packets: 10_000_000,
        longest_ns: 1_000_000_000,
        threads: Some(1),
        wall,
        ..Options::default()
    }
}

fn weighed(wall: Wall, stop: &AtomicBool) -> Packets {
    let stage = Stage::loopback().unwrap();
    weigh(&stage, &options(wall), Way::Udp, 64, stop, &mut |_| ()).unwrap()
}

#[test]
fn packets_over_the_loopback_interface_are_stamped_by_its_driver() {
    let _turn = crate::turn();
    let found = weighed(Wall::default(), &AtomicBool::new(false));
    assert_eq!(found.stamps.method, "tx");
    let trial = &found.trials[0];
    assert!(trial.counts, "{:?}", trial.remarks);
    assert_eq!(trial.clock_step_ns, 0.0);
    assert!(trial.overall.counted > 0 && trial.overall.mean_ns > 0.0, "{:?}", trial.overall);
    assert!(found.overall.mean_ns.refused.is_some(), "one trial has no interval");
}

/// The clock of the hand-over goes ahead by 40 ms while packets are under way: all later stamps are before
/// their hand-over.
#[test]
fn a_clock_that_steps_during_a_trial_marks_it_and_its_negative_times_are_in_no_figure() {
    let _turn = crate::turn();
    let ahead = Arc::new(AtomicI64::new(0));
    let wall = Wall::moved_by(ahead.clone());
    let is_over = AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        scope.spawn(|| {
            // The curve takes 0.3 s, and the trial 1 s.
            std::thread::sleep(Duration::from_millis(900));
            ahead.store(40_000_000, Ordering::Relaxed);
            while !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let found = weighed(wall, &AtomicBool::new(false));
        is_over.store(true, Ordering::Relaxed);
        found
    });
    let trial = &found.trials[0];
    assert!((trial.clock_step_ns - 4e7).abs() < 1e6, "{}", trial.clock_step_ns);
    assert!(
        !trial.counts && trial.remarks[0].contains("the wall clock was set by +40."),
        "{:?}",
        trial.remarks
    );
    assert!(trial.overall.negative > 0 && trial.overall.least_negative_ns > -4.1e7, "{:?}", trial.overall);
    assert!(trial.overall.min_ns >= 0.0 && trial.overall.mean_ns > 0.0);
    assert_eq!((found.overall.trials, found.overall.packets), (0, 0), "it is in no summary");
}

#[test]
fn a_weighing_that_is_stopped_has_what_there_was() {
    let _turn = crate::turn();
    let stop = AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(700));
            stop.store(true, Ordering::Relaxed);
        });
        weighed(Wall::default(), &stop)
    });
    assert!(found.trials.iter().all(|trial| !trial.counts), "{:?}", found.trials);
}
