//! Crate `tcp` against the kernel's TCP: its records drive sessions over frames of a veth pair, to sockets in
//! the other namespace. What both sides saw is compared byte by byte, and the kernel's own counters say what
//! it had to complain about.

mod client;
mod scripts;
mod server;

use client::{ADDRESS, Client, MAC};
use server::{Ending, Manners, Why, request, response, serve};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::mpsc::Receiver;
use std::time::Duration;
use tare_system_tests::bed::{Topology, run_in};
use tare_system_tests::{TestBed, beside_others};
use tcp::{Cause, Dropped, Event, Notice, Path, State};

struct Link {
    bed: TestBed,
    server: SocketAddr,
    endings: Receiver<Ending>,
}

impl Link {
    fn to(manners: Manners) -> Self {
        let bed = TestBed::up(Topology::unique());
        let far = bed.sink().interface();
        bed.ip(bed.sink(), &format!("neigh replace {ADDRESS} lladdr {MAC} dev {} nud permanent", far.name));
        let address = far.ipv4.expect("an address");
        let (server, endings) = serve(bed.sink(), address, manners);
        Self { bed, server, endings }
    }

    fn client(&self, through: &str) -> Client {
        let SocketAddr::V4(server) = self.server else { panic!("an address of IPv4") };
        let mac = self.bed.sink().interface().mac;
        Client::new(self.bed.generator(), through, (*server.ip(), server.port()), mac)
    }

    fn ending(&self) -> Ending {
        self.endings.recv_timeout(Duration::from_secs(10)).expect("the server's connection ends")
    }

    /// A counter of the kernel that serves: `Tcp RetransSegs`.
    fn kernel(&self, table: &str, name: &str) -> u64 {
        let text = run_in(self.bed.sink(), "cat /proc/net/snmp /proc/net/netstat");
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(&format!("{table}:"))).collect();
        let at = lines[0].split_whitespace().position(|word| word == name).expect("a counter");
        lines[1].split_whitespace().nth(at).and_then(|number| number.parse().ok()).expect("a number")
    }

    /// Connections to this client that the kernel still has, but for those that wait out their time.
    fn open(&self) -> usize {
        let text = run_in(self.bed.sink(), "cat /proc/net/tcp");
        let states = text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(3));
        // 06: TIME_WAIT, 0A: LISTEN.
        states.filter(|state| !["06", "0A"].contains(state)).count()
    }
}

/// A request, and its response as it must be.
fn exchange(client: &mut Client, port: u16, asks: usize, answer: usize) {
    client.ask(port, request(asks, answer), false);
    client.until("a response", |client| {
        client.session(port).received() >= answer && client.session(port).record.left == 0
    });
    let taken = client.sessions.get_mut(&port).expect("a session").take();
    assert!(taken == response(answer), "{} bytes for {answer}, or others", taken.len());
    client.does(port, Event::Answered, &[]);
}

fn connect(client: &mut Client, port: u16, isn: u32) {
    client.open(port, isn);
    client.until_state(port, State::Established);
}

/// Each combination of options, and numbers and timestamps that wrap on the way.
#[test]
fn requests_and_responses_of_any_size_and_a_close_by_the_client() {
    let _beside = beside_others();
    let plain = Path::v4(1500);
    let paths = [
        (1_000, plain),
        (0xffff_ff00, Path { stamp_offset: 0xffff_ff80, ..plain }),
        (0x7fff_ff00, Path { stamp_offset: 0x7fff_ff80, ..plain }),
        (0xffff_ffff, Path { stamps: false, ..plain }),
        (2_000, Path { sack: false, ..plain }),
        (3_000, Path { stamps: false, sack: false, shift: 0, ..plain }),
        (4_000, Path { mss: 536, send_mss: 536, ..plain }),
    ];
    let link = Link::to(Manners::default());
    let mut clients = Vec::new();
    for (port, (isn, path)) in (10_000..).zip(paths) {
        let mut client = link.client("");
        client.path = path;
        connect(&mut client, port, isn);
        let sizes = [(8, 0), (8, 1), (100, 300), (1_448, 1_448), (1_449, 70_000), (9_000, 1), (500, 500_000)];
        for (asks, answer) in sizes {
            exchange(&mut client, port, asks, answer);
        }
        client.does(port, Event::Close, &[]);
        client.until_state(port, State::TimeWait);
        assert_eq!(link.ending(), Ending { requests: sizes.len(), why: Why::Finished }, "{path:?}");
        clients.push((port, client));
    }
    for (port, mut client) in clients {
        client.until_state(port, State::Closed);
        let session = client.session(port);
        assert_eq!(session.closed(), Some(Cause::Finished));
        assert_eq!(session.count(|notice| matches!(notice, Notice::Quarantine { .. })), 1);
        let odd: Vec<&Notice> = session.told.iter().filter(|notice| is_odd(notice)).collect();
        assert!(odd.is_empty(), "session {port}: {odd:?}");
        assert_eq!(client.unread, 0);
    }
    for (table, name) in [
        ("Tcp", "InErrs"),
        ("Tcp", "InCsumErrors"),
        ("Tcp", "OutRsts"),
        ("TcpExt", "TCPChallengeACK"),
        ("TcpExt", "PAWSEstab"),
    ] {
        assert_eq!(link.kernel(table, name), 0, "{table} {name}");
    }
    assert_eq!(link.open(), 0);
}

/// What neither a late kernel nor a wire that reorders can cause.
fn is_odd(notice: &Notice) -> bool {
    match notice {
        Notice::Dropped(why) => ![Dropped::Hole, Dropped::Outside].contains(why),
        Notice::Challenged | Notice::Failed(_) | Notice::Refused(_) => true,
        _ => false,
    }
}

/// The target's TIME_WAIT takes the SYN of the next life at once.
#[test]
fn a_port_is_used_again_at_once_where_the_server_closes() {
    let _beside = beside_others();
    for stamps in [true, false] {
        let link = Link::to(Manners { closes_after: Some(1), ..Manners::default() });
        let mut client = link.client("");
        client.path.stamps = stamps;
        for _ in 0..50 {
            // The clock proposes a number that is too low each time but the first.
            connect(&mut client, 20_000, 0xfffe_0000);
            client.ask(20_000, request(100, 5_000), false);
            client.until("a response", |client| client.session(20_000).received() == 5_000);
            client.does(20_000, Event::Answered, &[]);
            assert!(client.sessions.get_mut(&20_000).expect("a session").take() == response(5_000));
            client.until_state(20_000, State::Closed);
            assert_eq!(link.ending(), Ending { requests: 1, why: Why::Closed });
        }
        let session = client.session(20_000);
        assert_eq!(session.count(|notice| *notice == Notice::Done), 50);
        assert_eq!(session.count(|notice| *notice == Notice::Closed(Cause::Finished)), 50);
        assert_eq!(session.count(|notice| matches!(notice, Notice::Quarantine { .. })), 0);
        assert_eq!(session.count(|notice| *notice == Notice::Retransmitted), 0, "each first SYN connects");
        assert_eq!((link.kernel("Tcp", "PassiveOpens"), link.kernel("Tcp", "OutRsts")), (50, 0));
    }
}

#[test]
fn fin_with_the_request_is_half_a_close() {
    let _beside = beside_others();
    let link = Link::to(Manners::default());
    let mut client = link.client("");
    connect(&mut client, 21_000, 77);
    client.ask(21_000, request(3_000, 100_000), true);
    client.until("a response", |client| client.session(21_000).received() == 100_000);
    client.does(21_000, Event::Answered, &[]);
    client.until_state(21_000, State::Closed);
    assert_eq!(link.ending(), Ending { requests: 1, why: Why::Finished });
    assert_eq!(client.session(21_000).closed(), Some(Cause::Finished));
}

#[test]
fn resets_of_either_side_are_understood_and_nobody_listening_is_refused() {
    let _beside = beside_others();
    let link = Link::to(Manners { resets_after: Some(2), ..Manners::default() });
    let mut client = link.client("");
    // Ours.
    connect(&mut client, 22_000, 77);
    exchange(&mut client, 22_000, 100, 1_000);
    client.does(22_000, Event::Abort, &[]);
    client.idle(Duration::from_millis(10));
    assert_eq!(link.ending(), Ending { requests: 1, why: Why::Failed(ErrorKind::ConnectionReset) });
    assert_eq!(link.open(), 0);
    // The server's.
    connect(&mut client, 22_001, 77);
    exchange(&mut client, 22_001, 100, 1_000);
    client.ask(22_001, request(100, 1_000), false);
    client.until_state(22_001, State::Closed);
    assert!(client.session(22_001).told.contains(&Notice::Failed(Cause::Reset)));
    assert_eq!(link.ending(), Ending { requests: 2, why: Why::Closed });
    // Nobody's.
    let mut nobody = Client::new(
        link.bed.generator(),
        "",
        (link.bed.sink().interface().ipv4.expect("an address"), 9),
        link.bed.sink().interface().mac,
    );
    nobody.open(22_002, 77);
    nobody.until_state(22_002, State::Closed);
    assert_eq!(nobody.session(22_002).closed(), Some(Cause::Refused));
}

/// The target has the connection of an earlier run: its challenge ACK is answered with RST, and the SYN comes
/// again.
#[test]
fn an_open_connection_of_an_earlier_run_makes_room() {
    let _beside = beside_others();
    let link = Link::to(Manners::default());
    let mut before = link.client("");
    connect(&mut before, 23_000, 5_000);
    exchange(&mut before, 23_000, 100, 1_000);
    drop(before);
    let mut client = link.client("");
    // Timestamps go on, and the number is in the old window, which is the worst case.
    client.path.stamp_offset = 60_000;
    connect(&mut client, 23_000, 6_000);
    assert_eq!(link.ending(), Ending { requests: 1, why: Why::Failed(ErrorKind::ConnectionReset) });
    exchange(&mut client, 23_000, 100, 1_000);
    assert_eq!(link.kernel("TcpExt", "TCPChallengeACK"), 1);
    client.does(23_000, Event::Abort, &[]);
}

/// A server that does not read closes its window, opens it again, and takes everything.
#[test]
fn a_window_that_closes_is_probed_and_nothing_is_lost() {
    let _beside = beside_others();
    let link = Link::to(Manners { reads_after: Some(Duration::from_millis(1500)), ..Manners::default() });
    let mut client = link.client("");
    connect(&mut client, 24_000, 0xffff_f000);
    exchange(&mut client, 24_000, 30_000, 5_000);
    let session = client.session(24_000);
    for notice in [Notice::Blocked, Notice::Probed, Notice::Unblocked] {
        assert!(session.told.contains(&notice), "{notice:?}: {:?}", session.last());
    }
    client.does(24_000, Event::Close, &[]);
    client.until_state(24_000, State::Closed);
    assert_eq!(link.ending(), Ending { requests: 1, why: Why::Finished });
}

/// A RST beyond the window would be ignored, and the target would keep the connection.
#[test]
fn an_abort_before_a_closed_window_ends_the_targets_connection() {
    let _beside = beside_others();
    let link = Link::to(Manners { reads_after: Some(Duration::from_secs(30)), ..Manners::default() });
    let mut client = link.client("");
    connect(&mut client, 25_000, 1);
    client.ask(25_000, request(30_000, 5_000), false);
    client.until("a probe", |client| client.session(25_000).told.contains(&Notice::Probed));
    client.idle(Duration::from_millis(50));
    assert_eq!(link.open(), 1);
    client.does(25_000, Event::Abort, &[]);
    client.idle(Duration::from_millis(50));
    assert_eq!(link.open(), 0, "the kernel took the RST");
}

/// Frames are lost, doubled, overtaken and damaged, in both directions: nothing of it is seen by either end.
#[test]
fn faults_of_the_wire_change_no_byte_and_no_count() {
    const SESSIONS: u16 = 40;
    let _beside = beside_others();
    let link = Link::to(Manners::default());
    let mut client = link.client("fault,drop=2%,duplicate=2%,reorder=4%,by=3,corrupt=1%,on=both:");
    let ports = 30_000..30_000 + SESSIONS;
    for port in ports.clone() {
        client.open(port, u32::from(port).wrapping_mul(0x9e37_79b1));
    }
    client.until("all connected", |client| {
        client.sessions.values().all(|session| session.record.state == State::Established)
    });
    for (asks, answer) in [(200, 20_000), (3_000, 60_000), (100, 300)] {
        for port in ports.clone() {
            client.ask(port, request(asks, answer), false);
        }
        client.until("all responses", |client| {
            client.sessions.values().all(|session| session.received() >= answer && session.record.left == 0)
        });
        for port in ports.clone() {
            let taken = client.sessions.get_mut(&port).expect("a session").take();
            assert!(taken == response(answer), "session {port}: {} bytes for {answer}", taken.len());
            client.does(port, Event::Answered, &[]);
        }
    }
    for port in ports {
        client.does(port, Event::Close, &[]);
    }
    client.until("all closed", |client| {
        client.sessions.values().all(|session| session.record.state == State::Closed)
    });
    for _ in 0..SESSIONS {
        assert_eq!(link.ending(), Ending { requests: 3, why: Why::Finished });
    }
    for (port, session) in &client.sessions {
        assert_eq!(session.count(|notice| *notice == Notice::Done), 3);
        assert_eq!(session.closed(), Some(Cause::Finished), "session {port}: {:?}", session.last());
    }
    // The wire was as bad as it was meant to be.
    let all = |is: fn(&Notice) -> bool| client.sessions.values().map(|s| s.count(is)).sum::<usize>();
    let retransmitted = all(|notice| *notice == Notice::Retransmitted);
    let (early, filled) = (
        all(|notice| matches!(notice, Notice::Early { .. })),
        all(|notice| matches!(notice, Notice::Filled { .. })),
    );
    assert!(retransmitted > 5 && early > 50 && filled > 20, "{retransmitted} {early} {filled}");
    let damaged = (client.unread, link.kernel("Tcp", "InCsumErrors"));
    assert!(damaged.0 + damaged.1 > 5, "{damaged:?}");
    assert!(link.kernel("Tcp", "RetransSegs") > 20);
}

/// Ten segments in flight, and a wire that loses in both directions: the kernel's server reads every byte.
#[test]
fn an_upload_with_ten_segments_in_flight_loses_no_byte() {
    const SESSIONS: u16 = 6;
    const BYTES: usize = 300_000;
    let _beside = beside_others();
    let link = Link::to(Manners::default());
    let mut client = link.client("fault,drop=2%,on=both:");
    client.path.burst = 10;
    let ports = 31_000..31_000 + SESSIONS;
    for port in ports.clone() {
        client.open(port, u32::from(port).wrapping_mul(0x9e37_79b1));
    }
    client.until("all connected", |client| {
        client.sessions.values().all(|session| session.record.state == State::Established)
    });
    let mut sizes = vec![65_535; BYTES / 65_535];
    sizes.push(BYTES % 65_535);
    for asks in &sizes {
        for port in ports.clone() {
            client.ask(port, request(*asks, 1000), false);
        }
        client.until("all responses", |client| {
            client.sessions.values().all(|session| session.received() >= 1000 && session.record.left == 0)
        });
        for port in ports.clone() {
            let taken = client.sessions.get_mut(&port).expect("a session").take();
            assert!(taken == response(1000), "session {port}: {} bytes, or others", taken.len());
            client.does(port, Event::Answered, &[]);
        }
    }
    for port in ports {
        client.does(port, Event::Close, &[]);
    }
    client.until("all closed", |client| {
        client.sessions.values().all(|session| session.record.state == State::Closed)
    });
    // The server compares each request with the pattern, byte by byte.
    for _ in 0..SESSIONS {
        assert_eq!(link.ending(), Ending { requests: sizes.len(), why: Why::Finished });
    }
    for (port, session) in &client.sessions {
        assert!((5_000..=14_600).contains(&session.most_out), "{} bytes out of {port}", session.most_out);
        assert_eq!(session.count(|notice| *notice == Notice::Acked), sizes.len());
    }
    // 1200 segments of 1448 bytes, one of 50 lost.
    let again =
        client.sessions.values().map(|s| s.count(|notice| *notice == Notice::Retransmitted)).sum::<usize>();
    assert!(again > 5, "{again} sent again");
}

/// With ten in flight, nothing waits for a delayed ACK of the kernel.
#[test]
fn a_burst_is_not_held_up_by_delayed_acks() {
    let _beside = beside_others();
    let link = Link::to(Manners::default());
    let mut client = link.client("");
    client.path.burst = 10;
    connect(&mut client, 26_000, 0xffff_0000);
    for _ in 0..20 {
        exchange(&mut client, 26_000, 65_535, 100);
    }
    let session = client.session(26_000);
    assert!((5_000..=14_600).contains(&session.most_out), "{} bytes out", session.most_out);
    client.does(26_000, Event::Close, &[]);
    client.until_state(26_000, State::Closed);
    assert_eq!(link.ending(), Ending { requests: 20, why: Why::Finished });
    for (table, name) in [("Tcp", "InErrs"), ("Tcp", "OutRsts"), ("TcpExt", "TCPChallengeACK")] {
        assert_eq!(link.kernel(table, name), 0, "{table} {name}");
    }
}

/// A window that the owner closes stops the kernel, and what comes after it is what would have come.
#[test]
fn an_owner_that_takes_nothing_throttles_the_kernel() {
    const ANSWER: usize = 20_000_000;
    let _beside = beside_others();
    let link = Link::to(Manners::default());
    let mut client = link.client("");
    connect(&mut client, 27_000, 99);
    client.ask(27_000, request(100, ANSWER), false);
    for part in [1_000_000, 4_000_000] {
        client.until("a part", |client| client.session(27_000).received() >= part);
        client.takes(27_000, false);
        // What was in flight, which takes its time on a busy machine, and then the kernel's probes alone.
        let mut came = 0;
        for _ in 0..50 {
            let before = std::mem::replace(&mut came, client.session(27_000).received());
            if came == before {
                break;
            }
            client.idle(Duration::from_millis(100));
        }
        client.idle(Duration::from_millis(700));
        assert_eq!(client.session(27_000).received(), came, "bytes into a closed window");
        assert!(came < ANSWER, "the window did not close in time");
        client.takes(27_000, true);
    }
    client.until("a response", |client| client.session(27_000).received() == ANSWER);
    let taken = client.sessions.get_mut(&27_000).expect("a session").take();
    assert!(taken == response(ANSWER), "other bytes");
    client.does(27_000, Event::Answered, &[]);
    client.does(27_000, Event::Close, &[]);
    client.until_state(27_000, State::Closed);
    assert_eq!(link.ending(), Ending { requests: 1, why: Why::Finished });
}
