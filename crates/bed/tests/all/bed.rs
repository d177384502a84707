//! Test beds of namespaces: what is asked for is there, and nothing of it is left. Needs root.

use bed::{Bed, BedError, Middlebox, Namespace, Topology};
use std::fs;
use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

/// What `program` prints inside `namespace`.
fn inside(namespace: &Namespace, program: &str, arguments: &str) -> String {
    let output = namespace.command(program).args(arguments.split(' ')).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn namespaces() -> String {
    String::from_utf8(Command::new("ip").args(["netns", "list"]).output().unwrap().stdout).unwrap()
}

/// A datagram from the generator arrives at the sink, and the answer comes back.
fn both_ways(bed: &Bed, ipv6: bool) {
    let address = |namespace: &Namespace| match namespace.interface() {
        end if ipv6 => format!("[{}]:4000", end.ipv6.unwrap()),
        end => format!("{}:4000", end.ipv4.unwrap()),
    };
    let bound = |namespace: &Namespace| {
        let socket = namespace.run_in(|| UdpSocket::bind(address(namespace))).unwrap().unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        socket
    };
    let (near, far) = (bound(bed.generator()), bound(bed.sink()));
    near.send_to(b"there", address(bed.sink())).unwrap();
    let mut buffer = [0; 16];
    let (length, from) = far.recv_from(&mut buffer).unwrap();
    far.send_to(&buffer[..length], from).unwrap();
    assert_eq!(near.recv(&mut buffer).unwrap(), 5);
}

#[test]
fn datagrams_cross_a_pair_in_both_families_and_neighbours_are_known() {
    let bed = Bed::up(&Topology::unique().ipv6()).unwrap();
    both_ways(&bed, false);
    both_ways(&bed, true);
    let neighbours = inside(bed.generator(), "ip", "neigh show");
    assert!(neighbours.contains("198.18.0.2 dev gen0 lladdr 02:18:00:00:00:02 PERMANENT"), "{neighbours}");
}

#[test]
fn a_router_stands_between_two_networks() {
    let bed = Bed::up(&Topology::unique().ipv6().middlebox(Middlebox::Router)).unwrap();
    both_ways(&bed, false);
    both_ways(&bed, true);
}

#[test]
fn a_wire_forwards_nothing_by_itself() {
    let bed = Bed::up(&Topology::unique().middlebox(Middlebox::Wire)).unwrap();
    let middle = bed.middlebox().unwrap();
    assert_eq!(middle.interfaces.len(), 2);
    let near = bed.generator().run_in(|| UdpSocket::bind("198.18.0.1:0")).unwrap().unwrap();
    let far = bed.sink().run_in(|| UdpSocket::bind("198.18.0.2:4000")).unwrap().unwrap();
    far.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    near.send_to(b"there", "198.18.0.2:4000").unwrap();
    assert!(far.recv(&mut [0; 16]).is_err());
    let seen = inside(middle, "cat", "/sys/class/net/mid0/statistics/rx_packets");
    assert_eq!(seen.trim(), "1");
}

#[test]
fn queues_mtu_and_offloads_are_as_asked_and_the_kernel_sends_nothing_of_its_own_accord() {
    let bed = Bed::up(&Topology::unique().queues(3).mtu(9000)).unwrap();
    for namespace in [bed.generator(), bed.sink()] {
        let name = &namespace.interface().name;
        let details = inside(namespace, "ip", &format!("-d link show {name}"));
        assert!(details.contains("mtu 9000") && details.contains("numtxqueues 3 "), "{details}");
        assert!(details.contains("numrxqueues 3 "), "{details}");
        let features = inside(namespace, "ethtool", &format!("-k {name}"));
        for feature in [
            "rx-checksumming",
            "tx-checksumming",
            "\ttx-tcp-segmentation",
            "generic-segmentation-offload",
            "generic-receive-offload",
        ] {
            assert!(features.contains(&format!("\n{feature}: off")), "{feature}: {features}");
        }
    }
    std::thread::sleep(Duration::from_millis(1500));
    let sent = inside(bed.generator(), "cat", "/sys/class/net/gen0/statistics/tx_packets");
    assert_eq!(sent.trim(), "0");
}

#[test]
fn nothing_is_left_of_a_bed_and_its_name_is_taken_only_while_it_stands() {
    let topology = Topology::unique();
    let bed = Bed::up(&topology).unwrap();
    assert!(namespaces().contains(&bed.sink().name));
    assert!(matches!(Bed::up(&topology), Err(BedError::Exists { .. })));
    assert!(matches!(bed::down(bed.name()), Err(BedError::InUse { .. })), "its process still runs");
    // A process inside does not keep the links alive.
    let mut sleeper = bed.generator().command("sleep").arg("60").spawn().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    bed.down().unwrap();
    let links = fs::read_to_string(format!("/proc/{}/net/dev", sleeper.id())).unwrap();
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    assert!(!links.contains("gen0"), "{links}");
    assert!(!namespaces().contains(&topology.name));
    assert!(matches!(bed::find(&topology.name), Err(BedError::Unknown { .. })));
    drop(Bed::up(&topology).unwrap());
    assert!(!namespaces().contains(&topology.name));
}

#[test]
fn what_was_not_made_here_is_left_alone() {
    let topology = Topology::unique();
    let sink = format!("tare-{}-sink", topology.name);
    let ip = |words: &[&str]| assert!(Command::new("ip").args(words).status().unwrap().success());
    ip(&["netns", "add", &sink]);
    let refused = Bed::up(&topology).unwrap_err();
    assert!(matches!(&refused, BedError::Foreign { namespace } if *namespace == sink), "{refused}");
    assert!(namespaces().contains(&sink), "it is still there");
    ip(&["netns", "del", &sink]);

    // Replaced by another of the same name: known by its inode.
    let state = Bed::up(&topology).unwrap().keep().unwrap();
    ip(&["netns", "del", &sink]);
    // Takes the number that has just become free, so that the next has another.
    let taken = format!("{sink}-x");
    ip(&["netns", "add", &taken]);
    ip(&["netns", "add", &sink]);
    let replaced = state.namespaces[1].inode_now() != state.namespaces[1].inode;
    let refused = bed::down(&topology.name);
    let there = namespaces().contains(&sink);
    ip(&["netns", "del", &sink]);
    ip(&["netns", "del", &taken]);
    bed::down(&topology.name).unwrap();
    assert!(replaced && there && matches!(refused, Err(BedError::Changed { .. })), "{refused:?}");
    assert!(!namespaces().contains(&topology.name));
}

#[test]
fn what_a_killed_process_left_is_taken_away_by_the_next() {
    let topology = Topology::unique();
    let state = Bed::up(&topology).unwrap().keep().unwrap();
    // As if its process had been killed half-way: not ready, an owner that is no more, one namespace without a
    // name yet.
    let file = format!("/run/tare/lab/{}.json", topology.name);
    let mut json: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    json["owner"] = serde_json::json!({"pid": 1, "began_ticks": u64::MAX});
    json["ready"] = false.into();
    // Renamed, as other tests read all files at any moment.
    let draft = file.replace(".json", ".draft");
    fs::write(&draft, json.to_string()).unwrap();
    fs::rename(&draft, &file).unwrap();
    let sink = &state.namespaces[1].name;
    assert!(Command::new("ip").args(["netns", "del", sink]).status().unwrap().success());
    drop(Bed::up(&Topology::unique()).unwrap());
    assert!(!namespaces().contains(&topology.name));
    assert!(!fs::exists(&file).unwrap());
}

#[test]
fn a_damaged_file_of_another_bed_hinders_nobody() {
    let (bed, damaged) = (Bed::up(&Topology::unique()).unwrap(), Topology::unique());
    let file = format!("/run/tare/lab/{}.json", damaged.name);
    fs::write(&file, "{").unwrap();
    let (own, others) = (bed::find(bed.name()), bed::find(&damaged.name));
    fs::remove_file(&file).unwrap();
    assert_eq!(own.unwrap().name, bed.name());
    assert!(matches!(others, Err(BedError::File { .. })), "{others:?}");
    bed.down().unwrap();
}
