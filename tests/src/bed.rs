//! Namespaces and veth pairs for tests of the packet commands: crate `bed`, which fails the test where it
//! cannot do something.
//!
//! ```text
//!   let bed = TestBed::up(Topology::unique());
//!   let sink = Tare::packets("capture packet:sink0 -t 2").inside(bed.sink()).start();
//!   let sent = Tare::packets("send packet:gen0 -n 1000").inside(bed.generator()).run();
//!   assert_eq!(bed.kernel(bed.generator(), "tx_packets"), 1000);
//! ```

use crate::{Tare, need, need_root};
use bed::Bed;
pub use bed::{Interface, Middlebox, Namespace, Topology};
use std::ops::Deref;
use std::process::Command;

/// A bed that is gone when this is dropped, also when the test panics.
pub struct TestBed(Bed);

impl Deref for TestBed {
    type Target = Bed;

    fn deref(&self) -> &Bed {
        &self.0
    }
}

impl TestBed {
    pub fn up(topology: Topology) -> Self {
        need_root();
        need("ip");
        Self(Bed::up(&topology).expect("a test bed can be made"))
    }

    /// Generator and sink, joined by a veth pair.
    pub fn pair() -> Self {
        Self::up(Topology::unique())
    }

    /// The kernel's counter of the first interface there: `rx_packets`, `tx_bytes`, `rx_dropped`.
    #[track_caller]
    pub fn kernel(&self, namespace: &Namespace, counter: &str) -> u64 {
        let file = format!("/sys/class/net/{}/statistics/{counter}", namespace.interface().name);
        let text = run_in(namespace, &format!("cat {file}"));
        text.trim().parse().unwrap_or_else(|_| panic!("{file}: {text}"))
    }

    /// `ip` in that namespace: `link set gen0 down`.
    #[track_caller]
    pub fn ip(&self, namespace: &Namespace, words: &str) {
        run_in(namespace, &format!("ip {words}"));
    }
}

/// What a command prints inside; it must succeed. Words are parted at spaces.
#[track_caller]
pub fn run_in(namespace: &Namespace, command: &str) -> String {
    let mut words = command.split_whitespace();
    let program = words.next().expect("a program");
    need(program);
    let output = namespace.command(program).args(words).output().expect("`ip netns exec` runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// All namespaces of this machine that have names.
pub fn namespaces() -> String {
    let output = Command::new("ip").args(["netns", "list"]).output().expect("`ip` runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

impl Tare {
    /// `tare <arguments> --json --no-progress`, and `--no-save` unless `--out` is among them.
    pub fn packets(arguments: &str) -> Self {
        let save = if arguments.contains("--out") { "" } else { "--no-save" };
        Self::new(&format!("{arguments} --json --no-progress {save}"))
    }

    /// In that namespace, with `/sys` as it is seen from there. (`ip netns exec` becomes the program: signals
    /// reach it.)
    pub fn inside(self, namespace: &Namespace) -> Self {
        self.through(&format!("ip netns exec {}", namespace.name))
    }
}
