//! A target within the process that runs the load by a binding, such as a server in a thread of a test.

use super::*;

/// What threads of this process waited for CPU 1 as the target's, and what they ran there as Tare's, in ms; the
/// process has a socket where the load goes, if it `listens`.
fn waited_and_ran(program: &'static str, listens: bool) -> (u64, u64) {
    let root = tempfile::tempdir().unwrap();
    let own = std::process::id();
    let threads = |ran, waited| {
        // A process has the name of its first thread, which is put last here.
        put(
            root.path(),
            &[
                (own, own + 1, "tare-http-0", 1, 0, 0, ran, waited),
                (own, own + 2, "Thread-1", 1, 0, 0, ran, waited),
                (own, own, program, 0, 0, 0, 0, 0),
            ],
        );
    };
    threads(0, 0);
    if listens {
        listen(root.path(), own);
    }
    let mut look = Look::new(root.path(), &to(&[8_080]));
    assert_eq!(looks(&mut look), []);
    std::thread::sleep(Duration::from_millis(300));
    threads(100, 150);
    let found = looks(&mut look);
    let there = found.iter().find(|waited| waited.core == 1).unwrap();
    // What is neither is another program's.
    assert_eq!(there.others_ns / MS, if program == "python3" && !listens { 150 } else { 0 });
    (there.target_ns / MS, there.own_ran_ns / MS)
}

#[test]
fn a_target_within_a_program_that_runs_the_load_waits_as_any_other() {
    assert_eq!(waited_and_ran("python3", true), (150, 100));
    // Nothing within it is the target.
    assert_eq!(waited_and_ran("python3", false), (0, 100));
    // All of this program's threads are its own, but for those of its own target.
    assert_eq!(waited_and_ran("tare", true), (0, 200));
}
