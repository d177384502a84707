//! Same plan and same seed, same sequence of requests; and what chooses the next one.

use super::write;
use std::collections::BTreeMap;
use tare_system_tests::{Recorder, Tare, Target, beside_others, scratch};

/// Everything that is random in a request, over one connection, so that requests arrive in the order of
/// departure.
fn sequence(recorder: &Recorder, file: &str, flags: &str) -> Vec<String> {
    let before = recorder.requests().len();
    let run = Tare::http(&format!("-n 200 {flags} {file}")).run();
    assert_eq!(run.outcome("200"), 200, "{run}");
    recorder.targets().split_off(before)
}

fn random_urls(folder: &tempfile::TempDir, recorder: &Recorder) -> String {
    let url = recorder.url();
    let lines: String = (0..50).map(|n| format!("{url}{n}/{{random:hex:8}}/{{uuid}}/{{seq}}\n")).collect();
    write(folder, "urls", lines).display().to_string()
}

#[test]
fn same_plan_and_seed_make_the_same_sequence() {
    let _shared = beside_others();
    let (folder, recorder) = (scratch(), Recorder::start());
    let file = random_urls(&folder, &recorder);
    for load in ["-c 1 --threads 1", "-c 1 --threads 1 --rate 2k --poisson"] {
        let first = sequence(&recorder, &file, &format!("{load} --seed 7"));
        assert_eq!(sequence(&recorder, &file, &format!("{load} --seed 7")), first);
        let other = sequence(&recorder, &file, &format!("{load} --seed 8"));
        assert!(first.iter().all(|target| !other.contains(target)), "another seed, others");
    }
    // How it is sent does not change what is sent.
    let closed = sequence(&recorder, &file, "-c 1 --threads 1 --seed 7");
    assert_eq!(sequence(&recorder, &file, "-c 1 --threads 1 --seed 7 --rate 2k"), closed);
    assert_eq!(sequence(&recorder, &file, "-c 1 --threads 1 --seed 7 --no-keep-alive"), closed);
    let sorted = |mut all: Vec<String>| {
        all.sort();
        all
    };
    let threads = sequence(&recorder, &file, "-c 6 --threads 2 --seed 7");
    assert_eq!(sorted(threads), sorted(closed.clone()), "two threads make the same set");
    let open = sequence(&recorder, &file, "-c 6 --threads 2 --rate 2k --seed 7");
    assert_eq!(sorted(open), sorted(closed));
}

#[test]
fn a_printed_plan_is_the_same_plan() {
    let _shared = beside_others();
    let folder = scratch();
    let target = Target::start("--no-truth");
    let flags = "--rate 200 -z 200ms --jitter 10% -X PUT -d {seq} --seed 5 --timeout 3s";
    let direct = Tare::http(&format!("{flags} {}", target.url())).run();
    let printed =
        Tare::new(&format!("http --print-plan {flags} {}", target.url())).start().finish_unchecked();
    assert_eq!((printed.code, printed.stderr.as_str()), (Some(0), ""), "{printed}");
    let plan = write(&folder, "plan.toml", &printed.stdout).display().to_string();
    let again = Tare::new(&format!("run --print-plan {plan}")).start().finish_unchecked();
    assert_eq!(again.stdout, printed.stdout, "canonical: printed again it is the same");
    let run = Tare::new(&format!("run --json --no-save --no-progress {plan}")).run();
    assert_eq!(run.at("plan_hash"), direct.at("plan_hash"), "{run}");
    // 200/s · 0.2 s; jitter may take the one that is due at 0.2 s into the run.
    assert_eq!(run.total("offered"), direct.total("offered"), "{run}");
    assert!((40..=41).contains(&run.total("offered")), "{run}");
    // Another seed is another plan.
    let other = Tare::http(&format!("{} {}", flags.replace("seed 5", "seed 6"), target.url())).run();
    assert_ne!(other.at("plan_hash"), direct.at("plan_hash"));
}

#[test]
fn a_run_folder_has_the_plan_that_was_run() {
    let _shared = beside_others();
    let folder = scratch();
    let out = folder.path().join("run").display().to_string();
    let target = Target::start("--no-truth");
    let first = Tare::http(&format!("--out {out} -c 2 -n 20 {}", target.url())).run();
    let second = Tare::new(&format!("run --json --no-save --no-progress {out}/plan.toml")).run();
    assert_eq!(second.at("plan_hash"), first.at("plan_hash"), "{second}");
    assert_eq!(second.total("done"), 20, "{second}");
}

fn json_lines(folder: &tempfile::TempDir, recorder: &Recorder) -> String {
    let url = recorder.url();
    let lines = format!(
        "{{\"url\":\"{url}a\",\"name\":\"browse\",\"weight\":5}}\n\
         {{\"url\":\"{url}b\",\"name\":\"search\",\"weight\":2,\"headers\":{{\"X-Kind\":\"s\"}}}}\n\
         {{\"url\":\"{url}c\",\"name\":\"buy\",\"method\":\"POST\",\"body\":\"n=1\",\"expect\":{{\"status\":201}}}}\n"
    );
    write(folder, "lines", lines).display().to_string()
}

#[test]
fn weights_are_respected_and_names_are_groups() {
    let _shared = beside_others();
    let (folder, recorder) = (scratch(), Recorder::start());
    let file = json_lines(&folder, &recorder);
    let run = Tare::http(&format!("-c 4 -n 1600 {file}")).run();
    // 5 : 2 : 1 of 1600 are 1000, 400, 200. Pearson's χ² with 2 degrees of freedom passes 13.8 once in a
    // thousand seeds.
    let groups = [("browse", 1000.0), ("search", 400.0), ("buy", 200.0)];
    let counts: Vec<f64> =
        groups.iter().map(|(name, _)| run.group(name)["count"].as_f64().expect("a count")).collect();
    assert_eq!(counts.iter().sum::<f64>(), 1600.0, "{run}");
    let chi: f64 = groups.iter().zip(&counts).map(|((_, e), count)| (count - e).powi(2) / e).sum();
    assert!(chi < 13.8, "χ² = {chi}: {counts:?}");
    let mut arrived: BTreeMap<String, f64> = BTreeMap::new();
    recorder.targets().into_iter().for_each(|target| *arrived.entry(target).or_default() += 1.0);
    assert_eq!([arrived["/a"], arrived["/b"], arrived["/c"]], counts[..], "the groups are what was sent");
    // Each line's own parts.
    let requests = recorder.requests();
    assert!(requests.iter().all(|r| (r.target() == "/b") == (r.fields("X-Kind") == ["s"])));
    assert!(
        requests.iter().all(|r| (r.target() == "/c") == (r.line().starts_with("POST") && r.body == b"n=1"))
    );
    // The server answers 200; only "buy" wanted 201.
    assert_eq!(run.outcome("expect.status") as f64, counts[2], "{run}");
}

#[test]
fn the_order_of_lines_can_be_chosen() {
    let _shared = beside_others();
    let (folder, recorder) = (scratch(), Recorder::start());
    let lines: String = (0..10).map(|n| format!("{}{n}\n", recorder.url())).collect();
    let file = write(&folder, "urls", lines).display().to_string();
    let take = |order: &str| {
        let before = recorder.requests().len();
        let run = Tare::http(&format!("-c 1 -n 20 --threads 1 --order {order} {file}")).run();
        assert_eq!(run.outcome("200"), 20, "{run}");
        let targets = recorder.targets().split_off(before);
        targets.iter().map(|target| target[1..].parse().expect("a number")).collect::<Vec<u32>>()
    };
    let once: Vec<u32> = (0..10).collect();
    let sequential = take("sequential");
    assert_eq!((&sequential[..10], &sequential[10..]), (&once[..], &once[..]));
    let shuffled = take("shuffle");
    let sorted = |part: &[u32]| {
        let mut part = part.to_vec();
        part.sort_unstable();
        part
    };
    assert_eq!((sorted(&shuffled[..10]), sorted(&shuffled[10..])), (once.clone(), once.clone()));
    assert!(shuffled[..10] != once && shuffled[..10] != shuffled[10..], "{shuffled:?}");
    // 20 draws of 10: all different in the first ten would be 10!/10¹⁰, 1 in 2 755.
    let random = take("random");
    assert_ne!(sorted(&random[..10]), once, "{random:?}");
}
