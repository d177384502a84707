//! What is seen of threads that wait, in a /proc of files.

use super::*;
use crate::waiters::look::sees_all;

const MS: u64 = 1_000_000;

/// Threads of the machine: (pid, tid, name, CPU, niceness, policy, ran, waited), times in milliseconds.
type Thread = (u32, u32, &'static str, u32, i32, u32, u64, u64);

fn put(root: &Path, threads: &[Thread]) {
    put_with_runs(root, threads, 1);
}

fn put_with_runs(root: &Path, threads: &[Thread], runs: u64) {
    for (pid, tid, name, core, nice, policy, ran, waited) in threads {
        let folder = root.join(format!("proc/{pid}/task/{tid}"));
        std::fs::create_dir_all(&folder).unwrap();
        // Field 9, the flags (2 097 152 for a thread of the kernel's), field 19, the niceness, field 39,
        // the CPU, field 41, the policy.
        let flags = if name.contains('/') { 2_097_152 } else { 4_194_304 };
        let fields = |count: usize| "0 ".repeat(count);
        let stat = format!(
            "{tid} ({name}) R {}{flags} {}{nice} {}{core} 0 {policy} 0 0",
            fields(5),
            fields(9),
            fields(19)
        );
        std::fs::write(folder.join("stat"), &stat).unwrap();
        std::fs::write(root.join(format!("proc/{pid}/stat")), stat).unwrap();
        std::fs::write(folder.join("schedstat"), format!("{} {} {runs}\n", ran * MS, waited * MS)).unwrap();
    }
}

/// A process with a socket that listens on port 8 080 (1F90), inode 77.
fn listen(root: &Path, pid: u32) {
    let process = root.join(format!("proc/{pid}"));
    std::fs::create_dir_all(process.join("net")).unwrap();
    std::fs::create_dir_all(process.join("fd")).unwrap();
    let line = "0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 77 1 0";
    std::fs::write(process.join("net/tcp"), format!("sl local_address\n   {line}\n")).unwrap();
    std::os::unix::fs::symlink("socket:[77]", process.join("fd/3")).unwrap();
}

fn looks(look: &mut Look) -> Vec<Waited> {
    look.look();
    look.take()
}

#[test]
fn many_brief_waits_are_told_from_a_few_long_ones() {
    let root = tempfile::tempdir().unwrap();
    let server = |ran, waited, runs| {
        put_with_runs(root.path(), &[(7, 7, "server", 1, 0, 0, ran, waited)], runs);
    };
    server(100, 50, 1_000);
    listen(root.path(), 7);
    let mut look = Look::new(root.path(), &[8_080]);
    look.look();
    assert!(!look.rest().is_zero() && look.rest() < Duration::from_secs(1), "looks again soon");
    // Found to be the target's: 2 ms, 40 times 50 us.
    server(110, 52, 1_040);
    std::thread::sleep(Duration::from_millis(20));
    look.follow();
    assert_eq!(look.rest(), Duration::from_millis(5));
    let brief = look.take();
    assert_eq!((brief[0].target_ns, brief[0].target_brief_ns), (0, 2 * MS));
    // Long ones, and brief ones, between two looks.
    server(111, 56, 1_041);
    look.follow();
    server(112, 57, 1_091);
    look.follow();
    server(113, 58, 1_191);
    let found = looks(&mut look);
    assert_eq!((found[0].target_ns, found[0].target_brief_ns), (4 * MS, 2 * MS));
    assert_eq!((found[0].target_ran_ns, &found[0].target_longest), (3 * MS, &(6 * MS, "server".to_owned())));
    // It ends, and nothing is left of it.
    std::fs::remove_dir_all(root.path().join("proc/7")).unwrap();
    assert_eq!(looks(&mut look), []);
}

#[test]
fn who_waits_for_which_cpu_is_found() {
    let root = tempfile::tempdir().unwrap();
    let own = std::process::id();
    let before = [(7, 7, "server", 1, 0, 0, 100, 50), (own, own, "tare", 1, 0, 0, 0, 0)];
    put(root.path(), &before);
    listen(root.path(), 7);
    put(root.path(), &[(3, 3, "kworker/1:2", 1, 0, 0, 0, 0), (2, 2, "ksoftirqd/0", 0, 0, 0, 0, 0)]);
    let mut look = Look::new(root.path(), &[80, 8_080]);
    assert_eq!(looks(&mut look), []);
    std::thread::sleep(Duration::from_millis(500));
    put(
        root.path(),
        &[
            (7, 7, "server", 1, 0, 0, 300, 450),
            // A new thread counts from its birth, and one that hardly waited not at all.
            (7, 8, "ser) ver", 1, 19, 0, 20, 100),
            (6, 6, "other", 0, 0, 0, 900, 0),
            (8, 9, "other", 0, 0, 0, 1, 40),
            (4, 4, "nice", 0, 5, 0, 1, 40),
            (own, own, "tare", 1, 0, 0, 500, 500),
            (own, own + 1, "target-0", 0, 0, 0, 10, 30),
            (5, 5, "make", 1, 0, 5, 0, 400),
            (3, 3, "kworker/1:2", 1, 0, 0, 0, 400),
            (2, 2, "ksoftirqd/0", 0, 0, 0, 5, 20),
        ],
    );
    let mut found = looks(&mut look);
    found.sort_by_key(|waited| waited.core);
    let [first, second] = [
        Waited {
            core: 0,
            target_ns: 50 * MS,
            target_brief_ns: 0,
            target_ran_ns: 15 * MS,
            others_ns: 80 * MS,
            target_longest: (30 * MS, "target-0".into()),
            others_longest: (40 * MS, "other".into()),
        },
        Waited {
            core: 1,
            target_ns: 500 * MS,
            target_ran_ns: 220 * MS,
            target_longest: (400 * MS, "server".into()),
            ..Waited::on(1)
        },
    ];
    assert_eq!(found, [first, second]);
    assert_eq!(looks(&mut look), []);
}

#[test]
fn a_look_that_took_long_is_not_soon_repeated_but_for_the_last() {
    let root = tempfile::tempdir().unwrap();
    put(root.path(), &[(7, 7, "server", 1, 0, 0, 100, 50)]);
    let mut look = Look::new(root.path(), &[]);
    look.look();
    look.took = Duration::from_secs(60);
    assert!(!look.is_rested());
    look.took = Duration::ZERO;
    assert!(look.is_rested());
    let mut waiters = Waiters::new(root.path(), &[]);
    assert!(waiters.is_blind());
    put(root.path(), &[(2, 2, "kthreadd/", 0, 0, 0, 0, 0)]);
    assert!(sees_all(&root.path().join("proc")));
    waiters.sample(true);
    std::thread::sleep(Duration::from_millis(100));
    put(root.path(), &[(7, 7, "server", 1, 0, 0, 100, 90)]);
    assert_eq!(waiters.sample(true)[0].others_ns, 40 * MS);
}
