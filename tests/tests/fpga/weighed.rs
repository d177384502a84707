//! `tare weigh` of the simulated module: its frames, alone and while others come in.

use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tare_system_tests::module::simulator;
use tare_system_tests::process::{signal_pid, wait_until};
use tare_system_tests::{beside_others, binary, scratch};

/// Frames of 64 bytes per second at line rate: 84 ticks of 8 ns each.
const LINE: f64 = 1e9 / (84.0 * 8.0);

/// With `state` as the folder of everything that is kept, and of temporary files.
fn weigh(words: &str, state: &Path) -> Command {
    let mut command = Command::new(binary());
    command.arg("weigh").args(words.split(' ')).stdin(Stdio::null());
    command.env("TARE_MODULE_SIM", simulator()).env("XDG_STATE_HOME", state).env("TMPDIR", state);
    command
}

#[track_caller]
fn said(words: &str, state: &Path) -> String {
    let output = weigh(words, state).output().expect("tare runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "tare weigh {words}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

#[track_caller]
fn json(words: &str, state: &Path) -> Value {
    serde_json::from_str(&said(words, state)).expect("JSON")
}

#[track_caller]
fn float(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path} in {value:#}"))
}

/// What is in a folder, by name.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn the_module_keeps_line_rate_and_nothing_of_it_is_in_the_profile() {
    let _shared = beside_others();
    let folder = scratch();
    let (state, out) = (folder.path(), folder.path().join("w").display().to_string());
    let found = json(&format!("packets --port fpga:sim --trials 2 --out {out} --json"), state);
    let one = &found["packets"][0];
    assert_eq!(
        (&one["port"], &one["simulated"], &one["size"]),
        (&"fpga:sim".into(), &true.into(), &64.into())
    );
    for peak in ["/peak/rate_per_s/estimate", "/trials/0/peak/rate_per_s", "/trials/1/peak/rate_per_s"] {
        assert!((float(one, peak) / LINE - 1.0).abs() < 1e-3, "{peak}: {one:#}");
    }
    // A frame leaves in the tick behind the one in which it was due, at each rate.
    for trial in one["trials"].as_array().expect("trials") {
        let times = &trial["overall"];
        let [least, mean, most] = ["/min_ns", "/mean_ns", "/max_ns"].map(|path| float(times, path));
        assert_eq!((least, mean, most, float(times, "/error_ns")), (8.0, 8.0, 8.0, 0.0), "{times}");
        assert_eq!((&times["packets"], &times["counted"]), (&1_995.into(), &1_995.into()));
        let steps = trial["steps"].as_array().expect("steps");
        assert_eq!(steps.len(), 10);
        for (n, step) in steps.iter().enumerate() {
            assert!(
                (float(step, "/achieved_per_s") / LINE * 10.0 / (n + 1) as f64 - 1.0).abs() < 1e-3,
                "{step}"
            );
        }
    }
    assert_eq!((&one["overall"]["mean_ns"]["low"], &found["rates"]), (&Value::Null, &Value::Array(vec![])));
    assert!(one["overall"]["mean_ns"]["refused"].to_string().contains("the same to the cycle"), "{one:#}");
    let notes = found["notes"].to_string();
    assert!(notes.contains("simulated") && notes.contains("no highest rate with a VALID verdict"), "{notes}");
    let page = std::fs::read_to_string(format!("{out}/report.html")).expect("a page");
    assert!(page.matches("fpga:sim, 64 B, simulated").count() > 4);
    let study = said("packets --port fpga:sim --trials 1 --no-save --no-progress --like-study", state);
    assert!(study.contains("fpga:sim 64 B, simulated"), "{study}");
    // Neither a profile nor anything temporary.
    assert_eq!(names(state), ["w"]);
}

#[test]
fn the_modules_rate_is_the_same_to_the_cycle_whatever_comes_in() {
    let _shared = beside_others();
    let folder = scratch();
    let (state, out) = (folder.path(), folder.path().join("w").display().to_string());
    let words = "backload --sizes 64 --steps 2 --trials 2 --kind udp-closed,tcp-syn";
    let found = json(&format!("{words} --port fpga,carrier=yes:sim --out {out} --json"), state);
    let all = found["backload"].as_array().expect("backload");
    assert_eq!(all.len(), 2, "{found:#}");
    for one in all {
        assert_eq!((&one["simulated"], &one["trials"]), (&true.into(), &2.into()));
        let steps = one["steps"].as_array().expect("steps");
        let of = |path: &str| steps.iter().map(|step| float(step, path)).collect::<Vec<_>>();
        let incoming = [0.0, LINE / 2.0, LINE, 0.0];
        let close = |found: &f64, expected: &f64| (found - expected).abs() <= 1e-3 * LINE;
        assert!(of("/in_per_s/estimate").iter().zip(&incoming).all(|(a, b)| close(a, b)), "{one:#}");
        let own = of("/own_per_s/estimate");
        assert!((own[0] / LINE - 1.0).abs() < 1e-3 && own.iter().all(|rate| *rate == own[0]), "{own:?}");
        assert_eq!((of("/mean_ns/estimate"), of("/dropped_in_per_s")), (vec![8.0; 4], vec![0.0; 4]));
        assert_eq!((float(one, "/fall/estimate"), float(one, "/recovery/estimate")), (0.0, 1.0));
        assert!(steps.iter().all(|step| step["idle"].is_null()), "{one:#}");
    }
    let read = |name: &str| std::fs::read_to_string(format!("{out}/{name}")).expect(name);
    assert!(read("map.svg").contains("fpga,carrier=yes:sim udp-closed, simulated"));
    assert!(read("report.html").contains("same to the cycle (simulated"));
    assert_eq!(names(state), ["w"]);
}

#[test]
fn what_cannot_be_weighed_of_a_module_is_said() {
    let _shared = beside_others();
    let folder = scratch();
    let absent = folder.path().join("no").display().to_string();
    for (words, expected) in [
        ("packets --port fpga", "fpga"),
        ("packets --port udp,fpga,wire=a:sim", "the weighing uses its own wire; leave out wire="),
        ("packets --port fpga,no=a:sim", "no"),
        ("packets --port fpga:no-such0", "no-such0"),
        ("packets --port fpga:sim --through fault,delay=100%,hold=1ms", "leave out --through"),
        ("packets --port fpga:sim --interface lo --to 127.0.0.1:9", "leave out --interface"),
        ("backload --port fpga:lo", "run tare weigh packets --port fpga:lo before and while they do"),
        ("backload --port fpga:sim --backload 0..2M --sizes 64", "are more than the wire's 1488095"),
        (&format!("packets --port fpga,program={absent}:sim"), "is not a program"),
        ("backload --port fpga,program=/bin/false:sim", "fpga"),
    ] {
        let output = weigh(words, folder.path()).output().expect("tare runs");
        let (errors, text) =
            (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
        assert_eq!(output.status.code(), Some(2), "{words}: {errors}");
        assert!(errors.contains(expected) && text.is_empty(), "{words}: {errors}{text}");
    }
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

/// A weighing that takes a while, once its simulator runs; the weighing's number and the simulator's.
#[track_caller]
fn ended(folder: &Path, end: impl FnOnce(u32, u32)) -> Output {
    let words = "packets --port fpga:sim --sizes 1518 --no-save --no-progress";
    let child =
        weigh(words, folder).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("tare runs");
    let tare = child.id();
    let children = || {
        let tasks = std::fs::read_dir(format!("/proc/{tare}/task")).into_iter().flatten().flatten();
        tasks
            .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
            .collect::<String>()
    };
    wait_until("the simulator runs", || !children().is_empty());
    let simulator = children().trim().parse().expect("its number");
    end(tare, simulator);
    let output = child.wait_with_output().expect("its end");
    wait_until("the simulator has ended", || !Path::new(&format!("/proc/{simulator}")).exists());
    assert_eq!(names(folder), Vec::<String>::new());
    output
}

#[test]
fn a_weighing_ends_with_its_simulator_and_that_with_it() {
    let _shared = beside_others();
    let folder = scratch();
    let output = ended(folder.path(), |tare, _| signal_pid(tare, Signal::INT));
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let output = ended(folder.path(), |_, simulator| signal_pid(simulator, Signal::KILL));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{errors}");
    assert!(errors.contains("nothing could be weighed"), "{errors}");
}
