//! `tare http --via`: plans run over a TCP of tare's own, judged by the kernel at the other end.
//!
//! | module | asks |
//! |---|---|
//! | `addresses` | do own addresses work on a VLAN, behind a router, and beside others who have them? |
//! | `same` | does a server receive the same as by the kernel's sockets? |
//! | `around` | do sinks, the live page, thresholds and limits see the same? |
//! | `closes` | does each connection end as the plan says? |
//! | `loss` | does everything arrive, once and whole, on a link that loses, doubles, swaps and breaks frames? |
//! | `endings` | is each ending told by its cause, and does nothing stay behind? |
//! | `hardship` | what if the server stops, forgets, refuses or takes long? |
//! | `many` | what do tens of thousands of connections take, and are all used? |
//! | `merged` | are segments taken that a host on the way merged? |
//! | `paths` | do the general and the fast path mean the same? |
//! | `shared` | do the host's own connections go on where its addresses are shared? |
//! | `truth` | is the latency the same as by the kernel's sockets? |
//!
//! ```text
//!   generator's namespace                       sink's namespace
//!   tare http --via packet:gen0,ip=198.18.0.10 ──veth── 198.18.0.2 fd00:18::2: recorder, nginx, target
//! ```

mod addresses;
mod around;
mod closes;
mod endings;
mod hardship;
mod loss;
mod many;
mod merged;
mod paths;
mod same;
mod shared;
mod truth;

use bed::Namespace;
use std::ops::Deref;
use std::process::Stdio;
use tare_system_tests::bed::{Topology, run_in};
use tare_system_tests::process::{Process, text_of, wait_until};
use tare_system_tests::run::AHEAD;
use tare_system_tests::{Nginx, Recorder, Tare, Target, TestBed, need, scratch};

/// The server's addresses in every bed, and ours.
const SERVER: &str = "198.18.0.2";
const SERVER_V6: &str = "fd00:18::2";
const OWN: &str = "ip=198.18.0.10-12/24";
const OWN_V6: &str = "ip=fd00:18::10-fd00:18::12/64";

/// A thread for each connection.
const ACCEPT: &str = r#"
listener = socket.create_server((sys.argv[1], 8026))
listener.listen(1024)
print("ready", flush=True)
while True:
    connection, _ = listener.accept()
    threading.Thread(target=serve, args=[connection], daemon=True).start()
"#;

/// A bed, and runs of `tare` in its generator's namespace.
struct Ground {
    bed: TestBed,
}

impl Deref for Ground {
    type Target = TestBed;

    fn deref(&self) -> &TestBed {
        &self.bed
    }
}

impl Ground {
    fn new() -> Self {
        Self { bed: TestBed::up(Topology::unique().ipv6()) }
    }

    /// `tare http` by the kernel's sockets.
    fn by_kernel(&self, load: &str) -> Tare {
        Tare::http(load).inside(self.generator())
    }

    /// `tare http` by this port, from our addresses of both families.
    fn by(&self, port: &str, load: &str) -> Tare {
        self.by_kernel(&format!("--via {port}:gen0,{OWN},{OWN_V6} {load}"))
    }

    /// The same from other addresses, so that several may run at once.
    fn beside(&self, number: usize, port: &str, load: &str) -> Tare {
        let own = format!("ip=198.18.0.{0}0-{0}2/24,ip=fd00:18::{0}0-fd00:18::{0}2/64", number + 2);
        self.by_kernel(&format!("--via {port}:gen0,{own} {load}"))
    }

    /// Connections that the server's kernel has, but for those that wait out their time. The last segments may
    /// still be in a queue of its: they get a moment.
    fn connections(&self) -> Vec<String> {
        let is_open = |line: &&str| {
            // 06: TIME_WAIT, 0A: LISTEN.
            line.split_whitespace().nth(3).is_some_and(|state| !["06", "0A", "st"].contains(&state))
        };
        let mut open = Vec::new();
        for _ in 0..50 {
            let text = run_in(self.sink(), "cat /proc/net/tcp /proc/net/tcp6");
            open = text.lines().filter(is_open).map(str::to_owned).collect();
            if open.is_empty() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        open
    }

    /// A counter of the server's kernel: `Tcp RetransSegs`, `TcpExt TCPSynRetrans`.
    fn kernel_of_server(&self, table: &str, name: &str) -> u64 {
        let text = run_in(self.sink(), "cat /proc/net/snmp /proc/net/netstat");
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(&format!("{table}:"))).collect();
        let at = lines[0].split_whitespace().position(|word| word == name);
        let at = at.unwrap_or_else(|| panic!("this kernel has no counter {table} {name}"));
        lines[1].split_whitespace().nth(at).and_then(|number| number.parse().ok()).expect("a number")
    }

    /// A recorder on both addresses of the server.
    fn recorder(&self) -> Inside<'_, Recorder> {
        Inside::new(self.sink(), || Recorder::on(&[SERVER, SERVER_V6]))
    }

    /// A server in Python there, at [`SERVER`], port 8026: `serve` defines `serve(connection)`.
    fn serves(&self, serve: &str) -> Process {
        need("python3");
        let says = scratch();
        let ready = says.path().join("ready");
        let script = format!("import socket, sys, threading\n{serve}{ACCEPT}");
        let argv = ["ip", "netns", "exec", &self.sink().name, "python3", "-c", &script, SERVER];
        let server = Process::start(&argv.map(str::to_owned), |command| {
            command.stdout(std::fs::File::create(&ready).expect("a scratch file"));
        });
        wait_until("the server", || text_of(&ready).contains("ready"));
        server
    }

    /// `tare target` there.
    fn target(&self, arguments: &str) -> Target {
        self.target_through(&[], arguments)
    }

    /// The same, before all other work on this machine.
    fn target_ahead(&self, arguments: &str) -> Target {
        self.target_through(&AHEAD, arguments)
    }

    fn target_through(&self, words: &[&str], arguments: &str) -> Target {
        let through = [&["ip", "netns", "exec", &self.sink().name], words].concat();
        let listen = format!("--listen {SERVER}:0 --listen [{SERVER_V6}]:0");
        Target::start_through(&through, &format!("{listen} {arguments}"))
    }

    /// nginx there, on port 80 of both addresses.
    fn nginx(&self, server: &str) -> Nginx {
        Nginx::start_inside(self.sink(), &format!("listen {SERVER}:80; listen [{SERVER_V6}]:80; {server}"))
    }
}

/// Something that was made in a namespace and is dropped there, since it connects to itself then.
struct Inside<'a, T: Send> {
    namespace: &'a Namespace,
    it: Option<T>,
}

impl<'a, T: Send> Inside<'a, T> {
    fn new(namespace: &'a Namespace, make: impl FnOnce() -> T + Send) -> Self {
        Self { namespace, it: Some(namespace.run_in(make).expect("the namespace is there")) }
    }
}

impl<T: Send> Deref for Inside<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.it.as_ref().expect("it is there until it is dropped")
    }
}

impl<T: Send> Drop for Inside<'_, T> {
    fn drop(&mut self) {
        let it = self.it.take();
        // A test that failed says why by itself.
        let _ = self.namespace.run_in(move || drop(it));
    }
}

/// Everything on the wire, as tshark sees it.
struct Capture {
    process: Process,
    folder: tempfile::TempDir,
}

impl Capture {
    fn start(namespace: &Namespace) -> Self {
        ["tcpdump", "tshark"].into_iter().for_each(need);
        let folder = scratch();
        let file = folder.path().join("wire.pcap").display().to_string();
        let interface = &namespace.interface().name;
        let words =
            format!("ip netns exec {} tcpdump -i {interface} -U -Z root -B 65536 -w {file}", namespace.name);
        let argv: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let says = std::fs::File::create(folder.path().join("says")).expect("a scratch file");
        let process = Process::start(&argv, |command| {
            command.stdout(Stdio::null()).stderr(says);
        });
        let it = Self { process, folder };
        wait_until("the capture", || it.says().contains("listening on"));
        it
    }

    fn says(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("says")).unwrap_or_default()
    }

    /// Ends it, and makes sure that it saw everything.
    fn finish(mut self) -> Wire {
        // The kernel hands over what it has captured once a second, if that is little.
        std::thread::sleep(std::time::Duration::from_millis(1_200));
        self.process.end();
        assert!(self.says().contains("\n0 packets dropped by kernel"), "{}", self.says());
        Wire { folder: self.folder }
    }
}

/// A capture that has ended.
struct Wire {
    folder: tempfile::TempDir,
}

impl Wire {
    /// Frames that a display filter lets through, one a line, with these fields.
    fn frames(&self, filter: &str, fields: &[&str]) -> Vec<String> {
        let file = self.folder.path().join("wire.pcap");
        let mut command = std::process::Command::new("tshark");
        // A frame that was broken on purpose says nothing: it is left out of what tshark concludes.
        command.arg("-r").arg(file).args(["-o", "tcp.check_checksum:TRUE", "-Y", filter, "-T", "fields"]);
        fields.iter().for_each(|field| {
            command.args(["-e", field]);
        });
        let output = command.output().expect("tshark runs");
        assert!(output.status.success(), "{filter}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    }
}
