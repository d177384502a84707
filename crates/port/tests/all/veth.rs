//! A veth pair in a network namespace of its own thread: gone with the thread, whatever happens.

use std::process::Command;

/// Runs `work` beside `v0` and `v1`, a pair with this many queues.
pub fn apart<T: Send>(queues: u32, work: impl FnOnce() -> T + Send) -> T {
    let run = || {
        // SAFETY: this thread leaves its namespace; no memory is concerned.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0, "needs CAP_SYS_ADMIN");
        ip("link set lo up");
        pair(queues);
        work()
    };
    std::thread::scope(|scope| match scope.spawn(run).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// No IPv6: nothing but the test's own frames.
pub fn pair(queues: u32) {
    let count = format!("numtxqueues {queues} numrxqueues {queues}");
    ip(&format!("link add v0 {count} type veth peer name v1 {count}"));
    for name in ["v0", "v1"] {
        ip(&format!("link set {name} addrgenmode none"));
        ip(&format!("link set {name} up"));
    }
}

/// `ip` in this thread's namespace.
pub fn ip(arguments: &str) {
    output(&format!("ip {arguments}"));
}

pub fn output(line: &str) -> String {
    let mut words = line.split_whitespace();
    let output = Command::new(words.next().unwrap()).args(words).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A counter of the kernel: `/proc/net/dev` shows this thread's namespace.
pub fn statistic(interface: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{interface}:"))).unwrap();
    let fields: Vec<u64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let at = match name {
        "rx_bytes" => 0,
        "rx_packets" => 1,
        "rx_dropped" => 3,
        "tx_bytes" => 8,
        "tx_packets" => 9,
        "tx_dropped" => 11,
        _ => panic!("{name}"),
    };
    fields[at]
}

/// Takes all capabilities from this thread alone.
pub fn drop_capabilities() {
    let header: [u32; 2] = [0x2008_0522, 0];
    let none = [0u32; 6];
    // SAFETY: capset(2) reads a header of two words and two sets of three.
    let result = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    assert_eq!(result, 0);
}
