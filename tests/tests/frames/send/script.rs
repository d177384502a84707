//! Frames that a script finishes: what a receiver sees is what the script wrote, and a script that cannot go on
//! ends the run with its line.

use super::*;
use std::path::{Path, PathBuf};

/// Ports by number, a letter a frame, and sizes in turn.
const COUNT: &str = "\
local sizes = {64, 200, 1518}
function burst(b)
    for i = 1, b.count do
        local n = b:seq(i)
        b:set16(i, 36, 40000 + n)
        b:set(i, 42, string.char(97 + n % 26))
        b:set_size(i, sizes[n % 3 + 1])
    end
end
";

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(scratch())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn script(&self, name: &str, text: &str) -> String {
        fs::write(self.at(name), text).expect("a scratch file");
        self.at(name).display().to_string()
    }

    /// Sends into a file, and what tshark says of it.
    fn sent(&self, name: &str, flags: &str, fields: &str) -> (Run, Vec<Vec<String>>) {
        let file = self.at(name);
        let to = if flags.contains("--replay") { String::new() } else { format!("-m {NOBODY}") };
        let load = format!("send pcap:{} {to} --accept-invalid {flags}", file.display());
        (Tare::packets(&load).run(), checked(&file, fields))
    }
}

/// As [`dissected`], and tshark finds neither a wrong checksum (3: there is none) nor anything malformed.
fn checked(file: &Path, fields: &str) -> Vec<Vec<String>> {
    need("tshark");
    let mut tshark = Command::new("tshark");
    tshark.args([
        "-n",
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "udp.check_checksum:TRUE",
        "-o",
        "tcp.check_checksum:TRUE",
    ]);
    tshark.args(["-o", "tcp.analyze_sequence_numbers:FALSE", "-T", "fields", "-r"]).arg(file);
    let always =
        "_ws.malformed ip.checksum.status udp.checksum.status tcp.checksum.status _ws.expert.severity";
    always.split(' ').chain(fields.split(' ')).for_each(|field| {
        tshark.args(["-e", field]);
    });
    let output = tshark.output().expect("tshark runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let rows = text.lines().map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
    rows.map(|row| {
        let is_right = |status: &String| status.split(',').all(|one| matches!(one, "" | "1" | "3"));
        assert!(row[0].is_empty() && row[1..4].iter().all(is_right), "{}: {row:?}", file.display());
        row[5..].to_vec()
    })
    .collect()
}

/// What a run says that a script ended: status 4, its line, and every frame has an outcome.
fn ended(run: &Run, line: &str) {
    assert_eq!((run.code, run.word()), (Some(4), "INVALID"), "{run}");
    let labels = run.result["labels"].to_string();
    assert!(labels.contains(line), "{line}: {labels}");
    assert!(run.stdout.contains(line) || run.stderr.contains(line), "{run}");
    let failing: Vec<String> = run.failing().into_iter().map(|criterion| criterion.name).collect();
    assert!(failing.iter().any(|name| name == "script.failed"), "{failing:?}");
    assert!(!failing.iter().any(|name| name == "ports.failed"), "{failing:?}");
    let total = |key| run.total(key);
    assert_eq!(
        total("offered"),
        total("done") + total("failed") + total("missed") + total("cut_off"),
        "{run}"
    );
    assert_eq!(run.result["packets"]["ports"][0]["sent"].as_u64(), Some(total("done")), "{run}");
}

#[test]
fn a_receiver_sees_what_the_script_wrote() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let files = Files::new();
    let script = files.script("count.lua", COUNT);
    let load = send(&bed, &format!("-n 300 --rate 10k --size 64 --script {script} -m {NOBODY}"));
    let fields = "udp.dstport frame.len udp.length data _ws.expert";
    let (run, seen) = captured(&bed, 300, fields, load);
    assert_eq!((run.total("done"), seen.len()), (300, 300), "{run}");
    for (n, frame) in seen.iter().enumerate() {
        let length = [60, 196, 1_514][n % 3];
        assert_eq!(
            frame[..3],
            [(40_000 + n).to_string(), length.to_string(), (length - 34).to_string()],
            "frame {n}"
        );
        assert!(frame[3].starts_with(&format!("{:02x}", 97 + n % 26)), "frame {n}: {}", frame[3]);
        assert_eq!(frame.get(4).map_or("", String::as_str), "", "tshark warns of frame {n}");
    }
    let bytes: u64 = (0..300).map(|n| [60, 196, 1_514][n % 3]).sum();
    assert_eq!(run.total("bytes_out"), bytes, "{run}");
    let figures = &run.result["packets"]["script"];
    assert_eq!(
        (figures["frames"].as_u64(), figures["name"].as_str()),
        (Some(300), Some("count.lua")),
        "{figures}"
    );
    let (calls, time) = (figures["calls"].as_u64().unwrap(), figures["time_ns"].as_u64().unwrap());
    assert!((5..300).contains(&calls) && time > 0, "bursts, not frames: {figures}");
    assert!(run.criterion("script.failed").holds, "{run}");
}

#[test]
fn the_example_makes_queries_of_dns() {
    let _guard = beside_others();
    let files = Files::new();
    let example =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").join("examples/dns.lua");
    let flags = format!("-n 200 --rate max --dport 53 --script {}", example.display());
    let (run, seen) =
        files.sent("dns.pcap", &flags, "dns.qry.name dns.qry.type dns.flags.recdesired udp.srcport");
    assert_eq!((run.total("done"), seen.len()), (200, 200), "{run}");
    let names: std::collections::HashSet<&String> = seen.iter().map(|row| &row[0]).collect();
    assert!(names.len() > 190 && names.iter().all(|name| name.ends_with(".example.com")), "{names:?}");
    assert!(seen.iter().enumerate().all(|(n, row)| row[1] == "1" && row[3] == (1_024 + n).to_string()));
}

#[test]
fn a_script_goes_with_all_that_makes_and_times_frames() {
    let _guard = beside_others();
    let files = Files::new();
    let script =
        files.script("mark.lua", "function burst(b) for i = 1, b.count do b:set8(i, 15, 0xb8) end end");
    let six = files
        .script("six.lua", "function burst(b) for i = 1, b.count do b:set8(i, 21, b:seq(i) % 256) end end");
    let recorded = files.at("recorded.pcap");
    let made =
        Tare::packets(&format!("send pcap:{} -n 50 --rate 10k --size 300 -m {NOBODY}", recorded.display()));
    assert_eq!(made.run().total("done"), 50);
    // The type of service is the script's, and all else the plan's.
    for (flags, fields) in [
        ("--rate 10k --size 100 --vary dport=9,53", "udp.dstport"),
        ("--rate max --imix --flows 10", "frame.len"),
        ("--rate 20k --burst 5 --proto tcp --size 100", "tcp.dstport"),
        ("--rate 10k --relative --proto icmp --size 100", "icmp.type"),
        ("--rate 10k --poisson --vlan 7 --size 100", "vlan.id"),
        ("--ramp 1k..20k:50ms --size 200 --payload random", "data.len"),
    ] {
        let script = if flags.contains("vlan") {
            files.script("v.lua", "function burst(b) for i = 1, b.count do b:set8(i, 19, 0xb8) end end")
        } else {
            script.clone()
        };
        let (run, seen) = files.sent(
            "some.pcap",
            &format!("-n 200 --script {script} {flags}"),
            &format!("ip.dsfield {fields}"),
        );
        assert_eq!((run.total("done"), seen.len()), (200, 200), "{flags}: {run}");
        assert!(seen.iter().all(|row| row[0] == "0xb8" && !row[1].is_empty()), "{flags}: {:?}", seen[0]);
    }
    let replay = format!("--replay {} --script {script}", recorded.display());
    let (run, seen) = files.sent("replayed.pcap", &replay, "ip.dsfield frame.len");
    assert_eq!((run.total("done"), seen.len()), (50, 50), "{run}");
    assert!(seen.iter().all(|row| row[..] == ["0xb8", "296"]), "{:?}", seen[0]);
    let (run, seen) = files.sent(
        "v6.pcap",
        &format!("-n 300 --rate max --size 100 -i fd00::2 -I fd00::1 --script {six}"),
        "ipv6.hlim",
    );
    assert_eq!((run.total("done"), seen[299][0].as_str()), (300, "43"), "{run}");
    // Lengths of all that is around a packet follow its size.
    let longer = files.script(
        "longer.lua",
        "function burst(b) for i = 1, b.count do b:set_size(i, 400 + b:seq(i) % 100) end end",
    );
    for around in ["--tunnel vxlan:7", "--tunnel gtpu:7", "--tunnel gre:7", "--pppoe 5", "--mpls 100"] {
        let (run, seen) = files.sent(
            "around.pcap",
            &format!("-n 100 --rate max --size 200 --script {longer} {around}"),
            "frame.len",
        );
        assert_eq!((run.total("done"), seen.len()), (100, 100), "{around}: {run}");
        assert!(seen.iter().enumerate().all(|(n, row)| row[0] == (396 + n).to_string()), "{around}");
    }
    let streams = files.at("streams.toml");
    let text = format!(
        "[send]\nport = \"pcap:{}\"\nduration = \"100ms\"\nscript = \"{}\"\n[frames]\ndst_mac = \"{NOBODY}\"\nsize = 100\n\
         [[frames.stream]]\nname = \"a\"\nrate = \"2k\"\n[[frames.stream]]\nname = \"b\"\nrate = \"1k\"\n",
        files.at("streams.pcap").display(),
        files.script(
            "streams.lua",
            "function burst(b) for i = 1, b.count do b:set16(i, 36, 100 + b:stream(i)) end end"
        ),
    );
    fs::write(&streams, text).unwrap();
    let run = Tare::packets(&format!("run {} --accept-invalid", streams.display())).run();
    let seen = checked(&files.at("streams.pcap"), "udp.dstport");
    let of = |port: &str| seen.iter().filter(|row| row[0] == port).count();
    assert_eq!((run.total("done"), of("100"), of("101")), (300, 200, 100), "{run}");
}

#[test]
fn signatures_are_put_in_after_the_script() {
    let _guard = beside_others();
    let files = Files::new();
    let script = files.script("count.lua", &COUNT.replace("64, 200", "90, 200"));
    for (name, flags) in [("one", "--rate 20k"), ("two", "--rate 20k --burst 7"), ("max", "--rate max")] {
        let load = format!(
            "send mem:script{name} --receive mem:script{name} -n 5000 --sign --script {script} {flags} --accept-invalid"
        );
        let run = Tare::packets(&load).run();
        let received = &run.result["packets"]["received"];
        let of = |key: &str| received[key].as_u64();
        assert_eq!(
            (of("signed"), of("lost"), of("corrupted"), of("unsigned")),
            (Some(5_000), Some(0), Some(0), Some(0)),
            "{run}"
        );
    }
    let bed = TestBed::pair();
    let load = format!(
        "--receive packet,netns={}:sink0 -n 4000 --rate 20k --queues 2 --sign --script {script} -m {NOBODY} --accept-invalid",
        bed.sink().name
    );
    let run = send(&bed, &load).run();
    let received = &run.result["packets"]["received"];
    assert_eq!((received["signed"].as_u64(), received["lost"].as_u64()), (Some(4_000), Some(0)), "{run}");
    assert_eq!(received["one_way_ns"]["count"], 4_000, "{run}");
    assert_eq!(run.int("packets.script.frames"), 4_000, "{run}");
    let short = files.script(
        "short.lua",
        "function burst(b)\nfor i = 1, b.count do if b:seq(i) == 700 then b:set8(i, 23, 6) b:set_size(i, 64) end end\nend",
    );
    let run = Tare::packets(&format!(
        "send pcap:{} -m {NOBODY} -n 5000 --rate 20k --size 100 --sign --script {short}",
        files.at("short.pcap").display()
    ))
    .run();
    ended(&run, "short.lua: frame 700 has no room for its signature");
}

#[test]
fn a_script_that_cannot_go_on_ends_the_run_with_its_line() {
    let _guard = beside_others();
    let files = Files::new();
    for (name, line, said) in [
        (
            "nested",
            "local function f() coroutine.wrap(f)() end f()",
            "nested.lua:4: more than 100 coroutines",
        ),
        (
            "placed",
            "table.insert({}, -2147483648, 1)",
            "placed.lua:4: the position in table.insert must be at least 1",
        ),
        ("raises", "error('here')", "raises.lua:4: here"),
        (
            "outside",
            "b:set8(i, 60, 1)",
            "outside.lua:4: 1 byte(s) at 60 are not within the frame, which has bytes 0 to 59",
        ),
        ("endless", "while true do end", "endless.lua:4: the script took more than 1 s for one call"),
        (
            "greedy",
            "kept = {kept, kept, {}} while true do kept = {kept, ('x'):rep(1000)} end",
            "greedy.lua:4: the script keeps more than 64 MiB",
        ),
        (
            "caught",
            "while true do pcall(function() while true do end end) end",
            "caught.lua:4: the script took more than 1 s",
        ),
    ] {
        let text =
            format!("function burst(b)\nfor i = 1, b.count do\nif b:seq(i) == 500 then\n{line} end end end");
        let script = files.script(&format!("{name}.lua"), &text);
        for rate in ["5k", "max"] {
            let load = format!(
                "send pcap:{} -n 1000 --rate {rate} -m {NOBODY} --script {script}",
                files.at("some.pcap").display()
            );
            let run = Tare::packets(&load).run();
            ended(&run, said);
            let done = run.total("done");
            assert!((400..=500).contains(&done), "what was sent before it counts: {run}");
            assert_eq!(checked(&files.at("some.pcap"), "frame.len").len() as u64, done, "{run}");
        }
    }
}

#[test]
fn what_is_wrong_before_the_start_sends_nothing() {
    let _guard = beside_others();
    let files = Files::new();
    let fine = files.script("fine.lua", "function burst(b) end");
    for (text, said) in [
        ("function burst(b)\nx = = 1\nend", "--script: bad.lua:2: "),
        ("\nnothing.there()", "--script: bad.lua:2: attempt to index global 'nothing'"),
        ("function bursts() end", "bad.lua: has no function burst(b)"),
        ("\n\nwhile true do end", "bad.lua:3: the script took more than 1 s"),
        ("io.open('/etc/passwd')", "bad.lua:1: attempt to index global 'io'"),
        ("os.execute('id')", "bad.lua:1: attempt to index global 'os'"),
        ("require('ffi')", "bad.lua:1: attempt to call global 'require'"),
    ] {
        let script = files.script("bad.lua", text);
        let run = Tare::packets(&format!("send mem:bad -n 10 --script {script}")).start().finish_unchecked();
        assert!(run.code == Some(2) && run.stderr.contains(said), "{text}: {run}");
    }
    let bed = TestBed::pair();
    for (flags, said) in [
        (format!("mem:a --script {}", files.at("none.lua").display()), "cannot be read"),
        (format!("mem:a --script {fine} --bad-checksum udp"), "--script contradicts --bad-checksum"),
        (format!("live:gen0 --rate max -m {NOBODY} --script {fine}"), "so no script can run"),
        (
            format!("udp:127.0.0.1:9 --script {fine}"),
            "sends through a socket, whose headers are the kernel's",
        ),
        ("udp:127.0.0.1:9 --dport 77".to_owned(), "--dport: udp:127.0.0.1:9 sends through a socket"),
        (
            "udp:127.0.0.1:9 --vary ttl=1..5".to_owned(),
            "--vary ttl=1..5: udp:127.0.0.1:9 sends through a socket",
        ),
    ] {
        let run =
            Tare::packets(&format!("send {flags} -n 10")).inside(bed.generator()).start().finish_unchecked();
        assert!(run.code == Some(2) && run.stderr.contains(said), "{flags}: {run}");
    }
}

#[test]
fn a_rate_in_bits_is_that_of_the_sizes_on_the_wire() {
    let _guard = beside_others();
    let files = Files::new();
    let script =
        files.script("size.lua", "function burst(b)\nfor i = 1, b.count do b:set_size(i, 1518) end end");
    let said = "size.lua:2: set_size needs --rate in frames per second";
    let to = format!("send pcap:{} -m {NOBODY} -n 50 --script {script}", files.at("some.pcap").display());
    for rate in ["2mbit", "50% --line 10mbit"] {
        ended(&Tare::packets(&format!("{to} --rate {rate}")).run(), said);
    }
    let run = Tare::packets(&format!("{to} --rate 2mbit --size 1518")).run();
    assert_eq!(run.total("bytes_out"), 50 * 1_514, "{run}");
    let run = Tare::packets(&format!("{to} --rate 1k")).run();
    assert_eq!(run.total("bytes_out"), 50 * 1_514, "{run}");
    assert!(
        run.stderr.contains("finished by size.lua") || run.stdout.contains("finished by size.lua"),
        "{run}"
    );
}

#[test]
fn a_stored_run_repeats_without_the_file() {
    let _guard = beside_others();
    let files = Files::new();
    let script = files.script("count.lua", &COUNT.replace("97 + n % 26", "math.random(97, 122)"));
    let (first, again) = (files.at("first"), files.at("again"));
    let file = files.at("out.pcap");
    let load = format!(
        "send pcap:{} -n 300 --rate 20k -m {NOBODY} --script {script} --accept-invalid",
        file.display()
    );
    let run = Tare::packets(&format!("{load} --out {}", first.display())).run();
    let (hash, bytes) = (run.result["plan_hash"].clone(), checked(&file, "data"));
    fs::remove_file(&script).unwrap();
    let said = Command::new(binary()).arg("report").arg(&first).output().expect("tare runs").stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(said.contains("Script count.lua") && said.contains("longest call"), "{said}");
    let page = fs::read_to_string(first.join("report.html")).expect("a page");
    assert!(page.contains("Script count.lua"));
    let plan = first.join("plan.toml").display().to_string();
    let run = Tare::packets(&format!("run {plan} --accept-invalid --out {}", again.display())).run();
    assert_eq!((&run.result["plan_hash"], checked(&file, "data")), (&hash, bytes), "{run}");
    files.script("count.lua", &format!("{COUNT}-- another"));
    assert_ne!(Tare::packets(&load).run().result["plan_hash"], hash);
}

#[test]
fn what_is_late_for_the_script_is_told() {
    let _guard = alone();
    let files = Files::new();
    // Each frame takes far more than its gap of 20 µs.
    let slow = files.script(
        "slow.lua",
        "local x = 0\nfunction burst(b) for n = 1, b.count * 100000 do x = x + n % 7 end end",
    );
    let run =
        Tare::packets(&format!("send mem:slow -n 500 --rate 50k --script {slow} --accept-invalid")).run();
    let late = run.criterion("script.late");
    assert!(!late.holds && late.advice.contains("the script takes longer than the gaps"), "{run}");
    assert!(run.int("packets.script.late") <= run.total("done"), "{run}");
    let quick = files.script("quick.lua", "function burst(b) end");
    let run =
        Tare::packets(&format!("send mem:quick -n 2000 --rate 1k --script {quick} --accept-invalid")).run();
    assert!(run.criterion("script.late").holds, "{run}");
}

#[test]
fn changes_by_hand_hold_for_frames_of_a_script() {
    let _guard = beside_others();
    let files = Files::new();
    let script =
        files.script("count.lua", "function burst(b) for i = 1, b.count do b:set16(i, 18, b:seq(i)) end end");
    let (out, pcap) = (files.at("run"), files.at("changed.pcap"));
    let load = format!(
        "send pcap:{} -t 5s --rate 1k --size 100 -m {NOBODY} --script {script} --accept-invalid --out {}",
        pcap.display(),
        out.display()
    );
    let running = Tare::packets(&load).start();
    let ask = |words: &str| {
        let mut ctl = Command::new(binary());
        ctl.arg("ctl").arg(&out).args(words.split(' '));
        let said = ctl.output().expect("tare runs");
        if said.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&said.stderr).into_owned()) }
    };
    wait_until("the run", || ask("show").is_ok());
    assert!(ask("set rate 1mbit").unwrap_err().contains("a script may change sizes here"));
    for words in ["set size 300", "set rate 4k", "pause", "resume"] {
        assert_eq!(ask(words), Ok(()), "{words}");
    }
    let run = running.finish();
    let seen = checked(&pcap, "frame.len ip.id");
    assert_eq!(run.total("done") as usize, seen.len(), "{run}");
    let numbers: Vec<u64> =
        seen.iter().map(|row| u64::from_str_radix(row[1].trim_start_matches("0x"), 16).unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "numbers go up");
    assert!(seen.iter().any(|row| row[0] == "96") && seen.iter().any(|row| row[0] == "296"), "{run}");
}
