//! `tare fpga`, and the simulated module's wire by independent readers: tshark and scapy.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tare_system_tests::module::{simulator, with_module};
use tare_system_tests::{TestBed, beside_others, binary, need, scratch};

fn tare() -> Command {
    let mut command = Command::new(binary());
    command.env("TARE_MODULE_SIM", simulator()).stdin(Stdio::null());
    command
}

fn fpga(words: &str) -> Output {
    tare().arg("fpga").args(words.split(' ')).output().expect("tare runs")
}

/// What it prints if all is well.
#[track_caller]
fn said(words: &str) -> String {
    let output = fpga(words);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tare fpga {words}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

#[track_caller]
fn json(words: &str) -> Value {
    serde_json::from_str(&said(words)).expect("JSON")
}

/// It is refused as the user's doing, with these words.
#[track_caller]
fn refused(words: &str, expected: &str) {
    let output = fpga(words);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "tare fpga {words}: {errors}");
    assert!(errors.contains(expected), "tare fpga {words}: {errors}");
}

#[test]
fn status_says_what_the_module_is_and_when_its_counters_wrap() {
    let _shared = beside_others();
    let status = json("status fpga:sim --json");
    assert_eq!(
        (&status["simulated"], &status["wire"], &status["idle"]),
        (&true.into(), &"up".into(), &true.into())
    );
    assert_eq!(status["version"], "1.0");
    assert_eq!((&status["clock"]["tick_ns"], &status["clock"]["offset_ns"]), (&8.into(), &Value::Null));
    let counters = status["counters"].as_array().expect("counters");
    assert!(counters.len() > 12);
    for counter in counters {
        assert_eq!(counter["value"], 0, "{counter}");
        assert!(
            counter["bits"].as_u64() >= Some(32) && counter["wraps_after_s"].as_f64() > Some(1.0),
            "{counter}"
        );
    }
    let text = said("status fpga:sim");
    assert!(text.contains("link_errors3 length") && text.contains("48 minutes"), "{text}");
    assert!(said("regs fpga:sim link_errors9").contains("link_errors9 silent"));
    assert!(text.contains("simulated, in steps of 8.00 ns; not wall-clock time"), "{text}");
}

#[test]
fn registers_are_read_and_written_by_name() {
    let _shared = beside_others();
    let values = json("regs fpga:sim magic version status --json");
    // The letters TARE.
    assert_eq!(values["magic"], u32::from_be_bytes(*b"TARE"));
    assert_eq!((&values["version"]["major"], &values["status"]["idle"]), (&1.into(), &1.into()));
    // What was captured is later each time, by whole cycles: time goes on while something is asked.
    let lines = said("regs fpga:sim command.capture=1 captured_tick command.capture=1 captured_tick");
    let ticks: Vec<u64> = lines
        .lines()
        .map(|line| line.split_whitespace().nth(2).expect("a value").parse().expect("ticks"))
        .collect();
    assert!(ticks.len() == 2 && ticks[0] > 0 && ticks[1] > ticks[0], "{lines}");
    // Who knows what he does.
    assert!(said("regs fpga:sim --anyway gap_denominator=0 status").contains("idle=1"));
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_done() {
    let _shared = beside_others();
    for (words, expected) in [
        ("regs fpga:sim gap_whole=4294967296", "'4294967296' is not a number from 0 to 4294967295"),
        ("regs fpga:sim last_entry=4096", "'4096' is not a number from 0 to 4095"),
        ("regs fpga:sim gap_numerator=7 gap_denominator=5", "register gap_numerator = 7: allowed are 0 to 4"),
        ("regs fpga:sim gap_denominator=0", "register gap_denominator = 0: allowed are 1 to 4294967295"),
        (
            "regs fpga:sim gap_whole=0xffffffff gap_numerator=1 gap_denominator=2",
            "gap_whole = 4294967295: allowed are",
        ),
        (
            "regs fpga:sim memory=1 memory_address=1 memory_data=0",
            "table, template 0, word 1 = 0: allowed are 60 to 8191",
        ),
        ("regs fpga:sim memory=1 memory_address=1 memory_data=17", "word 1 = 17: allowed are 60 to 8191"),
        (
            "regs fpga:sim memory=1 memory_address=1 memory_data=10000",
            "word 1 = 10000: allowed are 60 to 8191",
        ),
        (
            "regs fpga:sim memory=1 memory_address=1 memory_data=60 memory_data=0x81800000",
            "table, template 0, word 2 = 3: allowed are 4 to 21, halfwords at which a signature is inside of a frame of 60 bytes",
        ),
        (
            "regs fpga:sim memory=4 memory_address=4095 memory_data=0 memory_data=0",
            "memory_address = 4096: allowed are 0 to 4095",
        ),
        ("regs fpga:sim control=0x12", "the generator depends on 'sizes, word 0'"),
        ("regs fpga:sim command=8", "allowed are the bits of its fields, 0x77"),
        ("regs fpga:sim sent=0", "it is read-only"),
        ("regs fpga:sim gap_whole", "it is write-only"),
        ("regs fpga:sim gaps", "no such register"),
        ("status fpga:no-such0", "no-such0"),
        ("status packet:lo", "is not a module; write fpga:"),
        ("status fpga,tap=a,wire=b:sim", "has both a wire and a tap"),
        ("status fpga,wire=no-such0:sim", "no-such0"),
        ("status fpga,pcap=x:lo", "pcap is for a simulation"),
        ("status fpga,seed=x:sim", "'x' is no value for seed"),
        ("status fpga,program=/dev/null:sim", "/dev/null is not a program"),
        ("sim fpga:lo", "is not a simulated module"),
        ("bench fpga:sim --rates 0", "0"),
        ("bench fpga:sim --rates 1001", "1001"),
        ("bench fpga:sim --size 10000", "10000"),
        ("bench fpga:sim --frames 1", "--frames: 1 is out of range"),
        ("bench fpga,pcap=x:sim", "the benchmark uses its own wire; leave out pcap="),
        ("bench fpga,traffic=x:sim", "leave out traffic="),
        ("bench fpga,wire=x:sim", "leave out wire="),
        ("bench fpga:lo --backload", "only a simulation has its own incoming traffic"),
    ] {
        refused(words, expected);
    }
    // Frames that are none, or too long, are refused before one leaves.
    for size in ["0", "10000"] {
        let output =
            tare().args(["send", "fpga:sim", "-n", "1", "--size", size]).output().expect("tare runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "--size {size}: {errors}");
        assert!(errors.contains("size"), "--size {size}: {errors}");
    }
}

/// Something that speaks the link's language at the other end of a simulator's socket, and says another layout,
/// magic or version.
const STRANGER: &str = r#"#!/usr/bin/env python3
import socket, struct, sys
link = socket.socket(fileno=0)
magic, layout, version = MAGIC, LAYOUT, VERSION
while frame := link.recv(4096):
    kind, number, body = frame[15], frame[16:18], frame[32:]
    head = lambda kind, length, detail, value: frame[6:12] + frame[:6] + b"\x88\xb5" + bytes([LINK, kind]) + number + struct.pack("<HIQ", length, detail, value)
    if kind == 1:
        link.send(head(0x81, 0, 0, magic << 32 | layout) + bytes(28))
    elif kind == 2:
        words = struct.unpack("<H", frame[18:20])[0] // 8
        answer = b"".join(body[8 * n : 8 * n + 4] + struct.pack("<I", version << 16) for n in range(words))
        link.send(head(0x82, len(answer), words, 0) + answer)
"#;

#[test]
fn a_module_of_another_release_is_told_apart() {
    let _shared = beside_others();
    need("python3");
    let layout = said("regs fpga:sim layout");
    let layout: u64 = layout.split_whitespace().nth(2).and_then(|word| word.parse().ok()).expect("a hash");
    let folder = scratch();
    for (magic, layout, version, link, expected) in [
        (0x5441_5245, layout ^ 1, 1, 1, "register layout"),
        (0x5441_5245, layout, 2, 1, "version 2.0, but this program knows version 1"),
        (0x1234, layout, 1, 1, "not a Tare module"),
        // What it says is not understood at all: in the end nobody answered.
        (0x5441_5245, layout, 1, 2, "uses version 2 of the link protocol, this program version 1"),
    ] {
        let script = STRANGER.replace("MAGIC", &magic.to_string()).replace("LAYOUT", &layout.to_string());
        let script = script.replace("VERSION", &version.to_string()).replace("LINK", &link.to_string());
        let file = folder.path().join(format!("stranger-{version}-{link}-{magic}"));
        std::fs::write(&file, script).expect("a scratch file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&file, mode).expect("a program");
        refused(&format!("status fpga,program={}:sim", file.display()), expected);
    }
}

#[test]
fn the_modules_gaps_are_exact_whatever_comes_in() {
    let _shared = beside_others();
    let quiet = json("bench fpga:sim --frames 300 --rates 400,700,1000 --json");
    let loaded = json("bench fpga:sim --frames 300 --rates 400,700,1000 --backload --json");
    assert_eq!((&quiet["simulated"], &quiet["tick_ns"]), (&true.into(), &8.into()));
    // 1538 ticks of line rate: 3845 at 400 Mb/s and 1538 are whole, 15380 / 7 is not.
    for (n, (gap_ns, is_whole)) in
        [(30_760.0, true), (123_040.0 / 7.0, false), (12_304.0, true)].into_iter().enumerate()
    {
        let (row, beside) = (&quiet["rates"][n], &loaded["rates"][n]);
        assert!((row["gap_ns"].as_f64().expect("ns") - gap_ns).abs() < 1e-6, "{row}");
        assert_eq!((&row["late"], &row["wire"]["frames"]), (&0.into(), &300.into()), "{row}");
        assert_eq!(row["wire"]["off_schedule_cycles_max"], 0, "{row}");
        // The same to the cycle with traffic that comes in.
        assert_eq!(row["wire"], beside["wire"], "{row} {beside}");
        let worst = row["wire"]["error_cycles"]["max"].as_f64().expect("cycles");
        let bins = row["histogram"]["bins"].as_array().expect("bins");
        let farthest = bins.last().and_then(|bin| bin["ticks"].as_u64());
        assert_eq!(bins.iter().filter_map(|bin| bin["gaps"].as_u64()).sum::<u64>(), 299, "{row}");
        match is_whole {
            true => assert_eq!((worst, farthest), (0.0, Some(0)), "{row}"),
            false => assert!(worst < 1.0 && farthest == Some(1), "{row}"),
        }
    }
    let text = said("bench fpga:sim --frames 100 --rates 1000");
    assert!(text.contains("simulated time") && text.contains("mean 12304.00 var 0.00 avgerr 0.00"), "{text}");
}

/// What ecppack --compress makes of nothing for an LFE5U-25F: 7 562 frames of zeros, each with its CRC.
fn bitstream() -> Vec<u8> {
    let mut file =
        b"\xff\x00Part: LFE5U-25F-6CABGA256\x00\xff\xff\xff\xbd\xb3\xff\xff\xff\xff\x3b\0\0\0".to_vec();
    file.extend(b"\xe2\0\0\0\x41\x11\x10\x43\x22\0\0\0\x40\0\0\0\x46\0\0\0");
    file.extend(b"\x02\0\0\0\xf8\xf9\xfa\xfb\xfc\xfd\xfe\xff\xb8\x91\x1d\x8a");
    for n in 0..7_562 {
        file.extend([0; 10]);
        file.extend(if n == 0 { b"\x5a\xa1\xff" } else { b"\xcc\xe8\xff" });
    }
    file.extend(b"\x5e\0\0\0\xff\xff\xff\xff");
    file
}

#[test]
fn a_bitstream_is_checked_before_it_is_loaded() {
    let _shared = beside_others();
    let folder = scratch();
    let write = |name: &str, bytes: &[u8]| {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).expect("a scratch file");
        file.display().to_string()
    };
    let good = bitstream();
    let file = write("good.bit", &good);
    let text = said(&format!("load --check --board colorlight {file}"));
    assert!(text.contains("a complete bitstream for LFE5U-25F, 7 562 compressed frames"), "{text}");
    assert!(text.contains(&format!("openFPGALoader --board colorlight {file}")), "{text}");
    refused(&format!("load --check --board ecpix5 {file}"), "the board ecpix5 has LFE5UM5G-45F");
    let mut bent = good.clone();
    bent[5_000] ^= 0x80;
    let part = good.windows(4).position(|bytes| bytes == b"\x41\x11\x10\x43").expect("its part");
    let other = [&good[..part], b"\x01\x12\x80\x43", &good[part + 4..]].concat();
    for (name, bytes, expected) in [
        ("bent.bit", &bent[..], "damaged; nothing was loaded"),
        ("cut.bit", &good[..good.len() / 2], "cut off"),
        ("text.bit", b"not a bitstream", "no preamble"),
        ("other.bit", &other, "0x01128043, which is not an ECP5"),
        ("empty.bit", b"", "no preamble"),
    ] {
        refused(&format!("load --check {}", write(name, bytes)), expected);
    }
    refused("load --check /no/such.bit", "/no/such.bit: No such file");
    // Nothing that could load it is on this path.
    let output = tare().args(["fpga", "load", &file]).env("PATH", folder.path()).output().expect("tare runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("openFPGALoader is not installed"), "{errors}");
}

/// `tare fpga sim` once it has said what it is, and the number of the simulator's process.
fn simulation(mut command: Command) -> (Child, BufReader<std::process::ChildStdout>, u32) {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("tare runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut first = String::new();
    lines.read_line(&mut first).expect("a line");
    let id = first.trim().rsplit_once("process ").and_then(|(_, id)| id.parse().ok());
    (child, lines, id.unwrap_or_else(|| panic!("no process in '{first}'")))
}

fn is_there(process: u32) -> bool {
    Path::new(&format!("/proc/{process}/exe")).exists()
        && std::fs::read_link(format!("/proc/{process}/exe")).is_ok()
}

#[test]
fn a_simulator_ends_with_its_host_however_that_ends() {
    let _shared = beside_others();
    for signal in ["-INT", "-KILL"] {
        let mut command = tare();
        command.args(["fpga", "sim"]);
        let (mut child, _lines, simulator) = simulation(command);
        assert!(is_there(simulator));
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
        let status = child.wait().expect("a child");
        assert_eq!(status.success(), signal == "-INT", "{signal}: {status}");
        let until = Instant::now() + Duration::from_secs(10);
        while is_there(simulator) {
            assert!(Instant::now() < until, "{signal}: process {simulator} is still there");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn what_the_host_sends_through_a_tap_arrives_at_the_module() {
    let _shared = beside_others();
    let bed = TestBed::pair();
    let mut command = bed.generator().command(&binary().display().to_string());
    command.env("TARE_MODULE_SIM", simulator()).stdin(Stdio::null());
    command.args(["fpga", "sim", "fpga,tap=tare0,address=198.19.0.1/24:sim"]);
    let (mut child, mut lines, _) = simulation(command);
    let ping = bed.generator().command("ping").args(["-c", "1", "-W", "1", "198.19.0.2"]).output();
    // Nobody answers: what is sent is the question for the address.
    assert!(!ping.expect("ping runs").status.success());
    let until = Instant::now() + Duration::from_secs(20);
    let mut line = String::new();
    while !line.starts_with("received ") || line.starts_with("received 0 frames") {
        assert!(Instant::now() < until, "'{line}'");
        line.clear();
        lines.read_line(&mut line).expect("a line");
    }
    assert!(line.contains(", 0 bad"), "{line}");
    let _ = child.kill();
    let _ = child.wait();
}

#[test]
fn received_frames_that_the_module_cannot_tell_of_are_counted_and_the_run_is_not_valid() {
    let _shared = beside_others();
    let folder = scratch();
    let file = folder.path().join("long.pcap");
    // Forty frames of 3 000 bytes among sixty of 60: the length that the link carries is below that.
    let mut pcap: Vec<u8> =
        [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1].iter().flat_map(|word| word.to_le_bytes()).collect();
    for number in 0..100u32 {
        let length: u32 = if number % 5 < 2 { 3_000 } else { 60 };
        let head = [1, number * 100, length, length];
        pcap.extend(head.iter().flat_map(|word| word.to_le_bytes()));
        pcap.extend(vec![0x5a; length as usize]);
    }
    std::fs::write(&file, pcap).unwrap();
    let load = format!("capture fpga,traffic={}:sim --frames 120", file.display());
    let run = with_module(&load).start().finish_unchecked();
    let port = run.at("/packets/ports/0");
    let lost =
        port["drops"].as_array().and_then(|drops| drops.iter().find(|drop| drop["place"] == "rx.driver"));
    let lost = lost.and_then(|drop| drop["frames"].as_u64()).unwrap_or(0);
    // The file goes on over and over: two frames in five are lost, whenever the run ended.
    assert!((40..=200).contains(&lost), "{lost}: {run}");
    assert_ne!(run.word(), "VALID", "{run}");
    let counted = said("status fpga:sim");
    assert!(counted.contains("link_errors0 received_length"), "{counted}");
}

/// Nanoseconds and lengths of what left.
fn by_tshark(file: &Path) -> Vec<(u64, u64)> {
    need("tshark");
    let fields =
        ["frame.time_epoch", "frame.len", "frame.interface_id", "ip.checksum.status", "udp.checksum.status"];
    let mut tshark = Command::new("tshark");
    tshark
        .args(["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-T", "fields", "-r"])
        .arg(file);
    fields.iter().for_each(|field| {
        tshark.args(["-e", field]);
    });
    let output = tshark.output().expect("tshark runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut out = Vec::new();
    for line in text.lines() {
        let row: Vec<&str> = line.split('\t').collect();
        // 1: right.
        assert_eq!(row[3..], ["1", "1"], "{line}");
        let (seconds, nanos) = row[0].split_once('.').expect("a time");
        let at = seconds.parse::<u64>().expect("seconds") * 1_000_000_000
            + nanos.parse::<u64>().expect("nanoseconds");
        if row[2] == "0" {
            out.push((at, row[1].parse().expect("a length")));
        }
    }
    out
}

/// The same by scapy. On a cable to itself each frame is there twice: when it left, and a cycle later when it
/// came.
fn by_scapy(file: &Path) -> Vec<(u64, u64)> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = tests.join("../.venv/bin/python");
    assert!(python.exists(), "there is no {}: scripts/python.sh makes it", python.display());
    let output =
        Command::new(python).arg(tests.join("readers/wire.py")).arg(file).output().expect("python runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let row = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words[2], "-", "{line}");
        (words[0].parse().expect("nanoseconds"), words[1].parse().expect("a length"))
    };
    let mut all: Vec<(u64, u64)> = text.lines().map(row).collect();
    all.sort_by_key(|(at, _)| *at);
    for pair in all.chunks(2) {
        assert_eq!(pair[1].0 - pair[0].0, 8, "{pair:?}");
    }
    all.into_iter().step_by(2).collect()
}

#[test]
fn tshark_and_scapy_see_the_same_exact_gaps() {
    let _shared = beside_others();
    let folder = scratch();
    // 128 bytes at a gap of 10 µs, and at 300 000/s: 416 2/3 ticks.
    for (name, rate, due) in
        [("even", "100k", (|n| n * 1_250) as fn(u64) -> u64), ("fraction", "300k", |n| n * 1_250 / 3)]
    {
        let file = folder.path().join(format!("{name}.pcapng"));
        let flags = "--size 128 --sign -n 200 --dst-mac 02:18:00:00:00:02 --dst 198.18.0.2 --src 198.18.0.1";
        let run = with_module(&format!("send fpga,pcap={}:sim {flags} --rate {rate}", file.display()))
            .limit(Duration::from_secs(60))
            .run();
        assert_eq!((run.total("done"), run.word()), (200, "VALID"), "{run}");
        let (one, other) = (by_tshark(&file), by_scapy(&file));
        assert_eq!(one.len(), 200);
        assert_eq!(one, other, "{name}");
        for (n, (at, length)) in one.iter().enumerate() {
            assert_eq!(*length, 124);
            let ticks = (at - one[0].0) / 8;
            // The first is due between two ticks, perhaps: so may be all others.
            assert!(
                ticks.abs_diff(due(n as u64)) <= u64::from(name == "fraction"),
                "{name}: frame {n} at {ticks}"
            );
        }
    }
}
