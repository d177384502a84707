//! `tare sweep` in both directions at once, after an overload, and while the device is reset: over real
//! middleboxes, and through targets whose times are known.

use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use tare_system_tests::bed::{Middlebox, Topology, run_in};
use tare_system_tests::process::{text_of, wait_until};
use tare_system_tests::{Run, Tare, TestBed, alone, beside_others, binary, light};

const QUICK: &str = "--sizes 64 --goal ndr --trial-time 200ms --first-trial-time 100ms --width 10% --bursts 0 \
                     --drain 50ms --no-latency";

/// A cell of a table of the result.
fn cell(run: &Run, key: &str, row: usize, column: &str) -> Value {
    let tables = run.at("/packets/tables").as_array().expect("tables").clone();
    let table = tables.iter().find(|table| table["key"] == key);
    let table = table.unwrap_or_else(|| panic!("no table {key}: {} {}", run.stderr, run.remarks()));
    let columns = table["columns"].as_array().unwrap();
    let at =
        columns.iter().position(|known| known["name"] == column).unwrap_or_else(|| panic!("no {column}"));
    table["rows"][row][at].clone()
}

fn sweep(words: &str) -> Run {
    Tare::packets(&format!("sweep {words}")).limit(Duration::from_secs(100)).start().finish_unchecked()
}

/// The MAC address of an interface of the middlebox.
fn mac(bed: &TestBed, interface: &str) -> String {
    let middle = bed.middlebox().expect("there is one");
    run_in(middle, &format!("cat /sys/class/net/{interface}/address")).trim().to_owned()
}

fn ends(bed: &TestBed) -> String {
    let (generator, sink) = (&bed.generator().name, &bed.sink().name);
    format!("--send packet,netns={generator}:gen0 --receive packet,netns={sink}:sink0")
}

#[test]
fn a_router_is_swept_in_both_directions_with_the_mac_of_each_side() {
    let _light = light();
    let bed = TestBed::up(Topology::unique().middlebox(Middlebox::Router));
    let address =
        |namespace: &tare_system_tests::bed::Namespace| namespace.interface().ipv4.expect("an address");
    let (from, to) = (address(bed.generator()), address(bed.sink()));
    let (near, far) = (mac(&bed, "mid0"), mac(&bed, "mid1"));
    let words = format!(
        "{} -I {from} -i {to} -m {near} --max-rate 1k --min-rate 500 {QUICK} --bidirectional --frame-loss",
        ends(&bed)
    );
    // A quiet moment: a busy machine may lose frames.
    let mut run = sweep(&format!("{words} --reverse-mac {far}"));
    for _ in 0..2 {
        if cell(&run, "sweep", 0, "NDR") == 1_000.0 {
            break;
        }
        run = sweep(&format!("{words} --reverse-mac {far}"));
    }
    assert_eq!(cell(&run, "sweep", 0, "NDR"), 1_000.0, "{run}");
    let ways = [0, 1].map(|row| cell(&run, "loss", row, "direction"));
    assert_eq!(ways, ["forward", "reverse"].map(Value::from));
    assert_eq!([0, 1].map(|row| cell(&run, "loss", row, "sent")), [200.0, 200.0].map(Value::from), "{run}");
    // Both ports sent and received.
    let ports = run.at("/packets/ports").as_array().unwrap().clone();
    assert_eq!(ports.len(), 4);
    for port in &ports {
        let count = if port["role"] == "out" { &port["sent"] } else { &port["received"] };
        assert!(count.as_u64() > Some(0), "{port}");
    }
    // With the wrong MAC address on the way back the router takes none of those frames, and the table says in
    // which direction they are lost.
    let run = sweep(&format!("{words} --reverse-mac 02:00:00:00:00:99"));
    assert_eq!(cell(&run, "sweep", 0, "NDR"), Value::Null, "{run}");
    let (forward, reverse) = (cell(&run, "loss", 0, "loss"), cell(&run, "loss", 1, "loss"));
    assert_eq!(reverse, 1.0, "{run}");
    assert!(forward.as_f64() < Some(0.5), "{run}");
}

#[test]
fn loss_in_one_direction_counts_for_both_and_is_told_of_that_one() {
    let _alone = alone();
    // Of the receiving port's own frames, one in 50 is lost on the way back.
    let words = format!(
        "--send mem:both --receive fault,drop=every=50,on=transmit:mem:both --max-rate 5k --min-rate 2k {QUICK} \
         --bidirectional --frame-loss"
    );
    let run = sweep(&words.replace("--goal ndr", "--goal ndr,2%"));
    assert_eq!(cell(&run, "sweep", 0, "NDR"), Value::Null, "{run}");
    // 2 % of half of all frames.
    assert_eq!(cell(&run, "sweep", 0, "2%"), 5_000.0, "{run}");
    let (forward, reverse) = (cell(&run, "loss", 0, "loss"), cell(&run, "loss", 1, "loss"));
    assert_eq!(forward, 0.0, "{run}");
    assert!((reverse.as_f64().unwrap() - 0.02).abs() < 0.002, "{reverse}");
}

#[test]
fn a_middlebox_that_is_stopped_and_started_again_is_a_reset_of_that_length() {
    let _alone = alone();
    let bed = TestBed::up(Topology::unique().middlebox(Middlebox::Wire));
    let middle = bed.middlebox().expect("there is one").name.clone();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (tare, pid) = (binary().display().to_string(), at("pid"));
    // It ends by itself, too.
    let forward = |out: &str| {
        format!(
            "ip netns exec {middle} {tare} forward packet:mid0 packet:mid1 -t 60 -q --out {out} >/dev/null 2>&1"
        )
    };
    let kill = format!("kill -9 $(cat {pid})");
    let stopped = |line: &str| {
        let status = std::process::Command::new("sh").args(["-c", line]).status();
        assert!(status.expect("`sh` runs").success(), "{line}");
    };
    let begin = |out: &str| {
        let started = format!("{} & echo $! > {pid}", forward(&at(out)));
        stopped(&started);
        wait_until("the middlebox runs", || Path::new(&at(out)).join("begun.json").exists());
    };
    let is_found = |number: u32| {
        begin(&format!("first{number}"));
        let again = at(&format!("second{number}"));
        let script = at(&format!("reset{number}"));
        let times = at(&format!("times{number}"));
        // The time without a middlebox is at least that of the sleep, and at most until it runs again.
        let text = format!(
            "date +%s%N > {times}\n{kill}\nsleep 0.5\n{} &\necho $! > {pid}\n\
             while [ ! -e {again}/begun.json ]; do sleep 0.01; done\ndate +%s%N >> {times}\n",
            forward(&again)
        );
        std::fs::write(&script, text).unwrap();
        let run = Tare::packets(&format!(
            "sweep {} --max-rate 1k --min-rate 100 {QUICK} --reset-time 20s",
            ends(&bed)
        ))
        .arg("--reset-command")
        .arg(format!("sh {script}"))
        .limit(Duration::from_secs(100))
        .start()
        .finish_unchecked();
        stopped(&kill);
        if cell(&run, "resets", 0, "ended") != "found" {
            return false;
        }
        let by = cell(&run, "resets", 0, "reset by");
        assert!(by.as_str().unwrap().starts_with("command (exit status: 0 after "), "{by}");
        assert!(run.remarks().contains("reset 1 (by command): no frames for "), "{}", run.remarks());
        let times = text_of(Path::new(&times));
        let times: Vec<f64> = times.lines().map(|line| line.parse().unwrap()).collect();
        let (gone_ns, time_ns) =
            (times[1] - times[0], cell(&run, "resets", 0, "reset time").as_f64().unwrap());
        assert!(time_ns >= 0.5e9, "{time_ns}");
        // It forwards a little after it says that it has begun; a few frames more or less are lost than at this
        // rate in that time.
        let by_loss_ns = cell(&run, "resets", 0, "by lost frames").as_f64().unwrap();
        println!("away for {gone_ns} ns; measured {time_ns} ns, {by_loss_ns} ns by lost frames");
        time_ns <= gone_ns + 0.3e9 && (by_loss_ns - time_ns).abs() < 0.1e9
    };
    assert!((0..3).any(is_found), "the reset takes as long as the middlebox is away");
}

#[test]
fn a_middlebox_that_does_not_come_back_is_told_in_time() {
    let _light = light();
    let bed = TestBed::up(Topology::unique().middlebox(Middlebox::Wire));
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let forward = format!("forward packet:mid0 packet:mid1 -t 60 --out {}", out.display());
    let running = Tare::packets(&forward)
        .inside(bed.middlebox().expect("there is one"))
        .limit(Duration::from_secs(80))
        .start();
    wait_until("the middlebox runs", || out.join("begun.json").exists());
    // Of its own namespace.
    let pids = run_in(bed.middlebox().unwrap(), &format!("ip netns pids {}", bed.middlebox().unwrap().name));
    let pid = pids.lines().find(|pid| text_of(Path::new(&format!("/proc/{pid}/comm"))).trim() == "tare");
    let pid = pid.expect("the middlebox has a process").to_owned();
    let run =
        Tare::packets(&format!("sweep {} --max-rate 1k --min-rate 100 {QUICK} --reset-time 1s", ends(&bed)))
            .arg("--reset-command")
            .arg(format!("kill -9 {pid}"))
            .limit(Duration::from_secs(60))
            .start()
            .finish_unchecked();
    drop(running);
    assert_eq!(cell(&run, "resets", 0, "reset time"), Value::Null, "{run}");
    assert_eq!(cell(&run, "resets", 0, "ended"), "no frames again within 1.00 s", "{run}");
}

#[test]
fn a_reset_command_that_fails_leaves_no_run_valid() {
    let _light = light();
    let run = Tare::packets(&format!(
        "sweep --send mem:failing --receive mem:failing --max-rate 1k --min-rate 100 {QUICK}"
    ))
    .arg("--reset-command")
    .arg("exit 7")
    .limit(Duration::from_secs(60))
    .start()
    .finish_unchecked();
    assert_eq!(cell(&run, "resets", 0, "reset time"), Value::Null, "{run}");
    assert_ne!(run.word(), "VALID", "{run}");
    let criterion = run.criterion("trials.invalid");
    assert!(criterion.advice.contains("--reset-command failed in 1 of"), "{criterion:?}");
}

#[test]
fn without_a_command_somebody_is_asked_and_waited_for() {
    let _light = light();
    let ports = "--send mem:hand --receive mem:hand --max-rate 1k --min-rate 100";
    let run = sweep(&format!("{ports} {QUICK} --resets 2 --reset-time 500ms"));
    for number in ["1 of 2", "2 of 2"] {
        let said = format!("reset the device now ({number}); it must forward frames again within 500 ms");
        assert!(run.stderr.contains(&said), "{}", run.stderr);
    }
    assert_eq!(cell(&run, "resets", 1, "reset by"), "hand");
    let ended = cell(&run, "resets", 1, "ended");
    assert_eq!(ended, "no interruption of 50.0 ms or more within 500 ms", "{run}");
}

#[test]
fn an_overload_that_loses_nothing_is_no_overload() {
    let _light = light();
    let ports = "--send mem:over --receive mem:over --max-rate 1k --min-rate 100";
    let words = format!("{ports} {QUICK} --recovery 2 --overload-time 200ms");
    let is_lossless = |run: &Run| {
        let ended = cell(run, "recovery", 0, "ended");
        // On a busy machine, "though frames left in bursts".
        ended.as_str().unwrap().starts_with("no frame was lost in the overload")
            && cell(run, "recovery", 0, "tests") == 2.0
    };
    let mut run = sweep(&words);
    for _ in 0..3 {
        if is_lossless(&run) {
            break;
        }
        run = sweep(&words);
    }
    assert!(is_lossless(&run), "{run}");
    // 110 % of the throughput would be above the highest load that was asked for.
    assert_eq!(cell(&run, "recovery", 0, "overload"), 1_000.0, "{run}");
    assert_eq!(cell(&run, "recovery", 0, "load after it"), 500.0);
    assert_eq!(cell(&run, "recovery", 0, "recovery time"), 0.0);
}

#[test]
fn the_page_draws_throughput_and_loss_as_the_rfc_asks() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let quick = QUICK.replace("--sizes 64", "--sizes 64,128");
    let words = format!(
        "--send mem:page --receive mem:page --max-rate 1k --min-rate 100 --line 1M {quick} --frame-loss --out {}",
        out.display()
    );
    let run = sweep(&words);
    // 1 Mbit/s over 84 bytes on the wire.
    assert!(
        (cell(&run, "sweep", 0, "line rate").as_f64().unwrap() - 1e6 / (84.0 * 8.0)).abs() < 1e-6,
        "{run}"
    );
    let of_line = cell(&run, "loss", 0, "of the line").as_f64().unwrap();
    assert!((of_line - 1_000.0 * 84.0 * 8.0 / 1e6).abs() < 1e-6, "{of_line}");
    let page = text_of(&out.join("report.html"));
    for said in ["id=\"d-throughput\"", "id=\"d-frame-loss\"", ">line rate (/s)<", ">64 bytes (%)<"] {
        assert!(page.contains(said), "{said}");
    }
}

#[test]
fn a_plan_that_was_printed_is_the_same_plan() {
    let _beside = beside_others();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plan.toml");
    for flags in [
        "--bidirectional --reverse-mac 02:00:00:00:00:07 --recovery 3 --overload-time 2s",
        "--resets 2 --reset-time 20s --rfc2544",
    ] {
        let words = format!("sweep --send mem:a --receive mem:a --max-rate 1k {flags} --print-plan");
        let printed = Tare::new(&words).start().finish_unchecked().stdout;
        std::fs::write(&file, &printed).unwrap();
        let again = Tare::new(&format!("run {} --print-plan", file.display())).start().finish_unchecked();
        assert_eq!(again.stdout, printed, "{}", again.stderr);
    }
}

#[test]
fn bad_input_is_named() {
    let _beside = beside_others();
    let ports = "--send mem:a --receive mem:a --max-rate 1k";
    for (flags, said) in [
        ("--bidirectional --resets 1", "--bidirectional contradicts --resets"),
        ("--reset-time 1s", "--reset-time contradicts --resets"),
        ("--reverse-mac 02:00:00:00:00:07", "--reverse-mac contradicts --bidirectional"),
        ("--recovery 101", "--recovery: '101'"),
        ("--overload-time 0", "--overload-time: '0'"),
    ] {
        let run = Tare::packets(&format!("sweep {ports} {flags}")).start().finish_unchecked();
        assert_eq!(run.code, Some(2), "{flags}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{flags}: {}", run.stderr);
    }
}
