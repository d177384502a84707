//! What is changed while it runs, by `tare ctl` or a key.

use super::*;

#[test]
fn a_rate_is_changed_while_it_runs_and_the_result_says_when() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let folder = scratch();
    let out = folder.path().join("run");
    let running = send(&bed, &format!("--rate 1k -t 5 -m {NOBODY} --out {}", out.display())).start();
    let socket = out.join("control.sock");
    wait_until("the socket", || socket.exists());
    wait_until("a frame", || bed.kernel(bed.generator(), "tx_packets") > 300);
    let ctl = |words: &str| Tare::new(&format!("ctl {} {words}", out.display())).run();
    let shown = ctl("show");
    assert!(shown.stdout.contains("rate") && shown.stdout.contains("1000/s"), "{shown}");
    let set = ctl("set rate 4k");
    assert_eq!((set.code, set.stdout.trim()), (Some(0), "rate 4000/s"), "{set}");
    let marked = ctl("mark half");
    assert!(marked.stdout.contains("mark half:"), "{marked}");
    let refused = ctl("set rate quick");
    assert!(refused.code == Some(2) && refused.stderr.contains("'quick' is not a number"), "{refused}");
    let run = running.finish();
    // The mark may stand before it: a rate takes effect a little after it was asked for.
    let changes = run.result["packets"]["changes"].as_array().expect("changes");
    let change = changes.iter().find(|change| change["what"] == "rate").expect("the rate");
    assert_eq!(change["to"], "4000/s", "{run}");
    // Exact: those due before the change at 1 000/s, and from it on at 4 000/s until 5 s.
    let at = change["at_s"].as_f64().unwrap();
    let expected = (at * 1_000.0).ceil() + ((5.0 - at) * 4_000.0).ceil();
    assert!((run.total("offered") as f64 - expected).abs() <= 1.0, "{expected} {run}");
    assert!(!socket.exists(), "the socket goes with the run");
    let over = ctl("show");
    assert!(over.code == Some(2) && over.stderr.contains("not under way"), "{over}");
}

#[test]
fn the_size_is_changed_while_it_runs_and_bytes_say_from_when() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let folder = scratch();
    let out = folder.path().join("run");
    let running = send(&bed, &format!("--rate 1k -t 4 -m {NOBODY} --out {}", out.display())).start();
    wait_until("frames", || bed.kernel(bed.generator(), "tx_packets") > 300);
    let ctl = |words: &str| Tare::new(&format!("ctl {} {words}", out.display())).run();
    let set = ctl("set size 512");
    assert_eq!((set.code, set.stdout.trim()), (Some(0), "size 512"), "{set}");
    let refused = ctl("set size 9000");
    assert!(refused.code == Some(2) && refused.stderr.contains("1518"), "{refused}");
    let run = running.finish();
    let changes = run.result["packets"]["changes"].as_array().unwrap();
    assert_eq!((changes.len(), changes[0]["what"].as_str()), (1, Some("size")), "{run}");
    // 60 bytes each before, 508 from then on; at_s is rounded to less than a frame.
    let at = changes[0]["at_s"].as_f64().unwrap();
    let before = (at * 1_000.0).ceil() as u64;
    let expected = before * 60 + (4_000 - before) * 508;
    assert_eq!(run.total("offered"), 4_000, "{run}");
    assert!(run.total("bytes_out").abs_diff(expected) <= 448, "{expected} {run}");
}

/// Everything that the sink hears from `NOBODY`'s sender until it is asked what that was.
struct Tcpdump {
    child: std::process::Child,
    file: std::path::PathBuf,
    _folder: tempfile::TempDir,
}

impl Tcpdump {
    fn start(bed: &TestBed) -> Self {
        need("tcpdump");
        let folder = scratch();
        let file = folder.path().join("seen.pcap");
        let child = bed
            .sink()
            .command("tcpdump")
            .args(["-i", "sink0", "-Q", "in", "-U", "-B", "16384", "-w"])
            .arg(&file)
            .args(["ether", "dst", NOBODY])
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("tcpdump runs");
        wait_until("tcpdump", || fs::metadata(&file).is_ok_and(|file| file.len() >= 24));
        Self { child, file, _folder: folder }
    }

    /// So many frames, by tshark, which checks checksums.
    fn read(mut self, frames: u64, fields: &[&str]) -> Vec<Vec<String>> {
        let read = || super::super::tshark::tshark(&self.file, fields);
        let is_there = || fs::metadata(&self.file).is_ok_and(|file| file.len() > frames * (16 + 60));
        wait_until("the frames", || is_there() && read().len() as u64 >= frames);
        let _ = self.child.kill();
        let _ = self.child.wait();
        read()
    }
}

#[test]
fn fields_of_several_streams_change_together_at_one_frame() {
    let _guard = beside_others();
    need("tshark");
    let bed = TestBed::pair();
    let folder = scratch();
    let (out, plan) = (folder.path().join("run"), folder.path().join("plan.toml"));
    let text = format!(
        "[send]\nport = \"packet:gen0\"\nduration = \"8s\"\n\
         [frames]\ndst_mac = \"{NOBODY}\"\nsign = true\nsize = 128\n\
         [[frames.stream]]\nname = \"voice\"\nrate = 500\ndport = 5060\n\
         [[frames.stream]]\nname = \"bulk\"\nrate = 300\ndport = 80\nsrc = \"198.18.0.3\"\n"
    );
    fs::write(&plan, text).expect("a file");
    let seen = Tcpdump::start(&bed);
    let run = Tare::packets(&format!("run {} --out {}", plan.display(), out.display()));
    let running = run.inside(bed.generator()).start();
    wait_until("frames", || bed.kernel(bed.generator(), "tx_packets") > 300);
    let ctl = |words: &str| Tare::new(&format!("ctl {} {words}", out.display())).run();
    // Nothing is changed where one part of it is wrong.
    for (wrong, said) in [
        ("set stream=bulk ttl=9 stream=voice dport=70000", "voice: dport: '70000'"),
        ("set stream=video dport=7", "'video' is not a stream of this run; it has voice, bulk"),
        ("set size=9000", "1518"),
        ("set dport=7 rate=fast", "rate: 'fast' is not a number"),
        ("set sign=false", "'sign' is not a field that can be changed"),
        ("set rate 2k", "those of its streams: set stream=voice rate=2k"),
        ("set stream=voice dst=fd00::1", "one is an IPv4 address, the other an IPv6 address"),
    ] {
        let refused = ctl(wrong);
        assert!(refused.code == Some(2) && refused.stderr.contains(said), "{wrong}: {refused}");
    }
    let set = ctl(
        "set stream=voice dport=5061 vlan=7 src=198.18.0.77 src-mac=02:00:00:00:00:55 size=256 rate=1k stream=bulk proto=tcp size=300",
    );
    let said = "voice dport 5061, voice vlan 7, voice src 198.18.0.77, voice src-mac 02:00:00:00:00:55, voice size 256, \
                bulk proto tcp, bulk size 300, voice rate 1000/s";
    assert_eq!((set.code, set.stdout.trim()), (Some(0), said), "{set}");
    let run = running.finish();
    let changes = run.result["packets"]["changes"].as_array().cloned().unwrap_or_default();
    assert_eq!(changes.len(), 8, "{run}");
    let first = changes[0]["first_frame"].as_u64().expect("a number");
    assert!(changes.iter().all(|change| change["first_frame"] == first), "{changes:?}");
    let froms: Vec<_> = changes.iter().filter_map(|change| change["from"].as_str()).collect();
    let mac = bed.generator().interface().mac.to_string();
    assert_eq!(froms, ["5060", "none", "198.18.0.1", &mac, "128", "udp", "128", "500/s"]);
    let fields = [
        "frame.len",
        "vlan.id",
        "eth.src",
        "ip.src",
        "ip.proto",
        "udp.dstport",
        "tcp.dstport",
        "ip.checksum.status",
        "udp.checksum.status",
        "tcp.checksum.status",
        "_ws.malformed",
    ];
    let (done, before) = (run.total("done"), first as usize);
    let seen = seen.read(done, &fields);
    assert_eq!(seen.len() as u64, done, "{run}");
    let voice = |vlan: &str, port: &str, from: &str, length: &str, mac: &str| {
        [length, vlan, mac, from, "17", port, "", "1", "1", "", ""].map(str::to_owned).to_vec()
    };
    let bulk = |proto: &str, length: &str| {
        let (udp, tcp) = if proto == "17" { ("80", "") } else { ("", "80") };
        let (udp_ok, tcp_ok) = if proto == "17" { ("1", "") } else { ("", "1") };
        [length, "", &mac, "198.18.0.3", proto, udp, tcp, "1", udp_ok, tcp_ok, ""].map(str::to_owned).to_vec()
    };
    for (n, row) in seen.iter().enumerate() {
        let is_known = match n < before {
            true => *row == voice("", "5060", "198.18.0.1", "124", &mac) || *row == bulk("17", "124"),
            false => {
                *row == voice("7", "5061", "198.18.0.77", "252", "02:00:00:00:00:55")
                    || *row == bulk("6", "296")
            }
        };
        assert!(is_known, "frame {n}, changed from {before} on: {row:?}");
    }
    // Exact: voice 500/s and then 1 000/s, bulk 300/s.
    let at = changes[0]["at_s"].as_f64().expect("a time");
    let expected = (at * 500.0).ceil() + ((8.0 - at) * 1_000.0).ceil() + 2_400.0;
    assert!((run.total("offered") as f64 - expected).abs() <= 2.0, "{expected} {run}");
    assert_eq!(before as f64, (at * 500.0).ceil() + (at * 300.0).ceil(), "{at}");
    let told = Tare::new(&format!("report {}", out.display())).run().stdout;
    assert!(told.contains("first frame") && told.contains("voice dport"), "{told}");
}

#[test]
fn frames_that_grow_by_longer_headers_have_a_row_that_says_so() {
    let _guard = beside_others();
    let folder = scratch();
    let out = folder.path().join("run");
    let load = format!("send mem:a --receive mem:a --sign --rate 1k -t 2 --out {}", out.display());
    let running = Tare::packets(&load).start();
    wait_until("the socket", || out.join("control.sock").exists());
    let set = Tare::new(&format!("ctl {} set proto=tcp", out.display())).run();
    assert_eq!(set.stdout.trim(), "proto tcp, size 76", "{set}");
    let run = running.finish();
    let changes = run.at("/packets/changes").as_array().cloned().unwrap_or_default();
    let told: Vec<_> = changes.iter().map(|one| (one["what"].as_str(), one["to"].as_str())).collect();
    assert_eq!(told, [(Some("proto"), Some("tcp")), (Some("size"), Some("76"))], "{run}");
}

#[test]
fn fields_change_also_as_fast_as_it_goes_and_some_ports_refuse() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let folder = scratch();
    let out = folder.path().join("run");
    let running = send(&bed, &format!("--rate max -t 2 -m {NOBODY} --out {}", out.display())).start();
    wait_until("frames", || bed.kernel(bed.generator(), "tx_packets") > 100);
    let set = Tare::new(&format!("ctl {} set size=512 dport=53", out.display())).run();
    assert_eq!(set.stdout.trim(), "size 512, dport 53", "{set}");
    let run = running.finish();
    let first = run.at("/packets/changes/0/first_frame").as_u64().expect("a number");
    // Those before it have 60 bytes, all others 508.
    assert_eq!(run.total("bytes_out"), first * 60 + (run.total("done") - first) * 508, "{first} {run}");
    let refused = |load: &str, words: &str| {
        let out = folder.path().join(load.split([':', ' ', ',']).nth(1).unwrap_or_default());
        let running = Tare::packets(&format!("{load} --out {}", out.display())).start();
        wait_until("the socket", || out.join("control.sock").exists());
        let said = Tare::new(&format!("ctl {} {words}", out.display())).run();
        running.interrupt();
        running.finish_unchecked();
        assert_eq!(said.code, Some(2), "{said}");
        said.stderr
    };
    let file = folder.path().join("a.pcap");
    let made = Tare::packets(&format!("send pcap:{} -n 100 --rate 10k", file.display())).run();
    assert_eq!(made.total("done"), 100, "{made}");
    let replay = format!("send mem:a --replay {} -t 20", file.display());
    assert!(refused(&replay, "set dport=5").contains("frames of a file keep their fields and sizes"));
    let socket = refused("send udp:127.0.0.1:9 --rate 1k -t 20", "set dport=5");
    assert!(socket.contains("sends through a socket, whose headers are the kernel's"), "{socket}");
}

#[test]
fn keys_on_a_terminal_change_the_rate_pause_and_stop() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let tmux = Tmux::start(100, 30);
    let out = tmux.folder().join("run");
    let (namespace, tare, folder) = (&bed.generator().name, binary(), out.display());
    let load = format!("send packet:gen0 --rate 1k -t 60 -m {NOBODY} --out {folder}");
    tmux.run(&format!("ip netns exec {namespace} {} {load}; echo ended $?", tare.display()));
    wait_until("frames", || bed.kernel(bed.generator(), "tx_packets") > 100);
    for (key, said) in [("+", "rate 1100/s"), ("-", "rate 1000/s"), ("Space", "paused"), ("Space", "sending")]
    {
        tmux.keys(&[key]);
        tmux.wait_for(said);
    }
    // A change takes effect a little later than its key, and a stop at once.
    std::thread::sleep(Duration::from_millis(500));
    tmux.keys(&["q"]);
    tmux.wait_for("ended 130");
    // The terminal is as it was: it shows what is typed.
    tmux.run("echo still $((40 + 2))");
    tmux.wait_for("still 42");
    let text = fs::read_to_string(out.join("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    let changes = result["packets"]["changes"].as_array().unwrap();
    let told: Vec<_> =
        changes.iter().map(|change| (change["what"].as_str(), change["to"].as_str())).collect();
    let wanted =
        [("rate", "1100/s"), ("rate", "1000/s"), ("state", "paused"), ("state", "sending"), ("stop", "")];
    assert_eq!(told, wanted.map(|(what, to)| (Some(what), Some(to))));
    assert!(changes.iter().all(|change| change["by"] == "key"), "{changes:?}");
    assert_eq!(result["partial"], true);
}

#[test]
fn live_frames_take_a_rate_while_they_go_as_fast_as_they_can() {
    let _guard = alone();
    let bed = TestBed::pair();
    need("ethtool");
    run_in(bed.sink(), "ethtool -K sink0 gro on");
    let folder = scratch();
    let out = folder.path().join("run");
    let load = format!("send live:gen0 -t 4 --rate 1k -m {NOBODY} --out {}", out.display());
    let running = Tare::packets(&load).inside(bed.generator()).start();
    let sent = || bed.kernel(bed.sink(), "rx_packets");
    wait_until("frames", || sent() > 100);
    let ctl = |words: &str| Tare::new(&format!("ctl {} {words}", out.display())).run();
    let max = ctl("set rate max");
    assert_eq!((max.code, max.stdout.trim()), (Some(0), "rate max"), "{max}");
    wait_until("many more than at a rate", || sent() > 20_000);
    assert_eq!(ctl("set rate 500").stdout.trim(), "rate 500/s");
    let run = running.finish();
    let changes = run.result["packets"]["changes"].as_array().unwrap();
    let told: Vec<_> = changes.iter().filter_map(|change| change["to"].as_str()).collect();
    assert_eq!(told, ["max", "500/s"], "{run}");
    assert_eq!(run.total("offered"), run.total("done") + run.total("failed") + run.total("missed"), "{run}");
}
