//! `tare gaps`: figures against those of another program, files of other tools, and files that are broken.

use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_system_tests::bed::TestBed;
use tare_system_tests::{Run, Running, Tare, assert_close, beside_others, binary, need, scratch};

/// A pcap with nanoseconds, little endian, of empty frames with these times.
fn pcap(folder: &Path, name: &str, stamps: &[u64]) -> PathBuf {
    let mut bytes = Vec::new();
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 262_144, 1] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    for stamp in stamps {
        for word in [(stamp / 1_000_000_000) as u32, (stamp % 1_000_000_000) as u32, 60, 60] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&[0; 60]);
    }
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("a file can be written");
    path
}

fn gaps(arguments: &str) -> Run {
    Tare::packets(&format!("gaps {arguments}")).start().finish_unchecked()
}

/// Some thousand gaps about 13 560 ns, none of them quite.
fn uneven() -> Vec<u64> {
    let mut at = 1_767_225_600_000_000_000;
    (0..5_000_u64)
        .map(|n| {
            at += 13_560 + n * n % 101 - 50;
            at
        })
        .collect()
}

/// The same figures by another program: Python's own statistics.
fn python(stamps: &[u64], requested: i64) -> Vec<f64> {
    need("python3");
    let script = format!(
        "import statistics,math\ns={stamps:?}\ng=[b-a for a,b in zip(s,s[1:])]\ne=[abs(x-{requested}) for x in g]\n\
         p=lambda l,q: sorted(l)[math.ceil(q*len(l))-1]\n\
         print(len(g),statistics.fmean(g),statistics.pvariance(g),p(g,.5),p(g,.95),p(g,.99),max(g),\
         statistics.fmean(e),p(e,.5),p(e,.95),p(e,.99),max(e),sum(x*x for x in e)/len(e))"
    );
    let output = std::process::Command::new("python3").arg("-c").arg(script).output().expect("python runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().map(|word| word.parse().expect("a number")).collect()
}

#[test]
fn figures_are_those_that_python_has_of_the_same_capture() {
    let _beside = beside_others();
    let folder = scratch();
    let stamps = uneven();
    let run = gaps(&format!("{} -d 13560", pcap(folder.path(), "a.pcap", &stamps).display()));
    let truth = python(&stamps, 13_560);
    let keys = [
        "count",
        "mean_ns",
        "variance_ns2",
        "p50_ns",
        "p95_ns",
        "p99_ns",
        "max_ns",
        "error.mean_ns",
        "error.p50_ns",
        "error.p95_ns",
        "error.p99_ns",
        "error.max_ns",
    ];
    for (key, truth) in keys.into_iter().zip(&truth) {
        assert_close(key, run.float(&format!("packets.gaps.{key}")), *truth, 1e-9);
    }
    let line = format!("mean {:.2} var {:.2} avgerr {:.2}", truth[1], truth[12], truth[7]);
    assert!(run.remarks().contains(&line), "{line}: {run}");
    assert_eq!(run.at("packets.gaps.stamps"), "unknown");
    // Others sent them, however badly: that is no fault of this machine's.
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.criteria().iter().all(|criterion| criterion.name != "gap_error.p95"), "{run}");
    assert_close("the error's p95", run.float("gap_error_ns.p95"), truth[9], 1e-3);
}

#[test]
fn a_limit_on_the_error_of_gaps_is_held_against_others_frames() {
    let _beside = beside_others();
    let folder = scratch();
    // Gaps of 101, 199, 100 and 200 ns, and 100 ns were asked for: errors of 1, 99, 0 and 100 ns.
    let file = pcap(folder.path(), "a.pcap", &[1_000, 1_101, 1_300, 1_400, 1_600]);
    let held = |flags: &str, limit: &str| {
        let tare = Tare::packets(&format!("gaps {} {flags}", file.display()));
        tare.arg("--fail-if").arg(limit).start().finish_unchecked()
    };
    assert_eq!(held("-d 100", "gap_error.max > 99ns").code, Some(3));
    assert_eq!(held("-d 100", "gap_error.max > 101ns").code, Some(0));
    let refused = held("", "gap_error.max > 101ns");
    assert!(refused.code == Some(2) && refused.stderr.contains("no due time"), "{refused}");
}

#[test]
fn gaps_of_a_file_and_of_a_pipe_are_the_same() {
    let _beside = beside_others();
    let folder = scratch();
    let list = folder.path().join("gaps.txt");
    std::fs::write(&list, "100 # the first\n200\n").expect("a file can be written");
    // 101, 199, 100, 200: errors 1 1 0 0.
    let file = pcap(folder.path(), "a.pcap", &[1_000, 1_101, 1_300, 1_400, 1_600]);
    let run = gaps(&format!("{} -D {}", file.display(), list.display()));
    assert_eq!(run.float("packets.gaps.error.mean_ns"), 0.5, "{run}");
    let piped = std::process::Command::new(binary())
        .args(["gaps", "-", "--json", "--no-save", "--no-progress", "-D"])
        .arg(&list)
        .stdin(std::fs::File::open(&file).expect("a file to read"))
        .output()
        .expect("tare runs");
    let piped: serde_json::Value = serde_json::from_slice(&piped.stdout).expect("a result");
    let report = &piped["packets"]["gaps"];
    assert_eq!(
        (report["error"]["mean_ns"].as_f64(), &report["measured_at"]),
        (Some(0.5), &"standard input".into())
    );
    std::fs::write(&list, "100\nsoon\n").expect("a file can be written");
    let bad = gaps(&format!("{} -D {}", file.display(), list.display()));
    assert_eq!(bad.code, Some(2), "{bad}");
    assert!(bad.stderr.contains("gaps.txt, line 2") && bad.stderr.contains("soon"), "{bad}");
}

#[test]
fn a_list_is_taken_up_again_behind_a_frame_that_is_missing_and_that_is_told() {
    let _beside = beside_others();
    let folder = scratch();
    let gaps_of_list = [100_000_u64, 250_000, 400_000, 150_000, 90_000];
    let list = folder.path().join("gaps.txt");
    let lines: String = gaps_of_list.iter().map(|gap| format!("{gap}\n")).collect();
    std::fs::write(&list, lines).expect("a file can be written");
    let mut at = 1_767_225_600_000_000_000;
    let mut stamps = vec![at];
    for gap in gaps_of_list.iter().cycle().take(500) {
        at += gap;
        stamps.push(at);
    }
    let measured = |name: &str, stamps: &[u64]| {
        gaps(&format!("{} -D {}", pcap(folder.path(), name, stamps).display(), list.display()))
    };
    let whole = measured("whole.pcap", &stamps);
    assert!(!whole.remarks().contains("do not follow the whole list"), "{whole}");
    stamps.remove(123);
    let run = measured("lacks.pcap", &stamps);
    assert_eq!((run.int("packets.gaps.count"), run.int("packets.gaps.error.count")), (499, 499), "{run}");
    assert_eq!(run.float("packets.gaps.error.max_ns"), 0.0, "{run}");
    assert!(
        run.remarks().contains("do not follow the whole list: it was resumed elsewhere 1 times"),
        "{run}"
    );
}

/// Both ways of a wire in one file, as the module's simulator writes it: frames every 13 560 ns each way, 41 ns
/// apart.
fn both_ways(folder: &Path) -> PathBuf {
    let block = |kind: u32, body: &[u8]| {
        let size = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &size, body, &size].concat()
    };
    let unknown = [0xff; 8];
    let mut bytes = block(0x0a0d_0d0a, &[&[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &unknown].concat());
    for (name, length) in [(*b"out\0", 3), (*b"in\0\0", 2)] {
        let head = [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, length, 0];
        bytes.extend(block(1, &[&head[..], &name, &[9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]].concat()));
    }
    for n in 0..400_u32 {
        let words = [n % 2, 0, 1_000_000 + n / 2 * 13_560 + n % 2 * 41, 60, 60];
        let head: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(block(6, &[&head[..], &[0; 60]].concat()));
    }
    let path = folder.join("wire.pcapng");
    std::fs::write(&path, bytes).expect("a file can be written");
    path
}

#[test]
fn gaps_of_a_file_with_several_interfaces_are_those_of_the_one_that_is_chosen() {
    let _beside = beside_others();
    let folder = scratch();
    let file = both_ways(folder.path()).display().to_string();
    let refused = gaps(&format!("{file} -d 13560"));
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains(&format!("pcap,interface=out:{file}")), "{refused}");
    for interface in ["out", "in", "1"] {
        let run = gaps(&format!("pcap,interface={interface}:{file} -d 13560"));
        let figures =
            ["mean_ns", "max_ns", "error.max_ns"].map(|key| run.float(&format!("packets.gaps.{key}")));
        assert_eq!((run.int("packets.gaps.count"), figures), (199, [13_560.0, 13_560.0, 0.0]), "{run}");
    }
    let nobody = gaps(&format!("pcap,interface=eth9:{file}"));
    assert_eq!(nobody.code, Some(2), "{nobody}");
    assert!(nobody.stderr.contains("its interfaces are 'out' (0) and 'in' (1)"), "{nobody}");
}

#[test]
fn broken_captures_are_told_as_what_they_are() {
    let _beside = beside_others();
    let folder = scratch();
    let whole = pcap(folder.path(), "whole.pcap", &[1_000, 2_000, 3_000]);
    let bytes = std::fs::read(&whole).expect("a file to read");
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("a file can be written");
        path.display().to_string()
    };
    let cut = gaps(&file("cut.pcap", &bytes[..bytes.len() - 10]));
    assert!(cut.remarks().contains("is cut off: 2 whole frames were read"), "{cut}");
    assert_eq!((cut.code, cut.word()), (Some(4), "INVALID"), "what was read is told, and is not all: {cut}");
    let path = folder.path().join("cut.pcap");
    let capture = Tare::packets(&format!("capture pcap:{}", path.display())).start().finish_unchecked();
    assert_eq!((capture.code, capture.int("totals.done")), (Some(4), 2), "{capture}");
    let replay =
        Tare::packets(&format!("send mem:cut --replay {}", path.display())).start().finish_unchecked();
    assert_eq!(replay.code, Some(2), "nothing is sent: {replay}");
    assert!(replay.stderr.contains("is cut off: 2 whole frames"), "{replay}");
    assert_eq!(cut.int("packets.gaps.count"), 1, "{cut}");
    let empty = gaps(&file("empty.pcap", &[]));
    assert_eq!(empty.code, Some(2), "{empty}");
    assert!(empty.stderr.contains("empty.pcap: is empty"), "{empty}");
    let strange = gaps(&file("strange.pcap", b"not a capture at all"));
    assert_eq!(strange.code, Some(2), "{strange}");
    assert!(strange.stderr.contains("is not a capture file"), "{strange}");
    let one = gaps(&pcap(folder.path(), "one.pcap", &[1_000]).display().to_string());
    assert!(one.remarks().contains("a gap needs two frames"), "{one}");
    let missing = gaps("nowhere.pcap");
    assert_eq!(missing.code, Some(2), "{missing}");
    assert!(missing.stderr.contains("nowhere.pcap: No such file"), "{missing}");
}

/// A run over no gap has no figures, and what it took to read a file is nobody's rate.
#[test]
fn where_no_gap_is_measured_the_run_is_invalid_and_has_no_rate() {
    let _beside = beside_others();
    let folder = scratch();
    let file = |name: &str, stamps: &[u64]| pcap(folder.path(), name, stamps).display().to_string();
    let (none, one) = (file("none.pcap", &[]), file("one.pcap", &[1_000]));
    let two = file("two.pcap", &[1_000, 501_000]);
    let same = file("same.pcap", &[7_000, 7_000, 7_000]);
    let rate = |run: &Run| ["offered", "achieved"].map(|which| run.float(&format!("rate.{which}_per_s")));
    // Nobody signed the two frames: with --signed there is no gap between them.
    for flags in [none.clone(), one.clone(), format!("{two} --signed")] {
        let run = gaps(&flags);
        assert_eq!((run.code, run.word()), (Some(4), "INVALID"), "{flags}: {run}");
        assert!(!run.criterion("gaps.measured").holds, "{flags}: {run}");
    }
    for (flags, expected) in [(none, 0.0), (one.clone(), 0.0), (same, 0.0), (two.clone(), 2_000.0)] {
        let run = gaps(&flags);
        assert_eq!(rate(&run), [expected; 2], "{flags}: {run}");
    }
    // So do frames that are only counted, and limits are held against the same rate.
    for (file, expected) in [(one, 0.0), (two.clone(), 2_000.0)] {
        let run = Tare::packets(&format!("capture pcap:{file}")).start().finish_unchecked();
        assert_eq!((run.code, rate(&run)), (Some(0), [expected; 2]), "{run}");
    }
    for (limit, code) in [("achieved > 1990/s", 3), ("achieved > 2010/s", 0)] {
        let tare = Tare::packets(&format!("gaps {two}"));
        let run = tare.arg("--fail-if").arg(limit).start().finish_unchecked();
        assert_eq!(run.code, Some(code), "{limit}: {run}");
    }
}

/// A plan that is printed is one that runs.
#[test]
fn print_plan_refuses_captures_and_lists_as_the_run_does() {
    let _beside = beside_others();
    let folder = scratch();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file can be written");
        path.display().to_string()
    };
    let (strange, list) = (file("strange.pcap", "not a capture at all"), file("list.txt", "100\nsoon\n"));
    let none = folder.path().join("none").display().to_string();
    for words in [
        format!("send mem:printed --replay {strange}"),
        format!("send mem:printed --replay {none}"),
        format!("send mem:printed --pcap {strange}"),
        format!("send mem:printed -D {list}"),
        format!("send mem:printed -L {list}"),
        format!("pace mem:a mem:b -D {list}"),
        format!("gaps {strange}"),
        format!("gaps mem:printed -D {list}"),
        format!("capture pcap:{strange}"),
        format!("forward mem:a mem:b --rules {list}"),
        format!("forward mem:a mem:b --rules {none}"),
    ] {
        let said = |flags: &str| Tare::new(&format!("{words} {flags}")).start().finish_unchecked();
        let (run, printed) = (said("--no-save --no-progress"), said("--print-plan"));
        assert_eq!((run.code, printed.code), (Some(2), Some(2)), "{words}: {run}{printed}");
        assert_eq!(run.stderr, printed.stderr, "{words}");
    }
}

/// How fast a file is read says nothing of the time in it.
#[test]
fn a_length_is_that_of_the_files_own_times() {
    let folder = scratch();
    let stamps: Vec<u64> = (0..3_000).map(|n| 1_700_000_000_000_000_000 + n * 1_000_000).collect();
    let file = pcap(folder.path(), "three-seconds", &stamps);
    for command in ["gaps", "capture pcap:"] {
        let separator = if command == "gaps" { " " } else { "" };
        let run = Tare::packets(&format!("{command}{separator}{} -t 1", file.display())).run();
        assert_eq!(run.total("done"), 1_000, "{run}");
    }
}

#[test]
fn live_gaps_are_measured_by_kernel_stamps_against_due_times() {
    let _beside = beside_others();
    let bed = TestBed::pair();
    let running = Tare::packets("gaps packet:sink0 --signed -n 2000 -t 20").inside(bed.sink()).start();
    std::thread::sleep(Duration::from_millis(1_500));
    Tare::packets("send packet:gen0 -m 02:18:00:00:00:02 -n 2000 -d 500000 --sign")
        .inside(bed.generator())
        .run();
    let run = running.finish();
    assert_eq!(run.int("packets.gaps.count"), 1_999, "{run}");
    assert_close("the mean gap", run.float("packets.gaps.mean_ns"), 500_000.0, 0.05);
    assert!(
        run.at("packets.gaps.stamp_error_from").as_str().is_some_and(|text| text.contains("by the kernel")),
        "{run}"
    );
    assert!(run.float("packets.gaps.stamp_error_ns") >= 1.0, "{run}");
}

/// What came to an interface that is switched off nobody saw: that pause is not the sender's.
#[test]
fn an_interface_that_goes_down_while_it_receives_is_told_by_the_verdict() {
    let _beside = beside_others();
    let bed = TestBed::pair();
    let running = ["gaps packet:sink0", "capture packet:sink0"]
        .map(|command| Tare::packets(&format!("{command} -t 3 --accept-invalid")).inside(bed.sink()).start());
    running.iter().for_each(|one| one.sleep_until(Duration::ZERO));
    let sender = Tare::packets("send packet:gen0 -m 02:18:00:00:00:02 --rate 1k -t 4 --accept-invalid");
    let sender = sender.inside(bed.generator()).start();
    std::thread::sleep(Duration::from_millis(1_000));
    bed.ip(bed.sink(), "link set sink0 down");
    bed.ip(bed.sink(), "link set sink0 up");
    for run in running.map(Running::finish) {
        let lost = run.criterion("links.lost");
        assert!(!lost.holds && lost.advice.contains("was down, or lost its link"), "{lost:?}: {run}");
        assert_ne!(run.word(), "VALID", "{run}");
    }
    sender.finish();
}

/// Frames that came before the run began, and times at which they were read, would make it another one.
#[test]
fn the_rate_of_few_live_frames_is_that_of_their_gaps() {
    let _beside = beside_others();
    let bed = TestBed::pair();
    let sender = Tare::packets("send packet:gen0 -m 02:18:00:00:00:02 --rate 5k -t 4 --accept-invalid");
    let sender = sender.inside(bed.generator()).start();
    std::thread::sleep(Duration::from_millis(1_500));
    let run = Tare::packets("gaps packet:sink0 -n 300 -t 20").inside(bed.sink()).start().finish_unchecked();
    let by_gaps = 1e9 / run.float("packets.gaps.mean_ns");
    let rate = run.float("rate.achieved_per_s");
    assert!(rate < by_gaps * 1.15, "{rate}/s, by their gaps {by_gaps}/s: {run}");
    sender.finish_unchecked();
}
