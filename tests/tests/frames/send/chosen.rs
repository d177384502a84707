//! What is chosen, and why: spinning, priority, the kind of port.

use super::*;

/// A run that is kept, and what it chose, with the reason.
fn chosen(what: &str, load: &str, prepared: impl Fn(Tare) -> Tare) -> (Run, String, String) {
    let folder = scratch();
    let out = folder.path().join("run");
    let run = prepared(Tare::packets(&format!("{load} --out {}", out.display()))).run();
    let text = fs::read_to_string(out.join("environment.json")).expect("the run is kept");
    let environment: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let choices = environment["choices"].as_array().cloned().unwrap_or_default();
    let found = choices.iter().find(|choice| choice["what"] == what);
    let found = found.unwrap_or_else(|| panic!("no {what}: {choices:?}"));
    let word = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
    (run, word("chosen"), word("why"))
}

/// Half of the gaps are off by no more than this, when frames were handed over.
fn gap_error_ns(run: &Run) -> f64 {
    run.float("packets.gaps.error.p50_ns")
}

#[test]
fn one_cpu_of_its_own_lets_a_thread_spin_and_makes_no_gap_worse() {
    let _guard = alone();
    need("taskset");
    let bed = TestBed::pair();
    let load = format!("send packet:gen0 -d 13560 -n 30000 -m {NOBODY} --accept-invalid");
    let inside = |tare: Tare| tare.inside(bed.generator());
    patiently(3, || {
        let free = chosen("spin", &load, inside);
        // As the advice has it: pinned to a CPU of its own, by either way.
        let bound = chosen("spin", &load, |tare| inside(tare).through("taskset -c 0"));
        let named = chosen("spin", &format!("{load} --cpus 0"), inside);
        for (run, spin, why) in [&free, &bound, &named] {
            assert!(spin.starts_with("yes"), "{spin}: {why}");
            assert!(!run.result["notes"].to_string().contains("do not spin"), "{run}");
        }
        // A thread that sleeps is woken some 50 µs late: half of such gaps are off by 8 µs and more.
        let [free, bound, named] = [&free, &bound, &named].map(|(run, ..)| gap_error_ns(run));
        assert!(bound < 4.0 * free + 2_000.0 && named < 4.0 * free + 2_000.0, "{free} {bound} {named}");
    });
}

#[test]
fn a_thread_that_would_keep_the_receiver_from_the_only_cpu_sleeps_and_the_advice_helps() {
    let _guard = beside_others();
    need("taskset");
    let load = "send mem:one --receive mem:one --sign -n 50 --rate 1k --accept-invalid";
    let run = Tare::packets(load).through("taskset -c 0").run();
    let told = run.result["notes"].to_string();
    assert!(told.contains("do not spin") && told.contains("keep the thread that receives from it"), "{run}");
    assert!(told.contains("one more CPU (taskset), and bind the thread that sends to one (--cpus)"), "{run}");
    assert!(!told.contains("--spin always"), "that would make it worse: {run}");
    let (advised, spin, why) =
        chosen("spin", &format!("{load} --cpus 0"), |tare| tare.through("taskset -c 0,1"));
    assert!(spin.starts_with("yes"), "{why}: {advised}");
    let asked = Tare::packets(&format!("{load} --spin never")).through("taskset -c 0").run();
    assert!(!asked.result["notes"].to_string().contains("do not spin"), "it was asked for: {asked}");
}

#[test]
fn the_priority_is_chosen_so_that_nobody_starves_and_the_result_says_why() {
    let _guard = beside_others();
    let priority = |flags: &str| {
        let load = format!("send mem:prio --receive mem:prio --sign -n 60 --accept-invalid {flags}");
        let (_, level, why) = chosen("priority", &load, |tare| tare);
        (level, why)
    };
    let (normal, why) = priority("--rate 200 --priority normal");
    assert_eq!((normal.as_str(), why.as_str()), ("normal", "it was asked for"));
    let (fast, why) = priority("-d 13560");
    assert!(fast != "real-time" && why.contains("never sleeps"), "{fast}: {why}");
    let (slow, why) = priority("--rate 200");
    let may = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
    assert!(slow == "real-time" || !may || why.contains("does not allow"), "{slow}: {why}");
    let refused = Tare::packets("send mem:a --receive mem:a -n 1 --priority high").start().finish_unchecked();
    assert!(refused.code == Some(2) && refused.stderr.contains("--priority"), "{refused}");
}

#[test]
fn an_interface_alone_is_taken_by_the_way_that_fits_and_the_result_says_which() {
    let _guard = beside_others();
    let bed = TestBed::pair();
    let taken = |rate: &str| {
        let run = Tare::packets(&format!("send auto:gen0 -n 2000 --rate {rate} -m {NOBODY}"))
            .inside(bed.generator())
            .run();
        assert_eq!(run.total("done"), 2_000, "{run}");
        let choices = run.result["packets"]["ports"][0]["choices"].to_string();
        assert!(choices.contains("port refused: xdp,mode=zerocopy:gen0"), "{choices}");
        run.result["packets"]["ports"][0]["name"].as_str().unwrap_or_default().to_owned()
    };
    assert!(taken("max").starts_with("xdp,mode=copy:gen0"), "whole batches cost least there");
}
