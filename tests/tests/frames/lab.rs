//! `tare lab`: beds come up, are shown, work, and leave nothing behind.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use tare_system_tests::bed::{TestBed, namespaces};
use tare_system_tests::process::wait_until;
use tare_system_tests::{beside_others, binary, need, need_root};

fn lab(words: &str) -> Output {
    Command::new(binary()).arg("lab").args(words.split_whitespace()).output().expect("`tare lab` runs")
}

/// What it prints; it must succeed.
#[track_caller]
fn good(words: &str) -> String {
    let output = lab(words);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tare lab {words}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What it complains of, with exit status 2.
#[track_caller]
fn wrong(words: &str) -> String {
    let output = lab(words);
    assert_eq!(output.status.code(), Some(2), "tare lab {words}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Taken away when dropped, also when the test panics.
struct Up(String);

impl Up {
    /// `tare lab up --name NAME FLAGS`, under a name that no other test has.
    #[track_caller]
    fn new(name: &str, flags: &str) -> (Self, String) {
        need_root();
        need("ip");
        let name = format!("{name}-{}", std::process::id());
        let shown = good(&format!("up --name {name} {flags}"));
        (Self(name), shown)
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        lab(&format!("down --name {}", self.0));
    }
}

fn namespace_of(name: &str, role: &str) -> String {
    format!("tare-{name}-{role}")
}

#[test]
fn what_up_made_works_and_down_leaves_nothing() {
    let _beside = beside_others();
    let (up, shown) = Up::new("works", "");
    let name = up.0.clone();
    let (generator, sink) = (namespace_of(&name, "generator"), namespace_of(&name, "sink"));
    assert!(shown.contains(&format!("{generator}  gen0   02:18:00:00:00:01  198.18.0.1")), "{shown}");
    assert!(namespaces().contains(&sink));
    let refused = wrong(&format!("up --name {name}"));
    assert!(refused.contains(&format!("tare lab down --name {name}")), "{refused}");

    // A command of those that it says to try.
    let ping = format!("ip netns exec {generator} ping -c 3 198.18.0.2");
    assert!(shown.contains(&ping), "{shown}");
    let datagram = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('198.18.0.2', 9))";
    let sent = Command::new("ip").args(["netns", "exec", &generator, "python3", "-c", datagram]).status();
    assert!(sent.expect("`ip netns exec` runs").success());

    assert_eq!(good(&format!("down --name {name}")), format!("{name} is removed\n"));
    assert!(!namespaces().contains(&name), "{}", namespaces());
    assert!(!Path::new("/run/tare/lab").join(format!("{name}.json")).exists());
    let refused = wrong(&format!("down --name {name}"));
    assert!(refused.contains(&format!("there is no test bed '{name}'")), "{refused}");
}

#[test]
fn a_bed_is_shown_as_it_is_in_words_and_as_json() {
    let _beside = beside_others();
    let (up, shown) = Up::new("shown", "--queues 2 --mtu 9000 --middlebox --ipv6");
    let name = &up.0;
    assert_eq!(good(&format!("show --name {name}")), shown);
    let middlebox = namespace_of(name, "middlebox");
    for line in [
        format!("{name}: 2 queues, MTU 9000"),
        format!("  ip netns exec {middlebox} tare forward packet:mid0 packet:mid1"),
        format!("  tare lab down --name {name}"),
    ] {
        assert!(shown.contains(&line), "{line}: {shown}");
    }
    let all: Value = serde_json::from_str(&good("show --json")).expect("JSON");
    let bed = all
        .as_array()
        .expect("a list")
        .iter()
        .find(|bed| bed["name"] == name.as_str())
        .expect("it is listed");
    assert_eq!((&bed["queues"], &bed["mtu"], &bed["ready"]), (&2.into(), &9000.into(), &true.into()));
    let names: Vec<&str> =
        bed["namespaces"].as_array().expect("a list").iter().filter_map(|n| n["role"].as_str()).collect();
    assert_eq!(names, ["generator", "middlebox", "sink"]);
    let sink = &bed["namespaces"][2];
    assert!(sink["inode"].as_u64().is_some_and(|inode| inode > 0), "{sink}");
    assert_eq!(sink["interfaces"][0]["ipv6"], "fd00:18::2");
    assert_eq!(sink["interfaces"][0]["mac"], "02:18:00:00:00:02");
}

#[test]
fn what_it_did_not_make_it_does_not_touch() {
    let _beside = beside_others();
    let (up, _) = Up::new("foreign", "");
    let sink = namespace_of(&up.0, "sink");
    // A namespace is busy for a moment where another test has just copied the mounts.
    let ip = |words: &[&str]| {
        let done = || Command::new("ip").arg("netns").args(words).status().expect("`ip` runs").success();
        wait_until(&format!("ip netns {words:?}"), done);
    };
    // Somebody else's, of the same name. The first takes the number that has become free.
    let other = format!("{sink}-other");
    ip(&["del", &sink]);
    ip(&["add", &other]);
    ip(&["add", &sink]);
    let refused = lab(&format!("down --name {}", up.0));
    let is_left = namespaces().lines().any(|line| line.split(' ').next() == Some(&sink));
    ip(&["del", &sink]);
    ip(&["del", &other]);
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(is_left && message.contains("is not the one that was made"), "{message}");
    good(&format!("down --name {}", up.0));

    // A bed of a test that still runs.
    let bed = TestBed::pair();
    let refused = wrong(&format!("down --name {}", bed.name()));
    assert!(refused.contains(&format!("belongs to process {}", std::process::id())), "{refused}");
    assert!(namespaces().contains(&bed.sink().name), "it is left alone");
}

#[test]
fn wrong_settings_are_named_before_anything_is_made() {
    let _beside = beside_others();
    for (flags, named) in [
        ("--name Big", "'Big' is not a valid name for a test bed"),
        ("--name a/b", "'a/b' is not a valid name for a test bed"),
        ("--name wrong --queues 0", "--queues 0"),
        ("--name wrong --mtu 67", "--mtu 67"),
        ("--name wrong --mtu 1000 --ipv6", "1280 to 65535 with IPv6"),
        ("--name wrong --middlebox switch", "switch"),
    ] {
        let refused = wrong(&format!("up {flags}"));
        assert!(refused.contains(named), "{flags}: {refused}");
    }
    assert!(!namespaces().contains("tare-wrong"));
}

#[test]
fn without_the_privilege_it_says_which_is_missing_and_what_it_is_for() {
    let _beside = beside_others();
    need("setpriv");
    let refused = |without: &str| {
        let drop = [format!("--bounding-set={without}"), format!("--inh-caps={without}")];
        let output =
            Command::new("setpriv").args(drop).arg(binary()).args(["lab", "up", "--name", "poor"]).output();
        let output = output.expect("`setpriv` runs");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        error
    };
    let system = "CAP_SYS_ADMIN (namespaces are made and entered)";
    let network = "CAP_NET_ADMIN (interfaces are made and set up in them)";
    let both = refused("-sys_admin,-net_admin");
    assert!(both.contains(&format!("{system} and {network}")) && both.contains("run it as root"), "{both}");
    let one = refused("-net_admin");
    assert!(one.contains(network) && !one.contains("CAP_SYS_ADMIN"), "{one}");
    assert!(!namespaces().contains("tare-poor") && !Path::new("/run/tare/lab/poor.json").exists());
}

#[test]
fn with_gro_its_ends_take_frames_of_xdp_programs() {
    let _beside = beside_others();
    need("ethtool");
    let gro = |name: &str| -> String {
        let generator = namespace_of(name, "generator");
        let output = Command::new("ip").args(["netns", "exec", &generator, "ethtool", "-k", "gen0"]).output();
        let text = String::from_utf8(output.expect("`ethtool` runs").stdout).expect("text");
        let line = text.lines().find(|line| line.starts_with("generic-receive-offload:"));
        line.expect("the switch is shown").to_owned()
    };
    let (up, shown) = Up::new("gro", "--gro --middlebox");
    assert!(shown.starts_with(&format!("{}: 1 queue, MTU 1500, GRO on\n", up.0)), "{shown}");
    assert!(
        shown.contains("tare forward mid0 mid1 --xdp") && shown.contains("tare send live:gen0"),
        "{shown}"
    );
    assert!(gro(&up.0).ends_with(": on"), "{}", gro(&up.0));
    let (plain, shown) = Up::new("nogro", "");
    assert!(shown.contains("need GRO at both ends, as a bed of `tare lab up --gro` has"), "{shown}");
    assert!(gro(&plain.0).ends_with(": off"), "{}", gro(&plain.0));
}
