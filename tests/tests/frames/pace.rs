//! `tare pace`: what the host's own TCP and UDP send through a tap leaves at the pace, nothing is lost on the
//! way, and a real iperf3 at the other end says so.

use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Duration;
use tare_system_tests::bed::{Topology, run_in};
use tare_system_tests::process::wait_until;
use tare_system_tests::{Process, Running, Tare, TestBed, alone, beside_others, light, need, patiently};

/// The way that a test goes: generator with a tap before its interface, sink with an iperf3 server.
struct Way {
    bed: TestBed,
    _server: Process,
}

const TAP: &str = "tap,address=198.18.0.1/24:tare0";

impl Way {
    fn new() -> Self {
        need("iperf3");
        need("sysctl");
        let bed = TestBed::up(Topology::unique().without_neighbours());
        let interface = bed.generator().interface().name.clone();
        // The address is the tap's; the interface that frames leave by answers for none.
        bed.ip(bed.generator(), &format!("addr flush dev {interface}"));
        run_in(bed.generator(), &format!("sysctl -qw net.ipv4.conf.{interface}.arp_ignore=1"));
        let server = format!("ip netns exec {} iperf3 -s", bed.sink().name);
        let words: Vec<String> = server.split_whitespace().map(str::to_owned).collect();
        let server = Process::start(&words, |command| {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        });
        Self { bed, _server: server }
    }

    fn out(&self) -> String {
        format!("packet:{}", self.bed.generator().interface().name)
    }

    fn pace(&self, flags: &str) -> Running {
        let tare = Tare::packets(&format!("pace {TAP} {} {flags}", self.out()));
        let running = tare.inside(self.bed.generator()).limit(Duration::from_secs(60)).start();
        let listing = || run_in(self.bed.generator(), "ip -o addr");
        wait_until("the tap has its address", || listing().contains("tare0    inet 198.18.0.1"));
        running
    }

    /// Datagrams of a sender without a limit through gaps of 250 µs, none of which is lost; `Err` if they are
    /// not about 4 000/s.
    fn datagrams_per_second(&self) -> Result<f64, f64> {
        let running = self.pace("-d 250000 -t 30");
        // 4 000 frames a second, whatever iperf3 would like to send.
        let before = self.unread();
        let said = self.iperf3("-u -b 0 -l 1000 -t 2");
        running.end();
        let sum = &said["end"]["sum"];
        // On a busy machine iperf3 may not read what came: a twentieth of a second of it fits into its socket.
        let unread = self.unread() - before;
        assert!(sum["lost_packets"].as_u64().unwrap() <= unread, "{unread} not read of {sum}");
        let per_second = sum["packets"].as_f64().unwrap() / sum["seconds"].as_f64().unwrap();
        if (3_500.0..4_300.0).contains(&per_second) { Ok(per_second) } else { Err(per_second) }
    }

    /// Datagrams that came to the sink and found no room in their socket.
    fn unread(&self) -> u64 {
        let counters = run_in(self.bed.sink(), "cat /proc/net/snmp");
        let udp: Vec<&str> = counters.lines().filter(|line| line.starts_with("Udp: ")).collect();
        let mut both = udp[0].split(' ').zip(udp[1].split(' '));
        both.find(|(name, _)| *name == "RcvbufErrors").unwrap().1.parse().unwrap()
    }

    /// What iperf3 says.
    fn iperf3(&self, flags: &str) -> Value {
        let mut command: Command = self.bed.generator().command("iperf3");
        let words = format!("-c 198.18.0.2 --json --connect-timeout 3000 {flags}");
        let output = command.args(words.split_whitespace()).output().expect("iperf3 runs");
        let said: Value = serde_json::from_slice(&output.stdout).expect("iperf3 prints JSON");
        assert!(said.get("error").is_none(), "{said}");
        said
    }
}

#[test]
fn iperf3_gets_the_paced_rate_and_sends_nothing_again() {
    let _alone = alone();
    patiently(3, || {
        let way = Way::new();
        let running = way.pace("--rate 40mbit -t 30");
        let said = way.iperf3("-t 5 -O 1");
        let run = running.end();
        // 1448 bytes of payload in frames of 1538 on the wire: 40 Mbit/s · 1448 / 1538 = 37.66 Mbit/s.
        let goodput = said["end"]["sum_received"]["bits_per_second"].as_f64().unwrap() / 1e6;
        assert!((goodput / 37.66 - 1.0).abs() < 0.01, "{goodput} Mbit/s");
        assert_eq!(said["end"]["sum_sent"]["retransmits"], 0);
        let drops = &run.at("/packets/ports/0/drops");
        assert_eq!(drops.as_array().map(Vec::len), Some(0), "{drops}");
        assert!(run.float("/packets/gaps/mean_ns") > 0.0);
        assert!(run.remarks().contains("valve before the tap was set"), "{}", run.remarks());
    });
}

#[test]
fn a_sender_of_datagrams_that_knows_no_limit_loses_none() {
    let _light = light();
    let way = Way::new();
    // The rate is exact in a quiet moment; that nothing is lost holds at any.
    let rates: Vec<f64> = (0..3).map_while(|_| way.datagrams_per_second().err()).collect();
    assert!(rates.len() < 3, "{rates:?}");
}

#[test]
fn an_interface_that_goes_down_and_up_forgets_what_waited() {
    let _beside = beside_others();
    let way = Way::new();
    // A frame each 200 ms: of forty datagrams some wait, also if a busy machine takes seconds to send them.
    let running = way.pace("-d 200ms -t 8 --no-valve");
    // Nobody writes into the pipe: reading it in vain is a pause for which no program has to start.
    let datagrams =
        "exec 3<> <(:); for n in {1..40}; do echo $n > /dev/udp/198.18.0.2/9; read -t 0.01 -u 3; done";
    let mut bash = way.bed.generator().command("bash");
    bash.args(["-c", datagrams]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut sender = bash.spawn().expect("bash runs");
    let _ = sender.wait();
    way.bed.ip(way.bed.generator(), "link set tare0 down");
    std::thread::sleep(Duration::from_millis(100));
    way.bed.ip(way.bed.generator(), "link set tare0 up");
    let run = running.finish();
    assert!(run.remarks().contains("went down or came up"), "{}", run.remarks());
    assert!(run.outcome("link.down") > 0, "{:?}", run.outcome_keys());
}

#[test]
fn a_mark_stands_behind_what_was_sent_before_it_also_in_a_pause() {
    let _beside = beside_others();
    let way = Way::new();
    let folder = tare_system_tests::scratch();
    let out = folder.path().join("run");
    let running = way.pace(&format!("-d 100us -t 30 --out {}", out.display()));
    let ctl = |words: &str| Tare::new(&format!("ctl {} {words}", out.display())).run().stdout;
    wait_until("the socket", || out.join("control.sock").exists());
    // The first datagram asks for its neighbour; then the way is known.
    let datagram = || {
        let mut bash = way.bed.generator().command("bash");
        bash.args(["-c", "for n in {1..5}; do echo $n > /dev/udp/198.18.0.2/9; done"]);
        let _ = bash.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("bash runs");
    };
    datagram();
    wait_until("the neighbour", || run_in(way.bed.generator(), "ip neigh").contains("lladdr"));
    ctl("pause");
    std::thread::sleep(Duration::from_millis(200));
    datagram();
    ctl("mark");
    std::thread::sleep(Duration::from_millis(300));
    let waits = ctl("mark 1");
    assert!(waits.contains("mark 1: waiting"), "{waits}");
    ctl("resume");
    wait_until("the mark", || ctl("mark 1").contains("mark 1: gone, all"));
    let run = running.end();
    let told = run.result["labels"].to_string();
    assert!(!told.contains("mark"), "a mark changes nothing: {told}");
}

#[test]
fn bad_input_is_named_before_anything_is_made() {
    let _beside = beside_others();
    let bed = TestBed::pair();
    for (arguments, said) in [
        ("pace tap:tare0 packet:gen0", "--rate needs a rate, a gap (-d) or a file of gaps (-D)"),
        ("pace tap:tare0 packet:gen0 --rate max", "--rate: 'max' is not a pace"),
        ("pace packet:gen0 packet:gen0 -d 100", "IN contradicts OUT"),
        (
            "pace tap:tare0 udp:198.18.0.2:9 -d 100",
            "OUT: udp:198.18.0.2:9: a socket carries only UDP payloads",
        ),
        ("pace tap:tare0 packet:nothere -d 100", "there is no interface 'nothere'"),
        ("pace tap:tare0 packet:gen0 -D /nonexistent", "--gaps: /nonexistent"),
    ] {
        let run = Tare::packets(arguments).inside(bed.generator()).start().finish_unchecked();
        assert_eq!(run.code, Some(2), "{arguments}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{arguments}: {}", run.stderr);
    }
}
