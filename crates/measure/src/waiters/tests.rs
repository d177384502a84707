//! What is seen of threads that wait, in a /proc of files.

mod within;

use super::*;
use std::os::unix::fs::symlink;

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
        std::fs::create_dir_all(root.join(format!("proc/{pid}/fd"))).unwrap();
        // Field 9, the flags (2 097 152 for a thread of the kernel's), field 19, the niceness, field 39,
        // the CPU, field 41, the policy.
        let flags = if name.contains('/') { 2_097_152 } else { 4_194_304 };
        let fields = |count: usize| "0 ".repeat(count);
        let stat = format!(
            "{tid} ({name}) S {}{flags} {}{nice} {}{core} 0 {policy} 0 0",
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
    symlink("socket:[77]", process.join("fd/3")).unwrap();
}

fn to(ports: &[u16]) -> Peers {
    let peers = Peers::default();
    peers.add(ports.iter().map(|port| ([127, 0, 0, 1], *port).into()));
    peers
}

/// Waits of so many milliseconds, one after the other.
fn waits(each_ms: &[u64]) -> Waits {
    let mut waits = Waits::default();
    each_ms.iter().for_each(|ms| waits.record(ms * MS, 1));
    waits
}

fn looks(look: &mut Look) -> Vec<Waited> {
    look.look();
    look.take().waited
}

#[test]
fn many_brief_waits_are_told_from_a_few_long_ones() {
    let root = tempfile::tempdir().unwrap();
    let server = |ran, waited, runs| {
        put_with_runs(root.path(), &[(7, 7, "server", 1, 0, 0, ran, waited)], runs);
    };
    server(100, 50, 1_000);
    listen(root.path(), 7);
    let mut look = Look::new(root.path(), &to(&[8_080]));
    look.look();
    assert!(!look.rest().is_zero() && look.rest() < Duration::from_secs(1), "looks again soon");
    // Found to be the target's: 2 ms, 40 times 50 us.
    server(110, 52, 1_040);
    std::thread::sleep(Duration::from_millis(20));
    look.follow();
    assert_eq!(look.rest(), Duration::from_millis(5));
    let brief = look.take().waited;
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
    let mut look = Look::new(root.path(), &to(&[80, 8_080]));
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
            // Each for as long as the other ran: 5 ms and 10 ms.
            target_self_ns: 15 * MS,
            waits: waits(&[20, 30]),
            target_ran_ns: 15 * MS,
            others_ns: 80 * MS,
            target_longest: (30 * MS, "target-0".into()),
            others_longest: (40 * MS, "other".into()),
            ..Waited::on(0)
        },
        Waited {
            core: 1,
            target_ns: 500 * MS,
            // The one ran for 20 ms, the other for 200.
            target_self_ns: 20 * MS + 100 * MS,
            waits: waits(&[400, 100]),
            target_ran_ns: 220 * MS,
            own_ran_ns: 500 * MS,
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
    let mut look = Look::new(root.path(), &Peers::default());
    look.look();
    look.took = Duration::from_secs(60);
    assert!(!look.is_rested());
    look.took = Duration::ZERO;
    assert!(look.is_rested());
    let mut waiters = Waiters::new(root.path(), &Peers::default());
    assert_eq!(waiters.sample(true).sight, Sight::Part);
    std::thread::sleep(Duration::from_millis(100));
    put(root.path(), &[(7, 7, "server", 1, 0, 0, 100, 90)]);
    assert_eq!(waiters.sample(true).waited[0].others_ns, 40 * MS);
}

/// The totals of a process: its parent, and the time of all its threads and the children it waited for.
fn put_total(root: &Path, pid: u32, parent: u32, ran_ms: u64) {
    let fields = |count: usize| "0 ".repeat(count);
    let ticks = ran_ms / 10;
    let stat = format!("{pid} (server) S {parent} {}{ticks} 0 0 0 {}", fields(9), fields(25));
    std::fs::write(root.join(format!("proc/{pid}/stat")), stat).unwrap();
}

#[test]
fn what_threads_ran_that_came_and_went_is_known() {
    let root = tempfile::tempdir().unwrap();
    let server = |ran, total| {
        put(root.path(), &[(7, 7, "server", 1, 0, 0, ran, 0)]);
        put_total(root.path(), 7, 1, total);
    };
    server(100, 500);
    listen(root.path(), 7);
    let mut look = Look::new(root.path(), &to(&[8_080]));
    look.look();
    // 300 ms, of which 50 by the thread that is there, less what is lost in rounding.
    server(150, 800);
    look.look();
    let found = look.take();
    assert_eq!((found.unseen_ns, found.unseen_cpus), (230 * MS, None));
    server(150, 800);
    look.look();
    assert_eq!(look.take().unseen_ns, 0);
    // A child that was seen, and whose parent waited for it: 200 ms, 60 of them read.
    put(root.path(), &[(9, 9, "server", 1, 0, 0, 10, 40)]);
    listen(root.path(), 9);
    put_total(root.path(), 9, 7, 10);
    look.look();
    put(root.path(), &[(9, 9, "server", 1, 0, 0, 30, 40)]);
    put_total(root.path(), 9, 7, 30);
    look.look();
    put(root.path(), &[(9, 9, "server", 1, 0, 0, 90, 40)]);
    put_total(root.path(), 9, 7, 90);
    look.look();
    look.take();
    std::fs::remove_dir_all(root.path().join("proc/9")).unwrap();
    server(150, 1_000);
    look.look();
    assert_eq!(look.take().unseen_ns, 140 * MS);
}

#[test]
fn where_threads_that_come_and_go_may_run_is_where_those_may_that_start_them() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(root, &[(7, 7, "server", 1, 0, 0, 100, 0), (8, 8, "other", 1, 0, 0, 100, 0)]);
    listen(root, 7);
    let mut look = Look::new(root, &to(&[8_080]));
    let mut cpus = |pid: u32, list: &str| {
        let status = format!("Name:\tserver\nCpus_allowed_list:\t{list}\n");
        std::fs::write(root.join(format!("proc/{pid}/task/{pid}/status")), status).unwrap();
        look.look();
        look.take().unseen_cpus.map(|cpus| cpus.into_iter().collect::<Vec<u32>>())
    };
    assert_eq!(cpus(8, "5"), None);
    assert_eq!(cpus(7, "0,2-3"), Some(vec![0, 2, 3]));
    // What they could once.
    assert_eq!(cpus(7, "2"), Some(vec![0, 2, 3]));
    assert_eq!(cpus(7, "?"), None);
    assert_eq!(cpus(7, "2"), None);
}

#[test]
fn a_target_that_ignores_its_children_is_told_as_soon_as_some_come_and_go() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let status = |mask: &str| {
        std::fs::write(root.join("proc/7/status"), format!("Name:\tserver\nSigIgn:\t{mask}\n")).unwrap();
    };
    let started = |count: u64| {
        std::fs::write(root.join("proc/stat"), format!("cpu  1 2 3 4\nbtime 1\nprocesses {count}\n"))
            .unwrap();
    };
    put(root, &[(7, 7, "server", 1, 0, 0, 100, 0), (2, 2, "kthreadd/", 0, 0, 0, 0, 0)]);
    put_total(root, 7, 1, 500);
    listen(root, 7);
    let mut look = Look::new(root, &to(&[8_080]));
    let mut sight = |mask, count| {
        status(mask);
        started(count);
        look.look();
        look.take().sight
    };
    // SIGPIPE alone; many are started, but the parent waits for them.
    assert_eq!(sight("0000000000001000", 1_000), Sight::All);
    assert_eq!(sight("0000000000001000", 2_000), Sight::All);
    assert_eq!(sight("0000000000011000", 2_003), Sight::All);
    assert_eq!(sight("0000000000011000", 2_005), Sight::All);
    assert_eq!(sight("0000000000011000", 2_100), Sight::NotItsChildren);
}

#[test]
fn a_target_that_cannot_be_seen_is_told() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(root, &[(7, 7, "server", 1, 0, 0, 100, 0)]);
    // Its descriptors are nobody's business: this is another user's.
    std::fs::remove_dir_all(root.join("proc/7/fd")).unwrap();
    let sight = |look: &mut Look| {
        look.look();
        look.take().sight
    };
    let elsewhere = Peers::default();
    elsewhere.add(["192.0.2.1:8080".parse().unwrap()]);
    assert_eq!(sight(&mut Look::new(root, &elsewhere)), Sight::Part);
    assert_eq!(sight(&mut Look::new(root, &to(&[8_080]))), Sight::NotTheTarget);
    // Where all are seen, whoever may be the target counts as it.
    put(root, &[(2, 2, "kthreadd/", 0, 0, 0, 0, 0)]);
    let mut look = Look::new(root, &to(&[8_080]));
    assert_eq!(sight(&mut look), Sight::All);
    std::thread::sleep(Duration::from_millis(20));
    put(root, &[(7, 7, "server", 1, 0, 0, 110, 60)]);
    std::fs::remove_dir_all(root.join("proc/7/fd")).unwrap();
    assert_eq!(looks(&mut look)[0].target_ns, 60 * MS);
    // In a container with its target, all is seen that matters.
    std::fs::remove_dir_all(root.join("proc/2")).unwrap();
    listen(root, 7);
    assert_eq!(sight(&mut Look::new(root, &to(&[8_080]))), Sight::All);
}

#[test]
fn of_hidden_programs_one_is_the_target_and_the_others_keep_it_from_its_cpu() {
    // Of one program, they wait for each other; of two, nobody knows which one is the target's.
    for (names, self_ns) in [(["server", "server"], 80 * MS), (["server", "loop"], 0)] {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let both = |ran, waited| {
            let thread = |pid, name| (pid, pid, name, 1, 0, 0, ran, waited);
            put(root, &[thread(7, names[0]), thread(8, names[1])]);
            for pid in [7, 8] {
                std::fs::remove_dir_all(root.join(format!("proc/{pid}/fd"))).unwrap();
            }
        };
        both(100, 100);
        let mut look = Look::new(root, &to(&[8_080]));
        look.look();
        both(150, 140);
        std::thread::sleep(Duration::from_millis(20));
        look.look();
        let found = look.take();
        let waited = &found.waited[0];
        assert!(found.sight == Sight::NotTheTarget && found.is_guess);
        assert_eq!((waited.target_ns, waited.target_self_ns), (80 * MS, self_ns), "{names:?}");
    }
}

#[test]
fn threads_whose_sockets_cannot_be_read_may_work_for_the_target() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let put = |ran, waited| put(root, &[(9, 9, "backend", 1, 0, 0, ran, waited)]);
    put(100, 0);
    listen(root, 7);
    let mut look = Look::new(root, &to(&[8_080]));
    look.look();
    std::thread::sleep(Duration::from_millis(20));
    put(110, 60);
    let found = looks(&mut look).remove(0);
    assert_eq!((found.others_ns, found.unknown_ns, found.unknown_ran_ns), (60 * MS, 0, 0));
    put(130, 160);
    std::fs::remove_dir_all(root.join("proc/9/fd")).unwrap();
    let found = looks(&mut look).remove(0);
    assert_eq!((found.others_ns, found.unknown_ns, found.unknown_ran_ns), (100 * MS, 100 * MS, 20 * MS));
}

#[test]
fn a_wait_that_goes_on_counts_and_once() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    // The target, and a process that has nothing to do with it.
    let put = |state: &str, waited, runs| {
        for (pid, name) in [(7, "server"), (9, "other")] {
            put_with_runs(root, &[(pid, pid, name, 1, 0, 0, 100, waited)], runs);
            let file = root.join(format!("proc/{pid}/task/{pid}/stat"));
            let stat = std::fs::read_to_string(&file).unwrap().replacen(") S", &format!(") {state}"), 1);
            std::fs::write(file, stat).unwrap();
        }
    };
    put("R", 0, 1);
    listen(root, 7);
    let mut look = Look::new(root, &to(&[8_080]));
    look.look();
    let nap = Duration::from_millis(30);
    let waited = |look: &mut Look| looks(look).first().map_or((0, 0), |one| (one.target_ns, one.others_ns));
    std::thread::sleep(nap);
    let first = waited(&mut look);
    std::thread::sleep(nap);
    let second = waited(&mut look);
    for waited in [first.0, first.1, second.0, second.1] {
        assert!(waited >= 30 * MS, "{first:?} {second:?}");
    }
    // It ends after a second in all.
    put("S", 1_000, 2);
    look.follow();
    let target_rest = look.take().waited[0].target_ns;
    assert_eq!(first.0 + second.0 + target_rest, 1_000 * MS);
    std::thread::sleep(nap);
    let (target_rest, others_rest) = waited(&mut look);
    assert_eq!(first.1 + second.1 + others_rest, 1_000 * MS);
    assert_eq!(target_rest, 0, "a thread that sleeps waits for nobody");
    std::thread::sleep(nap);
    assert_eq!(waited(&mut look), (0, 0), "a thread that sleeps waits for nobody");
}

#[test]
fn children_of_the_target_are_its_own() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let child = |ran, waited, parent| {
        put(root, &[(9, 9, "cgi", 1, 0, 0, ran, waited)]);
        put_total(root, 9, parent, 10);
    };
    child(100, 0, 7);
    listen(root, 7);
    let mut look = Look::new(root, &to(&[8_080]));
    look.look();
    std::thread::sleep(Duration::from_millis(20));
    child(110, 60, 7);
    assert_eq!(looks(&mut look)[0].target_ns, 60 * MS);
    // Of another process, and of this one, which holds connections as well.
    for parent in [1, std::process::id()] {
        let mut look = Look::new(root, &to(&[8_080]));
        look.look();
        std::thread::sleep(Duration::from_millis(20));
        child(120, 90 + u64::from(parent), parent);
        assert_eq!(looks(&mut look)[0].target_ns, 0, "{parent}");
    }
}

#[test]
fn a_target_that_a_redirect_leads_to_is_found() {
    let root = tempfile::tempdir().unwrap();
    put(root.path(), &[(7, 7, "server", 1, 0, 0, 100, 0)]);
    listen(root.path(), 7);
    let peers = to(&[]);
    let mut look = Look::new(root.path(), &peers);
    look.look();
    peers.add(["127.0.0.1:8080".parse().unwrap()]);
    std::thread::sleep(Duration::from_millis(20));
    put(root.path(), &[(7, 7, "server", 1, 0, 0, 110, 60)]);
    assert_eq!(looks(&mut look)[0].target_ns, 60 * MS);
}

#[test]
fn a_target_with_sockets_of_another_namespace_than_its_own_is_found() {
    let root = tempfile::tempdir().unwrap();
    let put = |ran, waited| {
        put(root.path(), &[(7, 7, "server", 1, 0, 0, ran, waited), (8, 8, "sh", 0, 0, 0, 1, 0)])
    };
    put(100, 0);
    // The table of the namespace of 8 has the socket that 7 holds.
    listen(root.path(), 7);
    let process = |pid: u32| root.path().join(format!("proc/{pid}"));
    std::fs::create_dir_all(process(8).join("net")).unwrap();
    std::fs::rename(process(7).join("net/tcp"), process(8).join("net/tcp")).unwrap();
    for pid in [7, 8] {
        std::fs::create_dir_all(process(pid).join("ns")).unwrap();
        symlink(format!("net:[{pid}]"), process(pid).join("ns/net")).unwrap();
    }
    let mut look = Look::new(root.path(), &to(&[8_080]));
    look.look();
    std::thread::sleep(Duration::from_millis(20));
    put(110, 60);
    assert_eq!(looks(&mut look)[0].target_ns, 60 * MS);
}

#[test]
fn who_carries_frames_may_carry_the_targets_where_it_is_beyond_a_link() {
    for (address, is_target) in [("198.18.0.2:80", true), ("127.0.0.1:80", false)] {
        for by in ["device", "socket", "socket of another namespace", "mapped socket"] {
            let root = tempfile::tempdir().unwrap();
            let put = |ran, waited| put(root.path(), &[(7, 7, "vpn", 1, 0, 0, ran, waited)]);
            put(100, 0);
            let process = |pid: u32| root.path().join(format!("proc/{pid}"));
            let link = if by == "device" { "/dev/net/tun" } else { "socket:[34567]" };
            symlink(link, process(7).join("fd/4")).unwrap();
            if by == "mapped socket" {
                let maps = "7f5c1a000000-7f5c1a200000 rw-s 100000000 00:08 34567   socket:[34567]\n";
                std::fs::write(process(7).join("maps"), maps).unwrap();
            }
            if by.starts_with("socket") {
                let holder = process(if by == "socket" { 7 } else { 8 });
                std::fs::create_dir_all(holder.join("net")).unwrap();
                std::fs::create_dir_all(holder.join("fd")).unwrap();
                std::fs::create_dir_all(holder.join("ns")).unwrap();
                symlink("net:[2]", holder.join("ns/net")).unwrap();
                let table = "sk RefCnt Type Proto Iface R Rmem User Inode\n0 3 3 0003 2 1 0 0 34567\n";
                std::fs::write(holder.join("net/packet"), table).unwrap();
            }
            let peers = Peers::default();
            peers.add([address.parse().unwrap()]);
            let mut look = Look::new(root.path(), &peers);
            look.look();
            std::thread::sleep(Duration::from_millis(20));
            put(110, 60);
            let found = looks(&mut look);
            let waited = (found[0].target_ns, found[0].others_ns);
            // Loopback: the target is on this host, and nobody else can be it.
            assert_eq!(waited, if is_target { (60 * MS, 0) } else { (0, 60 * MS) }, "{address}, {by}");
        }
    }
}

#[test]
fn the_target_of_a_unix_socket_is_found() {
    let root = tempfile::tempdir().unwrap();
    put(root.path(), &[(7, 7, "server", 1, 0, 0, 100, 0)]);
    listen(root.path(), 7);
    let line = "000000006d2b104d: 00000003 00000000 00000000 0001 03  77 /run/a b.sock";
    std::fs::write(root.path().join("proc/7/net/unix"), format!("Num Path\n{line}\n")).unwrap();
    let mut look = Look::new(root.path(), &Peers::unix("/run/a b.sock".into()));
    look.look();
    std::thread::sleep(Duration::from_millis(20));
    put(root.path(), &[(7, 7, "server", 1, 0, 0, 110, 60)]);
    assert_eq!(looks(&mut look)[0].target_ns, 60 * MS);
}
